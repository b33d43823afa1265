"""The model that answers, behind pipelines, decision rules and drift detection.

To `isinstance`, a pipeline of River is whatever it ends in. So models are unwrapped here before their class counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river import compose

from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey

__all__ = ["answering_model", "counting_model", "decision_rule", "features_within", "is_transformed"]


def answering_model(model: Any) -> Any:
    """Return the model that answers: the last step of a pipeline, the classifier of a rule, the present model of drift.

    Examples
    --------
    >>> from river import preprocessing
    >>> from stream_bayes import NaiveBayes, Thresholds
    >>> answering_model(DecidingClassifier(preprocessing.StandardScaler() | NaiveBayes(), Thresholds(0.9)))
    NaiveBayes (...)
    """
    while True:
        kind = type(model)
        if issubclass(kind, compose.Pipeline):
            model = model[-1]
        elif issubclass(kind, DecidingClassifier):
            model = model.classifier
        elif issubclass(kind, DriftAdaptive):
            model = model.model_
        else:
            return model


def counting_model(model: Any) -> Any:
    """Return the learner whose counts represent a model: of a mixture, the one that has all features.

    Examples
    --------
    >>> counting_model(AdaptiveBayes())
    NaiveBayes (...)
    """
    if isinstance(model, AdaptiveBayes):
        return model.members[0]
    if isinstance(model, ModelPerKey):
        return model.shared_
    return (
        model.members[model.half_lives.index(model.leader_.half_life)]
        if isinstance(model, HalfLifeChoice)
        else model
    )


def decision_rule(model: Any) -> Any:
    """Return the decision rule around a model; None if the most probable label is the answer."""
    while not issubclass(type(model), DecidingClassifier):
        if not issubclass(type(model), compose.Pipeline):
            return None
        model = model[-1]
    return model.rule


def features_within(model: Any, x: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return an event as the answering model gets it, behind the transformers before it, which learn nothing.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> features_within(compose.Prefixer("a_") | NaiveBayes(), {"sky": "grey"})
    {'a_sky': 'grey'}
    """
    while True:
        kind = type(model)
        if issubclass(kind, compose.Pipeline):
            *steps, last = model.steps.values()
            for step in steps:
                x = step.transform_one(x)
            model = last
        elif issubclass(kind, DecidingClassifier):
            model = model.classifier
        else:
            return x


def is_transformed(model: Any) -> bool:
    """Return True if a model has transformers before the one that answers."""
    while issubclass(type(model), DecidingClassifier):
        model = model.classifier
    return issubclass(type(model), compose.Pipeline) and len(model.steps) > 1
