"""Moving what is counted into tables with more room."""

from __future__ import annotations

import numpy as np

from stream_bayes.core._gaussians import Gaussians
from stream_bayes.core._layout import Layout
from stream_bayes.core._pair_counts import PairCounts
from stream_bayes.core._tables import Tables
from stream_bayes.core._triple_counts import TripleCounts
from stream_bayes.core._value_counts import ValueCounts
from stream_bayes.core.counts_state import MOMENTS, grid

__all__ = ["move"]


def move(tables: Tables, layout: Layout, numeric: int, order: int, word_histogram: bool) -> None:
    """Let tables take a layout with more room, and room for so many numeric features; what they hold goes along."""
    old = tables.values
    classes = layout.classes
    values = ValueCounts(layout, tables.exact)
    pairs = PairCounts(layout) if order >= 2 else None
    triples = TripleCounts(layout) if order >= 3 else None
    gaussians = Gaussians(numeric, classes, tables.exact)
    class_weight = np.zeros(classes)
    class_samples = class_weight if tables.exact else np.zeros(classes)
    class_peak = np.zeros(classes)
    kept = old.layout.classes
    held = np.asarray(old.layout.used)[: layout.features]
    here, there = layout.positions_of(held), old.layout.positions_of(held)
    runs = min(layout.features, old.layout.features)
    numbers = min(numeric, tables.gaussians.features)
    for new, now, rows, old_rows in (
        (values.weight, old.weight, here, there),
        (values.samples, old.samples, here, there),
        (values.present, old.present, slice(runs), slice(runs)),
        (values.present_samples, old.present_samples, slice(runs), slice(runs)),
        *(
            (
                getattr(gaussians, name),
                getattr(tables.gaussians, name),
                slice(numbers),
                slice(numbers),
            )
            for name in MOMENTS
        ),
    ):
        grid(new, classes)[rows, :kept] = grid(now, kept)[old_rows]
    class_weight[:kept] = tables.class_weight
    class_samples[:kept] = tables.class_samples
    class_peak[:kept] = tables.class_peak
    values.recount()
    if tables.pairs is not None and pairs is not None:
        grid(pairs.weight, classes)[layout.pairs_of(held), :kept] = grid(tables.pairs.weight, kept)[
            old.layout.pairs_of(held)
        ]
        if tables.pairs.beside is not None:
            pairs.beside = np.zeros(layout.positions * layout.features * classes)
            beside = np.asarray(pairs.beside).reshape(-1, layout.features, classes)
            before = np.asarray(tables.pairs.beside).reshape(-1, old.layout.features, kept)
            beside[here, :runs, :kept] = before[there, :runs]
    if tables.triples is not None and triples is not None:
        grid(triples.weight, classes)[layout.triples_of(held), :kept] = grid(tables.triples.weight, kept)[
            old.layout.triples_of(held)
        ]
    if word_histogram and tables.exact:
        values.rebuild_histogram()
    tables.values, tables.pairs, tables.triples, tables.gaussians = values, pairs, triples, gaussians
    tables.class_weight, tables.class_samples, tables.class_peak = class_weight, class_samples, class_peak
