"""A plan of exact inference is kept for as long as structure and sizes stay, and what is kept changes no answer."""

from __future__ import annotations

import re
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from stream_bayes.core.inference.exact import CACHED_TREES, Exact
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    UnknownFeature,
)
from tests.core.networks.burglary_network import ALARM


def test_the_plan_is_worked_out_once_and_depends_on_structure_and_sizes_alone(monkeypatch):
    made: list[int] = []
    honest = Exact._tree

    def counting(self, question):
        made.append(question not in self._cached)
        return honest(self, question)

    monkeypatch.setattr(Exact, "_tree", counting)
    engine = Inference(ALARM)
    engine.query("burglary", {"call": "yes"})
    assert sum(made) == 1
    engine.query("quake", {"alarm": "no", "call": {"yes": 0.5, "no": 0.2}})
    engine.marginals({"call": "no"})
    engine.most_probable({"call": "no"})
    engine.update({"quake": [0.5, 0.5]})
    engine.load(ALARM)
    engine.query("quake", {"call": "no"})
    assert sum(made) == 1
    engine.query(["burglary", "call"], {"quake": "yes"})  # no clique holds both
    engine.query(["burglary", "call"], {"quake": "no"})
    assert sum(made) == 2


def test_tables_are_asked_for_once_when_they_are_loaded():
    """A learner makes them all each time."""
    asked: list[int] = []

    class Learner:
        structure, states = ALARM.structure, ALARM.states

        @property
        def tables(self):
            asked.append(1)
            return ALARM.tables

    engine = Inference(Learner())
    engine.load(Learner())
    assert len(asked) == 2


def test_a_label_more_is_a_new_plan():
    engine = Inference(ALARM)
    engine.query("quake")
    grown = DiscreteNetwork(
        ALARM.structure,
        {**ALARM.states, "quake": ["yes", "no", "unsure"]},
        {**ALARM.tables, "quake": [0.25, 0.25, 0.5], "alarm": np.full((2, 3, 2), 0.5)},
    )
    engine.load(grown)
    assert dict(engine.query("quake", {"alarm": "yes"})) == pytest.approx(
        {"yes": 0.25, "no": 0.25, "unsure": 0.5}
    )
    engine.load(ALARM)
    assert engine.query("quake")["yes"] == pytest.approx(0.02)


def test_other_labels_of_the_same_number_are_those_reported():
    engine = Inference(ALARM)
    renamed = DiscreteNetwork(ALARM.structure, {**ALARM.states, "quake": ["ja", "nein"]}, ALARM.tables)
    engine.load(renamed)
    assert list(engine.query("quake")) == ["ja", "nein"]
    with pytest.raises(BadValue):
        engine.query("burglary", {"quake": "yes"})


def test_what_a_refused_network_brought_is_not_taken_over():
    engine = Inference(ALARM)
    before = dict(engine.query("burglary", {"call": "yes"}))
    with pytest.raises(
        BadStructure, match=re.escape("the table of 'quake': expected finite numbers of at least 0")
    ):
        engine.update({"burglary": [0.5, 0.5], "quake": [0.5, -0.5]})
    with pytest.raises(BadStructure, match=re.escape("row {'alarm': 'no'}: expected finite numbers")):
        engine.update({"burglary": [0.5, 0.5], "call": [[0.5, 0.5], [0.0, 0.0]]})
    with pytest.raises(
        BadStructure, match=re.escape("expected the shape (2,), an axis for each of ['quake']; got (3,)")
    ):
        engine.update({"burglary": [0.5, 0.5], "quake": [1, 1, 1]})
    with pytest.raises(UnknownFeature, match="no variable 'quack'"):
        engine.update({"burglary": [0.5, 0.5], "quack": [1, 1]})
    for states, tables, message in (
        (
            {**ALARM.states, "quake": ["so", "so"]},
            {v: table * 2 for v, table in ALARM.tables.items()},
            "not all different",
        ),
        ({**ALARM.states, "quake": ["so", "not"]}, {"quake": [0.5, 0.5]}, "variable 'alarm' needs a table"),
        ({**ALARM.states, "quake": []}, ALARM.tables, "variable 'quake' needs at least one label"),
    ):
        with pytest.raises(BadStructure, match=message):
            engine.load(SimpleNamespace(structure=ALARM.structure, states=states, tables=tables))
    assert dict(engine.query("burglary", {"call": "yes"})) == before


def test_not_every_kind_of_question_is_cached():
    coins = [f"coin {k}" for k in range(13)]
    engine = Inference(
        DiscreteNetwork(
            Structure(dict.fromkeys(coins, ())),
            {coin: ["heads", "tails"] for coin in coins},
            {coin: [0.25, 0.75] for coin in coins},
        )
    )
    pairs = list(combinations(coins, 2))
    assert len(pairs) > CACHED_TREES
    for pair in 2 * pairs:
        assert engine.query(list(pair))["heads", "tails"] == pytest.approx(0.25 * 0.75)
    assert len(engine._exact._cached) <= CACHED_TREES


def test_answers_do_not_depend_on_what_was_asked_before():
    engine, fresh = Inference(ALARM), Inference(ALARM)
    engine.marginals({"call": "yes", "quake": {"yes": 0.1, "no": 0.7}})
    engine.query(["burglary", "call"], {"quake": "yes"})
    with pytest.raises(BadValue):
        engine.query("burglary", {"call": "perhaps"})
    assert dict(engine.query("burglary", {"alarm": "no"})) == dict(fresh.query("burglary", {"alarm": "no"}))
