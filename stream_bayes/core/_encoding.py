"""Values to integer codes, one event at a time.

An `Encoder` turns an event into a `Row`: parallel runs of numbers that the tables and kernels read without
touching a Python object. Learning (`encode`) may create codes; predicting (`lookup`) never does. A code, once
given, never changes its meaning.

    x = {"sky": "grey", "wind": 3.5, "day": None}, y = "rain"
    Row: feature [0]  code [4]  amount [1.0]  |  numeric_feature [0]  number [3.5]  |  label 1, weight 1.0
          "sky"       "grey"                      "wind"                  ("day" is missing: no entry)

Entries are kept in the order of the features' slots, so the sums made from a row do not depend on the
order of the dict's keys.
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.values import OTHER, canonical, canonical_label, is_missing
from stream_bayes.errors import BadLabel, BadValue, BadWeight, KindChanged, NotLearned, UnknownFeature

UNSEEN = cython.declare(cython.int, -2)


@cython.cclass
class Row:
    """One event as codes. Reused from event to event; `Batch` keeps copies."""

    def __init__(self):
        self.entries = 0
        self.numbers = 0
        self.label = UNSEEN
        self.weight = 1.0
        self.whole = True
        self.feature = np.zeros(8, np.int32)
        self.code = np.zeros(8, np.int32)
        self.amount = np.ones(8)
        self.numeric_feature = np.zeros(8, np.int32)
        self.number = np.zeros(8)

    @cython.cfunc
    def reserve(self, entries: cython.Py_ssize_t, numbers: cython.Py_ssize_t):
        """Make room, keeping what is there; `amount` stays 1 wherever nobody wrote another."""
        if entries > self.feature.shape[0]:
            extra = 2 * entries - self.feature.shape[0]
            self.feature = np.concatenate([self.feature, np.zeros(extra, np.int32)])
            self.code = np.concatenate([self.code, np.zeros(extra, np.int32)])
            self.amount = np.concatenate([self.amount, np.ones(extra)])
        if numbers > self.numeric_feature.shape[0]:
            extra = 2 * numbers - self.numeric_feature.shape[0]
            self.numeric_feature = np.concatenate([self.numeric_feature, np.zeros(extra, np.int32)])
            self.number = np.concatenate([self.number, np.zeros(extra)])

    @cython.cfunc
    def sort(self):
        """Put nominal entries and numbers into the order of the slots, when a dict came in another order."""
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t
        slot: cython.int
        code: cython.int
        number: cython.double
        if self.entries + self.numbers > 64:
            arrange(self.entries, [np.asarray(self.feature), np.asarray(self.code)])
            arrange(self.numbers, [np.asarray(self.numeric_feature), np.asarray(self.number)])
            return
        # Short or nearly sorted, as dicts are whose features were met in another order: insertion is fastest.
        for k in range(1, self.entries):
            slot, code = self.feature[k], self.code[k]
            at = k
            while at > 0 and self.feature[at - 1] > slot:
                self.feature[at], self.code[at] = self.feature[at - 1], self.code[at - 1]
                at -= 1
            self.feature[at], self.code[at] = slot, code
        for k in range(1, self.numbers):
            slot, number = self.numeric_feature[k], self.number[k]
            at = k
            while at > 0 and self.numeric_feature[at - 1] > slot:
                self.numeric_feature[at], self.number[at] = self.numeric_feature[at - 1], self.number[at - 1]
                at -= 1
            self.numeric_feature[at], self.number[at] = slot, number


def arrange(length, columns):
    """Sort the first `length` items of parallel arrays by the first of them."""
    order = np.argsort(columns[0][:length], kind="stable")
    for column in columns:
        column[:length] = column[:length][order]


@cython.cclass
class Batch:
    """Encoded rows laid end to end: row r owns the entries from entry_end[r-1] up to entry_end[r]."""

    def __init__(self, rows: cython.Py_ssize_t = 0, entries: cython.Py_ssize_t = 0, numbers: cython.Py_ssize_t = 0):
        self.rows = 0
        self.entries = 0
        self.numbers = 0
        self.entry_end = np.zeros(rows + 8, np.longlong)
        self.number_end = np.zeros(rows + 8, np.longlong)
        self.label = np.zeros(rows + 8, np.int32)
        self.weight = np.ones(rows + 8)
        self.feature = np.zeros(entries + 8, np.int32)
        self.code = np.zeros(entries + 8, np.int32)
        self.amount = np.ones(entries + 8)
        self.numeric_feature = np.zeros(numbers + 8, np.int32)
        self.number = np.zeros(numbers + 8)

    @cython.ccall
    def append(self, row: Row):
        """Keep a copy of a row."""
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.rows
        if at == self.label.shape[0]:
            self.entry_end = np.resize(self.entry_end, 2 * at)
            self.number_end = np.resize(self.number_end, 2 * at)
            self.label = np.resize(self.label, 2 * at)
            self.weight = np.resize(self.weight, 2 * at)
        need: cython.Py_ssize_t = self.entries + row.entries
        if need > self.feature.shape[0]:
            self.feature = np.resize(self.feature, 2 * need)
            self.code = np.resize(self.code, 2 * need)
            self.amount = np.resize(self.amount, 2 * need)
        for k in range(row.entries):
            self.feature[self.entries + k] = row.feature[k]
            self.code[self.entries + k] = row.code[k]
            self.amount[self.entries + k] = row.amount[k]
        self.entries = need
        need = self.numbers + row.numbers
        if need > self.numeric_feature.shape[0]:
            self.numeric_feature = np.resize(self.numeric_feature, 2 * need)
            self.number = np.resize(self.number, 2 * need)
        for k in range(row.numbers):
            self.numeric_feature[self.numbers + k] = row.numeric_feature[k]
            self.number[self.numbers + k] = row.number[k]
        self.numbers = need
        self.entry_end[at] = self.entries
        self.number_end[at] = self.numbers
        self.label[at] = row.label
        self.weight[at] = row.weight
        self.rows = at + 1

    @cython.cfunc
    def load(self, index: cython.Py_ssize_t, row: Row):
        """Copy row number `index` into `row`."""
        k: cython.Py_ssize_t
        first: cython.Py_ssize_t = 0
        first_number: cython.Py_ssize_t = 0
        if index > 0:
            first = self.entry_end[index - 1]
            first_number = self.number_end[index - 1]
        n: cython.Py_ssize_t = self.entry_end[index] - first
        m: cython.Py_ssize_t = self.number_end[index] - first_number
        row.reserve(n, m)
        row.entries = n
        row.numbers = m
        row.label = self.label[index]
        row.weight = self.weight[index]
        row.whole = is_whole(row.weight)
        for k in range(n):
            row.feature[k] = self.feature[first + k]
            row.code[k] = self.code[first + k]
            row.amount[k] = self.amount[first + k]
            if not is_whole(row.amount[k] * row.weight):
                row.whole = False
        for k in range(m):
            row.numeric_feature[k] = self.numeric_feature[first_number + k]
            row.number[k] = self.number[first_number + k]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def is_whole(number: cython.double) -> cython.bint:
    # Every double from 2^53 on is whole; below, the cast to an integer is exact.
    return number >= 9007199254740992.0 or cython.cast(cython.longlong, number) == number


@cython.cclass
class Vocabulary:
    """The values of one feature, of the labels, or of the tokens; a value's code is its place in the dict.

    With a `limit`, values past it share the code of `OTHER`, the last one. The first `declared` codes were
    declared: they count as values although no sample holds them.
    """

    def __init__(self, values=(), limit=None, closed: cython.bint = False):
        self.slot = -1  # the feature's, once it has one
        self.index = {value: code for code, value in enumerate(values)}
        self.limit = limit
        self.declared = len(self.index)
        self.closed = closed

    def __len__(self):
        return len(self.index)

    @property
    def values(self):
        """The values in the order of their codes, `OTHER` last where the limit was passed."""
        return list(self.index)

    @cython.ccall
    def lookup(self, value) -> cython.int:
        """The code of a value, `UNSEEN` where it has none. Changes nothing."""
        code = self.index.get(value)
        if code is None and self.limit is not None:
            code = self.index.get(OTHER)  # exists only once the limit was passed
        return UNSEEN if code is None else code

    @cython.cfunc
    def encode(self, value, created: list) -> cython.int:
        """The code of a value, a new one if need be; `created` is told, so that it can be taken back."""
        code = self.index.get(value)
        if code is not None:
            return code
        if self.limit is not None and len(self.index) >= self.limit:
            value = OTHER
            code = self.index.get(OTHER)
            if code is not None:
                return code
        fresh: cython.int = len(self.index)
        self.index[value] = fresh
        created.append(self)
        return fresh

    def name(self, value):
        """The code of a value, a new one if need be; past the limit the one of `OTHER`."""
        return self.encode(value, [])

    def add(self, value):
        """Give a value, or `OTHER`, the next code whatever the limit, as merging and restoring do."""
        self.index[value] = len(self.index)

    def take_back(self):
        """Remove the newest value."""
        self.index.popitem()


@cython.cclass
class Feature:
    """A feature's name, its place among the features of its kind, and its vocabulary if nominal."""

    def __init__(self, name, slot: cython.int, vocabulary):
        self.name = name
        self.slot = slot
        self.numeric = vocabulary is None
        self.vocabulary = vocabulary
        if vocabulary is not None:
            vocabulary.slot = slot


@cython.cclass
class Encoder:
    """What encoders of every kind of event share: the labels, the row, and the list of what is new.

    `encode` leaves in `created` what it added, one entry a code or a feature. Whoever called it either
    clears that list when the tables have made room, or calls `rollback`, and nothing has happened.
    """

    def __init__(self, labels: Vocabulary):
        self.row = Row()
        self.labels = labels
        self.created = []

    @cython.cfunc
    def read_label(self, y) -> cython.int:
        if type(y) is not str and type(y) is not int and type(y) is not bool:
            y = canonical_label(y)
        code = self.labels.index.get(y)
        if code is not None:
            return code
        if self.labels.closed:
            raise BadLabel(f"label {y!r} is not among the declared classes {self.labels.values!r}")
        return self.labels.encode(y, self.created)

    @cython.cfunc
    def known_label(self, y) -> cython.int:
        y = canonical_label(y)
        code = self.labels.index.get(y)
        if code is None:
            raise NotLearned(f"cannot unlearn a sample of class {y!r}: no sample of that class was ever learned")
        return code

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from an event. The one step an encoder writes."""
        raise NotImplementedError

    @cython.ccall
    def encode(self, x, y, w) -> Row:
        """The row of a sample to be learned."""
        self.row.weight = read_weight(w)
        if self.created:
            self.rollback()  # somebody else's unfinished business
        try:
            self.row.label = self.read_label(y)
            self.read(x, True)
        except BaseException:
            self.rollback()
            raise
        if self.row.whole:
            self.row.whole = is_whole(self.row.weight)
        elif self.row.weight != 1.0:
            self.row.whole = whole_products(self.row)
        return self.row

    @cython.ccall
    def lookup(self, x) -> Row:
        """The row of a sample to be predicted: what is unknown is left out."""
        self.row.weight = 1.0
        self.row.label = UNSEEN
        self.read(x, False)
        return self.row

    def name_label(self, y):
        """The code of a label, a new one if need be."""
        return self.read_label(y)

    def rollback(self):
        """Take back everything that is in `created`, the newest first."""
        while self.created:
            self.created.pop().take_back()


@cython.cfunc
def whole_products(row: Row) -> cython.bint:
    k: cython.Py_ssize_t
    for k in range(row.entries):
        if not is_whole(row.amount[k] * row.weight):
            return False
    return is_whole(row.weight)


def read_weight(w):
    """A sample weight as a float, or the reason why it is none."""
    try:
        weight = float(w)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0.0 <= weight < float("inf") or type(w) is str:
        raise BadWeight(f"a weight must be a finite number of at least 0, not {w!r}")
    return weight


@cython.cclass
class RowEncoder(Encoder):
    """Events with named features, `{"sky": "grey", "wind": 3.5}`.

    Parameters
    ----------
    labels
        The vocabulary of the class.
    declared
        `{name: Vocabulary | None}`, None for a numeric feature. With declared features, others are ignored,
        or refused if `refuse` is set; without, features are met as they come, and their first value decides
        their kind: int and float are numeric, str, bytes, bool and tuples nominal.
    only
        `"numeric"` where every undeclared feature is numeric.
    max_values
        The limit of the vocabularies of features that are not declared.
    """

    def __init__(self, labels, declared=None, refuse: cython.bint = False, only=None, max_values=None):
        Encoder.__init__(self, labels)
        self.features = {}
        self.nominal = []
        self.numeric = []
        self.only = only
        self.max_values = max_values
        self.declared = declared is not None
        self.refuse = refuse
        for name, vocabulary in (declared or {}).items():
            self.add_feature(name, vocabulary)

    def add_feature(self, name, vocabulary) -> Feature:
        """Give a feature the next slot of its kind."""
        run: list = self.numeric if vocabulary is None else self.nominal
        feature = Feature(name, len(run), vocabulary)
        run.append(feature)
        self.features[name] = feature
        return feature

    def name_feature(self, name, numeric: cython.bint) -> Feature:
        """A feature by its name, added if need be; its kind is the caller's business."""
        feature = self.features.get(name)
        if feature is None:
            feature = self.add_feature(name, None if numeric else Vocabulary((), self.max_values))
            self.created.append(self)
        return feature

    def take_back(self):
        """Remove the newest feature."""
        feature: Feature = self.features.popitem()[1]
        (self.numeric if feature.numeric else self.nominal).pop()

    def unlearned(self, x, y, w) -> Row:
        """The row of a sample to be unlearned; what was never learned is refused."""
        row: Row = self.row
        row.weight = read_weight(w)
        row.label = self.known_label(y)
        self.read(x, False)
        row.whole = is_whole(row.weight)
        present: set = {self.nominal[row.feature[k]].name for k in range(row.entries)}
        for name, value in x.items():
            feature = self.features.get(name)
            if name in present or is_missing(value) or (feature is None and self.declared):
                continue
            if feature is None or not cython.cast(Feature, feature).numeric:
                raise NotLearned(f"cannot unlearn {name!r} = {value!r}: it was never learned")
        return row

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from `x`, in the order of the slots."""
        row: Row = self.row
        feature: Feature
        code: cython.int
        number: cython.double
        slot: cython.int
        last: cython.int = -1
        last_number: cython.int = -1
        sorted_so_far: cython.bint = True
        event: dict = as_dict(x)
        row.entries = 0
        row.numbers = 0
        row.whole = True
        row.reserve(len(event), len(event))
        for name, value in event.items():
            known = self.features.get(name)
            if known is None:
                feature = self.meet(name, value, learning)
                if feature is None:
                    continue
            else:
                feature = known
            slot = feature.slot
            if feature.numeric:
                if type(value) is float:
                    number = value
                else:
                    number = read_number(name, value, self.declared or self.only is not None)
                if number != number:
                    continue
                if number - number != 0.0:
                    raise BadValue(f"feature {name!r}: a numeric value must be finite, not {value!r}")
                if slot < last_number:
                    sorted_so_far = False
                last_number = slot
                row.numeric_feature[row.numbers] = slot
                row.number[row.numbers] = number
                row.numbers += 1
            else:
                if type(value) is not str:
                    value = read_nominal(name, value, self.declared)
                    if value is None:
                        continue
                found = feature.vocabulary.index.get(value)
                if found is not None:
                    code = found
                elif learning:
                    if feature.vocabulary.closed:
                        raise BadValue(
                            f"feature {name!r}: {value!r} is not among the declared values "
                            f"{feature.vocabulary.values!r}"
                        )
                    code = feature.vocabulary.encode(value, self.created)
                else:
                    code = feature.vocabulary.lookup(value)
                    if code == UNSEEN:
                        continue
                if slot < last:
                    sorted_so_far = False
                last = slot
                row.feature[row.entries] = slot
                row.code[row.entries] = code
                row.entries += 1
        if not sorted_so_far:
            row.sort()

    @cython.cfunc
    def meet(self, name, value, learning: cython.bint) -> Feature:
        """A feature not met before: None where there is nothing to learn from it."""
        if self.declared:
            if type(name) is not str:
                raise BadValue(f"feature names are str where a schema is declared, not {name!r}")
            if self.refuse:
                raise UnknownFeature(f"feature {name!r} is not declared in the schema")
            return None
        if is_missing(value):
            return None
        if self.only == "numeric":
            read_number(name, value, True)  # refuses what is not a number, before anything is kept
            numeric: cython.bint = True
        else:
            value = canonical(value, feature=name)
            numeric = isinstance(value, (int, float)) and type(value) is not bool
        if not learning:
            return None
        return self.name_feature(name, numeric)


@cython.cclass
class BagEncoder(Encoder):
    """Events that are bags of words, `{token: count}`. Every token is a value of one feature, slot 0.

    Parameters
    ----------
    labels, tokens
        The vocabularies of the class and of the tokens.
    declared
        Only the tokens given are counted; others are ignored, or refused if `refuse` is set.
    threshold
        None keeps counts as they are; a number keeps only whether the count is above it.
    """

    def __init__(self, labels, tokens, declared: cython.bint = False, refuse: cython.bint = False, threshold=None):
        Encoder.__init__(self, labels)
        self.tokens = tokens
        self.tokens.slot = 0
        self.declared = declared
        self.refuse = refuse
        self.binary = threshold is not None
        self.threshold = 0.0 if threshold is None else threshold

    def unlearned(self, x, y, w) -> Row:
        """The row of a bag to be unlearned; what was never learned is refused."""
        row: Row = self.row
        row.weight = read_weight(w)
        row.label = self.known_label(y)
        self.read(x, False)
        if row.whole:
            row.whole = is_whole(row.weight)
        elif row.weight != 1.0:
            row.whole = whole_products(row)
        if row.entries < len(x) and not self.declared:
            for token, count in x.items():
                if not is_missing(count) and count > self.threshold and self.tokens.lookup(token) == UNSEEN:
                    raise NotLearned(f"cannot unlearn token {token!r}: it was never learned")
        return row

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from `x`, in the dict's order."""
        row: Row = self.row
        n: cython.Py_ssize_t = 0
        code: cython.int
        count: cython.double
        index: dict = self.tokens.index
        event: dict = as_dict(x)
        row.entries = 0
        row.numbers = 0
        row.whole = True
        row.reserve(len(event), 0)
        for token, value in event.items():
            if type(value) is int or type(value) is float:
                count = value
            else:
                count = read_count(token, value)
            if self.binary:
                if not count > self.threshold:
                    continue
                count = 1.0
            elif not (0.0 < count < 1.7e308):
                if count == 0.0 or count != count:
                    continue
                raise BadValue(f"token {token!r}: a count must be finite and at least 0, not {value!r}")
            elif not is_whole(count):
                row.whole = False
            found = index.get(token)
            if found is not None:
                code = found
            else:
                code = self.meet_token(token, learning)
                if code == UNSEEN:
                    continue
            row.feature[n] = 0
            row.code[n] = code
            row.amount[n] = count
            n += 1
        row.entries = n

    def meet_token(self, token, learning: cython.bint):
        """The code of a token not met before, `UNSEEN` where it gets none."""
        if self.declared:
            if self.refuse:
                raise UnknownFeature(f"token {token!r} is not declared in the schema")
            return UNSEEN
        if type(token) is not str:
            token = canonical(token)
        return self.tokens.encode(token, self.created) if learning else self.tokens.lookup(token)


@cython.cfunc
@cython.inline
def as_dict(x) -> dict:
    if type(x) is dict:
        return x
    try:
        return dict(x)
    except (TypeError, ValueError):
        raise BadValue(f"an event's features come as a dict, not as {type(x).__name__}") from None


def read_number(name, value, declared):
    """A numeric feature's value as a float, NaN where it is missing."""
    if is_missing(value):
        return float("nan")
    value = canonical_or_number(name, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        message = f"feature {name!r} is numeric, but got {value!r} of type {type(value).__name__}"
        raise BadValue(message) if declared else KindChanged(message)
    try:
        return float(value)
    except OverflowError:
        raise BadValue(f"feature {name!r}: {value!r} is too large for a float") from None


def canonical_or_number(name, value):
    """Infinities reach the caller's own check; everything else takes the common path."""
    return value if isinstance(value, float) else canonical(value, feature=name)


def read_nominal(name, value, declared):
    """A nominal feature's value as a dict key, None where it is missing."""
    if is_missing(value):
        return None
    value = canonical(value, feature=name)
    if not declared and isinstance(value, (int, float)) and type(value) is not bool:
        raise KindChanged(
            f"feature {name!r} is nominal (it began with a str, bytes, bool or tuple), but got the number {value!r}; "
            "declare it in a schema to mix kinds"
        )
    return value


def read_count(token, value):
    """A token's count as a float, NaN where it is missing."""
    if is_missing(value):
        return float("nan")
    try:
        value = canonical(value, feature=token)
    except BadValue:
        if not isinstance(value, float):
            raise
    if isinstance(value, (int, float)):
        return float(value)
    raise BadValue(f"token {token!r}: a count must be a number, not {value!r}")
