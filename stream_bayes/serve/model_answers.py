"""Answers of a model, from the copy in a view: predictions, explanations, queries, and how it is described."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream_bayes.checked_names import closest
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.measures.coverage_control import LabelSets
from stream_bayes.core.measures.surprises import Surprises
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, NotLearned, NotSupported, StreamBayesError, UnknownFeature
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.adaptive.mixture_explanation import MixtureExplanation
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.base.edges import dependences_of, edges_of
from stream_bayes.learners.base.explanation import Explanation, explained_by_steps
from stream_bayes.learners.base.samples import process_samples
from stream_bayes.learners.classifiers.one_dependence import A2DE, AODE
from stream_bayes.learners.classifiers.text import BernoulliNB, ComplementNB, MultinomialNB
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.serve.graphs import graph_of
from stream_bayes.serve.plain_values import as_json, by_text, label_name
from stream_bayes.serve.surprises import described_surprise
from stream_bayes.streams.served_models.answers import AnswerColumns
from stream_bayes.streams.served_models.product_models import product_model_of
from stream_bayes.streams.served_models.river import refusals
from stream_bayes.streams.served_models.unwrapping import (
    answering_model,
    counting_model,
    decision_rule,
    features_within,
    is_transformed,
)

__all__ = ["ModelAnswers"]

MOST_VALUES = 200  # of a feature, in the description of a model
MOST_FEATURES = 500
LEAST = 1e-300  # probability whose logarithm replaces that of 0
BAGS = (BernoulliNB, ComplementNB, MultinomialNB)


class ModelAnswers:
    """A copy of the model, for one thread. The model is a learner, a `BayesNet`, a `SpamFilter`, or a classifier or
    pipeline of River. `decide` makes a decision from probabilities. `sets` are the thresholds of the sets of labels in
    each answer; None for none. `surprises` are those of the newest events, of a network without a class.
    """

    predicts_numbers = False

    def __init__(
        self,
        model: Any,
        decide: Callable[[Mapping[Any, float]], Any] | None = None,
        sets: LabelSets | None = None,
        surprises: Surprises | None = None,
    ) -> None:
        self.model = model
        self.sets = sets
        self.surprises = surprises
        self.answering = answering_model(model)
        self.product = product_model_of(self.answering)
        self.learner = counting_model(self.answering)
        self.decide = decide or self._own_decision()
        # Transformers make other features of an event, and bags hold any words.
        self.has_features = not is_transformed(model) and not isinstance(self.learner, BAGS)
        self._schema: Schema | None = getattr(self.learner, "schema", None)

    def _own_decision(self) -> Callable[[Mapping[Any, float]], Any]:
        if self.product is not None:
            return self.answering.decide
        rule = decision_rule(self.model)
        return most_probable if rule is None else rule.decide

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict(
        self, x: Mapping[str, Any], *, ignore_unknown: bool = False, level: float | None = None
    ) -> dict[str, Any]:
        """Return the prediction for one event; with a level, the credible intervals of its probabilities."""
        return self._predicted(self._read(x), ignore_unknown, level)

    def _predicted(self, x: Mapping[str, Any], ignore_unknown: bool, level: float | None) -> dict[str, Any]:
        ignored = self._check_names([x], ignore_unknown)
        return self._answer(x, level) | {"ignored": ignored, "never_learned": self.never_learned(x)}

    def _answer(self, x: Mapping[str, Any], level: float | None) -> dict[str, Any]:
        """Return the decision for an event whose names were checked, and what it is made of."""
        probabilities = self._probabilities(x)
        answer = {
            "prediction": as_json(self.decide(probabilities)),
            "probabilities": {label_name(label): p for label, p in probabilities.items()},
            **self._label_sets(probabilities),
        }
        return answer if level is None else answer | {"intervals": self._label_intervals(x, level)}

    def _label_intervals(self, x: Mapping[str, Any], level: float) -> dict[str, Any]:
        """Return the credible interval of each label's probability."""
        if not hasattr(self.answering, "predict_interval_one"):
            raise NotSupported(f"a {type(self.answering).__name__} has no intervals; leave level out")
        intervals = self.answering.predict_interval_one(features_within(self.model, x), level)
        return {label_name(label): [low, high] for label, (low, high) in intervals.items()}

    def _label_sets(self, answer: Mapping[Any, float]) -> dict[str, Any]:
        """Return the set of labels of each coverage, as `sets`; nothing if the pipeline has none."""
        if self.sets is None:
            return {}
        labels = self.sets.labels(answer).items()
        return {"sets": {str(level): [as_json(label) for label in each] for level, each in labels}}

    def predict_many(
        self, xs: Sequence[Mapping[str, Any]], *, ignore_unknown: bool = False, level: float | None = None
    ) -> dict[str, Any]:
        """Return the predictions for many events, as `predict`, and the names that were ignored, once for all."""
        xs = [self._read(x) for x in xs]
        ignored = self._check_names(xs, ignore_unknown)
        model = self.model
        if model is not self.learner or not isinstance(model, BayesClassifier):
            return {"predictions": [self._answer(x, level) for x in xs], "ignored": ignored}
        table, refused = process_samples(model, xs, [None] * len(xs), [1.0] * len(xs))
        answers = AnswerColumns(table, model.store.encoder.labels.values)
        if refused is not None:
            raise BadValue(f"event {len(answers)}: {refused}") from refused
        columns = (answers.decide(self.decide), answers.named(label_name), answers.named(lambda label: label))
        predictions = [
            {"prediction": as_json(decision), "probabilities": by_name, **self._label_sets(probabilities)}
            for decision, by_name, probabilities in zip(*columns, strict=True)
        ]
        if level is not None:
            for prediction, x in zip(predictions, xs, strict=True):
                prediction["intervals"] = self._label_intervals(x, level)
        return {"predictions": predictions, "ignored": ignored}

    def _read(self, x: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the features of an event: its columns are read as those of a file or a topic are."""
        return x if self._schema is None else self._schema.read(x)

    def _probabilities(self, x: Mapping[str, Any]) -> Mapping[Any, float]:
        model = self.model
        if isinstance(self.answering, BayesNet):
            raise NotSupported("a network has no class to predict; query it with POST /v1/query")
        if self.product is not None:
            raise NotSupported(
                f"a {type(self.answering).__name__} takes whole messages; send one to POST /v1/check"
            )
        with refusals(type(model).__name__, x):
            return dict(model.predict_proba_one(x))

    def _check_names(self, xs: Sequence[Mapping[str, Any]], ignore_unknown: bool) -> list[str]:
        """Return the names that are no features, or refuse them."""
        encoder = self._encoder()
        if encoder is None or not encoder.features:  # any name goes, or nothing has been learned yet
            return []
        unknown = sorted({name for x in xs for name in x if name not in encoder.features})
        if unknown and not ignore_unknown:
            names_of_model = [
                name for name in encoder.features if isinstance(name, str)
            ]  # others are of columns of numbers
            names = "; ".join(f"{shown(name)}{closest(name, names_of_model)}" for name in unknown[:5])
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise UnknownFeature(
                f"the model has learned no feature {names}{more}. GET v1/model lists the features; send "
                '"unknown": "ignore" to predict without these'
            )
        return unknown

    def _encoder(self) -> Encoder | None:
        """Return what reads the features of an event; None for bags of words, and models of others."""
        learner = self.learner
        return learner.store.encoder if self.has_features and isinstance(learner, BayesClassifier) else None

    def never_learned(self, x: Mapping[str, Any]) -> list[str]:
        """Return the features whose value was never learned, and so adds nothing."""
        encoder, names = self._encoder(), []
        if encoder is None:
            return []
        for name, value in x.items():
            if value is None or name not in encoder.features:
                continue
            row = encoder.lookup({name: value})
            if not (row.entries or row.numbers):
                names.append(name)
        return names

    # -- explaining ---------------------------------------------------------------------------------------------------

    def explain(
        self,
        x: Mapping[str, Any],
        *,
        ignore_unknown: bool = False,
        is_read: bool = False,
        level: float | None = None,
    ) -> dict[str, Any]:
        """Return the evidence of each feature for each label, the strongest first; with a level, credible intervals.

        `is_read` is True for an event of the history, whose columns the source has read.

        Behind transformers the features are those that they make. A model that explains nothing itself is explained by
        what each feature changes when it is added to others. Of a network without a class, how unexpected each value
        is.
        """
        x = x if is_read else self._read(x)
        if isinstance(self.answering, BayesNet):
            return described_surprise(self.answering, x, self.surprises)
        answer = self._predicted(x, ignore_unknown, level)
        given = {name: value for name, value in x.items() if name not in answer["ignored"]}
        if isinstance(self.answering, (BayesClassifier, AdaptiveBayes)):
            given = dict(features_within(self.model, given))
            why = self.answering.explain_one(given)
        else:
            why = explained_by_steps(self._logarithms, given, self._logarithms(given))
        if not why.baseline:
            raise NotLearned("the model has not learned anything yet")
        evidence = [
            {
                "feature": label_name(name),
                "value": as_json(given.get(name)),
                "evidence": {label_name(label): as_json(v) for label, v in by_label.items()},
            }
            for name, by_label in why.ranked()
        ]
        baseline = {label_name(label): as_json(v) for label, v in why.baseline.items()}
        return answer | {"kind": why.kind, "baseline": baseline, "evidence": evidence} | self._experts(why)

    def _logarithms(self, x: Mapping[str, Any]) -> dict[Any, float]:
        return {label: math.log(max(p, LEAST)) for label, p in self._probabilities(x).items()}

    def _experts(self, why: Explanation) -> dict[str, Any]:
        """Return the weight and probabilities of each expert of a mixture that is awake; nothing for other models."""
        if not isinstance(why, MixtureExplanation):
            return {}
        experts = [
            {
                "expert": name,
                "weight": opinion.weight,
                "probabilities": {label_name(label): p for label, p in opinion.probabilities.items()},
            }
            for name, opinion in why.experts.items()
        ]
        return {"experts": experts, "asleep": list(self.answering.asleep_)}

    def check(self, raw: bytes) -> dict[str, Any]:
        """Return the verdict on a message, and the evidence for it."""
        if self.product is None:
            raise NotSupported(
                f"{type(self.model).__name__} is not a spam filter; send features to POST /v1/predict"
            )
        return self.product.explained(self.answering, raw)

    def explain_message(self, x: Mapping[str, Any]) -> dict[str, Any]:
        """Return the verdict on a message of the history, and the evidence for it."""
        if self.product is None:
            raise BadValue("expected features of an event; this model takes no messages")
        why = self.product.explained(self.answering, self.product.message_in(x))
        return {
            "prediction": why["verdict"],
            "probabilities": why["probabilities"],
            "kind": "tokens",
            "baseline": {},
            "evidence": why["evidence"],
        }

    # -- querying a network -------------------------------------------------------------------------------------------

    def query(
        self,
        evidence: Mapping[str, Any],
        targets: Sequence[str] | None,
        level: float | None = None,
        *,
        most_probable: bool = False,
    ) -> dict[str, Any]:
        """Return posteriors given evidence, of the targets or of all variables; or the most probable explanation."""
        model = self.answering
        if isinstance(model, BayesNet):
            net: Any = model
        elif isinstance(model, BayesNetClassifier):
            if not model.classes_:
                raise NotLearned("the network has not learned anything yet")
            net = model.reading.network()
        else:
            raise NotSupported(
                f"{type(model).__name__} is not a network to query; those are BayesNet and BayesNetClassifier"
            )
        given = self._typed(evidence, net.states)
        variables = list(net.structure.variables)
        for name in [*given, *(targets or [])]:
            if name not in variables:
                raise UnknownFeature(f"the network has no variable {shown(name)}{closest(name, variables)}")
        answer: dict[str, Any] = {}
        if most_probable:
            assignment = model.most_probable(given)
            answer["most_probable"] = {label_name(v): as_json(value) for v, value in assignment.items()}
            answer["log_probability"] = as_json(assignment.log_probability)
        unknown = [v for v in variables if net.states[v][0] is None]
        if targets is None and not unknown:
            posteriors = model.marginals(given, level=level)
        else:
            wanted = [v for v in variables if v not in unknown] if targets is None else targets
            posteriors = {name: model.query(name, given, level=level) for name in wanted}
        answer["without_values"] = [label_name(v) for v in unknown]
        answer["posteriors"] = {
            label_name(name): {
                "probabilities": {label_name(v): p for v, p in posterior.items()},
                "intervals": _intervals(posterior),
                "method": posterior.method,
                "reason": posterior.reason,
            }
            for name, posterior in posteriors.items()
        }
        answer["evidence"] = {
            "log_probability": as_json(model.log_probability_of_evidence(given)),
            "is_density": False,
        }
        return answer

    def _typed(self, evidence: Mapping[str, Any], states: Mapping[Any, Sequence[Any]]) -> dict[Any, Any]:
        """Return evidence with the values that JSON cannot have as names, such as the likelihoods of numbers."""
        given: dict[Any, Any] = {}
        for name, value in evidence.items():
            values = states.get(name, ())
            if isinstance(value, Mapping):
                given[name] = {by_text(text, values): share for text, share in value.items()}
            else:
                given[name] = by_text(value, values) if isinstance(value, str) else value
        return given

    # -- describing ---------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Return what the model has learned: labels, features with tables, its structure and its graph."""
        described = self._described()
        return described | {"graph": self._graph(described["edges"])}

    def _graph(self, edges: Sequence[Sequence[str]]) -> dict[str, Any] | None:
        """Return the layout of the graph, of a network with room for the values of each variable."""
        values = None
        model = self.answering
        if isinstance(model, (BayesNet, BayesNetClassifier)):
            try:
                net = model if isinstance(model, BayesNet) else model.to_network()
            except StreamBayesError:
                return None  # nothing is learned yet
            values = {
                label_name(v): [label_name(value) for value in states] for v, states in net.states.items()
            }
            edges = [[label_name(one), label_name(other)] for one, other in net.structure.edges]
        return graph_of([(one, other) for one, other in edges], values)

    def _described(self) -> dict[str, Any]:
        model, learner = self.answering, self.learner
        described: dict[str, Any] = {
            "learner": type(model).__name__,
            "task": "classification",
            "labels": [],
            "prior": {},
            "features": [],
            "features_left_out": 0,
            "edges": [],
            "edges_are": "structure",
            "can": {
                "predict": self.product is None and not isinstance(model, BayesNet),
                "explain": True,
                "intervals": self.product is None and hasattr(model, "predict_interval_one"),
                "query": isinstance(model, (BayesNet, BayesNetClassifier)),
                "check": self.product is not None,
            },
        }
        if self.product is not None:
            return described | self.product.described(model)
        if isinstance(model, BayesNet):
            features = [
                {"name": label_name(v), "kind": "nominal", "values": as_json(states)[:MOST_VALUES]}
                for v, states in model.states.items()
            ]
            edges = [[label_name(one), label_name(other)] for one, other in model.structure.edges]
            return described | {"features": features, "edges": edges, "events": model.clock}
        if not isinstance(learner, BayesClassifier):
            return described
        is_average = isinstance(learner, (AODE, A2DE))
        features = sorted(self._features(learner), key=lambda feature: -(feature["information"] or 0.0))
        return described | {
            "labels": as_json(learner.classes_),
            "prior": as_json(learner.class_prior_) if learner.classes_ else {},
            "features": features[:MOST_FEATURES],
            "features_left_out": max(0, len(learner.store.encoder.features) - MOST_FEATURES),
            "edges": []
            if model is not learner
            else dependences_of(learner)
            if is_average
            else edges_of(learner),
            "edges_are": "dependences" if is_average else "structure",
        }

    def _features(self, learner: BayesClassifier) -> list[dict[str, Any]]:
        features = []
        prior = learner.class_prior_ if learner.classes_ else {}
        for name, feature in list(learner.store.encoder.features.items())[: MOST_FEATURES * 2]:
            tables: dict[Any, Any] | None = None
            try:
                tables = learner.conditional(name) if prior else None
            except (StreamBayesError, ValueError, KeyError, ZeroDivisionError):
                tables = None  # a learner without such tables
            values = [] if feature.vocabulary is None else list(feature.vocabulary.values)
            features.append(
                {
                    "name": label_name(name),
                    "kind": "numeric" if feature.measured else "nominal",
                    "values": [] if feature.measured else as_json(values[:MOST_VALUES]),
                    "values_left_out": 0 if feature.measured else max(0, len(values) - MOST_VALUES),
                    "table": None if tables is None else _shortened(tables),
                    "information": None if tables is None else as_json(_information(tables, prior)),
                }
            )
        return features

    @property
    def reads_messages(self) -> bool:
        """True for a model of whole messages, as a spam filter is."""
        return self.product is not None

    def id_of_message(self, raw: bytes) -> str:
        """Return the id by which a pipeline without keys finds a message."""
        assert self.product is not None
        return self.product.id_of(raw)

    @property
    def classes(self) -> Sequence[Any]:
        """The labels that were learned."""
        if self.product is not None:
            return self.product.labels_of(self.answering)
        learner = self.learner
        return learner.classes_ if isinstance(learner, BayesClassifier) else ()


def _intervals(posterior: Any) -> dict[str, Any] | None:
    intervals = getattr(posterior, "intervals", None)
    return None if not intervals else {label_name(value): as_json(pair) for value, pair in intervals.items()}


def _shortened(tables: Mapping[Any, Any]) -> dict[str, Any]:
    """Return P(value | label) with the most probable values of each label alone."""
    return {
        label_name(label): as_json(
            dict(sorted(table.items(), key=lambda item: -item[1])[:MOST_VALUES])
            if len(table) > MOST_VALUES
            else table
        )
        for label, table in tables.items()
    }


def _information(tables: Mapping[Any, Any], prior: Mapping[Any, float]) -> float:
    """Return the mutual information of feature and label in nats; of a Gaussian by its means and variances.

    Examples
    --------
    >>> even = {"ham": 0.5, "spam": 0.5}
    >>> round(_information({"ham": {"a": 1.0, "b": 0.0}, "spam": {"a": 0.0, "b": 1.0}}, even), 3)
    0.693
    >>> round(_information({"ham": {"mean": 0.0, "sd": 1.0}, "spam": {"mean": 0.0, "sd": 1.0}}, even), 3)
    0.0
    """
    shares = {label: prior.get(label, 0.0) for label in tables}
    first: Mapping[Any, float] = next(iter(tables.values()), {})
    if set(first) == {"mean", "sd"}:
        return _gaussian_information(tables, shares)
    total = 0.0
    for value in first:
        overall = sum(share * tables[label].get(value, 0.0) for label, share in shares.items())
        for label, share in shares.items():
            p = tables[label].get(value, 0.0)
            if p > 0.0 and share > 0.0 and overall > 0.0:
                total += share * p * math.log(p / overall)
    return max(total, 0.0)


def _gaussian_information(tables: Mapping[Any, Any], shares: Mapping[Any, float]) -> float:
    """Return an upper estimate: the mixture as one Gaussian has at least the mixture's entropy."""
    spread = {label: t for label, t in tables.items() if t["sd"] and t["sd"] > 0.0 and shares[label] > 0.0}
    weight = sum(shares[label] for label in spread)
    if not spread or weight <= 0.0:
        return 0.0
    mean = sum(shares[label] * t["mean"] for label, t in spread.items()) / weight
    variance = (
        sum(shares[label] * (t["sd"] ** 2 + (t["mean"] - mean) ** 2) for label, t in spread.items()) / weight
    )
    within = sum(shares[label] * math.log(t["sd"]) for label, t in spread.items()) / weight
    return max(0.5 * math.log(variance) - within, 0.0)
