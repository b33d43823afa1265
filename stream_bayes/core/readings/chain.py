"""Probabilities of a Markov chain from counts by context, several steps ahead, and its most probable path.

Each context borrows from the next shorter one, so a context that never came falls back to what is known of its end:

    P(v | context) = (n(context, v) + s P(v | shorter context)) / (N(context) + s)
    P(v)           = (n(v) + s / V) / (N + s)

The chain's states are the longest suffixes of contexts that hold counts, closed under leaving out the newest value. The
next state follows from state and value alone, so forecasts over these states are exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.contexts import Context, ContextCounts, suffixes, value_order
from stream_bayes.errors import BudgetExceeded

__all__ = ["ChainReading"]

MOST_CELLS = 2**24  # of the table of transitions: states times values, 16 bytes each


class ChainReading:
    """A Markov chain as its counts make it. `strength` is the weight, in events, of what a context borrows from the
    next shorter one. With 0 a context borrows only if it holds no counts.
    """

    def __init__(self, counts: ContextCounts, strength: float) -> None:
        self.counts = counts
        self.strength = strength
        self._derived_at = -1
        self._values: list[Any] = []
        self._states: dict[Context, int] = {}
        self._shares: NDArray[np.float64] = np.zeros((0, 0))
        self._next: NDArray[np.int64] = np.zeros((0, 0), np.int64)

    def probabilities(self, context: Context) -> dict[Any, float]:
        """Return the probability of each value right after a context; empty if no value is known."""
        values = self.counts.values
        shares = dict.fromkeys(values, 1.0 / len(values)) if values else {}
        for suffix in suffixes(context) if shares else ():
            table = self.counts.tables.get(suffix)
            if table is None:  # then no longer context holds counts
                break
            total = self.counts.totals[suffix] + self.strength
            shares = {v: (table.get(v, 0) + self.strength * share) / total for v, share in shares.items()}
        return shares

    def forecast(self, context: Context, steps: int) -> dict[Any, float]:
        """Return the probability of each value `steps` events after a context."""
        if steps == 1:
            return self.probabilities(context)
        self._derive()
        if not self._values:
            return {}
        belief: NDArray[np.float64] = np.zeros(len(self._states))
        belief[self._state_of(context)] = 1.0
        for _ in range(steps - 1):
            moved = belief[:, None] * self._shares
            belief = np.bincount(self._next.ravel(), moved.ravel(), len(belief)).astype(
                np.float64, copy=False
            )
            belief /= belief.sum()
        return dict(zip(self._values, (belief @ self._shares).tolist(), strict=True))

    def path(self, context: Context, steps: int) -> tuple[list[Any], float]:
        """Return the most probable values of the next events, and the logarithm of their probability (Viterbi)."""
        self._derive()
        with np.errstate(divide="ignore"):
            log_shares = np.log(self._shares)
        best = np.full(len(self._states), -math.inf)
        best[self._state_of(context)] = 0.0
        came_from = []
        width = len(self._values)
        for _ in range(steps):
            reached = (best[:, None] + log_shares).ravel()
            # Ascending, so that the last one written to a state is the best; ties keep the lowest index.
            order = np.lexsort((-np.arange(len(reached)), reached))
            winner = np.zeros(len(best), np.int64)
            winner[self._next.ravel()[order]] = order
            best = np.full(len(best), -math.inf)
            np.maximum.at(best, self._next.ravel(), reached)
            came_from.append(winner)
        state = int(best.argmax())
        log_probability = float(best[state])
        path = []
        for winner in reversed(came_from):
            state, value = divmod(int(winner[state]), width)
            path.append(self._values[value])
        return path[::-1], log_probability

    def _state_of(self, context: Context) -> int:
        """Return the number of the longest suffix of a context that is a state."""
        return max(self._states[suffix] for suffix in suffixes(context) if suffix in self._states)

    def _derive(self) -> None:
        """Set the states, their transitions and probabilities to those of the counts."""
        if self._derived_at == self.counts.changes:
            return
        values = self.counts.values
        contexts = {
            context[:length] for context in self.counts.tables for length in range(len(context) + 1)
        } | {()}
        if len(contexts) * len(values) > MOST_CELLS:
            raise BudgetExceeded(
                f"a forecast over {len(contexts):,} contexts and {len(values):,} values needs more than "
                f"{MOST_CELLS:,} cells; take a lower order, or bound the values by max_values"
            )
        # By length first: then a longer suffix of a context has a higher number than a shorter one. The rest of the
        # order depends on the values alone, so equal counts give equal sums.
        listed = sorted(contexts, key=lambda context: (len(context), [*map(value_order, context)]))
        states = {context: k for k, context in enumerate(listed)}
        shares = np.zeros((len(listed), len(values)))
        following = np.zeros((len(listed), len(values)), np.int64)
        order = self.counts.order
        for k, context in enumerate(listed):
            shares[k] = [*self.probabilities(context).values()]
            for v, value in enumerate(values):
                reached = (*context, value)[-order:]
                following[k, v] = max(states[suffix] for suffix in suffixes(reached) if suffix in states)
        self._values, self._states, self._shares, self._next = values, states, shares, following
        self._derived_at = self.counts.changes
