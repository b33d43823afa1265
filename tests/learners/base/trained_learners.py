"""Learners of each kind that have learned a little, and a check that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stream_bayes import (
    BernoulliNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
)

NAMED = {"sky": "grey", "heat": 20.5}
BAG = {"free": 2, "pills": 1}

LEARNERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "NaiveBayes": (NaiveBayes, NAMED),
    "NaiveBayes, schema": (
        lambda **a: NaiveBayes(schema=Schema({"sky": Nominal(), "heat": Numeric()}), **a),
        NAMED,
    ),
    "NaiveBayes, fading": (lambda **a: NaiveBayes(half_life=9.0, **a), NAMED),
    "GaussianNB": (GaussianNB, {"heat": 20.5, "wind": 3}),
    "MultinomialNB": (MultinomialNB, BAG),
    "ComplementNB": (ComplementNB, BAG),
    "BernoulliNB": (BernoulliNB, BAG),
}
EACH = pytest.mark.parametrize("name", LEARNERS)


def trained(name: str) -> tuple[Any, dict[str, Any]]:
    make, x = LEARNERS[name]
    model = make()
    model.learn_one(x, "rain")
    model.learn_one(x, "sun", w=2)
    return model, x


def held(model: Any) -> tuple[Any, ...]:
    """Every byte of a learner's state, and the memory it says it takes."""
    state = model.state()
    arrays = {key: (array.dtype.str, array.shape, array.tobytes()) for key, array in state["arrays"].items()}
    return repr({key: value for key, value in state.items() if key != "arrays"}), arrays, model.memory_bytes


def refuses(model: Any, error: type[Exception], words: str, act: Callable[[], object]) -> None:
    before = held(model)
    with pytest.raises(error) as caught:
        act()
    missing = [word for word in words.split(" ... ") if word not in str(caught.value)]
    assert not missing, (missing, str(caught.value))
    assert held(model) == before
