"""Any learner of the package in place of the filter's own evidence, to score bags of tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from stream_bayes.errors import CannotMerge, NotSupported
from stream_bayes.learners.classifier.base import BayesClassifier, check_learner
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.explanation import TokenSays
from stream_bayes.mail.filter.receipts import Influence, Journal, Reading, Receipt

__all__ = ["LearnerEvidence"]

Labels = tuple[Hashable, Hashable]

FURTHEST: Final = 1e6  # of a score, where a learner calls a label impossible
NO_CODES = np.zeros(0, np.int32)


class LearnerEvidence(Influence):
    """What a learner says of bags, as a score of so much for each token.

    The score is log P(spam | bag) - log P(ham | bag) over the square root of the number of tokens, so that it grows
    with a message's length no more than what speaks for a label by chance does. A message that is longer than
    messages are weighs less. What was learned is unlearned with the bag it was learned from; with fading, as of then.

    Parameters
    ----------
    learner
        The classifier.
    labels
        What it calls label 0 and label 1.
    influence
        As of `Influence`.
    """

    def __init__(self, learner: BayesClassifier, labels: Labels, influence: int) -> None:
        super().__init__(influence)
        check_learner(learner)
        self.learner = learner
        self.labels = labels
        self.units_learned = [0, 0]
        self.version = 0

    @property
    def knows(self) -> bool:
        """Whether anything was learned."""
        return self.clock > 0

    @property
    def messages(self) -> tuple[float, float]:
        """The messages of each label, those that are capped in part."""
        return self.units_learned[0] / UNIT, self.units_learned[1] / UNIT

    def read(self, bag: dict[str, int]) -> Reading:
        """Score a message. Changes nothing that is kept."""
        joint = self.learner.joint_log_likelihood(bag)
        score = 0.0
        if all(label in joint for label in self.labels):
            wanted, unwanted = (joint[label] for label in self.labels)
            if wanted != unwanted:  # also where both are impossible
                score = (unwanted - wanted) / math.sqrt(max(len(bag), 1))
        return Reading(NO_CODES, min(max(score, -FURTHEST), FURTHEST), 0.5, self.version)

    def learn(self, bag: dict[str, int], reading: Reading, label: int) -> Receipt:
        """Learn a message."""
        receipt = Receipt(NO_CODES, len(bag), label, self.units(len(bag)), 0, True, 0.5, _packed(bag))
        receipt = self._added(receipt, bag)
        self.pass_by(len(bag))
        return receipt

    def passed(self, bag: dict[str, int], reading: Reading, label: int) -> Receipt:
        """The receipt of a message that teaches nothing, for it may still be corrected."""
        units = self.units(len(bag))
        self.pass_by(len(bag))
        return Receipt(NO_CODES, len(bag), label, units, 0, False, 0.5, _packed(bag))

    def _added(self, receipt: Receipt, bag: dict[str, int]) -> Receipt:
        label = receipt.label
        self.learner.learn_one(bag, self.labels[label], receipt.units / UNIT)
        self.units_learned[label] += receipt.units
        self.version += 1
        return replace(receipt, learned=True, at=self.learner.clock)

    def unlearn(self, receipt: Receipt) -> None:
        """Take back what a message added."""
        if not receipt.learned:
            return
        at = None if self.learner.half_life is None else receipt.at
        self.learner.unlearn_one(
            json.loads(receipt.bag), self.labels[receipt.label], receipt.units / UNIT, at
        )
        self.units_learned[receipt.label] -= receipt.units
        self.version += 1

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Learn the message of a receipt again, with this label."""
        return self._added(replace(receipt, label=label), json.loads(receipt.bag))

    def told(self, bag: dict[str, int]) -> list[TokenSays]:
        """What each token adds to the score."""
        evidence = self.learner.explain_one(bag).evidence
        root = math.sqrt(max(len(bag), 1))
        wanted, unwanted = self.labels
        return [
            TokenSays(str(token), (says[unwanted] - says[wanted]) / root, math.nan, math.nan)
            for token, says in evidence.items()
            if wanted in says and unwanted in says and says[wanted] != says[unwanted]
        ]

    def drop_old(self, most: int, journal: Journal) -> None:
        """The learner bounds its vocabulary itself."""

    def drop_unheld(self, journal: Journal) -> None:
        """The learner holds no token that nothing was learned of."""

    def exported(self, labels: Labels) -> dict[str, Any]:
        raise NotSupported(f"{self._name} keeps counts of its own: take its state(), or merge with another")

    def add_counts(self, counts: Mapping[str, Any], labels: Labels) -> None:
        raise NotSupported(f"{self._name} keeps counts of its own, and imports none: merge with another")

    def merge(self, other: LearnerEvidence, journal: Journal, receipts: Mapping[str, Receipt]) -> None:
        """Add what another one of the same settings has learned, and its receipts to a journal."""
        if self.learner.half_life is not None:
            raise CannotMerge(
                f"{self._name} fades by the clock of its own messages, which the other did not see"
            )
        self.learner.merge(other.learner)
        for place in (0, 1):
            self.units_learned[place] += other.units_learned[place]
        self.clock += other.clock
        self.lengths += other.lengths
        self.version += 1
        for key, receipt in receipts.items():
            journal.put(key, receipt)

    @property
    def _name(self) -> str:
        return f"a filter with the learner {type(self.learner).__name__}"

    @property
    def memory_bytes(self) -> int:
        """The bytes of the learner."""
        return self.learner.memory_bytes


def _packed(bag: dict[str, int]) -> bytes:
    return json.dumps(bag, separators=(",", ":")).encode("ascii")
