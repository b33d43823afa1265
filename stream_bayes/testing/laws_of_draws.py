"""The law of draws: the mean answer of drawn tables, each weighted by its P(x), is the answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import require
from stream_bayes.testing.laws_of_predictions import learn_all
from stream_bayes.testing.sample_streams import Streams

__all__ = ["draws_average_to_the_answer"]

PROBES, DRAWS = 8, 30  # draws of each probe
MOST_FEATURES = 4  # of a probe: those with more have P(x) by few draws
ERRORS = 4.0  # standard errors


def draws_average_to_the_answer(learner: BayesClassifier, streams: Streams) -> None:
    """Check that the mean answer of drawn tables, each weighted by its P(x), is the answer.

    P(x, y) by one draw can be so large that the plain mean of a few is no estimate. So every second draw is one given
    x, and a draw weighs 2 / (1 + P(x by the draw) / P(x)): no weight times P(x) is above twice the mean.
    """
    model, rng = learn_all(learner.clone(), streams.samples(10)), np.random.default_rng(0)
    totals: list[float] = []
    shares: list[float] = []
    for full in streams.probes(PROBES)[:PROBES]:
        probe = dict([*full.items()][:MOST_FEATURES])
        answer = model.predict_proba_one(probe)
        best = max(answer, key=answer.__getitem__)
        total = float(np.logaddexp.reduce([*model.joint_log_likelihood(probe).values()]))
        for number in range(DRAWS):
            drawn: Any = model.draw_given(probe, rng) if number % 2 else model.draw(rng)
            by_label = drawn.joint_log_likelihood(probe)
            require(by_label.keys() == answer.keys(), f"{probe!r}: a draw has the classes {list(by_label)}")
            parts = {label: math.exp(min(log - total, 700.0)) for label, log in by_label.items()}
            weight = 2.0 / (1.0 + math.fsum(parts.values()))
            totals.append(weight * math.fsum(parts.values()) - 1.0)
            shares.append(weight * parts[best] - answer[best])
    for what, away in (("P(x)", totals), ("P(x, y) of the predicted class, by P(x),", shares)):
        mean, error = float(np.mean(away)), float(np.std(away)) / math.sqrt(len(away))
        require(
            abs(mean) <= ERRORS * error + 1.0 / len(away),
            f"{what} by {len(away)} draws is {mean:+.3f} beside it, {abs(mean) / max(error, 1e-9):.1f} errors",
        )
