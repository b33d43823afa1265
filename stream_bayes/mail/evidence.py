"""What a message's tokens say, as one number: the evidence of counts, and a margin that is learned from mistakes.

Two views of the same tokens, added up. They err on different messages, so together they rank better than either.

- The *mean log-odds*: per token log(q / p), with p and q the shares of ham and of spam that hold it, shrunk by a small
  prior; the mean of a message is over its clear tokens. It neither grows with length nor saturates.
- The *margin* of a linear model over the tokens present, each 1 / sqrt(n) of n: logistic regression, a step of gradient
  for each message. It learns little from what it knows already, and much from what it got wrong; under drift it is
  what follows.

Both are whole numbers in `core/_evidence.py`. What a message added is kept in a `Receipt`, and taken back exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._evidence import STEP, UNIT, EvidenceTable

__all__ = ["Reading", "Receipt", "TokenEvidence"]

PRIOR: Final = (
    0.02  # messages added to each cell: near bogofilter's s = 0.0178, but in proportion to each class
)
RESERVE: Final = 0.5  # of weight: as much as half a clear token that says nothing
RATE: Final = 8.0  # of the gradient; a message's margin moves by at most this
MEAN_WEIGHT: Final = 2.0  # of the mean log-odds beside the margin
# A message much longer than messages are counts little: who stuffs one with a dictionary would otherwise teach the
# counts every word of it. Longer is: than so many times the mean, of a prior and of what was learned, each cut.
TIMES: Final = 3
LEAST_FULL: Final = 100  # tokens that any message may have and count fully
USUAL, USUAL_MESSAGES = 300, 50  # the prior: a mean, and how many messages it weighs
POWER: Final = 6  # how fast the influence falls beyond


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """What a message added, so that it can be taken back.

    Parameters
    ----------
    codes
        Its tokens; -1 for one that was dropped since.
    tokens
        How many it had.
    label
        0 or 1.
    units
        What it counts, in units of the table.
    step
        What each of its margins moved by.
    learned
        Whether it was learned, or passed over.
    probability
        Of label 1, by the margin alone, before it was learned: the step for the other label follows from it.
    """

    codes: NDArray[np.int32]
    tokens: int
    label: int
    units: int
    step: int
    learned: bool
    probability: float

    def moved(self, codes: NDArray[np.int32]) -> Receipt:
        """The same with other codes: `codes[old]` is the new one."""
        known = self.codes >= 0
        own = np.full(len(self.codes), -1, np.int32)
        own[known] = codes[self.codes[known]]
        return replace(self, codes=own)


class Reading(NamedTuple):
    """What is known of a message before it is learned."""

    codes: NDArray[np.int32]  # of its tokens in their order, below 0 where one is new
    score: float  # above 0 for label 1
    probability: float  # of label 1, by the margin alone
    version: int  # of the evidence that was read


class TokenEvidence:
    """Counts and margins of tokens, with messages added and taken back.

    Parameters
    ----------
    influence
        The most tokens that a message may have and count fully, however long others are.
    """

    def __init__(self, influence: int) -> None:
        self.influence = influence
        self.table = EvidenceTable(PRIOR, RESERVE)
        self.clock = 0  # messages learned, each once
        self.lengths = 0  # their tokens, cut to the most
        self.version = 0  # changes with whatever may change a reading; never saved

    def read(self, bag: dict[str, int]) -> Reading:
        """Look the tokens of a message up and score it. Changes nothing that is kept."""
        table = self.table
        codes = table.codes_of(bag)
        table.read(codes, len(bag))
        return Reading(codes, table.sum + MEAN_WEIGHT * table.mean, _logistic(table.sum), self.version)

    def parts(self, bag: dict[str, int]) -> dict[str, float]:
        """What each token adds to the score; those that were never learned are not there."""
        codes = self.table.codes_of(bag)
        means, sums = self.table.parts(codes, len(bag))
        adds = zip(bag, codes.tolist(), (MEAN_WEIGHT * means + sums).tolist(), strict=True)
        return {token: added for token, code, added in adds if code >= 0}

    def learn(self, bag: dict[str, int], reading: Reading, label: int) -> Receipt:
        """Count a message, and move the margin towards its label.

        Parameters
        ----------
        bag
            Its tokens.
        reading
            What `read` says of it now: nothing may have been learned since.
        label
            0 or 1.
        """
        receipt = _learned(self.passed(bag, reading, label), label)
        self.table.add(receipt.codes, label, receipt.units, receipt.step, self.clock)
        return receipt

    def passed(self, bag: dict[str, int], reading: Reading, label: int) -> Receipt:
        """The receipt of a message that teaches nothing, for it may still be corrected."""
        units = self._units(len(bag))
        self.clock += 1
        self.lengths += min(len(bag), self.influence)
        self.version += 1
        self.table.name(bag, reading.codes)
        return Receipt(reading.codes, len(bag), label, units, 0, False, reading.probability)

    def _units(self, tokens: int) -> int:
        """What a message of this length counts."""
        mean = (self.lengths + USUAL * USUAL_MESSAGES) / (self.clock + USUAL_MESSAGES)
        full = min(max(TIMES * mean, LEAST_FULL), self.influence)
        return max(round(UNIT * min(1.0, full / max(tokens, 1)) ** POWER), 1)

    def unlearn(self, receipt: Receipt) -> None:
        """Take back what a message added: exactly, whatever came after it."""
        self.version += 1
        if receipt.learned:
            self.table.add(receipt.codes, receipt.label, -receipt.units, -receipt.step, 0)

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Add the message of a receipt again, as if it had come with this label in the first place."""
        self.version += 1
        again = _learned(receipt, label)
        self.table.add(again.codes, label, again.units, again.step, 0)
        return again

    def absorb(
        self,
        tokens: list[str],
        counts: NDArray[np.int64],
        margin: NDArray[np.int64],
        messages: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Add counts, margins and messages that were gathered elsewhere; returns the tokens' codes here."""
        table = self.table
        self.version += 1
        bag = dict.fromkeys(tokens, 1)
        codes: NDArray[np.int32] = table.codes_of(bag)
        table.name(bag, codes)
        np.asarray(table.count).reshape(-1, 2)[codes] += counts
        np.asarray(table.margin)[codes] += margin
        np.asarray(table.seen)[codes] = self.clock
        table.first += int(messages[0])
        table.second += int(messages[1])
        return codes

    @property
    def messages(self) -> tuple[float, float]:
        """The messages of each label, those that are capped in part."""
        return self.table.first / UNIT, self.table.second / UNIT

    def counts(self) -> NDArray[np.int64]:
        """Messages by token and label, in units: a view without the spare room."""
        grid: NDArray[Any] = np.asarray(self.table.count).reshape(-1, 2)
        return grid[: len(self.table)]

    def drop(self, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Keep some tokens only; returns each old code's new one, -1 where it was dropped."""
        table = self.table
        size = len(table)
        places = np.flatnonzero(kept)
        moved = np.full(size, -1, np.int32)
        moved[places] = np.arange(len(places), dtype=np.int32)
        values = table.vocabulary.values
        arrays = self.counts()[places], np.asarray(table.margin)[places], np.asarray(table.seen)[places]
        self.fill([values[place] for place in places.tolist()], *arrays)
        return moved

    def fill(
        self,
        tokens: list[str],
        counts: NDArray[np.int64],
        margin: NDArray[np.int64],
        seen: NDArray[np.int64],
    ) -> bool:
        """Hold these tokens and no others; False where one is named twice."""
        table = self.table
        self.version += 1
        if not table.vocabulary.restore(tokens):
            return False
        room = max(len(tokens) + len(tokens) // 8, 8)
        for name, array in (("count", counts.reshape(-1)), ("margin", margin), ("seen", seen)):
            grown = np.zeros(2 * room if name == "count" else room, np.int64)
            grown[: len(array)] = array
            setattr(table, name, grown)
        return True

    @property
    def memory_bytes(self) -> int:
        """The bytes of the arrays, the vocabulary's table and the list of tokens; not of the tokens themselves."""
        table = self.table
        arrays = sum(np.asarray(array).nbytes for array in (table.count, table.margin, table.seen))
        places = 8
        while places < 2 * len(table):
            places *= 2
        return int(arrays + 8 * places + 8 * len(table))


def _learned(receipt: Receipt, label: int) -> Receipt:
    """The receipt of the same message learned with a label: the step is that of the gradient when it came."""
    step = RATE * (label - receipt.probability) / math.sqrt(max(receipt.tokens, 1))
    return replace(receipt, label=label, step=round(STEP * step), learned=True)


def _logistic(x: float) -> float:
    return (
        1.0 / (1.0 + math.exp(-x))
        if x >= 0.0
        else math.exp(max(x, -700.0)) / (1.0 + math.exp(max(x, -700.0)))
    )
