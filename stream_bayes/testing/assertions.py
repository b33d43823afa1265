"""Assertions of the laws: two learners are the same, to the byte or in their counts and answers."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.state import CountLearner

__all__ = [
    "EXACT",
    "FLOAT",
    "Untouched",
    "changes_nothing",
    "refuses",
    "require",
    "same_bytes",
    "same_knowledge",
    "same_numbers",
    "same_probabilities",
    "state_bytes",
]

EXACT = 1e-12  # the largest difference of probabilities from equal counts: the rounding of a few operations
FLOAT = 1e-9  # of a sum of numbers, and of the largest weight: the tolerance of Promise.FLOATS
NEGLIGIBLE = 1e-200  # of the largest weight: what has faded so far may be 0 by rounding


def require(condition: object, message: str) -> None:
    """Raise AssertionError unless the condition holds, under `python -O` too."""
    if not condition:
        raise AssertionError(message)


def state_bytes(learner: CountLearner) -> bytes:
    """Return everything `state()` holds, as bytes: equal bytes mean equal to the bit."""
    state = dict(learner.state())
    arrays = state.pop("arrays")
    parts = [json.dumps(state, sort_keys=True).encode()]
    for name in sorted(arrays):
        array = arrays[name]
        parts.append(f"\n{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return b"".join(parts)


def same_bytes(one: CountLearner, other: CountLearner, what: str) -> None:
    """Require that two learners have the same pickle, to the byte.

    Then they have the same state: that a pickle loses nothing of it is a law of its own.
    """
    if pickle.dumps(one) != pickle.dumps(other):
        require(state_bytes(one) == state_bytes(other), f"{what}: the states differ")
        raise AssertionError(f"{what}: the states are equal, but the pickles differ")


class Untouched:
    """A learner that must not change: its pickle, and so its state, stays the same to the byte. Its present pickle is
    compared with after each trial.
    """

    def __init__(self, learner: CountLearner) -> None:
        self.learner: Any = learner  # a law reads the verbs of its kind
        self._pickled = pickle.dumps(learner)

    def check(self, what: str) -> None:
        """Raise AssertionError if the learner has changed, by `what`."""
        require(pickle.dumps(self.learner) == self._pickled, f"{what} changed the state")

    def refuses(
        self,
        actions: Mapping[str, Callable[[], object]],
        errors: type[Exception] | tuple[type[Exception], ...],
    ) -> None:
        """Require that each of these actions raises one of these errors, and that together they change nothing."""
        for what, action in actions.items():
            _require_error(action, errors, what)
        self.check(f"refusing {', '.join(actions)}")


@contextmanager
def changes_nothing(learner: CountLearner, what: str) -> Iterator[None]:
    """Require that a block leaves the learner as it is, to the byte."""
    untouched = Untouched(learner)
    yield
    untouched.check(what)


def refuses(
    learner: BayesClassifier,
    action: Callable[[], object],
    errors: type[Exception] | tuple[type[Exception], ...],
    what: str,
) -> None:
    """Require that an action raises one of these errors and changes nothing."""
    Untouched(learner).refuses({what: action}, errors)


def _require_error(
    action: Callable[[], object], errors: type[Exception] | tuple[type[Exception], ...], what: str
) -> None:
    try:
        action()
    except errors:
        return
    except Exception as error:
        raise AssertionError(
            f"{what}: raised {type(error).__name__} ({error}), expected {_named(errors)}"
        ) from error
    raise AssertionError(f"{what}: was accepted, expected {_named(errors)}")


def _named(errors: type[Exception] | tuple[type[Exception], ...]) -> str:
    return " or ".join(error.__name__ for error in (errors if isinstance(errors, tuple) else (errors,)))


def same_knowledge(
    one: BayesClassifier,
    other: BayesClassifier,
    probes: Iterable[Mapping[Any, Any]],
    what: str,
    *,
    exact: bool,
) -> None:
    """Require that two learners hold the same under the same names, and answer alike.

    With `exact`, counts are equal to the bit and probabilities to 1e-12; without, counts to 1e-9 of the largest, and
    probabilities to 1e-9. What numeric features hold are sums of real numbers, equal to 1e-9 of themselves. Learners
    that derive a structure do so before they answer; where answers depend on the order of events, only counts are
    compared.
    """
    mine, theirs = one.store.by_name(), other.store.by_name()
    numeric = any(isinstance(cell, tuple) for cell in (*mine.values(), *theirs.values()))
    counts = [cell for cell in (*mine.values(), *theirs.values()) if not isinstance(cell, tuple)]
    tolerance = 0.0 if exact else FLOAT * max(counts, default=0.0)
    for name in sorted({*mine, *theirs}, key=repr):
        # A weight that has faded to 0 by rounding is not listed.
        left, right = mine.get(name, 0.0), theirs.get(name, 0.0)
        if not isinstance(left, tuple) and not isinstance(right, tuple):
            require(
                abs(left - right) <= tolerance,
                f"{what}: the count of {name!r} is {left!r} and {right!r}, over {tolerance:.3g} apart",
            )
    same_numbers(mine, theirs, what)
    require(
        set(one.classes_) == set(other.classes_),
        f"{what}: the classes are {one.classes_} and {other.classes_}",
    )
    if one.traits.is_order_dependent:
        return
    one, other = rederived(one), rederived(other)
    for probe in probes:
        answers = one.predict_proba_one(probe), other.predict_proba_one(probe)
        same_probabilities(*answers, f"{what}: for {probe!r}", EXACT if exact and not numeric else FLOAT)


def rederived(learner: BayesClassifier) -> BayesClassifier:
    """Return a copy that has derived its structure from the present counts."""
    copy = type(learner).from_state(learner.state())
    copy.rederive()
    return copy


def same_numbers(one: Mapping[Any, Any], other: Mapping[Any, Any], what: str) -> None:
    """Require that the weights, means and squared deviations of two stores, by name, are equal to 1e-9 of themselves.

    A mean may differ by 1e-9 of the deviation where that is more, and so may a sum of products.
    """
    heaviest = max(
        (cell[0] for cell in (*one.values(), *other.values()) if isinstance(cell, tuple)), default=0.0
    )
    for name in sorted({*one, *other}, key=repr):
        left, right = one.get(name, 0.0), other.get(name, 0.0)
        if not isinstance(left, tuple) and not isinstance(right, tuple):
            continue
        cells = [cell if isinstance(cell, tuple) else (0.0, 0.0, 0.0) for cell in (left, right)]
        weight = max(cell[0] for cell in cells)
        if weight <= NEGLIGIBLE * heaviest:
            continue
        squares = max(_squares(numbers, name) for numbers in (one, other))
        mean = max(math.sqrt(squares / weight), *(abs(cell[1]) for cell in cells))
        for part, size in zip(range(3), (weight, mean, squares), strict=True):
            require(
                abs(cells[0][part] - cells[1][part]) <= FLOAT * size,
                f"{what}: {name!r} holds {left!r} and {right!r}, over {FLOAT:g} of {size!r} apart",
            )


def _squares(numbers: Mapping[Any, Any], name: tuple[Any, ...]) -> float:
    """Return the squared deviations of a feature, or of two features the root of their product."""
    *features, label = name
    squares = [numbers[feature, label][2] for feature in features if (feature, label) in numbers]
    return math.prod(squares) ** (1.0 / len(squares)) if squares else 0.0


def same_probabilities(
    one: Mapping[Any, float], other: Mapping[Any, float], what: str, tolerance: float
) -> None:
    """Require that two answers have the same classes and probabilities; a tolerance of 0 means to the bit."""
    require(set(one) == set(other), f"{what}: the classes are {list(one)} and {list(other)}")
    for label, p in one.items():
        require(
            abs(p - other[label]) <= tolerance and not math.isnan(p),
            f"{what}: P({label!r}) is {p!r} and {other[label]!r}, further apart than {tolerance:g}",
        )
