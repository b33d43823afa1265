"""A classifier that answers as another one does, which may be exchanged.

How another model comes to answer: it is searched for, catches up, is tried beside the present one, and takes over.

    searching --found--> catching up --knows all--> on trial --judged--> adopted, or refused

A search is a function of its input alone, and taken at a known event. From its trial on a candidate predicts and learns
each event. After `judge_after` events the best one takes over if it lost less on these beyond doubt; if not, the trial
is as long again, twice, and so on, until all are refused.

Where the world changes again meanwhile, what has learned the one before is given up at once for candidates that begin
with the newer change; what is still searched for has its trial first.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from river import base

from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.values.values import Value
from stream_bayes.data.frames import Native
from stream_bayes.drift.candidates import (
    POLICIES,
    Basis,
    Beside,
    Running,
    SearchTask,
    basis_of,
    share_names,
)
from stream_bayes.drift.log import DriftLog, change_between
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.drift.trial import Trial
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.classifier.base import BayesClassifier, X
from stream_bayes.learners.classifier.explanation import Explanation
from stream_bayes.learners.classifier.predictions import log_loss

__all__ = ["PresentModel", "Succession"]


class PresentModel(base.MiniBatchClassifier):
    """What is asked goes to the model that answers now."""

    _model: BayesClassifier

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """P(y | x) of each class, empty before any learning."""
        return self._model.predict_proba_one(x)

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """The most probable class, None before any learning; a tie goes to the first by name."""
        return self._model.predict_one(x)

    def predict_proba_many(self, X: Native) -> Any:
        """The probabilities of many rows, in kind, as the model that answers now gives them."""
        return self._model.predict_proba_many(X)

    def predict_many(self, X: Native) -> Any:
        """The most probable class of many rows: a series for a data frame, a list for anything else."""
        return self._model.predict_many(X)

    def explain_one(self, x: X) -> Explanation:
        """What each feature says for each class, by the model that answers now."""
        return self._model.explain_one(x)

    @property
    def model_(self) -> BayesClassifier:
        """The learner that answers now."""
        return self._model

    @property
    def _multiclass(self) -> bool:
        return True


CATCH_UP = 64  # events that a candidate learns at once, of those that came while it was searched for

Candidate = tuple[str, BayesClassifier]


class Succession(PresentModel):
    """A model, the candidates for its place, and those that had it before. Who notices a change calls `_look`."""

    learner: BayesClassifier
    policy: str
    search: HillClimbing | None
    search_delay: int
    window: int
    judge_after: int
    trials: int
    margin: float
    retired: int

    def _begin(self) -> None:
        """Have a model that has learned nothing, and no candidates."""
        self._model = self.learner.clone()
        self._task: SearchTask | None = None
        self._rung = 0
        self._running: Running | None = None
        self._beside: Beside | None = None
        self._candidates: list[Candidate] = []
        self._trial: Trial | None = None
        self._retired: list[Candidate] = []
        self._again: int | None = None  # the first event after a change that came during a search or a trial
        self._recent = RecentEvents(self._model, self.window)
        self._clock = 0
        self.generation = 0
        self.log = DriftLog()

    @abstractmethod
    def _note(self, what: str, families: list[str] | None = None, **told: Any) -> None:
        """Write down what happens."""

    @abstractmethod
    def _settle(self) -> None:
        """Forget what was noticed so far, as it has been dealt with."""

    # -- searching ----------------------------------------------------------------------------------------------------

    def search_on(self, beside: Beside | None) -> None:
        """Let searches with a `search_delay` run beside the stream, on an executor; None: in its loop.

        Parameters
        ----------
        beside
            A `concurrent.futures.Executor`, or anything else whose `submit(work)` returns what has a `result()`. It is
            no part of the model's state: after a restart, say it again.
        """
        self._beside, self._running = beside, None
        if self._task is not None:
            self._start(self._task)

    def _look(self, since: int, rung: int, only: tuple[Value, ...] = ()) -> None:
        """Have the candidates of a rung of the ladder made; of a network only some families may change."""
        bases: list[Basis] = []
        for name in POLICIES[self.policy][rung]:
            try:
                basis = basis_of(name, self.learner, self._model, only)
            except StreamBayesError as error:
                self._note("unfinished", since=since, candidate=name, why=str(error))
                continue
            bases += [] if basis is None else [basis]
        oldest = 0 if any(basis.whole for basis in bases) else since
        search = HillClimbing() if self.search is None else self.search
        self._rung = rung
        self._task = SearchTask(self._clock, since, tuple(bases), self._recent.since(oldest), search, only)
        if not self.search_delay or not bases:
            self._join(self._task)

    def _start(self, task: SearchTask) -> None:
        """Have a search run beside the stream, if there is such a place; not in the event that made it, whose copy of
        the events kept is pause enough.
        """
        if self._running is None and self._beside is not None:
            self._running = self._beside.submit(task.run)

    def _join(self, task: SearchTask) -> None:
        """Take what a search has found; the stream waits for one that is late."""
        timer = self.log.timer
        begun = timer() if timer else 0.0
        found = task.run() if self._running is None else self._running.result()
        seconds = timer() - begun if timer else None
        self._task, self._running = None, None
        for one in found:
            if one.model is None:
                self._note("unfinished", since=task.since, candidate=one.name, events=one.events, why=one.why)
            else:
                self._candidates.append((one.name, one.model))
        if self.search_delay and found:
            events = len(task.events["window_labels"])
            self._note("searched", since=task.since, events=events, seconds=seconds)
        self._catch_up(Trial(task.begun, task.since, self._rung, task.begun, self.judge_after))

    def _catch_up(self, trial: Trial) -> None:
        """Let candidates learn some of what came while they were searched for; once they know all, try them."""
        models = [model for _, model in self._candidates]
        for model in models:
            share_names(model, self._model)
        caught = self._recent.catch_up(models, trial.caught, CATCH_UP) if models else self._clock
        self._trial = trial._replace(caught=caught)
        if caught < self._recent.newest:
            return
        if "search" in POLICIES[self.policy][trial.rung] and not models:
            twin = self._model._twin()
            twin.rederive()
            if twin._derived() == self._model._derived():
                self._note("refused", since=trial.since, candidate="search", why="nothing else is found")
            else:
                self._candidates.append(("search", twin))
        if trial.rung == 0:
            self._candidates += [(name, model._twin()) for name, model in self._retired]
        nothing = (0.0,) * len(self._candidates)
        self._trial = trial._replace(caught=caught, gains=nothing, squares=nothing)
        if not nothing:
            self._go_on(self._trial)

    # -- trials -------------------------------------------------------------------------------------------------------

    def _try(self, x: X, y: Any, w: float, loss: float, trial: Trial) -> None:
        if not trial.gains:
            self._catch_up(trial)
            return
        kept, losses = [], []
        for candidate in self._candidates:
            try:
                losses.append(log_loss(candidate[1].predict_learn_one(x, y, w), y))
                kept.append(candidate)
            except StreamBayesError as error:
                place = len(kept)
                self._refuse(trial, place, candidate[0], str(error))
                trial = trial.without(place)
        self._candidates = kept
        if not kept:
            self._go_on(trial)
            return
        trial = self._trial = trial.with_losses(loss, losses)
        if trial.events < trial.length:
            return
        best = trial.best
        if trial.is_better(best, self.margin):
            self._adopt(trial, best)
        elif trial.length < self.judge_after * 2 ** (self.trials - 1):
            self._trial = trial.again()
        else:
            self._refuse(trial, best, self._candidates[best][0], "it is no better")
            self._go_on(trial)

    def _go_on(self, trial: Trial) -> None:
        """Climb to the next rung of the ladder; after the last the present model stays."""
        if trial.rung + 1 < len(POLICIES[self.policy]) and self._again is None:
            self._candidates, self._trial = [], None
            self._look(trial.since, trial.rung + 1)
        else:
            self._leave()

    def _give_up(self, trial: Trial) -> None:
        """Leave a trial of candidates that have learned a world which is gone."""
        if trial.gains:
            best = trial.best
            self._refuse(trial, best, self._candidates[best][0], "the world has changed again")
        self._leave()

    def _refuse(self, trial: Trial, place: int, name: str, why: str) -> None:
        score = trial.score(place)
        self._note("refused", since=trial.since, candidate=name, score=score, events=trial.events, why=why)

    def _leave(self) -> None:
        """After a trial, be stable; where the world changed again meanwhile, look for candidates since then."""
        self._candidates, self._trial = [], None
        self._settle()
        since, self._again = self._again, None
        if since is not None:
            self._look(since, 0)

    def _adopt(self, trial: Trial, best: int) -> None:
        """Let a candidate take over, and keep the model that answered so far."""
        (name, model), before = self._candidates[best], self._model
        is_retired = name.startswith("retired")
        leaving = self._recent.model_before(trial.since) if self.retired else before
        if not is_retired and name != "refit":
            model.rederive()
        if is_retired:
            self._recent = RecentEvents(model, self.window)  # its codes are others
            self._again = None  # it has shown that it knows the world of now
        else:
            share_names(model, before)
            self._recent.move(model, 0 if name == "search" else trial.since)
        others = [candidate for candidate in self._retired if candidate[0] != name]
        others.append((f"retired {self.generation}", leaving))
        self._retired = others[max(len(others) - self.retired, 0) :]
        self._model = model
        self.generation += 1
        self._note(
            "adopted",
            since=trial.since,
            candidate=name,
            structure=change_between(before, model),
            score=trial.score(best),
            events=trial.events,
        )
        self._leave()

    # -- reading the model --------------------------------------------------------------------------------------------

    @property
    def trial_(self) -> Trial | None:
        """How the candidates do, if there are any."""
        return self._trial

    @property
    def candidates_(self) -> tuple[str, ...]:
        """What is on trial."""
        return tuple([name for name, _ in self._candidates])

    @property
    def retired_(self) -> tuple[str, ...]:
        """The models that answered before and are kept, by the generation that each was."""
        return tuple([name for name, _ in self._retired])

    @property
    def clock(self) -> int:
        """How many events have been learned."""
        return self._clock

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_beside": None, "_running": None}
