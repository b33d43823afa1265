"""Effects of interventions: which variables to adjust for, and what setting a variable does to another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.sensitivity import SupportsNetwork, network_of
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.unknown_names import check_variables, unknown_label
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadValue

__all__ = ["adjustment_set", "average_effect"]


def adjustment_set(
    structure: Structure, cause: Any, effect: Any, hidden: Iterable[Any] = ()
) -> tuple[Value, ...] | None:
    """Return variables to adjust for, so that what is observed shows the effect of a cause: a minimal back-door set.

    None of them follows from the cause, together they block every path into it, and none can be left out.

    Parameters
    ----------
    structure
        The graph, its edges read as causes.
    cause, effect
        The variables.
    hidden
        Variables that are not observed, and cannot be adjusted for.

    Returns
    -------
    The set, sorted; empty if nothing needs adjusting, None if there is no such set among the observed variables.

    Examples
    --------
    >>> drug = Structure({"age": [], "drug": ["age"], "blood": ["drug"], "heart": ["age", "blood"]})
    >>> adjustment_set(drug, "drug", "heart"), adjustment_set(drug, "drug", "heart", hidden=["age"])
    (('age',), None)
    """
    unseen = [hidden] if isinstance(hidden, (str, bytes)) else list(hidden)
    check_variables([cause, effect], structure.variables, "cause and effect")
    check_variables(unseen, structure.variables, "hidden")
    if cause == effect:
        raise BadValue(f"cause and effect are both {shown(cause)}: give two variables")
    # The paths that begin with an edge out of the cause are its effects: they stay open.
    back = Structure({v: [p for p in structure.parents(v) if p != cause] for v in structure.variables})
    ancestors = {*back.ancestors(cause), *back.ancestors(effect)}
    barred = {cause, effect, *structure.descendants(cause), *unseen}
    chosen = [v for v in structure.variables if v in ancestors and v not in barred]
    # If any set of observed variables separates the two, all of their observed ancestors do.
    if not back.d_separated(cause, effect, set(chosen)):
        return None
    for v in tuple(chosen):
        rest = {other for other in chosen if other != v}
        if back.d_separated(cause, effect, rest):
            chosen.remove(v)
    return tuple(chosen)


def average_effect(
    network: DiscreteNetwork | SupportsNetwork,
    cause: Any,
    effect: Any,
    change: tuple[Any, Any],
    value: Any = None,
) -> float:
    """Return by how much an effect changes on average if a cause is set to another label.

    It compares interventions, `do`, not observations: what makes both the cause and the effect likely is left out.

    Parameters
    ----------
    network
        A `DiscreteNetwork`, or a `BayesNet`.
    cause, effect
        The variables.
    change
        The label to set the cause to first, and the one to compare it with: `("placebo", "drug")`.
    value
        A label of the effect: the change of its probability. Or `{label: number}`: the change of the mean. None: the
        labels are numbers themselves.

    Examples
    --------
    >>> heart = DiscreteNetwork(
    ...     Structure({"age": [], "drug": ["age"], "heart": ["age", "drug"]}),
    ...     states={"age": ["old", "young"], "drug": ["no", "yes"], "heart": ["ill", "well"]},
    ...     tables={
    ...         "age": [0.5, 0.5],
    ...         "drug": [[0.1, 0.9], [0.9, 0.1]],
    ...         "heart": [[[0.6, 0.4], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]]],
    ...     },
    ... )
    >>> round(average_effect(heart, "drug", "heart", ("no", "yes"), "ill"), 3)  # it helps
    -0.1
    >>> seen = Inference(heart)
    >>> round(seen.query("heart", {"drug": "yes"})["ill"] - seen.query("heart", {"drug": "no"})["ill"], 3)
    0.22
    """
    given = network_of(network)
    check_variables([cause, effect], given.structure.variables, "cause and effect")
    if cause == effect:
        raise BadValue(f"cause and effect are both {shown(cause)}: give two variables")
    if not isinstance(change, (tuple, list)) or len(change) != 2:
        raise BadValue(f"change: expected two labels of {shown(cause)}, (from, to), got {shown(change)}")
    numbers = _numbers(given, effect, value)
    means = []
    for label in change:
        shares = Inference(given.do({cause: label})).query(effect)
        means.append(math.fsum(shares[each] * number for each, number in numbers.items()))
    return means[1] - means[0]


def _numbers(network: DiscreteNetwork, effect: Any, value: Any) -> dict[Any, float]:
    """Return the number of each label of the effect."""
    states = network.states[effect]
    if isinstance(value, Mapping):
        for label in value:
            if label not in states:
                raise unknown_label(effect, label, states)
        numbers = {label: value.get(label) for label in states}
    elif value is None:
        numbers = {label: label for label in states}
    elif value in states:
        return {label: float(label == value) for label in states}
    else:
        raise unknown_label(effect, value, states)
    for label, number in numbers.items():
        if isinstance(number, (str, bytes, tuple)) or number is None or not math.isfinite(number):
            raise BadValue(
                f"value: expected a finite number for each label of {shown(effect)}, got {shown(number)} for "
                f"{shown(label)}; give value={{label: number}}, or one label"
            )
    return {label: float(number) for label, number in numbers.items()}  # type: ignore[arg-type]  # checked above
