"""Readings that choose or weigh: the super-parent of SPODE, the weights of AODE's, the choice among several readings;
and what is asked of any reading besides a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._aode import AverageReading
from stream_bayes.core.readings._choice import ChoiceReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings._spode import SuperParentReading
from stream_bayes.core.readings.parents import GivenParents
from stream_bayes.core.readings.schedule import (
    NEVER,
    Awaited,
    Missed,
    Named,
    checked_losses,
    checked_slot,
    checked_time,
    decay_of,
    next_check,
)
from stream_bayes.core.values.values import Value
from stream_bayes.errors import BadState

__all__ = [
    "Choice",
    "SuperParent",
    "WeightedAverage",
    "derived_state",
    "give_prior",
    "load_derived",
    "merged",
    "rederive",
]


class SuperParent(SuperParentReading):
    """SPODE: the named super-parent, or the one whose predictions have had the least fading loss."""

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        parent: Value | None,
        half_life: float | None,
        missed: Missed | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            tables, encoder.labels, parent is None, decay_of(half_life), encoder=encoder, **settings
        )
        self.parent_name = parent
        self.awaited = Awaited([] if parent is None else [parent], missed)
        if parent is not None:
            self.derive()

    def derive(self) -> None:
        """Find the named super-parent among the features met; again after each event until it is there."""
        feature = self.encoder.features.get(self.parent_name)
        self.chosen = -1 if feature is None else feature.slot
        clock = int(self.tables.clock)
        self.due = clock + 1 if feature is None else NEVER
        self.awaited.look(self.encoder, clock)

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts; a named super-parent is the learner's argument."""
        if not self.live_choice:
            return {}
        features = len(self.encoder.nominal)
        losses = np.full(features, self.plain_loss)  # naive Bayes answered for what was not met
        known = np.asarray(self.loss)[:features]
        losses[: len(known)] = known
        return {"chosen": self.chosen, "losses": losses.tolist(), "plain_loss": self.plain_loss}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        if not self.live_choice:
            self.awaited.looked_at = int(self.tables.clock)
            self.derive()
            return
        features = len(self.encoder.nominal)
        self.loss = checked_losses(saved["losses"])
        self.plain_loss = float(checked_losses([saved["plain_loss"]])[0])
        if len(self.loss) != features:
            raise BadState("the state does not fit: its losses are not those of its features")
        self.chosen = -1 if saved["chosen"] == -1 else checked_slot(saved["chosen"], features)


class Choice(ChoiceReading):
    """Several readings of one store, by name; the best one answers, or their mixture."""

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        members: Mapping[str, Reading],
        mixture: bool,
        half_life: float | None,
        rate: float,
        **settings: Any,
    ) -> None:
        super().__init__(
            tables, encoder.labels, list(members.values()), mixture, decay_of(half_life), rate, **settings
        )
        self.names = tuple(members)
        self.due = min(member.due for member in members.values())

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts."""
        return {
            "due": self.due,
            "losses": np.asarray(self.loss).tolist(),
            "leader": self.leader,
            "since": self.since,
            "members": [derived_state(member) for member in self.members],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        losses = checked_losses(saved["losses"])
        if len(losses) != len(self.members) or type(saved["leader"]) is not int:
            raise BadState("the state does not fit: it chooses among other readings")
        if not 0 <= saved["leader"] < len(self.members):
            raise BadState("the state does not fit: its leader is none of its readings")
        self.loss, self.leader = losses, saved["leader"]
        self.due, self.since = checked_time(saved["due"]), checked_time(saved["since"])
        for member, part in zip(self.members, saved["members"], strict=True):
            load_derived(member, part)


class WeightedAverage(AverageReading):
    """AODE whose super-parents weigh what they tell of the class."""

    def __init__(self, tables: Tables, encoder: Encoder, **settings: Any) -> None:
        super().__init__(tables, encoder.labels, encoder=encoder, **settings)
        self.due = next_check(tables, None)

    def derive(self) -> None:
        """Weigh the super-parents because it is time to."""
        self.rederive()
        self.due = next_check(self.tables, None)

    def rederive(self) -> None:
        """Weigh the super-parents by the counts as they are now; all alike where none tells anything."""
        named = Named(self.tables, self.encoder)
        weights = np.zeros(len(self.encoder.nominal))
        weights[named.slots] = named.with_class()
        self.importance = weights if weights.any() else None

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts."""
        if self.importance is None:
            return {"due": self.due, "weights": None}
        weights = enumerate(np.asarray(self.importance).tolist())
        return {"due": self.due, "weights": [[slot, weight] for slot, weight in weights if weight > 0.0]}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due = checked_time(saved["due"])
        if saved["weights"] is None:
            self.importance = None
            return
        weights = np.zeros(len(self.encoder.nominal))
        for slot, weight in saved["weights"]:
            weights[checked_slot(slot, len(weights))] = checked_losses([weight])[0]
        self.importance = weights


def give_prior(reading: Reading, prior: Sequence[float]) -> None:
    """Let a reading use a given P(y), by the codes of the classes."""
    reading.given = np.array(prior, np.float64)
    if isinstance(reading, Choice):
        for member in reading.members:
            give_prior(member, prior)


def derived_state(reading: Reading) -> dict[str, Any]:
    """What a reading has derived, as JSON values; empty for one that derives nothing."""
    return reading.derived() if hasattr(reading, "derived") else {}


def rederive(reading: Reading) -> None:
    """Derive from the counts as they are now whatever a reading derives from them."""
    if isinstance(reading, Choice):
        for member in reading.members:
            rederive(member)
    elif hasattr(reading, "rederive"):
        reading.rederive()


def load_derived(reading: Reading, saved: Mapping[str, Any]) -> None:
    """Let a new reading go on where the one that was saved stood."""
    if hasattr(reading, "load_derived"):
        reading.load_derived(saved)
    elif saved:
        raise BadState("the state does not fit: it holds more than counts")


def merged(reading: Reading) -> None:
    """Tell a reading that its store has taken in another's counts: what was scored before is not comparable any
    more.
    """
    if isinstance(reading, Choice) or (isinstance(reading, SuperParent) and reading.live_choice):
        reading.forget_losses()
    if isinstance(reading, GivenParents) or (isinstance(reading, SuperParent) and not reading.live_choice):
        reading.derive()
    if isinstance(reading, Choice):
        for member in reading.members:
            merged(member)
