"""The built-in scorer with a second opinion: a linear model over 4-grams of characters beside that over tokens.

The second opinion learns what the first gets wrong. Its gradient is the error of both together, so where the tokens are
right it stays as it is, and a filter that has learned little hardly hears it. It has something to say about words that
were never seen, misspelt ones above all, and about the order of words.

Like the margin over tokens it is a sum of steps, one of each message, which its receipt holds: it can be taken back
exactly, but for tokens that were evicted since, and is learned again in a replay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.mail.filter._evidence import STEP
from stream_bayes.mail.filter._grams import GAP, GramTable
from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.receipts import Receipt, Receipts
from stream_bayes.mail.filter.scorer import MessageScore
from stream_bayes.mail.filter.token_scorer import TokenScorer, label_error, logistic

__all__ = ["SECOND_OPINION", "CharacterScorer"]

RATE: Final = 8.0  # of the gradient; a message's margin moves by at most this
WEIGHT: Final = 0.5  # of the margin in the score
MAX_CACHED: Final = (
    1_000  # messages whose 4-grams are cached: those of a young filter, which is replayed often
)
SHARE: Final = 0.4  # of the score by tokens in the log-odds whose error is learned
SECOND_OPINION: Final = "second opinion: 4-grams of characters"  # in explanations


class CharacterScorer(TokenScorer):
    """A scorer by tokens whose score has a second opinion. `influence` is as of `TokenScorer`."""

    def __init__(self, influence: int) -> None:
        super().__init__(influence)
        self.grams = GramTable()
        # A cache: the codes of a receipt, by identity, and the places of its 4-grams. It is not a part of the state.
        self._places: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}

    def score(self, bag: dict[str, int]) -> MessageScore:
        """Look up the tokens of a message and its 4-grams, and score it."""
        first = super().score(bag)
        self.grams.read_tokens(bag)
        score, opinion = self._both(first.score, self.grams.margin())
        return first._replace(score=score, opinion=opinion)

    @staticmethod
    def _both(first: float, margin: float) -> tuple[float, float]:
        """Return the score, and the probability whose error the second opinion learns."""
        return first + WEIGHT * margin, logistic(SHARE * first + margin)

    def contributions(self, bag: dict[str, int]) -> list[TokenContribution]:
        """Return the contribution of each learned token, and that of the second opinion."""
        rows = super().contributions(bag)
        self.grams.read_tokens(bag)
        adds = WEIGHT * self.grams.margin()
        return [*rows, TokenContribution(SECOND_OPINION, adds, math.nan, math.nan)]

    def learn(self, bag: dict[str, int], score: MessageScore, label: int, doubt: float = 0.0) -> Receipt:
        """Count a message, and move both margins towards its label; as of `TokenScorer`."""
        receipt = super().learn(bag, score, label, doubt)
        self.grams.read_tokens(bag)
        return self._move(receipt)

    def skip(self, bag: dict[str, int], score: MessageScore, label: int) -> Receipt:
        """Count a message without learning it. Its receipt allows to correct it later."""
        return replace(super().skip(bag, score, label), opinion=score.opinion)

    def _move(self, receipt: Receipt) -> Receipt:
        """Move the margin of the message that was read, and return its receipt with the step."""
        error = label_error(receipt.opinion, receipt.doubt, receipt.label)
        turn = round(STEP * RATE * error / math.sqrt(max(self.grams.grams, 1)))
        self.grams.add(turn)
        return replace(receipt, turn=turn)

    def _read(self, receipt: Receipt) -> None:
        """Read a message again, by its tokens that are still held."""
        codes = receipt.codes
        before = self._places.get(id(codes))
        if before is not None and before[0] is codes:
            self.grams.read_again(before[1])
            return
        values = self.table.vocabulary.values
        self.grams.read_tokens([values[code] if code >= 0 else GAP for code in codes.tolist()])
        if len(self._places) >= MAX_CACHED:
            self._places.clear()
        self._places[id(codes)] = codes, self.grams.places()

    def fill(
        self,
        tokens: list[str],
        counts: NDArray[np.int64],
        margin: NDArray[np.int64],
        seen: NDArray[np.int64],
    ) -> bool:
        """Replace all tokens by these. Return False if a token occurs twice."""
        self._places.clear()
        return super().fill(tokens, counts, margin, seen)

    def unlearn(self, receipt: Receipt) -> None:
        """Remove what a message added, no matter what was learned since."""
        super().unlearn(receipt)
        if receipt.learned:
            self._read(receipt)
            self.grams.add(-receipt.turn)

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Learn an unlearned message again, as if it had first come with this label."""
        again = super().relearn(receipt, label)
        self._read(receipt)
        return self._move(again)

    def learn_again(self, receipt: Receipt) -> tuple[float, Receipt]:
        """Return the score of an unlearned message, and its receipt when it is learned as if it came now."""
        first, probability = self._score_again(receipt)
        self._read(receipt)
        score, opinion = self._both(first, self.grams.margin())
        again = replace(receipt, probability=probability, opinion=opinion)
        return score, self._move(super().relearn(again, receipt.label)) if receipt.learned else again

    def score_without(self, receipt: Receipt) -> float:
        """Return the score that a learned message would have if it had never been learned."""
        first = super().score_without(receipt)
        self._read(receipt)
        return self._both(first, self.grams.margin(receipt.turn if receipt.learned else 0))[0]

    def add_step(self, receipt: Receipt, before: Receipt) -> Receipt:
        """Add the steps of a message's receipt before to those of the message learned again."""
        both = super().add_step(receipt, before)
        if receipt.learned and before.learned:
            self._read(receipt)
            self.grams.add(before.turn)
            both = replace(both, turn=receipt.turn + before.turn)
        return both

    def merge(self, other: TokenScorer, receipts: Receipts, others: Mapping[str, Receipt]) -> None:
        """Add what another scorer of the same settings has learned, and its receipts to `receipts`."""
        super().merge(other, receipts, others)
        assert isinstance(other, CharacterScorer)
        self.margins[:] += other.margins

    @property
    def margins(self) -> NDArray[np.int64]:
        """The margins of all places of 4-grams, as a view."""
        margins: NDArray[np.int64] = np.asarray(self.grams.margins)
        return margins

    @property
    def memory_bytes(self) -> int:
        """As of `TokenScorer`, with the table of 4-grams and the cache."""
        cached = sum(places.nbytes for _, places in self._places.values())
        return super().memory_bytes + int(self.margins.nbytes) + cached
