"""The request of `compare`: models, rows, and what all kinds of models share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stream_bayes.checked_names import Imported, closest
from stream_bayes.cli.comparison.models import SEED
from stream_bayes.cli.data_file import (
    DataFile,
    DataOptions,
    label_amount,
    label_cuts,
    merged_with,
    open_table,
    warn_of_misfits,
)
from stream_bayes.cli.output import console, note
from stream_bayes.core.events.event import Event
from stream_bayes.errors import BadValue
from stream_bayes.streams.contracts.source import Record, Source, records_of
from stream_bayes.streams.sources.binned_labels import BinnedLabels
from stream_bayes.streams.sources.iterable import IterableSource

__all__ = ["DATASETS", "ComparisonRequest", "ComparisonRows"]

DATASETS = Imported(
    {
        "phishing": "river.datasets.Phishing",
        "image-segments": "river.datasets.ImageSegments",
        "bananas": "river.datasets.Bananas",
        "shuttle": "river.datasets.Shuttle",
    }
)


@dataclass(frozen=True)
class ComparisonRows:
    """The rows on which models are compared. `table` is None for a dataset of River's."""

    source: Source
    table: DataFile | None
    stream: Source | list[Record]  # the source, or its records shuffled

    @property
    def records(self) -> Iterable[Record]:
        """All records, one after the other."""
        return self.stream if isinstance(self.stream, list) else records_of(self.stream)


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """Models to compare on the rows of files, or of one of River's datasets, and what is done with the result."""

    files: Sequence[Path]
    target: str | Sequence[str] | None  # the column with the labels, or several
    models: Sequence[str]
    arguments: Sequence[str]
    options: DataOptions
    bins: int | None
    shuffle: bool
    delay: int
    limit: int | None
    save: Path | None
    json: bool

    @property
    def is_dataset(self) -> bool:
        """True if one of River's datasets is named, and no file of that name is there."""
        return not self.files[0].exists() and str(self.files[0]) in DATASETS

    @cached_property
    def table(self) -> DataFile:
        """The first file, opened; `opened` closes it."""
        return open_table(self.files[0], self.target, self.options)

    def check_file(self) -> None:
        """Raise `BadValue` if there is neither a file nor a dataset of the first name."""
        file = self.files[0]
        if not file.exists() and not self.is_dataset:
            hint = closest(str(file), DATASETS)
            raise BadValue(f"there is no file {file}{hint} River's datasets are {', '.join(DATASETS)}")

    def note(self, lines: Iterable[str]) -> None:
        """Write lines to stderr; only warnings if the result is for programs."""
        note(lines, quiet=self.json)

    @contextmanager
    def opened(self, *, with_warnings: bool = False, for_numbers: bool = False) -> Iterator[ComparisonRows]:
        """Open the rows and say what they are, with warnings of labels and features where wanted; at the end, say which
        cells did not fit.

        Raises
        ------
        StreamBayesError
            If a file is not there or cannot be read.
        """
        source, table = self._source()
        with closing(source):
            if table is not None:
                self.note([*table.described(), *(table.warnings(for_numbers) if with_warnings else ())])
                if len(self.files) > 1:
                    self.note([self._merging()])
            yield ComparisonRows(source, table, _shuffled(source) if self.shuffle else source)
            if table is not None:
                warn_of_misfits(source, lambda line: self.note([line]))

    @contextmanager
    def progress(self, source: Source) -> Iterator[Callable[[int], None] | None]:
        """Show a bar on stderr; yield the function that advances it, or None if it is not shown."""
        if self.json or not sys.stderr.isatty():
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task("events", total=self._length(source))
            yield lambda scored: bar.update(task, completed=scored)

    def _length(self, source: Source) -> int | None:
        """Return the number of records that will be read; None if unknown in advance."""
        length: int | None = getattr(getattr(source, "items", None), "n_samples", None)
        return self.limit if length is None or self.limit is None else min(length, self.limit)

    def _source(self) -> tuple[Source, DataFile | None]:
        """Return files merged by time, or one of River's datasets by name, as a source."""
        if self.is_dataset:
            name = str(self.files[0])
            return IterableSource(DATASETS[name](), name), None
        table = self.table
        source = table.source if len(self.files) == 1 else merged_with(table, self.files[1:], self.options)
        if self.bins is None:
            return source, table
        try:
            return BinnedLabels(source, label_cuts(table, self.bins), label_amount(table)), table
        except BadValue:
            source.close()
            raise

    def _merging(self) -> str:
        count, time = len(self.files), self.options.time
        if time is None:
            return f"  {count} files, one after the other as given; to merge them by time: --time COLUMN"
        return f"  {count} files, merged by {time}"


def _shuffled(source: Source) -> list[Record]:
    """Return the records of a source in random order; bad ones first, so that they are counted."""
    records = list(records_of(source))
    events = [record for record in records if isinstance(record, Event)]
    Random(SEED).shuffle(events)
    return [*(record for record in records if not isinstance(record, Event)), *events]
