"""A chain of hidden states with nominal emissions: filter, smoothing within a window, online expectation maximisation.

Several copies with different random priors learn side by side, as EM ends in local optima; the one that predicted best
answers. All arrays have the copies first:

    starts [copy, state]    moves [copy, state, next state]    shown, for each variable, [copy, state, value]

These are expected counts. Event number t lets the counts before it fade by 1 - 2 / (t + 2), so an early event, which
was explained by a poor model, weighs (its number / t) squared in the end, and a third of all events count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.contexts import ContextContent
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import OTHER, tagged, untagged
from stream_bayes.errors import CannotMerge

__all__ = ["HiddenChain", "HiddenStep", "HiddenWindow"]

Floats = NDArray[np.float64]
MISSING = -1  # as the code of a value
OTHER_CODE = None  # in a state, for the values that share a code
PRIOR = 0.5  # events for each cell, on average
TINY = 1e-300  # a likelihood below it would be no number after a few steps


class HiddenStep(NamedTuple):
    """An event of a sequence: the codes of its values, and the belief over states after it, by copy."""

    codes: tuple[int, ...]
    belief: Floats


@dataclass
class HiddenWindow:
    """The newest events of a sequence; the first of them is counted if `is_counted`."""

    steps: list[HiddenStep] = field(default_factory=list)
    is_counted: bool = False


class HiddenChain:
    """Expected counts of a hidden Markov model.

    `states`, `variables` and `copies` are the numbers of hidden states, of variables that they emit, and of copies.
    After `half_life` events one weighs at most half; None: only the fading above. After `max_values` values of a
    variable new ones share one. `lag` is the number of later events that an event's states are judged by before it is
    counted. `make_rng` makes the source of the random priors; different numbers make different ones.
    """

    def __init__(
        self,
        states: int,
        variables: int,
        copies: int,
        half_life: float | None,
        max_values: int | None,
        lag: int,
        make_rng: Callable[[tuple[int, ...]], np.random.Generator],
    ) -> None:
        self.states, self.copies, self.lag = states, copies, lag
        self.half_life, self.max_values = half_life, max_values
        self._make_rng = make_rng
        rng = make_rng(())
        self._start_prior = np.full((copies, states), PRIOR)
        self._move_prior = rng.gamma(1.0, PRIOR, (copies, states, states)) + PRIOR * np.eye(states)
        self.starts, self.moves = np.zeros((copies, states)), np.zeros((copies, states, states))
        self.codes: list[dict[Any, int]] = [{} for _ in range(variables)]
        self.shown = [np.zeros((copies, states, 0)) for _ in range(variables)]
        self._shown_prior = [np.zeros((copies, states, 0)) for _ in range(variables)]
        self.times = [np.zeros(0) for _ in range(variables)]  # each value came, without fading
        self.events = 0
        self.kept = (
            1.0  # what the counts fade by when the next event is counted; until then probabilities stay
        )
        self.scores = np.zeros(copies)  # the fading sum of each copy's log-probabilities
        self._derive()

    def _derive(self) -> None:
        """Set the probabilities to those of the counts."""
        self.start = _shares(self.starts + self._start_prior)
        self.move = _shares(self.moves + self._move_prior)
        self.emission = [
            _shares(counts + prior) for counts, prior in zip(self.shown, self._shown_prior, strict=True)
        ]
        self.best = int(self.scores.argmax())

    # -- values -------------------------------------------------------------------------------------------------------

    def code_of(self, variable: int, value: Any) -> int:
        """Return the code of a value; MISSING if it never came."""
        codes = self.codes[variable]
        return codes.get(value, codes.get(OTHER, MISSING))

    def create(self, variable: int, value: Any) -> int:
        """Return the code of a value, with room for it if it is new."""
        codes = self.codes[variable]
        if value not in codes:
            if self.max_values is not None and len(codes) - (OTHER in codes) >= self.max_values:
                value = OTHER
            if value not in codes:
                codes[value] = len(codes)
                self._widen(variable, codes[value])
        return codes[value]

    def _widen(self, variable: int, code: int) -> None:
        # A copy's prior of a value depends on seed, variable and code alone.
        prior = self._make_rng((variable + 1, code)).gamma(1.0, PRIOR, (self.copies, self.states, 1))
        self._shown_prior[variable] = np.concatenate([self._shown_prior[variable], prior], axis=2)
        self.shown[variable] = np.concatenate([self.shown[variable], np.zeros_like(prior)], axis=2)
        self.times[variable] = np.append(self.times[variable], 0.0)
        self.emission[variable] = _shares(self.shown[variable] + self._shown_prior[variable])

    # -- filter and smoother ------------------------------------------------------------------------------------------

    def ahead(self, window: HiddenWindow, steps: int) -> Floats:
        """Return the belief over the states `steps` events after a window, by copy."""
        belief = self.start if not window.steps else _moved(window.steps[-1].belief, self.move)
        for _ in range(steps - 1):
            belief = _moved(belief, self.move)
        return belief

    def likelihood(self, codes: tuple[int, ...]) -> Floats:
        """Return the probability of an event's values in each state, by copy; missing ones are summed out."""
        product = np.ones((self.copies, self.states))
        for emission, code in zip(self.emission, codes, strict=True):
            if code != MISSING:
                product = product * emission[:, :, code]
        return product

    def step(self, window: HiddenWindow, codes: tuple[int, ...], missed: int = 0) -> tuple[Floats, Floats]:
        """Return the belief after one more event, and the logarithm of its probability, by copy.

        That many events before it were missed.
        """
        joint = self.ahead(window, 1 + missed) * self.likelihood(codes) + TINY
        total = joint.sum(axis=1)
        return joint / total[:, None], np.log(total)

    def smooth(self, window: HiddenWindow) -> tuple[list[Floats], list[Floats]]:
        """Return each event's belief, and each pair of neighbours', given the whole window, by copy."""
        steps = window.steps
        beliefs, pairs = [steps[-1].belief], []
        later = np.ones((self.copies, self.states))
        for k in range(len(steps) - 1, 0, -1):
            reached = self.likelihood(steps[k].codes) * later
            pair = steps[k - 1].belief[:, :, None] * self.move * reached[:, None, :] + TINY
            pair /= pair.sum(axis=(1, 2), keepdims=True)
            later = (self.move @ reached[:, :, None])[:, :, 0] + TINY
            later /= later.sum(axis=1, keepdims=True)
            pairs.append(pair)
            beliefs.append(pair.sum(axis=2))
        return beliefs[::-1], pairs[::-1]

    def path(self, window: HiddenWindow) -> list[int]:
        """Return the most probable states of a window together, of the best copy (Viterbi)."""
        steps, best = window.steps, self.best
        if not steps:
            return []
        with np.errstate(divide="ignore"):
            move = np.log(self.move[best])
            score = np.log(steps[0].belief[best])
        came_from = []
        for step in steps[1:]:
            reached = score[:, None] + move
            came_from.append(reached.argmax(axis=0))
            score = reached.max(axis=0) + np.log(self.likelihood(step.codes)[best] + TINY)
        state = int(score.argmax())
        states = [state]
        for origin in reversed(came_from):
            state = int(origin[state])
            states.append(state)
        return states[::-1]

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, window: HiddenWindow, codes: tuple[int, ...]) -> None:
        """Add an event to a window, and count the older half of a window that is full."""
        belief, log_probability = self.step(window, codes)
        window.steps.append(HiddenStep(codes, belief))
        self.events += 1
        kept = 1.0 - self._rate()
        self.scores = self.scores * kept + log_probability
        self.kept *= kept
        for times, code in zip(self.times, codes, strict=True):
            if code != MISSING:
                times[code] += 1.0
        if len(window.steps) > 2 * self.lag:
            self.count(window, self.lag)

    def _rate(self) -> float:
        faded = 0.0 if self.half_life is None else 1.0 - 0.5 ** (1.0 / self.half_life)
        return max(2.0 / (self.events + 2.0), faded)

    def count(self, window: HiddenWindow, events: int | None = None) -> None:
        """Count the oldest events of a window, by default all, and remove them except the last one, which is next."""
        if not window.steps:
            return
        beliefs, pairs = self.smooth(window)
        for array in (self.starts, self.moves, *self.shown):
            array *= self.kept
        self.kept = 1.0
        until = len(window.steps) - 1 if events is None else events
        if not window.is_counted:
            self.starts += beliefs[0]
            self._show(window.steps[0].codes, beliefs[0])
        for k in range(until):
            self.moves += pairs[k]
            self._show(window.steps[k + 1].codes, beliefs[k + 1])
        del window.steps[:until]
        window.is_counted = True
        self._derive()

    def _show(self, codes: tuple[int, ...], belief: Floats) -> None:
        for counts, code in zip(self.shown, codes, strict=True):
            if code != MISSING:
                counts[:, :, code] += belief

    # -- keeping ------------------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The bytes of the expected counts and of their priors."""
        arrays = (self.starts, self.moves, *self.shown, *self._shown_prior, *self.times)
        return sum(array.nbytes for array in arrays)

    def merge(self, other: HiddenChain) -> None:
        """Raise `CannotMerge`: the states of two chains are not the same states."""
        raise CannotMerge(
            "hidden states of two models are not the same states; learn one model from both streams"
        )

    def content(self) -> ContextContent:
        """Return everything held now."""
        names = [[OTHER_CODE if v is OTHER else tagged(v) for v in codes] for codes in self.codes]
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        return ContextContent({"events": self.events, "kept": self.kept, "values": names}, arrays)

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"; `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty chain of the same arguments from a state. Raise `BadState` for an invalid one."""
        with refusing_bad_state():
            meta, arrays = state["meta"], dict(state["arrays"])
            expect(type(meta["events"]) is int and meta["events"] >= 0, "it has no number of events")
            expect(len(meta["values"]) == len(self.codes), "it has other variables")
            for k, names in enumerate(meta["values"]):
                limit = len(names) if self.max_values is None else self.max_values + 1
                expect(len(names) <= limit, "it holds more values than max_values")
                for code, name in enumerate(names):
                    value = OTHER if name == OTHER_CODE else untagged(name)
                    expect(value not in self.codes[k], "it names a value twice")
                    self.codes[k][value] = code
                    self._widen(k, code)
            for name, own in self._arrays().items():
                array = arrays.pop(name)
                expect(array.dtype == np.float64 and array.shape == own.shape, f"{name} has another shape")
                expect(bool(np.isfinite(array).all()), f"{name} holds numbers that are not finite")
                expect(name == "scores" or bool((array >= 0.0).all()), f"{name} holds negative numbers")
                own[...] = array
            expect(not arrays, "it holds further arrays")
            expect(type(meta["kept"]) is float and 0.0 <= meta["kept"] <= 1.0, "its counts do not fade")
            self.events, self.kept = meta["events"], meta["kept"]
            self._derive()

    def _arrays(self) -> dict[str, Floats]:
        arrays = {"starts": self.starts, "moves": self.moves, "scores": self.scores}
        for k, (shown, times) in enumerate(zip(self.shown, self.times, strict=True)):
            arrays |= {f"shown_{k}": shown, f"times_{k}": times}
        return arrays


def _shares(weights: Floats) -> Floats:
    """Return weights as shares of their sum along the last axis."""
    shares: Floats = weights / np.maximum(weights.sum(axis=-1, keepdims=True), TINY)
    return shares


def _moved(belief: Floats, move: Floats) -> Floats:
    moved: Floats = (belief[:, None, :] @ move)[:, 0, :]
    return moved
