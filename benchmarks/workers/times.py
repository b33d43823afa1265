"""Times and traffic of workers, through a broker.

    python -m benchmarks.workers.times cost        processor time a record: no [workers], one shard, 16 shards
    python -m benchmarks.workers.times scale       two workers against one: processor time, and records a second
    python -m benchmarks.workers.times large       a model of 100 MB: a newcomer, a shard that moves
    python -m benchmarks.workers.times bytes       bytes published, and how many the counts have

The broker is that of the tests, or the one in STREAM_BAYES_KAFKA. All sides of a comparison alternate.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from benchmarks.workers.topics import input_topic, names_topic, pipeline, servers
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.workers.follower import follow
from stream_bayes.workers.pipeline.parts import build_worker
from stream_bayes.workers.worker import Worker

FEW, MANY = 20_000, 160_000
WARM_UP = 1000  # records of a worker
FORKED = multiprocessing.get_context("spawn")


def cost(client: str, rounds: int) -> None:
    """Print the processor time that a record adds, and that of a start, for each kind of pipeline."""
    seconds: dict[tuple[int | None, int], list[float]] = {}
    for _ in range(rounds):
        for shards in (None, 1, 16):
            for events in (FEW, MANY):
                config = checked(pipeline(input_topic(events), client, shards))
                began = time.process_time()
                if shards is None:
                    build(config).run(until_end=True)
                else:
                    worker = build_worker(config)
                    worker.run(until_end=True)
                    assert worker.counts.records == events
                seconds.setdefault((shards, events), []).append(time.process_time() - began)
    plain = 0.0
    for shards in (None, 1, 16):
        few, many = (min(seconds[shards, events]) for events in (FEW, MANY))
        record = (many - few) / (MANY - FEW)
        plain = plain or record
        start = few - FEW * record
        print(
            f"{client}, shards {shards}: {1e6 * record:.1f} us a record, {record / plain:.2f}x; "
            f"a start {1000 * start:.0f} ms; {1e6 * many / MANY:.1f} us with the start"
        )


# -- two workers against one -------------------------------------------------------------------------------------------


def counted_model(kind: str, fields: int = 20) -> dict[str, Any]:
    """Return the tables of a model whose features are all nominal, so that no cut points are learned."""
    features = {f"f{n}": {"kind": "nominal"} for n in range(fields)}
    return {"model": {"kind": kind}} | ({} if kind == "nb" else {"schema": {"features": features}})


def _worker(config: dict[str, Any], spent: Any, core: int | None = None) -> None:
    """Run a worker, on one core if told; put its processor time and number of records, without those of its start."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    worker = build_worker(checked(config))
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    start: list[tuple[float, int]] = []

    def watch() -> None:
        while worker.counts.records < WARM_UP:
            time.sleep(0.01)
        start.append((time.process_time(), worker.counts.records))

    threading.Thread(target=watch, daemon=True).start()
    worker.run()
    (began, before), processed = start[0], worker.counts.records
    spent.put((time.process_time() - began, processed - before, processed))


def scale(client: str, rounds: int, model: str, fields: int, values: int, events: int, pin: bool) -> None:
    """Print processor time a record, summed, and records a second, of one and of two workers.

    Pinned workers have a core each, as on machines of one core: the shards of a worker are threads, and their kernels
    let go of the interpreter's lock, so that one worker fills more than one core where it may.
    """
    topic = input_topic(events, fields, values)
    cores = sorted(os.sched_getaffinity(0))
    found: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(rounds):
        for count in found:
            config = pipeline(topic, client, 4, **counted_model(model, fields))
            cluster = Cluster(Connection(servers=tuple(servers().split(","))))
            spent: Any = FORKED.Queue()
            workers = [
                FORKED.Process(
                    target=_worker, args=(config, spent, cores[number % len(cores)] if pin else None)
                )
                for number in range(count)
            ]
            for process in workers:
                process.start()

            def committed(name: str = config["name"], cluster: Cluster = cluster) -> int:
                return sum(cluster.committed_offsets(name).values())

            first = _reach(committed, events // 2)  # by now the shards are shared out
            last = _reach(committed, events)
            for process in workers:
                assert process.pid is not None
                os.kill(process.pid, signal.SIGTERM)
            sums = [spent.get(timeout=120) for _ in workers]
            for process in workers:
                process.join()
            cluster.close()
            seconds = sum(each[0] for each in sums) / sum(each[1] for each in sums)
            speed = (last[1] - first[1]) / (last[0] - first[0])
            found[count].append((seconds, speed))
            shares = [each[2] for each in sums]
            print(
                f"{count} workers: {1e6 * seconds:.1f} us a record, {speed:.0f} records/s, {shares}",
                flush=True,
            )
    one, two = (min(row[0] for row in found[count]) for count in (1, 2))
    slow, fast = (max(row[1] for row in found[count]) for count in (1, 2))
    print(
        f"{model}, {fields} fields of {values} values, {client}: two workers {two / one:.2f}x the processor time a "
        f"record, {fast / slow:.2f}x the records a second"
    )


def _reach(look: Callable[[], int], count: int, seconds: float = 600.0) -> tuple[float, int]:
    """Wait until a number is reached. Return when, and the number then."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found >= count:
            return time.monotonic(), found
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds:g} seconds for {count}")


# -- a model of 100 MB -------------------------------------------------------------------------------------------------


def large(client: str, rounds: int, model: str, events: int) -> None:
    """Print the size of a model, when a newcomer predicts from it, and how long a shard takes to move.

    Naive Bayes sees names that never come again; other learners 44 values of each of 20 features.
    """
    topic = names_topic(events) if model == "nb" else input_topic(events, values=44)
    config = pipeline(topic, client, 16, workers={"publish_seconds": 5.0}, **counted_model(model))
    first = build_worker(checked(config))
    first.run(until_end=True)
    print(
        f"{model}, {events} records: {first.counts.published_bytes / 1e6:.0f} MB published in all", flush=True
    )
    size = 0
    for _ in range(rounds):
        began, busy = time.monotonic(), time.process_time()
        with follow(config["name"], servers=servers()) as followed:
            followed.predict_proba_one({"f0": "v0"})
            seconds, spent = time.monotonic() - began, time.process_time() - busy
            size = followed._replicas.memory_bytes
        print(
            f"a newcomer to {size / 1e6:.0f} MB predicts after {seconds:.1f} s, {spent:.1f} s of processor time",
            flush=True,
        )
    for _ in range(rounds):
        worker: Worker = build_worker(checked(config))
        thread = threading.Thread(target=worker.run)
        began = time.monotonic()
        thread.start()
        restored: dict[int, float] = {}
        while len(restored) < 16:
            time.sleep(0.1)
            restored = {
                number: shard.restore_seconds
                for number, shard in worker.owned.items()
                if shard.restore_seconds is not None
            }
            assert thread.is_alive()
            assert time.monotonic() - began < 300
        print(
            f"16 shards of {size / 16e6:.1f} MB that move at once go on after {min(restored.values()):.1f} to "
            f"{max(restored.values()):.1f} s",
            flush=True,
        )
        worker.stop()
        thread.join()


# -- traffic -----------------------------------------------------------------------------------------------------------


def traffic(client: str) -> None:
    """Print the bytes that are published, in small and large models."""
    for name, topic, events in (
        ("20 features of 8 values", input_topic(MANY), MANY),
        ("unseen names", names_topic(20_000), 20_000),
    ):
        for shards in (1, 4):
            worker = build_worker(checked(pipeline(topic, client, shards, workers={"publish_events": 1000})))
            worker.run(until_end=True)
            assert worker.counts.records == events
            last = worker.replicas.memory_bytes if worker.replicas is not None else 0
            print(
                f"{name}, {shards} shards: {worker.counts.publications} publications of "
                f"{worker.counts.published_bytes / worker.counts.publications / 1000:.1f} kB, "
                f"{worker.counts.published_bytes / events:.0f} bytes a record; all counts are {last / 1e6:.2f} MB"
            )


def main() -> None:
    """Run one of the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["cost", "scale", "large", "bytes"])
    parser.add_argument("--client", default="confluent-kafka")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model")
    parser.add_argument("--fields", type=int, default=20)
    parser.add_argument("--values", type=int, default=8)
    parser.add_argument("--pin", action="store_true", help="give each worker of `scale` one core of its own")
    parser.add_argument("--events", type=int)
    own = parser.parse_args()
    if own.what == "cost":
        cost(own.client, own.rounds)
    elif own.what == "scale":
        scale(
            own.client, own.rounds, own.model or "a2de", own.fields, own.values, own.events or 20_000, own.pin
        )
    elif own.what == "large":
        large(own.client, own.rounds, own.model or "aode", own.events or 30_000)
    else:
        traffic(own.client)


if __name__ == "__main__":
    main()
