"""Subsumption resolution: which of an event's values say nothing beyond a more special one.

"Pregnant" implies "female": where both are known, the general value doubles the evidence of the special one.
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.values import name_order

if not cython.compiled:
    from stream_bayes.core._layout import Layout
    from stream_bayes.core._pair_counts import PairCounts
    from stream_bayes.core._tables import Tables
    from stream_bayes.core._value_counts import ValueCounts


@cython.cclass
class Generalities:
    """Finds the values that others imply: all samples that hold the one hold the other.

    Parameters
    ----------
    encoder
        Whose features' names break ties: of two values that imply each other, the first by name stays.
    least
        A value must hold more than this weight, in fresh samples, to imply another; negative: none does.
    tolerance
        The share of samples by which an implication may fail and still be one.
    """

    def __init__(self, encoder, least: cython.double, tolerance: cython.double):
        self.encoder = encoder
        self.least = least
        self.tolerance = tolerance
        self.rank = np.zeros(0, np.longlong)
        self.total = np.zeros(0)
        self.implied = np.zeros(0, np.uint8)

    @cython.cfunc
    def ranks(self) -> cython.longlong[::1]:
        """The place of each slot's feature in the order of names."""
        if self.rank.shape[0] != len(self.encoder.nominal):
            names = [name_order(feature.name) for feature in self.encoder.nominal]
            order = sorted(range(len(names)), key=names.__getitem__)
            rank = np.zeros(len(names), np.longlong)
            rank[order] = np.arange(len(names))
            self.rank = rank
        return self.rank

    @cython.cfunc
    def find(
        self,
        tables: Tables,
        slot: cython.longlong[::1],
        place: cython.longlong[::1],
        entries: cython.Py_ssize_t,
    ):
        """Note in `implied` which of an event's entries another implies."""
        pairs: PairCounts = tables.pairs
        values: ValueCounts = tables.values
        layout: Layout = values.layout
        stride: cython.Py_ssize_t = layout.classes
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        y: cython.Py_ssize_t
        both: cython.double
        general: cython.bint
        special: cython.bint
        critical: cython.double = self.least * tables.unit
        certain: cython.double = 1.0 - max(self.tolerance, 1e-12)
        rank: cython.longlong[::1] = self.ranks()
        if self.total.shape[0] < entries:
            self.total, self.implied = np.zeros(2 * entries), np.zeros(2 * entries, np.uint8)
        for k in range(entries):
            self.implied[k] = False
            self.total[k] = 0.0
            for y in range(tables.labels):
                self.total[k] += values.weight[place[k] * stride + y]
        for k in range(1, entries):
            for e in range(k):
                both = 0.0
                for y in range(tables.labels):
                    both += pairs.weight[layout.pair(place[k], place[e]) * stride + y]
                general = both >= self.total[e] * certain and self.total[e] > critical
                special = both >= self.total[k] * certain and self.total[k] > critical
                if general and special:
                    general = rank[slot[e]] < rank[slot[k]]
                    special = not general
                if general:
                    self.implied[k] = True
                elif special:
                    self.implied[e] = True
