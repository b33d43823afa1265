"""Encoders of a network's events: declared values, labels of a network given beforehand, and values as they come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from stream_bayes.core.counts.cut_points import bin_names
from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.live_networks.family_counts import EVENT
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.inputs import ALL, NONE, WHOLE, is_number
from stream_bayes.core.values.values import Value, shown
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import SchemaError

__all__ = ["encoder_of"]


def encoder_of(
    structure: Structure | None,
    schema: Schema | None,
    network: DiscreteNetwork | None,
    max_values: int | None,
) -> tuple[RowEncoder, dict[str, Sequence[float]]]:
    """Make the encoder of a network's events; return it with the cuts of numeric variables.

    Without a structure, all features are variables: those declared, or as they come.
    """
    refuse = schema is not None and schema.unknown == "refuse"
    labels: dict[Any, tuple[Value, ...]] = {} if network is None else dict(network.states)
    declared: dict[Any, Vocabulary | None] = {}
    cuts: dict[str, Sequence[float]] = {}
    for name, spec in ({} if schema is None else schema.features).items():
        values = labels.get(name, ())
        if isinstance(spec, Nominal):
            limit = max_values if spec.max_values is None else spec.max_values
            states = tuple(dict.fromkeys([*(spec.values or ()), *values]))
            if spec.closed and len(states) > len(spec.values or ()):
                _refuse_foreign(name, values, spec.values or ())
            declared[name] = Vocabulary(states, limit, spec.closed)
        elif spec.cuts is not None:
            _refuse_foreign(name, values, bin_names(spec.cuts))
            declared[name], cuts[name] = None, spec.cuts
        elif structure is None or name in structure or refuse:
            raise SchemaError(
                f"variable {shown(name)} is declared numeric, but a network takes values, or numbers in bins: declare "
                "its cuts, Numeric(cuts=[...]), take a MixedNetwork, or DynamicNetwork(..., numbers=True), or leave it "
                "out"
            )
    if schema is None and structure is not None:
        declared = {name: Vocabulary(labels.get(name, ()), max_values) for name in structure.variables}
    bins = Bins(max(len(edges) + 1 for edges in cuts.values())) if cuts else None
    as_they_come = schema is None and structure is None
    encoder = RowEncoder(
        Vocabulary((EVENT,), None, True),
        None if as_they_come else declared,
        refuse,
        "nominal",
        max_values,
        bins,
    )
    if schema is None:
        encoder.numbers_named = _numbers_named(labels.values())
    return encoder, cuts


def _numbers_named(labels: Collection[Iterable[Any]]) -> str:
    """Return the kind of numbers that may be values if nothing is declared.

    Whole numbers may, as tables of events are full of 0 and 1; other numbers are probably measurements. If labels are
    given and none is a number, a number is a mistake: 1 is not "1".
    """
    if not labels:
        return WHOLE
    return ALL if any(is_number(value) for values in labels for value in values) else NONE


def _refuse_foreign(name: str, values: Iterable[Value], declared: Iterable[Value]) -> None:
    labels = tuple(declared)
    for value in values:
        if value not in labels:
            raise SchemaError(
                f"variable {shown(name)}: the network given beforehand has the label {shown(value)}, the schema "
                f"declares {shown(labels)}"
            )
