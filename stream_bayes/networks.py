"""Structures from data: the rows to search over, the scores and the searches.

sample_of(rows)                      a data frame, coded columns or dicts as a sample; a model's `recent()` is one, too
HillClimbing, K2Search, PC           .search(sample): by score, by score in a known order, by tests
chow_liu_tree, tan_structure        trees, and trees under a class
BIC, AIC, BDeu, K2, LogLikelihood    what is raised
FamilyScorer                         what remembers families, for the next search
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from stream_bayes.core.encoding._features import read_weight
from stream_bayes.core.search.family_scores import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.k2 import K2Search
from stream_bayes.core.search.pc import PC, ConstraintResult
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import AIC, BIC, K2, BDeu, LogLikelihood, Score
from stream_bayes.core.search.search_result import Move, SearchResult
from stream_bayes.core.search.trees import chow_liu_tree, tan_structure
from stream_bayes.core.values.values import canonical, shown
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frame_columns import factorise
from stream_bayes.data.frames import Native, labels_of, read_table
from stream_bayes.errors import BadWeight, SchemaError

__all__ = [
    "AIC",
    "BIC",
    "K2",
    "PC",
    "BDeu",
    "ConstraintResult",
    "FamilyScorer",
    "HillClimbing",
    "K2Search",
    "LogLikelihood",
    "Move",
    "Sample",
    "Score",
    "SearchResult",
    "chow_liu_tree",
    "sample_of",
    "tan_structure",
]


def sample_of(rows: Native, weights: Native = None) -> Sample:
    """Rows to search over, each value a category: whole numbers, too.

    Parameters
    ----------
    rows
        A data frame (pandas, polars, ...), columns of values by name, a list of dicts, or `CodedColumns`. None and NaN
        are missing.
    weights
        How much each row weighs.

    Raises
    ------
    SchemaError
        If these are no rows, or numbers that no schema has put into bins.

    Examples
    --------
    >>> rows = {"rain": [0, 1] * 50, "wet": ["no", "yes"] * 50, "day": ["sun", "sun", "mon", "mon"] * 25}
    >>> structure = HillClimbing().search(sample_of(rows)).structure
    >>> structure
    Structure({'day': (), 'rain': (), 'wet': ('rain',)})
    """
    if isinstance(rows, CodedColumns):
        if rows.numeric_names:
            raise SchemaError(
                f"numbers are not searched over, but {shown(rows.numeric_names)} hold some; declare their cuts, or "
                "leave them out"
            )
        columns: Mapping[Any, Any] = {name: rows.codes[:, k] for k, name in enumerate(rows.names)}
        sizes: dict[Any, int] = {
            name: len(known) for name, known in zip(rows.names, rows.vocabularies, strict=True)
        }
    else:
        table = read_table(rows)
        coded: dict[Any, Any] = {
            name: factorise(cells, (), partial(canonical, feature=name))
            for name, cells in table.columns.items()
        }
        columns = {name: codes for name, (codes, _) in coded.items()}
        sizes = {name: len(values) for name, (_, values) in coded.items()}
    own = None if weights is None else [read_weight(one) for one in labels_of(weights, "weights")]
    count = len(next(iter(columns.values()))) if columns else 0
    if own is not None and len(own) != count:
        raise BadWeight(f"{count} rows, but {len(own)} weights")
    return Sample(columns, {name: max(size, 1) for name, size in sizes.items()}, own)
