"""Rows in each form in which learners take many, and their answers in one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

from stream_bayes import (
    CodedColumns,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
)

Rows = list[dict[str, Any]]


def named_rows(seed: int, rows: int, *, missing: float = 0.2) -> tuple[Rows, list[str]]:
    source = random.Random(seed)
    made: Rows = []
    for i in range(rows):
        full: dict[str, Any] = {
            "sky": source.choice(["grey", "blue", "ü"]),
            "warm": source.random() < 0.5,
            "heat": round(source.gauss(20, 5), 2),
            "n": source.randrange(-5, 6),
        }
        if i > rows // 2:
            full["late"] = source.choice("ab")
        made.append({name: value for name, value in full.items() if source.random() >= missing})
    return made, [source.choice(["rain", "sun", "snow"]) for _ in range(rows)]


def bag_rows(seed: int, rows: int) -> tuple[Rows, list[str]]:
    source = random.Random(seed)
    words = [f"w{k}" for k in range(9)]
    made: Rows = [
        {w: source.choice([0, 1, 1, 3]) for w in words if source.random() < 0.5} for _ in range(rows)
    ]
    return made, [source.choice(["ham", "spam", "news"]) for _ in range(rows)]


NAMES = ["sky", "warm", "heat", "n", "late"]
SCHEMA = Schema(
    {"sky": Nominal(), "warm": Nominal(), "heat": Numeric(), "n": Numeric(), "late": Nominal()},
    unknown="refuse",
)


def as_columns(rows: Rows, names: list[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}


def as_pandas(rows: Rows, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(as_columns(rows, names))


def as_nullable(rows: Rows, names: list[str]) -> pd.DataFrame:
    dtypes = {"sky": "string", "warm": "boolean", "heat": "Float64", "n": "Int64", "late": "string"}
    return pd.DataFrame(
        {
            name: pd.array(column, dtype=dtypes.get(name, "Int64"))
            for name, column in as_columns(rows, names).items()
        }
    )


def as_categorical(rows: Rows, names: list[str]) -> pd.DataFrame:
    frame = as_pandas(rows, names)
    for name in ("sky", "late"):
        if name in frame:
            frame[name] = pd.Categorical(frame[name], categories=["unused", "ü", "b", "blue", "a", "grey"])
    return frame


def as_polars(rows: Rows, names: list[str]) -> pl.DataFrame:
    return pl.DataFrame(as_columns(rows, names), strict=False)


def as_objects(rows: Rows, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(as_columns(rows, names), dtype=object)


def as_coded(rows: Rows, names: list[str]) -> CodedColumns:
    return Schema({name: SCHEMA.features[name] for name in names}).encode(as_columns(rows, names))


def as_coded_otherwise(rows: Rows, names: list[str]) -> CodedColumns:
    """The same, the columns and every vocabulary in another order, with values that no row has."""
    backwards = {
        "sky": ["unused", "ü", "grey", "blue"],
        "warm": [True, "unused", False],
        "late": ["b", "unused", "a"],
    }
    features: dict[str, Any] = {name: backwards.get(name, SCHEMA.features[name]) for name in reversed(names)}
    return Schema(features).encode(as_columns(rows, names))


def as_dicts(rows: Rows, names: list[str]) -> Rows:
    return [{name: value for name, value in row.items() if name in names} for row in rows]


FORMS: dict[str, Callable[[Rows, list[str]], Any]] = {
    "pandas": as_pandas,
    "nullable": as_nullable,
    "categorical": as_categorical,
    "objects": as_objects,
    "polars": as_polars,
    "dicts": as_dicts,
    "coded": as_coded,
    "coded otherwise": as_coded_otherwise,
}
IN_EACH_FORM = pytest.mark.parametrize("form", FORMS)

MODELS: dict[str, Callable[[], Any]] = {
    "plain": NaiveBayes,
    "schema": lambda: NaiveBayes(schema=SCHEMA),
    "fading": lambda: NaiveBayes(half_life=30.0),
    "m-estimate, given prior": lambda: NaiveBayes(
        "m-estimate", class_prior={"rain": 0.2, "sun": 0.3, "snow": 0.5}
    ),
}


def answers(given: Any, rows: int) -> list[dict[Any, float]]:
    """Probabilities in whatever kind, as a dict a row."""
    if isinstance(given, pd.DataFrame):
        return [dict(zip(given.columns.tolist(), row, strict=True)) for row in given.to_numpy().tolist()]
    if isinstance(given, pl.DataFrame):
        return given.to_dicts()
    if isinstance(given, list):
        return given
    assert given.values.shape == (rows, len(given.labels))
    return [dict(zip(given.labels, row, strict=True)) for row in given.values.tolist()]


def same_knowledge(one: Any, other: Any) -> None:
    mine, theirs = one.store.by_name(), other.store.by_name()
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert value == pytest.approx(theirs[name], rel=1e-12, abs=1e-12)
    assert one.clock == other.clock
