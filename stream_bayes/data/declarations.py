"""Declarations of columns: a feature as it is, or a kind that reads cells; from shorthand, JSON and TOML and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TypeAlias

from stream_bayes.core.values.values import JSONValue, shown
from stream_bayes.data.amounts import Amount
from stream_bayes.data.codes import Code
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.coordinates import Coordinates
from stream_bayes.data.dates import Date
from stream_bayes.data.features import Numeric, Spec, feature_from_json, spec_of, spec_to_json
from stream_bayes.data.texts import Text
from stream_bayes.errors import BadState, SchemaError

__all__ = [
    *(
        "KINDS",
        "ColumnDeclaration",
        "declared",
        "declared_from_json",
        "declared_to_json",
        "expanded",
        "features_table",
    ),
    "kind_from_options",
]

ColumnDeclaration: TypeAlias = Spec | ColumnKind
KINDS: dict[str, type[ColumnKind]] = {kind.word: kind for kind in (Amount, Date, Coordinates, Text, Code)}


def declared(name: object, given: object) -> ColumnDeclaration:
    """Return the declaration of a column; the word of a kind is short for the kind without options."""
    if isinstance(given, ColumnKind):
        return given
    if isinstance(given, str) and given in KINDS:
        return KINDS[given]()
    return spec_of(name, given)


def kind_from_options(word: str, options: Mapping[str, object]) -> ColumnKind:
    """Return a kind by its word and options. Raise `SchemaError` if they do not fit."""
    try:
        return KINDS[word](**options)
    except TypeError:
        fields = ", ".join(name for name in KINDS[word].__annotations__ if name not in ("word", "_factors"))
        raise SchemaError(
            f"a column of the kind {word!r} takes {fields}, but came with {shown(dict(options))}"
        ) from None


def expanded(
    columns: Mapping[str, ColumnDeclaration], blanks: Collection[str] = ()
) -> tuple[dict[str, dict[str, Spec]], dict[str, str]]:
    """Return the features that each column becomes, and the feature of whether its cell is missing.

    A feature whose name another column has gets `_` after its name.

    Examples
    --------
    >>> from stream_bayes import Amount, Nominal
    >>> made, missing = expanded({"price": Amount(["$", "€"]), "price unit": Nominal()}, ["price"])
    >>> made["price"], missing
    ({'price': Numeric(), 'price unit_': Nominal(('$', '€'))}, {'price': 'price missing'})
    """
    taken = set(columns)

    def free(feature: str) -> str:
        while feature in taken:
            feature += "_"
        taken.add(feature)
        return feature

    made: dict[str, dict[str, Spec]] = {}
    for name, column in columns.items():
        features = column.features(name) if isinstance(column, ColumnKind) else {name: column}
        made[name] = {}
        for feature, spec in features.items():
            made[name][feature if feature == name else free(feature)] = spec
    return made, {name: free(f"{name} missing") for name in blanks}


def declared_to_json(column: ColumnDeclaration) -> dict[str, JSONValue]:
    """Return a declaration as JSON."""
    if isinstance(column, ColumnKind):
        return {"kind": column.word, **column.options()}
    return spec_to_json(column)


def declared_from_json(saved: object) -> tuple[str, ColumnDeclaration]:
    """Return a column's name and declaration as a schema saved them. Raise `BadState` for anything else."""
    if type(saved) is list and len(saved) == 2 and type(saved[0]) is str and isinstance(saved[1], dict):
        name, options = saved[0], dict(saved[1])
        word = options.pop("kind", None)
        if isinstance(word, str) and word in KINDS:
            try:
                return name, kind_from_options(word, options)
            except SchemaError as error:
                raise BadState(f"a saved schema: feature {shown(name)}: {error}") from None
    return feature_from_json(saved)


def features_table(columns: Mapping[str, ColumnDeclaration]) -> str:
    """Return declarations as the table [schema.features] of a pipeline file.

    Examples
    --------
    >>> from stream_bayes import Amount, Nominal, Numeric
    >>> columns = {"sky": Nominal(), "wind, m/s": Numeric(cuts=[2.5]), "price": Amount(["$"])}
    >>> print(features_table(columns), end="")
    [schema.features]
    sky = "nominal"
    "wind, m/s" = { kind = "numeric", cuts = [2.5] }
    price = { kind = "amount", units = ["$"] }
    """
    lines = [f"{_toml_key(str(name))} = {_toml_declaration(column)}" for name, column in columns.items()]
    return "\n".join(["[schema.features]", *lines]) + "\n"


def _toml_declaration(column: ColumnDeclaration) -> str:
    options: Mapping[str, object]
    if isinstance(column, ColumnKind):
        word, options = column.word, column.options()
    elif isinstance(column, Numeric):
        word, options = "numeric", {} if column.cuts is None else {"cuts": list(column.cuts)}
    else:
        word, options = "nominal", {}
        if column.values:
            options = options | {"values": list(column.values)}
        if column.max_values is not None:
            options = options | {"max_values": column.max_values}
        if column.closed:
            options = options | {"closed": True}
    if not options:
        return _toml(word)
    parts = [f"kind = {_toml(word)}", *(f"{name} = {_toml(value)}" for name, value in options.items())]
    return f"{{ {', '.join(parts)} }}"


def _toml(value: object) -> str:
    """Return text, a number or a list as TOML, whose strings are written as those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _toml_key(name: str) -> str:
    is_bare = name and name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else _toml(name)
