"""Codecs of `AdaptiveBayes` and of the inputs of its experts."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.core.values.values import JSONValue
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.adaptive._newest_events import MOST_EVENTS
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.adaptive.expert_inputs import LabelMemory, Trends
from stream_bayes.learners.adaptive.experts import confine
from stream_bayes.learners.adaptive.sleeping_experts import Sleep
from stream_bayes.saving.river.codecs import (
    COUNT,
    FINITE,
    PLAIN,
    WEIGHT,
    DequeOf,
    DictOf,
    ListOf,
    OrNone,
    ValueCodec,
)
from stream_bayes.saving.river.location import Location
from stream_bayes.saving.river.registry import OBJECT, register

__all__: list[str] = []


class _Weights(ValueCodec):
    """The weights of a mixture of experts."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return value.state()

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        final, experts, covariance, gains, asleep = location.fields(
            saved, "final", "experts", "covariance", "gain", "asleep"
        )
        rows = [ListOf(FINITE).decode(row, None, location) for row in location.items(experts)]
        shares = ListOf(WEIGHT).decode(final, None, location)
        gain, sleepers = (
            ListOf(FINITE).decode(gains, None, location),
            ListOf(COUNT).decode(asleep, None, location),
        )
        linear = rows[: len(made.switching)]
        square = ListOf(ListOf(ListOf(FINITE))).decode(covariance, None, location)
        fits = (
            len(shares) == made.mixers == len(rows)
            and all(len(row) == made.experts for row in rows)
            and all(_are_shares(row) for row in (shares, *linear))
            and all(_is_covariance(one, made.experts) for one in square)
            and len(square) == len(made.walks)
            and len(gain) == len(sleepers) == made.groups
            and set(sleepers) <= {0, 1}
            and not all(sleepers)
        )
        if not fits:
            raise location.altered(f"weights of {made.mixers} mixers of {made.experts} experts", saved)
        made.load({"final": shares, "experts": rows, "covariance": square, "gain": gain, "asleep": sleepers})
        return made


class _Corrections(ValueCodec):
    """The counts of a recalibration."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return value.state()

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        parts = location.fields(saved, "events", "hits", "trust")
        events, hits, trust = (
            ListOf(WEIGHT).decode(saved_numbers, None, location) for saved_numbers in parts
        )
        fits = (
            len(events) == len(hits) == len(made.events)
            and min(events) > 0.0
            and all(0.0 < hit <= event for hit, event in zip(hits, events, strict=True))
            and len(trust) == 2
            and _are_shares(trust)
        )
        if not fits:
            raise location.altered(f"counts of {len(made.events)} knots", saved)
        made.load({"events": events, "hits": hits, "trust": trust})
        return made


def _are_shares(weights: list[float]) -> bool:
    """Return True if weights are positive and add up to 1."""
    return min(weights) > 0.0 and bool(np.isclose(sum(weights), 1.0, rtol=0.0, atol=1e-6))


def _is_covariance(rows: list[list[float]], size: int) -> bool:
    """Return True for a symmetric matrix of that size without a variance below 0."""
    if len(rows) != size or any(len(row) != size for row in rows):
        return False
    matrix = np.array(rows)
    return bool(np.array_equal(matrix, matrix.T)) and bool(np.diagonal(matrix).min() >= 0.0)


class _Names(ListOf):
    """Names of features, each once."""

    def __init__(self) -> None:
        super().__init__(PLAIN)

    def encode(self, value: Any, location: Location) -> JSONValue:
        return super().encode(list(value), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        names = super().decode(saved, made, location)
        try:
            is_set = len(set(names)) == len(names)
        except TypeError as error:
            raise location.altered("names", saved) from error
        if not is_set:
            raise location.altered("names that differ", saved)
        return dict.fromkeys(names) if isinstance(made, dict) else names


class _Members(ListOf):
    """The learners of the stores, each with the features that it uses."""

    def __init__(self, instance: AdaptiveBayes) -> None:
        super().__init__(OBJECT)
        self.model = instance

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        stores, names = self.model._stores, self.model._names
        if not len(location.items(saved)) == len(made) == len(names):
            raise location.altered(f"{len(made)} learners", saved)
        loaded = []
        for store, used, one, state in zip(stores, names, made, saved, strict=True):
            shown = None if used is None else [name for each in used for name in store.names_of(each)]
            try:
                like = one if shown is None else store.learner(shown)
            except StreamBayesError as error:
                raise location.altered("names that a learner can use", used) from error
            loaded.append(self.kind.decode(state, like, location))
            confine(loaded[-1], shown)
        return loaded


class _Moments(ValueCodec):
    """The fading means and variances of numbers, by their names."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return _MOMENTS.encode(value.by_name(), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        moments = _MOMENTS.decode(saved, {}, location)
        if not all(len(pair) == 2 and pair[1] >= 0.0 for pair in moments.values()):
            raise location.altered("a mean and a variance of each number", saved)
        made.load(moments)
        return made


_MOMENTS = DictOf(ListOf(FINITE))


class _Events(ValueCodec):
    """The newest events, as codes."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return [list(event) for event in value.events]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        events = location.items(saved)
        if len(events) > MOST_EVENTS:
            raise location.altered(f"at most {MOST_EVENTS} events", f"{len(events)}")
        counts, loaded = ListOf(COUNT), []
        for event in events:
            if len(location.items(event)) != 6:
                raise location.altered("the parts of an event", event)
            label, weight, features, codes, slots, numbers = event
            parts = (
                COUNT.decode(label, None, location),
                float(WEIGHT.decode(weight, None, location)),
                *(counts.decode(saved_codes, None, location) for saved_codes in (features, codes, slots)),
                [float(number) for number in ListOf(FINITE).decode(numbers, None, location)],
            )
            if len(features) != len(codes) or len(slots) != len(numbers):
                raise location.altered("an event that is whole", event)
            loaded.append(parts)
        made.load(loaded)
        return made


def _are_codes(instance: Any) -> bool:
    """Return True if the newest events are codes of the first store."""
    encoder = instance.store.encoder
    return all(
        label < len(encoder.labels)
        and all(
            slot < len(encoder.nominal) and code < len(encoder.nominal[slot].vocabulary)
            for slot, code in zip(features, codes, strict=True)
        )
        and all(slot < len(encoder.numeric) for slot in slots)
        for label, _, features, codes, slots, _ in instance._newest.events
    )


def _fits(instance: Any) -> bool:
    """Return True if all stores have learned the same events, and know the labels."""
    return (
        instance._known <= len(instance._labels)
        and len({member.clock for member in instance._members}) == 1
        and len(instance._newest) <= instance.clock
        and set(instance._due) | set(instance._moved) <= set(range(1, len(instance._members)))
        and _are_codes(instance)
    )


def _declared(instance: AdaptiveBayes) -> dict[str, Any] | None:
    """Return the schema as plain values. Those of the stores may be of fewer features, those that have room."""
    return None if instance.schema is None else instance.schema.to_json()


def _may_sleep(sleep: Any) -> bool:
    """Return True if each store has its times, none of them to come."""
    fits = (
        len(sleep.since) == len(sleep.length) == sleep.stores
        and max(*sleep.since, sleep.alarm) <= sleep.clock
    )
    return bool(fits and min(sleep.length) > 0 and sleep.square >= 0.0)


register(
    LabelMemory, {"labels": DequeOf(PLAIN), "repeated": WEIGHT, "changed": WEIGHT}, derived=["names", "mark"]
)
register(Trends, {"moments": _Moments()})
register(
    Sleep,
    {
        "clock": COUNT,
        "since": ListOf(COUNT),
        "length": ListOf(COUNT),
        "alarm": COUNT,
        "fast": FINITE,
        "slow": FINITE,
        "square": FINITE,
    },
    fits=_may_sleep,
)
register(
    AdaptiveBayes,
    lambda instance: {
        "_names": ListOf(OrNone(_Names())),
        "_paired": _Names(),
        "_dropped": _Names(),
        "_best": _Names(),
        "_due": ListOf(COUNT),
        "_moved": ListOf(COUNT),
        "_members": _Members(instance),
        "_newest": _Events(),
        "_memory": OBJECT,
        "_trends": OBJECT,
        "_mixture": _Weights(),
        "_recalibration": _Corrections(),
        "_sleep": OBJECT,
        "_known": COUNT,
    },
    derived=["schema", "_stores", "_panel", "_loop", "experts_"],
    parameters={"schema": _declared},
    fits=_fits,
)
