"""The weight of a message by its length: one padded with a dictionary hardly counts when it is learned."""

from __future__ import annotations

from typing import Final

from stream_bayes.mail.filter._evidence import UNIT

__all__ = ["MessageWeights"]

# A message much longer than usual counts little: otherwise a mail stuffed with a dictionary would spoil the counts of
# every word. The full length is so many times the mean of a prior and of the messages learned, each cut.
FULL_LENGTHS: Final = 3
MIN_FULL: Final = 100  # tokens that any message may have at full weight
PRIOR_LENGTH, PRIOR_MESSAGES = 300, 50  # the prior's mean, and its weight in messages
POWER: Final = 6  # of the length, by which the weight falls beyond


class MessageWeights:
    """The weight of a message by its length: one much longer than usual counts little. `influence` is the most tokens
    that a message may have at full weight, however long others are.

    Attributes
    ----------
    clock
        The messages counted, each once.
    lengths
        The sum of their lengths, each cut to `influence`.
    """

    def __init__(self, influence: int) -> None:
        self.influence = influence
        self.clock = 0
        self.lengths = 0

    def units(self, tokens: int) -> int:
        """Return the weight of a message by its number of tokens; full weight is `UNIT`."""
        mean = (self.lengths + PRIOR_LENGTH * PRIOR_MESSAGES) / (self.clock + PRIOR_MESSAGES)
        full = min(max(FULL_LENGTHS * mean, MIN_FULL), self.influence)
        return max(round(UNIT * min(1.0, full / max(tokens, 1)) ** POWER), 1)

    def count(self, tokens: int) -> None:
        """Count a message by its number of tokens."""
        self.clock += 1
        self.lengths += min(tokens, self.influence)

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of the messages counted, each cut to `influence`."""
        return self.lengths / max(self.clock, 1)

    def merge(self, other: MessageWeights) -> None:
        """Add the messages that another one counted."""
        self.clock += other.clock
        self.lengths += other.lengths
