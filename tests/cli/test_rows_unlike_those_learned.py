"""`predict` on files that are written otherwise, or hold other rows, than the one that was learned."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stream_bayes.cli.app import app
from stream_bayes.cli.learned_ranges import LearnedRanges
from stream_bayes.errors import BadState

Row = dict[str, Any]
COLUMNS = ("day", "weight", "size", "colour", "price", "y")


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def rows(count: int, seed: int) -> list[Row]:
    source = random.Random(seed)
    made: list[Row] = []
    for _ in range(count):
        weight, size = source.uniform(5.0, 30.0), source.uniform(1.0, 900.0)
        day, month = source.randrange(1, 29), source.randrange(1, 13)
        colour = source.choice(["red", "blue"])
        y = 3.0 * weight + size / 100 + 5 * (colour == "red") + 4 * (month > 6) + source.gauss(0, 1)
        row = {
            "day": f"{month}/{day}/2021",
            "weight": f"{weight:.3f} kg",
            "size": f"{size:.1f}",
            "colour": colour,
            "price": f"${source.uniform(1e3, 9e5):,.2f}",
        }
        made.append(row | {"y": f"{y:.3f}", "dmy": f"{day}/{month}/2021"})
    return made


def written(path: Path, made: list[Row], **changes: Callable[[Row], str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS])
        for row in made:
            writer.writerow([changes.get(name, lambda row, name=name: row[name])(row) for name in COLUMNS])
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    path = folder / "train.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS])
        writer.writerows([row[name] for name in COLUMNS] for row in rows(120, 1))
    result = run("train", path, "--target", "y", "--out", folder / "m.zip", "--model", "bayesian-regression")
    assert result.exit_code == 0, result.stderr
    return folder / "m.zip"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"day": lambda row: row["dmy"]}, "the order of dates in new.csv is another"),
        ({"weight": lambda row: f"{float(row['weight'][:-3]) * 2.2046226:.3f} lbs"}, ""),
        ({"size": lambda row: row["size"].replace(".", ",")}, "decimal marks"),
    ],
    ids=["day first", "pounds", "decimal comma"],
)
def test_a_file_that_is_written_otherwise_gets_the_same_predictions(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    new = rows(40, 2)
    expected = run("predict", model, written(tmp_path / "same.csv", new))
    answered = run("predict", model, written(Path("new.csv"), new, **changes))
    assert said in answered.stderr and "count as missing" not in answered.stderr
    pairs = zip(expected.stdout.splitlines()[1:], answered.stdout.splitlines()[1:], strict=True)
    for line, other in pairs:
        assert [float(cell) for cell in other.split(",")] == pytest.approx(
            [float(c) for c in line.split(",")], rel=1e-4
        )


@pytest.mark.parametrize("name", ["new.jsonl", "new.json", "new.parquet"])
def test_cells_that_are_texts_in_a_typed_file_get_the_same_predictions(
    model: Path, tmp_path: Path, name: str
) -> None:
    made = rows(30, 2)
    made[3]["colour"] = made[4]["size"] = ""
    plain = run("predict", model, written(tmp_path / "plain.csv", made))
    cells = [{column: f" {row[column]} " for column in COLUMNS[:-1]} for row in made]
    path = tmp_path / name
    if name.endswith("parquet"):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pandas.DataFrame(cells).to_parquet(path)
    else:
        lines = [json.dumps(row) for row in cells]
        path.write_text("\n".join(lines) if name.endswith("l") else f"[{', '.join(lines)}]")
    result = run("predict", model, path)
    assert result.exit_code == plain.exit_code == 0 and result.stdout == plain.stdout
    assert "not of its kind" not in result.stderr


def test_numbers_outside_of_all_that_was_learned_are_counted(model: Path, tmp_path: Path) -> None:
    new = rows(60, 3)
    like = run("predict", model, written(tmp_path / "like.csv", new))
    assert "warning" not in like.stderr
    for row in new[:25]:
        row["size"] = f"{1000 + float(row['size']) * 1000:.1f}"
    out = tmp_path / "out.csv"
    told = run("predict", model, written(tmp_path / "far.csv", new), "--out", out, "--json")
    assert "of 60 rows have numbers outside all that were learned (" in told.stderr
    assert 25 <= json.loads(told.stdout)["outside"]["size"] <= 27  # one or two more by chance


def test_values_that_are_new_or_missing_are_named_for_a_model_of_numbers(model: Path, tmp_path: Path) -> None:
    told = run(
        "predict",
        model,
        written(tmp_path / "n.csv", rows(30, 4), colour=lambda row: "green", size=lambda row: ""),
    )
    assert "colour: 30 rows have a value that says nothing, such as 'green' (never learned)" in told.stderr
    assert "size: 30 of 30 rows lack a value, which every learned row had" in told.stderr


def test_ranges_that_no_rows_have_are_refused() -> None:
    for state in (
        {"rows": 1, "present": {"a": 2}, "numbers": {}},
        {"rows": 2, "present": {"a": 2}, "numbers": {"a": [3.0, 1.0]}},
        {"rows": 2, "present": {}, "numbers": {"a": [1.0]}},
        {"rows": 2},
    ):
        with pytest.raises(BadState):
            LearnedRanges.of_state(state)
