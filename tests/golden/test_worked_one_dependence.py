"""A textbook's worked example of AODE, to the digit it prints: six nominal features of seventeen watermelons."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import AODE, SPODE

FILE = Path(__file__).parent / "watermelon-3.0.csv"
NOMINAL = ("color", "root", "sound", "texture", "umbilicus", "surface")
T1 = {
    "color": "green",
    "root": "curly",
    "sound": "muffled",
    "texture": "clear",
    "umbilicus": "hollow",
    "surface": "hard",
}


def melons() -> list[tuple[dict[str, str], bool]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return [
            ({name: row[name] for name in NOMINAL}, row["ripe"] == "true") for row in csv.DictReader(file)
        ]


def taught(kind: Any, **settings: Any) -> Any:
    model: Any = kind(prior="laplace", **settings)
    for x, ripe in melons():
        model.learn_one(x, ripe)
    return model


def test_a_ripe_melon_that_sounds_muffled_has_the_printed_joint_probability():
    model = taught(AODE, min_count=1)
    assert model.joint("sound")[True]["muffled"] == pytest.approx(7 / 23, abs=1e-15)
    assert f"{model.joint('sound')[True]['muffled']:.3f}" == "0.304"


def test_a_hollow_umbilicus_given_ripe_and_muffled_has_the_printed_probability():
    table = taught(AODE, min_count=1).conditional("umbilicus", {"class": True, "sound": "muffled"})
    assert table["hollow"] == pytest.approx(4 / 9, abs=1e-15)
    assert f"{table['hollow']:.3f}" == "0.444"
    assert math.fsum(table.values()) == pytest.approx(1.0, abs=1e-15)


def test_the_joint_probability_of_a_melon_is_the_product_of_the_tables():
    model = taught(SPODE, parent="sound")
    for ripe, score in model.joint_log_likelihood(T1).items():
        given = {"class": ripe, "sound": "muffled"}
        others = [name for name in NOMINAL if name != "sound"]
        children = math.prod(model.conditional(name, given)[T1[name]] for name in others)
        expected = model.joint("sound")[ripe]["muffled"] * children
        assert math.exp(score) == pytest.approx(expected, rel=1e-12)


def test_the_average_is_over_all_melons_features():
    averaged = taught(AODE, min_count=1).joint_log_likelihood(T1)
    each = [taught(SPODE, parent=name).joint_log_likelihood(T1) for name in NOMINAL]
    for ripe, score in averaged.items():
        mean = math.fsum(math.exp(one[ripe]) for one in each) / len(each)
        assert math.exp(score) == pytest.approx(mean, rel=1e-12)
    assert averaged[True] > averaged[False]
