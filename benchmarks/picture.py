"""The ratios of a report as a bar chart in SVG, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from benchmarks.harness import Result

__all__ = ["svg_of"]

LABEL, BARS, LINE, TOP = (
    330,
    430,
    24,
    34,
)  # pixels: the width of both columns, the height of a bar, room for the scale
STYLE = (
    "text{font:13px sans-serif;fill:#24292f}.scale{fill:#6e7781;font-size:11px}line{stroke:#d0d7de}"
    "rect{fill:#2f81c7}@media(prefers-color-scheme:dark){text{fill:#e6edf3}line{stroke:#3d444d}}"
)


def svg_of(results: Sequence[Result]) -> str:
    """How many times as fast as the peer ours is, a bar for each work that has a target against one."""
    shown = [(result, result.ratio) for result in results if result.case.target is not None and result.ratio]
    decades = max(1, math.ceil(math.log10(max((ratio for _, ratio in shown), default=10.0))))
    height, width = TOP + LINE * len(shown) + 10, LABEL + BARS + 80

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
    for number, (result, ratio) in enumerate(shown):
        y = TOP + LINE * number
        work = f"{result.case.work} (vs {result.case.peer})"
        parts.append(f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end">{escape(work)}</text>')
        parts.append(
            f'<rect x="{LABEL}" y="{y + 2}" width="{across(ratio) - LABEL:.1f}" height="{LINE - 8}" rx="2"/>'
        )
        parts.append(f'<text x="{across(ratio) + 6:.0f}" y="{y + 14}">{_rounded(ratio)}x</text>')
    return "\n".join([*parts, "</svg>\n"])


def _rounded(ratio: float) -> str:
    """Two or three digits, which is what a noisy machine can tell."""
    return f"{ratio:.1f}" if ratio < 10 else f"{round(ratio, 1 - math.floor(math.log10(ratio))):,.0f}"
