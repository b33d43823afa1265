"""Models as the engine uses them: predict, learn, unlearn, save.

Served            the protocol, in `protocol.py`
ServedLearner     a classifier of this package, in `learner.py`: a sample is encoded once, to predict and to learn
ServedRegressor   a learner of numbers, in `regressor.py`: it answers with a mean and an interval
ServedTargets     the same for several targets, in `targets.py`
ServedRiver       a classifier or pipeline of River, in `river.py`; its last step decides if it can unlearn
ServedAdaptive    the same with drift detection: the model is replaced, and a log records it
ServedMixture     `AdaptiveBayes`: samples are held with the last labels until their own comes
ServedNetwork     a network without a class, in `network.py`: it scores and learns events, which have no label
ServedEvents      a network of names and numbers, or a model of sequences, in `events.py`: the same

A product may bring a model of its own, and serve it: `product_models.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from river import base, compose

from stream_bayes.data.amounts import Amount
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.errors import BadValue
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.regressors.several_targets import MultiTargetRegression
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.streams.served_models.answers import Decide
from stream_bayes.streams.served_models.events import EVENT_CLASSES, ServedEvents
from stream_bayes.streams.served_models.learner import ServedLearner
from stream_bayes.streams.served_models.mixture import ServedMixture
from stream_bayes.streams.served_models.network import ServedNetwork
from stream_bayes.streams.served_models.product_models import product_model_of
from stream_bayes.streams.served_models.protocol import Served
from stream_bayes.streams.served_models.regressor import ServedRegressor
from stream_bayes.streams.served_models.river import ServedAdaptive, ServedRiver
from stream_bayes.streams.served_models.targets import ServedTargets

__all__ = ["digest", "served"]


def served(
    model: Any,
    max_names: int | None = None,
    predict: Sequence[Any] = (),
    level: float | None = None,
    written: Amount | Mapping[str, Amount] | None = None,
) -> Served:
    """Return an adapter with which the engine serves a model.

    Parameters
    ----------
    model
        The model.
    max_names
        The most feature names that a learner of this package may learn; see `NameLimit`. None: no limit.
    predict
        For a model without a label, what is predicted of each event: a variable, or `"sky@+2"`, its value two events
        later.
    level
        For a learner or network of numbers, the level of its intervals; 0.9 by default.
    written
        For a learner of numbers, how labels that are texts are written; of several targets by target.

    Raises
    ------
    BadValue
        If it is not a classifier, a learner of numbers, a network, or a pipeline that ends in a classifier; or if
        `predict` is given for a model other than a network without a class.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.streams import served
    >>> type(served(NaiveBayes())).__name__
    'ServedLearner'
    """
    inner: Any = model.classifier if isinstance(model, DecidingClassifier) else model
    decide = model.rule.decide if isinstance(model, DecidingClassifier) else None
    if issubclass(type(inner), BayesNet) or (
        issubclass(type(inner), DriftAdaptive) and isinstance(inner.learner, BayesNet)
    ):
        return ServedNetwork(inner, predict, max_names)
    if issubclass(type(inner), EVENT_CLASSES) or (
        issubclass(type(inner), DriftAdaptive) and isinstance(inner.learner, MixedNetwork | DynamicNetwork)
    ):
        return ServedEvents(inner, predict, level)
    if predict:
        raise BadValue(
            f"predict: names variables of a network without a class, and a {type(inner).__name__} predicts its class"
        )
    product = product_model_of(inner)
    if product is not None:
        return product.serve(inner)
    if issubclass(type(inner), MultiTargetRegression):
        return ServedTargets(inner, level, written, max_names)
    if issubclass(type(inner), BayesRegressor):
        return ServedRegressor(inner, level, written, max_names)
    if issubclass(type(inner), BayesClassifier):  # to isinstance, a pipeline of River is whatever it ends in
        return ServedLearner(inner, decide, max_names)
    if type(inner) is AdaptiveBayes:
        return ServedMixture(inner, decide, max_names)
    return _served_steps(model, inner, decide)


def _served_steps(model: Any, inner: Any, decide: Decide | None) -> Served:
    """Return the adapter of a classifier of River, or of a pipeline, drift detection or both around one."""
    last = inner._last_step if isinstance(inner, compose.Pipeline) else inner
    learner = last.learner if isinstance(last, DriftAdaptive) else last
    if isinstance(learner, BayesClassifier) and learner.store.tables.timed:
        raise BadValue(
            f"half_life={learner.half_life!r} is in stream time, and samples behind transformers or drift detection "
            "have none; leave these out, or give half_life in events"
        )
    if isinstance(last, DriftAdaptive):
        return ServedAdaptive(model, decide)
    if isinstance(last, base.Classifier):
        return ServedRiver(model, decide)
    if issubclass(type(last), BayesRegressor):
        raise BadValue(
            f"a {type(last).__name__} takes no steps before it here; give it the features themselves"
        )
    raise BadValue(f"expected a classifier, or a pipeline that ends in one, got {type(model).__name__}")


def digest(settings: Any) -> str:
    """Return a short digest of settings: the beginning of the SHA-256 of their JSON.

    Examples
    --------
    >>> digest({"learner": "NaiveBayes"})
    'fc833138f6358a71'
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
