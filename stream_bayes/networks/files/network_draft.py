"""The variables and tables of a file that is read, combined into a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat, BadStructure, BadValue
from stream_bayes.networks.files.bif_tokens import is_number_text
from stream_bayes.networks.files.bif_types import LABEL_TYPES, NAME_TYPE, is_reserved, typed

__all__ = ["NetworkDraft"]


@dataclass
class NetworkDraft:
    """The variables and tables read so far: an axis for each parent in their order, and the variable's own last."""

    source: str
    name: str = "unknown"
    properties: list[str] = field(default_factory=list)
    states: dict[str, list[str]] = field(default_factory=dict)
    properties_of: dict[str, list[str]] = field(default_factory=dict)
    parents: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, list[float]] = field(default_factory=dict)
    _lines: dict[str, int] = field(default_factory=dict)

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise `BadFormat` at a line."""
        raise BadFormat(f"{self.source}:{line}: {message}")

    def add_variable(
        self, name: str, labels: Sequence[str], line: int, properties: Sequence[str] = ()
    ) -> None:
        """Add a variable with its labels."""
        if not name:
            self.fail(line, "expected the name of a variable, got none")
        if name in self.states:
            self.fail(line, f"variable {shown(name)} is defined twice")
        if not labels:
            self.fail(line, f"variable {shown(name)} has no labels")
        self.states[name], self.properties_of[name] = list(labels), list(properties)
        self._lines[name] = line

    def add_table(self, name: str, parents: Sequence[str], numbers: list[float], line: int) -> None:
        """Add the table of a variable; the variables themselves may come later."""
        if name in self.numbers:
            self.fail(line, f"the probabilities of {shown(name)} are given twice")
        if len(set(parents)) < len(parents):
            self.fail(line, f"{shown(name)} has a parent twice: {shown(list(parents))}")
        self.parents[name], self.numbers[name] = list(parents), numbers
        self._lines[name] = line

    def number(self, text: str, line: int) -> float:
        """Return the number that a text is."""
        if not is_number_text(text):
            self.fail(line, f"expected a number, got {shown(text)}")
        return float(text)

    def network(self, tolerance: float) -> DiscreteNetwork:
        """Return the network. Raise `BadFormat` if parts are missing, or do not fit."""
        for name in self.numbers:
            if name not in self.states:
                self.fail(
                    self._lines[name], f"probabilities of {shown(name)}, which is no variable of the file"
                )
            for parent in self.parents[name]:
                if parent not in self.states:
                    self.fail(
                        self._lines[name],
                        f"{shown(name)} has the parent {shown(parent)}, which is no variable of it",
                    )
        tables = {}
        for name, labels in self.states.items():
            if name not in self.numbers:
                self.fail(self._lines[name], f"variable {shown(name)} has no probabilities")
            shape = [*(len(self.states[p]) for p in self.parents[name]), len(labels)]
            if math.prod(shape) != len(self.numbers[name]):
                self.fail(
                    self._lines[name],
                    f"expected {math.prod(shape):,} probabilities of {shown(name)} given "
                    f"{shown(self.parents[name])}, got {len(self.numbers[name]):,}",
                )
            tables[name] = np.array(self.numbers[name]).reshape(shape)
        if not tables:
            self.fail(1, "the file has no variables")
        try:
            names = {name: self._value_of(name) for name in tables}
            return DiscreteNetwork(
                Structure({names[v]: [names[p] for p in self.parents[v]] for v in tables}),
                {names[v]: self._labels_of(v) for v in tables},
                {names[v]: table for v, table in tables.items()},
                name=self.name,
                properties=self.properties,
                properties_of={
                    names[v]: [text for text in lines if not is_reserved(text)]
                    for v, lines in self.properties_of.items()
                },
                tolerance=tolerance,
            )
        except (BadStructure, BadValue, BadFormat) as error:
            raise BadFormat(f"{self.source}: {error}") from None

    def _value_of(self, name: str) -> Value:
        types = [text for text in self.properties_of[name] if text.startswith(NAME_TYPE)]
        return typed([name], types[0].removeprefix(NAME_TYPE))[0] if types else name

    def _labels_of(self, name: str) -> Sequence[Value]:
        types = [text for text in self.properties_of[name] if text.startswith(LABEL_TYPES)]
        return typed(self.states[name], types[0].removeprefix(LABEL_TYPES)) if types else self.states[name]
