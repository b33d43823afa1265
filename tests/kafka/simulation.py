"""A simulation of pipelines over Kafka: workers, broker, disk and clock, all decided by one seed.

Each worker is an engine of this package in a coroutine of its own. Every call of a contract (of a reader, a writer, the
cluster), every sleep and every fsync is a point: the worker hands the baton back, and the seed decides who runs next. A
plan of faults, made from the seed too, says what happens at which step: the worker whose turn it is is paused or
killed, its call fails or its reply is lost, another one starts, records come, expire, are compacted or lost. So a
history is a function of its seed, and can be repeated and made smaller.

The broker is `fake_broker`; engines, deliveries, recoveries and snapshots are the real ones.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from greenlet import getcurrent, greenlet

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import MAX_SKEW, StreamTime
from stream_bayes.errors import (
    BrokerAway,
    CannotResume,
    Fenced,
    InUse,
    NotOwner,
    SnapshotNotWritten,
    SourceError,
)
from stream_bayes.kafka.aligned_reader import AlignedReader
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.delivery import AtLeastOnce, Delivery
from stream_bayes.kafka.recovery import JournalRecovery, OffsetRecovery
from stream_bayes.kafka.sink import KafkaDeadLetters, KafkaSink
from stream_bayes.kafka.source import KafkaSource, Labels
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.served import served
from tests.kafka.fake_broker import FakeBroker, FakeCluster, FakeReader, FakeWriter, Killed
from tests.kafka.fake_pipeline import write_snapshots_at_once
from tests.whole_states import whole

NAME, TOPIC, ANSWERS, LETTERS, LABELS = "days", "weather", "answers", "letters", "labels"
PARTITIONS = 2
STEPS = 900  # after which no more faults come
MOST_STEPS = 40_000  # a history that takes longer never ends
START, YEARS = 1.7e9, 1e8  # seconds
WAIT_FOR = 600.0  # seconds for a label, which comes after a minute
QUESTIONS = [{"sky": sky, "wind": wind} for sky in ("grey", "blue") for wind in (1, 3, 6)]

# Ends of a worker that tell an operator what to do, and change nothing.
ORDINARY = (Fenced, NotOwner, InUse, BrokerAway, SnapshotNotWritten)
REFUSED = (CannotResume, SourceError)


class Violation(AssertionError):
    """A promise was not kept."""


class Fault(NamedTuple):
    """What happens at a step; `amount` says for how long, or how much."""

    step: int
    kind: str
    amount: int


# With the weights by which a plan draws them.
KINDS = {
    "pause": 8,
    "kill": 5,
    "fail": 6,
    "lose reply": 8,
    "start": 6,
    "stop": 3,
    "put": 8,
    "expire read": 2,
    "expire unread": 1,
    "lose tail": 2,
    "compact": 2,
    "time out": 3,
    "rebuild": 2,
    "disk full": 3,
    "bad time": 2,
    "clock back": 2,  # of those who write records
    "rescale": 4,  # of shards
}
# What has a clock, or sleeps.
CLOCKED: tuple[Any, ...] = (
    AlignedReader,
    AtLeastOnce,
    Delivery,
    Engine,
    KafkaSource,
    OffsetRecovery,
    ReconnectingReader,
    Transactions,
)
PIPELINE_KINDS = tuple(kind for kind in KINDS if kind != "rescale")


class Mode(NamedTuple):
    """The kind of pipeline that a seed tries."""

    delivery: str
    has_labels: bool
    has_epochs: bool
    # By the times of records, within a century: so the clock of the model is part of the state.
    fades: bool = False


def mode_of(seed: int) -> Mode:
    """Return the mode of a seed."""
    delivery = "at-least-once" if seed % 5 == 4 else "exactly-once"
    return Mode(delivery, seed % 3 == 2, seed % 2 == 0, seed % 7 in (1, 5))


def plan_of(seed: int, kinds: Sequence[str] = PIPELINE_KINDS) -> list[Fault]:
    """Return the faults of a seed, some of them close together."""
    chance = random.Random(f"plan {seed}")
    weights = [KINDS[kind] for kind in kinds]
    faults, step = [], 0
    for _ in range(chance.randint(2, 14)):
        step += chance.choice([1, 2, 5, 20, 60, 120])
        (kind,) = chance.choices(kinds, weights)
        faults.append(Fault(step, kind, chance.choice([1, 2, 5, 10, 40, 150, 400])))
    return faults


class Worker:
    """An engine in a coroutine, which runs when it has the baton."""

    def __init__(
        self, world: World, number: int, rebuild: bool = False, until_end: bool = False, **told: Any
    ) -> None:
        self.world = world
        self.number = number
        self.is_done = self.is_killed = False
        self.paused_until = 0  # a step
        self.wakes_at = 0.0  # by the clock of the world
        self.fault: str | None = None  # of its next call
        self.error: BaseException | None = None
        self.engine: Engine | None = None
        self.rebuild = rebuild
        self.until_end = until_end
        self._told = told
        self.course = greenlet(self._run)

    def _run(self) -> None:
        try:
            if not self.is_killed:
                self.engine = self.world.make_engine(self, **self._told)
                self.engine.run(rebuild=self.rebuild, until_end=self.until_end)
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.is_done = True

    def hand_back(self, seconds: float = 0.0) -> None:
        """Hand the baton back, and go on when the world gives it again."""
        if self.is_killed:
            raise Killed
        self.wakes_at = self.world.now + seconds
        self.world.course.switch()
        if self.is_killed:
            raise Killed

    def call(self, call: Callable[..., Any], error: type[Exception], *arguments: Any, **named: Any) -> Any:
        """Make a call of a contract: a point before it, and faults before or after."""
        self.hand_back()
        if call.__name__ == "assign":  # clients only note it
            return call(*arguments, **named)
        fault, self.fault = self.fault, None
        if fault == "fail":
            raise error("the network was cut off")
        result = call(*arguments, **named)
        if fault == "lose reply":
            raise error("no answer")
        if call.__name__ == "poll" and not result:
            self.hand_back(arguments[1])  # as long as a client waits for records
        return result

    def __repr__(self) -> str:
        return f"worker {self.number}"


class Stepping:
    """A reader, a writer or a cluster, of which each call is a point of a worker."""

    def __init__(self, worker: Worker, inner: Any, error: type[Exception], quiet: Sequence[str] = ()) -> None:
        self._worker = worker
        self._inner = inner
        self._error = error
        self._quiet = quiet

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value) or name in self._quiet:
            return value
        return lambda *arguments, **named: self._worker.call(value, self._error, *arguments, **named)


class World:
    """A broker, a disk, a clock, and workers."""

    def __init__(self, seed: int, directory: Path, plan: Sequence[Fault], mode: Mode) -> None:
        self.seed = seed
        self.plan = list(plan)
        self.mode = mode
        self.directory = directory
        self.chance = random.Random(f"turns {seed}")
        self.now = 1000.0
        self.step = 0
        self.course = getcurrent()
        self.workers: list[Worker] = []
        self.current: Worker | None = None
        self.trace: list[str] = []
        self.damage: set[str] = set()  # kinds of faults that removed records
        self.lost: set[tuple[str, int, int]] = set()  # positions that once held another record
        self.written: dict[tuple[str, int, int], dict[str, Any]] = {}  # what was in the log at any time
        self.is_disk_full = False
        self.broker = FakeBroker()
        self.broker.has_epochs = mode.has_epochs
        for topic in (TOPIC, ANSWERS, LETTERS) + ((LABELS,) if mode.has_labels else ()):
            self.broker.topic(topic, PARTITIONS)
        self._count = 0
        self.behind = 0.0  # seconds by which the clock of those who write records was set back
        if mode.fades and not mode.has_labels:
            self.put(1, past=YEARS)  # a first time that cannot be
        self.put(30)

    # -- records ------------------------------------------------------------------------------------------------------

    def put(self, count: int, factor: float = 1.0, past: float = 0.0) -> None:
        """Write samples, with their labels in the same record or in the topic of labels.

        With a factor, the fields with the times are off by it: they are in milliseconds, say. They are `past` seconds
        too early, and so are those of the log.
        """
        for _ in range(count):
            number, self._count = self._count, self._count + 1
            chance = random.Random(f"record {number}")
            rain = chance.random() < 0.4
            at = START + 10.0 * number - self.behind - past
            sample: dict[str, Any] = {
                "sky": chance.choice(["grey", "grey", "blue"] if rain else ["blue", "grey"])
            }
            sample |= {"wind": chance.randint(3, 7) if rain else chance.randint(1, 4)}
            label = {"y": "rain" if rain else "dry"}
            key = b"day-%d" % number
            if self.mode.has_labels:
                self._append(TOPIC, number, key, sample | {"at": at * factor}, at)
                self._append(LABELS, number, key, label | {"at": at + 60.0}, at + 60.0)
            else:
                self._append(TOPIC, number, key, sample | label | {"at": at * factor}, at)

    def _append(self, topic: str, number: int, key: bytes, fields: dict[str, Any], at: float) -> None:
        partition = number % PARTITIONS
        offset = self.broker.logs[Partition(topic, partition)].append(key, json.dumps(fields).encode(), at)
        place = (topic, partition, offset)
        if place in self.written:
            self.lost.add(place)
        self.written[place] = {"key": key, **fields}

    # -- workers ------------------------------------------------------------------------------------------------------

    def start(self, rebuild: bool = False, until_end: bool = False, **told: Any) -> Worker:
        """Start a worker."""
        worker = Worker(self, len(self.workers), rebuild, until_end, **told)
        self.workers.append(worker)
        return worker

    def make_engine(self, worker: Worker, accept_gap: bool = False) -> Engine:
        """Return an engine, every call of which is a point of a worker."""
        connection = Connection(servers=("nobody:9092",), client="kafka-python")
        skew = MAX_SKEW if self.mode.fades else None
        pending = Pending(time=StreamTime(skew), wait_for=WAIT_FOR) if self.mode.has_labels else None
        model = NaiveBayes(half_life="36500d" if self.mode.fades else None)
        delivery: Transactions | AtLeastOnce
        recovery: OffsetRecovery

        def make_source() -> KafkaSource:
            labels = None
            if self.mode.has_labels:
                fields = Fields(target="y", time="at", default_kind=Kind.LABEL)
                labels = Labels(LABELS, JSONDecoder(fields))
            decoder = JSONDecoder(Fields(target="y", time="at"))
            return KafkaSource(connection, TOPIC, decoder, labels=labels, start="earliest")

        source = make_source()
        if self.mode.delivery == "at-least-once":
            delivery = AtLeastOnce(connection, NAME)
            recovery = OffsetRecovery(source, NAME, delivery, accept_gap=accept_gap)
        else:
            delivery = Transactions(connection, NAME, source)
            recovery = JournalRecovery(source, NAME, delivery, accept_gap=accept_gap)
        letters = KafkaDeadLetters(delivery, LETTERS)
        store = SnapshotStore(self.directory / "state", 3)
        points: Any = store
        points.save = self._saving(worker, store.save)
        return Engine(
            Step(served(model), NAME, pending=pending, max_skew=skew),
            source,
            predictions=KafkaSink(delivery, ANSWERS, letters),
            dead_letters=letters,
            recovery=recovery,
            store=store,
            schedule=Schedule(
                every_events=self.chance.choice([1, 7, 20] if self.mode.fades else [7, 20, 10_000])
            ),
            open_again=make_source,
            accept_gap=accept_gap,
            batch=1 if self.mode.fades and self.step < 100 else 10,
        )

    def _saving(self, worker: Worker, save: Callable[[Any], int]) -> Callable[[Any], int]:
        def saving(snapshot: Any) -> int:
            worker.hand_back()
            if self.is_disk_full:
                self.is_disk_full = False
                raise SnapshotNotWritten("no space left on device")
            return save(snapshot)

        return saving

    def sleep(self, seconds: float) -> None:
        """Sleep, as the worker that has the baton."""
        assert self.current is not None
        self.current.hand_back(max(seconds, 0.0))

    # -- the course of a history --------------------------------------------------------------------------------------

    def alive(self) -> list[Worker]:
        """Return the workers that have not ended."""
        return [worker for worker in self.workers if not worker.is_done]

    def turn(self) -> None:
        """Give one worker the baton, until it hands it back."""
        ready = [worker for worker in self.alive() if worker.paused_until <= self.step]
        if not ready:
            self.step += 1
            return
        awake = [worker for worker in ready if worker.wakes_at <= self.now]
        worker = (
            self.chance.choice(awake) if awake else min(ready, key=lambda one: (one.wakes_at, one.number))
        )
        self.now = max(self.now, worker.wakes_at) + 0.001
        self.step += 1
        self.current = worker
        worker.course.switch()
        self.current = None
        if worker.is_done:
            self.trace.append(f"{self.step}: {worker} ended: {worker.error!r:.100}")
            self._check_end(worker)
        if self.step > MOST_STEPS:
            raise Violation(f"no end after {self.step} steps: {self.alive()}")

    def _check_end(self, worker: Worker) -> None:
        error = worker.error
        if error is None or isinstance(error, ORDINARY):
            return
        if isinstance(error, REFUSED) and self.damage:
            return
        raise Violation(f"{worker} ended with {type(error).__name__}: {error}") from error

    def strike(self, fault: Fault) -> None:
        """Let a fault happen."""
        self.trace.append(f"{self.step}: {fault.kind} {fault.amount}")
        alive = self.alive()
        worker = self.chance.choice(alive) if alive else None
        if fault.kind == "put":
            self.put(min(fault.amount, 40))
        elif fault.kind == "bad time":
            self.put(1, factor=1000.0)
            self.put(min(fault.amount, 20))
        elif fault.kind == "clock back":
            # Less than labels are waited for: else samples expire once a log lost those before.
            self.behind = min(self.behind + 60.0 * fault.amount, WAIT_FOR - 100.0)
            self.put(min(fault.amount, 20))
        elif fault.kind in ("start", "rebuild"):
            if len(alive) < 4:
                self.start(rebuild=fault.kind == "rebuild")
        elif fault.kind == "disk full":
            self.is_disk_full = True
        elif fault.kind == "time out":
            self.broker.end(f"{NAME}.stream-bayes", committed=False)
            epoch = self.broker.producers.get(f"{NAME}.stream-bayes")
            if epoch is not None:
                self.broker.producers[f"{NAME}.stream-bayes"] = epoch + 1
        elif fault.kind in ("expire read", "expire unread", "lose tail", "compact"):
            self._damage(fault)
        elif worker is not None:
            self._strike_worker(worker, fault)

    def _strike_worker(self, worker: Worker, fault: Fault) -> None:
        if fault.kind == "pause":
            worker.paused_until = self.step + fault.amount
        elif fault.kind == "stop":
            if worker.engine is not None:
                worker.engine.stop()
        elif fault.kind == "kill":
            self.kill(worker)
        else:
            worker.fault = fault.kind

    def kill(self, worker: Worker) -> None:
        """Kill a worker: nothing of it has an effect any more."""
        worker.is_killed = True
        worker.paused_until = 0
        self.current = worker
        worker.course.switch()
        self.current = None

    def _damage(self, fault: Fault) -> None:
        partition = Partition(TOPIC, fault.amount % PARTITIONS)
        log = self.broker.logs[partition]
        committed = self.broker.groups[NAME].get(partition, 0)
        if "lose tail" in self.damage and fault.kind in ("expire read", "compact"):
            return  # it might remove the last record that shows what was lost: then nobody can know
        if fault.kind == "expire read":
            log.expire(min(fault.amount, committed))
            self.damage.add(fault.kind)
        elif fault.kind == "expire unread":
            if log.end > committed > 0:
                log.expire(min(committed + fault.amount, log.end))
                self.damage.add(fault.kind)
        elif fault.kind == "compact":
            if self.mode.delivery == "at-least-once":  # without a journal, nothing counts what comes after
                committed = self._saved().get(partition, 0)
            if committed > log.begin + 1:
                log.remove(log.begin + fault.amount % (committed - log.begin - 1))
                self.damage.add(fault.kind)
        elif log.end > log.begin:
            if not self.broker.has_epochs:  # a worker that runs cannot notice then, one that starts can
                for worker in self.alive():
                    self.kill(worker)
            end = max(log.begin, log.end - min(fault.amount, 8))
            for offset in range(end, log.end):
                self.lost.add((*partition, offset))
                self.written.pop((*partition, offset), None)
            log.truncate(end)
            self.damage.add(fault.kind)
            self.put(min(fault.amount, 20))

    def run(self) -> None:
        """Run the history, then let all settle, and check what is left."""
        self.start()
        faults = list(self.plan)
        idle = 0
        while faults or (
            self.alive() and self.step < min(STEPS, 200 + max((f.step for f in self.plan), default=0))
        ):
            while faults and faults[0].step <= self.step:
                self.strike(faults.pop(0))
            idle = 0 if self.alive() else idle + 1
            if idle > 5:  # a supervisor starts the next one
                self.start()
            self.turn()
        for worker in self.alive():
            worker.paused_until = 0
            worker.fault = None
            if worker.engine is not None:
                worker.engine.stop()
        self.settle()
        self.is_disk_full = False
        self.check()

    def settle(self) -> None:
        """Run until all workers have ended."""
        while self.alive():
            for worker in self.alive():
                # One that was paused while it started had no engine yet to be stopped.
                if worker.engine is not None and (not worker.until_end or worker.wakes_at > self.now + 60):
                    worker.engine.stop()
            self.turn()

    def finish(self, **told: Any) -> Worker:
        """Run one worker to the end of the log, undisturbed."""
        worker = self.start(until_end=True, **told)
        self.settle()
        return worker

    # -- what must hold -----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check the answers and the state after a last worker has read to the end."""
        self.check_once()
        last = self.finish()
        if last.error is not None:
            if not self.damage:
                raise Violation(
                    f"the last worker is refused, though nothing was lost: {last.error}"
                ) from last.error
            self.check_once()
            self._check_state(self.finish(rebuild=True, accept_gap=True), self.present())
            return
        self.check_once()
        self._check_answered()
        learned = self.ever_learned()
        self._check_state(last, learned)
        if not self.damage:
            first = self.finish(rebuild=True)
            self._check_state(first, learned)
            self.check_once()
            if self.state() != self._state_after(self.finish(rebuild=True)):
                raise Violation("two rebuilds differ")
        elif self.damage:
            again = self.finish(rebuild=True)
            if again.error is None:  # else it is refused, and nothing has changed
                self._check_state(again, learned)

    def _state_after(self, worker: Worker) -> dict[str, Any]:
        if worker.error is not None:
            raise Violation(f"a rebuild was refused: {worker.error}") from worker.error
        return self.state()

    def _saved(self) -> Mapping[Partition, int]:
        """Return the positions of the newest snapshot."""
        found = SnapshotStore(self.directory / "state").latest()
        return {} if found is None else found.snapshot.positions

    def state(self) -> dict[str, Any]:
        """Return the newest state, to be compared."""
        found = SnapshotStore(self.directory / "state").latest()
        assert found is not None
        return {
            name: whole(state)
            for name, state in found.snapshot.sections.items()
            if name not in ("settings", "log")
        }

    def answers(self) -> Counter[tuple[str, int, int]]:
        """Return how often each position was answered, as a reader under read_committed sees it."""
        return Counter(
            (said["source"], said["partition"], said["position"])
            for said in (json.loads(record.value or b"") for record in self.broker.records(ANSWERS))
        )

    def check_once(self) -> None:
        """No position is answered twice, but those that hold another record than at first."""
        if self.mode.delivery == "exactly-once":
            twice = {at: n for at, n in self.answers().items() if n > 1 and at not in self.lost}
            if twice:
                raise Violation(f"answered more than once: {twice}")

    def _check_answered(self) -> None:
        answered = self.answers()
        missing = [at for at in self.written if at[0] == TOPIC and at not in answered and at not in self.lost]
        logs = [(number, self.broker.logs[Partition(TOPIC, number)]) for number in range(PARTITIONS)]
        present = {(TOPIC, number, record.offset) for number, log in logs for record in log.stored}
        missing = [at for at in missing if at in present or "expire unread" not in self.damage]
        if missing:
            raise Violation(f"never answered: {missing}")

    def present(self) -> list[dict[str, Any]]:
        """Return the samples with labels that the log holds now."""
        return self._joined(
            {
                (topic, number, record.offset)
                for topic in (TOPIC, LABELS)
                for number in range(PARTITIONS)
                if Partition(topic, number) in self.broker.logs
                for record in self.broker.logs[Partition(topic, number)].stored
            }
        )

    def ever_learned(self) -> list[dict[str, Any]]:
        """Return the samples with labels that were ever in the log; only for a log that lost none."""
        return self._joined(set(self.written))

    def _joined(self, places: set[tuple[str, int, int]]) -> list[dict[str, Any]]:
        samples = {self.written[at]["key"]: self.written[at] for at in places if at[0] == TOPIC}
        if not self.mode.has_labels:
            return list(samples.values())
        labels = {self.written[at]["key"]: self.written[at] for at in places if at[0] == LABELS}
        return [{**samples[key], "y": labels[key]["y"]} for key in samples if key in labels]

    def _check_state(self, worker: Worker, learned: list[dict[str, Any]]) -> None:
        if worker.error is not None:
            raise Violation(f"{worker} was refused: {worker.error}") from worker.error
        assert worker.engine is not None
        step = worker.engine.step
        plain = NaiveBayes()
        for sample in learned:
            plain.learn_one({"sky": sample["sky"], "wind": sample["wind"]}, sample["y"])
        # Of so few records that two of their times may not agree, the clock of the model has not started.
        held = step.held if self.mode.fades and not self.mode.has_labels and len(learned) < 3 else 0
        if step.learned + held != len(learned):
            raise Violation(f"{step.learned} samples are learned of {len(learned)}")
        if held:
            return
        for question in QUESTIONS:
            answer, expected = step.model.model.predict_proba_one(question), plain.predict_proba_one(question)
            if answer != pytest.approx(expected, abs=1e-3 if self.mode.fades else 1e-9):
                raise Violation(
                    f"the model answers {answer} for {question}, one of the same samples {expected}"
                )


@contextmanager
def simulated(
    world: World,
    readers: Sequence[Any] = (),
    writers: Sequence[Any] = (),
    clusters: Sequence[Any] = (),
    clocked: Sequence[Any] = (),
) -> Iterator[None]:
    """Let clients, clocks and disks be those of a world, in further modules and classes too."""
    from stream_bayes.kafka import delivery, journal, recovery, source, transactions

    def worker() -> Worker:
        assert world.current is not None
        return world.current

    def cluster(connection: Connection) -> Any:
        return Stepping(
            worker(), FakeCluster(world.broker, connection), BrokerAway, ("close", "require_topics")
        )

    def reader(*_: Any) -> Any:
        return Stepping(
            worker(), FakeReader(world.broker), Interrupted, ("close", "pause", "resume", "position")
        )

    def writer(*arguments: Any) -> Any:
        return Stepping(worker(), FakeWriter(world.broker, arguments[1]), Interrupted, ("close", "begin"))

    real_sleep, real_monotonic = time.sleep, time.monotonic
    ids = random.Random(f"ids {world.seed}")

    def in_world() -> bool:
        return world.current is not None and getcurrent() is world.current.course

    def sleep(seconds: float) -> None:
        (world.sleep if in_world() else real_sleep)(seconds)

    def monotonic() -> float:
        return world.now if in_world() else real_monotonic()

    with pytest.MonkeyPatch.context() as patch:
        for module in (journal, recovery, source, *readers):
            patch.setattr(module, "make_reader", reader)
        for module in (delivery, transactions, *writers):
            patch.setattr(module, "make_writer", writer)
        for module in (delivery, source, *clusters):
            patch.setattr(module, "Cluster", cluster)
        patch.setattr(time, "sleep", sleep)
        patch.setattr(time, "monotonic", monotonic)
        for made in (*CLOCKED, *clocked):  # their defaults are the real ones
            for name, value in {"sleep": sleep, "clock": monotonic}.items():
                if name in made.__init__.__kwdefaults__:
                    patch.setitem(made.__init__.__kwdefaults__, name, value)
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=ids.getrandbits(128)))
        write_snapshots_at_once(patch)
        patch.setattr(os, "fsync", lambda descriptor: world.sleep(0.0) if in_world() else None)
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def simulate(
    seed: int, directory: Path, plan: Sequence[Fault] | None = None, mode: Mode | None = None
) -> World:
    """Run the history of a seed. Raise `Violation` if a promise is not kept."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    world = World(seed, directory, plan_of(seed) if plan is None else plan, mode or mode_of(seed))
    with simulated(world):
        finish(world)
    return world


def finish(world: World) -> None:
    """Run the history of a world, and leave no worker of it."""
    try:
        world.run()
    finally:
        for worker in world.alive():
            world.kill(worker)


def smallest(
    seed: int,
    directory: Path,
    mode: Mode | None = None,
    run: Callable[..., Any] = simulate,
    plan: Sequence[Fault] | None = None,
) -> tuple[list[Fault], Violation]:
    """Return a plan that violates a promise and of which no fault can be left out, with the violation."""

    def violation(plan: Sequence[Fault]) -> Violation | None:
        try:
            run(seed, directory, plan, mode)
        except Violation as error:
            return error
        return None

    plan = plan_of(seed) if plan is None else list(plan)
    error = violation(plan)
    assert error is not None, "this seed violates nothing"
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for place in range(len(plan)):
            shorter = plan[:place] + plan[place + 1 :]
            if (fewer := violation(shorter)) is not None:
                plan, error, is_smaller = shorter, fewer, True
                break
    return plan, error
