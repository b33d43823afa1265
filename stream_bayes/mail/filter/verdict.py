"""Verdicts on mail: a class of the filter or unsure, by the least expected cost; unsure before enough was learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from stream_bayes.mail.filter.filter import MIN_LEARNED, SpamFilter
from stream_bayes.mail.filter.messages import FilterBag
from stream_bayes.mail.filter.profiles import side_of, spam_threshold

__all__ = ["Judgement", "class_names", "judge"]

MAX_LOG_ODDS: Final = 99.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The filter's judgement of a mail."""

    verdict: str  # "ham", "spam", "unsure", or the name of a further class
    probability: float  # of all classes but ham
    score: float  # above 0 for spam; to rank by
    id: str  # of the mail, signed if the home has a key
    threshold: float  # the least probability of spam
    note: str = ""  # why every mail is unsure yet; empty otherwise
    side: str = ""  # "ham", "spam" or "unsure": the verdict where there are no other answers

    @property
    def is_spam(self) -> bool:
        """True if the mail is spam where there are no other classes."""
        return self.side == "spam"

    @property
    def log_odds(self) -> float:
        """The log-odds of spam: above `log_odds_threshold` if the verdict is spam."""
        return _log_odds(self.probability)

    @property
    def log_odds_threshold(self) -> float:
        """The log-odds from which a mail is spam."""
        return _log_odds(self.threshold)

    def texts(self) -> tuple[str, ...]:
        """Return verdict, probability, score and id as text, and notes: what a further class is as ham or spam, and
        why every mail is unsure yet.
        """
        fixed = (self.verdict, f"{self.probability:.6f}", f"{self.score:.4f}", self.id)
        notes = (f"as={self.side}" if self.side != self.verdict else "", self.note)
        return (*fixed, *(note for note in notes if note))


def class_names(model: SpamFilter) -> tuple[str, ...]:
    """Return the names of a filter's classes in mail systems: "ham", "spam", and those of the further ones."""
    return ("ham", "spam", *map(str, model.classes[2:]))


def judge(model: SpamFilter, bag: FilterBag, name: str) -> Judgement:
    """Return the judgement of a mail. `bag` has the mail's tokens, of `model.bag_of`; `name` is its id."""
    unwanted = model.classes[1:]
    names = class_names(model)
    answer = model.predict_proba_one(bag)
    decided = model.decide(answer)
    verdict = dict(zip(model.classes, names, strict=True)).get(decided, "unsure")
    note = ""
    if min(model.learned) < MIN_LEARNED:
        counts = "-".join(f"{count}-{each}" for count, each in zip(model.learned, names, strict=True))
        note = f"learned={counts}-of-{MIN_LEARNED}-each"
    kinds = {kind: answer.get(kind, 0.0) for kind in unwanted}
    threshold = spam_threshold(model.rule, model.classes, kinds)
    return Judgement(
        verdict,
        sum(kinds.values()) if answer else 0.5,
        model.score_one(bag),
        name,
        (0.5 if len(unwanted) == 1 else 1.0) if threshold is None else threshold,
        note,
        side_of(decided, model.classes, model.rule),
    )


def _log_odds(probability: float) -> float:
    if probability <= 0.0 or probability >= 1.0:
        return -MAX_LOG_ODDS if probability <= 0.0 else MAX_LOG_ODDS
    return min(max(math.log(probability / (1.0 - probability)), -MAX_LOG_ODDS), MAX_LOG_ODDS)
