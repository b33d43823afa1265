"""Envelopes: the objects that change-data capture and event routers put around a record's fields.

debezium      {"before": {...}, "after": {...}, "op": "u", "ts_ms": 1700000000000}, also under "payload"
cloudevents   {"specversion": "1.0", "id": "...", "source": "...", "time": "...", "data": {...}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from stream_bayes.core.events.event import SAMPLE, TOMBSTONE, Kind
from stream_bayes.errors import Undecodable
from stream_bayes.streams.records.undecodable import DecodeReason, described, undecodable

__all__ = ["ENVELOPES", "Opened", "opened_cloudevent", "opened_debezium"]


class Opened(NamedTuple):
    """The contents of an envelope."""

    fields: dict[str, Any]
    key: Any = None  # key and time of the envelope; None without one
    time: float | None = None
    kind: Kind = SAMPLE  # a tombstone for a deleted row


def opened_debezium(content: Mapping[str, Any]) -> Opened:
    """Return the row after a change, or the deleted row as a tombstone.

    Examples
    --------
    >>> opened_debezium({"before": None, "after": {"sky": "grey"}, "op": "c", "ts_ms": 1500})
    Opened(fields={'sky': 'grey'}, key=None, time=1.5, kind=<Kind.SAMPLE: 'sample'>)
    """
    payload = content.get("payload", content) if "op" not in content else content
    if not isinstance(payload, Mapping) or not isinstance(payload.get("op"), str):
        raise _not_enveloped("a Debezium change with the fields op, before and after", payload)
    is_deleted = payload["op"] == "d"
    side = "before" if is_deleted else "after"
    row = payload.get(side)
    if is_deleted and row is None:
        row = {}  # the table's replica identity holds no old rows; the record's key names the row
    if not isinstance(row, dict):
        raise _not_enveloped(f"the row of a Debezium change under {side!r} (op {payload['op']!r})", row)
    moment = payload.get("ts_ms")
    time = moment / 1000 if isinstance(moment, (int, float)) and not isinstance(moment, bool) else None
    return Opened(row, None, time, TOMBSTONE if is_deleted else SAMPLE)


def opened_cloudevent(content: Mapping[str, Any]) -> Opened:
    """Return the data of an event; its id is the key.

    Examples
    --------
    >>> opened_cloudevent({"specversion": "1.0", "id": "a-1", "data": {"sky": "grey"}})
    Opened(fields={'sky': 'grey'}, key='a-1', time=None, kind=<Kind.SAMPLE: 'sample'>)
    """
    if "specversion" not in content:
        raise _not_enveloped("a CloudEvent in structured mode, with the field specversion", content)
    data, moment = content.get("data"), content.get("time")
    if not isinstance(data, dict):
        raise _not_enveloped("a JSON object under the CloudEvent's data", data)
    time = None
    if moment is not None:
        try:
            time = datetime.fromisoformat(moment).timestamp()
        except (TypeError, ValueError):
            raise _not_enveloped("a CloudEvent whose time is a date and time of RFC 3339", moment) from None
    return Opened(data, content.get("id"), time)


def _not_enveloped(expected: str, got: object) -> Undecodable:
    return undecodable(DecodeReason.WRONG_TYPE, f"expected {expected}, got {described(got)}")


ENVELOPES: Mapping[str, Callable[[Mapping[str, Any]], Opened]] = {
    "debezium": opened_debezium,
    "cloudevents": opened_cloudevent,
}
