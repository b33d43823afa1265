"""Bayesian linear regression beside River's: 20 numbers, each event predicted and then learned, in processor time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from time import process_time
from typing import Any

import numpy as np
from river import linear_model

from benchmarks.harness import Case, Contest, Events, Learner, Side
from benchmarks.speed.naive_bayes import FEATURES, decoded
from stream_bayes import BayesianRegression

__all__ = ["cases"]

TRAINED = 2_000
STREAM = 5_000

Step = Callable[[Learner, Any], object]


@cache
def lines(rows: int, seed: int) -> list[str]:
    """Return events, a line of JSON each: a sum of the numbers and noise."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(rows, len(FEATURES))).round(4)
    targets = numbers @ np.random.default_rng(22).normal(size=len(FEATURES)) + rng.normal(size=rows)
    return [
        json.dumps([dict(zip(FEATURES, row, strict=True)), target])
        for row, target in zip(numbers.tolist(), targets.tolist(), strict=True)
    ]


def contest(ours: Step, peers: Step) -> Contest:
    """Return ours against River's, both trained with the same events; a step predicts, then the event is learned."""

    def side(model: Learner, predict: Step, events: int) -> Side:
        for x, y in decoded(lines(TRAINED, 1)):
            model.learn_one(x, y)

        def run(part: Events) -> float:
            """Return seconds of processor time."""
            begun = process_time()
            for x, y in part:
                predict(model, x)
                model.learn_one(x, y)
            return process_time() - begun

        return Side(events, run, decoded)

    peer = side(linear_model.BayesianLinearRegression(), peers, 2_000)
    return Contest(lines(STREAM, 2), side(BayesianRegression(), ours, 5_000), peer)


def mean(model: Learner, x: Any) -> object:
    return model.predict_one(x)


def rivers_normal(model: Learner, x: Any) -> object:
    return model.predict_one(x, with_dist=True)


def students_t(model: Learner, x: Any) -> object:
    return model.predict_distribution_one(x)


def cases() -> list[Case]:
    """Return the report's lines."""
    peer, work = "River BayesianLinearRegression", "BayesianRegression"
    return [
        Case(f"{work} predict and learn, 20 numbers", partial(contest, mean, mean), peer, limit=6.0),
        Case(f"{work} against River's", partial(contest, mean, mean), peer, 20.0),
        Case(f"{work} distribution and learn, 20 numbers", partial(contest, students_t, rivers_normal), peer),
    ]
