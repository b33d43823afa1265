"""The second opinion of a scorer: a linear model over 4-grams of characters beside that over tokens.

It reads the text itself: the beginning of the headers and of what is shown. It has something to say about words that
were never seen, misspelt ones above all, about the order of words, and about the signs between them. It learns what the
tokens get wrong: its gradient is the error of both together, though that of tokens counts little. Its steps are kept in
receipts: they can be taken back exactly, and are learned again in a replay.

Rare 4-grams learn fast, from wrong labels too. So what it adds to a score is bounded, and a label that contradicts both
clearly teaches it little, as if one label of a hundred were wrong. It adds little to the score of a message of few
4-grams that it has seen.

- `NoOpinion`: the score is that of the tokens alone.
- `CharacterOpinion`: it has a table of its own.
- `SiteOpinion`: that of a site, as its users read it. They do not change it.

Where tokens are hashed, so are the 4-grams, each by itself with the same key: a bag holds their slots and no text.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.mail.filter._evidence import STEP
from stream_bayes.mail.filter._grams import GramTable
from stream_bayes.mail.filter.calibration import logistic
from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.receipts import NO_GRAMS, Receipt, label_trust
from stream_bayes.mail.text.tokens import CHARACTERS, Bag, without_characters

__all__ = [
    "SECOND_OPINION",
    "CharacterOpinion",
    "NoOpinion",
    "SiteOpinion",
    "hashed_grams",
    "holds_characters",
]

RATE: Final = 32.0  # of the gradient; a message's margin moves by at most this
ENOUGH: Final = 10.0  # known 4-grams of a message, from which on its margin counts in full
WEIGHT: Final = 1.05  # of the margin in the score
MOST: Final = 6.0  # that it adds to a score, or takes away
LEAST_DOUBT: Final = 0.01  # share of labels that it holds to be wrong, from the first message on
SHARE: Final = 0.15  # of the score by tokens in the log-odds whose error is learned
SECOND_OPINION: Final = "second opinion: 4-grams of characters"  # in explanations
GRAMS: Final = "grams:"  # before the slots of hashed 4-grams in a stored bag
GRAM_BYTES: Final = 2  # of a slot
MAX_CACHED: Final = 1 << 16  # hashes of 4-grams


class NoOpinion:
    """No second opinion: a score is that of the tokens alone."""

    def read(self, bag: Bag) -> Bag:
        """Read a message, and return its tokens without its characters."""
        return bag

    def read_again(self, receipt: Receipt) -> None:
        """Read the message of a receipt."""

    def slots(self) -> NDArray[np.uint16]:
        """Return the slots of the 4-grams of the message that was read."""
        return NO_GRAMS

    def with_tokens(self, first: float, turn: int = 0) -> tuple[float, float]:
        """Return the score of the message that was read, from that by its tokens, and the probability whose error is
        learned; both without a step of its own, if it is given.
        """
        return first, 0.5

    def contributions(self) -> list[TokenContribution]:
        """Return what it adds to the score of the message that was read: one row, or none."""
        return []

    def learn(self, receipt: Receipt) -> Receipt:
        """Move the margin of a message towards its label, and return its receipt with the step."""
        return receipt

    def add(self, receipt: Receipt, turn: int, times: int = 1) -> None:
        """Add a step to the margin of a message; take it back if `times` is -1."""

    def merge(self, other: NoOpinion) -> None:
        """Add what another one has learned."""

    @property
    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The sums of steps and of their squares at all slots of 4-grams, as views; empty without a table."""
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    @property
    def memory_bytes(self) -> int:
        """The bytes of its table."""
        return sum(int(each.nbytes) for each in self.sums)


class CharacterOpinion(NoOpinion):
    """A linear model over 4-grams of characters, which has learned nothing."""

    def __init__(self) -> None:
        self.grams = GramTable(ENOUGH)

    def read(self, bag: Bag) -> Bag:
        """Read the 4-grams of a message, and return its tokens without its characters."""
        last = next(reversed(bag), "")
        if last.startswith(GRAMS):
            tokens = dict(bag)
            del tokens[last]
            self.grams.read_again(
                np.frombuffer(base64.b64decode(last[len(GRAMS) :]), "<u2").astype(np.uint16)
            )
            return tokens
        tokens, characters = without_characters(bag)
        self.grams.read_text(characters)
        return tokens

    def read_again(self, receipt: Receipt) -> None:
        self.grams.read_again(receipt.grams)

    def slots(self) -> NDArray[np.uint16]:
        return self.grams.slots()

    def with_tokens(self, first: float, turn: int = 0) -> tuple[float, float]:
        margin = RATE * self.grams.margin(turn)
        return first + MOST * math.tanh(WEIGHT * margin / MOST), logistic(SHARE * first + margin)

    def contributions(self) -> list[TokenContribution]:
        return [TokenContribution(SECOND_OPINION, self.with_tokens(0.0)[0], math.nan, math.nan)]

    def learn(self, receipt: Receipt) -> Receipt:
        p = _both(receipt.opinion, receipt.probability)
        trust = label_trust(p, max(receipt.doubt, LEAST_DOUBT), receipt.label)
        error = (receipt.label - receipt.opinion) * trust
        turn = round(STEP * error / math.sqrt(max(len(receipt.grams), 1)))
        self.add(receipt, turn)
        return replace(receipt, turn=turn)

    def add(self, receipt: Receipt, turn: int, times: int = 1) -> None:
        self.read_again(receipt)
        self.grams.add(turn, times)

    def merge(self, other: NoOpinion) -> None:
        for ours, theirs in zip(self.sums, other.sums, strict=True):
            ours += theirs

    @property
    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.asarray(self.grams.steps), np.asarray(self.grams.squares)


class SiteOpinion(CharacterOpinion):
    """The second opinion of a site as its users read it: they learn nothing of it, and have no table of their own."""

    def __init__(self, site: CharacterOpinion) -> None:
        self.grams = site.grams

    def learn(self, receipt: Receipt) -> Receipt:
        return receipt

    def add(self, receipt: Receipt, turn: int, times: int = 1) -> None:
        pass

    @property
    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)


def hashed_grams(bag: Bag, key: bytes) -> tuple[Bag, str]:
    """Return the tokens of a bag in clear, and a token with the slots of its 4-grams by a key, each once.

    Examples
    --------
    >>> hashed_grams({"pills": 1, "characters:pills": 1}, b"k" * 16)
    ({'pills': 1}, 'grams:iFrDZg==')
    """
    tokens, text = without_characters(bag)
    grams = dict.fromkeys(text[start : start + 4] for start in range(len(text) - 3))
    slots = dict.fromkeys(_slot(gram, key) for gram in grams)
    return tokens, GRAMS + base64.b64encode(b"".join(slots)).decode()


def holds_characters(bag: Bag) -> bool:
    """Return True for a bag whose last token is that of a message's characters, in clear or hashed."""
    return next(reversed(bag), "").startswith((CHARACTERS, GRAMS))


def _both(p: float, q: float) -> float:
    """Return the probability by the sum of two log-odds, from the probability by each.

    Examples
    --------
    >>> _both(0.9, 0.5), _both(1.0, 0.0)
    (0.9, 0.5)
    """
    ones, zeros = p * q, (1.0 - p) * (1.0 - q)
    return ones / (ones + zeros) if ones + zeros > 0.0 else 0.5


@lru_cache(MAX_CACHED)
def _slot(gram: str, key: bytes) -> bytes:
    """Return the slot of a 4-gram by a key, as two bytes."""
    data = gram.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=GRAM_BYTES, key=key, person=b"4-grams").digest()
