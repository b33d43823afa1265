"""What a message's tokens say, as one number: the evidence of counts, and a margin that is learned from mistakes.

Two views of the same tokens, added up. They err on different messages, so together they rank better than either.

- The *mean log-odds*: per token log(q / p), with p and q the shares of ham and of spam that hold it, shrunk by a small
  prior; the mean of a message is over its clear tokens. It neither grows with length nor saturates.
- The *margin* of a linear model over the tokens present, each 1 / sqrt(n) of n: logistic regression, a step of gradient
  for each message. It learns little from what it knows already, and much from what it got wrong; under drift it is
  what follows.

Both are whole numbers in `_evidence.py`. What a message added is kept in a `Receipt`, and taken back exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.mail.filter._evidence import STEP, UNIT, EvidenceTable
from stream_bayes.mail.filter.explanation import TokenSays
from stream_bayes.mail.filter.imported_counts import Labels, checked_counts
from stream_bayes.mail.filter.receipts import Influence, Journal, Reading, Receipt

__all__ = ["TokenEvidence"]

PRIOR: Final = (
    0.02  # messages added to each cell: near bogofilter's s = 0.0178, but in proportion to each class
)
RESERVE: Final = 0.5  # of weight: as much as half a clear token that says nothing
RATE: Final = 8.0  # of the gradient; a message's margin moves by at most this
MEAN_WEIGHT: Final = 2.0  # of the mean log-odds beside the margin
KEPT: Final = 0.75  # of the tokens, when there are too many
PATIENCE: Final = 1_000  # messages that a token may be silent longer for being in twice as many messages


class TokenEvidence(Influence):
    """Counts and margins of tokens, with messages added and taken back.

    Parameters
    ----------
    influence
        The most tokens that a message may have and count fully, however long others are.
    """

    def __init__(self, influence: int) -> None:
        super().__init__(influence)
        self.table = EvidenceTable(PRIOR, RESERVE)
        self.version = 0  # never saved

    @property
    def knows(self) -> bool:
        """Whether anything was learned or imported."""
        return self.clock > 0 or self.table.first + self.table.second > 0

    def read(self, bag: dict[str, int]) -> Reading:
        """Look the tokens of a message up and score it. Changes nothing that is kept."""
        table = self.table
        codes = table.codes_of(bag)
        table.read(codes, len(bag))
        return Reading(codes, table.sum + MEAN_WEIGHT * table.mean, _logistic(table.sum), self.version)

    def told(self, bag: dict[str, int]) -> list[TokenSays]:
        """What each token adds to the score, and in how many messages it was; none that was never learned."""
        codes = self.table.codes_of(bag)
        means, sums = self.table.parts(codes, len(bag))
        counts = self.counts() / UNIT
        adds = zip(bag, codes.tolist(), (MEAN_WEIGHT * means + sums).tolist(), strict=True)
        return [TokenSays(token, added, *counts[code].tolist()) for token, code, added in adds if code >= 0]

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
        units = self.units(len(bag))
        self.pass_by(len(bag))
        self.version += 1
        self.table.name(bag, reading.codes)
        return Receipt(reading.codes, len(bag), label, units, 0, False, reading.probability)

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

    def exported(self, labels: Labels) -> dict[str, Any]:
        """Messages by label, and by token and label."""
        held = self.counts() / UNIT
        tokens = zip(self.table.vocabulary.values, held.tolist(), strict=True)
        return {
            "labels": list(labels),
            "messages": list(self.messages),
            "tokens": {token: counts for token, counts in tokens if any(counts)},
        }

    def add_counts(self, counts: Mapping[str, Any], labels: Labels) -> None:
        """Add what `exported` gave, all of it or nothing."""
        tokens, table, totals = checked_counts(counts, labels)
        zeros = np.zeros(len(tokens), np.int64)
        self.absorb(tokens, np.rint(table * UNIT).astype(np.int64), zeros, np.rint(totals * UNIT))

    def merge(self, other: TokenEvidence, journal: Journal, receipts: Mapping[str, Receipt]) -> None:
        """Add what another one of the same settings has learned, and its receipts to a journal."""
        theirs, size = other.table, len(other.table)
        codes = self.absorb(
            list(theirs.vocabulary.values),
            other.counts(),
            np.asarray(theirs.margin)[:size],
            np.array([theirs.first, theirs.second]),
        )
        self.clock += other.clock
        self.lengths += other.lengths
        for key, receipt in receipts.items():
            journal.put(key, receipt.moved(codes))

    def drop_old(self, most: int, journal: Journal) -> None:
        """Let a quarter of the tokens go, if there are too many; one in many messages may be silent for longer."""
        if len(self.table) <= most:
            return
        messages = self.counts().sum(axis=1) / UNIT
        rank = np.asarray(self.table.seen)[: len(self.table)] + PATIENCE * np.log2(1.0 + messages)
        kept = np.zeros(len(rank), bool)
        kept[np.argsort(-rank, kind="stable")[: int(most * KEPT)]] = True
        journal.move(self.drop(kept))

    def drop_unheld(self, journal: Journal) -> None:
        """Let the tokens go that neither counts nor messages of the journal hold."""
        held: NDArray[np.bool_] = np.asarray(self.counts().any(axis=1))
        # The tokens of messages that taught nothing may still be wanted, to correct those.
        for other in journal.receipts.values():
            held[other.codes[other.codes >= 0]] = True
        if not held.all():
            journal.move(self.drop(held))

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
