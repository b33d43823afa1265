"""What each of the recent messages added, by the message's id: what makes corrections exact and redelivery harmless."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import BadValue
from stream_bayes.mail.receipts import Receipt

__all__ = ["Journal", "checked_bag", "digest_of"]

_EACH = 200  # bytes of an entry beside its codes and id, about


def digest_of(message: bytes | str | dict[str, int]) -> str:
    """The SHA-256 of a message, which stands for its id where it has none; of a bag, of its sorted tokens and counts.

    Examples
    --------
    >>> digest_of("hello")[:12]
    '2cf24dba5fb0'
    """
    if isinstance(message, dict):
        message = "\n".join(f"{token}\t{count}" for token, count in sorted(message.items()))
    data = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
    return hashlib.sha256(data).hexdigest()


def checked_bag(message: Any) -> dict[str, int]:
    """A bag that was given, without what counts nothing."""
    if not isinstance(message, Mapping):
        instead = "; give its as_bytes()" if hasattr(message, "as_bytes") else ""
        raise BadValue(f"a message is bytes, text or a bag of tokens; got {type(message).__name__}{instead}")
    for token, count in message.items():
        number = isinstance(count, (int, float)) and not isinstance(count, bool)
        if type(token) is not str or not number or not 0 <= count < math.inf:
            raise BadValue(
                f"a bag holds {{token: count}}, texts and numbers of at least 0; got {token!r}: {count!r}"
            )
    return {token: count for token, count in message.items() if count > 0}


class Journal:
    """The receipts of the last `limit` messages, the oldest first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.receipts: dict[str, Receipt] = {}

    def __len__(self) -> int:
        return len(self.receipts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.receipts)

    def get(self, key: str) -> Receipt | None:
        """The receipt of a message, or None."""
        return self.receipts.get(key)

    def put(self, key: str, receipt: Receipt) -> None:
        """Keep a receipt; past the limit the oldest is let go."""
        receipts = self.receipts
        receipts[key] = receipt
        if len(receipts) > self.limit:
            del receipts[next(iter(receipts))]

    def pop(self, key: str) -> Receipt | None:
        """Give a receipt up."""
        return self.receipts.pop(key, None)

    def move(self, moved: NDArray[np.int32]) -> None:
        """Follow the tokens to their new codes."""
        ends = np.cumsum([len(receipt.codes) for receipt in self.receipts.values()])
        if not len(ends):
            return
        codes = np.concatenate([receipt.codes for receipt in self.receipts.values()])
        codes = np.where(codes >= 0, moved[codes], np.int32(-1))
        for receipt, part in zip(self.receipts.values(), np.split(codes, ends[:-1]), strict=True):
            receipt.codes[:] = part

    @property
    def memory_bytes(self) -> int:
        """The bytes of the receipts and ids, about."""
        return sum(
            receipt.codes.nbytes + len(receipt.bag) + len(key) + _EACH
            for key, receipt in self.receipts.items()
        )

    def state(self) -> tuple[list[str], dict[str, NDArray[Any]]]:
        """The ids, and everything else as arrays."""
        held = list(self.receipts.values())
        codes = [receipt.codes for receipt in held]
        bags = [np.frombuffer(receipt.bag, np.uint8) for receipt in held]
        return list(self.receipts), {
            "journal_codes": np.concatenate(codes) if codes else np.zeros(0, np.int32),
            "journal_sizes": np.array([len(part) for part in codes], np.int64),
            "journal_tokens": np.array([receipt.tokens for receipt in held], np.int64),
            "journal_labels": np.array([receipt.label for receipt in held], np.int64),
            "journal_units": np.array([receipt.units for receipt in held], np.int64),
            "journal_steps": np.array([receipt.step for receipt in held], np.int64),
            "journal_learned": np.array([receipt.learned for receipt in held], np.int64),
            "journal_probabilities": np.array([receipt.probability for receipt in held], np.float64),
            "journal_bags": np.concatenate(bags) if bags else np.zeros(0, np.uint8),
            "journal_bag_sizes": np.array([len(bag) for bag in bags], np.int64),
            "journal_clocks": np.array([receipt.at for receipt in held], np.int64),
        }
