"""Refusals of [workers] before any broker is reached, by name and with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BadConfig, CannotMerge
from stream_bayes.streams.pipelines.config import checked, parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.workers.follower import follow
from stream_bayes.workers.metrics import WorkerMetrics
from stream_bayes.workers.pipeline.parts import build_worker
from tests.cli.test_snapshots import run

PIPELINE: dict[str, Any] = {
    "name": "days",
    "kafka": {"servers": ["nobody:9092"], "client": "kafka-python"},
    "workers": {"shards": 4},
    "source": {"kind": "kafka", "topic": "days", "target": "rain"},
    "model": {"kind": "nb"},
    "predictions": {"kind": "kafka", "topic": "rain"},
}
FILE = """
name = "days"
kafka = { servers = ["nobody:9092"], client = "kafka-python" }
workers = { shards = 4 }
source = { kind = "kafka", topic = "days", target = "rain" }
model = { kind = "nb" }
"""


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"source": {"kind": "jsonl", "path": "days.jsonl"}}, "source.kind must be 'kafka'"),
        (
            {"predictions": {"kind": "jsonl", "path": "rain.jsonl"}},
            "predictions.kind: workers write to topics",
        ),
        ({"kafka": {"servers": ["nobody:9092"], "delivery": "at-least-once"}}, "workers need transactions"),
        ({"drift": {"detector": "adwin"}}, "drift: a model that is replaced depends on the order"),
        ({"workers": {"shards": 0}}, "workers.shards"),
        ({"workers": {"shards": 4, "shard": 4}}, "shard: is not a key here; did you mean 'shards'"),
    ],
)
def test_tables_that_workers_cannot_share_are_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        checked(PIPELINE | tables)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"kind": "aode"}, "finds the cut points of numbers in the stream"),
        ({"kind": "kdb", "arguments": {"k": 2}}, "use k=1, or AODE"),
        (
            {"kind": "spam-filter", "arguments": {"learner": {"kind": "multinomial-nb"}}},
            "shards of SpamFilter cannot be summed; use one of nb",
        ),
        ({"kind": "nb", "arguments": {"half_life": 50.0}}, 'time, as half_life="7d"'),
    ],
)
def test_models_that_cannot_be_summed_are_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(CannotMerge, match=message):
        build_worker(checked(PIPELINE | {"model": model}))


def test_transformers_are_refused() -> None:
    tables = {"transformers": [{"kind": "standard-scaler"}]}
    with pytest.raises(CannotMerge, match="shards of Pipeline cannot be summed"):
        build_worker(checked(PIPELINE | tables))


def test_shards_are_settings_and_a_pipeline_without_them_is_as_before() -> None:
    alone = {name: table for name, table in PIPELINE.items() if name != "workers"}
    assert checked(PIPELINE).settings() == checked(alone).settings() | {"workers": {"shards": 4}}
    with pytest.raises(BadConfig, match="build it with build_worker"):
        build(checked(PIPELINE))
    with pytest.raises(BadConfig, match="workers: is missing"):
        build_worker(checked(alone))


def test_a_worker_that_has_no_shard_yet_has_metrics() -> None:
    worker = build_worker(checked(PIPELINE))
    samples = {
        sample.name: sample.value for metric in WorkerMetrics(worker).collect() for sample in metric.samples
    }
    assert samples["stream_bayes_shards_owned"] == 0
    assert samples["stream_bayes_ready"] == 0
    assert samples["stream_bayes_rebalances_total"] == 0


def test_options_of_a_single_worker_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "days.toml"
    file.write_text(FILE)
    for option in ("--rebuild", "--dry-run", "--limit=3"):
        result = run("run", str(file), option)
        assert result.exit_code == 3
        assert "is not for a pipeline with [workers]" in result.stderr
    file.write_text(FILE.replace("workers = { shards = 4 }", ""))
    for option in ("--workers=2", "--instance-id=a"):
        result = run("run", str(file), option)
        assert result.exit_code == 3
        assert "add it with the number of shards" in result.stderr


def test_following_a_name_needs_its_servers(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected the brokers of the pipeline 'days'"):
        follow("days")
    file = tmp_path / "days.toml"
    file.write_text(FILE.replace("workers = { shards = 4 }", ""))
    with pytest.raises(ValueError, match=r"expected a pipeline with \[workers\]"):
        follow(file)


def test_topics_have_several_targets_and_workers_refuse_them() -> None:
    text = (
        'name = "p"\nkafka = { servers = ["localhost:9092"] }\nlabels = { topic = "labels" }\n'
        'source = { kind = "kafka", topic = "days", target = ["rain", "river"], key = "id" }\n'
        'model = { kind = "multi-target-regression" }\nsnapshots = { directory = "state" }\n'
    )
    fields = parse_config(text).source.fields()
    assert fields.targets == fields.of_labels().targets == ("rain", "river")
    with pytest.raises(BadConfig, match="workers: is for one target"):
        parse_config(f"{text}[workers]\nshards = 2\n")
