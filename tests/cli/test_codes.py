"""Columns of codes on the command line: chosen by name, kept as names where these predict no worse."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import stream_bayes
from stream_bayes import Code, Numeric
from stream_bayes.cli.app import app

ROWS = 400


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def sales(tmp_path: Path) -> list[Path]:
    """One table in three formats: shops without an order, and orders whose numbers rise with the label."""
    rng = random.Random(5)
    rows = []
    for k in range(ROWS):
        shop, order = rng.randrange(20), k // 2 + rng.randrange(3)
        is_late = rng.random() < (0.9 if shop * 7 % 3 == 0 else 0.1) * (0.2 if order < ROWS / 4 else 1.0)
        rows.append({"shop_id": 300 + shop, "order_id": order, "late": "yes" if is_late else "no"})
    table = pd.DataFrame(rows)
    paths = [tmp_path / f"sales.{end}" for end in ("csv", "jsonl", "parquet")]
    table.to_csv(paths[0], index=False)
    paths[1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    table.to_parquet(paths[2])
    return paths


def test_codes_are_names_where_these_predict_the_label_and_numbers_where_they_do_not(
    sales: list[Path], tmp_path: Path
) -> None:
    for path in sales:
        kinds = json.loads(run("inspect", path, "--target", "late", "--json").stdout)["columns"]
        shown = {row["column"]: row["kind"] for row in kinds}
        assert shown == {"shop_id": "code", "order_id": "number, code?", "late": "target"}, path
    answers = set()
    for path in sales:
        model, out = tmp_path / f"{path.suffix}.zip", tmp_path / "out.csv"
        trained = run("train", path, "--target", "late", "--model", "nb", "--out", model)
        assert trained.exit_code == 0, trained.output
        assert "codes, read as names: shop_id (whole numbers under the name of a key)" in trained.output
        assert run("predict", model, sales[0], "--out", out).exit_code == 0
        answers.add(out.read_text())
    assert len(answers) == 1
    schema = stream_bayes.load(model).schema
    assert schema.columns["shop_id"] == Code() and schema.columns["order_id"] == Numeric()


def test_the_user_decides_whether_numbers_are_codes_in_every_format(
    sales: list[Path], tmp_path: Path
) -> None:
    declared = ["--numeric", "shop_id", "--nominal", "order_id"]
    for path in sales:
        inspected = json.loads(run("inspect", path, "--target", "late", *declared, "--json").stdout)
        assert inspected["schema"] == '[schema.features]\nshop_id = "numeric"\norder_id = "code"', path
    answers = set()
    for path in sales:
        model, out = tmp_path / "m.zip", tmp_path / "out.csv"
        train = ["train", path, "--target", "late", "--model", "nb", "--out", model, *declared]
        assert run(*train).exit_code == 0
        assert run("predict", model, path, "--out", out).exit_code == 0
        answers.add(out.read_text())
    assert len(answers) == 1


def test_plain_json_may_be_declared_and_an_unknown_field_is_named(tmp_path: Path) -> None:
    path, model = tmp_path / "t.jsonl", tmp_path / "m.zip"
    path.write_text('{"shop": 1, "y": "a"}\n{"shop": 2, "y": "b"}\n' * 20)
    options = ["--target", "y", "--model", "nb", "--out", model]
    assert run("train", path, *options, "--nominal", "shop").exit_code == 0
    assert stream_bayes.load(model).schema.columns == {"shop": Code()}
    refused = run("train", path, *options, "--nominal", "shp")
    assert refused.exit_code == 3 and "no such feature; did you mean 'shop'?" in refused.stderr


def test_a_number_is_the_code_that_zeros_fill_up_in_the_file(tmp_path: Path) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "m.zip"
    path.write_text("zip,y\n" + "01234,a\n12345,b\n" * 10)
    assert run("train", path, "--target", "y", "--out", model, "--model", "nb").exit_code == 0
    explained = [
        run("explain", model, f'{{"zip": {cell}}}', "--json") for cell in ("1234", "1234.0", '"01234"')
    ]
    assert [each.stderr for each in explained] == [""] * 3
    a, b = json.loads(explained[0].stdout)["probabilities"]
    assert a > 0.8 > b and all(json.loads(each.stdout)["probabilities"] == [a, b] for each in explained)


def test_nested_json_names_the_option_that_leaves_it_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"at": {"lat": 1}, "tags": ["a"], "sky": "grey", "rain": "no"}\n' * 30)
    refused = run("inspect", path, "--target", "rain")
    assert refused.exit_code == 3 and "--ignore 'tags', or ignore = ['tags']" in refused.stderr
    assert run("inspect", path, "--target", "rain", "--ignore", "at", "--ignore", "tags").exit_code == 0
