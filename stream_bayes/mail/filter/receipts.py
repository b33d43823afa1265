"""Receipts: what each of the recent messages added, so that it can be corrected or forgotten exactly, by its id.

They also make redelivery harmless: a message whose receipt is held is not counted twice.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_GRAMS", "Receipt", "Receipts", "label_error", "label_trust"]

NO_GRAMS = np.zeros(0, np.uint16)
_OVERHEAD = 200  # bytes of a receipt besides its codes and id, about


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """The additions of one message, so that they can be taken back.

    The change of each token's margin, `step`, is a gradient step, and those of rehearsals since the last replay.
    `probability` is that of label 1 by the margin alone, before the message was learned: the step for the other label
    follows from it.
    """

    codes: NDArray[np.int32]  # of its tokens; -1 for a token evicted since
    tokens: int  # how many there are
    label: int  # 0 or 1
    units: int  # the message's weight, in units of the table, if its label is right
    step: int
    learned: bool  # False if it was skipped in training
    probability: float
    doubt: float = 0.0  # share of labels that were held to be wrong when it was learned
    bag: bytes = b""  # as JSON, for a filter with a learner
    at: int = 0  # that learner's clock when it was learned
    opinion: float = 0.5  # as `probability`, and
    turn: int = 0  # as `step`, of a second opinion
    grams: NDArray[np.uint16] = field(default_factory=lambda: NO_GRAMS)  # the slots of its 4-grams

    @property
    def counted(self) -> int:
        """The units that the message adds to the counts: fewer, the less its label is to be trusted, never none,
        as counts hold its tokens.
        """
        if not self.doubt:
            return self.units
        return max(round(self.units * label_trust(self.probability, self.doubt, self.label)), 1)

    def recoded(self, codes: NDArray[np.int32]) -> Receipt:
        """Return the receipt with new codes: `codes[old]` is the new one."""
        is_coded = self.codes >= 0
        new_codes = np.full(len(self.codes), -1, np.int32)
        new_codes[is_coded] = codes[self.codes[is_coded]]
        return replace(self, codes=new_codes)


class Receipts:
    """The receipts of recent messages by id, oldest first: at most `limit`.

    Past the limit, the oldest receipt of the label with more receipts goes, so the rarer label keeps up to half.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.by_id: dict[str, Receipt] = {}
        self.skipped = 0  # receipts of messages that were not learned
        # The ids of each label by a hash: an order that is the same however the messages came.
        self._rings: tuple[list[tuple[bytes, str]], list[tuple[bytes, str]]] = ([], [])

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_id)

    def put(self, key: str, receipt: Receipt) -> None:
        """Add a receipt, or replace that of the same id."""
        before = self.by_id.get(key)
        self.by_id[key] = receipt
        self.skipped += (not receipt.learned) - (before is not None and not before.learned)
        if before is not None:
            if before.label == receipt.label:
                return
            self._leave(key, before.label)
        insort(self._rings[receipt.label], (_hash(key), key))
        if len(self.by_id) > self.limit:
            common = int(len(self._rings[1]) > len(self._rings[0]))
            self.remove(next(each for each, entry in self.by_id.items() if entry.label == common))

    def remove(self, key: str) -> None:
        """Remove the receipt of an id."""
        gone = self.by_id.pop(key)
        self.skipped -= not gone.learned
        self._leave(key, gone.label)

    def _leave(self, key: str, label: int) -> None:
        ring = self._rings[label]
        del ring[bisect_left(ring, (_hash(key), key))]

    def next_of(self, label: int, after: str) -> str | None:
        """Return the id that follows another one among those of a label; None if the label has none."""
        ring = self._rings[label]
        if not ring:
            return None
        return ring[bisect_right(ring, (_hash(after), after)) % len(ring)][1]

    @property
    def holds_both(self) -> bool:
        """True with receipts of both labels."""
        return all(self._rings)

    @property
    def of_each(self) -> tuple[int, int]:
        """The receipts of each label."""
        return len(self._rings[0]), len(self._rings[1])

    def mixed(self) -> list[str]:
        """Return all ids in the order of their hashes."""
        return [key for _, key in merge(*self._rings)]

    def recode(self, codes: NDArray[np.int32]) -> None:
        """Replace the codes in all receipts: `codes[old]` is the new one, -1 for an evicted token."""
        ends = np.cumsum([len(receipt.codes) for receipt in self.by_id.values()])
        if not len(ends):
            return
        old = np.concatenate([receipt.codes for receipt in self.by_id.values()])
        new = np.where(old >= 0, codes[old], np.int32(-1))
        for receipt, part in zip(self.by_id.values(), np.split(new, ends[:-1]), strict=True):
            receipt.codes[:] = part

    @property
    def memory_bytes(self) -> int:
        """The bytes of receipts and ids, about."""
        return sum(
            receipt.codes.nbytes + receipt.grams.nbytes + len(receipt.bag) + len(key) + _OVERHEAD
            for key, receipt in self.by_id.items()
        )

    def state(self) -> tuple[list[str], dict[str, NDArray[Any]]]:
        """Return the ids, and everything else as arrays."""
        receipts = list(self.by_id.values())
        codes = [receipt.codes for receipt in receipts]
        grams = [receipt.grams for receipt in receipts]
        bags = [np.frombuffer(receipt.bag, np.uint8) for receipt in receipts]
        return list(self.by_id), {
            "receipt_codes": np.concatenate(codes) if codes else np.zeros(0, np.int32),
            "receipt_sizes": np.array([len(part) for part in codes], np.int64),
            "receipt_tokens": np.array([receipt.tokens for receipt in receipts], np.int64),
            "receipt_labels": np.array([receipt.label for receipt in receipts], np.int64),
            "receipt_units": np.array([receipt.units for receipt in receipts], np.int64),
            "receipt_steps": np.array([receipt.step for receipt in receipts], np.int64),
            "receipt_learned": np.array([receipt.learned for receipt in receipts], np.int64),
            "receipt_probabilities": np.array([receipt.probability for receipt in receipts], np.float64),
            "receipt_doubts": np.array([receipt.doubt for receipt in receipts], np.float64),
            "receipt_bags": np.concatenate(bags) if bags else np.zeros(0, np.uint8),
            "receipt_bag_sizes": np.array([len(bag) for bag in bags], np.int64),
            "receipt_clocks": np.array([receipt.at for receipt in receipts], np.int64),
            "receipt_opinions": np.array([receipt.opinion for receipt in receipts], np.float64),
            "receipt_turns": np.array([receipt.turn for receipt in receipts], np.int64),
            "receipt_grams": np.concatenate(grams) if grams else NO_GRAMS,
            "receipt_gram_sizes": np.array([len(part) for part in grams], np.int64),
        }


def _hash(key: str) -> bytes:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def label_trust(p: float, doubt: float, label: int) -> float:
    """Return how far a label is to be trusted, if the probability of label 1 was p, and a share of labels is wrong.

    It is the slope of the label's log-likelihood, as a part of what it is where no label is wrong: hardly anything of a
    label that contradicts a clear score, and never quite 1.

    Examples
    --------
    >>> [round(label_trust(p, 0.05, 1), 3) for p in (0.01, 0.5, 0.99)]
    [0.153, 0.9, 0.947]
    """
    agrees = (1.0 - 2.0 * doubt) * (p if label else 1.0 - p)
    return agrees / (agrees + doubt) if doubt else 1.0


def label_error(p: float, doubt: float, label: int) -> float:
    """Return the gradient of a margin, for a label of a message whose probability of label 1 was p.

    Where a share of labels is wrong, it is that of the probability of the label as given, which is that of the true
    label being so or having been mistaken: (label - p) in proportion to how probable the label is to be right.
    """
    return (label - p) * label_trust(p, doubt, label)
