"""Test-then-train over many samples: the loop of `predict_learn_one`, with the answers as a table.

    table   sample 0 [0.25  0.75  NaN]       a row a sample, a column a code of a label
            sample 1 [0.5   0.3   0.2]       NaN: the label had no say yet, so the answer does not name it

Each sample is encoded, predicted and learned before the next one is looked at. So this is the same as one call a
sample, refusals included; what is spared is a dict for each answer, and calls.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core._encoding import Encoder
    from stream_bayes.core._kernels import Reading
    from stream_bayes.core._rows import Row
    from stream_bayes.core._tables import Tables

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
