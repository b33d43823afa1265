"""What is served of a running engine: figures after each commit, and whether it is ready; GET only, nothing of data."""

from __future__ import annotations

import errno
import http.client
import io
import itertools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stream_bayes import BayesNet, DriftAdaptive, NaiveBayes
from stream_bayes.core.events.event import Event, Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import BadConfig
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.dead_letters import REASONS
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.service.logs import logging_json
from stream_bayes.streams.service.metrics_and_health import INCIDENT_HELP, serving
from stream_bayes.streams.sources.iterable import IterableSource
from stream_bayes.testing.faults import FaultyFileSystem
from tests.ports import free_ports
from tests.waiting import PATIENCE, until


def fetch(
    port: int, path: str, verb: str = "GET", host: str | None = None, at: str = "127.0.0.1"
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(at, port, timeout=60)
    try:
        connection.request(verb, path, headers={} if host is None else {"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def engine_of(items: Iterable[Any], **settings: Any) -> Engine:
    source = IterableSource(items, name="days")
    return Engine(Step(served(NaiveBayes()), "weather"), source, batch=10, **settings)


def values(text: str) -> dict[str, float]:
    return {
        series(sample.name, **sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def series(name: str, **labels: str) -> str:
    """Return the name of a time series as Prometheus writes it: labels in the order of their names."""
    written = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{written}}}"


SAMPLES = [({"sky": "grey"}, "rain")] * 25 + [({"sky": float("inf")}, "rain")]


def test_the_figures_are_those_of_the_last_commit(tmp_path: Path) -> None:
    engine = engine_of(SAMPLES, store=SnapshotStore(tmp_path))
    seen: list[dict[str, float]] = []
    with serving(engine, "127.0.0.1", 0) as port:
        engine.watch(lambda _: seen.append(values(fetch(port, "/metrics")[1])))
        engine.run()
    name = 'pipeline="weather"'
    place = f'{{partition="0",{name},source="days"}}'
    assert [figures[f"stream_bayes_records_total{{{name}}}"] for figures in seen] == [10, 20, 26]
    assert [figures[f"stream_bayes_position{place}"] for figures in seen] == [10, 20, 26]
    assert [figures[f"stream_bayes_lag{place}"] for figures in seen] == [16, 6, 0]
    assert seen[-1][f"stream_bayes_samples_learned_total{{{name}}}"] == 25
    assert seen[-1][f'stream_bayes_dead_letters_total{{{name},reason="refused"}}'] == 1
    assert seen[-1][f"stream_bayes_snapshots_written{{{name}}}"] == 1
    assert seen[-1][f"stream_bayes_replayed_records_total{{{name}}}"] == 0
    assert seen[-1][f"stream_bayes_accuracy{{{name}}}"] == 1.0  # the first record had no answer
    for what in ("predict", "commit"):
        assert seen[-1][f"stream_bayes_{what}_seconds_count{{{name}}}"] == 3
        assert 0 < seen[-1][f"stream_bayes_{what}_seconds_sum{{{name}}}"] < 60
    assert any(series.startswith("stream_bayes_build_info{") for series in seen[-1])
    assert seen[-1]["process_resident_memory_bytes{}"] > 1e6


def test_every_counter_begins_at_0_before_its_first_event_and_where_it_was_after_a_restart(
    tmp_path: Path,
) -> None:
    for before, items in ((0.0, [*SAMPLES]), (1.0, [*SAMPLES, *SAMPLES])):
        engine = engine_of(items, store=SnapshotStore(tmp_path))
        seen: list[dict[str, float]] = []
        with serving(engine, "127.0.0.1", 0) as port:

            def look(port: int = port, seen: list[dict[str, float]] = seen) -> None:
                seen.append(values(fetch(port, "/metrics")[1]))

            engine.at_start(look)
            engine.run()
            seen.append(values(fetch(port, "/metrics")[1]))
        letters = "stream_bayes_dead_letters_total"
        refused = series(letters, pipeline="weather", reason="refused")
        assert [each[refused] for each in seen] == [before, before + 1]
        assert all(seen[0][series(letters, pipeline="weather", reason=reason)] >= 0 for reason in REASONS)
        for name in INCIDENT_HELP:
            assert seen[0][series(f"stream_bayes_{name}_total", pipeline="weather")] == 0
        assert seen[0][series("stream_bayes_snapshots_failed", pipeline="weather")] == 0


def test_the_newest_snapshot_is_told_by_its_age_and_size(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    engine = engine_of(SAMPLES, store=store)
    age, size = (f'stream_bayes_snapshot_{name}{{pipeline="weather"}}' for name in ("age_seconds", "bytes"))
    with serving(engine, "127.0.0.1", 0) as port:
        assert age not in fetch(port, "/metrics")[1]
        engine.run()
        newest = store.path(store.list()[-1])
        hour_ago = time.time() - 3600
        os.utime(newest, (hour_ago, hour_ago))
        figures = values(fetch(port, "/metrics")[1])
    assert 3600 <= figures[age] < 3700
    assert figures[size] == newest.stat().st_size


def test_the_lag_over_kafka_has_the_names_that_dashboards_ask_for() -> None:
    hour_ago = time.time() - 3600
    engine = engine_of([Event({"sky": "grey"}, "rain", time=hour_ago)] * 25)
    engine.source.medium = "kafka"
    seen: list[dict[str, float]] = []
    with serving(engine, "127.0.0.1", 0) as port:
        engine.watch(lambda _: seen.append(values(fetch(port, "/metrics")[1])))
        engine.run()
    group = "kafka_consumergroup_group"
    place = '{group="weather",partition="0",topic="days"}'
    assert [figures[f"{group}_lag{place}"] for figures in seen] == [15, 5, 0]
    first, _, last = [figures[f'{group}_max_lag_seconds{{group="weather"}}'] for figures in seen]
    assert 3600 <= first < 3700 and last == 0


def test_the_lag_of_a_file_is_in_bytes_and_its_model_s_not_its_reader_s(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("sky,rain\n" + "grey,yes\n" * 40)
    engine = Engine(Step(served(NaiveBayes())), CSVSource(path, Fields(target="rain")), batch=10)
    lags: list[int] = []
    engine.watch(lambda _: lags.extend(engine.lag.values()))
    engine.run()
    assert lags == [270, 180, 90, 0]  # though the whole file was in memory after the first batch
    assert list(engine.lag.values()) == [0]  # of the closed file


def test_it_is_served_to_this_machine_only_unless_told_otherwise() -> None:
    source = {"kind": "csv", "path": "days.csv", "target": "rain"}
    ops = checked({"name": "days", "source": source, "model": {"kind": "nb"}, "ops": {"port": 9464}}).ops
    assert ops is not None and ops.host == "127.0.0.1"


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz"])
def test_a_page_that_reaches_the_port_by_a_name_of_its_own_reads_nothing(path: str) -> None:
    with serving(engine_of(SAMPLES), "0.0.0.0", 0, ["bayes.monitoring.svc"]) as port:
        status, text = fetch(port, path, host=f"evil.example:{port}")
        assert status == 421 and "evil.example" in text and "ops.hosts" in text and "stream_bayes" not in text
        for host in ("bayes.monitoring.svc", f"Bayes.Monitoring.svc:{port}", "10.0.0.7:9464", "localhost"):
            assert fetch(port, path, host=host)[0] in (200, 503)
        assert 'refusals_total{port="ops",reason="other-host"} 1.0' in fetch(port, "/metrics")[1]
        with socket.create_connection(("127.0.0.1", port)) as line:  # a probe of HTTP/1.0 sends no name
            line.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            assert b" 200 " in line.recv(1000)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_it_is_served_at_addresses_of_ipv6() -> None:
    with serving(engine_of(SAMPLES), "::1", 0) as port:
        assert fetch(port, "/livez", at="::1")[0] == 200


def test_it_is_ready_while_it_runs_and_alive_all_the_time() -> None:
    engine = engine_of(SAMPLES)
    seen: list[tuple[int, int]] = []
    with serving(engine, "127.0.0.1", 0) as port:

        def ask(_: Progress | None = None) -> None:
            seen.append((fetch(port, "/livez")[0], fetch(port, "/readyz")[0]))

        ask()
        engine.watch(ask)
        engine.run(limit=10)
        ask()
    assert seen == [(200, 503), (200, 200), (200, 503)]


def test_it_is_not_ready_while_its_source_cannot_be_read() -> None:
    engine = engine_of(SAMPLES)
    seen: list[int] = []
    with serving(engine, "127.0.0.1", 0) as port:

        def ask(progress: Progress) -> None:
            engine.source.connected = progress.processed != 20  # type: ignore[attr-defined]  # as a broker's source has it
            seen.append(fetch(port, "/readyz")[0])

        engine.watch(ask)
        engine.run()
    assert seen == [200, 503, 200]


def test_it_is_not_ready_while_its_snapshots_cannot_be_written(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    store = SnapshotStore(tmp_path, file_system=disk)
    engine = engine_of(itertools.cycle(SAMPLES), store=store, schedule=Schedule(every_events=10))
    seen: list[int] = []
    with serving(engine, "127.0.0.1", 0) as port:

        def ask(progress: Progress) -> None:
            seen.append(fetch(port, "/readyz")[0])
            disk.refusal = errno.ENOSPC if 503 not in seen else None
            if seen[-1] == 200 and 503 in seen:
                engine.stop()

        engine.watch(ask)
        engine.run()
    assert [status for status, _ in itertools.groupby(seen)] == [200, 503, 200]


class Troubled(IterableSource):
    """A source that counts what goes wrong."""

    incidents: ClassVar[dict[str, int]] = {}


def test_what_goes_wrong_is_counted_before_anything_was_committed_too() -> None:
    source = Troubled([])
    source.incidents["reseeks"] = 2
    with serving(Engine(Step(served(NaiveBayes()), "weather"), source), "127.0.0.1", 0) as port:
        assert values(fetch(port, "/metrics")[1])['stream_bayes_reseeks_total{pipeline="weather"}'] == 2
        source.incidents["reseeks"] = 3
        assert values(fetch(port, "/metrics")[1])['stream_bayes_reseeks_total{pipeline="weather"}'] == 3


def test_a_query_behind_the_path_is_allowed() -> None:
    with serving(engine_of(SAMPLES), "127.0.0.1", 0) as port:
        assert values(fetch(port, "/metrics?x=1")[1])['stream_bayes_ready{pipeline="weather"}'] == 0
        assert fetch(port, "/livez?x=1")[0] == 200
        assert fetch(port, "/readyz?x=1")[0] == 503


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_nothing_but_get_is_answered(verb: str) -> None:
    with serving(engine_of(SAMPLES), "127.0.0.1", 0) as port:
        assert fetch(port, "/metrics", verb)[0] == 405
        assert fetch(port, "/else")[0] == 404


def test_no_label_holds_anything_of_an_event() -> None:
    secret = "s3cret"
    engine = engine_of([Event({secret: secret}, secret, key=secret)] * 20 + [{secret: [secret]}])
    with serving(engine, "127.0.0.1", 0) as port:
        engine.run()
        text = fetch(port, "/metrics")[1]
    assert 'dead_letters_total{pipeline="weather",reason=' in text
    assert secret not in text


def test_a_port_that_is_taken_is_refused_in_a_line() -> None:
    with (
        serving(engine_of(SAMPLES), "127.0.0.1", 0) as port,
        pytest.raises(BadConfig, match=str(port)),
        serving(engine_of(SAMPLES), "127.0.0.1", port),
    ):
        pass


def test_logs_are_json_with_times_in_utc_and_without_the_text_of_errors() -> None:
    text = io.StringIO()
    logger = logging.getLogger("stream_bayes.test")
    with logging_json(text):
        logger.warning("%d of %d failed", 2, 3)
        try:
            raise ValueError("s3cret")
        except ValueError:
            logger.exception("one failed")
    logger.warning("not written")
    first, second = map(json.loads, text.getvalue().splitlines())
    assert first["time"].endswith("Z") and abs(time.time() - _seconds(first["time"])) < 60
    assert (first["level"], first["logger"], first["message"]) == (
        "warning",
        "stream_bayes.test",
        "2 of 3 failed",
    )
    assert second["error"] == "ValueError" and "s3cret" not in text.getvalue()


def _seconds(moment: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(moment).timestamp()


PIPELINE = """
name = "days"
source = {{ kind = "csv", path = "days.csv", target = "rain", follow = true }}
model = {{ kind = "nb" }}
predictions = {{ kind = "jsonl", path = "answers.jsonl" }}
snapshots = {{ directory = "state" }}
ops = {{ port = {port} }}
"""


def test_a_pipeline_that_is_told_to_stop_ends_with_a_snapshot_of_all_it_answered(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    (tmp_path / "days.csv").write_text("sky,rain\n" + "grey,yes\n" * 30)
    (tmp_path / "pipeline.toml").write_text(PIPELINE.format(port=port))
    command = [sys.executable, "-m", "stream_bayes", "run", str(tmp_path / "pipeline.toml"), "--log-json"]
    process = subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": str(Path.cwd())}, stderr=subprocess.PIPE
    )
    try:

        def has_taken_all() -> bool:
            try:
                text = fetch(port, "/metrics")[1]
            except OSError:  # it starts
                return False
            return values(text).get('stream_bayes_records_total{pipeline="days"}') == 30

        until("all records", has_taken_all)
        assert fetch(port, "/readyz")[0] == 200
        process.send_signal(signal.SIGTERM)
        _, log_lines = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert len((tmp_path / "answers.jsonl").read_bytes().splitlines()) == 30
    newest = SnapshotStore(tmp_path / "state").latest()
    assert newest is not None and newest.snapshot.clock == 30
    logged = list(map(json.loads, log_lines.splitlines()))
    assert logged[0]["message"].startswith("columns that hold numbers, by the first rows of")
    assert [line["message"] for line in logged[1:]] == [
        "starts after 0 records; each result is written exactly once",
        "ends after 30 records",
    ]
    assert all(line["time"].endswith("Z") for line in logged)


def test_drifts_are_counted_and_the_models_state_and_generation_told() -> None:
    flips = [({"light": "on" if n % 3 else "off"}, (n % 3 > 0) == (n < 500)) for n in range(1000)]
    step = Step(served(DriftAdaptive(NaiveBayes())), "lights")
    engine = Engine(step, IterableSource(flips, name="days"), batch=10)
    seen: list[dict[str, float]] = []
    with serving(engine, "127.0.0.1", 0) as port:
        engine.watch(lambda _: seen.append(values(fetch(port, "/metrics")[1])))
        engine.run()

    def of(found: dict[str, float], name: str, **labels: str) -> float:
        return found[series(f"stream_bayes_{name}", pipeline="lights", **labels)]

    first, last = seen[0], seen[-1]
    for what, number in (("drift", 1), ("adopted", 1), ("refused", 0)):
        assert of(first, "drift_events_total", what=what) == 0
        assert of(last, "drift_events_total", what=what) == number
    assert (of(first, "model_generation"), of(last, "model_generation")) == (0, 1)
    states = {
        state for found in seen for state in ("stable", "trial") if of(found, "drift_state", state=state)
    }
    assert states == {"stable", "trial"}
    assert of(last, "drift_state", state="stable") == 1


def test_a_network_that_follows_drift_exports_its_state() -> None:
    network = BayesNet({"rain": [], "lawn": ["rain"]})
    step = Step(served(DriftAdaptive(network, window=200)), "lights")
    events = [Event({"rain": "yes" if n % 3 else "no", "lawn": "wet"}, position=n) for n in range(50)]
    engine = Engine(step, IterableSource(events, name="days"), batch=10)
    with serving(engine, "127.0.0.1", 0) as port:
        engine.run()
        last = values(fetch(port, "/metrics")[1])
    labels = {"pipeline": "lights"}
    assert last[series("stream_bayes_drift_state", **labels, state="stable")] == 1
    assert last[series("stream_bayes_drift_events_total", **labels, what="drift")] == 0
    assert last[series("stream_bayes_model_generation", **labels)] == 0


def test_a_model_that_follows_no_drift_says_nothing_of_it() -> None:
    engine = engine_of(SAMPLES)
    with serving(engine, "127.0.0.1", 0) as port:
        engine.run()
        assert "drift" not in fetch(port, "/metrics")[1]


def labelled(number: int, **others: Any) -> Event:
    return Event({}, "rain", f"key-{number}", position=number, kind=Kind.LABEL, **others)


def test_late_labels_are_counted_by_outcome_and_no_counter_falls() -> None:
    samples = [Event({"sky": "grey"}, key=f"key-{n}", position=n, time=0.0) for n in range(4)]
    events = [
        *samples,
        labelled(1, time=1.0),
        labelled(2, time=1.0),
        labelled(9, time=1.0),
        Event({}, "sun", "key-2", 2.0, kind=Kind.CORRECTION),
        Event({}, None, "key-1", 2.0, kind=Kind.TOMBSTONE),
        Event({"sky": "grey"}, "rain", "later", 99.0),
    ]
    pending = Pending(wait_for=10, correct_within=50, on_tombstone="unlearn")
    step = Step(served(NaiveBayes()), "weather", pending=pending)
    engine = Engine(step, IterableSource(events, name="days"), batch=1)
    seen: list[dict[str, float]] = []
    with serving(engine, "127.0.0.1", 0) as port:
        engine.watch(lambda _: seen.append(values(fetch(port, "/metrics")[1])))
        engine.run()
    for name in seen[-1]:
        if "_total{" in name:
            course = [figures.get(name, 0.0) for figures in seen]
            assert course == sorted(course), name
    outcomes = {
        outcome: seen[-1][series("stream_bayes_labels_total", pipeline="weather", outcome=outcome)]
        for outcome in ("late", "early", "corrected", "expired", "withdrawn")
    }
    assert outcomes == {"late": 2, "early": 1, "corrected": 1, "expired": 2, "withdrawn": 1}
    assert seen[-1][series("stream_bayes_samples_learned_total", pipeline="weather")] == 3
    assert seen[-1][series("stream_bayes_samples_unlearned_total", pipeline="weather")] == 1


class Endless(IterableSource):
    """A source whose ends are not known yet."""

    medium = "kafka"
    connected = True
    ends: ClassVar[dict[Any, int]] = {}

    @property
    def end_offsets(self) -> Any:
        return self.ends


def test_a_backlog_whose_end_is_not_known_yet_is_not_reported_as_no_lag() -> None:
    hour_ago = time.time() - 3600
    source = Endless([Event({"sky": "grey"}, "rain", time=hour_ago)] * 20, name="days")
    engine = Engine(Step(served(NaiveBayes()), "weather"), source, batch=10)
    seconds: list[float] = []
    name = 'kafka_consumergroup_group_max_lag_seconds{group="weather"}'
    with serving(engine, "127.0.0.1", 0) as port:

        def look(progress: Progress) -> None:
            seconds.append(values(fetch(port, "/metrics")[1])[name])
            source.ends[Partition("days")] = 20

        engine.watch(look)
        engine.run()
    source.ends.clear()
    assert 3600 <= seconds[0] < 3700 and seconds[1] == 0


def test_lag_is_current_between_commits() -> None:
    engine = engine_of(SAMPLES)
    lag = 'stream_bayes_lag{partition="0",pipeline="weather",source="days"}'
    with serving(engine, "127.0.0.1", 0) as port:
        engine.positions = {Partition("days"): 5}  # as after a replay, before any commit
        assert values(fetch(port, "/metrics")[1])[lag] == 21


def test_the_latency_is_a_histogram_of_records_by_their_times() -> None:
    now = time.time()
    ages = [0.0, 2.0, 40.0, 40.0, 1e6, -5.0]
    engine = engine_of([Event({"sky": "grey"}, "rain", time=now - age) for age in ages])
    with serving(engine, "127.0.0.1", 0) as port:
        assert "latency" not in fetch(port, "/metrics")[1]
        engine.run()
        text = fetch(port, "/metrics")[1]
    assert "# TYPE stream_bayes_latency_seconds histogram" in text
    found = values(text)

    def below(bound: str) -> float:
        return found[series("stream_bayes_latency_seconds_bucket", pipeline="weather", le=bound)]

    assert [below(bound) for bound in ("1.0", "10.0", "60.0", "86400.0", "+Inf")] == [2, 3, 5, 5, 6]
    assert found[series("stream_bayes_latency_seconds_count", pipeline="weather")] == 6
    assert found[series("stream_bayes_latency_seconds_sum", pipeline="weather")] > 1e6


def sent_again(line: socket.socket) -> int:
    """Return how many packets of a connection the system has sent again."""
    told = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)  # Linux's `struct tcp_info`
    return int.from_bytes(told[100:104], sys.byteorder)


@pytest.mark.skipif(sys.platform != "linux", reason="connects from 127.0.0.2")
def test_probes_are_answered_whoever_holds_connections_open(capfd: pytest.CaptureFixture[str]) -> None:
    engine = engine_of([({"sky": "grey"}, "rain")])
    threads = threading.active_count()
    with serving(engine, "127.0.0.1", 0) as port, ExitStack() as around:
        for number in range(300):
            source = (f"127.0.0.{number % 3 + 1}", 0)
            line = around.enter_context(
                socket.create_connection(("127.0.0.1", port), timeout=60, source_address=source)
            )
            assert sent_again(line) == 0  # a connection that finds no room is tried again after a second
            line.sendall(b"GET /liv" * (number % 2))
            if number % 50 == 49:
                assert fetch(port, "/livez") == (200, "alive\n")
        assert threading.active_count() - threads < 100
    assert capfd.readouterr().err == ""  # clients that have gone are no errors
