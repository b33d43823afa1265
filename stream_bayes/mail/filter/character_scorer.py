"""The built-in scorer with a second opinion: a linear model over 4-grams of characters beside that over tokens.

The second opinion reads the text itself: the beginning of the headers and of what is shown. It has something to say
about words that were never seen, misspelt ones above all, about the order of words, and about the signs between them.
It learns what the first gets wrong: its gradient is the error of both together, though that of tokens counts little.
Its steps are kept in receipts: they can be taken back exactly, and are learned again in a replay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.mail.filter._evidence import STEP
from stream_bayes.mail.filter._grams import GramTable
from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.receipts import Receipt, Receipts
from stream_bayes.mail.filter.scorer import MessageScore
from stream_bayes.mail.filter.token_scorer import TokenScorer, label_error, logistic
from stream_bayes.mail.text.tokens import Bag, without_characters

__all__ = ["SECOND_OPINION", "CharacterScorer"]

RATE: Final = 32.0  # of the gradient; a message's margin moves by at most this
WEIGHT: Final = 1.8  # of the margin in the score
SHARE: Final = 0.15  # of the score by tokens in the log-odds whose error is learned
SECOND_OPINION: Final = "second opinion: 4-grams of characters"  # in explanations


class CharacterScorer(TokenScorer):
    """A scorer by tokens whose score has a second opinion. `influence` is as of `TokenScorer`."""

    mean_weight: ClassVar[float] = 3.6

    def __init__(self, influence: int) -> None:
        super().__init__(influence)
        self.grams = GramTable()

    def _read(self, bag: Bag) -> Bag:
        """Read the characters of a message, and return its tokens without them."""
        tokens, characters = without_characters(bag)
        self.grams.read_text(characters)
        return tokens

    def score(self, bag: Bag) -> MessageScore:
        """Look up the tokens of a message and its 4-grams, and score it."""
        first = super().score(self._read(bag))
        score, opinion = self._both(first.score)
        return first._replace(score=score, opinion=opinion)

    def _both(self, first: float, turn: int = 0) -> tuple[float, float]:
        """Return the score of the message that was read, and the probability whose error the second opinion learns;
        both without a step of its own, if it is given.
        """
        margin = RATE * self.grams.margin(turn)
        return first + WEIGHT * margin, logistic(SHARE * first + margin)

    def contributions(self, bag: Bag) -> list[TokenContribution]:
        """Return the contribution of each learned token, and that of the second opinion."""
        rows = super().contributions(self._read(bag))
        adds, _ = self._both(0.0)
        return [*rows, TokenContribution(SECOND_OPINION, adds, math.nan, math.nan)]

    def learn(self, bag: Bag, score: MessageScore, label: int, doubt: float = 0.0) -> Receipt:
        """Count a message, and move both margins towards its label; as of `TokenScorer`."""
        return self._move(super().learn(bag, score, label, doubt))

    def skip(self, bag: Bag, score: MessageScore, label: int) -> Receipt:
        """Count a message without learning it. Its receipt allows to correct it later."""
        receipt = super().skip(self._read(bag), score, label)
        return replace(receipt, opinion=score.opinion, grams=self.grams.places())

    def _move(self, receipt: Receipt) -> Receipt:
        """Move the margin of a message, and return its receipt with the step."""
        error = label_error(receipt.opinion, receipt.doubt, receipt.label)
        turn = round(STEP * error / math.sqrt(max(len(receipt.grams), 1)))
        self.grams.read_again(receipt.grams)
        self.grams.add(turn)
        return replace(receipt, turn=turn)

    def unlearn(self, receipt: Receipt) -> None:
        """Remove what a message added, no matter what was learned since."""
        super().unlearn(receipt)
        if receipt.learned:
            self.grams.read_again(receipt.grams)
            self.grams.add(receipt.turn, -1)

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Learn an unlearned message again, as if it had first come with this label."""
        return self._move(super().relearn(receipt, label))

    def learn_again(self, receipt: Receipt) -> tuple[float, Receipt]:
        """Return the score of an unlearned message, and its receipt when it is learned as if it came now."""
        first, probability = self._score_again(receipt)
        self.grams.read_again(receipt.grams)
        score, opinion = self._both(first)
        again = replace(receipt, probability=probability, opinion=opinion)
        return score, self.relearn(again, receipt.label) if receipt.learned else again

    def score_without(self, receipt: Receipt) -> float:
        """Return the score that a learned message would have if it had never been learned."""
        first = super().score_without(receipt)
        self.grams.read_again(receipt.grams)
        return self._both(first, receipt.turn if receipt.learned else 0)[0]

    def add_step(self, receipt: Receipt, before: Receipt) -> Receipt:
        """Add the steps of a message's receipt before to those of the message learned again."""
        both = super().add_step(receipt, before)
        if receipt.learned and before.learned:
            both = replace(both, turn=receipt.turn + before.turn)
            self.grams.read_again(receipt.grams)
            self.grams.add(receipt.turn, -1)
            self.grams.add(both.turn)
        return both

    def merge(self, other: TokenScorer, receipts: Receipts, others: Mapping[str, Receipt]) -> None:
        """Add what another scorer of the same settings has learned, and its receipts to `receipts`."""
        super().merge(other, receipts, others)
        assert isinstance(other, CharacterScorer)
        for own, theirs in zip(self.sums, other.sums, strict=True):
            own += theirs

    @property
    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The sums of steps and of their squares at all places of 4-grams, as views."""
        return np.asarray(self.grams.steps), np.asarray(self.grams.squares)

    @property
    def memory_bytes(self) -> int:
        """As of `TokenScorer`, with the table of 4-grams."""
        return super().memory_bytes + sum(int(each.nbytes) for each in self.sums)
