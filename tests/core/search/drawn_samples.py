"""Samples drawn by hypothesis or from a known structure, as the package and the oracle take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.sample import Sample
from tests.oracles.structure_scores import Rows

NAMES = ("b", "a", 3, ("x", 1), "ü", True)  # not by name


@dataclass
class Drawn:
    """Some rows, both ways."""

    rows: Rows
    sizes: dict[Any, int]

    @property
    def sample(self) -> Sample:
        return sample_of(self.rows, self.sizes)


def sample_of(rows: Rows, sizes: Mapping[Any, int]) -> Sample:
    columns = {v: [-1 if (code := row[v]) is None else code for row, _ in rows] for v in sizes}
    return Sample(columns, sizes, [weight for _, weight in rows])


@st.composite
def drawn_samples(
    draw: Any, least: int = 1, most: int = 4, missing: bool = False, rows: int = 25, whole: bool = False
) -> Drawn:
    """Rows of a few variables, some of one value alone, many rows alike."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(least, most))]
    sizes = {v: draw(st.integers(1, 3)) for v in names}
    row = st.fixed_dictionaries(
        {
            v: st.none() | st.integers(0, size - 1) if missing else st.integers(0, size - 1)
            for v, size in sizes.items()
        }
    )
    weight = st.sampled_from([1.0, 2.0, 3.0] if whole else [0.0, 0.25, 1.0, 1.0, 2.0, 3.5])
    return Drawn(draw(st.lists(st.tuples(row, weight), max_size=rows)), sizes)


def drawn_from(structure: Structure, size: int, seed: int, values: int = 2) -> Sample:
    """Rows of a network with this structure whose tables are drawn, far from even."""
    rng = np.random.default_rng(seed)
    found: dict[Any, np.ndarray[Any, Any]] = {}
    for v in structure.topological_order:
        parents: Sequence[Any] = structure.parents(v)
        table = rng.dirichlet(np.full(values, 0.4), [values] * len(parents))
        shares = table[tuple(found[u] for u in parents)] if parents else np.tile(table, (size, 1))
        found[v] = np.minimum((rng.random((size, 1)) > shares.cumsum(axis=1)).sum(axis=1), values - 1)
    return Sample(found, dict.fromkeys(structure.variables, values))


def plain_sample(structure: Structure, size: int, seed: int) -> Sample:
    """Rows where each parent that is 1 makes its child's 1 clearly more likely."""
    rng = np.random.default_rng(seed)
    found: dict[Any, np.ndarray[Any, Any]] = {}
    for v in structure.topological_order:
        parents = structure.parents(v)
        share = (
            sum((found[u] for u in parents), np.zeros(size)) / len(parents) if parents else np.full(size, 0.5)
        )
        found[v] = (rng.random(size) < 0.1 + 0.8 * share).astype(int)
    return Sample(found, dict.fromkeys(structure.variables, 2))
