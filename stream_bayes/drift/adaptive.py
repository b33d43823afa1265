r"""A learner that follows drift: it detects a change, tries candidates in the background, and adopts the best.

    stable --warning--> warning --drift--> searching --found--> trial --judged--> stable, with the best model of all
       \________________drift_______________/

While stable, a detector is fed a signal of each answer. A detector that warns dates the change; for others the change
is dated from the recent signals, by the step of their mean that explains most. On a drift, if answers became worse, a
candidate is made from the events since then, and retired models are tried again. From then on all predict and learn
each event. After `judge_after` events the best candidate is adopted if it lost less on them beyond doubt; if not, the
trial doubles, until all are refused. If answers become worse once more meanwhile, new candidates follow. With `renew`,
candidates are also tried without a drift: `succession` says when.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from math import log
from typing import Any

import numpy as np
from river import base

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.live_networks.family_counts import EVENT
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.unknown_names import check_variables
from stream_bayes.core.values.values import shown
from stream_bayes.data.frames import Native
from stream_bayes.drift.candidates import POLICIES, Executor, share_names
from stream_bayes.drift.detectors import (
    DEFAULT_DETECTOR,
    FEWEST,
    MOST_LOSS,
    SIGNALS,
    detector_of,
    natural_signal,
    since_change,
)
from stream_bayes.drift.family_changes import FamilyChanges
from stream_bayes.drift.family_detectors import FamilyWatch
from stream_bayes.drift.log import DriftLog
from stream_bayes.drift.recent_events import (
    JOINT_NETWORKS,
    JointNetwork,
    RenewedModel,
    has_densities,
    joint_network_of,
    rederive,
)
from stream_bayes.drift.succession import Succession, SuccessionSettings, bounded, score_of
from stream_bayes.drift.trial import Trial
from stream_bayes.drift.watch import DriftWatch
from stream_bayes.errors import BadLabel, BadValue, BudgetExceeded, NotSupported
from stream_bayes.learners.base.arguments import (
    ReadOnlyArguments,
    check_choice,
    check_count,
    check_number,
)
from stream_bayes.learners.base.base import BayesClassifier, X, check_learner
from stream_bayes.learners.base.class_probabilities import LEAST_PROBABILITY, most_probable
from stream_bayes.learners.base.credible_intervals import Intervals
from stream_bayes.learners.base.draws import DrawnClassifier
from stream_bayes.learners.base.edges import learner_within
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.base.samples import samples_of
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes
from stream_bayes.learners.sequences.keyed_sequences import timed_events
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.networks.surprise import Surprise

__all__ = ["DriftAdaptive"]

WINDOW, NETWORK_WINDOW = 2_000, 20_000  # events


class DriftAdaptive(ReadOnlyArguments, base.MiniBatchClassifier):
    """A learner that is replaced by a better one when the world changes.

    Parameters
    ----------
    learner
        A learner of this package over named features. It is the template of every model and learns nothing itself. A
        `BayesNet`, a `MixedNetwork` or a `DynamicNetwork` has no class: `learn_one(x)` and `score_learn_one(x)` learn,
        losses are the surprises of events, and `model_` answers queries and forecasts. With `structure="learn"` every
        candidate of these grows its structure, and goes on with it.
    detector
        `"adwin"`, `"page-hinkley"`, `"kswin"`, or of errors `"ddm"`, `"eddm"`, `"hddm-a"`, `"hddm-w"`; or one of
        River's drift detectors, which is cloned.
    signal
        The signal that the detector is fed: `"log-loss"` of each answer, as a share of 5 nats; `"error"`, 1 for a wrong
        answer and 0 for a right one; or `"family"`, minus the log-probability of each feature given the class and its
        parents, with a detector per feature (numbers without bins, as those of `NaiveBayes`, have none). Detectors of
        binary signals take errors only. Of a `BayesNet`, `"family"` has the counts of each family tested for a change,
        without a detector; a family that changed is counted again since its change, and the others stay. So it is of a
        `MixedNetwork`, always, with the residuals of numbers in eight bins, and of a `DynamicNetwork`, given the events
        before. None: errors for detectors of these, `"family"` for a `BayesNet` with the default detector, log-loss for
        others.
    policy
        The candidate after a drift. `"both"`: a new learner of the events since the change, counts and structure.
        `"refit"`: a learner of these events with the present structure. `"search"`: the present counts with a structure
        derived anew; of a network, one searched over all recent events, which are counted.
    search
        The search for the structure of a `BayesNetClassifier`, with its budget `max_families`; None: `HillClimbing()`.
        Other learners derive theirs from the counts.
    search_delay
        The number of events after which a search's result is tried. 0: the search runs at once, and the stream waits.
        More: it runs in the background, on the executor that `search_on` sets.
    window
        The number of newest events that are kept, so that a candidate can learn those since the change. None: 20,000
        for a `BayesNetClassifier`, 2,000 for others.
    judge_after
        The number of events after which the candidates are judged.
    trials
        The number of trials, each twice as long as the one before, after which the candidates are refused. The first is
        short: after a real change every event that the present model answers costs.
    margin
        The amount by which a candidate's log-loss must be less, in nats per event, beyond two standard errors.
    retired
        The number of replaced models that are kept, with all their counts, as candidates at the next drift. Of a
        network without a class, also the number of times that each family keeps what it had counted before a change;
        that is added to a family that returns to it. Numbers above a name need cuts that stay: declared ones, or those
        of a structure that is learned.
    renew
        True to try candidates also without a drift, as a detector of rising losses stays silent if the task gets
        easier: a fresh model of the newest events, each time the events since the last change have doubled, or 20
        windows have passed. Tests of families need none, as they find any change.
        Likewise the structure of a `BayesNetClassifier` is searched again, and one without structure gets one, unless
        `policy="refit"`. What is found is adopted if a trial proves it better. False leaves the model as it is until
        the detector fires.

    Notes
    -----
    Promises: the same events from the same state give the same answers, wherever a search runs and however long it
    takes. Everything is part of a snapshot, the input of a running search included. A falling signal is no drift:
    answers became better. An event costs what the learner costs, the detector's update and a copy of its codes; as much
    again for each candidate of a trial. With `renew`, a candidate is on trial for many of the first events after a
    change, and later for less than one event in ten. Memory: 4 bytes for each kept event and nominal feature, 8 for
    each and numeric one, 28 for each event; and the retired models. Tests of families take 4 bytes more for each cell
    of a family, of which 1,024 count at most, and each 32 events of the window.

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
        learner: RenewedModel,
        detector: Any = DEFAULT_DETECTOR,
        signal: str | None = None,
        policy: str = "both",
        search: ScoreSearch | None = None,
        search_delay: int = 0,
        window: int | None = None,
        judge_after: int = 25,
        trials: int = 6,
        margin: float = 0.0,
        retired: int = 2,
        renew: bool = True,
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
        self.renew = renew
        self._check()
        if window is None:
            is_network = isinstance(learner, (BayesNetClassifier, BayesNet, DynamicNetwork))
            window = NETWORK_WINDOW if is_network and not has_densities(learner) else WINDOW
        settings = SuccessionSettings(
            learner,
            policy,
            HillClimbing() if search is None else search,
            search_delay,
            window,
            judge_after,
            trials,
            margin,
            retired,
            renew,
        )
        is_joint = isinstance(learner, JOINT_NETWORKS)
        self._watch = DriftWatch(detector, signal, is_joint, window, has_densities(learner))
        self._succession = Succession(settings, self._watch)
        self._warned: int | None = None  # the first event after the change, from a detector that warns
        self._shadow: RenewedModel | None = None  # learns the events since the warning

    def _check(self) -> None:
        learner = self.learner
        if isinstance(learner, BayesNet):
            self._check_network(learner)
        elif isinstance(learner, MixedNetwork | DynamicNetwork):
            self._check_by_family(learner)
        else:
            self._check_classifier(learner)
        if self.signal is not None:
            check_choice("signal", self.signal, SIGNALS)
        check_choice("policy", self.policy, POLICIES)
        for name in ("judge_after", "trials"):
            check_count(name, getattr(self, name))
        if self.window is not None:
            check_count("window", self.window)
        if not isinstance(self.renew, bool):
            raise BadValue(f"renew must be True or False, not {shown(self.renew)}")
        for name in ("search_delay", "retired"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise BadValue(f"{name} must be a whole number of at least 0, not {shown(value)}")
        check_number("margin", self.margin)
        self._check_search()
        self._check_names_of_search()

    def _check_network(self, learner: BayesNet) -> None:
        if learner.missing != "skip" or learner.slides:
            raise BadValue(
                "a BayesNet with expectation maximisation or slides=True cannot be replaced after a drift; it forgets "
                "by itself"
            )
        if learner.network is not None:
            raise BadValue("a BayesNet with a network given beforehand cannot be replaced after a drift")
        if self.signal == "family" and self.detector != DEFAULT_DETECTOR:
            raise BadValue(
                f"families of a BayesNet are tested by their counts, so signal='family' uses no detector, but detector "
                f"is {shown(self.detector)}; leave out one of the two"
            )
        if self.signal == "error" or natural_signal(detector_of(self.detector, None)) == "error":
            raise BadValue(
                "a BayesNet has no class, so its signal is the log-loss, of events or of each family: choose another "
                "detector or signal"
            )

    def _check_by_family(self, learner: MixedNetwork | DynamicNetwork) -> None:
        name = type(learner).__name__
        if isinstance(learner, MixedNetwork) and (
            learner.transform is not None or learner.missing != "skip" or learner.classes is not None
        ):
            raise BadValue(
                "a MixedNetwork with ranks, latent classes or expectation maximisation cannot be replaced after a "
                "drift; it counts the newest window by itself"
            )
        if self.detector != DEFAULT_DETECTOR or self.signal not in (None, "family"):
            raise BadValue(
                f"families of a {name} are tested by their own events: leave detector and signal out"
            )
        if self.policy == "search" or self.search is not None:
            raise BadValue(
                f"a {name} searches its structure itself, by structure='learn': leave search out, and policy='search'"
            )

    def _check_classifier(self, learner: BayesClassifier) -> None:
        check_learner(learner)
        if "bag" in learner.inputs:
            raise BadValue(
                f"events of a {type(learner).__name__} are bags of words, and a window of these is not kept"
            )
        if self.signal == "family" and "nominal" not in learner.inputs:
            raise BadValue(
                f"signal='family' watches features that have values, or numbers in bins, and a "
                f"{type(learner).__name__} has neither; use another signal"
            )

    def _check_names_of_search(self) -> None:
        """Raise `UnknownFeature` for an edge or a tier of a variable that the network cannot have."""
        network = self.learner
        if self.search is None or not isinstance(network, BayesNet | BayesNetClassifier):
            return
        names: set[Any] = set()
        if not network.is_growing and network.structure is not None:
            names = set(network.structure.variables)
        elif network.schema is not None:
            names = set(network.schema.features)
            names |= {network.target_name} if isinstance(network, BayesNetClassifier) else set()
        if names:
            check_variables(self.search.names, names, "search", whole="the network")

    def _check_search(self) -> None:
        if self.search is not None and not isinstance(self.search, ScoreSearch):
            raise BadValue(
                f"search must be HillClimbing(...), BOSS(...), ExactSearch(...) or None, not {shown(self.search)}"
            )
        if self.window is not None and self.window < 2 * FEWEST:
            raise BadValue(
                f"window must be at least {2 * FEWEST} events, so that a change can be found in it, not {self.window}"
            )
        if (WINDOW if self.window is None else self.window) < self.search_delay:
            raise BadValue(
                f"window must be at least search_delay={self.search_delay}, as the candidates learn what came "
                f"during the search from it, not {self.window}"
            )

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any = None, w: float = 1.0, at: float | None = None) -> None:
        """Learn a sample: all of it, or nothing if any part is refused. A network without a class takes no label; `at`
        is the time of an event of a `DynamicNetwork`, which needs it with `pause` or `step`.
        """
        if isinstance(self.learner, JOINT_NETWORKS):
            if y is not None:
                raise BadLabel(
                    f"a {type(self.learner).__name__} has no class, but the event has the label {shown(y)}"
                )
            event = self._event(x, at)
            try:
                score = score_of(self._network(), event)
            except BudgetExceeded:  # of an event with gaps: it is learned, and judges no candidate
                score = math.nan
            self._learn_scored(event, w, score)
            self._remember(x, at)
        else:
            self._check_no_time(at)
            self.predict_learn_one(x, y, w)

    def _event(self, x: X, at: float | None) -> X:
        """Return an event as the network without a class learns it: in time, with the copies of its past."""
        model = self._network()
        if isinstance(model, DynamicNetwork):
            return model.joined_one(x, at)
        self._check_no_time(at)
        return x

    def _check_no_time(self, at: float | None) -> None:
        if at is not None:
            raise BadValue(
                f"at= is for a DynamicNetwork; a {type(self.learner).__name__} does not know of time"
            )

    def _remember(self, x: X, at: float | None) -> None:
        """Move the sequence of an event on, once it was learned."""
        model = self.model_
        if isinstance(model, DynamicNetwork):
            model.remember_one(x, at)

    def reset(self, *keys: Any) -> None:
        """End the sequences of these keys of a `DynamicNetwork`; without keys, all sequences."""
        model = self.model_
        if not isinstance(model, DynamicNetwork):
            raise NotSupported(f"a {type(self.learner).__name__} has no sequences to end")
        model.reset(*keys)

    def learn_many(
        self, X: Native, y: Native = None, w: Native = None, at: Iterable[float] | None = None
    ) -> None:
        """Learn many rows, as `learn_one` would in their order.

        If one is refused, none is learned. A memory budget that is too small shows only on the way. A `MixedNetwork`
        or a `DynamicNetwork` learns the rows before one that is refused.

        Parameters
        ----------
        X, y, w
            As in `BayesClassifier.learn_many`.
        at
            The times of events of a `DynamicNetwork`.
        """
        model = self.model_
        if isinstance(model, MixedNetwork | DynamicNetwork):
            if w is not None:
                raise BadValue(f"learn_many of a {type(model).__name__} takes no weights; learn_one does")
            for x, time in timed_events(X, at):
                self.learn_one(x, at=time)
            return
        if at is not None:
            raise BadValue(f"at= is for a DynamicNetwork; a {type(model).__name__} does not know of time")
        if isinstance(model, BayesNet):
            for x, weight in model.rows_to_learn(X, w):
                self.learn_one(x, None, weight)
            return
        for sample in samples_of(model, X, y, w):
            self.learn_one(*sample)

    def score_learn_one(self, x: X, w: float = 1.0, at: float | None = None) -> float:
        """Return the surprise of an event to a network without a class, then learn it.

        Raises `BudgetExceeded` if exact inference of missing values needs more memory than the budget, with nothing
        learned; `learn_one` learns such an event.
        """
        event = self._event(x, at)
        score = score_of(self._network(), event)
        self._learn_scored(event, w, score)
        self._remember(x, at)
        return score

    def _learn_scored(self, x: X, w: float, score: float) -> None:
        """Learn an event with its surprise; NaN if that could not be computed."""
        succession, model = self._succession, joint_network_of(self._network())
        if isinstance(model, MixedNetwork):
            losses = succession.memory.losses(model, x, w)
            model.learn_one(x, w)
            if w == 0.0:
                succession.clock += 1
                return
            row = model.store.row_of(model.store.read(x), float(w))
        else:
            row = model.store.encode(x, EVENT, w)
            losses = succession.memory.losses(model, row, row.weight)
            model.learn_row(row)
        succession.clock += 1
        succession.recall(model, succession.memory.judge(losses))
        if row.weight > 0.0 and math.isnan(score):
            self._follow_unscored(row, x, w)
        elif row.weight > 0.0:
            loss = bounded(model, score)
            self._follow(row, (x, EVENT, w), loss, self._watch.signal_of(loss, len(model.structure)), True)

    def _follow_unscored(self, row: Row, x: X, w: float) -> None:
        """Keep an event without a score, watch for drift of families, and let candidates learn it."""
        succession, watch = self._succession, self._watch
        succession.recent.push(row, succession.clock, succession.recent.last_signal)
        if watch.changes is not None:
            self._follow_families(watch.changes)
        if succession.trial is not None:
            succession.learn_unscored(x, w, succession.trial)
        elif succession.task is not None:
            succession.continue_search(succession.task)

    def score_one(self, x: X, at: float | None = None) -> float:
        """Return the surprise of an event to a network without a class, as `BayesNet.score_one` does; to a
        `DynamicNetwork`, given the events before it.
        """
        return score_of(self._network(), self._event(x, at))

    @property
    def _joint_variables(self) -> int:
        """The number of variables of a network without a class; 0 for classifiers."""
        model = self.model_
        return len(model.structure) if isinstance(model, JOINT_NETWORKS) else 0

    def _network(self) -> JointNetwork:
        model = self.model_
        if not isinstance(model, JOINT_NETWORKS):
            raise NotSupported(f"a {type(model).__name__} has no score of events; use predict_learn_one")
        return model

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it."""
        succession, watch = self._succession, self._watch
        model = succession.model
        if isinstance(model, JOINT_NETWORKS):
            raise NotSupported(
                f"a {type(model).__name__} has no class to predict; use score_learn_one, or model_ for queries"
            )
        row = model.store.encode(x, y, w)
        answer: dict[Any, float] = model.reading.predict_learn(row)
        succession.clock += 1
        if row.weight == 0.0:
            return answer
        share = answer.get(y, 0.0)
        loss = -log(share if share > LEAST_PROBABILITY else LEAST_PROBABILITY)
        if watch.signal == "error":
            signal = float(most_probable(answer) != y)
        else:
            signal = loss / MOST_LOSS if loss < MOST_LOSS else 1.0
        self._follow(row, (x, y, w), loss, signal, bool(answer))
        return answer

    def _follow(
        self, row: Row, sample: tuple[X, Any, float], loss: float, signal: float, has_answer: bool
    ) -> None:
        """Keep an event that was learned, watch for drift, and try candidates."""
        succession, watch = self._succession, self._watch
        x, y, w = sample
        succession.recent.push(row, succession.clock, signal)
        if watch.changes is not None:
            self._follow_families(watch.changes)
        if succession.is_renewing:  # that delays no response to a drift
            succession.continue_renewal(x, y, w, loss)
        elif (
            succession.trial is None
            and succession.task is None
            and succession.clock >= succession.renewals.next
        ):
            succession.renew()
        if succession.trial is not None and not succession.is_renewing:
            if has_answer and watch.changes is None and self._worsens_again(signal, succession.trial.begun):
                succession.give_up(succession.trial)
            else:
                succession.try_candidates(x, y, w, loss, succession.trial)
        elif succession.task is not None and not succession.is_renewing:
            if has_answer and watch.changes is None:
                self._worsens_again(signal, succession.task.begun)
            succession.continue_search(succession.task)
        elif watch.changes is not None:
            return
        elif watch.families is not None:
            self._watch_families(watch.families)
        elif has_answer:
            if watch.detects(signal):
                self._respond()
            elif watch.can_warn and watch.detector.warning_detected:
                self._warn(x, y, w)
            elif self._warned is not None:
                self._warned, self._shadow = None, None

    # -- drift --------------------------------------------------------------------------------------------------------

    def search_on(self, executor: Executor | None) -> None:
        """Run searches with a `search_delay` in the background, on an executor; None: in the loop.

        Parameters
        ----------
        executor
            A `concurrent.futures.Executor`, or any object whose `submit(work)` returns one with a `result()`. It is no
            part of the model's state: set it again after a restart.
        """
        self._succession.search_on(executor)

    def work(self) -> bool:
        """Do a slice of the search of a structure that grows in an idle moment; return True if there is more to do."""
        model = learner_within(self.model_)
        return isinstance(model, (BayesNet, BayesNetClassifier)) and model.work()

    def _warn(self, x: X, y: Any, w: float) -> None:
        """Respond to a warning of the detector: a shadow model learns from then on."""
        if self._warned is None:
            self._warned = self.clock
            self._succession.record("warning", since=self.clock)
            if self.policy == "both" and not isinstance(self.learner, (BayesNetClassifier, BayesNet)):
                self._shadow = self.learner.clone()
                share_names(self._shadow, self.model_)
        if self._shadow is not None:
            _classifier(self._shadow).learn_one(x, y, w)

    def _respond(self) -> None:
        """Respond to a drift that the detector detected: if answers became worse, search or try a candidate."""
        succession, clock = self._succession, self.clock
        signals = succession.recent.signals()[-self._watch.fed :]
        if self._warned is None:
            newest = since_change(signals)
        else:
            newest = min(clock - self._warned + 1, len(signals))
        since, shadow = clock - newest + 1, self._shadow
        self._warned, self._shadow = None, None
        if not self._watch.is_worse(signals, newest, clock, self._joint_variables):
            return  # answers became better
        if shadow is None:
            succession.search(since)
        else:
            rederive(shadow)
            succession.drop_renewal()
            succession.candidates = [("both", shadow)]
            succession.catch_up(Trial(clock, since, clock - 1, self.judge_after))  # it lacks this event

    def _follow_families(self, changes: FamilyChanges) -> None:
        """Count the families of a network that have changed again, since the change, and try further candidates."""
        succession, watch = self._succession, self._watch
        changed = watch.changed_families(changes, succession.model, succession.recent)
        if changed:
            since = watch.start_of_changes(changed, succession.recent, self._joint_variables)
            succession.refit(changed, since)
            changes.begin_again([one.variable for one in changed])

    def _watch_families(self, families: FamilyWatch) -> None:
        """Search a candidate if families became worse."""
        succession, watch = self._succession, self._watch
        model = _classifier(succession.model)
        drifted = watch.drifted_families(families, model, succession.recent)
        if drifted:
            since, names = watch.start_of_drift(families, drifted, succession.recent, model)
            succession.search(since, names)

    def _worsens_again(self, signal: float, begun: int) -> bool:
        """Return True if answers became worse once more since a search or a trial began, and keep the time of it.

        The detector still responds to the change that is known, so only a rise among the answers after it counts.
        """
        succession, watch = self._succession, self._watch
        if watch.families is None:
            has_drifted = watch.detects(signal)
        else:
            model = _classifier(succession.model)
            has_drifted = bool(watch.drifted_families(watch.families, model, succession.recent))
        if not has_drifted:
            return False
        signals = succession.recent.signals(after=max(succession.changed_again or 0, begun))
        newest = since_change(signals) if len(signals) >= 2 * FEWEST else 0
        if not watch.is_worse(signals, newest, self.clock, self._joint_variables):
            return False
        succession.changed_again = self.clock - newest + 1
        return True

    # -- predicting: the present model's answers ----------------------------------------------------------------------

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        return _classifier(self.model_).predict_proba_one(x)

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """Return the most probable class; of equal ones the first by name; None before any learning."""
        return _classifier(self.model_).predict_one(x)

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows, as `BayesClassifier.predict_proba_many` does."""
        return _classifier(self.model_).predict_proba_many(X)

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows: a series for a data frame, a list for anything else."""
        return _classifier(self.model_).predict_many(X)

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the credible interval of each class's probability, by the present model."""
        return _classifier(self.model_).predict_interval_one(x, level)

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the intervals of many rows, as `BayesClassifier.predict_interval_many` does."""
        return _classifier(self.model_).predict_interval_many(X, level)

    def draw(self, rng: np.random.Generator) -> DrawnClassifier:
        """Return a draw of the present model."""
        return _classifier(self.model_).draw(rng)

    def simulate_one(self, x: X, n: int, rng: np.random.Generator) -> list[Any]:
        """Return the labels of events like x that the present model simulates."""
        return _classifier(self.model_).simulate_one(x, n, rng)

    def explain_one(self, x: X, at: float | None = None) -> Explanation | Surprise:
        """Return the evidence of each feature for each class; without a class, the surprise of each value."""
        model = self.model_
        if isinstance(model, DynamicNetwork):
            return model.explain_one(x, at)
        self._check_no_time(at)
        return model.explain_one(x)

    @property
    def _multiclass(self) -> bool:
        return True

    # -- reading the state --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        drifts = self.log.counts.get("drift", 0)
        return (
            f"DriftAdaptive({type(self.learner).__name__}, {self.state_}, {self.clock:,} events, {drifts:,} drifts, "
            f"generation {self.generation:,})"
        )

    @property
    def model_(self) -> RenewedModel:
        """The present model."""
        return self._succession.model

    @property
    def state_(self) -> str:
        """`"stable"`, `"warning"`, `"searching"` or `"trial"`."""
        if self._succession.trial is not None and not self._succession.is_renewing:
            return "trial"
        if self._succession.task is not None:
            return "searching"
        return "stable" if self._warned is None else "warning"

    @property
    def signal_(self) -> str:
        """The signal that the detector is fed."""
        return self._watch.signal

    @property
    def log(self) -> DriftLog:
        """The log of drifts."""
        return self._watch.log

    @property
    def generation(self) -> int:
        """The number of models that were adopted."""
        return self._succession.generation

    @property
    def trial_(self) -> Trial | None:
        """The trial of the candidates; None without one."""
        return self._succession.trial

    @property
    def candidates_(self) -> tuple[str, ...]:
        """The names of the candidates on trial."""
        return tuple([name for name, _ in self._succession.candidates])

    @property
    def retired_(self) -> tuple[str, ...]:
        """The names of the retired models: the generation of each."""
        return tuple([name for name, _ in self._succession.retired])

    @property
    def clock(self) -> int:
        """The number of events that were learned."""
        return self._succession.clock

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables of all models, and of the events kept."""
        succession = self._succession
        models = [succession.model, *(model for _, model in (*succession.candidates, *succession.retired))]
        models += [] if self._shadow is None else [self._shadow]
        parts = (*models, succession.recent, succession.memory)
        return sum(part.memory_bytes for part in parts)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": NaiveBayes()}


def _classifier(model: RenewedModel) -> BayesClassifier:
    if isinstance(model, JOINT_NETWORKS):
        raise NotSupported(f"a {type(model).__name__} has no class to predict; model_ answers queries")
    return model
