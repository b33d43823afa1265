"""What each of the recent messages added, by the message's id: what makes corrections exact and redelivery harmless.

What the filter asks of whatever scores messages, and what it remembers of each message: a receipt.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import BadValue
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.explanation import TokenSays

__all__ = ["Evidence", "Influence", "Journal", "Reading", "Receipt", "checked_bag", "digest_of"]

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


Labels = tuple[Hashable, Hashable]

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
    bag, at
        What a learner in place of the evidence was given, as JSON, and what its clock said then.
    """

    codes: NDArray[np.int32]
    tokens: int
    label: int
    units: int
    step: int
    learned: bool
    probability: float
    bag: bytes = b""
    at: int = 0

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


class Evidence(Protocol):
    """What the filter asks of whatever scores messages.

    Attributes
    ----------
    clock
        The messages that were learned or passed over, each once.
    lengths
        Their tokens, cut to the most.
    version
        Changes with whatever may change a reading.
    """

    clock: int
    lengths: int
    version: int

    @property
    def knows(self) -> bool:
        """Whether anything was learned or imported."""
        ...

    def read(self, bag: dict[str, int]) -> Reading:
        """Score a message. Changes nothing that is kept."""
        ...

    def learn(self, bag: dict[str, int], reading: Reading, label: int) -> Receipt:
        """Learn a message, of which `reading` is what `read` says now, as label 0 or 1."""
        ...

    def passed(self, bag: dict[str, int], reading: Reading, label: int) -> Receipt:
        """The receipt of a message that teaches nothing, for it may still be corrected."""
        ...

    def unlearn(self, receipt: Receipt) -> None:
        """Take back what a message added: exactly, whatever came after it."""
        ...

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Add the message of a receipt that was taken back again, with this label."""
        ...

    def told(self, bag: dict[str, int]) -> list[TokenSays]:
        """What each token adds to the score, and in how many messages it was."""
        ...

    def drop_old(self, most: int, journal: Journal) -> None:
        """Let the tokens go that were longest unseen, if there are too many."""
        ...

    def drop_unheld(self, journal: Journal) -> None:
        """Let the tokens go that neither counts nor messages of the journal hold."""
        ...

    def exported(self, labels: Labels) -> dict[str, Any]:
        """Messages by label, and by token and label."""
        ...

    def add_counts(self, counts: Mapping[str, Any], labels: Labels) -> None:
        """Add what `exported` gave, all of it or nothing."""
        ...

    def merge(self, other: Any, journal: Journal, receipts: Mapping[str, Receipt]) -> None:
        """Add what another one of the same settings has learned, and its receipts to a journal."""
        ...

    @property
    def messages(self) -> tuple[float, float]:
        """The messages of each label, those that are capped in part."""
        ...

    @property
    def memory_bytes(self) -> int:
        """The bytes held, without the texts of tokens."""
        ...


class Influence:
    """How much a message counts: those much longer than messages are, little.

    Parameters
    ----------
    influence
        The most tokens that a message may have and count fully, however long others are.
    """

    def __init__(self, influence: int) -> None:
        self.influence = influence
        self.clock = 0  # messages, each once
        self.lengths = 0  # their tokens, cut to the most

    def units(self, tokens: int) -> int:
        """What a message of this length counts; `UNIT` is all of it."""
        mean = (self.lengths + USUAL * USUAL_MESSAGES) / (self.clock + USUAL_MESSAGES)
        full = min(max(TIMES * mean, LEAST_FULL), self.influence)
        return max(round(UNIT * min(1.0, full / max(tokens, 1)) ** POWER), 1)

    def pass_by(self, tokens: int) -> None:
        """A message of this length has come."""
        self.clock += 1
        self.lengths += min(tokens, self.influence)
