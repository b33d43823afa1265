"""Drawn tables of bags of words: the multinomial one of all words, and one of each word being there or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.core.draws.drawn_tables import CountedTables, Factor, Floats, TableKey, Term

__all__ = ["WordTables", "WordsThere"]


class WordTables(CountedTables):
    """A table of all words in each class."""

    def terms(self, row: Any) -> list[Term]:
        factors, certain = self.prior_factors()
        amounts = [float(row.amount[k]) for k in range(row.entries)]
        words = self.entries(row)
        codes = [int(row.code[k]) for k in range(row.entries)]
        by_code = dict(zip(codes, amounts, strict=True))
        for slot, values in words:
            factors.append(Factor(((1.0, ("alone", slot)),), values, by_code[values[0][1]]))
        return [Term(factors, certain)]


class WordsThere(CountedTables):
    """A table of two values for each word: it is in a message, or not."""

    def __init__(self, reading: Any) -> None:
        super().__init__(reading)
        total = self.class_weight + 2.0 * self.strength
        self.present = self.alone[:-1]
        self.absent = np.where(self.occupied[:, None], np.maximum(total - self.present, 0.0), 0.0)

    def parameters(self, key: TableKey, tables: Any) -> Floats:
        return np.array([self.absent[key[1]], self.present[key[1]]])

    def terms(self, row: Any) -> list[Term]:
        factors, certain = self.prior_factors()
        there = {values[0][1] for _, values in self.entries(row)}
        for word in np.flatnonzero(self.occupied).tolist():
            factors.append(Factor(((1.0, ("word", word)),), ((1.0, int(word in there)),)))
        return [Term(factors, certain)]
