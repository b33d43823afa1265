"""Readings with one parent for each feature: a structure the user gives, TAN's tree, KDB with one parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._one_parent import ParentReading
from stream_bayes.core.readings.state import load_clock, load_slot
from stream_bayes.core.structures._tan_and_kdb import dependence_parents, spanning_tree
from stream_bayes.core.structures.deriving_schedule import NEVER, next_check
from stream_bayes.core.structures.named_features import ExpectedFeatures, NamedFeatures, OnAbsent
from stream_bayes.core.values.values import Value, name_order, tagged, untagged
from stream_bayes.errors import BadState

__all__ = ["Dependences", "GivenParents", "SpanningTree"]


class _DerivedParents(ParentReading):
    """A one-dependence structure that is derived from the counts. `every` is the number of events between two
    derivations of the structure; None: derive when it may have changed.
    """

    def __init__(self, tables: Tables, encoder: Encoder, every: int | None, **settings: Any) -> None:
        super().__init__(tables, encoder.labels, **settings)
        self.encoder = encoder
        self.every = every
        self.due = next_check(tables, every)

    def parents_by_name(self) -> dict[Value, Value | None]:
        """Return each feature's parent, None for a feature that depends on the class alone."""
        features = self.encoder.nominal
        parents = np.asarray(self.parent).tolist()
        return {
            feature.name: features[parents[feature.slot]].name
            if feature.slot < len(parents) and parents[feature.slot] >= 0
            else None
            for feature in sorted(features, key=lambda feature: name_order(feature.name))
        }

    def parent_slots(self, features: int) -> NDArray[np.int64]:
        parents = np.full(features, -1)
        derived = np.asarray(self.parent)
        parents[: len(derived)] = derived
        return parents

    def set_parents(self, named: NamedFeatures, parents: Sequence[int]) -> None:
        """Score with this structure: the place of each named feature's parent among them, -1 for none."""
        slots = np.full(len(self.encoder.nominal), -1, np.longlong)
        for child, parent in enumerate(parents):
            if parent >= 0:
                slots[named.slots[child]] = named.slots[parent]
        self.parent = slots

    def derived_state(self) -> dict[str, Any]:
        """Return the structure as (child, parent) by slots."""
        parents = [
            [child, parent] for child, parent in enumerate(np.asarray(self.parent).tolist()) if parent >= 0
        ]
        return {"due": self.due, "parents": parents}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due = load_clock(saved["due"])
        features = len(self.encoder.nominal)
        slots = np.full(features, -1, np.longlong)
        for child, parent in saved["parents"]:
            slots[load_slot(child, features)] = load_slot(parent, features)
            if child == parent:
                raise BadState("the state does not fit: a feature is its own parent")
        self.parent = slots


class GivenParents(_DerivedParents):
    """A one-dependence structure that the user gives. `parents` has the parent of each feature that has one, by name.
    `on_absent` is as `ExpectedFeatures` takes it.
    """

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        parents: Mapping[Value, Value],
        on_absent: OnAbsent | None = None,
        **settings: Any,
    ) -> None:
        self.given_parents = dict(parents)
        self.expected = ExpectedFeatures([*dict.fromkeys([*parents, *parents.values()])], on_absent)
        super().__init__(tables, encoder, 1, **settings)
        self.derive()

    def derive(self) -> None:
        """Find the slots of the structure's features; again after each event until all have come."""
        features = self.encoder.features
        present = {
            child: parent
            for child, parent in self.given_parents.items()
            if child in features and parent in features
        }
        slots = np.full(len(self.encoder.nominal), -1, np.longlong)
        for child, parent in present.items():
            slots[features[child].slot] = features[parent].slot
        self.parent = slots
        clock = int(self.tables.clock)
        self.due = NEVER if len(present) == len(self.given_parents) else clock + 1
        self.expected.check(self.encoder, clock)

    def derived_state(self) -> dict[str, Any]:
        """Return nothing: the structure is the learner's argument."""
        return {}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.expected.checked_at = int(self.tables.clock)
        self.derive()

    def after_merge(self) -> None:
        self.derive()


class SpanningTree(_DerivedParents):
    """TAN: the maximum spanning tree of I(a; b | class), directed from a root.

    Without `every`, the tree is checked after a tenth more events. It is derived again if its edges no longer come in
    the order in which they were chosen, or if the events have doubled. `every` is as `next_check` takes it, `on_absent`
    as `ExpectedFeatures` does. `root` is a name; None: the first feature by name.
    """

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        every: int | None,
        root: Value | None,
        on_absent: OnAbsent | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(tables, encoder, every, **settings)
        self.root = root
        self.edges: list[tuple[Value, Value]] = []  # the strongest first
        self.derived_at = 0
        self.expected = ExpectedFeatures([] if root is None else [root], on_absent)

    def derive(self) -> None:
        """Check the tree, and derive it again if it may have changed."""
        has_doubled = self.tables.clock >= 2 * self.derived_at
        if self.every is not None or has_doubled or not self.edges or not self.is_in_order():
            self.rederive()
        self.due = next_check(self.tables, self.every)
        self.expected.check(self.encoder, int(self.tables.clock))

    def rederive(self) -> None:
        """Derive the tree from the counts as they are now."""
        named = NamedFeatures(self.tables, self.encoder)
        self.derived_at = int(self.tables.clock)
        root = named.names.index(self.root) if self.root in named.names else 0
        information = named.information.between_all()
        parents = spanning_tree(information, root)
        edges = [(child, parent) for child, parent in enumerate(parents) if parent >= 0]
        edges.sort(key=lambda edge: (-information[edge], min(edge), max(edge)))
        self.edges = [(named.names[min(edge)], named.names[max(edge)]) for edge in edges]
        self.set_parents(named, parents)

    def is_in_order(self) -> bool:
        """Return True if each edge still has at least the information of the next, and no feature has come since."""
        named = NamedFeatures(self.tables, self.encoder)
        number_of = {name: number for number, name in enumerate(named.names)}
        if set(number_of) != {name for edge in self.edges for name in edge}:
            return False
        information = [named.information.between(number_of[a], number_of[b]) for a, b in self.edges]
        return all(first >= second for first, second in pairwise(information))

    def derived_state(self) -> dict[str, Any]:
        """Return the structure, the edges in the order in which they were chosen, and the clock of that choice."""
        return super().derived_state() | {
            "edges": [[tagged(a), tagged(b)] for a, b in self.edges],
            "derived_at": self.derived_at,
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        super().load_derived(saved)
        self.expected.checked_at = int(self.tables.clock)
        self.edges = [(untagged(a), untagged(b)) for a, b in saved["edges"]]
        features = self.encoder.features
        if not all(name in features for edge in self.edges for name in edge):
            raise BadState("the state does not fit: its tree has a feature that it does not name")
        self.derived_at = load_clock(saved["derived_at"])


class Dependences(_DerivedParents):
    """KDB with at most one parent: the feature that shares most information with it, among those with more about the
    class. `every` is as `next_check` takes it. `most` is the largest number of parents, 0 or 1.
    """

    def __init__(
        self, tables: Tables, encoder: Encoder, every: int | None, most: int = 1, **settings: Any
    ) -> None:
        super().__init__(tables, encoder, every, **settings)
        self.most = most

    def derive(self) -> None:
        self.rederive()
        self.due = next_check(self.tables, self.every)

    def rederive(self) -> None:
        """Derive the structure from the counts as they are now."""
        named = NamedFeatures(self.tables, self.encoder)
        parents = dependence_parents(named.with_class(), named.information.between_all(), self.most)
        self.set_parents(named, [above[0] if above else -1 for above in parents])
