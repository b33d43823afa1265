"""The value of information: by how much a feature, or the label, would lower the expected cost of a decision.

It is that of one decision about one event, by any classifier with P(x, y); `InfluenceDiagram.value_of` is that of a
policy over decisions in an order, by a network whose utilities may depend on any of its variables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.errors import BadValue, NotLearned, NotSupported, UnknownFeature
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.wrappers.decision_rules import Costs

__all__ = ["least_risk", "value_of_feature", "value_of_label"]

Answer = Mapping[Any, float]


def least_risk(costs: Costs, answer: Answer) -> float:
    """Return the expected cost of the best decision."""
    return min(costs.risk(answer).values())


def value_of_label(costs: Costs, answer: Answer) -> float:
    """Return the expected cost that the label would save."""
    risk_left = math.fsum(p * least_risk(costs, {label: 1.0}) for label, p in answer.items())
    return max(0.0, least_risk(costs, answer) - risk_left)


def value_of_feature(costs: Costs, model: Any, x: Mapping[Any, Any], feature: Any) -> float:
    """Return the expected cost that a nominal feature would save.

    Raises
    ------
    NotSupported
        For a model without joint probabilities, and for numbers.
    """
    rows = [model.joint_log_likelihood({**x, feature: value}) for value in _values(model, x, feature)]
    labels = list(rows[0])
    scores = np.array([[row[label] for label in labels] for row in rows])
    joint = np.exp(scores - scores.max())
    joint /= joint.sum()
    now = least_risk(costs, dict(zip(labels, joint.sum(axis=0).tolist(), strict=True)))
    after = 0.0
    for row in joint.tolist():
        share = math.fsum(row)
        if share > 0.0:
            after += share * least_risk(costs, {y: p / share for y, p in zip(labels, row, strict=True)})
    return max(0.0, now - after)


def _values(model: Any, x: Mapping[Any, Any], feature: Any) -> list[Any]:
    """Return the values that a feature may have."""
    if not issubclass(
        type(model), BayesClassifier
    ):  # to isinstance, a pipeline of River is whatever it ends in
        raise NotSupported(
            f"a {type(model).__name__} has no joint probabilities to weigh the values of {shown(feature)} by; a "
            "learner of this package that is no mixture has, without steps before it"
        )
    if not is_missing(x.get(feature)):
        raise BadValue(f"the event has {shown(feature)} already, as {shown(x[feature])}: leave it out")
    if not model.classes_:
        raise NotLearned("no class is known yet, so that nothing can be worth anything")
    features = model._store.encoder.features
    entry = features.get(feature)
    if entry is None:
        raise UnknownFeature(f"no feature {shown(feature)} is known; there are {shown(list(features))}")
    if entry.numeric or entry.measured:
        raise NotSupported(
            f"{shown(feature)} is a number: the value of information is known of names alone; cut it into names first"
        )
    start = model._store.tables.values.layout.start[entry.slot]
    occupied = np.asarray(model._store.tables.values.occupied)[start:]
    values = [value for code, value in enumerate(entry.vocabulary.values) if occupied[code]]
    if not values:
        raise NotLearned(f"no value of {shown(feature)} holds samples")
    return values
