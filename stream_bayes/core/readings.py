"""Readings that derive something from the counts: trees, weights of super-parents, choices.

What a reading derives is a pure function of the counts by name: names decide the order of every sum and every tie.
*When* it derives is a function of the number of events. The scoring itself is in the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._average_kernels import AverageReading
from stream_bayes.core._choice_kernels import ChoiceReading
from stream_bayes.core._encoding import Encoder
from stream_bayes.core._information import Information
from stream_bayes.core._kernels import Reading
from stream_bayes.core._pair_kernels import ParentReading
from stream_bayes.core._super_parent_kernels import SuperParentReading
from stream_bayes.core._tables import Tables
from stream_bayes.core.counts_state import grid
from stream_bayes.core.search import dependence_parents, spanning_tree
from stream_bayes.core.values import OTHER, Value, name_order, tagged, untagged
from stream_bayes.errors import BadState, UnknownFeature

__all__ = [
    "Choice",
    "Dependences",
    "GivenParents",
    "SpanningTree",
    "SuperParent",
    "WeightedAverage",
    "derived_state",
    "give_prior",
    "load_derived",
    "merged",
    "require_features",
    "research",
]

NEVER = 2**63 - 1
FIRST = 10  # events before anything is derived
GROWTH = 10  # derive again when there are a tenth more events


class Named:
    """The features that hold samples, in the order of their names, and what they tell."""

    def __init__(self, tables: Tables, encoder: Encoder) -> None:
        held = grid(tables.values.present, tables.values.layout.classes).max(axis=1) > 0.0
        features = [feature for feature in encoder.nominal if held[feature.slot]]
        features.sort(key=lambda feature: name_order(feature.name))
        self.names: list[Value] = [feature.name for feature in features]
        self.slots: list[int] = [feature.slot for feature in features]
        layout = tables.values.layout
        labels = encoder.labels.values
        self.information = Information(
            tables,
            self.slots,
            [
                layout.start[feature.slot]
                + np.array(_order(feature.vocabulary.values[: layout.used[feature.slot]]), np.longlong)
                for feature in features
            ],
            _order(labels[: tables.labels]),
        )

    def with_class(self) -> NDArray[np.float64]:
        """I(feature; class) of each."""
        return np.array([self.information.with_class(place) for place in range(len(self.names))])


def _order(names: Sequence[Value]) -> list[int]:
    """The places of values in the order of their names; the code that values past a limit share comes last."""
    known = [place for place, name in enumerate(names) if not isinstance(name, type(OTHER))]
    known.sort(key=lambda place: name_order(names[place]))
    return known + [place for place, name in enumerate(names) if isinstance(name, type(OTHER))]


def next_check(tables: Tables, every: int | None) -> int:
    """When to derive again: after so many events, or when there are a tenth more."""
    clock = int(tables.clock)
    if every is not None:
        return clock + every
    grown = max(FIRST, clock // GROWTH)
    # What fades is as good as new after a half-life.
    return clock + (min(grown, max(FIRST, int(tables.half_life))) if tables.half_life else grown)


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
        self, tables: Tables, encoder: Encoder, parents: Mapping[Value, Value], **settings: Any
    ) -> None:
        self.given_parents = dict(parents)
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
        self.due = NEVER if len(met) == len(self.given_parents) else int(self.tables.clock) + 1

    def derived(self) -> dict[str, Any]:
        """Nothing: the structure is the learner's argument."""
        return {}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.derive()


class SpanningTree(_DerivedParents):
    """TAN: the maximum spanning tree of I(a; b | class), directed from a root.

    Without `every`, the tree is derived again when its edges, whose information is looked at whenever there are a
    tenth more events, no longer come in the order in which they were chosen, and when the events have doubled.
    """

    def __init__(
        self, tables: Tables, encoder: Encoder, every: int | None, root: Value | None, **settings: Any
    ) -> None:
        super().__init__(tables, encoder, every, **settings)
        self.root = root
        self.edges: list[tuple[Value, Value]] = []  # the strongest first
        self.derived_at = 0

    def derive(self) -> None:
        """Look whether the tree is still the one to have, and derive it anew if it may not be."""
        doubled = self.tables.clock >= 2 * self.derived_at
        if self.every is not None or doubled or not self.edges or not self.is_in_order():
            self.research()
        self.due = next_check(self.tables, self.every)

    def research(self) -> None:
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
        self.research()
        self.due = next_check(self.tables, self.every)

    def research(self) -> None:
        """Derive the structure from the counts as they are now."""
        named = Named(self.tables, self.encoder)
        parents = dependence_parents(named.with_class(), named.information.between_all(), self.most)
        self.set_parents(named, [above[0] if above else -1 for above in parents])


class SuperParent(SuperParentReading):
    """SPODE: the named super-parent, or the one whose predictions have had the least fading loss."""

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        parent: Value | None,
        half_life: float | None,
        **settings: Any,
    ) -> None:
        super().__init__(
            tables, encoder.labels, parent is None, decay_of(half_life), encoder=encoder, **settings
        )
        self.parent_name = parent
        if parent is not None:
            self.derive()

    def derive(self) -> None:
        """Find the named super-parent among the features met; again after each event until it is there."""
        feature = self.encoder.features.get(self.parent_name)
        self.chosen = -1 if feature is None else feature.slot
        self.due = int(self.tables.clock) + 1 if feature is None else NEVER

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts; a named super-parent is the learner's argument."""
        if not self.live_choice:
            return {}
        features = len(self.encoder.nominal)
        losses = np.full(features, self.plain_loss)  # naive Bayes answered for what was not met
        known = np.asarray(self.loss)[:features]
        losses[: len(known)] = known
        return {"chosen": self.chosen, "losses": losses.tolist(), "plain_loss": self.plain_loss}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        if not self.live_choice:
            self.derive()
            return
        features = len(self.encoder.nominal)
        self.loss = checked_losses(saved["losses"])
        self.plain_loss = float(checked_losses([saved["plain_loss"]])[0])
        if len(self.loss) != features:
            raise BadState("the state does not fit: its losses are not those of its features")
        self.chosen = -1 if saved["chosen"] == -1 else checked_slot(saved["chosen"], features)


class Choice(ChoiceReading):
    """Several readings of one store, by name; the best one answers, or their mixture."""

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        members: Mapping[str, Reading],
        mixture: bool,
        half_life: float | None,
        rate: float,
        **settings: Any,
    ) -> None:
        super().__init__(
            tables, encoder.labels, list(members.values()), mixture, decay_of(half_life), rate, **settings
        )
        self.names = tuple(members)
        self.due = min(member.due for member in members.values())

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts."""
        return {
            "due": self.due,
            "losses": np.asarray(self.loss).tolist(),
            "leader": self.leader,
            "since": self.since,
            "members": [derived_state(member) for member in self.members],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        losses = checked_losses(saved["losses"])
        if len(losses) != len(self.members) or type(saved["leader"]) is not int:
            raise BadState("the state does not fit: it chooses among other readings")
        if not 0 <= saved["leader"] < len(self.members):
            raise BadState("the state does not fit: its leader is none of its readings")
        self.loss, self.leader = losses, saved["leader"]
        self.due, self.since = checked_time(saved["due"]), checked_time(saved["since"])
        for member, part in zip(self.members, saved["members"], strict=True):
            load_derived(member, part)


def decay_of(half_life: float | None) -> float:
    """What is left of a loss after an event."""
    return 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)


class WeightedAverage(AverageReading):
    """AODE whose super-parents weigh what they tell of the class."""

    def __init__(self, tables: Tables, encoder: Encoder, every: int | None, **settings: Any) -> None:
        super().__init__(tables, encoder.labels, encoder=encoder, **settings)
        self.every = every
        self.due = next_check(tables, every)

    def derive(self) -> None:
        """Weigh the super-parents because it is time to."""
        self.research()
        self.due = next_check(self.tables, self.every)

    def research(self) -> None:
        """Weigh the super-parents by the counts as they are now; all alike where none tells anything."""
        named = Named(self.tables, self.encoder)
        weights = np.zeros(len(self.encoder.nominal))
        weights[named.slots] = named.with_class()
        self.importance = weights if weights.any() else None

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts."""
        if self.importance is None:
            return {"due": self.due, "weights": None}
        weights = enumerate(np.asarray(self.importance).tolist())
        return {"due": self.due, "weights": [[slot, weight] for slot, weight in weights if weight > 0.0]}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due = checked_time(saved["due"])
        if saved["weights"] is None:
            self.importance = None
            return
        weights = np.zeros(len(self.encoder.nominal))
        for slot, weight in saved["weights"]:
            weights[checked_slot(slot, len(weights))] = checked_losses([weight])[0]
        self.importance = weights


def give_prior(reading: Reading, prior: Sequence[float]) -> None:
    """Let a reading use a given P(y), by the codes of the classes."""
    reading.given = np.array(prior, np.float64)
    if isinstance(reading, Choice):
        for member in reading.members:
            give_prior(member, prior)


def derived_state(reading: Reading) -> dict[str, Any]:
    """What a reading has derived, as JSON values; empty for one that derives nothing."""
    return reading.derived() if hasattr(reading, "derived") else {}


def research(reading: Reading) -> None:
    """Derive from the counts as they are now whatever a reading derives from them."""
    if isinstance(reading, Choice):
        for member in reading.members:
            research(member)
    elif hasattr(reading, "research"):
        reading.research()


def load_derived(reading: Reading, saved: Mapping[str, Any]) -> None:
    """Let a new reading go on where the one that was saved stood."""
    if hasattr(reading, "load_derived"):
        reading.load_derived(saved)
    elif saved:
        raise BadState("the state does not fit: it holds more than counts")


def merged(reading: Reading) -> None:
    """Tell a reading that its store has taken in another's counts: what was scored before is not comparable any
    more.
    """
    if isinstance(reading, Choice) or (isinstance(reading, SuperParent) and reading.live_choice):
        reading.forget_losses()
    if isinstance(reading, GivenParents) or (isinstance(reading, SuperParent) and not reading.live_choice):
        reading.derive()
    if isinstance(reading, Choice):
        for member in reading.members:
            merged(member)


def require_features(encoder: Encoder, names: Sequence[Value], what: str) -> None:
    """Refuse names that no declared feature has; where features are met as they come, any may still come."""
    if not encoder.declared:
        return
    for name in names:
        if name not in encoder.features:
            raise UnknownFeature(f"{what} {name!r} is not declared in the schema: {list(encoder.features)!r}")


def checked_time(due: object) -> int:
    """A time out of a state."""
    if type(due) is not int or not 0 <= due <= NEVER:
        raise BadState(f"the state does not fit: {due!r} is no time")
    return due


def checked_losses(losses: object) -> NDArray[np.float64]:
    """Losses out of a state."""
    checked = np.array(losses, np.float64)
    if checked.ndim != 1 or not np.isfinite(checked).all() or not (checked >= 0).all():
        raise BadState("the state does not fit: a loss is no number of at least 0")
    return checked


def checked_slot(slot: object, features: int) -> int:
    """A feature's slot out of a state."""
    if type(slot) is not int or not 0 <= slot < features:
        raise BadState(f"the state does not fit: {slot!r} is none of its {features} features")
    return slot
