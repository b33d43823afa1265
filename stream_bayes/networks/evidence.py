"""The evidence of a network: the log-probability of all events, with its tables integrated out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_bayes.core.measures.dirichlet import log_evidence_of
from stream_bayes.core.values.values import shown
from stream_bayes.errors import NotSupported

if TYPE_CHECKING:
    from stream_bayes.core.live_networks.counted_network import CountedNetwork
    from stream_bayes.core.live_networks.labelled_network import LabelledNetwork

__all__ = ["evidence_of_network"]


def evidence_of_network(
    model: Any,  # a BayesNet or BayesNetClassifier, whose modules import this one
    network: CountedNetwork | LabelledNetwork,
    empty: CountedNetwork | LabelledNetwork,
    events: float,
) -> float:
    """Return the log-probability of the events that a network has counted. `model` is asked for its settings. `network`
    is its network now, `empty` that before any event. `events` is their weight.

    Raises
    ------
    NotSupported
        Where it would not be exact.
    """
    fault = _fault(model)
    if fault is not None:
        raise _inexact(model, fault)
    evidence = []
    for variable in network.structure.variables:
        posterior, prior = network.weights(variable), empty.weights(variable)
        if network.states[variable] != empty.states[variable]:
            raise _inexact(model, f"declare all values of {shown(variable)}, in the schema")
        if posterior is None or prior is None:  # the probabilities of a class that were given
            counts = np.asarray(model.store.tables.class_weight)[: len(model.store.encoder.labels)]
            evidence.append(float(counts @ np.log(network.table(variable))))
            continue
        if not (prior > 0.0).all():
            raise _inexact(
                model, f"the table of {shown(variable)} has cells without a prior; give a strength above 0"
            )
        counted = float(posterior.sum() - prior.sum())
        if not math.isclose(counted, events, rel_tol=1e-9, abs_tol=1e-9):
            raise _inexact(
                model,
                f"{shown(variable)} or a parent of it was missing in {events - counted:,.0f} of {events:,.0f} events",
            )
        evidence.append(log_evidence_of(prior, posterior))
    return math.fsum(evidence)


def _fault(model: Any) -> str | None:
    """Return why the evidence is not exact, by the model's settings; None if it may be."""
    if getattr(model, "missing", "skip") != "skip" or getattr(model, "unlabelled", "refuse") != "refuse":
        return "events with missing values are counted in shares"
    if model.is_growing:
        return "its structure was chosen by the events; make one with the structure that it has now"
    if getattr(model, "slides", False):
        return "slides=True forgets events"
    if model.half_life is not None or not model.store.tables.exact:
        return "events fade, or have weights that are not whole"
    if any(feature.measured for feature in model.store.encoder.nominal):
        return "numbers are counted in bins, each of which holds a part of its neighbours"
    return None


def _inexact(model: Any, fault: str) -> NotSupported:
    return NotSupported(f"{type(model).__name__} has no exact evidence here: {fault}")
