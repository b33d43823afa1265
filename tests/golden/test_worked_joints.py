"""P(class, value) of the fourteen days of tennis, against a table whose fractions were counted by hand.

Of the days 9 are Yes and 5 No. With c cells in a feature's table, `laplace` is (n + 1) / (14 + c), and `m-estimate`
is (n + 1/c) / (14 + 1), which the table writes as (c n + 1) / 15c.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import AODE, TAN, NaiveBayes

HERE = Path(__file__).parent
SMOOTHED: dict[str, dict[str, Any]] = {
    "unsmoothed": {"strength": 0.0},
    "laplace": {"prior": "laplace"},
    "m-estimate": {"prior": "m-estimate"},
}


def rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def expected(column: str) -> dict[str, dict[str, dict[str, Fraction]]]:
    """`{feature: {label: {value: probability}}}`, as `joint` answers for each feature."""
    tables: dict[str, dict[str, dict[str, Fraction]]] = {}
    for row in rows("play-tennis-joint.csv"):
        per_value = tables.setdefault(row["feature"], {}).setdefault(row["play"], {})
        per_value[row["value"]] = Fraction(row[column])
    return tables


def taught(make: Any, **settings: Any) -> Any:
    model = make(**settings)
    for row in rows("play-tennis.csv"):
        play = row.pop("play")
        model.learn_one(row, play)
    return model


@pytest.mark.parametrize("make", [NaiveBayes, AODE, TAN])
@pytest.mark.parametrize("smoothing", SMOOTHED)
def test_the_joint_tables_are_those_counted_by_hand(make: Any, smoothing: str) -> None:
    model, tables = taught(make, **SMOOTHED[smoothing]), expected(smoothing)
    assert tables.keys() == {"outlook", "temperature", "humidity", "wind"}
    for feature, table in tables.items():
        joint = model.joint(feature)
        assert joint.keys() == table.keys()
        for play, per_value in table.items():
            assert joint[play] == pytest.approx({v: float(p) for v, p in per_value.items()}, abs=1e-15)


@pytest.mark.parametrize("smoothing", SMOOTHED)
def test_each_table_counted_by_hand_sums_to_one(smoothing: str) -> None:
    for table in expected(smoothing).values():
        assert sum(p for per_value in table.values() for p in per_value.values()) == 1


def test_the_joint_of_nothing_is_the_prior() -> None:
    assert taught(NaiveBayes, strength=0.0).joint() == pytest.approx({"Yes": 9 / 14, "No": 5 / 14}, abs=1e-15)
