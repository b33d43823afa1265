"""Labels and corrections over HTTP: their outcomes, and that a crash loses none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BadValue
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.serve.labels import StoredRequests, label_sink
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.files.label_log import GivenLabel, LabelWriter
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.ports import free_ports
from tests.serve.weather import TOKEN, Client, pipeline_text, running, write_days
from tests.waiting import until

DAYS = 500


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Client]]:
    directory = tmp_path_factory.mktemp("labels")
    write_days(directory, DAYS)
    with running(directory, pipeline_text()) as (engine, client):
        wait_for_days(client, DAYS)
        yield engine, client


def wait_for_days(client: Client, days: int) -> None:
    def have_come() -> bool:
        try:
            return bool(client.get("/v1/evaluation")["status"].get("processed", 0) >= days)
        except (OSError, AssertionError):  # it starts
            return False

    until(f"{days} days", have_come)


def test_a_correction_unlearns_the_old_label_and_learns_the_new_one(weather: tuple[Engine, Client]) -> None:
    engine, client = weather
    before = client.get("/v1/history?key=d499")["events"][0]["label"]
    other = "no" if before == "yes" else "yes"
    prior = engine.step.model.model.class_prior_[other]
    assert client.post("/v1/labels", {"key": "d499", "label": other})["outcome"] == "corrected"
    assert engine.step.model.model.class_prior_[other] > prior
    assert client.post("/v1/labels", {"key": "d499", "label": other})["outcome"] == "repeated"

    def corrected() -> Any:
        event = client.get("/v1/history?key=d499")["events"][0]
        return event if "corrected_from" in event else None

    event = until("the event with its correction", corrected)
    assert (event["label"], event["corrected_from"]) == (other, before)


def test_a_repeated_request_stores_its_label_once(weather: tuple[Engine, Client], tmp_path: Path) -> None:
    engine, client = weather
    first = {"key": "d490", "label": "yes"}
    assert client.post("/v1/labels", first, Idempotency_Key="a1")["outcome"] in ("corrected", "repeated")
    before = engine.step.pending.counts.copy() if engine.step.pending is not None else None
    again = client.post("/v1/labels", first, Idempotency_Key='"a1"')
    assert again["outcome"] == "stored_already" and again["detail"].startswith("stored already")
    assert engine.step.pending is not None and engine.step.pending.counts == before
    detail = client.refusal("/v1/labels", first | {"label": "no"}, 422, Idempotency_Key="a1")
    assert "give each label a key of its own" in detail
    assert client.post("/v1/labels", first, Idempotency_Key="a2")["outcome"] == "repeated"


def test_a_repeated_request_is_recognised_after_a_restart(tmp_path: Path) -> None:
    label = GivenLabel("d1", "yes", request="a1")
    requests = StoredRequests(LabelWriter(tmp_path))
    position, is_new = requests.write(label)
    assert is_new
    for number in range(3):
        requests.write(GivenLabel("d2", number))
    requests.close()
    with (tmp_path / "labels.jsonl").open("ab") as file:
        file.write(b'{"key": "d3", "la')  # cut off by a crash
    again = StoredRequests(LabelWriter(tmp_path))
    assert again.write(label) == (position, False)
    with pytest.raises(BadValue, match="give each label a key of its own"):
        again.write(GivenLabel("d1", "no", request="a1"))
    again.close()


def test_a_key_never_seen_is_a_problem_and_the_stream_goes_on(weather: tuple[Engine, Client]) -> None:
    engine, client = weather
    detail = client.refusal("/v1/labels", {"key": "nobody", "label": "yes"}, 404)
    assert "never came: 'nobody'" in detail and '"kind": "label"' in detail
    assert engine.running and engine.step.dead_letters.counts["correction_too_late"] >= 1
    early = client.post("/v1/labels", {"key": "tomorrow", "label": "yes", "kind": "label"})
    assert early["outcome"] == "early"


def test_a_label_for_a_topic_has_its_key_in_the_field_of_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[object, ...]] = []
    monkeypatch.setattr("stream_bayes.kafka.labels.produce_one", lambda *given: written.append(given[1:]))
    for field, value in (('key = "id", ', b'{"id":7,"y":"rain"}'), ("", b'{"y":"rain"}')):
        text = f"""
name = "days"
source = {{ kind = "kafka", topic = "days", {field}target = "y" }}
labels = {{ topic = "labels" }}
model = {{ kind = "nb" }}
kafka = {{ servers = ["localhost:9092"] }}
"""
        sink = label_sink(parse_config(text), Path())
        assert sink is not None
        sink().write(GivenLabel(7, "rain"))
        assert written.pop() == ("labels", b"7", value)


def test_a_label_never_learned_is_refused_unless_it_is_meant(weather: tuple[Engine, Client]) -> None:
    _, client = weather
    detail = client.refusal("/v1/labels", {"key": "d1", "label": "yse"}, 422)
    assert "did you mean 'yes'?" in detail
    answer = client.post("/v1/labels", {"key": "d2", "label": "maybe", "new_label": True})
    assert answer["outcome"] == "corrected"


def test_a_correction_that_the_model_cannot_unlearn_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    write_days(tmp_path, DAYS)
    text = pipeline_text("nb", "history = { events = 50 }").replace("labels = {}", "labels = {}\ndrift = {}")
    with running(tmp_path, text) as (_, client):
        wait_for_days(client, DAYS)
        reason = client.get("/v1/model")["no_corrections"]
        assert reason.endswith("cannot unlearn")
        shown = client.get("/v1/history?key=d499")["events"][0]
        other = {"yes": "no", "no": "yes"}[shown["label"]]
        detail = client.refusal("/v1/labels", {"key": "d499", "label": other}, 409)
        assert detail.startswith(reason) and "without [drift]" in detail
        assert client.post("/v1/labels", {"key": "d499", "label": shown["label"]})["outcome"] == "repeated"
        assert client.get("/v1/evaluation")["status"]["dead"] == {}
        assert client.get("/v1/history?key=d499")["events"][0] == shown
        older = labels_of(tmp_path)["d100"]  # no longer in the history
        detail = client.refusal(
            "/v1/labels", {"key": "d100", "label": {"yes": "no", "no": "yes"}[older]}, 409
        )
        assert "cannot unlearn" in detail and "without [drift]" in detail


def labels_of(directory: Path) -> dict[str, str]:
    rows = [line.split(",") for line in (directory / "days.csv").read_text().splitlines()[1:]]
    return {day: rain for day, _, _, rain in rows}


def test_a_refused_correction_does_not_change_the_history(tmp_path: Path) -> None:
    write_days(tmp_path, 100)
    with running(tmp_path, pipeline_text().replace("labels = {}", "labels = {}\ndrift = {}")) as (
        engine,
        client,
    ):
        wait_for_days(client, 100)
        shown = client.get("/v1/history?key=d99")["events"][0]
        other = {"yes": "no", "no": "yes"}[shown["label"]]
        writer = LabelWriter(tmp_path / "state")
        writer.write(GivenLabel("d99", other, "correction"))  # as if before the model was changed
        writer.close()
        while engine.step.dead_letters.counts != {"refused": 1}:
            time.sleep(0.05)
        time.sleep(1.5)  # of the next status
        assert client.get("/v1/history?key=d99")["events"][0] == shown


def test_a_pipeline_that_cannot_take_labels_names_what_it_lacks(tmp_path: Path) -> None:
    write_days(tmp_path, 50)
    text = pipeline_text().replace("labels = {}\n", "").replace(', key = "day"', "")
    with running(tmp_path, text) as (_, client):
        detail = client.refusal("/v1/labels", {"key": "d1", "label": "yes"}, 409)
    assert "[labels]" in detail and "source.key" in detail


def test_corrections_survive_a_kill_and_a_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    write_days(tmp_path, 400)
    (port,) = free_ports(1)
    text = pipeline_text(serve='token = "${TOKEN_OF_TEST}"').replace("port = 0", f"port = {port}")
    text = text.replace('directory = "state" }', 'directory = "state", every_events = 100 }')
    file = tmp_path / "weather.toml"
    file.write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "stream_bayes", "run", str(file), "--log-json"],
        env=os.environ | {"TOKEN_OF_TEST": TOKEN},
        stderr=subprocess.DEVNULL,
    )
    client = Client(port)
    try:
        wait_for_days(client, 400)
        before = client.get("/v1/history?key=d399")["events"][0]["label"]
        other = "no" if before == "yes" else "yes"
        assert client.post("/v1/labels", {"key": "d399", "label": other})["outcome"] == "corrected"
        assert client.post("/v1/labels", {"key": "d7", "label": "yes"})["outcome"] in (
            "corrected",
            "repeated",
        )
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    write_days(tmp_path, 100, seed=3, start=400)
    resumed = finished(tmp_path, text, rebuild=False)
    assert resumed.clock == 502
    assert b"d399" in (tmp_path / "state/labels.jsonl").read_bytes()
    outputs = (tmp_path / "predictions.jsonl").read_bytes()
    rebuilt = finished(tmp_path, text, rebuild=True)
    assert rebuilt.to_bytes() == resumed.to_bytes()
    assert (tmp_path / "predictions.jsonl").read_bytes() == outputs


def finished(directory: Path, text: str, *, rebuild: bool) -> Snapshot:
    """Run to the end of the file, and return the last snapshot."""
    os.environ["TOKEN_OF_TEST"] = TOKEN
    try:
        engine = build(parse_config(text), directory, anew=rebuild)
    finally:
        del os.environ["TOKEN_OF_TEST"]
    engine.run(until_end=True, rebuild=rebuild)
    assert engine.step.pending is not None
    assert engine.step.pending.counts["corrected"] + engine.step.pending.counts["repeated"] == 2
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    return found.snapshot
