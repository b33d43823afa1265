"""Families of names and numbers as their counts make them: probabilities, Student's t, and linear Gaussians.

The numbers of a family in one configuration of its nominal parents, z of its d numeric parents and y, are one Gaussian
with a normal-inverse-Wishart prior. In units in which each variable alone has mean 0 and deviation 1, with the strength
s, n events, their mean m and their products S about it:

    r = s / 10    mean n m / (r + n)    T = r I + S + (r n / (r + n)) m m'    f = s + 2 + n degrees of freedom

The prior of any of these numbers is that of a larger family with the others integrated out, so structures with the same
independences have the same likelihood (Geiger and Heckerman, 2002). With T split into blocks of z and y:

    y | z ~ Student t, f + d degrees about  mean_y + T_yz T_zz^-1 (z - mean_z), its scale as in `NumericFamily.predict`

For inference over numbers that are missing, where products of t have no closed form, y | z is the Gaussian of the
posterior's mean coefficients and mean variance, T_y.z / (f + d - 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.live_networks._numeric_family import LinearGaussian, NumericFamily
from stream_bayes.core.live_networks.family_sums import cell_in
from stream_bayes.core.live_networks.mixed_counts import Marginal, MixedCounts
from stream_bayes.core.values.values import Value

__all__ = ["UNKNOWN", "LinearGaussian", "LiveFamilies", "MixedFamilies", "NumericFamily", "standardised"]

# A name that is missing and not summed out: its children are in a configuration without events.
UNKNOWN = object()

FARTHEST = 1e100  # deviations: the square is finite
LEAST_HELD_ONCE = 0.5  # values, of the share that is kept for new ones; as networks of names have it


def standardised(number: float, unit: Marginal) -> float:
    """Return a number in units of what is known of its variable; farther ones count as FARTHEST."""
    return min(max((number - unit.mean) / unit.spread, -FARTHEST), FARTHEST)


class MixedFamilies:
    """The families of a network, derived from its counts when they are asked for. `strength` is the weight of the
    prior, in events.
    """

    def __init__(self, counts: MixedCounts, strength: float) -> None:
        self.counts = counts
        self.strength = strength
        self._derived_at = -1
        self._units: dict[Value, Marginal] = {}
        self._states: dict[Value, list[Value]] = {}
        self._numeric: dict[tuple[Any, ...], NumericFamily] = {}

    def _refresh(self) -> None:
        if self._derived_at != self.counts.changes:
            self._derived_at = self.counts.changes
            self._units, self._states, self._numeric = {}, {}, {}

    def unit(self, v: Value) -> Marginal:
        """Return what is known of a numeric variable by itself."""
        self._refresh()
        if v not in self._units:
            self._units[v] = self.counts.marginal(v)
        return self._units[v]

    def states(self, v: Value) -> list[Value]:
        """Return the values of a nominal variable."""
        self._refresh()
        if v not in self._states:
            self._states[v] = self.counts.values_of(v)
        return self._states[v]

    def shares(self, v: Value, values: Mapping[Value, Any]) -> dict[Value, float]:
        """Return P(v | its parents' values) by value."""
        states = self.states(v)
        counts = self.counts.counts(v, self.counts.configuration(v, values))
        total = math.fsum(counts.values()) + self.strength
        each = self.strength / len(states) if states else 0.0
        return {value: (counts.get(value, 0.0) + each) / total for value in states}

    def numeric(self, v: Value, values: Mapping[Value, Any]) -> NumericFamily:
        """Return the family of a numeric variable in the configuration of its nominal parents' values."""
        self._refresh()
        configuration = self.counts.configuration(v, values)
        key = (v, configuration)
        if key not in self._numeric:
            family = NumericFamily(len(self.counts.numeric_parents(v)) + 1, self.strength)
            self.counts.read_family(family, v, configuration)
            self._numeric[key] = family
        return self._numeric[key]

    def log_density(self, v: Value, values: Mapping[Value, Any]) -> float:
        """Return the logarithm of the density of a number, or of the share of a name, given its parents' values."""
        if not self.counts.kinds[v]:
            share = self.share(v, values)
            return math.log(share) if share > 0.0 else -math.inf
        parents = [values[p] for p in self.counts.numeric_parents(v)]
        return self.numeric(v, values).predict(parents).log_density(values[v])

    def log_density_with(self, v: Value, values: Mapping[Value, Any], further: CountStore) -> float:
        """Return what `log_density` would be if the family had counted what a further store of it holds, too."""
        counts, configuration = self.counts, self.counts.configuration(v, values)
        if counts.kinds[v]:
            family = NumericFamily(len(counts.numeric_parents(v)) + 1, self.strength)
            counts.read_family(family, v, configuration, further)
            return float(family.log_density([*(values[p] for p in counts.numeric_parents(v)), values[v]]))
        states = self.states(v)
        if values[v] not in states:
            return math.log(self.novel_share(v))
        weight, total = counts.cell(v, configuration, values[v])
        more, more_total = cell_in(further, v, configuration, values[v])
        return math.log((weight + more + self.strength / len(states)) / (total + more_total + self.strength))

    def share(self, v: Value, values: Mapping[Value, Any]) -> float:
        """Return P(v = its value | its parents' values); of a value that is not held, the share kept for new ones."""
        if values[v] is UNKNOWN:
            return 1.0
        shares = self.shares(v, values)
        return shares[values[v]] if values[v] in shares else self.novel_share(v)

    def novel_share(self, v: Value) -> float:
        """Return the share of probability that is kept for new values of a nominal variable (Good and Turing)."""
        counts = self.counts.counts(v)
        once = sum(weight <= 1.0 for weight in counts.values())
        total = math.fsum(counts.values())
        return min(max(float(once), LEAST_HELD_ONCE) / total, 1.0) if total > 0.0 else 1.0


class LiveFamilies(MixedFamilies):
    """Families that change with each event: what an event needs of them is read from the counts without a detour."""

    def __init__(self, counts: MixedCounts, strength: float) -> None:
        super().__init__(counts, strength)
        self._states_read: dict[Value, tuple[tuple[int, int], list[Value]]] = {}
        self._read: dict[Value, NumericFamily] = {}

    def states(self, v: Value) -> list[Value]:
        changes = self.counts.changes_of_names(v)
        cached = self._states_read.get(v)
        if cached is None or cached[0] != changes:
            cached = self._states_read[v] = changes, self.counts.values_of(v)
        return cached[1]

    def log_density(self, v: Value, values: Mapping[Value, Any]) -> float:
        counts = self.counts
        if not counts.kinds[v]:
            return super().log_density(v, values)
        parents = counts.numeric_parents(v)
        family = self._read.get(v)
        if family is None or family.size != len(parents) + 1:
            family = self._read[v] = NumericFamily(len(parents) + 1, self.strength)
        counts.read_family(family, v, counts.configuration(v, values))
        numbers = [values[p] for p in parents]
        numbers.append(values[v])
        return float(family.log_density(numbers))

    def share(self, v: Value, values: Mapping[Value, Any]) -> float:
        value = values[v]
        if value is UNKNOWN:
            return 1.0
        states = self.states(v)
        if value not in states:
            return self.novel_share(v)
        weight, total = self.counts.cell(v, self.counts.configuration(v, values), value)
        return (weight + self.strength / len(states)) / (total + self.strength)
