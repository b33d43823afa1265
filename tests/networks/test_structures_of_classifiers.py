"""Structures of a classifier: what it reads, what it keeps when the structure changes, and the exported network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BayesNet,
    BayesNetClassifier,
    Binning,
    Nominal,
    Schema,
    Structure,
    read_bif,
    write_bif,
)
from stream_bayes.core.live_networks.class_reading import ClassReading
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    BudgetExceeded,
    CountsForgotten,
    NotLearned,
    NoValueKnown,
    UnknownFeature,
)
from tests.networks.labelled_events import NAMES, STRUCTURES, learned


def test_what_the_structure_does_not_know_is_ignored():
    model, other = (BayesNetClassifier(STRUCTURES["chain"]) for _ in range(2))
    model.learn_one({"a": "x", "id": "4711", "price": 3.5}, "yes")
    other.learn_one({"a": "x"}, "yes")
    assert model.state()["checksum"] == other.state()["checksum"]
    assert model.predict_proba_one({"a": "x", "id": 5}) == other.predict_proba_one({"a": "x"})
    model.unlearn_one({"a": "x", "id": "4711"}, "yes")
    assert model.predict_proba_one({}) == {}


@pytest.mark.parametrize("named", STRUCTURES)
def test_the_blanket_alone_is_read_unless_something_of_it_is_missing(named, monkeypatch):
    model = learned([(dict.fromkeys(NAMES, value), value, 1.0) for value in "xyx"], STRUCTURES[named])
    structure = Structure(STRUCTURES[named])
    blanket = structure.markov_blanket("class")
    x = dict.fromkeys(blanket, "x")
    wanted = model.predict_proba_one(dict.fromkeys(NAMES, "x"))

    def infer(self: Any, row: Any) -> None:
        raise AssertionError("inference was asked")

    monkeypatch.setattr(ClassReading, "infer", infer)
    assert model.predict_proba_one(x) == wanted == model.predict_proba_many([x])[0]
    inner = [name for name in blanket if structure.children(name)]
    for name in inner:
        with pytest.raises(AssertionError, match="inference was asked"):
            model.predict_proba_one({**x, name: None})


@pytest.mark.parametrize("structure", [{"rain": [], "lawn": ["rain"]}, None])
def test_what_an_event_holds_under_the_name_of_the_class_is_no_feature(structure):
    model, other = (BayesNetClassifier(structure, target="rain") for _ in range(2))
    for told, lawn, label in [("no", "wet", "yes"), ("yes", "dry", "no"), ("yes", "wet", "yes")]:
        model.learn_one({"rain": told, "lawn": lawn}, label)
        other.learn_one({"lawn": lawn}, label)
    assert model.state()["checksum"] == other.state()["checksum"]
    for told in ("yes", "no"):
        assert model.predict_proba_one({"rain": told, "lawn": "wet"}) == other.predict_proba_one(
            {"lawn": "wet"}
        )
    model.learn_many([{"rain": "no", "lawn": "wet"}], ["yes"])
    other.learn_many([{"lawn": "wet"}], ["yes"])
    assert model.state()["checksum"] == other.state()["checksum"]


def test_another_structure_takes_over():
    model = BayesNetClassifier(None)
    rng = np.random.default_rng(2)
    assert model.structure is None

    def learn(times: int) -> None:
        for a, b in rng.integers(0, 2, (times, 2)).tolist():
            model.learn_one({"a": str(a), "b": str(b)}, str(a ^ b))

    learn(400)
    assert max(model.predict_proba_one({"a": "1", "b": "0"}).values()) < 0.7
    with pytest.warns(CountsForgotten, match=r"the tables of \['b'\] given their parents begin anew"):
        model.structure = {"class": [], "a": ["class"], "b": ["a", "class"]}
    learn(100)
    assert model.predict_proba_one({"a": "1", "b": "0"})["1"] > 0.95
    again = BayesNetClassifier.from_state(model.state())
    assert again.structure == model.structure == Structure({"class": [], "a": ["class"], "b": ["a", "class"]})
    assert again.predict_proba_one({"a": "1"}) == model.predict_proba_one({"a": "1"})


def test_numbers_met_before_or_after_a_structure_was_set_are_counted_once_they_have_cuts():
    rng = np.random.default_rng(5)
    structure = {
        "class": [],
        "a": ["class"],
        "early": ["class", "a"],
        "few": ["class", "a"],
        "late": ["class", "a"],
    }
    model = BayesNetClassifier(None, binning=Binning(after=8, window=64))
    events = []

    def learn(times: int, *numbers: str) -> None:
        for _ in range(times):
            y = bool(rng.random() < 0.5)
            x = {"a": "p" if rng.random() < 0.5 else "q", **{name: rng.normal(y) for name in numbers}}
            events.append((x, y))
            model.learn_one(x, y)

    learn(30, "early")
    learn(4, "early", "few")
    with pytest.warns(CountsForgotten):
        model.structure = structure
    counted = model.store.tables.families
    begun = [int(since) for since in counted.since]
    learn(40, "early", "few", "late")
    slots = {name: int(feature.slot) for name, feature in model.store.encoder.features.items()}
    families: Any = model.store.tables.families
    held = {
        child: float(np.asarray(families.rows_of(f)[1]).sum())
        for f, (child, _) in enumerate(families.families)
    }
    assert begun[[child for child, _ in counted.families].index(slots["early"])] == 35
    assert held[slots["early"]] == 40.0  # from the structure on
    assert held[slots["few"]] == 44.0  # all: they had no cuts then
    assert held[slots["late"]] == 40.0
    for x, y in reversed(events):
        model.unlearn_one(x, y, at=model.clock - len(events) + events.index((x, y)) + 1)
    assert not np.asarray(model.store.tables.families.weight).any()


def test_bad_structures_are_refused():
    with pytest.raises(BadStructure, match="target"):
        BayesNetClassifier({"a": []})
    with pytest.raises(BadStructure, match="cycle"):
        BayesNetClassifier({"a": ["class"], "class": ["a"]})
    with pytest.raises(BadStructure, match="class_prior"):
        BayesNetClassifier({"a": [], "class": ["a"]}, class_prior="uniform")
    with pytest.raises(BadValue):
        BayesNetClassifier(3)
    with pytest.raises(BadValue):
        BayesNetClassifier(target=3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(UnknownFeature, match="'a'"):
        BayesNetClassifier({"a": [], "class": ["a"]}, schema=Schema({"b": Nominal()}))


@pytest.mark.parametrize("named", STRUCTURES)
def test_what_was_learned_is_handed_over(named, tmp_path):
    rng = np.random.default_rng(3)
    events = [
        ({name: str(rng.choice(["x", "y"])) for name in NAMES}, str(rng.choice(["yes", "no"])), 1.0)
        for _ in range(30)
    ]
    model = learned(events, STRUCTURES[named])
    handed = model.to_network()
    other = BayesNet.from_network(handed, strength=0)
    for x, _, _ in events[:5]:
        del x["a"]
        assert dict(other.query("class", x)) == pytest.approx(model.predict_proba_one(x), abs=1e-9)
    write_bif(model, tmp_path / "learned.bif")
    assert read_bif(tmp_path / "learned.bif") == handed
    with pytest.raises(NoValueKnown):
        BayesNetClassifier(STRUCTURES[named]).to_network()


def test_a_budget_refuses_families_before_anything_changes():
    model = BayesNetClassifier({"class": [], "a": ["class"], "b": ["a", "class"]}, memory_budget=12_000)

    def learn() -> None:
        for k in range(1000):
            model.learn_one({"a": str(k), "b": str(k)}, "yes")

    with pytest.raises(BudgetExceeded):
        learn()
    assert model.memory_bytes <= 12_000
    with pytest.raises(NotLearned):
        model.unlearn_one({"a": "0", "b": "1"}, "yes")
    model.unlearn_one({"a": "0", "b": "0"}, "yes")
