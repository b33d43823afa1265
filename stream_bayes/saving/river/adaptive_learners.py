"""Codecs of `AdaptiveBayes` and of the inputs of its experts."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.core.values.values import JSONValue
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.adaptive.inputs import LabelMemory, Trends
from stream_bayes.learners.adaptive.sleeping import Sleep
from stream_bayes.saving.river.codecs import COUNT, FINITE, PLAIN, WEIGHT, DequeOf, DictOf, ListOf, ValueCodec
from stream_bayes.saving.river.location import Location
from stream_bayes.saving.river.registry import OBJECT, OBJECTS, register

__all__: list[str] = []


class _Weights(ValueCodec):
    """The weights of a mixture of experts."""

    def encode(self, held: Any, location: Location) -> JSONValue:
        state: JSONValue = held.state()
        return state

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        final, experts, gains, asleep = location.fields(saved, "final", "experts", "gain", "asleep")
        rows = [ListOf(FINITE).decode(row, None, location) for row in location.items(experts)]
        shares = ListOf(WEIGHT).decode(final, None, location)
        gain, sleepers = (
            ListOf(FINITE).decode(gains, None, location),
            ListOf(COUNT).decode(asleep, None, location),
        )
        linear = rows[: len(made.switching)]
        fits = (
            len(shares) == made.mixers == len(rows)
            and all(len(row) == made.experts for row in rows)
            and all(_are_shares(row) for row in (shares, *linear))
            and len(gain) == len(sleepers) == made.groups
            and set(sleepers) <= {0, 1}
            and not all(sleepers)
        )
        if not fits:
            raise location.altered(f"weights of {made.mixers} mixers of {made.experts} experts", saved)
        made.load({"final": shares, "experts": rows, "gain": gain, "asleep": sleepers})
        return made


class _Corrections(ValueCodec):
    """The counts of a recalibration."""

    def encode(self, held: Any, location: Location) -> JSONValue:
        state: JSONValue = held.state()
        return state

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        parts = location.fields(saved, "events", "hits", "trust")
        events, hits, trust = (ListOf(WEIGHT).decode(part, None, location) for part in parts)
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


def _fits(held: Any) -> bool:
    """Return True if all stores have learned the same events, and know the labels."""
    return held._known <= len(held._labels) and len({member.clock for member in held._members}) == 1


def _may_sleep(held: Any) -> bool:
    """Return True if each store has its times, none of them to come."""
    fits = len(held.since) == len(held.length) == held.stores and max(held.since) <= held.clock
    return bool(fits and min(held.length) > 0 and held.square >= 0.0)


register(LabelMemory, {"labels": DequeOf(PLAIN), "repeated": WEIGHT, "changed": WEIGHT}, derived=["names"])
register(
    Trends,
    {"moments": DictOf(ListOf(FINITE))},
    derived=["_left", "_names"],
    fits=lambda held: all(len(moments) == 2 and moments[1] >= 0.0 for moments in held.moments.values()),
)
register(
    Sleep,
    {
        "clock": COUNT,
        "since": ListOf(COUNT),
        "length": ListOf(COUNT),
        "fast": FINITE,
        "slow": FINITE,
        "square": FINITE,
    },
    fits=_may_sleep,
)
register(
    AdaptiveBayes,
    {
        "_members": OBJECTS,
        "_memory": OBJECT,
        "_trends": OBJECT,
        "_mixture": _Weights(),
        "_recalibration": _Corrections(),
        "_sleep": OBJECT,
        "_known": COUNT,
    },
    derived=["schema", "_stores", "_panel", "experts_"],
    parameters={"schema": None},  # each member's state has its own, and is compared
    fits=_fits,
)
