"""Metrics and health of a worker: its shards, and how old the others' counts are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Metric

from stream_bayes.streams.service.ops import counter, gauge, serving_collector
from stream_bayes.workers.worker import Worker

__all__ = ["WorkerMetrics", "serving_worker"]


class WorkerMetrics:
    """The figures of a worker; a collector for a Prometheus registry.

    Parameters
    ----------
    worker
        The worker to watch.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with their values. Thread-safe."""
        worker = self.worker
        own = {"pipeline": worker.name}
        shards = list(worker.owned.values())
        replicas = worker.replicas
        dead: Counter[str] = Counter()
        for shard in shards:
            dead.update(dict(shard.engine.step.dead_letters.counts))
        restored = [shard.restore_seconds for shard in shards if shard.restore_seconds is not None]
        yield gauge("ready", "1 while the worker reads, and its results are accepted.", (own, worker.healthy))
        yield counter("records", "Records processed in this run.", (own, worker.processed_in_run))
        yield counter(
            "dead_letters",
            "Records of the present shards that could not be used.",
            *((own | {"reason": reason}, count) for reason, count in sorted(dead.items())),
        )
        lags = {partition: lag for shard in shards for partition, lag in shard.engine.lag.items()}
        yield gauge(
            "lag",
            "Positions between the model and the end of the partition.",
            *(
                (own | {"source": partition.source, "partition": str(partition.partition)}, lag)
                for partition, lag in lags.items()
            ),
        )
        yield gauge("shards_owned", "Shards that run here.", (own, len(shards)))
        yield counter("rebalances", "Times that shards came or went.", (own, worker.rebalances))
        yield counter("publications", "Publications that this worker has made.", (own, worker.publications))
        yield counter("published_bytes", "Bytes of these publications.", (own, worker.bytes_published))
        yield gauge(
            "total_memory_bytes",
            "Bytes of the counts of all shards and of their sum.",
            (own, worker.total.memory_bytes + (0 if replicas is None else replicas.memory_bytes)),
        )
        if replicas is not None:
            yield gauge(
                "oldest_shard_age_seconds",
                "Age of the oldest other shard's counts, since they were published.",
                (own, replicas.oldest_age),
            )
            yield counter(
                "publications_applied", "Publications of other shards in the sum.", (own, replicas.applied)
            )
        if restored:
            yield gauge(
                "restore_seconds",
                "Seconds from the assignment of a shard to its first record.",
                (own, max(restored)),
            )


@contextmanager
def serving_worker(worker: Worker, host: str, port: int) -> Iterator[int]:
    """Serve a worker's metrics and health inside a `with` block; yield the port, a free one for port 0.

    Raises
    ------
    BadConfig
        If the address cannot be listened on.
    """
    with serving_collector(WorkerMetrics(worker), worker, host, port) as bound:
        yield bound
