"""Models that a read-only service follows: a saved model, a directory of snapshots, and what products bring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from stream_bayes.errors import NoSnapshot
from stream_bayes.registry import Registry
from stream_bayes.saving.snapshots.single_file import read_snapshot
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore

__all__ = ["FOLLOWED", "Followed", "FollowedFile", "MessageLearner", "follow_model"]


class MessageLearner(Protocol):
    """Learns whole messages for a model that no pipeline runs; see `POST /v1/labels`."""

    def learn(self, raw: bytes, label: str) -> dict[str, Any]:
        """Learn a message, or correct it if it was learned with another label."""
        ...

    def correct(self, name: str, label: str) -> dict[str, Any]:
        """Set the label of a message by its id."""
        ...

    def close(self) -> None:
        """Write what is not written yet."""
        ...


class Followed(Protocol):
    """A model that may be replaced by a newer one.

    `name` is for people, `follows` says what changes: `"file"`, `"snapshots"` or `"topic"`.
    """

    name: str
    follows: str

    @property
    def path(self) -> str | Path:
        """The file, directory or topic."""
        ...

    @property
    def token_key(self) -> bytes | None:
        """The key of a model with hashed tokens."""
        ...

    def version(self) -> Any:
        """Return a value that changes with the model."""
        ...

    def read(self) -> Snapshot:
        """Return the newest model. Raise `StreamBayesError` if it cannot be read."""
        ...

    def learner(self) -> MessageLearner | None:
        """Return what learns messages; None for a model that only answers."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


class FollowedFile:
    """A saved model, or a directory of snapshots, and the key that these are signed with.

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
    ...     snapshot = FollowedFile(Path(directory, "model.zip")).read()
    >>> snapshot.learner
    'NaiveBayes'
    """

    token_key = None

    def __init__(self, path: Path, key: bytes | None = None) -> None:
        if not path.exists():
            raise NoSnapshot(f"there is no {path}: expected a saved model, or a directory of snapshots")
        self.path = path
        self.name = path.stem
        self._key = key
        self._store = SnapshotStore(path, key=key) if path.is_dir() else None
        self.follows = "file" if self._store is None else "snapshots"

    def version(self) -> Any:
        if self._store is not None:
            newest = self._store.newest_written()
            return None if newest is None else (newest.written, newest.size)
        status = self.path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def read(self) -> Snapshot:
        if self._store is None:
            return read_snapshot(self.path, self._key)
        newest = self._store.latest()
        if newest is None:
            raise NoSnapshot(f"there are no snapshots in {self.path}; does a pipeline write there?")
        return newest.snapshot

    def learner(self) -> None:
        return None

    def close(self) -> None:
        pass


# What products follow, by name: each takes the model as the command line names it, the servers of brokers, and a key,
# and returns None if it is nothing of its own.
FOLLOWED: Registry[Callable[[str, str | None, bytes | None], Followed | None]] = Registry(
    "kind of model to follow", "followed"
)


def follow_model(model: str, servers: str | None, key: bytes | None) -> Followed:
    """Return the model that a name means: of a product, or in a file or directory.

    Raises
    ------
    NoSnapshot
        If there is no such model.
    """
    for kind in FOLLOWED:
        followed = FOLLOWED[kind](model, servers, key)
        if followed is not None:
            return followed
    if Path(model).exists():
        return FollowedFile(Path(model), key)
    raise NoSnapshot(
        f"there is no {model}: expected a saved model, a directory of snapshots or of a spam filter, a pipeline file "
        "(.toml) with [workers], or the name of such a pipeline with --servers"
    )
