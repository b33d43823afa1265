"""Priors written by hand: tables of the class and of features, each worth a number of samples, as counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple, Self

import numpy as np

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.values.unknown_names import did_you_mean
from stream_bayes.core.values.values import canonical_label, shown
from stream_bayes.errors import BadValue, NotSupported, StreamBayesError, UnknownFeature
from stream_bayes.learners.base.arguments import check_number

__all__ = ["PriorTables"]

TOLERANCE = 1e-6  # of the sum of probabilities, which are often written with seven digits
NUMBER = {"mean", "sd"}

Shares = dict[Any, float]  # of values


class _FeatureTable(NamedTuple):
    """A feature's shares of values by label, and what each row weighs; a number has two values, a deviation below its
    mean and one above it.
    """

    name: Any
    rows: dict[Any, Shares]
    weights: dict[Any, float]
    is_number: bool


class PriorTables:
    """Tables that a classifier begins with: what you expect of the class and of features, before any event.

    `add_prior` counts them as if so many events had shown just these shares, with features independent given the class.
    They have the form in which `class_prior_` and `conditional` answer.

    Parameters
    ----------
    tables
        `{target: {label: probability}}` of the class, by the schema's target (`"class"` without a schema), and for any
        features `{feature: {label: {value: probability}}}`. A number has `{"mean": m, "sd": s}` for each label.
    strengths
        `{name: weight}`, in samples, of tables that shall not count as much as `weight` of `add_prior` says. It is
        spread over the labels as the class is. `{feature: {label: weight}}` weighs the row of each label by itself:
        for names in naive Bayes.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, PriorTables
    >>> expected = PriorTables(
    ...     {
    ...         "class": {"rain": 0.2, "dry": 0.8},
    ...         "sky": {"rain": {"grey": 0.9, "blue": 0.1}, "dry": {"grey": 0.3, "blue": 0.7}},
    ...         "wind": {"rain": {"mean": 8.0, "sd": 3.0}, "dry": {"mean": 4.0, "sd": 2.0}},
    ...     },
    ...     strengths={"wind": 5},
    ... )
    >>> model = NaiveBayes(strength=0).add_prior(expected, weight=50)
    >>> round(model.predict_proba_one({"sky": "grey"})["rain"], 3)  # 0.2 * 0.9 to 0.8 * 0.3
    0.429
    """

    def __init__(
        self, tables: Mapping[Any, Mapping[Any, Any]], strengths: Mapping[Any, Any] | None = None
    ) -> None:
        self.tables = {
            name: _entries(f"the table of {shown(name)}", table)
            for name, table in _entries("tables", tables).items()
        }
        self.strengths = {} if strengths is None else _entries("strengths", strengths)
        for name, strength in self.strengths.items():
            if name not in self.tables:
                tables_there = f"there are those of {shown(list(self.tables))}"
                raise BadValue(
                    f"strengths: there is no table of {shown(name)}{did_you_mean(name, self.tables, tables_there)}"
                )
            for each in strength.values() if isinstance(strength, Mapping) else [strength]:
                check_number(f"strengths[{shown(name)}]", each, above=True)

    @classmethod
    def from_json(cls, saved: object) -> Self:
        """Return the tables of a JSON object `{"tables": {...}, "strengths": {...}}`; labels and values are texts."""
        if not isinstance(saved, Mapping) or not {"tables"} <= saved.keys() <= {"tables", "strengths"}:
            raise BadValue(
                'expected an object {"tables": {...}, "strengths": {...}}, with or without strengths'
            )
        return cls(saved["tables"], saved.get("strengths"))

    def fill(self, store: CountStore, target: str, weight: float) -> None:
        """Count the tables in an empty store without fading, that of the class with `weight` samples.

        Raises
        ------
        BadValue
            If something is no table, or of the other kind of feature.
        UnknownFeature
            If a feature is not among those declared.
        NotSupported
            If the store counts other things than values by class, and with one another.
        """
        encoder = store.encoder
        if not isinstance(encoder, RowEncoder) or store.tables.co_moments is not None:
            raise _counts_more()
        shares = self._shares_of_class(target)
        weights = {label: self.strengths.get(target, weight) * share for label, share in shares.items()}
        features = [self._feature_table(name, shares, weight) for name in self.tables if name != target]
        for feature in features:
            self._check_strength(feature, store)
        encoder.refuses_bags = False  # an event with a single feature is none here
        names = [feature for feature in features if not feature.is_number]
        # Pairs and triples are counted first, together. The values in them are then cleared, and counted by themselves.
        for size in range(store.order, 0, -1):
            for chosen in combinations(names if size > 1 else features, size):
                for label in shares:
                    _learn_together(store, chosen, label)
            if size > 1:
                _clear_below(store, size)
        if store.tables.families is not None:
            raise _counts_more()
        _weigh_classes(store, weights)

    def _shares_of_class(self, target: str) -> Shares:
        if target not in self.tables:
            raise BadValue(
                f"there is no table of {shown(target)}, the class, beside those of {shown(list(self.tables))}: give "
                f"{{{target!r}: {{label: probability}}, ...}}"
            )
        if isinstance(self.strengths.get(target), Mapping):
            raise BadValue(f"strengths[{shown(target)}]: that of the class is one number")
        shares = _checked_shares(f"the table of {shown(target)}", self.tables[target])
        return {canonical_label(label): share for label, share in shares.items() if share > 0.0}

    def _feature_table(self, name: Any, shares: Shares, weight: float) -> _FeatureTable:
        rows, is_number = {}, set()
        for label, row in self.tables[name].items():
            what = f"the table of {shown(name)}, {shown(label)}"
            entries = _entries(what, row)
            is_number.add(entries.keys() == NUMBER)
            check = _two_numbers if entries.keys() == NUMBER else _checked_shares
            rows[canonical_label(label)] = check(what, entries)
        if rows.keys() != shares.keys() or len(is_number) > 1:
            raise BadValue(
                f"the table of {shown(name)} needs a row for each label, {shown(list(shares))}, all of names or all of "
                f"mean and sd; it has the rows {shown(self.tables[name])}"
            )
        strength = self.strengths.get(name, weight)
        is_by_label = isinstance(strength, Mapping)
        by_label = strength if is_by_label else {label: strength * share for label, share in shares.items()}
        weights = {canonical_label(label): float(each) for label, each in by_label.items()}
        if weights.keys() != shares.keys():
            raise BadValue(
                f"strengths[{shown(name)}]: expected one number, or one for each label, {shown(list(shares))}, got "
                f"{shown(strength)}"
            )
        return _FeatureTable(name, rows, weights, is_number == {True})

    def _check_strength(self, feature: _FeatureTable, store: CountStore) -> None:
        if feature.is_number and store.encoder.bins is not None:
            raise NotSupported(
                f"{shown(feature.name)}: numbers are counted in bins here, which have no mean and sd; leave the table "
                "out, or take another model as the prior"
            )
        if isinstance(self.strengths.get(feature.name), Mapping) and (feature.is_number or store.order > 1):
            # How many events of a class have a number is evidence, and P(class, value) is read from the counts.
            raise NotSupported(
                f"strengths[{shown(feature.name)}]: weights by label are for names in NaiveBayes; here they would "
                "change how probable the labels are. Give one number"
            )


def _counts_more() -> NotSupported:
    """Return the error of a store that counts other things than values by class, and with one another."""
    return NotSupported(
        "prior tables are for NaiveBayes, GaussianNB, SPODE, AODE, A2DE, ODE and TAN; others that merge take another "
        "model as their prior"
    )


def _entries(what: str, entries: object) -> dict[Any, Any]:
    if not isinstance(entries, Mapping) or not entries:
        raise BadValue(f"{what}: expected a dict that is not empty, got {shown(entries)}")
    return dict(entries)


def _checked_shares(what: str, entries: Mapping[Any, Any]) -> Shares:
    """Return probabilities that sum to 1."""
    for value, share in entries.items():
        check_number(f"{what}, {shown(value)}", share)
    total = math.fsum(entries.values())
    if not abs(total - 1.0) <= TOLERANCE:
        raise BadValue(f"{what} sums to {total!r}, not to 1")
    return {value: share / total for value, share in entries.items()}


def _two_numbers(what: str, entries: Mapping[Any, Any]) -> Shares:
    """Return two numbers of this mean and deviation."""
    mean, deviation = entries["mean"], entries["sd"]
    check_number(f"{what}, sd", deviation, above=True)
    check_number(f"{what}, mean", abs(mean) if isinstance(mean, (int, float)) else mean)
    low, high = mean - deviation, mean + deviation
    if not low < high:
        raise BadValue(f"{what}: the sd {deviation!r} is lost beside the mean {mean!r}")
    return {low: 0.5, high: 0.5}


def _learn_together(store: CountStore, features: Sequence[_FeatureTable], label: Any) -> None:
    """Learn all values of features, as if they were independent given a label."""
    weight = min(feature.weights[label] for feature in features)
    numbers = sum(feature.is_number for feature in features)
    for values in product(*(feature.rows[label].items() for feature in features)):
        share = math.prod(share for _, share in values)
        if share > 0.0:
            x = {feature.name: value for feature, (value, _) in zip(features, values, strict=True)}
            row = store.encode(x, label, weight * share)
            if (row.numbers, row.entries) != (numbers, len(features) - numbers):
                raise _not_counted(store, features)
            store.add(row)


def _not_counted(store: CountStore, features: Sequence[_FeatureTable]) -> StreamBayesError:
    """Return the error of features that are not counted as their tables say."""
    declared = store.encoder.features
    for feature in features:
        entry, name = declared.get(feature.name), shown(feature.name)
        if entry is None:
            return UnknownFeature(
                f"the prior has the feature {name}, and the features declared are {shown(list(declared))}"
            )
        if entry.measured != feature.is_number:
            has, needs = ("mean and sd", "names") if feature.is_number else ("names", "mean and sd")
            return BadValue(
                f"the table of {name} has {has}, and it is {'numeric' if entry.measured else 'nominal'} here: give "
                f"{needs}, or declare it in a schema"
            )
    return BadValue(f"the table of {shown(features[0].name)} has missing values, which are never counted")


def _clear_below(store: CountStore, order: int) -> None:
    """Clear the counts of fewer values than `order` together."""
    tables = store.tables
    every = np.ones(tables.values.layout.features, bool)
    tables.values.clear(every)
    if order > 2 and tables.pairs is not None:
        tables.pairs.clear(every)


def _weigh_classes(store: CountStore, weights: Mapping[Any, float]) -> None:
    """Set the weight of each class, whatever the features counted."""
    encoder, tables = store.encoder, store.tables
    for label in weights:
        encoder.name_label(label)
    store.make_room(whole=False)
    tables.leave_exact()
    for label, weight in weights.items():
        code = encoder.labels.find(label)
        tables.class_weight[code], tables.class_samples[code] = weight, 1.0
    np.asarray(tables.class_peak)[:] = 0.0
    tables.raise_peaks()
    tables.mend()
