"""A network that learns and answers between events, ALARM's structure: learning, questions, and its class.

Events are rows drawn from the known network: dicts, new ones for each pass, or codes of the same schema.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contest, Side, timed
from benchmarks.networks.questions import CLASS, alarm, file_of, questions, with_labels
from stream_bayes import BayesNet, BayesNetClassifier, CodedColumns, Nominal, Schema
from stream_bayes.core.inference.inference import Inference

__all__ = ["cases"]

EVENTS = 4_000
ROWS = 100_000  # of a batch


@cache
def schema() -> Schema:
    network = alarm()
    return Schema(
        {str(v): Nominal([str(label) for label in network.states[v]]) for v in network.structure.variables}
    )


@cache
def codes(rows: int) -> Any:
    return Inference(alarm()).sample_codes(rows, np.random.default_rng(3))


@cache
def lines() -> list[tuple[list[str], list[str]]]:
    """Names and labels of each event."""
    network = alarm()
    names = [str(v) for v in network.structure.variables]
    labels = [[str(label) for label in network.states[v]] for v in network.structure.variables]
    return [
        (names, [known[code] for known, code in zip(labels, row, strict=True)])
        for row in codes(EVENTS).tolist()
    ]


def as_dicts(raw: Any) -> list[dict[str, str]]:
    """Return new objects, as a decoder makes them."""
    return [{f"{name}": f"{label}"[:] for name, label in zip(*line, strict=True)} for line in raw]


def columns(rows: int) -> CodedColumns:
    network = alarm()
    names = [str(v) for v in network.structure.variables]
    labels = [[str(label) for label in network.states[v]] for v in network.structure.variables]
    return coded(names, codes(rows), labels)


def coded(names: list[str], rows: Any, labels: list[list[str]]) -> CodedColumns:
    rows = np.ascontiguousarray(rows, np.int32)
    return CodedColumns(tuple(names), rows, tuple(map(tuple, labels)), (), np.zeros((len(rows), 0)), None, ())


def learned() -> BayesNet:
    model = BayesNet(alarm().structure, schema=schema())
    model.learn_many(columns(ROWS))
    return model


def learns() -> Contest:
    return Contest(lines(), Side(EVENTS, timed(learned().learn_one), as_dicts))


def learns_many() -> Contest:
    return Contest([columns(ROWS)], Side(1, timed(learned().learn_many, ROWS), list))


def learns_and_answers() -> Contest:
    """Return a pass that learns each event, and then answers a query that others follow."""
    model, asked = learned(), iter(with_labels(questions()) * 10_000)

    def step(x: Any) -> None:
        model.learn_one(x)
        model.query(*next(asked))

    return Contest(lines(), Side(500, timed(step), as_dicts))


def answers() -> Contest:
    model = learned()
    return Contest(questions(), Side(500, timed(lambda question: model.query(*question)), with_labels))


def classifies() -> Contest:
    """Return a pass that predicts one variable as the class of complete coded rows."""
    model = BayesNetClassifier(alarm().structure, target=CLASS)
    rows = columns(ROWS)
    place = rows.names.index(CLASS)
    others = [k for k in range(len(rows.names)) if k != place]
    names, labels = list(rows.names), [list(map(str, known)) for known in rows.vocabularies]
    xs = coded([names[k] for k in others], rows.codes[:, others], [labels[k] for k in others])
    model.learn_many(xs, [rows.vocabularies[place][code] for code in rows.codes[:, place].tolist()])
    return Contest([xs], Side(1, timed(model.predict_proba_many, ROWS), list))


def cases() -> list[Case]:
    """Return the lines of the report; none where the network is not installed, as the queries of networks report."""
    if file_of("alarm") is None:
        return []
    return [
        Case("BayesNet learn, dicts, ALARM", learns, limit=10.0),
        Case("BayesNet learn_many, CodedColumns, ALARM", learns_many, limit=0.167),
        Case("BayesNet question, ALARM, 5 known", answers),
        Case("BayesNet learn and question, dicts, ALARM, 5 known", learns_and_answers),
        Case(f"BayesNetClassifier predict, CodedColumns, ALARM, {CLASS}", classifies, limit=0.667),
    ]
