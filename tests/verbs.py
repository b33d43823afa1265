"""Trying each verb on a model: what docs/which-learner.md says it can do is what it does here."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes import GaussianProcess, load, save
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadLabel, CannotMerge, NotSupported
from stream_bayes.learners.base.explanation import Contributions, Explanation
from stream_bayes.learners.base.posteriors import NumberPosterior, SharePosterior
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import VERBS
from stream_bayes.workers.summable import learner_of

__all__ = ["can"]

Event = tuple[Any, Any]


def can(verb: str, make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    """Return True if a model does what a verb says; False if it has no such method, or refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rare values, and names that have not come
        try:
            return bool(TRIED[verb](make, events, directory))
        except (NotSupported, CannotMerge):
            return False
        except AttributeError as error:
            if error.name not in METHODS:
                raise  # a bug, and no method that is missing
            return False


METHODS = {
    "unlearn_one",
    "merge",
    "predict_interval_one",
    "posterior",
    "draw",
    "explain_one",
    "learn_many",
    "predict_many",
}


def taught(make: Callable[[], Any], events: Sequence[Event]) -> Any:
    model = make()
    for x, y in events:
        model.learn_one(x, y)
    return model


def unlearns(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model = taught(make, events)
    x, y = events[-1]
    model.unlearn_one(x, y)
    return True


def merges(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model = taught(make, events[:20]).merge(taught(make, events[20:]))
    return type(model + taught(make, events)) is type(model)


def has_intervals(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model = taught(make, events)
    x = events[-1][0]
    if isinstance(model, BayesRegressor):
        low, high = model.predict_interval_one(x)
        return low < model.predict_one(x) < high
    intervals, answer = model.predict_interval_one(x), model.predict_proba_one(x)
    return intervals.keys() == answer.keys() and all(
        0.0 <= low <= answer[label] <= high <= 1.0 for label, (low, high) in intervals.items()
    )


def has_posteriors(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model = taught(make, events)
    for name in dict.fromkeys(name for x, _ in events for name in x):
        try:
            posterior = model.posterior(name)
        except NotSupported:
            continue  # in a network, it is given its parents, which are more than the class
        each = posterior[model.classes_[0]] if isinstance(posterior, dict) else posterior
        return isinstance(each, SharePosterior | NumberPosterior)
    return False


def has_draws(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model, x = taught(make, events), events[-1][0]
    if isinstance(model, GaussianProcess):
        return len(model.draw_many([x], np.random.default_rng(0))) == 1
    first, second = (model.draw(np.random.default_rng(0)) for _ in range(2))
    if isinstance(model, BayesRegressor):
        return bool(first.predict_one(x) == second.predict_one(x))
    answer = first.predict_proba_one(x)
    assert answer.keys() == model.predict_proba_one(x).keys()
    assert set(model.simulate_one(x, 5, np.random.default_rng(0))) <= answer.keys()
    return bool(answer == second.predict_proba_one(x))


def explains(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    why = taught(make, events).explain_one(events[-1][0])
    return isinstance(why, Explanation | Contributions) and bool(why.ranked())


def has_half_life(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    return "half_life" in inspect.signature(type(make())).parameters


def learns_unlabelled(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model = taught(make, events)
    try:
        for x, _ in events:
            model.learn_one(x, None)
    except BadLabel:
        return False
    return True


def takes_many(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    rows, labels = [x for x, _ in events], [y for _, y in events]
    model = make()
    model.learn_many(rows, labels)
    return len(model.predict_many(rows)) == len(rows)


def loads_alone(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    model = taught(make, events)
    save(model, directory / "model.zip")
    loaded = load(directory / "model.zip")
    assert type(loaded) is type(model)
    x = events[-1][0]
    predict = "predict_one" if isinstance(model, BayesRegressor) else "predict_proba_one"
    assert getattr(loaded, predict)(x) == getattr(model, predict)(x), shown(x)
    return True


def sums_shards(make: Callable[[], Any], events: Sequence[Event], directory: Path) -> bool:
    learner_of(make())
    return True


TRIED = dict(
    zip(
        VERBS,
        (
            unlearns,
            merges,
            has_intervals,
            has_posteriors,
            has_draws,
            explains,
            has_half_life,
            learns_unlabelled,
            takes_many,
            loads_alone,
            sums_shards,
        ),
        strict=True,
    )
)
