"""The base of decoders whose records are objects: nested ones are flattened, envelopes opened, and types checked."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import Any, TypeAlias

from stream_bayes.core.events.event import ONE, TOMBSTONE, Event, Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Numeric
from stream_bayes.data.schema import MISSING, Schema
from stream_bayes.errors import SchemaError, Undecodable
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES, Decoder
from stream_bayes.streams.records.envelopes import ENVELOPES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.nested_fields import flattened
from stream_bayes.streams.records.undecodable import DecodeReason, described, shortened, undecodable

__all__ = ["Number", "ObjectDecoder", "Scalar"]

logger = logging.getLogger(__name__)

Number: TypeAlias = float | None
Scalar: TypeAlias = str | bool | int | float | None
SCALARS = frozenset({str, bool, int, float, type(None)})
NUMBERS = frozenset({int, float, type(None)})

MOST_NAMED = 8  # fields, in one message
MAX_WARNED = 100  # names of bad fields that are logged and counted each; further ones together
OTHERS = "..."


class ObjectDecoder(Decoder):
    """The base of decoders of objects. A subclass writes `_object`.

    Numeric features must be numbers; nominal ones text, numbers, true or false. Without a schema, text, true and false
    are nominal and numbers are numeric. None is a missing value.
    """

    def __init__(
        self,
        fields: Fields | None = None,
        schema: Schema | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(fields, schema, max_record_bytes)
        self._declared = _declared(self.fields, schema)
        self._kinds = _kinds(self.fields, schema)
        marked = {} if schema is None else schema.missing_features
        self._missing = {name: feature for name, feature in marked.items() if self.fields.is_feature(name)}
        self._numbers = [name for name, expected in (self._declared or {}).items() if expected is Number]
        self._number_names = frozenset(self._numbers)
        self._role_names = frozenset(self.fields.roles.values())
        self._drops = self.fields.on_bad_field == "missing"
        self._refuses = schema is not None and schema.unknown == "refuse"
        self._open = None if self.fields.envelope is None else ENVELOPES[self.fields.envelope]

    @abstractmethod
    def _object(self, raw: bytes) -> dict[str, Any]:
        """Return the object in a record as a new dict."""

    def _scalar(self, value: Any) -> Any:
        """Return a value of the format as one that an event holds. A subclass converts others than those of JSON."""
        return value

    def content(self, raw: bytes) -> dict[str, Any]:
        content = self._object(raw)
        if self._open is not None:
            content = self._open(content).fields
        return self._checked(self._arranged(content))

    def _made(
        self,
        raw: bytes,
        position: Position,
        partition: Partition,
        length: int,
        key: Any,
        time: float | None,
    ) -> Event:
        if self._open is None:
            return super()._made(raw, position, partition, length, key, time)
        opened = self._open(self._object(raw))
        key = key if opened.key is None else opened.key
        time = time if opened.time is None else opened.time
        if opened.kind is TOMBSTONE:
            name = self.fields.key
            fields = flattened(opened.fields) if self.fields.flatten else opened.fields
            key = key if name is None or fields.get(name) is None else self._scalar(fields[name])
            return Event({}, None, key, time, position, ONE, TOMBSTONE, partition, length)
        return self._event_of(
            self._checked(self._arranged(opened.fields)), position, partition, length, key, time
        )

    def _arranged(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that are used, flattened."""
        for name in self.fields.ignore:
            content.pop(name, None)
        if self.fields.flatten:
            content = flattened(content)
            for name in self.fields.ignore:
                for inner in [each for each in content if each == name or each.startswith(f"{name}.")]:
                    del content[inner]
        if self._declared is None:
            return content
        if self._refuses and (unknown := content.keys() - self._declared.keys()):
            raise undecodable(
                DecodeReason.UNKNOWN_FIELD, f"the schema does not declare the field {shortened(min(unknown))}"
            )
        return {name: content[name] for name in self._declared if name in content}

    def _checked(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields if all are as declared; with `on_bad_field="missing"`, features that are not are None."""
        absent = {feature: MISSING[content.get(name) is None] for name, feature in self._missing.items()}
        features: dict[str, Any] = {}
        for name, (kind, made) in self._kinds.items():
            if name in content:
                values = self._read(name, kind, len(made), content.pop(name))
                features.update(zip(made, values, strict=True))
        if self._drops:
            self._drop_bad_fields(content)
        for name in self._numbers:
            value = content.get(name)
            if value is None or type(value) is float:
                continue
            if type(value) is not int:
                raise _wrong(name, "a number", described(value))
            try:
                content[name] = float(value)
            except OverflowError:
                raise _wrong(name, "a number", "one out of range") from None
        if not SCALARS.issuperset(map(type, content.values())):
            name = next(name for name, value in content.items() if type(value) not in SCALARS)
            raise _wrong(
                name, "text, a number, true or false", described(content[name]), self._without(content)
            )
        content.update(features)
        content.update(absent)
        return content

    def _without(self, content: dict[str, Any]) -> str:
        """Return in words how to leave out the features that are no scalars."""
        names = [
            shortened(name)
            for name, value in content.items()
            if type(value) not in SCALARS and self.fields.is_feature(name)
        ][:MOST_NAMED]
        if not names:
            return ""
        options = " ".join(f"--ignore {name}" for name in names)
        reading = (
            "; to read the fields of an object: flatten = true there"
            if not self.fields.flatten and dict in map(type, content.values())
            else ""
        )
        return f"; to leave it out: {options}, or ignore = [{', '.join(names)}] in a pipeline file{reading}"

    def _read(self, name: str, kind: ColumnKind, width: int, value: Any) -> tuple[Any, ...]:
        """Return the features of a field by its kind; what is not of the kind is a bad field."""
        if value is None:
            return (None,) * width
        try:
            return kind.read(value)
        except ValueError as error:
            if not self._drops:
                raise _wrong(name, str(error), described(value)) from None
            self._count_bad_field(name, str(error), value)
            return (None,) * width

    def _drop_bad_fields(self, content: dict[str, Any]) -> None:
        """Set features of wrong types to None, and count them."""
        numbers, roles = self._number_names, self._role_names
        for name, value in content.items():
            kind = type(value)
            if name in roles or (kind in SCALARS and (name not in numbers or kind in NUMBERS)):
                continue
            content[name] = None
            self._count_bad_field(
                name, "a number" if name in numbers else "text, a number, true or false", value
            )

    def _count_bad_field(self, name: str, expected: str, value: Any) -> None:
        """Count a feature of a wrong type, and log the first one."""
        if self.bad_fields[name] == 0 and len(self.bad_fields) <= MAX_WARNED:
            logger.warning(
                "field %s: expected %s, got %s; it is taken as missing, here and in later records",
                shortened(name),
                expected,
                described(value),
            )
        self.bad_fields[name if len(self.bad_fields) < MAX_WARNED else OTHERS] += 1


def _wrong(name: str, expected: str, came: str, advice: str = "") -> Undecodable:
    return undecodable(
        DecodeReason.WRONG_TYPE, f"field {shortened(name)}: expected {expected}, got {came}{advice}"
    )


def _kinds(fields: Fields, schema: Schema | None) -> dict[str, tuple[ColumnKind, tuple[str, ...]]]:
    """Return the kind of each field whose values are read, and the features that these become."""
    kinds = {} if schema is None else schema.kinds
    return {
        name: (kind, schema.features_of[name])
        for name, kind in kinds.items()
        if schema is not None and fields.is_feature(name)
    }


def _declared(fields: Fields, schema: Schema | None) -> dict[str, Any] | None:
    """Return the type of each field that is used; None if all fields are."""
    if schema is not None:
        missing = [name for name in fields.only or () if name not in schema.columns]
        if missing:
            raise SchemaError(
                f"only: the schema does not declare {shown(missing)}; declare it, or leave it out"
            )
        features = {
            name: Number if isinstance(spec, Numeric) else Scalar
            for name, spec in schema.columns.items()
            if fields.is_feature(name)
        }
    elif fields.only is not None:
        features = dict.fromkeys(fields.only, Scalar)
    else:
        return None
    if undeclared := [name for name in fields.required if name not in features and fields.is_feature(name)]:
        raise SchemaError(
            f"required: the schema does not declare {shown(undeclared)}; declare it, or leave it out"
        )
    return {**dict.fromkeys(fields.roles.values(), Scalar), **features}
