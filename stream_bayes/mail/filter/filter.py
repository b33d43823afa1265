"""The spam filter: messages in, verdicts out, one message at a time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, ClassVar, Self

from river import base

from stream_bayes.core.values.values import canonical_label
from stream_bayes.errors import BadLabel, BadValue, CannotMerge, NotLearned
from stream_bayes.learners.classifier.arguments import check_choice, check_count
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.costs import Costs, Rule
from stream_bayes.learners.text import BernoulliNB
from stream_bayes.mail.filter.calibration import Calibration
from stream_bayes.mail.filter.evidence import TokenEvidence
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.learner_evidence import LearnerEvidence
from stream_bayes.mail.filter.receipts import Evidence, Journal, Reading, Receipt, checked_bag, digest_of
from stream_bayes.mail.filter.state import load_state, saved_state
from stream_bayes.mail.text.email_tokens import EmailTokens
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.tokens import Bag

__all__ = ["SpamFilter"]

Message = bytes | str | Mapping[str, int]

TRAINING = ("everything", "near-errors", "errors")

# The margin of log-odds within which "near-errors" learns: it widens with each error, and narrows with each message.
MARGIN, LEAST_MARGIN, MOST_MARGIN = 3.0, 1.0, 10.0
WIDENED, NARROWED = 1.15, 0.999

# A lost ham costs as much as 30 spams in the inbox, a message to look at half as much: spam is what is 98.3 % certain.
FALSE_POSITIVE, UNSURE = 30.0, 0.5


class SpamFilter(base.Classifier):
    """Tells spam from ham, learning from every message that somebody has judged.

    A message is bytes (RFC 822, as it came), text without headers (a short message), or a bag of tokens that was made
    before, `{token: count}`. It never raises on a message's content.

    Parameters
    ----------
    labels
        What the two kinds are called: the wanted one, then the unwanted one.
    train
        What is learned of what it is taught: `"everything"`; `"errors"`, only what was judged wrong; `"near-errors"`,
        also what was nearly judged wrong, by a margin that adapts. All three calibrate on everything.
    costs
        What turns probabilities into a verdict; any rule with `decide`. None: a lost ham is 30 times as bad as a spam
        in the inbox, and a message to look at half as bad: spam is what is 98.3 % certain.
    max_tokens
        The most tokens to know. When there are more, those longest unseen go: a quarter of all.
    influence
        The most different tokens that a message may have and count fully; less where messages are short, three times
        their mean length. The influence of a longer one falls with the sixth power of its length, so that nobody
        poisons the counts with a dictionary.
    journal
        How many of the recent messages can be corrected or forgotten by their id.
    key
        16 bytes or more. With it tokens are kept as keyed hashes only, so that the filter can be shown around without
        its owner's mail; it must be given again to `from_state`, as it is no part of the state.
    pairs, parser, limits
        As in `EmailTokens`.
    learner
        A classifier of this package that scores the bags of tokens in place of the filter's own evidence, which is
        there to be compared with. It learns in place. `max_tokens` does not bound it; its own `max_values` does.

    Notes
    -----
    Counts and margins are whole numbers, so corrections are exact in any order: after `correct(id, label)` they are as
    if the message had come with that label (and the margin as if it had been pushed the other way at that moment).
    The calibration, which only ever sees the scores of messages before they are learned, is not corrected.
    Replaying the same messages gives the same bytes. Memory: about 30 bytes a token beside the token itself, 4 a
    token of a message in the journal.

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
        labels: tuple[Hashable, Hashable] = ("ham", "spam"),
        train: str = "everything",
        costs: Rule | None = None,
        max_tokens: int = 300_000,
        influence: int = 700,
        journal: int = 10_000,
        key: bytes | None = None,
        pairs: bool = False,
        parser: str = "auto",
        limits: Limits | None = None,
        learner: BayesClassifier | None = None,
    ) -> None:
        self.labels = labels
        self.train = train
        self.costs = costs
        self.max_tokens = max_tokens
        self.influence = influence
        self.journal = journal
        self.key = key
        self.pairs = pairs
        self.parser = parser
        self.limits = limits
        self.learner = learner
        if not isinstance(labels, tuple) or len(labels) != 2 or labels[0] == labels[1]:
            raise BadLabel(f"labels must be two different ones, (wanted, unwanted); got {labels!r}")
        check_choice("train", train, TRAINING)
        for name in ("max_tokens", "influence", "journal"):
            check_count(name, getattr(self, name))
        if key is not None and (not isinstance(key, bytes) or not 16 <= len(key) <= 64):
            raise BadValue("key must be 16 to 64 bytes, or None")
        self._tokens = EmailTokens(parser=parser, pairs=pairs, limits=limits)
        self.judge_by(costs)
        self._evidence: Evidence = _evidence(learner, labels, influence)
        self._calibration = Calibration()
        self._journal = Journal(journal)
        self._margin = MARGIN
        # The message read last: to be predicted and then learned, it is taken apart once. No part of the state.
        self._last: tuple[Message, Bag, Reading] | None = None

    def _default_rule(self) -> Rule:
        wanted, unwanted = self.labels
        return Costs.false_positive(
            FALSE_POSITIVE, unwanted, wanted, unsure=UNSURE, unsure_as=_unsure(self.labels)
        )

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, message: Message) -> tuple[Bag, Reading]:
        """The tokens of a message, hashed if they are to be, and what is known of it."""
        last = self._last
        if last is not None and last[0] is message:
            if last[2].version != self._evidence.version:
                self._last = last = message, last[1], self._evidence.read(last[1])
            return last[1], last[2]
        if isinstance(message, (bytes, str)):
            bag = self._tokens.transform_one(message)
        else:
            bag = checked_bag(message)
        if self.key is not None:
            bag = self._hashed(bag)
        reading = self._evidence.read(bag)
        if isinstance(message, (bytes, str)):  # what cannot change
            self._last = message, bag, reading
        return bag, reading

    def _hashed(self, bag: Bag) -> Bag:
        key = self.key or b""
        hashed: Bag = {}
        for token, count in bag.items():
            data = token.encode("utf-8", "surrogatepass")
            name = hashlib.blake2b(data, digest_size=9, key=key).hexdigest()
            hashed[name] = hashed.get(name, 0) + count
        return hashed

    def _place(self, label: Hashable) -> int:
        label = None if label is None else canonical_label(label)  # numpy's are Python's
        for place, known in enumerate(self.labels):
            if label == known and type(label) is type(known):
                return place
        raise BadLabel(f"the labels are {self.labels[0]!r} and {self.labels[1]!r}; got {label!r}")

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: Message, y: Hashable, id: str | None = None) -> None:  # type: ignore[override]  # it has an id beside
        """Learn a message, or correct it: a message that is known by its id never counts twice.

        Parameters
        ----------
        x
            The message.
        y
            Its label.
        id
            What it is known by, to correct or forget it later; its SHA-256, if not given. Never take the sender's
            Message-ID: a sender could overwrite what others have sent.
        """
        label = self._place(y)
        key = self.id_of(x) if id is None else id
        if not isinstance(key, str):
            raise BadValue(f"an id is a string; got {key!r}")
        if key in self._journal.receipts:
            self._correct(key, label)
            return
        bag, reading = self._read(x)
        learned = self.train == "everything" or self._wanted(reading.score, label)
        # What learns may refuse, a learner by its budget; until then nothing has changed.
        receipt = (self._evidence.learn if learned else self._evidence.passed)(bag, reading, label)
        self._calibration.add(reading.score, label)
        self._journal.put(key, receipt)
        self._evidence.drop_old(self.max_tokens, self._journal)

    def _wanted(self, score: float, label: int) -> bool:
        """Whether a message is to be learned, where not everything is."""
        odds = self._calibration.log_odds(score)
        right = odds if label else -odds
        if self.train == "errors":
            return right <= 0.0
        wanted = right <= self._margin
        self._margin *= WIDENED if right <= 0.0 else NARROWED
        self._margin = min(max(self._margin, LEAST_MARGIN), MOST_MARGIN)
        return wanted

    def id_of(self, x: Message) -> str:
        """What a message is known by where no id was given: its SHA-256."""
        return digest_of(x if isinstance(x, (bytes, str)) else checked_bag(x))

    def correct(self, id: str, label: Hashable) -> None:
        """Learn that a message of the journal has another label; to say so twice changes nothing.

        Raises
        ------
        NotLearned
            No message of the journal is known by this id.
        """
        self._known(id)
        self._correct(id, self._place(label))

    def _correct(self, key: str, label: int) -> None:
        receipt = self._known(key)
        if receipt.label == label:
            return
        self._evidence.unlearn(receipt)
        self._journal.receipts[key] = self._evidence.relearn(receipt, label)

    def forget(self, id: str) -> None:
        """Take back all that a message added to counts and margins, its tokens and its id with it."""
        receipt = self._known(id)
        self._evidence.unlearn(receipt)
        self._journal.pop(id)
        if self._last is not None and self.id_of(self._last[0]) == id:
            self._last = None
        self._evidence.drop_unheld(self._journal)

    def label_of(self, id: str) -> Hashable | None:
        """The label that a message of the journal has now; None if there is none of this id."""
        receipt = self._journal.get(id)
        return None if receipt is None else self.labels[receipt.label]

    def _known(self, key: str) -> Receipt:
        receipt = self._journal.get(key)
        if receipt is None:
            raise NotLearned(
                f"no message with the id {key!r} is in the journal, which holds the last {self.journal}: "
                "learn it with the right label instead"
            )
        return receipt

    # -- predicting ---------------------------------------------------------------------------------------------------

    def score_one(self, x: Message) -> float:
        """How spammy a message is, above 0 for spam: to rank by. It neither saturates nor grows with length."""
        return self._read(x)[1].score

    def predict_proba_one(self, x: Message, **kwargs: Any) -> dict[Any, float]:  # type: ignore[override]  # a message is one value
        """The probability of both labels; empty before anything was learned."""
        if not self._evidence.knows:
            return {}
        odds = self._calibration.log_odds(self.score_one(x))
        if 0.0 in self._evidence.messages:  # who knows one label only can tell nothing from it
            odds /= 1.0 + abs(odds)
        wanted, unwanted = self.labels
        return {wanted: _logistic(-odds), unwanted: _logistic(odds)}

    def predict_one(self, x: Message, **kwargs: Any) -> Any:  # type: ignore[override]  # a message is one value
        """The more probable label; None before anything was learned."""
        answer = self.predict_proba_one(x)
        if not answer:
            return None
        wanted, unwanted = self.labels
        return unwanted if answer[unwanted] > answer[wanted] else wanted

    def verdict_one(self, x: Message) -> Any:
        """What to do: the decision that costs the least, which may be not to decide; None before any learning."""
        return self.rule.decide(self.predict_proba_one(x))

    def judge_by(self, costs: Rule | None) -> None:
        """Give other verdicts from now on; what was learned stays.

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
        >>> model.judge_by(Costs.false_positive(1, "spam", "ham"))
        >>> model.verdict_one("offer")
        'spam'
        """
        self.costs = costs
        self.rule: Rule = self._default_rule() if costs is None else costs

    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        """The verdict, where the probabilities are known already."""
        return self.rule.decide(probabilities)

    def explain_one(self, x: Message) -> SpamExplanation:
        """The tokens that decided, and how much each of them said."""
        bag, reading = self._read(x)
        rows = self._evidence.told(bag)
        rows.sort(key=lambda row: (-abs(row.adds), row.token))
        proba = self.predict_proba_one(x)
        return SpamExplanation(
            self.labels,
            reading.score,
            proba.get(self.labels[1], 0.5),
            self.rule.decide(proba),
            tuple(rows),
        )

    # -- counts in and out, merging, keeping --------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """How many messages it was taught, each once, whether something was learned of them or not."""
        return self._evidence.clock

    def ids(self) -> list[str]:
        """The ids of the messages that can be corrected or forgotten, the oldest first."""
        return list(self._journal)

    @property
    def tokens(self) -> int:
        """How many tokens it knows; of a learner in its place, it does not say."""
        return len(self._evidence.table) if isinstance(self._evidence, TokenEvidence) else 0

    @property
    def known(self) -> int:
        """How many messages can be corrected or forgotten by their id."""
        return len(self._journal)

    @property
    def messages(self) -> dict[Any, float]:
        """How many messages of each label are counted; long ones count in part."""
        return dict(zip(self.labels, self._evidence.messages, strict=True))

    def export_counts(self) -> dict[str, Any]:
        """Messages by label, and by token and label: all that another program needs to go on from."""
        return self._evidence.exported(self.labels)

    def import_counts(self, counts: Mapping[str, Any]) -> None:
        """Add counts, as `export_counts` gives them, to those that are here: all of them, or none."""
        self._evidence.add_counts(counts, self.labels)
        self._evidence.drop_old(self.max_tokens, self._journal)

    def merge(self, other: Self) -> Self:
        """Add what another filter of the same settings has learned: counts, margins and journal; it stays as it is.

        Calibration stays this filter's own: it belongs to the scores that were given here.
        """
        for name in ("labels", "influence", "key", "pairs", "limits"):
            if getattr(self, name) != getattr(other, name):
                raise CannotMerge(f"the filters differ in {name}")
        if type(self.learner) is not type(other.learner):
            raise CannotMerge("the filters differ in learner")
        shared = self._journal.receipts.keys() & other._journal.receipts.keys()
        if shared:
            raise CannotMerge(f"both filters learned the message {min(shared)!r}: forget it in one of them")
        self._evidence.merge(other._evidence, self._journal, other._journal.receipts)
        self._evidence.drop_old(self.max_tokens, self._journal)
        return self

    @property
    def memory_bytes(self) -> int:
        """The bytes of counts, codes, journal and calibration; the texts of the tokens are not counted."""
        return self._evidence.memory_bytes + self._journal.memory_bytes + self._calibration.memory_bytes

    def state(self) -> dict[str, Any]:
        """Everything the filter is, but for its key: JSON values, and arrays under "arrays"."""
        return saved_state(self)

    def _unit_test_skips(self) -> set[str]:
        # Of River's checks, this one wants both labels before anything was learned, where there is no answer.
        return {"check_predict_proba_one_binary"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"labels": (False, True)}
        yield {"labels": (False, True), "train": "near-errors", "learner": BernoulliNB()}

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state(), "key": self.key}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__dict__.update(type(self).from_state(pickled["state"], pickled["key"]).__dict__)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], key: bytes | None = None) -> Self:
        """The filter that a state was taken from. Raises `BadState` for whatever is wrong with it.

        Parameters
        ----------
        state
            What `state` returned.
        key
            The key of its tokens, if they are hashed.
        """
        return load_state(cls, state, key)


def _evidence(learner: BayesClassifier | None, labels: tuple[Hashable, Hashable], influence: int) -> Evidence:
    return TokenEvidence(influence) if learner is None else LearnerEvidence(learner, labels, influence)


def _unsure(labels: tuple[Hashable, Hashable]) -> Hashable:
    return "unsure" if "unsure" not in labels else ("unsure", "neither")


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))
