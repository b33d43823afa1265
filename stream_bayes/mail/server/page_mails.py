"""A filter in a directory of its own, as `stream-bayes spam` keeps it, behind the HTTP service and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream_bayes.core.values.values import shown
from stream_bayes.door.problems import Refused
from stream_bayes.errors import BadLabel, NotLearned
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.serve.plain_values import by_text, label_name

__all__ = ["FollowedHome", "MailLearner", "followed_home"]


class MailLearner:
    """Learns and corrects mails under the directory's lock. A change is appended to the filter's journal and synced."""

    def __init__(self, home: SpamHome) -> None:
        self._filter = FilterService(home)

    def learn(self, raw: bytes, label: str) -> dict[str, Any]:
        """Learn a mail, or correct it if it was learned with another label."""
        known_label = self._checked(label)
        return self._answer(self._filter.learn(raw, known_label), id_of_mail(raw), known_label)

    def correct(self, name: str, label: str) -> dict[str, Any]:
        """Set the label of a mail by its id, learned or only judged."""
        known_label = self._checked(label)
        try:
            return self._answer(self._filter.correct(name, known_label), name, known_label)
        except NotLearned:
            raise Refused(
                404,
                "not-learned",
                f"the filter holds no mail {shown(name)}; send the mail itself as message/rfc822 with ?label=",
            ) from None

    def close(self) -> None:
        """Fold a long journal into the snapshot."""
        self._filter.close()

    def _checked(self, label: str) -> Any:
        labels = self._filter.classes
        known_label = by_text(label, labels)
        if known_label not in labels:
            raise BadLabel(f"expected the label {' or '.join(map(label_name, labels))}, got {label!r}")
        return known_label

    def _answer(self, outcome: str, name: str, label: Any) -> dict[str, Any]:
        self._filter.tend()
        outcome = "repeated" if outcome == "unchanged" else outcome
        return {"outcome": outcome, "id": name, "label": label_name(label)}


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
