"""Samples that are taken together leave what they leave one by one: answers, scores, refusals and state."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from river import preprocessing

from stream_bayes import (
    AODE,
    TAN,
    Costs,
    DecidingClassifier,
    GaussianNB,
    LiveChoice,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
)
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.errors import BudgetExceeded, StreamBayesError
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.base.samples import process_samples
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.answers import AnswerColumns
from stream_bayes.streams.served_models.served import served

SCHEMA = Schema({"sky": Nominal(), "wind": Numeric()}, classes=["sun", "rain", "fog"])
BUDGET = 2200  # bytes, which the values below outgrow

MODELS: dict[str, Callable[[], Any]] = {
    "NaiveBayes": NaiveBayes,
    "fading": lambda: NaiveBayes(half_life=20.0),
    "few values": lambda: NaiveBayes(max_values=2),
    "a budget": lambda: NaiveBayes(memory_budget=BUDGET),
    "declared": lambda: NaiveBayes(schema=SCHEMA, strength=0.0),
    "AODE": lambda: AODE(half_life=50.0),
    "TAN": TAN,
    "LiveChoice": LiveChoice,
    "GaussianNB": GaussianNB,
    "costs": lambda: DecidingClassifier(
        NaiveBayes(schema=SCHEMA),
        Costs({y: {z: float(y != z) for z in "sun rain fog".split()} for y in "sun rain fog".split()}),
    ),
    "pipeline": lambda: preprocessing.StandardScaler() | GaussianNB(),
}


def stream(count: int = 120) -> Iterator[Record]:
    """Samples of every kind, and some that are refused."""
    rng = random.Random(3)
    for n in range(count):
        label: Any = rng.choice(["sun", "rain", "rain"] if n < 60 else ["sun", "rain", "fog"])
        x: Any = {"sky": rng.choice(["grey", "blue", "red", f"hue {n}"]), "wind": rng.gauss(0.0, 1.0)}
        if n % 13 == 5:
            x = {"wind": x["wind"]}
        if n % 11 == 3:
            label = None
        elif n % 17 == 7:
            label = math.nan  # no label
        elif n % 19 == 2:
            x = {"sky": "grey", "wind": math.inf}  # no number
        if n % 23 == 9:
            yield BadRecord("bad", "no sense", position=n)
        else:
            yield Event(x, label, position=n, weight=[1.0, 1.0, 2.0, 0.5, 0.0][n * n % 5])


def for_model(name: str) -> list[Record]:
    """The stream without what the model's kind does not take."""
    if name not in {"GaussianNB", "pipeline"}:
        return list(stream())
    return [
        Event({"wind": r.x["wind"]}, r.y, position=r.position, weight=r.weight) if isinstance(r, Event) else r
        for r in stream()
    ]


def results_of(name: str, size: int) -> tuple[bytes, list[Any], list[Any], dict[str, int]]:
    step, records = Step(served(MODELS[name]())), for_model(name)
    for start in range(0, len(records), size):
        step.process(records[start : start + size])
    snapshot = Snapshot(learner=step.model.name, sections=step.freeze()())
    return snapshot.to_bytes(), step.collect_outputs(), step.dead_letters.letters, step.dead_letters.counts


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"a budget"}))
def test_what_is_taken_together_leaves_what_it_leaves_one_by_one(name: str) -> None:
    alone = results_of(name, 1)
    assert {letter.reason for letter in alone[2]} == {"bad", "refused"}
    assert results_of(name, 7) == alone
    assert results_of(name, 1000) == alone


def left_at_the_budget(size: int) -> tuple[bytes, list[Any], int, str]:
    step, records = Step(served(MODELS["a budget"]())), for_model("a budget")
    with pytest.raises(BudgetExceeded) as raised:
        _process(step, records, size)
    snapshot = Snapshot(learner=step.model.name, sections=step.freeze()())
    return snapshot.to_bytes(), step.collect_outputs(), step.processed, str(raised.value)


def _process(step: Step, records: list[Record], size: int) -> None:
    for start in range(0, len(records), size):
        step.process(records[start : start + size])


def test_a_budget_ends_the_step_at_the_same_record_together_and_one_by_one() -> None:
    alone = left_at_the_budget(1)
    assert alone[2] > 5
    assert left_at_the_budget(7) == alone
    assert left_at_the_budget(1000) == alone


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"costs", "pipeline"}))
def test_samples_are_answered_as_predict_learn_one_answers(name: str) -> None:
    events = [record for record in for_model(name) if isinstance(record, Event)]
    learner, refused = MODELS[name](), 0
    together = MODELS[name]()
    while events:
        columns = [list(column) for column in zip(*((e.x, e.y, e.weight) for e in events), strict=True)]
        table, why = process_samples(together, *columns)
        answers = AnswerColumns(table, together.store.encoder.labels.values)
        expected = []
        for event in events[: len(answers)]:
            if event.y is None:
                expected.append(learner.predict_proba_one(event.x))
            else:
                expected.append(learner.predict_learn_one(event.x, event.y, event.weight))
        assert answers.named(lambda label: label) == expected
        assert answers.decide(most_probable) == list(map(most_probable, expected))
        if why is not None:
            event = events[len(answers)]
            with pytest.raises(type(why)) as raised:
                learner.predict_learn_one(event.x, event.y, event.weight)
            assert str(raised.value) == str(why)
            refused += 1
        events = events[len(answers) + 1 :]
    assert refused > 5
    assert Snapshot(learner="a", sections={"a": together.state()}).to_bytes() == (
        Snapshot(learner="a", sections={"a": learner.state()}).to_bytes()
    )


def test_the_budget_of_these_streams_refuses_some() -> None:
    learner = MODELS["a budget"]()
    refused = set()
    for record in stream():
        if isinstance(record, Event) and record.y is not None:
            try:
                learner.learn_one(record.x, record.y, record.weight)
            except StreamBayesError as error:
                refused.add(type(error).__name__)
    assert "BudgetExceeded" in refused
