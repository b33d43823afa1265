"""Structures found from information, and from scores.

Ties go to the first by name: variables are numbered in the order of their names, and of equal candidates the first
wins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dependence_parents", "spanning_tree"]

Matrix = NDArray[np.float64]


def spanning_tree(information: Matrix, root: int = 0) -> list[int]:
    """Chow and Liu's tree: the parents in the maximum spanning tree of a symmetric matrix, -1 for the root.
    `information` is the mutual information of each pair. Edges are directed away from `root`.

    Examples
    --------
    >>> import numpy as np
    >>> spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0.0]]))
    [-1, 0, 1]
    """
    size = len(information)
    if size == 0:
        return []
    # Prim's algorithm, grown from the first variable whatever the root, so that the root decides directions only.
    best = information[0].copy()
    nearest = np.zeros(size, int)
    best[0] = -np.inf
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for _ in range(size - 1):
        new = int(best.argmax())
        neighbours[new].append(int(nearest[new]))
        neighbours[int(nearest[new])].append(new)
        best[new] = -np.inf
        nearer = (information[new] > best) & (best > -np.inf)
        best[nearer] = information[new][nearer]
        nearest[nearer] = new
    parents = [-1] * size
    reached = [root]
    for variable in reached:
        for neighbour in neighbours[variable]:
            if neighbour != parents[variable]:
                parents[neighbour] = variable
                reached.append(neighbour)
    return parents


def dependence_parents(with_class: NDArray[np.float64], information: Matrix, most: int) -> list[list[int]]:
    """Return the parents of Sahami's KDB.

    Those of a variable are the `most` with the most information about it, of those with more about the class.
    `with_class` is the mutual information of each variable and the class, `information` that of each pair given the
    class.

    Examples
    --------
    >>> import numpy as np
    >>> dependence_parents(np.array([0.1, 0.3, 0.2]), np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0.0]]), 1)
    [[2], [], [1]]
    """
    order = np.argsort(-with_class, kind="stable")
    parents: list[list[int]] = [[] for _ in order]
    for rank, variable in enumerate(order):
        earlier = np.sort(order[:rank])
        strongest = np.argsort(-information[variable, earlier], kind="stable")[:most]
        parents[variable] = earlier[strongest].tolist()
    return parents
