"""Several sources are one, sorted by time, from any position; a followed one that is quiet delays nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Event, Partition
from stream_bayes.errors import BadConfig, BadValue, Exhausted, SourceError
from stream_bayes.evaluation.comparison import compare
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.sources.iterable import IterableSource
from stream_bayes.streams.sources.merged import MergedSource

TIMES = st.lists(st.integers(0, 20).map(float), max_size=30).map(sorted)


def sources(times: tuple[list[float], ...]) -> list[Source]:
    return [
        IterableSource([Event({}, time=time) for time in part], f"source-{number}")
        for number, part in enumerate(times)
    ]


def read(source: Source, limit: int) -> list[Record]:
    records: list[Record] = []
    while True:
        try:
            records += source.poll(limit)
        except Exhausted:
            return records


@settings(max_examples=100, deadline=None)
@given(st.tuples(TIMES, TIMES, TIMES), st.integers(1, 10), st.integers(0, 90))
def test_sources_come_sorted_by_time_from_any_position(
    times: tuple[list[float], ...], limit: int, first: int
) -> None:
    expected = sorted(
        (time, number, position) for number, part in enumerate(times) for position, time in enumerate(part)
    )
    merged = MergedSource(sources(times))
    before: list[Record] = []
    while len(before) < min(first, len(expected)):
        before += merged.poll(min(limit, first - len(before)))
    again = MergedSource(sources(times))
    again.seek(merged.positions)
    records = [*before, *read(again, limit)]
    found = [(record.time, record.partition.source, record.position) for record in records]
    assert found == [(time, f"source-{number}", position) for time, number, position in expected]


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def followed(path: Path) -> JSONLinesSource:
    path.touch()
    decoder = JSONDecoder(Fields(time="at", target="y"))
    return JSONLinesSource(path, decoder, follow=True, sleep=lambda seconds: None)


def test_a_followed_file_at_its_end_is_waited_for_as_long_as_wait_idle_says(tmp_path: Path) -> None:
    now = [0.0]
    samples, labels = followed(tmp_path / "samples"), followed(tmp_path / "labels")
    merged = MergedSource([samples, labels], wait_idle=5.0, clock=lambda: now[0])
    lines(tmp_path / "samples", [{"at": 1.0}, {"at": 3.0}])
    assert merged.poll(10) == []
    lines(tmp_path / "labels", [{"at": 2.0, "y": "rain"}])
    assert [record.time for record in merged.poll(10)] == [1.0, 2.0]
    now[0] += 5.0
    assert [record.time for record in merged.poll(10)] == [3.0]
    lines(tmp_path / "labels", [{"at": 9.0, "y": "rain"}])
    end = merged.fetch_end()
    assert not merged.has_reached(end)
    now[0] += 5.0
    assert [record.time for record in [*merged.poll(10), *merged.poll(10)]] == [9.0]
    assert merged.has_reached(end)
    merged.close()


def test_a_quiet_file_delays_nothing_and_what_comes_late_is_read_at_once(tmp_path: Path) -> None:
    merged = MergedSource([followed(tmp_path / "samples"), followed(tmp_path / "labels")])
    lines(tmp_path / "samples", [{"at": 1.0}, {"at": 3.0}])
    assert [record.time for record in merged.poll(10)] == [1.0, 3.0]
    lines(tmp_path / "labels", [{"at": 2.0, "y": "rain"}])
    lines(tmp_path / "samples", [{"at": 4.0}])
    assert [record.time for record in [*merged.poll(10), *merged.poll(10)]] == [2.0, 4.0]
    merged.close()


def test_sources_of_one_name_and_positions_of_others_are_refused() -> None:
    with pytest.raises(BadValue, match="with different names, got"):
        MergedSource([IterableSource([], "a"), IterableSource([], "a")])
    with pytest.raises(SourceError, match=r"positions of the sources .'b'., and these are .'a'."):
        MergedSource([IterableSource([], "a")]).seek({Partition("b"): 3})


def pipeline(directory: Path, paths: object, **more: Any) -> dict[str, Any]:
    return {
        "name": "weather",
        "source": {"kind": "jsonl", "path": paths, "target": "y", "time": "at", "key": "id", "type": "type"},
        "model": {"kind": "nb"},
        "labels": {"wait_for": 50.0},
        "snapshots": {"directory": str(directory), "every_events": 30},
        "predictions": {"kind": "jsonl", "path": f"{directory.name}.jsonl"},
    } | more


def test_a_pipeline_over_several_files_gives_what_one_sorted_file_gives(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for number in range(200):
        rows.append(
            {"at": number, "id": f"day-{number}", "type": "sample", "sky": "blue" if number % 3 else "grey"}
        )
        rows.append(
            {"at": number + 20.5, "id": f"day-{number}", "type": "label", "y": "dry" if number % 3 else "wet"}
        )
    rows.sort(key=lambda row: float(row["at"]))
    lines(tmp_path / "all.jsonl", rows)
    lines(tmp_path / "labels.jsonl", [row for row in rows if row["type"] == "label"])
    for part in (0, 1):
        lines(tmp_path / f"samples-{part}.jsonl", [row for row in rows if row["type"] == "sample"][part::2])
    one = pipeline(tmp_path / "one", "all.jsonl")
    several = pipeline(tmp_path / "several", ["samples-0.jsonl", "samples-1.jsonl", "labels.jsonl"])
    build(checked(one), tmp_path).run()
    for limit in (100, 7, None):
        build(checked(several), tmp_path).run(limit)
    states, answers = [], []
    for name in ("one", "several"):
        found = SnapshotStore(tmp_path / name).latest()
        assert found is not None
        states.append({part: found.snapshot.sections[part] for part in ("step", "losses", "model")})
        said = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        answers.append([(answer["key"], answer["probabilities"]) for answer in said])
    assert answers[0] == answers[1] and len(answers[0]) == 200
    assert states[0]["step"] == states[1]["step"] and states[0]["step"]["learned"] == 200
    assert str(states[0]) == str(states[1])


def test_a_tombstone_does_not_overtake_the_label_of_its_sample(tmp_path: Path) -> None:
    samples: list[dict[str, Any]] = [
        {"at": 1, "id": "a", "type": "sample", "sky": "grey"},
        {"at": 2, "id": "b", "type": "sample", "sky": "blue"},
        {"at": 5, "id": "a", "type": "tombstone"},
    ]
    labels = [
        {"at": 3, "id": "a", "type": "label", "y": "wet"},
        {"at": 4, "id": "b", "type": "label", "y": "dry"},
    ]
    lines(tmp_path / "samples.jsonl", samples)
    lines(tmp_path / "labels.jsonl", labels)
    told = pipeline(
        tmp_path / "state",
        ["samples.jsonl", "labels.jsonl"],
        labels={"wait_for": 50.0, "correct_within": 50.0, "on_tombstone": "unlearn"},
    )
    engine = build(checked(told), tmp_path)
    engine.run()
    assert (engine.step.learned, engine.step.dead_letters.counts) == (1, {})
    assert set(engine.step.model.answer({"sky": "grey"})) == {"dry"}


def test_learners_are_compared_on_several_files_in_the_order_of_time(tmp_path: Path) -> None:
    rows = [({"sky": number % 3}, number % 2, float(number)) for number in range(60)]
    events = [Event(x, y, time=time) for x, y, time in rows]
    whole = compare({"nb": NaiveBayes()}, IterableSource(events))["nb"]
    parts = MergedSource([IterableSource(events[::2], "even"), IterableSource(events[1::2], "odd")])
    assert compare({"nb": NaiveBayes()}, parts)["nb"].cumulative == whole.cumulative


def test_several_files_need_a_time_and_are_different(tmp_path: Path) -> None:
    source = {"kind": "csv", "path": ["a.csv", "b.csv"], "target": "y"}
    with pytest.raises(BadConfig, match=r"source.time: is missing; several files are merged by this field"):
        checked(pipeline(tmp_path, [], source=source))
    for paths in ([], ["a.csv", "a.csv"]):
        with pytest.raises(BadConfig, match="a list of different files"):
            checked(pipeline(tmp_path, paths))
