"""Replacing the model after a drift: search, catch up, trial, adopt.

    searching --found--> catching up --has learned all--> on trial --judged--> adopted, or refused

A search is a pure function of its input, and its result is taken at a known event. From its trial on a candidate
predicts and learns each event. After `judge_after` events the best candidate is adopted if its loss on them was less
beyond doubt; if not, the trial doubles, until all candidates are refused.

If the world changes again during a trial, its candidates are given up for candidates that begin with the newer change.
If it changes during a search, that search's trial comes first.

With `renew`, candidates are also tried without a drift (`renewal`). A drift ends a renewal at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.values import Value
from stream_bayes.drift.candidates import (
    FRESH,
    GROWN,
    RECALLED,
    REFITTED,
    Executor,
    RunningSearch,
    SearchTask,
    basis_of,
    share_names,
)
from stream_bayes.drift.family_changes import FamilyChange
from stream_bayes.drift.log import change_between
from stream_bayes.drift.recall import FamilyMemory, Proposal
from stream_bayes.drift.recent_events import (
    JOINT_NETWORKS,
    JointNetwork,
    RecentEvents,
    RenewedModel,
    fresh_twin,
    grows,
    has_densities,
    joint_network_of,
    rederive,
)
from stream_bayes.drift.remembered_families import EventNetwork
from stream_bayes.drift.renewal import RenewalSchedule
from stream_bayes.drift.trial import DOUBT, Trial
from stream_bayes.drift.watch import DriftWatch
from stream_bayes.errors import BudgetExceeded, StreamBayesError
from stream_bayes.learners.base.base import X
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.learners.base.edges import edge_name
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.mixed_network import MixedNetwork

__all__ = ["Succession", "SuccessionSettings", "bounded", "score_of"]

FRESH_DOUBT = 3.0  # standard errors by which it must be better
FRESH_LASTING = 0.75  # share of its mean gain that it must keep in a second trial, twice as long
CATCH_UP = 64  # events that a candidate learns at once, of those that came during its search

MOST_SURPRISE = 100.0  # nats of one event, of a network without a class

Candidate = tuple[str, RenewedModel]


class SuccessionSettings(NamedTuple):
    """Settings of a succession: arguments of `DriftAdaptive`, which documents them."""

    learner: RenewedModel
    policy: str
    search: ScoreSearch
    search_delay: int
    window: int
    judge_after: int
    trials: int
    margin: float
    retired: int
    renew: bool


class Succession:
    """The present model, the candidates for its place, and the models that it replaced. The watch over the present
    model records what happens, and is reset after a drift.
    """

    def __init__(self, settings: SuccessionSettings, watch: DriftWatch) -> None:
        self.settings = settings
        self.watch = watch
        self.model: RenewedModel = settings.learner.clone()
        self.recent = RecentEvents(self.model, settings.window)
        self.clock = 0  # events learned
        self.generation = 0  # models adopted
        self.task: SearchTask | None = None
        self.candidates: list[Candidate] = []
        self.trial: Trial | None = None
        self.retired: list[Candidate] = []
        self.memory = FamilyMemory(settings.retired, settings.judge_after << (settings.trials - 1))
        self.changed_again: int | None = None  # the first event after a change during a search or a trial
        self.since = 1  # the first event of the present world
        self.is_renewing = False  # True while a candidate is searched or tried without a drift
        grows_here = isinstance(self.model, (BayesNetClassifier, BayesNet)) and not grows(self.model)
        self.renewals = RenewalSchedule(
            searches=grows_here and settings.policy != "refit" and settings.renew,
            tries_fresh=settings.renew and watch.changes is None,
            window=settings.window,
            judge_after=settings.judge_after,
        )
        self.executor: Executor | None = None
        self.running: RunningSearch | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "executor": None, "running": None}

    def record(self, what: str, **fields: Any) -> None:
        """Add an entry to the log, at the present event."""
        self.watch.record(what, self.clock, **fields)

    # -- search -------------------------------------------------------------------------------------------------------

    def search_on(self, executor: Executor | None) -> None:
        """Run searches on an executor; None: in the loop. A search that is under way begins anew there."""
        self.executor, self.running = executor, None
        if self.task is not None:
            self._start(self.task)

    def search(self, since: int, only: tuple[Value, ...] = ()) -> None:
        """Search a candidate for the events since a change; in a network only some families may change."""
        settings = self.settings
        self.drop_renewal()
        trial = Trial(self.clock, since, self.clock, settings.judge_after)
        try:
            basis = basis_of(settings.policy, settings.learner, self.model, only)
        except StreamBayesError as error:
            self.record("unfinished", since=since, candidate=settings.policy, why=str(error))
            basis = None
        if basis is None:
            self.catch_up(trial)
            return
        events = self.recent.since(0 if basis.is_whole else since)
        self.task = SearchTask(self.clock, since, basis, events, settings.search, only)
        if not settings.search_delay:
            self._join(self.task)

    def refit(self, changed: Sequence[FamilyChange], since: int) -> None:
        """Count changed families of a network again, each since its change; then try what the policy makes besides.

        The evidence of the change is that a table of the events after it predicts these better, one after another, so
        no trial is needed. The model before is retired, unless another change is being followed.
        """
        model = self.model
        assert isinstance(model, JOINT_NETWORKS)
        if self.is_renewing:
            self.drop_renewal()
        is_first = self.trial is None and self.task is None
        leaving = None
        if is_first and self.settings.retired:
            before = self.recent.model_before(since)
            leaving = f"retired {self.generation}", fresh_twin(before) if before is model else before
        network = joint_network_of(model)
        for one in changed:  # the family in which the change was found is not proposed itself
            self.memory.propose(network, one.variable, one.since)
            self.memory.remember(network, one.variable, one.since, self.recent)
        self._recount(model, {one.variable: one.since for one in changed})
        self.generation += 1
        self.record(
            "adopted", since=since, candidate=REFITTED, structure=change_between(model, model), events=0
        )
        if not is_first:
            self.trial = None if self.trial is None else self.trial.begun_again(self.settings.judge_after)
        elif self.settings.policy == "refit":
            self.catch_up(Trial(self.clock, since, self.clock, self.settings.judge_after))
        else:
            self.search(
                since, tuple([one.variable for one in changed]) if self.settings.policy == "search" else ()
            )
        if leaving is not None:
            self.retired = [*self.retired, leaving][-self.settings.retired :]

    def recall(self, network: EventNetwork, proved: Sequence[Proposal]) -> None:
        """Add what is remembered and has predicted better to the families that have returned to it."""
        for one in proved:
            try:
                one.family.add_to(network)
            except BudgetExceeded as error:
                self.record(
                    "unfinished", since=one.since, candidate=RECALLED, events=one.events, why=str(error)
                )
                continue
            self.generation += 1
            self.record(
                "adopted",
                since=one.since,
                candidate=RECALLED,
                structure=change_between(self.model, self.model),
                score=one.score,
                events=one.events,
                families=[edge_name(one.family.variable)],
                numbers={"log_evidence": one.gain},
            )
            if self.trial is not None and not self.is_renewing:
                self.trial = self.trial.without_gain(one.gain)

    def _remember_all(self, before: RenewedModel, model: RenewedModel, since: int) -> None:
        """Remember all families of a network that is replaced by one that counts the events since a change; propose
        them to the families that have the same parents.
        """
        assert isinstance(before, JOINT_NETWORKS) and isinstance(model, JOINT_NETWORKS)
        old, new = joint_network_of(before), joint_network_of(model)
        for name in new.structure:
            if name in old.structure:
                self.memory.remember(old, name, since, self.recent)
                self.memory.propose(new, name, since)

    def _recount(self, model: JointNetwork, starts: Mapping[Value, int]) -> None:
        """Count families of a network again, each from its first event after the change; copies as their variables."""
        network = joint_network_of(model)
        if isinstance(model, DynamicNetwork):
            copies = {
                copy: starts[v] for copy, v in model.copies.items() if v in starts and copy in model.structure
            }
            starts = {**starts, **copies}
        if isinstance(network, MixedNetwork):
            network.recount(starts, [(clock, row) for clock, row in self.recent.events()])
            return
        number, later = (
            len(self.recent),
            self.clock - model.clock,
        )  # clocks of the recent events and of the model
        events = self.recent.newest_codes(number)
        network.recount(
            {name: max(clock - later, 1) for name, clock in starts.items()},
            events.codes,
            events.weights,
            self.recent.newest_clocks(number) - later,
        )

    def _all_refitted(self, since: int) -> JointNetwork:
        """Return the present network with all tables counted again since a change."""
        model = self.model
        assert isinstance(model, JOINT_NETWORKS)
        twin = fresh_twin(model)
        self._recount(twin, dict.fromkeys(twin.structure, since))
        return twin

    def renew(self) -> None:
        """Search a candidate without a drift: a grown one or a fresh one, as is due."""
        settings = self.settings
        name, since = self.renewals.take(self.clock, self.since)
        try:
            basis = basis_of(name, settings.learner, self.model, keeps_structure=settings.policy == "refit")
        except StreamBayesError as error:
            self.record("unfinished", since=since, candidate=name, why=str(error))
            return
        assert basis is not None
        self.is_renewing = True
        self.task = SearchTask(self.clock, since, basis, self.recent.since(since), settings.search)
        if not settings.search_delay:
            self._join(self.task)

    def continue_renewal(self, x: X, y: Any, w: float, loss: float) -> None:
        """Go on with a renewal for one event: its search, or its trial."""
        if self.task is not None:
            self.continue_search(self.task)
        else:
            assert self.trial is not None
            self.try_candidates(x, y, w, loss, self.trial)

    def drop_renewal(self) -> None:
        """End a renewal, if there is one, wherever it is."""
        self.task = self.running = self.trial = None
        self.candidates, self.is_renewing = [], False

    def continue_search(self, task: SearchTask) -> None:
        """Go on with a search for one event: start it in the background, or take its result once it is due."""
        self._start(task)
        if self.clock >= task.begun + self.settings.search_delay:
            self._join(task)

    def _start(self, task: SearchTask) -> None:
        """Start a search on the executor, if there is one.

        It does not start in the event that made the task: the copy of the recent events is pause enough.
        """
        if self.running is None and self.executor is not None:
            self.running = self.executor.submit(task.run)

    def _join(self, task: SearchTask) -> None:
        """Take the result of a search; the stream waits for a late one."""
        timer = self.watch.log.timer
        begun = timer() if timer else 0.0
        result = task.run() if self.running is None else self.running.result()
        seconds = timer() - begun if timer else None
        self.task, self.running = None, None
        length = self.settings.judge_after
        if result.name == GROWN:
            if result.model is not None and _same_structure(result.model, self.model):
                self.is_renewing = False
                return
            length = max(length, result.events // 8)
        elif result.name == FRESH:
            length = self.renewals.first_fresh_trial
        if result.model is not None:
            self.candidates.append((result.name, result.model))
        else:
            self.record(
                "unfinished", since=task.since, candidate=result.name, events=result.events, why=result.why
            )
            if self.is_renewing:
                self.is_renewing = False
                return
        if self.settings.search_delay:
            events = len(task.events["window_labels"])
            self.record("searched", since=task.since, events=events, seconds=seconds)
        self.catch_up(Trial(task.begun, task.since, task.begun, length))

    # -- trial --------------------------------------------------------------------------------------------------------

    def catch_up(self, trial: Trial) -> None:
        """Let candidates learn some of the events since their search began; once they have learned all, try them."""
        models = [model for _, model in self.candidates]
        for model in models:
            share_names(model, self.model)
        caught = self.recent.catch_up(models, trial.caught, CATCH_UP) if models else self.clock
        self.trial = trial._replace(caught=caught)
        if caught < self.recent.newest:
            return
        if self.settings.policy == "search" and not models:
            twin = self.model.twin()
            rederive(twin)
            if twin.derived_state() == self.model.derived_state():
                self.record("refused", since=trial.since, candidate="search", why="nothing else is found")
            else:
                self.candidates.append(("search", twin))
        if not self.is_renewing:
            if self.watch.changes is not None:
                self.candidates.append(("refit", self._all_refitted(trial.since)))
            self.candidates += [(name, fresh_twin(model)) for name, model in self.retired]
        nothing = (0.0,) * len(self.candidates)
        self.trial = trial._replace(caught=caught, gains=nothing, squares=nothing)
        if not nothing:
            self._finish()

    def try_candidates(self, x: X, y: Any, w: float, loss: float, trial: Trial) -> None:
        """Let candidates predict and learn an event; judge them once there were enough."""
        if not trial.gains:
            self.catch_up(trial)
            return
        kept, losses = [], []
        for candidate in self.candidates:
            try:
                losses.append(_loss(candidate[1], x, y, w))
                kept.append(candidate)
            except StreamBayesError as error:
                index = len(kept)
                self._refuse(trial, index, candidate[0], str(error))
                trial = trial.without(index)
        self.candidates = kept
        if not kept:
            self._finish()
            return
        trial = self.trial = trial.with_losses(loss, losses)
        if trial.events < trial.length:
            return
        best = trial.best
        is_fresh = self._is_fresh
        is_better = trial.is_better(best, self.settings.margin, FRESH_DOUBT if is_fresh else DOUBT)
        mean = trial.gains[best] / trial.events
        if is_better and (not is_fresh or mean >= FRESH_LASTING * trial.earlier > 0.0):
            self._adopt(trial, best)
        elif trial.length < self._longest_trial(trial):
            self.trial = trial.doubled(mean if is_better else 0.0)
        else:
            self._refuse(trial, best, self.candidates[best][0], "it is no better")
            self._finish()

    def learn_unscored(self, x: X, w: float, trial: Trial) -> None:
        """Let candidates of a network without a class learn an event that could not be scored, and judges none."""
        if not trial.gains:
            self.catch_up(trial)
            return
        for _, candidate in self.candidates:
            assert isinstance(candidate, JOINT_NETWORKS)
            joint_network_of(candidate).learn_one(x, w)

    def give_up(self, trial: Trial) -> None:
        """End a trial whose candidates have learned a world that has changed again."""
        if trial.gains:
            best = trial.best
            self._refuse(trial, best, self.candidates[best][0], "the world has changed again")
        self._finish()

    def _refuse(self, trial: Trial, index: int, name: str, why: str) -> None:
        if name in (GROWN, FRESH):
            return  # nothing had changed, so that nothing is to be reported
        score = trial.score(index)
        self.record("refused", since=trial.since, candidate=name, score=score, events=trial.events, why=why)

    def _finish(self) -> None:
        """End a trial; if the world changed again meanwhile, search candidates since then."""
        was_renewing = self.is_renewing
        self.candidates, self.trial, self.is_renewing = [], None, False
        if not was_renewing:
            self.watch.reset()
        self._search_changed()

    def _search_changed(self) -> None:
        """Search candidates since a change during a search or a trial, if there was one."""
        since, self.changed_again = self.changed_again, None
        if since is not None:
            self.search(since)

    @property
    def _is_fresh(self) -> bool:
        return bool(self.candidates) and self.candidates[0][0] == FRESH

    def _longest_trial(self, trial: Trial) -> int:
        if self.is_renewing:
            events = min(trial.begun - trial.since + 1, self.settings.window)
            return max(events, 2 * self.renewals.first_fresh_trial) if self._is_fresh else events // 2
        return self.settings.judge_after << (self.settings.trials - 1)

    def _adopt(self, trial: Trial, best: int) -> None:
        """Replace the present model by a candidate, and keep it among the retired ones."""
        (name, model), before = self.candidates[best], self.model
        was_retired, most = name.startswith("retired"), self.settings.retired
        by_family = self.watch.changes is not None  # then the model before is retired already
        leaving = (
            self.recent.model_before(trial.since) if most and name != GROWN and not by_family else before
        )
        self.memory.drop_proposals()
        if by_family and not was_retired and name not in (GROWN, "search"):
            self._remember_all(before, model, trial.since)
        if not was_retired and name != "refit":
            rederive(model)
        if was_retired:
            self.recent = RecentEvents(model, self.settings.window)  # its codes differ
            self.changed_again = None  # it has shown that it fits the present world
        else:
            share_names(model, before)
            self.recent.move(model, 0 if name == "search" else trial.since)
        others = [candidate for candidate in self.retired if candidate[0] != name]
        if name != GROWN:  # that one replaces a model of the same world
            if not by_family:
                others.append((f"retired {self.generation}", leaving))
            self.since = self.clock + 1 if was_retired or name == "search" else trial.since
            self.renewals.begin(self.clock, self.since)
        self.retired = others[max(len(others) - most, 0) :]
        if isinstance(model, DynamicNetwork) and isinstance(before, DynamicNetwork):
            model.take_sequences(before)
        self.model = model
        self.generation += 1
        self.record(
            "adopted",
            since=trial.since,
            candidate=name,
            structure=change_between(before, model),
            score=trial.score(best),
            events=trial.events,
        )
        self._finish()


def _loss(model: RenewedModel, x: X, y: Any, w: float) -> float:
    """Return what a model loses on an event before it learns it: of a network without a class, its surprise."""
    if isinstance(model, JOINT_NETWORKS):
        score = score_of(model, x)
        joint_network_of(model).learn_one(x, w)
        return bounded(model, score)
    return log_loss(model.predict_learn_one(x, y, w), y)


def score_of(model: JointNetwork, x: X) -> float:
    """Return the surprise of an event; for a network in time, of an event with the copies of its past, given these."""
    return 0.0 - model.judged_after(x)[0] if isinstance(model, DynamicNetwork) else model.score_one(x)


def bounded(model: JointNetwork, score: float) -> float:
    """Return the loss of a surprise. That of numbers is finite, and its size depends on their units."""
    return score if has_densities(model) else min(max(score, 0.0), MOST_SURPRISE)  # rounding may end below 0


def _same_structure(one: RenewedModel, other: RenewedModel) -> bool:
    """Return True if two networks have equivalent structures."""
    kinds = (BayesNetClassifier, BayesNet)
    assert isinstance(one, kinds) and isinstance(other, kinds)
    mine, theirs = one.structure, other.structure
    if mine is None or theirs is None or mine.variables != theirs.variables:
        return mine == theirs
    return mine.same_equivalence_class(theirs)
