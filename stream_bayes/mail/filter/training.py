"""The choice of messages to learn."""

from __future__ import annotations

from stream_bayes.learners.base.arguments import check_choice
from stream_bayes.mail.filter.calibration import ScoreCurve

__all__ = ["TRAINING", "Training"]

TRAINING = ("everything", "near-errors")

# The margin of log-odds within which "near-errors" learns: each error widens it, and each other message narrows it.
MARGIN, MIN_MARGIN, MAX_MARGIN = 3.0, 1.0, 10.0
WIDENING, NARROWING = 1.15, 0.999


class Training:
    """Selects the messages to learn: all, or those classified wrong or nearly wrong. `kind` is one of `TRAINING`."""

    def __init__(self, kind: str) -> None:
        check_choice("train", kind, TRAINING)
        self.kind = kind
        self.margin = MARGIN

    def select(self, score: float, label: int, calibration: ScoreCurve) -> tuple[bool, float]:
        """Return True if a message is to be learned, and the margin after it. `score` is that before learning; `label`
        is 0 or 1. `calibration` turns the score into log-odds.
        """
        if self.kind == "everything":
            return True, self.margin
        log_odds = calibration.log_odds(score)
        right = log_odds if label else -log_odds
        adapted = self.margin * (WIDENING if right <= 0.0 else NARROWING)
        return right <= self.margin, min(max(adapted, MIN_MARGIN), MAX_MARGIN)
