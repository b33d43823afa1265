"""Networks with a variable that no row has, learned by expectation maximisation from random tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import is_missing, name_order, shown
from stream_bayes.data.frames import Native, events_in
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import BadValue
from stream_bayes.networks.bayes_net import BayesNet

__all__ = ["HiddenLearner", "hidden_rows", "names_in", "numbers_of_states"]

Floats: TypeAlias = NDArray[np.float64]
HiddenRow: TypeAlias = dict[Any, Any]


def numbers_of_states(states: Iterable[int]) -> list[int]:
    """Return numbers of states to choose from, ascending. Raise `BadValue` for others than whole ones from 1 on."""
    numbers = sorted({*states})
    if not numbers or not all(type(number) is int and number > 0 for number in numbers):
        raise BadValue(f"states must be whole numbers of at least 1, not {shown(numbers)}")
    return numbers


def hidden_rows(rows: Native, variable: Any) -> list[HiddenRow]:
    """Return rows as dicts. Raise `BadValue` if any has the hidden variable."""
    events = [dict(row) for row in events_in(rows)]
    if seen := sum(not is_missing(row.get(variable)) for row in events):
        raise BadValue(f"{shown(variable)} is not hidden: {seen:,} of {len(events):,} rows have it")
    return events


def names_in(events: Sequence[HiddenRow], variables: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the values of variables in some rows. Raise `BadValue` for those without any, and for measurements."""
    values = {
        v: sorted({row[v] for row in events if not is_missing(row.get(v))}, key=name_order) for v in variables
    }
    if unseen := [v for v, names in values.items() if not names]:
        raise BadValue(f"no row has {shown(unseen)}; only one variable may be hidden")
    if measured := [v for v, names in values.items() if any(map(_has_fraction, names))]:
        raise BadValue(
            f"{shown(measured)} hold measurements, not names: cut them into names, or leave them out"
        )
    return values


def _has_fraction(value: Any) -> bool:
    return isinstance(value, float) and not value.is_integer()


class HiddenLearner:
    """Networks over the same variables, of which one is hidden."""

    def __init__(
        self,
        graph: Structure,
        variable: Any,
        values: Mapping[Any, Sequence[Any]],
        restarts: int,
        strength: float,
        seed: int,
    ) -> None:
        self.graph, self.variable, self.values = graph, variable, values
        self.restarts, self.strength, self.seed = restarts, strength, seed

    def learned(self, rows: Sequence[Mapping[Any, Any]], number: int) -> BayesNet:
        """Return the network with a number of hidden states that gives its own rows the highest probability."""
        fields = {v: Nominal(values) for v, values in self.values.items()}
        schema = Schema({**fields, self.variable: Nominal(range(number))})
        networks = []
        for restart in range(self.restarts if number > 1 else 1):
            network = BayesNet(
                self.graph,
                strength=self.strength,
                schema=schema,
                missing="window-em",
                window=len(rows),
                every=len(rows),
                seed=self.seed + restart,
            )
            network.learn_many(rows)
            network.run_em()
            networks.append(network)
        if len(networks) == 1:
            return networks[0]
        return max(networks, key=lambda network: float(self.log_probabilities(network, rows).sum()))

    def log_probabilities(self, network: BayesNet, rows: Sequence[Mapping[Any, Any]]) -> Floats:
        """Return the log-probability of each row."""
        keys = [tuple(row.get(v) for v in self.values) for row in rows]
        answers: dict[tuple[Any, ...], float] = {}
        for key in dict.fromkeys(keys):
            evidence = {v: value for v, value in zip(self.values, key, strict=True) if not is_missing(value)}
            answers[key] = network.log_probability_of_evidence(evidence) if evidence else 0.0
        return np.array([answers[key] for key in keys])

    def predicted(self, parts: Sequence[Sequence[Mapping[Any, Any]]], number: int) -> Iterator[Floats]:
        """Yield the log-probabilities of each part by a network that learned the others."""
        for k, part in enumerate(parts):
            rest = [row for other, rows in enumerate(parts) if other != k for row in rows]
            yield self.log_probabilities(self.learned(rest, number), part)
