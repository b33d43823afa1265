"""Trees over a sample: Chow-Liu trees, and tree-augmented naive Bayes (TAN) by Friedman, Geiger and Goldszmidt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.completions import completed
from stream_bayes.core.search.pair_tables import pair_information
from stream_bayes.core.search.sample import Sample, check_sample
from stream_bayes.core.structures._tan_and_kdb import spanning_tree
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadStructure

__all__ = ["chow_liu_tree", "tan_structure"]


def chow_liu_tree(sample: Sample, root: Value | None = None) -> Structure:
    """Return the tree that makes the sample most likely (Chow and Liu, 1968).

    It is the spanning tree with the largest mutual information. Missing values are filled in as for `HillClimbing`.
    Ties go to the first pair by name. Memory and time: a table for each pair, one pass over the rows for each variable.

    Parameters
    ----------
    sample
        The rows.
    root
        The variable from which all edges point away; the first by name, if not given. No data can decide it.

    Examples
    --------
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> chow_liu_tree(Sample(columns, {"rain": 2, "wet": 2, "day": 2}), root="rain")
    Structure({'day': ('rain',), 'rain': (), 'wet': ('rain',)})
    """
    check_sample(sample)
    sample = completed(sample)
    start = 0 if root is None else sample.place(root)
    columns = range(len(sample.variables))
    return _structure(sample, spanning_tree(_information(sample, columns), start), columns, ())


def tan_structure(sample: Sample, label: Value, root: Value | None = None) -> Structure:
    """Return the TAN structure that makes the sample most likely: naive Bayes with a tree over the features.

    Every feature has the label as a parent, and all but the root have one other feature. The tree has the largest
    mutual information given the label. Missing values are filled in as for `HillClimbing`.

    Parameters
    ----------
    sample
        The rows.
    label
        The variable to predict.
    root
        The feature from which all edges of the tree point away; the first by name, if not given.

    Examples
    --------
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> tan_structure(Sample(columns, {"rain": 2, "wet": 2, "day": 2}), "day")
    Structure({'day': (), 'rain': ('day',), 'wet': ('day', 'rain')})
    """
    check_sample(sample)
    target = sample.place(label)
    features = [column for column in range(len(sample.variables)) if column != target]
    start = features[0] if root is None and features else sample.place(label if root is None else root)
    if root is not None and start == target:
        raise BadStructure(f"root: expected a feature, got {shown(root)}, which is the label")
    if not features:
        return Structure.from_edges((), sample.variables)
    tree = spanning_tree(_information(completed(sample), features, (target,)), features.index(start))
    return _structure(sample, tree, features, (target,))


def _information(
    sample: Sample, columns: Sequence[int], conditioning: Sequence[int] = ()
) -> NDArray[np.float64]:
    """Return the mutual information of each pair of variables, in nats a row."""
    answer = np.zeros((len(columns), len(columns)))
    for k, one in enumerate(columns):
        for j, (information, counted) in enumerate(pair_information(sample, one, columns[:k], conditioning)):
            answer[k, j] = answer[j, k] = information / counted if counted else 0.0
    return answer


def _structure(
    sample: Sample, tree: Sequence[int], columns: Sequence[int], above: Sequence[int]
) -> Structure:
    names = sample.variables
    edges = [(names[parent], names[child]) for parent in above for child in columns]
    edges += [(names[columns[parent]], names[columns[k]]) for k, parent in enumerate(tree) if parent >= 0]
    return Structure.from_edges(edges, names)
