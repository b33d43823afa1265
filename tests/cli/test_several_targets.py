"""Commands with several targets: train, predict, explain, compare, inspect and replay."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stream_bayes import MultiTargetRegression, load, streams
from stream_bayes.cli.app import app

SEVERAL = ("--target", "rain", "--target", "river")


def targets(k: int) -> tuple[float, float]:
    rain = 20.0 - 2.0 * (k % 7) + 0.3 * (k * k % 5)
    return rain, 1000.0 + 3.0 * rain + k % 2


def table(directory: Path, rows: int = 120) -> Path:
    path = directory / "days.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["wind", "sky", "rain", "river"])
        for k in range(rows):
            rain, river = targets(k)
            writer.writerow([k % 7, "grey" if k % 3 else "blue", f"{rain:.2f} mm", f"{river:,.2f}"])
        writer.writerow([3, "grey", "1.0 mm", ""])
        writer.writerow([3, "grey", "n/a", "broken"])
    return path


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def trained(directory: Path) -> Path:
    result = ran("train", table(directory), *SEVERAL, "--out", directory / "m.zip", "--no-shuffle")
    assert result.exit_code == 0, result.output
    assert "learned 120 rows" in result.output
    assert "1 row skipped: its target river is missing" in result.output
    assert "1 row skipped: its target rain is missing" in result.output
    assert "rain, river are several targets, so multi-target-regression learns them" in result.output
    return directory / "m.zip"


def test_each_row_has_a_prediction_and_an_interval_of_each_target(tmp_path: Path) -> None:
    model = trained(tmp_path)
    (tmp_path / "new.csv").write_text("sky,wind\ngrey,4\nblue,2\n")
    result = ran("predict", model, tmp_path / "new.csv", "--intervals", 0.8)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    expected = MultiTargetRegression()
    for k in range(120):
        rain, river = targets(k)
        y = {"rain": round(rain, 2), "river": round(river, 2)}
        expected.learn_one({"wind": float(k % 7), "sky": "grey" if k % 3 else "blue"}, y)
    for row, x in zip(rows, [{"wind": 4.0, "sky": "grey"}, {"wind": 2.0, "sky": "blue"}], strict=True):
        for name, (low, high) in expected.predict_interval_one(x, 0.8).items():
            assert float(row[f"prediction({name})"]) == pytest.approx(expected.predict_one(x)[name], rel=1e-6)
            assert float(row[f"low({name})"]) == pytest.approx(low, rel=1e-6)
            assert float(row[f"high({name})"]) == pytest.approx(high, rel=1e-6)
    loaded = load(model)
    assert isinstance(loaded, MultiTargetRegression) and loaded.target_names == ["rain", "river"]
    for option in (("--intervals", 1.5), ("--coverage", 0.9), ("--variable", "rain")):
        assert ran("predict", model, tmp_path / "new.csv", *option).exit_code != 0


def test_explain_shows_what_each_feature_adds_to_each_target(tmp_path: Path) -> None:
    model = trained(tmp_path)
    result = ran("explain", model, '{"wind": 3, "sky": "grey"}', "--json")
    by_target = json.loads(result.stdout)["targets"]
    assert [*by_target] == ["rain", "river"]
    for each in by_target.values():
        total = each["mean"] + sum(part["contribution"] for part in each["contributions"])
        assert (
            total == pytest.approx(each["prediction"]) and each["interval"][0] < total < each["interval"][1]
        )
        assert {part["feature"] for part in each["contributions"]} == {"wind", "sky"}
    shown = ran("explain", model, '{"wind": 3, "skye": "grey"}').output
    assert "contributions to rain" in shown and "contributions to river" in shown and "'sky'" in shown


def test_compare_measures_each_target(tmp_path: Path) -> None:
    path = table(tmp_path)
    result = ran("compare", path, *SEVERAL, "--json", "--save", tmp_path / "m.zip")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    models = ("multi-target-regression", "no change", "mean")
    names = {f"{name} of {target}" for name in models for target in ("rain", "river")}
    assert set(answer["models"]) == names
    assert answer["skipped"] == {
        "its target river is not a number": 1,
        "its target rain is not a number": 1,
    }
    rows: list[Any] = []
    for k in range(120):
        rain, river = targets(k)
        x = {"wind": float(k % 7), "sky": "grey" if k % 3 else "blue"}
        rows.append((x, {"rain": rain, "river": river}))
    evaluated = streams.evaluate_regression(rows, MultiTargetRegression())
    for target in ("rain", "river"):
        ours = evaluated[f"MultiTargetRegression of {target}"]
        theirs = answer["models"][f"multi-target-regression of {target}"]
        assert theirs["rmse"] == pytest.approx(ours.rmse, rel=1e-3) and theirs["events"] == 119 == ours.events
        assert ours.r2 > 0.9 and 0.8 < ours.coverage <= 1.0
    assert isinstance(load(tmp_path / "m.zip"), MultiTargetRegression)
    shown = ran(
        *("compare", path, *SEVERAL, "--model", "multi-target-regression"),
        *("--model", "fast=multi-target-regression", "--arg", "fast.half_life=20", "--delay", 5),
    )
    assert shown.exit_code == 0 and "fast of river" in shown.output


def test_inspect_and_replay_take_them_too(tmp_path: Path) -> None:
    path = table(tmp_path)
    inspected = ran("inspect", path, *SEVERAL, "--json")
    roles = {row["column"]: row["kind"] for row in json.loads(inspected.stdout)["columns"]}
    assert roles["rain"] == roles["river"] == "target" != roles["wind"]
    assert "--target rain --target river" in ran("inspect", path, *SEVERAL).output
    replayed = ran("replay", path, *SEVERAL, "--json")
    assert replayed.exit_code == 0, replayed.output
    summary = json.loads(replayed.stdout)
    assert summary["learned"] == 120 and summary["errors"]["river"]["cumulative"]["r2"] > 0.9
    assert summary["dead_letters"] == {"bad_label": 2}


def test_replay_reads_amounts_of_one_target_as_train_does(tmp_path: Path) -> None:
    path = table(tmp_path)
    replayed = ran("replay", path, "--target", "rain", "--model", "bayesian-regression", "--json")
    assert json.loads(replayed.stdout)["learned"] == 121, replayed.output


def test_leaks_and_blanks_are_looked_for_in_each_target(tmp_path: Path) -> None:
    lines = ["code,wind,rain,river"]
    lines += [f"c{k % 9},{k % 7},{k % 3},{k % 9 * 10}" for k in range(200)]
    (tmp_path / "leak.csv").write_text("\n".join(lines) + "\n")
    shown = ran("inspect", tmp_path / "leak.csv", *SEVERAL).output
    assert "code gives river away" in shown and "wind gives" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", *SEVERAL, "--model", "nb"), "nb learns one target: --model multi-target-regression"),
        (("train", *SEVERAL, "--model", "adaptive-regression"), "one command for each target"),
        (("train", *SEVERAL, "--task", "classification"), "several targets are numbers"),
        (("train", "--target", "rain", "--target", "sky"), "this column holds names (blue, grey)"),
        (("train", "--target", "rain", "--target", "rain"), "each once"),
        (("train", "--target", "rain,river"), "name each of several columns on its own"),
        (
            ("train", "--target", "rain", "--model", "multi-target-regression"),
            "name them all, as --target rain",
        ),
        (("train", *SEVERAL, "--coverage", "0.9"), "predicts numbers"),
        (("compare", *SEVERAL, "--bins", "3"), "several targets are numbers"),
        (("compare", *SEVERAL, "--model", "nb"), "nb learns one target"),
        (("inspect", *SEVERAL, "--html", "r.html"), "--html: the report is about one target"),
        (("replay", *SEVERAL, "--model", "bayesian-regression"), "kind = 'multi-target-regression'"),
    ],
)
def test_what_is_for_one_target_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    out: tuple[Any, ...] = ("--out", tmp_path / "m.zip") if command == "train" else ()
    result = ran(command, table(tmp_path), *options, *out)
    assert result.exit_code != 0 and said in " ".join(result.output.split()), result.output
    assert not (tmp_path / "m.zip").exists() and not (tmp_path / "r.html").exists()
