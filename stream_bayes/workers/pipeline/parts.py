"""Construction of a worker from a pipeline file with [workers]."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

from stream_bayes.errors import BadConfig, BrokerError
from stream_bayes.kafka.cluster import Cluster, Topic
from stream_bayes.kafka.pipeline.config import KafkaSinkConfig, KafkaSourceConfig
from stream_bayes.kafka.pipeline.parts import kafka_source
from stream_bayes.kafka.sink import KafkaDeadLetters, KafkaSink
from stream_bayes.kafka.source import Share
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.pipelines.config import PipelineConfig
from stream_bayes.streams.pipelines.pipeline import make_model, make_pending
from stream_bayes.streams.served_models.served import digest
from stream_bayes.workers.model_topic import ModelPublisher
from stream_bayes.workers.product_totals import ServedShard, shard_of, total_of
from stream_bayes.workers.publication import Origin, Publisher
from stream_bayes.workers.replicas import Replicas
from stream_bayes.workers.shard import JournalSink, Shard, ShardRecovery, ShardTransactions
from stream_bayes.workers.shard_topics import ShardTopics, present_topics
from stream_bayes.workers.snapshot_cache import SnapshotCache
from stream_bayes.workers.snapshot_topic import SnapshotTopic
from stream_bayes.workers.state_parts import PART_BYTES
from stream_bayes.workers.topic_reader import TopicReader
from stream_bayes.workers.worker import Worker

__all__ = ["WorkerParts", "build_worker"]

logger = logging.getLogger(__name__)


def build_worker(
    config: PipelineConfig,
    directory: Path = Path(),
    *,
    instance_id: str | None = None,
    accept_gap: bool = False,
) -> Worker:
    """Build a worker of a pipeline. It connects to no broker before it runs. Paths in the file are relative to
    `directory`. With `accept_gap` the worker continues where records of a topic expired before they were read.

    Raises
    ------
    StreamBayesError
        If a part cannot be made, or the learner cannot be summed.
    """
    return WorkerParts(config, directory, instance_id, accept_gap).worker()


class WorkerParts:
    """The parts that the shards of a worker share."""

    def __init__(
        self,
        config: PipelineConfig,
        directory: Path,
        instance_id: str | None = None,
        accept_gap: bool = False,
    ) -> None:
        if config.workers is None or config.kafka is None:
            raise BadConfig("workers: is missing; add [workers] with the number of shards")
        for name in ("coverage",) if config.model.predicts_numbers else ("intervals", "coverage"):
            if getattr(config.model, name) is not None:
                raise BadConfig(f"model.{name}: the outputs of [workers] have none; leave it out")
        self.config = config
        self.table = config.workers
        self.kafka = config.kafka
        self.connection = config.kafka.connection()
        self.schema = config.schema_of_stream()
        self.instance_id = instance_id
        self.accept_gap = accept_gap
        self.cache = None if config.snapshots is None else directory / config.snapshots.directory
        model = make_model(config, self.schema, directory)
        self.total = total_of(model, config.model.max_names, self.table.memory_budget, config.model.intervals)
        self.settings = config.settings()
        self.key = None if self.table.key is None else self.table.key.get_secret_value().encode()
        self.part_bytes = min(PART_BYTES, self.kafka.max_message_bytes // 2)
        self.partitions = 0  # of the input topics; known after `prepare`
        self.topics = ShardTopics(config.name)

    def worker(self) -> Worker:
        return Worker(
            self.config.name,
            self.connection,
            self.table.shards,
            self.total,
            prepare=self.prepare,
            make_replicas=self.make_replicas,
            make_shard=self.make_shard,
            instance_id=self.instance_id,
            session_seconds=self.table.session_seconds,
        )

    # -- topics -------------------------------------------------------------------------------------------------------

    @property
    def input_topics(self) -> list[str]:
        source, labels = self.config.source, self.config.labels
        assert isinstance(source, KafkaSourceConfig)
        return [source.topic, *([] if labels is None or labels.topic is None else [labels.topic])]

    @property
    def output_topics(self) -> list[str]:
        sinks = (self.config.predictions, self.config.dead_letters)
        return [part.topic for part in sinks if isinstance(part, KafkaSinkConfig)]

    def prepare(self) -> str:
        """Check all topics, then create those of the pipeline that are missing. Return the journal."""
        cluster = Cluster(self.connection)
        try:
            self.topics = present_topics(cluster, self.config.name, self.key)
            self.check_input(cluster)
            self.create_topics(cluster)
        finally:
            cluster.close()
        return self.topics.journal

    def check_input(self, cluster: Cluster) -> None:
        """Check the topics that are read and written, and count the partitions of the input."""
        shards = self.table.shards
        cluster.check_topics(self.input_topics, self.output_topics)
        described = cluster.require_topics(self.input_topics)
        counts = {topic: described[topic].partitions for topic in self.input_topics}
        if len(set(counts.values())) > 1:
            (samples, first), (labels, second) = counts.items()
            raise BrokerError(
                f"topic {samples!r} has {first} partitions, and {labels!r} has {second}: a sample and its label "
                "would come to different shards. Create the topics with equal numbers of partitions, and write "
                "both with the same partitioner"
            )
        self.partitions = counts[self.input_topics[0]]
        if shards > self.partitions:
            raise BrokerError(
                f"topic {self.input_topics[0]!r} has {self.partitions} partitions, and [workers] has {shards} "
                f"shards: a shard needs one. Use at most {self.partitions} shards, or a topic with more partitions"
            )

    def create_topics(self, cluster: Cluster) -> None:
        """Check the topics of the shards, then create those that are missing."""
        shards, topics = self.table.shards, self.topics
        for topic, described in self.present_topics(cluster).items():
            if described.partitions != shards:
                raise BrokerError(
                    f"topic {topic!r} has {described.partitions} partitions, and [workers] has {shards} shards. Set "
                    f"the number back to {described.partitions}; `stream-bayes rescale` changes it to {shards}"
                )
            if topic != topics.journal:
                cluster.check_compacted(topic)
        for topic in (topics.model, topics.state):
            cluster.create_compacted(topic, self.kafka.replication_factor, shards)
        cluster.create_journal(topics.journal, self.kafka.replication_factor, shards)

    def present_topics(self, cluster: Cluster) -> dict[str, Topic]:
        """Return those of the topics of the shards that exist.

        Raises
        ------
        BrokerError
            If the pipeline began without [workers].
        """
        topics = self.topics
        present = cluster.topics(topics.names)
        if topics.journal in present and topics.state not in present:
            raise BrokerError(
                f"topic {topics.journal!r} exists, and {topics.state!r} does not: {self.config.name!r} began without "
                "[workers], and the state of one process is not taken apart; or its topic was deleted. Take [workers] "
                "out, or give the pipeline with [workers] another name, and it learns its topics from their beginnings"
            )
        return present

    @property
    def origin(self) -> Origin:
        """The origin of this pipeline's publications."""
        return Origin(self.config.name, digest(self.settings), self.table.shards, self.kept_partitions or 0)

    @property
    def kept_partitions(self) -> int | None:
        """The number of partitions that the topics have to keep; None if keys have no meaning."""
        return None if self.config.labels is None else self.partitions

    def reader(self, topic: str, shards: range, cluster: Cluster | None = None) -> TopicReader:
        return TopicReader(self.connection, topic, shards, self.key, self.origin, cluster)

    def make_replicas(self) -> Replicas:
        return Replicas(self.reader(self.topics.model, range(self.table.shards)), self.total)

    # -- a shard ------------------------------------------------------------------------------------------------------

    def make_step(self, model: ServedShard | None = None) -> Step:
        """Return a shard's step without events."""
        config = self.config
        return Step(
            shard_of(self.total, 0) if model is None else model,
            config.name,
            pending=make_pending(config.labels, config.max_skew),
            max_dead_share=config.max_dead_share,
            max_skew=config.max_skew,
        )

    def make_shard(self, number: int, until_end: bool, only_replay: bool = False) -> Shard:
        """Return a shard, to run. With `only_replay` it ends with a snapshot where its journal ends."""
        config = self.config
        share = Share(number, self.table.shards, None if only_replay else self.kept_partitions)
        source = kafka_source(config, self.schema, share)
        model = shard_of(self.total, number)
        delivery = ShardTransactions(
            self.connection,
            config.name,
            source,
            shard=number,
            journal=self.topics.journal,
            replication_factor=self.kafka.replication_factor,
            transaction_seconds=self.kafka.transaction_seconds,
            max_message_bytes=self.kafka.max_message_bytes,
        )
        # A shard's parts run in one thread, so they share the connections for requests.
        cluster = delivery.cluster = source.cluster
        letters = predictions = None
        if isinstance(config.dead_letters, KafkaSinkConfig):
            letters = KafkaDeadLetters(delivery, config.dead_letters.topic)
        if isinstance(config.predictions, KafkaSinkConfig):
            predictions = KafkaSink(delivery, config.predictions.topic, letters)
        delivery.topics += [self.topics.model, self.topics.state]
        mine = range(number, number + 1)
        store = SnapshotTopic(
            partial(self.reader, self.topics.state, mine, cluster),
            self.topics.state,
            number,
            self.origin,
            self.part_bytes,
            self.key,
            self._cache(number),
        )
        changed = Publisher(self.origin, number, self.key)
        publisher = ModelPublisher(
            self.topics.model,
            model,
            self.total,
            changed,
            every_seconds=self.table.publish_seconds,
            every_events=self.table.publish_events,
            part_bytes=self.part_bytes,
        )
        delivery.store, delivery.publisher, delivery.take_tape = store, publisher, model.take_tape
        step = self.make_step(model)
        publisher.events = lambda: step.processed
        engine = Engine(
            step,
            source,
            predictions=predictions if letters or predictions else JournalSink(delivery),
            dead_letters=letters,
            recovery=ShardRecovery(source, config.name, delivery, model=model, accept_gap=self.accept_gap),
            store=store,  # type: ignore[arg-type]  # it has the methods of a store that the engine calls
            schedule=self._schedule(),
            settings=self.settings,
            batch=config.batch,
        )
        if only_replay:
            engine.at_start(engine.stop)

        def prepare() -> None:
            """Read which parts the model's topic holds: only others are published."""
            reader = self.reader(self.topics.model, mine, cluster)
            try:
                reader.read_to_end()
                changed.continue_from(reader.assemblies[number].digests)
            finally:
                reader.close()

        return Shard(number, engine, delivery, publisher, prepare, until_end)

    def _cache(self, number: int) -> SnapshotCache | None:
        if self.cache is None:
            return None
        return SnapshotCache(self.cache, self.config.name, number, self.part_bytes)

    def _schedule(self) -> Schedule:
        table = self.config.snapshots
        return (
            Schedule(every_seconds=60.0)
            if table is None
            else Schedule(table.every_events, table.every_seconds)
        )
