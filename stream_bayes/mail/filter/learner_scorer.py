"""A scorer over any classifier of the package."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import CannotMerge, NotSupported
from stream_bayes.learners.base.base import BayesClassifier, check_learner
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.length_weights import MessageWeights
from stream_bayes.mail.filter.messages import ContestLabels
from stream_bayes.mail.filter.receipts import Receipt, Receipts
from stream_bayes.mail.filter.scorer import MessageScore

__all__ = ["LearnerScorer"]

MAX_SCORE: Final = 1e6  # of a label to which the learner gives probability 0
NO_CODES = np.zeros(0, np.int32)


class LearnerScorer:
    """A scorer that takes the likelihood of bags from a classifier.

    The score is log P(spam | bag) - log P(ham | bag) over the square root of the number of tokens, so it grows with a
    message's length no faster than chance evidence does. Messages longer than usual weigh less. A message is unlearned
    with the bag from which it was learned; with fading, at that clock. `labels` are its names of label 0 and label 1.
    `influence` is as of `MessageWeights`.
    """

    def __init__(self, learner: BayesClassifier, labels: ContestLabels, influence: int) -> None:
        self.weights = MessageWeights(influence)
        check_learner(learner)
        if not learner.unlearns:
            raise NotSupported(
                f"a {type(learner).__name__} cannot unlearn a mail that was learned by mistake"
            )
        self.learner = learner
        self.labels = labels
        self.units_learned = [0, 0]
        self.version = 0

    doubts_labels = False

    @property
    def can_replay(self) -> bool:
        """True unless the learner fades: the order of its messages is then part of the model."""
        return self.learner.half_life is None

    @property
    def is_trained(self) -> bool:
        """True if anything was learned."""
        return self.weights.clock > 0

    @property
    def messages(self) -> tuple[float, float]:
        """The messages of each label; long ones count in part."""
        return self.units_learned[0] / UNIT, self.units_learned[1] / UNIT

    @property
    def pooled_messages(self) -> tuple[float, float]:
        """The messages of each label behind a score: all of `messages`."""
        return self.messages

    @property
    def prior_messages(self) -> tuple[float, float]:
        """No messages: there is no prior."""
        return 0.0, 0.0

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of the messages learned."""
        return self.weights.mean_length

    def score(self, bag: dict[str, int]) -> MessageScore:
        """Score a message."""
        joint = self.learner.joint_log_likelihood(bag)
        score = 0.0
        if 0 not in self.units_learned and all(label in joint for label in self.labels):
            wanted, unwanted = (joint[label] for label in self.labels)
            if wanted != unwanted:  # not so if both are -inf, whose difference is NaN
                score = (unwanted - wanted) / math.sqrt(max(len(bag), 1))
        return MessageScore(NO_CODES, min(max(score, -MAX_SCORE), MAX_SCORE), 0.5, self.version)

    def passage_score(self, score: MessageScore, borders: NDArray[np.int32], bag: dict[str, int]) -> float:
        """Return the score of the message: a learner reads it whole."""
        return score.score

    def are_in_wanted(self, bag: dict[str, int]) -> bool:
        """Return True: a learner need not count tokens."""
        return True

    def learn(self, bag: dict[str, int], score: MessageScore, label: int, doubt: float = 0.0) -> Receipt:
        """Learn a message."""
        units = self.weights.units(len(bag))
        # The learner may refuse the message by its budget; until then nothing changes.
        receipt = self._add(Receipt(NO_CODES, len(bag), label, units, 0, True, 0.5, bag=_encoded(bag)), bag)
        self.weights.count(len(bag))
        return receipt

    def skip(self, bag: dict[str, int], score: MessageScore, label: int) -> Receipt:
        """Count a message without learning it. Its receipt allows to correct it later."""
        units = self.weights.units(len(bag))
        self.weights.count(len(bag))
        return Receipt(NO_CODES, len(bag), label, units, 0, False, 0.5, bag=_encoded(bag))

    def _add(self, receipt: Receipt, bag: dict[str, int]) -> Receipt:
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
        """Learn an unlearned message again, with this label."""
        return self._add(replace(receipt, label=label), json.loads(receipt.bag))

    def learn_again(self, receipt: Receipt) -> tuple[float, Receipt]:
        """Return the score of an unlearned message, and its receipt when it is learned as if it came now."""
        bag = json.loads(receipt.bag)
        score = self.score(bag).score
        return score, self._add(receipt, bag) if receipt.learned else receipt

    def score_without(self, receipt: Receipt) -> float:
        """Return the score that a learned message would have if it had never been learned."""
        bag = json.loads(receipt.bag)
        if not receipt.learned:
            return self.score(bag).score
        self.unlearn(receipt)
        score = self.score(bag).score
        self._add(receipt, bag)
        return score

    def add_step(self, receipt: Receipt, before: Receipt) -> Receipt:
        """Return the receipt as it is: learners have no margin."""
        return receipt

    def contributions(self, bag: dict[str, int]) -> list[TokenContribution]:
        """Return the contribution of each token to the score."""
        evidence = self.learner.explain_one(bag).evidence
        root = math.sqrt(max(len(bag), 1))
        wanted, unwanted = self.labels
        return [
            TokenContribution(str(token), (by_label[unwanted] - by_label[wanted]) / root, math.nan, math.nan)
            for token, by_label in evidence.items()
            if wanted in by_label and unwanted in by_label and by_label[wanted] != by_label[unwanted]
        ]

    def evict_tokens(self, limit: int, receipts: Receipts) -> None:
        """Do nothing: the learner bounds its own vocabulary."""

    def expire_tokens(self, last: int, receipts: Receipts) -> None:
        """Do nothing: the learner fades by its half-life."""

    def drop_unused_tokens(self, gone: Receipt, receipts: Receipts) -> None:
        """Do nothing: the learner holds no unused token."""

    def close_gaps(self, receipts: Receipts) -> None:
        """Do nothing: there are no codes."""

    def export_counts(self, labels: ContestLabels) -> dict[str, Any]:
        raise NotSupported(f"{self._name} keeps counts of its own: take its state(), or merge with another")

    def import_counts(self, counts: Mapping[str, Any], labels: ContestLabels) -> None:
        raise NotSupported(f"{self._name} keeps counts of its own, and imports none: merge with another")

    def merge(self, other: LearnerScorer, receipts: Receipts, others: Mapping[str, Receipt]) -> None:
        """Add what another scorer of the same settings has learned, and its receipts to `receipts`."""
        if self.learner.half_life is not None:
            raise CannotMerge(
                f"{self._name} fades by the clock of its own messages, and the other has another clock"
            )
        self.learner.merge(other.learner)
        for label in (0, 1):
            self.units_learned[label] += other.units_learned[label]
        self.weights.merge(other.weights)
        self.version += 1
        for key, receipt in others.items():
            receipts.put(key, receipt)

    @property
    def _name(self) -> str:
        return f"a filter with the learner {type(self.learner).__name__}"

    @property
    def memory_bytes(self) -> int:
        """The bytes of the learner."""
        return self.learner.memory_bytes


def _encoded(bag: dict[str, int]) -> bytes:
    return json.dumps(bag, separators=(",", ":")).encode("ascii")
