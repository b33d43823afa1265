"""The decoder of Avro records, whose schemas are in a registry."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from io import BytesIO
from typing import Any

from stream_bayes._build import install_command
from stream_bayes.data.dates import DATES_BY_TYPE
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, MissingPackage, Undecodable
from stream_bayes.streams.records.avro_types import PLAIN, check_sizes, plain_value
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.framed_decoder import FRAME_BYTES, schema_id
from stream_bayes.streams.records.object_decoder import ObjectDecoder
from stream_bayes.streams.records.schema_registry import RegisteredSchema, Schemas
from stream_bayes.streams.records.undecodable import DecodeReason, described, undecodable

__all__ = ["AvroDecoder"]


class AvroDecoder(ObjectDecoder):
    """A record of Avro in the frame of Confluent's serializer, read with the schema of its id.

    Each record is read with the schema that it was written with, so records of several versions may be in one topic: a
    field that a version does not have is missing. Numbers, text, enums and booleans are values, and null is a missing
    one. Of the logical types, decimals become numbers and uuids text; timestamps, dates and times of day become
    calendar features, as those of a file do. Where a schema declares one as a number, a timestamp is seconds since
    1970, a date days since 1970, and a time seconds of the day; so is a label or a key. Nested records, maps and
    envelopes are handled as those of JSON. A recursive schema is refused. The frame counts as part of the record in
    `max_record_bytes`.
    """

    name = "avro"
    uses_registry = True

    def __init__(
        self,
        fields: Fields | None = None,
        schema: Schema | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        registry: Schemas | None = None,
    ) -> None:
        super().__init__(fields, schema, max_record_bytes)
        if registry is None:
            raise BadValue(f"the decoder {self.name!r} needs a registry of schemas")
        self.registry = registry
        self._schemas: dict[int, Any] = {}  # parsed, or the error of one that cannot be used
        try:
            import fastavro
        except ImportError as error:
            raise MissingPackage(
                "fastavro, which reads records of Avro, is not installed; install it with: "
                f"{install_command('registry')}"
            ) from error
        self._reader: Callable[..., Any] = fastavro.schemaless_reader
        self._parse: Callable[..., Any] = fastavro.parse_schema

    def check(self) -> None:
        self.registry.check()

    def close(self) -> None:
        super().close()
        self.registry.close()

    def decoded_key(self, raw: bytes | None) -> str | bytes | None:
        """Return a key as text: one of Avro too, if it is framed. Of a record with one field this is its value."""
        if raw is None or raw[:1] != b"\0":
            return super().decoded_key(raw)
        key = self._value(raw)
        if isinstance(key, dict) and len(key) == 1:
            (key,) = key.values()
        if isinstance(key, (str, bytes)):
            return key
        return json.dumps(plain_value(key), default=_json_value, ensure_ascii=False, separators=(",", ":"))

    def _object(self, raw: bytes) -> dict[str, Any]:
        value = self._value(raw)
        if not isinstance(value, dict):
            raise undecodable(DecodeReason.WRONG_TYPE, f"expected a record of fields, got {described(value)}")
        return value

    def _arranged(self, content: dict[str, Any]) -> dict[str, Any]:
        content = super()._arranged(content)
        moment = self.fields.time
        for name, value in [*content.items()]:
            usual = DATES_BY_TYPE.get(type(value)) if self._declared is None else None
            if usual is not None and name not in self._role_names:
                del content[name]
                content |= zip(usual.features(name), usual.read(value), strict=True)
            elif type(value) in PLAIN and name not in self._kinds:
                # A time has a unit of its own, whatever the unit of numbers.
                is_time = name == moment and isinstance(value, (date, datetime))
                content[name] = value.isoformat() if is_time else plain_value(value)
        return content

    def _scalar(self, value: Any) -> Any:
        return plain_value(value)

    def _value(self, raw: bytes) -> Any:
        """Return the value in a frame."""
        number = schema_id(raw)
        parsed = self._schemas.get(number)
        if parsed is None:
            parsed = self._schemas[number] = self._registered(number)
        if isinstance(parsed, Undecodable):
            raise undecodable(DecodeReason.BAD_SCHEMA, parsed.detail)
        file = BytesIO(raw)
        file.seek(FRAME_BYTES)
        try:
            value = self._reader(file, parsed, None)
        except Exception as error:  # fastavro has no error of its own
            raise undecodable(
                DecodeReason.NOT_AVRO,
                f"expected a record of schema {number}, got {len(raw)} bytes that do not fit it: "
                f"{type(error).__name__}",
            ) from None
        if file.tell() != len(raw):
            raise undecodable(
                DecodeReason.NOT_AVRO,
                f"expected a record of schema {number}, got {len(raw) - file.tell()} bytes after its end",
            )
        return value

    def _registered(self, number: int) -> Any:
        """Return the parsed schema of an id; the error, if it cannot be used.

        Raises
        ------
        Undecodable
            If the registry has none.
        """
        registered = self.registry.schema(number)
        if registered is None:
            raise undecodable(
                DecodeReason.UNKNOWN_SCHEMA, f"the registry has no schema {number}; check the registry's url"
            )
        try:
            return self._parsed(registered)
        except Undecodable as error:
            return undecodable(DecodeReason.BAD_SCHEMA, f"schema {number}: {error.detail}")

    def _parsed(self, registered: RegisteredSchema) -> Any:
        if registered.kind != "AVRO":
            raise undecodable(
                DecodeReason.BAD_SCHEMA, f"expected a schema of Avro, got one of {registered.kind}"
            )
        named: dict[str, Any] = {}
        try:
            for text in registered.texts:
                parsed = self._parse(json.loads(text), named_schemas=named)
        except Exception as error:
            raise undecodable(
                DecodeReason.BAD_SCHEMA, f"it cannot be parsed: {type(error).__name__}"
            ) from None
        check_sizes(parsed, named)
        return parsed


def _json_value(value: Any) -> Any:
    """Return the JSON value for a value of a type that JSON lacks."""
    return value.hex() if isinstance(value, bytes) else plain_value(value)
