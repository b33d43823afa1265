"""Tables that notebooks show. All text is escaped here, so callers pass names and labels as they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_bayes.core.pictures.picture import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Curve,
    Label,
    Picture,
    Rectangle,
    Shape,
)
from stream_bayes.core.pictures.text import escaped, visible

__all__ = ["bars_table", "block", "evidence_table", "plain_table", "time_line"]

MOST_ROWS = 40  # of a table; the caption gives the number left out
CELL = "padding:2px 8px;text-align:left;white-space:nowrap"
NUMBER_CELL = "padding:2px 8px;text-align:right;font-variant-numeric:tabular-nums"
BAR_WIDTH = 140  # pixels
HEIGHT = 64.0
TIME_LINE_WIDTH = 640.0
KINDS = {  # of a drift log: its row in the time line and its colour
    "warning": (0, GREY),
    "drift": (1, ORANGE),
    "searched": (2, GREY),
    "trial": (2, BLUE),
    "adopted": (3, "#009E73"),
    "refused": (3, "#CC79A7"),
}


def block(*parts: str) -> str:
    """Return parts of HTML one below the other."""
    return f"<div>{''.join(parts)}</div>"


def plain_table(caption: str, headings: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; numbers are aligned to the right.

    Examples
    --------
    >>> "&lt;b&gt;" in plain_table("names", ["name"], [["<b>"]])
    True
    """
    body, left_out = _cut(rows)
    head = "".join(f'<th scope="col" style="{CELL}">{escaped(each)}</th>' for each in headings)
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in body]
    return _table(caption, left_out, f"<thead><tr>{head}</tr></thead>", lines)


def bars_table(
    caption: str, shares: Mapping[Any, float], intervals: Mapping[Any, tuple[float, float]] | None = None
) -> str:
    """Return a table with a bar for each share, and its interval.

    Examples
    --------
    >>> "width:35px" in bars_table("P(rain)", {"yes": 0.25, "no": 0.75})
    True
    """
    body, left_out = _cut(shares.items())
    lines = []
    for label, share in body:
        text = f"{share:.4f}"
        if intervals is not None and label in intervals:
            low, high = intervals[label]
            text += f" ({low:.3f} to {high:.3f})"
        lines.append(
            f'<tr><th scope="row" style="{CELL};font-weight:normal">{escaped(label)}</th>'
            f"<td>{_bar(share, BLUE)}</td>"
            f'<td style="{NUMBER_CELL}">{text}</td></tr>'
        )
    return _table(caption, left_out, "", lines)


def evidence_table(caption: str, rows: Iterable[tuple[Any, float]]) -> str:
    """Return a table of evidence in nats: bars to the right for it, to the left against it.

    Examples
    --------
    >>> "+2.00" in evidence_table("for 'spam'", [("offer", 2.0)])
    True
    """
    listed = list(rows)
    largest = max((abs(gap) for _, gap in listed if math.isfinite(gap)), default=0.0) or 1.0
    body, left_out = _cut(listed)
    lines = []
    for name, gap in body:
        share = math.copysign(1.0, gap) if math.isinf(gap) else gap / largest
        empty = f'<div style="width:{BAR_WIDTH // 2}px;display:inline-block"></div>'
        bar = _bar(abs(share), BLUE if share >= 0 else ORANGE, BAR_WIDTH // 2, is_right=share < 0)
        lines.append(
            f'<tr><th scope="row" style="{CELL};font-weight:normal">{escaped(name)}</th>'
            f'<td style="white-space:nowrap">{empty + bar if share >= 0 else bar + empty}</td>'
            f'<td style="{NUMBER_CELL}">{gap:+.2f}</td></tr>'
        )
    return _table(caption, left_out, "", lines)


def time_line(entries: Iterable[Mapping[str, Any]]) -> Picture:
    """Draw the entries of a drift log over the events: a mark each, a row for each kind.

    Examples
    --------
    >>> time_line([{"what": "drift", "event": 520}]).title
    'A time line of 1 entry up to event 520'
    """
    marked = [entry for entry in entries if entry["what"] in KINDS]
    last = max((entry["event"] for entry in marked), default=0)
    left, row = 70.0, HEIGHT / 4
    shapes: list[Shape] = []
    for lane, name in enumerate(("warning", "drift", "trial", "outcome")):
        y = row * (lane + 0.5)
        shapes += [
            Label(0.0, y + 3.5, name, 10.0, left),
            Curve(((left, y), (TIME_LINE_WIDTH, y)), "#d5d9de", 1.0),
        ]
    for entry in marked:
        lane, colour = KINDS[entry["what"]]
        x = left + (TIME_LINE_WIDTH - left - 8.0) * (entry["event"] / last if last else 0.0)
        hint = visible(f"event {entry['event']:,}: {entry['what']}")
        shapes.append(Rectangle(x, row * (lane + 0.5) - 5.0, 6.0, 10.0, colour, radius=1.0, hint=hint))
    shapes += [
        Label(left, HEIGHT + 12.0, "0", 9.0, 60.0),
        Label(TIME_LINE_WIDTH, HEIGHT + 12.0, f"event {last:,}", 9.0, 200.0, INK, "end"),
    ]
    count = f"{len(marked):,} {'entry' if len(marked) == 1 else 'entries'}"
    return Picture(
        TIME_LINE_WIDTH, HEIGHT + 14.0, tuple(shapes), f"A time line of {count} up to event {last:,}"
    )


def _bar(share: float, colour: str, width: int = BAR_WIDTH, *, is_right: bool = False) -> str:
    filled = 0 if math.isnan(share) else round(width * min(max(share, 0.0), 1.0))
    margin = f";margin-left:{width - filled}px" if is_right else f";margin-right:{width - filled}px"
    return (
        f'<div style="width:{filled}px;height:10px;display:inline-block;background:{colour}{margin}"></div>'
    )


def _cell(value: object) -> str:
    if value is None:
        return f'<td style="{NUMBER_CELL}">–</td>'
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f'<td style="{CELL}">{escaped(value)}</td>'
    text = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td style="{NUMBER_CELL}">{text}</td>'


def _cut(rows: Iterable[Any]) -> tuple[list[Any], int]:
    """Return the rows that are shown, and the number of those left out."""
    listed = list(rows)
    return listed[:MOST_ROWS], max(0, len(listed) - MOST_ROWS)


def _table(caption: str, left_out: int, head: str, lines: Sequence[str]) -> str:
    more = f"; {left_out:,} more rows are not shown" if left_out else ""
    return (
        f'<table><caption style="text-align:left;padding:2px 8px"><b>{escaped(caption)}</b>{more}</caption>'
        f"{head}<tbody>{''.join(lines)}</tbody></table>"
    )
