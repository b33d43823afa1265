r"""Mails in tables of text: JSON lines, and CSV with a column of mails or texts.

    {"mail": "Subject: a\n\nfree pills", "label": "spam"}       a whole message; or "raw"
    {"subject": "a", "text": "free pills"}                      a text, with a subject or without; or "message", "body"

    spam<tab>free pills                                         lines of a label and a text, without a header

A label in the table decides which rows are those that were asked for; the others are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import IO, Any, Final, NamedTuple

from stream_bayes.errors import BadValue

__all__ = ["TableMail", "csv_mails", "is_labelled", "is_object", "json_mails", "labelled_texts"]

MAILS: Final = ("mail", "raw", "email", "eml")  # columns of whole messages
TEXTS: Final = ("text", "message", "body", "content")
LABELS: Final = ("label", "spam/ham", "class", "category", "target", "spam", "is_spam")
MEANINGS: Final = {"ham": "ham", "spam": "spam"} | {
    word: label
    for label, words in (("ham", "0 0.0 false no legitimate"), ("spam", "1 1.0 true yes"))
    for word in words.split()
}
_LABELLED: Final = re.compile(rb"(ham|spam)\t", re.IGNORECASE)
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


def is_labelled(line: bytes) -> bool:
    """Return True for a line of a label, a tab and a text."""
    return _LABELLED.match(line) is not None


def labelled_texts(first: bytes, stream: IO[bytes], label: str | None) -> Iterator[TableMail]:
    """Yield the texts of lines with a label each, the first of which is read."""
    line = first
    while line:
        label_cell, mark, text = line.partition(b"\t")
        if mark:
            cells = {
                "label": label_cell.decode("latin-1"),
                "text": text.decode("utf-8", "surrogateescape").strip(),
            }
            yield _mail_of(cells, label)
        elif not line.isspace():
            yield TableMail(line, "a line without a label, among lines with one")
        line = stream.readline(MAX_ROW)


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
    lines = (
        line.decode("utf-8", "surrogateescape")
        for line in chain([first], iter(partial(stream.readline, MAX_ROW), b""))
    )
    rows = _rows(lines, chr(separator))
    names = next(rows, [])
    columns = [name.strip().lower() for name in names]
    if not {*MAILS, *TEXTS} & set(columns):
        yield TableMail(first, f"a table with the columns {', '.join(columns)[:100]}; {_EXPECTED}")
        return
    for cells in rows:
        yield _mail_of(dict(zip(columns, cells, strict=False)), label)


def _rows(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Yield the cells of each row that is not empty. A cell that begins with a quote ends at the next single one.

    The `csv` module has one limit of a cell's length for the whole process, which a mail in a cell exceeds.
    """
    rest = iter(lines)
    for first in rest:
        line, start, length = first, 0, len(first)
        cells: list[str] = []
        while line.rstrip("\r\n") or cells:
            cell = ""
            if line.startswith('"', start):
                start += 1
                pieces = []
                while (end := line.find('"', start)) < 0 or line.startswith('"', end + 1):
                    if end >= 0:
                        pieces.append(line[start : end + 1])
                        start = end + 2
                        continue
                    pieces.append(line[start:])
                    line, start = next(rest, ""), 0
                    length += len(line)
                    if not line or length > MAX_ROW:
                        raise BadValue(f"a quote is not closed within {length:,} characters")
                cell, start = "".join(pieces) + line[start:end], end + 1
            end = line.find(separator, start)
            cells.append(cell + (line[start:] if end < 0 else line[start:end]).rstrip("\r\n"))
            if end < 0:
                yield cells
                break
            start = end + 1


_EXPECTED: Final = f"expected one of {', '.join((*MAILS, *TEXTS))}"


def _mail_of(row: Mapping[str, Any], label: str | None) -> TableMail:
    """Return the mail of a row, unless it has another label."""
    meanings = (meaning for name in LABELS if (meaning := _meaning(row.get(name))))
    label_of_row = next(meanings, None) or _label_among(row)
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
    if label is not None and label_of_row is not None and label_of_row != label:
        return TableMail(raw, f"a row labelled {label_of_row}")
    return TableMail(raw)


def _label_among(row: Mapping[str, Any]) -> str | None:
    """Return the label in a column whose name is none of `LABELS`: "ham" or "spam" in any, 0 or 1 in `label_num`."""
    for name, value in row.items():
        text = str(value).strip().lower()
        if name not in (*MAILS, *TEXTS) and (
            text in ("ham", "spam") or (text in MEANINGS and "label" in name)
        ):
            return MEANINGS[text]
    return None


def _meaning(value: Any) -> str | None:
    """Return the label that a cell gives; None for an empty one."""
    text = "" if value is None else str(value).strip().lower()
    return MEANINGS.get(text, text or None)
