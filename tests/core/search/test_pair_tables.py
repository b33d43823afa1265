"""Tables of two variables given others: the cells, and the conditional mutual information."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.search import pair_tables as module
from stream_bayes.core.search.pair_tables import pair_information, pair_tables
from stream_bayes.core.search.sample import Sample
from tests.core.search.drawn_samples import Drawn, drawn_samples
from tests.oracles.independence import information, strata


@given(drawn_samples(least=2, missing=True), st.data(), st.booleans())
def test_tables_hold_what_the_rows_weigh(drawn: Drawn, data: st.DataObject, cramped: bool) -> None:
    sample = drawn.sample
    one, *rest = data.draw(st.permutations(range(len(sample.variables))))
    cut = data.draw(st.integers(1, len(rest)))
    others, beside = rest[:cut], rest[cut:]
    name = sample.variables
    with pytest.MonkeyPatch.context() as patch:
        if cramped:  # so that only what occurs is counted
            patch.setattr(module, "CELLS", 0)
            patch.setattr(module, "MOST_SPARE", 0)
        tables = list(pair_tables(sample, one, others, beside))
        alone = list(pair_information(sample, one, others, beside))
    assert len(tables) == len(alone) == len(others)
    for table, (expected_information, weight) in zip(tables, alone, strict=True):
        assert expected_information == pytest.approx(table.information(), abs=1e-9)
        assert weight == pytest.approx(float(table.weight.sum()))
    for other, table in zip(others, tables, strict=True):
        found: dict[int, dict[tuple[int, int], float]] = {}
        for at, a, b, weight in zip(
            table.configuration.tolist(),
            table.one.tolist(),
            table.other.tolist(),
            table.weight.tolist(),
            strict=True,
        ):
            assert (a, b) not in found.setdefault(at, {})
            found[at][a, b] = weight
        expected = strata(drawn.rows, name[one], name[other], [name[v] for v in beside])
        ordered = sorted(sorted(cells.items()) for cells in expected)
        assert sorted(sorted(cells.items()) for cells in found.values()) == ordered
        expected_information = information(drawn.rows, name[one], name[other], [name[v] for v in beside])
        assert table.information() == pytest.approx(expected_information, abs=1e-9)


def test_large_vocabularies_take_no_more_room_than_the_rows() -> None:
    # 60,000 x 60,000 cells would take 29 GB.
    columns = {"a": [59_999, 59_999, 0], "b": [59_999, 59_999, 0], "c": [1, 1, -1]}
    sample = Sample(columns, {"a": 60_000, "b": 60_000, "c": 2})
    (table,) = pair_tables(sample, 0, [1], [2])
    assert (table.one.tolist(), table.other.tolist(), table.weight.tolist()) == ([59_999], [59_999], [2.0])
    (table,) = pair_tables(sample, 0, [1])
    assert table.information() == pytest.approx(2 * np.log(3 / 2) + np.log(3))
    assert table.degrees_of_freedom() == 1


@given(drawn_samples(least=2, missing=True), st.data())
def test_information_is_the_same_however_its_cells_are_summed(drawn: Drawn, data: st.DataObject) -> None:
    sample = drawn.sample
    one, other, *rest = data.draw(st.permutations(range(len(sample.variables))))
    table = next(iter(pair_tables(sample, one, [other], rest[:1])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 0)
        expected = table.information()
    assert table.information() == expected
