"""Judging, learning, correcting and forgetting mails, for the servers of all protocols and for the command line."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from stream_bayes.errors import BadValue, NotLearned, StreamBayesError
from stream_bayes.learners.decision_rules import Costs
from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import FilterBag
from stream_bayes.streams.mail.change_journal import Change
from stream_bayes.streams.mail.home import OpenFilter, SpamHome
from stream_bayes.streams.mail.identity import SIGNED, id_of_mail
from stream_bayes.streams.mail.judged_mails import DAYS, MAX_BYTES, JudgedMails
from stream_bayes_start import without_own_fields

__all__ = ["MIN_LEARNED", "FilterService", "Judgement", "judge"]

logger = logging.getLogger(__name__)

MIN_LEARNED: Final = 20  # messages of each label, before a mail is called spam
MIN_PREFIX: Final = 8  # characters of an id that may stand for all
FORGET_SECONDS: Final = 60.0  # until a forgotten mail is in no file any more
MAX_LOG_ODDS: Final = 99.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The filter's judgement of a mail.

    Parameters
    ----------
    verdict
        `"spam"`, `"ham"` or `"unsure"`.
    probability
        Of spam.
    score
        Above 0 for spam; to rank by.
    id
        Of the mail, signed if the home has a key.
    threshold
        The least probability of spam.
    note
        Why no mail is called spam yet; empty otherwise.
    """

    verdict: str
    probability: float
    score: float
    id: str
    threshold: float
    note: str = ""

    @property
    def log_odds(self) -> float:
        """The log-odds of spam: above `log_odds_threshold` if the verdict is spam."""
        return _log_odds(self.probability)

    @property
    def log_odds_threshold(self) -> float:
        """The log-odds from which a mail is spam."""
        return _log_odds(self.threshold)

    def texts(self) -> tuple[str, ...]:
        """Return verdict, probability, score and id as text, and the note if there is one."""
        fixed = (self.verdict, f"{self.probability:.6f}", f"{self.score:.4f}", self.id)
        return (*fixed, self.note) if self.note else fixed


def judge(model: SpamFilter, bag: FilterBag, name: str) -> Judgement:
    """Return the judgement of a mail.

    Parameters
    ----------
    model
        The filter.
    bag
        The mail's tokens, of `model.bag_of`.
    name
        The mail's id.
    """
    wanted, unwanted = model.labels
    answer = model.predict_proba_one(bag)
    decided = model.decide(answer)
    verdict = "spam" if decided == unwanted else "ham" if answer and decided == wanted else "unsure"
    learned = [round(model.messages[label]) for label in model.labels]
    note = ""
    if min(learned) < MIN_LEARNED:
        note = f"learned={learned[0]}-ham-{learned[1]}-spam-of-{MIN_LEARNED}-each"
        verdict = "unsure" if verdict == "spam" else verdict
    band = model.rule.band(unwanted, unwanted) if isinstance(model.rule, Costs) else None
    threshold = 0.5 if band is None else band[0]
    return Judgement(verdict, answer.get(unwanted, 0.5), model.score_one(bag), name, threshold, note)


class FilterService:
    """A filter that judges and learns for many threads at once. Changes are durable when their method returns.

    Tokens of mails that were only judged are held for a while, so that a correction needs no more than the id.

    Parameters
    ----------
    home
        The filter's directory. A filter must be there.
    max_bytes, days
        The bounds of the tokens held; see `JudgedMails`.

    Raises
    ------
    StreamBayesError
        If there is no filter, or it cannot be read.
    """

    def __init__(self, home: SpamHome, max_bytes: int = MAX_BYTES, days: float = DAYS) -> None:
        self.home = home
        self.judged = 0
        self.changed = 0
        self._opened = OpenFilter(home)
        self._held = JudgedMails(home.directory, max_bytes, days, home.files)
        self._key = home.id_key()
        self._turn = threading.RLock()
        self._folding: threading.Thread | None = None
        self._forgot_at: float | None = None

    # -- judging ------------------------------------------------------------------------------------------------------

    def judge(self, raw: bytes) -> Judgement:
        """Judge a mail. Headers of its own in it do not count."""
        raw = without_own_fields(raw)
        name = id_of_mail(raw)
        model, bag = (
            self._opened.model,
            self._opened.model.bag_of(raw),
        )  # most of the work: no mail waits for another's
        with self._turn:
            self._opened.catch_up()
            bag = self._present_bag(model, bag, raw)
            found = judge(self._opened.model, bag, self._signed(name))
            if self._opened.model.label_of(name) is None:
                self._hold(name, bag)
            self.judged += 1
        return found

    def explain(self, raw: bytes) -> SpamExplanation:
        """Return the tokens that decide a mail's verdict."""
        raw = without_own_fields(raw)
        with self._turn:
            self._opened.catch_up()
            return self._opened.model.explain_one(raw)

    def _present_bag(self, model: SpamFilter, bag: FilterBag, raw: bytes) -> FilterBag:
        """Return the tokens as the present model reads them: another process may have replaced it."""
        present = self._opened.model
        return bag if _tokenizer(present) == _tokenizer(model) else present.bag_of(raw)

    def _hold(self, name: str, bag: FilterBag) -> None:
        try:
            self._held.put(name, bag.tokens)
        except OSError as error:  # a verdict must not fail because the disk is full
            logger.warning("the tokens of a judged mail are not held: %s", error)

    def _signed(self, name: str) -> str:
        return name if self._key is None else self._key.signed(name)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, raw: bytes, label: str) -> str:
        """Learn a mail, or correct it if it was learned under the other label.

        A mail that went through the filter is found by the signed id in its header, whatever delivery changed, and is
        learned with the tokens that it was judged by. Return "learned", "corrected" or "unchanged".
        """
        plain = without_own_fields(raw)
        names = list(dict.fromkeys([*self._named(raw), id_of_mail(plain)]))
        model, bag = self._opened.model, self._opened.model.bag_of(plain)
        with self._turn:
            self._opened.catch_up()
            bag = self._present_bag(model, bag, plain)
            known = self._opened.model.label_of
            learned = [name for name in names if known(name) is not None]
            if learned:
                # One mail in two forms, each learned before: it must not count twice, nor as both labels.
                changes = [Change("forget", name) for name in learned[1:]]
                before = known(learned[0])
                if before != label:
                    changes.append(Change("correct", learned[0], label))
                if changes:
                    self._change(changes)
                return "unchanged" if before == label else "corrected"
            held = next((tokens for name in names if (tokens := self._held.get(name)) is not None), None)
            self._change([Change("learn", names[0], label, bag.tokens if held is None else held)])
            return "learned"

    def _named(self, raw: bytes) -> list[str]:
        """Return the id in the header of a mail that this filter wrote, if any."""
        found = None if self._key is None else self._key.id_in(raw)
        return [] if found is None else [found]

    def correct(self, given: str, label: str) -> str:
        """Set the label of a mail by its id, learned or only judged. Return as `learn` does.

        Raises
        ------
        NotLearned
            If neither is known of this id.
        """
        with self._turn:
            self._opened.catch_up()
            name = self._whole_id(given)
            before = self._opened.model.label_of(name)
            if before == label:
                return "unchanged"
            if before is not None:
                self._change([Change("correct", name, label)])
                return "corrected"
            self._change([Change("learn", name, label, self._held.get(name) or {})])
            return "learned"

    def forget(self, given: str) -> None:
        """Remove everything that a mail added, and its tokens if it was only judged.

        Raises
        ------
        NotLearned
            If the mail was neither learned nor judged lately.
        """
        with self._turn:
            self._opened.catch_up()
            name = self._whole_id(given)
            if self._opened.model.label_of(name) is not None:
                self._change([Change("forget", name)])
            self._held.remove(name)

    def forget_mail(self, raw: bytes) -> None:
        """Remove everything that a mail added, by its header's id or its content. Raises as `forget` does."""
        plain = without_own_fields(raw)
        names = [*self._named(raw), id_of_mail(plain)]
        with self._turn:
            self._opened.catch_up()
            known = [name for name in names if self._opened.model.label_of(name) is not None]
            self.forget(known[0] if known else names[0])

    def _change(self, changes: list[Change]) -> None:
        self._opened.change(changes)
        self.changed += 1

    def _whole_id(self, given: str) -> str:
        """Return the only id that is meant: a whole one, a signed one, or the first characters of one."""
        signed = SIGNED.fullmatch(given)
        if signed is not None:
            given = signed[1]
        known = [*self._opened.model.ids(), *self._held.ids()]
        found = [given] if given in known else []
        if not found and len(given) >= MIN_PREFIX:
            found = list(dict.fromkeys(key for key in known if key.startswith(given)))
        if len(found) > 1:
            raise BadValue(f"{len(found)} ids begin with {given!r}")
        if not found:
            raise NotLearned(
                f"no message with the id {given!r} can be corrected or forgotten: it was never learned or judged by "
                "the server, or too long ago; pass the message itself, with --mail"
            )
        return found[0]

    # -- folding ------------------------------------------------------------------------------------------------------

    def tend(self) -> None:
        """Fold a long journal into the snapshot, in a thread. Call this from time to time."""
        if not self._opened.holds_forgotten:
            self._forgot_at = None
        elif self._forgot_at is None:
            self._forgot_at = time.monotonic()
        late = self._forgot_at is not None and time.monotonic() - self._forgot_at > FORGET_SECONDS
        if (late or self._opened.fold_is_due) and (self._folding is None or not self._folding.is_alive()):
            self._folding = threading.Thread(target=self._fold, name="fold")
            self._folding.start()

    def _fold(self) -> None:
        try:
            with self._turn:
                self._opened.catch_up()
                snapshot, version = self._opened.snapshot()
            self._opened.write_folded(snapshot)
            with self._turn:
                self._opened.adopt_folded(snapshot, version)
        except (StreamBayesError, OSError) as error:
            logger.warning("the journal of changes is not folded into the snapshot yet: %s", error)

    def close(self) -> None:
        """Finish a fold. Forgotten mails leave the disk."""
        if self._folding is not None:
            self._folding.join()
        if self._opened.holds_forgotten or self._opened.fold_is_due:
            self._fold()


def _tokenizer(model: SpamFilter) -> tuple[Any, ...]:
    """Return the settings on which a mail's tokens depend."""
    return model.pairs, model.parser, model.limits, model.key


def _log_odds(probability: float) -> float:
    if probability <= 0.0 or probability >= 1.0:
        return -MAX_LOG_ODDS if probability <= 0.0 else MAX_LOG_ODDS
    return min(max(math.log(probability / (1.0 - probability)), -MAX_LOG_ODDS), MAX_LOG_ODDS)
