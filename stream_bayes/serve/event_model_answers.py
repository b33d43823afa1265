"""Answers of a model of events without a label, from the copy in a view: to questions, and what is odd in an event."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from stream_bayes.checked_names import closest
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.measures.surprises import Surprises
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, NotSupported, NoValueKnown, UnknownFeature
from stream_bayes.learners.sequences.hidden_markov import HiddenMarkov
from stream_bayes.learners.sequences.keyed_sequences import KeyedSequences
from stream_bayes.learners.sequences.markov_chain import MarkovChain
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.serve.graphs import graph_of
from stream_bayes.serve.model_answers import MOST_VALUES, ModelAnswers
from stream_bayes.serve.plain_values import as_json, by_text, label_name
from stream_bayes.serve.surprises import described_surprise
from stream_bayes.streams.served_models.events import TIMELESS, EventModel, ServedEvents, variables_of
from stream_bayes.streams.served_models.regressor import LEVEL

__all__ = ["EventModelAnswers"]

DRAWS = 500  # of a question that is too large for an exact answer, each about a millisecond
BARS = 8  # of the monitor of a number: bins of equal probability without evidence


class EventModelAnswers(ModelAnswers):
    """A copy of a `MixedNetwork`, or of a model of sequences, for one thread. `surprises` are those of newest events.

    Examples
    --------
    >>> model = MixedNetwork({"sky": [], "wind": ["sky"]})
    >>> for k in range(100):
    ...     model.learn_one({"sky": "wet" if k % 3 else "dry", "wind": float(k % 3)})
    >>> posterior = EventModelAnswers(model).query({"sky": "dry"}, ["wind"])["posteriors"]["wind"]
    >>> round(posterior["mean"], 1), posterior["level"]
    (0.0, 0.9)
    """

    def __init__(self, model: EventModel, surprises: Surprises | None = None) -> None:
        super().__init__(model, surprises=surprises)
        self._bars: dict[Any, list[float]] = {}

    def predict(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse, with the way to ask for a variable."""
        raise NotSupported(
            f"a {type(self.model).__name__} has no class to predict; ask for its variables with POST /v1/query"
        )

    predict_many = predict

    def explain(
        self,
        x: Mapping[str, Any],
        *,
        ignore_unknown: bool = False,
        is_read: bool = False,
        level: float | None = None,
    ) -> dict[str, Any]:
        """Return how unexpected each value of an event is: of a `DynamicNetwork`, of the next event of its sequence.

        Other models of sequences do not tell values apart.
        """
        if isinstance(self.model, (HiddenMarkov, MarkovChain)):
            raise NotSupported(
                f"a {type(self.model).__name__} scores an event as a whole; the history has its surprise"
            )
        if is_read and isinstance(self.model, DynamicNetwork):
            raise NotSupported(
                "the events before an event of the history are no longer remembered; send it as x, and it is explained "
                "as the next of its sequence"
            )
        return described_surprise(self.model, x, self.surprises, self._next_time(x))

    def _next_time(self, x: Mapping[str, Any]) -> float | None:
        """Return when the next event of a sequence is due; None if the model does not need that."""
        if isinstance(self.model, TIMELESS):
            return None
        sequences: KeyedSequences[Any] = self.model.sequences
        return sequences.due(sequences.name_of(x))

    # -- asking -------------------------------------------------------------------------------------------------------

    def query(
        self,
        evidence: Mapping[str, Any],
        targets: Sequence[str] | None,
        level: float | None = None,
        *,
        most_probable: bool = False,
    ) -> dict[str, Any]:
        """Return posteriors of the targets, or of all variables, given evidence.

        Of a model of sequences the evidence names the sequence, and targets are of events to come: `sky@+2`.
        """
        if most_probable:
            raise NotSupported(
                f"a {type(self.model).__name__} has no most probable explanation here; leave it out"
            )
        if not isinstance(self.model, TIMELESS):
            return {"posteriors": self._forecasts(evidence, targets, level or LEVEL), "evidence": None}
        given = {name: self._observed(name, value) for name, value in evidence.items()}
        numeric = [name for name in given if self.model.kinds.get(name) == "numeric"]
        posteriors, without_values = {}, []
        for name in [v for v in self.model.kinds if v not in numeric] if targets is None else targets:
            try:
                posteriors[label_name(name)] = self._posterior(name, given, level or LEVEL)
            except NoValueKnown:
                if targets is not None:
                    raise
                without_values.append(label_name(name))
        answers = {
            "log_probability": as_json(0.0 - self.model.score_one(given)) if given else 0.0,
            "is_density": bool(numeric),  # of numbers there is a density alone
        }
        return {"posteriors": posteriors, "evidence": answers, "without_values": without_values}

    def _posterior(self, name: Any, given: Mapping[Any, Any], level: float) -> dict[str, Any]:
        answer = (
            self.model.query(name, given, samples=DRAWS)
            if isinstance(self.model, MixedNetwork)
            else self.model.query(name, given)
        )
        return self._described_answer(name, answer, level)

    def _described_answer(
        self, name: Any, answer: StudentMixture | Mapping[Any, float], level: float
    ) -> dict[str, Any]:
        if not isinstance(answer, StudentMixture):
            shares = {label_name(value): p for value, p in answer.items()}
            return {"probabilities": shares, "intervals": None, **_how(answer)}
        low, high = answer.interval(level)
        edges = self._edges_of(name)
        below = [0.0, *(answer.below(edge) for edge in edges), 1.0]
        bars = {
            text: high - low
            for text, (low, high) in zip(_texts(edges), itertools.pairwise(below), strict=True)
        }
        number = {"mean": as_json(answer.mean), "low": as_json(low), "high": as_json(high), "level": level}
        return number | {"probabilities": bars, "intervals": None, **_how(answer)}

    def _observed(self, name: Any, value: Any) -> Any:
        """Return evidence with its type: a bar of a number is observed at its middle."""
        model = self.model
        if model.kinds.get(name) != "numeric":
            states = model.names_of(name) if name in model.kinds else ()
            return by_text(value, states) if isinstance(value, str) else value
        if not isinstance(value, str):
            return value
        texts = _texts(self._edges_of(name))
        if value not in texts:
            raise BadValue(f"evidence for {shown(name)}: expected a number, got {shown(value)}")
        return model.query(name).quantile((texts.index(value) + 0.5) / len(texts))

    def _edges_of(self, name: Any) -> list[float]:
        """Return the inner bounds of a number's bars."""
        if name not in self._bars:
            alone = self._alone(name)
            self._bars[name] = sorted({alone.quantile(k / BARS) for k in range(1, BARS)})
        return self._bars[name]

    def _alone(self, name: Any) -> StudentMixture:
        """Return the distribution of a number without evidence; of a hidden chain, with all states as frequent."""
        if isinstance(self.model, HiddenMarkov):
            students = self.model.emissions(name)
            return StudentMixture([1.0 / len(students)] * len(students), students)
        return self.model.query(name)

    def _forecasts(
        self, evidence: Mapping[str, Any], targets: Sequence[str] | None, level: float
    ) -> dict[str, Any]:
        variables = variables_of(self.model)
        wanted = [f"{v}@+1" for v in variables] if targets is None else list(targets)
        for name in wanted:
            variable, _, ahead = name.rpartition("@+")
            if variable not in map(str, variables) or not (ahead.isdecimal() and int(ahead)):
                names = [f"{v}@+1" for v in variables]
                raise UnknownFeature(
                    f"targets are events to come, as {shown(names)}; got {shown(name)}{closest(name, names)}"
                )
        served = ServedEvents(self.model, wanted)
        return {
            each.name: self._described_answer(
                each.variable, served.distribution(dict(evidence), each, self._next_time(evidence)), level
            )
            for each in served.anticipated
        }

    # -- describing ---------------------------------------------------------------------------------------------------

    def _graph(self, edges: Sequence[Sequence[str]]) -> dict[str, Any] | None:
        if not isinstance(self.model, TIMELESS):
            return graph_of([(one, other) for one, other in edges])
        values = {each["name"]: each["values"] for each in self._features_described()}
        return graph_of([(one, other) for one, other in edges], values)

    def _features_described(self) -> list[dict[str, Any]]:
        model = self.model
        if not isinstance(model, TIMELESS):
            kinds = model.kinds if isinstance(model, HiddenMarkov) else {}
            return [
                {"name": label_name(v), "kind": kinds.get(v, "nominal"), "values": []}
                for v in variables_of(model)
            ]
        features = []
        for v, kind in model.kinds.items():
            try:
                values = model.names_of(v) if kind == "nominal" else _texts(self._edges_of(v))
            except NoValueKnown:
                values = []
            features.append(
                {"name": label_name(v), "kind": "nominal", "values": as_json(values)[:MOST_VALUES]}
            )
        return features

    def _described(self) -> dict[str, Any]:
        model = self.model
        structure = model.structure if isinstance(model, (*TIMELESS, DynamicNetwork)) else None
        edges = [] if structure is None else structure.edges
        return {
            "learner": type(model).__name__,
            "task": "events",
            "labels": [],
            "prior": {},
            "features": self._features_described(),
            "features_left_out": 0,
            "edges": [[label_name(one), label_name(other)] for one, other in edges],
            "edges_are": "structure",
            "can": {
                "predict": False,
                "explain": isinstance(model, (*TIMELESS, DynamicNetwork)),
                "intervals": False,
                "query": isinstance(model, TIMELESS),
                "check": False,
            },
            "events": model.clock,
        }


def _texts(edges: Sequence[float]) -> list[str]:
    """Return the names of a number's bars."""
    figures = [f"{edge:.4g}" for edge in edges]
    if not figures:
        return ["all"]
    inner = [f"{low} to {high}" for low, high in itertools.pairwise(figures)]
    return [f"below {figures[0]}", *inner, f"from {figures[-1]}"]


def _how(answer: Any) -> dict[str, Any]:
    """Return how an answer was found, and how precise it is if it was drawn."""
    sampled = getattr(answer, "sampled", None)
    if sampled is None:
        return {"method": "exact", "reason": None}
    reason = (
        f"too many combinations of missing names to enumerate; {sampled.samples:,} draws are as precise as "
        f"{sampled.effective:,.0f} independent ones, with standard errors of up to {max(sampled.errors.values()):.2g}"
    )
    return {"method": answer.method, "reason": reason}
