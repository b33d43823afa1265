"""Structures found from information, and from scores.

Ties go to the first by name: variables are numbered in the order of their names, and of equal candidates the first
wins.
"""

from __future__ import annotations

import cython
import numpy as np


@cython.ccall
def spanning_tree(information: cython.double[:, :], root: cython.Py_ssize_t = 0) -> list:
    """Chow and Liu's tree: the parents in the maximum spanning tree of a symmetric matrix, -1 for the root.
    `information` is the mutual information of each pair. Edges are directed away from `root`.

    Examples
    --------
    >>> import numpy as np
    >>> spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0.0]]))
    [-1, 0, 1]
    """
    size: cython.Py_ssize_t = information.shape[0]
    if size == 0:
        return []
    # Prim's algorithm, grown from the first variable whatever the root, so that the root decides directions only.
    nearest: cython.longlong[::1] = np.zeros(size, np.longlong)
    is_reached: cython.uchar[::1] = np.zeros(size, np.uint8)
    neighbours: list = [[] for _ in range(size)]
    is_reached[0] = True
    for _ in range(size - 1):
        new: cython.Py_ssize_t = -1
        for k in range(size):
            if not is_reached[k] and (new < 0 or information[nearest[k], k] > information[nearest[new], new]):
                new = k
        neighbours[new].append(int(nearest[new]))
        neighbours[nearest[new]].append(int(new))
        is_reached[new] = True
        for k in range(size):
            if not is_reached[k] and information[new, k] > information[nearest[k], k]:
                nearest[k] = new
    parents: list = [-1] * size
    reached: list = [int(root)]
    for variable in reached:
        for neighbour in neighbours[variable]:
            if neighbour != parents[variable]:
                parents[neighbour] = variable
                reached.append(neighbour)
    return parents


@cython.ccall
def dependence_parents(
    with_class: cython.double[::1], information: cython.double[:, :], most: cython.Py_ssize_t
) -> list:
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
    size: cython.Py_ssize_t = information.shape[0]
    is_free: cython.uchar[::1] = np.zeros(size, np.uint8)  # earlier in the order, and no parent yet
    parents: list = [[] for _ in range(size)]
    earlier: cython.Py_ssize_t = 0
    for variable in np.argsort(-np.asarray(with_class), kind="stable").tolist():
        child: cython.Py_ssize_t = variable
        chosen: list = parents[child]
        for _ in range(min(most, earlier)):
            strongest: cython.Py_ssize_t = -1
            for k in range(size):
                if is_free[k] and (strongest < 0 or information[child, k] > information[child, strongest]):
                    strongest = k
            is_free[strongest] = False
            chosen.append(int(strongest))
        for parent in chosen:
            is_free[parent] = True
        is_free[child] = True
        earlier += 1
    return parents
