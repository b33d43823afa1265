"""Chains with hidden states: the loss of `HiddenMarkov(states="learn")` above that of the filter that knows the truth.

    python -m benchmarks.networks.hidden [SEEDS]

prints for each world the loss of that filter, and for each seed the gap in nats an event over events 6,000 to 8,000,
with the number of states that was chosen. Each event is scored, then learned.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from stream_bayes import HiddenMarkov

__all__ = ["World", "gap", "main"]

EVENTS = 8_000
JUDGED = 2_000  # the newest events
VALUES = 4  # of each variable


class World(NamedTuple):
    """A hidden chain: its states, its variables, how peaked each state's values are, and how long a state stays.

    `numbers` are further variables: Gaussians whose means vary by 2 between states, about deviations near 1.
    """

    states: int
    variables: int
    concentration: float
    stays: float
    numbers: int = 0


WORLDS = {
    "weak": World(3, 3, 1.0, 0.8),
    "strong": World(3, 3, 0.2, 0.8),
    "one column": World(2, 1, 0.3, 0.9),
    "five states": World(5, 3, 0.3, 0.85),
    "one state": World(1, 3, 1.0, 1.0),
    "numbers": World(3, 0, 1.0, 0.85, 2),
    "both": World(3, 2, 0.5, 0.85, 2),
    "five, numbers": World(5, 0, 1.0, 0.85, 3),
    "one, numbers": World(1, 0, 1.0, 1.0, 2),
}


def gap(world: World, seed: int) -> tuple[float, float, int]:
    """Return the true filter's loss, how much more the model lost, and the number of states that it chose."""
    rng = np.random.default_rng(seed)
    states = world.states
    move = world.stays * np.eye(states) + (1.0 - world.stays) * rng.dirichlet(np.ones(states), states)
    peaked = np.full(VALUES, world.concentration)
    show = [0.95 * rng.dirichlet(peaked, states) + 0.05 / VALUES for _ in range(world.variables)]
    shape = world.numbers, states
    means, deviations = 2.0 * rng.standard_normal(shape), np.exp(0.5 * rng.standard_normal(shape))
    names = [*(f"x{k}" for k in range(world.variables)), *(f"n{k}" for k in range(world.numbers))]
    model = HiddenMarkov(names, states="learn", restarts=4)
    state, belief, losses = 0, np.full(states, 1.0 / states), []
    for _ in range(EVENTS):
        state = int(rng.choice(states, p=move[state]))
        codes = [int(rng.choice(VALUES, p=table[state])) for table in show]
        joint = (belief @ move) * math.prod(table[:, code] for table, code in zip(show, codes, strict=True))
        numbers = means[:, state] + deviations[:, state] * rng.standard_normal(world.numbers)
        away = (numbers[:, None] - means) / deviations
        joint = joint * np.exp(-0.5 * away**2 - np.log(deviations) - 0.5 * math.log(2.0 * math.pi)).prod(
            axis=0
        )
        belief = joint / joint.sum()
        x: dict[str, str | float] = {f"x{k}": f"v{code}" for k, code in enumerate(codes)}
        x |= {f"n{k}": number for k, number in enumerate(numbers.tolist())}
        losses.append((-math.log(joint.sum()), -model.log_likelihood_one(x)))
        model.learn_one(x)
    truth, own = np.mean(losses[-JUDGED:], axis=0).tolist()
    return truth, own - truth, model.best_states


def main(seeds: int = 5) -> None:
    """Print the gaps of all worlds."""
    for name, world in WORLDS.items():
        found = [gap(world, seed) for seed in range(1, seeds + 1)]
        truth = np.mean([each[0] for each in found])
        texts = [f"{above:.3f} ({states})" for _, above, states in found]
        print(f"{name:12} truth {truth:.2f}, gap (states): {', '.join(texts)}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
