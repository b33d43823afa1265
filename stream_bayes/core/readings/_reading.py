"""Readings: the loops that score an event from the tables, and learn it.

A reading writes log P(y, x) of each class into `score`, by one step of its own, `add_evidence`. The base class turns
scores into probabilities, for one event, a `Batch`, or samples that are encoded as they come. Probabilities are
multiplied, not added as logarithms: a factor costs a multiplication, and a logarithm is taken only when a product comes
near the end of the range of a double.

Test-then-train is `Reading.test_then_train`: each row is predicted from the rows before it, then learned. Rows come
from a `RowSource`, answers go to `Answers`.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, expm1, fabs, log, log1p

from stream_bayes.errors import BadState

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._rows import Batch, Row, RowSource
    from stream_bayes.core.readings._interval_ends import certain_end, hull_end, lower_end, upper_end
    from stream_bayes.core.readings._smoothing import pseudocount

IMPOSSIBLE = cython.declare(cython.double, float("-inf"))  # the logarithm of 0
NEVER = cython.declare(cython.longlong, 0x7FFFFFFFFFFFFFFF)  # a clock that is not reached
NO_ANSWER = cython.declare(cython.double, float("nan"))
MOST_RISE = cython.declare(cython.double, 600.0)  # its exponential is a double
LEAST_RISE = cython.declare(cython.double, 0.05)  # of a score, below which no count is small
PART = cython.declare(cython.double, 1e-3)  # of an event, for the slope of a score


@cython.cfunc
@cython.exceptval(check=False)
def log_of(value: cython.double) -> cython.double:
    return log(value) if value > 0.0 else IMPOSSIBLE


@cython.cclass
class Reading:
    """The base of all readings: the class prior, the way from scores to probabilities, and test-then-train.

    `strength` is the weight of the smoothing, in fresh samples, and `prior_strength` that of the smoothing of P(y); 0
    leaves it unsmoothed. `spread` False adds the strength to every cell (Laplace), True spreads it over the cells
    (m-estimate): `_smoothing.py`. `class_prior` is `"counted"`, `"uniform"`, or `"given"`: then `declared_prior` holds
    a probability for each class code.

    Notes
    -----
    A class is live if it holds samples or was declared. Others have no part in an answer.

    A subclass writes `add_evidence`. It counts the row itself `extra` times besides what the tables hold, in each class
    for that class's score: 0 for an answer, a fresh sample for the second look that intervals need, a part of one for
    the third. One that keeps more than counts, such as a structure or losses, also writes
    `derive`, `rederive`, `derived_state`, `load_derived` and `after_merge`.
    """

    def __init__(self, tables, labels, strength=1.0, prior_strength=0.0, spread=False, class_prior="counted"):
        self.tables = tables
        self.labels = labels
        self.strength = strength
        self.prior_strength = prior_strength
        self.spread = spread
        self.class_prior = class_prior
        self.declared_prior = np.zeros(0)
        self.score = np.zeros(2)
        self.share = np.zeros(2)
        self.shift = 0.0  # left out of every class's score: log P(y, x) is score + shift
        self.live = 0  # live classes
        self.scorings = 0  # so many times scores were begun
        self.extra = 0.0  # the weight that the row itself counts for besides the tables, on their scale
        self.is_prior = False  # True if the prior stands in for scores that are all impossible
        self.first, self.rise, self.spread_of = np.zeros(2), np.zeros(2), np.zeros(2)
        self.rise_of_rest, self.slope = np.zeros(2), np.zeros(2)
        self.has_small_counts = False  # True if the row scored last may rest on small counts, by its rises
        self.lower, self.upper = np.zeros(2), np.zeros(2)  # ends of intervals
        self.due = NEVER  # the clock at which `derive` is called
        self.row = Row()  # used again for each row of a batch
        self.answer = NamedAnswer()  # and for each answer by name

    # -- deriving -----------------------------------------------------------------------------------------------------

    def derive(self):
        """Derive from the counts what predictions do not compute each time; called when `due` is reached, which it sets
        anew.
        """
        self.due = NEVER

    def rederive(self):
        """Derive from the counts as they are now, before it is due."""

    def derived_state(self) -> dict:
        """Return as JSON values what a saved reading needs besides the counts."""
        return {}

    def load_derived(self, saved):
        """Continue from what `derived_state` returned; the counts are loaded already."""
        if saved:
            raise BadState("the state does not fit: it holds more than counts")

    def after_merge(self):
        """Adapt to counts that were merged into the tables, with which losses of earlier predictions do not compare."""

    def set_prior(self, prior):
        """Use these probabilities of the classes, by their codes."""
        self.declared_prior = np.array(prior, np.float64)

    def parent_slots(self, features):
        """Return, for each of the first features, the slot of the first feature that it depends on, or -1.

        None means that there is no such structure: features depend on the class alone, or all on one another.
        """
        return None  # noqa: RET501  # a structure's absence is a value

    # -- the class prior ----------------------------------------------------------------------------------------------

    @cython.cfunc
    def pseudocount(self, cells: cython.Py_ssize_t) -> cython.double:
        """Return the weight that smoothing adds to each of a number of cells, on the scale of the tables."""
        return pseudocount(self.strength * self.tables.unit, cells, self.spread)

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_live(self, y: cython.Py_ssize_t) -> cython.bint:
        return self.tables.class_samples[y] > 0.0 or y < self.labels.declared

    @cython.cfunc
    def begin(self) -> cython.Py_ssize_t:
        """Set the scores to the class prior; return the number of live classes, 0 before any learning."""
        tables: Tables = self.tables
        live: cython.Py_ssize_t = 0
        learned: cython.bint = False
        self.scorings += 1
        if self.score.shape[0] < tables.labels:
            self.score = np.zeros(2 * tables.labels)
            self.share = np.zeros(2 * tables.labels)
            self.first, self.rise = np.zeros(2 * tables.labels), np.zeros(2 * tables.labels)
            self.spread_of = np.zeros(2 * tables.labels)
            self.rise_of_rest, self.slope = np.zeros(2 * tables.labels), np.zeros(2 * tables.labels)
        for y in range(tables.labels):
            if tables.class_samples[y] > 0.0:
                learned = True
                live += 1
            elif y < self.labels.declared:
                live += 1
        if not learned:
            return 0
        self.shift = 0.0
        self.live = live
        self.fill_prior(self.score)
        return live

    @cython.cfunc
    def fill_prior(self, target: cython.double[::1]):
        """Write log P(y) of each class; minus infinity for those that are not live."""
        tables: Tables = self.tables
        live: cython.Py_ssize_t = 0
        total: cython.double = 0.0
        for y in range(tables.labels):
            if self.is_live(y):
                live += 1
                total += tables.class_weight[y]
        add = self.prior_strength * tables.unit
        if self.spread and live:
            add /= live
        total += add * live
        for y in range(tables.labels):
            if not self.is_live(y):
                target[y] = IMPOSSIBLE
            elif self.class_prior == "uniform" or (self.class_prior == "counted" and total <= 0.0):
                target[y] = -log(live)
            elif self.class_prior == "counted":
                # The total is the same for all classes, so their odds are those of independent weights.
                target[y] = log_of((tables.class_weight[y] + add + self.extra) / total)
            else:
                target[y] = log_of(self.declared_prior[y])

    def write_prior(self, target: cython.double[::1]):
        """Write log P(y) of each class into an array."""
        self.fill_prior(target)

    # -- one row ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def add_evidence(self, row: Row):
        """Add log P(x | y) to the scores: the step that a reading writes."""
        raise NotImplementedError(
            f"{type(self).__name__}: add_evidence is a function of C; a subclass with its own is a kernel, compiled too"
        )

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        """Score a row; return False before any learning."""
        if self.begin() == 0:
            return False
        self.add_evidence(row)
        self.fall_back_to_prior()
        return True

    @cython.cfunc
    def fall_back_to_prior(self):
        """Set the scores to the prior where every class is impossible."""
        self.is_prior = False
        for y in range(self.tables.labels):
            if self.score[y] > IMPOSSIBLE:
                return
        self.is_prior = True
        self.shift = 0.0
        self.fill_prior(self.score)

    @cython.cfunc
    def normalise(self) -> cython.bint:
        """Write the scores as probabilities, which sum to 1, into `share`."""
        best: cython.double = IMPOSSIBLE
        total: cython.double = 0.0
        for y in range(self.tables.labels):
            if self.score[y] > best:
                best = self.score[y]
        for y in range(self.tables.labels):
            self.share[y] = exp(self.score[y] - best)
            total += self.share[y]
        for y in range(self.tables.labels):
            self.share[y] /= total
        return True

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row whose codes have room in the tables."""
        self.tables.add(row)
        self.derive_if_due()

    @cython.ccall
    def learn_asleep(self, row: Row):
        """Learn the least that answers need which are given after a sleep."""
        self.tables.add(row)

    @cython.cfunc
    def derive_if_due(self):
        if self.tables.clock >= self.due:
            self.derive()

    @cython.cfunc
    def check_due(self, row: Row):
        """Make a derivation due at once if the row just learned needs it."""

    @cython.cfunc
    def score_to_learn(self, row: Row) -> cython.bint:
        """Score a row that `learn_scored` learns next; a reading may do part of the learning on the way."""
        return self.score_row(row)

    @cython.cfunc
    def learn_scored(self, row: Row):
        """Learn the rest of a row that `score_to_learn` has scored."""
        self.learn(row)

    @cython.cfunc
    def learn_predicted(self, row: Row):
        """Learn a row that `score_row` has scored last, from the counts as they are."""
        self.learn(row)

    def evidence(self, row: Row) -> dict:
        """Return `{label: log P(y, x)}`, without the prior in place of scores that are all impossible."""
        if self.begin() == 0:
            return {}
        self.add_evidence(row)
        return self.joint_by_label()

    @cython.ccall
    def log_joint(self, row: Row) -> dict:
        """Return `{label: log P(y, x)}`."""
        return self.joint_by_label() if self.score_row(row) else {}

    @cython.cfunc
    def joint_by_label(self) -> dict:
        answer: dict = {}
        for y in range(self.tables.labels):
            if self.is_live(y):
                answer[self.labels.values[y]] = float(self.score[y] + self.shift)
        return answer

    @cython.ccall
    def probabilities(self, row: Row) -> dict:
        """Return `{label: P(y | x)}`, empty before any learning."""
        return self.answer_by_label(row, False)

    @cython.ccall
    def predict_learn(self, row: Row) -> dict:
        """Return `{label: P(y | x)}` of a row from what was learned before it, then learn it."""
        return self.answer_by_label(row, True)

    @cython.cfunc
    def write_members(self, out: cython.double[:, ::1], r: cython.Py_ssize_t):
        """Write the probabilities of each reading that this one chooses among, or its own, into rows of `out` from `r`
        on.
        """
        self.write_shares(out, r)

    @cython.cfunc
    def answer_by_label(self, row: Row, is_labelled: cython.bint) -> dict:
        self.answer.by_label = {}
        self.process(row, is_labelled, self.answer)
        return self.answer.by_label

    # -- intervals ----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def score_with_spread(self, row: Row) -> cython.bint:
        """Score a row, and write the variance of each class's log-odds into `spread_of`; return False before any
        learning.
        """
        if not self.score_row(row):
            return False
        self.look_again(row)
        return True

    @cython.cfunc
    def look_again(self, row: Row):
        """Write the variances of the log-odds, from the scores and those with the row learned once more."""
        self.find_rises(row, 1.0, self.rise)
        for y in range(self.tables.labels):
            if self.rise[y] > LEAST_RISE:
                self.has_small_counts = True
        self.find_spread()

    @cython.cfunc
    def find_rises(self, row: Row, samples: cython.double, rise: cython.double[::1]):
        """Write by how much each score rises if the row counts for so many fresh samples; the scores stay."""
        shift: cython.double = self.shift
        for y in range(self.tables.labels):
            self.first[y] = self.score[y]
        self.extra = samples * self.tables.unit
        try:
            self.begin()
            if not self.is_prior:
                self.add_evidence(row)
        finally:
            self.extra = 0.0
        for y in range(self.tables.labels):
            rise[y] = 0.0
            if self.first[y] > IMPOSSIBLE:
                # A score by the complement falls: it is that of being none of the others.
                rise[y] = min(fabs(self.score[y] - self.first[y]), MOST_RISE)
            self.score[y] = self.first[y]
        self.shift = shift

    @cython.cfunc
    def find_spread(self):
        """Write the variances of the log-odds from the rises of the scores."""
        self.normalise()
        for y in range(self.tables.labels):
            self.first[y] = self.share[y] * self.share[y] * expm1(self.rise[y])
        for y in range(self.tables.labels):
            rest = squares = 0.0
            for z in range(self.tables.labels):
                if z != y:
                    rest += self.share[z]
                    squares += self.first[z]
            # The square of what is left is a double.
            self.rise_of_rest[y] = log1p(squares / rest / rest) if rest > 1e-150 else 0.0
            self.spread_of[y] = self.rise[y] + self.rise_of_rest[y]

    @cython.cfunc
    def write_spreads(self, out: cython.double[:, ::1], r: cython.Py_ssize_t):
        """Write the variances that belong to what `write_members` writes."""
        for y in range(self.tables.labels):
            out[r, y] = self.spread_of[y]

    def answer_with_spread(self, row: Row) -> dict:
        """Return `{label: (P(y | x), variance of its log-odds)}`, empty before any learning."""
        answer: dict = {}
        if self.score_with_spread(row):
            self.normalise()
            for y in range(self.tables.labels):
                if self.is_live(y):
                    answer[self.labels.values[y]] = (float(self.share[y]), float(self.spread_of[y]))
        return answer

    @cython.cfunc
    def score_interval(self, row: Row, tail: cython.double, deviations: cython.double) -> cython.bint:
        """Write the ends of the interval of each class's probability into `lower` and `upper`.

        Return False if the prior alone answers: then it is both ends. Without any learning there are no classes.
        """
        has_evidence: cython.bint = False
        self.has_small_counts = False
        if not self.score_with_spread(row):
            return True
        if self.lower.shape[0] < self.tables.labels:
            self.lower, self.upper = np.zeros(2 * self.tables.labels), np.zeros(2 * self.tables.labels)
        self.fill_prior(self.first)
        for y in range(self.tables.labels):
            if self.score[y] != self.first[y]:
                has_evidence = True
        if has_evidence and self.has_small_counts:
            self.find_rises(row, PART, self.slope)
        self.normalise()
        for y in range(self.tables.labels):
            rest = 0.0
            for z in range(self.tables.labels):
                if z != y:
                    rest += self.share[z]
            self.lower[y] = self.upper[y] = self.share[y]
            if has_evidence and self.has_small_counts:
                self.find_certain_ends(y, rest, tail)
            if has_evidence and self.lower[y] > hull_end(self.share[y], rest, self.spread_of[y], deviations):
                self.lower[y] = min(
                    self.lower[y], lower_end(self.share[y], rest, self.spread_of[y], tail, deviations)
                )
            if has_evidence and 1.0 - self.upper[y] >= hull_end(
                rest, self.share[y], self.spread_of[y], deviations
            ):
                self.upper[y] = max(
                    self.upper[y], upper_end(self.share[y], rest, self.spread_of[y], tail, deviations)
                )
        return has_evidence

    @cython.cfunc
    def find_certain_ends(self, y: cython.Py_ssize_t, rest: cython.double, tail: cython.double):
        """Write the ends up to which small counts may leave a class, or all others, next to impossible."""
        slope_of_rest: cython.double = 0.0
        if rest <= 1e-150:  # its square is a double
            return
        for z in range(self.tables.labels):
            if z != y:
                slope_of_rest += self.share[z] * self.share[z] * self.slope[z]
        slope_of_rest /= rest * rest * PART
        low = certain_end(self.share[y], rest, self.rise[y], self.slope[y] / PART, self.rise_of_rest[y], tail)
        left = certain_end(rest, self.share[y], self.rise_of_rest[y], slope_of_rest, self.rise[y], tail)
        self.lower[y], self.upper[y] = min(self.share[y], low), max(self.share[y], 1.0 - left)

    def interval_by_label(self, row: Row, tail: cython.double, deviations: cython.double) -> tuple:
        """Return `{label: (low, high)}`, empty before any learning, and True if there is evidence beside the prior."""
        answer: dict = {}
        if self.begin() == 0:
            return answer, True
        has_evidence: cython.bint = self.score_interval(row, tail, deviations)
        for y in range(self.tables.labels):
            if self.is_live(y):
                answer[self.labels.values[y]] = (float(self.lower[y]), float(self.upper[y]))
        return answer, has_evidence

    def write_intervals(
        self,
        batch: Batch,
        low: cython.double[:, ::1],
        high: cython.double[:, ::1],
        tail: cython.double,
        deviations: cython.double,
    ) -> list:
        """Write the intervals of many rows; return the rows that have no evidence, as `score_interval` says."""
        without: list = []
        if self.begin() == 0:
            return without
        for r in range(batch.rows):
            self.load(batch, r)
            if not self.score_interval(self.row, tail, deviations):
                without.append(r)
            for y in range(self.tables.labels):
                low[r, y], high[r, y] = self.lower[y], self.upper[y]
        return without

    # -- many rows ----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def process(self, row: Row, is_labelled: cython.bint, answers: Answers):
        """Predict a row, record the answer, and learn the row if it has a label: the one step of test-then-train.

        The answer is recorded before learning, which may overwrite the scores.
        """
        if is_labelled:
            if self.score_to_learn(row):
                answers.record(self)
            self.learn_scored(row)
        elif self.score_row(row):
            answers.record(self)
        answers.rows += 1

    def test_then_train(self, rows: RowSource, answers: Answers):
        """Process rows one at a time, until they end or one is refused: that error is raised, and `answers.rows` rows
        were processed before it.
        """
        row: Row = rows.next_row()
        while row is not None:
            self.process(row, rows.is_labelled, answers)
            row = rows.next_row()

    def predict_learn_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """Write the probabilities of each row, before it is learned, into a row of `out`; zeros before any learning."""
        self.test_then_train(BatchRows(self, batch, True), AnswerTable(out))

    def predict_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """Write the probabilities of each row into a row of `out`, zeros before any learning; learn nothing."""
        self.test_then_train(BatchRows(self, batch, False), AnswerTable(out))

    def learn_batch(self, batch: Batch):
        """Learn rows, one at a time."""
        for r in range(batch.rows):
            self.load(batch, r)
            self.learn(self.row)

    @cython.cfunc
    def load(self, batch: Batch, index: cython.Py_ssize_t):
        """Copy a row out of a batch, its numbers in the bins as these are now."""
        batch.load(index, self.row)
        if self.row.numbers and self.tables.bins is not None:
            self.tables.bins.resolve(self.row)

    @cython.cfunc
    def write_shares(self, out: cython.double[:, ::1], r: cython.Py_ssize_t):
        """Write the probabilities of the classes into a row of `out`."""
        self.normalise()
        for y in range(self.tables.labels):
            out[r, y] = self.share[y]


@cython.cclass
class BatchRows(RowSource):
    """The rows of a batch, for a reading."""

    def __init__(self, reading: Reading, batch: Batch, is_labelled: cython.bint):
        self.reading = reading
        self.batch = batch
        self.is_labelled = is_labelled
        self.next_index = 0

    @cython.cfunc
    def next_row(self) -> Row:
        if self.next_index == self.batch.rows:
            return None
        self.reading.load(self.batch, self.next_index)
        self.next_index += 1
        return self.reading.row


@cython.cclass
class Answers:
    """The receiver of a reading's answers; `rows` counts the rows that were processed."""

    def __init__(self):
        self.rows = 0

    @cython.cfunc
    def record(self, reading: Reading):
        """Keep the scores of a reading as its answer to the row after `rows` others."""
        raise NotImplementedError


@cython.cclass
class NamedAnswer(Answers):
    """One answer as `{label: probability}`, empty before any learning."""

    def __init__(self):
        self.rows = 0
        self.by_label = {}

    @cython.cfunc
    def record(self, reading: Reading):
        reading.normalise()
        for y in range(reading.tables.labels):
            if reading.is_live(y):
                self.by_label[reading.labels.values[y]] = float(reading.share[y])


@cython.cclass
class MemberRows(Answers):
    """The answers of the readings that one chooses among, a row each from `rows` on."""

    def __init__(self, out):
        self.rows = 0
        self.out = out

    @cython.cfunc
    def record(self, reading: Reading):
        reading.write_members(self.out, self.rows)


@cython.cclass
class AnswerTable(Answers):
    """Answers as a table, a row a sample and a column a class code. Cells of classes that are not live are not written.

    sample 0   [0.25  0.75  NaN]       NaN in a table from `empty`: the class was not live
    sample 1   [0.5   0.3   0.2]
    """

    def __init__(self, table):
        self.rows = 0
        self.table = table

    @staticmethod
    def empty(samples, labels):
        """Return a table of NaN for a number of samples, with a column for each present label."""
        return AnswerTable(np.full((samples, max(labels, 1)), NO_ANSWER))

    @cython.cfunc
    def record(self, reading: Reading):
        labels: cython.Py_ssize_t = reading.tables.labels
        reading.normalise()
        if labels > self.table.shape[1]:
            self.widen(labels)
        for y in range(labels):
            if reading.is_live(y):
                self.table[self.rows, y] = reading.share[y]

    @cython.cfunc
    def widen(self, labels: cython.Py_ssize_t):
        """Make room for new labels."""
        added = 2 * labels - self.table.shape[1]
        self.table = np.pad(self.table, ((0, 0), (0, added)), constant_values=NO_ANSWER)

    def by_name(self, names: list) -> list:
        """Return `{name: probability}` of each sample, given the name of each label code."""
        answers: list = []
        width: cython.Py_ssize_t = min(len(names), self.table.shape[1])
        for r in range(self.rows):
            answer = {}
            for y in range(width):
                p = self.table[r, y]
                if p == p:
                    answer[names[y]] = p
            answers.append(answer)
        return answers
