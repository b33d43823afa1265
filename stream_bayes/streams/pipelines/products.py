"""Registries of what products add to pipeline files: kinds of sources and sinks, tables, the parts they describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stream_bayes.data.schema import Schema
from stream_bayes.registry import Registry
from stream_bayes.streams.contracts.recovery import Recovery
from stream_bayes.streams.contracts.sink import Sink
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.pipelines.config_base import ProductTable, SinkTable, SourceTable
from stream_bayes.streams.records.decoder import Decoder

__all__ = ["PARTS", "SINKS", "SOURCES", "TABLES", "Messages", "ProductParts", "product_parts"]

CONFIG = "stream_bayes.streams.pipelines.config"

# The tables of sources and of sinks by their `kind`, and the further tables of a file by their names.
SOURCES: Registry[type[SourceTable]] = Registry(
    "kind of source", "sources", {"csv": f"{CONFIG}:CSVConfig", "jsonl": f"{CONFIG}:JSONLinesConfig"}
)
SINKS: Registry[type[SinkTable]] = Registry(
    "kind of sink", "sinks", {"csv": f"{CONFIG}:FileSinkConfig", "jsonl": f"{CONFIG}:FileSinkConfig"}
)
TABLES: Registry[type[ProductTable]] = Registry("table of a pipeline file", "tables")


class ProductParts(NamedTuple):
    """The parts of a pipeline that a product makes together, as they share a connection; None for those of others."""

    source: Source | None = None
    predictions: Sink | None = None
    dead_letters: Sink | None = None
    recovery: Recovery | None = None


# By the name of the table whose presence asks for them. A maker takes the configuration, the stream's schema, whether a
# gap is accepted, and what makes the decoder of messages up to a number of bytes, for a model that reads these.
Messages = Callable[[int], Decoder]
PARTS: Registry[Callable[[Any, Schema | None, bool, Messages | None], ProductParts]] = Registry(
    "product of a pipeline file", "parts"
)


def product_parts(
    config: Any, schema: Schema | None, accept_gap: bool, messages: Messages | None = None
) -> ProductParts:
    """Return the parts that a product makes for a pipeline."""
    for name in PARTS:
        if getattr(config, name, None) is not None:
            return PARTS[name](config, schema, accept_gap, messages)
    return ProductParts()
