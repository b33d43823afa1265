"""Training a model on the rows of a table, with the counts of what it learned and of what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any, TypeVar

from stream_bayes.cli.data_file import DataFile, label_amount
from stream_bayes.cli.learned_ranges import LearnedRanges
from stream_bayes.cli.tasks import is_regressor
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.coverage_control import LabelSets
from stream_bayes.errors import BadValue, BudgetExceeded, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.base.traits import ROW_SEED
from stream_bayes.learners.regressors.several_targets import MultiTargetRegression
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.telling_columns import number_of

__all__ = ["PARTLY_RANDOM", "TableTraining", "in_random_order", "rows_that_wait"]

T = TypeVar("T")

MOST_CELLS = 1_000_000  # of the rows that wait for their turn in a random order
PARTLY_RANDOM = (
    "of {rows:,} rows {waiting:,} at a time fit in memory, so the order is random only within about so many: if the "
    "file is sorted, shuffle it first, such as by shuf"
)
SUMS = {"total", "totals", "grand total", "subtotal", "sum"}  # what a row of sums begins with


def in_random_order(records: Iterable[T], waiting: int) -> Iterator[T]:
    """Yield records in a random order, the same each time. At most `waiting` wait in memory for their turn, so the rows
    of a longer file move by about as many places.

    Examples
    --------
    >>> list(in_random_order("abcdef", 100)) == list(in_random_order("abcdef", 100))
    True
    >>> sorted(in_random_order("abcdef", 2))
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    random = Random(ROW_SEED)
    buffer: list[T] = []
    for record in records:
        if len(buffer) < waiting:
            buffer.append(record)
            continue
        index = random.randrange(waiting)
        yield buffer[index]
        buffer[index] = record
    random.shuffle(buffer)
    yield from buffer


def rows_that_wait(columns: int) -> int:
    """Return the most rows of a table with so many columns that wait for their turn in a random order.

    Examples
    --------
    >>> rows_that_wait(20)
    50000
    """
    return max(MOST_CELLS // max(columns, 1), 1)


class TableTraining:
    """A model that learns the rows of a table, whose column `target` has the labels; a network learns all columns where
    that is None. `sets` are scored with the answer to each row, before it is learned.

    Attributes
    ----------
    learned, unlabelled : int
        Rows learned, and rows without a label, which are learned too if the model was made so.
    sums : int
        Rows learned whose first name says that they are sums of others.
    bad : Counter of str
        Rows that were skipped, by reason.
    ranges : LearnedRanges
        What the learned rows had in each column.
    """

    def __init__(self, learner: Any, name: str, table: DataFile, sets: LabelSets | None) -> None:
        self.learner = learner
        self.sets = sets
        self.learned = self.unlabelled = self.sums = 0
        self.bad: Counter[str] = Counter()
        self.ranges = LearnedRanges()
        self._labels: Counter[Any] = Counter()  # the rows of each, of a class
        self._table = table
        # how the numbers of each target are written; None for classes
        self._amounts = (
            {target: label_amount(table, target) for target in table.all_targets}
            if is_regressor(name)
            else None
        )
        self._learns_unlabelled = getattr(learner, "unlabelled", "refuse") == "em"
        is_ours = isinstance(learner, BayesClassifier | BayesRegressor | MultiTargetRegression)
        self._is_timed = is_ours and learner.store.tables.timed

    def learn(self, record: Event | Record) -> None:
        """Learn a row, or count why it is skipped.

        Raises
        ------
        BadValue
            If the model refuses the row.
        BudgetExceeded
            If the model has no room for it.
        """
        if not isinstance(record, Event):
            self.bad[record.reason] += 1
            return
        try:
            if not self._table.all_targets:
                self.learner.learn_one(record.x)
                self.learned += 1
                self.ranges.add(record.x)
            elif record.y is None:
                self._learn_unlabelled(record.x)
            else:
                self._learn_labelled(record)
        except BudgetExceeded:
            raise
        except StreamBayesError as error:
            raise BadValue(f"{self._table.path}, at {record.position}: {error}") from error

    def _learn_unlabelled(self, x: Mapping[str, Any]) -> None:
        self.unlabelled += 1
        if self._learns_unlabelled and self.learner.classes_:
            self.learner.learn_one(x, None)

    def _learn_labelled(self, event: Event) -> None:
        label = event.y
        if self._amounts is not None:
            values = event.y if self._table.targets else {self._table.target: event.y}
            label = {name: number_of(values[name], amount) for name, amount in self._amounts.items()}
            if bad := [name for name, number in label.items() if number is None]:
                what = f"target {bad[0]}" if self._table.targets else "target"
                self.bad[f"its {what} is " + ("missing" if values[bad[0]] is None else "not a number")] += 1
                return
            if not self._table.targets:
                (label,) = label.values()
        answer = None if self.sets is None else self.learner.predict_proba_one(event.x)
        if self._is_timed:
            self.learner.learn_one(event.x, label, at=event.time)
        else:
            self.learner.learn_one(event.x, label)
        self.learned += 1
        self.ranges.add(event.x)
        if self._amounts is None:
            self._labels[label] += 1
        first = next((value for value in event.x.values() if isinstance(value, str)), "")
        self.sums += first.strip().casefold() in SUMS
        if self.sets is not None and answer is not None:
            self.sets.score(label, answer)

    def check_learned(self) -> None:
        """Raise `BadValue` if no row was learned, with the reason."""
        if self.learned:
            return
        file, target = self._table.path, " or ".join(map(repr, self._table.all_targets))
        if not target:
            raise BadValue(f"{file}: there is no row to learn")
        if self._table.targets and self.bad:
            reasons = "; ".join(f"{count:,} rows: {reason}" for reason, count in self.bad.items())
            raise BadValue(f"{file}: no row has a number in each target, so nothing was learned; {reasons}")
        if self._amounts is not None and self.bad:
            raise BadValue(
                f"{file}: no row has a number in the column {target}; for classes: --task classification"
            )
        raise BadValue(f"{file}: no row has a label in the column {target}, so nothing was learned")

    def coverages(self) -> dict[str, float]:
        """Return the share of rows whose label the sets held, by their level."""
        return (
            {} if self.sets is None else {str(level): self.sets.coverage(level) for level in self.sets.levels}
        )

    def late_labels(self) -> list[str]:
        """Return a line of the labels that the first rows of the table do not have."""
        return self._table.late_labels(self._labels)

    def described(self) -> str:
        """Return in one line what was learned and what was not."""
        text = f"{type(self.learner).__name__} learned {self.learned:,} rows"
        if self.unlabelled and self._learns_unlabelled:
            share, weight = self.learner.unlabelled_share_, self.learner.unlabelled_weight_
            text += f"; {self.unlabelled:,} rows without a label count with the share {share:g} in an answer that has "
            text += f"the weight {weight:.2f}, by what the labels show"
        elif self.unlabelled:
            text += f"; {self.unlabelled:,} rows without a label were skipped"
        if self.sums:
            text += f"; {self.sums:,} of them may be sums of others, as they begin with a word such as total"
        text += "".join(
            f"; sets of {level} held the label in {share:.1%}" for level, share in self.coverages().items()
        )
        return text + "".join(
            f"; {count:,} row{'s' * (count != 1)} skipped: {reason}" for reason, count in self.bad.items()
        )
