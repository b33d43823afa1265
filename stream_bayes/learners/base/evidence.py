"""The evidence of a naive Bayes model over names: the log-probability of all events, with its tables integrated out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_bayes.core.measures.dirichlet import log_evidence_of
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.values.values import shown
from stream_bayes.errors import NotSupported

__all__ = ["evidence_of_names"]


def evidence_of_names(model: Any) -> float:
    """Return the evidence of a naive Bayes model; raise `NotSupported` where it would not be exact."""
    fault = _fault(model)
    if fault is not None:
        raise NotSupported(f"{type(model).__name__} has no exact evidence here: {fault}")
    store, reading = model.store, model.reading
    tables, layout = store.tables, store.tables.values.layout
    classes = len(store.encoder.labels)
    counts = np.asarray(tables.class_weight)[:classes]
    if model.class_prior == "counted":
        add = np.full((1, classes), pseudocount(reading.prior_strength, classes, reading.spread))
        evidence = log_evidence_of(add, add + counts)
    else:
        evidence = math.fsum(
            count * p for count, p in zip(counts, model.log_prior().values(), strict=True) if count
        )
    weight = np.asarray(tables.values.weight).reshape(-1, layout.classes)
    for feature in store.encoder.nominal:
        values = len(feature.vocabulary)
        cells = weight[layout.start[feature.slot] :][:values, :classes].T
        add = np.full(cells.shape, pseudocount(reading.strength, values, reading.spread))
        evidence += log_evidence_of(add, add + cells)
    return float(evidence)


def _fault(model: Any) -> str | None:
    """Return why the evidence of a model is not exact; None if it is."""
    store = model.store
    encoder, tables = store.encoder, store.tables
    if getattr(model, "unlabelled", "refuse") != "refuse":
        return f"unlabelled={model.unlabelled!r} counts events in shares"
    if not tables.exact or model.half_life is not None:
        return "samples fade, or have weights that are not whole"
    if model.strength <= 0.0:
        return "strength=0 is no prior"
    if encoder.numeric or any(feature.measured for feature in encoder.nominal):
        return "numbers are read by a mixture of densities, or in bins"
    if encoder.labels.declared == 0 or len(encoder.labels) > encoder.labels.declared:
        return (
            "declare all classes, in the schema or by class_prior; those that come are counted as they come"
        )
    for feature in encoder.nominal:
        if feature.vocabulary.declared == 0 or len(feature.vocabulary) > feature.vocabulary.declared:
            return f"declare all values of {shown(feature.name)}, as Nominal([...]) in the schema"
    return None
