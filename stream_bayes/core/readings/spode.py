"""SPODE: the super-parent that the user named, or the one that has predicted best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._spode import SuperParentReading
from stream_bayes.core.readings.state import load_losses, load_slot
from stream_bayes.core.structures.deriving_schedule import NEVER, decay_of
from stream_bayes.core.structures.named_features import ExpectedFeatures, OnAbsent
from stream_bayes.core.values.values import Value
from stream_bayes.errors import BadState

__all__ = ["SuperParent"]


class SuperParent(SuperParentReading):
    """SPODE: the named super-parent, or the one whose predictions have had the least fading loss. `parent` is the name
    of the super-parent; None: chosen live. After `half_life` events a loss counts half; None: losses do not fade.
    `on_absent` is as `ExpectedFeatures` takes it.
    """

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        parent: Value | None,
        half_life: float | None,
        on_absent: OnAbsent | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            tables, encoder.labels, parent is None, decay_of(half_life), encoder=encoder, **settings
        )
        self.parent_name = parent
        self.expected = ExpectedFeatures([] if parent is None else [parent], on_absent)
        if parent is not None:
            self.derive()

    def derive(self) -> None:
        """Find the named super-parent among the features; again after each event until it has come."""
        feature = self.encoder.features.get(self.parent_name)
        self.chosen = -1 if feature is None else feature.slot
        clock = int(self.tables.clock)
        self.due = clock + 1 if feature is None else NEVER
        self.expected.check(self.encoder, clock)

    def derived_state(self) -> dict[str, Any]:
        """Return the losses and the choice; nothing if the super-parent is the learner's argument."""
        if not self.live_choice:
            return {}
        features = len(self.encoder.nominal)
        losses = np.full(
            features, self.naive_bayes_loss
        )  # naive Bayes answered for a feature that had not come
        counted = np.asarray(self.loss)[:features]
        losses[: len(counted)] = counted
        return {"chosen": self.chosen, "losses": losses.tolist(), "naive_bayes_loss": self.naive_bayes_loss}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        if not self.live_choice:
            self.expected.checked_at = int(self.tables.clock)
            self.derive()
            return
        features = len(self.encoder.nominal)
        self.loss = load_losses(saved["losses"])
        self.naive_bayes_loss = float(load_losses([saved["naive_bayes_loss"]])[0])
        if len(self.loss) != features:
            raise BadState("the state does not fit: its losses are not those of its features")
        self.chosen = -1 if saved["chosen"] == -1 else load_slot(saved["chosen"], features)

    def after_merge(self) -> None:
        if self.live_choice:
            self.forget_losses()
        else:
            self.derive()

    def parent_slots(self, features: int) -> NDArray[np.int64] | None:
        if self.chosen < 0:
            return None
        parents = np.full(features, self.chosen)
        parents[self.chosen] = -1
        return parents
