"""Learners that differ, in kind or in any one setting, are not merged, and say what they differ in."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from stream_bayes import BernoulliNB
from stream_bayes.errors import CannotMerge, NeverEligible
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import changes_nothing
from stream_bayes.testing.public_learners import counting_learners, made, settings_of

SETTINGS = {name: settings_of(name) for name in counting_learners() if name != "sliding-window"}

# Each in all its settings beside the first of them; and each kind beside the next.
PAIRS = [(kind, listed[0], others) for kind, listed in SETTINGS.items() for others in listed[1:]]
KINDS = list(SETTINGS)


def make(name: str, settings: dict[str, Any]) -> BayesClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NeverEligible)
        model: BayesClassifier = made(name, settings)
        return model


def refused(model: BayesClassifier, other: Any) -> str:
    with changes_nothing(model, "refusing to merge"), pytest.raises(CannotMerge) as caught:
        model.merge(other)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "settings", "others"), PAIRS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_learners_that_differ_in_a_setting_name_it(kind: Any, settings: Any, others: Any) -> None:
    one, other = make(kind, settings), make(kind, others)
    mine, theirs = one._get_params(), other._get_params()
    differing = [name for name in mine if mine[name] != theirs[name] and name != "memory_budget"]
    assert differing
    for model, stranger in ((one, other), (other, one)):
        # What can never be merged says so, whatever else differs.
        expected = f"differ in {differing[0]}" if model.traits.is_mergeable else "cannot be merged"
        assert expected in refused(model, stranger)


@pytest.mark.parametrize(("kind", "stranger"), list(zip(KINDS, KINDS[1:] + KINDS[:1], strict=True)))
def test_learners_of_different_kinds_name_both(kind: Any, stranger: Any) -> None:
    models = make(kind, SETTINGS[kind][0]), make(stranger, SETTINGS[stranger][0])
    message = refused(*models)
    assert all(type(model).__name__ in message for model in models)


def test_a_threshold_is_a_setting_too() -> None:
    assert "differ in true_threshold" in refused(BernoulliNB(), BernoulliNB(true_threshold=1))
