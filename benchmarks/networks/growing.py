"""Losses of a network that grows its structure, beside the true structure, after all tables and edges have changed.

    python -m benchmarks.networks.growing [SEEDS]
    python -m benchmarks.networks.growing --stationary [SEEDS]

prints for each seed the difference in log-loss per event, in nats: over the events 2,000 to 4,000 after the change, and
from the event 10,000 on; first of a classifier, then of a network without a class, whose loss is that of whole events.
All learn the same events after the change; those with the true structure begin with them.

The second command prints, for each structure that a classifier and a network adopt in 30,000 events of one world, what
it gains over the next 5,000 events beyond the structure that it replaced, in nats per event: below 0 it lost.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from stream_bayes import BayesNetClassifier, DriftAdaptive
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.networks import BayesNet, Inference
from tests.concepts import drawn_network, stream_of

__all__ = ["behind", "behind_jointly", "gains", "main", "main_stationary"]

VARIABLES = 10
BEFORE, AFTER = 5_000, 12_000  # events


def behind(seed: int) -> tuple[float, float]:
    """Return the differences of one seed."""
    old, new = drawn_network(VARIABLES, seed), drawn_network(VARIABLES, seed + 500)
    target = str(max(new.structure, key=lambda name: len(new.structure.markov_blanket(name))))
    model = DriftAdaptive(BayesNetClassifier(target=target))
    true = BayesNetClassifier(new.structure, target=target)
    lost = []
    for number, (x, y) in enumerate(stream_of([(old, BEFORE), (new, AFTER)], target, seed)):
        answer = model.predict_learn_one(x, y)
        if number >= BEFORE:
            lost.append(log_loss(answer, y) - log_loss(true.predict_learn_one(x, y), y))
    return float(np.mean(lost[2_000:4_000])), float(np.mean(lost[10_000:]))


def behind_jointly(seed: int) -> tuple[float, float]:
    """Return the differences of one seed for a network without a class."""
    rng = np.random.default_rng(seed)
    networks = [drawn_network(VARIABLES, seed), drawn_network(VARIABLES, seed + 500)]
    model, true = DriftAdaptive(BayesNet("learn")), BayesNet(networks[1].structure)
    lost = []
    for network, count in zip(networks, (BEFORE, AFTER), strict=True):
        columns = Inference(network).sample(count, rng)
        for values in zip(*columns.values(), strict=True):
            x = dict(zip(columns, values, strict=True))
            score = model.score_learn_one(x)
            if network is networks[1]:
                lost.append(score - true.score_learn_one(x))
    return float(np.mean(lost[2_000:4_000])), float(np.mean(lost[10_000:]))


STATIONARY, NEXT = 30_000, 5_000  # events


def gains(seed: int, has_class: bool) -> list[float]:
    """Return what each adopted structure gains over the next events, beyond the one before with the same events."""
    network = drawn_network(VARIABLES, seed)
    structure = network.structure
    target = str(max(structure, key=lambda name: len(structure.markov_blanket(name))))
    events = list(stream_of([(network, STATIONARY)], target, seed))
    whole = [{**x, target: y} for x, y in events]

    def make(given: Any) -> Any:
        return BayesNetClassifier(given, target=target) if has_class else BayesNet(given)

    def lost(model: Any, number: int) -> float:
        x, y = events[number]
        return (
            log_loss(model.predict_learn_one(x, y), y) if has_class else model.score_learn_one(whole[number])
        )

    model = make("learn")
    adopted, losses = list[tuple[int, Any]](), list[float]()
    for number in range(STATIONARY):
        generation, before = model.generation, model.structure
        losses.append(lost(model, number))
        if model.generation > generation:
            adopted.append((number + 1, before))
    found = []
    for start, given in adopted:
        end = min(start + NEXT, STATIONARY)
        other = make(given)
        if has_class:
            other.learn_many([x for x, _ in events[:start]], [y for _, y in events[:start]])
        else:
            other.learn_many(whole[:start])
        found.append(float(np.mean([lost(other, n) - losses[n] for n in range(start, end)])))
    return found


def main_stationary(seeds: int) -> None:
    """Print the gains of the structures adopted in stationary streams."""
    for seed in range(seeds):
        for has_class in (True, False):
            found = " ".join(f"{nats:+.4f}" for nats in gains(seed, has_class))
            print(f"seed {seed}, {'classifier' if has_class else 'network'}: {found or 'none'}", flush=True)


def main(seeds: int) -> None:
    """Print the differences of some seeds."""
    for seed in range(seeds):
        found = (*behind(seed), *behind_jointly(seed))
        print(f"seed {seed}: {' '.join(f'{nats:.4f}' for nats in found)}", flush=True)


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    if "--stationary" in sys.argv:
        main_stationary(given[0] if given else 15)
    else:
        main(given[0] if given else 10)
