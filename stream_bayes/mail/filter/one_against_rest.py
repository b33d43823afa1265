"""One class against the rest: a contest of two labels, 0 and 1, and all that is learned about them.

A filter of two classes is one contest, the wanted class (0) against the unwanted one (1). Of more classes, the first
contest is the wanted class against all others, and each other class has one of its own, against the rest (0). A message
is in every contest, on one side or the other, so a change of its class is exact in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from stream_bayes.mail.filter.calibration import ScoreCurve
from stream_bayes.mail.filter.receipts import Receipts
from stream_bayes.mail.filter.rehearsal import Rehearsal, review_is_due
from stream_bayes.mail.filter.scorer import MessageScore, Scorer
from stream_bayes.mail.filter.training import Training
from stream_bayes.mail.text.tokens import Bag

__all__ = ["MIN_LEARNED", "Contest"]

MIN_LEARNED: Final = 20  # messages of each class, before a verdict is other than "unsure"
CAUTION: Final = 5.0  # messages of the rarer label at which log-odds are half of what the calibration says
SHORT: Final = 0.1  # of the mean length; less is hardly evidence
MAX_PRIOR: Final = 3.0  # log-odds of a message without evidence
MAX_STALE: Final = 0.1  # of the labels of a young filter's calibration, before corrections make it anew


@dataclass(eq=False)
class Contest:
    """The parts that learn two labels, and the verbs over them. Ids must have no receipt yet when they are learned, and
    one when they are corrected or forgotten.
    """

    scorer: Scorer  # counts tokens, or holds a learner
    calibration: ScoreCurve  # turns scores into probabilities
    receipts: Receipts  # the additions of recent messages
    training: Training  # selects the messages to learn
    rehearsal: Rehearsal  # selects earlier messages to learn again
    is_of_one_class: bool = False  # a class against the rest: without evidence, it is as rare as it is

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, key: str, bag: Bag, score: MessageScore, label: int) -> None:
        """Learn a message. `score` must be its score now."""
        selected, margin = self.training.select(score.score, label, self.calibration)
        # A learner may refuse the message, by its budget; until then nothing changes.
        both = 0.0 not in self.scorer.messages
        if selected:
            receipt = self.scorer.learn(bag, score, label, self.calibration.doubt)
        else:
            receipt = self.scorer.skip(bag, score, label)
        self.training.margin = margin
        if both:  # scores given before that cannot be compared with later ones
            self.calibration.add(score.score, label)
        self.receipts.put(key, receipt)
        if self.scorer.can_replay:
            for _ in range(self.rehearsal.observe(label, self.scorer.messages)):
                self._rehearse(1 - label)
            if self.rehearsal.replay_is_due(self.receipts.of_each, label, self.clock):
                self.replay()
            elif self.scorer.doubts_labels and self.calibration.doubt and review_is_due(self.clock):
                self._learn_all_again(self.calibration.doubt)

    @property
    def clock(self) -> int:
        """The number of messages given to learn, each once, learned or skipped."""
        return self.scorer.weights.clock

    def _rehearse(self, label: int) -> None:
        """Score and learn an earlier message of a label as if it came now."""
        key = self.receipts.next_of(label, self.rehearsal.cursors[label])
        if key is not None:
            before = self.receipts.by_id[key]
            self.scorer.unlearn(before)
            score, receipt = self.scorer.learn_again(replace(before, doubt=self.calibration.doubt))
            if 0.0 not in self.scorer.messages:
                self.calibration.add(score, receipt.label)
            self.receipts.put(key, self.scorer.add_step(receipt, before))
            self.rehearsal.cursors[label] = key

    def replay(self) -> None:
        """Learn all messages that have a receipt again, mixed by a hash of their ids, and calibrate on them again."""
        if not self.scorer.can_replay or not self.receipts.holds_both:
            return
        self.rehearsal.since_replay = 0.0
        self._replay(0.0)
        if self.calibration.doubt:
            self._replay(self.calibration.doubt)

    def _replay(self, doubt: float) -> None:
        """Learn all messages with a receipt again, with this share of labels held to be wrong, and calibrate."""
        self._learn_all_again(doubt)
        receipts = self.receipts.by_id
        self.calibration.refit(
            [(self.scorer.score_without(receipts[key]), receipts[key].label) for key in self.receipts.mixed()]
        )

    def _learn_all_again(self, doubt: float) -> None:
        """Learn all messages with a receipt again, mixed, with this share of labels held to be wrong."""
        receipts = self.receipts.by_id
        for receipt in receipts.values():
            self.scorer.unlearn(receipt)
        for key in self.receipts.mixed():
            _, receipt = self.scorer.learn_again(replace(receipts[key], doubt=doubt))
            self.receipts.put(key, receipt)

    def replay_if_young(self) -> None:
        """Replay a young filter after a change of what it has learned."""
        if self.is_young:
            self.replay()

    @property
    def is_young(self) -> bool:
        """True if few messages were learned, or few of a label, of which most can be replayed."""
        return self.rehearsal.is_young(self.receipts.of_each, self.clock)

    @property
    def replay_is_due(self) -> bool:
        """True if a replay may change verdicts: of a young filter, or after a long run of one label."""
        return self.rehearsal.since_replay > 0.0 or self.is_young

    def correct(self, key: str, label: int) -> None:
        """Change the label of a message."""
        receipt = self.receipts.by_id[key]
        if receipt.label == label:
            return
        self.scorer.unlearn(receipt)
        self.receipts.put(key, self.scorer.relearn(receipt, label))
        stale = abs(self.calibration.ones - self.receipts.of_each[1])
        if min(self.learned) >= MIN_LEARNED and stale > MAX_STALE * len(self.receipts):
            self.replay_if_young()

    def forget(self, key: str) -> None:
        """Take back all that a message added; delete its id, and tokens that no other message holds."""
        gone = self.receipts.by_id[key]
        self.scorer.unlearn(gone)
        self.receipts.remove(key)
        self.scorer.drop_unused_tokens(gone, self.receipts)
        if not self.receipts.holds_both and self.is_young:
            self.calibration.clear()  # scores beside a label that was forgotten

    # -- predicting ---------------------------------------------------------------------------------------------------

    @property
    def learned(self) -> tuple[int, int]:
        """The number of messages of each label behind a verdict, those of a user's site too, without a prior's."""
        pooled, prior = self.scorer.pooled_messages, self.scorer.prior_messages  # long messages count in part
        receipts = self.receipts.of_each
        return max(round(pooled[0] - prior[0]), receipts[0]), max(round(pooled[1] - prior[1]), receipts[1])

    def log_odds(self, score: float) -> float:
        """Return the log-odds of label 1, drawn to 0, or of one class to its share, while little was learned."""
        odds = self.calibration.log_odds(score)
        neutral = self._prior if self.is_of_one_class else 0.0
        if 0.0 in self.scorer.pooled_messages:  # one label alone is no evidence for it
            return neutral if self.is_of_one_class else odds / (1.0 + abs(odds))
        rarer = min(
            learned + prior for learned, prior in zip(self.learned, self.scorer.prior_messages, strict=True)
        )
        return neutral + (odds - neutral) * rarer / (rarer + CAUTION)

    @property
    def _prior(self) -> float:
        """The log-odds of label 1 by the numbers of messages."""
        zeros, ones = self.scorer.pooled_messages
        return min(max(math.log((ones + 1.0) / (zeros + 1.0)), -MAX_PRIOR), MAX_PRIOR)

    def message_odds(self, score: float, tokens: int) -> float:
        """Return the log-odds of a message, drawn to the prior if it has hardly any tokens, compared with others."""
        odds = self.log_odds(score)
        full = SHORT * self.scorer.mean_length
        if tokens >= full:
            return odds
        prior = self._prior
        return prior + (odds - prior) * (tokens / full) ** 2

    @property
    def memory_bytes(self) -> int:
        """The bytes of counts, codes, receipts and calibration, without the texts of tokens."""
        return self.scorer.memory_bytes + self.receipts.memory_bytes + self.calibration.memory_bytes
