"""Candidates without a drift: a network's structure is searched again as evidence grows, and fresh models are tried."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from river.datasets import synth

from stream_bayes import TAN, BayesNetClassifier, DriftAdaptive, NaiveBayes, Schema
from stream_bayes.learners.base.class_probabilities import log_loss
from tests.concepts import drawn_network, stream_of
from tests.drift.drifting_streams import again, bytes_of

VARIABLES = 8


def worlds(seed: int, *lengths: int) -> tuple[list[tuple[dict[Any, Any], Any]], Any, Any]:
    """Events of networks that differ in all tables and edges, the last network's structure, and the class."""
    networks = [drawn_network(VARIABLES, seed + 100 * place) for place in range(len(lengths))]
    last = networks[-1].structure
    target = max(last, key=lambda name: len(last.markov_blanket(name)))
    return list(stream_of(list(zip(networks, lengths, strict=True)), target, seed)), last, target


def entries(model: DriftAdaptive, what: str) -> list[dict[str, Any]]:
    return [entry for entry in model.log.entries if entry["what"] == what]


@pytest.mark.parametrize("seed", [0, 2])
def test_after_a_change_the_structure_becomes_as_good_as_the_true_one(seed: int) -> None:
    events, structure, target = worlds(seed, 1500, 6000)
    model = DriftAdaptive(BayesNetClassifier(None, target=target))
    true = BayesNetClassifier(structure, target=target)
    behind = 0.0
    for number, (x, y) in enumerate(events):
        answer = model.predict_learn_one(x, y)
        if number >= 1500:
            lost = log_loss(answer, y) - log_loss(true.predict_learn_one(x, y), y)
            behind += lost * (number >= 5500)
    assert any(entry["candidate"] == "grown" and entry["event"] > 1500 for entry in entries(model, "adopted"))
    assert behind / 2000 < 0.01


def test_a_classifier_without_structure_grows_one_in_a_stationary_stream() -> None:
    events, _, target = worlds(1, 3000)
    model, stale = (
        DriftAdaptive(BayesNetClassifier(None, target=target)),
        BayesNetClassifier(None, target=target),
    )
    gained = 0.0
    for number, (x, y) in enumerate(events):
        answers = stale.predict_learn_one(x, y), model.predict_learn_one(x, y)
        if number >= 1500:
            gained += log_loss(answers[0], y) - log_loss(answers[1], y)
    assert isinstance(model.model_, BayesNetClassifier) and model.model_.structure is not None
    assert gained > 0.0 and not entries(model, "drift")


def test_growing_does_not_depend_on_a_restart_or_on_searches_in_the_background() -> None:
    events, _, target = worlds(3, 900)

    def make() -> DriftAdaptive:
        return DriftAdaptive(BayesNetClassifier(None, target=target), search_delay=50)

    model = make()
    for x, y in events[:280]:
        model.learn_one(x, y)
    restored = again(model, make)
    for x, y in events[280:]:
        assert restored.predict_learn_one(x, y) == model.predict_learn_one(x, y)
    assert restored.log.entries == model.log.entries and entries(model, "searched")


def test_only_networks_whose_structure_may_change_are_searched_again() -> None:
    events, structure, target = worlds(1, 1000)
    network = BayesNetClassifier(None, target=target)
    choices: list[tuple[Any, dict[str, Any]]] = [
        (NaiveBayes(), {"policy": "both"}),
        (network, {"policy": "refit"}),
        (network, {"renew": False}),
    ]
    for learner, settings in choices:
        model = DriftAdaptive(learner, **settings)
        for x, y in events:
            model.learn_one(x, y)
        assert not model.log.entries and model.generation == 0
    true = DriftAdaptive(BayesNetClassifier(structure, target=target))
    for x, y in events:
        true.learn_one(x, y)
    found: Any = true.model_
    assert found.structure.markov_blanket(target) == structure.markov_blanket(target)


def test_a_structure_that_does_not_fit_into_the_budget_is_reported_and_not_adopted() -> None:
    rng = np.random.default_rng(4)
    values = [f"v{k}" for k in range(40)]
    schema = Schema({"a": values, "b": values}, [True, False])
    model = DriftAdaptive(BayesNetClassifier(None, schema=schema, memory_budget=9_000))
    for _ in range(3000):
        a = int(rng.integers(40))
        x = {"a": values[a], "b": values[a if rng.random() < 0.98 else int(rng.integers(40))]}
        model.learn_one(x, bool(rng.random() < 0.5))
    refused = entries(model, "unfinished")
    assert refused and "bytes" in refused[0]["why"] and model.clock == 3000


def test_a_world_that_becomes_easier_is_followed_though_no_detector_sees_it() -> None:
    rng = np.random.default_rng(7)
    following, staying = DriftAdaptive(NaiveBayes()), DriftAdaptive(NaiveBayes(), renew=False)
    lost = np.zeros(2)
    for number in range(9000):
        y = bool(rng.random() < 0.5)
        # First two features of which each agrees with the class in 6 of 10 events; then the first one decides.
        x = {name: y if rng.random() < 0.6 else not y for name in "ab"}
        if number >= 3000:
            x["a"] = y
        for place, model in enumerate((following, staying)):
            lost[place] += log_loss(model.predict_learn_one(x, y), y) * (number >= 6000)
    assert not entries(following, "drift")
    assert {entry["candidate"] for entry in entries(following, "adopted")} == {"fresh"}
    assert lost[0] < 0.3 * lost[1]


def test_a_world_that_becomes_easier_late_is_followed_within_a_bounded_number_of_windows() -> None:
    rng = np.random.default_rng(8)
    model, window = DriftAdaptive(NaiveBayes(), window=400), 400
    easier = 30_000
    for number in range(easier + 25 * window):
        y = bool(rng.random() < 0.5)
        agrees = 1.0 if number >= easier else 0.6
        model.learn_one({"a": y if rng.random() < agrees else not y}, y)
    adopted = entries(model, "adopted")
    assert [entry["candidate"] for entry in adopted] == ["fresh"]
    assert easier < adopted[0]["event"] <= easier + 21 * window


def test_a_drift_ends_the_search_of_a_candidate_that_is_tried_without_one() -> None:
    def make() -> DriftAdaptive:
        return DriftAdaptive(NaiveBayes(), search_delay=300)

    flips = 500
    stream = [({"a": str(n % 2)}, (n + (n >= flips)) % 2) for n in range(1200)]
    model = make()
    for x, y in stream[:flips]:
        model.learn_one(x, y)
    assert model.state_ == "searching" and not model.log.entries  # a fresh model, from event 384 on
    restored = again(model, make)
    for other in (model, restored):
        for x, y in stream[flips:]:
            other.learn_one(x, y)
        drift, searched, adopted = other.log.entries[:3]
        assert (drift["what"], searched["what"], adopted["what"]) == ("drift", "searched", "adopted")
        assert (
            drift["event"] < 600
            and drift["event"] + 300 == searched["event"]
            and adopted["candidate"] == "both"
        )
    assert bytes_of(model) == bytes_of(restored)


@pytest.mark.parametrize("learner", [NaiveBayes, TAN])
def test_agrawal_that_becomes_easier_is_learned_as_if_it_were_begun_anew(learner: Any) -> None:
    def easier() -> Any:
        return synth.Agrawal(7, seed=4).take(5_000)

    def right(model: Any, stream: Any) -> float:
        answers = [max(model.predict_learn_one(x, y).items(), key=itemgetter(1))[0] == y for x, y in stream]
        return sum(answers[-2_000:]) / 2_000

    model, begun = DriftAdaptive(learner()), learner()
    for x, y in synth.Agrawal(4, seed=3).take(5_000):
        model.learn_one(x, y)
    for x, y in synth.Agrawal(7, seed=5).take(2):
        begun.learn_one(x, y)
    assert right(model, easier()) > right(begun, easier()) - 0.01


def test_a_renewal_costs_a_bounded_share_of_events() -> None:
    rng = np.random.default_rng(9)
    model, tried = DriftAdaptive(NaiveBayes(), window=400), 0
    for number in range(40_000):
        y = bool(rng.random() < 0.5)
        model.learn_one({"a": y if rng.random() < 0.8 else not y}, y)
        tried += bool(model.candidates_) and number >= 16_000
    assert not model.generation and 0 < tried < 0.05 * 24_000
