"""The table of a comparison: as text, in the terminal and in a notebook."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from stream_bayes.core.measures.bootstrap import IntervalEstimate
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.pictures.html import plain_table
from stream_bayes.evaluation.checkpoints import Checkpoint

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

__all__ = ["ComparisonTable"]

WIDTH = 1000  # maximum width of a table as text
PERCENT = 100.0
# Heading, measure, factor, digits.
COLUMNS = (
    ("kappa", "kappa", 1.0, 3),
    ("kappa-M", "kappa_m", 1.0, 3),
    ("kappa-T", "kappa_t", 1.0, 3),
    ("log-loss", "log_loss", 1.0, 4),
    ("Brier", "brier", 1.0, 4),
    ("AUC", "roc_auc", 1.0, 4),
    ("F1", "macro_f1", 1.0, 3),
    ("ECE %", "calibration_error", PERCENT, 2),
)
REASONS = {
    "no_key": "without a label"
}  # of skipped records, for people: without a key no label can come later
GAP, EDGES = 3, 4  # around a cell, and around the table


class ComparisonTable(Mapping[str, Checkpoint]):
    """The table that a comparison shows: its learners side by side, and each against the most accurate one."""

    losses: dict[str, Losses]
    skipped: dict[str, int]
    waiting: int
    stopped: dict[str, str]
    costs: dict[str, float]
    expected_costs: dict[str, float]
    interval: Callable[..., IntervalEstimate]
    difference: Callable[..., IntervalEstimate]

    @property
    def most_accurate(self) -> str:
        """The learner with the highest accuracy, the first of equals; one that was stopped only if all were."""
        whole = [name for name in self if name not in self.stopped] or list(self)
        return max(whole, key=lambda name: self.losses[name].cumulative.accuracy)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text  # as below: only a table that is shown needs it

        yield from self._standings(options.max_width - EDGES)
        yield Text(f"  {self.caption()}")
        if len(self) > 1:
            yield self._differences()

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=WIDTH, color_system=None).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")

    def _repr_html_(self) -> str:
        columns = self.columns()
        return plain_table(self.caption(), tuple(columns), zip(*columns.values(), strict=True))

    def _standings(self, room: int) -> Iterator[Table]:
        """Yield the table of results, in as many parts as the width needs; each begins with the learners."""
        from rich.box import SIMPLE
        from rich.table import Table
        from rich.text import Text

        columns = self.columns()
        widths = {heading: max(len(heading), *map(len, cells)) + GAP for heading, cells in columns.items()}
        first, *rest = columns
        parts, left = [[first]], room - widths[first]
        for heading in rest:
            if widths[heading] > left and len(parts[-1]) > 1:
                parts.append([first])
                left = room - widths[first]
            parts[-1].append(heading)
            left -= widths[heading]
        for part in parts:
            table = Table(box=SIMPLE)
            for heading in part:
                is_name = heading == first
                table.add_column(
                    heading, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold"
                )
            for row in zip(*(columns[heading] for heading in part), strict=True):
                table.add_row(*map(Text, row))  # names are the caller's, and no markup
            yield table

    def caption(self) -> str:
        """Return the number of events, and what was skipped, in words."""
        events = max(checkpoint.events for checkpoint in self.values())
        caption = f"{events:,} events, each predicted before it was learned"
        caption += f"; {self.waiting:,} predicted and without label" * bool(self.waiting)
        if self.skipped:
            reasons = ", ".join(
                f"{count:,} {REASONS.get(reason, reason)}" for reason, count in sorted(self.skipped.items())
            )
            caption += f"; {sum(self.skipped.values()):,} skipped: {reasons}"
        if unanswered := max(each.unanswered for each in self.losses.values()):
            caption += f"; {unanswered:,} not scored, since a model had no answer yet"
        further = [each.max_labels for each in self.losses.values() if each.has_further_labels]
        if further:
            caption += (
                f"\nthere are more than {further[0]:,} labels: F1 and AUC count further ones as one, all else does "
                "not"
            )
        for name, reason in self.stopped.items():
            caption += f"\n{name} stopped after {self[name].events:,} events: {reason}"
        return caption

    def columns(self) -> dict[str, list[str]]:
        """Return the columns of the table of results as text, by heading."""
        standing = list(self.values())
        right = [self.interval(name) for name in self]
        columns = {
            "learner": list(self),
            "right %": [_text(estimate.value, PERCENT, 2) for estimate in right],
            "95 % interval": [_ends(estimate, PERCENT, 2) for estimate in right],
        }
        for heading, measure, factor, digits in COLUMNS:
            columns[heading] = [
                "-"
                if each.learner in self.stopped
                else _text(getattr(each.cumulative, measure), factor, digits)
                for each in standing
            ]
        if self.costs:
            columns["cost"] = [_text(self.costs.get(name), 1.0, 4) for name in self]
            columns["expected cost"] = [_text(self.expected_costs.get(name), 1.0, 4) for name in self]
        for metric in standing[0].metrics:
            columns[metric] = [_text(each.metrics[metric], 1.0, 4) for each in standing]
        columns["us/event"] = [_text(each.seconds / max(each.events, 1), 1e6, 1) for each in standing]
        columns["size"] = [_bytes(each.memory_bytes) for each in standing]
        columns["RAM-hours"] = [
            "-" if each.ram_hours is None else f"{each.ram_hours:.1e}" for each in standing
        ]
        return columns

    def _differences(self) -> Table:
        from rich.box import SIMPLE
        from rich.table import Table
        from rich.text import Text

        best = self.most_accurate
        table = Table(
            box=SIMPLE,
            title=Text(f"against {best}, on the same events", style="table.title"),
            title_justify="left",
        )
        table.add_column("learner", no_wrap=True)
        for heading in ("right, points", "95 % interval", "log-loss", "95 % interval"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name in self:
            if name != best:
                right = self.difference(name, best)
                loss = self.difference(name, best, "log_loss")
                table.add_row(
                    Text(name),
                    _signed(right.value, PERCENT, 2),
                    _ends(right, PERCENT, 2),
                    _signed(loss.value, 1.0, 4),
                    _ends(loss, 1.0, 4),
                )
        return table


def _text(value: float | None, factor: float, digits: int) -> str:
    """Return a figure as text, or a dash if there is none."""
    return "-" if value is None or math.isnan(value) else f"{factor * value:.{digits}f}"


def _signed(value: float, factor: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{factor * value:+.{digits}f}"


def _ends(estimate: IntervalEstimate, factor: float, digits: int) -> str:
    if math.isnan(estimate.low):
        return "-"
    return f"{factor * estimate.low:.{digits}f} to {factor * estimate.high:.{digits}f}"


def _bytes(size: int | None) -> str:
    """Return a size in the unit that fits."""
    if size is None:
        return "-"
    scale = min(max(size, 1).bit_length() // 10, 3)
    return f"{size / 1024**scale:.1f} {('B', 'KiB', 'MiB', 'GiB')[scale]}"
