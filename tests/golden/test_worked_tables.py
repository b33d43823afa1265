"""Worked examples of textbooks, continued: tables, a zero that decides, structures, a joint, and a coin in parts."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from stream_bayes import NaiveBayes
from stream_bayes.networks import DiscreteNetwork, Inference, Structure
from tests.golden.test_worked_examples import T1, melons, shows, titanic
from tests.golden.test_worked_networks import SEVEN

# --- a cross-tabulation: row shares ---


def test_the_shares_of_a_cross_tabulation_are_the_printed_ones() -> None:
    model = NaiveBayes(strength=0)
    for y, counts in (("yes", (26, 27, 7, 4)), ("no", (5, 5, 2, 0))):
        for value, number in zip("ABCD", counts, strict=True):
            for _ in range(number):
                model.learn_one({"x": value}, y)
    for y, printed in (("yes", (".406", ".422", ".109", ".062")), ("no", (".417", ".417", ".167", ".000"))):
        table = model.conditional("x", {"class": y})
        assert [f"{table[value]:.3f}"[1:] for value in "ABCD"] == list(printed)


# --- the Titanic: every table ---


@pytest.mark.parametrize(
    ("feature", "survived", "printed"),
    [
        (
            "class",
            "No",
            {"1st": "0.08187919", "2nd": "0.11208054", "3rd": "0.35436242", "Crew": "0.45167785"},
        ),
        (
            "class",
            "Yes",
            {"1st": "0.28551336", "2nd": "0.16596343", "3rd": "0.25035162", "Crew": "0.29817159"},
        ),
        ("sex", "No", {"Male": "0.91543624", "Female": "0.08456376"}),
        ("sex", "Yes", {"Male": "0.51617440", "Female": "0.48382560"}),
        ("age", "No", {"Child": "0.03489933", "Adult": "0.96510067"}),
        ("age", "Yes", {"Child": "0.08016878", "Adult": "0.91983122"}),
    ],
)
def test_titanic_every_table_is_the_printed_one(feature: str, survived: str, printed: dict[str, str]) -> None:
    table = titanic(weighted=True).conditional(feature, {"survived": survived})
    assert table.keys() == printed.keys()
    assert all(shows(table[value], share) for value, share in printed.items())


# --- the melon with a crisp sound ---


def test_a_sound_that_no_ripe_melon_had_decides_alone_until_it_is_smoothed() -> None:
    crisp, bare, smoothed = T1 | {"sound": "crisp"}, melons(strength=0), melons()
    assert bare.conditional("sound", {"class": True}).get("crisp", 0.0) == 0.0
    assert bare.predict_proba_one(crisp).get(True, 0.0) == 0.0
    assert smoothed.conditional("sound", {"class": True})["crisp"] == pytest.approx(1 / 11)
    assert smoothed.predict_one(crisp) is True  # the other features decide


# --- three structures ---


@pytest.mark.parametrize(
    ("structure", "ends", "middle", "apart", "given"),
    [
        (
            {"studies": [], "lecture": ["studies"], "other": ["studies"]},
            ("lecture", "other"),
            "studies",
            False,
            True,
        ),
        (
            {"smoking": [], "pressure": ["smoking"], "attack": ["pressure"]},
            ("smoking", "attack"),
            "pressure",
            False,
            True,
        ),
        ({"x1": [], "x2": [], "x4": ["x1", "x2"]}, ("x1", "x2"), "x4", True, False),
    ],
    ids=["common parent", "cascade", "V"],
)
def test_three_structures_are_read_as_in_the_notes(structure, ends, middle, apart, given) -> None:
    graph, (one, other) = Structure(structure), ends
    assert graph.d_separated(one, other) is apart
    assert graph.d_separated(one, other, middle) is given


def test_a_common_parent_and_a_cascade_imply_the_same_and_a_v_does_not() -> None:
    common = Structure({"b": [], "a": ["b"], "c": ["b"]})
    cascade = Structure({"a": [], "b": ["a"], "c": ["b"]})
    v = Structure({"a": [], "c": [], "b": ["a", "c"]})
    assert common.same_equivalence_class(cascade) and not common.same_equivalence_class(v)


# --- a joint of seven factors ---


def test_a_row_of_seven_variables_is_the_sum_of_seven_logarithms_and_all_rows_sum_to_one() -> None:
    rng = random.Random(7)
    shares = {
        (name, values): rng.uniform(0.05, 0.95)
        for name in SEVEN
        for values in itertools.product("tf", repeat=len(SEVEN.parents(name)))
    }
    tables = {
        name: np.array(
            [
                [shares[name, values], 1.0 - shares[name, values]]
                for values in itertools.product("tf", repeat=len(SEVEN.parents(name)))
            ]
        ).reshape((2,) * len(SEVEN.parents(name)) + (2,))
        for name in SEVEN
    }
    network = Inference(DiscreteNetwork(SEVEN, {name: ["t", "f"] for name in SEVEN}, tables))
    total = 0.0
    for values in itertools.product("tf", repeat=7):
        row = dict(zip(sorted(SEVEN), values, strict=True))
        factors = []
        for name in SEVEN:
            p = shares[name, tuple(row[parent] for parent in SEVEN.parents(name))]
            factors.append(p if row[name] == "t" else 1.0 - p)
        assert network.log_probability(row) == pytest.approx(math.fsum(map(math.log, factors)), abs=1e-12)
        total += math.exp(network.log_probability(row))
    assert total == pytest.approx(1.0, abs=1e-12)


# --- one coin more: 38 heads of 100 ---


def test_a_coin_in_two_parts_is_the_coin_as_a_whole() -> None:
    tosses = ["heads"] * 38 + ["tails"] * 62
    random.Random(3).shuffle(tosses)
    bare, whole, parts, late = NaiveBayes(strength=0), NaiveBayes(), NaiveBayes(), NaiveBayes()
    first = NaiveBayes()
    for toss in tosses:
        bare.learn_one({}, toss)
        whole.learn_one({}, toss)
    for toss in tosses[:60]:
        parts.learn_one({}, toss)
        first.learn_one({}, toss)
    for toss in tosses[60:]:
        parts.learn_one({}, toss)
        late.learn_one({}, toss)
    assert bare.class_prior_["heads"] == 0.38
    assert (first + late).class_prior_ == whole.class_prior_ == parts.class_prior_
    assert (first + late).predict_interval_one({}) == whole.predict_interval_one({})
