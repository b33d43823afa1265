"""Avro container files: their types, positions, and what cannot be read."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import fastavro
import pytest
from typer.testing import CliRunner

from stream_bayes import Date, Nominal, Numeric, Schema, streams
from stream_bayes.cli.app import app
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.errors import SchemaError, SourceError
from stream_bayes.streams.files.avro import AvroSource
from stream_bayes.streams.records.avro_decoder import AvroDecoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.schema_registry import RegisteredSchema
from tests.streams.files.reading import whole

PLACE = {
    "type": "record",
    "name": "Place",
    "namespace": "org.example",
    "fields": [{"name": "city", "type": "string"}],
}
DAY: dict[str, Any] = {
    "type": "record",
    "name": "Day",
    "namespace": "org.example",
    "fields": [
        {"name": "sky", "type": ["null", {"type": "enum", "name": "Sky", "symbols": ["grey", "blue"]}]},
        {"name": "wind", "type": ["null", "double"]},
        {"name": "rain_mm", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "station", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "from", "type": ["null", PLACE]},
        {"name": "to", "type": "org.example.Place"},
        {"name": "code", "type": ["string", "long"]},
        {"name": "rain", "type": "boolean"},
    ],
}
STATION = UUID(int=7)
LOGICAL = {
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
}


def day(number: int) -> dict[str, Any]:
    return {
        "sky": ("grey", "blue", None)[number % 3],
        "wind": number / 2 if number else None,
        "rain_mm": Decimal("1.25"),
        "day": date(1970, 1, 1 + number % 28),
        "station": STATION,
        "at": datetime.fromtimestamp(1_700_000_000 + number, UTC),
        "from": {"city": "Ulm"} if number % 2 else None,
        "to": {"city": "Bonn"},
        "code": number if number % 2 else "x",
        "rain": number % 3 == 0,
    }


def written(path: Path, records: list[Any], schema: Any = DAY, **settings: Any) -> Path:
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), records, **settings)
    return path


def test_records_become_events_whose_schema_is_that_of_the_file(tmp_path: Path) -> None:
    source = streams.from_file(written(tmp_path / "days.avro", [day(0), day(1)]), target="rain", time="at")
    records: list[Any] = whole(source)
    source.close()
    plain = {"rain_mm": 1.25, "station": str(STATION), "to.city": "Bonn"}
    assert [event.x for event in records] == [
        {"sky": "grey", "wind": None, "from.city": None, "code": "x"} | plain | calendar("day", 0.0, "Thu"),
        {"sky": "blue", "wind": 0.5, "from.city": "Ulm", "code": 1} | plain | calendar("day", 1.0, "Fri"),
    ]
    assert [(event.y, event.time) for event in records] == [(True, 1_700_000_000.0), (False, 1_700_000_001.0)]
    assert isinstance(source, AvroSource)
    names = dict.fromkeys(("station", "from.city", "to.city", "code"), Nominal())
    numbers = dict.fromkeys(("wind", "rain_mm"), Numeric())
    days = Date(parts=["date", "month", "day", "weekday"])
    assert source.schema == Schema({"sky": Nominal(), **numbers, "day": days, **names}, target="rain")


def calendar(name: str, days: float, weekday: str, hour: float | None = None) -> dict[str, Any]:
    """Return the features of a day of January 1970."""
    features = {name: days + (hour or 0.0) / 24, f"{name} month": "Jan", f"{name} day": days // 1 + 1.0}
    features[f"{name} weekday"] = weekday
    return features if hour is None else features | {f"{name} hour": hour}


def test_timestamps_are_calendar_features_of_files_and_of_records_alike(tmp_path: Path) -> None:
    kinds = {name: {"type": kind, "logicalType": name} for name, kind in LOGICAL.items()}
    schema = of_fields(**{name.replace("-", "_"): kind for name, kind in kinds.items()})
    moment = datetime(1970, 1, 2, 6, tzinfo=UTC)
    row = {
        name.replace("-", "_"): moment.time()
        if name.startswith("time-")
        else moment.replace(tzinfo=None)
        if name.startswith("local")
        else moment
        for name in LOGICAL
    }
    path = written(tmp_path / "t.avro", [row], schema)
    source = AvroSource(path)
    (event,) = source.poll(1)
    source.close()
    expected: dict[str, Any] = {}
    for name in row:
        expected |= {f"{name} hour": 6.0} if name.startswith("time_") else calendar(name, 1.0, "Fri", 6.0)
    assert isinstance(event, Event) and event.x == expected
    body = io.BytesIO(b"\0\0\0\0\7")
    body.seek(5)
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), row)
    registry: Any = SimpleNamespace(schema=lambda number: RegisteredSchema("AVRO", (json.dumps(schema),)))
    for declared in (source.schema, None):
        record = AvroDecoder(schema=declared, registry=registry).decode(body.getvalue())
        assert isinstance(record, Event) and record.x == expected
    timed = AvroDecoder(Fields(target="time_millis", time="timestamp_millis"), registry=registry)
    record = timed.decode(body.getvalue())
    assert isinstance(record, Event) and (record.y, record.time) == (21_600.0, 108_000.0)


@pytest.mark.parametrize("codec", ["null", "deflate", "xz"])
def test_a_file_is_read_from_any_record_on(tmp_path: Path, codec: str) -> None:
    path = written(tmp_path / "t.avro", [day(n) for n in range(50)], codec=codec, sync_interval=300)
    source = AvroSource(path, Fields(target="rain"))
    records: list[Any] = whole(source)
    assert [event.x["wind"] for event in records[1:]] == [n / 2 for n in range(1, 50)]
    for place in (0, 1, 17, 49):
        source.seek({records[place].partition: records[place].position})
        assert whole(source) == records[place:]
    source.seek({records[0].partition: 51})
    with pytest.raises(SourceError, match="has 50 records, but was read to record 51 before"):
        source.poll(1)
    source.close()


def test_infinite_numbers_are_missing_and_counted_and_a_bad_time_is_a_bad_record(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "T",
        "fields": [{"name": "wind", "type": "float"}, {"name": "at", "type": "string"}],
    }
    rows = [{"wind": float("inf"), "at": "2026-01-31"}, {"wind": 1.0, "at": "soon"}]
    source = AvroSource(written(tmp_path / "t.avro", rows, schema), Fields(time="at"))
    first, second = whole(source)
    source.close()
    assert getattr(first, "x", None) == {"wind": None} and source.misfits["wind"].count == 1
    assert isinstance(second, BadRecord) and second.position == 1


def of_fields(**types: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"type": "record", "name": "T", "fields": fields}


def array(items: str) -> dict[str, str]:
    return {"type": "array", "items": items}


@pytest.mark.parametrize(
    ("schema", "row", "error", "message"),
    [
        (
            of_fields(f=array("int"), rain="int"),
            {"f": [], "rain": 1},
            SchemaError,
            "field 'f' holds array.*--ignore f",
        ),
        (of_fields(f="int"), {"f": 1}, SchemaError, "target: there is no field 'rain'.*f"),
        ("string", "text", SourceError, "expected a file of records"),
        (of_fields(f=array("null")), {"f": []}, SourceError, "its schema is refused: .*no byte"),
        (of_fields(f=["null", "T"]), {"f": None}, SourceError, "its schema is refused: .*holds itself"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_what_to_do(
    tmp_path: Path, schema: Any, row: Any, error: type[Exception], message: str
) -> None:
    path = written(tmp_path / "t.avro", [row], schema)
    with pytest.raises(error, match=message):
        AvroSource(path, Fields(target="rain"))


def test_a_file_that_was_cut_or_is_none_ends_in_a_line(tmp_path: Path) -> None:
    path = written(tmp_path / "t.avro", [day(n) for n in range(50)], sync_interval=300)
    path.write_bytes(path.read_bytes()[:-9])
    source = AvroSource(path, Fields(target="rain"))
    with pytest.raises(SourceError, match=r"t.avro cannot be read after \d+ records"):
        whole(source)
    source.close()
    path.write_text("sky,rain\n")
    with pytest.raises(SourceError, match="is no Avro file: it begins with b'sky,'"):
        AvroSource(path)
    with pytest.raises(SourceError, match="No such file"):
        AvroSource(tmp_path / "none.avro")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_file_is_inspected_learned_from_explained_and_predicted_from_the_command_line(
    tmp_path: Path,
) -> None:
    path, model = written(tmp_path / "days.avro", [day(n) for n in range(60)]), tmp_path / "model.zip"
    found = json.loads(run("inspect", path, "--target", "rain", "--json").stdout)
    kinds = {column["column"]: column["kind"] for column in found["columns"]}
    assert kinds["rain"] == "target" and kinds["sky"] == "category" and kinds["wind"].startswith("number")
    options = ("--target", "rain", "--ignore", "at")
    trained = run("train", path, *options, "--model", "nb", "--out", model, "--json")
    assert trained.exit_code == 0, trained.stderr
    assert json.loads(trained.stdout) == {
        "model": "NaiveBayes",
        "learned": 60,
        "unlabelled": 0,
        "bad": {},
        "left_out": [],
    }
    explained = json.loads(run("explain", model, '{"sky": "grey", "to.city": "Bonn"}', "--json").stdout)
    assert [part["feature"] for part in explained["evidence"]] == ["sky", "to.city", "sky missing"]
    assert all(part["seen"] for part in explained["evidence"])
    predicted = run("predict", model, path, "--out", tmp_path / "answers.csv")
    assert predicted.exit_code == 0, predicted.stderr
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 61
    compared = run("compare", path, *options, "--model", "nb", "--json")
    assert compared.exit_code == 0, compared.stderr
