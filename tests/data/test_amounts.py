"""Amounts: numbers as people write them, read alike by files, records, frames, models and services."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes import Amount, NaiveBayes, Nominal, Numeric, Schema
from stream_bayes.cli.app import app
from stream_bayes.data.declarations import features_table
from stream_bayes.data.kind_inference import inferred_kind
from stream_bayes.errors import BadState, BadValue, Undecodable
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.table_profile import profiled_columns
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder

READ = {
    "$1,037.50": 1037.5,
    "($1,037.50)": -1037.5,
    "$(11)": -11.0,
    "(11)": -11.0,
    "11-": -11.0,
    "\u221211": -11.0,
    "-$5": -5.0,
    "1,234": 1234.0,
    "1\u00a0234\u202f567": 1234567.0,
    "1'234.5": 1234.5,
    "Rs. 1,00,000": 100000.0,
    "10,000+": 10000.0,
    "2.5M": 2.5e6,
    "$3bn": 3e9,
    "$5 USD": 5.0,
    "12,5 €": None,  # of a decimal comma, which this column does not have
}


@pytest.mark.parametrize("text", READ)
def test_an_amount_is_read_as_it_is_meant(text: str) -> None:
    amount = Amount([unit for unit in ("$", "rs", "€") if unit in text.casefold()])
    if READ[text] is None:
        with pytest.raises(ValueError, match="a number in €"):
            amount.read(text)
    else:
        assert amount.read(text) == (READ[text],)


NAMES = [
    "10W40 5W30 0W20",
    "12A 3B 7C 9D",
    "1.2.3.4 10.0.0.1 8.8.8.8",
    "24:30 1:75",
    "A1 B2",
]
NAMES += ["10-19 20-29", "01234 04567 90210", "1st 2nd 3rd", "1,2,3 4,5"]


@pytest.mark.parametrize("texts", NAMES)
def test_names_with_digits_stay_names(texts: str) -> None:
    assert inferred_kind(Counter(texts.split())).word == "category"


@pytest.mark.parametrize(
    ("texts", "word", "column"),
    [
        (["5%", "7.5%"], "percent", Amount(["%"])),
        (["$5", "7", "$1,200"], "money", Amount(["$"])),
        (["1,5", "2,25", "3"], "number", Amount(decimal=",")),
        (["1.234,5", "20"], "number", Amount(decimal=",")),
        (["950", "1,234", "12"], "number", Amount()),
        (["12 kg", "7 kg"], "number", Amount(["kg"])),
        (["23.4 kmpl", "18 kmpl"], "number", Amount(["kmpl"])),
        (["2 years", "1 month"], "duration", Amount(["years", "month"])),
        (["1.5", "2"], "number", Numeric()),
    ],
)
def test_the_kind_of_a_column_is_what_its_cells_show(texts: list[str], word: str, column: object) -> None:
    kind = inferred_kind(Counter(texts))
    assert (kind.word, kind.column) == (word, column)
    assert len(kind.warnings) == (word == "duration")  # of its units


def test_a_word_that_stands_for_a_number_is_missing_however_often_it_comes() -> None:
    texts = Counter({str(n): 2 for n in range(24)}) + Counter({"NuLL": 9, "Still there": 40})
    kind = inferred_kind(texts)
    assert (kind.word, kind.column, kind.misfits[0]) == ("number", Numeric(), 49)
    assert "49 of 97 values are 'NuLL' and 'Still there'" in kind.warnings[0]
    few, grades = Counter({str(n): 2 for n in range(9)}) + Counter({"None": 9}), texts + Counter(["A", "B"])
    for names in (few, grades, texts + Counter({"01": 3})):
        assert inferred_kind(names).column == Nominal()


def test_what_a_column_does_not_show_is_said_and_decided_by_the_others() -> None:
    alone = inferred_kind(Counter(["1,234", "5,678"]))
    assert alone.column == Amount() and "does not show whether its mark" in alone.warnings[0]
    rows = [{"a": "1,234", "b": "7,5", "c": "1.5"}, {"a": "5,678", "b": "8,25", "c": "2.75"}]
    found = profiled_columns(["a", "b"], rows, CSVFormat())
    assert found["a"].kind.column == Amount(decimal=",") and found["a"].kind.numbers["1,234"] == 1.234
    # A point in a file of decimal commas: numeric there means a comma, so the column says what it has.
    assert profiled_columns(["c"], rows, CSVFormat(decimal=","))["c"].kind.column == Amount()


def test_units_that_differ_are_converted_or_become_a_feature_and_are_said() -> None:
    weights = inferred_kind(Counter({"500 g": 1, "2 kg": 3}))
    assert weights.numbers == {"500 g": 0.5, "2 kg": 2.0} and "all are converted to kg" in weights.warnings[0]
    prices = inferred_kind(Counter({"$5": 3, "7 €": 2}))
    assert isinstance(prices.column, Amount) and "cannot be compared" in prices.warnings[0]
    assert prices.column.features("price") == {"price": Numeric(), "price unit": Nominal(["$", "€"])}
    assert Schema({"price": prices.column}).read({"price": "7 €"}) == {"price": 7.0, "price unit": "€"}


def test_speeds_are_converted_degrees_kept_apart_and_units_that_are_not_read_are_said() -> None:
    speeds = inferred_kind(Counter(["60 mph", "70 mph", "100 km/h"]))
    assert isinstance(speeds.column, Amount) and speeds.column.read("100 km/h")[0] == pytest.approx(
        62.137, abs=1e-3
    )
    degrees = inferred_kind(Counter(["20 °C", "75 °F", "21 °C"]))
    assert isinstance(degrees.column, Amount) and degrees.column.read("75 °F") == (75.0, "°f")
    rates = inferred_kind(Counter([f"{n} kmpl" for n in range(20)] + [f"{n} km/kg" for n in range(10)]))
    assert rates.column == Nominal() and "kmpl 20, km/kg 10" in rates.warnings[0]
    assert not inferred_kind(Counter([f"{n}A" for n in range(20)] + [f"{n}B" for n in range(10)])).warnings


def test_numbers_without_a_sign_among_percents_are_said() -> None:
    assert "2 numbers have no % " in inferred_kind(Counter(["12%", "0.5", "0.7", "30%", "0"])).warnings[0]
    assert not inferred_kind(Counter(["12%", "30%", "0"])).warnings


def test_an_amount_is_a_schema_in_json_and_toml_alike() -> None:
    schema = Schema({"price": Amount(["$", "€"], ",", [5.0]), "n": "amount", "sky": str}, target="y")
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    source = 'name = "p"\n[source]\nkind = "csv"\npath = "a.csv"\ntarget = "y"\n[model]\nkind = "nb"\n'
    assert parse_config(source + features_table(schema.columns)).schema_of_stream() == schema
    both = Schema({"price": Amount(["$", "€"]), "price unit": str})
    assert both.read({"price": "€5", "price unit": "one"}) == {
        "price": 5.0,
        "price unit_": "€",
        "price unit": "one",
    }
    with pytest.raises(BadState, match="takes units, decimal, cuts"):
        Schema.from_json(schema.to_json() | {"features": [["a", {"kind": "amount", "colour": 1}]]})


def test_files_records_frames_and_services_read_a_cell_alike(tmp_path: Path) -> None:
    rows = [(f"${1000 + n % 7 * 50:,}.50", "yes" if n % 7 > 3 else "no") for n in range(120)]
    path, model, out = tmp_path / "t.csv", tmp_path / "m.zip", tmp_path / "out.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("price", "y"), *rows])
    run = CliRunner()
    trained = run.invoke(app, ["train", str(path), "--target", "y", "--out", str(model), "--model", "nb"])
    assert trained.exit_code == 0, trained.output
    learner = stream_bayes.load(model)
    assert learner.schema.columns == {"price": Amount(["$"])}
    wanted = learner.predict_proba_one({"price": 1250.5})["yes"]
    assert wanted > 0.6
    new = {"new.csv": 'price\n"$1,250.50"\n', "new.jsonl": '{"price": "$1,250.50"}\n'}
    for name, text in new.items():
        (tmp_path / name).write_text(text)
        done = run.invoke(app, ["predict", str(model), str(tmp_path / name), "--out", str(out)])
        assert done.exit_code == 0, done.output
        (row,) = csv.DictReader(out.read_text().splitlines())
        assert float(row["p(yes)"]) == pytest.approx(wanted, rel=1e-4)
    explained = run.invoke(app, ["explain", str(model), '{"price": "$1,250.50"}', "--json"])
    assert max(json.loads(explained.output)["probabilities"]) == pytest.approx(max(wanted, 1 - wanted))
    x = {"price": "$1,250.50"}
    assert ModelAnswers(learner).predict(x)["probabilities"]["yes"] == wanted
    assert learner.schema.lookup([x]).numeric.tolist() == [[1250.5]]
    decoder = JSONDecoder(Fields(target="y"), learner.schema)
    assert decoder.content(json.dumps(x).encode()) == {"price": 1250.5}
    with pytest.raises(
        Undecodable, match=r"field 'price': expected a number in \$, got text of 4 characters"
    ):
        decoder.content(b'{"price": "7 kg"}')
    with pytest.raises(BadValue, match="column 'price': expected a number in"):
        ModelAnswers(learner).predict({"price": "dear"})


def test_a_file_with_another_decimal_mark_than_the_model_learned_is_read_and_said(tmp_path: Path) -> None:
    learned, new, out = tmp_path / "t.csv", tmp_path / "new.csv", tmp_path / "out.csv"
    learned.write_text("a;y\n" + "".join(f"{n % 9},5;{n % 9 > 4}\n" for n in range(90)))
    run = CliRunner()
    args = ["train", str(learned), "--target", "y", "--out", str(tmp_path / "m.zip"), "--model", "nb"]
    assert run.invoke(app, args).exit_code == 0
    new.write_text("a\n8.5\n0.5\n")
    done = run.invoke(app, ["predict", str(tmp_path / "m.zip"), str(new), "--out", str(out)])
    assert "others than the model learned: a '.'" in done.output
    assert [row["prediction"] for row in csv.DictReader(out.read_text().splitlines())] == ["True", "False"]


def test_a_learner_of_a_schema_with_amounts_is_saved_whole(tmp_path: Path) -> None:
    schema = Schema({"price": Amount(["$", "€"], ",")})
    learner = NaiveBayes(schema=schema)
    learner.learn_one(schema.read({"price": "€ 1,5"}), "a")
    stream_bayes.save(learner, tmp_path / "m.zip")
    assert stream_bayes.load(tmp_path / "m.zip").schema == schema
