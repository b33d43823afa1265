"""A table of tokens for two classes: message counts and margins, both in whole numbers.

    count   [token, class]   messages of the class that hold the token, in units of 1/1024 message     classes innermost
    margin  [token]          the weight of a linear model, in units of 2^-32
    seen    [token]          the clock when it was last learned

All are whole numbers, so additions can be taken back exactly, in any order.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.encoding._vocabulary import PrefetchedCodes, Vocabulary

UNIT = 1024  # units of a message
STEP = 4294967296  # units of a margin: 2^32
PER_UNIT = cython.declare(cython.double, 1.0 / 1024.0)
PER_STEP = cython.declare(cython.double, 1.0 / 4294967296.0)


@cython.cclass
class EvidenceTable:
    """Counts and margins of tokens, and the two scores of a message.

    Parameters
    ----------
    prior
        Added to the messages of each class that hold a token, and to those that do not.
    reserve
        Added to the denominator of the mean, so that the score of a message with few tokens stays moderate.
    """

    def __init__(self, prior: cython.double, reserve: cython.double):
        self.prior = prior
        self.reserve = reserve
        self.vocabulary = Vocabulary()
        self.prefetched = PrefetchedCodes()
        self.count = np.zeros(16, np.int64)
        self.margin = np.zeros(8, np.int64)
        self.seen = np.zeros(8, np.int64)
        self.first = 0
        self.second = 0

    def __len__(self):
        return len(self.vocabulary.values)

    def make_room(self, tokens: cython.Py_ssize_t):
        """Grow the arrays, if needed, to hold half as many tokens again."""
        if tokens <= self.margin.shape[0]:
            return
        room = tokens + tokens // 2
        for name, width in (("count", 2), ("margin", 1), ("seen", 1)):
            grown = np.zeros(room * width, np.int64)
            old = np.asarray(getattr(self, name))
            grown[: len(old)] = old
            setattr(self, name, grown)

    def codes_of(self, bag: dict):
        """Return the code of each token in the order of the bag, below 0 for a new token."""
        n: cython.Py_ssize_t = 0
        found = np.empty(len(bag), np.int32)
        codes: cython.int[::1] = found
        vocabulary: Vocabulary = self.vocabulary
        prefetched: PrefetchedCodes = self.prefetched
        prefetched.fetch(vocabulary, bag)
        for token in bag:
            codes[n] = prefetched.code(vocabulary, n, token)
            n += 1
        return found

    def insert(self, bag: dict, codes: cython.int[::1]):
        """Insert the new tokens of a bag, and set their codes in `codes`, which `codes_of` returned just before."""
        n: cython.Py_ssize_t = 0
        vocabulary: Vocabulary = self.vocabulary
        for token in bag:
            if codes[n] < 0:
                codes[n] = vocabulary.insert(token)
            n += 1
        self.make_room(len(vocabulary.values))

    def add(
        self,
        codes: cython.int[::1],
        label: cython.Py_ssize_t,
        units: cython.longlong,
        step: cython.longlong,
        clock: cython.longlong,
    ):
        """Count a message; with units and step negated, take it back. A code below 0 is a token evicted since."""
        k: cython.Py_ssize_t
        code: cython.Py_ssize_t
        for k in range(codes.shape[0]):
            code = codes[k]
            if code >= 0:
                self.count[2 * code + label] += units
                self.margin[code] += step
                if clock > self.seen[code]:
                    self.seen[code] = clock
        if label == 0:
            self.first += units
        else:
            self.second += units

    def score(self, codes: cython.int[::1], tokens: cython.Py_ssize_t):
        """Return the mean log-odds of the tokens and the margin of the message, for the second class.

        Each token with counts weighs |p - q|^8 / (p + q)^8 in the mean, with p and q its shares of the classes'
        messages: the clear ones decide. `tokens` is the number of different tokens of the message, known or not.
        """
        k: cython.Py_ssize_t
        code: cython.Py_ssize_t
        above: cython.double = 0.0
        below: cython.double = 0.0
        total: cython.longlong = 0
        p: cython.double
        q: cython.double
        w: cython.double
        first: cython.double = self.first * PER_UNIT + 2.0 * self.prior
        second: cython.double = self.second * PER_UNIT + 2.0 * self.prior
        learned: cython.bint = self.first > 0 and self.second > 0
        for k in range(codes.shape[0]):
            code = codes[k]
            if code < 0:
                continue
            total += self.margin[code]
            if learned and self.count[2 * code] + self.count[2 * code + 1] > 0:
                p = (self.count[2 * code] * PER_UNIT + self.prior) / first
                q = (self.count[2 * code + 1] * PER_UNIT + self.prior) / second
                w = (q - p) / (q + p)
                w *= w
                w *= w
                w *= w
                above += w * log(q / p)
                below += w
        return above / (below + self.reserve), total * PER_STEP / float(max(tokens, 1)) ** 0.5

    def parts(self, codes: cython.int[::1], tokens: cython.Py_ssize_t):
        """Return two arrays: each token's contribution to the mean and to the margin."""
        k: cython.Py_ssize_t
        code: cython.Py_ssize_t
        p: cython.double
        q: cython.double
        w: cython.double
        below: cython.double = self.reserve
        means = np.zeros(codes.shape[0])
        sums = np.zeros(codes.shape[0])
        to_mean: cython.double[::1] = means
        to_sum: cython.double[::1] = sums
        root: cython.double = float(max(tokens, 1)) ** 0.5
        for k in range(codes.shape[0]):
            code = codes[k]
            if code < 0:
                continue
            to_sum[k] = self.margin[code] * PER_STEP / root
            if self.first > 0 and self.second > 0 and self.count[2 * code] + self.count[2 * code + 1] > 0:
                p = (self.count[2 * code] * PER_UNIT + self.prior) / (
                    self.first * PER_UNIT + 2.0 * self.prior
                )
                q = (self.count[2 * code + 1] * PER_UNIT + self.prior) / (
                    self.second * PER_UNIT + 2.0 * self.prior
                )
                w = (q - p) / (q + p)
                w *= w
                w *= w
                w *= w
                to_mean[k] = w * log(q / p)
                below += w
        return means / below, sums
