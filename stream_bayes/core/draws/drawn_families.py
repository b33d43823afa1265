"""Drawn tables of features with several parents, which back off from those with few samples: KDB."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from stream_bayes.core.draws.drawn_pairs import PairTables
from stream_bayes.core.draws.drawn_tables import Factor, Floats, TableKey, Term

__all__ = ["DependenceTables"]


class DependenceTables(PairTables):
    """P(value | y, parents), with P(value | y, all parents but the last) as the mean of a prior of weight `strength`.

    A table's prior is drawn first, then the table. Its key is ("backed", slot, parents), with each parent as
    (slot, mixture of codes, family of it and those before it): a number between bins has a table of its own.
    """

    def __init__(self, reading: Any) -> None:
        super().__init__(reading)
        ends = np.array(reading.parent_end)
        parents, families = np.array(reading.parent).tolist(), np.array(reading.family).tolist()
        self.parents = [
            [*zip(parents[first:last], families[first:last], strict=True)]
            for first, last in zip([0, *ends][:-1], ends, strict=True)
        ]
        tables = reading.tables.families
        self.families: list[dict[tuple[int, ...], Floats]] | None = None
        if tables is not None:
            self.families = []
            self.members = [parents for _, parents in tables.families]
            for f in range(len(tables.families)):
                codes, weights, _ = tables.rows_of(f)
                rows = weights[..., self.columns] / self.unit
                self.families.append(dict(zip(map(tuple, codes.tolist()), rows, strict=True)))

    def parameters(self, key: TableKey, tables: Any) -> Floats:
        _, slot, parents = key
        run = self.positions(slot)
        counts = np.zeros((len(run), len(self.live)))
        for codes in product(*(mixture for _, mixture, _ in parents)):
            share = float(np.prod([share for share, _ in codes]))
            if parents[-1][2] < 0:
                parent, code = parents[0][0], codes[0][1]
                counts += share * self.together(run, np.full_like(run, self.start[parent] + code))
                continue
            assert self.families is not None
            family = parents[-1][2]
            by_slot = {slot: code for (slot, _, _), (_, code) in zip(parents, codes, strict=True)}
            row = self.families[family].get(tuple(by_slot[slot] for slot in self.members[family]))
            if row is not None:
                counts += share * row[: len(run)]
        lower = self.below(key)
        below = tables.weights(lower)
        total = below.sum(axis=0)
        shares = np.divide(below, total, out=np.zeros_like(below), where=total > 0.0)
        weights = counts + self.strength * shares
        return np.asarray(np.where(weights.sum(axis=0) > 0.0, weights, shares))

    def below(self, key: TableKey) -> TableKey:
        """Return the key of the table that another one backs off to."""
        _, slot, parents = key
        return ("backed", slot, parents[:-1]) if len(parents) > 1 else ("alone", slot)

    def also_learned(self, key: TableKey, code: int, y: int, rng: np.random.Generator) -> TableKey | None:
        if key[0] != "backed":
            return None
        lower = self.below(key)
        weights = self.weights(key)[code, y]
        below = self.weights(lower)
        of_prior = self.strength * below[code, y] / below[:, y].sum()
        return lower if rng.random() * weights < of_prior else None

    def terms(self, row: Any) -> list[Term]:
        entries = self.entries(row)
        by_slot = dict(entries)
        factors, certain = self.prior_factors()
        for slot, values in entries:
            chain = self._chain(slot, by_slot)
            key: TableKey = ("backed", slot, tuple(chain)) if chain else ("alone", slot)
            factors.append(Factor(((1.0, key),), values))
        return [Term(factors, certain)]

    def _chain(self, slot: int, by_slot: dict[int, Any]) -> list[tuple[int, Any, int]]:
        """Return the parents that an event has, up to the first that it lacks; another one alone without the first."""
        chain: list[tuple[int, Any, int]] = []
        for number, (parent, family) in enumerate(self.parents[slot] if slot < len(self.parents) else []):
            if parent not in by_slot:
                if chain:
                    break
                continue
            if not chain:
                chain.append((parent, by_slot[parent], -1))
                if number:
                    break
            elif self.families is None:
                break
            else:
                chain.append((parent, by_slot[parent], family))
        return chain
