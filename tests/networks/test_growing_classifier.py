"""A classifier without a given structure grows one: as good as the true one, by the events alone, within its limits."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesNetClassifier, Binning, Schema, SlidingWindow
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.errors import BadValue, CannotMerge, NotSupported
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.networks import HillClimbing, Structure
from tests.concepts import drawn_network, stream_of

Events = list[tuple[dict[str, Any], Any]]


def world(seed: int, count: int, variables: int = 7) -> tuple[Structure, str, Events]:
    network = drawn_network(variables, seed)
    structure = network.structure
    target = str(max(structure, key=lambda name: len(structure.markov_blanket(name))))
    return structure, target, list(stream_of([(network, count)], target, seed))


def exclusive(count: int, seed: int = 1) -> Events:
    """Two switches of which exactly one lights the lamp, and noise."""
    rng = np.random.default_rng(seed)
    draws = rng.random((count, 3)).tolist()
    return [({"a": a < 0.5, "b": b < 0.5, "c": c < 0.5}, (a < 0.5) != (b < 0.5)) for a, b, c in draws]


@pytest.mark.parametrize("seed", [0, 1])
def test_it_becomes_as_good_as_the_true_structure_and_better_than_naive_bayes(seed: int) -> None:
    structure, target, events = world(seed, 2500)
    models = [BayesNetClassifier(kind, target=target) for kind in ("learn", structure, None)]
    lost = np.array([[log_loss(model.predict_learn_one(x, y), y) for model in models] for x, y in events])
    grown, true, naive = lost[1500:].mean(axis=0)
    assert grown < true + 0.01 and grown < naive - 0.05
    assert models[0].generation >= 1


def test_without_arguments_it_begins_as_naive_bayes_and_grows() -> None:
    model, naive = BayesNetClassifier(), BayesNetClassifier(None)
    events = exclusive(400)
    for x, y in events[:60]:
        assert model.predict_learn_one(x, y) == naive.predict_learn_one(x, y)
    assert model.structure is None
    for x, y in events[60:]:
        model.learn_one(x, y)
    assert model.predict_proba_one({"a": True, "b": False, "c": True})[True] > 0.95
    adopted = [change for change in model.changes if change.why is None]
    assert len(adopted) == model.generation == 1 and (adopted[0].gain or 0.0) > 0.3
    assert adopted[0].difference and adopted[0].score_gain > 0.0


def test_noise_grows_no_edge() -> None:
    rng = np.random.default_rng(2)
    model = BayesNetClassifier()
    naive = BayesNetClassifier(None)
    lost = 0.0
    for _ in range(1500):
        x, y = {name: int(rng.integers(3)) for name in "abcd"}, bool(rng.random() < 0.5)
        lost += log_loss(model.predict_learn_one(x, y), y) - log_loss(naive.predict_learn_one(x, y), y)
    assert lost / 1500 < 0.002
    assert not any(edge for edge in (model.structure or Structure({})).edges if "class" not in edge)


def test_a_restart_at_any_event_changes_nothing_nor_do_batches_and_idle_moments() -> None:
    _, target, events = world(1, 420)
    settings: dict[str, Any] = {"target": target, "window": 150, "search": HillClimbing(restarts=1)}
    whole, parts, cold, idle = (BayesNetClassifier(**settings) for _ in range(4))
    in_trial = 0
    for number, (x, y) in enumerate(events):
        answer = whole.predict_learn_one(x, y)
        assert parts.predict_learn_one(x, y) == answer
        idle.learn_one(x, y)
        while idle.work():
            pass
        if number % 23 == 0:
            saved = json.loads(json.dumps({k: v for k, v in parts.state().items() if k != "arrays"}))
            parts = BayesNetClassifier.from_state({**saved, "arrays": parts.state()["arrays"]})
            in_trial += parts.store.tried is not None
    cold.learn_many([x for x, _ in events], [y for _, y in events])
    expected = whole.state()
    for model in (parts, cold, idle, copy.deepcopy(whole)):
        state = model.state()
        assert (state["checksum"], state["reading"]) == (expected["checksum"], expected["reading"])
    assert in_trial > 1 and whole.generation > 0


def test_a_search_over_gaps_draws_the_same_whenever_its_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    _, target, events = world(1, 300)
    inner, rng = np.random.default_rng, np.random.default_rng(3)
    events = [({name: v for name, v in x.items() if rng.random() >= 0.05}, y) for x, y in events]
    seeds: dict[bool, list[Any]] = {False: [], True: []}
    for at_once, found in seeds.items():

        def noting(seed: Any = None, found: list[Any] = found) -> np.random.Generator:
            if isinstance(seed, list):
                found.append(seed)
            return inner(seed)

        monkeypatch.setattr(np.random, "default_rng", noting)
        model = BayesNetClassifier(target=target)
        for x, y in events:
            model.learn_one(x, y)
            if at_once:  # as in idle moments, or for a snapshot
                model.state()
        model.state()
    assert seeds[True] == seeds[False] != []


def test_no_event_waits_for_a_whole_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_bayes.networks.growth.SLICE", 300)
    counted = [0]
    inner = FamilyScorer.with_each

    def counting(scorer: FamilyScorer, child: int, own: list[int], others: list[int]) -> Any:
        before = scorer.families
        scores = inner(scorer, child, own, others)
        counted[0] += scorer.families - before
        return scores

    monkeypatch.setattr(FamilyScorer, "with_each", counting)
    _, target, events = world(0, 300)
    model, most = BayesNetClassifier(target=target), 0
    for x, y in events:
        counted[0] = 0
        model.learn_one(x, y)
        most = max(most, counted[0])
    assert 0 < most <= 14  # two children's families; a whole search counts several times as many
    assert model.generation > 0


def test_numbers_are_read_as_bins_and_features_may_come_late() -> None:
    rng = np.random.default_rng(3)
    model = BayesNetClassifier(
        window=600, binning=Binning("quantile", bins=4)
    )  # 16 x 16 cells need more events
    right = 0
    for number in range(1800):
        a, b = rng.normal(size=2).tolist()
        x = {"a": a, "noise": int(rng.integers(3))}
        if number > 300:
            x["b"] = b
        y = (a > 0) != (b > 0)
        answer = model.predict_learn_one(x, y)
        right += number >= 1500 and answer[y] > 0.5
    assert right > 255
    assert model.structure is not None and set(model.structure) == {"a", "b", "noise", "class"}
    again = BayesNetClassifier.from_state(model.state())
    assert again.predict_proba_one(x) == model.predict_proba_one(x)


def test_limits_of_the_search_are_kept() -> None:
    search = HillClimbing(tiers=[["class"], ["a", "b"], ["c"]], forbidden=[("a", "b"), ("b", "a")])
    model = BayesNetClassifier(search=search)
    for x, y in exclusive(600):
        model.learn_one(x, y)
    structure = model.structure or Structure({})
    assert not {("a", "b"), ("b", "a"), ("a", "class"), ("b", "class")} & set(structure.edges)
    below = BayesNetClassifier(search=HillClimbing(required=[("a", "class")], max_parents=2))
    given = BayesNetClassifier(class_prior="uniform")
    for x, y in exclusive(600):
        below.learn_one(x, y)
        given.learn_one(x, y)
    assert below.structure is not None and "a" in below.structure.parents("class")
    assert given.structure is not None and given.structure.parents("class") == ()
    assert given.predict_proba_one({"a": True, "b": False})[True] > 0.9
    assert model.clone().search == search


def test_unlearning_leaves_what_the_others_left_and_a_window_the_newest() -> None:
    events = exclusive(300)
    model = BayesNetClassifier()
    for x, y in events:
        model.learn_one(x, y)
    fixed = BayesNetClassifier(model.structure)
    for x, y in events[:-20]:
        fixed.learn_one(x, y)
    for x, y in events[-20:]:
        model.unlearn_one(x, y)
    for x, _ in events[:4]:
        assert model.predict_proba_one(x) == pytest.approx(fixed.predict_proba_one(x))
    sliding = SlidingWindow(BayesNetClassifier(), 200)
    for x, y in events:
        sliding.learn_one(x, y)
    inner: Any = sliding.learner
    newest = BayesNetClassifier(inner.structure)
    for x, y in events[-200:]:
        newest.learn_one(x, y)
    assert inner.generation == 1
    assert sliding.predict_proba_one(events[0][0]) == pytest.approx(newest.predict_proba_one(events[0][0]))


def test_a_structure_set_by_hand_is_counted_from_the_window_and_grows_on() -> None:
    model = BayesNetClassifier(window=500)
    for x, y in exclusive(60):
        model.learn_one({**x, "lamp": y}, y)
    model.structure = {"class": [], "a": ["class"], "b": ["class", "a"], "c": [], "lamp": []}
    assert model.predict_proba_one({"a": True, "b": False, "c": True})[True] > 0.8
    shares = model.edge_confidence(5)
    assert shares["lamp", "class"] + shares["class", "lamp"] == 1.0 and len(model.recent()) == 60


def test_a_structure_beyond_the_budget_is_refused_and_said() -> None:
    rng = np.random.default_rng(4)
    values = [f"v{k}" for k in range(12)]
    schema = Schema({"a": values, "b": values}, [True, False])
    free = BayesNetClassifier(schema=schema, window=500)
    model = BayesNetClassifier(schema=schema, window=500, memory_budget=free.memory_bytes + 1_500)
    for _ in range(600):
        a = int(rng.integers(12))
        x = {"a": values[a], "b": values[a if rng.random() < 0.98 else int(rng.integers(12))]}
        model.learn_one(x, bool(rng.random() < 0.5))
    refused = [change.why for change in model.changes if change.why is not None and "bytes" in change.why]
    assert refused and model.clock == 600 and model.generation == 0


def test_what_cannot_be_done_says_what_to_do() -> None:
    with pytest.raises(BadValue, match="structure=None for naive Bayes"):
        BayesNetClassifier(unlabelled="em")
    with pytest.raises(BadValue, match="window is for structure='learn'"):
        BayesNetClassifier(None, window=100)
    with pytest.raises(BadValue, match="search must be HillClimbing"):
        BayesNetClassifier(search="bic")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(CannotMerge, match=r"give the structure, as BayesNetClassifier\(model.structure\)"):
        BayesNetClassifier().merge(BayesNetClassifier())
    with pytest.raises(NotSupported, match="no events are kept"):
        BayesNetClassifier(None).recent()
