"""Each comparison of structures runs to its end, over few rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("pyagrum")
pytest.importorskip("pybnesian")

from benchmarks.harness import measure
from benchmarks.networks import structures


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(structures, "ROWS", 600)
    monkeypatch.setattr(structures, "NEW", 100)
    monkeypatch.setattr(structures, "RESTARTS", 1)
    structures.rows.cache_clear()
    yield
    structures.rows.cache_clear()


def test_every_comparison_measures_both_sides(few_rows: None) -> None:
    cases = structures.cases()
    assert len(cases) > 8
    for case in cases:
        result = measure(replace(case, once=True), 1)
        assert result.ours and (not case.peer or result.peer), case.work
