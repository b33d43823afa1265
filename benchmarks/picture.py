"""The ratios of a report as a bar chart in SVG, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from textwrap import wrap

from benchmarks.harness import Result

__all__ = ["svg_of"]

LABEL, BARS, LINE, TOP = 400, 430, 15, 34  # pixels: both columns, the height of a line, room for the scale
CHARACTERS = 54  # of a line of a label: 13 pixels of a sans-serif font take 7 pixels each
STYLE = (
    "text{font:13px sans-serif;fill:#24292f}.scale{fill:#6e7781;font-size:11px}line{stroke:#d0d7de}"
    "rect{fill:#2f81c7}@media(prefers-color-scheme:dark){text{fill:#e6edf3}line{stroke:#3d444d}}"
)


def svg_of(results: Sequence[Result]) -> str:
    """Return a chart of the speedups over the peers: a bar for each work that has a target against a peer."""
    shown = [(result, result.ratio) for result in results if result.case.target is not None and result.ratio]
    decades = max(1, math.ceil(math.log10(max((ratio for _, ratio in shown), default=10.0))))
    labels = [wrap(f"{result.case.work} (vs {result.case.peer})", CHARACTERS) for result, _ in shown]
    tops = list(accumulate((LINE * len(lines) + 9 for lines in labels), initial=TOP))
    height, width = tops[-1] + 10, LABEL + BARS + 80

    def across(ratio: float) -> float:
        return LABEL + BARS * math.log10(max(ratio, 1.0)) / decades

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="Speed against the peer, work by work"><style>{STYLE}</style>'
    ]
    for power in range(decades + 1):
        x = across(10.0**power)
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{TOP - 8}" y2="{height - 6}"/>')
        parts.append(
            f'<text class="scale" x="{x:.0f}" y="{TOP - 14}" text-anchor="middle">{10**power:,}x</text>'
        )
    for (_, ratio), lines, y in zip(shown, labels, tops, strict=False):
        for number, line in enumerate(lines):
            down = y + 13 + LINE * number
            parts.append(f'<text x="{LABEL - 8}" y="{down}" text-anchor="end">{escape(line)}</text>')
        bar = f'<rect x="{LABEL}" y="{y + 1}" width="{across(ratio) - LABEL:.1f}" height="{LINE}" rx="2"/>'
        parts += [bar, f'<text x="{across(ratio) + 6:.0f}" y="{y + 13}">{_rounded(ratio)}x</text>']
    return "\n".join([*parts, "</svg>\n"])


def _rounded(ratio: float) -> str:
    """Two or three digits, which is what a noisy machine can tell."""
    return f"{ratio:.1f}" if ratio < 10 else f"{round(ratio, 1 - math.floor(math.log10(ratio))):,.0f}"
