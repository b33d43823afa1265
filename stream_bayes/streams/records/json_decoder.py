"""The decoder of JSON objects."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import msgspec

from stream_bayes.data.schema import Schema
from stream_bayes.errors import Undecodable
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.object_decoder import ObjectDecoder, Scalar
from stream_bayes.streams.records.undecodable import DecodeReason, undecodable

__all__ = ["JSONDecoder"]

# What Python's `json` writes of numbers that JSON does not have.
NO_NUMBERS = (b"NaN", b"Infinity")


class JSONDecoder(ObjectDecoder):
    """A JSON object: `{"sky": "grey", "wind": 3.5, "rain": true}`.

    Numeric features must be numbers; nominal ones text, numbers, true or false. A field of another kind, such as an
    `Amount`, is read as a cell of a file. Without a schema, text, true and false are nominal and numbers are numeric.
    `null` is a missing value, and so is the bare `NaN` that Python writes. Of two fields with one name the last counts.
    Fields that no event needs are skipped: only their brackets and quotes are checked.

    Examples
    --------
    >>> decoder = JSONDecoder(Fields(target="rain"))
    >>> decoder.decode(b'{"sky": "grey", "wind": 3.5, "rain": true}')
    Event(x={'sky': 'grey', 'wind': 3.5}, y=True)
    >>> decoder.decode(b'{"sky": ["grey"]}').detail
    "field 'sky': expected text, a number, true or false, got an array of 1 items; to leave it out: --ignore 'sky', or \
ignore = ['sky'] in a pipeline file"
    """

    name = "json"

    def __init__(
        self,
        fields: Fields | None = None,
        schema: Schema | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(fields, schema, max_record_bytes)
        # Usually one pass over the bytes decodes the fields, checks them, and drops those that are not declared.
        dropping = self._declared is None and bool(self.fields.ignore)
        reading = bool(self._kinds or self._missing)
        self._one_pass = not (self.fields.flatten or self._refuses or dropping or reading or self._open)
        record: Any = dict[str, Scalar]
        if self._declared is not None:
            # A type checker needs literal fields, and these are known at run time only.
            typed_dict: Any = TypedDict
            record = typed_dict("Record", self._declared, total=False)
        self._typed = msgspec.json.Decoder(record).decode
        self._untyped = msgspec.json.Decoder(dict[str, Any]).decode

    def content(self, raw: bytes) -> dict[str, Any]:
        if self._one_pass:
            text = self.unframed(raw)
            try:
                return self._typed(text)
            except msgspec.ValidationError:
                pass  # the slower way below finds the field
            except msgspec.DecodeError as error:
                if not _may_have_no_numbers(text):
                    raise _no_json(text, error) from None
        return super().content(raw)

    def unframed(self, raw: bytes) -> bytes:
        """Return the JSON in a record. A subclass removes a frame."""
        return raw

    def _object(self, raw: bytes) -> dict[str, Any]:
        text = self.unframed(raw)
        try:
            return self._untyped(text)
        except msgspec.ValidationError as error:  # not an object, or a number out of range
            raise undecodable(DecodeReason.WRONG_TYPE, f"{error}") from None
        except msgspec.DecodeError as error:
            content = _with_no_numbers(text) if _may_have_no_numbers(text) else None
            if content is None:
                raise _no_json(text, error) from None
            return content


def _may_have_no_numbers(text: bytes) -> bool:
    return any(name in text for name in NO_NUMBERS)


def _with_no_numbers(text: bytes) -> dict[str, Any] | None:
    """Return an object whose NaN are missing; None if it is no object of JSON otherwise.

    Raises
    ------
    Undecodable
        If a number is infinite.
    """

    def missing(name: str) -> None:
        if name != "NaN":
            raise undecodable(DecodeReason.WRONG_TYPE, f"expected finite numbers, got {name}")

    try:
        content = json.loads(text, parse_constant=missing)
    except Undecodable:
        raise
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _no_json(raw: bytes, error: msgspec.DecodeError) -> Undecodable:
    hint = "; if the file is in UTF-16: iconv -f utf-16 -t utf-8" if b"\0" in raw else ""
    return undecodable(DecodeReason.NOT_JSON, f"expected a JSON object, got {len(raw)} bytes: {error}{hint}")
