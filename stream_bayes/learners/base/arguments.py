"""Checks of constructor arguments: a bad one raises when a learner is made, not at its thousandth event.

Names of features can only be checked later: `warn_of_absent` warns of those that do not come.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from stream_bayes.checked_names import closest
from stream_bayes.core.values.durations import seconds_of
from stream_bayes.core.values.values import Value, canonical, canonical_label, shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import (
    BadValue,
    NeverMet,
    NumbersMoved,
    ReadOnlyArgument,
    SchemaError,
    TooManyValues,
)

__all__ = [
    "AroundLearner",
    "ReadOnlyArguments",
    "WithLearnersArguments",
    "argument_names",
    "check_choice",
    "check_class_prior",
    "check_count",
    "check_half_life",
    "check_name",
    "check_number",
    "check_seed",
    "declared_classes",
    "warn_of_absent",
    "warn_of_many_values",
    "warn_of_moved_numbers",
]


UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@lru_cache(maxsize=256)
def argument_names(init: Callable[..., None]) -> tuple[str, ...] | None:
    """Return the names of the arguments of a constructor; None if some have no name."""
    _, *parameters = inspect.signature(init).parameters.values()
    if any(parameter.kind in UNNAMED for parameter in parameters):
        return None
    return tuple([parameter.name for parameter in parameters])


class AroundLearner:
    """A learner around another one, `learner`: the template of what it learns with."""

    learner: Any

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return a new one with the same arguments, except the given ones; unknown ones are its learner's.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes, SlidingWindow
        >>> SlidingWindow(NaiveBayes(), 100).clone({"size": 50, "strength": 0.5}).learner.strength
        0.5
        """
        own: Any = self
        arguments: dict[str, Any] = own._get_params()
        changes = dict(new_params or {})
        learner = changes.pop("learner", self.learner)
        if isinstance(learner, tuple):  # a class and arguments, as River passes on nested models
            learner = learner[0](**learner[1])
        inner = {name: changes.pop(name) for name in [*changes] if name not in arguments}
        return type(self)(**(arguments | changes | {"learner": learner.clone(inner)}))


class WithLearnersArguments(AroundLearner):
    """A learner around another one, whose shared arguments are its own."""

    @property
    def half_life(self) -> float | str | None:
        """The learner's."""
        return self.learner.half_life

    @property
    def schema(self) -> Schema | None:
        """The learner's."""
        return self.learner.schema

    @property
    def max_values(self) -> int | None:
        """The learner's."""
        return self.learner.max_values

    @property
    def memory_budget(self) -> int | None:
        """The learner's: that of each learner that it has."""
        return self.learner.memory_budget


class ReadOnlyArguments:
    """A learner whose arguments are set once, by its constructor: a later assignment would change nothing."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ and name in (argument_names(type(self).__init__) or ()):
            raise ReadOnlyArgument(
                f"{name} of a {type(self).__name__} was used when it was made, and cannot be changed; make another one "
                f"with clone(new_params={{{name!r}: {shown(value)}}}), which has learned nothing"
            )
        super().__setattr__(name, value)


def check_number(name: str, value: object, *, least: float = 0.0, above: bool = False) -> None:
    """Raise `BadValue` for anything but a finite number of at least `least`, or above it."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and _is_finite(value)
    if not good or value < least or (above and value == least):  # type: ignore[operator]  # good: it is a number
        raise BadValue(
            f"{name} must be a finite number {'above' if above else 'of at least'} {least:g}, not {shown(value)}"
        )


def _is_finite(value: float) -> bool:
    """Return True for a number that a float can hold; a whole one from a file may have any number of digits."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_half_life(value: object) -> None:
    """Raise `BadValue` for anything but None, a finite number of events above 0, or a duration such as "7d"."""
    if isinstance(value, str):
        seconds_of("half_life", value)
    elif value is not None:
        check_number("half_life", value, above=True)


def check_count(name: str, value: object) -> None:
    """Raise `BadValue` for anything but a whole number of at least 1 that a machine can count to."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**63:
        below = " and below 2**63" if isinstance(value, int) and value >= 2**63 else ""
        raise BadValue(f"{name} must be a whole number of at least 1{below}, not {shown(value)}")


def check_seed(seed: object) -> None:
    """Raise `BadValue` for anything but a whole number from 0 to 2**63 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise BadValue(f"seed must be a whole number from 0 to 2**63 - 1, not {shown(seed)}")


def check_name(argument: str, name: object) -> None:
    """Raise `BadValue` for anything but a feature's name, or None."""
    if name is not None:
        try:
            canonical(name)
        except BadValue as error:
            raise BadValue(f"{argument} must be a feature's name or None: {error}") from None


def check_choice(name: str, value: object, choices: Sequence[Hashable]) -> None:
    """Raise `BadValue` for anything but one of the choices."""
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise BadValue(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_class_prior(value: object) -> None:
    """Raise `BadValue` for anything but `"counted"`, `"uniform"`, or `{label: p}` with probabilities that sum to 1."""
    if not isinstance(value, Mapping):
        if type(value) is not str or value not in ("counted", "uniform"):
            raise BadValue(
                f"class_prior must be 'counted', 'uniform' or {{label: probability}}, not {value!r}"
            )
        return
    for label, p in value.items():
        canonical_label(label)
        check_number(f"class_prior[{label!r}]", p)
    if not math.isclose(sum(value.values()), 1.0, rel_tol=1e-9):
        raise BadValue(f"the probabilities of class_prior must sum to 1, not {sum(value.values())!r}")


def declared_classes(schema: Schema | None, class_prior: object) -> tuple[object, ...] | None:
    """Return the classes that the schema or the given prior declares; both must name the same."""
    of_prior = tuple(class_prior) if isinstance(class_prior, Mapping) else None
    declared = None if schema is None else schema.classes
    if of_prior is not None and declared is not None and set(of_prior) != set(declared):
        raise SchemaError(f"class_prior names the classes {of_prior!r}, the schema {declared!r}")
    return of_prior if declared is None else declared


def warn_of_absent(what: str, absent: Sequence[Value], events: int, features: Sequence[Value]) -> None:
    """Warn of each name that no feature has had. `what` is the role of the names, as in a sentence. `features` are
    those that have come.
    """
    there = [str(name) for name in features]
    for name in absent:
        warnings.warn(
            f"{what} {name!r} has not come in {events:,} events, and is left out until it does"
            f"{closest(str(name), there)} There are {', '.join(there)}",
            NeverMet,
            stacklevel=2,
        )


def warn_of_many_values(name: Value, values: int, events: int) -> None:
    """Warn of a feature that is like an id."""
    warnings.warn(
        f"feature {name!r} has {values:,} values in {events:,} events: one like an id is no evidence for later events, "
        f"and the tables grow with each value. Leave it out (--ignore {name!r} of a command, Discard({name!r}) | ... "
        "in Python), bound it with max_values, or declare the features to learn in a schema",
        TooManyValues,
        stacklevel=2,
    )


def warn_of_moved_numbers(name: Value, first: float, last: float) -> None:
    """Warn of a feature whose numbers have left the cuts of its bins."""
    warnings.warn(
        f"the newest numbers of feature {name!r} are nearly all in two of its bins, which were cut from {first!r} to "
        f"{last!r}: they have moved since, and tell little any more. Cuts are set from the first numbers, and stay: "
        "take Binning(moving=True), which sets them anew, or AdaptiveBayes, which follows numbers that move; or "
        "declare cuts that hold, as Numeric(cuts=[...]) in a schema",
        NumbersMoved,
        stacklevel=2,
    )
