"""The decoders by name: those of this package and its products, registered ones, and those of installed packages.

A package offers decoders to pipeline files by entry points, which are imported on first use:

    [project.entry-points."stream_bayes.decoders"]
    words = "my_package.decoders:Words"
"""

from __future__ import annotations

from typing import Any, TypeVar

from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.registry import Registry
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES, Decoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.schema_registry import Schemas

__all__ = [
    "DECODERS",
    "decoder_class",
    "decoder_names",
    "make_decoder",
    "needs_registry",
    "register_decoder",
]

D = TypeVar("D", bound=type[Decoder])

DECODERS: Registry[type[Decoder]] = Registry(
    "decoder",
    "decoders",
    {
        "json": "stream_bayes.streams.records.json_decoder:JSONDecoder",
        "confluent-json": "stream_bayes.streams.records.framed_decoder:ConfluentJSONDecoder",
        "avro": "stream_bayes.streams.records.avro_decoder:AvroDecoder",
        "raw": "stream_bayes.streams.records.decoder:RawDecoder",
    },
)


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
    registered = DECODERS.get(name, decoder)
    # A module may be loaded again.
    if registered is not decoder and registered.__qualname__ != decoder.__qualname__:
        raise BadValue(
            f"{registered.__name__} is the decoder {name!r} already; give {decoder.__name__} another name"
        )
    DECODERS.register(name, decoder)
    return decoder


def decoder_names() -> list[str]:
    """Return the names of the decoders, sorted; nothing is imported."""
    return sorted(DECODERS)


def make_decoder(
    name: str,
    fields: Fields | None = None,
    schema: Schema | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    registry: Schemas | None = None,
) -> Decoder:
    """Return a decoder by its name.

    Raises
    ------
    BadValue
        If there is none of this name, or an installed package does not provide the one that it names; or a registry of
        schemas is missing, or given to a decoder that uses none.
    MissingPackage
        If the decoder needs a package that is not installed.

    Examples
    --------
    >>> make_decoder("json").decode(b'{"sky": "grey"}')
    Event(x={'sky': 'grey'})
    """
    decoder: Any = decoder_class(name)
    if not decoder.uses_registry:
        if registry is not None:
            raise BadValue(f"registry: the decoder {name!r} uses none; leave it out, or choose 'avro'")
        return decoder(fields, schema, max_record_bytes)
    if registry is None:
        raise BadValue(
            f"registry: is missing, and the decoder {name!r} needs it; give the registry of its schemas"
        )
    return decoder(fields, schema, max_record_bytes, registry=registry)


def needs_registry(name: str) -> bool:
    """Return True for the name of a decoder that takes its schemas from a registry.

    Raises
    ------
    BadValue
        As of `make_decoder`.

    Examples
    --------
    >>> needs_registry("avro"), needs_registry("json")
    (True, False)
    """
    return decoder_class(name).uses_registry


def decoder_class(name: str) -> type[Decoder]:
    """Return the class of a decoder by its name.

    Raises
    ------
    BadValue
        As of `make_decoder`.
    """
    if name not in DECODERS:
        raise BadValue(f"decoder: expected one of {', '.join(decoder_names())}, got {shown(name)}")
    decoder = DECODERS[name]
    if not (isinstance(decoder, type) and issubclass(decoder, Decoder)):
        raise BadValue(f"decoder {name!r}: expected a subclass of Decoder, got {shown(decoder)}")
    if not isinstance(getattr(decoder, "name", None), str):
        raise BadValue(f"decoder {name!r}: expected a non-empty str as the name of its class, got none")
    if decoder.name != name:
        raise BadValue(
            f"decoder {name!r}: its entry point is a decoder with the name {decoder.name!r}; give both the same name"
        )
    return decoder
