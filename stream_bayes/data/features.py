"""Declarations of features, nominal or numeric: checked, inferred from a column, saved and loaded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias, cast

from stream_bayes.core.values.values import JSONValue, Value, canonical, shown, tagged_many, untagged_many
from stream_bayes.data.frame_columns import FrameCells, factorise, value_types
from stream_bayes.data.frames import labels_of
from stream_bayes.errors import BadLabel, BadState, BadValue, SchemaError

__all__ = [
    "DeclaredValues",
    "Nominal",
    "Numeric",
    "Spec",
    "checked_limit",
    "declared_values",
    "feature_from_json",
    "inferred_spec",
    "json_fields",
    "spec_of",
    "spec_to_json",
]

DeclaredValues: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Nominal:
    """A feature whose values are names, without order.

    Parameters
    ----------
    values
        The values known in advance. They keep this order, and count as values even without a sample.
    max_values
        Maximum number of values, which bounds memory: beyond it, new ones share one code.
    closed
        True to refuse other values at learning; otherwise they are added.

    Examples
    --------
    >>> Nominal(["red", "green"], closed=True)
    Nominal(('red', 'green'), closed=True)
    """

    values: DeclaredValues | None
    max_values: int | None
    closed: bool

    def __init__(
        self, values: Sequence[Value] | None = None, max_values: int | None = None, closed: bool = False
    ) -> None:
        declared = None if values is None else declared_values("values", values, canonical)
        limit = None if max_values is None else checked_limit(max_values)
        if declared is not None and limit is not None and limit < len(declared):
            raise SchemaError(f"max_values={limit} is less than the {len(declared)} values declared")
        if type(closed) is not bool:
            raise SchemaError(f"closed: expected True or False, got {shown(closed)}")
        if closed and declared is None:
            raise SchemaError("closed=True needs values: without them every value would be refused")
        object.__setattr__(self, "values", declared)
        object.__setattr__(self, "max_values", limit)
        object.__setattr__(self, "closed", closed)

    def __eq__(self, other: object) -> bool:
        # By type too: 1 and True are the same in a table of counts, but not in what is reported.
        return spec_to_json(self) == spec_to_json(other) if isinstance(other, Nominal) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.values, self.max_values, self.closed))

    def __repr__(self) -> str:
        parts = [] if self.values is None else [repr(self.values)]
        parts += [] if self.max_values is None else [f"max_values={self.max_values}"]
        parts += ["closed=True"] if self.closed else []
        return f"Nominal({', '.join(parts)})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Numeric:
    """A feature whose values are numbers, int or float. A bool is refused.

    Parameters
    ----------
    cuts
        Lower bounds of the bins, ascending, for learners that bin numbers. None: the learner finds its own cut points.

    Examples
    --------
    >>> Numeric()
    Numeric()
    >>> Numeric(cuts=[18, 65])
    Numeric(cuts=(18.0, 65.0))
    """

    cuts: tuple[float, ...] | None

    def __init__(self, cuts: Iterable[float] | None = None) -> None:
        object.__setattr__(self, "cuts", None if cuts is None else _checked_cuts(cuts))

    def __repr__(self) -> str:
        return "Numeric()" if self.cuts is None else f"Numeric(cuts={self.cuts!r})"


def _checked_cuts(given: Iterable[float]) -> tuple[float, ...]:
    """Return cut points, checked: at least one, finite, in ascending order."""
    cuts = tuple(given)
    good = all(
        isinstance(cut, (int, float)) and not isinstance(cut, bool) and math.isfinite(cut) for cut in cuts
    )
    if not cuts or not good or any(low >= high for low, high in pairwise(cuts)):
        raise SchemaError(
            f"cuts: expected at least one finite number, each above the one before, got {shown(given)}"
        )
    return tuple(float(cut) for cut in cuts)


Spec: TypeAlias = Nominal | Numeric


def spec_of(name: object, spec: object) -> Spec:
    """Return the declaration of a feature.

    A list of values is short for `Nominal(values)`; str, bool and "nominal" for `Nominal()`; float, int and "numeric"
    for `Numeric()`.
    """
    if isinstance(spec, (Nominal, Numeric)):
        return spec
    if spec in (str, bool, "nominal"):
        return Nominal()
    if spec in (float, int, "numeric"):
        return Numeric()
    if isinstance(spec, str):
        raise SchemaError(f"feature {shown(name)}: expected 'nominal' or 'numeric', got {shown(spec)}")
    if isinstance(spec, (list, tuple)):
        try:
            return Nominal(spec)
        except SchemaError as error:
            raise SchemaError(f"feature {shown(name)}: {error}") from None
    raise SchemaError(
        f"feature {shown(name)}: expected Nominal(), Nominal([value, ...]), Numeric(), str, float or a list of values, "
        f"got {shown(spec)}"
    )


def declared_values(what: str, given: Sequence[Value], convert: Callable[[object], Value]) -> DeclaredValues:
    """Return declared values or classes in their plain form. Raise `SchemaError` for a repeated one."""
    called = "labels" if what == "classes" else "values"
    if isinstance(given, (set, frozenset)):
        raise SchemaError(f"{what}: a set has no order to keep; give a list or tuple")
    try:
        values = tuple([convert(value) for value in labels_of(given, called)])
    except (BadValue, BadLabel, SchemaError) as error:
        raise SchemaError(f"{what}: {error}") from None
    if not values:
        raise SchemaError(f"{what}: expected at least one; leave it out if none is known")
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            raise SchemaError(f"{what}: {shown(value)} is given twice (True, 1 and 1.0 are one value)")
        seen.add(value)
    return values


def checked_limit(given: object) -> int:
    """Return a bound on the number of values. Raise `SchemaError` if it is not valid."""
    try:
        limit = 0 if isinstance(given, bool) else operator.index(given)  # type: ignore[arg-type]  # or raises
    except TypeError:
        limit = 0
    if limit < 1:
        raise SchemaError(f"max_values: expected an int of at least 1, got {shown(given)}")
    return limit


def inferred_spec(name: object, cells: FrameCells, limit: int | None) -> Spec:
    """Return the kind of feature inferred from a column's values; `limit` bounds a nominal one's values."""
    types = value_types(cells, name)
    if not types:
        raise SchemaError(f"column {shown(name)} holds no value, so its kind is unknown; declare or drop it")
    numeric = types & {int, float}
    if numeric == types:
        return Numeric()
    if numeric:
        kinds = ", ".join(sorted(kind.__name__ for kind in types))
        raise SchemaError(
            f"column {shown(name)} mixes nominal and numeric values ({kinds}); make them one kind"
        )
    _, values = factorise(cells, (), partial(canonical, feature=name))
    return Nominal(values[:limit], limit)


def spec_to_json(spec: Spec) -> dict[str, JSONValue]:
    """Return a kind of feature as JSON."""
    if isinstance(spec, Numeric):
        return {"kind": "numeric"} if spec.cuts is None else {"kind": "numeric", "cuts": list(spec.cuts)}
    return {
        "kind": "nominal",
        "values": None if spec.values is None else tagged_many(spec.values),
        "max_values": spec.max_values,
        "closed": spec.closed,
    }


def feature_from_json(saved: object) -> tuple[str, Spec]:
    """Return a feature's name and kind as a schema saved them. Raise `BadState` for anything else."""
    if type(saved) is not list or len(saved) != 2 or type(saved[0]) is not str:
        raise BadState(f"a saved schema: expected a feature's name and kind, got {shown(saved)}")
    name, spec = saved
    if spec == {"kind": "numeric"}:
        return name, Numeric()
    if isinstance(spec, dict) and spec.keys() == {"kind", "cuts"} and spec["kind"] == "numeric":
        try:
            return name, Numeric(cast("list[float]", spec["cuts"]))
        except (SchemaError, TypeError) as error:
            raise BadState(f"a saved schema: feature {shown(name)}: {error}") from None
    kind, values, max_values, closed = json_fields(spec, "kind", "values", "max_values", "closed")
    if kind != "nominal":
        raise BadState(f"a saved schema: feature {shown(name)} is of the unknown kind {shown(kind)}")
    declared = None if values is None else untagged_many(values)
    try:
        # The constructor checks the types of both.
        return name, Nominal(declared, cast("int | None", max_values), cast("bool", closed))
    except SchemaError as error:
        raise BadState(f"a saved schema: feature {shown(name)}: {error}") from None


def json_fields(saved: object, *names: str) -> list[object]:
    """Return the values of a saved object that has exactly these names."""
    if type(saved) is not dict or saved.keys() != set(names):
        raise BadState(f"a saved schema: expected an object with {', '.join(names)}, got {shown(saved)}")
    return [saved[name] for name in names]
