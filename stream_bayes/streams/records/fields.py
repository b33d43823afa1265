"""Fields: the roles of a record's fields (label, key, time, ...). Assembler: a record's fields to an event."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stream_bayes.core.events.event import ONE, SAMPLE, TOMBSTONE, Event, Kind, Partition, Position
from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.data.schema import Schema, usual_target
from stream_bayes.errors import SchemaError
from stream_bayes.streams.records.envelopes import ENVELOPES
from stream_bayes.streams.records.undecodable import DecodeReason, described, shortened, undecodable

__all__ = ["MAX_FIELDS", "ROLES", "Assembler", "Fields", "kind_from", "seconds_from", "weight_from"]

MAX_FIELDS = 5000  # a record with more is a mistake or an attack: each new name costs memory for good
ON_BAD_FIELD = ("refuse", "missing")
ROLES = ("target", "key", "time", "weight", "kind")
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
KINDS = {kind.value: kind for kind in Kind if kind is not Kind.COMMAND}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The roles of a record's fields. Fields without a role are features.

    Parameters
    ----------
    target
        The field of the label. Default: the schema's target, if there is a schema. A list of fields for several
        targets: the label is then `{field: value}`, or None for a record without any of them.
    key
        The field that identifies the sample.
    time
        The field of the event's time: a number, or ISO 8601 text such as `2026-01-31T12:00:00+01:00`. Text without an
        offset is UTC.
    time_unit
        The unit of numbers since 1970 UTC: `"s"`, `"ms"`, `"us"` or `"ns"`. With `"iso"` no number is a time, so that
        `20260131` in a CSV file is a date.
    weight
        The field of the sample's weight; 1 if it is missing.
    kind
        The field of the kind: sample, label, correction or tombstone; `default_kind` if it is missing.
    default_kind
        Kind of a record without a kind; `Kind.LABEL` for a stream of labels.
    required
        Features and role fields that every record must have; without one it is a bad record.
    ignore
        Fields that are not features.
    only
        The fields that are features, if not all.
    flatten
        True to flatten nested objects into fields named `outer.inner`; otherwise they are refused. To ignore `outer`
        is to ignore all its fields.
    max_fields
        The most features of a record, unless a schema or `only` names them. A record with more is a bad record.
    envelope
        The object around the fields: `"debezium"` or `"cloudevents"`. Its key and time are the defaults of the event's.
    on_bad_field
        A feature of a wrong type: `"refuse"` the record, or count it and take the feature as `"missing"`.

    Raises
    ------
    SchemaError
        If one field is given two roles, or the unit of time is unknown.

    Examples
    --------
    >>> Fields(target="verdict", key="id", ignore=["comment"]).is_feature("comment")
    False
    """

    target: str | Sequence[str] | None = None
    key: str | None = None
    time: str | None = None
    time_unit: str = "s"
    weight: str | None = None
    kind: str | None = None
    default_kind: Kind = SAMPLE
    required: Sequence[str] = ()
    ignore: Sequence[str] = ()
    only: Sequence[str] | None = None
    flatten: bool = False
    max_fields: int = MAX_FIELDS
    envelope: str | None = None
    on_bad_field: str = "refuse"

    def __post_init__(self) -> None:
        if self.target is not None and not isinstance(self.target, str):
            names = tuple(self.target)
            if not names or len(set(names)) < len(names):
                raise SchemaError(f"target: expected one or more fields, each once, got {shown(list(names))}")
            object.__setattr__(self, "target", names)
        for name in ("required", "ignore", "only"):
            names = getattr(self, name)
            if isinstance(names, str):
                raise SchemaError(f"{name}: expected a list of fields, got the text {shown(names)}")
            if names is not None:
                object.__setattr__(self, name, tuple(names))
        self._check_choices()
        self._check_roles()

    def _check_choices(self) -> None:
        units = [*PER_SECOND, "iso"]
        if self.time_unit not in units:
            raise SchemaError(f"time_unit: expected one of {', '.join(units)}, got {shown(self.time_unit)}")
        if self.on_bad_field not in ON_BAD_FIELD:
            raise SchemaError(f"on_bad_field: expected refuse or missing, got {shown(self.on_bad_field)}")
        if self.envelope is not None and self.envelope not in ENVELOPES:
            raise SchemaError(f"envelope: expected one of {', '.join(ENVELOPES)}, got {shown(self.envelope)}")

    def _check_roles(self) -> None:
        """Refuse a field of two roles, or one that is wanted and ignored."""
        roles = self.roles
        if len(set(roles.values())) < len(roles):
            raise SchemaError(f"each field has one role, but these share one: {shown(roles)}")
        for name in self.only or ():
            if name in self.ignore or name in roles.values():
                raise SchemaError(
                    f"only: {shown(name)} is ignored or has a role of its own; leave it out of one"
                )
        for name in self.required:
            if not self.is_feature(name) and name not in roles.values():
                raise SchemaError(f"required: {shown(name)} is ignored; leave it out of one")

    @property
    def roles(self) -> dict[str, str]:
        """The names of the fields that are not features, by role; of several targets each has its own."""
        roles = {role: name for role in ROLES if (name := getattr(self, role)) is not None}
        if self.targets:
            del roles["target"]
            roles |= {f"target {name}": name for name in self.targets}
        return roles

    @property
    def targets(self) -> tuple[str, ...]:
        """The fields of several targets; empty for one, or none."""
        return self.target if isinstance(self.target, tuple) else ()

    @property
    def all_targets(self) -> tuple[str, ...]:
        """The fields of the targets: several, one, or none."""
        return (self.target,) if isinstance(self.target, str) else self.targets

    def label_name(self, features: Iterable[str]) -> str:
        """Return the name of the label in a schema of these features: the usual one without a target, or of several."""
        return self.target if isinstance(self.target, str) else usual_target(features)

    def labels(self, values: Mapping[str, Any]) -> Any:
        """Return the label of a record from its values by role."""
        if not self.targets:
            return values.get("target")
        label = {name: values.get(f"target {name}") for name in self.targets}
        return None if all(map(is_missing, label.values())) else label

    def with_schema(self, schema: Schema | None) -> Fields:
        """Return these fields, with the schema's target if none is given."""
        if schema is None or self.target is not None or schema.target in self.roles.values():
            return self
        values = {name: getattr(self, name) for name in self.__slots__}
        return Fields(**{**values, "target": schema.target})

    def of_labels(self, target: str | None = None) -> Fields:
        """Return the fields of labels for these samples that have a topic of their own.

        The field of the label is `target` if it has another name than in the samples. A record without the fields of
        key and time has those of its message.
        """
        return Fields(
            target=target or self.target,
            key=self.key,
            time=self.time,
            time_unit=self.time_unit,
            flatten=self.flatten,
            default_kind=Kind.LABEL,
        )

    def is_feature(self, name: str) -> bool:
        """Return True if a field is a feature."""
        if name in self.roles.values() or name in self.ignore:
            return False
        return self.only is None or name in self.only


class Assembler:
    """The construction of events from the fields of records.

    Examples
    --------
    >>> assembler = Assembler(Fields(target="rain", time="at", time_unit="ms"))
    >>> assembler.event({"sky": "grey", "rain": True, "at": 1500}, 7, Partition("log"), 1)
    Event(x={'sky': 'grey'}, y=True, time=1.5, position=7, partition=Partition(source='log', partition=0))
    """

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self._target: Any = fields.target  # one, or None, which is the name of no field
        self._roles = tuple(fields.roles.items())
        # A faster path for most records: a label and features.
        plain = fields.roles.keys() <= {"target"} and fields.default_kind is SAMPLE and not fields.required
        if plain:
            self.event: Callable[..., Event] = self._sample
        else:
            self.event = self._event

    def _sample(
        self,
        content: dict[str, Any],
        position: Position,
        partition: Partition,
        length: int,
        key: Any = None,
        time: float | None = None,
    ) -> Event:
        label = content.pop(self._target, None)
        return Event(content, label, key, time, position, ONE, SAMPLE, partition, length)

    def _event(
        self,
        content: dict[str, Any],
        position: Position,
        partition: Partition,
        length: int,
        key: Any = None,
        time: float | None = None,
    ) -> Event:
        """Return the event of a record. `content` becomes its features; `key` and `time` are the defaults."""
        fields = self.fields
        for name in fields.required:
            if is_missing(content.get(name)):
                raise undecodable(
                    DecodeReason.MISSING_FIELD, f"expected a field {shortened(name)} with a value in it"
                )
        taken = {role: content.pop(name, None) for role, name in self._roles}
        kind = kind_from(taken.get("kind"), fields)
        if "time" in taken and (moment := seconds_from(taken["time"], fields)) is not None:
            time = moment
        if taken.get("key") is not None:
            key = taken["key"]
        weight = weight_from(taken.get("weight"), fields)
        label = None if kind is TOMBSTONE else fields.labels(taken)
        features: Mapping[str, Any] = content if kind is SAMPLE else {}
        return Event(features, label, key, time, position, weight, kind, partition, length)


def kind_from(value: object, fields: Fields) -> Kind:
    """Return the kind of an event from the value of its field."""
    if value is None:
        return fields.default_kind
    kind = KINDS.get(value) if isinstance(value, str) else None
    if kind is None:
        raise undecodable(
            DecodeReason.WRONG_TYPE,
            f"field {shortened(fields.kind)}: expected one of {', '.join(KINDS)}, got {described(value)}",
        )
    return kind


def weight_from(value: object, fields: Fields) -> float:
    """Return a weight from the value of its field. The learner checks its range."""
    if value is None:
        return ONE
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise undecodable(
            DecodeReason.WRONG_TYPE,
            f"field {shortened(fields.weight)}: expected a number, got {described(value)}",
        )
    return float(value)


def seconds_from(value: object, fields: Fields) -> float | None:
    """Return a time in seconds since 1970 UTC from the value of its field."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        if not isinstance(value, bool) and isinstance(value, (int, float)) and fields.time_unit != "iso":
            seconds = value / PER_SECOND[fields.time_unit]
            if math.isfinite(seconds):
                return seconds
    except (ValueError, OverflowError):
        pass
    number = "" if fields.time_unit == "iso" else f"a finite number of {fields.time_unit} since 1970, or "
    raise undecodable(
        DecodeReason.WRONG_TYPE,
        f"field {shortened(fields.time)}: expected {number}a date and time as in 2026-01-31T12:00:00Z, "
        f"got {described(value)}",
    )
