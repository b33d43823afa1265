"""The losses of several numbers of an event, for each variable or target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stream_bayes.core.measures.number_losses import NumberLosses
from stream_bayes.core.values.checks import expect, refusing_bad_state

__all__ = ["TargetErrors", "TargetMeasures", "VariableErrors"]


class VariableErrors:
    """Losses of predicted numbers by the name of their variable, in the order in which they came.

    `level` is that of the intervals that are scored.

    Examples
    --------
    >>> errors = VariableErrors(0.9)
    >>> errors.add([("price", {"mean": 2.0, "low": 0.0, "high": 4.0}, 3.0)], 1.0)
    >>> errors.by_name["price"].cumulative.rmse
    1.0
    """

    def __init__(self, level: float) -> None:
        self.level = level
        self.by_name: dict[str, NumberLosses] = {}

    def add(self, numbers: Iterable[tuple[str, Mapping[Any, float], float]], weight: float) -> None:
        """Score predictions of an event: the variable, the answer, and the number that it had."""
        for name, answer, number in numbers:
            if name not in self.by_name:
                self.by_name[name] = NumberLosses(self.level)
            self.by_name[name].update(number, answer, ..., weight)

    def state(self) -> dict[str, Any]:
        """Return the state: JSON values, and arrays under "arrays"; `load` is the inverse."""
        names = [*self.by_name]
        states = [losses.state() for losses in self.by_name.values()]
        arrays = {
            f"{k}_{name}": array for k, state in enumerate(states) for name, array in state["arrays"].items()
        }
        unanswered = [state["unanswered"] for state in states]
        return {"level": self.level, "names": names, "unanswered": unanswered, "arrays": arrays}

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state of the same level; raise `BadState` if it is not valid."""
        loaded: dict[str, NumberLosses] = {}
        with refusing_bad_state():
            names, unanswered, arrays = state["names"], state["unanswered"], dict(state["arrays"])
            expect(all(type(name) is str for name in names), "a variable with errors has no name")
            expect(len(set(names)) == len(names) == len(unanswered), "a variable has errors twice")
            for k, name in enumerate(names):
                parts = {
                    part: arrays.pop(f"{k}_{part}") for part in ("cumulative", "fading", "recent", "labels")
                }
                losses = loaded[name] = NumberLosses(self.level)
                losses.load({"level": state["level"], "unanswered": unanswered[k], "arrays": parts})
            expect(not arrays, "it has errors of further variables")
        self.by_name = loaded


class TargetMeasures(NamedTuple):
    """The measures of several targets together: the weight of their events alone, as each target has its own unit.

    Examples
    --------
    >>> TargetMeasures(3.0).as_dict()
    {}
    """

    weight: float

    def as_dict(self) -> dict[str, float]:
        """Return no measure; those of each target are in `TargetErrors.by_name`."""
        return {}


class TargetErrors(VariableErrors):
    """Losses of a stream whose events have several targets, by target.

    Examples
    --------
    >>> errors = TargetErrors(0.9)
    >>> errors.update((("rain", 3.0), ("river", 8.0)), {"rain": {"mean": 2.0, "low": 0.0, "high": 4.0}})
    >>> errors.by_name["rain"].cumulative.rmse, errors.by_name["river"].unanswered, errors.cumulative.weight
    (1.0, 1, 1.0)
    """

    def update(
        self,
        label: Iterable[tuple[Any, float]],
        answer: Mapping[Any, Any],
        predicted: object = ...,
        weight: float = 1.0,
    ) -> None:
        """Score one prediction: an answer for each target, empty for an event that was not answered."""
        self.add(((str(name), answer.get(name, {}), number) for name, number in label), weight)

    @property
    def unanswered(self) -> int:
        """The number of events without an answer, which were not scored."""
        return max((losses.unanswered for losses in self.by_name.values()), default=0)

    @property
    def cumulative(self) -> TargetMeasures:
        """The weight of all events."""
        return self._measures("cumulative")

    @property
    def windowed(self) -> TargetMeasures:
        """The weight of the newest 1,000 events."""
        return self._measures("windowed")

    @property
    def fading(self) -> TargetMeasures:
        """The weight of all events, where one weighs half after 1,000 further ones."""
        return self._measures("fading")

    def _measures(self, span: str) -> TargetMeasures:
        return TargetMeasures(
            max((getattr(losses, span).weight for losses in self.by_name.values()), default=0.0)
        )
