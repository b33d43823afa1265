"""The encoder of named features under a schema."""

from __future__ import annotations

from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import SchemaError

__all__ = ["row_encoder"]


def row_encoder(
    labels: Vocabulary,
    schema: Schema | None,
    max_values: int | None,
    only: str | None = None,
    bins: Bins | None = None,
) -> RowEncoder:
    """Return an encoder of named features.

    `labels` is the vocabulary of the class. Without a schema every feature is encoded when it first comes. After
    `max_values` values of a feature, new ones share one code; a schema's own limit wins. `only` is the only kind of
    features that the learner takes, `"nominal"` or `"numeric"`; None: both. `bins` are the cut points of numeric
    features; None: numbers stay numbers.
    """
    if schema is None:
        return RowEncoder(labels, None, False, only, max_values, bins)
    declared: dict[str, Vocabulary | None] = {}
    for name, spec in schema.features.items():
        if isinstance(spec, Nominal):
            if only == "numeric":
                raise SchemaError(
                    f"feature {name!r} is declared nominal, but this learner takes numeric features only"
                )
            limit = max_values if spec.max_values is None else spec.max_values
            declared[name] = Vocabulary(spec.values or (), limit, spec.closed)
        else:
            if only == "nominal":
                raise SchemaError(
                    f"feature {name!r} is declared numeric, but without binning this learner takes nominal features "
                    "only"
                )
            declared[name] = None
    return RowEncoder(labels, declared, schema.unknown == "refuse", only, max_values, bins)
