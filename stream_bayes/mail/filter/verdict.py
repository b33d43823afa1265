"""Verdicts on mail: spam, ham or unsure, by the least expected cost, and unsure before enough was learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail.filter.filter import MIN_LEARNED, SpamFilter
from stream_bayes.mail.filter.messages import FilterBag

__all__ = ["Judgement", "judge"]

MAX_LOG_ODDS: Final = 99.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The filter's judgement of a mail."""

    verdict: str  # "spam", "ham" or "unsure"
    probability: float  # of spam
    score: float  # above 0 for spam; to rank by
    id: str  # of the mail, signed if the home has a key
    threshold: float  # the least probability of spam
    note: str = ""  # why every mail is unsure yet; empty otherwise

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
    """Return the judgement of a mail. `bag` has the mail's tokens, of `model.bag_of`; `name` is its id."""
    wanted, unwanted = model.labels
    answer = model.predict_proba_one(bag)
    decided = model.decide(answer)
    verdict = "spam" if decided == unwanted else "ham" if decided == wanted else "unsure"
    ham, spam = model.learned
    note = "" if min(ham, spam) >= MIN_LEARNED else f"learned={ham}-ham-{spam}-spam-of-{MIN_LEARNED}-each"
    band = model.rule.band(unwanted, unwanted) if isinstance(model.rule, Costs) else None
    threshold = 0.5 if band is None else band[0]
    return Judgement(verdict, answer.get(unwanted, 0.5), model.score_one(bag), name, threshold, note)


def _log_odds(probability: float) -> float:
    if probability <= 0.0 or probability >= 1.0:
        return -MAX_LOG_ODDS if probability <= 0.0 else MAX_LOG_ODDS
    return min(max(math.log(probability / (1.0 - probability)), -MAX_LOG_ODDS), MAX_LOG_ODDS)
