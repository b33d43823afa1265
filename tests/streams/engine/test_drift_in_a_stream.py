"""Drift in a stream that an engine runs: which model answered, where each entry of the log came from, and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from river import preprocessing

from stream_bayes import DriftAdaptive, GaussianNB, NaiveBayes
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served

CHANGES = 500
EVENTS = 1000


def days(count: int = EVENTS, changes: int = CHANGES) -> Iterator[Event]:
    """A class that follows a feature, and from one event on its opposite."""
    for n in range(count):
        x = {"light": "on" if n % 3 else "off", "size": float(n % 3)}
        yield Event(x, (x["light"] == "on") == (n < changes), time=1000.0 + n, position=2 * n)


def adaptive(**arguments: Any) -> DriftAdaptive:
    return DriftAdaptive(NaiveBayes(), **arguments)


def step_after(batch: int, model: Any = None) -> Step:
    step = Step(served(adaptive() if model is None else model), "weather")
    stream = list(days())
    for start in range(0, len(stream), batch):
        step.process(stream[start : start + batch])
    return step


def bytes_of(step: Step) -> bytes:
    return Snapshot(learner=step.model.name, sections=step.freeze()()).to_bytes()


def test_an_output_says_which_model_answered_before_and_after_a_swap() -> None:
    step = step_after(EVENTS)
    _, adopted = step.drifts
    generations = [output.model.generation for output in step.collect_outputs()]
    swapped = adopted.event  # the event after which the other one answers
    assert generations == [0] * swapped + [1] * (EVENTS - swapped)
    assert {output.model.configuration for output in step.collect_outputs()} == {
        step.collect_outputs()[0].model.configuration
    }


@pytest.mark.parametrize("batch", [1, 7, 300])
def test_the_size_of_batches_leaves_no_trace(batch: int) -> None:
    whole, parts = step_after(EVENTS), step_after(batch)
    assert parts.collect_outputs() == whole.collect_outputs()
    assert parts.drifts == whole.drifts
    assert bytes_of(parts) == bytes_of(whole)


def test_each_entry_says_with_which_record_it_came() -> None:
    step = step_after(300)
    assert [entry.what for entry in step.drifts] == ["drift", "adopted"]
    for entry in step.drifts:
        number = entry.event - 1
        assert (entry.time, entry.position) == (1000.0 + number, 2 * number)
        assert (entry.source, entry.partition) == ("stream", 0)
    log = step.model.drifts
    assert log is not None and len(log.entries) == 2
    for logged, entry in zip(log.entries, step.drifts, strict=True):
        written = msgspec.to_builtins(entry)
        assert (written.pop("key"), written.pop("version")) == (None, 1)
        assert logged == written.pop("details") | written
    assert log.counts == {"drift": 1, "adopted": 1}


def test_behind_transformers_the_same_is_told() -> None:
    pipeline = preprocessing.StandardScaler() | DriftAdaptive(GaussianNB())
    step = Step(served(pipeline))
    step.process([Event({"size": event.x["size"]}, event.y, position=event.position) for event in days()])
    assert [entry.what for entry in step.drifts][:2] == ["drift", "adopted"]
    assert {output.model.generation for output in step.collect_outputs()} >= {0, 1}


def test_with_late_labels_an_entry_comes_with_the_label() -> None:
    step = Step(served(adaptive()), pending=Pending())
    for event in days():
        step.process([Event(event.x, key=event.position, position=event.position)])
        label = Event({}, event.y, key=event.position, position=event.position + 1, kind=Kind.LABEL)
        step.process([label])
    assert [(entry.what, entry.position % 2) for entry in step.drifts] == [("drift", 1), ("adopted", 1)]
    generations = [output.model.generation for output in step.collect_outputs()]
    assert generations == sorted(generations) and set(generations) == {0, 1}


@pytest.mark.parametrize("stop", [3, CHANGES + 5, EVENTS - 100])
def test_entries_of_before_a_restart_are_not_told_again(stop: int) -> None:
    whole, first = step_after(EVENTS), Step(served(adaptive()), "weather")
    stream = list(days())
    first.process(stream[:stop])
    snapshot = Snapshot.from_bytes(bytes_of(first))
    second = Step(served(adaptive()), "weather")
    second.load(snapshot.sections)
    second.process(stream[stop:])
    assert [*first.drifts, *second.drifts] == whole.drifts
    assert [output.model for output in [*first.collect_outputs(), *second.collect_outputs()]] == [
        output.model for output in whole.collect_outputs()
    ]
    assert bytes_of(second) == bytes_of(whole)
