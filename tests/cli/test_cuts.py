"""`stream-bayes cuts`: the table that it writes is a pipeline's schema, with cut points that shards can share."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import AODE, Binning
from stream_bayes.data.declarations import features_table
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.errors import BadState, BadValue, SchemaError
from stream_bayes.learners.factory import make_learner
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.sources.cut_sketch import CutSketch, sketched_cuts
from stream_bayes.workers.summable import check_summable
from tests.cli.test_snapshots import run


def rows(count: int, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {"sky": chance.choice("ab"), "wind, m/s": chance.gauss(0.0, 1.0), "rain": chance.random() < 0.3}
        for _ in range(count)
    ]


def written(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def test_the_table_is_a_schema_with_which_shards_can_be_summed(tmp_path: Path) -> None:
    events = rows(1000)
    file = written(tmp_path / "days.jsonl", events)
    result = run("cuts", str(file), "--target", "rain", "--bins", "4")
    assert result.exit_code == 0, result.stderr
    tables = tomllib.loads(result.stdout)
    assert [*tables["schema"]["features"]] == ["sky", "wind, m/s"]
    ordered = sorted(event["wind, m/s"] for event in events)
    middles = [(ordered[place - 1] + ordered[place]) / 2 for place in (250, 500, 750)]
    assert tables["schema"]["features"]["wind, m/s"]["cuts"] == pytest.approx(middles)
    config = checked(
        {"name": "d", "source": {"kind": "jsonl", "path": "d"}, "model": {"kind": "aode"}} | tables
    )
    check_summable(make_learner("aode", schema=config.schema_of_stream()))


def test_saved_sketches_merge_into_that_of_the_whole(tmp_path: Path) -> None:
    events = rows(900)
    whole = written(tmp_path / "whole.jsonl", events)
    one, other = (written(tmp_path / f"{k}.jsonl", events[k::2]) for k in range(2))
    saved = str(tmp_path / "one.sketches")
    assert run("cuts", str(one), "--target", "rain", "--save", saved).exit_code == 0
    merged = run("cuts", str(other), "--target", "rain", "--merge", saved)
    expected = tomllib.loads(run("cuts", str(whole), "--target", "rain").stdout)
    assert tomllib.loads(merged.stdout) == expected
    result = run("cuts", str(other), "--merge", str(other))
    assert result.exit_code == 3 and "no file of sketches" in result.stderr


def test_quantiles_of_many_values_are_near_however_they_were_split() -> None:
    chance = random.Random(5)
    values = [chance.lognormvariate(0.0, 2.0) for _ in range(60_000)]
    shards = [CutSketch() for _ in range(4)]
    for place, value in enumerate(values):
        shards[place * 4 // len(values)].add({"x": value})
    total = CutSketch()
    for shard in shards:
        total.merge(CutSketch.from_bytes(shard.to_bytes()))
    spec = total.schema(16).features["x"]
    assert isinstance(spec, Numeric) and spec.cuts is not None and len(spec.cuts) == 15
    for part, cut in enumerate(spec.cuts, 1):
        assert sum(value < cut for value in values) / len(values) == pytest.approx(part / 16, abs=0.006)
    assert len(total.to_bytes()) < 40_000


def test_the_kinds_of_a_pipeline_stay_and_its_file_names_the_source(tmp_path: Path) -> None:
    written(tmp_path / "days.jsonl", [{"zip": 10 + k, "wind": k, "wet": k, "rain": k % 2} for k in range(8)])
    pipeline = tmp_path / "pipeline.toml"
    pipeline.write_text(
        'name = "days"\nsource = { kind = "jsonl", path = "days.jsonl", target = "rain" }\nmodel = { kind = "aode" }\n'
        '[schema.features]\nzip = { kind = "nominal", values = ["10"], closed = false }\nwind = "numeric"\n'
        'hail = "numeric"\n'
    )
    result = run("cuts", str(pipeline), "--bins", "2", "--out", str(tmp_path / "schema.toml"))
    assert result.exit_code == 0, result.stderr
    assert tomllib.loads((tmp_path / "schema.toml").read_text())["schema"]["features"] == {
        "zip": {"kind": "nominal", "values": ["10"]},
        "wind": {"kind": "numeric", "cuts": [3.5]},
        "hail": "numeric",
    }
    assert "hail: is declared numeric, and no number was found" in result.stderr


def test_what_is_odd_about_a_feature_is_reported_with_a_count() -> None:
    sketch = CutSketch()
    odd: list[dict[str, Any]] = [
        {"a": 1, "b": 1.0},
        {"a": 2, "b": "x", "c": 3},
        {"a": float("inf"), "b": 2, "d": None},
    ]
    for x in odd:
        sketch.add(x)
    schema = sketch.schema(2)
    assert dict(schema.features) == {
        "a": Numeric(cuts=[1.5]),
        "b": Numeric(cuts=[1.5]),
        "c": Numeric(cuts=[3.0]),
    }
    found = "\n".join(sketch.warnings(4))
    assert "a: 1 infinite" in found
    assert "b: 2 values are numbers and 1 are not; it is declared numeric" in found
    assert "c: its values repeat, so it has 2 bins, not 4" in found
    text = features_table(sketch.schema(2).columns)
    assert tomllib.loads(text)["schema"]["features"]["b"] == {"kind": "numeric", "cuts": [1.5]}


def test_a_sketch_and_a_learner_find_the_same_cuts_in_the_same_numbers() -> None:
    chance = random.Random(7)
    values = [round(chance.gauss(0, 3)) / 2 for _ in range(500)]
    sketch, learner = CutSketch(), AODE(binning=Binning(bins=6, after=500, window=500))
    for value in values:
        sketch.add({"x": value})
        learner.learn_one({"x": value}, value > 0)
    (cuts,) = [spec.cuts for spec in sketch.schema(6).features.values() if isinstance(spec, Numeric)]
    assert learner.cuts_["x"] == pytest.approx(cuts)


def test_bins_hold_about_equally_many_values_and_repeated_ones_make_fewer() -> None:
    assert sketched_cuts([(float(k), 1) for k in range(100)], 4) == [24.5, 49.5, 74.5]
    assert sketched_cuts([(0.0, 90), (1.0, 5), (2.0, 5)], 4) == [0.5, 1.5]
    assert sketched_cuts([(-1.0, 1), (0.0, 98), (1.0, 1)], 4) == [-0.5, 0.5]


def test_nothing_to_declare_and_damaged_sketches_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no record has a feature"):
        CutSketch().schema(4)
    sketch = CutSketch()
    sketch.add({"a": 1.0, "b": "x"})
    data = sketch.to_bytes()
    assert sketch.schema(2).features["b"] == Nominal()
    for broken in (data[:-1], data[:4] + b"\x02\x00" + data[6:], b""):
        with pytest.raises(BadState):
            CutSketch.from_bytes(broken)
    with pytest.raises(BadValue, match="at least 2"):
        sketch.schema(1)
    assert "--servers HOST:PORT" in run("cuts", "orders").stderr
