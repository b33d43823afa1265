"""Files that are not what was read any more: each start refuses them, and changes nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pytest
from pyarrow import parquet

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BadState, SinkError, SourceError
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.continuity_marks import check_ends, check_marks, marks_of, marks_state
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.arff import ARFFSource
from stream_bayes.streams.files.avro import AvroSource
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.files.parquet import ParquetSource
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sources.journaled import JournaledSource
from stream_bayes.streams.sources.merged import MergedSource
from stream_bayes.streams.sources.paced import Paced

Row = tuple[str, str, str]

SKY, WIND, Y = "sky", "wind", "y"
ROWS: list[Row] = [(sky, wind, y) for sky in "abc" for wind in "uv" for y in ("no", "ye")] * 5
OTHERS: list[Row] = [("z", wind, y) for _, wind, y in ROWS]  # of the same lengths


def as_csv(path: Path, rows: Sequence[Row], names: Sequence[str] = (SKY, WIND, Y)) -> None:
    path.write_text("".join(",".join(row) + "\n" for row in (names, *rows)))


def as_gzip(path: Path, rows: Sequence[Row], names: Sequence[str] = (SKY, WIND, Y)) -> None:
    path.write_bytes(gzip.compress("".join(",".join(row) + "\n" for row in (names, *rows)).encode()))


def as_lines(path: Path, rows: Sequence[Row], names: Sequence[str] = (SKY, WIND, Y)) -> None:
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))


def as_arff(path: Path, rows: Sequence[Row], names: Sequence[str] = (SKY, WIND, Y)) -> None:
    heading = "@relation days\n" + "".join(f"@attribute {name} string\n" for name in names) + "@data\n"
    path.write_text(heading + "".join(",".join(row) + "\n" for row in rows))


def as_avro(path: Path, rows: Sequence[Row], names: Sequence[str] = (SKY, WIND, Y)) -> None:
    fields = [{"name": name, "type": "string"} for name in names]
    with path.open("wb") as file:
        records = [dict(zip(names, row, strict=True)) for row in rows]
        fastavro.writer(file, {"type": "record", "name": "Day", "fields": fields}, records)


def as_parquet(path: Path, rows: Sequence[Row], names: Sequence[str] = (SKY, WIND, Y)) -> None:
    parquet.write_table(pyarrow.table(dict(zip(names, zip(*rows, strict=True), strict=True))), path)


Writer = Callable[..., None]
Opener = Callable[[Path], Source]


def reader(kind: Any) -> Opener:
    return lambda path: kind(path, Fields(target=Y))


KINDS: dict[str, tuple[Writer, Opener]] = {
    "csv": (as_csv, reader(CSVSource)),
    "gzip": (as_gzip, reader(CSVSource)),
    "json lines": (as_lines, lambda path: JSONLinesSource(path, JSONDecoder(Fields(target=Y)))),
    "arff": (as_arff, reader(ARFFSource)),
    "avro": (as_avro, reader(AvroSource)),
    "parquet": (as_parquet, reader(ParquetSource)),
    "paced": (as_csv, lambda path: Paced(CSVSource(path, Fields(target=Y)), float("inf"))),
    "merged": (as_csv, lambda path: MergedSource([CSVSource(path, Fields(target=Y))])),
    "journaled": (
        as_csv,
        lambda path: JournaledSource(
            MergedSource([CSVSource(path, Fields(target=Y))]), path.with_name("journal")
        ),
    ),
}
each = pytest.mark.parametrize(("write", "open_"), KINDS.values(), ids=KINDS)


def learned(source: Source, directory: Path, limit: int | None = None) -> int:
    engine = Engine(Step(served(NaiveBayes())), source, store=SnapshotStore(directory / "state"), batch=7)
    engine.run(limit=limit)
    return engine.step.learned


@each
@pytest.mark.parametrize(
    "limit", [None, 3, 21]
)  # at the end; within what is read at once; between two batches
def test_a_file_that_grew_or_was_copied_is_read_on(
    tmp_path: Path, write: Writer, open_: Opener, limit: int | None
) -> None:
    path = tmp_path / "days"
    write(path, ROWS)
    learned(open_(path), tmp_path, limit)
    path.unlink()
    write(path, ROWS + OTHERS)
    assert learned(open_(path), tmp_path) == len(ROWS + OTHERS)


@each
@pytest.mark.parametrize("limit", [None, 3, 21])
def test_another_file_of_the_same_name_is_refused_and_changes_nothing(
    tmp_path: Path, write: Writer, open_: Opener, limit: int | None
) -> None:
    path = tmp_path / "days"
    write(path, ROWS)
    learned(open_(path), tmp_path, limit)
    write(path, OTHERS * 2)
    for _ in range(2):
        with pytest.raises(SourceError, match=r"is not what was read.*start over without the snapshot"):
            learned(open_(path), tmp_path)
    write(path, ROWS + OTHERS)
    assert learned(open_(path), tmp_path) == len(ROWS + OTHERS)


@pytest.mark.parametrize("kind", ["csv", "gzip", "json lines", "arff", "avro"])
def test_columns_that_changed_their_names_are_refused(tmp_path: Path, kind: str) -> None:
    write, open_ = KINDS[kind]
    path = tmp_path / "days"
    write(path, ROWS)
    learned(open_(path), tmp_path)
    write(path, ROWS * 2, (WIND[:1] + "est", SKY, Y) if kind == "avro" else ("wi", "skynd", Y))
    with pytest.raises(SourceError, match="is not what was read"):
        learned(open_(path), tmp_path)


def test_a_snapshot_without_marks_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "days"
    as_csv(path, ROWS)
    source = KINDS["csv"][1](path)
    check_marks(source, [])
    source.close()


def test_marks_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "days"
    as_csv(path, ROWS)
    source = KINDS["csv"][1](path)
    source.poll(5)
    damages: list[Any] = [[["days", 0, 30]], [["days", 0, "30", 7]], [7]]
    for damaged in damages:
        with pytest.raises(BadState, match="marks of what was read are damaged"):
            check_marks(source, damaged)
    source.close()


def test_positions_long_before_those_that_were_read_have_a_mark_at_or_before_them(tmp_path: Path) -> None:
    path = tmp_path / "days"
    as_csv(path, ROWS * 20)
    source = CSVSource(path, Fields(target=Y), block_bytes=64)
    ends = [source.poll(1)[0].after for _ in range(400)]
    for end in ends[200:]:
        mark = marks_of(source, {Partition("days"): end})[Partition("days")]
        assert end - 1000 < mark.position <= end
        again = CSVSource(path, Fields(target=Y))
        again.seek({Partition("days"): end})
        again.check_marks({Partition("days"): mark})
        again.close()
    assert marks_state(source, {Partition("days"): 0}) == []
    source.close()


def test_a_followed_file_that_was_cut_and_grew_beyond_its_end_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "days"
    as_csv(path, ROWS)

    def cut_and_grow(_: float) -> None:
        as_csv(path, OTHERS * 2)

    source = CSVSource(path, Fields(target=Y), follow=True, sleep=cut_and_grow)
    while source.poll(1000):
        pass
    with pytest.raises(SourceError, match="was cut and written anew while it was read"):
        source.poll(1000)
    source.close()


def test_an_output_that_is_another_file_is_refused_and_nothing_of_it_is_cut_off(tmp_path: Path) -> None:
    path, output = tmp_path / "days", tmp_path / "answers.jsonl"
    as_csv(path, ROWS)

    def run() -> None:
        sink = JSONLinesSink(output)
        store = SnapshotStore(tmp_path / "state")
        Engine(Step(served(NaiveBayes())), KINDS["csv"][1](path), predictions=sink, store=store).run()

    run()
    answers = output.read_bytes()
    run()
    output.write_bytes(b"mine\n" * len(answers))
    for _ in range(2):
        with pytest.raises(SinkError, match=r"is not what was written.*nothing of it is cut off"):
            run()
    assert output.read_bytes() == b"mine\n" * len(answers)
    output.write_bytes(answers + b"left by a crash")
    run()
    assert output.read_bytes() == answers


def test_end_marks_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text("one\n")
    sink = JSONLinesSink(tmp_path / "answers.jsonl")
    damages: list[Any] = [[1], 7, ["a", 2]]
    for damaged in damages:
        with pytest.raises(BadState, match="mark of what was written is damaged"):
            check_ends([sink], {"answers.jsonl": damaged})
