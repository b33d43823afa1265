"""A Bayesian network of discrete variables as a value: a structure, labels and conditional tables.

It neither learns nor answers questions. File readers return it; learners start from it and export it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stream_bayes.core.networks.pictures import drawn_structure, links_of, table_bars
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.unknown_names import check_variables, did_you_mean
from stream_bayes.core.values.values import Value, canonical, shown, tagged_many, untagged_many
from stream_bayes.errors import BadState, BadStructure, BadValue

__all__ = ["FILE_TOLERANCE", "TOLERANCE", "DiscreteNetwork", "Floats", "as_table", "first_bad_row"]

Floats: TypeAlias = npt.NDArray[np.float64]

# Tables are often printed with seven digits. A row of a few dozen such numbers is off by less than this.
TOLERANCE = 1e-6
FILE_TOLERANCE = 1e-3  # three digits of thirds
ROUNDING = 1e-12  # of a sum: 0.999 is not below 1 by more than 0.001


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class DiscreteNetwork:
    """A structure, the labels of each variable and P(variable | parents) as tables. Immutable.

    Two networks are equal when all labels, names, properties and bits of the tables are; the order of parents, and with
    it of the tables' axes, may differ. The tolerance is not compared.

    Parameters
    ----------
    structure
        The parents of each variable.
    states
        The labels of each variable, at least one each.
    tables
        For each variable an array of probabilities, with one axis for each of `structure.parents(variable)` in that
        order, the one in which they were written, and the variable's own axis last. Along an axis, labels are in the
        order of `states`. Arrays are copied and read-only.
    name
        The network's name.
    properties
        Lines of text that a file holds about the network. They are kept and written back, and not interpreted.
    properties_of
        The same for each variable.
    tolerance
        The largest difference of a row's sum from 1. Rows are kept as they are.

    Raises
    ------
    BadStructure
        If labels or tables are missing, have a wrong shape, or do not hold probabilities. The message names variable
        and row.

    Examples
    --------
    >>> lawn = DiscreteNetwork(
    ...     Structure({"rain": [], "lawn": ["rain"]}),
    ...     states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
    ...     tables={"rain": [0.2, 0.8], "lawn": [[0.9, 0.1], [0.05, 0.95]]},
    ... )
    >>> lawn
    DiscreteNetwork(2 variables, 1 edge, 6 probabilities)
    >>> lawn.probability("lawn", "wet", {"rain": "yes"})
    0.9
    """

    structure: Structure
    states: Mapping[Value, tuple[Value, ...]]
    tables: Mapping[Value, Floats]
    name: str
    properties: tuple[str, ...]
    properties_of: Mapping[Value, tuple[str, ...]]
    tolerance: float

    def __init__(
        self,
        structure: Structure,
        states: Mapping[Any, Iterable[Value]],  # Any Value; but the keys of a Mapping are invariant
        tables: Mapping[Any, npt.ArrayLike],
        *,
        name: str = "unknown",
        properties: Iterable[str] = (),
        properties_of: Mapping[Any, Iterable[str]] = MappingProxyType({}),
        tolerance: float = TOLERANCE,
    ) -> None:
        if not isinstance(tolerance, (int, float)) or not 0 <= tolerance < math.inf:
            raise BadValue(f"tolerance: expected a finite number of at least 0, got {shown(tolerance)}")
        _check_keys("labels", states, structure, all_needed=True)
        _check_keys("a table", tables, structure, all_needed=True)
        _check_keys("properties", properties_of, structure, all_needed=False)
        labels = {v: _labels(v, states[v]) for v in structure.variables}
        checked = {v: _table(v, tables[v], structure, labels, tolerance) for v in structure.variables}
        notes = {v: _lines(properties_of[v]) for v in structure.variables if v in properties_of}
        values = (
            structure,
            MappingProxyType(labels),
            MappingProxyType(checked),
            str(name),
            _lines(properties),
            MappingProxyType({v: lines for v, lines in notes.items() if lines}),
            float(tolerance),
        )
        for field, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, field, value)

    def probability(self, variable: Value, label: Value, given: Mapping[Any, Value] | None = None) -> float:
        """Return P(variable = label | its parents). `given` holds each parent's label; other variables are not used."""
        check_variables(given or (), self.structure.variables, "given")
        family = (*self.structure.parents(variable), variable)
        at = {**(given or {}), variable: label}
        return float(self.tables[variable][tuple([self._code(v, at) for v in family])])

    def table(self, variable: Value, parents: Sequence[Value]) -> Floats:
        """Return a variable's table with the axes of its parents in another order.

        Examples
        --------
        >>> both = DiscreteNetwork(
        ...     Structure({"a": [], "b": [], "or": ["b", "a"]}),
        ...     states={"a": [0, 1], "b": [0, 1], "or": [0, 1]},
        ...     tables={"a": [0.5, 0.5], "b": [0.5, 0.5], "or": [[[1, 0], [0, 1]], [[0.25, 0.75], [0, 1]]]},
        ... )
        >>> both.table("or", ("a", "b"))[0, 1].tolist()
        [0.25, 0.75]
        """
        written = self.structure.parents(variable)
        return self.tables[variable].transpose(*map(written.index, parents), len(written))

    def do(self, values: Mapping[Any, Value]) -> DiscreteNetwork:
        """Return the network after an intervention: some variables are set to labels, whatever their parents are.

        Evidence is what is observed and changes the probabilities of causes; an intervention does not.

        Examples
        --------
        >>> lawn = DiscreteNetwork(
        ...     Structure({"rain": [], "lawn": ["rain"]}),
        ...     states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
        ...     tables={"rain": [0.2, 0.8], "lawn": [[0.9, 0.1], [0.05, 0.95]]},
        ... )
        >>> watered = lawn.do({"lawn": "wet"})
        >>> watered.structure.edges, watered.tables["lawn"].tolist(), watered.tables["rain"].tolist()
        ((), [1.0, 0.0], [0.2, 0.8])
        """
        tables: dict[Any, npt.ArrayLike] = dict(self.tables)
        for variable in values:
            self.structure.parents(variable)  # refuses what is not a variable
            point = np.zeros(len(self.states[variable]))
            point[self._code(variable, values)] = 1.0
            tables[variable] = point
        parents = {v: () if v in values else self.structure.parents(v) for v in self.structure.variables}
        return DiscreteNetwork(
            Structure(parents),
            self.states,
            tables,
            name=self.name,
            properties=self.properties,
            properties_of=self.properties_of,
            tolerance=self.tolerance,
        )

    def _code(self, variable: Value, at: Mapping[Any, Value]) -> int:
        if variable not in at:
            raise BadValue(f"the label of the parent {shown(variable)} is needed; give it in `given`")
        states = self.states[variable]
        if at[variable] not in states:
            rest = did_you_mean(at[variable], states)
            raise BadValue(
                f"{shown(variable)}: expected one of {shown(states)}, got {shown(at[variable])}{rest}"
            )
        return states.index(at[variable])

    def to_json(self) -> dict[str, Any]:
        """Return the network as JSON values; `from_json` makes an equal network of them.

        Examples
        --------
        >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
        >>> DiscreteNetwork.from_json(coin.to_json()) == coin
        True
        """
        variables = self.structure.variables
        return {
            "structure": self.structure.to_json(),
            "states": [tagged_many(self.states[v]) for v in variables],
            "tables": [self.tables[v].tolist() for v in variables],
            "name": self.name,
            "properties": list(self.properties),
            "properties_of": [list(self.properties_of.get(v, ())) for v in variables],
            "tolerance": self.tolerance,
        }

    @classmethod
    def from_json(cls, saved: object) -> DiscreteNetwork:
        """Make the network that `to_json` wrote.

        Raises
        ------
        BadState
            If `saved` is anything else.
        """
        if not isinstance(saved, dict) or set(saved) != _SAVED:
            raise BadState(f"expected a saved network, with {sorted(_SAVED)}; got {shown(saved)}")
        structure = Structure.from_json(saved["structure"])
        variables = structure.variables
        try:
            return cls(
                structure,
                {v: untagged_many(labels) for v, labels in zip(variables, saved["states"], strict=True)},
                dict(zip(variables, saved["tables"], strict=True)),
                name=saved["name"],
                properties=saved["properties"],
                properties_of=dict(zip(variables, saved["properties_of"], strict=True)),
                tolerance=saved["tolerance"],
            )
        except (TypeError, ValueError) as error:
            raise BadState(f"a saved network: {error}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DiscreteNetwork):
            return NotImplemented
        return self._description() == other._description() and all(
            table.tobytes() == other.table(v, self.structure.parents(v)).tobytes()
            for v, table in self.tables.items()
        )

    def __hash__(self) -> int:
        return hash(self._description()[:2])

    def _description(self) -> tuple[object, ...]:
        labels = tuple(self.states.values())
        return self.structure, labels, self.name, self.properties, dict(self.properties_of)

    def __reduce__(self) -> tuple[Callable[..., DiscreteNetwork], tuple[Any, ...]]:
        # A mappingproxy has no pickle of its own.
        mappings = (dict(self.states), dict(self.tables))
        rest = (self.name, self.properties, dict(self.properties_of), self.tolerance)
        return _rebuilt, (self.structure, *mappings, *rest)

    def _repr_svg_(self) -> str:
        structure = self.structure
        bars = {
            v: table_bars(self.tables[v], [self.states[parent] for parent in structure.parents(v)])
            for v in structure.variables
        }
        return drawn_structure(
            structure.variables, links_of(structure.variables, structure.edges), bars, title=repr(self)
        ).svg()

    def __repr__(self) -> str:
        counts = (
            (len(self.structure), "variable", "variables"),
            (len(self.structure.edges), "edge", "edges"),
            (sum(table.size for table in self.tables.values()), "probability", "probabilities"),
        )
        return f"DiscreteNetwork({', '.join(f'{n} {one if n == 1 else many}' for n, one, many in counts)})"


_SAVED = {"structure", "states", "tables", "name", "properties", "properties_of", "tolerance"}


def as_table(numbers: npt.ArrayLike, family: Sequence[Value], shape: tuple[int, ...]) -> Floats:
    """Return an array of floats for a table; raise `BadStructure` if it has another shape. The numbers are copied only
    if needed. `family` are the variables of the axes: the parents, then the variable itself; `shape` is the number of
    values of each.
    """
    try:
        table = np.asarray(numbers, np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise BadStructure(f"the table of {shown(family[-1])}: expected numbers; {error}") from None
    if table.shape != shape:
        raise BadStructure(
            f"the table of {shown(family[-1])}: expected the shape {shape}, an axis for each of "
            f"{shown(list(family))}; got {table.shape}"
        )
    return table


def first_bad_row(rows: Floats, tolerance: float) -> tuple[int, str] | None:
    """Return the number of the first row that is no distribution, with the complaint; None if all are.

    Examples
    --------
    >>> first_bad_row(np.array([[0.5, 0.5], [0.5, 0.25]]), tolerance=1e-6)
    (1, 'the probabilities sum to 0.75, which is not 1 to within 1e-06')
    """
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinities are found below
        sums = rows.sum(axis=1)
        good = (rows >= 0.0).all(axis=1) & (np.abs(sums - 1.0) <= tolerance + ROUNDING)
    bad = np.flatnonzero(~good)
    if not len(bad):
        return None
    row = int(bad[0])
    for p in rows[row].tolist():
        if not 0.0 <= p < math.inf:
            return row, f"expected probabilities, got {p!r}"
    return row, f"the probabilities sum to {float(sums[row]):.9g}, which is not 1 to within {tolerance:g}"


def _rebuilt(
    structure: Structure,
    states: dict[Value, tuple[Value, ...]],
    tables: dict[Value, Floats],
    name: str,
    properties: tuple[str, ...],
    properties_of: dict[Value, tuple[str, ...]],
    tolerance: float,
) -> DiscreteNetwork:
    return DiscreteNetwork(
        structure,
        states,
        tables,
        name=name,
        properties=properties,
        properties_of=properties_of,
        tolerance=tolerance,
    )


def _check_keys(what: str, entries: Mapping[Any, object], structure: Structure, *, all_needed: bool) -> None:
    for variable in entries:
        if variable not in structure:
            raise BadStructure(
                f"{what} for {shown(variable)}, which is not a variable of the structure; its variables: "
                f"{shown(list(structure.variables))}"
            )
    for variable in structure.variables if all_needed else ():
        if variable not in entries:
            raise BadStructure(f"variable {shown(variable)} needs {what}")


def _labels(variable: Value, values: Iterable[Value]) -> tuple[Value, ...]:
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise BadStructure(f"the labels of {shown(variable)}: expected a list of values, got {shown(values)}")
    labels = tuple([canonical(label, feature=variable) for label in values])
    if not labels:
        raise BadStructure(f"variable {shown(variable)} needs at least one label")
    if len(set(labels)) < len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise BadStructure(f"variable {shown(variable)} has the label {shown(twice)} twice")
    return labels


def _table(
    variable: Value,
    numbers: npt.ArrayLike,
    structure: Structure,
    states: Mapping[Value, tuple[Value, ...]],
    tolerance: float,
) -> Floats:
    parents = structure.parents(variable)
    shape = tuple([len(states[v]) for v in (*parents, variable)])
    table = as_table(numbers, (*parents, variable), shape).copy()
    if bad_row := first_bad_row(table.reshape(-1, shape[-1]), tolerance):
        row, complaint = bad_row
        codes = np.unravel_index(row, shape[:-1]) if parents else ()
        labels = tuple([states[parent][code] for parent, code in zip(parents, codes, strict=True)])
        where = f", row {shown(labels)} of {shown(parents)}" if parents else ""
        raise BadStructure(f"the table of {shown(variable)}{where}: {complaint}")
    table.flags.writeable = False
    return table


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = () if isinstance(texts, str) else tuple(texts)
    if isinstance(texts, str) or not all(isinstance(line, str) for line in lines):
        raise BadValue(f"properties: expected a list of texts, got {shown(texts)}")
    return lines
