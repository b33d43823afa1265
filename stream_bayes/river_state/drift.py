"""What classifiers that follow a drift hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.values.values import JSONValue
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.candidates import POLICIES, Basis, SearchTask
from stream_bayes.drift.families import FamilyWatch
from stream_bayes.drift.log import DriftLog
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.drift.trial import Trial
from stream_bayes.learners.classifier.state import loaded_parameter
from stream_bayes.learners.half_life_choice import HalfLifeChoice
from stream_bayes.river_state.codecs import COUNT, PLAIN, WEIGHT, Kind, Leaf, Listed, Optional
from stream_bayes.river_state.location import Place
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

SEARCHED = ("k", "structure")  # arguments of learners that a search may have changed


@dataclass(frozen=True)
class _Model(Kind):
    """A learner like the one that the user gave, but for what a search has found."""

    held: DriftAdaptive

    def saved(self, held: Any, place: Place) -> JSONValue:
        return saved_object(held, place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        learner = self.held.learner
        state = saved.get("state") if isinstance(saved, Mapping) else None
        told = state.get("parameters") if isinstance(state, Mapping) else None
        if not isinstance(told, Mapping):
            raise place.wrong("the state of a learner", saved)
        own = learner._get_params()
        given = {name: loaded_parameter(told[name]) for name in SEARCHED if name in own and name in told}
        return restored_object(learner.clone(given), saved, place)


@dataclass(frozen=True)
class _Named(Kind):
    """[name, learner] of candidates and retired models."""

    held: DriftAdaptive

    def saved(self, held: Any, place: Place) -> JSONValue:
        return [[name, saved_object(model, place)] for name, model in held]

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        pairs = [place.items(pair) for pair in place.items(saved)]
        if not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
            raise place.wrong("models by name", saved)
        return [(name, _Model(self.held).loaded(model, None, place)) for name, model in pairs]


class _Trial(Kind):
    """[begun, since, rung, caught, length, events, lost, gains, squares]."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        *rest, gains, squares = held
        return Leaf("a trial", _is_trial).saved([*rest, list(gains), list(squares)], place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        *rest, gains, squares = Leaf("a trial", _is_trial).loaded(saved, made, place)
        return Trial._make([*rest, tuple(gains), tuple(squares)])


def _is_trial(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 9:
        return False
    counts, lost, gains, squares = value[:6], value[6], value[7], value[8]
    if not isinstance(gains, list) or not isinstance(squares, list) or len(gains) != len(squares):
        return False
    return (
        all(type(count) is int and 0 <= count < 2**62 for count in counts)
        and all(type(number) is float and math.isfinite(number) for number in (lost, *gains, *squares))
        and counts[5] < counts[4]
        and 0 < counts[1] <= counts[0]
        and lost >= 0.0
        and all(square >= 0.0 for square in squares)
    )


# -- events -----------------------------------------------------------------------------------------------------------


class _Arrays(NamedTuple):
    """Arrays that stand beside the JSON values, as those of a learner do."""

    arrays: Mapping[str, Any]

    def state(self) -> dict[str, Any]:
        return {"arrays": dict(self.arrays)}


def _saved_arrays(arrays: Mapping[str, Any], place: Place) -> JSONValue:
    place.learners.append(({}, _Arrays(arrays)))  # type: ignore[arg-type]  # it has a state, which is all that is asked
    return len(place.learners) - 1


def _loaded_arrays(saved: Any, names: Sequence[str], place: Place) -> dict[str, Any]:
    if type(saved) is not int or any(f"{saved}-{name}" not in place.arrays for name in names):
        raise place.wrong("the number of arrays", saved)
    place.taken.update(f"{saved}-{name}" for name in names)
    return {name: place.arrays[f"{saved}-{name}"] for name in names}


COLUMNS = ("window_codes", "window_numbers", "window_labels", "window_weights", "window_clocks")


@dataclass(frozen=True)
class _Recent(Kind):
    """The newest events, by the codes of the model that answers."""

    held: DriftAdaptive

    def saved(self, held: Any, place: Place) -> JSONValue:
        return _saved_arrays(held.arrays(), place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        arrays = _loaded_arrays(saved, (*COLUMNS, "signals"), place)
        recent = RecentEvents(self.held.model_, self.held.window)
        recent.load(arrays, arrays["signals"])
        return recent


@dataclass(frozen=True)
class _Task(Kind):
    """What a search is made of, so that it can be run again."""

    held: DriftAdaptive

    def saved(self, held: Any, place: Place) -> JSONValue:
        bases = [
            [basis.name, _saved_state(basis.state, place), basis.max_parents, basis.whole]
            for basis in held.bases
        ]
        return {
            "begun": held.begun,
            "since": held.since,
            "bases": bases,
            "events": _saved_arrays(held.events, place),
            "only": PLAIN.saved(list(held.only), place),
        }

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        begun, since, bases, number, only = place.fields(saved, "begun", "since", "bases", "events", "only")
        begun, since = COUNT.loaded(begun, None, place), COUNT.loaded(since, None, place)
        events = _loaded_arrays(number, COLUMNS, place)
        search = HillClimbing() if self.held.search is None else self.held.search
        known = [self._basis(place.items(basis), place) for basis in place.items(bases)]
        return SearchTask(begun, since, tuple(known), events, search, tuple(PLAIN.loaded(only, None, place)))

    def _basis(self, saved: list[Any], place: Place) -> Basis:
        if len(saved) != 4 or not isinstance(saved[0], str) or type(saved[3]) is not bool:
            raise place.wrong("how a candidate begins", saved)
        name, state, most, whole = saved
        if most is not None and (type(most) is not int or not -1 <= most < 2**31):
            raise place.wrong("a number of parents", most)
        model = _Model(self.held).loaded(state, None, place)
        return Basis(name, type(model), model.state(), most, whole)


def _saved_state(state: Mapping[str, Any], place: Place) -> JSONValue:
    """The state of a learner, as `saved_object` writes that of one that is there."""
    written = {key: value for key, value in state.items() if key != "arrays"}
    return {"class": state["learner"], "state": written, "number": _saved_arrays(state["arrays"], place)}


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
class _Families(Kind):
    """A detector for each family, and the sums of what they were fed."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        arrays = {"events": held.events, "sums": held.sums, "recent": held.recent}
        return {
            "detectors": [saved_object(detector, place) for detector in held.detectors],
            "sums": _saved_arrays(arrays, place),
        }

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        detectors, number = place.fields(saved, "detectors", "sums")
        watch = FamilyWatch(made.detector)
        watch.reserve(len(place.items(detectors)))
        arrays = _loaded_arrays(number, ("events", "sums", "recent"), place)
        for name, array in arrays.items():
            fresh = getattr(watch, name)
            if array.shape != fresh.shape or array.dtype != fresh.dtype or not (array >= 0).all():
                raise place.wrong("a sum for each detector", name)
            setattr(watch, name, array.copy())
        pairs = zip(watch.detectors, detectors, strict=True)
        watch.detectors = [restored_object(detector, one, place) for detector, one in pairs]
        return watch


def _adaptive(held: DriftAdaptive) -> dict[str, Kind]:
    model = _Model(held)
    return {
        "_model": model,
        "_detector": OBJECT,
        "_families": Optional(_Families()),
        "_fed": COUNT,
        "_warned": Optional(COUNT),
        "_shadow": Optional(model),
        "_recent": _Recent(held),
        "_task": Optional(_Task(held)),
        "_rung": COUNT,
        "_candidates": _Named(held),
        "_trial": Optional(_Trial()),
        "_again": Optional(COUNT),
        "_retired": _Named(held),
        "_clock": COUNT,
        "generation": COUNT,
        "log": _Log(),
    }


def _adaptive_fits(held: DriftAdaptive) -> bool:
    """What is on trial has a trial, no search runs meanwhile, and nothing happened later than now."""
    trial, rungs = held._trial, len(POLICIES[held.policy])
    tried = len(held._candidates) if trial is None else len(trial.gains)
    return (
        (held.signal_ == "family") == (held._families is not None)
        and (trial is None or not trial.gains or tried == len(held._candidates))
        and (trial is not None or not held._candidates)
        and (trial is None or held._task is None)
        and (trial is None or (trial.begun <= held._clock and trial.rung < rungs))
        and (held._task is None or 0 < held._task.since <= held._task.begun <= held._clock)
        and (held._again is None or held._trial is not None or held._task is not None)
        and (held._again or 0) <= held._clock
        and held._rung < rungs
        and len(held._retired) <= held.retired
        and (held._warned or 0) <= held._clock
        and held._recent.newest <= held._clock
    )


def _search(held: DriftAdaptive) -> str | None:
    return None if held.search is None else repr(held.search)


register(
    DriftAdaptive,
    _adaptive,
    derived=["_beside", "_running", "_binary", "_can_warn", "_signal"],
    parameters={"search": _search, "signal": lambda held: held.signal_},
    fits=_adaptive_fits,
)
