"""The search for the structure of a network over names and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.live_networks.mixed_counts import MixedCounts
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.mixed_scores import MixedSample, MixedScorer, search_mixed
from stream_bayes.core.search.order_search import BOSS
from stream_bayes.core.search.scores import BIC
from stream_bayes.core.search.search_result import SearchResult
from stream_bayes.core.values.values import name_order, shown
from stream_bayes.data.frames import Native, events_in
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_choice, check_number
from stream_bayes.networks.mixed_network import declared_variables

__all__ = ["mixed_structure"]


def mixed_structure(
    rows: Native,
    search: HillClimbing | BOSS | None = None,
    score: str = "marginal-likelihood",
    strength: float = 1.0,
    schema: Schema | None = None,
) -> SearchResult:
    """Search for the structure of a `MixedNetwork` over rows of names and numbers.

    Parameters
    ----------
    rows
        A data frame, or a list of dicts. What parents add to a variable is compared over the rows that have all of
        them, and counts for as many rows as have the variable.
    search
        `HillClimbing`, or `BOSS`, which leaves local maxima and takes some ten times as long, with constraints, limits
        and restarts. Its own score is for names and has to be left out. None: `HillClimbing()`.
    score
        `"marginal-likelihood"`, with the prior of the network, or `"bic"`.
    strength
        The weight of the prior, as in `MixedNetwork`.
    schema
        The declared variables, as in `MixedNetwork`. A number above a name is cut at its declared cuts, or else where
        the rows suggest it.

    Raises
    ------
    BadValue
        If no row has a value.

    Examples
    --------
    >>> from stream_bayes.networks import MixedNetwork, mixed_structure
    >>> rows = [{"kind": "ab"[k % 2], "size": k % 7 + 3.0 * (k % 2), "day": k * k % 5} for k in range(100)]
    >>> found = mixed_structure(rows)
    >>> found.structure
    Structure({'day': (), 'kind': ('size',), 'size': ()})
    >>> model = MixedNetwork(found.structure)
    """
    search = HillClimbing() if search is None else search
    if not isinstance(search, HillClimbing | BOSS):
        raise BadValue(f"search must be HillClimbing(...), BOSS(...) or None, not {shown(search)}")
    if search.score != BIC():
        raise BadValue(f"search has the score {search.score} of names; leave it out there, and give score=")
    check_choice("score", score, ("marginal-likelihood", "bic"))
    check_number("strength", strength, above=True)
    sample = _mixed_sample([*events_in(rows)], schema)
    scorer = MixedScorer(sample, float(strength) if score == "marginal-likelihood" else 0.0)
    return search_mixed(search, scorer)


def _mixed_sample(rows: Sequence[Mapping[Any, Any]], schema: Schema | None) -> MixedSample:
    names = list(schema.features) if schema is not None else [*dict.fromkeys(v for row in rows for v in row)]
    variables = tuple(sorted(names, key=name_order))
    counts = MixedCounts(Structure(dict.fromkeys(variables, ())), declared_variables(schema))
    read = []
    for row in rows:
        read.append(counts.read(row))
        if len(counts.kinds) < len(variables):
            counts.note_kinds(read[-1])
    if not any(read):
        raise BadValue(f"a search needs rows with values; none of {len(rows):,} has one")
    return MixedSample.of(read, counts.kinds, counts.declared)
