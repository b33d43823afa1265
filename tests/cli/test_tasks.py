"""Numbers as targets on the command line: trained, predicted, explained; and asked for where it is not clear."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from stream_bayes import AdaptiveRegression, load
from stream_bayes.cli.data_file import DataOptions, open_table
from stream_bayes.cli.tasks import seen_task
from tests.cli.test_snapshots import run


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    source = random.Random(3)
    path = tmp_path / "houses.csv"
    lines = ["size,city,rooms,garden,price"]
    for row in range(200):
        size, rooms = source.gauss(100.0, 20.0), row % 5 + 1
        price = 3.0 * size + 40.0 * (row % 3) + source.gauss(0.0, 5.0)
        cell = "?" if row == 7 else f"{price:.2f}"
        lines.append(f"{size:.1f},{'abc'[row % 3]},{rooms},{row % 2},{cell}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_target_of_numbers_is_learned_as_numbers_and_said(houses: Path, tmp_path: Path) -> None:
    model, answers = tmp_path / "model.zip", tmp_path / "answers.csv"
    trained = run("train", houses, "--target", "price", "--out", model)
    assert trained.exit_code == 0, trained.output
    assert "price holds numbers, so adaptive-regression learns them" in trained.stderr
    assert "learned 199 rows; 1 rows without a label were skipped" in trained.stdout
    regressor = load(model)
    assert isinstance(regressor, AdaptiveRegression)
    done = run("predict", model, houses, "--out", answers, "--intervals", "0.9")
    assert done.exit_code == 0, done.output
    with answers.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "prediction", "low", "high"] and len(rows) == 200
    with houses.open() as file:
        prices = [row["price"] for row in csv.DictReader(file)]
    inside = [
        float(row["low"]) < float(price) < float(row["high"])
        for row, price in zip(rows, prices, strict=True)
        if price != "?"
    ]
    assert 0.8 < sum(inside) / len(inside) < 0.98
    x = {"size": 100, "city": "c", "rooms": 2, "garden": 1}
    mixed = json.loads(run("explain", model, json.dumps(x), "--json").stdout)
    assert mixed["prediction"] == pytest.approx(380.0, abs=15.0) and len(mixed["experts"]) == 23
    assert "linear over all" in run("explain", model, json.dumps(x)).stdout
    linear = tmp_path / "linear.zip"
    waves = ("--model", "bayesian-regression", "--arg", "features=fourier")
    run("train", houses, "--target", "price", "--out", linear, *waves)
    shown = json.loads(run("explain", linear, json.dumps(x), "--json").stdout)
    assert shown["prediction"] == pytest.approx(380.0, abs=5.0)
    assert {each["feature"] for each in shown["contributions"]} == {*x, "waves over garden, rooms, size"}
    assert "90 % interval" in run("explain", linear, json.dumps(x)).stdout
    assert "are for classes" in run("predict", model, houses, "--variable", "city").stderr


def test_inspect_says_that_a_target_of_numbers_is_learned_as_numbers(houses: Path) -> None:
    shown = " ".join(run("inspect", houses, "--target", "price").stdout.split())
    assert "target price: 199 different numbers, " in shown
    assert (
        "price holds numbers, so adaptive-regression learns them; for classes: --task classification" in shown
    )
    assert "each number becomes one" not in shown
    assert "unsure: rooms has 5 whole numbers" in run("inspect", houses, "--target", "rooms").stdout
    assert "holds numbers" not in run("inspect", houses, "--target", "city").stdout


@pytest.mark.parametrize(
    "command",
    [
        ("train", "--out", "m.zip"),
        ("compare", "--model", "bayesian-regression"),
        ("replay", "--model", "bayesian-regression"),
        ("inspect",),
    ],
    ids=lambda command: command[0],
)
def test_problems_of_a_target_of_numbers_are_said_and_not_those_of_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"c{n % 60},{n % 60}.5,{n % 7}" for n in range(300)] + ["c1,None,3"]
    Path("t.csv").write_text("\n".join(["code,price,size", *rows]) + "\n")
    name, *options = command
    done = run(name, "t.csv", "--target", "price", *options)
    said = " ".join(done.output.split())
    assert done.exit_code == 0 and "code gives price away" in said
    assert (
        "1 of 301 rows have no label, since 'None' counts as missing; they are predicted and not learned"
        in said
    )
    assert "each number becomes one" not in said and "If it is a class" not in said


@pytest.mark.parametrize("model", ["bayesian-regression", "adaptive"])
def test_a_number_that_is_written_as_a_text_is_explained_as_the_number(
    houses: Path, tmp_path: Path, model: str
) -> None:
    saved, target = tmp_path / "model.zip", "price" if model == "bayesian-regression" else "city"
    trained = run("train", houses, "--target", target, "--out", saved, "--model", model)
    assert trained.exit_code == 0, trained.output
    texts, numbers = '{"size": "101.5", "garden": "1"}', '{"size": 101.5, "garden": 1.0}'
    assert run("explain", saved, texts).stdout == run("explain", saved, numbers).stdout != ""
    refused = run("explain", saved, '{"size": "large"}')
    assert refused.exit_code == 3 and len(refused.stderr.strip().splitlines()) == 1
    assert "feature 'size' is numeric, and 'large' is no number: write a number" in refused.stderr


def test_few_whole_numbers_are_learned_as_classes_and_said_to_be_unsure(houses: Path, tmp_path: Path) -> None:
    train = ("train", houses, "--out", tmp_path / "model.zip")
    few = run(*train, "--target", "rooms")
    assert "unsure: rooms has 5 whole numbers, which are learned as classes" in few.stderr
    assert few.exit_code == 0 and "AdaptiveBayes learned 200 rows" in few.stdout
    counts = tmp_path / "counts.csv"
    counts.write_text("x,visits\n" + "".join(f"{n % 7},{n % 23}\n" for n in range(230)))
    many = run("train", counts, "--target", "visits", "--out", tmp_path / "model.zip")
    assert "unsure: visits holds numbers, so adaptive-regression learns them" in many.stderr
    assert many.exit_code == 0
    for task, kind in (("regression", "AdaptiveRegression"), ("classification", "AdaptiveBayes")):
        done = run(*train, "--target", "rooms", "--task", task, "--json")
        assert json.loads(done.stdout)["model"] == kind
    assert json.loads(run(*train, "--target", "garden", "--json").stdout)["model"] == "AdaptiveBayes"
    assert (
        json.loads(run(*train, "--target", "rooms", "--model", "nb", "--json").stdout)["model"]
        == "NaiveBayes"
    )


def test_a_model_and_a_target_that_do_not_fit_the_task_are_refused(houses: Path, tmp_path: Path) -> None:
    train = ("train", houses, "--out", tmp_path / "model.zip")
    result = run(*train, "--target", "price", "--task", "regression", "--model", "aode")
    assert result.exit_code == 3 and "for regression: --model adaptive-regression" in result.stderr
    result = run(*train, "--target", "city", "--model", "bayesian-regression")
    assert result.exit_code == 3 and "no row has a number in the column 'city'" in result.stderr


def test_models_of_numbers_are_compared_by_their_errors_and_the_best_is_saved(
    houses: Path, tmp_path: Path
) -> None:
    model = tmp_path / "best.zip"
    done = run("compare", houses, "--target", "price", "--task", "regression", "--save", model, "--json")
    assert done.exit_code == 0, done.output
    best = json.loads(done.stdout)["models"]
    assert type(load(model)).__name__.lower() == next(iter(best)).replace("-", "")
    assert {"coverage_by_width", "coverage_over_time", "pit"} < set(best["adaptive-regression"])
    answer = run(
        *("compare", houses, "--target", "price", "--json", "--delay", "5", "--limit", "100"),
        *("--model", "linear=bayesian-regression", "--arg", "linear.half_life=50"),
    )
    figures = json.loads(answer.stdout)["models"]
    assert next(iter(figures)) == "linear" and figures["linear"]["rmse"] < figures["mean"]["rmse"] / 2
    assert json.loads(answer.stdout)["skipped"] == {"it has no target": 1}


def test_compare_sees_a_target_of_numbers_as_train_does(houses: Path, tmp_path: Path) -> None:
    done = run("compare", houses, "--target", "price")
    assert done.exit_code == 0 and "price holds numbers, so models of numbers are compared" in done.stderr
    assert "RMSE" in done.stdout and "tenths of forecasts" in done.stdout
    assert "adaptive-regression" in done.stdout and "no change" in done.stdout
    assert "1 row skipped: it has no target" in done.stderr
    for arguments in (
        ["--target", "city"],
        ["--target", "rooms"],
        ["--target", "price", "--bins", "3"],
        ["--target", "price", "--checkpoints", str(tmp_path / "c.jsonl")],
        ["--target", "price", "--task", "classification"],
    ):
        classes = run("compare", houses, *arguments, "--limit", "40")
        assert classes.exit_code == 0 and "log-loss" in classes.stdout, (arguments, classes.output)
    named = run("compare", houses, "--target", "price", "--model", "nb")
    assert "each number becomes one" in " ".join(named.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "price", "--model", "aode", "--model", "adaptive-regression"], "compare them apart"),
        (
            ["--target", "price", "--model", "adaptive-regression", "--task", "classification"],
            "compare them apart",
        ),
        (["--target", "price", "--task", "regression", "--bins", "4"], "--bins: is for models of classes"),
        (["--target", "price", "--task", "regression", "--arg", "depth=3"], "no model has this argument"),
        (["--target", "price", "--task", "regression", "--arg", "x.lags=3"], "no model 'x'"),
        (["--target", "city", "--task", "regression"], "fewer than two rows have a number"),
    ],
)
def test_what_does_not_fit_models_of_numbers_is_refused(
    houses: Path, arguments: list[str], said: str
) -> None:
    done = run("compare", houses, *arguments)
    assert done.exit_code != 0
    assert said in " ".join(done.output.split())


@pytest.mark.parametrize("name", ["dynamic-network", "hidden-markov", "markov-chain", "mixed-network"])
def test_a_model_of_events_without_a_label_is_refused_where_a_label_is_learned(
    houses: Path, name: str
) -> None:
    refused = run("train", houses, "--model", name, "--target", "city", "--out", houses.with_suffix(".zip"))
    assert refused.exit_code != 0
    assert "it learns events without a label: run it in a pipeline" in " ".join(refused.stderr.split())


def test_a_target_that_an_arff_file_declares_as_numbers_is_one_where_they_are_whole(tmp_path: Path) -> None:
    rows = "".join(f"{k % 7},{1000 * (k * k % 60)}\n" for k in range(200))
    heading = "@relation sales\n@attribute a numeric\n@attribute units numeric\n@data\n"
    (tmp_path / "sales.arff").write_text(f"{heading}{rows}3,?\n")
    table = open_table(tmp_path / "sales.arff", "units", DataOptions())
    table.source.close()
    profile = table.profiles["units"]
    assert profile.is_numeric and profile.is_whole and set(profile.counts) >= {"0", "1000", "4000"}
    assert seen_task(table)[0] == "regression"


@pytest.mark.parametrize("in_order", [True, False])
def test_forecasts_long_after_the_last_target_of_a_series_are_said_to_be_worse(
    tmp_path: Path, in_order: bool
) -> None:
    source, level, lines = random.Random(5), 0.0, ["hour,load"]
    for row in range(300):
        level += source.gauss(0.0, 1.0)
        lines.append(f"{row % 24},{level:.2f}")
    path, model = tmp_path / "load.csv", tmp_path / "model.zip"
    path.write_text("\n".join(lines) + "\n")
    order = "--no-shuffle" if in_order else "--shuffle"
    assert run("train", path, "--target", "load", "--out", model, order).exit_code == 0
    done = run("predict", model, path, "--out", tmp_path / "answers.csv")
    assert done.exit_code == 0
    said = "forecasts hold for the row after it" in done.stderr
    assert said is in_order
    if in_order:
        assert "--arg lags=0" in done.stderr


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-8])
def test_errors_of_targets_in_any_unit_are_whole_in_eighty_columns(tmp_path: Path, unit: float) -> None:
    rng = random.Random(2)
    rows = [(age, unit * (14_000.0 + 250.0 * age + rng.gauss(0.0, 12_000.0))) for age in range(20, 80)]
    file = tmp_path / "charges.csv"
    file.write_text("age,charges\n" + "".join(f"{age},{y!r}\n" for age, y in rows))
    options = ("--target", "charges", "--model", "bayesian-regression")
    done = run("compare", file, *options)
    assert done.exit_code == 0, done.output
    assert "…" not in done.stdout and max(map(len, done.stdout.splitlines())) <= 80
    cells = next(line for line in done.stdout.splitlines() if line.startswith("bayesian-regression")).split()
    report = json.loads(run("compare", file, *options, "--json").stdout)
    rmse = report["models"]["bayesian-regression"]["rmse"]
    assert float(cells[1]) == pytest.approx(rmse, rel=0.05)
