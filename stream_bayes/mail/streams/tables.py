r"""Mails in tables of text: JSON lines, and CSV with a column of mails or texts.

    {"mail": "Subject: a\n\nfree pills", "label": "spam"}       a whole message; or "raw"
    {"subject": "a", "text": "free pills"}                      a text, with a subject or without; or "message", "body"

A label in the table decides which rows are those that were asked for; the others are refused.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import IO, Any, Final, NamedTuple

__all__ = ["TableMail", "csv_mails", "is_object", "json_mails"]

MAILS: Final = ("mail", "raw", "email", "eml")  # columns of whole messages
TEXTS: Final = ("text", "message", "body", "content")
LABELS: Final = ("label", "spam/ham", "class", "category", "target", "spam", "is_spam")
MEANINGS: Final = {"ham": "ham", "spam": "spam"} | {
    word: label
    for label, words in (("ham", "0 0.0 false no legitimate"), ("spam", "1 1.0 true yes"))
    for word in words.split()
}
MAX_ROW: Final = 1 << 26  # bytes of a row


class TableMail(NamedTuple):
    """A row of a table as a mail: its bytes, or why it holds none."""

    raw: bytes
    refusal: str = ""


def is_object(line: bytes) -> bool:
    """Return True for a line that is a JSON object."""
    try:
        return line.startswith(b"{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def json_mails(first: bytes, stream: IO[bytes], label: str | None) -> Iterator[TableMail]:
    """Yield the mails of JSON lines, the first of which is read."""
    line = first
    while line:
        if not line.isspace():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                yield _mail_of({str(name).lower(): value for name, value in row.items()}, label)
            else:
                yield TableMail(line, "a line that is no JSON object, among JSON lines")
        line = stream.readline(MAX_ROW)


def csv_mails(first: bytes, stream: IO[bytes], label: str | None) -> Iterator[TableMail]:
    """Yield the mails of a CSV file, whose header is read; its separator is the commonest of `,`, `;` and tab there."""
    separator = max(b",;\t", key=first.count)
    csv.field_size_limit(MAX_ROW)
    lines = (
        line.decode("utf-8", "surrogateescape")
        for line in chain([first], iter(partial(stream.readline, MAX_ROW), b""))
    )
    rows = csv.reader(lines, delimiter=chr(separator))
    names = next(rows, [])
    columns = [name.strip().lower() for name in names]
    if not {*MAILS, *TEXTS} & set(columns):
        yield TableMail(first, f"a table with the columns {', '.join(columns)[:100]}; {_EXPECTED}")
        return
    for cells in rows:
        if cells:
            yield _mail_of(dict(zip(columns, cells, strict=False)), label)


_EXPECTED: Final = f"expected one of {', '.join((*MAILS, *TEXTS))}"


def _mail_of(row: Mapping[str, Any], label: str | None) -> TableMail:
    """Return the mail of a row, unless it has another label."""
    own = next((meaning for name in LABELS if (meaning := _meaning(row.get(name)))), None)
    whole = next((row[name] for name in MAILS if isinstance(row.get(name), str)), None)
    text = next((row[name] for name in TEXTS if isinstance(row.get(name), str)), None)
    if whole is not None:
        is_exact = whole == row.get("raw") and max(whole, default="") <= "\xff"  # a letter for each byte
        raw = whole.encode("latin-1" if is_exact else "utf-8", "surrogateescape")
    elif text is not None:
        subject = row.get("subject")
        title = f"Subject: {' '.join(subject.split())}\n" if isinstance(subject, str) and subject else ""
        plain = f"{title}Content-Type: text/plain; charset=utf-8\n\n{text}"
        raw = plain.encode("utf-8", "surrogateescape")
    else:
        return TableMail(json.dumps(row).encode(), f"a row without a mail; {_EXPECTED}")
    if label is not None and own is not None and own != label:
        return TableMail(raw, f"a row labelled {own}")
    return TableMail(raw)


def _meaning(value: Any) -> str | None:
    """Return the label that a cell gives; None for an empty one."""
    text = "" if value is None else str(value).strip().lower()
    return MEANINGS.get(text, text or None)
