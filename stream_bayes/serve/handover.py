"""The engine's side of the service: it hands over status, newest events and views of the model, and never waits.

    engine's thread     after a commit or an idle poll: copies what is due, at most one of each kind
    sender thread       makes messages of the copies; waits while the service is slow, and the engine goes on without
    receiver thread     what the service requests: views for some seconds, and labels to write

Views are sent only while requests arrive. The processor time that they take is measured, and the next one waits until
they take no more than a small share of the stream's time. So a large model is sent later; answers state their age. The
first view of a model does not wait for those of others: without it the service has nothing to answer with.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import islice, repeat
from queue import Full, Queue
from threading import Event as Flag
from threading import Thread
from typing import Any

from stream_bayes.core.events.event import SAMPLE, Event
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.serve.channel import WANTED_SECONDS, Channel, ChannelMessage
from stream_bayes.serve.evaluation_json import measures_by_label
from stream_bayes.serve.labels import LabelSink, StoredRequests
from stream_bayes.serve.plain_values import as_json, label_name
from stream_bayes.streams.contracts.source import units_of
from stream_bayes.streams.engine.dead_letters import DETAILS, REFUSED
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.newest_answers import Answered, NewestAnswers
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.label_log import LABELS, GivenLabel
from stream_bayes.streams.served_models.events import EventAnswers
from stream_bayes.streams.served_models.network import ServedNetwork
from stream_bayes.streams.served_models.product_models import product_model_of
from stream_bayes.streams.served_models.protocol import Served
from stream_bayes.streams.served_models.river import ServedAdaptive

__all__ = ["Handover"]

logger = logging.getLogger(__name__)

STATUS_SECONDS = 1.0
VIEW_SECONDS = 0.5  # at least, between two views
SHARE = 0.01  # of the stream's time that views may take
STOP_SECONDS = 5.0  # for the last view to be handed over
MOST_LATE_LABELS = 100  # shown of one second
REASONS = {reason.value: detail for reason, detail in DETAILS.items()}


class Handover:
    """Hands over what an engine does to the service's process. The engine has not run yet. `channel` is the line to the
    service. `open_labels` opens what labels are written to; None if the pipeline takes none. `keep` says what of the
    newest events is handed over: `"features"`; of mails `"subject"` and `"sender"`.
    """

    def __init__(
        self,
        engine: Engine,
        channel: Channel,
        open_labels: Callable[[], LabelSink] | None = None,
        keep: Collection[str] = ("features",),
    ) -> None:
        self.engine = engine
        self.views = 0  # handed over
        self._channel = channel
        self._open_labels = open_labels
        self._labels: StoredRequests | None = None
        self._keep = keep
        self._product = product_model_of(engine.step.model.model)
        self._headings = (
            [] if self._product is None else [name for name in self._product.headings if name in keep]
        )
        self._wanted_until: dict[str | None, float] = {}  # by challenger; None is the pipeline's own model
        self._status_due = self._view_due = float("-inf")
        self._viewed: dict[str | None, tuple[int, int]] = {}
        self._late: list[Event] = []
        self._outcomes: deque[ChannelMessage] = deque(
            maxlen=10_000
        )  # a client of an older one was answered: it is stored
        self._counts: dict[str, int] = {}
        self._drifts = 0
        self._work: Queue[Callable[[], None] | None] = Queue(1)
        self._is_closed = Flag()
        engine.step.newest = NewestAnswers()
        engine.watch(self._note)
        engine.attend(self._attend)
        self._threads = [
            Thread(target=self._send_all, name="serve-send", daemon=True),
            Thread(target=self._receive_all, name="serve-receive", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Hand over the last status and view, once the run has ended."""
        self._attend(is_last=True)

    def close(self) -> None:
        """End the threads and the line."""
        self._is_closed.set()
        self._channel.close()
        with suppress(Full):  # then the sender fails at the closed line, and ends
            self._work.put_nowait(None)
        for thread in self._threads:
            thread.join(timeout=5.0)
        if self._labels is not None:
            self._labels.close()

    # -- in the engine's thread ---------------------------------------------------------------------------------------

    def _note(self, progress: Progress) -> None:
        """Note labels of this batch, and the outcome of one that a person gave."""
        pending = self.engine.step.pending
        if pending is None:
            return
        records = self.engine.committed
        first = records[0]
        if first.partition.source == LABELS and len(records) == 1:
            self._add_outcome(first.position, pending.counts)
        self._counts = dict(pending.counts)
        if len(self._late) < MOST_LATE_LABELS:
            refused = self.engine.step.dead_letters
            late = (each for each in records if isinstance(each, Event) and each.kind is not SAMPLE)
            taken = (each for each in late if not refused.holds(each))
            self._late += islice(taken, MOST_LATE_LABELS - len(self._late))

    def _add_outcome(self, position: int, counts: Mapping[str, int]) -> None:
        step = self.engine.step
        last = step.dead_letters.last.get(REFUSED)
        changed = [name for name, count in counts.items() if count != self._counts.get(name, 0)]
        outcome, detail = changed[0] if changed else "learned", None
        if last is not None and last[0] == position:
            outcome, detail = REFUSED, last[1]
        elif outcome in REASONS:
            detail = REASONS[outcome]
        self._outcomes.append({"what": "outcome", "position": position, "outcome": outcome, "detail": detail})

    def _attend(self, *, is_last: bool = False) -> None:
        now = time.monotonic()
        urgent = bool(self._outcomes)
        is_first = not self._wanted_until.copy().keys() <= self._viewed.keys()
        if now < min(self._status_due, self._view_due) and not (is_first or urgent or is_last):
            return
        viewed = self._due_views(now, is_last)
        wants_view = bool(viewed)
        wants_status = is_last or now >= self._status_due or urgent
        if not (wants_view or wants_status) or (self._work.full() and not is_last):
            return
        began = time.thread_time()  # what others do on a busy machine is no cost of a view
        parts = [*([self._status(is_last)] if wants_status else []), *(self._view(name) for name in viewed)]
        spent = time.thread_time() - began
        if wants_status:
            self._status_due = now + STATUS_SECONDS
        if wants_view:
            self._view_due = now + VIEW_SECONDS

        def work() -> None:
            start = time.thread_time()
            for part in parts:
                part()
            if wants_view:
                cost = spent + time.thread_time() - start
                self._view_due = max(self._view_due, now + cost / SHARE)

        with suppress(Full):
            self._work.put(work, block=is_last, timeout=STOP_SECONDS)

    def _due_views(self, now: float, is_last: bool) -> list[str | None]:
        """Return the models to copy: those that are wanted and have changed; at the end the pipeline's own, too.

        Before the next views are due, only those that were never copied.
        """
        is_due = is_last or now >= self._view_due
        names: dict[str | None, None] = {None: None} if is_last else {}
        names |= dict.fromkeys(name for name, until in self._wanted_until.copy().items() if now < until)
        return [
            name
            for name in names
            if (step := self._step_of(name)) is not None
            and (is_due or name not in self._viewed)
            and (is_last or self._viewed.get(name) != (step.processed, step.model.generation))
        ]

    def _step_of(self, name: str | None) -> Step | None:
        """Return the step of the pipeline's own model or of a challenger; None if there is none of the name."""
        if name is None:
            return self.engine.step
        challenger = self.engine.challengers.by_name.get(name)
        return None if challenger is None or challenger.failure is not None else challenger.step

    def _status(self, is_last: bool) -> Callable[[], None]:
        engine, step = self.engine, self.engine.step
        assert step.newest is not None
        answered, dropped = step.newest.collect()
        fading = step.losses.fading
        late, self._late = self._late, []
        drifts = step.model.drifts
        new = 0 if drifts is None else drifts.added - self._drifts
        entries = [] if drifts is None or not new else drifts.newest(new)
        self._drifts = 0 if drifts is None else drifts.added
        pending = step.pending
        status: ChannelMessage = {
            "what": "status",
            "time": time.time(),
            "processed": step.processed,
            "learned": step.learned,
            "unlearned": step.unlearned,
            "running": not is_last,
            "ready": engine.healthy,
            "generation": step.model.generation,
            "drift_state": step.model.drift_state,
            "positions": [[*part, at] for part, at in sorted(engine.positions.items())],
            "lag": [[*part, behind] for part, behind in sorted(engine.lag.items())],
            "lag_units": units_of(engine.source),
            "dead": dict(step.dead_letters.counts),
            "last_dead": {reason: list(last) for reason, last in step.dead_letters.last.items()},
            "labels": None if pending is None else {"waiting": pending.waiting, **pending.counts},
            "measures": {
                **as_json(fading.as_dict()),
                **(
                    {}
                    if step.model.predicts_numbers
                    else {
                        "majority_accuracy": as_json(fading.majority_accuracy),
                        "no_change_accuracy": as_json(fading.no_change_accuracy),
                    }
                ),
            },
            "by_label": {} if step.model.predicts_numbers else measures_by_label(fading),
            "errors": {}
            if step.errors is None
            else {
                name: {**as_json(each.fading.as_dict()), "weight": as_json(each.fading.weight)}
                for name, each in step.errors.by_name.items()
            },
            "challengers": {
                name: {
                    **as_json(each.step.losses.fading.as_dict()),
                    "since": each.since,
                    "failure": each.failure,
                }
                for name, each in engine.challengers.by_name.items()
            },
        }

        def send() -> None:
            written, failed = engine.snapshots
            newest = None if engine.store is None else engine.store.newest_written()
            status["snapshots"] = {
                "written": written,
                "failed": failed,
                "newest": None if newest is None else {"time": newest.written, "bytes": newest.size},
            }
            self._channel.send(status)
            if answered or late:
                self._channel.send(self._events(answered, dropped, late))
            if entries:
                self._channel.send({"what": "drifts", "entries": [as_json(entry) for entry in entries]})
            while self._outcomes:
                self._channel.send(self._outcomes.popleft())

        return send

    def _view(self, of: str | None) -> Callable[[], None]:
        """Copy the pipeline's own model or a challenger, and its scores."""
        engine, step = self.engine, self._step_of(of)
        assert step is not None
        model: Any = step.model
        learner: Any = None  # the one that answers: the candidates, and the events that made them, do not
        if isinstance(model, ServedNetwork):
            learner = model.network
        elif isinstance(model, ServedAdaptive) and model.model is model.adaptive:
            learner = model.adaptive.model_
        if learner is not None:
            name, state = type(learner).__name__, learner.content().state
        else:
            name, state = model.name, model.freeze()
        losses = step.losses.state()
        further = {} if step.sets is None else {"sets": step.sets.state()}
        if step.surprises is not None:
            further["surprises"] = step.surprises.state()
        positions, processed, generation = dict(engine.positions), step.processed, model.generation
        moment = time.time()
        self._viewed[of] = (processed, generation)

        def send() -> None:
            taken = Snapshot(
                learner=name,
                sections={"model": state(), "losses": losses, **further},
                positions=positions,
                clock=processed,
            )
            self._channel.send(
                {
                    "what": "view",
                    "of": of,
                    "time": moment,
                    "generation": generation,
                    "snapshot": taken.to_bytes(),
                }
            )
            self.views += 1

        return send

    # -- in the sender's thread ---------------------------------------------------------------------------------------

    def _events(self, answered: list[Answered], dropped: int, late: list[Event]) -> ChannelMessage:
        """Return the newest events with their answers, as JSON values."""
        assert self.engine.step.newest is not None
        model, most, entries = self.engine.step.model, self.engine.step.newest.most, []
        for batch in answered:
            newest = batch.answers.newest(most)
            decisions, named = newest.decide(model.decide), newest.named(label_name)
            surprises = newest.scores if isinstance(newest, EventAnswers) else repeat(None)
            events = batch.events[-most:]
            for event, decision, answer, surprise in zip(events, decisions, named, surprises, strict=False):
                source, partition = event.partition
                entry = {
                    "id": f"{source}/{partition}/{event.position}",
                    "key": as_json(event.key),
                    "source": source,
                    "partition": partition,
                    "position": event.position,
                    "time": event.time,
                    "prediction": as_json(decision),
                    **_certainty(model, answer),
                    "label": as_json(event.y),
                    "generation": batch.version.generation,
                }
                if surprise is not None:
                    entry["surprise"] = as_json(surprise)
                if "features" in self._keep:
                    entry["x"] = as_json(event.x)
                entry |= {} if self._product is None else self._product.headings_of(event.x, self._headings)
                entries.append(entry)
        total = dropped + sum(len(batch.events) for batch in answered)
        labels = [
            {"key": as_json(event.key), "label": as_json(event.y), "kind": event.kind.value} for event in late
        ]
        entries = entries[-most:]
        return {"what": "events", "entries": entries, "left_out": total - len(entries), "labels": labels}

    def _send_all(self) -> None:
        while not self._is_closed.is_set():
            work = self._work.get()
            if work is None:
                return
            try:
                work()
            except OSError:
                if not self._is_closed.is_set():
                    logger.warning("the service has ended; the pipeline goes on without it")
                self._stop_watching()
                return
            except StreamBayesError as error:
                logger.warning("the service gets no view of the model: %s", error)
            except Exception:  # one fault must not end all that is handed over later
                logger.exception("a status or view could not be handed over to the service")

    def _stop_watching(self) -> None:
        self._wanted_until.clear()
        self._status_due = self._view_due = float("inf")

    # -- in the receiver's thread -------------------------------------------------------------------------------------

    def _receive_all(self) -> None:
        while (message := self._channel.receive()) is not None:
            if message["what"] == "want":
                self._wanted_until[message.get("model")] = time.monotonic() + WANTED_SECONDS
            elif message["what"] == "label":
                self._answer(self._write_label(message))

    def _write_label(self, message: ChannelMessage) -> ChannelMessage:
        """Write a label; return what became of it."""
        answer: ChannelMessage = {"what": "stored", "number": message["number"]}
        try:
            if self._labels is None:
                assert self._open_labels is not None
                self._labels = StoredRequests(self._open_labels())
            label = GivenLabel(message["key"], message["label"], message["kind"], message["request"])
            position, is_new = self._labels.write(label)
            return answer | {"position": position, "is_new": is_new}
        except BadValue as error:
            return answer | {"conflict": str(error)}
        except (OSError, StreamBayesError) as error:
            logger.warning("a label could not be written: %s", error)
            return answer | {"error": str(error)}

    def _answer(self, message: ChannelMessage) -> None:
        with suppress(OSError):  # the service has ended
            self._channel.send(message)


def _certainty(model: Served, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return how certain an answer is: the probability of each label, or the interval of a number."""
    if not model.predicts_numbers:
        return {"probabilities": as_json(answer)}
    return {"interval": [as_json(answer["low"]), as_json(answer["high"])] if answer else None}
