"""Records in the frame of Confluent's serializers.

byte  0        always 0
bytes 1 to 4   the id of the schema in a registry, the most significant byte first
bytes 5 on     the record
"""

from __future__ import annotations

from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.records.undecodable import DecodeReason, undecodable

__all__ = ["FRAME_BYTES", "ConfluentJSONDecoder", "schema_id", "unframed"]

FRAME_BYTES = 5


class ConfluentJSONDecoder(JSONDecoder):
    r"""A JSON object in the frame of Confluent's `json-schema` serializer.

    No registry is used: the schema given here declares the fields. A record of any registered version is read, as long
    as its fields are as declared. The frame counts as part of the record in `max_record_bytes`.

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

    def unframed(self, raw: bytes) -> bytes:
        return unframed(raw)


def schema_id(raw: bytes) -> int:
    r"""Return the id of the schema in a frame.

    Raises
    ------
    Undecodable
        If there is no frame.

    Examples
    --------
    >>> schema_id(b"\x00\x00\x00\x01\x02{}")
    258
    """
    if len(raw) < FRAME_BYTES or raw[0] != 0:
        raise undecodable(
            DecodeReason.NOT_FRAMED,
            f"expected a byte 0 and the four bytes of a schema's id, then the record; got {len(raw)} bytes without",
        )
    return int.from_bytes(raw[1:FRAME_BYTES], "big")


def unframed(raw: bytes) -> bytes:
    """Return the record in a frame.

    Raises
    ------
    Undecodable
        If there is no frame.
    """
    schema_id(raw)
    return raw[FRAME_BYTES:]
