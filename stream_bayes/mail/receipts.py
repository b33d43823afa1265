"""What the filter asks of whatever scores messages, and what it remembers of each message: a receipt."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._evidence import UNIT
from stream_bayes.mail.spam_explanation import TokenSays

if TYPE_CHECKING:
    from stream_bayes.mail.journal import Journal

__all__ = ["Evidence", "Influence", "Reading", "Receipt"]

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
