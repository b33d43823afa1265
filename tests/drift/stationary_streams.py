"""A world that stays as it is: a learner that follows drift beside the same learner alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stream_bayes import AODE, TAN, DiscreteNetwork, DriftAdaptive, NaiveBayes
from stream_bayes.learners.base.class_probabilities import log_loss
from tests.concepts import drawn_network, stream_of

__all__ = ["LEARNERS", "NETWORKS", "check_staying", "network_of"]

DOUBT = 4.0  # standard errors of the mean difference that count as chance
LEARNERS: dict[str, Callable[[], Any]] = {"TAN": TAN, "AODE": AODE, "NaiveBayes": NaiveBayes}
NETWORKS: dict[str, tuple[int, int]] = {  # variables, and labels of each
    "few variables": (6, 3),
    "many labels": (8, 5),
    "many variables": (20, 2),
}


def check_staying(network: DiscreteNetwork, learner: str, seed: int, events: int) -> DriftAdaptive:
    """At most one swap, and a cumulative log-loss that is no higher but by chance."""
    target = max(network.structure, key=lambda name: len(network.structure.markov_blanket(name)))
    model, plain = DriftAdaptive(LEARNERS[learner]()), LEARNERS[learner]()
    gains = squares = 0.0
    for x, y in stream_of([(network, events)], target, seed):
        gain = log_loss(model.predict_learn_one(x, y), y) - log_loss(plain.predict_learn_one(x, y), y)
        gains += gain
        squares += gain * gain
    assert model.clock == events
    assert model.generation <= 1, model.log.json_lines()
    assert gains <= DOUBT * math.sqrt(squares), (gains, squares, model.log.json_lines())
    return model


def network_of(name: str, seed: int) -> DiscreteNetwork:
    """A network of one of the kinds."""
    variables, labels = NETWORKS[name]
    return drawn_network(variables, seed, labels=labels)
