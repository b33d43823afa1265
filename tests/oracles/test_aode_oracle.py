"""The oracle of the one-dependence family against WEKA, and against sums by hand where WEKA has nothing to say."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from tests.oracles.aode import A2deOracle, AodeOracle, OdeOracle, OneDependenceOracle, SpodeOracle
from tests.oracles.weka.make_golden import GOLDEN, STREAMS

WEKA = json.loads(GOLDEN.read_text(encoding="utf-8"))
CLOSE = 1e-9


def names_of(features: int) -> list[str]:
    return [f"f{number:02}" for number in range(features)]


@cache
def events(stream: str) -> list[tuple[dict[str, int | None], int, float]]:
    rows = WEKA["streams"][stream]["rows"]
    return [(dict(zip(names_of(len(codes)), codes, strict=True)), y, w) for w, y, codes in rows]


def declared(stream: str) -> dict[str, Any]:
    about = WEKA["streams"][stream]
    sizes = zip(names_of(len(about["values"])), about["values"], strict=True)
    return {
        "declared": {name: tuple(range(size)) for name, size in sizes},
        "declared_classes": tuple(range(about["classes"])),
    }


def oracle_of(entry: dict[str, Any]) -> AodeOracle:
    meaning = {key: entry[key] for key in ("prior", "strength", "min_count", "critical", "weights")}
    return AodeOracle(**declared(entry["stream"]), **meaning)


def title(entry: dict[str, Any]) -> str:
    return f"{entry['classifier']} {entry['options']} on {entry['stream']}"


@pytest.mark.parametrize("entry", WEKA["averaged"], ids=title)
def test_the_oracle_says_what_weka_says(entry: dict[str, Any]) -> None:
    oracle = oracle_of(entry)
    answers = {}
    for row, (x, y, w) in enumerate(events(entry["stream"])):
        if row in entry["asked"]:
            answers[row] = list(oracle.probabilities(x).values())
        oracle.learn(x, y, w)
    for row, wanted in zip(entry["asked"], entry["probabilities"], strict=True):
        assert answers[row] == pytest.approx(wanted, rel=CLOSE, abs=0.0), f"row {row}"


def learned(oracle: OneDependenceOracle, stream: str) -> OneDependenceOracle:
    for x, y, w in events(stream):
        oracle.learn(x, y, w)
    return oracle


@pytest.mark.parametrize("entry", WEKA["trees"], ids=lambda entry: entry["stream"])
def test_a_given_tree_says_what_wekas_tan_says(entry: dict[str, Any]) -> None:
    names = names_of(len(entry["parents"]))
    parents = {
        name: None if parent < 0 else names[parent]
        for name, parent in zip(names, entry["parents"], strict=True)
    }
    oracle = OdeOracle(prior="laplace", strength=entry["alpha"], parents=parents, **declared(entry["stream"]))
    learned(oracle, entry["stream"])
    for row, wanted in zip(entry["asked"], entry["probabilities"], strict=True):
        x, _, _ = events(entry["stream"])[row]
        assert list(oracle.probabilities(x).values()) == pytest.approx(wanted, rel=CLOSE, abs=0.0)


@pytest.mark.parametrize("entry", WEKA["trees"], ids=lambda entry: entry["stream"])
def test_wekas_tree_has_the_greatest_sum_of_conditional_mutual_information(entry: dict[str, Any]) -> None:
    names = names_of(len(entry["parents"]))
    oracle = learned(OneDependenceOracle(), entry["stream"])
    gain = {pair: oracle.conditional_mutual_information(*pair) for pair in combinations(names, 2)}
    edges = [(child, parent) for child, parent in enumerate(entry["parents"]) if parent >= 0]
    wekas = [gain[names[min(edge)], names[max(edge)]] for edge in edges]
    greatest = []
    tree = {name: name for name in names}  # which tree of the forest a feature is in
    for one, other in sorted(gain, key=lambda pair: -gain[pair]):
        if tree[one] != tree[other]:
            greatest.append(gain[one, other])
            tree = {name: tree[one] if its == tree[other] else its for name, its in tree.items()}
    # Sums and not edges: where one feature follows from another, two trees can be as good.
    assert len(wekas) == len(greatest) == len(names) - 1
    assert math.fsum(wekas) == pytest.approx(math.fsum(greatest), rel=CLOSE)


def test_the_streams_in_the_golden_file_are_those_of_the_seeds() -> None:
    made = {
        stream.name: {"classes": stream.classes, "values": stream.values, "rows": stream.rows}
        for stream in STREAMS
    }
    assert json.loads(json.dumps(made)) == WEKA["streams"]


def test_the_golden_file_meets_every_rule() -> None:
    met: dict[str, int] = dict.fromkeys(
        ("no super-parent", "some", "all", "subsumed", "subsumed, no super-parent", "not enough to subsume"),
        0,
    )
    for entry in WEKA["averaged"]:
        if entry["weights"]:
            continue  # WAODE knows no limit and leaves nothing out
        oracle = oracle_of(entry)
        for row, (x, y, w) in enumerate(events(entry["stream"])):
            present = {name: value for name, value in x.items() if value is not None}
            if row in entry["asked"]:
                members = oracle.members(present)
                kept = oracle.resolved(present)
                met["no super-parent"] += not members[0].parents
                met["some"] += bool(members[0].parents) and len(members) < len(kept)
                met["all"] += len(members) == len(present)
                met["subsumed"] += len(kept) < len(present)
                met["subsumed, no super-parent"] += len(kept) < len(present) and not members[0].parents
                if oracle.critical is not None:
                    loose = AodeOracle(**(vars(oracle) | {"critical": 0}))
                    met["not enough to subsume"] += len(loose.resolved(present)) < len(kept)
            oracle.learn(x, y, w)
    assert all(met.values()), met


# --- by hand: 4 events, the m-estimate with 1; a has 3 declared values, b and c the two that are met ---

HAND = [
    ({"a": 0, "b": 0, "c": 0}, "yes", 1.0),
    ({"a": 0, "b": 0, "c": 1}, "yes", 2.0),
    ({"a": 0, "b": 1, "c": 0}, "no", 1.0),
    ({"a": 1, "b": 0}, "no", 1.0),
]
ASKED = {"a": 0, "b": 0, "c": 0}


def by_hand(oracle: OneDependenceOracle) -> OneDependenceOracle:
    oracle.declared = {"a": (0, 1, 2)}
    for x, y, w in HAND:
        oracle.learn(x, y, w)
    return oracle


def test_one_super_parent_by_hand() -> None:
    scores = by_hand(SpodeOracle(parent="a")).scores(ASKED)
    assert math.exp(scores["yes"]) == pytest.approx((3 + 1 / 6) / 6 * (3 + 1 / 2) / 4 * (1 + 1 / 2) / 4)
    assert math.exp(scores["no"]) == pytest.approx((1 + 1 / 6) / 6 * (0 + 1 / 2) / 2 * (1 + 1 / 2) / 2)


def test_a_super_parent_that_is_missing_leaves_naive_bayes() -> None:
    scores = by_hand(SpodeOracle(parent="a")).scores({"a": None, "c": 0})
    assert math.exp(scores["yes"]) == pytest.approx((3 + 1 / 2) / 6 * (1 + 1 / 2) / 4)
    assert math.exp(scores["no"]) == pytest.approx((2 + 1 / 2) / 6 * (1 + 1 / 2) / 2)


def test_pairs_of_super_parents_by_hand() -> None:
    scores = by_hand(A2deOracle(min_count=1)).scores(ASKED)
    # (a, b) is present in all 5, (a, c) and (b, c) in 4; their cells are 2 classes x 3 x 2 and 2 classes x 2 x 2
    yes = [
        (3 + 1 / 12) / 6 * (1 + 1 / 2) / 4,
        (1 + 1 / 12) / 5 * (1 + 1 / 2) / 2,
        (1 + 1 / 8) / 5 * (1 + 1 / 3) / 2,
    ]
    no = [
        (0 + 1 / 12) / 6 * (0 + 1 / 2) / 1,
        (1 + 1 / 12) / 5 * (0 + 1 / 2) / 2,
        (0 + 1 / 8) / 5 * (0 + 1 / 3) / 1,
    ]
    assert math.exp(scores["yes"]) == pytest.approx(sum(yes) / 3)
    assert math.exp(scores["no"]) == pytest.approx(sum(no) / 3)


def test_without_a_heavy_pair_pairs_fall_back_on_single_super_parents() -> None:
    # b=0 weighs 4, a=0 too; together they weigh 3
    assert by_hand(A2deOracle(min_count=4)).scores(ASKED) == by_hand(AodeOracle(min_count=4)).scores(ASKED)
    assert by_hand(A2deOracle(min_count=3)).scores(ASKED) != by_hand(AodeOracle(min_count=3)).scores(ASKED)


def test_an_impossible_event_leaves_the_prior() -> None:
    oracle = AodeOracle(strength=0.0, min_count=1)
    for x, y in (({"a": 0, "b": 1}, "yes"), ({"a": 1, "b": 0}, "no"), ({"a": 1, "b": 0}, "no")):
        oracle.learn(x, y)
    assert oracle.probabilities({"a": 0, "b": 0}) == pytest.approx({"yes": 1 / 3, "no": 2 / 3})


def test_information_by_hand() -> None:
    oracle = OneDependenceOracle()
    for a, b, y, w in (
        (0, 0, 0, 2.0),
        (1, 1, 0, 2.0),
        (0, 0, 1, 1.0),
        (0, 1, 1, 1.0),
        (1, 0, 1, 1.0),
        (1, 1, 1, 1.0),
    ):
        oracle.learn({"a": a, "b": b}, y, w)
    oracle.learn({"a": 0}, 1, 9.0)  # b is missing, so of no account for the pair
    assert oracle.conditional_mutual_information("a", "b") == pytest.approx(math.log(2) / 2)
    assert oracle.mutual_information("b") == pytest.approx(0.0, abs=1e-12)
    assert oracle.mutual_information("a") > 0.01
