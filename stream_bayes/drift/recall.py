"""Recall: families of a network that return to what they were, each from its own memory.

When a family changes, what it had counted before is remembered. When it changes again, what is remembered of earlier
changes is proposed: the present family, which counts the events since the change, with the remembered one added. Where
all families were counted again, so are those of just before, as some of them may not have changed.

The events that come after are predicted both ways. As long as the present family is right, the product of the ratios of
these probabilities is an e-value: whatever is remembered, and however often one looks, one of n proposals exceeds
n / `ERROR` with a probability of at most `ERROR`. Where one does, what is remembered is added.

It is proposed only to a family with the parents that it had, and with the same cuts of numbers above a name.
"""

from __future__ import annotations

import math
from typing import Any

from stream_bayes.core.values.values import Value
from stream_bayes.drift.family_detectors import TOGETHER
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.drift.remembered_families import (
    EventNetwork,
    FamilyLosses,
    RememberedFamily,
    event_of,
    remembered,
)

__all__ = ["FamilyMemory", "Proposal"]

ERROR = 0.01  # the probability that a family which does not return to what is remembered gets that


class Proposal:
    """A remembered family that is judged, one of some `rivals`: what it and the present one lose on the events after it
    was proposed.
    """

    def __init__(
        self,
        family: RememberedFamily,
        since: int,
        rivals: int,
        events: int = 0,
        lost: float = 0.0,
        gain: float = 0.0,
    ) -> None:
        self.family, self.since, self.rivals = family, since, rivals
        self.events, self.lost, self.gain = events, lost, gain

    def add(self, losses: FamilyLosses) -> None:
        """Add the losses of an event."""
        self.events += 1
        self.lost += losses.present
        self.gain += losses.present - losses.recalled

    @property
    def score(self) -> dict[str, float]:
        """Minus the mean log-probability of the values, by the present family and with the remembered one."""
        return {"before": self.lost / self.events, "after": (self.lost - self.gain) / self.events}


class FamilyMemory:
    """Families before they changed, the newest last, at most `most` of each variable; and those that are judged, for at
    most `longest` events.
    """

    def __init__(self, most: int, longest: int) -> None:
        self.most, self.longest = most, longest
        self.families: dict[Value, list[RememberedFamily]] = {}
        self.proposals: list[Proposal] = []

    @property
    def memory_bytes(self) -> int:
        """The bytes of all families, and of those that are judged."""
        families = [family for each in self.families.values() for family in each]
        families += [one.family for one in self.proposals]
        return sum({id(family): family.memory_bytes for family in families}.values())

    def propose(self, network: EventNetwork, variable: Value, since: int) -> None:
        """Propose what is remembered of a family that was counted again since a change."""
        self.proposals = [one for one in self.proposals if one.family.variable != variable]
        fitting = [family for family in self.families.get(variable, ()) if family.fits(network)]
        self.proposals += [Proposal(family, since, len(fitting)) for family in fitting]

    def remember(self, network: EventNetwork, variable: Value, since: int, recent: RecentEvents) -> None:
        """Remember a family without the events since a change, nor those of a block before, as a change is dated to
        about a block. The network has learned the recent events.
        """
        if self.most and (family := remembered(network, variable, since - TOGETHER, recent)) is not None:
            self.families[variable] = [*self.families.get(variable, ()), family][-self.most :]

    def losses(self, network: EventNetwork, event: Any, weight: float) -> list[FamilyLosses | None]:
        """Return what an event that is about to be learned costs each proposal that still fits, by its parents."""
        if not self.proposals or weight == 0.0:
            return []
        self.proposals = [one for one in self.proposals if one.family.fits(network)]
        values = event_of(network, event)
        return [one.family.losses(network, values) for one in self.proposals]

    def judge(self, losses: list[FamilyLosses | None]) -> list[Proposal]:
        """Judge the proposals by their losses on an event; return those that have proved right."""
        if not losses:
            return []
        left, proved = [], []
        for one, each in zip(self.proposals, losses, strict=True):
            if each is not None:
                one.add(each)
            if one.gain >= math.log(one.rivals / ERROR):
                proved.append(one)
            elif one.gain > math.log(ERROR) and one.events < self.longest:
                left.append(one)
        best = {one.family.variable: one for one in sorted(proved, key=lambda one: one.gain)}
        self.proposals = [one for one in left if one.family.variable not in best]
        for one in best.values():
            # It is in the present family now, and is remembered with that at the next change.
            variable = one.family.variable
            self.families[variable] = [each for each in self.families[variable] if each is not one.family]
        return list(best.values())

    def drop_proposals(self) -> None:
        """End all judgements: another network answers."""
        self.proposals = []
