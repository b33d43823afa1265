"""Bytes become an event or a bad record, and nothing else: no exception, and no memory beyond the record's own."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.event import BadRecord, Event, Kind, Partition
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import BadConfig, BadValue, SchemaError, Undecodable
from stream_bayes.kafka.pipeline.parts import kafka_parts
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.records import decoders as registry
from stream_bayes.streams.records.commands import decode_command
from stream_bayes.streams.records.decoder import Decoder, RawDecoder
from stream_bayes.streams.records.decoders import decoder_names, make_decoder, register_decoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.framed_decoder import ConfluentJSONDecoder
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.records.undecodable import DecodeReason

SCHEMA = Schema({"sky": Nominal(), "wind": Numeric()}, target="rain")
SECRET = "s3cret"


def decoded(decoder: Decoder, content: object) -> Event | BadRecord:
    return decoder.decode(json.dumps(content, ensure_ascii=False).encode())


def event(decoder: Decoder, content: object) -> Event:
    found = decoded(decoder, content)
    assert isinstance(found, Event), found
    return found


def refused(decoder: Decoder, content: object, reason: DecodeReason) -> str:
    """The detail of a bad record, after a look at what must be true of each."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    place = Partition("log", 3)
    found = decoder.decode(raw, 7, place, 11, "k", 1.5)
    assert isinstance(found, BadRecord), found
    assert found.reason == reason.value
    assert (found.position, found.partition, found.length, found.key, found.time) == (7, place, 11, "k", 1.5)
    assert found.raw == raw[:4096]
    assert SECRET not in found.detail and "\n" not in found.detail and len(found.detail) < 250
    return found.detail


def test_fields_without_a_role_are_features_and_keep_the_types_of_json():
    found = event(
        JSONDecoder(Fields(target="y")), {"größe": 1.5, "n": 3, "b": True, "t": "ü", "none": None, "y": 0}
    )
    assert found == Event({"größe": 1.5, "n": 3, "b": True, "t": "ü", "none": None}, 0)
    assert [type(value) for value in found.x.values()] == [float, int, bool, str, type(None)]


def test_roles_are_taken_out_of_the_features():
    fields = Fields(target="y", key="id", time="at", weight="w", kind="what")
    content = {"a": "x", "y": "no", "id": 5, "at": 12, "w": 2, "what": "sample"}
    assert event(JSONDecoder(fields), content) == Event({"a": "x"}, "no", 5, 12.0, weight=2.0)


def test_a_label_has_no_features_and_a_tombstone_no_label_either():
    fields = Fields(target="y", key="id", kind="what")
    content = {"a": "x", "y": "no", "id": 5, "what": "label"}
    assert event(JSONDecoder(fields), content) == Event({}, "no", 5, kind=Kind.LABEL)
    content["what"] = "tombstone"
    assert event(JSONDecoder(fields), content) == Event({}, None, 5, kind=Kind.TOMBSTONE)
    of_labels = Fields(target="y", key="id", default_kind=Kind.LABEL)
    assert event(JSONDecoder(of_labels), {"y": "no", "id": 5}).kind is Kind.LABEL


def test_key_and_time_of_the_source_are_for_records_that_name_none():
    decoder = JSONDecoder(Fields(key="id", time="at"))
    raw = b'{"a": 1}'
    found = decoder.decode(raw, key="k", time=2.5)
    assert (found.key, found.time) == ("k", 2.5)
    found = decoder.decode(b'{"a": 1, "id": "other", "at": 1}', key="k", time=2.5)
    assert (found.key, found.time) == ("other", 1.0)


@pytest.mark.parametrize(
    ("unit", "given", "seconds"),
    [
        ("s", 1.5, 1.5),
        ("ms", 1500, 1.5),
        ("us", 1_500_000, 1.5),
        ("ns", 1_500_000_000, 1.5),
        ("s", "1970-01-01T01:00:00+01:00", 0.0),
        ("iso", "1970-01-01T00:00:10Z", 10.0),
        ("iso", "1970-01-02", 86400.0),  # without an offset it is UTC
    ],
)
def test_event_time_is_seconds_since_1970_whatever_it_was(unit, given, seconds):
    assert event(JSONDecoder(Fields(time="at", time_unit=unit)), {"at": given}).time == seconds


@pytest.mark.parametrize("given", [True, "yesterday", "9" * 400, 10**400, "0000-01-01"])
def test_what_is_no_time_is_a_bad_record(given):
    detail = refused(JSONDecoder(Fields(time="at")), {"at": given}, DecodeReason.WRONG_TYPE)
    assert detail.startswith("field 'at': expected a finite number of s since 1970, or a date and time")


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (
            {"sky": [SECRET]},
            "field 'sky': expected text, a number, true or false, got an array of 1 items; to leave it out: "
            "--ignore 'sky', or ignore = ['sky'] in a pipeline file",
        ),
        (
            {"wind": 1.0, "rain": {"a": SECRET}},
            "field 'rain': expected text, a number, true or false, got an object of 1 fields",  # the target
        ),
        ({"wind": SECRET}, "field 'wind': expected a number, got text of 6 characters"),
        ({"wind": True}, "field 'wind': expected a number, got true or false"),
        ({"wind": 10**400}, "field 'wind': expected a number, got one out of range"),
        ([SECRET], "Expected `object`, got `array`"),
        (b'{"wind": 1e999}', "Number out of range - at `$[...]`"),
        (b'{"sky": %s}' % (b"9" * 5000), "Integer value out of range - at `$[...]`"),
    ],
)
def test_a_wrong_type_is_told_by_field_type_and_size_and_never_by_content(content, detail):
    assert refused(JSONDecoder(schema=SCHEMA), content, DecodeReason.WRONG_TYPE) == detail


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", DecodeReason.NOT_JSON),
        (b"\x00", DecodeReason.NOT_JSON),
        (b'{"sky": "a\x00b"}', DecodeReason.NOT_JSON),
        (b'{"sky": "grey"', DecodeReason.NOT_JSON),
        (b'{"sky": "grey"} x', DecodeReason.NOT_JSON),
        (b'{"sky": nan}', DecodeReason.NOT_JSON),
        (b'{"sky": NaN', DecodeReason.NOT_JSON),
        (b"[NaN]", DecodeReason.WRONG_TYPE),
        (b'{"sky": "NaN" grey}', DecodeReason.NOT_JSON),
        (b'{"wind": NaN, "sky": ' + b"[" * 10_000 + b"}", DecodeReason.NOT_JSON),
        (b'{"wind": -Infinity}', DecodeReason.WRONG_TYPE),
        (b'{"sky": "\\ud800"}', DecodeReason.NOT_JSON),
        (b'\xef\xbb\xbf{"sky": 1}', DecodeReason.NOT_JSON),
        (b'{"sky": "\xff"}', DecodeReason.NOT_UTF8),
        (b'{"sky": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", DecodeReason.TOO_DEEP),
        (b'{"else": ' + b'{"a":' * 10**5 + b"1" + b"}" * 10**5 + b"}", DecodeReason.TOO_DEEP),
        (b'{"sky": "%s"}' % (b"x" * 2**20), DecodeReason.TOO_LONG),
    ],
)
def test_what_is_no_record_is_a_bad_record(raw, reason):
    refused(JSONDecoder(schema=SCHEMA), raw, reason)


def test_a_nul_that_is_escaped_is_text_like_any_other():
    assert event(JSONDecoder(), {"sky": "a\0b"}).x == {"sky": "a\0b"}


def test_a_schema_drops_what_it_does_not_declare_and_turns_whole_numbers_into_floats():
    found = event(JSONDecoder(schema=SCHEMA), {"sky": 3, "wind": 4, "rain": "no", "more": [SECRET]})
    assert found == Event({"sky": 3, "wind": 4.0}, "no")
    assert type(found.x["sky"]) is int and type(found.x["wind"]) is float


def test_a_schema_that_refuses_unknown_features_refuses_unknown_fields():
    strict = Schema({"sky": Nominal(), "wind": Numeric()}, target="rain", unknown="refuse")
    decoder = JSONDecoder(Fields(ignore=["note"], key="id"), strict)
    assert event(decoder, {"sky": "grey", "wind": 1, "rain": "no", "note": [1], "id": 5}) == Event(
        {"sky": "grey", "wind": 1.0}, "no", 5
    )
    assert refused(decoder, {"sky": "grey", "more": SECRET}, DecodeReason.UNKNOWN_FIELD).endswith(
        "the field 'more'"
    )
    assert "expected a number" in refused(decoder, {"wind": SECRET}, DecodeReason.WRONG_TYPE)


def test_a_required_field_must_hold_a_value():
    decoder = JSONDecoder(Fields(key="id", required=["id", "sky"]))
    assert event(decoder, {"id": 1, "sky": ""}).x == {"sky": ""}
    for content in ({"id": 1}, {"id": 1, "sky": None}):
        assert (
            refused(decoder, content, DecodeReason.MISSING_FIELD)
            == "expected a field 'sky' with a value in it"
        )


def test_ignored_fields_may_be_anything_and_only_those_asked_for_are_features():
    assert event(JSONDecoder(Fields(ignore=["b"])), {"a": 1, "b": [SECRET]}).x == {"a": 1}
    assert event(JSONDecoder(Fields(only=["a"])), {"a": 1, "b": [SECRET]}).x == {"a": 1}
    assert event(JSONDecoder(Fields(ignore=["wind"]), SCHEMA), {"sky": 1, "wind": [SECRET]}).x == {"sky": 1}


def test_objects_in_objects_become_fields_if_they_are_flattened():
    decoder = JSONDecoder(Fields(target="to.y", flatten=True))
    assert event(decoder, {"a": {"b": {"c": 1}, "d": 2}, "to": {"y": 3}}) == Event({"a.b.c": 1, "a.d": 2}, 3)
    assert "an array of 1 items" in refused(decoder, {"a": {"b": [1]}}, DecodeReason.WRONG_TYPE)
    assert (
        refused(decoder, {"a": {"b": 1}, "a.b": 2}, DecodeReason.WRONG_TYPE) == "two fields are named 'a.b'"
    )
    deep: object = 1
    for _ in range(33):
        deep = {"x" * 1000: deep}
    refused(decoder, deep, DecodeReason.TOO_DEEP)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fields(target="a", key="a"), "each field has one role"),
        (lambda: Fields(time_unit="h"), "time_unit: expected one of s, ms, us, ns, iso, got 'h'"),
        (lambda: Fields(ignore="abc"), "ignore: expected a list of fields, got the text 'abc'"),
        (lambda: Fields(target="a", only=["a"]), "only: 'a' is ignored or has a role"),
        (lambda: Fields(ignore=["a"], required=["a"]), "required: 'a' is ignored"),
        (lambda: JSONDecoder(Fields(only=["more"]), SCHEMA), "only: the schema does not declare"),
        (lambda: JSONDecoder(Fields(required=["more"]), SCHEMA), "required: the schema does not declare"),
    ],
)
def test_fields_that_contradict_themselves_or_the_schema_are_refused(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


def test_raw_bytes_are_the_event_whatever_they_are():
    found = RawDecoder().decode(b"\xff\x00", 7, key=b"k", time=1.0)
    assert found == Event(b"\xff\x00", None, b"k", 1.0, 7)  # type: ignore[arg-type]  # x is the record
    with pytest.raises(BadValue, match="'raw' has no fields"):
        RawDecoder(Fields(target="y"))


def test_a_frame_is_taken_off_and_must_be_there():
    decoder = ConfluentJSONDecoder(schema=SCHEMA)
    assert decoder.decode(b'\x00\x00\x00\x00\x07{"sky": "grey"}') == Event({"sky": "grey"})
    for raw in (b"", b"\x00\x00\x00\x00", b'{"sky": "grey"}'):
        refused(decoder, raw, DecodeReason.NOT_FRAMED)
    refused(decoder, b"\x00\x00\x00\x00\x07{", DecodeReason.NOT_JSON)


def test_users_add_decoders_by_name():
    class Halves(Decoder):
        name = "halves"

        def content(self, raw):
            if not raw:
                raise Undecodable("empty", "expected something")
            name, value = raw.decode().split("=")
            return {name: value}

    register_decoder(Halves)
    assert "halves" in decoder_names()
    decoder = make_decoder("halves", Fields(target="y"))
    assert decoder.decode(b"a=1") == Event({"a": "1"})
    nothing = decoder.decode(b"")
    assert isinstance(nothing, BadRecord)
    assert nothing.reason == "empty"
    assert refused(decoder, SECRET.encode(), DecodeReason.DECODER_FAILED).startswith(
        "the decoder 'halves' raised ValueError"
    )
    refused(decoder, b"\xff", DecodeReason.NOT_UTF8)

    class Other(Decoder):
        name = "halves"

        def content(self, raw):
            return {}

    with pytest.raises(BadValue, match="give Other another name"):
        register_decoder(Other)
    with pytest.raises(BadValue, match=r"expected one of .*json.*, got 'jsn'"):
        make_decoder("jsn")


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)


@given(st.dictionaries(st.text(), SCALARS))
def test_every_object_of_scalars_is_an_event_with_just_these_features(content):
    raw = json.dumps(content).encode()
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in json.loads(raw).__repr__()):
        return
    found = JSONDecoder().decode(raw)
    assert isinstance(found, Event) and found.x == json.loads(raw)


DECODERS = [
    JSONDecoder(Fields(target="a", key="b", time="c", weight="d", kind="e", required=["f"])),
    JSONDecoder(schema=SCHEMA),
    JSONDecoder(Fields(flatten=True, ignore=["a"])),
    ConfluentJSONDecoder(schema=Schema({"a": Numeric()}, unknown="refuse")),
]
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abcdef") | st.text(), inner)
)


@given(
    st.binary() | JUNK.map(lambda content: json.dumps(content).encode()),
    st.sampled_from(DECODERS),
    st.booleans(),
)
def test_no_bytes_whatsoever_make_a_decoder_raise(raw, decoder, framed):
    found = decoder.decode(b"\0\0\0\0\1" + raw if framed else raw, 5, length=3)
    assert isinstance(found, (Event, BadRecord)) and found.after == 8
    if isinstance(found, BadRecord):
        assert DecodeReason(found.reason) is not DecodeReason.DECODER_FAILED


def test_a_record_that_is_too_long_costs_no_memory():
    raw = b'{"a": "' + b"x" * 10**8 + b'"}'
    decoder = JSONDecoder(max_record_bytes=1000)
    tracemalloc.start()
    try:
        found = decoder.decode(raw)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert isinstance(found, BadRecord)
    assert found.detail == "expected at most 1000 bytes, got 100000009"


def installed(directory: Path, entry_point: str, code: str) -> None:
    """Write a package with an entry point for decoders, as pip would install it."""
    (directory / "wordy.py").write_text(code)
    metadata = directory / "wordy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wordy\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[stream_bayes.decoders]\n{entry_point}\n")


WORDS = """
from stream_bayes.streams.records.decoder import Decoder

class Words(Decoder):
    name = "words-of-wordy"

    def content(self, raw):
        return dict.fromkeys(raw.decode().split(), True)
"""
TOPIC_OF_WORDS = """
name = "n"
source = { kind = "kafka", topic = "days", decoder = "words-of-wordy" }
model = { kind = "nb" }
kafka = { servers = ["localhost:9092"] }
"""


@pytest.mark.needs("kafka")
def test_a_pipeline_file_names_the_decoder_of_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadConfig, match="there is no decoder 'words-of-wordy'"):
        parse_config(TOPIC_OF_WORDS)
    installed(tmp_path, "words-of-wordy = wordy:Words", WORDS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry.DECODERS, "_loaded", dict(registry.DECODERS._loaded))
    assert "words-of-wordy" in decoder_names()
    config = parse_config(TOPIC_OF_WORDS)
    source = kafka_parts(config, None).source
    assert isinstance(source, KafkaSource)
    record = source.decoders["days"].decode(b"cheap pills")
    assert isinstance(record, Event) and record.x == {"cheap": True, "pills": True}


@pytest.mark.parametrize(
    ("entry_point", "message"),
    [
        ("words-of-wordy = wordy:Nothing", "wordy:Nothing cannot be imported: AttributeError"),
        ("words-of-wordy = nowhere:Words", "nowhere:Words cannot be imported: ModuleNotFoundError"),
        ("words-of-wordy = wordy:Decoder", "expected a non-empty str"),
        ("other-words = wordy:Words", "a decoder with the name 'words-of-wordy'; give both the same name"),
        ("words-of-wordy = json:loads", "expected a subclass of Decoder"),
    ],
)
def test_a_wrong_entry_point_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry_point: str, message: str
) -> None:
    installed(tmp_path, entry_point, WORDS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry.DECODERS, "_loaded", dict(registry.DECODERS._loaded))
    with pytest.raises(BadValue, match=message):
        make_decoder(entry_point.split()[0])


def test_a_command_of_bytes_that_are_no_text_is_a_bad_record() -> None:
    record = decode_command(b'{"command":"\xff"}', 0, Partition("days.commands"))
    assert isinstance(record, BadRecord) and record.reason == "not_json"


def test_a_record_with_thousands_of_fields_is_a_bad_record_unless_they_are_declared() -> None:
    names = [f"name-{number}" for number in range(5001)]
    raw = json.dumps(dict.fromkeys(names, 1)).encode()
    record = JSONDecoder(Fields()).decode(raw)
    assert isinstance(record, BadRecord) and record.reason == "too_many_fields"
    assert "max_fields = 5,000" in record.detail and "5,001" in record.detail
    assert isinstance(JSONDecoder(Fields(max_fields=5001)).decode(raw), Event)
    assert isinstance(JSONDecoder(Fields(only=names)).decode(raw), Event)
    assert isinstance(JSONDecoder(schema=Schema({name: Numeric() for name in names})).decode(raw), Event)


@pytest.mark.parametrize("schema", [None, Schema({"sky": Nominal(), "wind": Numeric()}, target="rain")])
def test_what_python_writes_for_a_number_that_is_none_is_missing(schema: Schema | None) -> None:
    decode = JSONDecoder(Fields(target="rain"), schema).decode
    written = json.dumps({"sky": "NaN", "wind": math.nan, "rain": "no"}).encode()
    assert decode(written) == decode(written.replace(b": NaN", b": null"))
    unlabelled = decode(json.dumps({"sky": "grey", "wind": 3.5, "rain": math.nan}).encode())
    assert isinstance(unlabelled, Event) and unlabelled.y is None


def test_to_ignore_an_object_is_to_ignore_its_fields() -> None:
    decoder = JSONDecoder(Fields(flatten=True, ignore=["who.home", "raw"]))
    assert event(decoder, {"who": {"age": 20, "home": {"zip": 8}, "homes": 2}, "raw": {"a": [1]}}).x == {
        "who.age": 20,
        "who.homes": 2,
    }
