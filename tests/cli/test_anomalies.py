"""`stream-bayes anomalies` on tables of names and numbers, without settings."""

from __future__ import annotations

import json
import math
import random
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_bayes.cli.commands.anomalies import _ranked_apart
from tests.cli.test_snapshots import run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write 400 houses, whose price follows from size and kind; three of them are odd."""
    rng = random.Random(2)
    lines = ["kind,size,price,floor"]
    for row in range(1, 401):
        kind = rng.choice(["flat", "house"])
        size = rng.gauss(70.0 if kind == "flat" else 130.0, 12.0)
        price = (3.0 if kind == "flat" else 2.0) * size + rng.gauss(0.0, 6.0)
        if row == 200:
            price += 150.0  # no price that is odd by itself
        if row == 300:
            size, price = 5_000.0, 10_000.0
        lines.append(f"{'castle' if row == 350 else kind},{size:.1f},{price:.1f},{rng.randrange(6)}")
    path = tmp_path / "houses.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_the_odd_rows_come_first_each_with_what_is_odd_in_it(file: Path) -> None:
    result = run(
        "anomalies", file, "--top", "4", "--json"
    )  # a kind that came once is no odder than 1 row in 400
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    ranked = [each["row"] for each in report["anomalies"]]
    assert ranked[:2] == [300, 200]
    assert 350 in ranked
    odd = {each["row"]: each["odd"][0]["variable"] for each in report["anomalies"]}
    assert odd[200] in ("price", "size")
    assert odd[350] == "kind"
    assert (report["rows"], report["scored"]) == (400, 400)
    shown = run("anomalies", file, "--top", "1").stdout
    assert "size=5000 (" in shown or "price=10000 (" in shown  # as written, without a point
    p_values = {each["row"]: each["p_value"] for each in report["anomalies"]}
    assert max(p_values.values()) < 0.01 and p_values[300] < 1e-4


def test_the_first_rows_of_a_group_are_not_odd_for_being_first(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [
        f"{rng.gauss(10.0 * n, 1.0):.2f},{rng.gauss(-5.0 * n, 1.0):.2f},{'abc'[n]}"
        for n in range(3)
        for _ in range(100)
    ]
    rows[9] = rows[9].replace(",a", ",c")  # among the first, which file order does not score
    path = tmp_path / "sorted.csv"
    path.write_text("\n".join(["u,v,group", *rows]) + "\n", "utf-8")
    top: dict[str, list[int]] = {}
    for order in ("--shuffle", "--no-shuffle"):
        report = json.loads(run("anomalies", path, "--top", "3", "--json", order).stdout)
        top[order] = [each["row"] for each in report["anomalies"]]
    assert top["--shuffle"][0] == 10 and not {101, 201} & {*top["--shuffle"]}
    assert 101 in top["--no-shuffle"]
    assert "--no-shuffle" in run("anomalies", path).stderr
    assert "random order" not in run("anomalies", path, "--time", "u").stderr


def test_the_rows_that_are_said_to_be_left_out_were_left_out() -> None:
    rows: list[Any] = [(number, {}) for number in range(300)]

    def rank(rows: Any, is_random: bool, apart: set[int]) -> Any:
        """Score one row high, another one whenever a row is left out."""
        return SimpleNamespace(
            left_out={*apart},
            scores={n: 1e6 if n == len(apart) else math.log(n + 1.0) for n, _ in rows},
        )

    ranking: Any
    ranking, apart = _ranked_apart(rows, rank)
    assert len(apart) > 1 and ranking.left_out == apart


def test_a_table_and_a_file_that_is_too_short(file: Path, tmp_path: Path) -> None:
    result = run("anomalies", file, "--top", "1")
    assert "most unexpected rows" in result.output
    assert "size=5000" in result.output.replace("\n", "")
    short = tmp_path / "short.csv"
    short.write_text("a,b\n1.5,x\n2.5,y\n", "utf-8")
    assert json.loads(run("anomalies", short, "--json").stdout)["scored"] == 2
    done = run("anomalies", short, "--no-shuffle")
    assert done.exit_code != 0 and "lower --skip" in done.output


def test_a_date_is_one_column_and_shown_as_a_date(tmp_path: Path) -> None:
    rng, lines = random.Random(4), ["when,takings"]
    for k in range(150):
        day = date(2021, 1, 1) + timedelta(days=7 * k if k != 100 else 702)  # Fridays, and one Sunday
        lines.append(f"{day.isoformat()},{rng.gauss(100.0, 5.0):.1f}")
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    report = json.loads(run("anomalies", path, "--top", "150", "--json").stdout)
    [row] = [row for row in report["anomalies"] if row["row"] == 101]
    odd = row["odd"][0]
    assert (odd["variable"], odd["value"], odd["parts"][0]) == ("when", "2022-12-04", "weekday")
    assert any("date" in each.get("parts", ()) for row in report["anomalies"] for each in row["odd"])
    for row in report["anomalies"]:
        named = [each["variable"] for each in row["odd"]]
        assert len({*named}) == len(named) and {*named} <= {"when", "takings"}
    assert all({one, other} == {"when", "takings"} for one, other in report["edges"])
    shown = " ".join(run("anomalies", path, "--top", "30").output.split())
    assert "when=2022-12-04 (weekday, +" in shown
