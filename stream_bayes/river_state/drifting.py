"""What classifiers that follow a drift hold."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stream_bayes.core.values import JSONValue
from stream_bayes.learners.adaptive import DriftAdaptive, Trial
from stream_bayes.learners.base import BayesClassifier
from stream_bayes.learners.drift_log import DriftLog
from stream_bayes.learners.half_life_choice import HalfLifeChoice
from stream_bayes.river_state.kinds import COUNT, PLAIN, WEIGHT, Kind, Leaf, Listed, Optional
from stream_bayes.river_state.place import Place
from stream_bayes.river_state.registry import OBJECT, OBJECTS, register, restored_object, saved_object

__all__: list[str] = []


def _choice_fits(held: Any) -> bool:
    """A loss for each half-life, and the leader is one of them."""
    members = len(held.half_lives)
    return len(held._losses) == members and held._leader < members and held._since <= held.clock


register(
    HalfLifeChoice,
    {"_members": OBJECTS, "_losses": Listed(WEIGHT), "_leader": COUNT, "_since": COUNT},
    fits=_choice_fits,
)


# -- trials -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate(Kind):
    """A learner like another one, or None."""

    learner: BayesClassifier

    def saved(self, held: Any, place: Place) -> JSONValue:
        return None if held is None else saved_object(held, place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        return None if saved is None else restored_object(self.learner.clone(), saved, place)


class _Trial(Kind):
    """[begun, since, length, events, lost, gain, squares]."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        return Leaf("a trial", _is_trial).saved(list(held), place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        return Trial(*Leaf("a trial", _is_trial).loaded(saved, made, place))


def _is_trial(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 7:
        return False
    counts, sums = value[:4], value[4:]
    return (
        all(type(count) is int and 0 <= count < 2**62 for count in counts)
        and all(type(number) is float and math.isfinite(number) for number in sums)
        and counts[3] < counts[2]
        and 0 < counts[1] <= counts[0]
        and sums[0] >= 0.0
        and sums[2] >= 0.0
    )


class _Log(Kind):
    """The entries of a log, how many there were of each kind, and how long some took: these alone are no events'."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        return {
            "entries": Listed(PLAIN).saved(held.entries, place),
            "counts": dict(held.counts),
            "seconds": [[number, took] for number, took in held.seconds.items()],
        }

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        written, counts, seconds = place.fields(saved, "entries", "counts", "seconds")
        entries = Listed(PLAIN).loaded(written, None, place)
        if not all(map(_is_entry, entries)):
            raise place.wrong("entries of a log", saved)
        if not isinstance(counts, Mapping) or not all(
            type(n) is int and 0 < n < 2**62 for n in counts.values()
        ):
            raise place.wrong("how many entries there were of each kind", counts)
        log = DriftLog(entries)
        if any(counts.get(what, 0) < number for what, number in log.counts.items()):
            raise place.wrong("at least as many entries of each kind as there are", counts)
        took = dict(Listed(Leaf("seconds of an entry", _is_seconds)).loaded(seconds, None, place))
        return DriftLog(entries, counts, took)


def _is_entry(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and all(isinstance(key, str) for key in value)
        and isinstance(value.get("what"), str)
        and all(type(value.get(name)) is int for name in ("event", "number"))
    )


def _is_seconds(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    number, took = value
    return type(number) is int and type(took) is float and 0.0 <= took < math.inf


@dataclass(frozen=True)
class _Recent(Kind):
    """The newest events, at most so many: features, label, weight and signal of each."""

    most: int

    def saved(self, held: Any, place: Place) -> JSONValue:
        return Listed(PLAIN).saved(held, place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        events = Listed(Leaf("an event", _is_event)).loaded(saved, None, place)
        if len(events) > self.most:
            raise place.wrong(f"at most {self.most} events", len(events))
        return deque(events, self.most)


def _is_event(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) != 4:
        return False
    x, _, weight, signal = value
    numbers = all(type(number) is float and math.isfinite(number) for number in (weight, signal))
    return isinstance(x, dict) and numbers and weight > 0.0 and 0.0 <= signal <= 1.0


def _adaptive(held: DriftAdaptive) -> dict[str, Kind]:
    return {
        "_model": OBJECT,
        "_detector": OBJECT,
        "_candidate": _Candidate(held.learner),
        "_trial": Optional(_Trial()),
        "_warned": Optional(COUNT),
        "_recent": _Recent(held.window),
        "_clock": COUNT,
        "generation": COUNT,
        "log": _Log(),
    }


def _adaptive_fits(held: DriftAdaptive) -> bool:
    """A candidate is on trial, and a trial has a candidate."""
    return (held._trial is None) == (held._candidate is None) and (held._warned or 0) <= held._clock


register(DriftAdaptive, _adaptive, fits=_adaptive_fits)
