"""Checks of the names, values, numbers and counts of an event, with errors that give the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from typing import TypeGuard

from stream_bayes.core.values.values import Value, canonical, is_missing, shown
from stream_bayes.errors import BadLabel, BadValue, KindChanged

__all__ = [
    "ALL",
    "MOST_FRACTIONS",
    "NONE",
    "WHOLE",
    "check_class",
    "check_classes",
    "check_declared",
    "check_named",
    "counted",
    "feature_name",
    "is_number",
    "may_be_name",
    "no_bag",
    "no_features",
    "read_count",
    "read_nominal",
    "read_number",
    "refuse_bag",
    "refuse_counter",
]

MOST_FRACTIONS = 10  # classes with a fraction, as ratings in half stars: more are measurements
MOST_FLOATS = 50  # classes that are floats, with a fraction or whole
BAG_NAMES = 6  # features, before an event without most of them can be a bag of words

NONE, WHOLE, ALL = "none", "whole", "all"  # which numbers may be values of nominal features


def feature_name(name: object) -> Value:
    """Return a feature's name as it is kept, or raise the reason why it cannot be one."""
    try:
        return canonical(name)
    except BadValue as error:
        raise BadValue(f"the name of a feature: {error}") from None


def check_classes(labels: Iterable[object]) -> None:
    """Raise `BadLabel` if classes that come from data show that labels are measurements.

    Examples
    --------
    >>> check_classes([1.0, 0.0, "yes"])
    """
    classes: list[object] = []
    for label in labels:
        check_class(label, classes)
        classes.append(label)


def check_class(label: object, classes: Iterable[object]) -> None:
    """Raise `BadLabel` for a float that would become a class beside so many others that labels are measurements.
    `label` is no class yet, and `classes` were learned and not declared.

    Examples
    --------
    >>> check_class(1.0, [0.0]), check_class(312.5, ["cheap"])
    (None, None)
    >>> check_class(312.5, [n + 0.5 for n in range(10)])
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadLabel: label 312.5: labels seem to be numbers rather than classes, as it would be number 11 \
of the classes that are numbers with a fraction; to learn numbers: BayesianRegression, or --task regression; if each \
number is a class: declare them in a schema, or make strings of them
    """
    if not isinstance(label, float):
        return
    floats = [number for number in (*classes, label) if isinstance(number, float)]
    fractions = [number for number in floats if not number.is_integer()]
    if len(fractions) > MOST_FRACTIONS and not label.is_integer():
        count, kind = len(fractions), "numbers with a fraction"
    elif len(floats) > MOST_FLOATS:
        count, kind = len(floats), "floats"
    else:
        return
    raise BadLabel(
        f"label {label!r}: labels seem to be numbers rather than classes, as it would be number {count} of the classes "
        f"that are {kind}; to learn numbers: BayesianRegression, or --task regression; if each number is a class: "
        "declare them in a schema, or make strings of them"
    )


def check_declared(name: object) -> None:
    """Raise an error for a feature that no schema could declare, which would else be ignored."""
    if not isinstance(name, str):
        raise BadValue(
            f"feature names are str where a schema is declared, not {shown(name)}; rename the feature"
        )


def no_features(x: object) -> BadValue:
    """Return the error for an event that is no dict. Its contents may be secret, and are not shown."""
    many = ""
    if hasattr(x, "shape") or isinstance(x, (list, tuple)):
        many = "; many rows, a data frame or a list of dicts, go to the verbs for many, as learn_many and predict_many"
    return BadValue(f"an event's features come as a dict {{name: value}}, not as {_form(x)}{many}")


def counted(tokens: Sequence[object]) -> dict[str | bytes, int]:
    """Return the count of each token of a list; raise for a list of anything else."""
    counts: dict[str | bytes, int] = {}
    for token in tokens:
        if not isinstance(token, (str, bytes)):
            raise no_features(tokens)
        counts[token] = counts.get(token, 0) + 1
    return counts


def refuse_counter(x: object) -> None:
    """Raise for a `Counter`, which is a bag of words: an absent word is not a missing number."""
    if isinstance(x, Counter):
        raise _bag_of_words("a Counter is one")


def refuse_bag(x: Mapping[object, object], features: Mapping[object, Collection[object]]) -> None:
    """Raise for an event that can only be a bag of words, as River's `BagOfWords` makes it. `x` is an event with names
    that are new. `features` are those before it, none of them declared, and the values of those that are nominal. A
    single name is no bag: it may be the one number that is left of a row.

    Examples
    --------
    >>> words = dict.fromkeys(["free", "money", "now", "lunch", "at", "noon", "today", "offer"], ())
    >>> refuse_bag({"win": 2, "money": 1}, words)
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: bags of words have to go to MultinomialNB, ...
    >>> refuse_bag({"win": 0.5, "money": 1}, words)
    >>> refuse_bag({"win": 2, "money": 1}, {**words, "sky": ["grey"]})
    """
    if len(features) < BAG_NAMES or len(x) < 2 or not _are_counts(x.values()):
        return
    if not all(map(_are_counts, features.values())):
        return
    shared = sum(name in features for name in x)
    if 2 * shared < len(features):
        raise _bag_of_words(
            f"this event lacks {len(features) - shared:,} of {len(features):,} features, brings {len(x) - shared:,} "
            "new ones, and holds nothing but whole numbers of at least 1"
        )


def _are_counts(values: Iterable[object]) -> bool:
    return all(type(value) is int and value >= 1 for value in values)


def _bag_of_words(reason: str) -> BadValue:
    """Return the error for a bag of words in a learner to which an absent number is a missing one."""
    return BadValue(
        "bags of words have to go to MultinomialNB, ComplementNB, BernoulliNB, NaiveBayes or AdaptiveBayes: this "
        f"learner takes a word that is absent for a missing number ({reason}). If these are no words, give every "
        "feature in each event, with 0 where it is absent, or declare the features as Numeric() in a schema"
    )


def no_bag(text: str | bytes) -> BadValue:
    """Return the error for a text in place of a bag of its words."""
    return BadValue(
        f"a bag of words comes as a dict {{token: count}}, not as {_form(text)}; River counts the words of a text: "
        "feature_extraction.BagOfWords() | model"
    )


def _form(x: object) -> str:
    """Return the type and size of an object, and nothing of its contents."""
    shape = getattr(x, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(x).__name__} of shape {shape}"
    return f"{type(x).__name__} of length {len(x)}" if isinstance(x, Sized) else type(x).__name__


def read_number(name: object, value: object, declared: bool) -> float:
    """Return a numeric feature's value as a float, NaN if it is missing."""
    if is_missing(value):
        return float("nan")
    value = _canonical_or_number(name, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        message = f"feature {name!r} is numeric, but got {shown(value)} of type {type(value).__name__}; "
        if declared:
            raise BadValue(
                f"{message}convert it to a number, as schema.read(x) does by the kinds of columns, or leave it out "
                "where it is missing"
            )
        raise KindChanged(f"{message}it began with a number; declare it Nominal in a schema to mix kinds")
    try:
        return float(value)
    except OverflowError:
        raise BadValue(f"feature {name!r}: {value!r} is too large for a float") from None


def _canonical_or_number(name: object, value: object) -> Value:
    """Infinities reach the caller's own check; everything else takes the common path."""
    return value if isinstance(value, float) else canonical(value, feature=name)


def read_nominal(name: object, value: object, numbers: str) -> Value | None:
    """Return a nominal feature's value as a dict key, None if it is missing."""
    if is_missing(value):
        return None
    value = canonical(value, feature=name)
    check_named("feature", name, value, numbers)
    return value


def check_named(what: str, name: object, value: Value, numbers: str) -> None:
    """Raise an error for a number as a nominal feature's value, unless such `numbers` may be values."""
    if may_be_name(value, numbers):
        return
    kind = "takes names, and whole numbers for names" if numbers == WHOLE else "is nominal"
    raise KindChanged(
        f"{what} {shown(name)} {kind}, but got the number {shown(value)}; declare it Nominal in a schema, as "
        f"Schema({{{shown(name)}: Nominal()}}), if numbers are names there"
    )


def may_be_name(value: Value, numbers: str) -> bool:
    """Return True if a nominal feature that accepts such `numbers` may have the value."""
    return numbers == ALL or not is_number(value) or (numbers == WHOLE and value % 1 == 0)


def is_number(value: Value) -> TypeGuard[int | float]:
    """Return True if a value is a number, and no bool."""
    return isinstance(value, (int, float)) and type(value) is not bool


def read_count(token: object, value: object) -> float:
    """Return a token's count as a float, NaN if it is missing."""
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
