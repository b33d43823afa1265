"""The live choice among several readings of one store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._choice import ChoiceReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.state import load_clock, load_losses
from stream_bayes.core.structures.deriving_schedule import decay_of
from stream_bayes.errors import BadState

__all__ = ["Choice"]


class Choice(ChoiceReading):
    """Several readings of one store, by name; the best one answers, or their mixture. `mixture` and `rate` are as
    `ChoiceReading` takes them. After `half_life` events a loss counts half; None: losses do not fade.
    """

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

    def rederive(self) -> None:
        for member in self.members:
            member.rederive()

    def derived_state(self) -> dict[str, Any]:
        """Return the losses, the leader, and the derived state of each member."""
        return {
            "due": self.due,
            "losses": np.asarray(self.loss).tolist(),
            "leader": self.leader,
            "since": self.since,
            "members": [member.derived_state() for member in self.members],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        losses = load_losses(saved["losses"])
        if len(losses) != len(self.members) or type(saved["leader"]) is not int:
            raise BadState("the state does not fit: it chooses among other readings")
        if not 0 <= saved["leader"] < len(self.members):
            raise BadState("the state does not fit: its leader is none of its readings")
        self.loss, self.leader = losses, saved["leader"]
        self.due, self.since = load_clock(saved["due"]), load_clock(saved["since"])
        for member, derived in zip(self.members, saved["members"], strict=True):
            member.load_derived(derived)

    def after_merge(self) -> None:
        self.forget_losses()
        for member in self.members:
            member.after_merge()
        self.due = min(member.due for member in self.members)

    def set_prior(self, prior: Sequence[float]) -> None:
        super().set_prior(prior)
        for member in self.members:
            member.set_prior(prior)
