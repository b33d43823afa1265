"""Several readings, each of a store of its own, that predict and learn one event together."""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import MemberRows, Reading


@cython.cclass
class Members:
    """Readings of several stores. One that chooses among others gives an answer of each of these. `answers` is the
    number of answers that each gives.
    """

    def __init__(self, readings: list, answers: list):
        self.readings = list(readings)
        self.answers = list(answers)
        self.scorings = np.zeros(len(self.readings), np.longlong)
        self.clocks = np.zeros(len(self.readings), np.longlong)

    @cython.ccall
    def predict_with_spreads(
        self,
        rows: list,
        is_asleep: cython.uchar[::1],
        out: cython.double[:, ::1],
        spreads: cython.double[:, ::1],
    ):
        """Write the probabilities that each reading gives, and the variances of their log-odds, as `predict` does."""
        first: cython.Py_ssize_t = 0
        for index in range(len(self.readings)):
            reading: Reading = self.readings[index]
            if not is_asleep[index] and reading.score_with_spread(rows[index]):
                reading.write_members(out, first)
                reading.write_spreads(spreads, first)
            first += self.answers[index]

    @cython.ccall
    def predict(
        self,
        rows: list,
        is_labelled: cython.bint,
        is_asleep: cython.uchar[::1],
        out: cython.double[:, ::1],
    ):
        """Write the probabilities that each reading gives into rows of `out`, one after the other; learn an event that
        has a label. Readings that sleep learn only, and their rows stay as they are.
        """
        first: cython.Py_ssize_t = 0
        answers: MemberRows = MemberRows(out)
        for index in range(len(self.readings)):
            reading: Reading = self.readings[index]
            row: Row = rows[index]
            if not is_asleep[index]:
                answers.rows = first
                reading.process(row, is_labelled, answers)
            elif is_labelled:
                reading.learn_asleep(row)
            first += self.answers[index]

    @cython.ccall
    def remember(self):
        """Remember what the readings have scored until now."""
        for index in range(len(self.readings)):
            reading: Reading = self.readings[index]
            self.scorings[index], self.clocks[index] = reading.scorings, reading.tables.clock

    @cython.ccall
    def learn_predicted(self, rows: list, is_asleep: cython.uchar[::1]) -> cython.bint:
        """Learn an event that all readings awake have predicted last. Return False, and learn nothing, if one of them
        has scored or learned another since `remember`.
        """
        for index in range(len(self.readings)):
            reading: Reading = self.readings[index]
            if reading.scorings != self.scorings[index] or reading.tables.clock != self.clocks[index]:
                return False
        for index in range(len(self.readings)):
            reading = self.readings[index]
            if is_asleep[index]:
                reading.learn_asleep(rows[index])
            else:
                reading.learn_predicted(rows[index])
        return True
