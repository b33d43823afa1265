"""Networks without a class follow drift family by family, and slide over the newest events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import DriftAdaptive, SlidingWindow, streams
from stream_bayes.errors import BadLabel, BadValue, NotSupported
from stream_bayes.networks import BayesNet, Inference
from stream_bayes.saving.river.model_state import model_state, restore_model
from tests.concepts import drawn_network, with_new_tables

VARIABLES = 7
sliding: Any = SlidingWindow  # of a BayesNet it makes a BayesNet


def rows_of(network: Any, count: int, seed: int) -> list[dict[str, Any]]:
    columns = Inference(network).sample(count, np.random.default_rng(seed))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def network_of(model: DriftAdaptive) -> BayesNet:
    assert isinstance(model.model_, BayesNet)
    return model.model_


def world(seed: int, count: int) -> tuple[Any, list[dict[str, Any]]]:
    network = drawn_network(VARIABLES, seed)
    return network, rows_of(network, count, seed)


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


def test_a_family_that_changed_is_counted_again_and_the_rest_of_the_network_stays() -> None:
    network = drawn_network(VARIABLES, 25)
    changed = next(name for name in ("v6", "v5") if network.structure.parents(name))
    after = with_new_tables(network, 3, [changed])
    model = DriftAdaptive(BayesNet("learn"))
    for x in rows_of(network, 1500, 1):
        model.learn_one(x)
    structure = network_of(model).structure
    for x in rows_of(after, 320, 2):
        model.learn_one(x)
    drift, adopted, *rest = model.log.entries
    assert drift["detector"]["families"] == [changed] and drift["detector"]["numbers"]["log_evidence"] > 10
    assert 1440 < drift["since"] <= 1540 and drift["event"] < 1700
    assert adopted["what"] == "adopted" and adopted["candidate"] == "families"
    assert not [entry for entry in rest if entry["what"] == "adopted"]
    present = network_of(model)
    assert set(structure.edges) <= set(present.structure.edges)
    for name in present.structure:
        counted = present.store.family(name).table.sum()
        assert counted == (1820 - drift["since"] + 1 if name == changed else 1820)


def test_a_variable_that_changed_gets_new_parents_from_the_events_after() -> None:
    rng = np.random.default_rng(3)
    model = DriftAdaptive(BayesNet("learn"))
    for number in range(2200):
        a, b, twin, noise = (bool(bit) for bit in rng.random(4) < (0.5, 0.5, 0.5, 0.1))
        x = {"a": a, "b": b, "twin": twin, "other": twin, "copy": (a if number < 1500 else b) ^ noise}
        model.learn_one(x)
    present = network_of(model)
    edges = {frozenset(edge) for edge in present.structure.edges}
    assert {frozenset(("b", "copy")), frozenset(("twin", "other"))} <= edges
    assert present.query("copy", {"b": True})[True] == pytest.approx(
        0.9, abs=0.05
    )  # of the events after alone


def test_tables_that_all_change_keep_the_graph() -> None:
    network = drawn_network(VARIABLES, 25)
    model = DriftAdaptive(BayesNet("learn"))
    for x in rows_of(network, 1500, 1):
        model.learn_one(x)
    structure = network_of(model).structure
    for x in rows_of(with_new_tables(network, 3), 200, 2):
        model.learn_one(x)
    assert [entry["candidate"] for entry in model.log.entries if entry["what"] == "adopted"][-1] == "refit"
    assert network_of(model).structure == structure


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
    assert [entry["candidate"] for entry in whole.log.entries[:2]] == [None, "families"]


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
    with pytest.raises(BadValue, match="uses no detector"):
        DriftAdaptive(BayesNet({"a": []}), detector="kswin", signal="family")
    with pytest.raises(BadValue, match="forgets"):
        DriftAdaptive(sliding(BayesNet({"a": []}), 100))
    with pytest.raises(BadValue, match="give window="):
        BayesNet({"a": []}, slides=True)
