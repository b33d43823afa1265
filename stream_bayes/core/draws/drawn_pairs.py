"""Drawn tables of pairs and triples: features with one parent, super-parents, and pairs of these."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from stream_bayes.core.draws.drawn_tables import (
    CountedTables,
    Factor,
    Floats,
    Mixture,
    TableKey,
    Term,
    logs_of,
)
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.values.values import name_order

__all__ = ["AverageTables", "PairAverageTables", "ParentTables", "SuperParentTables"]

PairEntry = tuple[int, Mixture]
ROUNDING = 1e-12


class PairTables(CountedTables):
    """The tables of values given the class and other values."""

    def __init__(self, reading: Any) -> None:
        super().__init__(reading)
        tables = reading.tables
        self._values = self._by_position(tables.values.weight)
        self.pairs = np.array(tables.pairs.weight).reshape(-1, self.layout.classes)
        self.triples = None
        if tables.triples is not None:
            self.triples = np.array(tables.triples.weight).reshape(-1, self.layout.classes)

    def together(self, *positions: Any) -> Floats:
        """Return the weights of two or three positions of different features, broadcast, in fresh samples."""
        ordered = np.sort(np.stack(np.broadcast_arrays(*positions)), axis=0)
        high, low = ordered[-1], ordered[0]
        cells, table = self.layout.cells_of_pairs(high, low), self.pairs
        if len(ordered) == 3:
            assert self.triples is not None
            owner = np.asarray(self.layout.owner)[high]
            line = np.asarray(self.layout.triple_start)[owner]
            line = line + (high - self.start[owner]) * np.asarray(self.layout.pair_start)[owner]
            cells, table = line + self.layout.cells_of_pairs(ordered[1], low), self.triples
        return np.asarray(table[cells][..., self.columns] / self.unit)

    def positions(self, slot: int) -> Any:
        """Return the positions of a feature's values."""
        return np.arange(self.start[slot], self.start[slot] + self.used[slot])

    def parameters(self, key: TableKey, tables: Any) -> Floats:
        if key[0] == "joint":
            runs = [self.positions(slot) for slot in key[1]]
            grid = np.meshgrid(*runs, indexing="ij")
            occupied = np.logical_and.reduce([self.occupied[run] for run in grid])
            if len(runs) == 1:
                weights = self._values[runs[0]]
            else:
                weights = self.together(*grid)
            cells = len(self.live) * int(np.prod([self.distinct[slot] for slot in key[1]]))
            weights = np.where(
                occupied[..., None], weights + pseudocount(self.strength, cells, self.spread), 0.0
            )
            return weights.reshape(-1, len(self.live))
        _, child, parents = key
        run = self.positions(child)
        weights = self.together(run, *(np.full_like(run, self.start[slot] + code) for slot, code in parents))
        add = pseudocount(self.strength, int(self.distinct[child]), self.spread)
        return np.where(self.occupied[run][:, None], weights + add, 0.0)

    def given(self, entry: PairEntry, parents: Sequence[PairEntry]) -> Factor:
        """Return the factor of a value given the class and other values, each perhaps read between bins."""
        tables = []
        for codes in product(*(values for _, values in parents)):
            configuration = tuple((slot, code) for (slot, _), (_, code) in zip(parents, codes, strict=True))
            share = float(np.prod([share for share, _ in codes]))
            tables.append((share, ("given", entry[0], configuration)))
        return Factor(tuple(tables), entry[1])


class ParentTables(PairTables):
    """A feature depends on the class and at most one other: TAN, KDB with one parent, ODE."""

    def __init__(self, reading: Any) -> None:
        super().__init__(reading)
        self.parent = np.array(reading.parent)

    def terms(self, row: Any) -> list[Term]:
        entries = self.entries(row)
        by_slot = dict(entries)
        factors, certain = self.prior_factors()
        for slot, values in entries:
            parent = int(self.parent[slot]) if slot < len(self.parent) else -1
            if parent in by_slot:
                factors.append(self.given((slot, values), [(parent, by_slot[parent])]))
            else:
                factors.append(Factor(((1.0, ("alone", slot)),), values))
        return [Term(factors, certain)]


class AverageTables(PairTables):
    """The average over super-parents: AODE."""

    parents = 1  # of a value in a term

    def __init__(self, reading: Any) -> None:
        super().__init__(reading)
        self.min_count = float(reading.min_count) * (1.0 - ROUNDING)
        self.importance = None if reading.importance is None else np.array(reading.importance)
        self.least = float(reading.subsumption.least)
        self.ranks: dict[int, Any] = {}
        if self.least >= 0.0:
            self.ranks = {feature.slot: name_order(feature.name) for feature in reading.encoder.nominal}
        if self.certain_prior is not None and reading.class_prior != "counted":
            counted = logs_of(self.class_parameters, np.asarray(self.class_parameters.sum()))
            self.certain = np.where(np.isfinite(counted), self.certain_prior - counted, 0.0)

    def specific(self, entries: list[PairEntry]) -> list[PairEntry]:
        """Return the values that no other one of the event implies, as `_aode.Subsumption` finds them."""
        if self.least < 0.0 or len(entries) < 2:
            return entries
        main = [self.start[slot] + max(values)[1] for slot, values in entries]
        totals = [self._values[position].sum() for position in main]
        implied = set()
        for (a, first), (b, second) in combinations(enumerate(main), 2):
            both = self.together(first, second).sum()
            general, specific = (
                both >= totals[k] * (1.0 - ROUNDING) and totals[k] > self.least for k in (a, b)
            )  # the first implies the second; the second the first
            if general and specific:
                general = self.ranks[entries[a][0]] < self.ranks[entries[b][0]]
                specific = not general
            if general:
                implied.add(b)
            elif specific:
                implied.add(a)
        return [entry for k, entry in enumerate(entries) if k not in implied]

    def terms(self, row: Any) -> list[Term]:
        entries = self.entries(row)
        specific = self.specific(entries)
        return self.averaged(specific) or [self.naive_term(entries)]

    def averaged(self, entries: list[PairEntry]) -> list[Term]:
        """Return a term for each eligible super-parent."""
        return self._terms_of([(entry,) for entry in entries], entries)

    def _terms_of(self, groups: Sequence[tuple[PairEntry, ...]], entries: list[PairEntry]) -> list[Term]:
        """Return a term for each eligible group of values, on which all others depend."""
        terms = []
        for group in groups:
            weight = self._importance(group)
            together = self._weight_of(group)
            if weight <= 0.0 or together < self.min_count or together <= 0.0:
                continue
            slots = tuple(slot for slot, _ in group)
            codes = []
            for chosen in product(*(values for _, values in group)):
                code = 0
                for slot, (_, value) in zip(slots, chosen, strict=True):
                    code = code * int(self.used[slot]) + value
                codes.append((float(np.prod([share for share, _ in chosen])), code))
            factors = [Factor(((1.0, ("joint", slots)),), tuple(codes))]
            factors += [self.given(entry, group) for entry in entries if entry[0] not in slots]
            terms.append(Term(factors, self.certain, weight))
        total = sum(term.weight for term in terms)
        return [term._replace(weight=term.weight / total) for term in terms]

    def _importance(self, group: tuple[PairEntry, ...]) -> float:
        if self.importance is None or len(group) > 1:
            return 1.0
        slot = group[0][0]
        return float(self.importance[slot]) if slot < len(self.importance) else 0.0

    def _weight_of(self, group: tuple[PairEntry, ...]) -> float:
        """Return the weight of a group's values together, in all classes."""
        total = 0.0
        for chosen in product(*(values for _, values in group)):
            positions = [self.start[slot] + code for (slot, _), (_, code) in zip(group, chosen, strict=True)]
            weight = self._values[positions[0]] if len(group) == 1 else self.together(*positions)
            total += float(np.prod([share for share, _ in chosen]) * weight.sum())
        return total


class SuperParentTables(AverageTables):
    """One super-parent: SPODE."""

    def __init__(self, reading: Any) -> None:
        super().__init__(reading)
        self.chosen = int(reading.chosen)

    def terms(self, row: Any) -> list[Term]:
        entries = self.entries(row)
        parents = [(entry,) for entry in entries if entry[0] == self.chosen]
        return self._terms_of(parents, entries) or [self.naive_term(entries)]


class PairAverageTables(AverageTables):
    """The average over pairs of super-parents, or over single ones where no pair is eligible: A2DE."""

    def averaged(self, entries: list[PairEntry]) -> list[Term]:
        return self._terms_of([*combinations(entries, 2)], entries) or super().averaged(entries)
