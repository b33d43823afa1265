"""A network in numbers: variables and labels as codes, tables end to end, and evidence entered as findings.

Evidence maps a variable to its label, or to a likelihood for each label (soft evidence). None and NaN mean not
observed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from stream_bayes.core.inference._conditionals import Conditionals
from stream_bayes.core.inference._findings import Findings
from stream_bayes.core.networks.discrete_network import as_table
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.unknown_names import unknown_label, unknown_variable
from stream_bayes.core.values.values import Value, is_missing, shown
from stream_bayes.errors import BadStructure, BadValue

__all__ = ["CodedNetwork", "Evidence", "GivenTables", "Network"]

# {variable: label, or {label: likelihood}}; not Mapping[Value, ...], as the keys of a Mapping are invariant.
Evidence: TypeAlias = Mapping[Any, Any]
GivenTables: TypeAlias = Mapping[Any, npt.ArrayLike]


class Network(Protocol):
    """The part of a network that inference reads. `DiscreteNetwork` has it, and so have the networks of learners."""

    @property
    def structure(self) -> Structure:
        """The parents of each variable."""

    @property
    def states(self) -> Mapping[Any, Sequence[Value]]:
        """The labels of each variable."""

    @property
    def tables(self) -> GivenTables:
        """The table of each variable: an axis for each parent as the structure lists them, the variable's own last."""


class CodedNetwork:
    """A network's variables and labels as codes, in the order of the variables' names, and its tables. Rows of the
    network's tables are divided by their sums.

    Examples
    --------
    >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    >>> coin = CodedNetwork(DiscreteNetwork(Structure({"c": []}), {"c": ["head", "tail"]}, {"c": [0.5, 0.5]}))
    >>> coin.number("c"), coin.codes[0]["tail"], coin.sizes
    (0, 1, [2])
    """

    def __init__(self, network: Network) -> None:
        structure = network.structure
        self.structure = structure
        self.variables = structure.variables
        self._numbers = {v: number for number, v in enumerate(self.variables)}
        self.parents = [[self._numbers[p] for p in structure.parents(v)] for v in self.variables]
        self.order = [self._numbers[v] for v in structure.topological_order]
        self.labels: list[tuple[Value, ...]] = []
        self.codes: list[dict[Value, int]] = []
        self.sizes = [len(_required(network.states, v, "labels")) for v in self.variables]
        if 0 in self.sizes:
            raise BadStructure(
                f"variable {shown(self.variables[self.sizes.index(0)])} needs at least one label"
            )
        tables = (
            network.tables
        )  # before any allocation: a learner may refuse to make tables that are too large
        self.conditionals = Conditionals(self.sizes, self.parents)
        self._set(network, tables)

    def matches(self, network: Network) -> bool:
        """Return True if another network has this structure, its axes included, and as many labels of each variable."""
        return network.structure.lists_parents_as(self.structure) and self.sizes == [
            len(_required(network.states, v, "labels")) for v in self.variables
        ]

    def load(self, network: Network) -> None:
        """Set the labels and tables to those of a network that matches. An error leaves everything unchanged."""
        self._set(network, network.tables)  # read once: a learner computes them on each access

    def _set(self, network: Network, tables: GivenTables) -> None:
        labels = [tuple(network.states[v]) for v in self.variables]
        codes = self.codes
        if labels != self.labels:
            codes = [{label: code for code, label in enumerate(several)} for several in labels]
            for variable, several, coded in zip(self.variables, labels, codes, strict=True):
                if len(coded) < len(several):
                    raise BadStructure(
                        f"the labels of {shown(variable)} are not all different: {shown(several)}"
                    )
        self._fill({v: _required(tables, v, "a table") for v in self.variables}, labels)
        self.labels, self.codes = labels, codes

    def fill(self, tables: GivenTables) -> None:
        """Set the tables of some variables. An error leaves everything unchanged."""
        self._fill(tables, self.labels)

    def _fill(self, tables: GivenTables, labels: list[tuple[Value, ...]]) -> None:
        checked = [
            (number, self._checked(number, tables[v], labels)) for v in tables for number in (self.number(v),)
        ]
        for number, numbers in checked:
            self.conditionals.fill(number, numbers)

    def _checked(
        self, number: int, probabilities: npt.ArrayLike, labels: list[tuple[Value, ...]]
    ) -> npt.NDArray[np.float64]:
        variable = self.variables[number]
        family = [*self.parents[number], number]
        shape = tuple([self.sizes[u] for u in family])
        table = as_table(probabilities, [self.variables[u] for u in family], shape)
        numbers = table.reshape(-1)
        bad = self.conditionals.bad_cell(number, numbers)
        if bad >= 0:
            at = np.unravel_index(bad, shape)[:-1]
            row = {self.variables[u]: labels[u][code] for u, code in zip(family[:-1], at, strict=True)}
            raise BadStructure(
                f"the table of {shown(variable)}{f', row {shown(row)}' if row else ''}: expected finite numbers of at "
                f"least 0, not all of them 0; got {shown(table[at].tolist())}"
            )
        return numbers

    def number(self, variable: Any) -> int:
        """Return the number of a variable."""
        try:
            return self._numbers[variable]
        except (KeyError, TypeError):  # TypeError: a list, say
            many = isinstance(variable, tuple)
            hint = "; several variables go in a list, a tuple is one name" if many else ""
            raise unknown_variable(variable, self.variables, hint=hint) from None

    def enter(self, evidence: Evidence, findings: Findings) -> None:
        """Enter evidence into findings that are clear."""
        for variable, finding in evidence.items():
            number = self.number(variable)
            if isinstance(finding, Mapping):
                findings.set_likelihood(number, self._likelihood(number, finding))
                continue
            try:
                code = self.codes[number].get(finding)
            except TypeError:  # a list, say
                code = None
            if code is not None:
                findings.observe(number, code)
            elif not is_missing(finding):
                raise unknown_label(variable, finding, self.labels[number])

    def _likelihood(self, number: int, likelihoods: Mapping[Any, Any]) -> npt.NDArray[np.float64]:
        labels = self.labels[number]
        where = f"the likelihoods of {shown(self.variables[number])}"
        for label in (*likelihoods, *labels):
            if label not in likelihoods or label not in self.codes[number]:
                raise BadValue(
                    f"{where}: expected a number for each of {shown(labels)} and for nothing else; {shown(label)} is "
                    f"{'missing' if label in self.codes[number] else 'none of them'}"
                )
        numbers = [likelihoods[label] for label in labels]
        for chance in numbers:
            if not isinstance(chance, (int, float, np.number)) or not 0.0 <= chance < math.inf:
                raise BadValue(f"{where}: expected finite numbers of at least 0, got {shown(chance)}")
        if not any(numbers):
            raise BadValue(f"{where}: expected at least one above 0, got {shown(dict(likelihoods))}")
        return np.array(numbers, np.float64)

    def rows(self, codes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        rows = self.shaped(codes)
        wrong = (rows < -1) | (rows >= np.array(self.sizes))
        if wrong.any():
            raise self.bad_codes(rows, int(np.flatnonzero(wrong.any(axis=1))[0]))
        return rows

    def shaped(self, codes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        rows = np.asarray(codes)
        if rows.ndim != 2 or rows.shape[1] != len(self.sizes) or rows.dtype.kind not in "iu":
            raise BadValue(
                f"codes: expected rows of whole numbers, a column for each of the {len(self.sizes)} variables "
                f"by name; got {rows.dtype} in the shape {rows.shape}"
            )
        return np.ascontiguousarray(rows, np.int32)

    def bad_codes(self, rows: npt.NDArray[np.int32], row: int) -> BadValue:
        sizes = np.array(self.sizes)
        v = int(np.flatnonzero((rows[row] < -1) | (rows[row] >= sizes))[0])
        return BadValue(
            f"row {row}, variable {shown(self.variables[v])}: expected a code below {sizes[v]}, or -1 where "
            f"it is missing; got {rows[row, v]}"
        )


def _required(mapping: Mapping[Any, Any], variable: Value, what: str) -> Any:
    try:
        return mapping[variable]
    except KeyError:
        raise BadStructure(f"variable {shown(variable)} needs {what}") from None
