"""Growth of a network's structure with the stream: search, trial, adopt.

    every event          is learned; variables that it brings join the structure
    half as many again   the structure is searched in the newest events, a slice of the work with each event
    a trial              both structures predict the events that follow, counted in one store
    adopted              once the found one is better by two standard errors; refused if it never is

While events are few, structures change often; later, searches are as far apart as half the window. All of it follows
from the events alone: a search ends at the event that brings its last slice, also if idle moments or a snapshot have
finished the work before. `JointGrowth` is that of a network without a class, whose trials compare the probabilities
of whole events; `ClassGrowth` in `class_growth` that of a classifier.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.networks.equivalence import Difference, Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.completions import completing
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.search.scores import BIC, BDeu
from stream_bayes.core.search.search_result import SearchResult
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.unknown_names import check_variables, did_you_mean
from stream_bayes.core.values.values import name_order, shown, tagged, untagged
from stream_bayes.errors import BadStructure, BudgetExceeded, NeverMet

__all__ = [
    "GROWING_WINDOW",
    "LEARN",
    "JointGrowth",
    "StructureChange",
    "StructureGrowth",
    "keeps_to",
    "sample_of_window",
    "with_variables",
]

GrowingCounts: TypeAlias = FamilyCounts | LabelledCounts

LEARN = "learn"  # in place of a structure: it grows
GROWING_WINDOW = 20_000  # events
FIRST_SEARCH = 64  # events
FASTER = 2  # a search after each half of the events so far
SHORTEST_TRIAL = 25  # events
TRIAL_SHARE = 8  # the first trial lasts this part of the events searched
DOUBT = 2.0  # standard errors by which a structure must be better
MOST_CHANGES = 1000  # kept in the log
MOST_VARIABLES = 2000  # of a search, which has a gain for each pair
MOST_GAIN = 50.0  # nats of an event: one impossible event decides no trial
FEW_SINCE = 2_000  # events since a change, in which weak edges of families that did not change would not show
# Sample size of BDeu, in place of BIC in so few events: BIC approximates it, and misses families with many rows.
SAMPLE_SIZE = 4.0
SLICE = 500_000  # rows counted, each once for a family: some milliseconds


@dataclass(frozen=True)
class StructureChange:
    """An entry of the log of a growing structure."""

    event: int  # the number of events learned when it was made
    searched: int  # the number of events that were searched
    difference: Difference  # the changes of the structure's equivalence class (CPDAG)
    score_gain: float  # the gain of the search's score, over the events searched
    # what the trial found: nats of log-likelihood gained for each event; None if there was none
    gain: float | None
    events: int  # the number of events of the trial
    why: str | None = None  # the reason why the structure stayed as it was; None if it changed

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

    def add(self, gain: float) -> None:
        """Add what the structure on trial gained on an event."""
        gain = min(max(gain, -MOST_GAIN), MOST_GAIN)
        self.events += 1
        self.gain += gain
        self.square += gain * gain

    @property
    def is_won(self) -> bool:
        mean = self.gain / self.events
        variance = max(self.square / self.events - mean * mean, 0.0)
        return mean > DOUBT * math.sqrt(variance / self.events)


@dataclass
class _Search:
    """A search that is under way, or finished before its time."""

    begun: int  # the number of events learned when it began
    slices: Generator[None, None, _FoundStructure | None] | None  # of work left; None once it is finished
    done: int = 0  # the number of slices worked off
    worked: int = 0  # the number of slices that events have brought: it ends when that is the number of all
    outcome: _FoundStructure | None = None  # the outcome of a finished search; None if no structure is better

    def work(self) -> None:
        """Do a slice of the work."""
        assert self.slices is not None
        try:
            next(self.slices)
        except StopIteration as end:
            self.slices, self.outcome = None, end.value
        self.done += 1

    def finish(self) -> None:
        """Do all the work that is left."""
        while self.slices is not None:
            self.work()

    @property
    def is_due(self) -> bool:
        """True once events have brought all slices of a finished search."""
        return self.slices is None and self.worked >= self.done


class _FoundStructure(NamedTuple):
    """A structure that scores higher than the present one, by `gain`, over a number of events."""

    structure: Structure
    gain: float
    events: int


class StructureGrowth(ABC):
    """The growth of a network's structure. A subclass has the present network and the one on trial. The counts in
    `store` are those of the present structure, and during a trial also of the other; it has a window. `seed` is that of
    the search's restarts.

    Attributes
    ----------
    changes
        The log, the newest last.
    generation
        The number of structures that were adopted.
    """

    def __init__(self, store: GrowingCounts, search: ScoreSearch, seed: int) -> None:
        self.store = store
        Structure.from_edges(search.required)  # refuses a cycle before the first search
        if store.encoder.declared:
            names = [*store.encoder.features, *((store.target,) if isinstance(store, LabelledCounts) else ())]
            check_variables(search.names, names, "search")
        self._limits = search
        self._seed = seed
        self._search: _Search | None = None
        self._trial: _Trial | None = None
        self._next_search = FIRST_SEARCH
        self._since = 0  # the clock before the newest change of families; searches are over the events after
        self._drifted: tuple[Any, ...] = ()  # the variables whose families changed then
        self._has_warned = False
        self.changes: list[StructureChange] = []
        self.generation = 0

    # -- the networks -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def present(self) -> Structure:
        """The present structure, as a search may start from it."""

    @abstractmethod
    def recent(self) -> Sample:
        """Return the newest events, over the variables of the present structure."""

    @abstractmethod
    def _add_variables(self) -> None:
        """Add variables that came with an event."""

    @abstractmethod
    def _gain(self, row: Row) -> float:
        """Return what the structure on trial gains on an event that is about to be learned, in nats."""

    @abstractmethod
    def _read(self) -> None:
        """Read the counts of the present structure, and of the one on trial, anew."""

    @abstractmethod
    def _changed(self) -> None:
        """Adapt to counts that have changed."""

    # -- events -------------------------------------------------------------------------------------------------------

    def learn(self, row: Row) -> None:
        """Learn an encoded event; search, try or adopt a structure if that is due."""
        self.before(row)
        self.store.add(row)
        self.after(row)

    def before(self, row: Row) -> None:
        """Try the structure on trial on an event that is about to be learned."""
        if row.weight > 0.0:
            if len(self.store.encoder.features) > self._variables:
                self._add_variables()
            if self._trial is not None:
                self._try_event(self._trial, row)

    def _try_event(self, trial: _Trial, row: Row) -> None:
        """Add what the structure on trial gains on an event; refuse it if that needs more memory than the budget."""
        try:
            trial.add(self._gain(row))
        except BudgetExceeded as error:
            assert self.store.tried is not None
            self._record(trial, self.store.tried, str(error))
            self._end(None)

    def after(self, row: Row) -> None:
        """Go on after an event was learned: begin a search, do a slice of it, judge a trial."""
        self._changed()
        if row.weight == 0.0:
            return
        if self._trial is not None:
            self._judge(self._trial)
            return
        if self._search is None and self.clock >= self._next_search:
            self._next_search = self.clock + max(self._age // FASTER, 1)
            self._begin_search()
        if self._search is not None:
            self._continue(self._search)

    def work(self) -> bool:
        """Do a slice of a search in an idle moment; return True if there is more to do.

        It changes nothing but the time: the structure found is tried at the same event.
        """
        if self._search is None or self._search.slices is None:
            return False
        self._search.work()
        return self._search.slices is not None

    @property
    def _variables(self) -> int:
        """The number of features that the present structure has."""
        return len(self.store.structure or ())

    @property
    def clock(self) -> int:
        """The number of events learned."""
        return int(self.store.tables.clock)

    @property
    def _age(self) -> int:
        """The number of events since the newest change of a variable, of those that the window keeps."""
        return min(self.clock - self._since, self._window_size)

    @property
    def _window_size(self) -> int:
        window = self.store.window
        assert window is not None
        return window.size

    # -- search -------------------------------------------------------------------------------------------------------

    def _begin_search(self) -> None:
        """Begin to search the structure in the newest events."""
        present = self.present
        if len(present) > MOST_VARIABLES:
            self._record(None, present, f"a search takes at most {MOST_VARIABLES:,} variables")
            return
        sample = self.recent()
        if len(sample.variables) < 2:
            return
        before = _among(present, sample.variables)
        limits = self._within_known()
        if self._drifted and self._age < FEW_SINCE:
            if keeps_to(limits, before):
                limits = _keeping_families(limits, before, self._drifted)
            if limits.score == BIC() and not sample.has_gaps:
                limits = replace(limits, score=BDeu(SAMPLE_SIZE))
        rng = np.random.default_rng(
            [self._seed, self.clock]
        )  # now: the work may be done at any event that follows
        self._search = _Search(self.clock, self._searched(sample, before, limits, rng))

    def _continue(self, search: _Search) -> None:
        """Count the slice that an event brings, and do its work if that is not done yet; try what was found."""
        search.worked += 1
        if search.slices is not None and search.done < search.worked:
            search.work()
        if search.is_due:
            self._search = None
            if search.outcome is not None:
                self._try(search, search.outcome)

    def search_now(self) -> None:
        """Search now, unless a search or a trial is under way; what is found is put on trial at once."""
        if self._trial is None and self._search is None:
            self._begin_search()
            search = self._search
            if search is not None:
                search.finish()
                self._search = None
                if search.outcome is not None:
                    self._try(search, search.outcome)

    def finish(self) -> None:
        """Finish a search that is under way; what it found is tried when it is due."""
        if self._search is not None:
            self._search.finish()

    def _searched(
        self, sample: Sample, before: Structure, search: ScoreSearch, rng: np.random.Generator
    ) -> Generator[None, None, _FoundStructure | None]:
        """Search a structure that scores higher than the present one, in slices of at least `SLICE` rows counted."""
        scorer = FamilyScorer((yield from completing(sample, search.seed)), search.score)
        present = scorer.total(
            [[sample.place(parent) for parent in before.parents(name)] for name in sample.variables]
        )
        best = yield from _in_slices(search.slices(sample, rng=rng, scorer=scorer), scorer, len(sample))
        if before.edges and keeps_to(search, before):
            climb = search.single_climb()
            again = yield from _in_slices(climb.slices(sample, before, scorer=scorer), scorer, len(sample))
            best = max(best, again, key=lambda each: each.score)
        if best.score <= present or before.same_equivalence_class(best.structure):
            return None
        return _FoundStructure(best.structure, best.score - present, len(sample))

    def _try(self, search: _Search, better: _FoundStructure) -> None:
        """Put a structure on trial."""
        structure = self._with_variables(better.structure)
        length = max(SHORTEST_TRIAL, better.events // TRIAL_SHARE)
        trial = _Trial(search.begun, better.events, better.gain, length)
        try:
            self.store.try_structure(structure)
        except BudgetExceeded as error:
            self._record(trial, structure, str(error))
            return
        self._trial = trial
        self._read()

    @abstractmethod
    def _with_variables(self, structure: Structure) -> Structure:
        """Return a structure with the variables that came since it was searched."""

    def _within_known(self) -> ScoreSearch:
        """Return the search without edges of variables that have not come; warn once of these."""
        search, present = self._limits, set(self.present)
        absent = sorted(set(search.names) - present, key=name_order)
        if not absent:
            return search
        if not self._has_warned:
            self._has_warned = True
            rest = f"they count once it comes. The variables are {shown(list(self.present))}"
            warnings.warn(
                "required or forbidden edges or tiers name "
                f"{shown(absent)}, which no event had so far{did_you_mean(absent[0], self.present, rest)}",
                NeverMet,
                stacklevel=5,
            )
        return replace(
            search,
            required=[edge for edge in search.required if present.issuperset(edge)],
            forbidden=[edge for edge in search.forbidden if present.issuperset(edge)],
            tiers=[[name for name in tier if name in present] for tier in search.tiers],
        )

    # -- trial --------------------------------------------------------------------------------------------------------

    def _judge(self, trial: _Trial) -> None:
        """Adopt the structure on trial if it is better beyond doubt; refuse it if no longer trial is worthwhile."""
        if trial.events < trial.length:
            return
        store = self.store
        assert store.tried is not None
        if trial.is_won:
            self._adopt(trial, store.tried)
        elif 2 * trial.length <= max(min(trial.begun - self._since, self._window_size) // 2, SHORTEST_TRIAL):
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
        if structure is None:
            self.store.try_structure(None)
        else:
            self.store.change_structure(structure)
        self._trial = None
        self._read()

    def _record(self, trial: _Trial | None, structure: Structure, why: str | None) -> None:
        difference = self.present.difference(structure)
        gain = trial.gain / trial.events if trial is not None and trial.events else None
        searched, score_gain, events = (
            (0, 0.0, 0) if trial is None else (trial.searched, trial.score_gain, trial.events)
        )
        self.changes.append(StructureChange(self.clock, searched, difference, score_gain, gain, events, why))
        del self.changes[:-MOST_CHANGES]

    def drop(self) -> None:
        """Drop the search and the trial: another structure was set."""
        self._search = self._trial = None
        self._read()

    def begin_again(self, changed: Iterable[Any], clock: int) -> None:
        """Search again soon, as families of variables have changed after a clock, in the events after.

        While these are few, the other variables keep their parents. What is under way began before the change was
        noticed, and ends.
        """
        recent = self._drifted if self._age < FEW_SINCE else ()
        self._drifted = tuple(dict.fromkeys([*recent, *changed]))
        self._since = max(clock, self._since)
        self._next_search = self.clock + max(FIRST_SEARCH - (self.clock - clock), SHORTEST_TRIAL)
        self.store.try_structure(None)
        self.drop()

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that the counts do not hold, as JSON values."""
        self.finish()
        return {
            "next_search": self._next_search,
            "since": self._since,
            "drifted": [tagged(name) for name in self._drifted],
            "generation": self.generation,
            "search": None if self._search is None else _search_to_json(self._search),
            "trial": None if self._trial is None else dict(self._trial.__dict__),
            "changes": [change.to_json() for change in self.changes],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; the counts are loaded already."""
        self._next_search, self.generation = state["next_search"], state["generation"]
        self._since, self._drifted = state["since"], tuple(map(untagged, state["drifted"]))
        search, trial = state["search"], state["trial"]
        self._search = None if search is None else _search_from_json(search)
        self._trial = None if trial is None else _Trial(**trial)
        self.changes = [StructureChange.from_json(change) for change in state["changes"]]
        expect((self._trial is None) == (self.store.tried is None), "its trial and its counts differ")
        self._read()


def _search_to_json(search: _Search) -> dict[str, Any]:
    outcome = search.outcome
    return {
        "begun": search.begun,
        "done": search.done,
        "worked": search.worked,
        "found": None if outcome is None else [outcome.structure.to_json(), outcome.gain, outcome.events],
    }


def _search_from_json(saved: Mapping[str, Any]) -> _Search:
    outcome = None
    if saved["found"] is not None:
        structure, gain, events = saved["found"]
        outcome = _FoundStructure(Structure.from_json(structure), float(gain), events)
    return _Search(saved["begun"], None, saved["done"], saved["worked"], outcome)


def _in_slices(
    slices: Generator[None, None, SearchResult], scorer: FamilyScorer, rows: int
) -> Generator[None, None, SearchResult]:
    """Join slices of a search to slices of at least `SLICE` rows counted for a family each."""
    counted = scorer.families
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value
        if (scorer.families - counted) * rows >= SLICE:
            counted = scorer.families
            yield


def _among(structure: Structure, names: Collection[Any]) -> Structure:
    """Return a structure with the edges between some of its variables."""
    if set(names) == set(structure):
        return structure
    return Structure.from_edges([(a, b) for a, b in structure.edges if a in names and b in names], names)


def _keeping_families(search: ScoreSearch, present: Structure, but: Collection[Any]) -> ScoreSearch:
    """Return a search in which all variables keep their parents, but some; they may get further ones."""
    kept = [(parent, child) for parent, child in present.edges if child not in but]
    return replace(search, required=tuple(dict.fromkeys([*search.required, *kept])))


def keeps_to(search: ScoreSearch, structure: Structure) -> bool:
    """Return True if a structure keeps to the limits of a search, as one that was set by hand may not.

    Limits of variables that it lacks are left out.
    """
    edges, most = set(structure.edges), search.max_parents
    order = {name: k for k, tier in enumerate(search.tiers) for name in tier}
    return (
        edges.issuperset(edge for edge in search.required if set(structure).issuperset(edge))
        and edges.isdisjoint(search.forbidden)
        and not any(order[a] > order[b] for a, b in edges if a in order and b in order)
        and (most is None or all(len(structure.parents(name)) <= most for name in structure))
    )


class JointGrowth(StructureGrowth):
    """The growth of a network without a class; variables that come join it alone, or with their required edges. `read`
    makes the network of counts, with the learner's smoothing. `live` is the present network.
    """

    store: FamilyCounts

    def __init__(
        self,
        store: FamilyCounts,
        search: ScoreSearch,
        seed: int,
        read: Callable[[FamilyCounts], CountedNetwork],
        live: LiveInference,
    ) -> None:
        super().__init__(store, search, seed)
        self._network_of = read
        self.live = live
        self._tried: LiveInference | None = None
        self._limits_of: Callable[[Sequence[Any]], ScoreSearch] | None = None

    def limit_to(self, limits: Callable[[Sequence[Any]], ScoreSearch]) -> None:
        """Search for structures with the limits that a function returns for the variables that are there."""
        self._limits_of = limits

    def _within_known(self) -> ScoreSearch:
        if self._limits_of is not None:
            self._limits = self._limits_of(self.present.variables)
        return super()._within_known()

    @property
    def present(self) -> Structure:
        """The present structure."""
        return self.store.structure

    def recent(self) -> Sample:
        """Return the newest events, faded as the counts are."""
        return sample_of_window(self.store)

    def _add_variables(self) -> None:
        store = self.store
        structure = self._with_variables(store.structure)
        tried = None if store.tried is None else self._with_variables(store.tried)
        store.change_structure(structure)
        store.try_structure(tried)
        self._read()

    def _with_variables(self, structure: Structure) -> Structure:
        new = [feature.name for feature in self.store.encoder.nominal if feature.name not in structure]
        return with_variables(structure, new, self._limits.required) if new else structure

    def _gain(self, row: Row) -> float:
        assert self._tried is not None
        mine, theirs = (_log_likelihood(live, row) for live in (self.live, self._tried))
        return 0.0 if mine == theirs else theirs - mine

    def _read(self) -> None:
        self.live.reset()
        self._tried = None
        if self.store.tried is not None:
            counts = self.store.of_tried()
            self._tried = LiveInference(lambda: self._network_of(counts), self.store.memory_budget)

    def _changed(self) -> None:
        self.live.invalidate()
        if self._tried is not None:
            self._tried.invalidate()


def _log_likelihood(live: LiveInference, row: Row) -> float:
    """Return the log-probability of an encoded event, its new values left out."""
    reading = live.joint_reading()
    log_probability = math.nan if reading is None else reading.log_probability(row)
    if math.isnan(log_probability):
        log_probability = float(live.engine().log_likelihoods(live.network().codes_of(row))[0])
    return max(log_probability, -1e6)


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
    """Return the newest events of a store since its newest change as a sample, faded as its counts are."""
    assert store.window is not None
    events = store.window.freeze()
    names, tables = store.structure.variables, store.tables
    weights = events.weights
    if tables.half_life:
        weights = weights * 0.5 ** ((int(tables.clock) - events.clocks) / tables.half_life)
    first = int(np.searchsorted(events.clocks, store.since))
    return Sample(
        {name: events.codes[store.slot_of(name)][first:] for name in names},
        {name: max(len(store.values_of(name)), 1) for name in names},
        weights[first:],
    )
