"""Scoring: the loops that read a prediction from the tables.

A `Reading` writes log P(y, x) of each class into `score`; the base turns it into probabilities, one event at a
time or over a whole `Batch`. Probabilities are multiplied, not added as logarithms: a factor costs a multiplication,
and a logarithm is taken only when a product comes near the end of the range of a double.

Test-then-train over many samples: the loop of `predict_learn_one`, with the answers as a table.

    table   sample 0 [0.25  0.75  NaN]       a row a sample, a column a code of a label
            sample 1 [0.5   0.3   0.2]       NaN: the label had no say yet, so the answer does not name it

Each sample is encoded, predicted and learned before the next one is looked at. So this is the same as one call a
sample, refusals included; what is spared is a dict for each answer, and calls.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._features import Encoder
    from stream_bayes.core.encoding._rows import Batch, Row

NEVER = cython.declare(cython.double, float("-inf"))
END_OF_TIME = cython.declare(cython.longlong, 0x7FFFFFFFFFFFFFFF)


@cython.cfunc
@cython.exceptval(check=False)
def log_of(value: cython.double) -> cython.double:
    return log(value) if value > 0.0 else NEVER


@cython.cclass
class Reading:
    """What every way of reading the tables shares: the class prior, and the way from scores to answers.

    Parameters
    ----------
    tables, labels
        What was counted, and the names of the classes.
    strength
        The weight of the smoothing, in fresh samples.
    prior_strength
        The same for P(y); 0 leaves it unsmoothed.
    spread
        False adds the strength to every cell (Laplace), True spreads it over them (m-estimate).
    class_prior
        `"counted"`, `"uniform"`, or `"given"`: then `given` holds a probability for each class code.
    """

    def __init__(self, tables, labels, strength=1.0, prior_strength=0.0, spread=False, class_prior="counted"):
        self.tables = tables
        self.labels = labels
        self.strength = strength
        self.prior_strength = prior_strength
        self.spread = spread
        self.class_prior = class_prior
        self.given = np.zeros(0)
        self.score = np.zeros(2)
        self.share = np.zeros(2)
        self.shift = 0.0  # what every class's score lacks: log P(y, x) is score + shift
        self.live = 0  # how many classes have a say
        self.due = END_OF_TIME  # when the clock stands there, `derive` is called
        self.row = Row()

    def derive(self):
        """Derive from the counts whatever this reading does not compute for each prediction."""
        self.due = END_OF_TIME

    @cython.cfunc
    def price(self, classes: cython.Py_ssize_t) -> cython.double:
        """What smoothing adds to each of so many cells, on the scale of the tables."""
        if self.spread:
            return self.strength * self.tables.unit / classes
        return self.strength * self.tables.unit

    @cython.cfunc
    @cython.exceptval(check=False)
    def has_say(self, y: cython.Py_ssize_t) -> cython.bint:
        """Whether a class holds samples or was declared."""
        return self.tables.class_samples[y] > 0.0 or y < self.labels.declared

    @cython.cfunc
    def begin(self) -> cython.Py_ssize_t:
        """Set the scores to the class prior; the number of classes with a say, 0 before any learning."""
        tables: Tables = self.tables
        y: cython.Py_ssize_t
        live: cython.Py_ssize_t = 0
        learned: cython.bint = False
        if self.score.shape[0] < tables.labels:
            self.score = np.zeros(2 * tables.labels)
            self.share = np.zeros(2 * tables.labels)
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
        """Write log P(y) of each class; the ones without a say get minus infinity."""
        tables: Tables = self.tables
        y: cython.Py_ssize_t
        live: cython.Py_ssize_t = 0
        total: cython.double = 0.0
        add: cython.double
        for y in range(tables.labels):
            if self.has_say(y):
                live += 1
                total += tables.class_weight[y]
        add = self.prior_strength * tables.unit
        if self.spread and live:
            add /= live
        total += add * live
        for y in range(tables.labels):
            if not self.has_say(y):
                target[y] = NEVER
            elif self.class_prior == "uniform" or (self.class_prior == "counted" and total <= 0.0):
                target[y] = -log(live)
            elif self.class_prior == "counted":
                target[y] = log_of((tables.class_weight[y] + add) / total)
            else:
                target[y] = log_of(self.given[y])

    def prior_into(self, target: cython.double[::1]):
        """Write log P(y) of each class into an array."""
        self.fill_prior(target)

    @cython.cfunc
    def add_evidence(self, row: Row):
        """Add log P(x | y) to the scores. The one step a reading writes."""
        raise NotImplementedError

    @cython.cfunc
    def judge(self, row: Row) -> cython.bint:
        """Score a row; False before any learning. Where every class is impossible, the prior answers."""
        if self.begin() == 0:
            return False
        self.add_evidence(row)
        self.settle_impossible()
        return True

    @cython.cfunc
    def settle_impossible(self):
        """Let the prior answer where no class is possible."""
        y: cython.Py_ssize_t
        for y in range(self.tables.labels):
            if self.score[y] > NEVER:
                return
        self.shift = 0.0
        self.fill_prior(self.score)

    @cython.ccall
    def learn(self, row: Row):
        """Count a row that has room in the tables."""
        self.tables.add(row)
        if self.tables.clock >= self.due:
            self.derive()

    @cython.cfunc
    def judge_to_learn(self, row: Row) -> cython.bint:
        """Score a row that is learned next, by `learn_judged`: a reading may do part of the learning on the way."""
        return self.judge(row)

    @cython.cfunc
    def learn_judged(self, row: Row):
        """Learn what `judge_to_learn` has not."""
        self.learn(row)

    @cython.cfunc
    def normalise(self) -> cython.bint:
        """Turn the scores into shares that sum to 1."""
        y: cython.Py_ssize_t
        best: cython.double = NEVER
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

    def evidence(self, row: Row) -> dict:
        """The same as `log_joint`, without the prior to answer where every class is impossible."""
        answer: dict = {}
        y: cython.Py_ssize_t
        if self.begin() == 0:
            return answer
        self.add_evidence(row)
        for y in range(self.tables.labels):
            if self.has_say(y):
                answer[self.labels.values[y]] = float(self.score[y] + self.shift)
        return answer

    @cython.ccall
    def log_joint(self, row: Row) -> dict:
        """`{label: log P(y, x)}`."""
        answer: dict = {}
        y: cython.Py_ssize_t
        if self.judge(row):
            for y in range(self.tables.labels):
                if self.has_say(y):
                    answer[self.labels.values[y]] = float(self.score[y] + self.shift)
        return answer

    @cython.ccall
    def probabilities(self, row: Row) -> dict:
        """`{label: P(y | x)}`, empty before any learning."""
        return self.shares_by_name() if self.judge(row) else {}

    @cython.ccall
    def predict_and_learn(self, row: Row) -> dict:
        """The probabilities of a row before it is learned; then learn it."""
        answer: dict = self.shares_by_name() if self.judge_to_learn(row) else {}
        self.learn_judged(row)
        return answer

    @cython.cfunc
    def shares_by_name(self) -> dict:
        """The scores as probabilities by label."""
        answer: dict = {}
        y: cython.Py_ssize_t
        self.normalise()
        for y in range(self.tables.labels):
            if self.has_say(y):
                answer[self.labels.values[y]] = float(self.share[y])
        return answer

    @cython.cfunc
    def load(self, batch: Batch, index: cython.Py_ssize_t):
        """Copy a row out of a batch; numbers go into the bins as these are now."""
        batch.load(index, self.row)
        if self.row.numbers and self.tables.bins is not None:
            self.tables.bins.resolve(self.row)

    def learn_batch(self, batch: Batch):
        """Learn rows one after the other."""
        r: cython.Py_ssize_t
        for r in range(batch.rows):
            self.load(batch, r)
            self.learn(self.row)

    def predict_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """Write the probabilities of each row into a row of `out`; zeros before any learning."""
        r: cython.Py_ssize_t
        for r in range(batch.rows):
            self.load(batch, r)
            if self.judge(self.row):
                self.write_shares(out, r)

    def predict_learn_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """The same, each row learned right after it was predicted."""
        r: cython.Py_ssize_t
        for r in range(batch.rows):
            self.load(batch, r)
            if self.judge_to_learn(self.row):
                self.write_shares(out, r)
            self.learn_judged(self.row)

    @cython.cfunc
    def write_shares(self, out: cython.double[:, ::1], r: cython.Py_ssize_t):
        y: cython.Py_ssize_t
        self.normalise()
        for y in range(self.tables.labels):
            out[r, y] = self.share[y]


NO_SAY = cython.declare(cython.double, float("nan"))


@cython.cclass
class AnswerTable:
    """What was answered to samples, one after the other.

    Parameters
    ----------
    samples
        How many there will be at most.
    labels
        How many labels there are now.
    """

    def __init__(self, samples: cython.Py_ssize_t, labels: cython.Py_ssize_t):
        self.rows = 0
        self.table = np.full((samples, max(labels, 1)), NO_SAY)

    def take(self, store, reading: Reading, xs, ys, ws):
        """Answer and learn samples; those without label, None, are answered only.

        Where one is refused, the reason is raised, and `rows` says how many were taken before it.
        """
        encoder: Encoder = store.encoder
        tables: Tables = store.tables
        row: Row
        ask_for_room: cython.bint = store.memory_budget is not None
        for x, y, w in zip(xs, ys, ws, strict=True):
            if y is None:
                row = encoder.lookup(x)
                if reading.judge(row):
                    self.write(reading)
            else:
                row = encoder.encode(x, y, w)
                if ask_for_room or len(encoder.created) > 0 or (tables.exact and not row.whole):
                    row = store.admitted(x, row)
                    if tables.labels > self.table.shape[1]:
                        self.widen(tables.labels)
                if reading.judge_to_learn(row):
                    self.write(reading)
                reading.learn_judged(row)
            self.rows += 1

    def widen(self, labels):
        """Make room for labels that are new."""
        self.table = np.pad(
            self.table, ((0, 0), (0, 2 * labels - self.table.shape[1])), constant_values=NO_SAY
        )

    @cython.cfunc
    def write(self, reading: Reading):
        """The scores of a row as its answer."""
        y: cython.Py_ssize_t
        reading.normalise()
        for y in range(reading.tables.labels):
            if reading.has_say(y):
                self.table[self.rows, y] = reading.share[y]

    def by_name(self, names: list) -> list:
        """`{name: probability}` of each sample, given the name of each label code."""
        answers: list = []
        answer: dict
        r: cython.Py_ssize_t
        y: cython.Py_ssize_t
        p: cython.double
        width: cython.Py_ssize_t = min(len(names), self.table.shape[1])
        for r in range(self.rows):
            answer = {}
            for y in range(width):
                p = self.table[r, y]
                if p == p:
                    answer[names[y]] = p
            answers.append(answer)
        return answers
