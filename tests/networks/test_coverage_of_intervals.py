"""A 95 % interval of an answer holds the true probability in 93 to 97 % of all worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes.networks import BayesNet, BayesNetClassifier, DiscreteNetwork, Inference, Structure

PARENTS: dict[str, list[str]] = {"rain": [], "sprinkler": ["rain"], "lawn": ["rain", "sprinkler"]}
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("rain", {"lawn": "a"}),
    ("rain", {"lawn": "b", "sprinkler": "a"}),
    ("lawn", {}),
    ("sprinkler", {"lawn": "a"}),
]


def learned(kind: str, columns: dict[str, list[Any]]) -> Any:
    """Return a network, or a classifier of the rain, that has learned some events."""
    if kind == "network":
        network = BayesNet(PARENTS, prior="laplace")
        network.learn_many(columns)
        return network
    classifier = BayesNetClassifier(PARENTS, target="rain", prior="laplace")
    rows = zip(columns["sprinkler"], columns["lawn"], strict=True)
    classifier.learn_many([{"sprinkler": one, "lawn": two} for one, two in rows], columns["rain"])
    return classifier


def covered(kind: str, worlds: int, events: int, seed: int) -> np.ndarray[Any, Any]:
    """Return, for each world and question, 1 if the interval holds the truth.

    The tables of a world are drawn from the prior of the learner, uniform over all rows.
    """
    rng = np.random.default_rng(seed)
    found: list[list[bool]] = []
    while len(found) < worlds:
        tables = {name: rng.dirichlet([1.0, 1.0], (2,) * len(above)) for name, above in PARENTS.items()}
        world = DiscreteNetwork(Structure(PARENTS), dict.fromkeys(PARENTS, ("a", "b")), tables)
        columns = Inference(world).sample(events, rng)
        if any(len(set(values)) < 2 for values in columns.values()):
            continue  # a value that was never seen has no probability
        model = learned(kind, columns)
        row = []
        for target, evidence in QUESTIONS:
            intervals: Any = model.query(target, evidence, level=0.95).intervals
            low, high = intervals["a"]
            row.append(low <= Inference(world).query(target, evidence)["a"] <= high)
        found.append(row)
    return np.array(found)


@pytest.mark.parametrize("kind", ["network", "classifier"])
def test_intervals_cover_about_as_often_as_they_say(kind: str) -> None:
    shares = covered(kind, 90, 60, 4)
    assert 0.93 <= shares.mean() <= 0.97
    assert shares.mean(axis=0).min() >= 0.88


@pytest.mark.soak
@pytest.mark.parametrize("events", [30, 300])
@pytest.mark.parametrize("kind", ["network", "classifier"])
def test_intervals_cover_93_to_97_percent(kind: str, events: int) -> None:
    shares = covered(kind, 1500, events, 1).mean(axis=0)
    assert 0.93 <= shares.min() <= shares.max() <= 0.97, shares
