r"""Notice that the world has changed, try other models beside the present one, and swap once one is better.

    stable --warning--> warning --drift--> searching --found--> trial --judged--> stable, with the best model of all
       \________________drift_______________/

While stable, a detector is fed how wrong each answer was. A detector that warns says when the change began; of others
the signals kept say so, by the change of their mean that explains most. On a drift, if answers have become worse,
candidates are made from the events since then, and models that answered before are tried again. From there on all
predict and learn each event. After `judge_after` events the best candidate takes over if it lost less on these beyond
doubt; if not, the trial is as long again, twice, and so on, until all are refused. The detector listens meanwhile, too:
where answers become worse once more, there are other candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.values.values import shown
from stream_bayes.data.frames import Native
from stream_bayes.drift.candidates import POLICIES, share_names
from stream_bayes.drift.detectors import (
    BINARY,
    FEWEST,
    MOST_LOSS,
    SIGNALS,
    detector_of,
    mean_of,
    natural_signal,
    numbers_of,
    since_change,
)
from stream_bayes.drift.families import TOGETHER, FamilyWatch, family_signals
from stream_bayes.drift.log import edge_name
from stream_bayes.drift.succession import Succession
from stream_bayes.drift.trial import Trial
from stream_bayes.errors import BadValue
from stream_bayes.learners.classifier.arguments import check_choice, check_count, check_number
from stream_bayes.learners.classifier.base import BayesClassifier, X, check_learner
from stream_bayes.learners.classifier.predictions import LEAST_PROBABILITY, most_probable
from stream_bayes.learners.classifier.samples import samples_of
from stream_bayes.learners.naive_bayes import NaiveBayes
from stream_bayes.learners.networks.bayes_net_classifier import BayesNetClassifier

__all__ = ["DriftAdaptive"]


class DriftAdaptive(Succession):
    """A learner that is replaced by a better one when the world changes.

    Parameters
    ----------
    learner
        A learner of this package over named features, as it is to be made; it learns nothing itself.
    detector
        `"adwin"`, `"page-hinkley"`, `"kswin"`, or of errors `"ddm"`, `"eddm"`, `"hddm-a"`, `"hddm-w"`; or one of
        River's drift detectors, which is cloned.
    signal
        What the detector is fed: `"log-loss"` of each answer, as a share of 5 nats; `"error"`, 1 for a wrong answer
        and 0 for a right one; or `"family"`, how well each feature is foretold by the class and its parents, with a
        detector for each; numbers that go into no bins, as those of `NaiveBayes`, have none. Of a network, then, only
        what drifted is searched anew. Detectors of binary signals take errors only. None: errors for these, log-loss
        for others.
    policy
        What the candidates are. `"both"`: a new learner of the events since the change alone, counts and structure.
        `"refit"`: of these events, with the present structure. `"search"`: the present counts, and a structure derived
        anew; of a network, one searched over all events kept, which are counted. `"ladder"`: first `"refit"`, and if
        that is no better, `"both"`, and the same with a parent more and a parent less, where the learner knows such a
        number.
    search
        How the structure of a `BayesNetClassifier` is searched, and with `max_families` its budget; None:
        `HillClimbing()`. Others derive theirs from the counts.
    search_delay
        After how many events what a search found is tried. 0: it runs at once, and the stream waits. More: beside the
        stream, if `search_on` says where.
    window
        How many of the newest events are kept, so that a candidate can learn those since the change.
    judge_after
        After how many events the candidates are judged.
    trials
        How many trials they have, each twice as long as the one before, until they are refused. The first is short,
        as after a real change every event that the present model answers is dear.
    margin
        By how much a candidate's log-loss is to be less, in nats an event, beyond two standard errors.
    retired
        How many of the models that answered before are kept, with all their counts, to be candidates at the next drift.

    Notes
    -----
    Promises: the same events from the same state give the same answers, wherever a search runs and however long it
    takes, and all of it is part of a snapshot, the input of a search that runs included. A signal that falls is no
    drift: answers have become better. An event costs what the learner costs, the detector's update and a copy of its
    codes; as much again for each candidate of a trial. Memory: 4 bytes for each event kept and nominal feature, 8 for
    each and numeric one, 28 for each; and the retired models.

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
        detector: Any = "adwin",
        signal: str | None = None,
        policy: str = "both",
        search: HillClimbing | None = None,
        search_delay: int = 0,
        window: int = 2000,
        judge_after: int = 25,
        trials: int = 6,
        margin: float = 0.0,
        retired: int = 2,
    ) -> None:
        self.learner = learner
        self.detector = detector
        self.signal = signal
        self.policy = policy
        self.search = search
        self.search_delay = search_delay
        self.window = window
        self.judge_after = judge_after
        self.trials = trials
        self.margin = margin
        self.retired = retired
        self._check()
        self._begin()
        self._detector = detector_of(detector, signal)
        self._signal = signal or natural_signal(self._detector)
        self._binary = isinstance(self._detector, BINARY)
        self._can_warn = hasattr(self._detector, "warning_detected")
        self._families = FamilyWatch(self._detector) if self._signal == "family" else None
        self._fed = 0  # events that the detector was fed
        self._warned: int | None = None  # the first event after the change, by a detector that warns
        self._shadow: BayesClassifier | None = None  # learns since the warning

    def _check(self) -> None:
        learner = self.learner
        check_learner(learner)
        if "bag" in learner.inputs:
            raise BadValue(
                f"events of a {type(learner).__name__} are bags of words, and a window of these is not kept"
            )
        if self.signal is not None:
            check_choice("signal", self.signal, SIGNALS)
        if self.signal == "family" and "nominal" not in learner.inputs:
            raise BadValue(
                f"signal='family' watches features that have values, or numbers in bins, and a "
                f"{type(learner).__name__} has neither; use another signal"
            )
        check_choice("policy", self.policy, tuple(POLICIES))
        for name in ("window", "judge_after", "trials"):
            check_count(name, getattr(self, name))
        for name in ("search_delay", "retired"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise BadValue(f"{name} must be a whole number of at least 0, not {shown(value)}")
        check_number("margin", self.margin)
        if self.search is not None and not isinstance(self.search, HillClimbing):
            raise BadValue(f"search must be HillClimbing(...), or None, not {shown(self.search)}")
        if self.search is not None and self.search.restarts:
            raise BadValue("search must have no restarts, which are drawn at random")
        if self.window < 2 * FEWEST:
            raise BadValue(
                f"window must be at least {2 * FEWEST} events, so that a change can be found in it, not {self.window}"
            )
        if self.window < self.search_delay:
            raise BadValue(
                f"window must be at least search_delay={self.search_delay}, as the candidates learn what came "
                f"during the search from it, not {self.window}"
            )

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or, where anything is refused, nothing."""
        self.predict_learn_one(x, y, w)

    def learn_many(self, X: Native, y: Native = None, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order.

        Where one is refused none is learned. Whether a learner's memory budget is enough is found out on the way.

        Parameters
        ----------
        X, y, w
            As in `BayesClassifier.learn_many`.
        """
        for sample in samples_of(self._model, X, y, w):
            self.learn_one(*sample)

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """The probabilities of a sample before it is learned; then learn it."""
        model = self._model
        if y is None:
            return self._learn_unlabelled(x, w)
        row = model._store.encode(x, y, w)
        answer: dict[Any, float] = model._reading.predict_learn(row)
        self._clock += 1
        if row.weight == 0.0:
            return answer
        share = answer.get(y, 0.0)
        loss = -log(share if share > LEAST_PROBABILITY else LEAST_PROBABILITY)
        if self._signal == "error":
            signal = float(most_probable(answer) != y)
        else:
            signal = loss / MOST_LOSS if loss < MOST_LOSS else 1.0
        self._recent.push(row, self._clock, signal)
        if self._trial is not None:
            if answer and self._worsens_again(signal, self._trial.begun):
                self._give_up(self._trial)
            else:
                self._try(x, y, w, loss, self._trial)
        elif self._task is not None:
            if answer:
                self._worsens_again(signal, self._task.begun)
            self._start(self._task)
            if self._clock >= self._task.begun + self.search_delay:
                self._join(self._task)
        elif self._families is not None:
            self._watch_families(self._families)
        elif answer:
            if self._hears(signal):
                self._notice()
            elif self._can_warn and self._detector.warning_detected:
                self._warn(x, y, w)
            elif self._warned is not None:
                self._warned, self._shadow = None, None
        return answer

    def _learn_unlabelled(self, x: X, w: float) -> dict[Any, float]:
        """An event without a label teaches whoever learns from such, and says nothing of how good answers are."""
        answer = self._model.predict_proba_one(x)
        self._model.learn_one(x, None, w)
        self._clock += 1
        if self._shadow is not None:
            self._shadow.learn_one(x, None, w)
        if self._trial is not None and self._trial.gains:
            for _, candidate in self._candidates:
                candidate.learn_one(x, None, w)
        return answer

    def _warn(self, x: X, y: Any, w: float) -> None:
        if self._warned is None:
            self._warned = self._clock
            self._note("warning", since=self._clock)
            if self.policy == "both" and not isinstance(self.learner, BayesNetClassifier):
                self._shadow = self.learner.clone()
                share_names(self._shadow, self._model)
        if self._shadow is not None:
            self._shadow.learn_one(x, y, w)

    def _hears(self, signal: float) -> bool:
        """Tell the detector of an event; whether it sees a drift."""
        self._fed += 1
        self._detector.update(bool(signal) if self._binary else signal)
        noticed: bool = self._detector.drift_detected
        return noticed

    def _hears_families(self, families: FamilyWatch) -> list[int]:
        """Tell the detectors of some events together; the slots of the families that are foretold worse."""
        self._fed += 1
        if self._fed % TOGETHER:
            return []
        return families.feed(family_signals(self._model, self._recent.newest_codes(TOGETHER)))

    def _notice(self) -> None:
        """Judge a drift: if answers became worse, look for candidates."""
        signals = self._recent.signals()[-self._fed :]
        if self._warned is None:
            newest = since_change(signals)
        else:
            newest = min(self._clock - self._warned + 1, len(signals))
        since, shadow = self._clock - newest + 1, self._shadow
        self._warned, self._shadow = None, None
        if not self._is_worse(signals, newest):
            return  # better answers: it goes on learning
        if shadow is None:
            self._look(since, 0)
        else:
            shadow.rederive()
            self._candidates = [("both", shadow)]
            self._catch_up(
                Trial(self._clock, since, 0, self._clock - 1, self.judge_after)
            )  # it lacks this event

    def _watch_families(self, families: FamilyWatch) -> None:
        """Where families are foretold worse, look for candidates."""
        drifted = self._hears_families(families)
        if not drifted:
            return
        newest = families.since(drifted, self._fed) or since_change(self._recent.signals()[-self._fed :])
        since = self._clock - (newest or FEWEST) + 1
        names = families.names(self._model, drifted)
        self._note(
            "drift", since=since, score=families.score(drifted), families=[edge_name(name) for name in names]
        )
        self._look(since, 0, names)

    def _worsens_again(self, signal: float, begun: int) -> bool:
        """Whether answers became worse once more since a search or a trial began; when they did is kept.

        What a detector sees then is mostly the change that is known; only a rise among the answers after it counts.
        """
        families = self._families
        if not (self._hears(signal) if families is None else self._hears_families(families)):
            return False
        signals = self._recent.signals(after=max(self._again or 0, begun))
        newest = since_change(signals) if len(signals) >= 2 * FEWEST else 0
        if not self._is_worse(signals, newest):
            return False
        self._again = self._clock - newest + 1
        return True

    def _is_worse(self, signals: NDArray[np.float64], newest: int) -> bool:
        """Whether so many of the newest signals are above those before, which is noted then."""
        change = len(signals) - newest
        before, after = mean_of(signals[:change]), mean_of(signals[change:])
        if newest == 0 or after <= before:
            return False
        scale = 1.0 if self._signal == "error" else MOST_LOSS
        score = {"before": scale * before, "after": scale * after}
        self._note("drift", since=self._clock - newest + 1, score=score)
        return True

    def _settle(self) -> None:
        self._detector, self._fed = detector_of(self.detector, self._signal), 0
        if self._families is not None:
            self._families = FamilyWatch(self._detector)

    def _note(self, what: str, families: list[str] | None = None, **told: Any) -> None:
        detector = {
            "name": type(self._detector).__name__,
            "events": self._fed,
            "numbers": numbers_of(self._detector) if self._families is None else {},
        }
        if families is not None:
            detector["families"] = families
        self.log.add(what, self._clock, signal=self._signal, detector=detector, **told)

    # -- reading the model --------------------------------------------------------------------------------------------

    @property
    def state_(self) -> str:
        """`"stable"`, `"warning"`, `"searching"` or `"trial"`."""
        if self._trial is not None:
            return "trial"
        if self._task is not None:
            return "searching"
        return "stable" if self._warned is None else "warning"

    @property
    def signal_(self) -> str:
        """What the detector is fed."""
        return self._signal

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables of all models, and of the events kept."""
        others = [model for _, model in (*self._candidates, *self._retired)]
        models = [self._model, *others, *([] if self._shadow is None else [self._shadow])]
        return sum(model.memory_bytes for model in models) + self._recent.memory_bytes

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": NaiveBayes()}
