"""The protocol of scorers: what a `SpamFilter` asks of the model behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.length_weights import MessageWeights
from stream_bayes.mail.filter.messages import ContestLabels
from stream_bayes.mail.filter.receipts import Receipt, Receipts

__all__ = ["MessageScore", "Scorer"]


class MessageScore(NamedTuple):
    """A message's score before it is learned."""

    codes: NDArray[np.int32]  # of its tokens in order, below 0 for a new one
    score: float  # above 0 for label 1
    probability: float  # of label 1, by the margin alone
    version: int  # of the scorer
    opinion: float = 0.5  # probability of label 1 whose error a second opinion learns


class Scorer(Protocol):
    """Scores messages and learns from them; exact in any order of learning and unlearning.

    Attributes
    ----------
    weights
        The weights of messages, and the clock.
    version
        Changes whenever a score may have changed.
    """

    weights: MessageWeights
    version: int

    @property
    def can_replay(self) -> bool:
        """True if messages may be learned again in another order."""
        ...

    @property
    def doubts_labels(self) -> bool:
        """True if a label that is probably wrong counts little."""
        ...

    @property
    def is_trained(self) -> bool:
        """True if anything was learned or imported."""
        ...

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of the messages behind a score, each cut to `influence`."""
        ...

    def score(self, bag: dict[str, int]) -> MessageScore:
        """Score a message."""
        ...

    def passage_score(self, score: MessageScore, borders: NDArray[np.int32], bag: dict[str, int]) -> float:
        """Return the highest score that a passage of a message would have alone; `score` must be its score now.

        No passage crosses a border: the place in the bag of a token that begins a part.
        """
        ...

    def are_in_wanted(self, bag: dict[str, int]) -> bool:
        """Return True if each token is in a message of label 0, or if tokens are not counted."""
        ...

    def learn(self, bag: dict[str, int], score: MessageScore, label: int, doubt: float = 0.0) -> Receipt:
        """Learn a message as label 0 or 1. `score` must be its score now, `doubt` the share of wrong labels."""
        ...

    def skip(self, bag: dict[str, int], score: MessageScore, label: int) -> Receipt:
        """Count a message without learning it. Its receipt allows to correct it later."""
        ...

    def unlearn(self, receipt: Receipt) -> None:
        """Remove what a message added, exactly, no matter what was learned since."""
        ...

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Learn an unlearned message again, from its receipt, with this label."""
        ...

    def learn_again(self, receipt: Receipt) -> tuple[float, Receipt]:
        """Return the score of an unlearned message, and its receipt when it is learned as if it came now."""
        ...

    def score_without(self, receipt: Receipt) -> float:
        """Return the score that a learned message would have if it had never been learned."""
        ...

    def add_step(self, receipt: Receipt, before: Receipt) -> Receipt:
        """Add the step of a message's receipt before to that of the message learned again, and return its receipt."""
        ...

    def contributions(self, bag: dict[str, int]) -> list[TokenContribution]:
        """Return the contribution of each token to the score."""
        ...

    def evict_tokens(self, limit: int, receipts: Receipts) -> None:
        """Evict the tokens longest unseen, if there are more than `limit`."""
        ...

    def expire_tokens(self, last: int, receipts: Receipts) -> None:
        """Drop the tokens that were learned with no message after this one, by its number."""
        ...

    def drop_unused_tokens(self, gone: Receipt, receipts: Receipts) -> None:
        """Drop the tokens of a forgotten message that neither counts nor receipts hold."""
        ...

    def close_gaps(self, receipts: Receipts) -> None:
        """Give the codes of dropped tokens to others. The state is that of a scorer that never had them."""
        ...

    def export_counts(self, labels: ContestLabels) -> dict[str, Any]:
        """Return the messages by label, and by token and label."""
        ...

    def import_counts(self, counts: Mapping[str, Any], labels: ContestLabels) -> None:
        """Add exported counts: all of them, or none."""
        ...

    def merge(self, other: Any, receipts: Receipts, others: Mapping[str, Receipt]) -> None:
        """Add what another scorer of the same settings has learned, and its receipts to `receipts`."""
        ...

    @property
    def messages(self) -> tuple[float, float]:
        """The messages of each label; long ones count in part."""
        ...

    @property
    def pooled_messages(self) -> tuple[float, float]:
        """The messages of each label behind a score: of a user's filter, those of the site too."""
        ...

    @property
    def prior_messages(self) -> tuple[float, float]:
        """The messages of each label that a prior stands for, among the pooled ones."""
        ...

    @property
    def memory_bytes(self) -> int:
        """The bytes held, without the texts of tokens."""
        ...
