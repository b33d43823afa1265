"""One reader of columns: commands, sources and pipelines find the same kinds in a table, whatever its format."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes import Amount, Code, Date, NaiveBayes, Nominal, Numeric, Schema, save, streams
from stream_bayes.cli.app import app
from stream_bayes.streams.contracts.source import Source, records_of
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build

ROWS = 500
TOWNS = [f"town {letter}" for letter in "abcdefghijklmnop"]


def rows() -> list[dict[str, Any]]:
    """Days of sales with a column of each kind that is read otherwise than it looks."""
    rng, made = random.Random(7), list[dict[str, Any]]()
    for k in range(ROWS):
        shop, town = rng.randrange(20), rng.randrange(16)
        p = 0.05 + 0.45 * (shop * 7 % 3 == 0) + 0.45 * (town * 7 % 3 == 0)
        is_late = rng.random() < p * (0.2 if k < ROWS / 4 else 1)
        made.append(
            {
                "shop_id": 300 + shop,
                "town": TOWNS[town],
                "place": 31001 + 2 * town,
                "order_id": 5 * (k // 2) + rng.randrange(3),
                "paid": f"${rng.randrange(1000, 9000):,}.50",
                "day": f"2021-{1 + k % 12:02}-{1 + k % 27:02}",
                "size": round(rng.gauss(5, 1), 3),
                "note": rng.choice(("fast", "slow")) if is_late is (rng.random() < 0.9) else None,
                "late": "yes" if is_late else "no",
            }
        )
    return made


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    """The table in each format."""
    listed = rows()
    table = pd.DataFrame(listed)
    paths = [tmp_path / f"sales.{end}" for end in ("csv", "jsonl", "parquet", "arff")]
    table.to_csv(paths[0], index=False)
    paths[1].write_text("".join(json.dumps(row) + "\n" for row in listed))
    table.to_parquet(paths[2])
    numbers = table.select_dtypes("number").columns
    heading = [f"@attribute {name} {'numeric' if name in numbers else 'string'}\n" for name in table.columns]
    cells = [
        [f"'{v}'" if isinstance(v, str) else "?" if v is None else str(v) for v in row.values()]
        for row in listed
    ]
    paths[3].write_text(
        "@relation r\n" + "".join(heading) + "@data\n" + "".join(",".join(row) + "\n" for row in cells)
    )
    return paths


def sources(path: Path, folder: Path) -> Iterator[Source]:
    """Yield the file as each reader of its format opens it."""
    yield streams.from_file(path, target="late")
    if path.suffix == ".jsonl":
        yield streams.from_jsonl(path, target="late")
    if path.suffix == ".csv":
        yield streams.from_csv(path, target="late")
        text = f'source = {{ kind = "csv", path = "{path.name}", target = "late" }}'
        yield build(parse_config(f'name = "sales"\n{text}\nmodel = {{ kind = "nb" }}\n'), folder).source


def test_every_reader_of_every_format_finds_the_same_kinds(tables: list[Path], tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "shop_id": Code(),
        "town": Nominal(),
        "place": Code(),
        "order_id": Numeric(),
        "paid": Amount(["$"]),
        "day": Date(parts=["date", "month", "day", "weekday"]),
        "size": Numeric(),
        "note": Nominal(),
    }
    expected = Schema(columns, target="late", blanks=["note"])
    assert streams.inferred_schema(tables[0], streams.Fields(target="late")) == expected
    xs, model = list[list[object]](), tmp_path / "model.zip"
    for path in tables:
        trained = CliRunner().invoke(
            app, ["train", str(path), "--target", "late", "--model", "nb", "--out", str(model)]
        )
        assert trained.exit_code == 0, trained.output
        assert stream_bayes.load(model).schema == expected, path
        for source in sources(path, tmp_path):
            with closing(source):
                xs.append([getattr(record, "x", record) for record in records_of(source)])
    assert len(xs) == 7 and len(xs[0]) == ROWS and all(each == xs[0] for each in xs)
    assert [*xs[0][0]] == [*expected.features]  # type: ignore[misc]  # a dict


def test_a_followed_file_is_read_alike_however_it_has_grown(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"

    def kinds(follow: bool) -> Schema:
        with closing(streams.from_csv(path, target="y", follow=follow)) as source:
            assert source.schema is not None
            return source.schema

    lines = [f"{300 + k % 20},{'' if k % 3 else 'x'},{'ab'[k % 20 * 7 % 3 > 0]}\n" for k in range(1000)]
    path.write_text("shop_id,note,y\n" + "".join(lines))
    before = kinds(True)
    assert before.columns["shop_id"] == Code() and before == kinds(False)
    # Later the label depends on the order of the numbers, and on whether there is a note.
    later = [f"{300 + 7 * k},{'x' if k % 2 else ''},{'ab'[k % 2]}\n" for k in range(3000)]
    with path.open("a") as file:
        file.writelines(later)
    assert kinds(True) == before != kinds(False)


def test_a_model_without_a_schema_reads_names_where_it_learned_names(tmp_path: Path) -> None:
    model = NaiveBayes()
    for k in range(60):
        model.learn_one({"zip": ("01234", "55555")[k % 2], "size": k % 7}, "ab"[k % 2])
    save(model, tmp_path / "m.zip")
    path = tmp_path / "t.csv"
    path.write_text("zip,size\n55555,3\n12345,x\n55555,2\n")
    predicted = CliRunner().invoke(app, ["predict", str(tmp_path / "m.zip"), str(path)])
    assert predicted.exit_code == 0, predicted.stderr
    assert "such as '12345' (never learned)" in predicted.stderr
    expected = model.predict_proba_one({"zip": "55555", "size": 3})["b"]
    assert float(predicted.stdout.splitlines()[1].split(",")[3]) == pytest.approx(expected, rel=1e-5)
