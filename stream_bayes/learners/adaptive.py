r"""Notice that the world has changed, try another model beside the present one, and swap them once it is better.

    stable --warning--> warning --drift--> trial --judged--> stable, with the better model of the two
       \________________drift_______________/

While stable, a detector is fed how wrong each answer was. A detector that warns says when the change began; of others
the signals kept say so, by the change of their mean that explains most. On a drift, if answers have become worse, a
candidate is made from the events since then. From there on both predict and learn each event. After `judge_after`
events the candidate takes over if it lost less on these beyond doubt; if not, the trial is as long again, twice, and so
on, until the candidate is refused.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base, drift

from stream_bayes.core.payloads import plain
from stream_bayes.core.values import shown
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.learners.arguments import check_choice, check_count, check_number
from stream_bayes.learners.base import BayesClassifier, X, most_probable
from stream_bayes.learners.drift_log import DriftLog, difference, edges_of
from stream_bayes.learners.half_life_choice import log_loss
from stream_bayes.learners.naive_bayes import NaiveBayes

__all__ = ["DriftAdaptive", "Trial", "since_change"]

MOST_LOSS = 5.0  # nats: a signal is a share of this, as detectors expect numbers between 0 and 1
FEWEST = 20  # events before and after a change, at least
DOUBT = 2.0  # standard errors by which a candidate is to be better
BINARY = (base.BinaryDriftDetector, base.BinaryDriftAndWarningDetector)


class Trial(NamedTuple):
    """How a candidate does: since which event it was made from what, and what it has gained over the present model."""

    begun: int  # the event after which it was made
    since: int  # the first event it has learned
    length: int  # events until it is judged
    events: int = 0  # of these, how many there were
    lost: float = 0.0  # the present model's log-loss, summed
    gain: float = 0.0  # the present model's log-loss minus the candidate's, summed
    squares: float = 0.0  # of these differences

    def with_losses(self, present: float, candidate: float) -> Trial:
        """After one more event."""
        gain = present - candidate
        return self._replace(
            events=self.events + 1,
            lost=self.lost + present,
            gain=self.gain + gain,
            squares=self.squares + gain * gain,
        )

    @property
    def score(self) -> dict[str, float]:
        """The mean log-loss of the present model and of the candidate."""
        events = max(self.events, 1)
        return {"before": self.lost / events, "after": (self.lost - self.gain) / events}

    def is_better(self, margin: float) -> bool:
        """Whether the candidate's mean gain is above a margin, and not by chance."""
        mean = self.gain / self.events
        variance = max(self.squares / self.events - mean * mean, 0.0)
        return mean - margin > DOUBT * math.sqrt(variance / self.events)


class DriftAdaptive(base.Classifier):
    """A learner that is replaced by a better one when the world changes.

    Parameters
    ----------
    learner
        A learner of this package, as it is to be made; it learns nothing itself.
    detector
        One of River's drift detectors; None: `ADWIN()`. It is cloned.
    signal
        What the detector is fed: `"log-loss"` of each answer, as a share of 5 nats, or `"error"`, 1 for a wrong answer
        and 0 for a right one. Detectors of binary signals take errors only.
    policy
        What the candidate is: `"both"` a new learner of the events since the change alone, counts and structure;
        `"search"` a copy of the present one, counts and all, whose structure is derived anew.
    window
        How many of the newest events are kept, so that a candidate can learn those since the change.
    judge_after
        After how many events a candidate is judged.
    trials
        How many trials a candidate has, each twice as long as the one before, until it is refused. The first is short,
        as after a real change every event that the present model answers is dear.
    margin
        By how much the candidate's log-loss is to be less, in nats an event, beyond two standard errors.

    Notes
    -----
    Promises: the same events from the same state give the same answers, and all of it is part of a snapshot. A signal
    that falls is no drift: answers have become better. An event costs what the learner costs and the detector's
    update; twice that during a trial. The events kept are kept as they came.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = DriftAdaptive(NaiveBayes(), judge_after=50)
    >>> for number in range(2000):
    ...     light = "on" if number % 3 else "off"
    ...     model.learn_one({"light": light}, (light == "on") == (number < 1000))
    >>> [entry["what"] for entry in model.log.entries], model.generation
    (['drift', 'adopted'], 1)
    >>> model.predict_one({"light": "on"})
    False
    """

    def __init__(
        self,
        learner: BayesClassifier,
        detector: Any = None,
        signal: str = "log-loss",
        policy: str = "both",
        window: int = 2000,
        judge_after: int = 25,
        trials: int = 6,
        margin: float = 0.0,
    ) -> None:
        self.learner = learner
        self.detector = detector
        self.signal = signal
        self.policy = policy
        self.window = window
        self.judge_after = judge_after
        self.trials = trials
        self.margin = margin
        if not isinstance(learner, BayesClassifier):
            raise BadValue(f"learner must be a learner of this package, not {shown(learner)}")
        check_choice("signal", signal, ("log-loss", "error"))
        check_choice("policy", policy, ("both", "search"))
        for name in ("window", "judge_after", "trials"):
            check_count(name, getattr(self, name))
        check_number("margin", margin)
        self._model = learner.clone()
        self._detector = self._new_detector()
        self._candidate: BayesClassifier | None = None
        self._trial: Trial | None = None
        self._warned: int | None = None  # the event before which the change began
        self._recent: deque[tuple[dict[Any, Any], Any, float, float]] = deque(maxlen=window)
        self._clock = 0
        self.generation = 0
        self.log = DriftLog()

    def _new_detector(self) -> Any:
        detector = drift.ADWIN() if self.detector is None else self.detector
        if isinstance(detector, type) or not all(
            hasattr(detector, name) for name in ("update", "drift_detected", "clone")
        ):
            raise BadValue(
                "detector must be a drift detector as River has them, with update, drift_detected and clone, "
                f"not {shown(detector)}"
            )
        if isinstance(detector, BINARY) and self.signal != "error":
            raise BadValue(f"a {type(detector).__name__} detects drift in errors; give it signal='error'")
        return detector.clone()

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or, where anything is refused, nothing."""
        self.predict_learn_one(x, y, w)

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """The probabilities of a sample before it is learned; then learn it."""
        kept = dict(plain(dict(x)))
        answer = self._model.predict_learn_one(x, y, w)
        self._clock += 1
        if w == 0.0 or not answer:
            return answer
        loss = log_loss(answer, y)
        signal = float(most_probable(answer) != y) if self.signal == "error" else min(loss / MOST_LOSS, 1.0)
        self._recent.append((kept, y, float(w), signal))
        if self._trial is None:
            self._watch(signal)
        else:
            self._try(x, y, w, loss, self._trial)
        return answer

    def _watch(self, signal: float) -> None:
        """Feed the detector; on a drift for the worse, begin a trial."""
        detector = self._detector
        detector.update(bool(signal) if isinstance(detector, BINARY) else signal)
        if detector.drift_detected:
            self._notice()
        elif not getattr(detector, "warning_detected", False):
            self._warned = None
        elif self._warned is None:
            self._warned = self._clock

    def _notice(self) -> None:
        """Judge a drift: if answers became worse, a candidate is made from the events since then."""
        signals = np.array([event[3] for event in self._recent])
        newest = since_change(signals)
        if self._warned is not None:
            newest = min(self._clock - self._warned + 1, len(signals))
        self._warned = None
        before, after = mean_of(signals[: len(signals) - newest]), mean_of(signals[len(signals) - newest :])
        if after <= before:
            return  # better answers: it goes on learning
        self._trial = Trial(self._clock, self._clock - newest + 1, self.judge_after)
        score = {"before": before, "after": after}
        self.log.add("drift", self._clock, signal=self.signal, since=self._trial.since, score=score)
        self._candidate = self._made(newest)

    def _made(self, newest: int) -> BayesClassifier:
        if self.policy == "search":
            made = self._model._twin()
        else:
            made = self.learner.clone()
            for x, y, w, _ in list(self._recent)[-newest:]:
                made.learn_one(x, y, w)
        made.research()
        return made

    # -- trials -------------------------------------------------------------------------------------------------------

    def _try(self, x: X, y: Any, w: float, loss: float, trial: Trial) -> None:
        candidate = self._candidate
        if candidate is None:
            raise RuntimeError("a trial without a candidate")
        try:
            answer = candidate.predict_learn_one(x, y, w)
        except StreamBayesError as error:
            self._end(trial, "refused", why=str(error))
            return
        trial = self._trial = trial.with_losses(loss, log_loss(answer, y))
        if trial.events < trial.length:
            return
        candidate.research()
        if trial.is_better(self.margin):
            before = edges_of(self._model)
            self._model = candidate
            self.generation += 1
            self._end(trial, "adopted", structure=difference(before, edges_of(candidate)))
        elif trial.length >= self.judge_after * 2 ** (self.trials - 1):
            self._end(trial, "refused", why="it is no better")
        else:
            self._trial = Trial(trial.begun, trial.since, 2 * trial.length)

    def _end(self, trial: Trial, what: str, **told: Any) -> None:
        """Go back to being stable, and forget what the detector has seen."""
        told |= {"signal": self.signal, "since": trial.since, "events": trial.events}
        self.log.add(what, self._clock, candidate=self.policy, score=trial.score, **told)
        self._trial, self._candidate, self._warned = None, None, None
        self._detector = self._new_detector()

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """P(y | x) of each class, empty before any learning."""
        return self._model.predict_proba_one(x)

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """The most probable class, None before any learning; a tie goes to the first by name."""
        return self._model.predict_one(x)

    # -- reading the model --------------------------------------------------------------------------------------------

    @property
    def model_(self) -> BayesClassifier:
        """The learner that answers now."""
        return self._model

    @property
    def state_(self) -> str:
        """`"stable"`, `"warning"`, or `"trial"`."""
        if self._trial is not None:
            return "trial"
        return "stable" if self._warned is None else "warning"

    @property
    def trial_(self) -> Trial | None:
        """How the candidate does, if there is one."""
        return self._trial

    @property
    def clock(self) -> int:
        """How many events have been learned."""
        return self._clock

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": NaiveBayes()}


def since_change(signals: NDArray[np.float64]) -> int:
    """How many of the newest signals come after the one change of the mean that explains most of how they vary.

    Examples
    --------
    >>> since_change(np.array([0.0] * 100 + [1.0] * 40))
    40
    """
    total = len(signals)
    newest = np.arange(FEWEST, total - FEWEST + 1)
    if not len(newest):
        return total
    sums = np.cumsum(signals[::-1])
    after, before = sums[newest - 1] / newest, (sums[-1] - sums[newest - 1]) / (total - newest)
    explained = newest * (total - newest) * (after - before) ** 2
    return int(newest[np.argmax(explained)])


def mean_of(signals: NDArray[np.float64]) -> float:
    """The mean; 0 of none, so that whatever comes first is no better than what was before."""
    return float(signals.mean()) if len(signals) else 0.0
