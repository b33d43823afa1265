"""SPODE: one super-parent, named, or chosen live by what its predictions lost."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes import AODE, SPODE, NaiveBayes
from stream_bayes.errors import (
    CannotMerge,
)
from stream_bayes.testing.assertions import same_bytes
from tests.learners.biased_events import biased_events
from tests.learners.training import trained
from tests.oracles.aode import SpodeOracle


def test_a_named_super_parent_that_is_not_met_yet_leaves_naive_bayes_and_answers_once_it_is():
    model, plain = SPODE(parent="late"), NaiveBayes(prior="m-estimate")
    for x, y in biased_events(30, 20):
        assert model.parent_ is None
        assert model.predict_learn_one(x, y) == plain.predict_learn_one(x, y)
    model.learn_one({"late": "x", "a": "x"}, "u")
    assert model.parent_ == "late"
    plain.learn_one({"late": "x", "a": "x"}, "u")
    assert model.predict_proba_one({"a": "x"}) == plain.predict_proba_one({"a": "x"})
    assert model.predict_proba_one({"a": "x", "late": "x"}) != plain.predict_proba_one(
        {"a": "x", "late": "x"}
    )


def test_a_named_super_parent_is_found_again_after_merging_and_loading():
    empty, full = SPODE(parent="b"), trained(SPODE(parent="b"), biased_events(31, 30))
    x = {"a": "x", "b": "y", "c": "z"}
    assert empty.parent_ is None
    merged = empty + full
    assert merged.parent_ == "b"
    assert merged.predict_proba_one(x) == pytest.approx(full.predict_proba_one(x), abs=1e-15)
    assert pickle.loads(pickle.dumps(full)).predict_proba_one(x) == full.predict_proba_one(x)


def test_super_parents_of_other_names_do_not_merge():
    with pytest.raises(CannotMerge, match="parent"):
        SPODE(parent="a").merge(SPODE(parent="b"))


class LiveSuperParent:
    """The choice by fading loss, of dictionaries: every super-parent predicts each event before it is learned."""

    def __init__(self, half_life: float | None, **arguments: Any) -> None:
        self.decay = 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
        self.oracle = SpodeOracle(parent="", min_count=1.0, **arguments)
        self.naive = 0.0
        self.losses: dict[str, float] = {}
        self.candidates: list[str] = []

    def probabilities(self, parent: str, x: dict[str, Any]) -> dict[Any, float]:
        self.oracle.parent = parent
        return self.oracle.probabilities(x)

    def learn(self, x: dict[str, Any], y: Any, w: float) -> None:
        if self.oracle.events:
            plain = self.loss("", x, y)
            # What this event brings for the first time is not chosen yet.
            self.candidates = list(self.losses)
            for name in x:
                # Until it was met, a feature was missing, and naive Bayes answered.
                self.losses.setdefault(name, self.naive)
            for name, loss in self.losses.items():
                self.losses[name] = loss * self.decay + w * self.loss(name, x, y)
            self.naive = self.naive * self.decay + w * plain
        self.oracle.learn(x, y, w)
        for name in x:
            self.losses.setdefault(name, 0.0)

    def loss(self, parent: str, x: dict[str, Any], y: Any) -> float:
        return -math.log(max(self.probabilities(parent, x).get(y, 0.0), 1e-12))


gappy = st.fixed_dictionaries({}, optional={name: st.sampled_from("xy") for name in "abc"})
complete = st.fixed_dictionaries({name: st.sampled_from("xy") for name in "abc"})


@settings(max_examples=50 if stream_bayes.compiled else 10)
@given(
    st.one_of(
        *(
            st.lists(
                st.tuples(rows, st.sampled_from("uvw"), st.sampled_from([1.0, 1.0, 2.0])),
                min_size=2,
                max_size=18,
            )
            for rows in (gappy, complete)
        )
    ),
    st.sampled_from([None, 3.0, 20.0]),
    st.sampled_from(["m-estimate", "laplace"]),
    st.sampled_from([1.0, 0.5, 0.0]),
)
def test_a_live_super_parent_is_the_one_with_the_least_fading_loss(stream, loss_half_life, prior, strength):
    model = SPODE(loss_half_life=loss_half_life, prior=prior, strength=strength)
    live = LiveSuperParent(loss_half_life, prior=prior, strength=strength)
    for x, y, w in stream:
        answer = model.predict_proba_one(x)
        expected = live.probabilities(model.parent_ or "", x)
        assert answer == pytest.approx(expected, abs=1e-12)
        assert model.predict_learn_one(x, y, w) == answer
        live.learn(x, y, w)
        assert (model.parent_ is None) == (not live.candidates)
        if model.parent_ is not None:
            least = min(live.losses[name] for name in live.candidates)
            assert live.losses[model.parent_] <= least + 1e-9


@settings(max_examples=25 if stream_bayes.compiled else 5)
@given(
    st.lists(st.tuples(complete, st.sampled_from("uuuuv")), min_size=2, max_size=18),
    st.sampled_from(["uniform", {"u": 0.125, "v": 0.875}]),
)
def test_a_live_choice_is_by_what_the_learner_would_answer_under_its_own_prior(stream, class_prior):
    model = SPODE(class_prior=class_prior, loss_half_life=None)
    alone = {name: SPODE(parent=name, class_prior=class_prior) for name in "abc"}
    losses = dict.fromkeys("abc", 0.0)
    for number, (x, y) in enumerate(stream):
        for name, one in alone.items():
            answer = one.predict_learn_one(x, y)
            losses[name] -= math.log(max(answer.get(y, 0.0), 1e-12)) if number else 0.0
        model.learn_one(x, y)
        if number:
            assert losses[model.parent_] <= min(losses.values()) + 1e-9


@pytest.mark.parametrize("copied", [False, True])
def test_a_feature_met_late_has_lost_what_naive_bayes_lost_till_then(copied):
    source, model, plain = random.Random(40), SPODE(loss_half_life=None), NaiveBayes(prior="m-estimate")
    lost = 0.0
    for number in range(60):
        a, b = source.choice("xy"), source.choice("xy")
        x, y = {"a": a, "b": b} | ({"late": a} if number == 59 else {}), a == b
        if number == 40 and copied:
            model = SPODE.from_state(model.state())
        answer = plain.predict_learn_one(x, y)
        lost -= math.log(max(answer.get(y, 0.0), 1e-12)) if number else 0.0
        model.learn_one(x, y)
    slot = model.store.encoder.features["late"].slot
    assert model.reading.loss[slot] == pytest.approx(lost, rel=1e-12)
    assert model.parent_ in ("a", "b")  # which lost less, as only a pair of values tells the class


def test_losses_over_hundreds_of_features_are_those_of_the_named_super_parents():
    features = 300 if stream_bayes.compiled else 90
    weights = [2.0**30, 1.0, 2.0**31, 2.0**20, 1.0, 3.0]
    stream = [
        ({f"f{i:03}": f"v{number % (2 + i % 3)}" for i in range(features)}, "uvw"[number % 3])
        for number in range(len(weights))
    ]
    model = SPODE(loss_half_life=None, min_count=1)
    chosen = [f"f{i:03}" for i in range(0, features, 29)]
    alone = {name: SPODE(parent=name, min_count=1) for name in chosen}
    losses = dict.fromkeys(chosen, 0.0)
    for (x, y), w in zip(stream, weights, strict=True):
        for name, one in alone.items():
            answer = one.predict_learn_one(x, y, w)
            losses[name] -= w * math.log(max(answer.get(y, 0.0), 1e-12)) if answer else 0.0
        model.learn_one(x, y, w)
    got = {name: model.reading.loss[model.store.encoder.features[name].slot] for name in chosen}
    assert got == pytest.approx(losses, rel=1e-9)
    assert len({round(loss, 3) for loss in losses.values()}) > 1


def test_the_super_parent_follows_a_stream_that_changes():
    source = random.Random(32)
    model, parents = SPODE(loss_half_life=30.0, half_life=200.0), []
    for number in range(600):
        a, b, c, d = (source.choice("xy") for _ in range(4))
        y = (a == b) if number < 300 else (c == d)
        model.learn_one({"a": a, "b": b, "c": c, "d": d}, y)
        parents.append(model.parent_)
    assert set(parents[100:300]) <= {"a", "b"}
    assert set(parents[-100:]) <= {"c", "d"}


def test_merging_keeps_the_counts_of_a_live_choice_and_starts_it_anew():
    one, other = trained(SPODE(), biased_events(33, 40)), trained(SPODE(), biased_events(34, 40))
    assert one.parent_ is not None
    counts = AODE() + trained(trained(AODE(), biased_events(33, 40)), biased_events(34, 40))
    merged = one + other
    assert merged.store.by_name() == counts.store.by_name()
    assert merged.parent_ is None
    assert not np.any(merged.reading.loss)
    x, y = biased_events(35, 1)[0]
    naive = trained(trained(NaiveBayes(prior="m-estimate"), biased_events(33, 40)), biased_events(34, 40))
    assert merged.predict_proba_one(x) == naive.predict_proba_one(x)
    merged.learn_one(x, y)
    assert merged.parent_ is not None


def test_losses_and_choice_come_back_with_state_and_pickle():
    stream, more = biased_events(36, 50), biased_events(37, 50, names="abcd")
    model = trained(SPODE(loss_half_life=10.0), stream)
    for twin in (SPODE.from_state(model.state()), pickle.loads(pickle.dumps(model))):
        assert twin.parent_ == model.parent_
        same_bytes(twin, model, "loaded")
        trained(twin, more)
        same_bytes(twin, trained(SPODE.from_state(model.state()), more), "going on")
    trained(model, more)
    same_bytes(twin, model, "going on")
    features = len(model.store.encoder.nominal)
    losses = [np.asarray(one.reading.loss)[:features].tolist() for one in (model, twin)]
    assert losses[0] == losses[1]


def test_learning_many_chooses_as_learning_each():
    stream = biased_events(38, 60, names="abcd")
    one, many, tested = trained(SPODE(), stream), SPODE(), SPODE()
    xs, ys = [x for x, _ in stream], [y for _, y in stream]
    many.learn_many(xs, ys)
    tested.predict_learn_many(xs, ys)
    assert one.parent_ == many.parent_ == tested.parent_
    assert one.store.by_name() == many.store.by_name() == tested.store.by_name()
    same_bytes(one, many, "learned as a batch")
