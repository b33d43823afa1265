"""Values to integer codes, one event at a time.

An `Encoder` turns an event into a `Row`. Learning (`encode`) may create codes; predicting (`lookup`) never
does. A code, once given, never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

import cython

from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values.inputs import (
    ALL,
    NONE,
    check_class,
    check_declared,
    feature_name,
    may_be_name,
    no_features,
    read_nominal,
    read_number,
    refuse_bag,
    refuse_counter,
)
from stream_bayes.core.values.values import canonical, canonical_label, is_missing, name_order, shown
from stream_bayes.errors import BadLabel, BadValue, NotLearned, UnknownFeature

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Batch, Row
    from stream_bayes.core.values._cells import is_whole
    from stream_bayes.core.values._weights import read_weight

UNSEEN = cython.declare(cython.int, -2)
LARGEST_NUMBER = cython.declare(cython.double, 1e100)  # its square, times any weight, is still finite


@cython.cclass
class Feature:
    """A feature's name, its place among the features of its kind, and its vocabulary if it is counted.

    A `measured` feature has numbers: one with a vocabulary has bins for values, one without is `numeric`, a Gaussian.
    """

    def __init__(self, name, slot: cython.int, vocabulary, measured: cython.bint = False):
        self.name = name
        self.slot = slot
        self.numeric = vocabulary is None
        self.measured = measured or vocabulary is None
        self.vocabulary = vocabulary
        if vocabulary is not None:
            vocabulary.slot = slot


@cython.cclass
class Encoder:
    """Base of all encoders: labels, features, the row, and the list of new names.

    `nominal` and `numeric` hold the features of each kind in the order of their slots. With `declared` features, others
    are ignored, or refused if `refuse` is set. `numbers_named` decides which numbers may be values of nominal features:
    by default all if features are declared, else none. `encode` appends each new code or feature to `created`. The
    caller clears that list once the tables have room, or calls `rollback`, which removes the new names.
    """

    def __init__(self, labels: Vocabulary, declared: cython.bint, refuse: cython.bint):
        self.features = {}
        self.nominal = []
        self.numeric = []
        self.ordered = []
        self.by_name = []
        self.declared = declared
        self.numbers_named = ALL if declared else NONE
        self.refuse = refuse
        self.row = Row()
        self.labels = labels
        self.created = []
        self.bins = None

    def add_feature(self, name, vocabulary) -> Feature:
        """Give a feature the next slot of its kind; one without a vocabulary is numeric, or gets bins."""
        measured: cython.bint = vocabulary is None
        if measured and self.bins is not None:
            vocabulary = Vocabulary()
        run: list = self.numeric if vocabulary is None else self.nominal
        feature = Feature(name, len(run), vocabulary, measured)
        run.append(feature)
        self.features[name] = feature
        return feature

    def nominal_by_name(self) -> list:
        """Return the counted features in the order of their names."""
        if self.ordered != self.nominal:
            self.ordered = list(self.nominal)
            self.by_name = sorted(self.nominal, key=lambda feature: name_order(feature.name))
        return self.by_name

    @cython.cfunc
    def read_label(self, y) -> cython.int:
        if type(y) is not str and type(y) is not int and type(y) is not bool:
            y = canonical_label(y)
        code: cython.int = self.labels.find(y)
        if code >= 0:
            return code
        if type(y) is float and not self.labels.closed:
            check_class(y, self.undeclared_labels())
        return self.create_label(y)

    def undeclared_labels(self):
        """Return the labels that were learned and not declared."""
        return self.labels.values[self.labels.declared :]

    @cython.cfunc
    def create_label(self, y) -> cython.int:
        """Give a label the next code; refuse it if others were declared."""
        if self.labels.closed:
            raise BadLabel(f"label {shown(y)} is not among the declared classes {shown(self.labels.values)}")
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
        """Write a sample to be learned into the row; new names get codes, and are recorded in `created`."""
        self.row.weight = read_weight(w)
        self.row.label = self.read_label(y)
        self.read(x, True)
        if self.row.whole:
            self.row.whole = is_whole(self.row.weight)
        elif self.row.weight != 1.0:
            self.row.whole = whole_products(self.row)

    @cython.ccall
    def encode(self, x, y, w) -> Row:
        """Return the row of a sample to be learned."""
        if self.created:
            self.rollback()  # left by a caller that neither admitted nor removed them
        try:
            self.fill(x, y, w)
        except BaseException:
            self.rollback()
            raise
        if self.row.numbers and self.bins is not None:
            self.bins.resolve(self.row)
        return self.row

    def encode_all(self, xs, ys, ws, batch: Batch):
        """Append the rows of many samples. If one is refused, remove all new names and leave its index in `failed`.

        Numbers do not become bins yet: learning an earlier row may change the cuts.
        """
        if self.created:
            self.rollback()
        self.failed = 0
        try:
            for x, y, w in zip(xs, ys, ws, strict=True):
                before: cython.Py_ssize_t = len(self.created)
                self.fill(x, y, w)
                if self.row.weight == 0.0 and len(self.created) > before:
                    self.rollback(before)  # a sample without weight creates no names
                    self.fill_unlabelled(x)
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
            self.fill_unlabelled(x)
            batch.append(self.row)
            self.failed += 1

    @cython.ccall
    def lookup(self, x) -> Row:
        """Return the row of a sample to be predicted, without unknown names."""
        self.fill_unlabelled(x)
        if self.row.numbers and self.bins is not None:
            self.bins.resolve(self.row)
        return self.row

    @cython.cfunc
    def fill_unlabelled(self, x):
        """Write a sample to be predicted into the row, numbers as such."""
        self.row.weight = 1.0
        self.row.label = UNSEEN
        self.read(x, False)

    def unlearned(self, x, y, w) -> Row:
        """Return the row of a sample to be unlearned; raise `NotLearned` for names that were never learned."""
        raise NotImplementedError

    def name_feature(self, name, numeric: cython.bint) -> Feature:
        """Return a feature by its name, added if need be; the caller checks its kind."""
        raise NotImplementedError

    def name_label(self, y):
        """Return the code of a label that a model has learned, a new one if need be."""
        y = canonical_label(y)
        code: cython.int = self.labels.find(y)
        return code if code >= 0 else self.create_label(y)

    def rollback(self, kept_names: cython.Py_ssize_t = 0):
        """Remove all but the first names in `created`, the newest first."""
        while len(self.created) > kept_names:
            self.created.pop().remove_newest()


@cython.cfunc
def whole_products(row: Row) -> cython.bint:
    for k in range(row.entries):
        if not is_whole(row.amount[k] * row.weight):
            return False
    return is_whole(row.weight)


@cython.cfunc
def as_double(value) -> cython.double:
    """Return a float or an int as a double, infinite where an int is too large for one."""
    try:
        return value
    except OverflowError:
        return float("inf")


@cython.cfunc
@cython.exceptval(check=False)
def is_plain(value, takes_numbers: cython.bint) -> cython.bint:
    """Return True if a value that is no string needs no `read_nominal`, which would return it as it is."""
    if type(value) is bool:
        return True
    if type(value) is int:
        return takes_numbers
    if type(value) is tuple:
        for element in cython.cast(tuple, value):
            if type(element) is not str and type(element) is not int and type(element) is not bool:
                return False
        return True
    return False


@cython.cclass
class RowEncoder(Encoder):
    """Events with named features, `{"sky": "grey", "wind": 3.5}`.

    `declared` is `{name: Vocabulary | None}`, None for a numeric feature. With declared features, others are ignored,
    or refused if `refuse` is set; otherwise features are added as they come, and their first value decides their kind:
    int and float are numeric, str, bytes, bool and tuples nominal. `only` is `"numeric"` where every undeclared feature
    is numeric, `"nominal"` where none can be. `max_values` limits the vocabularies of features that are not declared.
    `bins` are given where numeric features are counted in bins. `wanted` names the features to use; others are ignored.
    None: all.

    Attributes
    ----------
    refuses_bags
        True to raise for a bag of words, in which an absent number is 0 and not missing. At first True with bins, and
        where every feature is nominal.
    """

    def __init__(
        self,
        labels,
        declared=None,
        refuse: cython.bint = False,
        only=None,
        max_values=None,
        bins=None,
        wanted=None,
    ):
        Encoder.__init__(self, labels, declared is not None, refuse)
        self.bins = bins
        self.only = only
        self.max_values = max_values
        self.wanted = wanted
        self.refuses_bags = bins is not None or only == "nominal"
        self.usual = []
        for name, vocabulary in (declared or {}).items():
            self.add_feature(name, vocabulary)

    def name_feature(self, name, numeric: cython.bint) -> Feature:
        """Return a feature by its name, added if need be; the caller checks its kind."""
        feature = self.features.get(name)
        if feature is None:
            feature = self.add_feature(name, None if numeric else Vocabulary((), self.max_values))
            self.created.append(self)
        return feature

    def is_accepted(self, name):
        """Return True if an unknown feature is added, and not ignored."""
        return not self.declared and (self.wanted is None or name in self.wanted)

    def may_gain(self, name, numeric: cython.bint) -> cython.bint:
        """Return True if a state may hold a feature that is not here yet."""
        return not self.declared

    def remove_newest(self):
        """Remove the newest feature."""
        feature: Feature = self.features.popitem()[1]
        self.usual.clear()
        (self.numeric if feature.numeric else self.nominal).pop()

    def unlearned(self, x, y, w) -> Row:
        """Return the row of a sample to be unlearned; raise `NotLearned` for names that were never learned."""
        row: Row = self.row
        row.weight = read_weight(w)
        row.label = self.known_label(y)
        self.read(x, False)
        row.whole = is_whole(row.weight)
        if row.numbers and self.bins is not None:
            self.bins.resolve(row)
        present: set = {self.nominal[row.feature[k]].name for k in range(row.entries)}
        for name, value in x.items():
            feature = self.features.get(name)
            if name in present or is_missing(value) or (feature is None and not self.is_accepted(name)):
                continue
            if feature is None or not cython.cast(Feature, feature).measured:
                raise NotLearned(f"cannot unlearn {name!r} = {value!r}: it was never learned")
        return row

    @cython.cfunc
    def read(self, x, learning: cython.bint):
        """Fill the row from `x`, in the order of the slots."""
        row: Row = self.row
        last: cython.int = -1
        last_number: cython.int = -1
        sorted_so_far: cython.bint = True
        position: cython.Py_ssize_t = 0
        usual: list = self.usual
        event: dict = as_dict(x)
        known_features: cython.Py_ssize_t = len(self.features)
        if type(x) is not dict and self.refuses_bags:
            refuse_counter(x)
        row.entries = 0
        row.numbers = 0
        row.whole = True
        row.unseen = 0
        row.soft = False
        row.reserve(len(event), len(event))
        features: cython.int[::1] = row.feature
        codes: cython.int[::1] = row.code
        for name, value in event.items():
            # Events of a stream usually list their features in the same order: comparing with the name at the same
            # place of the last event is cheaper than a lookup.
            feature: Feature = None
            if position < len(usual):
                feature = usual[position]
                if type(name) is not str or cython.cast(str, name) != feature.name:
                    feature = None
            if feature is None:
                existing = self.features.get(name)
                if existing is not None:
                    feature = existing
                    if position < len(usual):
                        usual[position] = feature
                    elif position == len(usual):
                        usual.append(feature)
                else:
                    feature = self.create_feature(name, value, learning)
                    if feature is None:
                        position += 1
                        continue
            position += 1
            slot: cython.int = feature.slot
            if feature.measured:
                if type(value) is float or type(value) is int:
                    number: cython.double = as_double(value)
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
                if type(value) is not str and not is_plain(value, self.numbers_named != NONE):
                    value = read_nominal(name, value, self.numbers_named)
                    if value is None:
                        continue
                code: cython.int = feature.vocabulary.lookup(value)
                if code < 0:
                    if not learning:
                        row.unseen += 1
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
        if self.refuses_bags and len(self.features) > known_features and row.weight > 0.0:
            refuse_bag(event, self.words_among(known_features))

    def words_among(self, count: cython.Py_ssize_t) -> dict:
        """Return which of the first features may be words, and the values of those that are nominal."""
        feature: Feature
        words: dict = {}
        for name, feature in tuple(self.features.items())[:count]:
            words[name] = () if feature.numeric else feature.vocabulary.values
        return words

    @cython.cfunc
    def create_feature(self, name, value, learning: cython.bint) -> Feature:
        """Return a new feature, None if it is ignored or missing, or nothing is learned."""
        if self.declared:
            check_declared(name)
            if self.refuse:
                raise UnknownFeature(f"feature {name!r} is not declared in the schema")
            return None
        if (self.wanted is not None and name not in self.wanted) or is_missing(value):
            return None
        if self.only == "numeric":
            read_number(name, value, True)  # raises for anything else, before a name is created
            numeric: cython.bint = True
        else:
            value = canonical(value, feature=name)
            numeric = isinstance(value, (int, float)) and type(value) is not bool
            if numeric and self.only == "nominal" and may_be_name(value, self.numbers_named):
                numeric = False
            elif numeric and self.only == "nominal":
                raise BadValue(
                    f"feature {name!r}: the number {shown(value)} has no bins to go into; set binning, declare the "
                    "feature as Nominal in a schema, or make strings of its values"
                )
        if not learning:
            return None
        return self.name_feature(feature_name(name), numeric)


@cython.cfunc
def as_dict(x) -> dict:
    if type(x) is dict:
        return x
    if isinstance(x, Mapping):
        return dict(x)
    raise no_features(x)
