"""Inner loops of hill climbing: the best change of an edge, reachability, and edges that may be turned.

Matrices have a row for each parent and a column for each child; those of bytes hold 0 or 1. The kinds of changes are
numbered: 0 adds an edge, 1 removes it, 2 reverses it.
"""

from __future__ import annotations

import cython

ADD = cython.declare(cython.Py_ssize_t, 0)
REMOVE = cython.declare(cython.Py_ssize_t, 1)
REVERSE = cython.declare(cython.Py_ssize_t, 2)
NEVER = cython.declare(cython.double, -float("inf"))  # the gain of a change that may not be made


def best_change(gains, has, reach, allowed, required, tabu, parents, most, above, rounding, change):
    """Return the gain of the best change, minus infinity if there is none; the first of equal ones by kind, then place.

    `gains` has the gain of adding each edge, or of removing it if it exists. `has` are the edges; `reach` is 1 at [a,
    b] if b is reachable from a or is a itself. Edges that are `allowed` may exist, those that are `required` may not be
    removed, and those that are `tabu` change only for a gain above `above`. A variable has at most `most` parents.
    Gains that differ by no more than `rounding` are equal. `change` is filled with the kind, the parent and the child.
    """
    size: cython.Py_ssize_t = gains.shape[0]
    top: cython.double = NEVER
    answer: cython.double = NEVER
    with cython.nogil:
        for parent in range(size):
            for child in range(size):
                first = REMOVE if has[parent, child] else ADD
                last = REVERSE if has[parent, child] else ADD
                for kind in range(first, last + 1):
                    gain = raw_gain(kind, parent, child, gains, has, tabu, above)
                    if gain > top and may_change(
                        kind, parent, child, has, reach, allowed, required, parents, most
                    ):
                        top = gain
        # In the order of ties: kinds first.
        for kind in range(3):
            for parent in range(size):
                if answer > NEVER or top == NEVER:
                    break
                for child in range(size):
                    if kind == ADD and gains[parent, child] < top - rounding:
                        continue
                    gain = raw_gain(kind, parent, child, gains, has, tabu, above)
                    if (
                        gain > NEVER
                        and gain >= top - rounding
                        and may_change(kind, parent, child, has, reach, allowed, required, parents, most)
                    ):
                        change[0] = kind
                        change[1] = parent
                        change[2] = child
                        answer = gain
                        break
    return answer


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def raw_gain(
    kind: cython.Py_ssize_t,
    parent: cython.Py_ssize_t,
    child: cython.Py_ssize_t,
    gains: cython.double[:, ::1],
    has: cython.uchar[:, ::1],
    tabu: cython.uchar[:, ::1],
    above: cython.double,
) -> cython.double:
    """Return the gain of a change; minus infinity if there is no such edge to change, or if it is tabu."""
    if (has[parent, child] != 0) == (kind == ADD):
        return NEVER
    gain = gains[parent, child]
    if kind == REVERSE:
        gain += gains[child, parent]
    if tabu[parent, child] and not gain > above:
        return NEVER
    return gain


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def may_change(
    kind: cython.Py_ssize_t,
    parent: cython.Py_ssize_t,
    child: cython.Py_ssize_t,
    has: cython.uchar[:, ::1],
    reach: cython.uchar[:, ::1],
    allowed: cython.uchar[:, ::1],
    required: cython.uchar[:, ::1],
    parents: cython.longlong[::1],
    most: cython.Py_ssize_t,
) -> cython.bint:
    """Return True if a change keeps the limits and closes no cycle."""
    if kind == ADD:
        return allowed[parent, child] != 0 and reach[child, parent] == 0 and parents[child] < most
    if required[parent, child]:
        return False
    if kind == REMOVE:
        return True
    if allowed[child, parent] == 0 or parents[parent] >= most:
        return False
    # Reversing an edge closes a cycle if another path leads from the parent to the child.
    for other in range(has.shape[0]):
        if has[parent, other] and other != child and reach[other, child]:
            return False
    return True


def find_reach(has, reach, order, waiting):
    """Write 1 at [a, b] if b is reachable from a along edges or is a itself, otherwise 0. The edges in `has` form no
    cycle. `order` and `waiting` are room for a number for each variable.
    """
    size: cython.Py_ssize_t = has.shape[0]
    ready: cython.Py_ssize_t = 0
    with cython.nogil:
        for b in range(size):
            waiting[b] = 0
        for a in range(size):
            for b in range(size):
                waiting[b] += has[a, b]
                reach[a, b] = 0
            reach[a, a] = 1
        for a in range(size):
            if waiting[a] == 0:
                order[ready] = a
                ready += 1
        index = 0
        while index < ready:
            a = cython.cast(cython.Py_ssize_t, order[index])
            index += 1
            for b in range(size):
                if has[a, b]:
                    waiting[b] -= 1
                    if waiting[b] == 0:
                        order[ready] = b
                        ready += 1
        for index in range(ready - 1, -1, -1):
            a = cython.cast(cython.Py_ssize_t, order[index])
            for b in range(size):
                if has[a, b]:
                    for k in range(size):
                        reach[a, k] |= reach[b, k]


def extend_reach(reach, parent, child):
    """Update reachability for an edge that was added."""
    with cython.nogil:
        for a in range(reach.shape[0]):
            if reach[a, parent]:
                for b in range(reach.shape[0]):
                    reach[a, b] |= reach[child, b]


def covered_edges(has, allowed, required, parents, most, edges):
    """Return the number of covered edges that may be reversed; write the parent and the child of each.

    An edge is covered if its ends have all other parents in common. Edges that are `allowed` may exist, and those that
    are `required` must. A variable has `parents`, at most `most`. `edges` has room for a row for each edge.
    """
    size: cython.Py_ssize_t = has.shape[0]
    parent: cython.Py_ssize_t
    child: cython.Py_ssize_t
    other: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for parent in range(size):
            if parents[parent] >= most:
                continue
            for child in range(size):
                if has[parent, child] == 0 or required[parent, child] or allowed[child, parent] == 0:
                    continue
                covered: cython.bint = parents[child] == parents[parent] + 1
                for other in range(size):
                    if not covered:
                        break
                    covered = has[other, parent] == has[other, child] or other == parent
                if covered:
                    edges[count, 0] = parent
                    edges[count, 1] = child
                    count += 1
    return count
