"""A choice of half-life for numbers: one regressor with several, of which the best answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stream_bayes.core.encoding._targets import read_target
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import is_number
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import argument_names
from stream_bayes.learners.base.regressor import BayesRegressor, X
from stream_bayes.learners.regressors.linear import BayesianRegression
from stream_bayes.learners.wrappers.half_life_choice import OfHalfLives
from stream_bayes.learners.wrappers.wrapped_regressors import RegressorWrapper, check_regressor

__all__ = ["HalfLifeRegression"]

MOST_LOSS = 20.0  # nats by which the best may be ahead at one event, so that no event decides alone


class HalfLifeRegression(OfHalfLives[BayesRegressor], RegressorWrapper):  # type: ignore[override]  # arguments as properties
    """A regressor once for each of several half-lives; how fast to forget is chosen live by how well each predicts.

    Each target is predicted by all before they learn it. The loss of each, minus the log density of the target, fades;
    the one with the least loss answers.

    Parameters
    ----------
    learner
        A `BayesianRegression`, or another regressor with `half_life=`. It is the template of one for each half-life and
        learns nothing itself.
    half_lives
        The half-lives, in events; None forgets nothing. Of equal losses the first leads.
    loss_half_life
        The number of learned events after which a loss counts half.

    Notes
    -----
    At one event a loss counts at most 20 nats more than the least, and an event at which one has no density yet does
    not count. Promises: the same events from the same state give the same answers. Time and memory are those of as many
    learners. It cannot unlearn, or be merged. `AdaptiveRegression` mixes half-lives instead, and needs no list.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression
    >>> model = HalfLifeRegression(BayesianRegression(), [None, 20.0])
    >>> for k in range(300):
    ...     model.learn_one({"wind": k % 7}, (20.0 if k < 200 else 5.0) + k % 7 + 0.1 * (k % 3))
    >>> model.leader_.half_life, round(model.predict_one({"wind": 3}), 1)
    (20.0, 8.6)
    """

    def __init__(
        self,
        learner: BayesRegressor,
        half_lives: Sequence[float | None] = (None, 10_000.0, 1_000.0, 100.0),
        loss_half_life: float = 100.0,
    ) -> None:
        self.learner = learner
        self.half_lives = half_lives
        self.loss_half_life = loss_half_life
        check_regressor(learner)
        if "half_life" not in (argument_names(type(learner).__init__) or ()):
            raise BadValue(f"a {type(learner).__name__} has no half_life; take BayesianRegression")
        self._make_members()

    def learn_one(self, x: X, y: float, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""
        target = read_target(y)
        densities = [each.predict_distribution_one(x).log_density(target) for each in self._members]
        for number in self._order_of_learning():
            self._members[number].learn_one(x, y, w)
        if w and all(map(math.isfinite, densities)):
            most = max(densities)
            self._add_losses([float(w) * min(most - density, MOST_LOSS) for density in densities])
        self._choose_leader()

    @property
    def model_(self) -> BayesRegressor:
        """The regressor with the half-life that leads."""
        return self._members[self._leader]

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": BayesianRegression(), "half_lives": (None, 50.0)}

    # -- saving -------------------------------------------------------------------------------------------------------

    def _regressors(self) -> dict[str, BayesRegressor]:
        return {str(number): each for number, each in enumerate(self._members)}

    def derived_state(self) -> dict[str, Any]:
        return {"losses": list(self._losses), "leader": self._leader, "since": self._since}

    def _take(self, regressors: Mapping[str, BayesRegressor], derived: Mapping[str, Any]) -> None:
        names = [*self._regressors()]
        expect([*regressors] == names, "it does not hold a regressor for each half-life")
        members, losses = [regressors[name] for name in names], derived["losses"]
        halves = zip(members, self.half_lives, strict=True)
        expect(all(each.half_life == half for each, half in halves), "its half-lives are others")
        expect(len(losses) == len(names) and all(map(is_number, losses)), "it has no loss for each half-life")
        expect(len({each.clock for each in members}) == 1, "its regressors have learned different events")
        expect(derived["leader"] in range(len(names)), "its leader is none of its half-lives")
        expect(derived["since"] in range(members[0].clock + 1), "its leader leads from a time to come")
        self._members, self._losses = members, [float(loss) for loss in losses]
        self._leader, self._since = derived["leader"], derived["since"]
