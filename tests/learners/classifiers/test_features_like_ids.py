"""Features like ids: a warning names them, and a budget ends the growth of the tables with an error that does."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from stream_bayes import A2DE, AODE, KDB, ODE, SPODE, TAN, HalfLifeChoice, LiveChoice
from stream_bayes.errors import BudgetExceeded, TooManyValues
from tests.learners.training import trained

PAIRED = [AODE, A2DE, SPODE, TAN, ODE, KDB, LiveChoice]


def orders(number: int, *, ids: int = 2) -> list[tuple[dict[str, Any], str]]:
    names = [f"id {place}" for place in range(ids)]
    return [
        (
            {name: f"{name} {row}" for name in names} | {"flag": "yn"[row % 2], "zip": f"z{row % 300}"},
            "ab"[row % 3 == 0],
        )
        for row in range(number)
    ]


@pytest.mark.parametrize("made", PAIRED)
def test_learners_over_pairs_have_a_budget_of_one_gibibyte(made: Any) -> None:
    assert made().memory_budget == 2**30


@pytest.mark.parametrize("many", [False, True])
def test_a_feature_with_a_value_for_every_third_event_is_named_once(many: bool) -> None:
    model, stream = AODE(), orders(800, ids=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, len(stream), 100):
            part = stream[start : start + 100]
            if many:
                model.learn_many([x for x, _ in part], [y for _, y in part])
                continue
            for x, y in part:
                model.learn_one(x, y)
    messages = [str(one.message) for one in caught if one.category is TooManyValues]
    assert len(messages) == 1 and messages[0].startswith("feature 'id 0' has ")
    assert "Discard('id 0')" in messages[0]


@pytest.mark.filterwarnings("error::stream_bayes.errors.TooManyValues")
def test_features_with_few_values_and_short_streams_are_not_named() -> None:
    model = AODE()
    for x, y in orders(499):
        model.learn_one({"id": x["id 0"]}, y)
    model = AODE()
    for x, y in orders(2000):
        model.learn_one({"zip": x["zip"], "flag": x["flag"]}, y)


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.TooManyValues")
@pytest.mark.parametrize("made", [AODE, TAN, LiveChoice])
def test_the_error_of_a_budget_names_the_widest_features_and_nothing_is_learned(made: Any) -> None:
    model = made(memory_budget=2_000_000)
    with pytest.raises(BudgetExceeded) as error:  # noqa: PT012  # where it is raised is no matter
        for x, y in orders(4000):
            clock = model.clock
            model.learn_one(x, y)
    assert model.clock == clock > 50
    message = str(error.value)
    assert (
        "'id 0' (" in message
        and "Discard('id " in message
        and "max_values" in message
        and "schema" in message
    )
    assert model.memory_bytes <= 2_000_000


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.TooManyValues")
def test_half_lives_refuse_an_event_together() -> None:
    model = HalfLifeChoice(AODE(memory_budget=1_000_000), [None, 50.0])
    with pytest.raises(BudgetExceeded):
        trained(model, orders(4000))
    assert len({member.clock for member in model._members}) == 1
