"""A read-only service that follows a saved model, snapshots, a spam filter's directory, or the topic of a model."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from threading import Event as Flag
from threading import Thread
from typing import Any

from stream_bayes.door.http_server import listen, make_server, serve_until
from stream_bayes.door.request_checks import Door, ServiceLimits
from stream_bayes.errors import BadState, StreamBayesError
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.serve.app import ACCESS, Service, ServiceAbilities
from stream_bayes.serve.followed import Followed
from stream_bayes.serve.restoring import view_of
from stream_bayes.serve.status_board import Board

__all__ = ["serve_replica"]

logger = logging.getLogger(__name__)

CHECK_SECONDS = 1.0  # between two looks at the file or directory
READ_ONLY = "this service is a read-only replica; give labels to the pipeline itself"


def serve_replica(
    followed: Followed,
    name: str,
    host: str,
    port: int,
    limits: ServiceLimits,
    ready: Callable[[str], None],
    stopped: Flag | None = None,
) -> None:
    """Serve a model until a signal comes, or `stopped` is set; follow what replaces it. `followed` is the model on the
    disk or in a topic. The token of `limits` is for learning mails. `ready` is called with the address of the page.

    Raises
    ------
    StreamBayesError
        If the model cannot be read.
    OSError
        If the address cannot be listened at.
    """
    stopped = Flag() if stopped is None else stopped
    board = Board(name)
    version = followed.version()
    snapshot = followed.read()
    if "model" not in snapshot.sections:
        raise BadState(f"{followed.path} holds no model, but {sorted(snapshot.sections)}")
    traits = ServiceAbilities(
        name,
        READ_ONLY,
        {"learner": snapshot.learner},
        follows=followed.follows,
    )
    line = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{line.getsockname()[1]}/")

    async def run() -> None:
        door = Door(limits, access=ACCESS)
        learner = followed.learner()
        service = Service(board, traits, door, learner)
        loop = asyncio.get_running_loop()
        _show(board, *_loaded(followed, snapshot))
        follower = Thread(
            target=_follow, args=(followed, board, loop, version, stopped), name="follow", daemon=True
        )
        follower.start()
        try:
            await serve_until(make_server(service.app, door), line, stopped.is_set, board.end)
        finally:
            if learner is not None:
                learner.close()

    try:
        asyncio.run(run())
    finally:
        stopped.set()
        line.close()


def _loaded(followed: Followed, snapshot: Snapshot) -> tuple[Any, Any, dict[str, Any]]:
    moment = time.time()
    view, evaluation = view_of(snapshot, None, generation=0, moment=moment, key=followed.token_key)
    step = snapshot.sections.get("step", {})
    status = {
        "what": "status",
        "time": moment,
        "processed": snapshot.clock,
        "learned": step.get("learned"),
        "unlearned": step.get("unlearned"),
        "running": True,
        "ready": True,
        "generation": 0,
        "drift_state": None,
        "positions": [[*part, at] for part, at in snapshot.positions.items()],
        "lag": [],
        "lag_units": {},
        "dead": dict(step.get("dead_letters", {}).get("counts", {})),
        "last_dead": {},
        "labels": None,
        "snapshots": {"written": 0, "failed": 0, "newest": None},
        "by_label": {},
        "errors": {},
        "measures": evaluation.get("fading", {}),
    }
    return view, evaluation, status


def _show(board: Board, view: Any, evaluation: dict[str, Any], status: dict[str, Any]) -> None:
    board.apply(status)
    board.show(view, evaluation)


def _follow(
    followed: Followed,
    board: Board,
    loop: asyncio.AbstractEventLoop,
    version: Any,
    stopped: Flag,
) -> None:
    """Load each newer model. One that cannot be read is logged, and the one before answers on."""
    while not stopped.wait(CHECK_SECONDS):
        try:
            now = followed.version()
            if now == version:
                continue
            loaded = _loaded(followed, followed.read())
            version = now
            loop.call_soon_threadsafe(_show, board, *loaded)
        except (StreamBayesError, OSError) as error:
            logger.warning("the newer model cannot be served: %s", error)
        except RuntimeError:
            return  # the loop is closed
