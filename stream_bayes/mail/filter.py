"""The spam filter: messages in, verdicts out, one message at a time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.errors import BadLabel, BadValue, CannotMerge, NotLearned
from stream_bayes.learners.arguments import check_choice, check_count
from stream_bayes.learners.decision import Costs, Rule
from stream_bayes.mail.calibrating import Calibration
from stream_bayes.mail.email_tokens import EmailTokens
from stream_bayes.mail.evidence import Reading, Receipt, TokenEvidence
from stream_bayes.mail.filter_state import load_state, saved_state
from stream_bayes.mail.journal import Journal, digest_of
from stream_bayes.mail.limits import Limits
from stream_bayes.mail.spam_explanation import SpamExplanation, TokenSays
from stream_bayes.mail.tokens import Bag

__all__ = ["SpamFilter"]

Message = bytes | str | Mapping[str, int]

TRAINING = ("everything", "near-errors", "errors")

# The margin of log-odds within which "near-errors" learns: it widens with each error, and narrows with each message.
MARGIN, LEAST_MARGIN, MOST_MARGIN = 3.0, 1.0, 10.0
WIDENED, NARROWED = 1.15, 0.999

# A lost ham costs as much as 30 spams in the inbox, a message to look at half as much: spam is what is 98.3 % certain.
FALSE_POSITIVE, UNSURE = 30.0, 0.5

KEPT = 0.75  # of the tokens, when there are too many
PATIENCE = 1_000  # messages that a token may be silent longer for being in twice as many messages


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
        if not isinstance(labels, tuple) or len(labels) != 2 or labels[0] == labels[1]:
            raise BadLabel(f"labels must be two different ones, (wanted, unwanted); got {labels!r}")
        check_choice("train", train, TRAINING)
        for name in ("max_tokens", "influence", "journal"):
            check_count(name, getattr(self, name))
        if key is not None and (not isinstance(key, bytes) or not 16 <= len(key) <= 64):
            raise BadValue("key must be 16 to 64 bytes, or None")
        self._tokens = EmailTokens(parser=parser, pairs=pairs, limits=limits)
        self._rule: Rule = self._default_rule() if costs is None else costs
        self._evidence = TokenEvidence(influence)
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
            bag = _checked_bag(message)
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
        for place, known in enumerate(self.labels):
            if label == known and type(label) is type(known):
                return place
        raise BadLabel(f"the labels are {self.labels[0]!r} and {self.labels[1]!r}; got {label!r}")

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: Message, y: Hashable, id: str | None = None) -> None:  # type: ignore[override]  # noqa: A002
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
        self._calibration.add(reading.score, label)
        receipt = (self._evidence.learn if learned else self._evidence.passed)(bag, reading, label)
        self._journal.put(key, receipt)
        if len(self._evidence.table) > self.max_tokens:
            self._drop_old_tokens()

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
        return digest_of(x if isinstance(x, (bytes, str)) else _checked_bag(x))

    def correct(self, id: str, label: Hashable) -> None:  # noqa: A002
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

    def forget(self, id: str) -> None:  # noqa: A002
        """Take back all that a message added to counts and margins, its tokens and its id with it."""
        receipt = self._known(id)
        self._evidence.unlearn(receipt)
        self._journal.pop(id)
        if self._last is not None and self.id_of(self._last[0]) == id:
            self._last = None
        held: NDArray[np.bool_] = np.asarray(self._evidence.counts().any(axis=1))
        # The tokens of messages that taught nothing may still be wanted, to correct those.
        for other in self._journal.receipts.values():
            held[other.codes[other.codes >= 0]] = True
        if not held.all():
            self._journal.move(self._evidence.drop(held))

    def label_of(self, id: str) -> Hashable | None:  # noqa: A002
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

    def _drop_old_tokens(self) -> None:
        """Let the tokens go that were longest unseen; one in many messages may be silent for longer."""
        evidence = self._evidence
        messages = evidence.counts().sum(axis=1) / 1024.0
        rank = np.asarray(evidence.table.seen)[: len(evidence.table)] + PATIENCE * np.log2(1.0 + messages)
        keep = int(self.max_tokens * KEPT)
        order = np.argsort(-rank, kind="stable")
        kept = np.zeros(len(rank), bool)
        kept[order[:keep]] = True
        self._journal.move(evidence.drop(kept))

    # -- predicting ---------------------------------------------------------------------------------------------------

    def score_one(self, x: Message) -> float:
        """How spammy a message is, above 0 for spam: to rank by. It neither saturates nor grows with length."""
        return self._read(x)[1].score

    def predict_proba_one(self, x: Message, **kwargs: Any) -> dict[Any, float]:  # type: ignore[override]
        """The probability of both labels; empty before anything was learned."""
        if not self._evidence.clock:
            return {}
        odds = self._calibration.log_odds(self.score_one(x))
        wanted, unwanted = self.labels
        return {wanted: _logistic(-odds), unwanted: _logistic(odds)}

    def predict_one(self, x: Message, **kwargs: Any) -> Any:  # type: ignore[override]
        """The more probable label; None before anything was learned."""
        answer = self.predict_proba_one(x)
        if not answer:
            return None
        wanted, unwanted = self.labels
        return unwanted if answer[unwanted] > answer[wanted] else wanted

    def verdict_one(self, x: Message) -> Any:
        """What to do: the decision that costs the least, which may be not to decide; None before any learning."""
        return self._rule.decide(self.predict_proba_one(x))

    def explain_one(self, x: Message) -> SpamExplanation:
        """The tokens that decided, and how much each of them said."""
        bag, reading = self._read(x)
        parts = self._evidence.parts(bag)
        counts, codes = self._evidence.counts(), self._evidence.table.vocabulary
        rows = []
        for token, adds in parts.items():
            first, second = (counts[codes.find(token)] / 1024.0).tolist()
            rows.append(TokenSays(token, adds, first, second))
        rows.sort(key=lambda row: (-abs(row.adds), row.token))
        proba = self.predict_proba_one(x)
        return SpamExplanation(
            self.labels,
            reading.score,
            proba.get(self.labels[1], 0.5),
            self._rule.decide(proba),
            tuple(rows),
        )

    # -- counts in and out, merging, keeping --------------------------------------------------------------------------

    @property
    def messages(self) -> dict[Any, float]:
        """How many messages of each label are counted; long ones count in part."""
        return dict(zip(self.labels, self._evidence.messages, strict=True))

    def export_counts(self) -> dict[str, Any]:
        """Messages by label, and by token and label: all that another program needs to go on from."""
        evidence = self._evidence
        held = evidence.counts() / 1024.0
        tokens = zip(evidence.table.vocabulary.values, held.tolist(), strict=True)
        return {
            "labels": list(self.labels),
            "messages": list(evidence.messages),
            "tokens": {token: counts for token, counts in tokens if any(counts)},
        }

    def import_counts(self, counts: Mapping[str, Any]) -> None:
        """Add counts, as `export_counts` gives them, to those that are here: all of them, or none."""
        labels, messages = list(counts["labels"]), [float(number) for number in counts["messages"]]
        if sorted(map(repr, labels)) != sorted(map(repr, self.labels)):
            raise CannotMerge(f"the counts are of {labels!r}, the filter is of {list(self.labels)!r}")
        order = [labels.index(label) for label in self.labels]
        tokens = list(counts["tokens"])
        table = np.array([counts["tokens"][token] for token in tokens], float).reshape(len(tokens), 2)[
            :, order
        ]
        totals = np.array(messages)[order]
        whole = np.vstack([table, totals])
        if not all(type(token) is str for token in tokens) or not (np.isfinite(whole) & (whole >= 0)).all():
            raise BadValue(
                "imported counts must be finite numbers of at least 0 by token: {token: [ham, spam]}"
            )
        if (table > totals).any():
            raise BadValue("an imported token is in more messages than there are")
        zeros = np.zeros(len(tokens), np.int64)
        self._evidence.absorb(tokens, np.rint(table * 1024).astype(np.int64), zeros, np.rint(totals * 1024))
        if len(self._evidence.table) > self.max_tokens:
            self._drop_old_tokens()

    def merge(self, other: Self) -> Self:
        """Add what another filter of the same settings has learned: counts, margins and journal; it stays as it is.

        Calibration stays this filter's own: it belongs to the scores that were given here.
        """
        for name in ("labels", "influence", "key", "pairs", "limits"):
            if getattr(self, name) != getattr(other, name):
                raise CannotMerge(f"the filters differ in {name}")
        shared = self._journal.receipts.keys() & other._journal.receipts.keys()
        if shared:
            raise CannotMerge(f"both filters learned the message {min(shared)!r}: forget it in one of them")
        theirs = other._evidence
        size = len(theirs.table)
        codes = self._evidence.absorb(
            list(theirs.table.vocabulary.values),
            theirs.counts(),
            np.asarray(theirs.table.margin)[:size],
            np.array([theirs.table.first, theirs.table.second]),
        )
        self._evidence.clock += theirs.clock
        self._evidence.lengths += theirs.lengths
        for key, receipt in other._journal.receipts.items():
            self._journal.put(key, receipt.moved(codes))
        if len(self._evidence.table) > self.max_tokens:
            self._drop_old_tokens()
        return self

    @property
    def memory_bytes(self) -> int:
        """The bytes of counts, codes, journal and calibration; the texts of the tokens are not counted."""
        return self._evidence.memory_bytes + self._journal.memory_bytes + self._calibration.memory_bytes

    def state(self) -> dict[str, Any]:
        """Everything the filter is, but for its key: JSON values, and arrays under "arrays"."""
        return saved_state(self)

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


def _unsure(labels: tuple[Hashable, Hashable]) -> Hashable:
    return "unsure" if "unsure" not in labels else ("unsure", "neither")


def _checked_bag(message: Any) -> Bag:
    """A bag that was given, without what counts nothing."""
    if not isinstance(message, Mapping):
        raise BadValue(f"a message is bytes, text or a bag of tokens; got {type(message).__name__}")
    for token, count in message.items():
        number = isinstance(count, (int, float)) and not isinstance(count, bool)
        if type(token) is not str or not number or not 0 <= count < math.inf:
            raise BadValue(
                f"a bag holds {{token: count}}, texts and numbers of at least 0; got {token!r}: {count!r}"
            )
    return {token: count for token, count in message.items() if count > 0}


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))
