"""Codecs of classifiers around a learner: a choice of half-lives, a model per key, and one replaced after drift."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.core.live_networks.family_counts import CountedCells
from stream_bayes.core.live_networks.family_sums import FamilyShape, FamilySums
from stream_bayes.core.values.values import JSONValue
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.candidates import FRESH, GROWN, Basis, SearchTask
from stream_bayes.drift.family_detectors import FamilyWatch
from stream_bayes.drift.log import DriftLog
from stream_bayes.drift.recall import Proposal
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.drift.remembered_families import RememberedFamily, RememberedSums, RememberedTable
from stream_bayes.drift.trial import Trial
from stream_bayes.learners.base.state import loaded_parameter
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.saving.river.codecs import (
    COUNT,
    FLAG,
    PLAIN,
    WEIGHT,
    DictOf,
    ListOf,
    OrNone,
    PayloadCodec,
    ValueCodec,
)
from stream_bayes.saving.river.location import Location
from stream_bayes.saving.river.registry import OBJECT, OBJECTS, decode_object, encode_object, register

__all__: list[str] = []


def _choice_fits(instance: Any) -> bool:
    """Return True if there is a loss for each half-life, and the leader is one of them."""
    members = len(instance.half_lives)
    return (
        len(instance._losses) == members and instance._leader < members and instance._since <= instance.clock
    )


register(
    HalfLifeChoice,
    {"_members": OBJECTS, "_losses": ListOf(WEIGHT), "_leader": COUNT, "_since": COUNT},
    fits=_choice_fits,
)


# -- a model per key --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OfKey(ValueCodec):
    """The learner of a key's own events, as the template makes one."""

    model: ModelPerKey

    def encode(self, value: Any, location: Location) -> JSONValue:
        return encode_object(value, location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        return decode_object(self.model.learner.clone(), saved, location)


register(
    ModelPerKey,
    lambda instance: {"_shared": OBJECT, "_own": DictOf(_OfKey(instance))},
    fits=lambda instance: len(instance._own) <= instance.max_keys,
)


# -- trials -----------------------------------------------------------------------------------------------------------

SEARCHED = ("structure",)  # arguments of learners that a search may have changed


@dataclass(frozen=True)
class _Model(ValueCodec):
    """A learner like the one that the user gave, but for what a search has found."""

    adaptive: DriftAdaptive

    def encode(self, value: Any, location: Location) -> JSONValue:
        return encode_object(value, location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        learner = self.adaptive.learner
        state = saved.get("state") if isinstance(saved, Mapping) else None
        parameters = state.get("parameters") if isinstance(state, Mapping) else None
        if not isinstance(parameters, Mapping):
            raise location.altered("the state of a learner", saved)
        arguments = learner._get_params()
        changes = {
            name: loaded_parameter(parameters[name])
            for name in SEARCHED
            if name in arguments and name in parameters
        }
        return decode_object(learner.clone(changes), saved, location)


@dataclass(frozen=True)
class _Named(ValueCodec):
    """[name, learner] of candidates and retired models."""

    adaptive: DriftAdaptive

    def encode(self, value: Any, location: Location) -> JSONValue:
        return [[name, encode_object(model, location)] for name, model in value]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        pairs = [location.items(pair) for pair in location.items(saved)]
        if not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
            raise location.altered("models by name", saved)
        return [(name, _Model(self.adaptive).decode(model, None, location)) for name, model in pairs]


class _TrialCodec(ValueCodec):
    """[begun, since, caught, length, events, lost, gains, squares, earlier]."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        *rest, gains, squares, earlier = value
        return PayloadCodec("a trial", _is_trial).encode(
            [*rest, list(gains), list(squares), earlier], location
        )

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        *rest, gains, squares, earlier = PayloadCodec("a trial", _is_trial).decode(saved, made, location)
        return Trial._make([*rest, tuple(gains), tuple(squares), earlier])


def _is_trial(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 9:
        return False
    counts, (lost, gains, squares, earlier) = value[:5], value[5:]
    if not isinstance(gains, list) or not isinstance(squares, list) or len(gains) != len(squares):
        return False
    return (
        all(type(count) is int and 0 <= count < 2**62 for count in counts)
        and all(
            type(number) is float and math.isfinite(number) for number in (lost, earlier, *gains, *squares)
        )
        and counts[4] < counts[3]
        and 0 < counts[1] <= counts[0]
        and all(square >= 0.0 for square in squares)
    )


# -- events -----------------------------------------------------------------------------------------------------------


class _Arrays(NamedTuple):
    """Arrays that stand beside the JSON values, as those of a learner do."""

    arrays: Mapping[str, Any]

    def state(self) -> dict[str, Any]:
        return {"arrays": dict(self.arrays)}


def _saved_arrays(arrays: Mapping[str, Any], location: Location) -> JSONValue:
    location.learners.append(({}, _Arrays(arrays)))  # type: ignore[arg-type]  # only its state is used
    return len(location.learners) - 1


def _loaded_arrays(saved: Any, names: Sequence[str], location: Location) -> dict[str, Any]:
    if type(saved) is not int or any(f"{saved}-{name}" not in location.arrays for name in names):
        raise location.altered("the number of arrays", saved)
    location.taken.update(f"{saved}-{name}" for name in names)
    return {name: location.arrays[f"{saved}-{name}"] for name in names}


COLUMNS = ("window_codes", "window_numbers", "window_labels", "window_weights", "window_clocks")


@dataclass(frozen=True)
class _Recent(ValueCodec):
    """The newest events, by the codes of the model that answers."""

    adaptive: DriftAdaptive

    def encode(self, value: Any, location: Location) -> JSONValue:
        return _saved_arrays(value.arrays(), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        arrays = _loaded_arrays(saved, (*COLUMNS, "signals"), location)
        recent = RecentEvents(self.adaptive.model_, self.adaptive._succession.settings.window)
        recent.load(arrays, arrays["signals"])
        return recent


@dataclass(frozen=True)
class _Task(ValueCodec):
    """The input of a search, so that it can be run again."""

    adaptive: DriftAdaptive

    def encode(self, value: Any, location: Location) -> JSONValue:
        basis = value.basis
        return {
            "begun": value.begun,
            "since": value.since,
            "basis": [basis.name, _saved_state(basis.state, location), basis.is_searched, basis.is_whole],
            "events": _saved_arrays(value.events, location),
            "only": PLAIN.encode(list(value.only), location),
        }

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        begun, since, basis, number, only = location.fields(
            saved, "begun", "since", "basis", "events", "only"
        )
        begun, since = COUNT.decode(begun, None, location), COUNT.decode(since, None, location)
        events = _loaded_arrays(number, COLUMNS, location)
        loaded_basis = self._basis(location.items(basis), location)
        search = self.adaptive._succession.settings.search
        return SearchTask(
            begun, since, loaded_basis, events, search, tuple(PLAIN.decode(only, None, location))
        )

    def _basis(self, saved: list[Any], location: Location) -> Basis:
        if (
            len(saved) != 4
            or saved[0] not in (self.adaptive.policy, GROWN, FRESH)
            or not all(type(flag) is bool for flag in saved[2:])
        ):
            raise location.altered("a candidate before it has learned", saved)
        name, state, is_searched, is_whole = saved
        model = _Model(self.adaptive).decode(state, None, location)
        return Basis(name, type(model), model.state(), is_searched, is_whole)


def _saved_state(state: Mapping[str, Any], location: Location) -> JSONValue:
    """Return a learner's state as `encode_object` writes that of a learner."""
    written = {key: value for key, value in state.items() if key != "arrays"}
    return {"class": state["learner"], "state": written, "number": _saved_arrays(state["arrays"], location)}


class _Log(ValueCodec):
    """The entries of a log, how many there were of each kind, and how long some took: these alone are no events'."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return {
            "entries": ListOf(PLAIN).encode(value.entries, location),
            "counts": dict(value.counts),
            "seconds": [[number, took] for number, took in value.seconds.items()],
        }

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        written, counts, seconds = location.fields(saved, "entries", "counts", "seconds")
        entries = ListOf(PLAIN).decode(written, None, location)
        if not all(map(_is_entry, entries)):
            raise location.altered("entries of a log", saved)
        if not isinstance(counts, Mapping) or not all(
            type(n) is int and 0 < n < 2**62 for n in counts.values()
        ):
            raise location.altered("how many entries there were of each kind", counts)
        log = DriftLog(entries)
        if any(counts.get(what, 0) < number for what, number in log.counts.items()):
            raise location.altered("at least as many entries of each kind as there are", counts)
        took = dict(ListOf(PayloadCodec("seconds of an entry", _is_seconds)).decode(seconds, None, location))
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
class _Families(ValueCodec):
    """A detector for each family, and the sums of what they were fed."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        arrays = {"events": value.events, "sums": value.sums, "recent": value.recent}
        return {
            "detectors": [encode_object(detector, location) for detector in value.detectors],
            "sums": _saved_arrays(arrays, location),
        }

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        detectors, number = location.fields(saved, "detectors", "sums")
        watch = FamilyWatch(made.detector)
        watch.reserve(len(location.items(detectors)))
        arrays = _loaded_arrays(number, ("events", "sums", "recent"), location)
        for name, array in arrays.items():
            fresh = getattr(watch, name)
            if array.shape != fresh.shape or array.dtype != fresh.dtype or not (array >= 0).all():
                raise location.altered("a sum for each detector", name)
            setattr(watch, name, array.copy())
        pairs = zip(watch.detectors, detectors, strict=True)
        watch.detectors = [decode_object(detector, one, location) for detector, one in pairs]
        return watch


class _Changes(ValueCodec):
    """The number of tests of families, and for each family the clock after which it is tested."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return PLAIN.encode(value.state(), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        state = PLAIN.decode(saved, None, location)
        if not _is_tested(state):
            raise location.altered("the families that are tested", saved)
        made.load(state)
        return made


def _is_tested(state: object) -> bool:
    if not isinstance(state, list) or len(state) != 2 or not isinstance(state[1], list):
        return False
    counts = [state[0], *(one[2] for one in state[1] if isinstance(one, list) and len(one) == 3)]
    return (
        len(counts) == 1 + len(state[1])
        and all(type(count) is int and 0 <= count < 2**62 for count in counts)
        and all(isinstance(one[1], list) for one in state[1])
    )


class _Memory(ValueCodec):
    """Families as they were before changes, in the order of variables, and those that are judged."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        kept = [family for each in value.families.values() for family in each]
        judged = [one.family for one in value.proposals]
        families = [*kept, *(one for one in judged if not any(one is family for family in kept))]
        return {
            "kept": len(kept),
            "families": [
                _saved_table(one, location)
                if isinstance(one, RememberedTable)
                else _saved_sums(one, location)
                for one in families
            ],
            "proposals": PLAIN.encode(
                [
                    [
                        next(k for k, family in enumerate(families) if family is one.family),
                        one.since,
                        one.rivals,
                        one.events,
                        one.lost,
                        one.gain,
                    ]
                    for one in value.proposals
                ],
                location,
            ),
        }

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        kept, families, proposals = location.fields(saved, "kept", "families", "proposals")
        read = [self._family(one, location) for one in location.items(families)]
        for family in read[: COUNT.decode(kept, None, location)]:
            made.families.setdefault(family.variable, []).append(family)
        if any(len(each) > made.most for each in made.families.values()):
            raise location.altered("as many families of a variable as are remembered", "more")
        judged = PLAIN.decode(proposals, None, location)
        if not isinstance(judged, list) or not all(_is_proposal(one, len(read)) for one in judged):
            raise location.altered("families that are judged", proposals)
        made.proposals = [Proposal(read[number], *rest) for number, *rest in judged]
        return made

    def _family(self, saved: Any, location: Location) -> RememberedFamily:
        if isinstance(saved, Mapping) and "shape" in saved:
            return _loaded_sums(saved, location)
        return _loaded_table(saved, location)


def _saved_table(one: RememberedTable, location: Location) -> JSONValue:
    return {
        "names": PLAIN.encode([list(one.cells.members), [*map(list, one.values)]], location),
        "cells": _saved_arrays(dict(zip(CELLS, one.cells[1:], strict=True)), location),
    }


def _loaded_table(saved: Any, location: Location) -> RememberedTable:
    names, number = location.fields(saved, "names", "cells")
    arrays = _loaded_arrays(number, CELLS, location)
    written = PLAIN.decode(names, None, location)
    if not _is_named(written):
        raise location.altered("the members of a family with their values", names)
    members, values = written
    codes, weights, samples = (arrays[name] for name in CELLS)
    sizes = np.array([len(each) for each in values])
    if (
        codes.dtype != np.int32
        or codes.ndim != 2
        or codes.shape[1] != len(members)
        or not ((codes >= 0) & (codes < sizes)).all()
        or len(np.unique(codes, axis=0)) != len(codes)
        or any(each.dtype != np.float64 or each.shape != codes.shape[:1] for each in (weights, samples))
        or not all((np.isfinite(each) & (each > 0.0)).all() for each in (weights, samples))
    ):
        raise location.altered("cells of a family", saved)
    cells = CountedCells(tuple(members), codes.copy(), weights.copy(), samples.copy())
    return RememberedTable(cells, tuple(map(tuple, values)))


def _saved_sums(one: RememberedSums, location: Location) -> JSONValue:
    shape, state = one.sums.shape, one.sums.store.state()
    cuts = [[parent, list(each)] for parent, each in shape.cuts]
    return {
        "shape": PLAIN.encode(
            [shape.variable, shape.is_number, [*shape.nominal], [*shape.numeric], cuts], location
        ),
        "meta": state["meta"],
        "arrays": [*state["arrays"]],
        "sums": _saved_arrays(state["arrays"], location),
    }


def _loaded_sums(saved: Any, location: Location) -> RememberedSums:
    shape, meta, names, number = location.fields(saved, "shape", "meta", "arrays", "sums")
    written = PLAIN.decode(shape, None, location)
    if not _is_shape(written):
        raise location.altered("a family by its parents", shape)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise location.altered("the names of arrays", names)
    variable, is_number, nominal, numeric, cuts = written
    cut = tuple((parent, tuple(each)) for parent, each in cuts)
    sums = FamilySums(FamilyShape(variable, is_number, tuple(nominal), tuple(numeric), cut))
    sums.store.load({"meta": meta, "arrays": _loaded_arrays(number, names, location)})
    return RememberedSums(sums)


def _is_shape(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 5 or type(value[1]) is not bool:
        return False
    nominal, numeric, cuts = value[2:]
    return (
        all(isinstance(each, list) for each in (nominal, numeric, cuts))
        and all(isinstance(each, list) and len(each) == 2 and _are_cuts(each[1]) for each in cuts)
        and not (numeric if not value[1] else cuts)
    )


def _are_cuts(value: object) -> bool:
    return (
        isinstance(value, list)
        and all(type(cut) is float and math.isfinite(cut) for cut in value)
        and all(low < high for low, high in pairwise(value))
    )


CELLS = ("codes", "weights", "samples")


def _is_named(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, list) for part in value):
        return False
    members, values = value
    return 0 < len(members) == len(values) and all(isinstance(each, list) for each in values)


def _is_proposal(value: object, tables: int) -> bool:
    if not isinstance(value, list) or len(value) != 6:
        return False
    counts, losses = value[:4], value[4:]
    return (
        all(type(count) is int and 0 <= count < 2**62 for count in counts)
        and counts[0] < tables
        and counts[2] > 0
        and all(type(loss) is float and math.isfinite(loss) for loss in losses)
    )


@dataclass(frozen=True)
class _DriftPart(ValueCodec):
    """The attributes of a part that an object of the same configuration has, too.

    They are decoded in order: later ones read earlier ones.
    """

    holds: Mapping[str, ValueCodec]

    def encode(self, value: Any, location: Location) -> JSONValue:
        return {name: kind.encode(vars(value)[name], location.at(name)) for name, kind in self.holds.items()}

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        for (name, kind), value in zip(self.holds.items(), location.fields(saved, *self.holds), strict=True):
            setattr(made, name, kind.decode(value, vars(made)[name], location.at(name)))
        return made


def _adaptive(instance: DriftAdaptive) -> dict[str, ValueCodec]:
    model = _Model(instance)
    succession = {
        "model": model,
        "recent": _Recent(instance),
        "clock": COUNT,
        "generation": COUNT,
        "task": OrNone(_Task(instance)),
        "candidates": _Named(instance),
        "trial": OrNone(_TrialCodec()),
        "retired": _Named(instance),
        "memory": _Memory(),
        "changed_again": OrNone(COUNT),
        "is_renewing": FLAG,
        "since": COUNT,
        "renewals": _DriftPart({"next_search": COUNT, "next_fresh": COUNT, "next": COUNT}),
    }
    watch = {
        "detector": OBJECT,
        "families": OrNone(_Families()),
        "changes": OrNone(_Changes()),
        "fed": COUNT,
        "log": _Log(),
    }
    return {
        "_watch": _DriftPart(watch),
        "_succession": _DriftPart(succession),
        "_warned": OrNone(COUNT),
        "_shadow": OrNone(model),
    }


def _adaptive_fits(instance: DriftAdaptive) -> bool:
    """Return True if candidates have a trial, no search runs meanwhile, and nothing happened later than now."""
    succession, now = instance._succession, instance.clock
    trial, task = succession.trial, succession.task
    tried = len(succession.candidates) if trial is None else len(trial.gains)
    return (
        (instance.signal_ == "family")
        == (instance._watch.families is not None or instance._watch.changes is not None)
        and (trial is None or not trial.gains or tried == len(succession.candidates))
        and (trial is not None or not succession.candidates)
        and (trial is None or task is None)
        and (not succession.is_renewing or trial is not None or task is not None)
        and (trial is None or trial.begun <= now)
        and (task is None or 0 < task.since <= task.begun <= now)
        and (succession.changed_again is None or trial is not None or task is not None)
        and (succession.changed_again or 0) <= now
        and len(succession.retired) <= instance.retired
        and (instance._warned or 0) <= now
        and 0 < succession.since <= now + 1
        and succession.recent.newest <= now
    )


def _search(instance: DriftAdaptive) -> str | None:
    return None if instance.search is None else repr(instance.search)


register(
    DriftAdaptive,
    _adaptive,
    parameters={"search": _search, "signal": lambda instance: instance.signal_},
    fits=_adaptive_fits,
)
