"""Candidates for the place of a model after a drift: where each begins, and the events it learns.

policy     structure           counts
"refit"    the present one     the events since the change
"both"     derived anew        the events since the change
"search"   derived anew        the present ones; of a network, the recent events

Without a change, "grown" searches a network's structure again in more events, and "fresh" begins anew with the newest
events; it keeps the structure if the policy is "refit".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from stream_bayes.core.counts.merging import copy_names
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.values import Value
from stream_bayes.drift.recent_events import Events, RenewedModel, grows, learn_events, rederive
from stream_bayes.errors import BudgetExceeded
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.networks.mixed_network import MixedNetwork

__all__ = [
    "FRESH",
    "GROWN",
    "POLICIES",
    "RECALLED",
    "REFITTED",
    "Basis",
    "Executor",
    "RunningSearch",
    "SearchOutcome",
    "SearchTask",
    "basis_of",
    "share_names",
]

POLICIES = ("both", "refit", "search")
GROWN, FRESH = "grown", "fresh"
RECALLED = "recalled"  # the present model with a table that a family had before a change
REFITTED = "families"  # the present model, some families counted again since they changed


class Basis(NamedTuple):
    """A candidate before it has learned anything."""

    name: str  # its policy
    kind: type[RenewedModel]
    # the names of the present model under the same codes, and its structure if it keeps it
    state: dict[str, Any]
    is_searched: bool  # True if it is a network whose structure is searched
    is_whole: bool  # True if it learns all recent events; otherwise it learns those since the change


class SearchOutcome(NamedTuple):
    """The outcome of a search: a model that has learned, or the reason why there is none."""

    name: str
    model: RenewedModel | None
    why: str | None
    events: int


class RunningSearch(Protocol):
    """A search that was submitted to an executor."""

    def result(self) -> SearchOutcome:
        """Wait for the search and return its outcome."""
        ...


class Executor(Protocol):
    """A place where searches run in the background, such as a `concurrent.futures.Executor`."""

    def submit(self, work: Callable[[], SearchOutcome], /) -> RunningSearch:
        """Start a search."""
        ...


def share_names(model: RenewedModel, present: RenewedModel) -> None:
    """Give a model the names of the present one, under the same codes."""
    copy_names(model.store.encoder, present.store.encoder)
    model.store.make_room()


def basis_of(
    policy: str,
    learner: RenewedModel,
    present: RenewedModel,
    only: tuple[Value, ...] = (),
    keeps_structure: bool = False,
) -> Basis | None:
    """Return a candidate before it has learned anything; None if it needs no events: it has the present counts.

    `policy` is one of `POLICIES`, `GROWN` or `FRESH`. `learner` is as the user made it, without events. `only` names
    the variables of a network whose parents may change; the others keep theirs. Empty: all. `keeps_structure` keeps the
    present structure, as `"refit"` always does.
    """
    is_network = isinstance(present, (BayesNetClassifier, BayesNet))
    if policy == "search" and not is_network:
        return None
    keeps_structure = keeps_structure or policy == "refit"
    made = present.clone() if keeps_structure else learner.clone()
    share_names(made, present)
    if isinstance(made, (BayesNetClassifier, BayesNet)):
        assert isinstance(present, (BayesNetClassifier, BayesNet))
        if keeps_structure or only:
            made.structure = present.structure
    elif keeps_structure and not isinstance(made, MixedNetwork):
        _keep_structure(made, present)
    is_searched = (
        is_network and not keeps_structure and (bool(only) or policy == "search" or not grows(present))
    )
    return Basis(policy, type(made), made.state(), is_searched, policy == "search")


def _keep_structure(made: Any, present: Any) -> None:
    """Give a model that has learned nothing the structure of another of its class."""
    families = present.store.tables.families
    if families is not None and made.store.tables.families is None:
        made.store.tables.families = made.store.choose(families.families)
    made.load_derived(present.derived_state())


class SearchTask:
    """The work behind a candidate: a pure function of its arguments, wherever and whenever it runs. `begun` is the
    event after which it was made, `since` the first event after the change. `search` is for a network's structure;
    `only` names the variables of one whose parents may change, empty: all.
    """

    def __init__(
        self,
        begun: int,
        since: int,
        basis: Basis,
        events: Events,
        search: ScoreSearch,
        only: tuple[Value, ...] = (),
    ) -> None:
        self.begun = begun
        self.since = since
        self.basis = basis
        self.events = events
        self.search = search
        self.only = only

    def run(self, should_stop: Callable[[], bool] = lambda: False) -> SearchOutcome:
        """Return the candidate, which has learned the events."""
        basis, events = self.basis, self.events
        model = basis.kind.from_state(basis.state)
        if not basis.is_whole:
            first = int(np.searchsorted(events["window_clocks"], self.since))
            events = {name: np.ascontiguousarray(array[..., first:]) for name, array in events.items()}
        number = len(events["window_labels"])
        if basis.is_searched and isinstance(model, (BayesNetClassifier, BayesNet)):
            structure = _searched(model, events, self.search, self.only, should_stop)
            if structure is None:
                why = f"the search spent its budget of {self.search.max_families} families"
                return SearchOutcome(basis.name, None, why, number)
            try:
                model.structure = structure
                learn_events(model, events)
            except BudgetExceeded as error:
                return SearchOutcome(basis.name, None, str(error), number)
        else:
            learn_events(model, events)
        if basis.name != "refit":
            rederive(model)
        return SearchOutcome(basis.name, model, None, number)


def _searched(
    model: BayesNetClassifier | BayesNet,
    events: Events,
    search: ScoreSearch,
    only: tuple[Value, ...],
    should_stop: Callable[[], bool],
) -> Structure | None:
    """Return the structure that a search finds for some events; None if it was not finished."""
    trained: RenewedModel = model
    if isinstance(model, BayesNetClassifier):
        trained = model.clone({"structure": None, "search": None, "window": None})
        share_names(trained, model)
        if len(events["window_numbers"]):
            learn_events(trained, events)  # numbers need cuts
    encoder: Any = trained.store.encoder
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
    if isinstance(model, BayesNetClassifier):
        columns[model.target_name] = events["window_labels"]
        sizes[model.target_name] = max(len(encoder.labels), 1)
    else:  # features may be declared that are not in the structure
        columns = {name: columns[name] for name in model.structure}
        sizes = {name: sizes[name] for name in model.structure}
    start = model.structure
    if start is None or not only or set(start.variables) != set(columns):
        start = None
    else:
        rest = [name for name in start.variables if name not in only]
        kept = {(parent, name) for name in rest for parent in start.parents(name)}
        others = {(other, name) for name in rest for other in start.variables if other != name} - kept
        search = replace(search, required=(*search.required, *kept), forbidden=(*search.forbidden, *others))
    sample = Sample(columns, sizes, events["window_weights"])
    result = search.search(sample, start, should_stop=should_stop)
    return result.structure if result.finished else None
