"""Searches by score from what `ScoreSearch.to_json` saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.core.search.exact_search import ExactSearch
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.order_search import BOSS
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.search.scores import Score
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import untagged

__all__ = ["SEARCHES", "search_from_json"]

SEARCHES: Mapping[str, type[ScoreSearch]] = {
    kind.__name__: kind for kind in (BOSS, ExactSearch, HillClimbing)
}


def search_from_json(saved: Mapping[str, Any]) -> ScoreSearch:
    """Return the search that `to_json` saved.

    Examples
    --------
    >>> search = ExactSearch(max_parents=3, tiers=[["season"], ["rain"]])
    >>> search_from_json(search.to_json()) == search
    True
    """
    groups = {
        name: tuple(tuple(untagged(value) for value in group) for group in saved[name])
        for name in ("required", "forbidden", "tiers")
    }
    expect(saved["kind"] in SEARCHES, f"{saved['kind']!r} is no search")
    name, arguments = saved["score"]
    scores = {kind.__name__: kind for kind in Score.__subclasses__()}
    expect(name in scores, f"{name!r} is no score")
    settings = {key: value for key, value in saved.items() if key != "kind"}
    return SEARCHES[saved["kind"]](**{**settings, **groups, "score": scores[name](**arguments)})
