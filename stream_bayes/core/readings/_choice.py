"""Choice among readings of one store, by the losses of their predictions.

Every learned event is predicted first by each, and minus the logarithm of the true class's probability is added to
its loss, which fades. The least loss is the best reading; a mixture weighs each by exp(-rate * loss), which at a rate
of 1 is Bayesian model averaging with forgetting. Without numbers, naive Bayes over moments is that over bins: it is
not computed again, and counts once in the mixture. The average over super-parents reads the pairs of an event once: for
itself, for each super-parent, and for learning.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp

if not cython.compiled:
    from stream_bayes.core.counts._moments import Gaussians
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._a2de import PairAverageReading
    from stream_bayes.core.readings._aode import AverageReading
    from stream_bayes.core.readings._discriminant import DiscriminantReading
    from stream_bayes.core.readings._interval_ends import mixed_variance
    from stream_bayes.core.readings._kdb import DependenceReading
    from stream_bayes.core.readings._naive_bayes import ValueReading
    from stream_bayes.core.readings._reading import Reading, log_of
    from stream_bayes.core.readings._spode import SuperParentReading, loss_of


@cython.cclass
class ChoiceReading(Reading):
    """Several readings of one store; the best one answers, or their mixture. All members are readings of these tables.
    Of equal ones the first is the best. `mixture` is True if all answer, by weight, with `rate` the weight of a loss;
    False if the best one answers. `decay` is the share of a loss that is left after an event.
    """

    def __init__(
        self,
        tables,
        labels,
        members,
        mixture: cython.bint,
        decay: cython.double,
        rate: cython.double,
        **settings,
    ):
        Reading.__init__(self, tables, labels, **settings)
        self.members = list(members)
        self.mixture = mixture
        self.decay = decay
        self.rate = rate
        self.average = None
        self.super_parents = None
        self.number_of_average = self.number_of_super_parents = -1
        self.number_of_naive_bayes = self.number_of_gaussian = self.copied = -1
        for number, member in enumerate(self.members):
            if isinstance(member, SuperParentReading):
                self.super_parents, self.number_of_super_parents = member, number
            elif isinstance(member, AverageReading) and not isinstance(member, PairAverageReading):
                self.average, self.number_of_average = member, number
            elif type(member) is ValueReading and cython.cast(ValueReading, member).reads_moments:
                self.number_of_gaussian = number
            elif type(member) is ValueReading:
                self.number_of_naive_bayes = number
        self.watchful = [one for one in members if isinstance(one, (DependenceReading, DiscriminantReading))]
        self.shares = np.zeros((len(self.members), 2))
        self.spreads = np.zeros((len(self.members), 2))
        self.forget_losses()

    def forget_losses(self):
        """Set all losses to 0."""
        self.loss = np.zeros(len(self.members))
        self.leader = 0
        self.since = int(self.tables.clock)
        if self.super_parents is not None:
            self.super_parents.forget_losses()

    def derive(self):
        """Derive each member that is due."""
        for member in self.members:
            if self.tables.clock >= member.due:
                member.derive()
        self.due = min(member.due for member in self.members)

    @cython.cfunc
    def find_copy(self):
        """Set `copied` to the number of the reading that is naive Bayes over again, -1 if none is."""
        numbers: Gaussians = self.tables.gaussians
        self.copied = -1
        if self.number_of_gaussian >= 0 and self.number_of_naive_bayes >= 0 and numbers.is_empty():
            self.copied = self.number_of_gaussian

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        if self.begin() == 0:
            return False
        self.find_copy()
        if not self.mixture:
            self.score_with(self.leader, row)
            return True
        for m in range(len(self.members)):
            if m != self.copied:
                self.score_member(m, row)
        self.copy_shares()
        self.mix()
        return True

    @cython.cfunc
    def score_with_spread(self, row: Row) -> cython.bint:
        if self.begin() == 0:
            return False
        self.find_copy()
        if not self.mixture:
            member: Reading = self.best_member()
            member.score_with_spread(row)
            for y in range(self.tables.labels):
                self.score[y] = member.score[y]
                self.spread_of[y] = member.spread_of[y]
            self.shift = member.shift
            return True
        for m in range(len(self.members)):
            if m != self.copied:
                member = self.members[m]
                member.score_with_spread(row)
                self.record_shares(m)
                for y in range(self.tables.labels):
                    self.spreads[m, y] = member.spread_of[y]
        self.copy_shares()
        self.mix()
        self.mix_spreads()
        return True

    @cython.cfunc
    def best_member(self) -> Reading:
        """Return the reading with the least loss; of two that are the same the first."""
        return self.members[self.number_of_naive_bayes if self.leader == self.copied else self.leader]

    @cython.cfunc
    def score_interval(self, row: Row, tail: cython.double, deviations: cython.double) -> cython.bint:
        """Write the ends of the best reading's intervals; of a mixture, the mixture of the members' ends."""
        has_evidence: cython.bint = False
        self.find_copy()
        if not self.mixture:
            member: Reading = self.best_member()
            has_evidence = member.score_interval(row, tail, deviations)
            self.lower, self.upper = member.lower, member.upper
            return has_evidence
        if self.lower.shape[0] < self.tables.labels:
            self.lower, self.upper = np.zeros(2 * self.tables.labels), np.zeros(2 * self.tables.labels)
        for y in range(self.tables.labels):
            self.lower[y] = self.upper[y] = 0.0
        total: cython.double = self.total_weight()
        for m in range(len(self.members)):
            if m == self.copied:
                continue
            member = self.members[m]
            if member.score_interval(row, tail, deviations):
                has_evidence = True
            self.record_shares(m)
            weight: cython.double = exp(self.rate * (self.loss[self.leader] - self.loss[m])) / total
            for y in range(self.tables.labels):
                self.lower[y] += weight * member.lower[y]
                self.upper[y] += weight * member.upper[y]
        self.copy_shares()
        self.begin()
        self.mix()
        self.normalise()
        for y in range(self.tables.labels):  # the last digit may be rounded otherwise
            self.lower[y] = min(self.lower[y], self.share[y]) if has_evidence else self.share[y]
            self.upper[y] = min(1.0, max(self.upper[y], self.share[y])) if has_evidence else self.share[y]
        return has_evidence

    @cython.cfunc
    def total_weight(self) -> cython.double:
        """Return the sum of the weights of the members."""
        total: cython.double = 0.0
        for m in range(self.loss.shape[0]):
            if m != self.copied:
                total += exp(self.rate * (self.loss[self.leader] - self.loss[m]))
        return total

    @cython.cfunc
    def mix_spreads(self):
        """Set the variances of the log-odds to those of the mixture, whose weights are held."""
        total: cython.double = self.total_weight()
        for y in range(self.tables.labels):
            self.first[y] = 0.0
        for m in range(self.loss.shape[0]):
            if m == self.copied:
                continue
            for y in range(self.tables.labels):
                share = self.shares[m, y]
                self.first[y] += (
                    exp(self.rate * (self.loss[self.leader] - self.loss[m]))
                    / total
                    * share
                    * (1.0 - share)
                    * self.spreads[m, y]
                )
        for y in range(self.tables.labels):
            self.spread_of[y] = mixed_variance(exp(self.score[y]), self.first[y])

    @cython.cfunc
    def write_spreads(self, out: cython.double[:, ::1], r: cython.Py_ssize_t):
        """Write the variances of the members' log-odds, as `write_members` writes their probabilities."""
        for m in range(len(self.members)):
            for y in range(self.tables.labels):
                out[r + m, y] = self.spreads[m, y]

    @cython.cfunc
    def score_with(self, m: cython.Py_ssize_t, row: Row):
        """Copy the scores of one member."""
        member: Reading = self.members[self.number_of_naive_bayes if m == self.copied else m]
        member.score_row(row)
        for y in range(self.tables.labels):
            self.score[y] = member.score[y]
        self.shift = member.shift

    @cython.cfunc
    def score_member(self, m: cython.Py_ssize_t, row: Row):
        """Score a row by a member, and record its probabilities."""
        member: Reading = self.members[m]
        member.score_row(row)
        self.record_shares(m)

    @cython.cfunc
    def record_shares(self, m: cython.Py_ssize_t):
        """Record the probabilities that a member has just computed."""
        member: Reading = self.members[m]
        member.normalise()
        if self.shares.shape[1] < self.tables.labels:
            self.shares = np.zeros((len(self.members), 2 * self.tables.labels))
            self.spreads = np.zeros((len(self.members), 2 * self.tables.labels))
        for y in range(self.tables.labels):
            self.shares[m, y] = member.share[y]

    @cython.cfunc
    def copy_shares(self):
        """Record the probabilities of naive Bayes for the reading that is the same."""
        if self.copied >= 0:
            for y in range(self.tables.labels):
                self.shares[self.copied, y] = self.shares[self.number_of_naive_bayes, y]
                self.spreads[self.copied, y] = self.spreads[self.number_of_naive_bayes, y]

    @cython.cfunc
    def write_members(self, out: cython.double[:, ::1], r: cython.Py_ssize_t):
        """Write the newest probabilities of the members. Only in a mixture have all of them predicted."""
        for m in range(len(self.members)):
            for y in range(self.tables.labels):
                out[r + m, y] = self.shares[m, y]

    @cython.cfunc
    def mix(self):
        """Set the scores to the logarithms of the weighted mean of the recorded probabilities."""
        total: cython.double = 0.0
        for y in range(self.tables.labels):
            self.share[y] = 0.0
        for m in range(self.loss.shape[0]):
            if m == self.copied:
                continue
            weight = exp(self.rate * (self.loss[self.leader] - self.loss[m]))
            total += weight
            for y in range(self.tables.labels):
                self.share[y] += weight * self.shares[m, y]
        for y in range(self.tables.labels):
            self.score[y] = log_of(self.share[y] / total)
        self.shift = 0.0

    @cython.cfunc
    def score_to_learn(self, row: Row) -> cython.bint:
        """Score the row by every member; the average comes last, as it may count the pairs in the same pass."""
        self.scored = False
        if row.weight == 0.0:
            return self.score_row(row)
        if self.begin() == 0:
            return False
        self.scored = True
        self.find_copy()
        for m in range(len(self.members)):
            if m == self.copied:
                continue
            if self.average is None or (m != self.number_of_average and m != self.number_of_super_parents):
                self.score_member(m, row)
        self.copy_shares()
        if self.average is not None:
            self.average.score_to_learn(row)
            self.record_shares(self.number_of_average)
        if self.average is not None and self.super_parents is not None:
            self.super_parents.score_from_terms(self.average, row)
            self.record_shares(self.number_of_super_parents)
        if self.mixture:
            self.mix()
        else:
            member: Reading = self.best_member()
            for y in range(self.tables.labels):
                self.score[y] = member.score[y]
            self.shift = member.shift
        if self.super_parents is not None:
            self.add_losses_of_super_parents(row)
        return True

    @cython.cfunc
    def add_losses_of_super_parents(self, row: Row):
        """Add the losses of the super-parents. This comes last: it may change the choice and overwrite scores."""
        chooser: SuperParentReading = self.super_parents
        reader: AverageReading = self.average  # it scored before, and has the terms of all
        if reader is None:
            reader = chooser
            chooser.gather(row)
            chooser.find_terms(row, 0.0)
        if self.number_of_naive_bayes >= 0:
            plain = self.shares[self.number_of_naive_bayes, row.label]
        else:
            plain = chooser.naive_bayes_share(row)
        chooser.add_losses(reader, row, plain)

    @cython.cfunc
    def learn_scored(self, row: Row):
        if not self.scored:
            self.tables.add(row)
        else:
            self.add_losses_of_members(row)
            if self.average is not None:
                self.average.learn_scored(row)
            else:
                self.tables.add(row)
        self.check_due(row)
        self.derive_if_due()

    @cython.cfunc
    def learn_predicted(self, row: Row):
        """Learn a row of which every member has given its probabilities, as those of a mixture have."""
        if not self.mixture or self.super_parents is not None:
            self.learn(row)
            return
        if row.weight > 0.0:
            self.add_losses_of_members(row)
        self.tables.add(row)
        self.check_due(row)
        self.derive_if_due()

    @cython.cfunc
    def check_due(self, row: Row):
        member: Reading
        for member in self.watchful:
            member.check_due(row)
            if member.due < self.due:
                self.due = member.due

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row that has room in the tables, and add the loss of each member."""
        self.score_to_learn(row)
        self.learn_scored(row)

    @cython.cfunc
    def add_losses_of_members(self, row: Row):
        """Add each member's loss of the true class, and update the leader."""
        best: cython.Py_ssize_t = 0
        for m in range(self.loss.shape[0]):
            self.loss[m] = self.loss[m] * self.decay + row.weight * loss_of(self.shares[m, row.label])
            if self.loss[m] < self.loss[best]:
                best = m
        if best != self.leader:
            self.leader = best
            self.since = self.tables.clock + 1
