"""Readings with one parent for each feature: the user's own structure, TAN's tree, KDB's strongest dependences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._one_parent import ParentReading
from stream_bayes.core.readings.schedule import (
    NEVER,
    Awaited,
    Missed,
    Named,
    checked_slot,
    checked_time,
    next_check,
)
from stream_bayes.core.readings.trees import dependence_parents, spanning_tree
from stream_bayes.core.values.values import Value, name_order, tagged, untagged
from stream_bayes.errors import BadState

__all__ = ["Dependences", "GivenParents", "SpanningTree"]


class _DerivedParents(ParentReading):
    """A one-dependence structure that is derived from the counts."""

    def __init__(self, tables: Tables, encoder: Encoder, every: int | None, **settings: Any) -> None:
        super().__init__(tables, encoder.labels, **settings)
        self.encoder = encoder
        self.every = every
        self.due = next_check(tables, every)

    def parents_by_name(self) -> dict[Value, Value | None]:
        """Each feature's parent, None where it depends on the class alone."""
        features = self.encoder.nominal
        known = np.asarray(self.parent).tolist()
        return {
            feature.name: features[known[feature.slot]].name
            if feature.slot < len(known) and known[feature.slot] >= 0
            else None
            for feature in sorted(features, key=lambda feature: name_order(feature.name))
        }

    def set_parents(self, named: Named, parents: Sequence[int]) -> None:
        """Take a structure over the features by name as the one to score with."""
        slots = np.full(len(self.encoder.nominal), -1, np.longlong)
        for child, parent in enumerate(parents):
            if parent >= 0:
                slots[named.slots[child]] = named.slots[parent]
        self.parent = slots

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts: the structure as (child, parent) by slots."""
        parents = [
            [child, parent] for child, parent in enumerate(np.asarray(self.parent).tolist()) if parent >= 0
        ]
        return {"due": self.due, "parents": parents}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due = checked_time(saved["due"])
        features = len(self.encoder.nominal)
        slots = np.full(features, -1, np.longlong)
        for child, parent in saved["parents"]:
            slots[checked_slot(child, features)] = checked_slot(parent, features)
            if child == parent:
                raise BadState("the state does not fit: a feature is its own parent")
        self.parent = slots


class GivenParents(_DerivedParents):
    """The user's own one-dependence structure."""

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        parents: Mapping[Value, Value],
        missed: Missed | None = None,
        **settings: Any,
    ) -> None:
        self.given_parents = dict(parents)
        self.awaited = Awaited([*dict.fromkeys([*parents, *parents.values()])], missed)
        super().__init__(tables, encoder, 1, **settings)
        self.derive()

    def derive(self) -> None:
        """Find the features that the structure names among those met; again after each event until all are there."""
        features = self.encoder.features
        met = {
            child: parent
            for child, parent in self.given_parents.items()
            if child in features and parent in features
        }
        slots = np.full(len(self.encoder.nominal), -1, np.longlong)
        for child, parent in met.items():
            slots[features[child].slot] = features[parent].slot
        self.parent = slots
        clock = int(self.tables.clock)
        self.due = NEVER if len(met) == len(self.given_parents) else clock + 1
        self.awaited.look(self.encoder, clock)

    def derived(self) -> dict[str, Any]:
        """Nothing: the structure is the learner's argument."""
        return {}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.awaited.looked_at = int(self.tables.clock)
        self.derive()


class SpanningTree(_DerivedParents):
    """TAN: the maximum spanning tree of I(a; b | class), directed from a root.

    Without `every`, the tree is derived again when its edges, whose information is looked at whenever there are a
    tenth more events, no longer come in the order in which they were chosen, and when the events have doubled.
    """

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        every: int | None,
        root: Value | None,
        missed: Missed | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(tables, encoder, every, **settings)
        self.root = root
        self.edges: list[tuple[Value, Value]] = []  # the strongest first
        self.derived_at = 0
        self.awaited = Awaited([] if root is None else [root], missed)

    def derive(self) -> None:
        """Look whether the tree is still the one to have, and derive it anew if it may not be."""
        doubled = self.tables.clock >= 2 * self.derived_at
        if self.every is not None or doubled or not self.edges or not self.is_in_order():
            self.rederive()
        self.due = next_check(self.tables, self.every)
        self.awaited.look(self.encoder, int(self.tables.clock))

    def rederive(self) -> None:
        """Derive the tree from the counts as they are now."""
        named = Named(self.tables, self.encoder)
        self.derived_at = int(self.tables.clock)
        if self.root is not None and self.root not in named.names:
            root = 0
        else:
            root = 0 if self.root is None else named.names.index(self.root)
        information = named.information.between_all()
        parents = spanning_tree(information, root)
        edges = [(child, parent) for child, parent in enumerate(parents) if parent >= 0]
        edges.sort(key=lambda edge: (-information[edge], min(edge), max(edge)))
        self.edges = [(named.names[min(edge)], named.names[max(edge)]) for edge in edges]
        self.set_parents(named, parents)

    def is_in_order(self) -> bool:
        """Whether each edge still tells at least as much as the next, and no feature has been met since."""
        named = Named(self.tables, self.encoder)
        place = {name: number for number, name in enumerate(named.names)}
        if set(place) != {name for edge in self.edges for name in edge}:
            return False
        told = [named.information.between(place[a], place[b]) for a, b in self.edges]
        return all(first >= second for first, second in pairwise(told))

    def derived(self) -> dict[str, Any]:
        return super().derived() | {
            "edges": [[tagged(a), tagged(b)] for a, b in self.edges],
            "derived_at": self.derived_at,
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        super().load_derived(saved)
        self.awaited.looked_at = int(self.tables.clock)
        self.edges = [(untagged(a), untagged(b)) for a, b in saved["edges"]]
        known = self.encoder.features
        if not all(name in known for edge in self.edges for name in edge):
            raise BadState("the state does not fit: its tree has a feature that it does not name")
        self.derived_at = checked_time(saved["derived_at"])


class Dependences(_DerivedParents):
    """KDB with at most one parent: of the features that tell more of the class, the one that tells most of the
    feature.
    """

    def __init__(
        self, tables: Tables, encoder: Encoder, every: int | None, most: int = 1, **settings: Any
    ) -> None:
        super().__init__(tables, encoder, every, **settings)
        self.most = most

    def derive(self) -> None:
        """Derive the structure because its time has come."""
        self.rederive()
        self.due = next_check(self.tables, self.every)

    def rederive(self) -> None:
        """Derive the structure from the counts as they are now."""
        named = Named(self.tables, self.encoder)
        parents = dependence_parents(named.with_class(), named.information.between_all(), self.most)
        self.set_parents(named, [above[0] if above else -1 for above in parents])
