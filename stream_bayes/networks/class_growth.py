"""Growth of a classifier's structure: the reading of a network that grows, whose trials compare log P(class | event).

At first, and when a feature comes, the feature depends on the class alone, unless the search forbids that edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.live_networks.class_reading import ClassReading
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.errors import BadStructure, BudgetExceeded
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.networks.growth import StructureGrowth, keeps_to, with_variables

__all__ = ["ClassGrowth", "GrowingReading"]


class GrowingReading(ClassReading):
    """Scores of the class of a network whose structure grows as it learns. The store has a window. `search` and `seed`
    are as in `StructureGrowth`, `settings` as `ClassReading` takes them.
    """

    def __init__(self, store: LabelledCounts, search: ScoreSearch, seed: int, **settings: Any) -> None:
        super().__init__(store, **settings)
        self._settings = settings
        self.growth = ClassGrowth(store, search, seed, self)

    def learn(self, row: Row) -> None:
        """Learn a row; search, try or adopt a structure if that is due."""
        self.growth.before(row)
        super().learn(row)
        self.growth.after(row)

    def rederive(self) -> None:
        """Search the structure now; what is found is tried on the events that follow."""
        self.growth.search_now()

    def of(self, counts: LabelledCounts) -> ClassReading:
        """Return a reading of the same kind of other counts."""
        reading = ClassReading(counts, **self._settings)
        reading.set_prior(np.asarray(self.declared_prior))
        return reading

    def derived_state(self) -> dict[str, Any]:
        """Return the state of the growth."""
        return self.growth.state()

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        super().load_derived({})
        self.growth.load(saved)


class ClassGrowth(StructureGrowth):
    """The growth of a classifier's structure. `reading` is that of the present structure."""

    store: LabelledCounts

    def __init__(
        self, store: LabelledCounts, search: ScoreSearch, seed: int, reading: GrowingReading
    ) -> None:
        super().__init__(store, search, seed)
        self.reading = reading
        self._tried: ClassReading | None = None
        self._features = 0  # at the last reading
        if not self._may_begin_naive():
            store.change_structure(Structure({store.target: []}))
            self._add_variables()

    def _may_begin_naive(self) -> bool:
        """Return True if every feature may depend on the class, and on nothing else."""
        limits, target = self._limits, self.store.target
        return (
            not limits.required
            and limits.max_parents != 0
            and all(parent != target for parent, _ in limits.forbidden)
            and all(target not in tier for tier in tuple(limits.tiers)[1:])
        )

    @property
    def present(self) -> Structure:
        """The present structure; at first that of naive Bayes."""
        return self.reading.structure

    @property
    def _variables(self) -> int:
        structures = [one for one in (self.store.structure, self.store.tried) if one is not None]
        everything = len(self.store.encoder.features)  # those of naive Bayes
        return min((len(structure) - 1 for structure in structures), default=everything)

    def _within_known(self) -> ScoreSearch:
        search, target = super()._within_known(), self.store.target
        if self.reading.class_prior == "counted":
            return search
        above = [(name, target) for name in self.present if name != target]
        return replace(search, forbidden=tuple({**dict.fromkeys(search.forbidden), **dict.fromkeys(above)}))

    def recent(self) -> Sample:
        """Return the newest events, class included; features without codes yet are left out."""
        store = self.store
        assert store.window is not None
        events, tables = store.window.freeze(), store.tables
        weights = events.weights
        if tables.half_life:
            weights = weights * 0.5 ** ((int(tables.clock) - events.clocks) / tables.half_life)
        columns: dict[Any, Any] = {store.target: events.labels}
        sizes = {store.target: max(len(store.encoder.labels), 1)}
        for name, feature in store.encoder.features.items():
            codes = events.codes[feature.slot]
            if name != store.target and (codes >= 0).any():  # numbers have no codes before their first cuts
                columns[name], sizes[name] = codes, max(len(feature.vocabulary), 1)
        return Sample(columns, sizes, weights)

    def _add_variables(self) -> None:
        store = self.store
        structure, tried = store.structure, store.tried
        if structure is not None:
            store.change_structure(self._with_variables(structure))
        store.try_structure(None if tried is None else self._with_variables(tried))
        self._read()

    def _with_variables(self, structure: Structure) -> Structure:
        target = self.store.target
        new = [n for n in self.store.encoder.features if n not in structure and n != target]
        if not new:
            return structure
        structure = with_variables(structure, new, self._limits.required)
        for name in new:
            try:
                joined = structure.with_edge(target, name)
            except BadStructure:  # a required edge leads to the class, or is this one
                continue
            if keeps_to(self._limits, joined):
                structure = joined
        return structure

    def _gain(self, row: Row) -> float:
        assert self._tried is not None
        mine, theirs = (self._log_loss(reading, row) for reading in (self.reading, self._tried))
        return mine - theirs

    def _log_loss(self, reading: ClassReading, row: Row) -> float:
        label = self.store.encoder.labels.values[row.label]
        return log_loss(reading.probabilities(row), label)

    def _read(self) -> None:
        self.reading.arrange()
        self._tried = None if self.store.tried is None else self.reading.of(self.store.of_tried())
        self._features = len(self.store.encoder.features)

    def _changed(self) -> None:
        """Count families again whose counts new cut points have dropped; start from scratch if they no longer fit."""
        store = self.store
        if store.tables.families is None and store.wanted_families():
            try:
                store.count_again()
            except BudgetExceeded as error:
                self._give_up(str(error))
                return
            self._read()
        elif self._tried is not None and len(store.encoder.features) != self._features:
            self._read()

    def _give_up(self, why: str) -> None:
        """Return to features that depend on the class alone, as the budget has no room for more."""
        before, store = self.present, self.store
        self.drop()
        store.change_structure(None if self._may_begin_naive() else Structure({store.target: []}))
        if store.structure is not None:
            self._add_variables()
        self._record(None, before, why)
        self._read()
