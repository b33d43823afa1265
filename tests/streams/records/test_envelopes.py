"""Records as change-data capture and event routers write them, and nested or wrong fields."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.events.event import BadRecord, Event, Kind
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import BadConfig, SchemaError
from stream_bayes.streams.contracts.incidents import BAD_FIELDS, total_incidents
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.framed_decoder import ConfluentJSONDecoder
from stream_bayes.streams.records.json_decoder import JSONDecoder

ROW = {"id": 7, "sky": "grey", "wind": 3.5, "rain": "yes"}
DEBEZIUM = Fields(target="rain", key="id", envelope="debezium")


def decoded(content: Any, fields: Fields, schema: Schema | None = None) -> Event:
    record = JSONDecoder(fields, schema).decode(json.dumps(content).encode(), key="default", time=1.0)
    assert isinstance(record, Event), record
    return record


@pytest.mark.parametrize("with_schema", [False, True])
@pytest.mark.parametrize("op", ["c", "u", "r"])
def test_a_debezium_change_is_the_row_after_it(op: str, with_schema: bool) -> None:
    change: dict[str, Any] = {"before": None, "after": ROW, "op": op, "ts_ms": 1_700_000_000_000}
    event = decoded({"schema": {"type": "struct"}, "payload": change} if with_schema else change, DEBEZIUM)
    assert (event.x, event.y, event.key, event.time) == ({"sky": "grey", "wind": 3.5}, "yes", 7, 1.7e9)


@pytest.mark.parametrize(("before", "key"), [(ROW, 7), (None, "default")])
def test_a_debezium_delete_is_a_tombstone_of_its_key(before: Any, key: Any) -> None:
    event = decoded({"before": before, "after": None, "op": "d", "ts_ms": 2000}, DEBEZIUM)
    assert (event.kind, event.key, event.time, event.x) == (Kind.TOMBSTONE, key, 2.0, {})


def test_a_cloudevent_is_its_data_with_its_id_and_time() -> None:
    content = {"specversion": "1.0", "id": "a-1", "source": "/x", "type": "t", "data": ROW}
    fields = Fields(target="rain", envelope="cloudevents", ignore=["id"])
    assert decoded(content, fields).time == 1.0
    event = decoded(content | {"time": "2026-01-31T12:00:00Z"}, fields)
    assert (event.x, event.key, event.time) == ({"sky": "grey", "wind": 3.5}, "a-1", 1769860800.0)


@pytest.mark.parametrize(
    ("content", "envelope", "detail"),
    [
        (ROW, "debezium", "expected a Debezium change with the fields op, before and after"),
        ({"payload": [1]}, "debezium", "got an array of 1 items"),
        ({"op": "u", "after": None}, "debezium", "under 'after' (op 'u'), got nothing"),
        (ROW, "cloudevents", "with the field specversion, got an object of 4 fields"),
        (
            {"specversion": "1.0", "data": "s3cret"},
            "cloudevents",
            "under the CloudEvent's data, got text of 6",
        ),
        ({"specversion": "1.0", "data": {}, "time": "noon"}, "cloudevents", "RFC 3339, got text of 4"),
        ({"specversion": "1.0", "data": {}, "time": 5}, "cloudevents", "RFC 3339, got a number"),
    ],
)
def test_a_record_without_its_envelope_is_a_bad_record(content: Any, envelope: str, detail: str) -> None:
    record = JSONDecoder(Fields(envelope=envelope)).decode(json.dumps(content).encode())
    assert isinstance(record, BadRecord)
    assert detail in record.detail and "s3cret" not in record.detail


def test_envelopes_work_with_schemas_frames_and_nested_fields() -> None:
    schema = Schema({"wind": Numeric(), "at.sky": Nominal()}, target="rain")
    fields = Fields(envelope="debezium", flatten=True)
    change = {"op": "c", "after": {"wind": 3, "at": {"sky": "grey", "else": 1}, "rain": True}}
    assert decoded(change, fields, schema).x == {"wind": 3.0, "at.sky": "grey"}
    framed = ConfluentJSONDecoder(fields, schema).decode(bytes(5) + json.dumps(change).encode())
    assert isinstance(framed, Event) and framed.y is True


PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
SECTION = PAGE.read_text("utf-8").split("## Nested records and envelopes")[1]
EXAMPLES = re.findall(r"```json\n(.*?)```\n\n```toml\n(.*?)```", SECTION, re.DOTALL)


@pytest.mark.parametrize(("records", "table"), EXAMPLES, ids=["debezium", "cloudevents"])
def test_the_examples_of_the_documentation_run(tmp_path: Path, records: str, table: str) -> None:
    config = parse_config(table)
    (tmp_path / config.source.path).write_text(records, "utf-8")
    engine = build(config, tmp_path)
    engine.run()
    assert not engine.step.dead_letters.counts and engine.step.processed == records.count("\n")
    learned = engine.step.model.model
    if config.name == "debezium":  # the sample of the deleted row is unlearned
        assert learned.predict_one({"sky": "grey"}) == "no" and len(learned.predict_proba_one({})) == 1
    else:
        assert learned.predict_one({"place.city": "Ulm"}) == "yes"


PIPELINE = """name = "n"
model = { kind = "nb" }
[source]
kind = "jsonl"
path = "days.jsonl"
target = "payload.after.rain"
time = "payload.ts"
time_unit = "ms"
flatten = true
only = ["payload.after.sky"]
"""


def test_a_pipeline_file_names_nested_fields_with_dots() -> None:
    config = parse_config(PIPELINE)
    content = {"payload": {"ts": 2500, "after": {"rain": "yes", "sky": "grey"}}}
    event = decoded(content, config.source.fields())
    assert (event.x, event.y, event.time) == ({"payload.after.sky": "grey"}, "yes", 2.5)
    source = config.settings()["source"]
    assert (source["flatten"], source["envelope"], source["on_bad_field"]) == (True, None, "refuse")


def test_a_csv_file_has_no_envelope_and_there_is_no_other_one() -> None:
    with pytest.raises(BadConfig, match=r"source\.envelope: is not a key here"):
        parse_config(
            'name = "n"\nmodel = { kind = "nb" }\n'
            'source = { kind = "csv", path = "a.csv", target = "y", envelope = "debezium" }'
        )
    with pytest.raises(BadConfig, match=r"source\.envelope: there is no 'debezum'; did you mean 'debezium'"):
        parse_config(PIPELINE + 'envelope = "debezum"')
    with pytest.raises(SchemaError, match="envelope: expected one of debezium, cloudevents"):
        Fields(envelope="soap")
    with pytest.raises(SchemaError, match="on_bad_field: expected refuse or missing"):
        Fields(on_bad_field="ignore")


def test_bad_fields_are_missing_counted_and_logged_once_each(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows: list[dict[str, Any]] = [
        {"sky": "grey", "wind": "s3cret", "rain": "yes"},
        {"sky": ["s3cret"], "wind": True, "rain": "no"},
        {"sky": "blue", "wind": 2, "rain": "no"},
        {"sky": "blue", "wind": 2, "rain": ["s3cret"]},
    ]
    path = tmp_path / "days.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    schema = Schema({"sky": Nominal(), "wind": Numeric()}, target="rain")
    source = JSONLinesSource(path, JSONDecoder(Fields(on_bad_field="missing"), schema))
    with caplog.at_level(logging.WARNING):
        first, second, third, fourth = source.poll(10)
    source.close()
    assert isinstance(first, Event) and first.x == {"sky": "grey", "wind": None}
    assert isinstance(second, Event) and second.x == {"sky": None, "wind": None}
    assert isinstance(third, Event) and third.x == {"sky": "blue", "wind": 2.0}
    assert isinstance(fourth, BadRecord)  # a label is never dropped
    assert total_incidents([source]) == {BAD_FIELDS: 3}
    assert source.decoder.bad_fields == {"wind": 2, "sky": 1}
    assert len(caplog.messages) == 2 and "s3cret" not in caplog.text
    assert caplog.messages[0].startswith(
        "field 'wind': expected a number, got text of 6 characters; it is taken"
    )


def test_thousands_of_bad_fields_are_counted_under_a_few_names() -> None:
    decoder = JSONDecoder(Fields(on_bad_field="missing"))
    record = decoder.decode(json.dumps({f"name-{n}": [n] for n in range(500)}).encode())
    assert isinstance(record, Event) and set(record.x.values()) == {None}
    assert decoder.bad_fields.total() == 500 and len(decoder.bad_fields) <= 101
