"""How far the numbers of A2DE reach, and those of AODE whose super-parents end far from one another."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes import A2DE, AODE
from tests.oracles.aode import A2deOracle, AodeOracle

HEAVY = 2.0**40


def taught_both(model: Any, oracle: Any, samples: list[tuple[dict[str, Any], Any, float]]) -> None:
    for x, y, w in samples:
        model.learn_one(x, y, w)
        oracle.learn(x, y, w)


def parted(
    first: int, shared: int, last: int
) -> tuple[dict[str, Any], list[tuple[dict[str, Any], Any, float]]]:
    """An event whose first values came with "a" alone, and its last with "b" alone; those between rarely, with both.

    So the term of "b" shrinks at the beginning, and that of "a" at the end.
    """
    names = [f"f{number:03}" for number in range(first + shared + last)]
    early, middle, late = names[:first], names[first : first + shared], names[first + shared :]
    heavy, light = HEAVY, HEAVY / 32
    held = []
    for a, b in (("x", "o"), ("o", "x")):
        for value, weight in (("o", heavy), ("x", light)):
            row = dict.fromkeys(early, a) | dict.fromkeys(middle, value) | dict.fromkeys(late, b)
            held.append(({"a": a, "b": b} | row, "u", weight))
    return dict.fromkeys(["a", "b", *names], "x"), held


@pytest.mark.parametrize(("first", "shared", "last"), [(20, 37, 27), (27, 37, 20), (0, 0, 60), (60, 0, 0)])
def test_a_term_that_was_lifted_often_may_still_be_the_largest(first, shared, last):
    x, held = parted(first, shared, last)
    oracle = AodeOracle(min_count=HEAVY / 2)
    model = AODE(min_count=HEAVY / 2)
    taught_both(model, oracle, held)
    assert model.joint_log_likelihood(x) == pytest.approx(oracle.scores(x), rel=1e-12)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (HEAVY, 1.0), (1.0, HEAVY), (2.0**50, 2.0**50), (1e9, 1e-9)])
@pytest.mark.parametrize("labels", ["uv", "uuv", "uvw"])
def test_products_of_triples_do_not_underflow(weights, labels):
    names = [f"f{number:02}" for number in range(26)]
    least = min(weights) / 2
    oracle, model = A2deOracle(min_count=least), A2DE(min_count=least)
    samples = [
        (dict.fromkeys(names, f"v{number}") | {"f03": "v0", "f17": "v0"}, y, weights[number % 2])
        for number, y in enumerate(labels)
    ]
    taught_both(model, oracle, samples)
    x = {name: f"v{place % len(labels)}" for place, name in enumerate(names)} | {"f03": "v0", "f17": "v0"}
    assert model.joint_log_likelihood(x) == pytest.approx(oracle.scores(x), rel=1e-11)


@pytest.mark.parametrize("x", [{"f0": "v0", "f1": "v1", "f2": "v0"}, {"f0": "v0", "f1": "new", "f2": "v1"}])
def test_a_pair_that_holds_nothing_is_no_super_parent_whatever_the_limit(x):
    oracle, model = A2deOracle(min_count=0), A2DE(min_count=0)
    values = [
        ("v0", "v0", "v0"),
        ("v1", "v1", "v0"),
        ("v0", "v0", "v1"),
        ("v1", "v1", "v1"),
        ("v1", "v0", "v0"),
    ]
    samples = [
        (dict(zip(("f0", "f1", "f2"), row, strict=True)), "ab"[n % 2], 1.0) for n, row in enumerate(values)
    ]
    taught_both(model, oracle, samples)
    assert model.joint_log_likelihood(x) == pytest.approx(oracle.scores(x), rel=1e-12)
