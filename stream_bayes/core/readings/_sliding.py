"""A reading of the newest events alone: another reading answers, and events that leave the window are subtracted."""

from __future__ import annotations

import cython

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Batch, Row
    from stream_bayes.core.readings._reading import Reading


@cython.cclass
class SlidingReading(Reading):
    """The scores of another reading; each event learned subtracts the oldest one from a full window. The other reading
    answers and learns. Its tables have a window.
    """

    def __init__(self, reading: Reading):
        Reading.__init__(
            self,
            reading.tables,
            reading.labels,
            reading.strength,
            reading.prior_strength,
            reading.spread,
            reading.class_prior,
        )
        self.declared_prior = reading.declared_prior
        self.reading = reading

    # -- deriving -----------------------------------------------------------------------------------------------------

    def rederive(self):
        self.reading.rederive()

    def derived_state(self) -> dict:
        return self.reading.derived_state()

    def load_derived(self, saved):
        self.reading.load_derived(saved)

    def set_prior(self, prior):
        Reading.set_prior(self, prior)
        self.reading.set_prior(prior)

    def parent_slots(self, features):
        return self.reading.parent_slots(features)

    # -- scoring ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def copy_scores(self):
        """Copy the scores of the reading that answers."""
        self.score = self.reading.score
        self.share = self.reading.share
        self.shift = self.reading.shift
        self.live = self.reading.live
        self.spread_of = self.reading.spread_of
        self.lower, self.upper = self.reading.lower, self.reading.upper

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        scored: cython.bint = self.reading.score_row(row)
        self.copy_scores()
        return scored

    @cython.cfunc
    def score_with_spread(self, row: Row) -> cython.bint:
        scored: cython.bint = self.reading.score_with_spread(row)
        self.copy_scores()
        return scored

    @cython.cfunc
    def add_evidence(self, row: Row):
        self.reading.begin()
        self.reading.add_evidence(row)
        self.copy_scores()

    @cython.cfunc
    def score_interval(self, row: Row, tail: cython.double, deviations: cython.double) -> cython.bint:
        has_evidence: cython.bint = self.reading.score_interval(row, tail, deviations)
        self.copy_scores()
        return has_evidence

    def log_joint(self, row: Row) -> dict:
        """Return `{label: log P(y, x)}`."""
        return self.reading.log_joint(row)

    def evidence(self, row: Row) -> dict:
        """Return the same without falling back to the prior if every class is impossible."""
        return self.reading.evidence(row)

    def predict_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """Write the probabilities of each row into a row of `out`; zeros before any learning."""
        self.reading.predict_batch(batch, out)

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row, and subtract the event that leaves the window."""
        self.reading.learn(row)
        self.slide()

    @cython.cfunc
    def score_to_learn(self, row: Row) -> cython.bint:
        scored: cython.bint = self.reading.score_to_learn(row)
        self.copy_scores()
        return scored

    @cython.cfunc
    def learn_scored(self, row: Row):
        # Not before: the reading may have learned half of the row while scoring it.
        self.reading.learn_scored(row)
        self.slide()

    @cython.cfunc
    def slide(self):
        if self.tables.window.length == self.tables.window.size:
            self.tables.forget_oldest()
