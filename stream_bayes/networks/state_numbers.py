"""The number of states of a hidden variable, chosen by how well networks predict rows that they have not learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_bayes.core.values.values import shown
from stream_bayes.data.frames import Native
from stream_bayes.errors import BadValue, UnknownFeature
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.hidden_learner import HiddenLearner, hidden_rows, names_in, numbers_of_states

__all__ = ["HiddenStates", "hidden_states"]

DOUBT = 2.0  # standard errors by which a larger number must be better


@dataclass(frozen=True)
class HiddenStates:
    """The answer of `hidden_states`.

    Attributes
    ----------
    variable
        The hidden variable.
    best
        The number of states that was chosen. They are called 0, 1, ...
    scores
        The mean log-probability of a row that was not learned, in nats, by number of states.
    behind
        What each number lacks of the highest of these, and the standard error of that.
    network
        A `BayesNet` with the chosen number, which has learned all rows.

    Examples
    --------
    >>> rows = [{"sings": k % 2, "hums": k % 2} for k in range(40)]
    >>> answer = hidden_states(rows, [("mood", "sings"), ("mood", "hums")], "mood", states=[1, 2], folds=2, restarts=1)
    >>> answer.best, max(answer.scores, key=answer.scores.get), len(answer.network.query("mood"))
    (2, 2, 2)
    """

    variable: Any
    best: int
    scores: Mapping[int, float]
    behind: Mapping[int, tuple[float, float]]
    network: BayesNet

    def __str__(self) -> str:
        lines = [
            f"{number} states: {score:.4f} nats a row{', chosen' if number == self.best else ''}"
            for number, score in self.scores.items()
        ]
        return f"{shown(self.variable)}\n" + "\n".join(lines)


def hidden_states(
    rows: Native,
    structure: Any,
    variable: Any,
    states: Iterable[int] = range(1, 7),
    *,
    folds: int = 5,
    restarts: int = 4,
    strength: float = 1.0,
    seed: int = 0,
) -> HiddenStates:
    """Choose the number of states of a variable that no row has, and learn the network with it.

    For each number, networks learn all rows but one part by expectation maximisation, and predict that part, in turn
    for each part. The smallest number is chosen that is not worse than the best one by two standard errors.

    Parameters
    ----------
    rows
        Names: a data frame, columns or dicts. Values may be missing.
    structure
        The structure of a `BayesNet`, with the hidden variable.
    variable
        The hidden variable.
    states
        The numbers to choose from.
    folds
        The number of parts of the rows.
    restarts
        The random tables from which each network begins. The one with the highest probability of its own rows is taken.
    strength
        The weight of the smoothing, as in `BayesNet`.
    seed
        The seed of the parts and of the random tables.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> rows = []
    >>> for kind in rng.integers(2, size=400):
    ...     rows.append({name: bool(rng.random() < (0.1, 0.9)[kind]) for name in ("sings", "dances", "hums")})
    >>> edges = {"mood": [], "sings": ["mood"], "dances": ["mood"], "hums": ["mood"]}
    >>> answer = hidden_states(rows, edges, "mood", states=[1, 2, 3], restarts=1)
    >>> answer.best, sorted(round(share, 1) for share in answer.network.query("mood").values())
    (2, [0.5, 0.5])
    """
    graph = BayesNet(structure).structure
    numbers = numbers_of_states(states)
    for name, value in (("folds", folds), ("restarts", restarts)):
        check_count(name, value)
    if variable not in graph:
        raise UnknownFeature(f"the structure has no variable {shown(variable)}; it has {shown(list(graph))}")
    events = hidden_rows(rows, variable)
    if not 2 <= folds <= len(events):
        raise BadValue(f"folds must be at least 2 and at most the {len(events):,} rows, not {folds}")
    values = names_in(events, [v for v in graph if v != variable])
    part_of = np.random.default_rng(seed).permutation(len(events)) % folds
    parts = [[row for row, part in zip(events, part_of, strict=True) if part == k] for k in range(folds)]
    learner = HiddenLearner(graph, variable, values, restarts, strength, seed)
    predicted = {number: np.concatenate(list(learner.predicted(parts, number))) for number in numbers}
    scores = {number: float(each.mean()) for number, each in predicted.items()}
    highest = max(scores, key=scores.__getitem__)
    behind = {}
    for number, each in predicted.items():
        difference = predicted[highest] - each
        behind[number] = (float(difference.mean()), float(difference.std() / math.sqrt(len(difference))))
    best = next(number for number in numbers if behind[number][0] <= DOUBT * behind[number][1])
    return HiddenStates(variable, best, scores, behind, learner.learned(events, best))
