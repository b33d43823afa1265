"""What may take the place of a model once the world has changed: how each candidate begins, and what it learns.

    name       structure                     counts
    "refit"    the present one               the events since the change
    "both"     found anew                    the events since the change
    "search"   found anew                    the present ones; of a network, the events kept
    "more"     found anew, one parent more   the events since the change
    "fewer"    found anew, one parent less   the events since the change

A policy is a ladder of such names: what stands on one rung is tried together, and the next rung only if none of it was
better. Parameters first, then dependences: Castillo and Gama (2009), AdPreqFr4SL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from stream_bayes.core.counts.merging import know_names
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.values.values import Value
from stream_bayes.drift.recent_events import Events, teach
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.networks.bayes_net_classifier import BayesNetClassifier

__all__ = ["POLICIES", "Basis", "Beside", "Found", "Running", "SearchTask", "basis_of", "share_names"]

POLICIES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "search": (("search",),),
    "refit": (("refit",),),
    "both": (("both",),),
    "ladder": (("refit",), ("both", "more", "fewer")),
}


class Basis(NamedTuple):
    """A candidate before it has learned anything.

    Parameters
    ----------
    name
        What it is called.
    kind
        The class of its learner.
    state
        That of the learner: the names of the present model under the same codes, and its structure if it keeps it.
    max_parents
        How many parents a network's variables may have, if its structure is to be searched; -1: as many as the search
        allows; None: there is nothing to search.
    whole
        Whether it learns all events kept, and not those since the change alone.
    """

    name: str
    kind: type[BayesClassifier]
    state: dict[str, Any]
    max_parents: int | None
    whole: bool


class Found(NamedTuple):
    """What came of a search: a model that has learned, or why there is none."""

    name: str
    model: BayesClassifier | None
    why: str | None
    events: int


class Running(Protocol):
    """A search that was begun."""

    def result(self) -> list[Found]:
        """What it has found, once it has."""
        ...


class Beside(Protocol):
    """Where searches run."""

    def submit(self, work: Callable[[], list[Found]], /) -> Running:
        """Begin a search."""
        ...


def share_names(model: BayesClassifier, present: BayesClassifier) -> None:
    """Let a model name whatever the present one names, with the same codes."""
    know_names(model._store.encoder, present._store.encoder)
    model._store.make_room()


def basis_of(
    name: str, learner: BayesClassifier, present: BayesClassifier, only: tuple[Value, ...] = ()
) -> Basis | None:
    """How a candidate begins; None where the learner has nothing of the kind.

    Parameters
    ----------
    name
        Which one.
    learner
        As the user made it.
    present
        The model that answers now.
    only
        Of a network, the variables whose parents may change; the others keep theirs. Empty: all.
    """
    network = isinstance(present, BayesNetClassifier)
    if name == "search" and not network:
        return None  # it has the present counts, by then, and needs no events
    more = {"more": 1, "fewer": -1}.get(name, 0)
    max_parents = -1 if network and name != "refit" else None
    if more:
        if network:
            most = _most_parents(present) + more
            if most < 1:
                return None
            made, max_parents = learner.clone(), most
        elif not hasattr(present, "k") or present.k + more < 0:
            return None
        else:
            made = learner.clone({"k": present.k + more})
    else:
        made = present.clone() if name == "refit" else learner.clone()
    if only and isinstance(made, BayesNetClassifier) and isinstance(present, BayesNetClassifier):
        made.structure = present.structure
    share_names(made, present)
    if name == "refit":
        _keep_structure(made, present)
    return Basis(name, type(made), made.state(), max_parents, name == "search")


def _most_parents(model: Any) -> int:
    structure = model.structure
    return 1 if structure is None else max(len(structure.parents(name)) for name in structure.variables)


def _keep_structure(made: Any, present: Any) -> None:
    """Let a model that has learned nothing have the structure of another of its kind."""
    families = present._store.tables.families
    if families is not None and made._store.tables.families is None:
        made._store.tables.families = made._store.choose(families.families)
    made._load_derived(present._derived())


class SearchTask:
    """The work behind some candidates: a function of what it was made with alone, wherever and whenever it is run.

    Parameters
    ----------
    begun
        The event after which it was made.
    since
        The first event after the change.
    bases
        How the candidates begin.
    events
        The events that they learn.
    search
        How structures of networks are searched.
    only
        Of a network that has a structure, the variables whose parents may change; empty: all.
    """

    def __init__(
        self,
        begun: int,
        since: int,
        bases: tuple[Basis, ...],
        events: Events,
        search: HillClimbing,
        only: tuple[Value, ...] = (),
    ) -> None:
        self.begun = begun
        self.since = since
        self.bases = bases
        self.events = events
        self.search = search
        self.only = only

    def run(self, should_stop: Callable[[], bool] = lambda: False) -> list[Found]:
        """The candidates."""
        return [self._found(basis, should_stop) for basis in self.bases]

    def _found(self, basis: Basis, should_stop: Callable[[], bool]) -> Found:
        model = basis.kind.from_state(basis.state)
        events = self.events
        if not basis.whole:
            first = int(np.searchsorted(events["window_clocks"], self.since))
            events = {name: np.ascontiguousarray(array[..., first:]) for name, array in events.items()}
        number = len(events["window_labels"])
        if basis.max_parents is not None and isinstance(model, BayesNetClassifier):
            search = self.search
            if basis.max_parents >= 0:
                search = replace(search, max_parents=basis.max_parents)
            structure = _searched(model, events, search, self.only, should_stop)
            if structure is None:
                why = f"the search spent its budget of {search.max_families} families"
                return Found(basis.name, None, why, number)
            model.structure = structure
        teach(model, events)
        if basis.name != "refit":
            model.rederive()
        return Found(basis.name, model, None, number)


def _searched(
    model: BayesNetClassifier,
    events: Events,
    search: HillClimbing,
    only: tuple[Value, ...],
    should_stop: Callable[[], bool],
) -> Structure | None:
    """The structure that events speak for; None where the search was not finished."""
    taught = model.clone({"structure": None})
    share_names(taught, model)
    if len(events["window_numbers"]):
        teach(taught, events)  # so that numbers have cuts
    encoder: Any = taught._store.encoder
    columns, sizes = {}, {}
    codes, numbers = iter(events["window_codes"]), iter(events["window_numbers"])
    for feature in encoder.nominal:
        if feature.measured:
            column, cuts = next(numbers), encoder.bins.cuts.get(feature.slot, ())
            columns[feature.name] = np.where(
                np.isnan(column), -1, np.searchsorted(np.array(cuts), column, side="right")
            )
            sizes[feature.name] = len(cuts) + 1
        else:
            columns[feature.name] = next(codes)
            sizes[feature.name] = max(len(feature.vocabulary), 1)
    columns[model._target] = events["window_labels"]
    sizes[model._target] = max(len(encoder.labels), 1)
    start = model.structure
    if start is None or not only or set(start.variables) != set(columns):
        start = None
    else:
        rest = [name for name in start.variables if name not in only]
        kept = {(parent, name) for name in rest for parent in start.parents(name)}
        others = {(other, name) for name in rest for other in start.variables if other != name} - kept
        search = replace(search, required=(*search.required, *kept), forbidden=(*search.forbidden, *others))
    sample = Sample(columns, sizes, events["window_weights"])
    found = search.search(sample, start, should_stop=should_stop)
    return found.structure if found.finished else None
