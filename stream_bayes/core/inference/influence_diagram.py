"""Influence diagrams: decisions and utilities over a network. The best policy, and what knowing more is worth.

A decision is a variable that somebody sets: what it depends on in the network is cut, as by `do`. Later decisions know
everything that earlier ones knew, and what was decided. So the best policy is found backwards: for each decision and
all that is known then, the option with the highest expected utility, given that all later decisions are the best ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.sensitivity import SupportsNetwork, network_of
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.unknown_names import check_variables, unknown_label
from stream_bayes.core.values.values import Value, canonical, shown
from stream_bayes.errors import BadValue, BudgetExceeded

__all__ = ["Decision", "InfluenceDiagram", "Utility"]

MOST_COMBINATIONS = 2**16  # of what is known and decided
WORTHLESS = 1e-12  # of the largest utility: a smaller difference is rounding

KnownValues = dict[Value, Any]


@dataclass(frozen=True)
class Decision:
    """A decision: its options, and the variables that are known when it is made.

    Parameters
    ----------
    knowing
        The variables known by then, besides what earlier decisions knew, and these decisions.
    options
        The options of a decision that is no variable of the network; others have the labels of their variable.

    Examples
    --------
    >>> Decision(knowing=["forecast"], options=["take", "leave"])
    Decision(knowing=['forecast'], options=['take', 'leave'])
    """

    knowing: Sequence[Any] = ()
    options: Sequence[Any] | None = None


@dataclass(frozen=True)
class Utility:
    """A utility: the worth of outcomes.

    Parameters
    ----------
    of
        The variables that it depends on, decisions among them.
    values
        A number for each combination of their labels, in that order; of one variable, for each label. A constant, of no
        variable, is `{(): number}`.

    Examples
    --------
    >>> Utility(["rain"], {"yes": -5, "no": 0}).of
    ['rain']
    """

    of: Sequence[Any]
    values: Mapping[Any, float]


class InfluenceDiagram:
    """A network with decisions, and utilities of what comes out.

    Parameters
    ----------
    network
        A `DiscreteNetwork` of what happens, or a `BayesNet`, whose tables are taken as they are now.
    decisions
        `{name: Decision(...)}`, in the order in which they are made. A variable of the network that is a decision is
        set, not observed: its own parents and table do not count.
    utilities
        `{name: Utility(...)}`; the numbers add up.

    Attributes
    ----------
    network
        The network in which each decision is a variable without parents, equally likely to be anything.

    Notes
    -----
    The answer is exact. It takes a query for each combination of what is known and decided, at most 65,536.

    Examples
    --------
    >>> weather = DiscreteNetwork(
    ...     Structure({"rain": [], "forecast": ["rain"]}),
    ...     states={"rain": ["yes", "no"], "forecast": ["bad", "good"]},
    ...     tables={"rain": [0.3, 0.7], "forecast": [[0.8, 0.2], [0.1, 0.9]]},
    ... )
    >>> walk = InfluenceDiagram(
    ...     weather,
    ...     decisions={"umbrella": Decision(knowing=["forecast"], options=["take", "leave"])},
    ...     utilities={
    ...         "comfort": Utility(
    ...             ["rain", "umbrella"],
    ...             {("yes", "take"): 70, ("yes", "leave"): 0, ("no", "take"): 20, ("no", "leave"): 100},
    ...         )
    ...     },
    ... )
    >>> round(walk.expected_utility(), 1)
    81.2
    >>> [(row["forecast"], row["umbrella"]) for row in walk.policy("umbrella")]
    [('bad', 'take'), ('good', 'leave')]
    >>> round(walk.value_of("rain", "umbrella"), 1)  # what a prophet may cost, who knows better than the forecast
    9.8
    """

    def __init__(
        self,
        network: DiscreteNetwork | SupportsNetwork,
        decisions: Mapping[Any, Decision],
        utilities: Mapping[Any, Utility],
    ) -> None:
        self._given = network_of(network)
        if not isinstance(decisions, Mapping) or not all(isinstance(d, Decision) for d in decisions.values()):
            raise BadValue(f"decisions: expected {{name: Decision(...)}}, got {shown(decisions)}")
        if not isinstance(utilities, Mapping) or not all(isinstance(u, Utility) for u in utilities.values()):
            raise BadValue(f"utilities: expected {{name: Utility(...)}}, got {shown(utilities)}")
        if not decisions or not utilities:
            raise BadValue("decisions and utilities: give at least one of each")
        self.decisions = dict(decisions)
        self.utilities = dict(utilities)
        self.network = self._with_decisions()
        self._engine = Inference(self.network)
        self._check_knowing()
        self._tables = {name: self._table(name) for name in self.utilities}
        self._largest = max(abs(u) for table in self._tables.values() for u in table.values())
        self._check_size()

    # -- checks -------------------------------------------------------------------------------------------------------

    def _with_decisions(self) -> DiscreteNetwork:
        """Return the network in which each decision is a variable without parents, equally likely to be anything."""
        given = self._given
        parents: dict[Any, Any] = {v: given.structure.parents(v) for v in given.structure.variables}
        states: dict[Any, Any] = {v: given.states[v] for v in given.structure.variables}
        tables: dict[Any, Any] = {v: given.tables[v] for v in given.structure.variables}
        for name, decision in self.decisions.items():
            if name in states and decision.options is not None:
                raise BadValue(
                    f"decision {shown(name)} is a variable of the network and has its labels; leave options out"
                )
            if name not in states:
                if decision.options is None or isinstance(decision.options, (str, bytes)):
                    raise BadValue(
                        f"decision {shown(name)} is no variable of the network: give its options, a list"
                    )
                states[name] = [canonical(option) for option in decision.options]
            parents[name] = ()
            tables[name] = np.full(len(states[name]), 1.0 / len(states[name]))
        return DiscreteNetwork(Structure(parents), states, tables, tolerance=given.tolerance)

    def _check_knowing(self) -> None:
        structure = self.network.structure
        for number, (name, decision) in enumerate(self.decisions.items()):
            if isinstance(decision.knowing, (str, bytes)):
                raise BadValue(
                    f"decision {shown(name)}: knowing is a list of variables, not {decision.knowing!r}"
                )
            check_variables(decision.knowing, structure.variables, "knowing")
            later = list(self.decisions)[number:]
            for v in decision.knowing:
                if v in self.decisions:
                    raise BadValue(
                        f"decision {shown(name)} knows {shown(v)}, a decision: earlier ones are known, later ones not"
                    )
                if after := next((d for d in later if v in structure.descendants(d)), None):
                    raise BadValue(
                        f"decision {shown(name)} cannot know {shown(v)}, which follows from {shown(after)}; in time it "
                        "comes later"
                    )

    def _table(self, name: Any) -> dict[tuple[Value, ...], float]:
        """Return a utility by its labels, checked: a finite number for each combination."""
        utility = self.utilities[name]
        if isinstance(utility.of, (str, bytes)):
            raise BadValue(f"utility {shown(name)}: of is a list of variables, not {utility.of!r}")
        variables = tuple(utility.of)
        check_variables(variables, self.network.structure.variables, f"utility {shown(name)}")
        table: dict[tuple[Value, ...], float] = {}
        for key, number in utility.values.items():
            is_alone = len(variables) == 1 and not (isinstance(key, tuple) and len(key) == 1)
            labels = (key,) if is_alone else key
            if not isinstance(labels, tuple) or len(labels) != len(variables):
                raise BadValue(
                    f"utility {shown(name)}: expected labels of {shown(variables)}, got {shown(key)}"
                )
            for v, label in zip(variables, labels, strict=True):
                if label not in self.network.states[v]:
                    raise unknown_label(v, label, self.network.states[v])
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
                raise BadValue(
                    f"utility {shown(name)} of {shown(key)}: expected a finite number, got {shown(number)}"
                )
            table[labels] = float(number)
        every = set(product(*(self.network.states[v] for v in variables)))
        if missing := sorted(every - table.keys(), key=str):
            raise BadValue(
                f"utility {shown(name)} has no number for {shown(missing[0])}, {len(missing)} combinations in all"
            )
        return table

    def _check_size(self) -> None:
        states = self.network.states
        decided = math.prod(len(states[name]) for name in self.decisions)
        seen = math.prod(len(states[v]) for v in {v for d in self.decisions.values() for v in d.knowing})
        if decided * seen > MOST_COMBINATIONS:
            raise BudgetExceeded(
                f"{decided:,} combinations of options and {seen:,} of what is known; at most {MOST_COMBINATIONS:,} "
                "in all are tried. Let decisions know less"
            )

    def worth_of(self, utility: Any, labels: tuple[Any, ...]) -> float:
        """Return the number of a utility for labels of its variables, in their order."""
        return self._tables[utility][labels]

    # -- answers ------------------------------------------------------------------------------------------------------

    def expected_utility(self, evidence: Mapping[Any, Any] | None = None) -> float:
        """Return the expected utility of the best policy, given what is known already.

        Parameters
        ----------
        evidence
            `{variable: label}`: what was observed before the first decision, and decisions that are made already.
        """
        return self._solve(0, self._checked(evidence), {})

    def expected_utilities(self, evidence: Mapping[Any, Any] | None = None) -> dict[Value, float]:
        """Return the expected utility of each option of the next decision, the best one first.

        The next decision is the first that the evidence does not have. What it would know and the evidence lacks is
        averaged over, each option being chosen whatever it is.
        """
        given = self._checked(evidence)
        number = next((k for k, name in enumerate(self.decisions) if name not in given), None)
        if number is None:
            raise BadValue("evidence: all decisions are made; leave out the one to decide")
        name = list(self.decisions)[number]
        utilities = {
            option: self._solve(number + 1, {**given, name: option}, {})
            for option in self.network.states[name]
        }
        return dict(sorted(utilities.items(), key=lambda item: -item[1]))

    def policy(self, decision: Any) -> list[dict[Value, Any]]:
        """Return the best option for all that may be known: rows of what is known, the decision and `utility`.

        What cannot happen together has no row.
        """
        check_variables([decision], list(self.decisions), "decision", whole="the diagram")
        rows: dict[Any, list[dict[Value, Any]]] = {name: [] for name in self.decisions}
        self._solve(0, {}, rows)
        return rows[decision]

    def value_of(self, variable: Any, decision: Any = None) -> float:
        """Return by how much knowing a variable before a decision raises the expected utility; never below 0.

        It is that of the best policy over all decisions, before any event; what a feature of one event is worth to a
        classifier's decision is `value_of_one` of `DecidingClassifier`.

        Parameters
        ----------
        variable
            The variable. It must not follow from that decision, or from a later one.
        decision
            The decision; None: the first.
        """
        decision = next(iter(self.decisions)) if decision is None else decision
        check_variables([decision], list(self.decisions), "decision", whole="the diagram")
        own = self.decisions[decision]
        informed = Decision([*own.knowing, variable], own.options)
        knowing = InfluenceDiagram(self._given, self.decisions | {decision: informed}, self.utilities)
        gain = knowing.expected_utility() - self.expected_utility()
        return gain if gain > WORTHLESS * self._largest else 0.0

    def _checked(self, evidence: Mapping[Any, Any] | None) -> KnownValues:
        given = {} if evidence is None else dict(evidence)
        check_variables(given, self.network.structure.variables, "evidence")
        for v, label in given.items():
            if label not in self.network.states[v]:
                raise unknown_label(v, label, self.network.states[v])
        for v in given:
            if open_one := next(
                (d for d in self.decisions if d not in given and v in self.network.structure.descendants(d)),
                None,
            ):
                raise BadValue(
                    f"evidence: {shown(v)} follows from {shown(open_one)}, which is not decided; give the decision, too"
                )
        return given

    def _solve(self, number: int, findings: KnownValues, rows: dict[Any, list[dict[Value, Any]]]) -> float:
        """Return the expected utility of the best decisions from one on; write them into rows of policies."""
        if number == len(self.decisions):
            return self._utility(findings)
        name, decision = list(self.decisions.items())[number]
        total = 0.0
        for p, observed in self._outcomes([v for v in decision.knowing if v not in findings], findings):
            if name in observed:
                total += p * self._solve(number + 1, observed, rows)
                continue
            utilities = {
                option: self._solve(number + 1, {**observed, name: option}, rows)
                for option in self.network.states[name]
            }
            best = max(utilities, key=utilities.__getitem__)
            if name in rows:
                rows[name].append({**observed, name: best, "utility": utilities[best]})
            total += p * utilities[best]
        return total

    def _outcomes(self, variables: list[Value], findings: KnownValues) -> Iterator[tuple[float, KnownValues]]:
        """Yield what may be observed, with its probability given what is known."""
        if not variables:
            yield 1.0, findings
            return
        for labels, p in self._engine.query(variables, findings).items():
            if p > 0.0:
                yield p, {**findings, **dict(zip(variables, labels, strict=True))}

    def _utility(self, findings: KnownValues) -> float:
        """Return the expected sum of utilities given what is known and decided."""
        total = []
        for name, table in self._tables.items():
            variables = self.utilities[name].of
            open_ones = [v for v in variables if v not in findings]
            for p, outcome in self._outcomes(open_ones, findings):
                total.append(p * table[tuple(outcome[v] for v in variables)])
        return math.fsum(total)

    def __repr__(self) -> str:
        return f"InfluenceDiagram({len(self.decisions)} decisions, {len(self.utilities)} utilities, {self.network!r})"
