"""A table of tokens for two classes: message counts and margins, both in whole numbers.

    count   [token, class]   messages of the class that hold the token, in units of 1/1024 message     classes innermost
    margin  [token]          the weight of a linear model, in units of 2^-32
    seen    [token]          the clock when it was last learned

All are whole numbers, so additions can be taken back exactly, in any order.
"""

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
    """Counts and margins of tokens, and the two scores of a message. `prior` is added to the messages of each class
    that hold a token, and to those that do not. `reserve` is added to the denominator of the mean, so that the score of
    a message with few tokens stays moderate.
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
        self.gaps = 0  # codes of removed tokens, until `TokenScorer.close_gaps`
        self.site = None
        self.most = 0.0

    def __len__(self):
        return len(self.vocabulary.values) - self.gaps

    def remove(self, code: cython.Py_ssize_t):
        """Remove a token. Its code stays unused, and its text is gone."""
        self.vocabulary.remove(code)
        self.count[2 * code] = self.count[2 * code + 1] = 0
        self.margin[code] = self.seen[code] = 0
        self.gaps += 1

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
        array = np.empty(len(bag), np.int32)
        codes: cython.int[::1] = array
        vocabulary: Vocabulary = self.vocabulary
        prefetched: PrefetchedCodes = self.prefetched
        prefetched.fetch(vocabulary, bag)
        for token in bag:
            codes[n] = prefetched.code(vocabulary, n, token)
            n += 1
        return array

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
        for k in range(codes.shape[0]):
            code: cython.Py_ssize_t = codes[k]
            if code >= 0:
                self.count[2 * code + label] += units
                self.margin[code] += step
                if clock > self.seen[code]:
                    self.seen[code] = clock
        if label == 0:
            self.first += units
        else:
            self.second += units

    def read_over(self, site: EvidenceTable, most: cython.double):
        """Read the counts and margins of a site's table too. See `SiteCounts` in `user_scorer.py` for the formula. The
        site's table is only read. Its messages count as `most`, if there are more.
        """
        self.site = site
        self.most = most

    @cython.cfunc
    def begin(self):
        """Prepare the totals for `weigh`."""
        site: EvidenceTable = self.site
        self.share = 0.0
        self.first_total = self.first * PER_UNIT
        self.second_total = self.second * PER_UNIT
        self.learned = self.first > 0 and self.second > 0
        if site is not None:
            site_messages: cython.double = (site.first + site.second) * PER_UNIT
            self.share = 1.0 if site_messages <= self.most else self.most / site_messages
            self.first_total = self.share * (site.first * PER_UNIT + 2.0 * site.prior) + self.first_total
            self.second_total = self.share * (site.second * PER_UNIT + 2.0 * site.prior) + self.second_total
            self.learned = self.first + site.first > 0 and self.second + site.second > 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def weigh(self, code: cython.Py_ssize_t, site_code: cython.Py_ssize_t) -> cython.double:
        """Return the weight of a token in the mean, 0 without counts; its log-odds are then `log_odds`.

        `code` is its code here, `site_code` that of the site, both below 0 for a token that is not there.
        """
        p: cython.double = 0.0
        q: cython.double = 0.0
        extra: cython.double = 0.0
        counts: cython.longlong = 0
        if code >= 0:
            counts = self.count[2 * code] + self.count[2 * code + 1]
            if counts > 0:
                p = self.count[2 * code] * PER_UNIT
                q = self.count[2 * code + 1] * PER_UNIT
                extra = self.prior * (1.0 - self.share)
        if self.site is not None:
            site = self.site
            w = site.prior * self.share
            if site_code >= 0:
                counts += site.count[2 * site_code] + site.count[2 * site_code + 1]
                p += self.share * (site.count[2 * site_code] * PER_UNIT)
                q += self.share * (site.count[2 * site_code + 1] * PER_UNIT)
            p += w
            q += w
        if counts <= 0 or not self.learned:
            return 0.0
        p = (p + extra) / (self.first_total + 2.0 * extra)
        q = (q + extra) / (self.second_total + 2.0 * extra)
        w = (q - p) / (q + p)
        w *= w
        w *= w
        w *= w
        self.log_odds = log(q / p)
        return w

    def score(self, codes: cython.int[::1], tokens: cython.Py_ssize_t, site_codes: cython.int[::1] = None):
        """Return the mean log-odds of the tokens and the margin of the message, for the second class.

        Each token with counts weighs |p - q|^8 / (p + q)^8 in the mean, with p and q its shares of the classes'
        messages: the clear ones decide. `tokens` is the number of different tokens of the message, known or not.
        """
        common: cython.Py_ssize_t = -1
        above: cython.double = 0.0
        below: cython.double = 0.0
        total: cython.longlong = 0
        is_over: cython.bint = self.site is not None
        site: EvidenceTable = self.site if is_over else self
        self.begin()
        for k in range(codes.shape[0]):
            if is_over:
                common = site_codes[k]
                if common >= 0:
                    total += site.margin[common]
            if codes[k] >= 0:
                total += self.margin[codes[k]]
            w = self.weigh(codes[k], common)
            if w > 0.0:
                above += w * self.log_odds
                below += w
        return above / (below + self.reserve), total * PER_STEP / float(max(tokens, 1)) ** 0.5

    def spammiest(
        self,
        codes: cython.int[::1],
        size: cython.Py_ssize_t,
        mean_weight: cython.double,
        borders: cython.int[::1],
        site_codes: cython.int[::1] = None,
    ) -> cython.double:
        """Return the highest score of a passage: of `size` tokens in a row, as if the message were no more.

        Passages begin every half of `size`, and at each border: the place of a token, in rising order. The score is the
        margin plus `mean_weight` times the mean log-odds. `codes` are the message's tokens, in the order in which they
        first occur; `site_codes` the same tokens in the site's table. What lies between two borders and is of no more
        than `size` tokens is one passage.
        """
        common: cython.Py_ssize_t = -1
        tokens: cython.Py_ssize_t = codes.shape[0]
        step: cython.Py_ssize_t = size // 2
        filled: cython.Py_ssize_t = 0  # tokens of the present half
        before: cython.Py_ssize_t = 0  # of the half before
        above: cython.double = 0.0
        below: cython.double = 0.0
        last_above: cython.double = 0.0
        last_below: cython.double = 0.0
        total: cython.longlong = 0
        last_total: cython.longlong = 0
        best: cython.double = 0.0
        is_first: cython.bint = True
        passed: cython.Py_ssize_t = 0  # borders
        stop: cython.Py_ssize_t = borders[0] if borders.shape[0] else tokens
        is_over: cython.bint = self.site is not None
        site: EvidenceTable = self.site if is_over else self
        self.begin()
        for k in range(tokens):
            if k == stop:
                last_above, last_below, last_total, before = 0.0, 0.0, 0, 0
                passed += 1
                stop = borders[passed] if passed < borders.shape[0] else tokens
            if is_over:
                common = site_codes[k]
                if common >= 0:
                    total += site.margin[common]
            if codes[k] >= 0:
                total += self.margin[codes[k]]
            w = self.weigh(codes[k], common)
            if w > 0.0:
                above += w * self.log_odds
                below += w
            filled += 1
            # A last half that would be short is a part of the one before it.
            if k + 1 == stop or (filled >= step and stop - k - 1 >= step):
                if before > 0 or k + 1 == stop:
                    score: cython.double = (total + last_total) * PER_STEP / float(filled + before) ** 0.5
                    score += mean_weight * (above + last_above) / (below + last_below + self.reserve)
                    if is_first or score > best:
                        best, is_first = score, False
                last_above, last_below, last_total, before = above, below, total, filled
                above, below, total, filled = 0.0, 0.0, 0, 0
        return best

    def parts(self, codes: cython.int[::1], tokens: cython.Py_ssize_t, site_codes: cython.int[::1] = None):
        """Return two arrays: each token's contribution to the mean and to the margin."""
        common: cython.Py_ssize_t = -1
        below: cython.double = self.reserve
        means = np.zeros(codes.shape[0])
        sums = np.zeros(codes.shape[0])
        to_mean: cython.double[::1] = means
        to_sum: cython.double[::1] = sums
        root: cython.double = float(max(tokens, 1)) ** 0.5
        is_over: cython.bint = self.site is not None
        site: EvidenceTable = self.site if is_over else self
        self.begin()
        for k in range(codes.shape[0]):
            if is_over:
                common = site_codes[k]
                if common >= 0:
                    to_sum[k] += site.margin[common] * PER_STEP / root
            if codes[k] >= 0:
                to_sum[k] += self.margin[codes[k]] * PER_STEP / root
            w = self.weigh(codes[k], common)
            if w > 0.0:
                to_mean[k] = w * self.log_odds
                below += w
        return means / below, sums
