"""Records in the frame of Confluent's serializers.

byte  0        always 0
bytes 1 to 4   the number of the schema in a registry, the most significant byte first
bytes 5 on     the record
"""

from __future__ import annotations

from typing import Any

from stream_bayes.streams.records.bad_records import Reason, undecodable
from stream_bayes.streams.records.json_decoder import JSONDecoder

__all__ = ["ConfluentJSONDecoder", "unframed"]

FRAME_BYTES = 5


class ConfluentJSONDecoder(JSONDecoder):
    r"""A JSON object in the frame of Confluent's `json-schema` serializer.

    No registry is used: the schema given here declares the fields. A record of any registered version is read, as long
    as its fields are as declared.

    Parameters
    ----------
    fields, schema, max_record_bytes
        As of a `Decoder`; the frame counts as part of the record.

    Examples
    --------
    >>> from stream_bayes.streams.records.fields import Fields
    >>> decoder = ConfluentJSONDecoder(Fields(target="rain"))
    >>> decoder.decode(b'\x00\x00\x00\x00\x07{"sky": "grey", "rain": true}')
    Event(x={'sky': 'grey'}, y=True)
    >>> decoder.decode(b'{"sky": "grey"}').reason
    'not_framed'
    """

    name = "confluent-json"

    def content(self, raw: bytes) -> dict[str, Any]:
        return super().content(self.unframed(raw))

    def unframed(self, raw: bytes) -> bytes:
        return unframed(raw)


def unframed(raw: bytes) -> bytes:
    """Return the record in a frame.

    Raises
    ------
    Undecodable
        If there is no frame.
    """
    if len(raw) < FRAME_BYTES or raw[0] != 0:
        raise undecodable(
            Reason.NOT_FRAMED,
            f"expected a byte 0 and the four bytes of a schema's number, then the record; got {len(raw)} bytes without",
        )
    return raw[FRAME_BYTES:]
