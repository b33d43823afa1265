"""The tables of other people: each comes from a package that the extra brings."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmarks.tables import TABLES

ROOT = Path(__file__).parents[2]


def test_the_extra_brings_the_package_of_each_table() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    brought = {line.split(">=")[0].replace("-", "_") for line in [*extras["tables"], *extras["bench"]]}
    modules = {"sklearn": "scikit_learn"}
    assert {modules.get(package, package) for package, *_ in TABLES} <= brought
    assert len(TABLES) == 20
