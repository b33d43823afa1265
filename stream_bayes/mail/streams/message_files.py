"""Files of mails as keyed messages, for commands that write topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.mail.streams.mailbox import mails

__all__ = ["keyed_mails"]

SUFFIXES = (".mbox", ".eml")


def keyed_mails(file: Path) -> Iterator[tuple[bytes, bytes]] | None:
    """Return the mails of a mailbox or directory with their ids as keys; None for a file of anything else."""
    if not file.is_dir() and not any(suffix.lower() in SUFFIXES for suffix in file.suffixes):
        return None
    return ((id_of_mail(mail.raw).encode(), mail.raw) for mail in mails(file))
