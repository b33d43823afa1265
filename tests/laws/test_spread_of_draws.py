"""The variance that an interval is made of: it is that of draws, and does not rise when all weights double."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stream_bayes.learners.base.pair_classifier import PairClassifier
from stream_bayes.learners.catalogue import LEARNERS, declaration_of
from stream_bayes.learners.factory import make_learner
from tests.builds import EVERYTHING

DRAWS = 240 if EVERYTHING else 120
ERRORS = 4.0
ASKED: dict[str, dict[str, Any]] = {
    "names": {"f0": "a", "f1": "b", "f2": "a"},
    "numbers": {"n0": 0.3, "n1": 0.2},  # within two deviations of each class
    "words": {"a": 1, "d": 1},
}
# What a learner needs so that nothing but the weights of its tables changes when they double.
HELD: dict[str, dict[str, Any]] = {
    "spode": {"parent": "f0"},
    "aode": {"min_count": 1},
    "a2de": {"min_count": 1},
    "ode": {"parents": {"f1": "f0", "n1": "n0"}},
    "bayes-net": {"structure": None},
    "sliding-window": {"learner": {"kind": "nb", "arguments": {}}, "size": 500},
    "half-life-choice": {
        "learner": {"kind": "nb", "arguments": {}},
        "half_lives": [None],
        "combine": "mixture",
    },
    "model-per-key": {"learner": {"kind": "nb", "arguments": {}}, "key": "who", "weight": 1e9},
}
# AODE and A2DE look at their super-parents as one, as these tell of the same events; draws take them as independent.
# A number between two bins is looked at as if all of it were in one, and is drawn in both.
WIDER = {"aode", "a2de"}
# Draws of logistic regression have no P(x, y); the experts of AdaptiveBayes get other weights when events do.
LEFT_OUT = {"draws": ["bayesian-logistic"], "intervals": ["adaptive"]}


def made(name: str, **arguments: Any) -> Any:
    return make_learner(name, HELD.get(name, {}) | arguments)


def kinds_of(name: str) -> list[str]:
    inputs = getattr(made(name), "inputs", {"nominal", "numeric"})
    if "bag" in inputs:
        return ["words"]
    kinds = [kind for kind, each in (("names", "nominal"), ("numbers", "numeric")) if each in inputs]
    return [kind for kind in kinds if (name, kind) != ("spode", "numbers")]  # its super-parent is a name


def cases(verb: str) -> Iterator[Any]:
    for name in LEARNERS:
        if verb in declaration_of(name).cannot or name in LEFT_OUT[verb]:
            continue
        for kind in kinds_of(name):
            for arguments in ({}, {"k": 2}) if name == "kdb" else ({},):
                yield pytest.param(name, kind, arguments, id=f"{name}{arguments or ''}, {kind}")


def events(kind: str, number: int, seed: int) -> list[tuple[dict[str, Any], str]]:
    """Return events of two classes; each name and pair of names of what is asked is frequent in both."""
    rng, rows = np.random.default_rng(seed), []
    for place in range(number):
        y, x = place % 2, dict[str, Any]()
        if kind == "names":
            shares = [0.45, 0.4, 0.15] if y else [0.4, 0.45, 0.15]
            x = {f"f{k}": str(rng.choice(["a", "b", "c"], p=shares)) for k in range(3)}
        elif kind == "numbers":
            x = {f"n{k}": float(rng.normal(0.7 * y, 1.0)) for k in range(2)}
        else:
            x = {w: int(rng.integers(1, 3)) for w in "abcdef" if rng.random() < (0.35, 0.6)[ord(w) + y & 1]}
        rows.append((x, "pq"[y]))
    return rows


def taught(model: Any, rows: list[tuple[dict[str, Any], str]], weight: float = 1.0) -> Any:
    for x, y in rows:
        model.learn_one(x, y, weight)
    return model


@pytest.mark.parametrize(("name", "kind", "arguments"), [*cases("draws")])
def test_the_spread_of_draws_is_that_of_the_second_look(
    name: str, kind: str, arguments: dict[str, Any]
) -> None:
    prior: dict[str, Any] = {"class_prior": "uniform"}
    if name == "sliding-window":
        arguments, prior = {"learner": {"kind": "nb", "arguments": prior}}, {}
    model, rng = taught(made(name, **prior, **arguments), events(kind, 60, 1)), np.random.default_rng(0)
    x = ASKED[kind]
    total = np.logaddexp.reduce([*model.joint_log_likelihood(x).values()])
    f = np.empty((DRAWS, 2))
    for number in range(DRAWS):
        drawn = model.draw_given(x, rng) if number % 2 else model.draw(rng)
        f[number] = np.exp(np.array([*drawn.joint_log_likelihood(x).values()]) - total)
    weights = (2.0 / (1.0 + f.sum(axis=1)))[:, None]  # half of the draws are given x

    def of_draws(rows: Any) -> float:
        """Return the sum of log E[f^2] / E[f]^2 over both classes: the variance of the log-odds."""
        mean, square = ((weights * power)[rows].mean(axis=0) for power in (f, f**2))
        return float(np.log(square / mean**2).sum())

    variance = model.answer_with_spread(x)["p"][1]
    error = float(np.std([of_draws(rng.integers(DRAWS, size=DRAWS)) for _ in range(60)]))
    away = variance - of_draws(np.arange(DRAWS))
    assert away >= -ERRORS * error
    is_soft = kind == "numbers" and issubclass(LEARNERS[name], PairClassifier)
    if name not in WIDER and not is_soft:
        assert away <= ERRORS * error


def spread_of(model: Any, x: dict[str, Any]) -> float:
    if hasattr(model, "answer_with_spread"):
        return float(model.answer_with_spread(x)["p"][1])
    answer, (low, high) = model.predict_proba_one(x)["p"], model.predict_interval_one(x)["p"]
    ends = [math.log(p) - math.log1p(-p) for p in (low, answer, high)]
    return ends[2] - ends[0]


@pytest.mark.parametrize(("name", "kind", "arguments"), [*cases("intervals")])
def test_twice_the_weight_is_no_more_doubt(name: str, kind: str, arguments: dict[str, Any]) -> None:
    for seed in range(4):
        rows = events(kind, 100, seed)
        once, twice = (
            spread_of(taught(made(name, **arguments), rows, weight), ASKED[kind]) for weight in (1.0, 2.0)
        )
        assert twice <= once * (1.0 + 1e-12)
        if name != "nearest-neighbours":  # they are as many as there are
            assert twice < 0.95 * once
