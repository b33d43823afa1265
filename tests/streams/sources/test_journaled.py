"""Batches of files that grow are the same after a kill, whatever has arrived since; and go on from there."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import SourceError
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.sources.journaled import JOURNAL, JournaledSource
from stream_bayes.streams.sources.merged import MergedSource

FILES = ("samples", "labels", "others")


def append(path: Path, *times: float) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps({"at": time, "y": "a"}) + "\n" for time in times))


def reader(directory: Path, **more: Any) -> JournaledSource:
    sources = []
    for name in FILES:
        (directory / name).touch()
        decoder = JSONDecoder(Fields(time="at", target="y"))
        source = JSONLinesSource(directory / name, decoder, follow=True, sleep=lambda seconds: None)
        sources.append(source)
    return JournaledSource(MergedSource(sources), directory / JOURNAL, **more)


def places(records: list[Record]) -> list[tuple[str, int]]:
    return [(record.partition.source, record.position) for record in records]


@pytest.mark.parametrize("seed", range(8))
def test_batches_are_read_again_from_any_position_though_files_have_grown(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    live, batches = reader(tmp_path), []
    positions = [dict(live.positions)]
    for _ in range(12):
        for name in rng.sample(FILES, rng.randint(1, 3)):
            append(tmp_path / name, *sorted(rng.uniform(0, 100) for _ in range(rng.randint(0, 5))))
        batches.append(live.poll(rng.randint(1, 6)))
        positions.append(dict(live.positions))
    live.close()
    for name in FILES:
        append(tmp_path / name, 50.0, 200.0)
    rest: list[list[tuple[str, int]]] = []
    for start in sorted(rng.sample(range(12), 4)):
        again = reader(tmp_path, is_again=True)
        again.seek(positions[start])
        for batch in (batch for batch in batches[start:] if batch):
            got: list[Record] = []
            while len(got) < len(batch):
                got += again.poll(len(batch) - len(got))
            assert places(got) == places(batch)
        later: list[Record] = []
        while batch := [*again.poll(3), *again.poll(3)]:
            later += batch
        rest.append(places(later))
        again.close()
    assert all(each == rest[0] for each in rest) and len(rest[0]) >= 6


def test_a_line_that_was_cut_off_is_forgotten_and_a_journal_with_a_gap_begins_anew(tmp_path: Path) -> None:
    append(tmp_path / "samples", 1.0, 2.0)
    live = reader(tmp_path)
    assert len(live.poll(9)) == 2
    live.close()
    entry = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(entry + b'{"slices":[["sam')
    append(tmp_path / "labels", 1.5)
    again = reader(tmp_path)
    assert [record.time for record in again.poll(9)] == [1.0, 2.0]
    assert [record.time for record in [*again.poll(9), *again.poll(9)]] == [1.5]
    again.close()
    lines = (tmp_path / JOURNAL).read_bytes().splitlines()
    assert lines[0] == entry.strip() and len(lines) == 2
    ((name, number, _, stop),) = json.loads(lines[1])["slices"]
    (tmp_path / JOURNAL).write_text(json.dumps({"slices": [[name, number, 1, stop]]}) + "\n")
    anew = reader(tmp_path)
    assert [record.time for record in [*anew.poll(9), *anew.poll(9)]] == [1.0, 1.5, 2.0]
    anew.close()
    for damaged in (b"not json\n", b'{"slices":[["\xff",0,0,1]]}\n'):
        (tmp_path / JOURNAL).write_bytes(damaged)
        with pytest.raises(SourceError, match="is damaged"):
            reader(tmp_path)


class Killed(BaseException):
    """The end of the process."""


def test_a_pipeline_killed_while_its_files_grow_gives_the_results_that_it_had_given(tmp_path: Path) -> None:
    rng = random.Random(3)
    table = {
        "name": "days",
        "source": {
            "kind": "jsonl",
            "path": ["samples", "labels"],
            "target": "y",
            "time": "at",
            "key": "id",
            "type": "type",
            "follow": True,
        },
        "model": {"kind": "nb"},
        "labels": {"wait_for": 500.0},
        "snapshots": {"directory": "state", "every_events": 50},
        "predictions": {"kind": "jsonl", "path": "answers"},
        "batch": 7,
    }
    for name in ("samples", "labels"):
        (tmp_path / name).touch()
    number, seen = 0, b""

    def grow(engine: Engine) -> None:
        nonlocal number
        for _ in range(rng.randint(1, 6)):
            row = {"id": number, "sky": rng.choice(["grey", "blue"]), "at": number}
            with (tmp_path / "samples").open("a") as file:
                file.write(json.dumps(row) + "\n")
            late = {"id": number - 3, "type": "label", "y": rng.choice(["wet", "dry"]), "at": number - 2.5}
            if rng.random() < 0.7:  # arrives after later samples were processed
                with (tmp_path / "labels").open("a") as file:
                    file.write(json.dumps(late) + "\n")
            number += 1

    for kill in (40, 60, 90, 130):
        engine = build(checked(table), tmp_path)

        def look(progress: Any, engine: Engine = engine, kill: int = kill) -> None:
            grow(engine)
            if progress.processed >= kill:
                raise Killed

        grow(engine)
        engine.watch(look)
        with pytest.raises(Killed):
            engine.run()
        answers = (tmp_path / "answers").read_bytes()
        assert answers.startswith(seen)  # no result that was written has changed
        seen = answers
    build(checked(table), tmp_path).run(until_end=True)
    assert (tmp_path / "answers").read_bytes().startswith(seen)
    assert len((tmp_path / "answers").read_bytes().splitlines()) == number
