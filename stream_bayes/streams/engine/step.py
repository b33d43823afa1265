"""The step of each event: predict, score, learn, or hold until its label comes.

A step changes its state and returns results; it uses no file and no clock. So the same events lead to the same state
and the same results, live or in a replay, in batches of any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, cast

from msgspec.structs import replace

from stream_bayes.core.events.actions import (
    Action,
    Learn,
    Learned,
    Predict,
    RefusalReason,
    Refuse,
    Relearn,
    admitted,
)
from stream_bayes.core.events.event import SAMPLE, BadRecord, Event
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import StreamTime
from stream_bayes.core.events.unlearn_spans import Rejoined, span_of
from stream_bayes.core.measures.coverage_control import LabelSets
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.measures.number_losses import NumberLosses
from stream_bayes.core.measures.surprises import Surprises
from stream_bayes.core.measures.variable_errors import TargetErrors, VariableErrors
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.payloads import Payload
from stream_bayes.error_origin import is_bug
from stream_bayes.errors import BadLabel, BadValue, BudgetExceeded, StreamBayesError, TooManyDeadLetters
from stream_bayes.learners.base.credible_intervals import ends_of
from stream_bayes.streams.contracts.sink import (
    SCHEMA_VERSION,
    DriftEntry,
    IntervalOutput,
    IntervalSetOutput,
    ModelVersion,
    NumberOutput,
    Output,
    ScoredOutput,
    SetOutput,
    TargetsOutput,
)
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.dead_letters import (
    DETAILS,
    NO_PENDING,
    NOT_UNLEARNED,
    REFUSED,
    DeadLetters,
    event_json,
)
from stream_bayes.streams.engine.model_time import ModelTime
from stream_bayes.streams.engine.newest_answers import NewestAnswers
from stream_bayes.streams.engine.rebuild_check import Account, account_in
from stream_bayes.streams.files.json_sink import json_bytes
from stream_bayes.streams.records.commands import encode_redrive, encode_unlearn
from stream_bayes.streams.served_models.answers import AnswerDicts, BatchAnswers, LabelProbabilities
from stream_bayes.streams.served_models.events import EventAnswers, UnlabelledModel
from stream_bayes.streams.served_models.protocol import Served, ServedInTime, ServedNumbers
from stream_bayes.streams.served_models.served import digest
from stream_bayes.streams.served_models.unwrapping import answering_model, features_within

__all__ = ["Step"]

LabelIntervals = list[
    Mapping[Any, tuple[float, float]]
]  # of each event: by label, the ends of its probability
Sets = list[dict[float, list[Any]]]  # of each event: by level, the labels


class Step:
    """Predicts, scores and learns events sequentially.

    A record that cannot be used changes nothing but counters, and becomes a dead letter.

    Parameters
    ----------
    model
        The model that predicts and learns.
    name
        Name of the model in the outputs.
    losses
        Losses of the predictions. By default those of labels, or of numbers if the model predicts numbers, by target
        if there are several.
    pending
        Store of samples that wait for their labels. Without one, a sample without label is only predicted, and labels,
        corrections and tombstones are dead letters.
    max_dead_share
        Share of dead letters among about the last thousand records above which `TooManyDeadLetters` is raised. 1 for
        no limit.
    intervals
        The level of the credible intervals in the outputs; None for none. Events are then processed one by one. A
        model of numbers has a level of its own, and takes none.
    sets
        The sets of labels in the outputs; None for none. Their thresholds move with each label that is learned, by
        whether the set in the output held it, however late the label is.
    max_skew
        For a model whose samples count by their times: the most seconds by which one record may advance its time. A
        sample further ahead counts at the time that it advances to. Nothing is learned before `StreamTime` starts, with
        the second or third record; what came before is learned then. None: any time is taken as it is.

    Attributes
    ----------
    dead_letters
        The records that could not be used.
    processed
        Number of records processed.
    learned
        Number of samples learned.
    surprises
        The mean surprise of events, of a network without a class; None for other models.
    errors
        The errors of predicted numbers by variable, of a network without a class that predicts some, or by target;
        None for others.
    drifts
        Drift entries since `clear_results`, each with position and time of the record that caused it.
    time
        The clock that the times of records move: of a model that fades or drops by time, or of waiting labels. None
        without one. If labels wait by time, it is theirs.
    raw_of
        Returns the bytes of an event's record, for its dead letter; None if they are gone.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.streams.served_models.served import served
    >>> step = Step(served(NaiveBayes()))
    >>> step.process([Event({"sky": "grey"}, "rain"), Event({"sky": "grey"}, position=1)])
    >>> [(output.prediction, output.probabilities) for output in step.collect_outputs()]
    [(None, {}), ('rain', {'rain': 1.0})]
    """

    def __init__(
        self,
        model: Served,
        name: str = "model",
        losses: Losses | NumberLosses | TargetErrors | None = None,
        pending: Pending | None = None,
        max_dead_share: float = 1.0,
        intervals: float | None = None,
        sets: LabelSets | None = None,
        max_skew: float | None = None,
    ) -> None:
        if sets is not None and (model.predicts_numbers or model.is_unsupervised):
            raise BadValue(f"sets: a {model.name} predicts no class; leave them out")
        if intervals is not None:
            ends_of(intervals)
            if model.predicts_numbers:
                raise BadValue(f"intervals: the level of a {model.name} is an argument of `served`")
            if not hasattr(answering_model(model.model), "predict_interval_one") or model.is_unsupervised:
                raise BadValue(f"intervals: a {model.name} has none; leave the level out")
        if pending is not None and model.is_unsupervised:
            raise BadValue(f"pending: a {model.name} has no class, so that its events wait for no labels")
        self.model = model
        self.name = name
        self._numbers = cast("ServedNumbers", model) if model.predicts_numbers else None
        # A union would burden all who read the measures of labels.
        self.losses: Any = _losses_of(self._numbers) if losses is None else losses
        if not isinstance(self.losses, type(_losses_of(self._numbers))):
            raise BadValue(f"losses: {type(self.losses).__name__} do not score a {model.name}")
        self.surprises = Surprises() if model.is_unsupervised else None
        level = model.level if isinstance(model, UnlabelledModel) else None
        self.errors = None if level is None else VariableErrors(level)
        if isinstance(self.losses, TargetErrors):
            self.errors = self.losses
        self.pending = pending
        self.intervals = intervals
        self.sets = sets
        self.dead_letters = DeadLetters(max_dead_share)
        self.processed = 0
        self.learned = 0
        self.unlearned = 0
        self.raw_of: Callable[[Event], bytes | None] = lambda event: None
        self.drifts: list[DriftEntry] = []
        self._outputs: list[Any] = []
        # Outputs are made of these only on request.
        self._answered: list[
            tuple[list[Event], BatchAnswers, ModelVersion, LabelIntervals | None, Sets | None]
        ] = []
        self._names = _LabelNames()
        self._timed = cast("ServedInTime", model) if model.is_timed else None
        labels = None if pending is None or not isinstance(pending.time, StreamTime) else pending.time
        is_fading = model.is_timed and not model.is_unsupervised
        clock = (labels or StreamTime(max_skew)) if is_fading else None
        self._model_time = None if clock is None else ModelTime(clock, takes_labels=pending is not None)
        self.time = labels or clock
        self._version = ModelVersion(name, model.generation, digest(model.settings()))
        self._recorded = _added(model)  # entries of the drift log
        self.newest: NewestAnswers | None = None  # for the service; None without one

    @property
    def has_model_clock(self) -> bool:
        """True if the model fades or drops by the times of records, so that there is a section of its time."""
        return self._model_time is not None

    @property
    def held(self) -> int:
        """The number of samples and labels that are not learned before the clock of the model has started."""
        return 0 if self._model_time is None else self._model_time.held

    @property
    def account(self) -> Account:
        """The numbers of records, samples and labels that the state was made of."""
        sections: dict[str, Any] = {"step": {"processed": self.processed, "learned": self.learned}}
        if self._model_time is not None:
            sections["time"] = self._model_time.state()
        if self.pending is not None:
            sections["pending"] = self.pending.content().state()
        return account_in(sections)

    @property
    def output_class(self) -> type[Output] | type[NumberOutput] | type[TargetsOutput]:
        """The class of the outputs."""
        if self._numbers is not None:
            return TargetsOutput if self._numbers.has_targets else NumberOutput
        if self.model.is_unsupervised:
            return ScoredOutput
        if self.sets is not None:
            return SetOutput if self.intervals is None else IntervalSetOutput
        return Output if self.intervals is None else IntervalOutput

    def collect_outputs(self) -> list[Any]:  # of `output_class`: a union would burden all who read labels
        """Return the outputs since `clear_results`."""
        for events, answers, version, intervals, sets in self._answered:
            parts = [event.partition for event in events]
            if self._numbers is not None:
                for event, part, answer in zip(events, parts, answers.named(str), strict=True):
                    if self._numbers.has_targets:
                        self._outputs.append(_targets_output(event, answer, version))
                        continue
                    mean, low, high = (_finite(answer.get(name)) for name in ("mean", "low", "high"))
                    at = (event.key, part.source, part.partition, event.position, event.time)
                    self._outputs.append(NumberOutput(*at, mean, low, high, version))
                continue
            further: list[Iterable[Any]] = [repeat(SCHEMA_VERSION)]
            if isinstance(answers, EventAnswers):
                further += [answers.scores, answers.novel, answers.p_values]
            if sets is not None:
                further.append([{str(level): labels for level, labels in each.items()} for each in sets])
            if intervals is not None:
                further.append(
                    [{self._names[label]: ends for label, ends in each.items()} for each in intervals]
                )
            self._outputs += map(
                self.output_class,
                [event.key for event in events],
                [part.source for part in parts],
                [part.partition for part in parts],
                [event.position for event in events],
                [event.time for event in events],
                answers.decide(self.model.decide),
                answers.named(self._names.__getitem__),
                repeat(version),
                *further,
            )
        self._answered.clear()
        return self._outputs

    def clear_results(self) -> None:
        """Drop outputs, dead letters and drift entries, once they have been written."""
        self.dead_letters.clear()
        for results in (self._answered, self._outputs, self.drifts):
            results.clear()

    # -- processing events ---------------------------------------------------------------------------------------------

    def process(self, records: Iterable[Record]) -> None:
        """Process records in order; collect outputs, letters and drift entries."""
        if self.pending is not None:
            for record in records:
                self.processed += 1
                if isinstance(record, Event):
                    try:
                        event = self._with_number(record)
                    except BadLabel as error:
                        self.pending.counts[RefusalReason.BAD_LABEL.value] += 1
                        self._refuse(record, RefusalReason.BAD_LABEL.value, str(error))
                    else:
                        self._process_joined(event, self.pending)
                else:
                    self._reject(record)
            return
        for run in _runs_of_samples(records):
            if isinstance(run, list):
                self._process_samples(run)
                continue
            self.processed += 1
            if isinstance(run, Event):
                kind = run.kind.value
                self._refuse(run, NO_PENDING, f"a {kind}, but this pipeline holds no samples")
            else:
                self._reject(run)

    def _process_samples(self, events: list[Event]) -> None:
        """Process samples together, with the same results as one by one; only predict those without a label."""
        readable: list[Event] = []
        for event in events if self._numbers is not None else ():
            try:
                readable.append(self._with_number(event))
            except BadLabel as error:
                self._process_readable(readable)  # first: letters are in the order of events
                readable = []
                self.processed += 1
                self._refuse(event, RefusalReason.BAD_LABEL.value, str(error))
        self._process_readable(events if self._numbers is None else readable)

    def _process_readable(self, events: list[Event]) -> None:
        """Process samples whose labels the model reads."""
        is_early = self._model_time is not None and not self._model_time.clock.has_started
        if (self.intervals is not None or is_early) and len(events) > 1:
            for event in events:
                self._process_readable([event])
            return
        times = self._advance(events)
        if times and self._awaits_start(events[0]):
            self.processed += 1
            self._hold_sample(events[0])
            return
        xs, ys = [event.x for event in events], [event.y for event in events]
        weights = [event.weight for event in events]
        start = 0
        while start < len(events):
            version = self._current_version()
            intervals = self._intervals(events[0])  # of the model before it learns the event
            if self._timed is None:
                answers, refused = self.model.process(xs[start:], ys[start:], weights[start:])
            else:
                answers, refused = self._timed.process(xs[start:], ys[start:], weights[start:], times[start:])
            stop = start + len(answers)
            if stop > start:
                labels = ys[start:stop]
                sets = self._batch_sets(answers, labels, weights[start:stop])
                answers.score(self.losses, labels, weights[start:stop])
                if self.surprises is not None:
                    assert isinstance(answers, EventAnswers)
                    answers.p_values = self.surprises.add(answers.surprises, weights[start:stop])
                    if self.errors is not None:
                        answers.score_numbers(self.errors, weights[start:stop])
                self._add_answers(events[start:stop], answers, version, intervals, sets)
                self._record_drifts(events[stop - 1])
                self.processed += stop - start
                self.learned += stop - start - (0 if self.model.is_unsupervised else labels.count(None))
            if isinstance(refused, BudgetExceeded):
                raise refused  # as a dead letter for every new value it would be overlooked
            if refused is not None:
                self.processed += 1
                self._refuse(events[stop], REFUSED, str(refused))
                stop += 1
            start = stop

    def _intervals(self, event: Event) -> LabelIntervals | None:
        """Return the interval of each label's probability, as an only item, if they are wanted."""
        if self.intervals is None:
            return None
        model = self.model.model
        try:
            x = features_within(model, event.x)
            return [answering_model(model).predict_interval_one(x, self.intervals)]
        except (
            StreamBayesError,
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
        ) as error:
            if is_bug(error):
                raise
            return [{}]  # predicting refuses the event, too, and says why

    def _add_answer(
        self,
        event: Event,
        answer: LabelProbabilities,
        version: ModelVersion,
        intervals: LabelIntervals | None,
    ) -> None:
        self._add_answers([event], AnswerDicts([answer]), version, intervals, self._sets(answer))

    def _sets(self, answer: LabelProbabilities) -> Sets | None:
        """Return the sets of an answer, as an only item, if they are wanted."""
        return None if self.sets is None else [self.sets.labels(answer)]

    def _with_sets(self, answer: LabelProbabilities) -> Payload:
        """Return what is scored when the label comes: the answer, and with it the sets of its output."""
        sets = self._sets(answer)
        return answer if sets is None else (answer, sets[0])

    def _batch_sets(
        self, answers: BatchAnswers, labels: Sequence[Any], weights: Sequence[float]
    ) -> Sets | None:
        """Return the sets of each answer, each made before the thresholds move with its own label."""
        if self.sets is None:
            return None
        sets = []
        for answer, label, weight in zip(answers.named(lambda label: label), labels, weights, strict=True):
            sets.append(self.sets.labels(answer))
            if label is not None:
                self.sets.score(label, answer, weight=weight)
        return sets

    def _add_answers(
        self,
        events: list[Event],
        answers: BatchAnswers,
        version: ModelVersion,
        intervals: LabelIntervals | None,
        sets: Sets | None,
    ) -> None:
        self._answered.append((events, answers, version, intervals, sets))
        if self.newest is not None:
            self.newest.add(events, answers, version)

    def _current_version(self) -> ModelVersion:
        """Return the version of the present model."""
        if self._version.generation != self.model.generation:
            self._version = ModelVersion(self.name, self.model.generation, self._version.configuration)
        return self._version

    def _record_drifts(self, cause: Event) -> None:
        """Collect new entries of the drift log, with the position and time of the record that caused them."""
        log = self.model.drifts
        if log is None or log.added == self._recorded:
            return
        for entry in log.newest(log.added - self._recorded):
            source, number = cause.partition
            entry |= {"time": cause.time, "source": source, "partition": number, "position": cause.position}
            details = {
                name: value for name, value in entry.items() if name not in DriftEntry.__struct_fields__
            }
            fields = {name: entry[name] for name in DriftEntry.__struct_fields__ if name in entry}
            self.drifts.append(DriftEntry(key=cause.key, details=details, **fields))
        self._recorded = log.added

    def _with_number(self, event: Event) -> Event:
        """Return an event with its label as the model reads it; raise `BadLabel` if it is no number."""
        if self._numbers is None or event.y is None:
            return event
        return replace(event, y=self._numbers.read_label(event.y))

    # -- joining samples and labels ------------------------------------------------------------------------------------

    def _process_joined(self, event: Event, pending: Pending) -> None:
        for action in pending.advance(event):
            self._perform(action, action.event, pending)
        time = self._model_time
        if time is not None:
            if time.clock is not pending.time:
                time.clock.advance(event)
            self._release(time)
            if time.holds_label(event):
                return
        for action in pending.arrive(event):
            self._perform(action, event, pending)

    def _perform(self, action: Action, cause: Event, pending: Pending) -> None:
        """Perform an action of the pending store. If the learner refuses, `cause` becomes a dead letter."""
        try:
            if isinstance(action, Predict):
                self._predict(action, pending)
            elif isinstance(action, Learn) and (time := self._awaits_start(action.event)):
                time.hold(replace(action.event, y=action.label), action.prediction)
            elif isinstance(action, Learn):
                self._learn(action)
                self._record_learned(action, pending)
            elif isinstance(action, Relearn):
                self._relearn(action, pending)
            elif isinstance(action, Refuse):
                self._refuse(action.event, action.reason.value, DETAILS[action.reason])
            else:
                was = action.was
                self.model.unlearn(was.encoded, was.label, was.weight, was.clock)
                self.learned -= 1
                self.unlearned += 1
            self._record_drifts(cause)
        except (BudgetExceeded, TooManyDeadLetters):
            raise  # the first as a dead letter for every new value would be overlooked
        except StreamBayesError as error:
            self._refuse(cause, REFUSED, str(error))

    def _predict(self, action: Predict, pending: Pending) -> None:
        event, version = action.event, self._current_version()
        intervals = self._intervals(event)
        if event.y is None:
            answer = self.model.answer(event.x)
            if (features := self.model.hold(event.x)) is not event.x:
                action = Predict(replace(event, x=features))
            todo = pending.predicted(action, self._with_sets(answer))
            if not any(isinstance(next_action, Refuse) for next_action in todo):
                self._add_answer(event, answer, version, intervals)
            for next_action in todo:
                self._perform(next_action, event, pending)
            return
        if self._awaits_start(event):
            self._hold_sample(event)
            return
        if self._timed is None:
            answer = self.model.predict_then_learn(event.x, event.y, event.weight)
        else:
            answer = self._timed.predict_then_learn(event.x, event.y, event.weight, self._counted_at(event))
        self._add_answer(event, answer, version, intervals)
        for learn in pending.predicted(action, answer):
            assert isinstance(learn, Learn)
            self._record_learned(learn, pending)

    def _learn(self, learn: Learn) -> None:
        event = learn.event
        if self._timed is None:
            self.model.learn(event.x, learn.label, event.weight)
        else:
            self._timed.learn(event.x, learn.label, event.weight, self._counted_at(event))

    def _record_learned(self, learn: Learn, pending: Pending | None) -> None:
        """Score the prediction of a learned sample, and store the sample for corrections."""
        self.learned += 1
        answer, sets = learn.prediction if type(learn.prediction) is tuple else (learn.prediction, None)
        self.losses.update(learn.label, answer, ..., learn.event.weight)
        if self.sets is not None:
            self.sets.score(learn.label, answer, sets, learn.event.weight)
        if pending is not None:
            pending.learned(learn, self.model.content(learn.event.x), self.model.clock)

    def _relearn(self, action: Relearn, pending: Pending) -> None:
        was, model = action.was, self.model
        model.relearn(was.encoded, was.label, action.label, was.weight, was.clock)
        pending.learned(action, was.encoded, model.clock)

    # -- the time of the model ----------------------------------------------------------------------------------------

    def _counted_at(self, event: Event) -> float | None:
        """Return the time that an event counts at."""
        return event.time if self._model_time is None else self._model_time.clock.bounded(event.time)

    def _advance(self, events: Sequence[Event]) -> list[float | None]:
        """Advance the clock of the model by samples; return the times that they count at."""
        time = self._model_time
        if time is None:
            return [event.time for event in events] if self._timed is not None else []
        times = time.advance(events)
        self._release(time)
        return times

    def _awaits_start(self, event: Event) -> ModelTime | None:
        """Return the time of the model for an event that waits until it starts."""
        time = self._model_time
        return time if time is not None and time.awaits_start(event) else None

    def _hold_sample(self, event: Event) -> None:
        """Predict a sample, and hold it until the clock of the model starts; without a label, only predict it."""
        assert self._model_time is not None
        try:
            version, intervals = self._current_version(), self._intervals(event)
            answer = self.model.answer(event.x)
            if event.y is not None:
                sound = admitted(event)
                if isinstance(sound, RefusalReason):
                    raise BadValue(DETAILS[sound])
                self._model_time.hold(replace(sound, x=self.model.hold(event.x)), self._with_sets(answer))
        except StreamBayesError as error:
            self._refuse(event, REFUSED, str(error))
        else:
            self._add_answer(event, answer, version, intervals)

    def _release(self, time: ModelTime) -> None:
        """Learn what waited for the clock of the model, if it has started."""
        for event, prediction in time.release():
            if event.kind is not SAMPLE:
                assert self.pending is not None
                for action in self.pending.arrive(event):
                    self._perform(action, event, self.pending)
                continue
            assert event.time is not None
            learn = Learn(event, event.y, prediction, event.time)
            sample = replace(event, time=max(event.time, time.clock.first))
            try:
                self._learn(replace(learn, event=sample))
                self._record_learned(learn, self.pending)
                self._record_drifts(event)
            except BudgetExceeded:
                raise
            except StreamBayesError as error:
                self._refuse(event, REFUSED, str(error))

    # -- unlearning a span ---------------------------------------------------------------------------------------------

    def with_read_label(self, record: Record) -> Record:
        """Return a record that is read again, with its label as the model read it.

        A label that is no number stays as it is: its record was refused.
        """
        if not isinstance(record, Event):
            return record
        try:
            return self._with_number(record)
        except BadLabel:
            return record

    def unlearn(self, remembered: Sequence[Learned], read_again: Sequence[Rejoined]) -> None:
        """Unlearn samples: all of them, or nothing if the learner refuses one.

        Parameters
        ----------
        remembered
            Samples of the pending store.
        read_again
            Samples that were read again from the log.

        Raises
        ------
        StreamBayesError
            If one was never learned.
        """
        model = self.model
        frozen = model.freeze()
        try:
            for learned in remembered:
                model.unlearn(learned.encoded, learned.label, learned.weight, learned.clock)
            for event, label in read_again:
                model.unlearn(model.content(event.x), label, event.weight, None)
        except StreamBayesError:
            model.load(frozen())
            raise
        if self.pending is not None:
            self.pending.withdraw(remembered)
        count = len(remembered) + len(read_again)
        self.learned -= count
        self.unlearned += count

    def refuse_command(self, command: Event, detail: str) -> None:
        """Add a dead letter for a command that was not performed."""
        span = span_of(command)
        raw = encode_redrive() if span is None else encode_unlearn(span)
        self.dead_letters.add(command, self.processed, NOT_UNLEARNED, detail, raw)

    # -- dead letters --------------------------------------------------------------------------------------------------

    def _refuse(self, event: Event, reason: str, detail: str) -> None:
        """Add a dead letter for an event that was decoded but cannot be used."""
        raw = self.raw_of(event)
        self.dead_letters.add(
            event, self.processed, reason, detail, event_json(event) if raw is None else raw
        )

    def _reject(self, record: BadRecord) -> None:
        self.dead_letters.add(record, self.processed, record.reason, record.detail, record.raw)

    # -- saving --------------------------------------------------------------------------------------------------------

    def freeze(self) -> Callable[[], dict[str, dict[str, Any]]]:
        """Freeze the present state. Return a function that makes its sections, later and in any thread.

        The stream waits only for the copies that are made now.
        """
        counters = {
            "processed": self.processed,
            "learned": self.learned,
            "unlearned": self.unlearned,
            "dead_letters": self.dead_letters.state(),
        }
        states = {"step": counters, **{name: part.state() for name, part in self._parts().items()}}
        model = self.model.freeze()
        waiting = None if self.pending is None else self.pending.content()

        def sections() -> dict[str, dict[str, Any]]:
            whole = {**states, "model": model()}
            return whole if waiting is None else {**whole, "pending": waiting.state()}

        return sections

    def _parts(self) -> dict[str, Any]:
        """Return the parts of the state, beside the model and what waits for labels, by the names of their sections."""
        parts = {
            "losses": self.losses,
            "surprises": self.surprises,
            "errors": None if self.errors is self.losses else self.errors,
            "sets": self.sets,
            "time": self._model_time,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def load_model(self, state: Mapping[str, Any]) -> None:
        """Load a model's state, and nothing else."""
        self.model.load(state)
        self._recorded = _added(self.model)

    def load(self, sections: Mapping[str, Mapping[str, Any]]) -> None:
        """Load sections that `freeze` made. Sets may be wanted since, or no more: those of new levels begin anew.

        Raises
        ------
        BadState
            If they are not valid.
        """
        parts = self._parts()
        kept = {"step", "model", *parts} | ({"pending"} if self.pending is not None else set())
        with refusing_bad_state():
            expect(
                set(sections) | {"sets"} == kept | {"sets"},
                f"it has the sections {sorted(sections)}, expected {sorted(kept)}",
            )
            counters = sections["step"]
            for name in ("processed", "learned", "unlearned"):
                expect(
                    type(counters[name]) is int and 0 <= counters[name] < 2**62,
                    f"{name} is {counters[name]!r}",
                )
            DeadLetters.check(counters["dead_letters"])
        self.load_model(sections["model"])
        if self.pending is not None:
            self.pending.load(sections["pending"])
        for name, part in parts.items():  # the time after what waits for labels: its clock may be theirs
            if name in sections:
                part.load(sections[name])
        self.processed, self.learned, self.unlearned = (
            counters["processed"],
            counters["learned"],
            counters["unlearned"],
        )
        self.dead_letters.load(counters["dead_letters"])


def _losses_of(numbers: ServedNumbers | None) -> Losses | NumberLosses | TargetErrors:
    if numbers is None:
        return Losses()
    return TargetErrors(numbers.level) if numbers.has_targets else NumberLosses(numbers.level)


def _targets_output(event: Event, answers: Mapping[str, Any], version: ModelVersion) -> TargetsOutput:
    part = event.partition
    predictions = {name: answer["mean"] for name, answer in answers.items()}
    intervals = {name: (_finite(answer["low"]), _finite(answer["high"])) for name, answer in answers.items()}
    at = (event.key, part.source, part.partition, event.position, event.time)
    return TargetsOutput(*at, predictions, intervals, version)


def _finite(number: float | None) -> float | None:
    return None if number is None or math.isinf(number) else number


def _added(model: Served) -> int:
    """Return the number of entries ever added to the drift log."""
    return 0 if model.drifts is None else model.drifts.added


def _runs_of_samples(records: Iterable[Record]) -> Iterator[list[Event] | Record]:
    """Yield the records in order, with consecutive samples as one list."""
    whole = list(records)
    if set(map(type, whole)) == {Event}:
        events = cast("list[Event]", whole)
        if [event.kind for event in events].count(SAMPLE) == len(events):  # as in nearly every batch
            yield events
            return
    samples: list[Event] = []
    for record in whole:
        if isinstance(record, Event) and record.kind is SAMPLE:
            samples.append(record)
            continue
        if samples:
            yield samples
            samples = []
        yield record
    if samples:
        yield samples


class _LabelNames(dict[Any, str]):
    """Cache of the names of labels in JSON, where names are strings."""

    def __missing__(self, label: Any) -> str:
        name = label if isinstance(label, str) else json_bytes(label).decode()
        self[label] = name
        return name
