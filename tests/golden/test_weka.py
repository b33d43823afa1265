"""AODE, AODEsr, WAODE and TAN against what WEKA said of fixed streams, with declared values and classes."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import AODE, ODE, TAN, Nominal, Schema
from tests.oracles.aode import OneDependenceOracle

WEKA = json.loads((Path(__file__).parent / "weka_aode.json").read_text(encoding="utf-8"))
CLOSE = 1e-9

Row = tuple[dict[str, int | None], int, float]


@cache
def schema(stream: str) -> Schema:
    """WEKA's attributes: each value and class is declared, met or not. Names sort as its columns do."""
    about = WEKA["streams"][stream]
    features = {f"f{number:02}": Nominal(range(size)) for number, size in enumerate(about["values"])}
    return Schema(features, classes=range(about["classes"]))


@cache
def rows(stream: str) -> list[Row]:
    names = list(schema(stream).features)
    return [(dict(zip(names, codes, strict=True)), y, w) for w, y, codes in WEKA["streams"][stream]["rows"]]


def title(entry: dict[str, Any]) -> str:
    return f"{entry['classifier']} {entry['options']} on {entry['stream']}"


def in_order(answer: dict[int, float], stream: str) -> list[float]:
    return [answer[label] for label in range(WEKA["streams"][stream]["classes"])]


def of(*classifiers: str) -> list[dict[str, Any]]:
    found = [entry for entry in WEKA["averaged"] if entry["classifier"] in classifiers]
    assert found
    return found


def learner(entry: dict[str, Any]) -> AODE:
    return AODE(
        prior=entry["prior"],
        strength=entry["strength"],
        min_count=entry["min_count"],
        subsumption=entry["critical"],
        weights=entry["weights"],
        schema=schema(entry["stream"]),
    )


@pytest.mark.parametrize("entry", of("AODE", "AODEsr"), ids=title)
def test_each_row_gets_wekas_probabilities_before_it_is_learned(entry: dict[str, Any]) -> None:
    model, expected_rows = learner(entry), dict(zip(entry["asked"], entry["probabilities"], strict=True))
    for row, (x, y, w) in enumerate(rows(entry["stream"])):
        answer = model.predict_learn_one(x, y, w)
        if row in expected_rows:
            assert in_order(answer, entry["stream"]) == pytest.approx(
                expected_rows[row], rel=CLOSE, abs=0.0
            ), row


@pytest.mark.parametrize("entry", of("WAODE"), ids=title)
def test_weighted_super_parents_give_wekas_probabilities(entry: dict[str, Any]) -> None:
    model, expected_rows = learner(entry), dict(zip(entry["asked"], entry["probabilities"], strict=True))
    seen: set[tuple[str, int | None]] = set()
    compared = 0
    for row, (x, y, w) in enumerate(rows(entry["stream"])):
        model.rederive()  # WEKA builds its own anew before each answer
        answer = model.predict_learn_one(x, y, w)
        # To WEKA a value that was never met is a super-parent too, here it is none.
        if row in expected_rows and seen.issuperset(x.items()):
            assert in_order(answer, entry["stream"]) == pytest.approx(
                expected_rows[row], rel=CLOSE, abs=0.0
            ), row
            compared += 1
        seen.update(x.items())
    assert compared >= 10


@pytest.mark.parametrize("entry", of("AODE", "AODEsr"), ids=title)
def test_a_batch_gets_wekas_probabilities_too(entry: dict[str, Any]) -> None:
    model, stream = learner(entry), rows(entry["stream"])
    xs, ys, ws = (list(column) for column in zip(*stream, strict=True))
    answers = model.predict_learn_many(xs, ys, ws)
    for row, wanted in zip(entry["asked"], entry["probabilities"], strict=True):
        assert in_order(answers[row], entry["stream"]) == pytest.approx(wanted, rel=CLOSE, abs=0.0), row


@pytest.mark.parametrize("entry", of("AODEsr"), ids=title)
def test_leaving_implied_values_out_makes_a_difference(entry: dict[str, Any]) -> None:
    plain, resolving = learner({**entry, "critical": None}), learner(entry)
    differences = 0
    for x, y, w in rows(entry["stream"]):
        differences += plain.predict_learn_one(x, y, w) != resolving.predict_learn_one(x, y, w)
    assert differences > 10


@pytest.mark.parametrize("entry", WEKA["trees"], ids=lambda entry: entry["stream"])
def test_wekas_tree_given_as_parents_answers_as_its_tan(entry: dict[str, Any]) -> None:
    names = list(schema(entry["stream"]).features)
    parents = {names[child]: names[parent] for child, parent in enumerate(entry["parents"]) if parent >= 0}
    model = ODE(parents=parents, prior="laplace", strength=entry["alpha"], schema=schema(entry["stream"]))
    for x, y, w in rows(entry["stream"]):
        model.learn_one(x, y, w)
    for row, wanted in zip(entry["asked"], entry["probabilities"], strict=True):
        answer = model.predict_proba_one(rows(entry["stream"])[row][0])
        assert in_order(answer, entry["stream"]) == pytest.approx(wanted, rel=CLOSE, abs=0.0), row


@pytest.mark.parametrize("entry", WEKA["trees"], ids=lambda entry: entry["stream"])
def test_tans_tree_tells_as_much_as_wekas(entry: dict[str, Any]) -> None:
    # Sums and not edges: where one feature follows from another, two trees can be as good.
    model = TAN(schema=schema(entry["stream"]))
    oracle = OneDependenceOracle()
    for x, y, w in rows(entry["stream"]):
        model.learn_one(x, y, w)
        oracle.learn(x, y, w)
    model.rederive()
    names = list(schema(entry["stream"]).features)
    gain = {frozenset(pair): oracle.conditional_mutual_information(*pair) for pair in combinations(names, 2)}
    wekas = [
        gain[frozenset((names[child], names[parent]))]
        for child, parent in enumerate(entry["parents"])
        if parent >= 0
    ]
    mine = [gain[frozenset(edge)] for edge in model.edges_]
    assert len(mine) == len(wekas) == len(names) - 1
    assert math.fsum(mine) == pytest.approx(math.fsum(wekas), rel=CLOSE)
    assert all(stronger >= weaker - CLOSE for stronger, weaker in pairwise(mine))
    assert {frozenset(edge) for edge in model.parents_.items() if edge[1] is not None} == {
        frozenset(edge) for edge in model.edges_
    }
    assert [name for name, parent in model.parents_.items() if parent is None] == [names[0]]
