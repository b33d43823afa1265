"""The built-in scorer: the sum of two scores of the same tokens.

The two err on different messages, so together they rank better than either.

- The *mean log-odds*: per token log(q / p), with p and q the shares of ham and of spam that hold it, shrunk by a small
  prior. The mean of a message is over its clear tokens. It neither grows with length nor saturates.
- The *margin* of a linear model over the tokens present, each 1 / sqrt(n) of n: logistic regression, one gradient step
  for each message. The step is small where the prediction was right and large where it was wrong, so the margin
  follows drift.

A second opinion may add a third score, of characters: see `second_opinion.py`.

All are whole numbers, those of tokens in `_evidence.py`. A `Receipt` holds a message's additions, which can be taken
back exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.errors import BadValue, CannotMerge
from stream_bayes.mail.filter._evidence import STEP, UNIT, EvidenceTable
from stream_bayes.mail.filter.calibration import logistic
from stream_bayes.mail.filter.explanation import TokenContribution
from stream_bayes.mail.filter.length_weights import MessageWeights
from stream_bayes.mail.filter.messages import Classes, ContestLabels
from stream_bayes.mail.filter.receipts import Receipt, Receipts, label_error
from stream_bayes.mail.filter.scorer import MessageScore
from stream_bayes.mail.filter.second_opinion import NoOpinion

__all__ = ["MEAN_WEIGHT", "TokenScorer", "checked_counts"]

# Messages added to each cell: near bogofilter's s = 0.0178, but in proportion to each class.
PRIOR: Final = 0.02
RESERVE: Final = 0.5  # weight of a neutral token added to each mean, in clear tokens
MEAN_WEIGHT: Final = 2.0  # of the mean log-odds beside the margin
RATE: Final = 8.0  # of the gradient; a message's margin moves by at most this
PRIOR_MARGIN: Final = 0.5  # of the margins of a prior: those of other mail
PASSAGE: Final = 60  # different tokens in a row that are scored apart
KEPT_SHARE: Final = 0.75  # of the tokens, at an eviction
# Messages that a token may stay unseen longer for being in twice as many messages.
EVICTION_BONUS: Final = 1_000
MIN_GAPS: Final = 1_000  # codes of removed tokens that may stay unused, besides as many as there are tokens
MAX_MESSAGES: Final = 2.0**40  # of one import: sums of many still fit


class TokenScorer:
    """A scorer that counts tokens and learns their margins. `influence` is the most tokens that a message may have at
    full weight, however long others are; `opinion` is its second opinion, None for none.
    """

    def __init__(self, influence: int, opinion: NoOpinion | None = None) -> None:
        self.opinion = NoOpinion() if opinion is None else opinion
        self.weights = MessageWeights(influence)
        self.table = EvidenceTable(PRIOR, RESERVE)
        self.prior = [0, 0]  # units of the messages of each label that a prior stands for
        self.version = 0  # never saved

    can_replay = doubts_labels = True

    @property
    def is_trained(self) -> bool:
        """True if anything was learned or imported."""
        return self.weights.clock > 0 or self.table.first + self.table.second > 0

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of the messages learned."""
        return self.weights.mean_length

    def score(self, bag: dict[str, int]) -> MessageScore:
        """Look up the tokens of a message and score it."""
        tokens = self.opinion.read(bag)
        codes = self.table.codes_of(tokens)
        mean, margin = self.table.score(codes, len(tokens))
        score, opinion = self.opinion.with_tokens(margin + MEAN_WEIGHT * mean)
        return MessageScore(codes, score, logistic(margin), self.version, opinion)

    def passage_score(self, score: MessageScore, borders: NDArray[np.int32], bag: dict[str, int]) -> float:
        """Return the score that the passage of a message with the highest one would have alone."""
        return self.table.spammiest(score.codes, PASSAGE, MEAN_WEIGHT, borders)

    def are_in_wanted(self, bag: dict[str, int]) -> bool:
        """Return True if each token is in a message of label 0."""
        counts = self.counts()
        return all(code >= 0 and counts[code, 0] > 0 for code in self.table.codes_of(bag).tolist())

    def contributions(self, bag: dict[str, int]) -> list[TokenContribution]:
        """Return the contribution of each learned token to the score, and its messages by label; then that of the
        second opinion.
        """
        tokens = self.opinion.read(bag)
        codes = self.table.codes_of(tokens)
        means, sums = self.table.parts(codes, len(tokens))
        counts = self.counts() / UNIT
        adds = zip(tokens, codes.tolist(), (MEAN_WEIGHT * means + sums).tolist(), strict=True)
        rows = [
            TokenContribution(token, added, *counts[code].tolist())
            for token, code, added in adds
            if code >= 0
        ]
        return rows + self.opinion.contributions()

    def learn(self, bag: dict[str, int], score: MessageScore, label: int, doubt: float = 0.0) -> Receipt:
        """Count a message, and move the margin towards its label. `score` is its score now: nothing may have been
        learned since. `label` is 0 or 1. `doubt` is the share of labels held to be wrong: a label that contradicts a
        clear margin then counts little, and moves it little.
        """
        receipt = _learned(replace(self.skip(bag, score, label), doubt=doubt), label)
        self.table.add(receipt.codes, label, receipt.counted, receipt.step, self.weights.clock)
        return self.opinion.learn(receipt)

    def skip(self, bag: dict[str, int], score: MessageScore, label: int) -> Receipt:
        """Count a message without learning it. Its receipt allows to correct it later."""
        tokens = self.opinion.read(bag)
        units = self.weights.units(len(tokens))
        self.weights.count(len(tokens))
        self.version += 1
        self.table.insert(tokens, score.codes)
        return Receipt(
            score.codes,
            len(tokens),
            label,
            units,
            0,
            False,
            score.probability,
            opinion=score.opinion,
            grams=self.opinion.slots(),
        )

    def unlearn(self, receipt: Receipt) -> None:
        """Remove what a message added, exactly, no matter what was learned since."""
        self.version += 1
        if receipt.learned:
            self.table.add(receipt.codes, receipt.label, -receipt.counted, -receipt.step, 0)
            self.opinion.add(receipt, receipt.turn, -1)

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Learn an unlearned message again, as if it had first come with this label."""
        self.version += 1
        again = _learned(receipt, label)
        self.table.add(again.codes, label, again.counted, again.step, 0)
        return self.opinion.learn(again)

    def learn_again(self, receipt: Receipt) -> tuple[float, Receipt]:
        """Return the score of an unlearned message, and its receipt when it is learned as if it came now."""
        score, probability, opinion = self._score_again(receipt)
        again = replace(receipt, probability=probability, opinion=opinion)
        return score, self.relearn(again, receipt.label) if receipt.learned else again

    def score_without(self, receipt: Receipt) -> float:
        """Return the score that a learned message would have if it had never been learned."""
        if not receipt.learned:
            return self._score_again(receipt)[0]
        self.table.add(receipt.codes, receipt.label, -receipt.counted, -receipt.step, 0)
        score, *_ = self._score_again(receipt, receipt.turn)
        self.table.add(receipt.codes, receipt.label, receipt.counted, receipt.step, 0)
        return score

    def _score_again(self, receipt: Receipt, turn: int = 0) -> tuple[float, float, float]:
        """Return the score that a message has now, its probability by the margin alone, and that of the second opinion,
        without a step of its own, if it is given.
        """
        mean, margin = self.table.score(receipt.codes, receipt.tokens)
        self.opinion.read_again(receipt)
        score, opinion = self.opinion.with_tokens(margin + MEAN_WEIGHT * mean, turn)
        return score, logistic(margin), opinion

    def add_step(self, receipt: Receipt, before: Receipt) -> Receipt:
        """Add the step of a message's receipt before to that of the message learned again, and return its receipt.

        Messages of a run push the margin to their label. Steps that replace older ones, larger ones mostly, would not
        push it back.
        """
        if not (receipt.learned and before.learned):
            return receipt
        self.version += 1
        self.table.add(receipt.codes, receipt.label, 0, before.step, 0)
        both = replace(receipt, step=receipt.step + before.step, turn=receipt.turn + before.turn)
        self.opinion.add(receipt, receipt.turn, -1)  # squares are of the whole step
        self.opinion.add(both, both.turn)
        return both

    def absorb(
        self,
        tokens: list[str],
        counts: NDArray[np.int64],
        margin: NDArray[np.int64],
        messages: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Add counts, margins and messages of another table. Return the tokens' codes here."""
        table = self.table
        self.version += 1
        bag = dict.fromkeys(tokens, 1)
        codes: NDArray[np.int32] = table.codes_of(bag)
        table.insert(bag, codes)
        np.asarray(table.count).reshape(-1, 2)[codes] += counts
        np.asarray(table.margin)[codes] += margin
        np.asarray(table.seen)[codes] = self.weights.clock
        table.first += int(messages[0])
        table.second += int(messages[1])
        return codes

    @property
    def messages(self) -> tuple[float, float]:
        """The messages of each label; long ones count in part."""
        return self.table.first / UNIT, self.table.second / UNIT

    @property
    def pooled_messages(self) -> tuple[float, float]:
        """The messages of each label behind a score: all of `messages`."""
        return self.messages

    @property
    def prior_messages(self) -> tuple[float, float]:
        """The messages of each label that a prior stands for."""
        return self.prior[0] / UNIT, self.prior[1] / UNIT

    def add_prior(self, other: TokenScorer, weight: float) -> None:
        """Add the counts of another scorer, scaled to so many messages of each label if it has more, and a part of its
        margins. The other one must have no gaps.
        """
        totals = np.array([other.table.first, other.table.second], np.float64)
        scale = np.minimum(weight * UNIT / np.maximum(totals, 1.0), 1.0)
        counts = np.rint(other.counts() * scale).astype(np.int64)
        margins = np.rint(np.asarray(other.table.margin)[: len(counts)] * PRIOR_MARGIN).astype(np.int64)
        added = np.rint(totals * scale).astype(np.int64)
        self.absorb(list(other.table.vocabulary.values), counts, margins, added)
        self.prior = [before + more for before, more in zip(self.prior, added.tolist(), strict=True)]

    def counts(self) -> NDArray[np.int64]:
        """Return messages by token and label, in units: a view without spare capacity. Codes in gaps have none."""
        grid: NDArray[Any] = np.asarray(self.table.count).reshape(-1, 2)
        return grid[: len(self.table.vocabulary.values)]

    def export_counts(self, labels: ContestLabels) -> dict[str, Any]:
        """Return the messages by label, and by token and label."""
        by_token = self.counts() / UNIT
        tokens = zip(self.table.vocabulary.values, by_token.tolist(), strict=True)
        return {
            "labels": list(labels),
            "messages": list(self.messages),
            "tokens": {token: counts for token, counts in tokens if any(counts)},
        }

    def import_counts(self, counts: Mapping[str, Any], labels: ContestLabels) -> None:
        """Add exported counts: all of them, or none."""
        self.add_counts(*checked_counts(counts, labels))

    def add_counts(self, tokens: list[str], table: NDArray[np.float64], totals: NDArray[np.float64]) -> None:
        """Add checked counts: messages by token and label, and messages by label."""
        zeros = np.zeros(len(tokens), np.int64)
        self.absorb(tokens, np.rint(table * UNIT).astype(np.int64), zeros, np.rint(totals * UNIT))

    def merge(self, other: TokenScorer, receipts: Receipts, others: Mapping[str, Receipt]) -> None:
        """Add what another scorer of the same settings has learned, and its receipts to `receipts`.

        The other one must have no gaps.
        """
        theirs, size = other.table, len(other.table)
        codes = self.absorb(
            list(theirs.vocabulary.values),
            other.counts(),
            np.asarray(theirs.margin)[:size],
            np.array([theirs.first, theirs.second]),
        )
        self.weights.merge(other.weights)
        self.opinion.merge(other.opinion)
        for key, receipt in others.items():
            receipts.put(key, receipt.recoded(codes))

    def evict_tokens(self, limit: int, receipts: Receipts) -> None:
        """Evict a quarter of the tokens, if there are too many. A token in many messages may stay unseen longer."""
        if len(self.table) <= limit:
            return
        self.close_gaps(receipts)
        messages = self.counts().sum(axis=1) / UNIT
        rank = np.asarray(self.table.seen)[: len(self.table)] + EVICTION_BONUS * np.log2(1.0 + messages)
        kept = np.zeros(len(rank), bool)
        kept[np.argsort(-rank, kind="stable")[: int(limit * KEPT_SHARE)]] = True
        receipts.recode(self.keep(kept))

    def expire_tokens(self, last: int, receipts: Receipts) -> None:
        """Drop the tokens that were learned with no message after this one, by its number."""
        self.close_gaps(receipts)
        kept = np.asarray(self.table.seen)[: len(self.table)] > last
        if not kept.all():
            receipts.recode(self.keep(kept))

    def drop_unused_tokens(self, gone: Receipt, receipts: Receipts) -> None:
        """Drop the tokens of a forgotten message that neither counts nor receipts hold."""
        codes = gone.codes[gone.codes >= 0]
        unused = codes[~self.counts()[codes].any(axis=1)]
        # Learned messages hold their tokens by counts. A correction of a skipped one needs its tokens too.
        if len(unused) and receipts.skipped:
            skipped = [other.codes for other in receipts.by_id.values() if not other.learned]
            unused = unused[~np.isin(unused, np.concatenate(skipped))]
        if len(unused):
            self.version += 1
        for code in unused.tolist():
            self.table.remove(code)
        if self.table.gaps > len(self.table) + MIN_GAPS:
            self.close_gaps(receipts)

    def close_gaps(self, receipts: Receipts) -> None:
        """Give the codes of removed tokens to others, as if those had never been there."""
        if self.table.gaps:
            values = self.table.vocabulary.values
            receipts.recode(self.keep(np.array([value is not None for value in values], bool)))

    def keep(self, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Drop all other tokens. Return the new code of each old one, -1 for a dropped token."""
        table = self.table
        size = len(table.vocabulary.values)
        codes = np.flatnonzero(kept)
        moved = np.full(size, -1, np.int32)
        moved[codes] = np.arange(len(codes), dtype=np.int32)
        values = table.vocabulary.values
        arrays = self.counts()[codes], np.asarray(table.margin)[codes], np.asarray(table.seen)[codes]
        self.fill([values[code] for code in codes.tolist()], *arrays)
        return moved

    def fill(
        self,
        tokens: list[str],
        counts: NDArray[np.int64],
        margin: NDArray[np.int64],
        seen: NDArray[np.int64],
    ) -> bool:
        """Replace all tokens by these. Return False if a token occurs twice."""
        table = self.table
        self.version += 1
        if not table.vocabulary.restore(tokens):
            return False
        room = max(len(tokens) + len(tokens) // 8, 8)
        for name, array in (("count", counts.reshape(-1)), ("margin", margin), ("seen", seen)):
            grown = np.zeros(2 * room if name == "count" else room, np.int64)
            grown[: len(array)] = array
            setattr(table, name, grown)
        table.gaps = 0
        return True

    @property
    def memory_bytes(self) -> int:
        """The bytes of the arrays, the vocabulary's table and the list of tokens, without the tokens' texts."""
        table = self.table
        arrays = sum(np.asarray(array).nbytes for array in (table.count, table.margin, table.seen))
        slots = 8
        while slots < 2 * len(table):
            slots *= 2
        return int(arrays + 8 * slots + 8 * len(table)) + self.opinion.memory_bytes


def checked_counts(
    counts: Mapping[str, Any], labels: Classes
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return tokens, messages by token and label, and messages by label, from exported counts.

    Raises
    ------
    BadValue, CannotMerge
        If these are no exported counts, or counts of other labels.
    """
    try:
        named = list(counts["labels"])
        if sorted(map(repr, named)) != sorted(map(repr, labels)):
            raise CannotMerge(f"the counts are of {named!r}, the filter is of {list(labels)!r}")
        order = [named.index(label) for label in labels]
        tokens = list(counts["tokens"])
        rows = [counts["tokens"][token] for token in tokens]
        table = np.array(rows, float).reshape(len(tokens), len(labels))[:, order]
        totals = np.array(counts["messages"], float).reshape(len(labels))[order]
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, CannotMerge):
            raise
        raise BadValue(f"expected exported counts, got something else: {error}") from error
    whole = np.vstack([table, totals])
    if not all(type(token) is str for token in tokens) or not ((whole >= 0) & (whole < MAX_MESSAGES)).all():
        raise BadValue("imported counts must be finite numbers of at least 0 by token: {token: [ham, spam]}")
    if (table > totals).any():
        raise BadValue("an imported token is in more messages than there are")
    return tokens, table, totals


def _learned(receipt: Receipt, label: int) -> Receipt:
    """Return a message's receipt as learned with a label; the step is the gradient's when it came."""
    error = label_error(receipt.probability, receipt.doubt, label)
    step = RATE * error / math.sqrt(max(receipt.tokens, 1))
    return replace(receipt, label=label, step=round(STEP * step), learned=True)
