"""Labels that people give come again at the places where they came first, whatever the batches."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from stream_bayes.core.events.event import BadRecord, Event, Kind, Partition
from stream_bayes.errors import Exhausted, SourceError
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.label_log import LABELS, GivenLabel, LabelLog, LabelWriter
from stream_bayes.streams.sources.labelled import LabelledSource


def source_in(directory: Path) -> LabelledSource:
    return LabelledSource(JSONLinesSource(directory / "days.jsonl"), LabelLog(directory))


def write_days(directory: Path, days: int) -> None:
    lines = (f'{{"day": {day}, "sky": "{"grey" * (day % 3 + 1)}"}}\n' for day in range(days))
    (directory / "days.jsonl").write_text("".join(lines))


def rest_of(source: LabelledSource, rng: random.Random) -> list[Record]:
    records: list[Record] = []
    while True:
        try:
            records += source.poll(rng.randint(1, 9))
        except Exhausted:
            return records


@pytest.mark.parametrize("seed", range(20))
def test_labels_come_again_at_their_places_from_every_position(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    write_days(tmp_path, 60)
    writer, source = LabelWriter(tmp_path), source_in(tmp_path)
    first: list[Record] = []
    positions = [dict(source.positions)]
    while True:
        if rng.random() < 0.3:
            writer.write(GivenLabel(rng.randrange(60), rng.choice(("wet", "dry"))))
        try:
            batch = source.poll(rng.randint(1, 9))
        except Exhausted:
            break
        first += batch
        positions.append(dict(source.positions))
    source.close()
    writer.close()
    labels = [record for record in first if isinstance(record, Event) and record.kind is Kind.CORRECTION]
    assert len(labels) > 2 and len(first) == 60 + len(labels)
    for place in rng.sample(positions, 5):
        again = source_in(tmp_path)
        again.seek(place)
        done = sum(record.after <= place[record.partition] for record in first)
        assert rest_of(again, rng) == first[done:]
        again.close()


def test_a_label_is_a_batch_of_its_own_and_moves_no_clock(tmp_path: Path) -> None:
    write_days(tmp_path, 3)
    writer, source = LabelWriter(tmp_path), source_in(tmp_path)
    writer.write(GivenLabel("a", "wet", "label"))
    batch = source.poll(10)
    assert [record.time for record in batch] == [None] and len(batch) == 1
    source.close()
    writer.close()


def test_half_a_line_of_a_crash_is_cut_off_before_the_next_label(tmp_path: Path) -> None:
    write_days(tmp_path, 1)
    (tmp_path / "labels.jsonl").write_bytes(b'{"key":1,"label":"wet"}\n{"key":2,"la')
    writer = LabelWriter(tmp_path)
    writer.write(GivenLabel(3, "dry"))
    writer.close()
    source = source_in(tmp_path)
    records = rest_of(source, random.Random(1))
    source.close()
    keys = [record.key for record in records if record.partition.source == "labels"]
    assert keys == [1, 3] and not any(isinstance(record, BadRecord) for record in records)


def test_a_log_that_lost_its_labels_is_refused(tmp_path: Path) -> None:
    write_days(tmp_path, 1)
    source = source_in(tmp_path)
    with pytest.raises(SourceError, match=r"has 0 bytes, and was read to byte 40"):
        source.seek({Partition(LABELS): 40})
    source.close()


def test_the_bytes_of_a_record_come_from_the_source_and_none_of_a_label(tmp_path: Path) -> None:
    write_days(tmp_path, 1)
    writer, source = LabelWriter(tmp_path), source_in(tmp_path)
    writer.write(GivenLabel("a", "rain"))
    records = [*source.poll(5), *source.poll(5)]
    raws = [source.raw_of(record) for record in records if isinstance(record, Event)]
    assert raws == [None, b'{"day": 0, "sky": "grey"}']
    source.close()
    writer.close()


def test_a_log_of_labels_that_was_altered_is_refused(tmp_path: Path) -> None:
    write_days(tmp_path, 3)
    writer, source = LabelWriter(tmp_path), source_in(tmp_path)
    writer.write(GivenLabel("a", "rain"))
    while Partition("labels") not in source.positions or not source.positions[Partition("labels")]:
        source.poll(5)
    positions = dict(source.positions)
    marks = source.marks(positions)
    source.close()
    again = source_in(tmp_path)
    again.seek(positions)
    again.check_marks(marks)
    again.close()
    log = tmp_path / "labels.jsonl"
    log.write_bytes(log.read_bytes().replace(b"rain", b"snow"))
    altered = source_in(tmp_path)
    altered.seek(positions)
    with pytest.raises(SourceError, match=r"labels\.jsonl: what stands before byte \d+ is not what was read"):
        altered.check_marks(marks)
    altered.close()
    writer.close()
