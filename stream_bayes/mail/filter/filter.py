"""The spam filter: messages in, verdicts out, one message at a time.

`profiles.py` has the costs of a verdict, `learners/wrappers/decision_rules.py` decides by them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from river import base

from stream_bayes.core.values.durations import seconds_of
from stream_bayes.core.values.values import canonical_label
from stream_bayes.errors import BadLabel, BadValue, CannotMerge, NotLearned, NotSupported
from stream_bayes.learners.base.arguments import check_count, check_number
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.classifiers.text import BernoulliNB
from stream_bayes.learners.wrappers.decision_rules import Costs, Rule
from stream_bayes.mail.filter.ages import DAY, TokenAges
from stream_bayes.mail.filter.calibration import ScoreCurve, logistic
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.learner_scorer import LearnerScorer
from stream_bayes.mail.filter.messages import Classes, FilterBag, checked_bag, digest_of
from stream_bayes.mail.filter.one_against_rest import MIN_LEARNED, Contest
from stream_bayes.mail.filter.profiles import costs_of, neither_of
from stream_bayes.mail.filter.receipts import Receipts
from stream_bayes.mail.filter.rehearsal import Rehearsal
from stream_bayes.mail.filter.scorer import MessageScore, Scorer
from stream_bayes.mail.filter.second_opinion import (
    CharacterOpinion,
    NoOpinion,
    hashed_grams,
    holds_characters,
)
from stream_bayes.mail.filter.state import load_state, save_settings, save_state
from stream_bayes.mail.filter.token_scorer import TokenScorer, checked_counts
from stream_bayes.mail.filter.training import TRAINING, Training
from stream_bayes.mail.text.correspondents import Correspondents
from stream_bayes.mail.text.letters import TRICKS
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.tokens import UNREAD, Bag, without_borders
from stream_bayes.mail.text.transformer import EmailTokens

__all__ = ["MIN_LEARNED", "SpamFilter"]

TILT: Final = 1e-6  # of probabilities at even odds, toward the unwanted classes
PASSAGE_ODDS: Final = 4.0  # log-odds of a passage from which the message may not be called wanted
PRIOR_WEIGHT: Final = 10.0  # messages of each class
UNLIMITED: Final = 1 << 62
OTHERS: Final = "others"  # in explanations: all classes but one
MAX_MISSED: Final = 0.08  # of the unwanted messages that may be called wanted

MessageOrBag = bytes | str | Mapping[str, int] | FilterBag

ARGUMENTS = (
    *("classes", "train", "costs", "max_tokens", "influence", "max_receipts", "key"),
    *("pairs", "parser", "limits", "learner", "authserv_id", "salt", "keep", "second_opinion"),
)


class _Scored(NamedTuple):
    """A message with its tokens, and its score in each contest."""

    message: MessageOrBag
    bag: Bag
    borders: tuple[int, ...]
    scores: tuple[MessageScore, ...]

    @property
    def score(self) -> MessageScore:
        """The score in the first contest: of being unwanted."""
        return self.scores[0]

    @property
    def tokens(self) -> int:
        """The number of tokens, without that of the message's characters."""
        return len(self.bag) - holds_characters(self.bag)


class SpamFilter(base.Classifier):
    """Classifies messages as ham, spam and further classes, and learns from every message that a person has labelled.

    A message is bytes (RFC 822, as received), text without headers (a short message), or a bag of tokens made
    elsewhere, `{token: count}`. The content of a message never raises an error.

    Parameters
    ----------
    classes
        The wanted class, then one or more unwanted ones, such as `("ham", "spam", "newsletter")`. A message is first
        judged as wanted or unwanted, as with two classes; its kind among the unwanted is a question of its own.
    train
        The messages to learn: `"everything"`; or `"near-errors"`, those classified wrong or nearly wrong, by a margin
        that adapts. Both calibrate on every message.
    costs
        Turn probabilities into a verdict; any rule with `decide`. None: losing one ham costs as much as letting 30
        spams through, a message that a person must check half a spam, and so does one unwanted class taken for
        another. Of two classes, a message is then spam from 98.3 % on.
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
    salt
        16 bytes or more that hash the tokens in place of a key, and are part of the state. See `add_prior`.
    keep
        For how long to hold tokens that are not learned again, such as `"180d"`, at least a day; needs `at` of
        `learn_one`. None: until `max_tokens` evicts them.
    pairs, parser, limits, authserv_id
        As in `EmailTokens`.
    learner
        A classifier of this package that scores the bags of tokens instead of the built-in scorer. The filter trains
        this very object. `max_tokens` does not bound it; its own `max_values` does. Of two classes only.
    second_opinion
        The score has a second opinion, a linear model over 4-grams of the characters of the text, which learns what the
        tokens get wrong. It ranks better. It takes 1 MB, and receipts some 3 KB more each. None: yes, unless a learner
        scores the messages; False: the tokens alone.

    Notes
    -----
    Counts and margins are whole numbers, so corrections are exact in any order: `correct(id, label)` leaves them as if
    the message had come with that label (and the margin as if it had been moved the other way at that time). Once
    labels are found to be wrong, a message counts the less, the less probable its label is. The
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
    >>> model = SpamFilter(classes=("ham", "spam", "newsletter"))
    >>> for text, name in [("free pills", "spam"), ("lunch notes", "ham"), ("weekly digest", "newsletter")]:
    ...     model.learn_one(text, name)
    >>> model.learned
    (1, 1, 1)
    """

    TRAINING: ClassVar[tuple[str, ...]] = TRAINING
    PRIOR_WEIGHT: ClassVar[float] = PRIOR_WEIGHT

    def __init__(
        self,
        classes: Classes = ("ham", "spam"),
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
        salt: bytes | None = None,
        keep: str | None = None,
        second_opinion: bool | None = None,
    ) -> None:
        self.classes = classes
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
        self.salt = salt
        self.keep = keep
        self.second_opinion = second_opinion
        if not isinstance(classes, tuple) or len(classes) < 2 or len(set(classes)) < len(classes):
            raise BadLabel(
                f"classes must be two or more different ones, the wanted one first; got {classes!r}"
            )
        if learner is not None and len(classes) > 2:
            raise NotSupported(
                f"a learner scores messages of two classes, not of {len(classes)}: leave it out, or label the "
                "unwanted ones alike"
            )
        Training(train)  # raises an error for another kind
        for name in ("max_tokens", "influence", "max_receipts"):
            check_count(name, getattr(self, name))
        if authserv_id is not None and not isinstance(authserv_id, str):
            raise BadValue(f"authserv_id must be the name of a server, or None; got {authserv_id!r}")
        for name, value in (("key", key), ("salt", salt)):
            if value is not None and (not isinstance(value, bytes) or not 16 <= len(value) <= 64):
                raise BadValue(f"{name} must be 16 to 64 bytes, or None")
        if key is not None and salt is not None:
            raise BadValue("tokens are hashed with a key or with a salt; give one of them")
        if second_opinion is not None and type(second_opinion) is not bool:
            raise BadValue(f"second_opinion must be True, False or None; got {second_opinion!r}")
        if second_opinion and learner is not None:
            raise NotSupported("second_opinion is one beside the built-in scorer: leave out learner")
        self.token_ages = TokenAges(None if keep is None else _days("keep", keep))
        self.tokenizer = EmailTokens(
            parser=parser,
            pairs=pairs,
            limits=limits,
            authserv_id=authserv_id,
            characters=self.has_second_opinion,
        )
        self._begin_tokens()
        self.set_costs(costs)
        self.contests = self._make_contests()
        # A cache: a message that is predicted and then learned is parsed once. It is not a part of the state.
        self._last_scored: _Scored | None = None

    def _begin_tokens(self) -> None:
        """Begin what depends on the hashes of tokens."""
        self._unread = frozenset(self.stored_tokens(dict.fromkeys(UNREAD, 1)))
        self._tricks = frozenset(self.stored_tokens(dict.fromkeys(TRICKS, 1)))
        self.tokenizer.correspondents = Correspondents(self.token_key)

    @property
    def has_second_opinion(self) -> bool:
        """True if the score has a second opinion by the characters of the text."""
        return self.learner is None if self.second_opinion is None else self.second_opinion

    def make_opinion(self) -> NoOpinion:
        """Return the second opinion of a scorer, which has learned nothing, or that there is none."""
        return CharacterOpinion() if self.has_second_opinion else NoOpinion()

    @property
    def correspondents(self) -> Correspondents:
        """Whom one has written to."""
        correspondents = self.tokenizer.correspondents
        assert correspondents is not None
        return correspondents

    def _make_contests(self) -> tuple[Contest, ...]:
        """Return the contests, which have learned nothing: of all unwanted classes together, and of more than one each
        against all other messages.
        """
        unwanted = len(self.classes) - 1
        return tuple(self._make_contest(number) for number in range(unwanted + 1 if unwanted > 1 else 1))

    def _make_contest(self, number: int) -> Contest:
        """Return a contest, empty. The receipts of the first decide which of them stay in the others."""
        scorer: Scorer
        if self.learner is not None:
            scorer = LearnerScorer(self.learner, (self.classes[0], self.classes[1]), self.influence)
        else:
            scorer = TokenScorer(self.influence, self.make_opinion())
        return Contest(
            scorer, ScoreCurve(), self._make_receipts(number), Training(self.train), Rehearsal(), number > 0
        )

    def _make_receipts(self, number: int) -> Receipts:
        """Return the empty receipts of a contest."""
        return Receipts(UNLIMITED if number else self.max_receipts)

    @property
    def unwanted_contest(self) -> Contest:
        """The contest of the unwanted classes, together, against the wanted one."""
        return self.contests[0]

    def _sides(self, number: int) -> tuple[int, ...]:
        """Return the label in each contest of a message of a class."""
        return (int(number > 0), *(int(number == of_contest) for of_contest in range(1, len(self.contests))))

    def _by_class(self, pairs: list[tuple[Any, Any]]) -> tuple[Any, ...]:
        """Return a value for each class, from one for each label of each contest."""
        first, *others = pairs
        return (first[0], *(ones for _, ones in others)) if others else first

    # -- scoring ------------------------------------------------------------------------------------------------------

    def _score(self, message: MessageOrBag) -> _Scored:
        last = self._last_scored
        if last is not None and last.message is message:
            pairs = zip(self.contests, last.scores, strict=True)
            if any(contest.scorer.version != score.version for contest, score in pairs):
                self._last_scored = last = last._replace(scores=self._scores_of(last.bag))
            return last
        read = self.bag_of(message)
        scored = _Scored(message, read.tokens, read.borders, self._scores_of(read.tokens))
        if isinstance(message, (bytes, str, FilterBag)):  # immutable, so the same object has the same tokens
            self._last_scored = scored
        return scored

    def _scores_of(self, bag: Bag) -> tuple[MessageScore, ...]:
        """Return the score of a bag in each contest."""
        return tuple(contest.scorer.score(bag) for contest in self.contests)

    def bag_of(self, x: MessageOrBag) -> FilterBag:
        """Return the tokens of a message as the filter stores them. Every verb takes them in the message's place.

        Making them takes most of the time of a verdict, needs nothing that was learned, and is thread-safe.
        """
        if isinstance(x, FilterBag):
            return x
        bag = self.tokenizer.transform_one(x) if isinstance(x, (bytes, str)) else checked_bag(x)
        bag, borders = without_borders(bag)
        return FilterBag(self.stored_bag(bag), borders)

    def stored_bag(self, bag: Bag) -> Bag:
        """Return a bag as the filter stores it: with a key or a salt, tokens and 4-grams are hashed."""
        if self.token_key is None or not self.has_second_opinion:
            return self.stored_tokens(bag)
        tokens, grams = hashed_grams(bag, self.token_key)
        return self.stored_tokens(tokens) | {grams: 1}

    def stored_tokens(self, tokens: Bag) -> Bag:
        """Return tokens as the filter stores them: with a key or a salt, hashed."""
        return tokens if self.token_key is None else _hashed(tokens, self.token_key)

    @property
    def token_key(self) -> bytes | None:
        """The key or the salt that hashes the tokens; None if they are stored in clear."""
        return self.key if self.salt is None else self.salt

    def _class_number(self, label: Hashable) -> int:
        label = None if label is None else canonical_label(label)  # numpy's become Python's
        for number, class_label in enumerate(self.classes):
            if label == class_label and type(label) is type(class_label):
                return number
        *others, last = map(repr, self.classes)
        raise BadLabel(f"the classes are {', '.join(others)} and {last}; got {label!r}")

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(  # type: ignore[override]  # it has more arguments
        self, x: MessageOrBag, y: Hashable, id: str | None = None, at: float | None = None
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
        at
            The time when it is learned, in seconds since 1970: with `keep`, tokens that are too old by then expire.
            Never use the sender's Date.
        """
        number = self._class_number(y)
        key = self.id_of(x) if id is None else id
        if not isinstance(key, str):
            raise BadValue(f"an id is a string; got {key!r}")
        if at is not None:
            check_number("at", at)
        if key in self.unwanted_contest.receipts.by_id:
            self._correct(key, number)
            return
        if at is not None:
            self._expire_tokens(at)
        scored = self._score(x)
        for contest, score, side in zip(self.contests, scored.scores, self._sides(number), strict=True):
            contest.learn(key, scored.bag, score, side)
        self._drop_receipts()
        self._evict_tokens()

    def _expire_tokens(self, at: float) -> None:
        """Drop the tokens that were not learned for too long at a time."""
        last = self.token_ages.expired(at, self.clock)
        if last is not None:
            for contest in self.contests:
                contest.scorer.expire_tokens(last, contest.receipts)
            self._last_scored = None

    def _drop_receipts(self) -> None:
        """Drop the receipts of messages that the first contest has none of any more, in the others too."""
        first, *others = [contest.receipts for contest in self.contests]
        for receipts in others:
            if len(receipts) > len(first):
                for key in receipts.by_id.keys() - first.by_id.keys():
                    receipts.remove(key)

    def _evict_tokens(self) -> None:
        """Evict tokens where there are too many."""
        for contest in self.contests:
            contest.scorer.evict_tokens(self.max_tokens, contest.receipts)

    def learn_sent(self, mail: bytes) -> int:
        r"""Learn from a mail that was sent to whom it was written. Return the number of addresses that were new.

        A mail from one of them is then evidence, if its sender is proved by the results of the server `authserv_id`,
        and so is an answer that names the id of a mail that was sent. Addresses and ids are kept as hashes, the newest
        100,000.

        Examples
        --------
        >>> model = SpamFilter(authserv_id="mx.example.org")
        >>> model.learn_sent(b"To: ann@example.com\nMessage-ID: <1@example.org>\n\nlunch?")
        1
        >>> results = b"Authentication-Results: mx.example.org; dmarc=pass\n"
        >>> "sender:written-to" in model.bag_of(results + b"From: ann@example.com\n\nyes").tokens
        True
        """
        self._last_scored = None
        return self.correspondents.add(mail)

    def replay(self) -> None:
        """Learn all messages that have a receipt again, mixed by a hash of their ids, and calibrate on them again.

        Margin and calibration no longer depend on the order in which these messages came. Counts stay as they are, but
        those of labels held to be wrong: a message counts as far as its label is probably right.
        The filter does it itself while it is young, and in long runs of one label; see `learn_one`. Call it after
        training from folders, as `stream-bayes spam train` does: mail that came before or after them is no drift then.

        It calibrates on the scores that the messages would have now if they had not been learned: the scores that
        they had when they came are those of a filter that had learned less.
        """
        for contest in self.contests:
            contest.replay()

    def id_of(self, x: MessageOrBag) -> str:
        """Return the id of a message learned without one: its SHA-256."""
        if isinstance(x, (bytes, str)):
            return digest_of(x)
        return digest_of(x.tokens if isinstance(x, FilterBag) else without_borders(checked_bag(x))[0])

    def correct(self, id: str, label: Hashable) -> None:
        """Change the label of a message. Repeating a correction changes nothing.

        Raises
        ------
        NotLearned
            If there is no receipt for this id.
        """
        self._check_receipt(id)
        self._correct(id, self._class_number(label))

    def _correct(self, key: str, number: int) -> None:
        for contest, side in zip(self.contests, self._sides(number), strict=True):
            contest.correct(key, side)

    def forget(self, id: str) -> None:
        """Take back all that a message added to counts and margins; delete its id, and tokens that no other holds.

        Raises
        ------
        NotLearned
            If there is no receipt for this id.
        """
        self._check_receipt(id)
        if self._last_scored is not None and self.id_of(self._last_scored.message) == id:
            self._last_scored = None
        for contest in self.contests:
            contest.forget(id)

    def label_of(self, id: str) -> Hashable | None:
        """Return the present class of a message; None if there is no receipt for this id."""
        if id not in self.unwanted_contest.receipts.by_id:
            return None
        sides = [contest.receipts.by_id[id].label for contest in self.contests]
        return self.classes[sides.index(1, 1) if len(sides) > 1 and sides[0] else sides[0]]

    def _check_receipt(self, key: str) -> None:
        if key not in self.unwanted_contest.receipts.by_id:
            raise NotLearned(
                f"there is no receipt for the id {key!r}; the filter holds those of the last {self.max_receipts} "
                "messages: learn the message with the right label instead"
            )

    # -- predicting ---------------------------------------------------------------------------------------------------

    def score_one(self, x: MessageOrBag) -> float:
        """Return a score to rank by, above 0 for spam. It neither saturates nor grows with length."""
        return self._score(x).score.score

    def predict_proba_one(self, x: MessageOrBag, **kwargs: Any) -> dict[Any, float]:  # type: ignore[override]  # a message is one value
        """Return the probability of each class; empty before anything was learned."""
        first = self.unwanted_contest
        if not first.scorer.is_trained:
            return {}
        scored = self._score(x)
        odds = first.message_odds(scored.score.score, scored.tokens)
        if not scored.tokens or (odds < 0.0 and self._is_doubtful(scored)):
            odds = 0.0
        wanted, *unwanted = self.classes
        share = logistic(odds)
        return {wanted: logistic(-odds)} | {
            name: share * kind for name, kind in zip(unwanted, self._kinds(scored), strict=True)
        }

    def _kinds(self, scored: _Scored) -> list[float]:
        """Return the probability of each unwanted class, if a message is of one of them."""
        if len(self.contests) == 1:
            return [1.0]
        alone = [
            logistic(contest.message_odds(score.score, scored.tokens))
            for contest, score in zip(self.contests[1:], scored.scores[1:], strict=True)
        ]
        return [each / sum(alone) for each in alone]

    def _is_doubtful(self, scored: _Scored) -> bool:
        """Return True for a message that was not read whole, that has a passage as of an unwanted one, or that plays a
        trick with letters which no wanted message learned so far has.

        What is not read is no evidence for the wanted label. Nor are words of ham around a spam, whether in front of
        it, behind it, in its headers or in another part.
        """
        if not self._unread.isdisjoint(scored.bag):
            return True
        first = self.unwanted_contest
        tricks = dict.fromkeys(self._tricks & scored.bag.keys(), 1)
        if tricks and not first.scorer.are_in_wanted(tricks):
            return True
        borders = np.array(scored.borders, np.int32)
        passage = first.scorer.passage_score(scored.score, borders, scored.bag)
        return first.log_odds(passage) >= PASSAGE_ODDS

    def predict_one(self, x: MessageOrBag, **kwargs: Any) -> Any:  # type: ignore[override]  # a message is one value
        """Return the most probable class; None before anything was learned."""
        probabilities = self.predict_proba_one(x)
        return max(probabilities, key=probabilities.__getitem__) if probabilities else None

    def verdict_one(self, x: MessageOrBag) -> Any:
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
        if isinstance(costs, Costs) and not set(self.classes) <= set(costs.labels):
            raise BadLabel(f"the costs are of {list(costs.labels)}, the classes {list(self.classes)}")
        self.costs = costs
        self._rule: Rule = costs_of(self.classes) if costs is None else costs

    @property
    def rule(self) -> Rule:
        """The rule that turns probabilities into a verdict."""
        return self._rule

    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        """Return the verdict for probabilities that the filter gives now.

        Before 20 messages of each class were learned, every message is "unsure". If the costs allow "unsure", so is
        one that would be the wanted class, while more than 8 % of recent unwanted messages had such a low score. At
        even odds, as of a doubtful message, the wanted class is the last choice but an unwanted one.
        """
        if min(self.learned) < MIN_LEARNED:
            return self._unsure
        decided = self.rule.decide(probabilities)
        wanted, *unwanted = self.classes
        if decided == wanted and math.isclose(probabilities[wanted], 0.5):
            tilted = self.rule.decide(
                {
                    name: chance * (1.0 - TILT if name == wanted else 1.0 + TILT)
                    for name, chance in probabilities.items()
                }
            )
            if tilted not in self.classes:
                return tilted
        if decided == wanted and self._unsure_is_allowed:
            lowest = self.unwanted_contest.calibration.low_score(MAX_MISSED)
            if lowest is not None:
                bound = logistic(self.unwanted_contest.log_odds(lowest))
                return self._unsure if sum(probabilities[name] for name in unwanted) >= bound else decided
        return decided

    @property
    def _unsure(self) -> Any:
        """The decision for a message that a person must check."""
        rule = self.rule
        others = (
            [name for name in rule.decisions if name not in self.classes] if isinstance(rule, Costs) else []
        )
        return others[0] if others else neither_of(self.classes)

    @property
    def _unsure_is_allowed(self) -> bool:
        return isinstance(self.rule, Costs) and any(name not in self.classes for name in self.rule.decisions)

    @property
    def learned(self) -> tuple[int, ...]:
        """The number of messages of each class behind a verdict, those of a user's site too."""
        return self._by_class([contest.learned for contest in self.contests])

    def explain_one(self, x: MessageOrBag) -> SpamExplanation:
        """Return the tokens that decided, in clear, with their contributions to the score.

        With more than two classes, the score is that of the most probable class against all others.
        """
        scored = self._score(x)
        proba = self.predict_proba_one(x)
        number = max(range(len(self.classes)), key=lambda each: proba.get(self.classes[each], 0.0))
        if len(self.contests) == 1:
            number, names = 0, (self.classes[0], self.classes[1])
        else:
            names = (OTHERS, self.classes[number]) if number else (self.classes[0], OTHERS)
        rows = self.contests[number].scorer.contributions(scored.bag)
        if self.token_key is not None and not isinstance(x, FilterBag):
            plain = self.tokenizer.transform_one(x) if isinstance(x, (bytes, str)) else checked_bag(x)
            clear = {_hash(token, self.token_key): token for token in plain}
            rows = [row._replace(token=clear.get(row.token, row.token)) for row in rows]
        rows.sort(key=lambda row: (-abs(row.adds), row.token))
        unwanted = sum(proba[name] for name in self.classes[1:]) if proba else 0.5
        return SpamExplanation(
            names,
            scored.scores[number].score,
            proba[self.classes[number]] if number and proba else unwanted,
            self.decide(proba),
            tuple(rows),
        )

    def recent_probabilities(self) -> list[tuple[float, bool]]:
        """Return the newest labelled messages, up to 4,000: the probability of spam that a message with the score it
        had before it was learned has now, and True for an unwanted one. To compare thresholds.

        Examples
        --------
        >>> model = SpamFilter()
        >>> for text, label in [("free pills", "spam"), ("lunch notes", "ham"), ("free offer", "spam")]:
        ...     model.learn_one(text, label)
        >>> [label for _, label in model.recent_probabilities()]
        [True]
        """
        first = self.unwanted_contest
        return [
            (logistic(first.log_odds(score)), is_unwanted)
            for score, is_unwanted in first.calibration.recent()
        ]

    # -- content ------------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """The number of messages given to learn, each once, learned or skipped."""
        return self.unwanted_contest.clock

    def ids(self) -> list[str]:
        """Return the ids of the messages that can be corrected or forgotten, oldest first."""
        return list(self.unwanted_contest.receipts)

    @property
    def replay_is_due(self) -> bool:
        """True if a replay may change verdicts: of a young filter, or after a long run of one class."""
        return any(contest.replay_is_due for contest in self.contests)

    @property
    def tokens(self) -> int:
        """The number of tokens held; 0 with a learner, which has its own."""
        scorer = self.unwanted_contest.scorer
        return len(scorer.table) if isinstance(scorer, TokenScorer) else 0

    @property
    def correctable(self) -> int:
        """The number of messages that can be corrected or forgotten."""
        return len(self.unwanted_contest.receipts)

    @property
    def messages(self) -> dict[Any, float]:
        """The number of messages learned by class; long ones count in part."""
        pairs = [contest.scorer.messages for contest in self.contests]
        return dict(zip(self.classes, self._by_class(pairs), strict=True))

    @property
    def pooled_messages(self) -> dict[Any, float]:
        """The messages behind a score by class: of a user's filter, those of the site too."""
        pairs = [contest.scorer.pooled_messages for contest in self.contests]
        return dict(zip(self.classes, self._by_class(pairs), strict=True))

    @property
    def memory_bytes(self) -> int:
        """The bytes of counts, codes, receipts and calibration, without the texts of tokens."""
        return sum(contest.memory_bytes for contest in self.contests)

    # -- counts, merging, state ---------------------------------------------------------------------------------------

    def export_counts(self) -> dict[str, Any]:
        """Return the messages by class, and by token and class, for use in another program."""
        names = (self.classes[0], self.classes[1])
        first, *others = [contest.scorer.export_counts(names) for contest in self.contests]
        if not others:
            return first
        nothing = (0.0, 0.0)
        return {
            "labels": list(self.classes),
            "messages": list(self.messages.values()),
            "tokens": {
                token: [counts[0], *(each["tokens"].get(token, nothing)[1] for each in others)]
                for token, counts in first["tokens"].items()
            },
        }

    def import_counts(self, counts: Mapping[str, Any]) -> None:
        """Add counts as `export_counts` returns them: all of them, or none."""
        if len(self.contests) == 1:
            self.unwanted_contest.scorer.import_counts(counts, (self.classes[0], self.classes[1]))
        else:
            tokens, table, totals = checked_counts(counts, self.classes)
            for number, contest in enumerate(self.contests):
                ones = [number] if number else list(range(1, len(self.classes)))
                pairs = [
                    np.stack([each.sum(-1) - (ones_of := each[..., ones].sum(-1)), ones_of], -1)
                    for each in (table, totals)
                ]
                assert isinstance(contest.scorer, TokenScorer)
                contest.scorer.add_counts(tokens, *pairs)
        self._evict_tokens()

    def add_prior(self, other: SpamFilter, weight: float = PRIOR_WEIGHT) -> Self:
        """Begin with what another filter has learned, such as a base of `stream-bayes spam export base.zip`.

        Its counts are scaled to `weight` messages of each class, so that a filter's own mail soon weighs more, and its
        margins halved. Its second opinion is left out: that of this filter learns from own mail alone. What a prior
        stands for is evidence, but no verdict depends on it alone: every message is "unsure" before 20 of each class
        were learned here. The filter takes the salt of the other one.

        Parameters
        ----------
        other
            The filter; it stays unchanged.
        weight
            The messages of each class that it counts as, if it has more.

        Raises
        ------
        CannotMerge
            If this filter has learned something, or the two differ in classes, pairs or key.
        NotSupported
            If one of them has a learner.

        Examples
        --------
        >>> base, model = SpamFilter(), SpamFilter()
        >>> for text, label in [("free pills", "spam"), ("lunch notes", "ham")]:
        ...     base.learn_one(text, label)
        >>> model.add_prior(base).score_one("free lunch, free pills") > 0
        True
        >>> model.learned
        (0, 0)
        """
        check_number("weight", weight, above=True)
        if self.unwanted_contest.scorer.is_trained or self.correctable or len(self.correspondents):
            raise CannotMerge(
                "a prior is what a filter begins with, and this one has learned something already"
            )
        for name in ("classes", "key", "pairs"):
            if getattr(self, name) != getattr(other, name):
                raise CannotMerge(f"the filters differ in {name}")
        for contest, theirs in zip(self.contests, other.contests, strict=True):
            scorer, source = contest.scorer, theirs.scorer
            if not (isinstance(scorer, TokenScorer) and isinstance(source, TokenScorer)):
                raise NotSupported("a filter with a learner takes no prior, and is none")
            source.close_gaps(theirs.receipts)
            scorer.add_prior(source, weight)
        self.salt = other.salt
        self._begin_tokens()
        self._last_scored = None
        return self

    @property
    def prior_messages(self) -> dict[Any, float]:
        """The messages by class that a prior stands for."""
        pairs = [contest.scorer.prior_messages for contest in self.contests]
        return dict(zip(self.classes, self._by_class(pairs), strict=True))

    def merge(self, other: Self) -> Self:
        """Add what another filter of the same settings has learned: counts, margins and receipts.

        The other filter stays as it is. The calibration stays this filter's own, as it belongs to the scores given
        here; that of a young filter is made anew.
        """
        for name in ("classes", "influence", "key", "salt", "pairs", "limits", "authserv_id"):
            if getattr(self, name) != getattr(other, name):
                raise CannotMerge(f"the filters differ in {name}")
        if type(self.learner) is not type(other.learner):
            raise CannotMerge("the filters differ in learner")
        if self.has_second_opinion != other.has_second_opinion:
            raise CannotMerge("the filters differ in second_opinion")
        if any(self.prior_messages.values()) and any(other.prior_messages.values()):
            raise CannotMerge("both filters begin with a base, which would count twice")
        shared = self.unwanted_contest.receipts.by_id.keys() & other.unwanted_contest.receipts.by_id.keys()
        if shared:
            raise CannotMerge(f"both filters learned the message {min(shared)!r}: forget it in one of them")
        for contest, theirs in zip(self.contests, other.contests, strict=True):
            theirs.scorer.close_gaps(theirs.receipts)
            contest.scorer.merge(theirs.scorer, contest.receipts, theirs.receipts.by_id)
        self.correspondents.merge(other.correspondents)
        self._drop_receipts()
        self._evict_tokens()
        for contest in self.contests:
            contest.replay_if_young()
        return self

    def settings(self) -> dict[str, Any]:
        """Return the arguments without the key, as JSON. Filters with equal ones can load each other's states."""
        return save_settings(self.arguments())

    def state(self) -> dict[str, Any]:
        """Return the whole filter without its key: JSON values, and arrays under "arrays"."""
        return save_state(self.arguments(), self.contests, self.correspondents, self.token_ages)

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
        return load_state(
            cls, lambda model: (model.contests, model.correspondents, model.token_ages), state, key
        )

    def arguments(self) -> dict[str, Any]:
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
        yield {"classes": (False, True)}
        yield {"classes": (False, True), "train": "near-errors", "learner": BernoulliNB()}


def _hashed(bag: Bag, key: bytes) -> Bag:
    hashed: Bag = {}
    for token, count in bag.items():
        name = _hash(token, key)
        hashed[name] = hashed.get(name, 0) + count
    return hashed


def _hash(token: str, key: bytes) -> str:
    return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=9, key=key).hexdigest()


def _days(name: str, text: str) -> float:
    """Return the seconds of a duration of at least a day."""
    seconds = seconds_of(name, text) if isinstance(text, str) else 0.0
    if seconds < DAY:
        raise BadValue(
            f"{name}: expected a duration of at least a day, such as '180d', or None; got {text!r}"
        )
    return seconds
