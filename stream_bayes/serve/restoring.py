"""Models from the snapshots that are handed over, in the service's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_bayes.core.measures.coverage_control import saved_sets
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.measures.number_losses import NumberLosses
from stream_bayes.core.measures.surprises import Surprises
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.saving.model_files import restored
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.serve.evaluation_json import evaluation_of
from stream_bayes.serve.event_model_answers import EventModelAnswers
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.serve.regressor_answers import RegressorAnswers
from stream_bayes.serve.views import View
from stream_bayes.streams.served_models.events import EVENT_CLASSES

__all__ = ["view_of"]


def view_of(
    snapshot: Snapshot,
    make: Callable[[], Any] | None,
    *,
    generation: int,
    moment: float,
    key: bytes | None = None,
    decide: Callable[[Mapping[Any, float]], Any] | None = None,
) -> tuple[View, dict[str, Any]]:
    """Return the view that a snapshot holds, and the measures of its predictions; none if it has no scores.

    `make` makes a model as the saved one was made; needed for pipelines of River. `generation` is the number of times
    that the model was replaced. `moment` is when the snapshot was taken, in seconds since 1970. `key` is that of a
    filter's hashed tokens. `decide` is the pipeline's decision from probabilities; None for the model's own.

    Raises
    ------
    StreamBayesError
        If the state is not valid, or of a class that needs `make`.
    """
    state, scores = snapshot.sections["model"], snapshot.sections.get("losses")
    sets = saved_sets(snapshot.sections.get("sets"))
    surprises = _surprises(snapshot.sections.get("surprises"))
    level = None if scores is None else scores.get("level")  # that of intervals of numbers

    def copy() -> ModelAnswers:
        model = _model(snapshot.learner, state, make, key)
        if isinstance(model, EVENT_CLASSES):
            return EventModelAnswers(model, surprises)
        return (
            RegressorAnswers(model, level)
            if isinstance(model, BayesRegressor)
            else ModelAnswers(model, decide, sets, surprises)
        )

    positions = [[*part, at] for part, at in snapshot.positions.items()]
    view = View(copy, generation, positions, snapshot.clock, moment)
    evaluation: dict[str, Any] = {}
    if scores is not None:
        losses = Losses() if level is None else NumberLosses(level)
        losses.load(scores)
        evaluation = evaluation_of(losses)
    return view, evaluation


def _surprises(saved: Any) -> Surprises | None:
    if saved is None:
        return None
    surprises = Surprises()
    surprises.load(saved)
    return surprises


def _model(name: str, state: Mapping[str, Any], make: Callable[[], Any] | None, key: bytes | None) -> Any:
    model = restored(name, state, key)
    if model is not None:
        return model
    from stream_bayes.errors import NotSupported
    from stream_bayes.saving.river.drift_logs import answering_state
    from stream_bayes.saving.river.model_state import restore_model

    answering = answering_state(state)
    if answering is not None and (model := restored(str(answering["learner"]), answering)) is not None:
        return model
    if make is None:
        raise NotSupported(
            f"a {name} can be served only by the pipeline that made it: add [serve] to its file, or run with --serve"
        )
    return restore_model(make(), state)
