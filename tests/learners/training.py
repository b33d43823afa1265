"""A learner that has learned some rows."""

from __future__ import annotations

from typing import Any

Row = tuple[dict[str, Any], Any]


def trained(model: Any, rows: list[Row]) -> Any:
    for x, y in rows:
        model.learn_one(x, y)
    return model
