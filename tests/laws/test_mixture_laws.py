"""`AdaptiveBayes` obeys every law that a mixture of experts can: its weights depend on the order of events, so it is
never unlearned, merged or sharded.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from stream_bayes import AdaptiveBayes, NaiveBayes, Schema
from stream_bayes.errors import BadLabel, BadState, BadValue, BadWeight, CannotMerge, StreamBayesError
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.testing import laws_of_errors as bad
from stream_bayes.testing.public_learners import CLOSED
from stream_bayes.testing.sample_streams import FRACTIONAL, WHOLE, LabelledSample, Streams
from tests.builds import ASKS_NO_KERNEL, EVERYTHING

EXTREME = (1e-9, 1e-3, 1.0, 1e9)
SETTINGS: list[dict[str, Any]] = [{}, {"label_memory": 0}, {"schema": CLOSED}]
if not EVERYTHING:
    del SETTINGS[1:]
LABELS = (True, "True", "1", 2, 2.5, b"x", ("a", 1, True), "größe", 10**30, -0.5)


def streams_for(arguments: Mapping[str, Any]) -> Streams:
    schema: Schema | None = arguments.get("schema")
    return Streams(NaiveBayes(schema=schema))


def taught(samples: list[LabelledSample], **arguments: Any) -> AdaptiveBayes:
    model = AdaptiveBayes(**arguments)
    for sample in samples:
        model.learn_one(*sample)
    return model


def held(model: AdaptiveBayes) -> bytes:
    """Return all that a model holds, as bytes."""
    state = dict(model_state(model))
    arrays = {name: np.asarray(array).tobytes().hex() for name, array in state.pop("arrays").items()}
    return json.dumps([state, arrays], sort_keys=True).encode()


def restored(model: AdaptiveBayes, **arguments: Any) -> AdaptiveBayes:
    state = dict(model_state(model))
    arrays = state.pop("arrays")
    loaded: AdaptiveBayes = restore_model(
        AdaptiveBayes(**arguments), {**json.loads(json.dumps(state)), "arrays": arrays}
    )
    return loaded


@ASKS_NO_KERNEL
@pytest.mark.parametrize("arguments", SETTINGS)
def test_predicting_changes_nothing(arguments: dict[str, Any]) -> None:
    streams = streams_for(arguments)
    for model in (AdaptiveBayes(**arguments), taught(streams.samples(30), **arguments)):
        before, twin = held(model), pickle.loads(pickle.dumps(model))
        for probe in streams.probes(6):
            shown = repr(probe)
            for verb in (
                model.predict_one,
                model.predict_proba_one,
                model.predict_interval_one,
                model.explain_one,
            ):
                verb(probe)
            model.hold(probe)
            assert (held(model), repr(probe)) == (before, shown)
        assert (model.weights_, model.asleep_, model.left_out_, model.classes_) is not None
        assert held(model) == before
        for sample in streams.samples(5):
            model.learn_one(*sample)
            twin.learn_one(*sample)
        assert held(model) == held(twin)


@pytest.mark.parametrize("arguments", SETTINGS[:2])
def test_answers_are_probabilities_whatever_was_learned(arguments: dict[str, Any]) -> None:
    streams = streams_for(arguments)
    assert AdaptiveBayes(**arguments).predict_proba_one({}) == {}
    assert AdaptiveBayes(**arguments).predict_one({}) is None
    probes = streams.probes(4)
    probes += [dict.fromkeys(streams.numeric, number) for number in (5.0, 5.0 + 1e-12, -1e6, 1e100)]
    histories = [
        streams.samples(30, WHOLE),
        streams.samples(20, FRACTIONAL),
        streams.samples(20, EXTREME),
        [sample._replace(y="only") for sample in streams.samples(5)],
        [LabelledSample({}, label) for label in streams.labels[:2]],
        [LabelledSample(dict.fromkeys(streams.numeric, 5.0), label) for label in streams.labels[:2] * 3],
        [LabelledSample(dict.fromkeys(streams.numeric, 1e100), label) for label in streams.labels[:2] * 3],
    ]
    for samples in histories:
        model = taught(samples, **arguments)
        for probe in probes:
            answer = model.predict_proba_one(probe)
            assert set(answer) == set(model.classes_)
            assert all(0.0 <= p <= 1.0 for p in answer.values())
            assert sum(answer.values()) == pytest.approx(1.0, abs=1e-12)
            inner = {label: (p, p) for label, p in answer.items()}
            for level in (0.01, 0.95):
                intervals = model.predict_interval_one(probe, level)
                assert intervals.keys() == answer.keys()
                for label, (low, high) in intervals.items():
                    assert 0.0 <= low <= inner[label][0] <= inner[label][1] <= high <= 1.0
                inner = intervals


def test_missing_is_missing_in_all_its_forms() -> None:
    streams = streams_for({})
    samples, names = streams.samples(25), [*streams.nominal, *streams.numeric]
    bare = [
        sample._replace(x={name: v for name, v in sample.x.items() if v is not None and v == v})
        for sample in samples
    ]
    expected = held(taught(bare))
    for form in (None, math.nan, np.float32("nan")):
        filled = [sample._replace(x={**dict.fromkeys(names, form), **sample.x}) for sample in bare]
        model = taught(filled)
        for x in streams.probes(4):
            full = {name: v for name, v in x.items() if v is not None and v == v}
            answers = [
                model.predict_proba_one(each) for each in (full, {**dict.fromkeys(names, form), **full})
            ]
            assert answers[0] == answers[1]
        assert held(model) == expected


def test_many_are_learned_one_by_one_or_not_at_all() -> None:
    streams = streams_for({})
    samples = [*streams.samples(15, (*WHOLE, 0.0)), *streams.extras(6, FRACTIONAL)]
    xs, ys, ws = ([sample[part] for sample in samples] for part in range(3))
    many = AdaptiveBayes()
    many.learn_many(xs, ys, ws)
    assert held(many) == held(taught(samples))
    before = held(many)
    for refused in (
        samples[0]._replace(y=None),
        samples[0]._replace(w=-1.0),
        LabelledSample({"colour": 3.5}, "yes"),
    ):
        rows = [samples[0], refused, samples[1]]
        with pytest.raises(StreamBayesError):
            many.learn_many(*([row[part] for row in rows] for part in range(3)))
        assert held(many) == before


@pytest.mark.parametrize("arguments", SETTINGS[::2])
def test_saving_loses_nothing(arguments: dict[str, Any]) -> None:
    streams = streams_for(arguments)
    samples = [*streams.samples(20), *streams.samples(6, FRACTIONAL)]
    for known in (0, len(samples)):
        model = taught(samples[:known], **arguments)
        copies = [restored(model, **arguments), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
        assert {held(each) for each in copies} == {held(model)}
        for sample in streams.extras(4):
            expected = model.predict_learn_one(*sample)
            assert [each.predict_learn_one(*sample) for each in copies] == [expected] * 3
        assert {held(each) for each in copies} == {held(model)}
        assert {each.clock for each in copies} == {model.clock}


@ASKS_NO_KERNEL
def test_replaying_the_same_events_gives_the_same_bytes() -> None:
    streams = streams_for({})
    model, events = taught(streams.samples(15)), [*streams.samples(15), *streams.extras(10, FRACTIONAL)]
    once, again = pickle.loads(pickle.dumps(model)), restored(model)
    for number, sample in enumerate(events):
        for each in (once, again):
            if number % 3:
                each.learn_one(*sample)
            else:
                each.predict_learn_one(*sample)
    assert held(once) == held(again)


@ASKS_NO_KERNEL
def test_labels_and_values_keep_their_types() -> None:
    model = taught(
        [LabelledSample({"value": value, value: "name"}, value) for value in LABELS if type(value) is str]
    )
    model = taught([LabelledSample({"value": ("a", value)}, value) for value in LABELS])
    for each in (model, restored(model)):
        answers = [list(each.classes_), list(each.predict_proba_one({}))]
        assert [[(type(label), label) for label in one] for one in answers] == [
            [(type(label), label) for label in LABELS]
        ] * 2
    AdaptiveBayes().learn_one({}, 1)
    ones = taught([LabelledSample({}, 1), LabelledSample({}, True), LabelledSample({}, 1.0)])
    assert [type(label) for label in ones.classes_] == [int]
    strings = taught(
        [LabelledSample({"v": value}, str(value)) for value in (True, "True", b"True") for _ in "1234"]
    )
    for value in (True, "True", b"True"):
        assert strings._views({"v": value})["features"] == {"v": value}
    assert strings.predict_one({"v": b"True"}) == "b'True'"


@ASKS_NO_KERNEL
def test_bad_input_changes_nothing() -> None:
    streams = streams_for({})
    samples = streams.samples(20)
    model, untold = taught(samples), taught(samples)
    before, x, y = held(model), {"colour": "red", "size": 1.5}, "yes"
    wrong: list[tuple[LabelledSample, Any]] = [
        (LabelledSample(x, label), BadLabel) for label in bad.BAD_LABELS
    ]
    wrong += [(LabelledSample(x, y, weight), BadWeight) for weight in bad.BAD_WEIGHTS]
    wrong += [
        (LabelledSample({**x, name: value}, y), errors)
        for name, value, errors in bad._bad_values(streams, NaiveBayes())
    ]
    assert len(wrong) > 20
    for sample, errors in wrong:
        verbs: list[Callable[..., Any]] = [model.learn_one, model.predict_learn_one]
        for verb in verbs:
            with pytest.raises(errors):
                verb(*sample)
        assert held(model) == before, sample
    for event in bad.BAD_EVENTS:
        with pytest.raises(BadValue):
            model.learn_one(event, y)
    assert held(model) == before
    for sample in streams.samples(5):
        assert model.predict_learn_one(*sample) == untold.predict_learn_one(*sample)


@ASKS_NO_KERNEL
def test_altered_states_are_refused() -> None:
    model = taught(streams_for({}).samples(12))
    state = model_state(model)
    holds = state["model"]["holds"]
    changed: list[dict[str, Any]] = [
        {**holds, "_known": holds["_known"] + 1},
        {**holds, "_members": holds["_members"][1:]},
        {**holds, "_mixture": {**holds["_mixture"], "asleep": [1] * 13}},
        {**holds, "_mixture": {**holds["_mixture"], "gain": []}},
        {**holds, "_mixture": {name: v for name, v in holds["_mixture"].items() if name != "final"}},
        {**holds, "_recalibration": {**holds["_recalibration"], "hits": [1e9] * 33}},
        {**holds, "_recalibration": {**holds["_recalibration"], "trust": [1.0]}},
        {**holds, "_sleep": None},
        {name: v for name, v in holds.items() if name != "_sleep"},
    ]
    sleep = holds["_sleep"]
    late = {**sleep["holds"], "since": [99] * 12}
    changed.append({**holds, "_sleep": {**sleep, "holds": late}})
    for one in changed:
        with pytest.raises(BadState):
            restore_model(AdaptiveBayes(), {**state, "model": {**state["model"], "holds": one}})
    name = next(iter(state["arrays"]))
    with pytest.raises(BadState):
        restore_model(
            AdaptiveBayes(), {**state, "arrays": {k: v for k, v in state["arrays"].items() if k != name}}
        )
    assert held(restore_model(AdaptiveBayes(), state)) == held(model)


@ASKS_NO_KERNEL
def test_merging_is_refused_by_name_and_changes_nothing() -> None:
    one, other = (taught(streams_for({}).samples(8)) for _ in "12")
    before = held(one)
    for stranger in (other, NaiveBayes(), None):
        with pytest.raises(CannotMerge, match="AdaptiveBayes cannot be merged"):
            one.merge(stranger)
    assert held(one) == before
