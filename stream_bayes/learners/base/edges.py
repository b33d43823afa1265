"""Edges of a learned structure between features, by name, of any learner that has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.core.structures._tan_and_kdb import spanning_tree
from stream_bayes.core.structures.named_features import NamedFeatures
from stream_bayes.core.values.values import name_order

__all__ = ["dependences_of", "edge_name", "edges_of", "learner_within", "listed_edges"]


def edges_of(model: Any) -> list[list[str]]:
    """Return the edges of a learner's structure between features, derived or given, as [parent, child] by name.

    Examples
    --------
    >>> from stream_bayes import SPODE
    >>> model = SPODE("season")
    >>> model.learn_one({"season": "autumn", "wind": "west", "sky": "grey"}, "rain")
    >>> edges_of(model)
    [['season', 'sky'], ['season', 'wind']]
    """
    model = learner_within(model)
    structure = getattr(model, "structure", None)
    if structure is not None:
        return [[edge_name(parent), edge_name(child)] for parent, child in structure.edges]
    each = getattr(model, "structures_", None)
    if each is not None:  # a choice of several
        every = [edge for parents in each.values() for edge in listed_edges(parents)]
        return [edge for number, edge in enumerate(every) if edge not in every[:number]]
    parents: Mapping[Any, Any] = getattr(model, "parents_", {})
    above_all = getattr(model, "parent_", None)
    if above_all is not None:
        features = [feature.name for feature in model.store.encoder.nominal]
        parents = {name: above_all for name in features if name != above_all}
    return listed_edges(parents)


def dependences_of(learner: Any) -> list[list[str]]:
    """Return the strongest dependences between features given the label, of a learner that counts all pairs.

    They are the edges of the tree that `TAN` derives from the same counts.

    Examples
    --------
    >>> from stream_bayes import AODE
    >>> model = AODE()
    >>> for sky, wind in [("grey", "west"), ("grey", "west"), ("blue", "east"), ("blue", "east")]:
    ...     model.learn_one({"sky": sky, "wind": wind, "moon": "new"}, "dry")
    ...     model.learn_one({"sky": sky, "wind": wind, "moon": "full"}, "rain")
    >>> dependences_of(model)
    [['moon', 'sky'], ['sky', 'wind']]
    """
    named = NamedFeatures(learner.store.tables, learner.store.encoder)
    parents = spanning_tree(named.information.between_all())
    names = [edge_name(name) for name in named.names]
    return [[names[parent], names[child]] for child, parent in enumerate(parents) if parent >= 0]


def listed_edges(parents: Mapping[Any, Any]) -> list[list[str]]:
    """Return the edges from each child's parents, or its only one."""
    edges = []
    for child in sorted(parents, key=name_order):
        above = parents[child]
        several = isinstance(above, tuple) and above not in parents  # a name may be a tuple too
        edges += [
            [edge_name(one), edge_name(child)] for one in (above if several else (above,)) if one is not None
        ]
    return edges


def learner_within(model: Any) -> Any:
    """Return the learner of a window, or the learner itself."""
    return getattr(model, "learner", model)


def edge_name(name: Any) -> str:
    """Return the name of a feature as a log holds it."""
    return name if isinstance(name, str) else repr(name)
