"""Recall: families of a network whose tables return, each from its own memory.

When a family changes, its table before the change is remembered. When it changes again, the tables remembered from
earlier changes are proposed: the present table, which counts the events since the change, with the remembered one
added. Where all tables were counted again, so are those of just before, as some families may not have changed.

The events that come after are predicted both ways. As long as the present table is right, the product of the ratios of
these probabilities is an e-value: whatever is remembered, and however often one looks, one of n proposals exceeds
n / `ERROR` with a probability of at most `ERROR`. Where one does, its table is added.

A table is proposed only to a family with the parents that it had.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.live_networks.family_counts import CountedCells, FamilyCounts
from stream_bayes.core.readings._smoothing import m_estimate
from stream_bayes.core.values.values import Value
from stream_bayes.drift.recent_events import RecentEvents

__all__ = ["FamilyMemory", "Proposal", "RememberedTable"]

ERROR = 0.01  # the probability that a family which does not return to a remembered table gets one
LEAST_REMEMBERED = 32.0  # events of a table


class RememberedTable(NamedTuple):
    """A family's table before a change, and the values of each of its members by code."""

    cells: CountedCells
    values: tuple[tuple[Value, ...], ...]

    def fits(self, store: FamilyCounts) -> bool:
        """Return True if the family has these parents in a store, which has the values under the same codes."""
        variable = self.cells.members[-1]
        return (
            variable in store.structure
            and self.cells.members == store.members_of(variable)
            and all(
                store.values_of(name)[: len(values)] == values
                for name, values in zip(self.cells.members, self.values, strict=True)
            )
        )

    @property
    def memory_bytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.cells[1:])


class Proposal:
    """A remembered table that is judged, one of some `rivals`: what it and the present one lose on the events after it
    was proposed.
    """

    def __init__(
        self,
        table: RememberedTable,
        since: int,
        rivals: int,
        events: int = 0,
        lost: float = 0.0,
        gain: float = 0.0,
    ) -> None:
        self.table, self.since, self.rivals = table, since, rivals
        self.events, self.lost, self.gain = events, lost, gain
        self._by_row: dict[tuple[int, ...], dict[int, float]] = {}
        for (*above, code), weight in zip(
            table.cells.codes.tolist(), table.cells.weights.tolist(), strict=True
        ):
            self._by_row.setdefault(tuple(above), {})[code] = weight

    @property
    def variable(self) -> Value:
        """The child of the family."""
        return self.table.cells.members[-1]

    def add(self, store: FamilyCounts, codes: Mapping[int, int]) -> None:
        """Add the losses of an event that is about to be learned. `codes` has those of its values by slot; an event
        without a member of the family tells nothing.
        """
        *above, code = (codes.get(store.slot_of(name), -1) for name in self.table.cells.members)
        if code < 0 or min(above, default=0) < 0:
            return
        weights = store.weights_under(self.variable, above)
        size = max(len(store.values_of(self.variable)), code + 1)
        mine, total = (float(weights[code]) if code < len(weights) else 0.0), float(weights.sum())
        before = self._by_row.get(tuple(above), {})
        loss = -math.log(m_estimate(mine, total, size))
        recalled = m_estimate(mine + before.get(code, 0.0), total + math.fsum(before.values()), size)
        self.events += 1
        self.lost += loss
        self.gain += loss + math.log(recalled)

    @property
    def score(self) -> dict[str, float]:
        """Minus the mean log-probability of the values, by the present table and with the remembered one."""
        return {"before": self.lost / self.events, "after": (self.lost - self.gain) / self.events}


class FamilyMemory:
    """The tables of families before they changed, the newest last, at most `most` of each variable; and those that are
    judged, for at most `longest` events.
    """

    def __init__(self, most: int, longest: int) -> None:
        self.most, self.longest = most, longest
        self.tables: dict[Value, list[RememberedTable]] = {}
        self.proposals: list[Proposal] = []

    @property
    def memory_bytes(self) -> int:
        """The bytes of all tables, and of those that are judged."""
        tables = [table for each in self.tables.values() for table in each]
        tables += [one.table for one in self.proposals]
        return sum({id(table): table.memory_bytes for table in tables}.values())

    def propose(self, store: FamilyCounts, variable: Value, since: int) -> None:
        """Propose the remembered tables of a family that was counted again since a change."""
        self.proposals = [one for one in self.proposals if one.variable != variable]
        fitting = [table for table in self.tables.get(variable, ()) if table.fits(store)]
        self.proposals += [Proposal(table, since, len(fitting)) for table in fitting]

    def remember(self, store: FamilyCounts, variable: Value, since: int, recent: RecentEvents) -> None:
        """Remember a family's table without the events since a change. The store has learned the recent events."""
        cells = store.cells_of(variable)
        if not self.most:
            return
        number = min(recent.newest - since + 1, len(recent))
        events, clocks = recent.newest_codes(number), recent.newest_clocks(number)
        members = events.codes[[store.slot_of(name) for name in cells.members]]
        learned = (members >= 0).all(axis=0) & (clocks >= since)
        weights, half_life = events.weights, store.tables.half_life
        if half_life:
            weights = weights * 0.5 ** ((recent.newest - clocks) / half_life)
        cells = cells.without(members[:, learned].T, weights[learned])
        if cells.weights.sum() >= LEAST_REMEMBERED:
            values = tuple([store.values_of(name) for name in cells.members])
            self.tables[variable] = [*self.tables.get(variable, ()), RememberedTable(cells, values)][
                -self.most :
            ]

    def follow(self, store: FamilyCounts, row: Row) -> list[Proposal]:
        """Judge the proposals by an event that is about to be learned; return those that have proved right."""
        if not self.proposals or row.weight == 0.0:
            return []
        codes = {int(row.feature[k]): int(row.code[k]) for k in range(row.entries)}
        left, proved = [], []
        for one in self.proposals:
            if not one.table.fits(store):
                continue
            one.add(store, codes)
            if one.gain >= math.log(one.rivals / ERROR):
                proved.append(one)
            elif one.gain > math.log(ERROR) and one.events < self.longest:
                left.append(one)
        best = {one.variable: one for one in sorted(proved, key=lambda one: one.gain)}
        self.proposals = [one for one in left if one.variable not in best]
        for one in best.values():
            # It is in the present table now, and is remembered with that at the next change.
            left_over = [table for table in self.tables[one.variable] if table is not one.table]
            self.tables[one.variable] = left_over
        return list(best.values())

    def drop_proposals(self) -> None:
        """End all judgements: another network answers."""
        self.proposals = []
