"""The value of information: by how much a feature, or the label, would lower the expected cost of a decision.

It is that of one decision about one event, by any classifier with P(x, y); `InfluenceDiagram.value_of` is that of a
policy over decisions in an order, by a network whose utilities may depend on any of its variables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.errors import BadValue, NotLearned, NotSupported, UnknownFeature
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.learners.wrappers.possible_values import weighed_values

__all__ = ["least_risk", "value_of_feature", "value_of_label"]

LabelProbabilities = Mapping[Any, float]


def least_risk(costs: Costs, answer: LabelProbabilities) -> float:
    """Return the expected cost of the best decision."""
    return min(costs.risk(answer).values())


def value_of_label(costs: Costs, answer: LabelProbabilities) -> float:
    """Return the expected cost that the label would save."""
    risk_left = math.fsum(p * least_risk(costs, {label: 1.0}) for label, p in answer.items())
    return max(0.0, least_risk(costs, answer) - risk_left)


def value_of_feature(costs: Costs, model: Any, x: Mapping[Any, Any], feature: Any) -> float:
    """Return the expected cost that a feature would save.

    Raises
    ------
    NotSupported
        For a model without joint probabilities.
    """
    _check(model, x, feature)
    labels = list(model.classes_)
    cost = np.array([[costs.cost(decision, label) for label in labels] for decision in costs.decisions])

    @cache
    def score(value: Any) -> NDArray[np.float64]:
        return np.array(list(model.joint_log_likelihood({**x, feature: value}).values()))

    def decide(value: Any) -> int:
        scores = score(value)
        return int((cost @ np.exp(scores - scores.max())).argmin())

    values = weighed_values(model, x, feature, score, decide)
    scores = np.array([score(value) for value, _ in values])
    joint = np.exp(scores - scores.max()) * np.array([[measure] for _, measure in values])
    joint /= joint.sum()
    risks = joint @ cost.T
    if len(set(risks.argmin(axis=1).tolist())) == 1:
        return 0.0  # and not what rounding leaves
    return max(0.0, float(risks.sum(axis=0).min() - risks.min(axis=1).sum()))


def _check(model: Any, x: Mapping[Any, Any], feature: Any) -> None:
    """Raise an error unless a model has P(y, x, value) of a feature that an event lacks."""
    # To isinstance, a pipeline of River is whatever it ends in.
    if not issubclass(type(model), BayesClassifier) or not model.scores_events:
        raise NotSupported(
            f"a {type(model).__name__} has no joint probabilities to weigh the values of {shown(feature)} by; "
            "NaiveBayes, LDA, QDA, networks and the learners over pairs have, alone and without steps before them"
        )
    if not is_missing(x.get(feature)):
        raise BadValue(f"the event has {shown(feature)} already, as {shown(x[feature])}: leave it out")
    if not model.classes_:
        raise NotLearned("no class is known yet, so that nothing can be worth anything")
    features = model.store.encoder.features
    if feature not in features:
        raise UnknownFeature(f"no feature {shown(feature)} is known; there are {shown(list(features))}")
