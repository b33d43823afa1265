"""What happens to each event: predict, score, learn, hold. Everything that a snapshot must keep of it is here.

A step does nothing but change its state and return results: no file, no clock. So the same events lead to the same
state and the same results, live or in a replay, in batches of any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, cast

from stream_bayes.core.events.actions import Action, Learn, Predict, Reason, Refuse, Relearn
from stream_bayes.core.events.event import SAMPLE, BadRecord, Event
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.payloads import plain, tagged_payload
from stream_bayes.errors import BadValue, StreamBayesError, TooManyDeadLetters
from stream_bayes.streams.contracts.sink import DeadLetter, DriftEntry, ModelVersion, Output
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.json_sink import json_bytes
from stream_bayes.streams.models.answers import Answer, AnswerDicts, Answers
from stream_bayes.streams.models.served import Served, digest

__all__ = ["Step"]

DEAD_HALF_LIFE = 1000.0  # records after which a dead letter weighs half in their share
LEAST_RECORDS = 100  # a share of fewer says little

MOST_RAW = 65_536  # bytes of a record that a dead letter carries

SAID = {
    Reason.NO_KEY: "it names no key, and has no label or is one: nothing could ever be joined to it",
    Reason.BAD_KEY: "its key is of a type that cannot be one",
    Reason.BAD_LABEL: "its label is missing, or of a type that cannot be one",
    Reason.BAD_WEIGHT: "its weight is not a number from 0 on",
    Reason.BAD_FEATURES: "its features are of types that cannot be held until its label comes",
    Reason.KEY_IS_WAITING: "another sample with this key waits for its label",
    Reason.LABEL_TOO_LATE: "the sample with this key was given up, or withdrawn",
    Reason.LABEL_WITHOUT_SAMPLE: "no sample with this key came in time",
    Reason.CORRECTION_TOO_LATE: "the sample with this key is not remembered any more, or never came",
    Reason.TOMBSTONE_TOO_LATE: "the sample with this key is not remembered any more, or never came",
}

NO_PENDING = "no_pending"  # a label or correction came, and nothing waits for any
REFUSED = "refused"  # by the learner


class Step:
    """Predict, score, learn, for one event after the other.

    A record that cannot be used changes nothing but counters, and becomes a dead letter.

    Parameters
    ----------
    model
        The model that predicts and learns.
    name
        Name of the model in the outputs.
    losses
        Scores of the predictions.
    pending
        What holds events that wait for their labels. None: a sample without label is predicted and forgotten, and
        labels, corrections and tombstones are dead letters.
    max_dead_share
        The share of dead letters, of the last thousand records or so, at which to stop with `TooManyDeadLetters`. 1
        never stops.

    Attributes
    ----------
    letters
        Dead letters since `clear_results`.
    processed
        Number of records processed.
    learned
        Number of samples learned.
    dead
        How many dead letters there were of each reason.
    drifts
        What was noted of drifts, and not forgotten, each with the place and time of the record that it came with.
    last_dead
        The place and the detail of the last one of each reason, since this object was made.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.streams.models.served import served
    >>> step = Step(served(NaiveBayes()))
    >>> step.process([Event({"sky": "grey"}, "rain"), Event({"sky": "grey"}, position=1)])
    >>> [(output.prediction, output.probabilities) for output in step.collect_outputs()]
    [(None, {}), ('rain', {'rain': 1.0})]
    """

    def __init__(
        self,
        model: Served,
        name: str = "model",
        losses: Losses | None = None,
        pending: Pending | None = None,
        max_dead_share: float = 1.0,
    ) -> None:
        if not 0.0 < max_dead_share <= 1.0:
            raise BadValue(f"max_dead_share: expected a share above 0 and at most 1, got {max_dead_share!r}")
        self.model = model
        self.name = name
        self.losses = Losses() if losses is None else losses
        self.pending = pending
        self.max_dead_share = max_dead_share
        self.letters: list[DeadLetter] = []
        self.processed = 0
        self.learned = 0
        self.dead: dict[str, int] = {}
        self.last_dead: dict[str, tuple[int, str]] = {}
        self._dead_weight = 0.0  # of the dead letters so far, each fading
        self._dead_at = 0  # when it was worked out
        self.drifts: list[DriftEntry] = []
        self._outputs: list[Output] = []
        # Answers, not yet outputs: nobody may ask for those.
        self._answered: list[tuple[list[Event], Answers, ModelVersion]] = []
        self._names = _Names()
        self._version = ModelVersion(name, model.generation, digest(model.settings()))
        self._noted = _added(model)  # of the log of drifts

    def collect_outputs(self) -> list[Output]:
        """Return the outputs since `clear_results`; answers that are no outputs yet are made into some."""
        for events, answers, version in self._answered:
            places = [event.partition for event in events]
            self._outputs += map(
                Output,
                [event.key for event in events],
                [place.source for place in places],
                [place.partition for place in places],
                [event.position for event in events],
                [event.time for event in events],
                answers.decide(self.model.decide),
                answers.named(self._names.__getitem__),
                repeat(version),
            )
        self._answered.clear()
        return self._outputs

    def clear_results(self) -> None:
        """Let go of outputs, dead letters and what was noted of drifts, once they have been written."""
        for results in (self._answered, self._outputs, self.letters, self.drifts):
            results.clear()

    # -- taking events ------------------------------------------------------------------------------------------------

    def process(self, records: Iterable[Record]) -> None:
        """Take records in their order; what comes of them is added to `outputs` and `letters`."""
        if self.pending is not None:
            for record in records:
                self.processed += 1
                if isinstance(record, Event):
                    self._hold(record, self.pending)
                else:
                    self._reject(record)
            return
        for run in _runs_of_samples(records):
            if isinstance(run, list):
                self._take_samples(run)
                continue
            self.processed += 1
            if isinstance(run, Event):
                kind = run.kind.value
                self._refuse(run, NO_PENDING, f"a {kind}, but this pipeline holds no samples")
            else:
                self._reject(run)

    def _take_samples(self, events: list[Event]) -> None:
        """Take samples together, which is the same as one by one; what has no label is only answered."""
        xs, ys = [event.x for event in events], [event.y for event in events]
        weights = [event.weight for event in events]
        start = 0
        while start < len(events):
            version = self._version_now()
            answers, refused = self.model.process(xs[start:], ys[start:], weights[start:])
            stop = start + len(answers)
            if stop > start:
                labels = ys[start:stop]
                answers.score(self.losses, labels, weights[start:stop])
                self._answered.append((events[start:stop], answers, version))
                self._place_drifts(events[stop - 1])
                self.processed += stop - start
                self.learned += stop - start - labels.count(None)
            if refused is not None:
                self.processed += 1
                self._refuse(events[stop], REFUSED, str(refused))
                stop += 1
            start = stop

    def _put_one(self, event: Event, answer: Answer, version: ModelVersion) -> None:
        self._answered.append(([event], AnswerDicts([answer]), version))

    def _version_now(self) -> ModelVersion:
        """Return the version of the present model."""
        if self._version.generation != self.model.generation:
            self._version = ModelVersion(self.name, self.model.generation, self._version.configuration)
        return self._version

    def _place_drifts(self, cause: Event) -> None:
        """Add to what the model noted just now, if anything, with which record it came."""
        log = self.model.drifts
        if log is None or log.added == self._noted:
            return
        for entry in log.newest(log.added - self._noted):
            source, number = cause.partition
            entry |= {"time": cause.time, "source": source, "partition": number, "position": cause.position}
            details = {
                name: value for name, value in entry.items() if name not in DriftEntry.__struct_fields__
            }
            fields = {name: entry[name] for name in DriftEntry.__struct_fields__ if name in entry}
            self.drifts.append(DriftEntry(key=cause.key, details=details, **fields))
        self._noted = log.added

    # -- holding events until their labels come -----------------------------------------------------------------------

    def _hold(self, event: Event, pending: Pending) -> None:
        for action in pending.advance(event):
            self._do(action, action.event, pending)
        for action in pending.arrive(event):
            self._do(action, event, pending)

    def _do(self, action: Action, cause: Event, pending: Pending) -> None:
        """Do what the pending store asks for. If the learner refuses, `cause` goes to the dead letters."""
        try:
            if isinstance(action, Predict):
                self._predict(action, pending)
            elif isinstance(action, Learn):
                event = action.event
                self.model.learn(event.x, action.label, event.weight)
                self._note(action, event.x, pending)
            elif isinstance(action, Relearn):
                self._relearn(action, pending)
            elif isinstance(action, Refuse):
                self._refuse(action.event, action.reason.value, SAID[action.reason])
            else:
                was = action.was
                self.model.unlearn(was.encoded, was.label, was.weight, was.clock)
                self.learned -= 1
            self._place_drifts(cause)
        except StreamBayesError as error:
            self._refuse(cause, REFUSED, str(error))

    def _predict(self, action: Predict, pending: Pending) -> None:
        event, version = action.event, self._version_now()
        if event.y is None:
            answer = self.model.answer(event.x)
            todo = pending.predicted(action, answer)
            if not any(isinstance(next_action, Refuse) for next_action in todo):
                self._put_one(event, answer, version)
            for next_action in todo:
                self._do(next_action, event, pending)
            return
        answer = self.model.predict_then_learn(event.x, event.y, event.weight)
        self._put_one(event, answer, version)
        for learn in pending.predicted(action, answer):
            assert isinstance(learn, Learn)
            self._note(learn, event.x, pending)

    def _note(self, learn: Learn, x: Any, pending: Pending) -> None:
        """Score the prediction of a sample that was learned, and hold it for corrections."""
        self.learned += 1
        self.losses.update(learn.label, learn.prediction, ..., learn.event.weight)
        pending.learned(learn, self.model.content(x), self.model.clock)

    def _relearn(self, action: Relearn, pending: Pending) -> None:
        was, model = action.was, self.model
        model.relearn(was.encoded, was.label, action.label, was.weight, was.clock)
        pending.learned(action, was.encoded, model.clock)

    # -- what changes nothing -----------------------------------------------------------------------------------------

    def _refuse(self, event: Event, reason: str, detail: str) -> None:
        """Put an event that was decoded, but cannot be used, with the dead letters."""
        self._bury(event, reason, detail, _written(event))

    def _reject(self, record: BadRecord) -> None:
        self._bury(record, record.reason, record.detail, record.raw)

    def _bury(self, record: Record, reason: str, detail: str, raw: bytes) -> None:
        source, partition = record.partition
        place = (record.key, source, partition, record.position, record.time)
        self.letters.append(DeadLetter(*place, reason, detail, raw[:MOST_RAW]))
        self.dead[reason] = self.dead.get(reason, 0) + 1
        self.last_dead[reason] = (record.position, detail)
        if self.max_dead_share < 1.0:
            self._weigh_dead(record, detail)

    def _weigh_dead(self, record: Record, detail: str) -> None:
        fade = 0.5 ** (1.0 / DEAD_HALF_LIFE)
        self._dead_weight = self._dead_weight * fade ** (self.processed - self._dead_at) + 1.0
        self._dead_at = self.processed
        share = self._dead_weight * (1.0 - fade) / (1.0 - fade**self.processed)
        if self.processed >= LEAST_RECORDS and share > self.max_dead_share:
            source, number = record.partition
            raise TooManyDeadLetters(
                f"{share:.0%} of the last records could not be used, more than "
                f"max_dead_share={self.max_dead_share:g}; the last of {sum(self.dead.values()):,}, at "
                f"position {record.position} of {source}[{number}]: {detail}"
            )

    # -- keeping ------------------------------------------------------------------------------------------------------

    def freeze(self) -> Callable[[], dict[str, dict[str, Any]]]:
        """Freeze the state as it is now. The returned function makes the sections, later and in any thread.

        What is copied now is all that the stream waits for.
        """
        own = {
            "taken": self.processed,
            "learned": self.learned,
            "dead": dict(sorted(self.dead.items())),
            "dead_weight": self._dead_weight,
            "dead_at": self._dead_at,
        }
        model, losses = self.model.freeze(), self.losses.state()
        held = None if self.pending is None else self.pending.content()

        def sections() -> dict[str, dict[str, Any]]:
            states = {"step": own, "model": model(), "losses": losses}
            return states if held is None else states | {"pending": held.state()}

        return sections

    def load_model(self, state: Mapping[str, Any]) -> None:
        """Go on from the state of a model, and from nothing else."""
        self.model.load(state)
        self._noted = _added(self.model)

    def load(self, sections: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on from sections; `BadState` for whatever is wrong with them."""
        kept = {"step", "model", "losses"} | ({"pending"} if self.pending is not None else set())
        with refusing_bad_state():
            expect(set(sections) == kept, f"it has the sections {sorted(sections)}, expected {sorted(kept)}")
            own = sections["step"]
            for name in ("taken", "learned", "dead_at"):
                expect(type(own[name]) is int and 0 <= own[name] < 2**62, f"{name} is {own[name]!r}")
            weight, dead = own["dead_weight"], own["dead"]
            expect(type(weight) is float and 0.0 <= weight < math.inf, f"dead_weight is {weight!r}")
            for reason, count in dead.items():
                sound = isinstance(reason, str) and type(count) is int and count > 0
                expect(sound, f"it counts {count!r} dead letters of {reason!r}")
        self.load_model(sections["model"])
        self.losses.load(sections["losses"])
        if self.pending is not None:
            self.pending.load(sections["pending"])
        self.processed, self.learned, self._dead_at = own["taken"], own["learned"], own["dead_at"]
        self._dead_weight, self.dead = weight, dict(dead)


def _added(model: Served) -> int:
    """Return the number of entries ever added to the drift log."""
    return 0 if model.drifts is None else model.drifts.added


def _runs_of_samples(records: Iterable[Record]) -> Iterator[list[Event] | Record]:
    """Yield the records in order, with consecutive samples as one list."""
    given = list(records)
    if set(map(type, given)) == {Event}:
        events = cast("list[Event]", given)
        if [event.kind for event in events].count(SAMPLE) == len(events):  # as in nearly every batch
            yield events
            return
    samples: list[Event] = []
    for record in given:
        if isinstance(record, Event) and record.kind is SAMPLE:
            samples.append(record)
            continue
        if samples:
            yield samples
            samples = []
        yield record
    if samples:
        yield samples


class _Names(dict[Any, str]):
    """What each label is called in JSON, where names are strings."""

    def __missing__(self, label: Any) -> str:
        name = label if isinstance(label, str) else json_bytes(label).decode()
        self[label] = name
        return name


def _written(event: Event) -> bytes:
    """Return an event as JSON, for people to read."""
    try:
        return json_bytes({"y": tagged_payload(plain(event.y)), "x": tagged_payload(plain(event.x))})
    except BadValue:
        return b""  # it holds objects of a program, which only that program can show
