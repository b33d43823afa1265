"""Counts that other spam filters have written, as counts that `SpamFilter.import_counts` adds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from stream_bayes.errors import BadFormat

__all__ = ["OtherCounts", "is_bogofilter_dump", "read_bogofilter_dump", "refuse_other_formats"]

# Bogofilter's prefix of a header, and this package's. What follows it, a word or a host, is cut alike by both.
_HEADERS = {"subj": "subject", "from": "from", "to": "to", "rtrn": "return-path", "rcvd": "received"}
_PREFIX = re.compile(r"([a-z]{2,5}):")
_ROW = re.compile(rb"(\S+) (\d{1,15}) (\d{1,15})(?: \d{1,8})?\r?")
_SA_LEARN = re.compile(rb"v\t\d+\t(?:db_version|num_spam|num_nonspam)")
_MESSAGES = ".MSG_COUNT"


class OtherCounts(NamedTuple):
    """Counts of another filter, and the number of its tokens that do not carry over, by reason."""

    counts: Mapping[str, Any]
    skipped: Mapping[str, int]


def is_bogofilter_dump(data: bytes) -> bool:
    """Return True for lines of token, spam, ham and date, as `bogoutil -d` writes them."""
    return _ROW.fullmatch(data[:4096].split(b"\n", 1)[0]) is not None


def read_bogofilter_dump(data: bytes, labels: tuple[Hashable, Hashable]) -> OtherCounts:
    r"""Return the counts in the output of `bogoutil -d wordlist.db`.

    Words of the text and of the subject, the sender, the receivers and the way of a message carry over. Tokens of
    other headers and of the structure do not: the two programs name these differently. Neither do what this filter
    learns beside its counts, the margin and the calibration, nor the identities of messages, so that a message
    which bogofilter has learned can be learned again.

    Parameters
    ----------
    data
        The whole output.
    labels
        The labels of ham and spam.

    Raises
    ------
    BadFormat
        If a line is none of a dump, or the messages are missing.

    Examples
    --------
    >>> dump = b".MSG_COUNT 2 3 20240101\nfree 2 0 20240101\nsubj:lunch 0 3 20240101\nmime:png 1 0 20240101\n"
    >>> read_bogofilter_dump(dump, ("ham", "spam"))
    OtherCounts(counts={'labels': ['ham', 'spam'], 'messages': [3, 2],
        'tokens': {'free': [0, 2], 'subject:lunch': [3, 0]}}, skipped={'tokens of mime:': 1})
    """
    messages: list[int] | None = None
    tokens: dict[str, list[int]] = {}
    skipped: Counter[str] = Counter()
    for token, spam, ham in _rows(data):
        if token == _MESSAGES:
            messages = [ham, spam]
            continue
        if token.startswith("."):
            continue  # the version, the encoding and the parameters of the dump
        name = _PREFIX.match(token)
        if name is not None and name[1] not in _HEADERS:
            skipped[f"tokens of {name[0]}"] += 1
            continue
        if name is not None:
            token = _HEADERS[name[1]] + token[name.end() - 1 :]
        held = tokens.setdefault(token, [0, 0])
        held[0] += ham
        held[1] += spam
    if messages is None:
        raise BadFormat(f"expected a line {_MESSAGES} with the messages of spam and ham, and there is none")
    for counts in tokens.values():
        # Two tokens in one here may have come in the same message.
        counts[:] = (min(pair) for pair in zip(counts, messages, strict=True))
    return OtherCounts({"labels": list(labels), "messages": messages, "tokens": tokens}, dict(skipped))


def _rows(data: bytes) -> Iterator[tuple[str, int, int]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        row = _ROW.fullmatch(line)
        if row is None:
            shown = line[:60].decode("utf-8", "replace")
            raise BadFormat(f"line {number}: expected token, spam, ham and date, got {shown!r}")
        yield row[1].decode("utf-8", "replace"), int(row[2]), int(row[3])


def refuse_other_formats(data: bytes) -> None:
    """Raise BadFormat, with a way on, for a file of a filter whose tokens cannot be read back."""
    train = "train on its folders of mail instead: stream-bayes spam train --ham FOLDER --spam FOLDER"
    if _SA_LEARN.match(data):
        raise BadFormat(
            "this is a backup of `sa-learn`: it holds five bytes of each token's SHA-1, and no token can be read back;"
            f" {train}"
        )
    if data.startswith((b"SQLite format 3", b"REDIS")):
        raise BadFormat(
            "this is a database: rspamd keeps hashes of runs of words there, and no word can be read back;"
            f" {train}"
        )
    if data[12:16] in (b"\x61\x15\x06\x00", b"\x00\x06\x15\x61", b"\x62\x31\x05\x00", b"\x00\x05\x31\x62"):
        raise BadFormat("this is a Berkeley database: give the output of `bogoutil -d wordlist.db` instead")
