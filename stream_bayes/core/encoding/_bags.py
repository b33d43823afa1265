"""Bags of words to integer codes: the encoder of text."""

from __future__ import annotations

import cython

from stream_bayes.core.encoding._vocabulary import PrefetchedCodes, Vocabulary
from stream_bayes.core.values.inputs import counted, no_bag, read_count
from stream_bayes.core.values.values import canonical, is_missing, shown
from stream_bayes.errors import BadValue, NotLearned, UnknownFeature

if not cython.compiled:
    from stream_bayes.core.encoding._features import (
        Encoder,
        Feature,
        as_dict,
        as_double,
        whole_products,
    )
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import is_whole
    from stream_bayes.core.values._weights import read_weight

UNSEEN = cython.declare(cython.int, -2)
ONE = 1
LARGEST_COUNT = cython.declare(cython.double, 9007199254740992.0)  # 2^53: beyond, counts are not exact
BAG = "<bag of words>"  # the name of the one feature of a bag, in messages and states


@cython.cclass
class BagEncoder(Encoder):
    """Encoder of bags of words, `{token: count}`. Every token is a value of the one feature, slot 0. If `declared`,
    only the tokens given are counted; others are ignored, or refused if `refuse` is set. A `threshold` of None keeps
    counts as they are; a number keeps only whether the count is above it.
    """

    def __init__(
        self, labels, tokens, declared: cython.bint = False, refuse: cython.bint = False, threshold=None
    ):
        Encoder.__init__(self, labels, declared, refuse)
        self.tokens = tokens
        self.prefetched = PrefetchedCodes()
        self.add_feature(BAG, tokens)
        self.binary = threshold is not None
        self.threshold = 0.0 if threshold is None else threshold

    def unlearned(self, x, y, w) -> Row:
        """Return the row of a bag to be unlearned; raise `NotLearned` for a token that was never learned."""
        row: Row = self.row
        row.weight = read_weight(w)
        row.label = self.known_label(y)
        self.read(x, False)
        if row.whole:
            row.whole = is_whole(row.weight)
        elif row.weight != 1.0:
            row.whole = whole_products(row)
        event: dict = as_bag(x)
        if row.entries < len(event) and not self.declared:
            for token, count in event.items():
                if not is_missing(count) and count > self.threshold and self.tokens.lookup(token) == UNSEEN:
                    raise NotLearned(f"cannot unlearn token {token!r}: it was never learned")
        return row

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from `x`, in the dict's order."""
        row: Row = self.row
        n: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t = -1
        tokens: Vocabulary = self.tokens
        prefetched: PrefetchedCodes = self.prefetched
        beyond: cython.Py_ssize_t = -1
        has_others: cython.bint = False
        if isinstance(x, (str, bytes)):
            raise no_bag(x)
        event: dict = as_bag(x)
        row.entries = 0
        row.numbers = 0
        row.whole = True
        row.reserve(len(event), 0)
        prefetched.fetch(tokens, event)
        codes: cython.int[::1] = row.code
        amounts: cython.double[::1] = row.amount
        for token, value in event.items():
            k += 1
            if value is ONE:  # as most counts are: nothing to convert or check
                count: cython.double = 1.0
            elif type(value) is int or type(value) is float:
                count = as_double(value)
            else:
                count = read_count(token, value)
            if self.binary:
                if not count > self.threshold:
                    continue
                count = 1.0
            elif count != 1.0:
                if not (0.0 < count <= LARGEST_COUNT):
                    if count == 0.0 or count != count:
                        continue
                    raise BadValue(
                        f"token {token!r}: a count must be finite and at least 0, and at most 2**53, not {shown(value)}"
                    )
                if not is_whole(count):
                    row.whole = False
            code: cython.int = prefetched.code(tokens, k, token)
            if code < 0:
                if learning and type(token) is str and not self.declared and not has_others:
                    code = tokens.encode_absent(token, self.created)  # it was searched for
                else:
                    has_others = True  # which may stand for the same word as a string
                    code = self.encode_new_token(token, learning)
                if code < 0:
                    continue
            if code == tokens.other:
                # All words past the limit share a code, and so one entry of the row.
                if beyond >= 0:
                    if not self.binary:
                        amounts[beyond] += count
                    continue
                beyond = n
            codes[n] = code
            amounts[n] = count
            n += 1
        row.entries = n

    def name_feature(self, name, numeric: cython.bint) -> Feature:
        """Return the bag, the only feature."""
        return self.features[name]

    def encode_new_token(self, token, learning: cython.bint):
        """Return the code of an unknown token: a new one while learning, else `UNSEEN`."""
        if self.declared:
            if not isinstance(token, str):
                raise BadValue(f"tokens are str where a schema is declared, not {shown(token)}")
            if self.refuse:
                raise UnknownFeature(f"token {token!r} is not declared in the schema")
            return UNSEEN
        plain = token if type(token) is str else canonical(token)
        if learning:
            return self.tokens.encode(plain, self.created)
        return UNSEEN if plain is token else self.tokens.lookup(plain)


@cython.cfunc
def as_bag(x) -> dict:
    """Return the count of each token; a list of tokens is counted."""
    return counted(x) if type(x) is list or type(x) is tuple else as_dict(x)
