"""The program over Kafka: files into topics, examples as they stand, and an exit code for each kind of trouble."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pytest
import yaml
from pyarrow import parquet
from typer.testing import CliRunner, Result

from stream_bayes.cli.app import app
from tests.kafka_broker.topics import KafkaTopics, days
from tests.ports import unanswered
from tests.waiting import PATIENCE, TO_BEGIN, until, within

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
EXAMPLES = sorted((ROOT / "examples").glob("kafka_*.toml"))

PIPELINE = """
name = "{name}"
model = {{ kind = "nb" }}
snapshots = {{ directory = "state" }}
kafka = {{ servers = ["{servers}"], seconds = {seconds} }}
source = {{ kind = "kafka", topic = "{topic}", target = "y" }}
predictions = {{ kind = "kafka", topic = "{predictions}" }}
dead_letters = {{ kind = "kafka", topic = "{letters}" }}
"""


class File:
    """A pipeline file, with topics of its own."""

    def __init__(self, kafka_topics: KafkaTopics, directory: Path, **told: str) -> None:
        self.path = directory / "pipeline.toml"
        self.topic = kafka_topics.topic(1)
        self.told = {
            "servers": kafka_topics.servers,
            "topic": self.topic,
            "predictions": kafka_topics.topic(1),
            "letters": kafka_topics.topic(1),
            "name": f"{self.topic}-pipeline",
            "seconds": str(TO_BEGIN),
        } | told
        self.path.write_text(PIPELINE.format(**self.told))

    def run(self, *arguments: str) -> Result:
        return stream_bayes("run", str(self.path), *arguments)


def stream_bayes(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def file(kafka_topics: KafkaTopics, tmp_path: Path) -> File:
    return File(kafka_topics, tmp_path)


def refused(result: Result, code: int, said: str) -> None:
    """One line besides the client's, and the code."""
    assert result.exit_code == code, result.output
    lines = [line for line in result.stderr.strip().splitlines() if not line.startswith("Kafka client: ")]
    assert len(lines) == 1
    assert said in lines[0]


@pytest.fixture
def weather_topics(kafka_topics: KafkaTopics) -> Iterator[tuple[str, ...]]:
    """Those of the examples, which go by names of their own."""
    topics = ("weather", "rain", "rain-dead")
    for topic in topics:
        kafka_topics.topic(2, topic)
    yield topics
    for topic in {*topics, "weather.journal"} & kafka_topics.names():
        kafka_topics.delete(topic)
    kafka_topics.admin.delete_groups(["weather"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_as_it_stands_once_its_topics_are_there(
    kafka_topics: KafkaTopics, tmp_path: Path, weather_topics: tuple[str, ...], example: Path
) -> None:
    text = example.read_text("utf-8")
    assert "localhost:9092" in text
    path = tmp_path / example.name
    path.write_text(text.replace("localhost:9092", kafka_topics.servers), "utf-8")
    for topic in weather_topics:
        assert f'"{topic}"' in text
    days_file = tmp_path / "days.csv"
    rows = ["grey,5.5,true", "blue,1.5,false", "blue,,false", "grey,4,true"] * 20
    days_file.write_text("\n".join(["sky,wind,rain", *rows]) + "\n")
    produced = stream_bayes(
        "produce", str(days_file), "--topic", "weather", "--servers", kafka_topics.servers, "--json"
    )
    assert json.loads(produced.stdout) == {"topic": "weather", "sent": 80, "skipped": 0}
    for limit in (30, 50):
        result = stream_bayes("run", str(path), "--limit", str(limit), "--json")
        assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["records"], told["records_in_this_run"], told["delivery"]) == (80, 50, "exactly once")
    assert told["learned"] == 80 and told["cumulative"]["accuracy"] > 0.9
    assert len(kafka_topics.get("rain")) == 80


def test_what_the_services_of_the_compose_file_run_works_together(
    kafka_topics: KafkaTopics, tmp_path: Path, weather_topics: tuple[str, ...]
) -> None:
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))["services"]
    text = (DOCKER / "weather.toml").read_text("utf-8")
    own = {
        "kafka:9092": kafka_topics.servers,
        "/home/streamer/state": str(tmp_path / "state"),
        "0.0.0.0": "127.0.0.1",
    }
    own |= {"port = 9464": "port = 0"}
    for theirs, ours in own.items():
        assert theirs in text
        text = text.replace(theirs, ours)
    (tmp_path / "weather.toml").write_text(text, "utf-8")
    shutil.copy(DOCKER / "weather.csv", tmp_path)
    for name in ("producer", "worker"):  # the first records, one a second
        _, *command = services[name]["command"]
        here = [
            word.replace("/pipeline", str(tmp_path)).replace("kafka:9092", kafka_topics.servers)
            for word in command
        ]
        result = stream_bayes(*here, "--limit", "3")
        assert result.exit_code == 0, result.output
    answers = [json.loads(record.value) for record in kafka_topics.get("rain")]
    assert {answer["key"] for answer in answers} == {"2025-01-01", "2025-01-02", "2025-01-03"}


def test_produce_keeps_types_keys_and_pace(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    topic = kafka_topics.topic(3)
    path = tmp_path / "days.csv"
    path.write_text(
        "at,id,sky,wind\n1970-01-01T00:00:00,a,grey,3\n1970-01-01T00:00:10,b,,2.5\n"
        "1970-01-01T00:00:20,a,röt,1\n1970-01-01T00:00:20,b,blue\n"
    )
    began = time.time()
    result = stream_bayes(
        *["produce", str(path), "--topic", topic, "--servers", kafka_topics.servers],
        *["--key", "id", "--time", "at", "--speed", "20"],
    )
    assert result.exit_code == 0, result.output
    assert "3 records sent, 1 skipped: not a record" in result.stdout
    records = sorted(kafka_topics.get(topic), key=lambda record: json.loads(record.value)["at"])
    assert [json.loads(record.value) for record in records] == [
        {"at": "1970-01-01T00:00:00", "id": "a", "sky": "grey", "wind": 3},
        {"at": "1970-01-01T00:00:10", "id": "b", "wind": 2.5},
        {"at": "1970-01-01T00:00:20", "id": "a", "sky": "röt", "wind": 1},
    ]
    assert [record.key for record in records] == [b"a", b"b", b"a"]
    assert records[0].partition == records[2].partition
    for record, seconds in zip(records, (0.0, 0.5, 1.0), strict=True):
        assert record.timestamp >= int(1000 * (began + seconds))  # or later, where the first one waited


def test_produce_takes_json_lines_and_stops_after_as_many_as_it_is_told(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    topic = kafka_topics.topic(1)
    path = tmp_path / "days.jsonl"
    path.write_text('{"sky": "grey", "n": 1}\n{not json\n{"sky": {"a": [true, null]}}\n{"sky": "more"}\n')
    said = stream_bayes(
        "produce", str(path), "--topic", topic, "--servers", kafka_topics.servers, "--limit", "2"
    )
    assert said.exit_code == 0, said.output
    assert [json.loads(record.value) for record in kafka_topics.get(topic)] == [
        {"sky": "grey", "n": 1},
        {"sky": {"a": [True, None]}},
    ]


def test_produce_takes_the_rows_of_files_that_declare_their_columns(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "wind": 2.5}, {"id": "b", "wind": None}]
    fields = [{"name": "id", "type": "string"}, {"name": "wind", "type": ["null", "double"]}]
    with (tmp_path / "days.avro").open("wb") as file:
        fastavro.writer(
            file, fastavro.parse_schema({"type": "record", "name": "Day", "fields": fields}), rows
        )
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "days.parquet")
    arff = "@relation days\n@attribute id {a,b}\n@attribute wind numeric\n@data\na,2.5\nb,?\n"
    (tmp_path / "days.arff").write_text(arff)
    for ending in ("avro", "parquet", "arff"):
        topic = kafka_topics.topic(1)
        to = ("--topic", topic, "--servers", kafka_topics.servers, "--key", "id")
        result = stream_bayes("produce", str(tmp_path / f"days.{ending}"), *to)
        assert result.exit_code == 0 and "2 records sent, 0 skipped" in result.stdout, result.output
        found = [(record.key, json.loads(record.value)) for record in kafka_topics.get(topic)]
        assert found == [(b"a", {"id": "a", "wind": 2.5}), (b"b", {"id": "b"})]


def test_produce_knows_a_table_with_tabs_by_its_name(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    topic = kafka_topics.topic(1)
    path = tmp_path / "days.tsv"
    path.write_text("sky\twind\ngrey\t3\n")
    assert (
        stream_bayes("produce", str(path), "--topic", topic, "--servers", kafka_topics.servers).exit_code == 0
    )
    assert [json.loads(record.value) for record in kafka_topics.get(topic)] == [{"sky": "grey", "wind": 3}]


def test_produce_makes_no_topic(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("sky\ngrey\n")
    result = stream_bayes("produce", str(path), "--topic", "not-made", "--servers", kafka_topics.servers)
    refused(result, 5, "there is no topic 'not-made'")
    assert "not-made" not in kafka_topics.names()


def test_a_first_run_begins_where_it_is_told(kafka_topics: KafkaTopics, file: File) -> None:
    kafka_topics.put(file.topic, days(20, partitions=1))
    time.sleep(0.01)
    moment = time.time()
    kafka_topics.put(file.topic, days(10, partitions=1, seed=8))
    assert file.run("--from", f"{moment:.3f}", "--limit", "5").exit_code == 0
    positions = [
        json.loads(record.value)["position"] for record in kafka_topics.get(file.told["predictions"])
    ]
    assert positions == list(range(20, 25))
    refused(file.run("--from", "latest"), 3, "holds snapshots to resume from")
    refused(file.run("--from", "yesterday"), 3, "--from yesterday: expected earliest, latest")


def test_a_first_run_from_the_latest_leaves_out_what_was_there(kafka_topics: KafkaTopics, file: File) -> None:
    kafka_topics.put(file.topic, days(20, partitions=1))
    assert file.run("--from", "latest", "--limit", "0").exit_code == 0
    kafka_topics.put(file.topic, days(5, partitions=1, seed=8))
    assert file.run("--limit", "5").exit_code == 0
    positions = [
        json.loads(record.value)["position"] for record in kafka_topics.get(file.told["predictions"])
    ]
    assert positions == list(range(20, 25))


def test_a_run_until_the_end_takes_what_was_there_and_does_not_wait_for_more(
    kafka_topics: KafkaTopics, file: File
) -> None:
    kafka_topics.put(file.topic, days(20, partitions=1))
    for there in (20, 0):
        result = file.run("--until-end", "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["records_in_this_run"] == there


def test_trouble_at_a_start_is_one_line_and_a_code_within_fifteen_seconds(
    kafka_topics: KafkaTopics, file: File, tmp_path: Path
) -> None:
    directory = tmp_path / "other"
    directory.mkdir()
    with unanswered() as port:
        away = within(15, File(kafka_topics, directory, servers=f"127.0.0.1:{port}", seconds="3.0").run)
    refused(away, 5, f"no Kafka broker answered at 127.0.0.1:{port}")
    refused(File(kafka_topics, directory, predictions="not-there").run(), 5, "there is no topic 'not-there'")
    assert not (directory / "state").exists()
    kafka_topics.put(file.topic, days(20, partitions=1))
    assert file.run("--limit", "10").exit_code == 0
    shutil.rmtree(tmp_path / "state")
    refused(file.run("--limit", "10"), 4, "there is no snapshot")
    assert file.run("--rebuild", "--limit", "10").exit_code == 0


def test_cuts_of_a_topic_that_is_away_not_there_or_empty_are_refused_in_a_line(
    kafka_topics: KafkaTopics,
) -> None:
    def cuts(topic: str, servers: str) -> Result:
        return CliRunner().invoke(app, ["cuts", topic, "--servers", servers])

    refused(cuts("no-such-topic", kafka_topics.servers), 5, "there is no topic 'no-such-topic'")
    refused(cuts(kafka_topics.topic(2), kafka_topics.servers), 3, "no record has a feature with a value")
    with unanswered() as port:
        refused(cuts("days", f"127.0.0.1:{port}"), 5, f"no Kafka broker answered at 127.0.0.1:{port}")


def test_topics_that_are_missing_are_all_named_and_one_that_was_meant_is_asked_for(
    kafka_topics: KafkaTopics, file: File, tmp_path: Path
) -> None:
    one = File(kafka_topics, tmp_path, topic=f"{file.topic}s")
    refused(
        one.run(),
        5,
        f"there is no topic '{file.topic}s' at {kafka_topics.servers}; did you mean '{file.topic}'?",
    )
    some = File(kafka_topics, tmp_path, predictions="not-there", letters="nor-there")
    refused(some.run(), 5, "there are no topics 'nor-there', 'not-there' at")


def test_a_schema_that_no_record_fits_ends_a_run_in_a_line_and_writes_nothing(
    kafka_topics: KafkaTopics, file: File
) -> None:
    kafka_topics.put(file.topic, days(200, partitions=1))
    told = file.path.read_text()
    file.path.write_text(told + '[schema.features]\nsky = "numeric"\nwind = "numeric"\n')
    refused(within(15, partial(file.run, "--limit", "200")), 7, "field 'sky': expected a number, got text")
    assert kafka_topics.get(file.told["predictions"]) == kafka_topics.get(file.told["letters"]) == []
    # Where the first snapshot was there before the end, where it begins is stored: nothing was taken.
    assert not any(kafka_topics.committed(file.told["name"]).values())


def test_a_dry_run_refuses_what_a_run_would_and_changes_nothing(
    kafka_topics: KafkaTopics, file: File, tmp_path: Path
) -> None:
    kafka_topics.put(file.topic, days(20, partitions=1))
    looked = file.run("--dry-run", "--json")
    assert looked.exit_code == 0, looked.output
    assert json.loads(looked.stdout)["positions"] == {f"{file.topic}[0]": 0}
    directory = tmp_path / "other"
    directory.mkdir()
    other = File(kafka_topics, directory, predictions="not-there")
    refused(other.run("--dry-run"), 5, "there is no topic 'not-there'")
    assert not (tmp_path / "state").exists() and not (directory / "state").exists()
    assert (
        not {"not-there", f"{file.told['name']}.journal", f"{other.told['name']}.journal"}
        & kafka_topics.names()
    )
    assert file.run("--limit", "10").exit_code == 0
    shutil.rmtree(tmp_path / "state")
    refused(file.run("--dry-run"), 4, "there is no snapshot")
    assert file.run("--dry-run", "--rebuild").exit_code == 0
    assert len(kafka_topics.get(file.told["predictions"])) == 10


def test_another_schema_and_clashing_names_change_nothing(
    kafka_topics: KafkaTopics, file: File, tmp_path: Path
) -> None:
    kafka_topics.put(file.topic, days(20, partitions=1))
    assert file.run("--limit", "10").exit_code == 0
    told = file.path.read_text()
    file.path.write_text(told + '[schema.features]\nsky = "nominal"\n')
    refused(file.run("--limit", "10"), 4, "the newest snapshot was taken with other settings")
    other = File(kafka_topics, tmp_path, name=file.told["name"])
    shutil.rmtree(tmp_path / "state")
    refused(other.run("--limit", "0"), 4, "give this pipeline another name")
    other = File(kafka_topics, tmp_path, predictions=f"{file.told['name']}.journal", name=file.told["name"])
    refused(other.run("--limit", "0"), 3, "which nothing else may use")
    assert len(kafka_topics.get(file.told["predictions"])) == 10


def test_too_many_records_that_are_none_end_a_run_with_a_code_of_their_own(
    kafka_topics: KafkaTopics, file: File
) -> None:
    kafka_topics.put(file.topic, [(0, None, b"{not json")] * 500)
    result = file.run("--limit", "500")
    assert result.exit_code == 7, result.output


def test_a_worker_that_was_taken_over_from_ends_with_a_code_of_its_own(
    kafka_topics: KafkaTopics, file: File
) -> None:
    kafka_topics.put(file.topic, days(20, partitions=1))
    program = "from stream_bayes.cli.app import main; main()"
    first: Any = subprocess.Popen(
        [sys.executable, "-c", program, "run", str(file.path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until("the first worker", lambda: sum(kafka_topics.committed(file.told["name"]).values()) == 20)
        first.send_signal(signal.SIGSTOP)
        kafka_topics.put(file.topic, days(10, partitions=1, seed=8))
        taken_over = file.run("--until-end", "--json")  # it ends too if these are not there, or were answered
        assert taken_over.exit_code == 0, taken_over.output
        told = json.loads(taken_over.stdout)
        assert (told["records_in_this_run"], told["replayed"]) == (30, 20)
        kafka_topics.put(file.topic, days(10, partitions=1, seed=9))
        first.send_signal(signal.SIGCONT)
        _, said = first.communicate(timeout=PATIENCE)
        assert first.returncode == 6, said
        assert "taken over" in said.strip().splitlines()[-1]
    finally:
        first.kill()
        first.communicate()
    assert len(kafka_topics.get(file.told["predictions"])) == 30
