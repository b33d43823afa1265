"""Metrics and health of a running engine over HTTP, for Prometheus and for process supervisors.

    GET /metrics    counters and gauges, as text or as OpenMetrics
    GET /livez      200 while the process runs the engine
    GET /readyz     200 while the engine also reads, and its snapshots are written; 503 otherwise

The engine's own thread records the figures after each commit. So a request never returns half of a batch, and never
delays the stream. A request for another host's name is refused, so that no web page reads the port through its own
DNS. Labels hold the pipeline's name, sources, partitions and reasons; never anything from the data.
"""

from __future__ import annotations

import platform
import socket
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Any, Protocol, TypeAlias

from prometheus_client import CollectorRegistry, Metric, MetricsHandler, ProcessCollector

from stream_bayes._build import VERSION, is_compiled
from stream_bayes.core.events.event import Partition
from stream_bayes.core.events.pending import OUTCOMES, Pending
from stream_bayes.door.connections import AdmittedTo, ConnectionLimits, Connections
from stream_bayes.door.host_names import HostNames
from stream_bayes.door.refusals import Refusals
from stream_bayes.drift.log import KINDS
from stream_bayes.errors import BadConfig
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.incidents import (
    BAD_FIELDS,
    FUTURE_TIMES,
    GAP,
    IMPOSSIBLE_TIMES,
    JUMPS,
    LATE_TIMES,
    OUT_OF_ORDER,
    OVERSIZE,
    REPEATED,
    RESEEKS,
    RESENT,
    WRONG_UNIT,
    total_incidents,
)
from stream_bayes.streams.engine.dead_letters import REASONS
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.service.timings import Timings

__all__ = [
    "Metrics",
    "counter",
    "dead_letter_counter",
    "gauge",
    "incident_counters",
    "seconds_behind",
    "serving",
    "serving_collector",
]

MetricLabels: TypeAlias = dict[str, str]

SECONDS_BETWEEN_MEASURES = 1.0  # computing measures costs more than a commit
REQUEST_TIMEOUT = 5.0  # seconds for a client to send its request
LIMITS = ConnectionLimits(most=64, most_each=32, for_probes=0)
REFUSED_METHODS = ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
DRIFT_STATES = ("stable", "warning", "searching", "trial")
INCIDENT_HELP = {
    BAD_FIELDS: "Features of wrong types that were taken as missing.",
    FUTURE_TIMES: "Records with a time after the present.",
    GAP: "Positions that expired before they were read.",
    IMPOSSIBLE_TIMES: "Records with a time after they were written, processed with the time of writing.",
    OUT_OF_ORDER: "Records older than an earlier one of their partition.",
    OVERSIZE: "Outputs and dead letters larger than their topic accepts.",
    REPEATED: "Ranges of records that two workers answered, so that their results are there twice.",
    RESEEKS: "Restarts of reading because a partition returned nothing.",
    RESENT: "Batches sent again because no broker accepted them.",
    JUMPS: "Records further ahead of the stream than one may move its clock.",
    LATE_TIMES: "Records further behind the stream than one may move its clock.",
    WRONG_UNIT: "Records whose time is right in another unit than the declared one.",
}


class Metrics:
    """The figures of an engine, recorded after each commit; a collector for a Prometheus registry.

    Examples
    --------
    >>> from prometheus_client import CollectorRegistry, generate_latest
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.streams.engine.step import Step
    >>> from stream_bayes.streams.served_models.served import served
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> engine = Engine(Step(served(NaiveBayes()), "weather"), IterableSource([({"sky": "grey"}, "rain")] * 3))
    >>> registry = CollectorRegistry()
    >>> registry.register(Metrics(engine))
    >>> _ = engine.run()
    >>> print(generate_latest(registry).decode().splitlines()[2])
    stream_bayes_records_total{pipeline="weather"} 3.0
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._labels: MetricLabels = {"pipeline": engine.step.name}
        self._measured_at = float("-inf")
        self._measures: list[Metric] = []
        self._recorded: list[Metric] = []  # replaced as a whole, because other threads read it
        self._timings = Timings()
        engine.watch(self.record)
        engine.at_start(self._begin)

    def _begin(self) -> None:
        """Record the figures before the first commit: a counter that appears with its first event has no increase."""
        self.record(self.engine.progress)
        self._measured_at = float("-inf")  # there are measures after the first commit

    def record(self, progress: Progress) -> None:
        """Record the figures of this commit. Called in the engine's thread."""
        engine, step, labels = self.engine, self.engine.step, self._labels
        if time.monotonic() - self._measured_at >= SECONDS_BETWEEN_MEASURES:
            self._measures = _measures(step, labels)
            self._measured_at = time.monotonic()
        pending = step.pending
        self._timings.observe(engine)
        self._recorded = [
            counter("records", "Records processed.", (labels, progress.processed)),
            counter("samples_learned", "Samples learned.", (labels, step.learned + step.unlearned)),
            counter("samples_unlearned", "Samples unlearned.", (labels, step.unlearned)),
            counter("replayed_records", "Records replayed in this run.", (labels, progress.replayed)),
            dead_letter_counter(step.dead_letters.counts, labels),
            *([] if pending is None else _labels(pending, labels)),
            *_drift(step, labels),
            *_challengers(engine, labels),
            *self._measures,
        ]

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with their values. Thread-safe."""
        engine, labels = self.engine, self._labels
        written, failed = engine.snapshots
        # Not only after a commit: while no broker answers there are none.
        parts = (engine.source, engine.recovery, engine.predictions, engine.dead_letters, engine.times)
        incidents = total_incidents(parts)
        now = [
            *_positions(engine, labels),
            *self._timings.metrics(labels),
            gauge(
                "ready", "1 while the engine reads and its snapshots are written.", (labels, engine.healthy)
            ),
            gauge("snapshots_written", "Snapshots written in this run.", (labels, written)),
            gauge("snapshots_failed", "Snapshots that could not be written.", (labels, failed)),
            *_snapshots(engine.store, labels),
            *_lag_seconds(engine, labels),
            *incident_counters(incidents, labels),
        ]
        yield from (metric for metric in (*self._recorded, *now) if metric.samples)


@contextmanager
def serving(engine: Engine, host: str, port: int, hosts: Collection[str] = ()) -> Iterator[int]:
    """Serve an engine's metrics and health inside a `with` block; yield the port, a free one for port 0.

    Parameters
    ----------
    engine
        The engine.
    host, port
        The address to listen on.
    hosts
        Names that requests may be for, besides the loopback's and `host`: the one by which Prometheus comes.

    Raises
    ------
    BadConfig
        If the address cannot be listened on.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> engine = streams.Engine(streams.Step(streams.served(NaiveBayes())), streams.from_iterable(days))
    >>> engine.run().processed
    100
    >>> with streams.serving(engine, "127.0.0.1", 0) as port, urlopen(f"http://127.0.0.1:{port}/livez") as answer:
    ...     answer.status
    200
    """
    with serving_collector(Metrics(engine), engine, host, port, hosts) as bound:
        yield bound


class HasHealth(Protocol):
    """The part of an engine or a worker that health is read from."""

    @property
    def healthy(self) -> bool:
        """True while it runs, reads and writes. Thread-safe."""
        ...


@contextmanager
def serving_collector(
    collector: Any, engine: HasHealth, host: str, port: int, hosts: Collection[str] = ()
) -> Iterator[int]:
    """Serve a collector's metrics and the health of an engine, as `serving` does."""
    registry, refusals = CollectorRegistry(), Refusals("ops")
    registry.register(collector)
    registry.register(_RefusalCollector(refusals))
    registry.register(_Build())
    ProcessCollector(registry=registry)
    refused = dict.fromkeys((f"do_{method}" for method in REFUSED_METHODS), _Handler.refuse)
    attributes = {
        "registry": registry,
        "engine": engine,
        "names": HostNames(host, hosts),
        "refusals": refusals,
    }
    handler = type("Handler", (_Handler,), {**attributes, **refused})
    try:
        server = _OpsServer((host, port), handler)
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


class _OpenSocket:
    """A connection as `Connections` counts it: it waits until its request is here."""

    has_served = False

    def __init__(self, line: socket.socket, address: str) -> None:
        self.address = address
        self.waits_since: float | None = time.monotonic()
        self._line = line

    def drop(self) -> None:
        """End it at once; its own thread then reads the end."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)


class _OpsServer(ThreadingHTTPServer):
    """A thread for each connection, within limits: idle ones give way, so that probes are answered."""

    daemon_threads = True
    # Connections that wait to be accepted; past it a client tries again after a second.
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self.address_family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ][0]
        self._connections = Connections(LIMITS)
        self._open: dict[Any, _OpenSocket] = {}
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        opened = _OpenSocket(request, str(client_address[0]))
        if self._connections.admit(opened) is AdmittedTo.REFUSED:
            super().shutdown_request(request)
            return
        self._open[request] = opened
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show an error with its trace, unless it is that of a client that has gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def begin_answer(self, request: Any) -> None:
        """Mark a connection whose request is here: it gives way to no other."""
        self._open[request].waits_since = None

    def shutdown_request(self, request: Any) -> None:
        opened = self._open.pop(request, None)
        if opened is not None:
            self._connections.remove(opened)
        super().shutdown_request(request)


class _Handler(MetricsHandler):
    """Metrics and health for GET requests; other methods are refused."""

    engine: HasHealth
    names: HostNames
    refusals: Refusals
    timeout = REQUEST_TIMEOUT
    server_version = "stream-bayes"
    sys_version = ""

    def parse_request(self) -> bool:
        """Parse the head of a request, which is then here."""
        is_sound: bool = super().parse_request()
        if is_sound:
            self.server.begin_answer(self.request)  # type: ignore[attr-defined]  # the server above
        return is_sound

    def do_GET(self) -> None:  # noqa: N802  # the name that http.server calls
        path = self.path.partition("?")[0]
        asked = self.headers.get_all("Host", [])
        # A program may send none, as HTTP/1.0 has it; a browser always sends one.
        if any(host not in self.names for host in asked):
            detail = (
                f"this port is not {asked[0][:100]!r}; if requests are for that name, add it to ops.hosts"
            )
            self.refusals.add("other-host", str(self.client_address[0]), detail)
            self._send(421, f"{detail}\n")
        elif path == "/metrics":
            super().do_GET()
        elif path == "/livez":
            self._send(200, "alive\n")
        elif path == "/readyz":
            ready = self.engine.healthy
            self._send(200 if ready else 503, "ready\n" if ready else "not ready\n")
        else:
            self._send(404, "the paths are /metrics, /livez and /readyz\n")

    def refuse(self) -> None:
        """Refuse any other method."""
        self._send(405, "only GET is allowed\n")

    def _send(self, status: int, text: str) -> None:
        body = b"" if self.command == "HEAD" else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if status == 405:
            self.send_header("Allow", "GET")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing: requests come every few seconds."""


class _RefusalCollector:
    """A collector of the refusals at this port."""

    def __init__(self, refusals: Refusals) -> None:
        self._refusals = refusals

    def collect(self) -> Iterator[Metric]:
        yield self._refusals.metric({})


class _Build:
    """A collector of one gauge that says which program this is."""

    def collect(self) -> Iterator[Metric]:
        build = {"version": VERSION, "python": platform.python_version()}
        build["kernels"] = "compiled" if is_compiled() else "pure"
        yield gauge("build_info", "1; its labels are the program's version.", (build, 1))


MEASURES_OF_LABELS = {
    "accuracy": "Share of correct predictions",
    "log_loss": "Logarithmic loss of the predictions",
}
MEASURES_OF_NUMBERS = {
    "rmse": "Root mean squared error of the predicted numbers",
    "mae": "Mean absolute error of the predicted numbers",
    "coverage": "Share of numbers in their intervals",
    "interval_width": "Mean width of the finite intervals",
}
MEASURES_OF_FORECASTS = MEASURES_OF_NUMBERS | {
    "crps": "Mean continuous ranked probability score of the distributions of numbers",
    "log_density": "Mean logarithm of the density at the numbers",
}
ATTRIBUTES = {"interval_width": "width"}  # of the measures, where the metric needs a longer name


def _measures(step: Step, labels: MetricLabels) -> list[Metric]:
    fading = step.losses.fading
    measures = [
        gauge(name, f"{text}, fading.", (labels, getattr(fading, ATTRIBUTES.get(name, name))))
        for name, text in _measures_of(step).items()
    ]
    if step.errors is None:
        return measures
    errors = {variable: losses.fading for variable, losses in step.errors.by_name.items()}
    return measures + [
        gauge(
            f"variable_{name}",
            f"{text}, by variable, fading.",
            *(
                (labels | {"variable": variable}, getattr(each, ATTRIBUTES.get(name, name)))
                for variable, each in errors.items()
            ),
        )
        for name, text in MEASURES_OF_NUMBERS.items()
    ]


def _measures_of(step: Step) -> dict[str, str]:
    """Return the measures of a step's predictions, with what they are; none of several targets together."""
    if step.errors is step.losses:
        return {}
    return MEASURES_OF_FORECASTS if step.model.predicts_numbers else MEASURES_OF_LABELS


def _challengers(engine: Engine, labels: MetricLabels) -> list[Metric]:
    """Return the losses of each challenger, fading as those of the pipeline's model do."""
    running = {name: each.step for name, each in engine.challengers.by_name.items() if each.failure is None}
    where = {name: labels | {"challenger": name} for name in running}
    losses = {name: step.losses.fading for name, step in running.items()}
    return [
        gauge(
            f"challenger_{measure}",
            f"{text} of a challenger, fading.",
            *(
                (where[name], getattr(each, ATTRIBUTES.get(measure, measure)))
                for name, each in losses.items()
            ),
        )
        for measure, text in _measures_of(engine.step).items()
    ]


def _snapshots(store: SnapshotStore | None, labels: MetricLabels) -> list[Metric]:
    newest = None if store is None else store.newest_written()
    if newest is None:
        return []
    age = max(0.0, time.time() - newest.written)
    return [
        gauge("snapshot_age_seconds", "Seconds since the newest snapshot was written.", (labels, age)),
        gauge("snapshot_bytes", "Size of the newest snapshot.", (labels, newest.size)),
    ]


def _labels(pending: Pending, labels: MetricLabels) -> list[Metric]:
    return [
        gauge("waiting", "Samples without a label.", (labels, pending.waiting)),
        counter(
            "labels",
            "Late labels by outcome: joined late or early, corrected, repeated, ...; samples that expired.",
            *((labels | {"outcome": outcome}, pending.counts[outcome]) for outcome in OUTCOMES),
        ),
    ]


def _positions(engine: Engine, labels: MetricLabels) -> list[Metric]:
    """Return positions and lag as they are now: during a replay or an outage there is no commit."""
    positions, lag = dict(engine.positions), engine.lag
    where = {
        partition: labels | {"source": partition.source, "partition": str(partition.partition)}
        for partition in positions
    }
    return [
        gauge(
            "position",
            "The next position to read.",
            *((where[partition], position) for partition, position in positions.items()),
        ),
        gauge(
            "lag",
            "Positions between the model and the end of the partition.",
            *((where[partition], lag[partition]) for partition in positions if partition in lag),
        ),
        *_consumer_group(engine, lag),
    ]


def _consumer_group(engine: Engine, lag: Mapping[Partition, int]) -> list[Metric]:
    """Return the lag over Kafka under the names that dashboards of consumer groups use."""
    if engine.source.medium != "kafka":
        return []
    name, group = "kafka_consumergroup_group", {"group": engine.step.name}
    lags = Metric(f"{name}_lag", "As stream_bayes_lag.", "gauge")
    for partition, behind in lag.items():
        where = {"topic": partition.source, "partition": str(partition.partition)}
        lags.add_sample(f"{name}_lag", group | where, behind)
    seconds = seconds_behind(engine)
    if seconds is None:
        return [lags]
    longest = Metric(f"{name}_max_lag_seconds", "As stream_bayes_lag_seconds.", "gauge")
    longest.add_sample(f"{name}_max_lag_seconds", group, seconds)
    return [lags, longest]


def _lag_seconds(engine: Engine, labels: MetricLabels) -> list[Metric]:
    seconds = seconds_behind(engine)
    text = "Age of the last record that was processed; 0 at the end of the source."
    return [] if seconds is None else [gauge("lag_seconds", text, (labels, seconds))]


def seconds_behind(engine: Engine) -> float | None:
    """Return the age of the last record, 0 at the end; None before one, and for records without times."""
    if engine.reached is None:
        return None
    positions, lag = dict(engine.positions), engine.lag
    # An unknown end is not the end: a catch-up begins before the first request for the ends is answered.
    caught_up = bool(positions) and lag.keys() >= positions.keys() and not any(lag.values())
    return 0.0 if caught_up else max(0.0, time.time() - engine.reached)


def _drift(step: Step, labels: MetricLabels) -> list[Metric]:
    model = step.model
    if model.drifts is None or model.drift_state is None:
        return []
    now, counts = model.drift_state, model.drifts.counts
    return [
        counter(
            "drift_events",
            "Entries of the drift log, by kind.",
            # From the start on, at 0: a counter that appears has no rate.
            *((labels | {"what": what}, counts.get(what, 0)) for what in sorted({*KINDS, *counts})),
        ),
        gauge("model_generation", "Number of times that the model was replaced.", (labels, model.generation)),
        gauge(
            "drift_state",
            "1 for the current state of the model.",
            *((labels | {"state": state}, state == now) for state in sorted({*DRIFT_STATES, now})),
        ),
    ]


def counter(name: str, text: str, *values: tuple[MetricLabels, float]) -> Metric:
    """Return a counter of this package."""
    metric = Metric(f"stream_bayes_{name}", text, "counter")
    for labels, value in values:
        metric.add_sample(f"stream_bayes_{name}_total", labels, value)
    return metric


def incident_counters(incidents: Mapping[str, int], labels: MetricLabels) -> Iterator[Metric]:
    """Yield a counter for each kind of incident, with 0 for those that have not happened."""
    for name, text in sorted(INCIDENT_HELP.items()):
        yield counter(name, text, (labels, incidents.get(name, 0)))


def dead_letter_counter(counts: Mapping[str, int], labels: MetricLabels) -> Metric:
    """Return the counter of dead letters, with 0 for reasons that have none."""
    reasons = sorted({*REASONS, *counts})
    values = ((labels | {"reason": reason}, counts.get(reason, 0)) for reason in reasons)
    return counter("dead_letters", "Records that could not be used.", *values)


def gauge(name: str, text: str, *values: tuple[MetricLabels, float]) -> Metric:
    """Return a gauge of this package."""
    metric = Metric(f"stream_bayes_{name}", text, "gauge")
    for labels, value in values:
        metric.add_sample(f"stream_bayes_{name}", labels, value)
    return metric
