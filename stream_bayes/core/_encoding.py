"""Values to integer codes, one event at a time.

An `Encoder` turns an event into a `Row`. Learning (`encode`) may create codes; predicting (`lookup`) never
does. A code, once given, never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

import cython

from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.values import canonical, canonical_label, is_missing, shown
from stream_bayes.errors import BadLabel, BadValue, BadWeight, KindChanged, NotLearned, UnknownFeature

if not cython.compiled:
    from stream_bayes.core._cells import is_whole
    from stream_bayes.core._rows import Batch, Row

UNSEEN = cython.declare(cython.int, -2)
ONE = 1
LARGEST_COUNT = cython.declare(cython.double, 9007199254740992.0)  # 2^53: beyond, counts are not exact
LARGEST_NUMBER = cython.declare(cython.double, 1e100)  # its square, times any weight, is still finite
BAG = "<bag of words>"  # what the one feature of a bag is called, in messages and states


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
    """What encoders of every kind of event share: the labels, the features, the row, and the list of what is new.

    `nominal` and `numeric` hold the features of each kind in the order of their slots. With `declared`
    features, others are ignored, or refused if `refuse` is set. `encode` leaves in `created` what it added, one
    entry a code or a feature. Whoever called it either clears that list when the tables have made room, or
    calls `rollback`, and nothing has happened.
    """

    def __init__(self, labels: Vocabulary, declared: cython.bint, refuse: cython.bint):
        self.features = {}
        self.nominal = []
        self.numeric = []
        self.declared = declared
        self.refuse = refuse
        self.row = Row()
        self.labels = labels
        self.created = []

    def add_feature(self, name, vocabulary) -> Feature:
        """Give a feature the next slot of its kind; one without a vocabulary is numeric."""
        run: list = self.numeric if vocabulary is None else self.nominal
        feature = Feature(name, len(run), vocabulary)
        run.append(feature)
        self.features[name] = feature
        return feature

    @cython.cfunc
    def read_label(self, y) -> cython.int:
        if type(y) is not str and type(y) is not int and type(y) is not bool:
            y = canonical_label(y)
        code: cython.int = self.labels.find(y)
        if code >= 0:
            return code
        if self.labels.closed:
            raise BadLabel(f"label {y!r} is not among the declared classes {self.labels.values!r}")
        return self.labels.encode(y, self.created)

    @cython.cfunc
    def known_label(self, y) -> cython.int:
        y = canonical_label(y)
        code: cython.int = self.labels.find(y)
        if code < 0:
            raise NotLearned(
                f"cannot unlearn a sample of class {y!r}: no sample of that class was ever learned"
            )
        return code

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from an event. The one step an encoder writes."""
        raise NotImplementedError

    @cython.cfunc
    def fill(self, x, y, w):
        """Write a sample to be learned into the row; what is new gets a code, and is noted in `created`."""
        self.row.weight = read_weight(w)
        self.row.label = self.read_label(y)
        self.read(x, True)
        if self.row.whole:
            self.row.whole = is_whole(self.row.weight)
        elif self.row.weight != 1.0:
            self.row.whole = whole_products(self.row)

    @cython.ccall
    def encode(self, x, y, w) -> Row:
        """The row of a sample to be learned."""
        if self.created:
            self.rollback()  # somebody else's unfinished business
        try:
            self.fill(x, y, w)
        except BaseException:
            self.rollback()
            raise
        return self.row

    def encode_all(self, xs, ys, ws, batch: Batch):
        """Append the rows of many samples; where one is refused, nothing of any is kept but its number, `failed`."""
        if self.created:
            self.rollback()
        self.failed = 0
        try:
            for x, y, w in zip(xs, ys, ws, strict=True):
                known: cython.Py_ssize_t = len(self.created)
                self.fill(x, y, w)
                if self.row.weight == 0.0 and len(self.created) > known:
                    self.rollback(known)  # a sample without weight names nothing
                    self.lookup(x)
                    self.row.weight = 0.0
                batch.append(self.row)
                self.failed += 1
        except BaseException:
            self.rollback()
            raise

    def lookup_all(self, xs, batch: Batch):
        """Append the rows of many samples to be predicted."""
        self.failed = 0
        for x in xs:
            batch.append(self.lookup(x))
            self.failed += 1

    @cython.ccall
    def lookup(self, x) -> Row:
        """The row of a sample to be predicted: what is unknown is left out."""
        self.row.weight = 1.0
        self.row.label = UNSEEN
        self.read(x, False)
        return self.row

    def unlearned(self, x, y, w) -> Row:
        """The row of a sample to be unlearned; what was never learned is refused."""
        raise NotImplementedError

    def name_feature(self, name, numeric: cython.bint) -> Feature:
        """A feature by its name, added if need be; its kind is the caller's business."""
        raise NotImplementedError

    def name_label(self, y):
        """The code of a label, a new one if need be."""
        return self.read_label(y)

    def rollback(self, known: cython.Py_ssize_t = 0):
        """Take back what is in `created` beyond the first so many, the newest first."""
        while len(self.created) > known:
            self.created.pop().take_back()


@cython.cfunc
def whole_products(row: Row) -> cython.bint:
    k: cython.Py_ssize_t
    for k in range(row.entries):
        if not is_whole(row.amount[k] * row.weight):
            return False
    return is_whole(row.weight)


@cython.ccall
def read_weight(w) -> cython.double:
    """A sample weight as a float, or the reason why it is none."""
    weight: cython.double = -1.0
    if type(w) is float or type(w) is int:
        weight = as_double(w)
    elif hasattr(w, "__float__"):
        weight = float(w)
    if not (0.0 <= weight <= LARGEST_COUNT):
        raise BadWeight(
            f"a weight must be a finite number of at least 0, and of at most 2**53, not {shown(w)}"
        )
    return weight


@cython.cfunc
@cython.inline
def as_double(value) -> cython.double:
    """A float or an int as a double, infinite where an int is too large for one."""
    try:
        return value
    except OverflowError:
        return float("inf")


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
        Encoder.__init__(self, labels, declared is not None, refuse)
        self.only = only
        self.max_values = max_values
        self.usual = []
        for name, vocabulary in (declared or {}).items():
            self.add_feature(name, vocabulary)

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
        self.usual.clear()
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
        place: cython.Py_ssize_t = 0
        usual: list = self.usual
        event: dict = as_dict(x)
        row.entries = 0
        row.numbers = 0
        row.whole = True
        row.reserve(len(event), len(event))
        features: cython.int[::1] = row.feature
        codes: cython.int[::1] = row.code
        for name, value in event.items():
            # Events of a stream list their features in the same order, as a rule: comparing a name with the last
            # event's at the same place is cheaper than looking it up.
            feature = None
            if place < len(usual):
                feature = usual[place]
                if type(name) is not str or cython.cast(str, name) != feature.name:
                    feature = None
            if feature is None:
                known = self.features.get(name)
                if known is not None:
                    feature = known
                    if place < len(usual):
                        usual[place] = feature
                    elif place == len(usual):
                        usual.append(feature)
                else:
                    feature = self.meet(name, value, learning)
                    if feature is None:
                        place += 1
                        continue
            place += 1
            slot = feature.slot
            if feature.numeric:
                if type(value) is float or type(value) is int:
                    number = as_double(value)
                else:
                    number = read_number(name, value, self.declared or self.only is not None)
                if number != number:
                    continue
                if not (-LARGEST_NUMBER <= number <= LARGEST_NUMBER):
                    raise BadValue(
                        f"feature {name!r}: a numeric value must be finite, and of at most 1e100, not {shown(value)}"
                    )
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
                code = feature.vocabulary.lookup(value)
                if code < 0:
                    if not learning:
                        continue
                    if feature.vocabulary.closed:
                        raise BadValue(
                            f"feature {name!r}: {value!r} is not among the declared values "
                            f"{feature.vocabulary.values!r}"
                        )
                    code = feature.vocabulary.encode(value, self.created)
                if slot < last:
                    sorted_so_far = False
                last = slot
                features[row.entries] = slot
                codes[row.entries] = code
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
        return self.name_feature(feature_name(name), numeric)


def feature_name(name):
    """A feature's name as it is kept, or the reason why it cannot be one."""
    try:
        return canonical(name)
    except BadValue as error:
        raise BadValue(f"the name of a feature: {error}") from None


@cython.cclass
class BagEncoder(Encoder):
    """Events that are bags of words, `{token: count}`. Every token is a value of one feature, slot 0, which is what
    the row's `feature` holds from the start.

    Parameters
    ----------
    labels, tokens
        The vocabularies of the class and of the tokens.
    declared
        Only the tokens given are counted; others are ignored, or refused if `refuse` is set.
    threshold
        None keeps counts as they are; a number keeps only whether the count is above it.
    """

    def __init__(
        self, labels, tokens, declared: cython.bint = False, refuse: cython.bint = False, threshold=None
    ):
        Encoder.__init__(self, labels, declared, refuse)
        self.tokens = tokens
        self.add_feature(BAG, tokens)
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
        tokens: Vocabulary = self.tokens
        beyond: cython.Py_ssize_t = -1
        event: dict = as_dict(x)
        row.entries = 0
        row.numbers = 0
        row.whole = True
        row.reserve(len(event), 0)
        codes: cython.int[::1] = row.code
        amounts: cython.double[::1] = row.amount
        for token, value in event.items():
            if value is ONE:  # most counts are, and then nothing need be converted or checked
                count = 1.0
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
            code = tokens.lookup(token)
            if code < 0:
                code = self.meet_token(token, learning)
                if code < 0:
                    continue
            if code == tokens.other:
                # All the words past the limit are one word to the tables, and so one entry of the row.
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
        """The bag itself: there is no other feature."""
        return self.features[name]

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
    if isinstance(x, Mapping):
        return dict(x)
    raise BadValue(
        f"an event's features come as a dict {{name: value}}, not as {type(x).__name__}: {shown(x)}"
    )


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
