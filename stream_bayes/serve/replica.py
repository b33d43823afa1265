"""A read-only service that follows a saved model, snapshots, a spam filter's directory, or the topic of a model."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Any

from stream_bayes.door.guard import Door, ServiceLimits
from stream_bayes.door.http_server import listen, make_server, serve_until
from stream_bayes.errors import BadState, NoSnapshot, StreamBayesError
from stream_bayes.mail.server.page_mails import MailLearner
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.saving.snapshots.file import read_snapshot
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.serve.app import ACCESS, Service, Traits
from stream_bayes.serve.board import Board
from stream_bayes.serve.restoring import view_of

if TYPE_CHECKING:
    from stream_bayes.workers.follower import Follower

__all__ = ["Followed", "FollowedTopic", "serve_replica"]

logger = logging.getLogger(__name__)

CHECK_SECONDS = 1.0  # between two looks at the file or directory
READ_ONLY = "this service is a read-only replica; give labels to the pipeline itself"


class Followed:
    """A model on the disk that may be replaced by a newer one.

    Parameters
    ----------
    path
        A saved model, a directory of snapshots, or the directory of a spam filter.
    key
        The key that snapshots are signed with; of a filter's directory, the key of its tokens.

    Raises
    ------
    NoSnapshot
        If there is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import stream_bayes
    >>> model = stream_bayes.NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "rain")
    >>> with TemporaryDirectory() as directory:
    ...     stream_bayes.save(model, f"{directory}/model.zip")
    ...     snapshot = Followed(Path(directory, "model.zip")).read()
    >>> snapshot.learner, snapshot.clock
    ('NaiveBayes', 0)
    """

    def __init__(self, path: Path, key: bytes | None = None) -> None:
        self.path = path
        self.key = key
        self.home = SpamHome(path, key) if (path / "filter.zip").exists() else None
        self._store = None if self.home is not None or not path.is_dir() else SnapshotStore(path, key=key)
        if not path.exists():
            raise NoSnapshot(f"there is no {path}: expected a saved model, or a directory of snapshots")
        self.follows = "snapshots" if self._store is not None else "file"
        self.version()

    def version(self) -> Any:
        """Return a value that changes with the model."""
        if self.home is not None:
            return self.home.version(), self.home.journal.size()
        if self._store is not None:
            newest = self._store.newest()
            return None if newest is None else (newest.written, newest.size)
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> Snapshot:
        """Return the newest model.

        Raises
        ------
        StreamBayesError
            If it cannot be read.
        """
        if self.home is not None:
            return self.home.snapshot()
        if self._store is None:
            return read_snapshot(self.path, self.key)
        found = self._store.latest()
        if found is None:
            raise NoSnapshot(f"there are no snapshots in {self.path}; does a pipeline write there?")
        return found.snapshot


class FollowedTopic:
    """The model that the workers of a pipeline publish to its topic.

    Parameters
    ----------
    follower
        Follows the topic; see `streams.follow`.
    """

    home = None
    key = None
    follows = "topic"

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.path = f"{follower.name}.model"
        self._model: object = None
        self._number = 0

    def version(self) -> Any:
        """Return a value that changes with the model."""
        model = self.follower.model
        if model is not self._model:
            self._model = model
            self._number += 1
        return self._number

    def read(self) -> Snapshot:
        """Return the sum of the shards as it is now."""
        model, events = self.follower.model, self.follower.events
        return Snapshot(learner=type(model).__name__, sections={"model": model.state()}, clock=events)


def serve_replica(
    followed: Followed | FollowedTopic,
    name: str,
    host: str,
    port: int,
    limits: ServiceLimits,
    ready: Callable[[str], None],
    stopped: Flag | None = None,
) -> None:
    """Serve a model until a signal comes, or `stopped` is set; follow what replaces it.

    Parameters
    ----------
    followed
        The model on the disk or in a topic.
    name
        A name for it.
    host, port
        The address.
    limits
        The limits of the service; its token is for learning mails.
    ready
        Called with the address of the page.

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
    traits = Traits(
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
        mails = None if followed.home is None else MailLearner(followed.home)
        service = Service(board, traits, door, mails)
        loop = asyncio.get_running_loop()
        _show(board, *_loaded(followed, snapshot))
        follower = Thread(
            target=_follow, args=(followed, board, loop, version, stopped), name="follow", daemon=True
        )
        follower.start()
        try:
            await serve_until(make_server(service.app, door), line, stopped.is_set, board.end)
        finally:
            if mails is not None:
                mails.close()

    try:
        asyncio.run(run())
    finally:
        stopped.set()
        line.close()


def _loaded(followed: Followed | FollowedTopic, snapshot: Snapshot) -> tuple[Any, Any, dict[str, Any]]:
    key = None if followed.home is None else followed.key
    moment = time.time()
    view, evaluation = view_of(snapshot, None, generation=0, moment=moment, key=key)
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
        "positions": [[*place, at] for place, at in snapshot.positions.items()],
        "lag": [],
        "dead": dict(step.get("dead_letters", {}).get("counts", {})),
        "last_dead": {},
        "labels": None,
        "snapshots": {"written": 0, "failed": 0, "newest": None},
        "measures": evaluation.get("fading", {}),
    }
    return view, evaluation, status


def _show(board: Board, view: Any, evaluation: dict[str, Any], status: dict[str, Any]) -> None:
    board.apply(status)
    board.show(view, evaluation)


def _follow(
    followed: Followed | FollowedTopic,
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
