"""A chain of hidden states that show names and numbers: filter, smoothing within a window, online EM.

Several copies with different random priors learn side by side, as EM ends in local optima; the one that predicted best
answers. All arrays have the copies first:

    starts [copy, state]    moves [copy, state, next state]    and those of `hidden_emissions` for each variable

These are expected counts. Event number t lets the counts before it fade by 1 - 2 / (t + 2), so an early event, which
was explained by a poor model, weighs (its number / t) squared in the end, and a third of all events count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.contexts import ContextContent
from stream_bayes.core.live_networks.hidden_emissions import (
    PRIOR,
    TINY,
    Emission,
    NameEmission,
    NumberEmission,
    Seen,
    shares_of_rows,
)
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.errors import CannotMerge

__all__ = ["HiddenChain", "HiddenStep", "HiddenWindow"]

Floats = NDArray[np.float64]


class HiddenStep(NamedTuple):
    """An event of a sequence: what was seen of it, and the belief over states after it, by copy."""

    seen: tuple[Seen, ...]
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
        self.emissions: list[Emission | None] = [
            None
        ] * variables  # None: the kind of its values is not known yet
        self.events = 0
        # What the counts fade by when the next event is counted; until then probabilities stay.
        self.kept = 1.0
        self.scores = np.zeros(copies)  # the fading sum of each copy's log-probabilities
        self._derive()

    def _derive(self) -> None:
        """Set the probabilities to those of the counts."""
        self.start = shares_of_rows(self.starts + self._start_prior)
        self.move = shares_of_rows(self.moves + self._move_prior)
        for emission in self.emissions:
            if emission is not None:
                emission.derive()
        self.best = int(self.scores.argmax())

    def add_variable(self) -> None:
        """Add a variable, of which no event has had a value."""
        self.emissions.append(None)

    def begin(self, variable: int, has_numbers: bool) -> None:
        """Let a variable have numbers, or names, unless it has these already."""
        if self.emissions[variable] is None:
            shape = self.copies, self.states
            self.emissions[variable] = (
                NumberEmission(variable, shape, self._make_rng)
                if has_numbers
                else NameEmission(variable, shape, self.max_values, self._make_rng)
            )

    def seen(self, variable: int, value: Any, *, is_new: bool = False) -> Seen:
        """Return a value as it is kept; None if it is missing or, unless `is_new` makes room for it, never came."""
        emission = self.emissions[variable]
        if value is None or emission is None:
            return None
        if isinstance(emission, NumberEmission):
            return float(value)
        return emission.create(value) if is_new else emission.code_of(value)

    # -- filter and smoother ------------------------------------------------------------------------------------------

    def ahead(self, window: HiddenWindow, steps: int) -> Floats:
        """Return the belief over the states `steps` events after a window, by copy."""
        belief = self.start if not window.steps else _moved(window.steps[-1].belief, self.move)
        for _ in range(steps - 1):
            belief = _moved(belief, self.move)
        return belief

    def likelihood(self, seen: tuple[Seen, ...]) -> tuple[Floats, Floats | float]:
        """Return the likelihood of each state, by copy, and the logarithm of the factor that it was divided by.

        Missing values are summed out. Densities have no bound: they are divided by that of the likeliest state.
        """
        product, log = np.ones((self.copies, self.states)), None
        for emission, value in zip(self.emissions, seen, strict=True):
            if value is None or emission is None:
                continue
            if isinstance(emission, NameEmission):
                product = product * emission.table[:, :, int(value)]
            else:
                density = emission.log_density(value)
                log = density if log is None else log + density
        if log is None:
            return product, 0.0
        most: Floats = log.max(axis=1)
        return product * np.exp(log - most[:, None]), most

    def step(self, window: HiddenWindow, seen: tuple[Seen, ...], missed: int = 0) -> tuple[Floats, Floats]:
        """Return the belief after one more event, and the logarithm of its density, by copy.

        That many events before it were missed.
        """
        likelihood, log_factor = self.likelihood(seen)
        joint = self.ahead(window, 1 + missed) * likelihood + TINY
        total = joint.sum(axis=1)
        return joint / total[:, None], np.log(total) + log_factor

    def smooth(self, window: HiddenWindow) -> tuple[list[Floats], list[Floats]]:
        """Return each event's belief, and each pair of neighbours', given the whole window, by copy."""
        steps = window.steps
        beliefs, pairs = [steps[-1].belief], []
        later = np.ones((self.copies, self.states))
        for k in range(len(steps) - 1, 0, -1):
            reached = self.likelihood(steps[k].seen)[0] * later
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
            score = reached.max(axis=0) + np.log(self.likelihood(step.seen)[0][best] + TINY)
        state = int(score.argmax())
        states = [state]
        for origin in reversed(came_from):
            state = int(origin[state])
            states.append(state)
        return states[::-1]

    def has_value(self, variable: int) -> bool:
        """Return True if a value of a variable has come."""
        emission = self.emissions[variable]
        return emission is not None and not emission.is_empty

    def shown_by(self, variable: int, belief: Floats) -> dict[Any, float] | StudentMixture:
        """Return what a belief over the states of the best copy shows of a variable; empty before any value."""
        emission = self.emissions[variable]
        if isinstance(emission, NameEmission):
            return dict(zip(emission.codes, (belief @ emission.table[self.best]).tolist(), strict=True))
        if emission is None or emission.is_empty:
            return {}
        return StudentMixture(belief.tolist(), emission.students(self.best))

    def shown_in_states(self, variable: int) -> list[Any]:
        """Return what each state of the best copy shows of a variable that came: `{name: share}`, or a `StudentT`."""
        emission = self.emissions[variable]
        assert emission is not None
        if isinstance(emission, NumberEmission):
            return [*emission.students(self.best)]
        return [dict(zip(emission.codes, row, strict=True)) for row in emission.table[self.best].tolist()]

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, window: HiddenWindow, seen: tuple[Seen, ...]) -> None:
        """Add an event to a window, and count the older half of a window that is full."""
        belief, log_density = self.step(window, seen)
        window.steps.append(HiddenStep(seen, belief))
        self.events += 1
        kept = 1.0 - self._rate()
        self.scores = self.scores * kept + log_density
        self.kept *= kept
        for emission, value in zip(self.emissions, seen, strict=True):
            if emission is not None and value is not None:
                emission.note(value)  # type: ignore[arg-type]  # codes are of names, floats of numbers
        if len(window.steps) > 2 * self.lag:
            self.count(window, self.lag)

    def _rate(self) -> float:
        faded = 0.0 if self.half_life is None else 1.0 - 0.5 ** (1.0 / self.half_life)
        return max(2.0 / (self.events + 2.0), faded)

    def count(self, window: HiddenWindow, events: int | None = None) -> None:
        """Count the oldest events of a window, by default all, and remove them except the last one, which is next."""
        if window.steps:
            self._fade()
            self._count(window, len(window.steps) - 1 if events is None else events)
            self._derive()

    def count_each(self, windows: Iterable[HiddenWindow]) -> None:
        """Count all events in the windows of several sequences."""
        self._fade()
        for window in windows:
            self._count(window, len(window.steps) - 1)
        self._derive()

    def _fade(self) -> None:
        self.starts *= self.kept
        self.moves *= self.kept
        for emission in self.emissions:
            if emission is not None:
                emission.fade(self.kept)
        self.kept = 1.0

    def _count(self, window: HiddenWindow, until: int) -> None:
        beliefs, pairs = self.smooth(window)
        if not window.is_counted:
            self.starts += beliefs[0]
            self._show(window.steps[0].seen, beliefs[0])
        for k in range(until):
            self.moves += pairs[k]
            self._show(window.steps[k + 1].seen, beliefs[k + 1])
        del window.steps[:until]
        window.is_counted = True

    def _show(self, seen: tuple[Seen, ...], belief: Floats) -> None:
        for emission, value in zip(self.emissions, seen, strict=True):
            if emission is not None and value is not None:
                emission.show(value, belief)  # type: ignore[arg-type]  # as in `learn`

    # -- keeping ------------------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The bytes of the expected counts and of their priors."""
        emissions = [each for each in self.emissions if each is not None]
        return self.starts.nbytes + self.moves.nbytes + sum(each.memory_bytes for each in emissions)

    def merge(self, other: HiddenChain) -> None:
        """Raise `CannotMerge`: the states of two chains are not the same states."""
        raise CannotMerge(
            "hidden states of two models are not the same states; learn one model from both streams"
        )

    def content(self) -> ContextContent:
        """Return everything held now."""
        values = [None if each is None else each.meta() for each in self.emissions]
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        return ContextContent({"events": self.events, "kept": self.kept, "values": values}, arrays)

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"; `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty chain of the same arguments from a state. Raise `BadState` for an invalid one."""
        with refusing_bad_state():
            meta, arrays = state["meta"], dict(state["arrays"])
            expect(type(meta["events"]) is int and meta["events"] >= 0, "it has no number of events")
            expect(len(meta["values"]) == len(self.emissions), "it has other variables")
            for k, saved in enumerate(meta["values"]):
                has_numbers = not isinstance(saved, list)
                if saved is not None:
                    self.begin(k, has_numbers)
                fits = (saved is None) == (self.emissions[k] is None)
                expect(fits, "its variables have names where numbers are, or numbers where names are")
                if (emission := self.emissions[k]) is not None:
                    emission.load(saved)
            for name, target in self._arrays().items():
                array = arrays.pop(name)
                expect(array.dtype == np.float64 and array.shape == target.shape, f"{name} has another shape")
                expect(bool(np.isfinite(array).all()), f"{name} holds numbers that are not finite")
                target[...] = array
            expect(not arrays, "it holds further arrays")
            for counts in (self.starts, self.moves):
                expect(bool((counts >= 0.0).all()), "its counts are negative")
            for emission in self.emissions:
                expect(emission is None or emission.is_valid, "its counts are negative")
            expect(type(meta["kept"]) is float and 0.0 <= meta["kept"] <= 1.0, "its counts do not fade")
            self.events, self.kept = meta["events"], meta["kept"]
            self._derive()

    def _arrays(self) -> dict[str, Floats]:
        arrays = {"starts": self.starts, "moves": self.moves, "scores": self.scores}
        for k, emission in enumerate(self.emissions):
            each = {} if emission is None else emission.arrays()
            arrays |= {f"{name}_{k}": array for name, array in each.items()}
        return arrays


def _moved(belief: Floats, move: Floats) -> Floats:
    return (belief[:, None, :] @ move)[:, 0, :]
