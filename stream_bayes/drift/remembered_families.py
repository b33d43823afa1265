"""Families as they were before a change: tables of names, and sums of names and numbers.

Both say whether a network still has the family, what it loses on an event with and without what is remembered, and add
what is remembered to the family again. `recall` needs nothing else of a family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.live_networks.family_counts import CountedCells
from stream_bayes.core.live_networks.family_sums import FamilySums
from stream_bayes.core.readings._smoothing import m_estimate
from stream_bayes.core.values.values import Value
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.errors import NotLearned
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.mixed_network import MixedNetwork

__all__ = [
    "EventNetwork",
    "FamilyLosses",
    "RememberedFamily",
    "RememberedSums",
    "RememberedTable",
    "event_of",
    "remembered",
]

LEAST_REMEMBERED = 32.0  # events of a family

EventNetwork: TypeAlias = BayesNet | MixedNetwork


class FamilyLosses(NamedTuple):
    """Minus the log-probability of a value given its parents: by a family as it is, and with what is remembered."""

    present: float
    recalled: float


class RememberedFamily(Protocol):
    """The content of a family before a change."""

    @property
    def variable(self) -> Value:
        """The child of the family."""

    @property
    def memory_bytes(self) -> int:
        """The bytes of the arrays."""

    def fits(self, network: EventNetwork) -> bool:
        """Return True if a network has the family, by the same parents and values."""

    def losses(self, network: EventNetwork, event: Any) -> FamilyLosses | None:
        """Return the losses on an event, as `event_of` has it; None if it lacks a member of the family."""

    def add_to(self, network: EventNetwork) -> None:
        """Add what is remembered to the family of a network."""


def remembered(
    network: EventNetwork, variable: Value, since: int, recent: RecentEvents
) -> RememberedFamily | None:
    """Return a family without the events since a change; None if it had counted few before.

    The network has learned the recent events.
    """
    if isinstance(network, BayesNet):
        return RememberedTable.before(network, variable, since, recent)
    return RememberedSums.before(network, variable, since, recent)


class RememberedTable:
    """The cells of a family of names, and the values of each of its members by code."""

    def __init__(self, cells: CountedCells, values: tuple[tuple[Value, ...], ...]) -> None:
        self.cells, self.values = cells, values
        self._by_row: dict[tuple[int, ...], dict[int, float]] = {}
        for (*above, code), weight in zip(cells.codes.tolist(), cells.weights.tolist(), strict=True):
            self._by_row.setdefault(tuple(above), {})[code] = weight

    @classmethod
    def before(
        cls, network: BayesNet, variable: Value, since: int, recent: RecentEvents
    ) -> RememberedTable | None:
        """Return the table without the events since a change; None if few are left."""
        store = network.store
        cells = store.cells_of(variable)
        number = min(recent.newest - since + 1, len(recent))
        events, clocks = recent.newest_codes(number), recent.newest_clocks(number)
        members = events.codes[[store.slot_of(name) for name in cells.members]]
        learned = (members >= 0).all(axis=0) & (clocks >= since)
        weights, half_life = events.weights, store.tables.half_life
        if half_life:
            weights = weights * 0.5 ** ((recent.newest - clocks) / half_life)
        cells = cells.without(members[:, learned].T, weights[learned])
        if cells.weights.sum() < LEAST_REMEMBERED:
            return None
        return cls(cells, tuple([store.values_of(name) for name in cells.members]))

    @property
    def variable(self) -> Value:
        return self.cells.members[-1]

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in self.cells[1:])

    def fits(self, network: EventNetwork) -> bool:
        """Return True if a network has the family, with the values under the same codes."""
        if not isinstance(network, BayesNet) or self.variable not in network.structure:
            return False
        store = network.store
        return self.cells.members == store.members_of(self.variable) and all(
            store.values_of(name)[: len(values)] == values
            for name, values in zip(self.cells.members, self.values, strict=True)
        )

    def losses(self, network: EventNetwork, event: Mapping[int, int]) -> FamilyLosses | None:
        assert isinstance(network, BayesNet)
        store = network.store
        *above, code = (event.get(store.slot_of(name), -1) for name in self.cells.members)
        if code < 0 or min(above, default=0) < 0:
            return None
        weights = store.weights_under(self.variable, above)
        size = max(len(store.values_of(self.variable)), code + 1)
        mine, total = (float(weights[code]) if code < len(weights) else 0.0), float(weights.sum())
        before = self._by_row.get(tuple(above), {})
        recalled = m_estimate(mine + before.get(code, 0.0), total + math.fsum(before.values()), size)
        return FamilyLosses(-math.log(m_estimate(mine, total, size)), -math.log(recalled))

    def add_to(self, network: EventNetwork) -> None:
        assert isinstance(network, BayesNet)
        network.recall(self.cells)


class RememberedSums:
    """The counts and sums of a family over names and numbers."""

    def __init__(self, sums: FamilySums) -> None:
        self.sums = sums

    @classmethod
    def before(
        cls, network: MixedNetwork, variable: Value, since: int, recent: RecentEvents
    ) -> RememberedSums | None:
        """Return the sums without the events since a change; None if few are left."""
        sums = network.store.sums_of(variable)
        if sums is None:
            return None
        newer = [(network.store.values_in(row), row.weight) for _, row in recent.events(since)]
        newer = [(values, weight) for values, weight in newer if sums.holds_all_of(values)]
        if sums.weight - math.fsum(weight for _, weight in newer) < LEAST_REMEMBERED:
            return None
        try:
            for values, weight in newer:
                sums.subtract(values, weight)
        except NotLearned:  # its cuts or its parents are newer than some of these events
            return None
        return cls(sums)

    @property
    def variable(self) -> Value:
        return self.sums.shape.variable

    @property
    def memory_bytes(self) -> int:
        return self.sums.store.memory_bytes

    def fits(self, network: EventNetwork) -> bool:
        return isinstance(network, MixedNetwork) and network.store.has_shape(self.sums.shape)

    def losses(self, network: EventNetwork, event: Mapping[Value, Any]) -> FamilyLosses | None:
        assert isinstance(network, MixedNetwork)
        if not self.sums.holds_all_of(event):
            return None
        families, v = network.families, self.variable
        return FamilyLosses(
            -families.log_density(v, event), -families.log_density_with(v, event, self.sums.store)
        )

    def add_to(self, network: EventNetwork) -> None:
        assert isinstance(network, MixedNetwork)
        network.recall(self.sums)


def event_of(network: EventNetwork, event: Row | Mapping[Any, Any]) -> Any:
    """Return an event as the families of a network read it: of names their codes by slot."""
    if isinstance(event, Row):
        return {int(event.feature[k]): int(event.code[k]) for k in range(event.entries)}
    assert isinstance(network, MixedNetwork)
    return network.store.read(event)
