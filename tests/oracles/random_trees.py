"""Random trees over features, and samples of them: what a search for trees must get back."""

from __future__ import annotations

import random

from tests.learners.biased_events import Event

Tree = dict[str, str | None]


def random_tree(source: random.Random, names: list[str]) -> Tree:
    """Each feature's parent in a random tree; the first is the root."""
    return {name: source.choice(names[:place]) if place else None for place, name in enumerate(names)}


def tree_events(source: random.Random, tree: Tree, values: int, number: int) -> list[Event]:
    """Samples of a tree: a child has its parent's value, shifted by the class, or now and then any."""
    events: list[Event] = []
    for _ in range(number):
        label = source.randrange(2)
        codes: dict[str, int] = {}
        for name, parent in tree.items():
            if parent is None or source.random() < 0.25:
                codes[name] = source.randrange(values)
            else:
                codes[name] = (codes[parent] + label) % values
        events.append(({name: f"v{code}" for name, code in codes.items()}, label))
    return events


def undirected(tree: Tree) -> set[frozenset[str]]:
    return {frozenset((child, parent)) for child, parent in tree.items() if parent is not None}
