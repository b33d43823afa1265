"""Plans of exact inference: a junction tree, and the layout of the arrays that its passes run over.

A plan depends on the parents and sizes of the variables alone, never on probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.inference.junction_tree import JunctionTree, joint_size, junction_tree

__all__ = ["Plan", "Question", "cells_needed", "plan_for", "tree_for"]

Positions: TypeAlias = NDArray[np.longlong]


@dataclass(frozen=True, slots=True)
class Question:
    """The kind of question that a plan answers."""

    families: tuple[int, ...]  # the variables whose tables are needed, ascending
    fixed: frozenset[int] = frozenset()  # variables whose codes will be given: they take no room
    targets: tuple[int, ...] = ()  # variables whose joint probabilities are wanted, ascending
    # True if messages will also go outward from the root, which keeps the tables of all cliques; False keeps one
    # clique's table at a time
    both_ways: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """The layout of a tree's cells. For each array `x`, `x_start` holds the beginning of each clique's part."""

    tree: JunctionTree
    cells: int  # the number that the passes need
    parent: Positions  # the position of each clique's parent, -1 for the root
    axis_start: Positions
    axis: Positions  # the variables of each clique
    family_start: Positions
    family: Positions  # the variables whose tables are assigned to each clique
    family_axis_start: Positions
    # for each variable of such a table its axis in the clique, -1 if it is always fixed
    family_axis: Positions
    soft_start: Positions
    soft: Positions  # the variables whose likelihoods are assigned to each clique
    soft_axis: Positions  # their axes there
    child_start: Positions
    child: Positions  # the children of each clique
    separator_start: Positions
    separator: Positions  # the variables of each clique's message
    own_axis: Positions  # their axes in the clique
    parent_axis: Positions  # their axes in its parent
    offset: Positions  # the position in the cells of each clique's table
    message_offset: Positions  # that of its message
    spare_offset: int  # this and the next: the positions of two more messages, for work
    top_offset: int

    def clique_of(self, variables: Iterable[int]) -> int:
        """Return the clique nearest to the root that contains some variables; -1 if there is none.

        Examples
        --------
        >>> question, parents, sizes = Question((0, 1, 2)), [[], [0], [1]], [2, 2, 2]
        >>> plan = plan_for(question, tree_for(question, parents, sizes), parents, sizes)
        >>> plan.tree.cliques, plan.clique_of([0, 1]), plan.clique_of([0, 2])
        (((0, 1), (1, 2)), 0, -1)
        """
        several = set(variables)
        # Children come before their parents, so on any path to the root the last clique is the nearest.
        fitting = [number for number, clique in enumerate(self.tree.cliques) if several.issubset(clique)]
        return max(fitting, default=-1)

    @property
    def homes(self) -> dict[int, int]:
        """The clique nearest to the root that contains each variable."""
        return {v: number for number, clique in enumerate(self.tree.cliques) for v in clique}


def tree_for(question: Question, parents: Sequence[Sequence[int]], sizes: Sequence[int]) -> JunctionTree:
    """Return the junction tree that a question needs."""
    scopes = [{*parents[v], v} - question.fixed for v in question.families]
    return junction_tree([*scopes, *([v] for v in question.targets)], sizes, together=question.targets)


def cells_needed(question: Question, tree: JunctionTree, sizes: Sequence[int]) -> int:
    """Return the number of cells that the passes over a tree need: cliques, messages, and two messages more."""
    cliques = [joint_size(clique, sizes) for clique in tree.cliques]
    messages = [joint_size(separator, sizes) for separator in _separators(question, tree)]
    return (sum(cliques) if question.both_ways else max(cliques)) + sum(messages) + 2 * max(messages)


def plan_for(
    question: Question, tree: JunctionTree, parents: Sequence[Sequence[int]], sizes: Sequence[int]
) -> Plan:
    """Make a plan. `tree` is the result of `tree_for`. `parents` are in the order of the axes; `sizes` has the number
    of values of each variable.
    """
    cliques = range(len(tree.cliques))
    axis_of = [{v: axis for axis, v in enumerate(clique)} for clique in tree.cliques]
    separators = _separators(question, tree)
    families: list[list[int]] = [[] for _ in cliques]
    soft: list[list[int]] = [[] for _ in cliques]
    children: list[list[int]] = [[] for _ in cliques]
    room = [joint_size(clique, sizes) for clique in tree.cliques]
    holders: dict[int, list[int]] = {}
    for s in cliques:
        for v in tree.cliques[s]:
            holders.setdefault(v, []).append(s)
        if tree.parent[s] >= 0:
            children[tree.parent[s]].append(s)
    for v in question.families:
        scope = {*parents[v], v} - question.fixed
        among = holders[min(scope, key=lambda u: len(holders[u]))] if scope else cliques
        home = min((s for s in among if scope.issubset(axis_of[s])), key=lambda s: (room[s], s))
        families[home].append(v)
    for v, several in holders.items():
        soft[min(several, key=lambda s: (room[s], s))].append(v)
    messages = [joint_size(separator, sizes) for separator in separators]
    offset = _starts(room)[:-1] if question.both_ways else [0] * len(cliques)
    first = sum(room) if question.both_ways else max(room)
    message_offset = [first + start for start in _starts(messages)]
    scopes = [
        [axis_of[s].get(u, -1) for u in (*parents[v], v)]
        for s, several in enumerate(families)
        for v in several
    ]
    above = [axis_of[p] if p >= 0 else {} for p in tree.parent]
    return Plan(
        tree=tree,
        cells=message_offset[-1] + 2 * max(messages),
        parent=_positions(tree.parent),
        axis_start=_positions(_starts(map(len, tree.cliques))),
        axis=_flat(tree.cliques),
        family_start=_positions(_starts(map(len, families))),
        family=_flat(families),
        family_axis_start=_positions(_starts(map(len, scopes))),
        family_axis=_flat(scopes),
        soft_start=_positions(_starts(map(len, soft))),
        soft=_flat(soft),
        soft_axis=_flat([[axis_of[s][v] for v in several] for s, several in enumerate(soft)]),
        child_start=_positions(_starts(map(len, children))),
        child=_flat(children),
        separator_start=_positions(_starts(map(len, separators))),
        separator=_flat(separators),
        own_axis=_flat([[axis_of[s][v] for v in separators[s]] for s in cliques]),
        parent_axis=_flat([[above[s].get(v, -1) for v in separators[s]] for s in cliques]),
        offset=_positions(offset),
        message_offset=_positions(message_offset[:-1]),
        spare_offset=message_offset[-1],
        top_offset=message_offset[-1] + max(messages),
    )


def _separators(question: Question, tree: JunctionTree) -> list[tuple[int, ...]]:
    """Return the variables of each clique's message; the root's message is the answer."""
    return [*(tree.separator(s) for s in range(len(tree.cliques) - 1)), question.targets]


def _starts(lengths: Iterable[int]) -> list[int]:
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return starts


def _positions(numbers: Sequence[int]) -> Positions:
    return np.array(numbers, np.longlong)


def _flat(several: Iterable[Iterable[int]]) -> Positions:
    return np.array([number for numbers in several for number in numbers], np.longlong)
