"""A spam filter's directory, as the service follows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream_bayes.mail.server.page_mails import MailLearner
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.saving.snapshots.snapshot import Snapshot

__all__ = ["FollowedHome", "followed_home"]


class FollowedHome:
    """A filter in its directory: the snapshot, and the changes in the journal."""

    follows = "file"

    def __init__(self, path: Path, key: bytes | None = None) -> None:
        self.path = path
        self.name = path.stem
        self.token_key = key
        self._home = SpamHome(path, key)

    def version(self) -> Any:
        return self._home.version(), self._home.journal.size()

    def read(self) -> Snapshot:
        return self._home.snapshot()

    def learner(self) -> MailLearner:
        return MailLearner(self._home)

    def close(self) -> None:
        pass


def followed_home(model: str, servers: str | None, key: bytes | None) -> FollowedHome | None:
    """Return the filter in a directory; None for anything else."""
    path = Path(model)
    return FollowedHome(path, key) if servers is None and (path / "filter.zip").exists() else None
