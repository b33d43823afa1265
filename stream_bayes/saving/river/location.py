"""The location of a value in a model: for messages, and for learners, whose arrays are stored apart from the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

from numpy.typing import NDArray

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadState, CannotSave
from stream_bayes.learners.base.state import LearnerContent

__all__ = ["MAX_DEPTH", "RIVER", "Location"]

RIVER = version("river")
# Objects within objects: each takes up to five of the levels that `sections` leaves around payloads.
MAX_DEPTH = 16


@dataclass(frozen=True)
class Location:
    """The location of a value in a model.

    Examples
    --------
    >>> print(Location().step("StandardScaler").at("means"))
    step 'StandardScaler', means
    >>> Location().step("StandardScaler").at("means").altered("a number", "five")
    BadState("step 'StandardScaler', means: the state was altered: expected a number, got 'five'")
    """

    names: tuple[str, ...] = ()
    depth: int = 0
    # Those to be written, and what they held.
    learners: list[tuple[dict[str, Any], LearnerContent]] = field(default_factory=list)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)  # of the whole state that is read
    taken: set[str] = field(default_factory=set)  # names of those that were given back
    of_learner: dict[str, list[str]] = field(default_factory=dict)  # their names, by the learner's number
    saved_with: str | None = None  # the version of River that wrote the state that is read

    def __str__(self) -> str:
        return ", ".join(self.names) or "the model"

    def take_arrays(self, learner: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a learner by its number, and record that they were given back."""
        if not self.of_learner:
            for name in self.arrays:
                self.of_learner.setdefault(name.partition("-")[0], []).append(name)
        names = self.of_learner.get(str(learner), [])
        self.taken.update(names)
        return {name.partition("-")[2]: self.arrays[name] for name in names}

    def at(self, name: str) -> Location:
        """Return the location of an attribute here."""
        return replace(self, names=(*self.names, name))

    def step(self, name: object) -> Location:
        """Return the location of a step of a pipeline, or of another named part."""
        return self.at(f"step {shown(name)}")

    def inside(self) -> Location:
        """Return the same location, one object deeper. Raise `CannotSave` beyond the limit."""
        if self.depth == MAX_DEPTH:
            raise CannotSave(f"{self}: more than {MAX_DEPTH} objects stand within one another; nest fewer")
        return replace(self, depth=self.depth + 1)

    def cannot_save(self, why: str) -> CannotSave:
        """Return the error for a value here that no snapshot can hold."""
        return CannotSave(f"{self}: {why}")

    def other_parts(self, instance: object, which: str) -> CannotSave | BadState:
        """Return the error for an object here that this version of River keeps in parts that are not known.

        Examples
        --------
        >>> Location().other_parts(1.5, "numerator")
        CannotSave('the model: River ... keeps a float in other parts than are known here: numerator; use River 0.26')
        >>> Location(saved_with="0.26.1").other_parts(1.5, "numerator")
        BadState('the model: the state was saved with River 0.26.1, and River ... keeps a float in other parts: \
numerator; load it with River 0.26.1, or start over without it')
        """
        kind = type(instance).__name__
        if self.saved_with is None:
            return self.cannot_save(
                f"River {RIVER} keeps a {kind} in other parts than are known here: {which}; use River 0.26"
            )
        return BadState(
            f"{self}: the state was saved with River {self.saved_with[:20]}, and River {RIVER} keeps a {kind} in other "
            f"parts: {which}; load it with River {self.saved_with[:20]}, or start over without it"
        )

    def altered(self, expected: str, got: object) -> BadState:
        """Return the error for a saved value here that was never written so."""
        return BadState(f"{self}: the state was altered: expected {expected}, got {shown(got)}")

    def fields(self, saved: object, *names: str) -> list[Any]:
        """Return the values of a JSON object that has exactly these names."""
        if not isinstance(saved, Mapping) or saved.keys() != set(names):
            raise self.altered(f"an object with {', '.join(names)}", saved)
        return [saved[name] for name in names]

    def items(self, saved: object) -> list[Any]:
        """Return the items of a JSON array."""
        if not isinstance(saved, list):
            raise self.altered("an array", saved)
        return saved
