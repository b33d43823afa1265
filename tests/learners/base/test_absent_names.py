"""A feature that a learner's arguments name, and that never comes, raises one warning."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from stream_bayes import ODE, SPODE, TAN
from stream_bayes.core.structures.named_features import PATIENCE
from stream_bayes.errors import NeverMet

EVENTS = [
    ({"sky": "grey" if n % 2 else "blue", "wind": "east" if n % 3 else "west"}, "ny"[n % 2])
    for n in range(PATIENCE)
]


def named(name: str) -> list[Any]:
    return [SPODE(parent=name), TAN(root=name), ODE(parents={"wind": name}), ODE(parents={name: "wind"})]


def warnings_of(model: Any, events: list[tuple[dict[str, Any], Any]]) -> list[str]:
    """What is warned of while the model learns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x, y in events:
            model.learn_one(x, y)
    assert all(warning.category is NeverMet for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("model", named("skye"), ids=repr)
def test_a_name_that_never_comes_is_told_of_once_with_the_nearest(model: Any) -> None:
    assert warnings_of(model, EVENTS[:-1]) == []
    found = warnings_of(
        model, EVENTS[-1:] + EVENTS[: PATIENCE // 4]
    )  # TAN looks again at a tenth more events
    assert len(found) == 1 and " 'skye' has not come in 1," in found[0]
    assert found[0].endswith("events, and is left out until it does; did you mean 'sky'? There are sky, wind")
    assert warnings_of(model, EVENTS) == []
    assert warnings_of(type(model).from_state(model.state()), EVENTS) == []  # nor does a loaded one


@pytest.mark.parametrize("model", named("sky"), ids=repr)
def test_of_names_that_come_nothing_is_told(model: Any) -> None:
    assert warnings_of(model, EVENTS * 2) == []


@pytest.mark.parametrize("model", named("skye"), ids=repr)
def test_many_at_once_are_told_of_as_one_by_one(model: Any) -> None:
    with pytest.warns(NeverMet, match="'skye' has not come"):
        model.learn_many([x for x, _ in EVENTS * 2], [y for _, y in EVENTS * 2])
