"""Values that hidden states show: read from events, and saved with the windows that they lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stream_bayes.core.live_networks.hidden_bank import HiddenBank
from stream_bayes.core.live_networks.hidden_chain import HiddenChain, HiddenStep, HiddenWindow
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import read_number
from stream_bayes.core.values.values import Value, canonical, is_missing, shown
from stream_bayes.errors import BadValue, KindChanged
from stream_bayes.learners.base.arguments import check_count, check_name

__all__ = ["loaded_windows", "names_of", "read_states", "saved_windows", "value_in"]

LEARN = "learn"
LEARNED_STATES = range(1, 7)
LARGEST_NUMBER = 1e100  # its square, times any weight, is still finite


def value_in(
    x: Mapping[Any, Any], v: Any, has_numbers: bool | None, *, is_whole_number: bool = False
) -> Value | None:
    """Return an event's value of a variable: a float for a number, None if it is missing.

    `has_numbers` is None before the first value, which decides: a float is a number, and with `is_whole_number` a whole
    number is one, too.
    """
    value = x.get(v)
    if is_missing(value):
        return None
    measured = (float, np.floating, int, np.integer) if is_whole_number else (float, np.floating)
    begins = has_numbers is None and isinstance(value, measured) and not isinstance(value, bool)
    if has_numbers or begins:
        number = read_number(v, value, declared=False)
        if not -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
            raise BadValue(f"feature {shown(v)}: expected a number of at most 1e100, got {number!r}")
        return number
    name = canonical(value, feature=v)
    if isinstance(name, float):
        raise KindChanged(
            f"feature {shown(v)} has names, but got the number {name!r}; "
            + ("leave it out of names" if is_whole_number else f"make the model with numbers=[{shown(v)}]")
            + " if all of its values are numbers"
        )
    return name


def names_of(argument: str, given: Any, *, may_be_empty: bool = False) -> list[Any]:
    """Read an argument that names a variable, or lists several."""
    if may_be_empty and (given is None or (isinstance(given, (list, tuple)) and not given)):
        return []
    listed = [*given] if isinstance(given, (list, tuple)) else [given]
    for name in listed:
        check_name(argument, name)
    if not listed or None in listed or len(set(listed)) < len(listed):
        raise BadValue(
            f"{argument} must be a feature's name, or a list of different names, not {shown(given)}"
        )
    return listed


def read_states(argument: str, states: object) -> list[int]:
    """Read an argument that is a number of hidden states, several of them to choose from, or `"learn"`: 1 to 6."""
    if isinstance(states, str) and states == LEARN:
        return [*LEARNED_STATES]
    is_list = isinstance(states, Sequence) and not isinstance(states, (str, bytes))
    numbers: list[Any] = [*states] if is_list else [states]  # type: ignore[misc]  # `is_list` says which
    if not numbers:
        raise BadValue(
            f"{argument} must be a number, several, as [2, 3, 4], or {LEARN!r}, not {shown(states)}"
        )
    for number in numbers:
        check_count(argument, number)
    if len(set(numbers)) < len(numbers):
        raise BadValue(f"{argument} names a number twice: {shown(states)}")
    return numbers


def saved_windows(windows: Sequence[HiddenWindow]) -> list[dict[str, Any]]:
    """Return the windows of a sequence, one for each chain, as JSON values."""
    return [
        {
            "steps": [[[*step.seen], step.belief.tolist()] for step in window.steps],
            "is_counted": window.is_counted,
        }
        for window in windows
    ]


def loaded_windows(bank: HiddenBank, saved: Any) -> list[HiddenWindow]:
    """Return the windows that `saved_windows` saved, of a bank that holds their values."""
    expect(len(saved) == len(bank.chains), "a sequence has windows of other chains")
    return [_window_of(chain, each) for chain, each in zip(bank.chains, saved, strict=True)]


def _window_of(chain: HiddenChain, saved: Any) -> HiddenWindow:
    steps = [HiddenStep(tuple(seen), np.array(belief, np.float64)) for seen, belief in saved["steps"]]
    expect(type(saved["is_counted"]) is bool, "a window does not say what of it is counted")
    for seen, belief in steps:
        expect(belief.shape == (chain.copies, chain.states), "a belief has another shape")
        expect(bool(((belief >= 0.0) & (belief <= 1.0)).all()), "a belief holds no probabilities")
        pairs = zip(seen, chain.emissions, strict=True)
        fits = all(value is None or (each is not None and each.fits(value)) for value, each in pairs)
        expect(fits, "a window holds what its variables cannot have shown")
    return HiddenWindow(steps, saved["is_counted"])
