"""Avro records become events by the schemas of a registry; a registry that does not respond makes no record bad."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from stream_bayes.core.events.event import BadRecord, Event, Kind
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import BadConfig, BadValue, BrokerAway, BrokerError
from stream_bayes.kafka.pipeline.parts import kafka_parts
from stream_bayes.serve.labels import reason_for_no_labels
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.records.avro_decoder import AvroDecoder
from stream_bayes.streams.records.decoders import DECODERS, make_decoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.schema_registry import UNKNOWN_SECONDS, SchemaRegistry
from stream_bayes.streams.records.undecodable import DecodeReason
from tests.streams.records.registry_stub import RegistryStub, framed, registry_stub


@pytest.fixture
def stub() -> Iterator[RegistryStub]:
    with registry_stub() as stub:
        yield stub


@pytest.fixture
def registry(stub: RegistryStub) -> Iterator[SchemaRegistry]:
    registry = SchemaRegistry(stub.url)
    yield registry
    registry.close()


def record(*fields: tuple[str, Any], name: str = "Day") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
    }


def written(stub: RegistryStub, schema: Any, value: object, number: int = 7) -> bytes:
    """Register a schema, and return a record of it."""
    stub.add(number, schema)
    return framed(number, schema, value)


def event(decoder: AvroDecoder, raw: bytes) -> Event:
    found = decoder.decode(raw)
    assert isinstance(found, Event), found
    return found


def refused(decoder: AvroDecoder, raw: bytes, reason: DecodeReason) -> str:
    found = decoder.decode(raw)
    assert isinstance(found, BadRecord), found
    assert (found.reason, found.raw) == (reason.value, raw[:4096])
    return found.detail


SKY = {"type": "enum", "name": "Sky", "symbols": ["BLUE", "GREY"]}
DAY = record(("sky", SKY), ("wind", ["null", "double"]), ("gusts", "int"), ("rain", "boolean"))


def test_enums_unions_and_numbers_are_values_and_null_is_missing(
    stub: RegistryStub, registry: SchemaRegistry
) -> None:
    decoder = AvroDecoder(Fields(target="rain"), registry=registry)
    value = {"sky": "GREY", "wind": None, "gusts": 3, "rain": True}
    found = event(decoder, written(stub, DAY, value))
    assert (found.x, found.y) == ({"sky": "GREY", "wind": None, "gusts": 3}, True)
    assert event(decoder, framed(7, DAY, value | {"wind": 2.5})).x["wind"] == 2.5


def test_a_schema_is_requested_once(stub: RegistryStub, registry: SchemaRegistry) -> None:
    decoder = AvroDecoder(registry=registry)
    raw = written(stub, record(("sky", "string")), {"sky": "grey"})
    for _ in range(3):
        assert event(decoder, raw).x == {"sky": "grey"}
    assert event(AvroDecoder(registry=registry), raw).x == {"sky": "grey"}
    assert stub.requests == ["/schemas/ids/7"]


def test_logical_types_that_are_declared_numeric_are_numbers_in_plain_units_and_uuids_are_text(
    stub: RegistryStub, registry: SchemaRegistry
) -> None:
    moment = datetime(2026, 1, 31, 12, 0, 0, 250_000, UTC)
    kinds: dict[str, tuple[Any, object, object]] = {
        "ms": ({"type": "long", "logicalType": "timestamp-millis"}, moment, moment.timestamp()),
        "us": ({"type": "long", "logicalType": "timestamp-micros"}, moment, moment.timestamp()),
        "local": (
            {"type": "long", "logicalType": "local-timestamp-millis"},
            moment.replace(tzinfo=None),
            moment.timestamp(),
        ),
        "day": ({"type": "int", "logicalType": "date"}, date(1970, 1, 11), 10),
        "hour": ({"type": "int", "logicalType": "time-millis"}, time(1, 0, 2), 3602.0),
        "price": (
            {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
            Decimal("12.50"),
            12.5,
        ),
        "id": ({"type": "string", "logicalType": "uuid"}, UUID(int=5), str(UUID(int=5))),
    }
    schema = record(*[(name, ["null", kind]) for name, (kind, _, _) in kinds.items()])
    raw = written(stub, schema, {name: value for name, (_, value, _) in kinds.items()})
    declared = Schema({name: Nominal() if name == "id" else Numeric() for name in kinds})
    found = event(AvroDecoder(schema=declared, registry=registry), raw)
    assert found.x == {name: expected for name, (_, _, expected) in kinds.items()}
    # As the time of the event a timestamp keeps its own unit, whatever that of numbers is.
    for role in ("ms", "us", "local"):
        timed = AvroDecoder(Fields(time=role, time_unit="ms", key="id"), registry=registry)
        assert event(timed, raw).time == moment.timestamp()
        assert event(timed, raw).key == str(UUID(int=5))
    assert event(AvroDecoder(Fields(time="day"), registry=registry), raw).time == 10 * 86_400


def test_records_of_two_versions_are_each_read_with_their_own_schema(
    stub: RegistryStub, registry: SchemaRegistry
) -> None:
    schema = Schema({"sky": Nominal(), "wind": Numeric()}, target="rain")
    decoder = AvroDecoder(schema=schema, registry=registry)
    old = written(stub, record(("sky", "string"), ("rain", "boolean")), {"sky": "grey", "rain": True}, 1)
    new_schema = record(("rain", "boolean"), ("wind", "float"), ("sky", "string"), ("more", "string"))
    new = written(stub, new_schema, {"rain": False, "wind": 1.5, "sky": "blue", "more": "x"}, 2)
    assert (event(decoder, old).x, event(decoder, old).y) == ({"sky": "grey"}, True)
    assert (event(decoder, new).x, event(decoder, new).y) == ({"wind": 1.5, "sky": "blue"}, False)


def test_a_debezium_envelope_is_opened_and_its_deleted_rows_are_tombstones(
    stub: RegistryStub, registry: SchemaRegistry
) -> None:
    row = record(("id", {"type": "string", "logicalType": "uuid"}), ("sky", "string"), name="Row")
    schema = record(
        ("before", ["null", row]), ("after", ["null", "Row"]), ("op", "string"), ("ts_ms", ["null", "long"])
    )
    decoder = AvroDecoder(Fields(envelope="debezium", key="id"), registry=registry)
    value = {"id": UUID(int=1), "sky": "grey"}
    created = event(
        decoder, written(stub, schema, {"before": None, "after": value, "op": "c", "ts_ms": 1500})
    )
    assert (created.x, created.key, created.time) == ({"sky": "grey"}, str(UUID(int=1)), 1.5)
    gone = event(decoder, framed(7, schema, {"before": value, "after": None, "op": "d", "ts_ms": 2500}))
    assert (gone.kind, gone.key, gone.time) == (Kind.TOMBSTONE, str(UUID(int=1)), 2.5)


def test_nested_records_and_maps_are_flattened(stub: RegistryStub, registry: SchemaRegistry) -> None:
    schema = record(
        ("at", record(("city", "string"), name="Place")), ("n", {"type": "map", "values": "long"})
    )
    raw = written(stub, schema, {"at": {"city": "Ulm"}, "n": {"a": 1}})
    assert event(AvroDecoder(Fields(flatten=True), registry=registry), raw).x == {"at.city": "Ulm", "n.a": 1}
    assert "an object of 1 fields" in refused(AvroDecoder(registry=registry), raw, DecodeReason.WRONG_TYPE)


def test_a_schema_may_refer_to_others(stub: RegistryStub, registry: SchemaRegistry) -> None:
    schema = record(("sky", "Sky"), ("then", "Sky"))
    stub.add(7, schema, references=[{"name": "Sky", "subject": "sky", "version": 3}])
    stub.add(8, SKY)
    stub.versions["sky", 3] = {"subject": "sky", "version": 3, "id": 8, **stub.schemas[8]}
    raw = framed(7, record(("sky", SKY), ("then", "Sky")), {"sky": "GREY", "then": "BLUE"})
    assert event(AvroDecoder(registry=registry), raw).x == {"sky": "GREY", "then": "BLUE"}


def test_keys_of_avro_become_text(stub: RegistryStub, registry: SchemaRegistry) -> None:
    decoder = AvroDecoder(registry=registry)
    one = written(stub, record(("id", "long"), name="Key"), {"id": 12}, 1)
    two = written(stub, record(("id", "long"), ("place", "string"), name="Key"), {"id": 1, "place": "Ü"}, 2)
    plain = written(stub, "string", "day-1", 3)
    keys = [decoder.decoded_key(raw) for raw in (one, two, plain, b"day-2", b"\xff", None)]
    assert keys == ["12", '{"id":1,"place":"Ü"}', "day-1", "day-2", b"\xff", None]


@pytest.mark.parametrize(
    ("raw", "reason", "detail"),
    [
        (b'{"sky": "grey"}', DecodeReason.NOT_FRAMED, "got 15 bytes without"),
        (b"", DecodeReason.NOT_FRAMED, "got 0 bytes"),
        (b"\0\0\0\0\x07", DecodeReason.NOT_AVRO, "schema 7, got 5 bytes that do not fit"),
        (b"\0\0\0\0\x07\x08gr", DecodeReason.NOT_AVRO, "do not fit it"),
        (b"\0\0\0\0\x07\xff\xff\xff\xff\xff\xff\xff\xff\x7f", DecodeReason.NOT_AVRO, "do not fit it"),
        (b"\0\0\0\0\x07\x02\xff", DecodeReason.NOT_AVRO, "do not fit it"),
        (b"\0\0\0\0\x07\x02ab", DecodeReason.NOT_AVRO, "1 bytes after its end"),
        (b"\0\0\0\0\x63\x02a", DecodeReason.UNKNOWN_SCHEMA, "no schema 99; check the registry's url"),
        (b"\0\0\0\0\x08\x02a", DecodeReason.WRONG_TYPE, "a record of fields, got text of 1 characters"),
        (b"\0\0\0\0\x09{}", DecodeReason.BAD_SCHEMA, "schema 9: expected a schema of Avro, got one of JSON"),
        (b"\0\0\0\0\x0a\0", DecodeReason.BAD_SCHEMA, "schema 10: it cannot be parsed"),
        # These would end the process, or take all of its memory.
        (b"\0\0\0\0\x0b" + b"\2" * 100_000, DecodeReason.BAD_SCHEMA, "the type 'List' holds itself"),
        (b"\0\0\0\0\x0c" + b"\x80" * 8 + b"\x7f", DecodeReason.BAD_SCHEMA, "values take no byte"),
    ],
)
def test_other_bytes_are_bad_records_that_hold_them(
    stub: RegistryStub, registry: SchemaRegistry, raw: bytes, reason: DecodeReason, detail: str
) -> None:
    stub.add(7, record(("sky", "string")))
    stub.add(8, "string")
    stub.add(9, {}, kind="JSON")
    stub.add(10, {"type": "record"})
    stub.add(11, record(("next", ["null", "List"]), name="List"))
    stub.add(
        12, record(("n", {"type": "array", "items": record(("x", "null"), ("y", "null"), name="Nothing")}))
    )
    decoder = AvroDecoder(registry=registry)
    assert detail in refused(decoder, raw, reason)
    assert refused(decoder, raw, reason) == refused(decoder, raw, reason)


def test_an_unknown_id_is_requested_again_after_a_while(stub: RegistryStub) -> None:
    now = [0.0]
    registry = SchemaRegistry(stub.url, clock=lambda: now[0])
    decoder = AvroDecoder(registry=registry)
    raw = framed(7, record(("sky", "string")), {"sky": "grey"})
    for _ in range(3):
        refused(decoder, raw, DecodeReason.UNKNOWN_SCHEMA)
    assert len(stub.requests) == 1
    stub.add(7, record(("sky", "string")))
    now[0] = UNKNOWN_SECONDS
    assert event(decoder, raw).x == {"sky": "grey"}
    registry.close()


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_registry_that_fails_makes_no_record_bad(
    stub: RegistryStub, registry: SchemaRegistry, status: int
) -> None:
    decoder = AvroDecoder(registry=registry)
    raw = written(stub, record(("sky", "string")), {"sky": "grey"})
    stub.status = status
    for _ in range(2):
        with pytest.raises(BrokerAway, match=f"HTTP {status}"):
            decoder.decode(raw)
    stub.status = None
    assert event(decoder, raw).x == {"sky": "grey"}


def test_a_registry_that_is_away_makes_no_record_bad() -> None:
    registry = SchemaRegistry("http://127.0.0.1:1", seconds=1.0)
    decoder = AvroDecoder(registry=registry)
    with pytest.raises(BrokerAway, match=r"registry at http://127.0.0.1:1 does not respond: ConnectError"):
        decoder.decode(b"\0\0\0\0\7\2a")
    registry.close()


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"user": "me", "password": "ses:ame"}, "Basic " + b64encode(b"me:ses:ame").decode()),
        ({"token": lambda: "abc"}, "Bearer abc"),
    ],
)
def test_requests_authenticate_and_a_refusal_ends_in_a_line(
    stub: RegistryStub, settings: dict[str, Any], header: str
) -> None:
    stub.authorization = header
    right = SchemaRegistry(stub.url, **settings)
    right.check()
    wrong = SchemaRegistry(stub.url)
    with pytest.raises(BrokerError, match="HTTP 401; check its user, password or token") as caught:
        wrong.check()
    assert not isinstance(caught.value, BrokerAway)
    right.close()
    wrong.close()


def test_another_server_is_no_registry(stub: RegistryStub) -> None:
    registry = SchemaRegistry(f"{stub.url}/apis")
    with pytest.raises(BrokerError, match=r"is no schema registry: HTTP 404; check url: .*ccompat/v7"):
        registry.check()
    registry.close()


def pipeline(url: str, **source: Any) -> dict[str, Any]:
    return {
        "name": "weather",
        "kafka": {"servers": ["localhost:9092"]},
        "source": {
            "kind": "kafka",
            "topic": "weather",
            "target": "y",
            "decoder": "avro",
            "registry": {"url": url},
        }
        | source,
        "model": {"kind": "nb"},
    }


@pytest.mark.needs("kafka")
def test_a_pipeline_file_names_the_registry_and_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY", "registry.example.org")
    monkeypatch.setenv("REGISTRY_PASSWORD", "sesame")
    own = {"url": "https://${REGISTRY}", "user": "me", "password": "${REGISTRY_PASSWORD}"}
    config = checked(pipeline("", registry=own) | {"labels": {"topic": "labels", "wait_for": 5.0}})
    source: Any = kafka_parts(config, None).source
    samples, labels = source.decoders.values()
    assert samples.registry is labels.registry
    assert samples.registry.url == "https://registry.example.org"
    assert "sesame" not in repr(config) + repr(vars(samples))


@pytest.mark.needs("kafka")
def test_labels_may_have_another_format() -> None:
    config = checked(pipeline("http://r") | {"labels": {"topic": "l", "wait_for": 5.0, "decoder": "json"}})
    source: Any = kafka_parts(config, None).source
    assert [decoder.name for decoder in source.decoders.values()] == ["avro", "json"]


@pytest.mark.needs("kafka")
def test_a_decoder_of_a_user_may_use_the_registry_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Proto(AvroDecoder):
        name = "proto"

    monkeypatch.setitem(DECODERS._loaded, "proto", Proto)
    config = checked(pipeline("http://r", decoder="proto"))
    source: Any = kafka_parts(config, None).source
    (decoder,) = source.decoders.values()
    assert type(decoder) is Proto
    assert decoder.registry is not None
    with pytest.raises(BadConfig, match=r"source.registry: is missing; the decoder 'proto' needs it"):
        checked(pipeline("", decoder="proto", registry=None))


@pytest.mark.needs("kafka")
def test_the_service_offers_labels_only_where_they_are_read_as_the_json_that_it_writes() -> None:
    config = checked(pipeline("http://r") | {"labels": {"topic": "l", "wait_for": 5.0}})
    assert 'labels.decoder = "json"' in (reason_for_no_labels(config) or "")
    config = checked(pipeline("http://r") | {"labels": {"topic": "l", "wait_for": 5.0, "decoder": "json"}})
    assert reason_for_no_labels(config) is None


@pytest.mark.needs("kafka")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pipeline("", registry=None), "source.registry: is missing; the decoder 'avro' needs it"),
        (pipeline("http://r", decoder="json"), "source.registry: is for the decoder 'avro'"),
        (pipeline("r:80"), "url: expected the http or https address"),
        (pipeline("http://me:sesame@r"), "without credentials; use user and password"),
        (pipeline("", registry={"url": "http://r", "user": "me"}), "user and password come together"),
        (pipeline("", registry={"url": "http://r", "password": "open"}), "a secret is not written here"),
        (pipeline("http://r") | {"labels": {"decoder": "json"}}, "labels.decoder: is for records of"),
    ],
)
def test_a_pipeline_file_that_contradicts_itself_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        checked(table)


def test_a_registry_belongs_to_decoders_that_use_one() -> None:
    with pytest.raises(BadValue, match="registry: is missing, and the decoder 'avro' needs it"):
        make_decoder("avro")
    with pytest.raises(BadValue, match="registry: the decoder 'json' uses none"):
        make_decoder("json", registry=SchemaRegistry("http://r"))
