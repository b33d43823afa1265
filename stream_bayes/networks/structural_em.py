"""The structure of a network with a hidden variable: structural expectation maximisation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.values import Value, is_missing, shown
from stream_bayes.data.frames import Native
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.hidden_learner import (
    HiddenLearner,
    HiddenRow,
    hidden_rows,
    names_in,
    numbers_of_states,
)

__all__ = ["HiddenStructure", "hidden_structure"]

MOST_ROUNDS = 6  # searches from one start
LEAST_GROUP = 3  # variables that a hidden one may join
SEARCH = HillClimbing(restarts=10)
LEAST_SHARE = 1e-9  # of a row that a state explains; less is left out


@dataclass(frozen=True)
class HiddenStructure:
    """The answer of `hidden_structure`.

    Attributes
    ----------
    variable
        The hidden variable.
    best
        The number of its states that was chosen. They are called 0, 1, ...
    structure
        The graph, over the variables of the rows and the hidden one.
    scores
        The BIC of the best graph by number of states, in nats: the log-probability of the rows, the hidden variable
        summed out, less half a logarithm of the number of rows for each free parameter.
    score_without
        The BIC of the graph that is found without a hidden variable.
    network
        A `BayesNet` with this graph, which has learned all rows.

    Examples
    --------
    >>> rows = [{"sings": k % 2, "hums": k % 2, "nods": k // 2 % 2} for k in range(40)]
    >>> answer = hidden_structure(rows, "mood", starts=1)
    >>> answer.is_better, answer.best, answer.structure.variables
    (False, 2, ('hums', 'mood', 'nods', 'sings'))
    """

    variable: Any
    best: int
    structure: Structure
    scores: Mapping[int, float]
    score_without: float
    network: BayesNet

    @property
    def is_better(self) -> bool:
        """True if the rows bear out a hidden variable: its graph has a higher BIC than that without one."""
        return self.scores[self.best] > self.score_without

    def __str__(self) -> str:
        lines = [
            f"{number} states: {score:.1f}{', chosen' if number == self.best else ''}"
            for number, score in self.scores.items()
        ]
        return "\n".join([f"{shown(self.variable)}: BIC", f"without it: {self.score_without:.1f}", *lines])


def hidden_structure(
    rows: Native,
    variable: Any,
    states: int | Iterable[int] = 2,
    *,
    search: ScoreSearch | None = None,
    starts: int = 6,
    restarts: int = 2,
    strength: float = 1.0,
    seed: int = 0,
) -> HiddenStructure:
    """Find the graph of a network with a variable that no row has, as the common cause of some others.

    Structural expectation maximisation: a network is learned, each row is completed by the probability of each hidden
    state, and the graph that scores best over these rows is the next one, until it stays. It begins with the hidden
    variable above all others, and above groups of variables that are much joined in the graph without it. The graph
    with the highest BIC is taken, of all starts and numbers of states.

    Parameters
    ----------
    rows
        Names: a data frame, columns or dicts. Values may be missing.
    variable
        The name of the hidden variable.
    states
        The number of its states, or several to choose from.
    search
        The search for graphs, with what it allows; default `HillClimbing(restarts=10)`.
    starts
        The most graphs to start from. Each ends where it is not improved by a change of few edges.
    restarts
        The random tables from which each network begins, as in `hidden_states`.
    strength
        The weight of the smoothing, as in `BayesNet`.
    seed
        The seed of the random tables.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> deeds = ("sings", "dances", "hums", "whistles")
    >>> rows = [{deed: bool(rng.random() < (0.1, 0.9)[mood]) for deed in deeds} for mood in rng.integers(2, size=400)]
    >>> answer = hidden_structure(rows, "mood", starts=1)
    >>> answer.is_better, sorted(answer.structure.markov_blanket("mood"))
    (True, ['dances', 'hums', 'sings', 'whistles'])
    """
    numbers = numbers_of_states([states] if isinstance(states, int) else states)
    for name, value in (("starts", starts), ("restarts", restarts)):
        check_count(name, value)
    events = hidden_rows(rows, variable)
    names = dict.fromkeys(v for row in events for v, value in row.items() if not is_missing(value))
    if len(names) < 2:
        raise BadValue(f"rows of at least two variables are needed, not {shown([*names])}")
    by = SEARCH if search is None else search
    hidden = _HiddenSearch(variable, events, names_in(events, names), by, restarts, strength, seed)
    without = hidden.without()
    graphs = {
        number: max(
            (hidden.climbed(start, number) for start in hidden.starts(without.structure, starts)),
            key=lambda each: each.score,
        )
        for number in numbers
    }
    best = max(numbers, key=lambda number: graphs[number].score)
    scores = {number: each.score for number, each in graphs.items()}
    structure, network = graphs[best].structure, graphs[best].network
    return HiddenStructure(variable, best, structure, scores, without.score, network)


class LearnedGraph(NamedTuple):
    """A graph with its network and BIC."""

    score: float
    structure: Structure
    network: BayesNet


class _HiddenSearch:
    """Searches for graphs over some rows and a hidden variable."""

    def __init__(
        self,
        variable: Any,
        rows: Sequence[HiddenRow],
        values: Mapping[Any, Sequence[Any]],
        search: ScoreSearch,
        restarts: int,
        strength: float,
        seed: int,
    ) -> None:
        self.variable, self.rows, self.values = variable, rows, values
        self.search, self.restarts, self.strength, self.seed = search, restarts, strength, seed
        self._code = {v: {name: code for code, name in enumerate(names)} for v, names in values.items()}

    def without(self) -> LearnedGraph:
        """Return the graph that is found over the rows as they are."""
        structure = self.search.search(self._completed(None, 1)).structure
        apart = {v: structure.parents(v) for v in structure if v != self.variable}
        return self._learned(Structure({**apart, self.variable: ()}), 1)

    def starts(self, without: Structure, most: int) -> list[Structure]:
        """Return graphs to start from: the hidden variable above all others, and above groups of variables that are
        much joined in the graph without it, in place of the edges between them.
        """
        groups: dict[frozenset[Value], float] = {}
        for v in self.values:
            group = frozenset((v, *without.parents(v), *without.children(v)))
            inner = sum(one in group and other in group for one, other in without.edges)
            groups[group] = inner / len(group)
        chosen = sorted((g for g in groups if len(g) >= LEAST_GROUP), key=lambda g: -groups[g])
        alone = Structure.from_edges((), without.variables)
        starts = [self._below(alone, frozenset(self.values)), *(self._below(without, g) for g in chosen)]
        return [*dict.fromkeys(starts)][:most]

    def _below(self, graph: Structure, group: frozenset[Value]) -> Structure:
        """Return a graph with the hidden variable above a group in place of its edges, as far as the search allows."""
        names, required = graph.variables, Structure.from_edges(self.search.required, graph.variables)
        inner = {edge for edge in graph.edges if edge[0] in group and edge[1] in group}
        kept = [*required.edges, *(edge for edge in graph.edges if edge not in inner)]
        parents = {v: [*dict.fromkeys(one for one, other in kept if other == v)] for v in names}
        allowed, most = self.search.allowed(names), self.search.max_parents
        above = Structure(parents).ancestors(self.variable)
        for v in group:
            is_full = most is not None and len(parents[v]) >= most
            may_be = allowed[names.index(self.variable), names.index(v)] and self.variable not in parents[v]
            if may_be and v not in above and not is_full:
                parents[v].append(self.variable)
        return Structure(parents)

    def climbed(self, structure: Structure, number: int) -> LearnedGraph:
        """Return the best of the graphs that follow one another."""
        graphs: list[LearnedGraph] = []
        for _ in range(MOST_ROUNDS):
            graphs.append(self._learned(structure, number))
            sample = self._completed(graphs[-1].network, number)
            structure = self.search.search(sample, start=structure).structure
            if any(structure == each.structure for each in graphs):
                break
        return max(graphs, key=lambda each: each.score)

    def _learned(self, structure: Structure, number: int) -> LearnedGraph:
        learner = HiddenLearner(
            structure, self.variable, self.values, self.restarts, self.strength, self.seed
        )
        network = learner.learned(self.rows, number)
        size = {**{v: len(names) for v, names in self.values.items()}, self.variable: number}
        free = sum((size[v] - 1) * math.prod(size[p] for p in structure.parents(v)) for v in structure)
        score = float(learner.log_probabilities(network, self.rows).sum())
        return LearnedGraph(score - 0.5 * math.log(len(self.rows)) * free, structure, network)

    def _completed(self, network: BayesNet | None, number: int) -> Sample:
        """Return the rows, each once for every hidden state that may be, with its probability as a weight."""
        times: dict[tuple[int, ...], int] = {}
        for row in self.rows:
            codes = tuple(-1 if is_missing(row.get(v)) else self._code[v][row[v]] for v in self.values)
            times[codes] = times.get(codes, 0) + 1
        columns, weights = [], []
        for codes, count in times.items():
            evidence = {
                v: self.values[v][code] for v, code in zip(self.values, codes, strict=True) if code >= 0
            }
            shares = {0: 1.0} if network is None else network.query(self.variable, evidence)
            for state, share in shares.items():
                if share > LEAST_SHARE:
                    columns.append((*codes, state))
                    weights.append(count * share)
        named = dict(zip((*self.values, self.variable), np.array(columns, np.int64).T, strict=True))
        sizes = {**{v: len(names) for v, names in self.values.items()}, self.variable: number}
        return Sample(named, sizes, np.array(weights))
