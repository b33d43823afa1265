"""Metrics and health of a running engine over HTTP, for Prometheus and for whoever starts and stops processes.

    GET /metrics    counters and gauges, as Prometheus reads them
    GET /livez      200 while the process runs the engine
    GET /readyz     200 while it also reads, and keeps what it learns: 503 otherwise

What is served is noted after a commit, by the engine's own thread, so nobody who asks can see half of a batch or hold
the stream up. No label's value comes from the data: there are the pipeline's name, numbers of partitions, and reasons.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from stream_bayes.core.events.event import Partition
from stream_bayes.drift.log import KINDS
from stream_bayes.errors import BadConfig
from stream_bayes.streams.contracts.incidents import GAP, OVERSIZE, RESEEKS, RESENT, total_incidents
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.snapshot_store import SnapshotStore
from stream_bayes.streams.models.river import ServedAdaptive

__all__ = ["Metrics", "serving"]

MEASURED_EVERY = 1.0  # second: measures cost more than a commit
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SAID = {
    GAP: "Positions that had expired before they were read.",
    OVERSIZE: "Outputs and dead letters that were larger than their topic takes.",
    RESEEKS: "How often reading began anew, for nothing came of a partition.",
    RESENT: "Batches that were sent again, for no broker took them.",
}
OTHER_VERBS = ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STATES = ("stable", "warning", "searching", "trial")
HANGS_FOR = 5.0  # seconds a client may take to say what it wants


@dataclass(frozen=True)
class Metric:
    """A metric, and its values with their labels."""

    name: str
    kind: str  # "counter" or "gauge"
    said: str
    values: tuple[tuple[dict[str, str], float], ...]

    def lines(self) -> Iterator[str]:
        """As Prometheus reads it."""
        yield f"# HELP {self.name} {self.said}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.values:
            written = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            yield f"{self.name}{{{written}}} {value!r}" if written else f"{self.name} {value!r}"


class Metrics:
    """What is known of an engine, noted after its commits.

    Parameters
    ----------
    engine
        Whose.
    clock
        The seconds that pass.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> from stream_bayes.streams.models.served import served
    >>> from stream_bayes.streams.engine.step import Step
    >>> engine = Engine(Step(served(NaiveBayes()), "weather"), IterableSource([({"sky": "grey"}, "rain")] * 3))
    >>> metrics = Metrics(engine)
    >>> _ = engine.run()
    >>> print(metrics.text().splitlines()[2])
    stream_bayes_records_total{pipeline="weather"} 3
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self.engine = engine
        self._clock = clock
        self._measured = float("-inf")
        self._measures: list[Metric] = []
        self._noted: list[Metric] = []  # replaced as a whole, for other threads read it
        engine.watch(self.note)

    def note(self, progress: Progress) -> None:
        """Note how things stand, in the engine's own thread."""
        engine, step = self.engine, self.engine.step
        own = {"pipeline": step.name}
        if self._clock() - self._measured >= MEASURED_EVERY:
            self._measures = self._measured_now(own)
            self._measured = self._clock()
        places = [
            (own | {"source": part.source, "partition": str(part.partition)}, part)
            for part in engine.positions
        ]
        lag, positions = engine.lag, engine.positions
        pending = step.pending
        self._noted = [
            _metric("records_total", "counter", "Records taken.", (own, progress.processed)),
            _metric(
                "samples_learned_total",
                "counter",
                "Samples learned, less those taken back.",
                (own, step.learned),
            ),
            _metric(
                "replayed_records_total",
                "counter",
                "Records of this run that were replayed.",
                (own, progress.replayed),
            ),
            _metric(
                "dead_letters_total",
                "counter",
                "Records that could not be used.",
                *((own | {"reason": reason}, count) for reason, count in sorted(step.dead.items())),
            ),
            _metric(
                "position",
                "gauge",
                "The next position to read.",
                *((at, positions[part]) for at, part in places),
            ),
            _metric(
                "lag",
                "gauge",
                "Positions that the model has not read yet.",
                *((at, lag[part]) for at, part in places if part in lag),
            ),
            *_of_group(engine, lag),
            *(
                []
                if pending is None
                else [_metric("waiting", "gauge", "Samples without label.", (own, pending.waiting))]
            ),
            *_of_drift(step, own),
            *self._measures,
        ]

    def text(self) -> str:
        """All metrics, as Prometheus reads them; may be called from any thread."""
        own = {"pipeline": self.engine.step.name}
        written, failed = self.engine.snapshots
        now = [
            _metric(
                "ready",
                "gauge",
                "Whether it reads, and keeps what it learns.",
                (own, int(self.engine.healthy)),
            ),
            _metric("snapshots_written", "gauge", "Snapshots that this run has written.", (own, written)),
            _metric("snapshots_failed", "gauge", "Snapshots that could not be written.", (own, failed)),
        ]
        engine = self.engine
        parts = (engine.source, engine.recovery, engine.predictions, engine.dead_letters)
        now += _of_snapshots(engine.store, own)
        now += [  # not only after a commit: while no broker answers there is none
            _metric(f"{name}_total", "counter", SAID[name], (own, count))
            for name, count in total_incidents(parts).items()
        ]
        lines = [line for metric in (*self._noted, *now) if metric.values for line in metric.lines()]
        return "\n".join(lines) + "\n"

    def _measured_now(self, own: dict[str, str]) -> list[Metric]:
        fading = self.engine.step.losses.fading
        return [
            _metric("accuracy", "gauge", "The share of right predictions, fading.", (own, fading.accuracy)),
            _metric(
                "log_loss", "gauge", "The logarithmic loss of predictions, fading.", (own, fading.log_loss)
            ),
        ]


@contextmanager
def serving(engine: Engine, host: str, port: int) -> Iterator[int]:
    """Serve an engine's metrics and health while this lasts; gives the port, a free one where 0 was asked for.

    Raises
    ------
    BadConfig
        If this cannot be listened on.
    """
    metrics = Metrics(engine)
    refused = dict.fromkeys((f"do_{verb}" for verb in OTHER_VERBS), _Handler.refuse)
    handler = type("Handler", (_Handler,), {"metrics": metrics, **refused})
    try:
        server = ThreadingHTTPServer((host, port), handler)
    except OSError as error:
        raise BadConfig(f"ops: {host}:{port} cannot be listened on: {error.strerror or error}") from error
    thread = Thread(target=server.serve_forever, name="ops", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers GET, and nothing else."""

    metrics: Metrics
    timeout = HANGS_FOR
    server_version = "stream-bayes"
    sys_version = ""

    def do_GET(self) -> None:
        ready = self.metrics.engine.healthy
        if self.path == "/metrics":
            self._answer(200, self.metrics.text(), CONTENT_TYPE)
        elif self.path == "/livez":
            self._answer(200, "alive\n")
        elif self.path == "/readyz":
            self._answer(200 if ready else 503, "ready\n" if ready else "not ready\n")
        else:
            self._answer(404, "there are /metrics, /livez and /readyz\n")

    def refuse(self) -> None:
        """Answer any other verb."""
        self._answer(405, "only GET is answered\n")

    def _answer(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        body = b"" if self.command == "HEAD" else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 405:
            self.send_header("Allow", "GET")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: requests come every few seconds."""


def _of_snapshots(store: SnapshotStore | None, own: dict[str, str]) -> list[Metric]:
    """How old the newest snapshot is, and how large; nothing where there is none."""
    newest = None if store is None else store.newest()
    if newest is None:
        return []
    age = max(0.0, time.time() - newest.written)
    return [
        _metric("snapshot_age_seconds", "gauge", "Since the newest snapshot was written.", (own, age)),
        _metric("snapshot_bytes", "gauge", "Of the newest snapshot.", (own, newest.size)),
    ]


def _of_group(engine: Engine, lag: Mapping[Partition, int]) -> list[Metric]:
    """The lag over Kafka by the names that dashboards of consumer groups ask for."""
    if engine.source.medium != "kafka":
        return []
    group = {"group": engine.step.name}
    behind = [(group | {"topic": part.source, "partition": str(part.partition)}, lag[part]) for part in lag]
    metrics = [Metric("kafka_consumergroup_group_lag", "gauge", "As stream_bayes_lag.", tuple(behind))]
    if engine.reached is not None:
        seconds = max(0.0, time.time() - engine.reached) if any(lag.values()) else 0.0
        said = "How long ago the last record happened that was taken; 0 where all were."
        metrics.append(
            Metric("kafka_consumergroup_group_max_lag_seconds", "gauge", said, ((group, seconds),))
        )
    return metrics


def _of_drift(step: Step, own: dict[str, str]) -> list[Metric]:
    """What a model that follows drift has noted and where it stands; nothing of others."""
    model = step.model
    if not isinstance(model, ServedAdaptive):
        return []
    now, counts = model.adaptive.state_, model.drifts.counts
    return [
        _metric(
            "drift_events_total",
            "counter",
            "Entries of the log of drifts, by what they say.",
            # From the start on, at 0: a counter that appears has no rate.
            *((own | {"what": what}, counts.get(what, 0)) for what in sorted({*KINDS, *counts})),
        ),
        _metric(
            "model_generation",
            "gauge",
            "How often the model was swapped for a better one.",
            (own, model.generation),
        ),
        _metric(
            "drift_state",
            "gauge",
            "1 for the state that the model is in.",
            *((own | {"state": state}, int(state == now)) for state in sorted({*STATES, now})),
        ),
    ]


def _metric(name: str, kind: str, said: str, *values: tuple[dict[str, str], float]) -> Metric:
    return Metric(f"stream_bayes_{name}", kind, said, values)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
