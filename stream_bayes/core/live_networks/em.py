"""Expected counts: expectation maximisation (EM) for events with missing variables.

The families of such a store hold expected counts: how often each cell is expected, given the events, by the network
that these same numbers make. An event with all variables needs no expectation and is counted.

    stepwise   n <- W [(1 - e) n / (W - w) + e P(family | event)]       after an event of weight w, W that of all so far
    window     n = sum of w P(family | event) over the newest events    repeated until convergence

Stepwise EM follows Cappe and Moulines (2009), with the step e = (t + 2)^-a of Liang and Klein (2009), or e = w / W,
which is counting if no event has missing variables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._families import MOST_CELLS
from stream_bayes.core.counts.memory_use import Coming
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._rows import Batch, Row
from stream_bayes.core.inference._conditionals import Conditionals
from stream_bayes.core.inference.inference import MEMORY_BUDGET, Inference
from stream_bayes.core.inference.plans import Question, cells_needed, tree_for
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BudgetExceeded, CannotMerge, NotSupported

__all__ = ["ExpectedCounts", "StepwiseCounts", "WindowCounts", "add_counts"]

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Read = Callable[[FamilyCounts], CountedNetwork]
NewRng = Callable[[], np.random.Generator]

CELL_BYTES = 8
MOST_ITERATIONS = 200
CONVERGED = 1e-4  # the largest change of a cell, as a share of the weight of all events


def add_counts(conditionals: Conditionals, codes: Codes, weights: Floats, target: Floats) -> None:
    """Add rows of codes to the cells of those families of which no member is missing, -1.

    Examples
    --------
    >>> from stream_bayes.core.networks.discrete_network import DiscreteNetwork
    >>> coin = DiscreteNetwork(Structure({"c": []}), {"c": ["head", "tail"]}, {"c": [0.5, 0.5]})
    >>> counts = np.zeros(2)
    >>> add_counts(Inference(coin).conditionals, np.array([[1], [-1], [1]], np.int32), np.ones(3), counts)
    >>> counts.tolist()
    [0.0, 2.0]
    """
    scope, stride = np.asarray(conditionals.scope), np.asarray(conditionals.stride)
    for v in range(conditionals.variables):
        members = slice(conditionals.scope_start[v], conditionals.scope_start[v + 1])
        family_codes = codes[:, scope[members]]
        whole = (family_codes >= 0).all(axis=1)
        cells = family_codes[whole] @ stride[members]
        first, end = conditionals.start[v], conditionals.start[v + 1]
        target[first:end] += np.bincount(cells, weights[whole], minlength=end - first)


class ExpectedCounts(FamilyCounts):
    """A store whose families hold the expected counts of EM. `read` makes the network of this store, with its smoothing
    and a network given beforehand. The other arguments are as `FamilyCounts` takes them.

    Notes
    -----
    Only the values of variables are counted. The expectation of an event depends on the events before it, so unlearning
    and merging are refused. So are families of more than 65,536 cells, and structures whose junction tree would not fit
    into the memory of inference.
    """

    def __init__(
        self,
        encoder: Encoder,
        structure: Structure,
        read: Read,
        *,
        memory_budget: int | None = None,
        window: int | None = None,
        binning: Mapping[str, Any] | None = None,
    ) -> None:
        self._live = LiveInference(partial(read, self), memory_budget)
        super().__init__(encoder, structure, memory_budget=memory_budget, window=window, binning=binning)
        self.tables.leave_exact()

    # -- steps of the two kinds ---------------------------------------------------------------------------------------

    @abstractmethod
    def update_families(self, row: Any) -> None:
        """Update the families by an event whose values have been counted."""

    def run_em(self) -> None:
        """Update the families now where they would otherwise wait for further events."""

    # -- learning -----------------------------------------------------------------------------------------------------

    def add(self, row: Any) -> None:
        if row.weight == 0.0:
            return  # it would evict an event from the window, and count towards the next run of EM
        tables = self.tables
        families, tables.families = tables.families, None
        try:
            tables.add(row)
        finally:
            tables.families = families
        self.update_families(row)

    def add_batch(self, batch: Batch) -> None:
        """Learn encoded rows in their order."""
        SequentialReading(self).learn_batch(batch)

    def forget(self, row: Any, at: int | None = None) -> None:
        raise NotSupported(
            "expectation maximisation cannot unlearn an event; use missing='skip' if events must be unlearned"
        )

    def merge(self, other: CountStore) -> None:
        raise CannotMerge(
            "expected counts cannot be merged, as an event's expectation depends on the events before it; use "
            "missing='skip' if learners must be merged"
        )

    def make_room(self, whole: bool = True, coming: Coming | None = None) -> None:
        try:
            if self.encoder.created:
                self._check_room(self.structure)
        except BudgetExceeded:
            self.encoder.rollback()
            raise
        super().make_room(whole, coming)

    def change_structure(self, structure: Structure) -> None:
        self._check_room(structure)
        super().change_structure(structure)
        self._live.reset()

    def _check_room(self, structure: Structure) -> None:
        """Raise `BudgetExceeded` for a structure whose expectations would not fit, before anything changes."""
        features = self.encoder.features
        names = structure.variables
        sizes = [max(len(features[name].vocabulary), 1) if name in features else 1 for name in names]
        positions = {name: position for position, name in enumerate(names)}
        parents = [[positions[parent] for parent in structure.parents(name)] for name in names]
        for name, above, size in zip(names, parents, sizes, strict=True):
            cells = size * int(np.prod([sizes[position] for position in above], dtype=np.int64))
            if above and cells > MOST_CELLS:
                raise BudgetExceeded(
                    f"the table of {shown(name)} would have {cells:,} cells; expectation maximisation takes "
                    f"{MOST_CELLS:,} at most. Give it fewer parents, bound the values with max_values, or take "
                    "missing='skip'"
                )
        question = Question(tuple(range(len(names))))
        need = CELL_BYTES * cells_needed(question, tree_for(question, parents, sizes), sizes)
        budget = MEMORY_BUDGET if self.memory_budget is None else self.memory_budget
        if need > budget:
            raise BudgetExceeded(
                f"the expected counts of events with missing values would need {need:,} bytes at a time, "
                f"the budget is {budget:,}; raise memory_budget, take a structure with fewer parents, or missing='skip'"
            )

    # -- expectations -------------------------------------------------------------------------------------------------

    def network(self) -> CountedNetwork:
        """Return the network as it is now."""
        return self._live.network()

    def engine(self) -> Inference:
        """Return an engine that has the tables of the network as it is now."""
        self._live.invalidate()
        return self._live.engine()

    def _scatter(
        self, network: CountedNetwork, expected: Floats, conditionals: Conditionals, amount: float
    ) -> None:
        """Add expected counts times an amount to the families."""
        network.scatter(expected, conditionals, amount)
        families = self.tables.families
        samples = np.asarray(families.samples)
        np.maximum(samples, np.asarray(families.weight) > 0.0, out=samples)


class SequentialReading(Reading):
    """Passes each row of a batch to a store."""

    def __init__(self, store: ExpectedCounts) -> None:
        super().__init__(store.tables, store.encoder.labels)
        self.store = store

    def learn(self, row: Row) -> None:
        self.store.add(row)


class StepwiseCounts(ExpectedCounts):
    """Stepwise EM: each event moves the families a step towards its expected counts.

    `step` is the exponent a of the step (t + 2)^-a; None is 1/t, which gives all events the same weight. `make_rng`
    makes the generator of random tables for the first event, for declared variables that are missing in it: a hidden
    variable would stay at uniform tables. It returns a generator in the same state on each call. The other arguments
    are as `ExpectedCounts` takes them.
    """

    def __init__(
        self,
        encoder: Encoder,
        structure: Structure,
        read: Read,
        *,
        step: float | None,
        make_rng: NewRng,
        **settings: Any,
    ) -> None:
        self.step = step
        self.make_rng = make_rng
        super().__init__(encoder, structure, read, **settings)

    def update_families(self, row: Any) -> None:
        families, total = self.tables.families, self.weight
        before, moved = total - row.weight, self._step(row.weight)
        amount = moved * total
        fade = (1.0 - moved) * total / before if before > 0.0 and self.step is not None else 1.0
        network = self.network()
        seen = network.codes_of(row)
        if (seen >= 0).all():
            families.scale(fade)
            families.add(row, amount / row.weight)
            return
        engine = self.engine()
        if before <= 0.0 and network.prior is None:
            self._break_symmetry(engine.conditionals, seen[0])
        expected = np.zeros(len(engine.conditionals.cells))
        possible = engine.add_expected(seen, np.ones(1), expected)[0] > -np.inf
        families.scale(fade)
        if possible:
            self._scatter(network, expected, engine.conditionals, amount)
        else:
            families.add(
                row, amount / row.weight
            )  # nothing follows from an impossible event: count its families

    def _break_symmetry(self, conditionals: Conditionals, seen: Codes) -> None:
        """Fill the tables of missing variables, and of their children, with random numbers."""
        rng = self.make_rng()
        for v in range(conditionals.variables):
            family = conditionals.scope[conditionals.scope_start[v] : conditionals.scope_start[v + 1]]
            if any(seen[u] < 0 and conditionals.size[u] > 1 for u in family):
                fill_randomly(conditionals, v, rng)

    def _step(self, weight: float) -> float:
        """Return the share of the total weight that an event just learned gets."""
        if self.step is None or self.weight <= weight:
            return weight / self.weight
        events = int(self.tables.clock) - 1
        return float(1.0 - (1.0 - (events + 2.0) ** -self.step) ** weight)


class WindowCounts(ExpectedCounts):
    """EM over the newest events, run to convergence once in `every` events. `make_rng` makes the generator of random
    initial tables for variables that were never seen: uniform tables would stay uniform. It is called for each run and
    returns a generator in the same state. The other arguments are as `ExpectedCounts` takes them.

    Notes
    -----
    Each run continues from the present tables, so that the values of a hidden variable keep their meaning.
    """

    def __init__(
        self,
        encoder: Encoder,
        structure: Structure,
        read: Read,
        *,
        every: int,
        make_rng: NewRng,
        **settings: Any,
    ) -> None:
        self.every = every
        self.make_rng = make_rng
        super().__init__(encoder, structure, read, **settings)

    def update_families(self, row: Any) -> None:
        if self.tables.clock % self.every == 0:
            self.run_em()

    def run_em(self) -> None:
        """Run EM over the window."""
        codes, weights = self.recent()
        if not len(codes):
            return
        network, engine = self.network(), self.engine()
        self.initialise(network, engine.conditionals, codes, weights)
        for _ in range(MOST_ITERATIONS):
            if self.iterate(network, engine, codes, weights) <= CONVERGED * weights.sum():
                break

    def iterate(self, network: CountedNetwork, engine: Inference, codes: Codes, weights: Floats) -> float:
        """Run one iteration, expectation then maximisation; return the largest change of a cell."""
        conditionals = engine.conditionals
        expected = np.zeros(len(conditionals.cells))
        whole: NDArray[np.bool_] = np.all(codes >= 0, axis=1)
        add_counts(conditionals, *_rows(codes, weights, whole), expected)
        partial, shares = _rows(codes, weights, ~whole)
        impossible = engine.add_expected(partial, shares, expected) == -np.inf
        add_counts(conditionals, *_rows(partial, shares, impossible), expected)
        moved = float(np.abs(expected - network.gather(conditionals)).max(initial=0.0))
        self._replace(network, expected, conditionals)
        network.fill(conditionals)
        return moved

    def initialise(
        self, network: CountedNetwork, conditionals: Conditionals, codes: Codes, weights: Floats
    ) -> None:
        """Fill the tables of inference for the first iteration.

        They are the present tables; before the first run those of complete families; and random ones where nothing is
        known. One sample is spread over each row, as a probability of 0 would stay 0.
        """
        counted = network.gather(conditionals)
        if not counted.any():
            add_counts(conditionals, codes, weights, counted)
            self._replace(network, counted, conditionals)
        rng = self.make_rng()
        for v, variable in enumerate(self.structure.variables):
            cells = slice(conditionals.start[v], conditionals.start[v + 1])
            size = int(conditionals.size[v])
            if counted[cells].any() or network.prior is not None:
                conditionals.fill(v, network.weights(variable).reshape(-1) + 1.0 / size)
            else:
                fill_randomly(conditionals, v, rng)

    def _replace(self, network: CountedNetwork, expected: Floats, conditionals: Conditionals) -> None:
        self.tables.families.scale(0.0)
        np.asarray(self.tables.families.samples)[:] = 0.0
        self._scatter(network, expected, conditionals, 1.0)

    def recent(self) -> tuple[Codes, Floats]:
        """Return the distinct rows among the newest events, a column for each variable by name, and their weights."""
        assert self.window is not None
        recent = self.window.freeze()
        codes = recent.codes[[self.slot_of(name) for name in self.structure.variables]].T
        different, which = np.unique(codes, axis=0, return_inverse=True)
        weights = np.bincount(which.reshape(-1), recent.weights, len(different))
        return np.ascontiguousarray(different), weights.astype(np.float64)


def fill_randomly(conditionals: Conditionals, v: int, rng: np.random.Generator) -> None:
    """Fill a table with random rows, each uniform over all distributions."""
    size, cells = int(conditionals.size[v]), int(conditionals.start[v + 1] - conditionals.start[v])
    conditionals.fill(v, rng.dirichlet(np.ones(size), cells // size).reshape(-1))


def _rows(codes: Codes, weights: Floats, chosen: NDArray[np.bool_]) -> tuple[Codes, Floats]:
    return np.ascontiguousarray(codes[chosen]), weights[chosen]
