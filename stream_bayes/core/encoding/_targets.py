"""Events with a number for a label: all that a regression sums is a numeric feature of the row.

    x = {"wind": 3.5, "sky": "grey"}, y = 21.0
    number [21.0, 3.5, 1.0, 1.0]  of the features  [target, "wind", ("sky" is there), ("sky" is "grey")]

A value of a nominal feature is an indicator, a feature of its own, which is 1 where an event has the value and is not
written where it has another one. Beside it stands the feature's presence, which is 1 where an event has any value. An
indicator that is not written is then 0 where the presence is, and missing elsewhere; so a value that comes late was 0
before, and an event costs as many numbers as it has features, however many values there are.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from stream_bayes.core.values.values import OTHER, canonical, is_missing, shown
from stream_bayes.errors import BadLabel, BadValue

if not cython.compiled:
    from stream_bayes.core.encoding._features import Feature, RowEncoder, as_double
    from stream_bayes.core.encoding._rows import Row

LARGEST_NUMBER = cython.declare(cython.double, 1e100)  # its square, times any weight, is still finite
MARK = "\0"  # begins the name of every column, and of no feature
TARGET: Any = (MARK,)


@cython.ccall
def read_target(y) -> cython.double:
    """Return a target as a float; raise `BadLabel` for anything but a finite number of at most 1e100."""
    if type(y) is float or type(y) is int:
        number = as_double(y)
        if -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
            return number
    if is_missing(y):
        raise BadLabel(
            f"a target is needed, got {shown(y)}; for an event without one, predict now and learn when it comes"
        )
    try:
        value = canonical(y)
    except BadValue:
        value = None
    if isinstance(value, (int, float)) and type(value) is not bool:
        number = as_double(value)
        if -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
            return number
    raise BadLabel(
        f"target: expected a finite number of at most 1e100, got {type(y).__name__}: {shown(y)}; convert it first, or "
        "take a classifier if labels are names"
    )


@cython.cclass
class TargetEncoder(RowEncoder):
    """An encoder of named features and of a number for a label. `labels` is a closed vocabulary of a single value: the
    store has one class. The other arguments are as `RowEncoder` takes them.

    Attributes
    ----------
    base
        By numeric slot: that of the number whose presence decides whether an event has this one. For an indicator it is
        the presence of its feature, for a feature its own slot, for what is no predictor -1.
    """

    def __init__(self, labels, declared=None, refuse: cython.bint = False, max_values=None):
        self.base = np.zeros(8, np.int32)
        self.columns = []
        RowEncoder.__init__(self, labels, None if declared is None else {}, refuse, None, max_values)
        self.refuses_bags = True
        self.add_feature(TARGET, None)
        for name, vocabulary in (declared or {}).items():
            self.add_feature(name, vocabulary)

    def add_feature(self, name, vocabulary) -> Feature:
        """Give a feature or a column the next slot of its kind."""
        feature: Feature = RowEncoder.add_feature(self, name, vocabulary)
        slot: cython.int = feature.slot
        if not feature.numeric:
            self.columns.append([])
            return feature
        if slot >= self.base.shape[0]:
            self.base = np.concatenate([self.base, np.zeros(slot + 8, np.int32)])
        self.base[slot] = slot
        if is_column(name):
            self.base[slot] = -1
            if len(name) > 2:
                presence: Feature = self.features[name[:2]]
                self.base[slot] = presence.slot
        return feature

    def words_among(self, count: cython.Py_ssize_t) -> dict:
        """Return which of the first features may be words: not the target, nor columns that are sums of others."""
        words = RowEncoder.words_among(self, count)
        return {name: values for name, values in words.items() if not is_column(name)}

    def may_gain(self, name, numeric: cython.bint) -> cython.bint:
        """Return True for a column of a nominal feature that is here, after its presence; or as without columns."""
        if not is_column(name):
            return not self.declared
        feature = self.features.get(name[1]) if 2 <= len(name) <= 4 else None
        if feature is None or cython.cast(Feature, feature).numeric or not numeric:
            return False
        return len(name) == 2 or name[:2] in self.features

    def remove_newest(self):
        """Remove the newest feature or column."""
        RowEncoder.remove_newest(self)
        self.columns = [[] for _ in self.nominal]

    def name_label(self, y):
        """Return the code of the only class."""
        return 0

    @cython.cfunc
    def read_label(self, y) -> cython.int:
        self.target = read_target(y)
        return 0

    @cython.cfunc
    def known_label(self, y) -> cython.int:
        self.target = read_target(y)
        return 0

    @cython.cfunc
    def create_feature(self, name, value, learning: cython.bint) -> Feature:
        if is_column(name):
            raise reserved(name)
        return RowEncoder.create_feature(self, name, value, learning)

    @cython.cfunc
    def column(self, feature: Feature, code: cython.Py_ssize_t, learning: cython.bint) -> cython.Py_ssize_t:
        """Return the slot of a value's indicator, or with the code -1 of the presence; -1 if there is none."""
        slots: list = self.columns[feature.slot]
        if code + 1 < len(slots):
            slot = slots[code + 1]
            if slot is not None:
                return slot
        name = column_name(feature, code)
        column = self.features.get(name)
        if column is None:
            if not learning:
                return -1
            column = self.name_feature(name, True)
        while len(slots) <= code + 1:
            slots.append(None)
        slots[code + 1] = cython.cast(Feature, column).slot
        return cython.cast(Feature, column).slot

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from `x`: the target, if there is one, the numbers, and the columns of the values."""
        row: Row = self.row
        RowEncoder.read(self, x, learning)
        n: cython.Py_ssize_t = row.numbers
        for k in range(n):
            if self.base[row.numeric_feature[k]] != row.numeric_feature[k]:
                raise reserved(self.numeric[row.numeric_feature[k]].name)
        row.reserve(row.entries, n + 2 * row.entries + 1)
        for k in range(row.entries):
            feature: Feature = self.nominal[row.feature[k]]
            presence = self.column(feature, -1, learning)
            slot = self.column(feature, row.code[k], learning)
            if slot >= 0:  # a value without a column was declared and never learned: it counts as missing
                row.numeric_feature[n], row.numeric_feature[n + 1] = presence, slot
                row.number[n] = row.number[n + 1] = 1.0
                n += 2
        if row.label >= 0:
            for k in range(n, 0, -1):
                row.numeric_feature[k], row.number[k] = row.numeric_feature[k - 1], row.number[k - 1]
            row.numeric_feature[0], row.number[0] = 0, self.target
            n += 1
        row.numbers = n
        if row.entries:
            row.sort()


@cython.cfunc
def column_name(feature: Feature, code: cython.Py_ssize_t):
    """Return the name of a value's indicator, or with the code -1 of the presence."""
    if code < 0:
        return (MARK, feature.name)
    value = feature.vocabulary.values[code]
    return (MARK, feature.name, "other", True) if value is OTHER else (MARK, feature.name, value)


@cython.ccall
def is_column(name) -> cython.bint:
    """Return True for the name of a column, which no feature may have."""
    return type(name) is tuple and len(name) > 0 and type(name[0]) is str and name[0] == MARK


@cython.cfunc
def reserved(name):
    return BadValue(
        f"feature {shown(name)}: tuples that begin with {MARK!r} name columns; rename the feature"
    )
