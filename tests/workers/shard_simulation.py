"""A simulation of pipelines with [workers]: shards whose owners move, publications, snapshots in topics, rescales.

A worker of the simulation owns one shard, or rescales. The group is not simulated: whichever shard the seed chooses is
started, also one that another worker still runs. So what the group does, and what goes wrong in it, is among the
histories. The rest is as in `tests.kafka.simulation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.errors import StreamBayesError
from stream_bayes.streams.pipelines.config import PipelineConfig, checked
from stream_bayes.workers import topic_reader
from stream_bayes.workers.model_topic import ModelPublisher
from stream_bayes.workers.pipeline import parts as parts_module
from stream_bayes.workers.pipeline import rescale as rescale_module
from stream_bayes.workers.pipeline.parts import WorkerParts
from stream_bayes.workers.pipeline.rescale import rescale
from stream_bayes.workers.shard import Shard
from tests.kafka.simulation import (
    ANSWERS,
    KINDS,
    LABELS,
    LETTERS,
    NAME,
    PARTITIONS,
    QUESTIONS,
    TOPIC,
    WAIT_FOR,
    Fault,
    Mode,
    Violation,
    Worker,
    World,
    finish,
    plan_of,
    simulated,
)

SHARD_KINDS = (*(kind for kind in KINDS if kind not in ("rebuild", "disk full")), "rescale")
SAID_TO_OPERATORS = (
    "start its workers with",
    "rescaled to",
    "Set the number back",
    "Run it again",
    "run it again",
    "stop all workers",
)


class ShardRun:
    """A shard as the simulation runs an engine."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self.step = shard.engine.step

    def run(self, **_: Any) -> None:
        """Run it in the worker of the simulation."""
        self._shard.run()
        if self._shard.failure is not None:
            raise self._shard.failure

    def stop(self) -> None:
        """Let it end after the present batch."""
        self._shard.stop()


class RescaleRun:
    """A rescale as the simulation runs an engine."""

    def __init__(self, config: PipelineConfig, shards: int) -> None:
        self._config, self._shards = config, shards

    def run(self, **_: Any) -> None:
        """Run it."""
        rescale(self._config, self._shards)

    def stop(self) -> None:
        """Do nothing: it ends by itself."""


class ShardWorld(World):
    """The world of a pipeline with [workers]."""

    def config(self, shards: int) -> PipelineConfig:
        """Return the pipeline file."""
        tables: dict[str, Any] = (
            {"labels": {"topic": LABELS, "wait_for": WAIT_FOR}} if self.mode.has_labels else {}
        )
        every = self.chance.choice([7, 20, 10_000])
        return checked(
            {
                "name": NAME,
                "source": {"kind": "kafka", "topic": TOPIC, "target": "y", "time": "at"},
                "model": {"kind": "nb"},
                "predictions": {"kind": "kafka", "topic": ANSWERS},
                "dead_letters": {"kind": "kafka", "topic": LETTERS},
                "kafka": {"servers": ["nobody:9092"], "client": "kafka-python"},
                "workers": {"shards": shards, "publish_events": 15, "publish_seconds": 1e6},
                "snapshots": {"directory": str(self.directory / "cache"), "every_events": every},
                "batch": 10,
                **tables,
            }
        )

    @property
    def shards(self) -> int:
        """The number of shards that the pipeline has: what an operator reads in the error of a worker."""
        generations = [1, *range(2, 12)]
        counts = [
            self.broker.counts.get(f"{NAME}.journal" + ("" if n == 1 else f".{n}")) for n in generations
        ]
        moved = self._generation()
        return counts[moved - 1] or PARTITIONS

    def _generation(self) -> int:
        """Return the newest generation that holds a readable snapshot."""
        for number in range(11, 1, -1):
            topic = f"{NAME}.state.{number}"
            if topic in self.broker.counts and self.broker.records(topic):
                return number
        return 1

    # -- workers ------------------------------------------------------------------------------------------------------

    def start(self, rebuild: bool = False, until_end: bool = False, **told: Any) -> Worker:
        told.setdefault("shard", self.chance.randrange(self.shards))
        return super().start(until_end=until_end, until_end_too=until_end, **told)

    def make_engine(self, worker: Worker, accept_gap: bool = False, **told: Any) -> Any:
        if "rescale" in told:
            return RescaleRun(self.config(self.shards), told["rescale"])
        parts = WorkerParts(self.config(self.shards), Path())
        shard = told["shard"] % parts.table.shards  # a group assigns those of the worker's own journal
        parts.prepare()
        replicas = parts.make_replicas()
        replicas._reader.read_to_end()
        replicas.own(shard)
        replicas.take_all()
        replicas.stop()
        return ShardRun(parts.make_shard(shard, told.get("until_end_too", False)))

    def _check_end(self, worker: Worker) -> None:
        error = worker.error
        if isinstance(error, StreamBayesError) and any(text in str(error) for text in SAID_TO_OPERATORS):
            return
        super()._check_end(worker)

    def strike(self, fault: Fault) -> None:
        if fault.kind == "rescale":
            self.trace.append(f"{self.step}: rescale {fault.amount}")
            if len(self.alive()) < 4:
                self.start(rescale=1 + fault.amount % PARTITIONS)
        elif fault.kind == "time out":
            number = fault.amount % PARTITIONS
            self.trace.append(f"{self.step}: time out {number}")
            self.broker.end(f"{NAME}.shard-{number}", committed=False)
            if f"{NAME}.shard-{number}" in self.broker.producers:
                self.broker.producers[f"{NAME}.shard-{number}"] += 1
        else:
            super().strike(fault)

    # -- what must hold -----------------------------------------------------------------------------------------------

    def check(self) -> None:
        self.check_once()
        for number in range(self.shards):
            last = self.finish(shard=number)
            if last.error is not None:
                if not self.damage:
                    raise Violation(
                        f"shard {number} is refused, though nothing was lost: {last.error}"
                    ) from last.error
                self.check_once()
                return
        self.check_once()
        self._check_answered()
        self._check_sum(self.ever_learned())

    def _check_sum(self, learned: list[dict[str, Any]]) -> None:
        plain = NaiveBayes()
        for sample in learned:
            plain.learn_one({"sky": sample["sky"], "wind": sample["wind"]}, sample["y"])
        parts = WorkerParts(self.config(self.shards), Path())

        class Sum:
            """The sum of what the shards have published."""

            def run(self, **_: Any) -> None:
                parts.prepare()
                replicas = parts.make_replicas()
                replicas._reader.read_to_end()
                replicas.take_all()
                replicas.stop()

        self.make_engine = lambda *_, **__: Sum()  # type: ignore[method-assign]  # the last one
        last = self.finish(shard=0)
        if last.error is not None:
            raise Violation(f"the sum is refused: {last.error}") from last.error
        for question in QUESTIONS:
            answer, expected = (
                parts.total.model.predict_proba_one(question),
                plain.predict_proba_one(question),
            )
            if answer != pytest.approx(expected, abs=1e-9):
                raise Violation(
                    f"the sum answers {answer} for {question}, one pass over the samples {expected}"
                )


def shard_plan(seed: int, kinds: Sequence[str] = SHARD_KINDS) -> list[Fault]:
    """Return the faults of a seed."""
    return plan_of(seed, kinds)


def simulate_shards(
    seed: int, directory: Path, plan: Sequence[Fault] | None = None, mode: Mode | None = None
) -> ShardWorld:
    """Run the history of a seed. Raise `Violation` if a promise is not kept."""
    directory.mkdir(parents=True, exist_ok=True)
    mode = Mode("exactly-once", seed % 2 == 1, seed % 3 != 0) if mode is None else mode
    world = ShardWorld(seed, directory, shard_plan(seed) if plan is None else plan, mode)
    modules = (topic_reader,), (rescale_module,), (topic_reader, parts_module, rescale_module)
    with simulated(world, *modules, clocked=(ModelPublisher,)):
        finish(world)
    return world
