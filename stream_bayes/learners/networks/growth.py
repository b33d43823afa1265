"""Growth of a network's structure with the stream: search, trial, adopt.

    every event          is learned; variables that it brings join the structure without edges
    half as many again   the structure is searched in the newest events
    a trial              both structures predict the events that follow, counted in one store
    adopted              once the found one is better by two standard errors; refused if it never is

While events are few, structures change often; later, searches are as far apart as the window is long. All of it follows
from the events alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.networks.equivalence import Difference, Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.family_scores import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import name_order, shown, tagged, untagged
from stream_bayes.errors import BadStructure, BudgetExceeded, NeverMet

__all__ = ["Growth", "StructureChange", "sample_of_window", "with_variables"]

FIRST_SEARCH = 64  # events
FASTER = 2  # a search after each half of the events so far
SHORTEST_TRIAL = 25  # events
TRIAL_SHARE = 8  # a first trial is one in so many of the events searched
DOUBT = 2.0  # standard errors by which a structure must be better
MOST_CHANGES = 1000  # kept in the log
MOST_VARIABLES = 2000  # of a search, which has a gain for each pair


@dataclass(frozen=True)
class StructureChange:
    """An entry of the log of a growing structure.

    Parameters
    ----------
    event
        The number of events learned when it was made.
    searched
        The number of events that were searched.
    difference
        The changes of the structure's equivalence class (CPDAG).
    score_gain
        The gain of the search's score, over the events searched.
    gain
        What the trial found: nats of log-likelihood gained for each event. None if there was none.
    events
        The number of events of the trial.
    why
        The reason why the structure stayed as it was; None if it changed.
    """

    event: int
    searched: int
    difference: Difference
    score_gain: float
    gain: float | None
    events: int
    why: str | None = None

    def __str__(self) -> str:
        outcome = "adopted" if self.why is None else f"refused, {self.why}"
        gain = "" if self.gain is None else f"; {self.gain:+.4f} nats an event in {self.events:,}"
        return f"event {self.event:,}: {outcome}: {self.difference}{gain}"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        edges = {
            name: [[tagged(a), tagged(b)] for a, b in getattr(self.difference, name)]
            for name in ("added", "removed", "reversed")
        }
        return {**self.__dict__, "difference": edges}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> StructureChange:
        """Return the entry that `to_json` saved."""
        edges: dict[str, tuple[Edge, ...]] = {
            name: tuple((untagged(a), untagged(b)) for a, b in pairs)
            for name, pairs in saved["difference"].items()
        }
        return cls(**{**saved, "difference": Difference(**edges)})


@dataclass
class _Trial:
    """A structure on trial: the losses of the present one beyond its own."""

    begun: int
    searched: int
    score_gain: float
    length: int
    events: int = 0
    gain: float = 0.0
    square: float = 0.0

    @property
    def is_won(self) -> bool:
        mean = self.gain / self.events
        variance = max(self.square / self.events - mean * mean, 0.0)
        return mean > DOUBT * math.sqrt(variance / self.events)


class Growth:
    """The growth of a network's structure.

    Parameters
    ----------
    store
        The counts of the present structure, and during a trial also of the other. It has a window.
    read
        Makes the network of counts, with the learner's smoothing.
    live
        The present network.
    search
        The search.
    seed
        The seed of its restarts.

    Attributes
    ----------
    changes
        The log, the newest last.
    generation
        The number of structures that were adopted.
    """

    def __init__(
        self,
        store: FamilyCounts,
        read: Callable[[FamilyCounts], CountedNetwork],
        live: LiveInference,
        search: HillClimbing,
        seed: int,
    ) -> None:
        self._store = store
        self._read = read
        self._live = live
        Structure.from_edges(search.required)  # refuses a cycle before the first search
        self._search = search
        self._seed = seed
        self._trial: _Trial | None = None
        self._tried: LiveInference | None = None
        self._next_search = FIRST_SEARCH
        self._has_warned = False
        self.changes: list[StructureChange] = []
        self.generation = 0

    # -- events -------------------------------------------------------------------------------------------------------

    def learn(self, row: Row) -> None:
        """Learn an encoded event; search, try or adopt a structure if that is due."""
        store = self._store
        if row.weight > 0.0:
            if len(store.encoder.features) > len(store.structure):
                self._add_variables()
            if self._trial is not None:
                self._compare(self._trial, row)
        store.add(row)
        self._live.invalidate()
        if self._tried is not None:
            self._tried.invalidate()
        if row.weight == 0.0:
            return
        if self._trial is not None:
            self._judge(self._trial)
        elif self.clock >= self._next_search:
            self._next_search = self.clock + max(min(self.clock, self._window_size) // FASTER, 1)
            self.search()

    @property
    def clock(self) -> int:
        """The number of events learned."""
        return int(self._store.tables.clock)

    @property
    def _window_size(self) -> int:
        window = self._store.window
        assert window is not None
        return window.size

    def _add_variables(self) -> None:
        """Add variables that came with an event, with their required edges alone."""
        store = self._store
        new = [feature.name for feature in store.encoder.nominal if feature.name not in store.structure]
        required = self._search.required
        structure = with_variables(store.structure, new, required)
        tried = None if store.tried is None else with_variables(store.tried, new, required)
        store.change_structure(structure)
        store.try_structure(tried)
        self._live.reset()
        if tried is not None:
            self._read_tried()

    # -- search -------------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Search the structure in the newest events; one that scores higher is put on trial."""
        store, before = self._store, self._store.structure
        if not 2 <= len(before) <= MOST_VARIABLES:
            if len(before) > MOST_VARIABLES:
                self._record(None, before, f"a search takes at most {MOST_VARIABLES:,} variables")
            return
        sample = sample_of_window(store)
        search = self._within_known()
        scorer = FamilyScorer(sample, search.score)
        rng = np.random.default_rng([self._seed, self.clock]) if search.restarts else None
        present = scorer.total(
            [[sample.place(parent) for parent in before.parents(name)] for name in sample.variables]
        )
        found = search.search(sample, rng=rng, scorer=scorer)
        if before.edges and _may_start(search, before):
            again = replace(search, restarts=0).search(sample, before, scorer=scorer)
            found = max(found, again, key=lambda each: each.score)
        if found.score <= present or before.same_equivalence_class(found.structure):
            return
        trial = _Trial(
            self.clock, len(sample), found.score - present, max(SHORTEST_TRIAL, len(sample) // TRIAL_SHARE)
        )
        try:
            store.try_structure(found.structure)
        except BudgetExceeded as error:
            self._record(trial, found.structure, str(error))
            return
        self._trial = trial
        self._live.reset()
        self._read_tried()

    def _within_known(self) -> HillClimbing:
        """Return the search without edges of variables that have not come; warn once of these."""
        search, known = self._search, set(self._store.structure)
        absent = {name for edge in (*search.required, *search.forbidden) for name in edge} - known
        if not absent:
            return search
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"required or forbidden edges name {shown(sorted(absent, key=name_order))}, which no event had so far; "
                f"they count once it comes. The variables are {shown(list(known))}",
                NeverMet,
                stacklevel=5,
            )
        return replace(
            search,
            required=[edge for edge in search.required if known.issuperset(edge)],
            forbidden=[edge for edge in search.forbidden if known.issuperset(edge)],
        )

    def _read_tried(self) -> None:
        counts = self._store.of_tried()
        self._tried = LiveInference(lambda: self._read(counts), self._store.memory_budget)

    # -- trial --------------------------------------------------------------------------------------------------------

    def _compare(self, trial: _Trial, row: Row) -> None:
        """Compare the log-likelihoods of an event that is about to be learned."""
        assert self._tried is not None
        mine, theirs = (_log_likelihood(live, row) for live in (self._live, self._tried))
        gain = 0.0 if mine == theirs else min(max(theirs - mine, -MOST_GAIN), MOST_GAIN)
        trial.events += 1
        trial.gain += gain
        trial.square += gain * gain

    def _judge(self, trial: _Trial) -> None:
        """Adopt the structure on trial if it is better beyond doubt; refuse it if no longer trial is worthwhile."""
        if trial.events < trial.length:
            return
        store = self._store
        assert store.tried is not None
        if trial.is_won:
            self._adopt(trial, store.tried)
        elif 2 * trial.length <= max(min(trial.begun, self._window_size) // 2, SHORTEST_TRIAL):
            self._trial = replace(trial, length=2 * trial.length, events=0, gain=0.0, square=0.0)
        else:
            self._record(trial, store.tried, "it is no better")
            self._end(None)

    def _adopt(self, trial: _Trial, structure: Structure) -> None:
        self._record(trial, structure, None)
        self.generation += 1
        self._end(structure)

    def _end(self, structure: Structure | None) -> None:
        """End a trial, with another structure or the present one."""
        store = self._store
        store.change_structure(store.structure if structure is None else structure)
        self._trial = self._tried = None
        self._live.reset()

    def _record(self, trial: _Trial | None, structure: Structure, why: str | None) -> None:
        difference = self._store.structure.difference(structure)
        gain = trial.gain / trial.events if trial is not None and trial.events else None
        searched, score_gain, events = (
            (0, 0.0, 0) if trial is None else (trial.searched, trial.score_gain, trial.events)
        )
        self.changes.append(StructureChange(self.clock, searched, difference, score_gain, gain, events, why))
        del self.changes[:-MOST_CHANGES]

    def stop_trial(self) -> None:
        """Drop the structure on trial: another one was set."""
        self._trial = self._tried = None

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that the counts do not hold, as JSON values."""
        return {
            "next_search": self._next_search,
            "generation": self.generation,
            "trial": None if self._trial is None else dict(self._trial.__dict__),
            "changes": [change.to_json() for change in self.changes],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; the counts are loaded already."""
        self._next_search, self.generation = state["next_search"], state["generation"]
        trial = state["trial"]
        self._trial = None if trial is None else _Trial(**trial)
        self.changes = [StructureChange.from_json(change) for change in state["changes"]]
        expect((self._trial is None) == (self._store.tried is None), "its trial and its counts differ")
        if self._trial is not None:
            self._read_tried()


def _may_start(search: HillClimbing, structure: Structure) -> bool:
    """Return True if a structure keeps to the limits of a search, as one that was set by hand may not."""
    edges, most = set(structure.edges), search.max_parents
    order = {name: k for k, tier in enumerate(search.tiers) for name in tier}
    return (
        edges.issuperset(search.required)
        and edges.isdisjoint(search.forbidden)
        and not any(order[a] > order[b] for a, b in edges if a in order and b in order)
        and (most is None or all(len(structure.parents(name)) <= most for name in structure))
    )


MOST_GAIN = 50.0  # nats of an event: one impossible event decides no trial


def _log_likelihood(live: LiveInference, row: Row) -> float:
    """Return the log-probability of an encoded event, its new values left out."""
    reading = live.joint_reading()
    found = math.nan if reading is None else reading.log_probability(row)
    if math.isnan(found):
        found = float(live.engine().log_likelihoods(live.network().codes_of(row))[0])
    return max(found, -1e6)


def with_variables(structure: Structure, names: Iterable[Any], required: Iterable[Edge]) -> Structure:
    """Return a structure with further variables, and the required edges between variables that it has then.

    Where these close a cycle with found edges, they stay alone.
    """
    variables = [*structure.variables, *names]
    edges = [edge for edge in required if set(variables).issuperset(edge)]
    try:
        return Structure.from_edges(
            [*edges, *(edge for edge in structure.edges if edge not in edges)], variables
        )
    except BadStructure:
        return Structure.from_edges(edges, variables)


def sample_of_window(store: FamilyCounts) -> Sample:
    """Return the newest events of a store as a sample, faded as its counts are."""
    assert store.window is not None
    events = store.window.freeze()
    names, tables = store.structure.variables, store.tables
    weights = events.weights
    if tables.half_life:
        weights = weights * 0.5 ** ((int(tables.clock) - events.clocks) / tables.half_life)
    return Sample(
        {name: events.codes[store.slot_of(name)] for name in names},
        {name: max(len(store.values_of(name)), 1) for name in names},
        weights,
    )
