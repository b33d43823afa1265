"""A step does to each event what its parts, called by hand, would do; and a replay of it leaves the same bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from stream_bayes import (
    AODE,
    KDB,
    BernoulliNB,
    Costs,
    DecidingClassifier,
    NaiveBayes,
    Nominal,
    Schema,
    SlidingWindow,
)
from stream_bayes.core.events.event import BadRecord, Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadState, StreamBayesError, TooManyDeadLetters
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.dead_letters import DeadLetters
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.corrections import relabel
from stream_bayes.streams.served_models.served import served
from stream_bayes.testing.assertions import state_bytes


def days(count: int, seed: int = 1) -> Iterator[Event]:
    """Weather that depends on the sky."""
    rng = random.Random(seed)
    for position in range(count):
        sky = rng.choice(["grey", "blue", "red"])
        label = "rain" if rng.random() < {"grey": 0.8, "blue": 0.1, "red": 0.5}[sky] else "sun"
        yield Event({"sky": sky, "wind": rng.choice([True, False])}, label, position=position)


def bytes_of(step: Step) -> bytes:
    return Snapshot(learner=step.model.name, sections=step.freeze()()).to_bytes()


def step_after(records: Iterable[Record], **settings: Any) -> Step:
    step = Step(served(NaiveBayes()), **settings)
    step.process(records)
    return step


def test_each_event_is_predicted_then_scored_then_learned() -> None:
    step = step_after(days(50))
    model, losses = NaiveBayes(), Losses()
    for event, output in zip(days(50), step.collect_outputs(), strict=True):
        answer = model.predict_proba_one(event.x)
        assert (output.probabilities, output.prediction) == (answer, model.predict_one(event.x))
        losses.update(event.y, answer)
        model.learn_one(event.x, event.y)
    assert json.dumps(step.losses.state()["labels"]) == json.dumps(losses.state()["labels"])
    assert step.losses.cumulative.log_loss == losses.cumulative.log_loss
    assert step.model.answer({"sky": "red"}) == model.predict_proba_one({"sky": "red"})
    assert (step.processed, step.learned, step.dead_letters.counts) == (50, 50, {})


def test_an_output_carries_the_coordinates_and_the_time_of_its_event() -> None:
    event = Event({"sky": "grey"}, "rain", key="k", time=12.5, position=7)
    (output,) = step_after([event], name="weather").collect_outputs()
    assert (output.key, output.source, output.partition, output.position) == ("k", "stream", 0, 7)
    assert (output.time, output.model.name, output.version) == (12.5, "weather", 1)


def test_the_size_of_batches_leaves_no_trace() -> None:
    whole = step_after(days(300))
    parts = Step(served(NaiveBayes()))
    stream = list(days(300))
    for start in range(0, 300, 7):
        parts.process(stream[start : start + 7])
    assert bytes_of(parts) == bytes_of(whole)
    assert parts.collect_outputs() == whole.collect_outputs()


def test_a_sample_without_label_is_predicted_and_not_learned() -> None:
    step = step_after([*days(20), Event({"sky": "grey"}, position=20)])
    assert len(step.collect_outputs()) == 21
    assert (step.learned, step.model.clock) == (20, 20)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (BadRecord("not_json", "expected an object", b"]"), "not_json"),
        (Event({"sky": "grey"}, y=[1]), "refused"),
        (Event({"sky": {"a": 1}}, "rain"), "refused"),
        (Event({"sky": "grey"}, "rain", weight=-1.0), "refused"),
        (Event({}, "rain", key="k", kind=Kind.LABEL), "no_pending"),
        (Event({}, key="k", kind=Kind.TOMBSTONE), "no_pending"),
    ],
)
def test_what_cannot_be_used_is_a_dead_letter_and_changes_nothing_else(record: Record, reason: str) -> None:
    step = step_after(days(20))
    model = bytes_of(step)
    step.process([record])
    (letter,) = step.dead_letters.letters
    assert (letter.reason, step.dead_letters.counts) == (reason, {reason: 1})
    assert len(step.collect_outputs()) == 20
    step.processed, step.dead_letters = 20, DeadLetters()
    assert bytes_of(step) == model


def test_the_dead_letter_of_a_decoded_event_shows_its_features() -> None:
    (letter,) = step_after([Event({"sky": "grey"}, ("a",) * 2, weight=-1.0)]).dead_letters.letters
    assert json.loads(letter.raw) == {"y": {"tuple": ["a", "a"]}, "x": {"dict": {"sky": "grey"}}}
    assert "-1" in letter.detail


def test_half_a_character_is_told_in_dead_letters_and_labels_like_any_text() -> None:
    half = "\ud800"  # as in what was read with errors="surrogateescape"
    (letter,) = step_after([Event({"sky": half}, half, weight=-1.0)]).dead_letters.letters
    assert json.loads(letter.raw) == {"y": half, "x": {"dict": {"sky": half}}}
    step = step_after([Event({"sky": half}, (half,)), Event({"sky": half}, position=1)])
    assert step.collect_outputs()[-1].probabilities == {'["\\ud800"]': 1.0}


def test_too_many_dead_letters_stop_the_stream_and_name_the_last() -> None:
    step = Step(served(NaiveBayes()), max_dead_share=0.1)
    step.process(days(200))
    with pytest.raises(TooManyDeadLetters, match=r"position 220 .*: no sense"):
        step.process(BadRecord("bad", "no sense", position=200 + n) for n in range(200))


def test_few_dead_letters_do_not_stop_a_stream() -> None:
    step = Step(served(NaiveBayes()), max_dead_share=0.1)
    for event in days(2000):
        step.process([BadRecord("bad", "no sense") if event.position % 20 == 0 else event])
    assert step.dead_letters.counts == {"bad": 100}


def test_labels_of_any_kind_have_names_in_json() -> None:
    labels = [True, 2, 1.5, "text", b"raw", ("a", 1)]
    step = step_after(Event({"sky": "grey"}, label, position=n) for n, label in enumerate([*labels, "text"]))
    assert list(step.collect_outputs()[-1].probabilities) == ["true", "2", "1.5", "text", '"cmF3"', '["a",1]']


def test_what_is_said_follows_the_costs() -> None:
    model = DecidingClassifier(BernoulliNB(), Costs.false_positive(9, unsure=0.5))
    step = Step(served(model))
    step.process([Event({"offer": 1}, "spam"), Event({"lunch": 1}, "ham")])
    step.process([Event({"offer": 1}), Event({"lunch": 1})])
    assert [output.prediction for output in step.collect_outputs()] == [None, "spam", "unsure", "ham"]


# -- late labels and corrections ---------------------------------------------------------------------------------------


def held(event: Event) -> Event:
    return Event(event.x, key=f"k{event.position}", position=2 * event.position)


def label(event: Event, says: str | None = None, kind: Kind = Kind.LABEL) -> Event:
    return Event({}, says or event.y, key=f"k{event.position}", position=2 * event.position + 1, kind=kind)


def test_late_labels_teach_and_score_what_was_predicted_then() -> None:
    stream = list(days(40))
    late = step_after([*map(held, stream), *map(label, stream)], pending=Pending())
    assert [output.prediction for output in late.collect_outputs()] == [None] * 40
    assert late.losses.unanswered == 40 and late.losses.cumulative.weight == 0
    assert late.learned == 40
    assert late.model.answer({"sky": "red"}) == step_after(stream).model.answer({"sky": "red"})


def test_a_correction_leaves_what_the_right_label_would_have() -> None:
    stream = list(days(40))
    opposite = {"rain": "sun", "sun": "rain"}
    pairs = [(held(e), label(e, opposite[e.y]) if e.position == 3 else label(e)) for e in stream]
    step = step_after([record for pair in pairs for record in pair], pending=Pending())
    step.process([label(stream[3], kind=Kind.CORRECTION)])
    for x in ({"sky": "red"}, {"sky": "grey", "wind": True}):
        assert step.model.answer(x) == step_after(stream).model.answer(x)
    assert step.pending is not None and step.pending.counts["corrected"] == 1


def test_a_correction_of_a_window_changes_the_sample_that_was_meant_and_no_other() -> None:
    stream = [Event({"sky": sky}, "sun", position=n) for n, sky in enumerate(["red", "blue", "grey", "blue"])]
    step = Step(served(SlidingWindow(NaiveBayes(), 3)), pending=Pending())
    step.process([record for event in stream for record in (held(event), label(event))])
    model: Any = step.model
    before = state_bytes(model.model)
    step.process([label(stream[0], "rain", Kind.CORRECTION)])  # it has left the window
    assert [letter.reason for letter in step.dead_letters.letters] == ["refused"]
    assert state_bytes(model.model) == before
    step.process([label(stream[1], "rain", Kind.CORRECTION)])  # the older of two that are alike
    other = SlidingWindow(NaiveBayes(), 3)
    for sky, y in (("grey", "sun"), ("blue", "sun"), ("blue", "rain")):
        other.learn_one({"sky": sky}, y)
    assert step.model.answer({"sky": "blue"}) == other.predict_proba_one({"sky": "blue"})
    step.process([Event({"sky": "red"}, "sun", position=9)])
    other.learn_one({"sky": "red"}, "sun")  # and with it the same one leaves
    assert step.model.answer({"sky": "grey"}) == other.predict_proba_one({"sky": "grey"})
    assert len(step.dead_letters.letters) == 1


@pytest.mark.parametrize(
    "model", [NaiveBayes(), NaiveBayes(half_life=50), SlidingWindow(NaiveBayes(), 3), KDB(k=2, window=40)]
)
def test_a_correction_that_is_refused_changes_no_count(model: Any) -> None:
    model = model.clone()
    for sky in ("red", "blue", "blue"):
        model.learn_one({"sky": sky}, "sun")
    twin = type(model).from_state(model.state())
    with pytest.raises(StreamBayesError):
        relabel(model, {"sky": "green"}, "sun", "rain", 1.0, 1)  # which was not learned
    with pytest.raises(StreamBayesError):
        relabel(model, {"sky": "red"}, "sun", ["rain"], 1.0, 1)  # which is not a label
    twin.advance(model.clock - twin.clock)
    assert model.store.by_name() == pytest.approx(twin.store.by_name())


def test_a_label_that_the_learner_refuses_is_a_dead_letter_and_the_sample_waits_on() -> None:
    model = NaiveBayes(schema=Schema({"sky": Nominal()}, classes=["rain", "sun"]))
    pending = Pending()
    step = Step(served(model), pending=pending)
    step.process([Event({"sky": "grey"}, key="a"), Event({}, "snow", key="a", kind=Kind.LABEL, position=1)])
    assert [(letter.reason, letter.position) for letter in step.dead_letters.letters] == [("refused", 1)]
    assert (step.learned, pending.waiting) == (0, 1)
    step.process([Event({}, "rain", key="a", kind=Kind.LABEL, position=2)])
    assert (step.learned, pending.waiting) == (1, 0)


def test_every_sample_has_one_result_whatever_comes() -> None:
    rng = random.Random(5)
    kinds = [*Kind, Kind.SAMPLE, Kind.SAMPLE]
    records = [
        Event(
            {"sky": rng.choice(["grey", "blue"])},
            rng.choice(["rain", "sun", None]),
            key=rng.choice([None, "a", "b", "c", "d"]),
            time=float(n),
            position=n,
            kind=rng.choice(kinds),
        )
        for n in range(2000)
    ]
    step = step_after(records, pending=Pending(wait_for=10))
    samples = {record.position for record in records if record.kind is Kind.SAMPLE}
    answered = [output.position for output in step.collect_outputs()]
    refused = [letter.position for letter in step.dead_letters.letters if letter.position in samples]
    assert sorted(answered + refused) == sorted(samples)


# -- keeping -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holding", [False, True])
def test_going_on_from_sections_leaves_the_same_bytes(holding: bool) -> None:
    def pending() -> Pending | None:
        return Pending(wait_for=50) if holding else None

    stream: list[Event] = list(days(200))
    if holding:
        stream = [record for event in stream for record in (held(event), label(event))]
    whole = step_after(stream, pending=pending())
    first = step_after(stream[:77], pending=pending())
    snapshot = Snapshot.from_bytes(Snapshot(learner="NaiveBayes", sections=first.freeze()()).to_bytes())
    second = Step(served(NaiveBayes()), pending=pending())
    second.load(snapshot.sections)
    second.process(stream[77:])
    assert bytes_of(second) == bytes_of(whole)


def test_what_is_frozen_does_not_change_with_what_comes_after() -> None:
    step = step_after(days(100))
    before = bytes_of(step)
    sections = step.freeze()
    step.process(days(100, seed=2))
    assert Snapshot(learner="NaiveBayes", sections=sections()).to_bytes() == before


def test_a_state_of_another_model_or_other_parts_is_refused() -> None:
    sections = step_after(days(10)).freeze()()
    with pytest.raises(BadState, match="AODE"):
        Step(served(AODE())).load(sections)
    with pytest.raises(BadState, match="strength"):
        Step(served(NaiveBayes(strength=0.5))).load(sections)
    with pytest.raises(BadState, match="pending"):
        Step(served(NaiveBayes()), pending=Pending()).load(sections)
    for name, value in [
        ("processed", -1),
        ("dead_letters", {"counts": {"x": 0}, "weight": 0.0, "at": 0, "places": []}),
        ("dead_letters", {"counts": {}, "weight": float("nan"), "at": 0, "places": []}),
        ("learned", True),
    ]:
        with pytest.raises(BadState, match="altered|dead|" + name):
            Step(served(NaiveBayes())).load(sections | {"step": sections["step"] | {name: value}})
