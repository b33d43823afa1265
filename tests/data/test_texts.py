"""Running text, ranges, flags and constants: found by their cells, and read alike from every kind of file."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes import Amount, Date, Nominal, Numeric, Schema, Text
from stream_bayes.cli.app import app
from stream_bayes.data.declarations import features_table
from stream_bayes.data.kind_inference import inferred_kind, typed_kind
from stream_bayes.errors import SchemaError
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.streams.pipelines.config import parse_config

GOOD, BAD = "great lovely quick friendly warm".split(), "bad slow dirty rude noisy".split()
OTHER = "service staff room food street view door bed wall price".split()


def review(rng: random.Random, is_good: bool) -> str:
    words = rng.choices(GOOD if is_good else BAD, k=2) + rng.sample(OTHER, 4)
    rng.shuffle(words)
    return " ".join(words).capitalize() + f"! Room {rng.randrange(900)}."


@pytest.fixture
def stays(tmp_path: Path) -> list[Path]:
    """One table in four formats, whose texts hold reviews, money, dates and ranges."""
    rng = random.Random(3)
    rows = []
    for _ in range(150):
        is_good = rng.random() < 0.5
        rows.append(
            {
                "review": review(rng, is_good),
                "paid": f"${rng.uniform(5, 2500):,.2f}",
                "day": f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.2023",
                "age": rng.choice(["<18", "18-29", "30-49", "50+"]),
                "back": "yes" if is_good else "no",
            }
        )
    table = pd.DataFrame(rows)
    paths = [tmp_path / f"stays.{end}" for end in ("csv", "jsonl", "parquet", "arff")]
    table.to_csv(paths[0], index=False)
    paths[1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    table.to_parquet(paths[2])
    heading = "".join(f"@attribute {name} string\n" for name in ("review", "paid", "day"))
    heading += "@attribute age {'<18','18-29','30-49','50+'}\n@attribute back {yes,no}\n@data\n"
    cells = "".join(",".join(f"'{value}'" for value in row.values()) + "\n" for row in rows)
    paths[3].write_text("@relation stays\n" + heading + cells)
    return paths


def test_text_money_and_dates_are_learned_and_predicted_alike_from_every_kind_of_file(
    stays: list[Path], tmp_path: Path
) -> None:
    run, answers = CliRunner(), {}
    for file in stays:
        model = tmp_path / f"{file.suffix}.zip"
        arguments = ["train", str(file), "--target", "back", "--out", str(model), "--model", "nb"]
        trained = run.invoke(app, arguments)
        assert trained.exit_code == 0, trained.output
        assert "texts (1): review (2" in trained.output and "numbers (1): paid" in trained.output
        for new in stays if file is stays[0] else stays[:1]:
            out = tmp_path / "out.csv"
            done = run.invoke(app, ["predict", str(model), str(new), "--out", str(out)])
            assert done.exit_code == 0 and "warning" not in done.output, done.output
            answers[file.suffix, new.suffix] = out.read_text()
    assert len(set(answers.values())) == 1
    learner = stream_bayes.load(tmp_path / ".csv.zip")
    x = {"review": "A lovely, QUICK room", "paid": "$7", "day": "1.2.2023", "age": "50+"}
    asked = ModelAnswers(learner).predict(x)["probabilities"]
    assert asked["yes"] > 0.95 and asked == learner.predict_proba_one(learner.schema.read(x))


def test_a_text_is_a_schema_in_json_and_toml_alike() -> None:
    schema = Schema({"note": Text(["refund", "0000"]), "price": Amount(["$"])}, target="y")
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    assert [*schema.features] == ["note length", "note: refund", "note: 0000", "price"]
    source = 'name = "p"\n[source]\nkind = "csv"\npath = "a.csv"\ntarget = "y"\n[model]\nkind = "nb"\n'
    assert parse_config(source + features_table(schema.columns)).schema_of_stream() == schema
    for words in ([], ["Refund"], ["a", "a"], ["two words"], "refund"):
        with pytest.raises(SchemaError, match="words: expected a list of different words in lower case"):
            Text(words)


def test_words_are_chosen_without_the_labels_and_texts_share_their_number() -> None:
    rng = random.Random(5)
    cells = Counter(review(rng, n % 2 == 0) for n in range(200))
    kind = inferred_kind(cells)
    assert isinstance(kind.column, Text) and kind.reason == "9 words on average, 200 of 200 different"
    assert set(GOOD + BAD) < set(kind.column.words) and "room" not in kind.column.words  # in all cells
    names = Counter(f"{rng.choice('ABCD')}{n} {n * 7} Street {n}{n} {n * 3}" for n in range(200))
    assert inferred_kind(names).word == "category"  # hardly a word comes again


@pytest.mark.parametrize(
    ("texts", "word", "column"),
    [
        (["Yes", "no", "no"], "flag", Nominal()),
        (["0", "1", "1"], "flag", Numeric()),
        (["USA", "USA"], "constant", Nominal()),
        (["7", "7"], "constant", Numeric()),
        (["30-39", "<20", "20-29", "40+", "?-?"], "range", Nominal(["<20", "20-29", "30-39", "40+"])),
        (
            ["$25,000 to $49,999", "Under $25,000", "$1m or more", "$50k - $999k"],
            "range",
            Nominal(["Under $25,000", "$25,000 to $49,999", "$50k - $999k", "$1m or more"]),
        ),
        (["2-1", "0-3", "1-0", "1-2"], "category", Nominal()),
        (["A-1", "B-2", "C-3"], "category", Nominal()),
    ],
)
def test_flags_constants_and_ranges_have_kinds_of_their_own(
    texts: list[str], word: str, column: object
) -> None:
    kind = inferred_kind(Counter(texts))
    assert (kind.word, kind.column) == (word, column)


def test_texts_of_typed_files_are_read_as_cells_and_whole_numbers_that_are_texts_stay_names() -> None:
    assert typed_kind(Counter(["0", "45,571,090", "-566,000"]), {"0": 0.0}).column == Amount()
    assert typed_kind(Counter(["1.5", "20", "3e-05"]), {}).column == Amount()
    assert typed_kind(Counter(["80331", "10115"]), {}).column == Nominal()
    distances = typed_kind(Counter(str(n * 37 % 1009) for n in range(1, 90)), {})
    assert (distances.column, distances.doubt) == (Nominal(), "numbers?")
    assert typed_kind(Counter(f"0{n}" for n in range(1000, 1090)), {}).doubt == ""
    assert typed_kind(Counter(["2021-03-04", "2021-04-05"]), {}).column == Date(
        parts=["date", "month", "day", "weekday"]
    )


def test_codes_and_addresses_of_the_web_are_no_texts_and_capitals_leave_a_doubt() -> None:
    rng = random.Random(4)
    codes = Counter(f"{rng.randrange(40)}F-PM-10{rng.randrange(10, 30)}-{n:02}" for n in range(90))
    pages = Counter(
        f"http://example.org/wiki/{rng.choice(GOOD)}_{rng.choice(OTHER)}_of_{n}" for n in range(90)
    )
    for names in (codes, pages):
        assert inferred_kind(names).column == Nominal()
    texts = Counter(review(rng, True) for _ in range(90))
    titles = Counter(text.title() for text in texts)
    assert [inferred_kind(each).doubt for each in (texts, titles)] == ["", "names?"]
    assert inferred_kind(titles).word == "text"
