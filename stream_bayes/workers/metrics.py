"""Metrics and health of a worker: its shards, and how old the others' counts are."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import Metric

from stream_bayes.streams.service.metrics_and_health import (
    counter,
    dead_letter_counter,
    gauge,
    incident_counters,
    seconds_behind,
    serving_collector,
)
from stream_bayes.workers.shard import Shard
from stream_bayes.workers.worker import Worker

__all__ = ["WorkerMetrics", "serving_worker"]


class WorkerMetrics:
    """The figures of a worker; a collector for a Prometheus registry."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with their values. Thread-safe."""
        worker = self.worker
        labels = {"pipeline": worker.name}
        shards = list(worker.owned.values())
        counts, replicas = worker.counts, worker.replicas
        restored = [shard.restore_seconds for shard in shards if shard.restore_seconds is not None]
        yield gauge(
            "ready", "1 while the worker reads, and its results are accepted.", (labels, worker.healthy)
        )
        yield counter("records", "Records processed in this run.", (labels, counts.records))
        yield dead_letter_counter(counts.dead_letters, labels)
        yield from incident_counters(counts.incidents, labels)
        yield from counts.timings.metrics(labels)
        failed = "Snapshots that could not be written in this run."
        yield gauge("snapshots_failed", failed, (labels, counts.failed_snapshots))
        yield from _behind(shards, labels)
        yield gauge("shards_owned", "Shards that run here.", (labels, len(shards)))
        yield counter("rebalances", "Times that shards came or went.", (labels, worker.rebalances))
        yield counter(
            "publications", "Publications that this worker has made.", (labels, counts.publications)
        )
        yield counter("published_bytes", "Bytes of these publications.", (labels, counts.published_bytes))
        yield gauge(
            "total_memory_bytes",
            "Bytes of the counts of all shards and of their sum.",
            (labels, worker.total.memory_bytes + (0 if replicas is None else replicas.memory_bytes)),
        )
        if replicas is not None:
            yield gauge(
                "oldest_shard_age_seconds",
                "Age of the oldest other shard's counts, since they were published.",
                (labels, replicas.oldest_age),
            )
            yield counter(
                "publications_applied", "Publications of other shards in the sum.", (labels, replicas.applied)
            )
        if restored:
            yield gauge(
                "restore_seconds",
                "Seconds from the assignment of a shard to its first record.",
                (labels, max(restored)),
            )


def _behind(shards: Sequence[Shard], labels: dict[str, str]) -> Iterator[Metric]:
    """Yield how far the shards are behind their partitions and their snapshots: the slowest counts."""
    lags = {partition: lag for shard in shards for partition, lag in shard.engine.lag.items()}
    yield gauge(
        "lag",
        "Positions between the model and the end of the partition.",
        *(
            (labels | {"source": partition.source, "partition": str(partition.partition)}, lag)
            for partition, lag in lags.items()
        ),
    )
    seconds = [behind for shard in shards if (behind := seconds_behind(shard.engine)) is not None]
    if seconds:
        yield gauge(
            "lag_seconds",
            "Age of the last record of the shard that is furthest behind.",
            (labels, max(seconds)),
        )
    stores = [shard.engine.store for shard in shards]
    written = [
        newest.written
        for store in stores
        if store is not None and (newest := store.newest_written()) is not None
    ]
    if written:
        age = max(0.0, time.time() - min(written))
        yield gauge(
            "snapshot_age_seconds", "Seconds since the oldest of the shards' newest snapshots.", (labels, age)
        )


@contextmanager
def serving_worker(worker: Worker, host: str, port: int, hosts: Collection[str] = ()) -> Iterator[int]:
    """Serve a worker's metrics and health inside a `with` block; yield the port, a free one for port 0.

    Raises
    ------
    BadConfig
        If the address cannot be listened on.
    """
    with serving_collector(WorkerMetrics(worker), worker, host, port, hosts) as bound:
        yield bound
