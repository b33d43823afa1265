"""A reading of the newest events alone: another reading answers, and what has become too old is taken back."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Batch, Row
    from stream_bayes.core.readings._reading import Reading


@cython.cclass
class SlidingReading(Reading):
    """Answers what another reading answers; once an event is learned, the store takes back what is too old.

    Parameters
    ----------
    reading
        What answers and learns.
    store
        The store that it reads, which slides.
    """

    def __init__(self, reading: Reading, store):
        Reading.__init__(
            self,
            reading.tables,
            reading.labels,
            reading.strength,
            reading.prior_strength,
            reading.spread,
            reading.class_prior,
        )
        self.given = reading.given
        self.reading = reading
        self.store = store
        self.window = store.window.ring

    @cython.cfunc
    def take_over(self):
        """Let the scores be those of the reading that answers."""
        self.score = self.reading.score
        self.share = self.reading.share
        self.shift = self.reading.shift
        self.live = self.reading.live

    @cython.cfunc
    def judge(self, row: Row) -> cython.bint:
        known: cython.bint = self.reading.judge(row)
        self.take_over()
        return known

    @cython.cfunc
    def add_evidence(self, row: Row):
        self.reading.begin()
        self.reading.add_evidence(row)
        self.take_over()

    def predict_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """Write the probabilities of each row into a row of `out`; zeros before any learning."""
        self.reading.predict_batch(batch, out)

    @cython.cfunc
    def judge_to_learn(self, row: Row) -> cython.bint:
        known: cython.bint = self.reading.judge_to_learn(row)
        self.take_over()
        return known

    @cython.cfunc
    def learn_judged(self, row: Row):
        # Nothing is taken back before: the reading may have learned half of the row.
        self.reading.learn_judged(row)
        self.slide()

    @cython.ccall
    def learn(self, row: Row):
        """Count a row that has room in the tables, and take back what it makes too old."""
        self.reading.learn(row)
        self.slide()

    @cython.cfunc
    def slide(self):
        if self.window.held == self.window.size:
            self.store.forget_older()
