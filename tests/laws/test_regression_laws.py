"""Every regressor obeys the laws of regressors; and one that breaks them is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stream_bayes import BayesianRegression
from stream_bayes.testing import check_learner
from stream_bayes.testing.laws import check_regression_law
from stream_bayes.testing.laws_of_regressors import REGRESSION_LAWS
from stream_bayes.testing.public_learners import regressors
from tests.builds import ASKS_NO_KERNEL, UNCOMPILED
from tests.shares import share_of

REGRESSORS = regressors()


CASES = [
    pytest.param(name, law, id=f"{name}-{law.__name__.replace('_', ' ')}")
    for number, law in enumerate(REGRESSION_LAWS)
    for place, name in enumerate(share_of(REGRESSORS, lambda name: type(REGRESSORS[name]), number))
    if not UNCOMPILED or (place + number) % 3 == 0  # there a third of the classes each law
]


@pytest.mark.parametrize(("name", "law"), CASES)
def test_a_regressor_obeys_its_laws(name: str, law: Callable[..., None]) -> None:
    check_regression_law(law, REGRESSORS[name].clone())


class ForgetsNothing(BayesianRegression):
    def unlearn_one(self, *args: Any, **kwargs: Any) -> None:
        pass


class LearnsWhenItPredicts(BayesianRegression):
    def predict_one(self, x: Any, **kwargs: Any) -> float:
        self.advance(1)
        return super().predict_one(x)


class TakesNamesForTargets(BayesianRegression):
    def learn_one(self, x: Any, y: Any, w: float = 1.0, at: float | None = None) -> None:
        super().learn_one(x, float(y) if isinstance(y, str) else y, w, at)


class Diverges(BayesianRegression):
    def predict_one(self, x: Any, **kwargs: Any) -> float:
        mean = super().predict_one(x)
        return 1e3 * mean if abs(mean) > 1e5 else mean


@ASKS_NO_KERNEL
@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (ForgetsNothing, "sums form a group"),
        (LearnsWhenItPredicts, "forecasting changes nothing"),
        (TakesNamesForTargets, "bad numbers change nothing"),
        (Diverges, "hard streams stay finite"),
    ],
)
def test_a_regressor_that_breaks_a_law_is_noticed(kind: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=f"breaks the law '{law}'"):
        check_learner(kind())
