"""The spam filter: messages in, verdicts out, one message at a time.

`profiles.py` has the costs of a verdict, `learners/wrappers/decision_rules.py` decides by them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, NamedTuple, Self

from river import base

from stream_bayes.core.values.values import canonical_label
from stream_bayes.errors import BadLabel, BadValue, CannotMerge, NotLearned
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.classifiers.text import BernoulliNB
from stream_bayes.learners.wrappers.decision_rules import Costs, Rule
from stream_bayes.mail.filter.calibration import ScoreCurve
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.learner_scorer import LearnerScorer
from stream_bayes.mail.filter.messages import FilterBag, Labels, checked_bag, digest_of
from stream_bayes.mail.filter.profiles import costs_of, neither_of
from stream_bayes.mail.filter.receipts import Receipt, Receipts
from stream_bayes.mail.filter.rehearsal import Rehearsal
from stream_bayes.mail.filter.scorer import MessageScore, Scorer
from stream_bayes.mail.filter.state import FilterParts, load_state, save_settings, save_state
from stream_bayes.mail.filter.token_scorer import TokenScorer
from stream_bayes.mail.filter.training import TRAINING, Training
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.tokens import UNREAD, Bag
from stream_bayes.mail.text.transformer import EmailTokens

__all__ = ["MIN_LEARNED", "SpamFilter"]

MIN_LEARNED: Final = 20  # messages of each label, before a verdict is other than "unsure"
CAUTION: Final = 5.0  # messages of the rarer label at which log-odds are half of what the calibration says
LEAST_ODDS: Final = 1e-6  # log-odds of the unwanted label, of a message that may not be called wanted
PASSAGE_ODDS: Final = 4.0  # log-odds of a passage from which the message may not be called wanted
SHORT: Final = 0.1  # of the mean length; less is hardly evidence
MAX_PRIOR: Final = 3.0  # log-odds of a message without evidence
MAX_STALE: Final = 0.1  # of the labels of a young filter's calibration, before corrections make it anew
MAX_MISSED: Final = 0.08  # of the unwanted messages that may be called wanted

Message = bytes | str | Mapping[str, int] | FilterBag

ARGUMENTS = (
    *("labels", "train", "costs", "max_tokens", "influence", "max_receipts", "key"),
    *("pairs", "parser", "limits", "learner", "authserv_id"),
)


class _Scored(NamedTuple):
    """A message with its tokens and score."""

    message: Message
    bag: Bag
    score: MessageScore


class SpamFilter(base.Classifier):
    """Classifies messages as spam or ham, and learns from every message that a person has labelled.

    A message is bytes (RFC 822, as received), text without headers (a short message), or a bag of tokens made
    elsewhere, `{token: count}`. The content of a message never raises an error.

    Parameters
    ----------
    labels
        The two labels: the wanted one, then the unwanted one.
    train
        The messages to learn: `"everything"`; or `"near-errors"`, those classified wrong or nearly wrong, by a margin
        that adapts. Both calibrate on every message.
    costs
        Turn probabilities into a verdict; any rule with `decide`. None: losing one ham costs as much as letting 30
        spams through, and a message that a person must check half a spam. A message is then spam from 98.3 % on.
    max_tokens
        The most tokens to hold. Past it, a quarter of them is evicted: those longest unseen.
    influence
        The most different tokens that a message may have at full weight; less where messages are short, three times
        their mean length. The weight of a longer one falls with the sixth power of its length, so that no message
        can poison the counts with a dictionary.
    max_receipts
        The number of recent messages that can be corrected or forgotten by their id.
    key
        16 bytes or more. With a key, tokens are stored as keyed hashes only, so that you can share the filter without
        sharing your mail. The key is not part of the state: pass it to `from_state` again.
    pairs, parser, limits, authserv_id
        As in `EmailTokens`.
    learner
        A classifier of this package that scores the bags of tokens instead of the built-in scorer. The filter trains
        this very object. `max_tokens` does not bound it; its own `max_values` does.

    Notes
    -----
    Counts and margins are whole numbers, so corrections are exact in any order: `correct(id, label)` leaves them as if
    the message had come with that label (and the margin as if it had been moved the other way at that time). The
    calibration uses only scores of messages that are not learned, and is corrected at the next replay. Replaying the
    same messages gives the same bytes. Memory: about 30 bytes a token besides its text, 4 a token of each receipt.

    Examples
    --------
    >>> from stream_bayes.mail import SpamFilter
    >>> model = SpamFilter()
    >>> for text, label in [("free pills", "spam"), ("lunch notes", "ham"), ("free offer", "spam"), ("notes", "ham")]:
    ...     model.learn_one(text, label)
    >>> model.predict_one("free lunch, free pills")
    'spam'
    >>> model.score_one("lunch") < 0 < model.score_one("offer")
    True
    >>> model.verdict_one("offer")
    'unsure'
    """

    TRAINING: ClassVar[tuple[str, ...]] = TRAINING

    def __init__(
        self,
        labels: Labels = ("ham", "spam"),
        train: str = "everything",
        costs: Rule | None = None,
        max_tokens: int = 300_000,
        influence: int = 700,
        max_receipts: int = 10_000,
        key: bytes | None = None,
        pairs: bool = False,
        parser: str = "auto",
        limits: Limits | None = None,
        learner: BayesClassifier | None = None,
        authserv_id: str | None = None,
    ) -> None:
        self.labels = labels
        self.train = train
        self.max_tokens = max_tokens
        self.influence = influence
        self.max_receipts = max_receipts
        self.key = key
        self.pairs = pairs
        self.parser = parser
        self.limits = limits
        self.learner = learner
        self.authserv_id = authserv_id
        if not isinstance(labels, tuple) or len(labels) != 2 or labels[0] == labels[1]:
            raise BadLabel(f"labels must be two different ones, (wanted, unwanted); got {labels!r}")
        Training(train)  # raises an error for another kind
        for name in ("max_tokens", "influence", "max_receipts"):
            check_count(name, getattr(self, name))
        if authserv_id is not None and not isinstance(authserv_id, str):
            raise BadValue(f"authserv_id must be the name of a server, or None; got {authserv_id!r}")
        if key is not None and (not isinstance(key, bytes) or not 16 <= len(key) <= 64):
            raise BadValue("key must be 16 to 64 bytes, or None")
        self._tokens = EmailTokens(parser=parser, pairs=pairs, limits=limits, authserv_id=authserv_id)
        self._unread = frozenset(UNREAD if key is None else [_hash(token, key) for token in UNREAD])
        self.set_costs(costs)
        self._parts = self._make_parts()
        # A cache: a message that is predicted and then learned is parsed once. It is not a part of the state.
        self._last_scored: _Scored | None = None

    def _make_parts(self) -> FilterParts:
        """Return the parts that learn, empty."""
        scorer: Scorer = (
            TokenScorer(self.influence)
            if self.learner is None
            else LearnerScorer(self.learner, self.labels, self.influence)
        )
        return FilterParts(
            scorer, ScoreCurve(), Receipts(self.max_receipts), Training(self.train), Rehearsal()
        )

    # -- scoring ------------------------------------------------------------------------------------------------------

    def _score(self, message: Message) -> _Scored:
        scorer, last = self._parts.scorer, self._last_scored
        if last is not None and last.message is message:
            if last.score.version != scorer.version:
                self._last_scored = last = last._replace(score=scorer.score(last.bag))
            return last
        scored = _Scored(message, bag := self.bag_of(message).tokens, scorer.score(bag))
        if isinstance(message, (bytes, str, FilterBag)):  # immutable, so the same object has the same tokens
            self._last_scored = scored
        return scored

    def bag_of(self, x: Message) -> FilterBag:
        """Return the tokens of a message as the filter stores them. Every verb takes them in the message's place.

        Making them takes most of the time of a verdict, needs nothing that was learned, and is thread-safe.
        """
        if isinstance(x, FilterBag):
            return x
        bag = self._tokens.transform_one(x) if isinstance(x, (bytes, str)) else checked_bag(x)
        return FilterBag(bag if self.key is None else _hashed(bag, self.key))

    def _label_number(self, label: Hashable) -> int:
        label = None if label is None else canonical_label(label)  # numpy's become Python's
        for number, known in enumerate(self.labels):
            if label == known and type(label) is type(known):
                return number
        raise BadLabel(f"the labels are {self.labels[0]!r} and {self.labels[1]!r}; got {label!r}")

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(  # type: ignore[override]  # it has more arguments
        self, x: Message, y: Hashable, id: str | None = None
    ) -> None:
        """Learn a message, or correct it: a message whose id has a receipt never counts twice.

        The order of messages makes little difference. Until 600 are learned, all are replayed each time that the
        filter has grown by a tenth; with fewer than 60 of a label among them, until 200 of it are learned. In a long
        run of one label, earlier messages of the other one are learned again; a long run after mixed mail is a drift,
        which the filter follows.

        Parameters
        ----------
        x
            The message.
        y
            Its label.
        id
            Its id, to correct or forget it later; by default its SHA-256. Never use the sender's Message-ID: a sender
            could overwrite the messages of others.
        """
        label = self._label_number(y)
        key = self.id_of(x) if id is None else id
        if not isinstance(key, str):
            raise BadValue(f"an id is a string; got {key!r}")
        parts = self._parts
        if key in parts.receipts.by_id:
            self._correct(key, label)
            return
        _, bag, score = self._score(x)
        selected, margin = parts.training.select(score.score, label, parts.calibration)
        # A learner may refuse the message, by its budget; until then nothing changes.
        both = 0.0 not in parts.scorer.messages
        if selected:
            receipt = parts.scorer.learn(bag, score, label, parts.calibration.doubt)
        else:
            receipt = parts.scorer.skip(bag, score, label)
        parts.training.margin = margin
        if both:  # scores given before that cannot be compared with later ones
            parts.calibration.add(score.score, label)
        parts.receipts.put(key, receipt)
        if parts.scorer.can_replay:
            for _ in range(parts.rehearsal.observe(label, parts.scorer.messages)):
                self._rehearse(1 - label)
            if parts.rehearsal.replay_is_due(parts.receipts.of_each, label, self.clock):
                self.replay()
        parts.scorer.evict_tokens(self.max_tokens, parts.receipts)

    def _rehearse(self, label: int) -> None:
        """Score and learn an earlier message of a label as if it came now."""
        parts = self._parts
        key = parts.receipts.next_of(label, parts.rehearsal.cursors[label])
        if key is not None:
            before = parts.receipts.by_id[key]
            parts.scorer.unlearn(before)
            score, receipt = parts.scorer.learn_again(replace(before, doubt=parts.calibration.doubt))
            if 0.0 not in parts.scorer.messages:
                parts.calibration.add(score, receipt.label)
            parts.receipts.put(key, parts.scorer.add_step(receipt, before))
            parts.rehearsal.cursors[label] = key

    def replay(self) -> None:
        """Learn all messages that have a receipt again, mixed by a hash of their ids, and calibrate on them again.

        Counts stay as they are. Margin and calibration no longer depend on the order in which these messages came.
        The filter does it itself while it is young, and in long runs of one label; see `learn_one`. Call it after
        training from folders, as `stream-bayes spam train` does: mail that came before or after them is no drift then.

        It calibrates on the scores that the messages would have now if they had not been learned: the scores that
        they had when they came are those of a filter that had learned less.
        """
        parts = self._parts
        if not parts.scorer.can_replay or not parts.receipts.holds_both:
            return
        parts.rehearsal.since_replay = 0.0
        self._replay(0.0)
        if parts.calibration.doubt:
            self._replay(parts.calibration.doubt)

    def _replay(self, doubt: float) -> None:
        """Learn all messages with a receipt again, with this share of labels held to be wrong, and calibrate."""
        parts = self._parts
        receipts, keys = parts.receipts.by_id, parts.receipts.mixed()
        for receipt in receipts.values():
            parts.scorer.unlearn(receipt)
        for key in keys:
            _, receipt = parts.scorer.learn_again(replace(receipts[key], doubt=doubt))
            parts.receipts.put(key, receipt)
        parts.calibration.refit(
            [(parts.scorer.score_without(receipts[key]), receipts[key].label) for key in keys]
        )

    def _replay_if_young(self) -> None:
        """Replay a young filter after a change of what it has learned."""
        if self._parts.rehearsal.is_young(self._parts.receipts.of_each, self.clock):
            self.replay()

    def id_of(self, x: Message) -> str:
        """Return the id of a message learned without one: its SHA-256."""
        return digest_of(
            x if isinstance(x, (bytes, str)) else x.tokens if isinstance(x, FilterBag) else checked_bag(x)
        )

    def correct(self, id: str, label: Hashable) -> None:
        """Change the label of a message. Repeating a correction changes nothing.

        Raises
        ------
        NotLearned
            If there is no receipt for this id.
        """
        self._receipt(id)
        self._correct(id, self._label_number(label))

    def _correct(self, key: str, label: int) -> None:
        receipt = self._receipt(key)
        if receipt.label == label:
            return
        parts = self._parts
        parts.scorer.unlearn(receipt)
        parts.receipts.put(key, parts.scorer.relearn(receipt, label))
        stale = abs(parts.calibration.ones - parts.receipts.of_each[1])
        if min(self.learned) >= MIN_LEARNED and stale > MAX_STALE * len(parts.receipts):
            self._replay_if_young()

    def forget(self, id: str) -> None:
        """Take back all that a message added to counts and margins; delete its id, and tokens that no other holds.

        Raises
        ------
        NotLearned
            If there is no receipt for this id.
        """
        parts = self._parts
        gone = self._receipt(id)
        parts.scorer.unlearn(gone)
        parts.receipts.remove(id)
        if self._last_scored is not None and self.id_of(self._last_scored.message) == id:
            self._last_scored = None
        parts.scorer.drop_unused_tokens(gone, parts.receipts)
        if not parts.receipts.holds_both and parts.rehearsal.is_young(parts.receipts.of_each, self.clock):
            parts.calibration.clear()  # scores beside a label that was forgotten

    def label_of(self, id: str) -> Hashable | None:
        """Return the present label of a message; None if there is no receipt for this id."""
        receipt = self._parts.receipts.by_id.get(id)
        return None if receipt is None else self.labels[receipt.label]

    def _receipt(self, key: str) -> Receipt:
        receipt = self._parts.receipts.by_id.get(key)
        if receipt is None:
            raise NotLearned(
                f"there is no receipt for the id {key!r}; the filter holds those of the last {self.max_receipts} "
                "messages: learn the message with the right label instead"
            )
        return receipt

    # -- predicting ---------------------------------------------------------------------------------------------------

    def score_one(self, x: Message) -> float:
        """Return a score to rank by, above 0 for spam. It neither saturates nor grows with length."""
        return self._score(x).score.score

    def predict_proba_one(self, x: Message, **kwargs: Any) -> dict[Any, float]:  # type: ignore[override]  # a message is one value
        """Return the probability of both labels; empty before anything was learned."""
        scorer = self._parts.scorer
        if not scorer.is_trained:
            return {}
        _, bag, score = self._score(x)
        odds = self._near_prior(self._log_odds(score.score), len(bag))
        if not bag or (odds < 0.0 and self._is_doubtful(bag, score)):
            odds = LEAST_ODDS
        wanted, unwanted = self.labels
        return {wanted: _logistic(-odds), unwanted: _logistic(odds)}

    def _log_odds(self, score: float) -> float:
        """Return the log-odds of the unwanted label, drawn to 0 while little was learned of one label."""
        odds = self._parts.calibration.log_odds(score)
        if 0.0 in self._parts.scorer.pooled_messages:  # one label alone is no evidence for it
            return odds / (1.0 + abs(odds))
        rarer = min(self.learned)
        return odds * rarer / (rarer + CAUTION)

    def _near_prior(self, odds: float, tokens: int) -> float:
        """Return the log-odds of a message, drawn to the prior if it has hardly any tokens, compared with others."""
        scorer = self._parts.scorer
        full = SHORT * scorer.mean_length
        if tokens >= full:
            return odds
        wanted, unwanted = scorer.pooled_messages
        prior = min(max(math.log((unwanted + 1.0) / (wanted + 1.0)), -MAX_PRIOR), MAX_PRIOR)
        return prior + (odds - prior) * (tokens / full) ** 2

    def _is_doubtful(self, bag: Bag, score: MessageScore) -> bool:
        """Return True for a message that was not read whole, or that has a passage as of an unwanted one.

        What is not read is no evidence for the wanted label. Nor are words of ham around a spam, whether in front of
        it, behind it, in its headers or in another part.
        """
        if not self._unread.isdisjoint(bag):
            return True
        return self._log_odds(self._parts.scorer.passage_score(bag, score)) >= PASSAGE_ODDS

    def predict_one(self, x: Message, **kwargs: Any) -> Any:  # type: ignore[override]  # a message is one value
        """Return the more probable label; None before anything was learned."""
        probabilities = self.predict_proba_one(x)
        if not probabilities:
            return None
        wanted, unwanted = self.labels
        return unwanted if probabilities[unwanted] > probabilities[wanted] else wanted

    def verdict_one(self, x: Message) -> Any:
        """Return the decision that costs the least, which may be "unsure"; see `decide`."""
        return self.decide(self.predict_proba_one(x))

    def set_costs(self, costs: Rule | None) -> None:
        """Change the costs behind verdicts. What was learned stays.

        Parameters
        ----------
        costs
            As of the class: any rule with `decide`, or None for the default.

        Examples
        --------
        >>> from stream_bayes import Costs
        >>> model = SpamFilter()
        >>> for text, label in [("free pills", "spam"), ("lunch notes", "ham"), ("free offer", "spam")]:
        ...     model.learn_one(text, label)
        >>> model.set_costs(Costs.false_positive(1, "spam", "ham"))
        >>> model.rule.decide(model.predict_proba_one("offer"))
        'spam'
        """
        self.costs = costs
        self._rule: Rule = costs_of(self.labels) if costs is None else costs

    @property
    def rule(self) -> Rule:
        """The rule that turns probabilities into a verdict."""
        return self._rule

    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        """Return the verdict for probabilities that the filter gives now.

        Before 20 messages of each label were learned, every message is "unsure". If the costs allow "unsure", so is
        one that would be the wanted label, while more than 8 % of recent unwanted messages had such a low score.
        """
        if min(self.learned) < MIN_LEARNED:
            return self._unsure
        decided = self.rule.decide(probabilities)
        wanted, unwanted = self.labels
        if decided == wanted and self._unsure_is_allowed:
            lowest = self._parts.calibration.low_score(MAX_MISSED)
            if lowest is not None:
                bound = _logistic(self._log_odds(lowest))
                return self._unsure if probabilities[unwanted] >= bound else decided
        return decided

    @property
    def _unsure(self) -> Any:
        """The decision for a message that a person must check."""
        rule = self.rule
        others = (
            [name for name in rule.decisions if name not in self.labels] if isinstance(rule, Costs) else []
        )
        return others[0] if others else neither_of(self.labels)

    @property
    def _unsure_is_allowed(self) -> bool:
        return isinstance(self.rule, Costs) and any(name not in self.labels for name in self.rule.decisions)

    @property
    def learned(self) -> tuple[int, int]:
        """The number of messages of each label behind a verdict, those of a user's site too."""
        wanted, unwanted = self._parts.scorer.pooled_messages  # long messages count in part
        receipts = self._parts.receipts.of_each
        return max(round(wanted), receipts[0]), max(round(unwanted), receipts[1])

    def explain_one(self, x: Message) -> SpamExplanation:
        """Return the tokens that decided, in clear, with their contributions to the score."""
        _, bag, score = self._score(x)
        rows = self._parts.scorer.contributions(bag)
        if self.key is not None and not isinstance(x, FilterBag):
            plain = self._tokens.transform_one(x) if isinstance(x, (bytes, str)) else checked_bag(x)
            names = {_hash(token, self.key): token for token in plain}
            rows = [row._replace(token=names[row.token]) for row in rows]
        rows.sort(key=lambda row: (-abs(row.adds), row.token))
        proba = self.predict_proba_one(x)
        return SpamExplanation(
            self.labels,
            score.score,
            proba.get(self.labels[1], 0.5),
            self.decide(proba),
            tuple(rows),
        )

    def recent_probabilities(self) -> list[tuple[float, bool]]:
        """Return the newest labelled messages, up to 4,000: the probability of spam that a message with the score it
        had before it was learned has now, and True for spam. To compare thresholds.

        Examples
        --------
        >>> model = SpamFilter()
        >>> for text, label in [("free pills", "spam"), ("lunch notes", "ham"), ("free offer", "spam")]:
        ...     model.learn_one(text, label)
        >>> [label for _, label in model.recent_probabilities()]
        [True]
        """
        return [
            (_logistic(self._log_odds(score)), is_unwanted)
            for score, is_unwanted in self._parts.calibration.recent()
        ]

    # -- content ------------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """The number of messages given to learn, each once, learned or skipped."""
        return self._parts.scorer.weights.clock

    def ids(self) -> list[str]:
        """Return the ids of the messages that can be corrected or forgotten, oldest first."""
        return list(self._parts.receipts)

    @property
    def replay_is_due(self) -> bool:
        """True if a replay may change verdicts: of a young filter, or after a long run of one label."""
        parts = self._parts
        return parts.rehearsal.since_replay > 0.0 or parts.rehearsal.is_young(
            parts.receipts.of_each, self.clock
        )

    @property
    def tokens(self) -> int:
        """The number of tokens held; 0 with a learner, which has its own."""
        return len(self._parts.scorer.table) if isinstance(self._parts.scorer, TokenScorer) else 0

    @property
    def correctable(self) -> int:
        """The number of messages that can be corrected or forgotten."""
        return len(self._parts.receipts)

    @property
    def messages(self) -> dict[Any, float]:
        """The number of messages learned by label; long ones count in part."""
        return dict(zip(self.labels, self._parts.scorer.messages, strict=True))

    @property
    def pooled_messages(self) -> dict[Any, float]:
        """The messages behind a score by label: of a user's filter, those of the site too."""
        return dict(zip(self.labels, self._parts.scorer.pooled_messages, strict=True))

    @property
    def memory_bytes(self) -> int:
        """The bytes of counts, codes, receipts and calibration, without the texts of tokens."""
        parts = self._parts
        return parts.scorer.memory_bytes + parts.receipts.memory_bytes + parts.calibration.memory_bytes

    # -- counts, merging, state ---------------------------------------------------------------------------------------

    def export_counts(self) -> dict[str, Any]:
        """Return the messages by label, and by token and label, for use in another program."""
        return self._parts.scorer.export_counts(self.labels)

    def import_counts(self, counts: Mapping[str, Any]) -> None:
        """Add counts as `export_counts` returns them: all of them, or none."""
        self._parts.scorer.import_counts(counts, self.labels)
        self._parts.scorer.evict_tokens(self.max_tokens, self._parts.receipts)

    def merge(self, other: Self) -> Self:
        """Add what another filter of the same settings has learned: counts, margins and receipts.

        The other filter stays as it is. The calibration stays this filter's own, as it belongs to the scores given
        here; that of a young filter is made anew.
        """
        for name in ("labels", "influence", "key", "pairs", "limits", "authserv_id"):
            if getattr(self, name) != getattr(other, name):
                raise CannotMerge(f"the filters differ in {name}")
        if type(self.learner) is not type(other.learner):
            raise CannotMerge("the filters differ in learner")
        parts, others = self._parts, other._parts
        shared = parts.receipts.by_id.keys() & others.receipts.by_id.keys()
        if shared:
            raise CannotMerge(f"both filters learned the message {min(shared)!r}: forget it in one of them")
        others.scorer.close_gaps(others.receipts)
        parts.scorer.merge(others.scorer, parts.receipts, others.receipts.by_id)
        parts.scorer.evict_tokens(self.max_tokens, parts.receipts)
        self._replay_if_young()
        return self

    def settings(self) -> dict[str, Any]:
        """Return the arguments without the key, as JSON. Filters with equal ones can load each other's states."""
        return save_settings(self._arguments())

    def state(self) -> dict[str, Any]:
        """Return the whole filter without its key: JSON values, and arrays under "arrays"."""
        return save_state(self._arguments(), self._parts)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], key: bytes | None = None) -> Self:
        """Return the filter of a state.

        Parameters
        ----------
        state
            As returned by `state`.
        key
            The key of its tokens, if they are hashed.

        Raises
        ------
        BadState
            If anything is wrong with the state.
        """
        return load_state(cls, lambda model: model._parts, state, key)

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ARGUMENTS}

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state(), "key": self.key}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__dict__.update(type(self).from_state(pickled["state"], pickled["key"]).__dict__)

    def _unit_test_skips(self) -> set[str]:
        # This check of River's expects both labels before anything is learned, when there is no answer.
        return {"check_predict_proba_one_binary"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"labels": (False, True)}
        yield {"labels": (False, True), "train": "near-errors", "learner": BernoulliNB()}


def _hashed(bag: Bag, key: bytes) -> Bag:
    hashed: Bag = {}
    for token, count in bag.items():
        name = _hash(token, key)
        hashed[name] = hashed.get(name, 0) + count
    return hashed


def _hash(token: str, key: bytes) -> str:
    return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=9, key=key).hexdigest()


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))
