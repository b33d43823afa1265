"""The score of a given structure, and the confidence in the edges that a search finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.completions import completed
from stream_bayes.core.search.constraints import edge_matrix
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.pdag import PDAG
from stream_bayes.core.search.sample import Sample, check_sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.search.scores import BIC, Score, check_score
from stream_bayes.core.values.unknown_names import check_variables
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue

__all__ = ["edge_confidence", "score"]


def score(structure: Structure, sample: Sample, by: Score | None = None) -> float:
    """Return the score of a structure: what the searches maximise. Missing values are filled in as they do.

    Parameters
    ----------
    structure
        The structure, over variables of the sample; the sample may have more.
    sample
        The rows, as `sample_of` makes them of a data frame.
    by
        The score; None is `BIC()`.

    Raises
    ------
    UnknownFeature
        If the sample lacks a variable.

    Examples
    --------
    >>> from stream_bayes.networks import AIC, Structure, sample_of
    >>> rows = sample_of({"rain": ["yes", "no", "no", "no"] * 10, "lawn": ["wet", "wet", "dry", "dry"] * 10})
    >>> edge, apart = Structure({"rain": [], "lawn": ["rain"]}), Structure({"rain": [], "lawn": []})
    >>> score(edge, rows) > score(apart, rows), round(score(apart, rows, AIC()), 2)
    (True, -52.22)
    """
    check_sample(sample)
    how = BIC() if by is None else by
    check_score(how)
    check_variables(structure.variables, sample.variables, "structure", whole="the sample")
    scorer = FamilyScorer(completed(sample), how)
    return float(
        sum(
            scorer.score(sample.place(name), [sample.place(parent) for parent in structure.parents(name)])
            for name in structure.variables
        )
    )


def edge_confidence(
    sample: Sample, search: ScoreSearch, replicates: int, rng: np.random.Generator
) -> Mapping[Edge, float]:
    """Return the share of bootstrap replicates whose structure has each edge (Friedman, Goldszmidt and Wyner 1999).

    A replicate redraws the rows, by weight. An edge that may point either way in the equivalence class found counts
    half for each direction, so the shares of (a, b) and (b, a) add up to that of an edge between a and b. Directions
    that the required and forbidden edges or the tiers of the search exclude count 0, and so do those that Meek's rules
    (1995) exclude then.

    Parameters
    ----------
    sample
        The rows.
    search
        The search.
    replicates
        The number of replicates, each a search.
    rng
        The source of randomness.

    Examples
    --------
    >>> from stream_bayes.networks import HillClimbing, sample_of
    >>> rows = sample_of({"rain": [0, 1] * 50, "lawn": ["dry", "wet"] * 50, "day": ["sun", "sun", "mon", "mon"] * 25})
    >>> found = edge_confidence(rows, HillClimbing(), 10, np.random.default_rng(1))
    >>> found["rain", "lawn"], found["lawn", "rain"], found.get(("day", "rain"), 0.0) < 0.2
    (0.5, 0.5, True)
    """
    check_sample(sample)
    if not isinstance(search, ScoreSearch):
        raise BadValue(
            f"search: expected ExactSearch(...), BOSS(...) or HillClimbing(...), got {shown(search)}"
        )
    if type(replicates) is not int or replicates < 1:
        raise BadValue(f"replicates: expected a whole number of at least 1, got {replicates!r}")
    shares: dict[Edge, float] = {}
    rows = sample.collapsed()
    total = float(rows.weights.sum())
    if total <= 0.0:
        return {}
    for _ in range(replicates):
        drawn = rows.weighed(rng.multinomial(round(total), rows.weights / total).astype(np.float64))
        for edge, share in _shares(search.search(drawn, rng=rng).structure, search):
            shares[edge] = shares.get(edge, 0.0) + share
    return {edge: shares[edge] / replicates for edge in sorted(shares, key=lambda edge: -shares[edge])}


def _shares(structure: Structure, search: ScoreSearch) -> Iterator[tuple[Edge, float]]:
    """Yield the edges of an equivalence class: 1 if it and the constraints direct the edge, else 1/2 each way."""
    names, equivalence = structure.variables, structure.cpdag()
    required, edges = edge_matrix(search.required, names), edge_matrix(structure.edges, names)
    graph = PDAG(edges | edges.T, search.allowed(names) & ~required.T)
    graph.point([(a, b) for a, b in np.argwhere(edge_matrix(equivalence.compelled, names)).tolist()])
    graph.point([(a, b) for a, b in np.argwhere(edges & ~graph.allowed.T).tolist()])
    graph.complete()
    for a, b in np.argwhere(graph.joined & ~graph.arrows.T).tolist():
        yield (names[a], names[b]), 1.0 if graph.arrows[a, b] else 0.5
