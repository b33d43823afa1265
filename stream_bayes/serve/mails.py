"""Learning of mails by a filter in a directory of its own, as `stream-bayes spam` keeps it."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadLabel
from stream_bayes.serve.plain_values import by_text, label_name
from stream_bayes.serve.problems import Refused
from stream_bayes.streams.mail.home import SpamHome
from stream_bayes.streams.mail.identity import id_of_mail

__all__ = ["MailLearner"]


class MailLearner:
    """Learns and corrects mails under the directory's lock, and writes the filter each time.

    Parameters
    ----------
    home
        The directory.
    """

    def __init__(self, home: SpamHome) -> None:
        self._home = home

    def learn(self, raw: bytes, label: str) -> dict[str, Any]:
        """Learn a mail, or correct it if it was learned with another label."""
        return self._change(id_of_mail(raw), label, raw)

    def correct(self, name: str, label: str) -> dict[str, Any]:
        """Correct the label of a learned mail by its id."""
        return self._change(name, label, None)

    def _change(self, name: str, label: str, raw: bytes | None) -> dict[str, Any]:
        with self._home.changing() as model:
            given = by_text(label, model.labels)
            if given not in model.labels:
                wanted, unwanted = map(label_name, model.labels)
                raise BadLabel(f"expected the label {wanted} or {unwanted}, got {label!r}")
            before = model.label_of(name)
            if before is None and raw is not None:
                model.learn_one(raw, given, id=name)
            elif before is None:
                raise Refused(
                    404,
                    "not-learned",
                    f"the filter holds no mail {shown(name)}; send the mail itself as message/rfc822 with ?label=",
                )
            elif before != given:
                model.correct(name, given)
        outcome = "learned" if before is None else "repeated" if before == given else "corrected"
        return {"outcome": outcome, "id": name, "label": label_name(given)}
