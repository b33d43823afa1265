"""The decoders by name."""

from __future__ import annotations

from typing import TypeVar

from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.streams.records.bad_records import Reason
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES, Decoder, RawDecoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.framed_decoder import ConfluentJSONDecoder
from stream_bayes.streams.records.json_decoder import JSONDecoder

__all__ = [
    "MAX_RECORD_BYTES",
    "ConfluentJSONDecoder",
    "Decoder",
    "Fields",
    "JSONDecoder",
    "RawDecoder",
    "Reason",
    "decoder_names",
    "make_decoder",
    "register_decoder",
]

D = TypeVar("D", bound=type[Decoder])

DECODERS: dict[str, type[Decoder]] = {}


def register_decoder(decoder: D) -> D:
    """Register a decoder under its `name`; usable as a class decorator.

    Raises
    ------
    BadValue
        If it is not a decoder, or its name is taken.

    Examples
    --------
    >>> @register_decoder
    ... class Words(Decoder):
    ...     name = "words"
    ...
    ...     def content(self, raw):
    ...         return dict.fromkeys(raw.decode().split(), True)
    >>> make_decoder("words").decode(b"cheap pills")
    Event(x={'cheap': True, 'pills': True})
    """
    if not (isinstance(decoder, type) and issubclass(decoder, Decoder)):
        raise BadValue(f"expected a subclass of Decoder, got {shown(decoder)}")
    name = getattr(decoder, "name", None)
    if not isinstance(name, str) or not name:
        raise BadValue(f"{decoder.__name__}.name: expected a non-empty str, got {shown(name)}")
    known = DECODERS.setdefault(name, decoder)
    if known is not decoder and known.__qualname__ != decoder.__qualname__:  # a module may be loaded again
        raise BadValue(
            f"{known.__name__} is the decoder {name!r} already; give {decoder.__name__} another name"
        )
    DECODERS[name] = decoder
    return decoder


def decoder_names() -> list[str]:
    """Return the names of the decoders, sorted."""
    return sorted(DECODERS)


def make_decoder(
    name: str,
    fields: Fields | None = None,
    schema: Schema | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Decoder:
    """Return a decoder by its name.

    Raises
    ------
    BadValue
        If there is none of this name.

    Examples
    --------
    >>> make_decoder("json").decode(b'{"sky": "grey"}')
    Event(x={'sky': 'grey'})
    """
    if name not in DECODERS:
        raise BadValue(f"decoder: expected one of {', '.join(decoder_names())}, got {shown(name)}")
    return DECODERS[name](fields, schema, max_record_bytes)


for decoder in (JSONDecoder, ConfluentJSONDecoder, RawDecoder):
    register_decoder(decoder)
