"""The streams: River's own and its generators, and the tables in scikit-multiflow's source package."""

from __future__ import annotations

import csv
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from river import datasets
from river.datasets import synth

__all__ = ["STREAMS", "Stream", "fetch"]

Sample: TypeAlias = tuple[dict[str, Any], str]

ARCHIVE = "scikit-multiflow-0.4.1"
TABLES = "src/skmultiflow/data/datasets"
SEED = 11


class Stream(NamedTuple):
    """A stream, where it comes from, and if anything of ours was chosen by looking at it."""

    samples: Callable[[Path], Iterator[Sample]]
    origin: str
    tuned: bool = False


def fetch(directory: Path) -> None:
    """Download scikit-multiflow's source package and unpack its tables; nothing of it is installed."""
    tables = directory / ARCHIVE / TABLES
    if tables.is_dir():
        return
    directory.mkdir(parents=True, exist_ok=True)
    archive = directory / f"{ARCHIVE}.tar.gz"
    if not archive.exists():
        wanted = ARCHIVE.rpartition("-")[0] + "==0.4.1"
        flags = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(directory)]
        subprocess.run([sys.executable, "-m", "pip", "download", *flags, wanted], check=True)
    with tarfile.open(archive) as packed:
        members = [each for each in packed if f"/{TABLES}/" in each.name and each.name.endswith(".csv")]
        packed.extractall(directory, members=members, filter="data")


def _table(name: str, numbers: int | None = None) -> Callable[[Path], Iterator[Sample]]:
    """Return the rows of a table, the last column as label; columns after so many numbers are flags."""

    def samples(directory: Path) -> Iterator[Sample]:
        with (directory / ARCHIVE / TABLES / name).open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            *names, _ = next(rows)
            for *values, label in rows:
                x: dict[str, Any] = {}
                for place, (column, value) in enumerate(zip(names, values, strict=True)):
                    is_flag = numbers is not None and place >= numbers
                    x[column] = value not in ("0", "0.0") if is_flag else float(value)
                yield x, label

    return samples


def _river(make: Callable[[], Any], events: int | None = None) -> Callable[[Path], Iterator[Sample]]:
    def samples(directory: Path) -> Iterator[Sample]:
        for x, y in islice(iter(make()), events):
            yield x, str(y)

    return samples


def _switch(first: Any, second: Any, width: int = 60) -> Callable[[Path], Iterator[Sample]]:
    return _river(
        lambda: synth.ConceptDriftStream(first(), second(), position=10_000, width=width, seed=SEED), 20_000
    )


MULTIFLOW = "scikit-multiflow 0.4.1"
REAL, MADE = "River", "River's generator"

STREAMS: dict[str, Stream] = {
    "electricity": Stream(_table("elec.csv"), MULTIFLOW, tuned=True),
    "weather": Stream(_table("weather.csv"), MULTIFLOW, tuned=True),
    "covertype": Stream(_table("covtype.csv", numbers=10), MULTIFLOW, tuned=True),
    "moving squares": Stream(_table("moving_squares.csv"), MULTIFLOW, tuned=True),
    "sea": Stream(_table("sea_big.csv"), MULTIFLOW, tuned=True),
    "phishing": Stream(_river(datasets.Phishing), REAL, tuned=True),
    "image segments": Stream(_river(datasets.ImageSegments), REAL, tuned=True),
    "bananas": Stream(_river(datasets.Bananas), REAL, tuned=True),
    "hyperplane": Stream(
        _river(
            lambda: synth.Hyperplane(seed=SEED, n_features=10, n_drift_features=5, mag_change=0.001), 20_000
        ),
        MADE,
        tuned=True,
    ),
    "random tree": Stream(
        _river(lambda: synth.RandomTree(SEED, SEED + 1, 2, 5, 5), 20_000), MADE, tuned=True
    ),
    "rbf drift": Stream(
        _river(
            lambda: synth.RandomRBFDrift(
                SEED, SEED + 1, 4, 10, 50, change_speed=0.0001, n_drift_centroids=50
            ),
            20_000,
        ),
        MADE,
        tuned=True,
    ),
    "led drift": Stream(
        _river(lambda: synth.LEDDrift(seed=SEED, n_drift_features=3, noise_percentage=0.1), 20_000),
        MADE,
        tuned=True,
    ),
    "agrawal 4 to 7": Stream(
        _switch(lambda: synth.Agrawal(4, SEED), lambda: synth.Agrawal(7, SEED + 1)), MADE, tuned=True
    ),
    "agrawal 5 to 9": Stream(
        _switch(lambda: synth.Agrawal(5, SEED), lambda: synth.Agrawal(9, SEED + 1)), MADE
    ),
    "agrawal 0 to 3, slowly": Stream(
        _switch(lambda: synth.Agrawal(0, SEED), lambda: synth.Agrawal(3, SEED + 1), 4000), MADE
    ),
    "sine 1 to 3": Stream(_switch(lambda: synth.Sine(1, SEED), lambda: synth.Sine(3, SEED + 1)), MADE),
    "random tree of six classes": Stream(_river(lambda: synth.RandomTree(3, 4, 6, 8, 2), 20_000), MADE),
    "waves": Stream(_river(lambda: synth.Waveform(seed=SEED, has_noise=False), 20_000), MADE, tuned=True),
}
