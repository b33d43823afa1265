"""Texts of JSON that are amounts or dates: read as such where a file is read whole, and warned of in a stream."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_bayes import streams
from stream_bayes.cli import data_file  # noqa: F401  # before its constants are patched
from stream_bayes.cli.app import app
from stream_bayes.core.events.event import Event
from stream_bayes.errors import SourceError
from stream_bayes.streams.files import json_columns
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.records.decoders import make_decoder
from tests.streams.files.reading import whole

WARNING = "each text of price (amount), day (date) is read as a name of its own"


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"price": f"${1000 + n:,}.50", "day": f"2021-03-{n % 28 + 1:02}", "zip": "80331", "y": "ab"[n % 2]}
        for n in range(count)
    ]


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_a_file_that_is_read_whole_is_read_by_the_kinds_that_its_first_rows_show(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [*rows(60), {"price": "soon", "y": "a"}])
    source = streams.from_jsonl(path, target="y")
    first, *_, last = whole(source)
    assert isinstance(first, Event) and isinstance(last, Event)
    assert first.x == {"price": 1000.5, "day": 18687.0, "day day": 1.0, "day weekday": "Mon", "zip": "80331"}
    assert last.x == {"price": None} and source.decoder.bad_fields == {"price": 1}
    plain = streams.from_jsonl(path, target="y", infer_types=False)
    assert getattr(plain.poll(1)[0], "x", {})["price"] == "$1,000.50"
    source.close()
    plain.close()


def test_a_field_that_comes_after_the_rows_that_decide_is_not_dropped_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(json_columns, "EXAMINED_ROWS", 1030)
    late = [{**row, "shade": "dark", "cost": "$1"} for row in rows(7)]
    between = [{**row, "cost": "$2"} for row in rows(30)]
    path = written(tmp_path / "t.jsonl", [*rows(1000), *between, *late])
    source = streams.from_jsonl(path, target="y")
    events: list[Any] = whole(source)
    source.close()
    assert [event.x.get("shade") for event in events[-8:]] == [None] + ["dark"] * 7
    assert events[-1].x["cost"] == 1.0, "it came within the rows that are examined"
    assert source.decoder.late_fields == {"shade": 7}  # type: ignore[attr-defined]  # an inferred one
    assert caplog.text.count("field shade comes first after the first 1,030 rows") == 1
    trained = CliRunner().invoke(
        app, ["train", str(path), "--target", "y", "--model", "nb", "--out", str(tmp_path / "m.zip")]
    )
    assert trained.exit_code == 0, trained.stderr
    assert "warning: field shade: comes first after" in trained.stderr
    assert "its 7 values were left out" in trained.stderr


@pytest.mark.parametrize("size", ['"1,000"', "3"])
def test_a_blank_text_is_missing(tmp_path: Path, size: str) -> None:
    path = tmp_path / "t.jsonl"
    lines = [f'{{"size": {size}, "kind": "{"ab"[n % 2]}", "y": "u"}}' for n in range(9)]
    path.write_text(
        "\n".join([*lines, '{"size": "", "kind": " ", "y": "u"}', '{"size": "", "kind": "a", "y": ""}'])
    )
    found = json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).stdout)["columns"]
    assert {row["column"]: row["missing"] for row in found} == {"size": 2, "kind": 1, "y": 1}
    with closing(streams.from_jsonl(path, target="y")) as source:
        *_, blank, unlabelled = whole(source)
    assert isinstance(blank, Event) and isinstance(unlabelled, Event)
    assert {*blank.x.values()} <= {None} and unlabelled.y is None


def test_a_stream_without_a_schema_warns_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path / "t.jsonl", rows(1500))
    followed = streams.from_jsonl(path, target="y", follow=True)
    topic: Any = streams.from_kafka("localhost:1", "prices", target="y").decoders["prices"]
    with caplog.at_level(logging.WARNING):
        while followed.poll(100):
            pass
        for row in rows(1500):
            topic.decode(json.dumps(row).encode())
    followed.close()
    topic.close()
    assert caplog.text.count(WARNING) == 2 and "prices: each text" in caplog.text
    caplog.clear()
    few = make_decoder("json")
    few.watch_texts("few")
    for row in rows(20):
        few.decode(json.dumps(row).encode())
    assert not caplog.text
    few.close()
    assert "few: " + WARNING in caplog.text


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_table_that_is_one_object_is_refused_with_what_to_write(
    tmp_path: Path, orient: Any, indent: int | None
) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "t.json"
    pandas.DataFrame({"sky": ["grey", "blue"], "y": [1, 2]}).to_json(path, orient=orient, indent=indent)
    with pytest.raises(SourceError, match=r'orient="records", lines=True'):
        JSONLinesSource(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"year": [1700, 1701], "trade": [2.5, 3]}',
        '{\n "year": [1700, 1701],\n "trade": [2.5, 3]\n}',
        '{\n "nodes": [{"id": 1}],\n "links": []\n}',
        '{\n "sky": "grey"\n}',
    ],
)
def test_one_object_with_its_columns_as_lists_or_over_many_lines_is_refused_too(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(SourceError, match="got one object that is the whole file"):
        JSONLinesSource(tmp_path / "t.json")


@pytest.mark.parametrize(
    "text", ['{"sky": "grey"}', '{"at": {"city": "Ulm"}}\n{"at": {"city": "Bonn"}}', '{"a": \n', "", "{}"]
)
def test_records_are_no_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    JSONLinesSource(tmp_path / "t.json").close()


def test_objects_in_objects_are_read_field_by_field_and_that_is_said(tmp_path: Path) -> None:
    records = [
        {"who": {"age": 20 + n % 40, "home": {"city": ["Ulm", "Bonn"][n % 2]}}, "y": "ab"[n % 2]}
        for n in range(60)
    ]
    path, new = written(tmp_path / "t.jsonl", records), written(tmp_path / "new.jsonl", records[:2])
    listing = tmp_path / "t.json"
    listing.write_text(json.dumps(records))
    for each in (path, listing):
        with closing(streams.from_file(each, target="y")) as source:
            first = whole(source)[0]
        assert isinstance(first, Event) and first.x == {"who.age": 20, "who.home.city": "Ulm"}
    model, out = tmp_path / "m.zip", tmp_path / "answers.csv"
    trained = CliRunner().invoke(app, ["train", str(path), "--target", "y", "--out", str(model)])
    assert "(fields of nested objects are named outer.inner)" in trained.output
    assert "names (1): who.home.city" in trained.output
    assert CliRunner().invoke(app, ["predict", str(model), str(new), "--out", str(out)]).exit_code == 0
    assert [line.split(",")[1] for line in out.read_text().splitlines()] == ["prediction", "a", "b"]
    shown = CliRunner().invoke(app, ["inspect", str(path), "--target", "y"])
    assert "[source]\nflatten = true\n" in shown.output


def test_a_record_refused_for_an_object_says_how_to_read_its_fields(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{"who": {"age": 20}, "y": "a"}])
    with closing(streams.from_jsonl(path, target="y", infer_types=False)) as source:
        (record,) = source.poll(2)
    assert "to read the fields of an object: flatten = true there" in getattr(record, "detail", "")
