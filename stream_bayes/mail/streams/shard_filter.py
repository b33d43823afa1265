"""Spam filters of shards: token counts and margins are whole numbers, and sums of them exact in any order.

A shard's filter scores a message by the sum of all shards, and learns it into its own counts and into the sum. The step
of its margin is taken against the sum as it is known here, so it is as old as the other shards' last publications. What
the state of the shard takes from the sum is its scores: the journal holds them, and a replay takes them from there.
Each shard has its own calibration and its own receipts: a correction comes to the shard of its message.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import msgspec
import numpy as np

from stream_bayes.core.values.payloads import Payload
from stream_bayes.decompression import unpacked
from stream_bayes.errors import BadState, BadValue, CannotMerge, CannotResume, StreamBayesError
from stream_bayes.mail.filter.calibration import ScoreCurve
from stream_bayes.mail.filter.filter import MessageOrBag, SpamFilter
from stream_bayes.mail.filter.one_against_rest import Contest
from stream_bayes.mail.filter.receipts import Receipt, Receipts
from stream_bayes.mail.filter.rehearsal import Rehearsal
from stream_bayes.mail.filter.scorer import MessageScore
from stream_bayes.mail.filter.state import save_state
from stream_bayes.mail.filter.token_scorer import TokenScorer
from stream_bayes.mail.filter.training import Training
from stream_bayes.mail.streams.spam_model import ServedFilter
from stream_bayes.streams.served_models.answers import BatchAnswers, LabelProbabilities
from stream_bayes.workers.state_parts import joined
from stream_bayes.workers.sum_memory import check_budget
from stream_bayes.workers.sum_updates import SumUpdates

__all__ = ["FilterTotal", "ShardFilter", "ShardFilterModel"]

MOST_TAPE_BYTES = 1 << 28  # of a tape once it is decompressed


class TotalScore(NamedTuple):
    """The score of a message by the sum, and the messages behind it."""

    score: float
    probability: float  # by the margin alone
    wanted: float  # messages of each label behind it
    unwanted: float
    opinion: float  # probability of label 1 whose error the second opinion learns


class FilterTotal:
    """The sum of the filters of all shards: own ones, which learn, and others, as they were last published. `empty` has
    learned nothing, and has the built-in scorer. `memory_budget` is the most bytes of the counts of all shards and
    their sum; None: no limit.

    Attributes
    ----------
    lock
        Held while the sum or a shard changes: a worker's shards share it.

    Examples
    --------
    >>> one, other, total = SpamFilter(), SpamFilter(), FilterTotal(SpamFilter())
    >>> one.learn_one("free pills", "spam")
    >>> other.learn_one("lunch notes", "ham")
    >>> total.replace({0: one, 1: other})
    >>> total.model.messages
    {'ham': 1.0, 'spam': 1.0}
    """

    def __init__(self, empty: SpamFilter, memory_budget: int | None = None) -> None:
        self.lock = threading.RLock()
        self._memory_budget = memory_budget
        self.empty = empty
        self.scorer = TokenScorer(empty.influence, empty.make_opinion())
        self._shards: dict[int, SpamFilter] = {}
        self._updates: SumUpdates[SpamFilter] = SumUpdates(self.lock, self._replace)

    @classmethod
    def of(cls, model: Any, memory_budget: int | None) -> Self | None:
        """Return an empty sum for filters like this one; None if a learner scores its messages.

        Raises
        ------
        CannotMerge
            If it has more than two classes or `keep`, or begins with a base.
        """
        if isinstance(model, SpamFilter) and len(model.classes) > 2:
            raise CannotMerge(
                f"the shards of a spam filter of {len(model.classes)} classes cannot be summed: leave out [workers], "
                "or give it two classes"
            )
        if isinstance(model, SpamFilter) and model.keep is not None:
            raise CannotMerge(
                "the shards of a spam filter drop no tokens by age: leave out [workers] or keep"
            )
        if isinstance(model, SpamFilter) and any(model.prior_messages.values()):
            raise CannotMerge(
                "the base of a spam filter would count in each shard: leave out [workers] or prior"
            )
        if isinstance(model, SpamFilter) and len(model.correspondents):
            raise CannotMerge(
                "whom one has written to is known to no shard of a spam filter: leave out [workers] or sent"
            )
        return cls(model, memory_budget) if isinstance(model, SpamFilter) and model.learner is None else None

    @classmethod
    def published(cls, state: Mapping[str, Any], key: bytes | None) -> Self:
        """Return an empty sum for filters with the arguments of a published state."""
        return cls(SpamFilter(**SpamFilter.from_state(state, key).arguments()))

    def shard_model(self, shard: int) -> ShardFilterModel:
        """Return the filter of a shard."""
        return ShardFilterModel(shard, self)

    def answer(self, x: Any) -> LabelProbabilities:
        """Return the answer of the sum for an event with a message."""
        return ServedFilter(self.model).answer(x)

    def clone(self) -> SpamFilter:
        """Return a filter that has learned nothing."""
        return SpamFilter(**self.empty.arguments())

    def loaded(self, shard: int, parts: Mapping[str, bytes]) -> SpamFilter:
        """Return the filter of a publication, with everything checked.

        Raises
        ------
        BadState
            If it is not valid, or of a filter with other arguments.
        """
        model = SpamFilter.from_state(joined(parts), self.empty.key)
        saved, ours = model.settings(), self.empty.settings()
        changed = [
            f"{name}={saved[name]!r}, not {ours[name]!r}" for name in ours if saved[name] != ours[name]
        ]
        if changed:
            raise BadState(f"shard {shard} is of other arguments: {', '.join(changed)}")
        return model

    def replace(self, shards: Mapping[int, SpamFilter]) -> None:
        """Replace these shards, and take the sum again: once for all that come at a time.

        Raises
        ------
        BudgetExceeded
            If these take more memory than the budget. Nothing has changed then.
        """
        self._updates.replace(shards)

    def _replace(self, shards: dict[int, SpamFilter]) -> None:
        replaced = self._shards | shards
        total = TokenScorer(self.empty.influence, self.empty.make_opinion())
        for _, one in sorted(replaced.items()):
            theirs = cast("TokenScorer", one.unwanted_contest.scorer)
            theirs.close_gaps(one.unwanted_contest.receipts)
            size = len(theirs.table)
            total.absorb(
                list(theirs.table.vocabulary.values),
                theirs.counts(),
                np.asarray(theirs.table.margin)[:size],
                np.array([theirs.table.first, theirs.table.second]),
            )
            total.weights.merge(theirs.weights)
            total.opinion.merge(theirs.opinion)
        used_bytes = total.memory_bytes + sum(one.memory_bytes for one in replaced.values())
        check_budget(self._memory_budget, used_bytes, len(replaced), [("tokens", len(total.table))])
        self._shards, self.scorer = replaced, total

    def score(self, bag: dict[str, int]) -> TotalScore:
        """Return the score of a message by the sum."""
        summed = self.scorer.score(bag)
        return TotalScore(summed.score, summed.probability, *self.scorer.messages, summed.opinion)

    def add(self, tokens: dict[str, int], receipt: Receipt, times: int = 1) -> None:
        """Add what a shard learned of a message with these tokens to the sum; take it back if `times` is -1."""
        table = self.scorer.table
        codes = table.codes_of(tokens)
        table.insert(tokens, codes)
        table.add(codes, receipt.label, times * receipt.counted, times * receipt.step, 0)
        self.scorer.opinion.add(receipt, receipt.turn, times)

    @property
    def model(self) -> SpamFilter:
        """The sum as a filter, with the calibration of the shard that has seen most messages. It has no receipts."""
        with self.lock:
            summed = self.clone()
            most = max(
                self._shards.values(), key=lambda one: one.unwanted_contest.calibration.seen, default=summed
            )
            calibration = ScoreCurve()
            calibration.load(
                most.unwanted_contest.calibration.meta(), most.unwanted_contest.calibration.arrays()
            )
            total = FilterTotal(self.empty)
            total.replace(self._shards)
            summed.contests = (
                replace(summed.unwanted_contest, scorer=total.scorer, calibration=calibration),
            )
            return summed

    @property
    def served(self) -> ServedFilter:
        """The sum, as the engine serves it."""
        return ServedFilter(self.model)

    @property
    def shards(self) -> Mapping[int, SpamFilter]:
        """The filter of each shard. An own one goes on learning; see `lock`."""
        return self._shards

    @property
    def memory_bytes(self) -> int:
        """The bytes of the sum and of all shards; the tokens themselves are not counted."""
        with self.lock:
            return self.scorer.memory_bytes + sum(one.memory_bytes for one in self._shards.values())


class ShardScorer(TokenScorer):
    """A scorer that counts the tokens of a shard, and scores by the sum of all, whose second opinion it adds to.

    Attributes
    ----------
    is_live
        True once everything was replayed: what is learned is added to the sum, too.
    recorded
        The scores since they were last taken.
    repeated
        Scores of a batch that is replayed.
    """

    can_replay = False  # its messages' scores would be those of the sum now

    def __init__(self, total: FilterTotal) -> None:
        super().__init__(total.empty.influence, total.empty.make_opinion())
        self.is_live = False
        self.recorded: list[TotalScore] = []
        self.repeated: deque[TotalScore] = deque()
        self._total = total
        self._last = TotalScore(0.0, 0.5, 0.0, 0.0, 0.5)

    @property
    def is_trained(self) -> bool:
        """True if there were messages behind the last score."""
        return self._last.wanted + self._last.unwanted > 0.0

    @property
    def pooled_messages(self) -> tuple[float, float]:
        """The messages of each label behind the last score."""
        return self._last.wanted, self._last.unwanted

    def score(self, bag: dict[str, int]) -> MessageScore:
        """Look up the tokens of a message and score it by the sum."""
        if self.is_live:
            self._last = self._total.score(bag)
            self.recorded.append(self._last)
        elif self.repeated:
            self._last = self.repeated.popleft()
        else:
            raise CannotResume(
                "the journal lacks the scores of a batch that is to be replayed: it was written without [workers], or "
                "the topics hold other records than then"
            )
        codes = self.table.codes_of(self.opinion.read(bag))
        return MessageScore(codes, self._last.score, self._last.probability, self.version, self._last.opinion)

    def learn(self, bag: dict[str, int], score: MessageScore, label: int, doubt: float = 0.0) -> Receipt:
        """Count a message, and move the margin towards its label, here and in the sum."""
        receipt = super().learn(bag, score, label, doubt)
        if self.is_live:
            tokens = self.opinion.read(bag)
            self._total.scorer.weights.count(len(tokens))
            self._total.add(tokens, receipt)
        return receipt

    def unlearn(self, receipt: Receipt) -> None:
        """Remove what a message added, here and in the sum."""
        super().unlearn(receipt)
        if self.is_live and receipt.learned:
            self._total.add(self._bag_of(receipt), receipt, -1)

    def relearn(self, receipt: Receipt, label: int) -> Receipt:
        """Learn an unlearned message again, as if it had first come with this label, here and in the sum."""
        again = super().relearn(receipt, label)
        if self.is_live:
            self._total.add(self._bag_of(again), again)
        return again

    def _bag_of(self, receipt: Receipt) -> dict[str, int]:
        """Return the tokens of a message that are held."""
        values = self.table.vocabulary.values
        return {values[code]: 1 for code in receipt.codes.tolist() if code >= 0}


class _FilterContent(NamedTuple):
    """A copy of what a shard publishes."""

    saved: dict[str, Any]

    def state(self) -> dict[str, Any]:
        """Return the state of the filter."""
        return self.saved


class ShardFilter(SpamFilter):
    """The filter of a shard: it answers by the sum of all shards."""

    def __init__(self, total: FilterTotal) -> None:
        self._total = total
        super().__init__(**total.empty.arguments())

    def _make_contest(self, number: int) -> Contest:
        self.shard_scorer = ShardScorer(self._total)
        return Contest(
            self.shard_scorer, ScoreCurve(), self._make_receipts(number), Training(self.train), Rehearsal()
        )

    def predict_proba_one(self, x: MessageOrBag, **kwargs: Any) -> dict[Any, float]:  # type: ignore[override]  # a message
        """Return the probability of both labels, by the sum; empty before any shard has learned anything."""
        message = x if isinstance(x, (bytes, str)) else self.bag_of(x)
        self._score(message)  # `is_trained` is that of the last score
        return super().predict_proba_one(message, **kwargs)

    def forget_last(self) -> None:
        """Score the next message anew: a replay begins with no message scored."""
        self._last_scored = None

    def fill_from(self, other: SpamFilter) -> None:
        """Continue with everything that another filter holds."""
        theirs = cast("TokenScorer", other.unwanted_contest.scorer)
        ours = self.shard_scorer
        ours.table, ours.weights, ours.opinion = theirs.table, theirs.weights, theirs.opinion
        self.contests = (replace(other.unwanted_contest, scorer=ours),)

    def content(self) -> _FilterContent:
        """Return a copy of what is published: counts, margins and calibration, without receipts."""
        contest = replace(self.unwanted_contest, receipts=Receipts(self.max_receipts), rehearsal=Rehearsal())
        return _FilterContent(save_state(self.arguments(), [contest], self.correspondents, self.token_ages))


class ShardFilterModel:
    """The model of one shard of a spam filter, as the engine serves it; as `ShardModel` for learners. The shards of a
    worker share `total`.

    Examples
    --------
    >>> total = FilterTotal(SpamFilter())
    >>> one, other = (ShardFilterModel(number, total) for number in (0, 1))
    >>> one.go_live(), other.go_live()
    (None, None)
    >>> one.learn({"text": "free pills"}, "spam", 1.0)
    >>> other.learn({"text": "lunch notes"}, "ham", 1.0)
    >>> other.answer({"text": "free"})["spam"] > 0.5
    True
    """

    name = "SpamFilter"
    generation = 0
    is_unsupervised = False
    predicts_numbers = False
    is_timed = False
    drifts = None
    drift_state = None
    clock = None

    def __init__(self, shard: int, total: FilterTotal) -> None:
        self.shard = shard
        self._total = total
        self.model = ShardFilter(total)
        self._served = ServedFilter(self.model)

    @property
    def is_live(self) -> bool:
        """True once everything was replayed."""
        return self.model.shard_scorer.is_live

    def replay(self, tape: bytes) -> None:
        """Take the scores of the next batch from a tape.

        Raises
        ------
        CannotResume
            If this package did not write it, or the batch before needed fewer scores than it holds.
        """
        self._check_end()
        try:
            scores = (
                msgspec.msgpack.decode(unpacked(tape, MOST_TAPE_BYTES), type=list[TotalScore]) if tape else []
            )
        except (BadValue, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CannotResume(f"the journal holds scores that cannot be read: {error}") from error
        self.model.forget_last()
        self.model.shard_scorer.repeated = deque(scores)

    def go_live(self) -> None:
        """Add the shard's counts to the sum, and answer from it."""
        self._check_end()
        self.model.forget_last()
        self._total.replace({self.shard: self.model})
        self.model.shard_scorer.is_live = True

    def take_tape(self) -> bytes:
        """Return the scores since the last call, to be written into the journal."""
        scorer = self.model.shard_scorer
        scores, scorer.recorded = scorer.recorded, []
        self.model.forget_last()
        return zlib.compress(msgspec.msgpack.encode(scores), 1) if scores else b""

    def _check_end(self) -> None:
        left = len(self.model.shard_scorer.repeated)
        if left:
            raise CannotResume(
                f"the journal holds {left} scores more than its batch has messages: the topics hold other records than "
                "then"
            )

    # -- the verbs of `Served` ----------------------------------------------------------------------------------------

    def answer(self, x: Any, /) -> LabelProbabilities:
        with self._total.lock:
            return self._served.answer(x)

    def hold(self, x: Any, /) -> Any:
        return x

    def learn(self, x: Any, y: Any, w: float, /) -> None:
        with self._total.lock:
            self._served.learn(x, y, w)

    def predict_then_learn(self, x: Any, y: Any, w: float, /) -> LabelProbabilities:
        with self._total.lock:
            return self._served.predict_then_learn(x, y, w)

    def process(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        with self._total.lock:
            return self._served.process(xs, ys, ws)

    def decide(self, answer: LabelProbabilities, /) -> Any:
        return self._served.decide(answer)

    def content(self, x: Any) -> Payload:
        return self._served.content(x)

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        with self._total.lock:
            self._served.relearn(content, was, y, w, clock)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        with self._total.lock:
            self._served.unlearn(content, y, w, clock)

    def work(self) -> bool:
        return False

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        return "the counts of a shard are a part of a sum, which other workers hold"

    def settings(self) -> dict[str, Any]:
        return self._served.settings()

    def freeze(self) -> Callable[[], dict[str, Any]]:
        with self._total.lock:
            return self._served.freeze()

    def load(self, state: Mapping[str, Any]) -> None:
        loaded = ServedFilter(self._total.clone())
        loaded.load(state)
        self.model.fill_from(loaded.model)
