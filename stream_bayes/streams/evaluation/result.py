"""What a comparison found: where every learner stood over time, how sure that is, and all of it as a table."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

from stream_bayes.core.measures.bootstrap import MEANS, Estimate, Resampling
from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadValue
from stream_bayes.streams.evaluation.checkpoints import Checkpoint, write_checkpoints

if TYPE_CHECKING:  # they load scipy's statistics
    from river.metrics.base import Metric

__all__ = ["Evaluation"]

WIDTH = 1000  # of a table as text at most: it takes what its columns need
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
# The columns that a narrow terminal keeps, in this order, before any other.
FIRST = ("learner", "right %", "log-loss", "us/event", "95 % interval", "ECE %", "size", "kappa-M")
GAP, EDGES = 3, 4  # around a cell, and around the table


class Evaluation(Mapping[str, Checkpoint]):
    """How several learners did on one stream: `{name: how it stood at the end}`, and more.

    As text it is a table, in the order of the learners; `rich` prints it in the width of the terminal.

    Parameters
    ----------
    checkpoints
        Where they stood over time, all learners at one moment one after the other.
    losses
        The scores of each learner.
    metrics
        The metrics of each learner that were asked for.
    rng
        What draws the blocks of the intervals.
    skipped
        How many records of the stream were passed over, for each reason.
    waiting
        How many samples were predicted and not scored, as their labels did not come.

    Attributes
    ----------
    checkpoints, losses, metrics, skipped, waiting
        As above.
    """

    def __init__(
        self,
        checkpoints: Sequence[Checkpoint],
        losses: Mapping[str, Losses],
        metrics: Mapping[str, Sequence[Metric]],
        rng: np.random.Generator,
        skipped: Mapping[str, int],
        waiting: int,
    ) -> None:
        self.checkpoints = list(checkpoints)
        self.losses = dict(losses)
        self.metrics = {name: list(own) for name, own in metrics.items()}
        self.skipped = dict(skipped)
        self.waiting = waiting
        self._final = {checkpoint.learner: checkpoint for checkpoint in self.checkpoints}
        self._sums = {name: each.blocks.sums for name, each in losses.items() if each.blocks is not None}
        self._rng = rng.spawn(1)[0]  # its own, so that it does not matter when intervals are asked for

    # -- as a mapping -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Checkpoint:
        return self._final[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._final)

    def __len__(self) -> int:
        return len(self._final)

    # -- how sure -----------------------------------------------------------------------------------------------------

    def interval(self, name: str, measure: str = "accuracy", level: float = 0.95) -> Estimate:
        """A learner's mean over all events, by bootstrap over blocks of events.

        Parameters
        ----------
        name
            Whose.
        measure
            `"accuracy"`, `"log_loss"` or `"brier"`.
        level
            How often such an interval holds the truth.
        """
        return self._resampling.mean(self._sums_of(name, measure), measure, level)

    def difference(self, name: str, other: str, measure: str = "accuracy", level: float = 0.95) -> Estimate:
        """By how much a learner's mean is larger than another's, over the same blocks of events.

        What is hard for both cancels, so the difference is often known better than either mean.
        """
        sums, others = self._sums_of(name, measure), self._sums_of(other, measure)
        return self._resampling.difference(sums, others, measure, level)

    @cached_property
    def _resampling(self) -> Resampling:
        return Resampling(max(map(len, self._sums.values()), default=0), self._rng)

    def _sums_of(self, name: str, measure: str) -> NDArray[np.float64]:
        if name not in self._final:
            raise BadValue(f"the learners are {list(self._final)!r}, not {name!r}")
        if measure in MEANS and getattr(self[name].cumulative, measure) is None:  # it answers labels alone
            return np.full_like(self._sums[name], math.nan)
        return self._sums[name]

    # -- all of it ----------------------------------------------------------------------------------------------------

    @property
    def most_accurate(self) -> str:
        """The learner that was right most often, the first of equals."""
        return max(self, key=lambda name: self.losses[name].cumulative.accuracy)

    def to_dict(self) -> dict[str, Any]:
        """Everything at the end of the stream, as JSON values; `None` where something is not defined."""
        best = self.most_accurate
        learners = {}
        for name, checkpoint in self.items():
            learners[name] = msgspec.to_builtins(checkpoint)
            learners[name]["intervals"] = {
                measure: _as_json(self.interval(name, measure)[1:]) for measure in MEANS
            }
            learners[name]["minus_most_accurate"] = {
                measure: _as_json(self.difference(name, best, measure)) for measure in MEANS
            }
        return {
            "most_accurate": best,
            "learners": learners,
            "skipped": self.skipped,
            "waiting": self.waiting,
        }

    def write(self, path: str | PathLike[str]) -> None:
        """Write the checkpoints as lines of JSON, one for each learner and moment; `read_checkpoints` reads them."""
        write_checkpoints(self.checkpoints, path)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._standings(options.max_width - EDGES)
        if len(self) > 1:
            yield self._differences()

    def __str__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=WIDTH, color_system=None).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")

    def __repr__(self) -> str:
        return f"<Evaluation of {', '.join(self)} over {max(c.events for c in self.values()):,} events>"

    def _standings(self, room: int) -> Table:
        """Where they stand; of the columns those that fit, the most telling ones first."""
        events = max(checkpoint.events for checkpoint in self.values())
        caption = f"{events:,} events, each predicted before it was learned"
        caption += f"; {self.waiting:,} predicted and without label" * bool(self.waiting)
        if self.skipped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.skipped.items()))
            caption += f"; {sum(self.skipped.values()):,} passed over: {reasons}"
        columns = self._columns()
        widths = {heading: max(len(heading), *map(len, cells)) + GAP for heading, cells in columns.items()}
        kept: set[str] = set()
        for heading in sorted(
            columns, key=lambda heading: FIRST.index(heading) if heading in FIRST else len(FIRST)
        ):
            if sum(widths[other] for other in kept) + widths[heading] <= room:
                kept.add(heading)
        if left_out := [heading for heading in columns if heading not in kept]:
            caption += f"\nno room for {', '.join(left_out)}"
        table = Table(box=SIMPLE, caption=caption, caption_justify="left")
        for heading in columns:
            if heading in kept:
                table.add_column(heading, justify="left" if heading == "learner" else "right", no_wrap=True)
        for row in zip(*(cells for heading, cells in columns.items() if heading in kept), strict=True):
            table.add_row(*row)
        return table

    def _columns(self) -> dict[str, list[str]]:
        """Every column of the standings."""
        standing = list(self.values())
        right = [self.interval(name) for name in self]
        columns = {
            "learner": list(self),
            "right %": [_text(estimate.value, PERCENT, 2) for estimate in right],
            "95 % interval": [_ends(estimate, PERCENT, 2) for estimate in right],
        }
        for heading, measure, factor, digits in COLUMNS:
            columns[heading] = [_text(getattr(each.cumulative, measure), factor, digits) for each in standing]
        for metric in standing[0].metrics:
            columns[metric] = [_text(each.metrics[metric], 1.0, 4) for each in standing]
        columns["us/event"] = [_text(each.seconds / max(each.events, 1), 1e6, 1) for each in standing]
        columns["size"] = [_bytes(each.memory_bytes) for each in standing]
        columns["RAM-hours"] = [
            "-" if each.ram_hours is None else f"{each.ram_hours:.1e}" for each in standing
        ]
        return columns

    def _differences(self) -> Table:
        best = self.most_accurate
        table = Table(box=SIMPLE, title=f"against {best}, on the same events", title_justify="left")
        table.add_column("learner", no_wrap=True)
        for heading in ("right, points", "95 % interval", "log-loss", "95 % interval"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name in self:
            if name != best:
                right = self.difference(name, best)
                loss = self.difference(name, best, "log_loss")
                table.add_row(
                    name,
                    _signed(right.value, PERCENT, 2),
                    _ends(right, PERCENT, 2),
                    _signed(loss.value, 1.0, 4),
                    _ends(loss, 1.0, 4),
                )
        return table


def _as_json(numbers: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers]


def _text(value: float | None, factor: float, digits: int) -> str:
    """A figure, or a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{factor * value:.{digits}f}"


def _signed(value: float, factor: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{factor * value:+.{digits}f}"


def _ends(estimate: Estimate, factor: float, digits: int) -> str:
    if math.isnan(estimate.low):
        return "-"
    return f"{factor * estimate.low:.{digits}f} to {factor * estimate.high:.{digits}f}"


def _bytes(size: int | None) -> str:
    """A size with the unit that fits it."""
    if size is None:
        return "-"
    scale = min(max(size, 1).bit_length() // 10, 3)
    return f"{size / 1024**scale:.1f} {('B', 'KiB', 'MiB', 'GiB')[scale]}"
