"""The losses of the numbers that a model of events predicts, for each variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.measures.number_losses import NumberLosses
from stream_bayes.core.values.checks import expect, refusing_bad_state

__all__ = ["VariableErrors"]


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
