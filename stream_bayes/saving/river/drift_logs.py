"""The drift log and the answering model, read from the state of a drift-adaptive model without making the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stream_bayes.core.values.checks import refusing_bad_state
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.adaptive_regression import DriftAdaptiveRegression
from stream_bayes.saving.river.codecs import PLAIN, ListOf
from stream_bayes.saving.river.location import Location

__all__ = ["answering_state", "drift_logs"]


def drift_logs(state: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the entries of each drift log in what `model_state` or `state` returned; empty if nothing adapts to drift.

    Entries of timed work also hold its `seconds`.

    Raises
    ------
    BadState
        If the value in the place of a log is not a log.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.saving.river.model_state import model_state
    >>> drift_logs(model_state(DriftAdaptive(NaiveBayes()))), drift_logs(NaiveBayes().state())
    ([[]], [])
    """
    with refusing_bad_state():
        if state.get("learner") == DriftAdaptiveRegression.__name__:
            return [[dict(entry) for entry in state["reading"]["log"][0]]]
        return [_entries(attributes["_watch"]["log"]) for attributes in _adaptive(state.get("model"))]


def answering_state(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the state of the learner that predicts, from the `model_state` of a `DriftAdaptive`; None for others.

    Raises
    ------
    BadState
        If the value in the place of a learner is not a learner.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.saving.river.model_state import model_state
    >>> state = answering_state(model_state(DriftAdaptive(NaiveBayes())))
    >>> NaiveBayes.from_state(state).clock
    0
    """
    with refusing_bad_state():
        model = state.get("model")
        if not isinstance(model, Mapping) or model.get("class") != DriftAdaptive.__name__:
            return None
        answering = model["holds"]["_succession"]["model"]
        prefix = f"{answering['number']}-"
        arrays = {
            name.removeprefix(prefix): array
            for name, array in state["arrays"].items()
            if name.startswith(prefix)
        }
        return {**answering["state"], "arrays": arrays}


def _adaptive(json: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the saved attributes of each model that adapts to drift within a state's JSON."""
    if isinstance(json, Mapping):
        if json.get("class") == DriftAdaptive.__name__ and isinstance(json.get("holds"), Mapping):
            yield json["holds"]
            return
        for inner in json.values():
            yield from _adaptive(inner)
    elif isinstance(json, list):
        for inner in json:
            yield from _adaptive(inner)


def _entries(saved: Any) -> list[dict[str, Any]]:
    entries = [dict(entry) for entry in ListOf(PLAIN).decode(saved["entries"], None, Location())]
    seconds = dict(ListOf(PLAIN).decode(saved["seconds"], None, Location()))
    return [
        {**entry, "seconds": seconds[entry["number"]]} if entry["number"] in seconds else entry
        for entry in entries
    ]
