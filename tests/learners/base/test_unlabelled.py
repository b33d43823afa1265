"""Events without a label: each class learns them with the probability that it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesNetClassifier, Binning, Numeric, Schema
from stream_bayes.errors import BadLabel, BadValue, BadWeight, BudgetExceeded

STRUCTURE = {"class": [], "a": ["class"], "b": ["class", "a"], "c": ["class"], "size": ["class", "a"]}
LABELS = ("one", "other")


def drawn(rows: int, seed: int = 1) -> list[tuple[dict[str, Any], str]]:
    rng = np.random.default_rng(seed)
    events = []
    for kind in rng.integers(2, size=rows).tolist():
        x: dict[str, Any] = {name: "xy"[int(rng.random() < (0.85 if kind else 0.15))] for name in "abc"}
        events.append(({**x, "size": float(rng.normal(2 * kind))}, LABELS[kind]))
    return events


def begun(**arguments: Any) -> BayesNetClassifier:
    model = BayesNetClassifier(STRUCTURE, **{"unlabelled": "em", **arguments})
    for x, y in drawn(20):
        model.learn_one(x, y)
    return model


def test_each_class_learns_its_share():
    schema = Schema({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"], "size": Numeric(cuts=[1.0])})
    model, other = begun(schema=schema), begun(schema=schema)
    for x, _ in drawn(30, seed=2):
        shares = other.predict_proba_one(x)
        model.learn_one(x, None, 3.0)
        for label, share in shares.items():
            other.learn_one(x, label, 3.0 * share)
        for probe, _ in drawn(5, seed=3):
            assert model.predict_proba_one(probe) == pytest.approx(other.predict_proba_one(probe), abs=1e-12)


def test_it_is_one_event():
    model = begun(half_life=10.0)
    before = model.clock
    model.learn_one({"a": "x"}, None)
    assert model.clock == before + 1


def test_numbers_count_once_their_cuts_are_set_or_others():
    """The shares of an event add up to it, whatever cuts come later."""
    model = begun(binning=Binning(after=3, window=200))
    for x, _ in drawn(300, seed=2):
        model.learn_one(x, None)
    again = BayesNetClassifier.from_state(model.state())
    tables: Any = model._store.tables
    families = tables.families
    assert np.asarray(tables.class_weight).sum() == pytest.approx(320.0)
    for f in range(len(families.families)):
        assert families.rows_of(f)[1].sum() == pytest.approx(320.0)
    assert again.predict_proba_one(drawn(1)[0][0]) == model.predict_proba_one(drawn(1)[0][0])


def test_a_few_labels_go_further():
    labelled, further = BayesNetClassifier(STRUCTURE), BayesNetClassifier(STRUCTURE, unlabelled="em")
    for x, y in drawn(12):
        labelled.learn_one(x, y)
        further.learn_one(x, y)
    for x, _ in drawn(1500, seed=2):
        further.learn_one(x, None)
    losses = [
        -np.mean([np.log(model.predict_proba_one(x)[y]) for x, y in drawn(500, seed=3)])
        for model in (labelled, further)
    ]
    assert losses[1] < losses[0] - 0.02


def test_without_asking_for_it_a_label_is_needed():
    model = begun(unlabelled="refuse")
    with pytest.raises(BadLabel):
        model.learn_one({"a": "x"}, None)


def test_what_is_refused_changes_nothing():
    model = begun()
    before = model.state()["checksum"]
    with pytest.raises(BadWeight):
        model.learn_one({"a": "x"}, None, -1.0)
    with pytest.raises(BadValue):
        model.learn_one({"a": "new", "b": [1]}, None)
    assert model.state()["checksum"] == before
    model.learn_one({"a": "new"}, None, 0.0)
    assert "new" not in model.conditional("a", {"class": "one"})
    with pytest.raises(BadLabel, match="no class is known yet"):
        BayesNetClassifier(STRUCTURE, unlabelled="em").learn_one({"a": "x"}, None)
    with pytest.raises(BadValue, match="unlabelled"):
        BayesNetClassifier(STRUCTURE, unlabelled="guess")


def test_a_budget_refuses_fractions_before_anything_changes():
    schema = Schema({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"], "size": Numeric(cuts=[1.0])})
    tight = begun(schema=schema, memory_budget=begun(schema=schema).memory_bytes)
    before = tight.state()["checksum"]
    with pytest.raises(BudgetExceeded):
        tight.learn_one({"a": "x"}, None)  # fractions need samples counted beside the weights
    assert tight.state()["checksum"] == before
