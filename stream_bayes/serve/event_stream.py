"""Server-sent events: what happens in the pipeline, to each client that follows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from stream_bayes.serve.board import MOST_FOLLOWERS, Board, Follower
from stream_bayes.serve.plain_values import as_json
from stream_bayes.serve.problems import problem

__all__ = ["EventStream"]

HEARTBEAT_SECONDS = 15.0  # between two lines to a follower while nothing moves


class EventStream:
    """The endpoint of server-sent events, an ASGI application: it writes until its client leaves or falls behind.

    Parameters
    ----------
    board
        What is followed.
    abort
        Closes the connection of a client address at once: that of a reader that is too slow.
    """

    def __init__(self, board: Board, abort: Callable[[Any], None]) -> None:
        self._board = board
        self._abort = abort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves or falls behind."""
        if len(self._board.followers) >= MOST_FOLLOWERS:
            detail = f"{MOST_FOLLOWERS} readers follow already; try again later"
            await problem(503, "too-many-readers", detail, {"Retry-After": "30"})(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None

        def drop() -> None:
            self._abort(scope.get("client"))
            task.cancel()

        follower = Follower(drop)
        self._board.followers.add(follower)
        gone = asyncio.ensure_future(_left(receive))
        try:
            await self._write(follower, gone, send)
        except asyncio.CancelledError:
            pass  # dropped, or the service ends
        finally:
            self._board.followers.discard(follower)
            gone.cancel()

    async def _write(self, follower: Follower, gone: asyncio.Future[None], send: Send) -> None:
        """Write what the board offers, and a heartbeat while it is silent."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b": ok\n\n", "more_body": True})
        if self._board.status:
            status = msgspec.json.encode(as_json(self._board.status))
            follower.offer(b"event: status\ndata: " + status + b"\n\n")
        while not (gone.done() or self._board.has_ended):
            self._board.want_view()
            try:
                message = await asyncio.wait_for(follower.queue.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                message = b": still here\n\n"
            if message:
                await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
