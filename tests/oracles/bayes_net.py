"""A network's tables out of a list of events, with dictionaries and fractions; no line is shared with the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from tests.oracles.enumeration import Enumeration

Event = tuple[Mapping[Any, Any], float]


def is_there(value: Any) -> bool:
    return value is not None and value == value


def labels_of(parents: Mapping[Any, Sequence[Any]], events: Iterable[Event]) -> dict[Any, list[Any]]:
    """The values that each variable has had, in the order in which they came; None for one that has had none."""
    found: dict[Any, list[Any]] = {variable: [] for variable in parents}
    for x, w in events:
        for variable, values in found.items():
            value = x.get(variable)
            if w and is_there(value) and value not in values:
                values.append(value)
    return {variable: values or [None] for variable, values in found.items()}


def network(
    parents: Mapping[Any, Sequence[Any]],
    events: Sequence[Event],
    strength: float = 1.0,
    spread: bool = True,
    half_life: float | None = None,
) -> Enumeration:
    """The network that was learned from events, the last of which is the newest."""
    labels = labels_of(parents, events)
    tables: dict[Any, dict[tuple[Any, ...], list[Any]]] = {}
    for variable, above in parents.items():
        values = labels[variable]
        price = Fraction(strength) / (len(values) if spread else 1)
        rows = {row: [price] * len(values) for row in product(*(labels[parent] for parent in above))}
        for age, (x, w) in enumerate(reversed(events)):
            family = [x.get(member) for member in (*above, variable)]
            if w and all(map(is_there, family)):
                faded = Fraction(w) if half_life is None else Fraction(w * 0.5 ** (age / half_life))
                rows[tuple(family[:-1])] = [
                    weight + faded * (value == family[-1])
                    for value, weight in zip(values, rows[tuple(family[:-1])], strict=True)
                ]
        # A row of nothing is uniform.
        tables[variable] = {row: own if any(own) else [Fraction(1)] * len(own) for row, own in rows.items()}
    return Enumeration(parents, labels, tables)
