"""A network whose tables are read from the counts of labelled events, with the class as one of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.live_networks.counted_network import check_bytes, shares_of
from stream_bayes.core.live_networks.labelled_counts import LabelledCounts, members_of
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.values.values import Value

__all__ = ["LabelledNetwork"]

Floats = NDArray[np.float64]


class LabelledNetwork:
    """The network of labelled counts, with probabilities as in `CountedNetwork`.

    `labels` are the codes of the eligible classes; `prior` is P(class) of each of them, for a class without parents.
    `prior_weights` are its smoothed weights, in fresh samples; None if the prior was given. `strength` is the weight of
    the smoothing, and `spread` True to spread it over the cells of a row.
    """

    def __init__(
        self,
        counts: LabelledCounts,
        structure: Structure,
        labels: list[int],
        prior: Floats,
        prior_weights: Floats | None,
        strength: float,
        spread: bool,
    ) -> None:
        self.counts = counts
        self.structure = structure
        self.strength = strength
        self.spread = spread
        self._labels = np.array(labels, np.intp)
        self._prior = prior
        self._prior_weights = prior_weights
        self._codes = {v: self._held_codes(v) for v in structure.variables if v != counts.target}
        states: dict[Any, tuple[Any, ...]] = {}
        for v in structure.variables:
            if v == counts.target:
                states[v] = tuple(counts.encoder.labels.values[code] for code in labels)
            else:
                values = counts.encoder.features[v].vocabulary.values if v in counts.encoder.features else ()
                states[v] = tuple(values[code] for code in self._codes[v].tolist()) or (None,)
        self.states: Mapping[Any, tuple[Any, ...]] = MappingProxyType(states)

    def set_prior(self, prior: Floats, weights: Floats | None) -> None:
        """Replace P(class) of the same classes."""
        self._prior, self._prior_weights = prior, weights

    def _held_codes(self, variable: Value) -> NDArray[np.intp]:
        """Return the codes of the values that hold samples or were declared."""
        feature = self.counts.encoder.features.get(variable)
        if feature is None:
            return np.zeros(0, np.intp)
        values = self.counts.tables.values
        start = values.layout.start[feature.slot]
        return np.flatnonzero(np.asarray(values.occupied)[start : start + len(feature.vocabulary)])

    def values_by_code(self, feature: Value) -> dict[int, Any]:
        """Return the values of a feature that hold samples or were declared, by their codes."""
        codes = self._codes[feature].tolist()
        return dict(
            zip(codes, self.states[feature], strict=False)
        )  # a feature without values has the state None

    @property
    def tables(self) -> Mapping[Any, Floats]:
        """P(variable | parents) of each variable, its own axis last."""
        return {v: self.table(v) for v in self.structure.variables}

    def table(self, variable: Value) -> Floats:
        """Return P(variable | parents), with an axis for each parent and the variable's own last."""
        if self._is_prior(variable):
            return self._prior
        return shares_of(self._smoothed(variable))

    def weights(self, variable: Value) -> Floats | None:
        """Return the parameters of each row's Dirichlet posterior, in fresh samples; None for a prior
        that was given.
        """
        return self._prior_weights if self._is_prior(variable) else self._smoothed(variable)

    def _is_prior(self, variable: Value) -> bool:
        return variable == self.counts.target and not self.structure.parents(variable)

    def _smoothed(self, variable: Value) -> Floats:
        target = self.counts.target
        family = (*self.structure.parents(variable), variable)
        members = members_of(self.structure, variable, target)
        shape = [len(self.states[name]) for name in members]
        check_bytes(variable, family[:-1], [*shape, len(self._labels)])
        counted = self._counted(members, variable, shape)
        if target in family:
            axes = [members.index(name) if name != target else len(members) for name in family]
        else:
            counted = counted.sum(axis=-1)
            axes = [members.index(name) for name in family]
        counted = counted.transpose(axes)
        return counted + pseudocount(self.strength, counted.shape[-1], self.spread)

    def _counted(self, members: tuple[Value, ...], variable: Value, shape: list[int]) -> Floats:
        """Return the joint weights of some features' values, in fresh samples: an axis for each feature, then the
        class.
        """
        counts, tables = self.counts, self.counts.tables
        if any(not len(self._codes[name]) for name in members):
            return np.zeros([*shape, len(self._labels)])
        features, stride = counts.encoder.features, tables.values.layout.classes
        if len(members) == 1:
            start = tables.values.layout.start[features[members[0]].slot]
            weight = np.asarray(tables.values.weight).reshape(-1, stride)
            return weight[np.ix_(start + self._codes[members[0]], self._labels)] / tables.unit
        child, parents = counts.family_of(members, variable)
        families = tables.families
        codes, weight, _ = families.rows_of(families.families.index((child, parents)))
        by_slot = {int(features[name].slot): name for name in members}
        order = [by_slot[slot] for slot in (*parents, child)]
        counted = np.zeros([len(self._codes[name]) for name in order] + [len(self._labels)])
        positions = tuple(
            np.searchsorted(self._codes[name], codes[:, k]) for k, name in enumerate(order[:-1])
        )
        counted[positions] = weight[:, self._codes[order[-1]]][:, :, self._labels]
        return counted.transpose([*(order.index(name) for name in members), len(members)]) / tables.unit
