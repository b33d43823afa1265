"""The one function that makes a snapshot of a model, for files, comparisons, services and topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.saving.snapshots.snapshot import Snapshot

__all__ = ["SECTION", "has_own_state", "snapshot_of"]

SECTION = "model"


def snapshot_of(
    model: Any,
    *,
    learner: str | None = None,
    clock: int | None = None,
    beside: Mapping[str, Mapping[str, Any]] | None = None,
    **others: Any,
) -> Snapshot:
    """Return a snapshot of a model as it is now. `model` is as `save` takes it. `learner` is the name of the class that
    reads the state; None: that of the model. `clock` is the number of events processed; None: those that the model has
    learned. `beside` are further sections, such as the losses of a comparison; `others` as `Snapshot` takes them.

    Raises
    ------
    CannotSave
        If a part of the model cannot be saved; the message names it.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "rain")
    >>> snapshot_of(model).clock
    1
    """
    if has_own_state(model):
        state = model.state()
    else:
        from stream_bayes.saving.river.model_state import model_state  # loads River's detectors, for a second

        state = model_state(model)
    sections = {SECTION: state, **(beside or {})}
    clock = _events_learned(model) if clock is None else clock
    return Snapshot(learner=learner or type(model).__name__, sections=sections, clock=clock, **others)


def has_own_state(model: Any) -> bool:
    """Return True for a learner or filter of this package, which writes its state itself."""
    # A pipeline of River passes for an instance of its last step's class, so its own type counts.
    return hasattr(type(model), "from_state")


def _events_learned(model: Any) -> int:
    """Return the number of events that a model has learned; 0 if it does not count them."""
    if hasattr(type(model), "learn_one") and hasattr(model, "steps"):  # a pipeline
        return _events_learned(next(reversed(model.steps.values())))
    clock = getattr(model, "clock", 0)
    return clock if type(clock) is int and hasattr(type(model), "clock") else 0
