"""A 95 % interval of an answer holds the true probability in 93 to 97 % of all worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes.networks import BayesNet, DiscreteNetwork, Inference, Structure

PARENTS: dict[str, list[str]] = {"rain": [], "sprinkler": ["rain"], "lawn": ["rain", "sprinkler"]}
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("rain", {"lawn": "a"}),
    ("rain", {"lawn": "b", "sprinkler": "a"}),
    ("lawn", {}),
    ("sprinkler", {"lawn": "a"}),
]


def covered(worlds: int, events: int, seed: int) -> np.ndarray[Any, Any]:
    """Return, for each world and question, 1 if the interval holds the truth.

    The tables of a world are drawn from the prior of the learner, uniform over all rows.
    """
    rng = np.random.default_rng(seed)
    found: list[list[bool]] = []
    while len(found) < worlds:
        tables = {name: rng.dirichlet([1.0, 1.0], (2,) * len(above)) for name, above in PARENTS.items()}
        world = DiscreteNetwork(Structure(PARENTS), dict.fromkeys(PARENTS, ("a", "b")), tables)
        model = BayesNet(PARENTS, prior="laplace")
        model.learn_many(Inference(world).sample(events, rng))
        if any(len(values) < 2 for values in model.states.values()):
            continue  # a value that was never seen has no probability
        row = []
        for target, evidence in QUESTIONS:
            intervals: Any = model.query(target, evidence, level=0.95).intervals
            low, high = intervals["a"]
            row.append(low <= Inference(world).query(target, evidence)["a"] <= high)
        found.append(row)
    return np.array(found)


def test_intervals_cover_about_as_often_as_they_say() -> None:
    shares = covered(90, 60, 4)
    assert 0.93 <= shares.mean() <= 0.97
    assert shares.mean(axis=0).min() >= 0.88


@pytest.mark.soak
@pytest.mark.parametrize("events", [30, 300])
def test_intervals_cover_93_to_97_percent(events: int) -> None:
    shares = covered(1500, events, 1).mean(axis=0)
    assert 0.93 <= shares.min() <= shares.max() <= 0.97, shares
