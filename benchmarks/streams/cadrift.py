"""Streams of CaDrift, a generator of drifting streams from random causal graphs (MIT licence, Barboza and others 2026).

It is no package, so its repository is cloned, at one commit. It needs older packages than ours and draws from
generators of the whole process, so it runs in one of its own, and the table is kept.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CADRIFT", "World", "make", "samples_of"]

ADDRESS = "https://github.com/eduardovlb/CaDrift"
COMMIT = "ccd7ca19ae6e6e20f17ea4a6666d03fcd885020e"
# What it was written for; with numpy 2 it fails.
NEEDS = (
    "numpy==1.26.4",
    "pandas==2.2.3",
    "matplotlib==3.9.4",
    "networkx==3.2.1",
    "tqdm",
    "scikit-learn==1.6.1",
)
QUIET = {"MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "TQDM_DISABLE": "1"}
EVENTS = 10_000
EVERY = 1_250  # events between two changes


class World(NamedTuple):
    """A random graph, and what becomes of it: kinds of changes in turn, as (what, how), each so many events long."""

    features: int
    changes: tuple[tuple[str, str], ...]
    seed: int = 11
    width: int = 1
    missing: float = 0.0  # the share of the events where one to three features have no value
    interventions: float = 0.0  # the share of the events where some features are set from outside


CADRIFT = {
    "cadrift, real": World(10, (("real", "abrupt"),)),
    "cadrift, gradually, gaps": World(
        10, (("severe", "gradual"), ("real", "gradual")), width=400, missing=0.3
    ),
    "cadrift, incrementally": World(10, (("real", "incremental"),), width=500),
    "cadrift, virtual": World(10, (("virtual", "abrupt"),)),
    # With 11 and 12 nearly all events have one label.
    "cadrift, 30 features, recurring": World(
        30, (("severe", "abrupt"), ("recurrent", "abrupt")), seed=13, interventions=0.1
    ),
}

# Run by a Python of its own, in the clone: what to make comes as JSON, the table goes to the path in it.
PROGRAM = """
import json, random, sys
import numpy as np, pandas as pd
from DAG_Utils import build_er_dag
task = json.loads(sys.argv[1])
random.seed(task["seed"]); np.random.seed(task["seed"])
graph, label = build_er_dag(task["features"], n_confounders=2, create_confounder=True, seed=task["seed"])
table = pd.DataFrame(graph.generate(task["events"], **task["settings"]))
table.to_csv(task["path"], index=False)
"""


def make(directory: Path) -> None:
    """Make the tables that are missing: clone the generator at one commit, and install what it needs beside it."""
    missing = [name for name in CADRIFT if not _table(directory, name).exists()]
    if not missing:
        return
    program, packages = directory / "CaDrift", directory / "CaDrift-packages"
    if not program.is_dir():
        subprocess.run(["git", "clone", "--quiet", ADDRESS, str(program)], check=True)
    subprocess.run(["git", "-C", str(program), "checkout", "--quiet", COMMIT], check=True)
    if not packages.is_dir():
        command = ["pip", "install", "--quiet", "--target", str(packages), *NEEDS]
        subprocess.run([sys.executable, "-m", *command], check=True)
    for name in missing:
        _generate(CADRIFT[name], program, packages, _table(directory, name))


def samples_of(name: str) -> Callable[[Path], Iterator[tuple[dict[str, Any], str]]]:
    """Return the events of a world; `y` is their label, and a value that is missing is left out."""

    def samples(directory: Path) -> Iterator[tuple[dict[str, Any], str]]:
        with _table(directory, name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                label = row.pop("y")
                yield {column: float(cell) for column, cell in row.items() if cell}, label

    return samples


def _table(directory: Path, name: str) -> Path:
    return directory / f"{name}.csv"


def _generate(world: World, program: Path, packages: Path, path: Path) -> None:
    points = list(range(EVERY, EVENTS, EVERY))
    changes = [world.changes[place % len(world.changes)] for place in range(len(points))]
    settings = {
        "drift_points": points,
        "drift_sizes": [world.width] * len(points),
        "drift_types": [what for what, _ in changes],
        "drift_types_time": [how for _, how in changes],
        "missing_prob": world.missing,
        "intervention_prob": world.interventions,
    }
    unfinished = path.with_suffix(".part").resolve()
    task = {
        "seed": world.seed,
        "features": world.features,
        "events": EVENTS,
        "settings": settings,
        "path": str(unfinished),
    }
    alone = os.environ | {"PYTHONPATH": str(packages.resolve())} | QUIET
    command = [sys.executable, "-c", PROGRAM, json.dumps(task)]
    subprocess.run(command, cwd=program, env=alone, check=True)
    unfinished.rename(path)
