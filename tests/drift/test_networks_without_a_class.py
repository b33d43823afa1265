"""Networks without a class follow drift by the log-loss of whole events, and slide over the newest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import DriftAdaptive, SlidingWindow, streams
from stream_bayes.core.live_networks.family_counts import EVENT
from stream_bayes.drift.families import family_signals
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.errors import BadLabel, BadValue, NotSupported
from stream_bayes.networks import BayesNet, Inference
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.testing.concepts import drawn_network

VARIABLES = 7
sliding: Any = SlidingWindow  # of a BayesNet it makes a BayesNet


def world(seed: int, count: int) -> tuple[Any, list[dict[str, Any]]]:
    network = drawn_network(VARIABLES, seed)
    columns = Inference(network).sample(count, np.random.default_rng(seed))
    return network, [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


@pytest.mark.parametrize("given", [False, True])
def test_after_a_change_the_structure_becomes_as_good_as_the_true_one(given: bool) -> None:
    (old, before), (new, after) = world(25, 1000), world(125, 3000)
    model = DriftAdaptive(BayesNet(old.structure) if given else BayesNet("learn"))
    true, behind = BayesNet(new.structure), 0.0
    for x in before:
        model.learn_one(x)
    for number, x in enumerate(after):
        lost = model.score_learn_one(x) - true.score_learn_one(x)
        behind += lost * (number >= 2000)
    assert behind / 1000 < 0.02
    kinds = [entry["what"] for entry in model.log.entries]
    assert kinds[:2] == ["drift", "adopted"]
    first = model.log.entries[0]
    assert 1000 < first["event"] < 1200 and first["score"]["after"] > first["score"]["before"] + 1.0


@pytest.mark.parametrize("delay", [0, 40])
def test_families_that_drift_are_named_and_searched_alone(delay: int) -> None:
    rng = np.random.default_rng(3)
    start = {"a": [], "b": [], "copy": ["a"], "twin": [], "other": ["twin"]}
    model = DriftAdaptive(BayesNet(start), signal="family", search_delay=delay, window=600, renew=False)
    for number in range(1800):
        a, b, twin = (bool(bit) for bit in rng.integers(0, 2, 3))
        x: dict[str, Any] = {"a": a, "b": b, "twin": twin, "other": twin}
        x["copy"] = a if number < 1200 else b
        model.learn_one(x)
    drift, *_, adopted = model.log.entries
    assert drift["what"] == "drift" and drift["detector"]["families"] == ["copy"]
    assert 1200 < drift["event"] < 1300 and 1000 < drift["since"] <= 1232
    assert adopted["what"] == "adopted"
    assert adopted["structure"]["added"] == [["b", "copy"]]
    model_: Any = model.model_
    parents = {name: list(model_.structure.parents(name)) for name in start}
    assert "b" in parents.pop("copy")
    assert parents == {name: start[name] for name in parents}


def test_the_signal_of_a_family_is_minus_its_log_probability() -> None:
    rng = np.random.default_rng(5)
    model, events = BayesNet({"a": [], "b": ["a"], "c": ["a", "b"]}), []
    recent = RecentEvents(model, 50)
    for number in range(200):
        a, b, c = (int(bit) for bit in rng.integers(0, 3, 3))
        x: dict[str, Any] = {"a": a, "b": b, "c": c if number != 199 else None}
        events.append(x)
        row = model._store.encode(x, EVENT, 1.0)
        model._learn_row(row)
        recent.push(row, number + 1, 0.0)
    signals = family_signals(model, recent.newest_codes(2))
    for place, x in ((0, events[-2]), (1, events[-1])):
        rest = [each for each in events if each is not x]
        for name, parents in (("a", []), ("b", ["a"]), ("c", ["a", "b"])):
            found = signals[model._store.slot_of(name), place]
            if x[name] is None:
                assert np.isnan(found)
                continue
            alike = [e for e in rest if e[name] is not None and all(e[p] == x[p] for p in parents)]
            share = (sum(e[name] == x[name] for e in alike) + 1 / 3) / (len(alike) + 1)
            assert found == pytest.approx(-np.log(share) / 5)


def test_a_stationary_stream_changes_no_model() -> None:
    model = DriftAdaptive(BayesNet("learn"))
    for x in world(2, 3000)[1]:
        model.learn_one(x)
    assert [entry["what"] for entry in model.log.entries if entry["what"] == "adopted"] == []


def test_a_restart_at_any_event_changes_nothing() -> None:
    events = world(1, 400)[1] + world(4, 400)[1]

    def make() -> DriftAdaptive:
        return DriftAdaptive(BayesNet("learn", window=300), window=400)

    whole, parts = make(), make()
    for number, x in enumerate(events):
        assert whole.score_learn_one(x) == parts.score_learn_one(x)
        if number % 61 == 0 or 455 < number < 459:
            parts = restore_model(make(), model_state(parts))
    assert parts.log.entries == whole.log.entries
    assert whole.generation == 1


def test_the_engine_serves_it_and_names_the_model_of_each_answer(tmp_path: Any) -> None:
    events = world(1, 500)[1] + world(4, 400)[1]
    outputs: list[Any] = []
    for stop in (470, 60, None):  # the second run begins in the trial
        result = streams.run(
            events,
            DriftAdaptive(BayesNet("learn"), search_delay=20),
            predict=["v1"],
            predictions=outputs.extend,
            snapshots=tmp_path / "state",
            max_records=stop,
        )
    alone = DriftAdaptive(BayesNet("learn"), search_delay=20)
    expected = [alone.score_learn_one(x) for x in events]
    assert [output.score for output in outputs] == expected
    adopted = next(entry["event"] for entry in alone.log.entries if entry["what"] == "adopted")
    assert outputs[adopted].model.generation != outputs[adopted - 1].model.generation
    assert result.model.log.counts == alone.log.counts


def test_a_window_holds_the_newest_events_alone() -> None:
    events = world(1, 300)[1] + world(4, 300)[1]
    for structure in (drawn_network(VARIABLES, 1).structure, "learn"):
        model = sliding(BayesNet(structure), 250)
        for x in events:
            model.learn_one(x)
        assert isinstance(model, BayesNet)
        fresh = BayesNet(model.structure)
        for x in events[-250:]:
            fresh.learn_one(x)
        for x in events[-5:]:
            assert model.log_likelihood_one(x) == pytest.approx(fresh.log_likelihood_one(x), abs=1e-12)
        again = BayesNet.from_state(model.state())
        again.learn_one(events[0])
        model.learn_one(events[0])
        assert again.state()["checksum"] == model.state()["checksum"]
    many = sliding(BayesNet(structure), 250)
    many.learn_many(events)
    assert many.structure == sliding(BayesNet(structure), 250).fit(events).structure


def test_what_cannot_be_done_says_so() -> None:
    model = DriftAdaptive(BayesNet({"a": []}))
    with pytest.raises(BadLabel, match="has no class"):
        model.learn_one({"a": "x"}, "y")
    with pytest.raises(NotSupported, match="score_learn_one"):
        model.predict_learn_one({"a": "x"}, "y")
    with pytest.raises(NotSupported, match="model_ answers queries"):
        model.predict_proba_one({"a": "x"})
    bad: list[dict[str, Any]] = [{"signal": "error"}, {"detector": "ddm"}]
    for settings in bad:
        with pytest.raises(BadValue, match="its signal is the log-loss"):
            DriftAdaptive(BayesNet({"a": []}), **settings)
    with pytest.raises(BadValue, match="forgets"):
        DriftAdaptive(sliding(BayesNet({"a": []}), 100))
    with pytest.raises(BadValue, match="give window="):
        BayesNet({"a": []}, slides=True)
