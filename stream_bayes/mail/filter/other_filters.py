"""Counts that other spam filters have written, as counts that `SpamFilter.import_counts` adds."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stream_bayes.errors import BadFormat

__all__ = [
    "OtherCounts",
    "is_bogofilter_dump",
    "is_spamassassin_backup",
    "read_bogofilter_dump",
    "read_spamassassin_backup",
    "refuse_other_formats",
]

# Bogofilter's prefix of a header, and this package's. What follows it, a word or a host, is cut alike by both.
_HEADERS = {"subj": "subject", "from": "from", "to": "to", "rtrn": "return-path", "rcvd": "received"}
_PREFIX = re.compile(r"([a-z]{2,5}):")
_ROW = re.compile(rb"(\S+) (\d{1,15}) (\d{1,15})(?: \d{1,8})?\r?")
_SA_LEARN = re.compile(rb"v\t\d+\t(?:db_version|num_spam|num_nonspam)")
_SA_MESSAGES = re.compile(rb"v\t(\d{1,15})\t(num_spam|num_nonspam)\b.*")
_SA_TOKEN = re.compile(rb"t\t(\d{1,15})\t(\d{1,15})\t\d{1,15}\t([0-9a-f]{10})\r?")
_RSPAMD_DUMP = re.compile(rb'"[\w.-]{1,200}_keys": |\{"pattern": "')  # of `rspamadm statistics_dump`
_SA_SHORTEST, _SA_LONGEST = 3, 15  # bytes of a word that SpamAssassin counts whole
# This package's prefix of a host, and what SpamAssassin writes before the same host.
_SA_HOSTS = {"url:": "UD:", "from:": "H*F:D*", "to:": "HTo:D*"}
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

    Words of the text and of the subject, the sender, the receivers and the way of a message carry over. Tokens of other
    headers and of the structure do not: the two programs name these differently. Neither do what this filter learns
    beside its counts, the margin and the calibration, nor the identities of messages, so that a message which
    bogofilter has learned can be learned again. `data` is the whole output; `labels` are those of ham and spam.

    Raises
    ------
    BadFormat
        If a line is not one of a dump, or the messages are missing.

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
        counts = tokens.setdefault(token, [0, 0])
        counts[0] += ham
        counts[1] += spam
    if messages is None:
        raise BadFormat(f"expected a line {_MESSAGES} with the messages of spam and ham, and there is none")
    for counts in tokens.values():
        # Two tokens in one here may have come in the same message.
        counts[:] = (min(pair) for pair in zip(counts, messages, strict=True))
    return OtherCounts({"labels": list(labels), "messages": messages, "tokens": tokens}, dict(skipped))


def is_spamassassin_backup(data: bytes) -> bool:
    """Return True for the output of `sa-learn --backup`."""
    return _SA_LEARN.match(data) is not None


def read_spamassassin_backup(
    data: bytes, labels: tuple[Hashable, Hashable], words: Iterable[str]
) -> OtherCounts:
    r"""Return the counts in the output of `sa-learn --backup`, as far as its tokens are among `words`.

    A backup holds the last five bytes of each token's SHA-1, from which no token can be read back. So the tokens of
    this filter that may be in it are hashed in the same way, and get the counts of their hash. Words of the text, hosts
    of links, and domains of senders and receivers carry over; not the other headers, nor the identities of messages.
    `data` is the whole output; `labels` are those of ham and spam; `words` are tokens of this filter, such as those of
    mails at hand.

    Raises
    ------
    BadFormat
        If a line is not one of a backup, or the messages are missing.

    Examples
    --------
    >>> backup = b"v\t3\tdb_version # this must be the first line!!!\nv\t2\tnum_spam\nv\t3\tnum_nonspam\n"
    >>> backup += b"t\t2\t0\t1700000000\t71f9451190\n" + b"t\t0\t1\t1700000000\t0000000000\n"
    >>> read_spamassassin_backup(backup, ("ham", "spam"), ["pills", "lunch"])
    OtherCounts(counts={'labels': ['ham', 'spam'], 'messages': [3, 2], 'tokens': {'pills': [0, 2]}},
        skipped={'hashes of no known word': 1})
    """
    messages: dict[bytes, int] = {}
    hashed: dict[bytes, tuple[int, int]] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        token = _SA_TOKEN.fullmatch(line)
        if token is not None:
            hashed[token[3]] = (int(token[2]), int(token[1]))
            continue
        match = _SA_MESSAGES.fullmatch(line)
        if match is not None:
            messages[match[2]] = int(match[1])
        elif line[:2] not in (b"v\t", b"s\t", b""):
            shown = line[:60].decode("utf-8", "replace")
            raise BadFormat(f"line {number}: expected a line of `sa-learn --backup`, got {shown!r}")
    if len(messages) < 2:
        raise BadFormat("expected lines num_spam and num_nonspam with the messages, and one is missing")
    both = [messages[b"num_nonspam"], messages[b"num_spam"]]
    tokens: dict[str, list[int]] = {}
    used: set[bytes] = set()
    for token_ in words:
        key = _spamassassin_hash(token_)
        if key in hashed:
            used.add(key)
            tokens[token_] = [min(pair) for pair in zip(hashed[key], both, strict=True)]
    counts = {"labels": list(labels), "messages": both, "tokens": tokens}
    skipped = len(hashed) - len(used)
    return OtherCounts(counts, {"hashes of no known word": skipped} if skipped else {})


def _spamassassin_hash(token: str) -> bytes | None:
    """Return SpamAssassin's hash of a token of this filter; None for one that it does not have."""
    prefix, colon, rest = token.partition(":")
    if colon:
        theirs = _SA_HOSTS.get(prefix + colon)
        if theirs is None or "@" in rest:
            return None
        token = theirs + rest
    elif not _SA_SHORTEST <= len(token.encode()) <= _SA_LONGEST:
        return None
    return hashlib.sha1(token.encode(), usedforsecurity=False).hexdigest()[-10:].encode()


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
            f" give mails or a list of words with --words, whose words are looked up in it; or {train}"
        )
    if data.startswith((b"SQLite format 3", b"REDIS")) or _RSPAMD_DUMP.match(data):
        raise BadFormat(
            "this is a database or a dump of one: rspamd keeps hashes of pairs of words there, and no word can be read"
            f" back; {train}"
        )
    if data[12:16] in (b"\x61\x15\x06\x00", b"\x00\x06\x15\x61", b"\x62\x31\x05\x00", b"\x00\x05\x31\x62"):
        raise BadFormat("this is a Berkeley database: give the output of `bogoutil -d wordlist.db` instead")
