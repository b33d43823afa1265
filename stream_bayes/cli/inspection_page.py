"""The report of `inspect` as one HTML file: it needs no network and no script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from stream_bayes.cli.data_file import DataFile
from stream_bayes.cli.inspection import Inspection
from stream_bayes.streams.files.column_profile import ColumnProfile

__all__ = ["inspection_page"]

BARS = 20  # of a histogram
NAMES = 8  # shown of a column of names
MOST_TOLD = 40  # features that are listed by what they tell
WIDTH, HEIGHT = 160, 36
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #8884; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; }
.scroll { overflow-x: auto; } .note { opacity: .75; }
rect { fill: #3366cc; } rect.missing { fill: #b3400a; } line { stroke: currentColor; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8884; }
"""


def inspection_page(
    table: DataFile,
    columns: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    schema: str,
    inspection: Inspection,
) -> str:
    """Return the report of a table. `columns` has a row for each column, as `inspect` prints them. `notes` are what is
    odd or was guessed, `schema` the declarations of the columns for a pipeline file.
    """
    title = table.path.name if table.target is None else f"{table.path.name}: {table.target}"
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{inspection.rows:,} rows were examined.</p>"]
    parts += ["<h2>Columns</h2>", _columns(table, columns)]
    if table.target is not None:
        parts += ["<h2>Labels</h2>", _labels(inspection)]
        parts += ["<h2>What each feature tells about the label</h2>", _told(inspection)]
        parts += ["<h2>Labels over the rows</h2>", _trend(inspection)]
    parts += ["<h2>Duplicates</h2>", _duplicates(inspection)]
    if notes:
        parts += ["<h2>Notes</h2>", "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"]
    parts += ["<h2>For a pipeline file</h2>", f"<pre>{escape(schema)}</pre>"]
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """Return a table whose cells are HTML."""
    classes = [' class="number"' if name in numbers else "" for name in heading]
    head = "".join(
        f'<th scope="col"{css}>{escape(name)}</th>' for name, css in zip(heading, classes, strict=True)
    )
    lines = (
        "<tr>" + "".join(f"<td{css}>{cell}</td>" for cell, css in zip(row, classes, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def _columns(table: DataFile, columns: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for column in columns:
        profile = table.profiles[column["column"]]
        rows.append(
            [
                *(escape(str(column[name])) for name in ("column", "kind", "why")),
                _missing(profile),
                f"{profile.distinct:,}",
                _distribution(profile),
            ]
        )
    heading = ["column", "kind", "why", "missing", "distinct", "values"]
    return _table(heading, rows, numbers=("distinct",))


def _missing(profile: ColumnProfile) -> str:
    count = profile.missing.total()
    share = count / max(count + profile.values, 1)
    if not count:
        return "none"
    bar = f'<rect class="missing" width="{60 * share:.1f}" height="8"/>'
    return f'{share:.1%} <svg width="60" height="8" aria-hidden="true">{bar}</svg>'


def _distribution(profile: ColumnProfile) -> str:
    """Return the values of a column as a histogram, or as bars of the most frequent names."""
    numbers = profile.kind.numbers
    if numbers and profile.highest > profile.lowest:
        low, high = profile.lowest, profile.highest
        bars = Counter[int]()
        for text, number in numbers.items():
            bar = int(BARS * (number / 2 - low / 2) / (high / 2 - low / 2))  # no overflow of the difference
            bars[min(bar, BARS - 1)] += profile.counts[text]
        tallest, wide = max(bars.values()), WIDTH / BARS
        shapes = "".join(
            f'<rect x="{bar * wide:.1f}" y="{HEIGHT - HEIGHT * count / tallest:.1f}" width="{wide - 1:.1f}" '
            f'height="{HEIGHT * count / tallest:.1f}"/>'
            for bar, count in sorted(bars.items())
        )
        label = f"from {low:g} to {high:g}"
        return (
            f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="histogram {label}">{shapes}</svg>'
            f'<div class="note">{label}</div>'
        )
    shown = profile.counts.most_common(NAMES)
    names = ", ".join(f"{escape(_short(text))} {count:,}" for text, count in shown)
    return names + (f" and {profile.distinct - NAMES:,} more" if profile.distinct > NAMES else "")


def _labels(inspection: Inspection) -> str:
    total = inspection.labels.total()
    rows = [
        [escape(_short(label)), f"{n:,}", f"{n / total:.1%}"]
        for label, n in inspection.labels.most_common(50)
    ]
    text = _table(["label", "rows", "share"], rows, numbers=("rows", "share"))
    if total and inspection.labels.most_common(1)[0][1] > 0.9 * total:
        text += '<p class="note">One label has over 90 % of the rows: compare models by log-loss and F1.</p>'
    return text


def _told(inspection: Inspection) -> str:
    if not inspection.told:
        return "<p>The rows have one label, or none.</p>"
    widest = max((each.high for each in inspection.told.values()), default=0.0) or 1.0
    rows = []
    for name, each in list(inspection.told.items())[:MOST_TOLD]:
        scale = WIDTH / widest
        bar = (
            f'<rect y="12" width="{each.nats * scale:.1f}" height="12"/>'
            f'<line x1="{each.low * scale:.1f}" x2="{each.high * scale:.1f}" y1="18" y2="18"/>'
        )
        interval = f"{each.low:.3f} to {each.high:.3f}"
        picture = f'<svg width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{bar}</svg>'
        rows.append([escape(name), f"{each.nats:.3f}", interval, picture])
    more = len(inspection.told) - MOST_TOLD
    return (
        _table(["feature", "nats", "95 % interval", ""], rows, numbers=("nats", "95 % interval"))
        + (f"<p>{more:,} more tell less.</p>" if more > 0 else "")
        + '<p class="note">Mutual information with the label. Numbers are put into eight intervals with equally many '
        "rows; that a cell is missing counts as a value. Each interval holds for its feature alone.</p>"
    )


def _trend(inspection: Inspection) -> str:
    if not inspection.trend:
        return "<p>The rows have one label, or none.</p>"
    parts = len(next(iter(inspection.trend.values())))
    heading = ["label", *(f"{part + 1}/{parts}" for part in range(parts))]
    rows = [
        [escape(_short(label)), *(f"{share:.0%}" for share in shares)]
        for label, shares in inspection.trend.items()
    ]
    changes = inspection.drift.low > 0.0
    return (
        "<p>Share of each label in each tenth of the rows, in the order of the file. "
        + ("The labels change over the rows" if changes else "No change over the rows is sure")
        + f": which half a row is in tells {inspection.drift.nats:.3f} nats ({inspection.drift.low:.3f} to "
        f"{inspection.drift.high:.3f}).</p>" + _table(heading, rows, numbers=heading[1:])
    )


def _duplicates(inspection: Inspection) -> str:
    items = [
        f"rows that equal an earlier row: {inspection.duplicates:,}",
        f"rows with the features of an earlier row and another label: {inspection.contradictions:,}",
        *(
            f"{escape(one)} and {escape(other)} are equal in every row"
            for one, other in inspection.copies[:20]
        ),
    ]
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
