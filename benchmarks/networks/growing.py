"""Losses of a network that grows its structure, beside the true structure, after all tables and edges have changed.

    python -m benchmarks.networks.growing [SEEDS]

prints for each seed the difference in log-loss per event, in nats: over the events 2,000 to 4,000 after the change, and
from the event 10,000 on; first of a classifier, then of a network without a class, whose loss is that of whole events.
All learn the same events after the change; those with the true structure begin with them.
"""

from __future__ import annotations

import sys

import numpy as np

from stream_bayes import BayesNetClassifier, DriftAdaptive
from stream_bayes.learners.classifier.predictions import log_loss
from stream_bayes.networks import BayesNet, Inference
from stream_bayes.testing.concepts import drawn_network, stream_of

__all__ = ["behind", "behind_jointly", "main"]

VARIABLES = 10
BEFORE, AFTER = 5_000, 12_000  # events


def behind(seed: int) -> tuple[float, float]:
    """Return the differences of one seed."""
    old, new = drawn_network(VARIABLES, seed), drawn_network(VARIABLES, seed + 500)
    target = str(max(new.structure, key=lambda name: len(new.structure.markov_blanket(name))))
    model = DriftAdaptive(BayesNetClassifier(target=target), renew=True)
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


def main(seeds: int) -> None:
    """Print the differences of some seeds."""
    for seed in range(seeds):
        found = (*behind(seed), *behind_jointly(seed))
        print(f"seed {seed}: {' '.join(f'{nats:.4f}' for nats in found)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
