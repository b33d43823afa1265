"""Columns by name, `{"sky": [...], "wind": [...]}`, are learned and predicted as the rows that they hold."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes.learners.catalogue import DECLARED, REGRESSION, declaration_of
from stream_bayes.testing.public_learners import made

ROWS = 60
COLUMNS: dict[str, list[Any]] = {"sky": ["grey", "blue", None] * 20, "wind": [1.5, 2.5, 3.5] * 20}


@pytest.mark.parametrize("name", DECLARED)
def test_columns_are_learned_and_predicted_as_their_rows(name: str) -> None:
    declared = declaration_of(name)
    whole, each = made(name, declared.example), made(name, declared.example)
    kinds = getattr(whole, "inputs", frozenset({"nominal", "numeric"}))
    columns = {column: cells for column, cells in COLUMNS.items() if column == "wind" or "nominal" in kinds}
    if "bag" in kinds and "numeric" not in kinds:
        columns = {"word": [1, 2, 0] * 20}
    y: list[Any] = ([1.0, 2.0, 3.5] if declared.task == REGRESSION else ["p", "q", "q"]) * 20
    rows = [
        {column: cells[row] for column, cells in columns.items() if cells[row] is not None}
        for row in range(ROWS)
    ]
    whole.learn_many(columns, y)
    each.learn_many(rows, y)
    assert [*whole.predict_many(columns)] == [*each.predict_many(rows)]
    assert whole.clock == each.clock == ROWS
