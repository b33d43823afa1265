"""Server-sent events: what happens in the pipeline, to each client that follows it."""

from __future__ import annotations

import asyncio
import time

import msgspec
from starlette.types import Receive, Scope, Send

from stream_bayes.door.connections import network_of
from stream_bayes.door.problems import Refused
from stream_bayes.serve.plain_values import as_json
from stream_bayes.serve.status_board import MOST_FOLLOWERS, MOST_FOLLOWERS_EACH, Board, EventSubscriber

__all__ = ["EventStream"]

HEARTBEAT_SECONDS = 15.0  # between two lines to a follower while nothing moves


class EventStream:
    """The endpoint of server-sent events, an ASGI application: it writes until its client leaves or falls behind."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves or falls behind."""
        client = scope.get("client")
        address = "" if client is None else network_of(client[0])
        refused = self._refusal(address)
        if refused is not None:
            raise refused
        task = asyncio.current_task()
        assert task is not None

        def drop() -> None:
            connection = scope.get("state", {}).get("connection")
            if connection is not None:
                connection.drop()
            task.cancel()

        follower = EventSubscriber(drop, address)
        self._board.followers.add(follower)
        gone = asyncio.ensure_future(_left(receive))
        try:
            await self._write(follower, gone, send)
        except asyncio.CancelledError:
            pass  # dropped, or the service ends
        finally:
            self._board.followers.discard(follower)
            gone.cancel()

    def _refusal(self, address: str) -> Refused | None:
        followers = self._board.followers
        if len(followers) >= MOST_FOLLOWERS:
            return Refused(
                503,
                "too-many-readers",
                f"{MOST_FOLLOWERS} readers follow already; try again later",
                {"Retry-After": "30"},
            )
        if address and sum(each.address == address for each in followers) >= MOST_FOLLOWERS_EACH:
            return Refused(
                429,
                "too-many-readers",
                f"{MOST_FOLLOWERS_EACH} readers follow from this address already; close some. If they come through "
                "a proxy, name it in serve.proxies",
                {"Retry-After": "30"},
            )
        return None

    async def _write(self, follower: EventSubscriber, gone: asyncio.Future[None], send: Send) -> None:
        """Write what the board offers, and a heartbeat while it is silent."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b": ok\n\n", "more_body": True})
        if self._board.status:
            aged = {**self._board.status, "age_seconds": max(0.0, time.time() - self._board.status["time"])}
            status = msgspec.json.encode(as_json(aged))
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
