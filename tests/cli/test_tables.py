"""`inspect`, `train`, `predict` and the report of `compare`, on tables as strangers bring them, and bad input."""

from __future__ import annotations

import csv
import json
import random
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import FrameType

import pytest

import stream_bayes
from stream_bayes.streams.files import table_profile
from tests.cli.test_snapshots import run

ROWS = 300


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table with an identifier, a code, a date, missing cells and decimal commas."""
    rng = random.Random(7)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["user", "joined", "level", "income", "town", "stays"])
        for number in range(ROWS):
            stays = rng.random() < 0.3
            income = f"{rng.gauss(40 if stays else 20, 5):.2f}".replace(".", ",")
            if number % 50 == 7:
                income = "NA"
            town = rng.choice(["Ulm", "Köln"] if stays else ["Bonn", "Köln"])
            writer.writerow([f"u{number}", f"2026-01-{number % 28 + 1:02}", number % 3, income, town, stays])
    return path


def test_inspect_names_kinds_gaps_identifiers_and_a_schema(people: Path) -> None:
    result = run("inspect", people, "--target", "stays", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert {row["column"]: row["kind"] for row in found["columns"]} == {
        "user": "row id",
        "joined": "date",
        "level": "number, code?",
        "income": "number",
        "town": "category",
        "stays": "target",
    }
    assert {row["column"]: row["missing"] for row in found["columns"]}["income"] == ROWS / 50
    assert found["schema"].splitlines()[0] == "[schema.features]"
    assert (
        'income = { kind = "amount", decimal = "," }' in found["schema"]
        and 'town = "nominal"' in found["schema"]
    )
    shown = run("inspect", people, "--target", "stays").stdout
    assert "decimal mark ','" in shown and "--drop-ids" in shown and "missing (NA)" in shown


def test_the_schema_of_inspect_can_be_pasted_into_a_pipeline(people: Path, tmp_path: Path) -> None:
    schema = json.loads(run("inspect", people, "--target", "stays", "--json").stdout)["schema"]
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        f'name = "p"\nsource = {{ kind = "csv", path = "{people.name}", target = "stays" }}\n'
        f'model = {{ kind = "nb" }}\n{schema}\n'
    )
    result = run("run", pipeline, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learned"] == ROWS


def test_only_columns_that_tell_nothing_are_identifiers(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    rng = random.Random(3)
    lines = ["term,person,visitor,page,party"]
    for n in range(3000):  # persons recur after the first 1,000 rows only, with the party that they had
        person = n if n < 1200 else rng.randrange(1200)
        lines.append(f"{n},p{person},v{rng.randrange(1500)},w{n * 7919},{'LR'[person * 31 % 7 < 3]}")
    path.write_text("\n".join(lines) + "\n")
    shown = run("inspect", path, "--target", "party", "--drop-ids", "--json")
    kinds = {row["column"]: row["kind"] for row in json.loads(shown.stdout)["columns"]}
    assert kinds == dict.fromkeys(["term", "visitor", "page"], "left out") | {
        "person": "entity",
        "party": "target",
    }
    notes = " ".join(json.loads(shown.stdout)["notes"])
    assert "left out: page, an identifier: no value recurs in 3,000 rows" in notes
    assert (
        "visitor, an identifier" in notes
        and "they tell nothing about the label, measured on rows before" in notes
    )
    assert "person, an entity: 1,200 values in 3,000 rows; they save" in notes


def test_columns_that_stay_names_say_why_and_numeric_makes_numbers_of_one(tmp_path: Path) -> None:
    table, model = tmp_path / "terms.csv", tmp_path / "terms.zip"
    days = [
        f"{1 + n % 28}/{1 + n % 12}/2020" if n % 2 else f"{1 + n % 12}/{1 + n % 28}/2020" for n in range(120)
    ]
    rows = [(day, f"{n * 7}{' combined' * (n % 6 == 0)}") for n, day in enumerate(days)]
    table.write_text(
        "begun,days,y\n" + "".join(f"{day},{days},{'ab'[n % 2]}\n" for n, (day, days) in enumerate(rows))
    )
    train = ["train", str(table), "--target", "y", "--model", "nb", "--out", str(model)]
    said = run(*train).stderr
    assert "begun: dates of mixed order" in said
    assert "days: 100 of 120 values are numbers, others are not, such as '0 combined'" in said
    said = run(*train, "--numeric", "days").stderr
    assert "days: 100 of 120" not in said
    assert "column days: 20 cells are not of its kind and count as missing" in said
    assert "did you mean 'days'?" in run(*train, "--numeric", "day").stderr
    assert "both" in run(*train, "--numeric", "days", "--nominal", "days").stderr


def test_what_is_guessed_is_printed_before_the_first_event(people: Path, tmp_path: Path) -> None:
    result = run("compare", people, "--target", "stays", "--model", "nb")
    lines = result.stderr.splitlines()
    assert lines[0].endswith("(delimiter ';', decimal mark ',')")
    assert lines[1] == "  numbers (2): level, income"
    assert lines[2] == "  names (2): user, town"
    assert lines[3] == "  dates (1): joined (date, day, weekday)"
    assert any(line.startswith("warning: these look like identifiers of rows") for line in lines)
    dropped = run("compare", people, "--target", "stays", "--model", "nb", "--drop-ids")
    assert "left out: user, an identifier: no value recurs in 300 rows" in dropped.stderr
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        f'name = "p"\nsource = {{ kind = "csv", path = "{people.name}", target = "stays" }}\n'
        'model = { kind = "nb" }\n'
    )
    assert "numbers (2): level, income" in run("run", pipeline).stderr


@pytest.mark.parametrize(("misfits", "learned"), [("missing", 120), ("dead-letter", 119)])
def test_a_pipeline_names_its_missing_cells_its_decimal_mark_and_what_becomes_of_misfits(
    tmp_path: Path, misfits: str, learned: int
) -> None:
    cells = [f"{n / 4:.2f}".replace(".", ",") for n in range(120)]
    cells[7], cells[50] = "-99", "about 3"
    (tmp_path / "t.csv").write_text(
        "n;y\n" + "".join(f"{cell};{'ab'[n % 2]}\n" for n, cell in enumerate(cells))
    )
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        'name = "p"\nmodel = { kind = "nb" }\nsnapshots = { directory = "s" }\n[source]\nkind = "csv"\npath = "t.csv"\n'
        f'target = "y"\nmissing = ["-99"]\ndecimal = ","\nmisfits = "{misfits}"\n'
    )
    result = run("run", pipeline, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learned"] == learned
    expected = stream_bayes.NaiveBayes()
    for n in range(120):
        if n != 50 or misfits == "missing":
            expected.learn_one({"n": None if n in (7, 50) else n / 4}, "ab"[n % 2])
    model = stream_bayes.load(sorted((tmp_path / "s").glob("*.zip"))[-1])
    assert model.predict_proba_one({"n": 15.0}) == pytest.approx(expected.predict_proba_one({"n": 15.0}))


def test_train_fades_samples_by_the_column_of_their_times(tmp_path: Path) -> None:
    path, model = tmp_path / "visits.csv", tmp_path / "model.zip"
    path.write_text("at,page,buys\n2026-01-01T00:00:00Z,home,no\n2026-01-08T00:00:00Z,shop,yes\n")
    given = ("train", path, "--target", "buys", "--model", "nb", "--arg", "half_life=7d", "--out", model)
    refused = run(*given)
    assert refused.exit_code == 3 and "needs its time" in refused.stderr
    result = run(*given, "--time", "at")
    assert result.exit_code == 0, result.stderr
    learner = stream_bayes.load(model)
    expected = stream_bayes.NaiveBayes(half_life="7d")
    expected.learn_one({"page": "home"}, "no", at=1767225600.0)
    expected.learn_one({"page": "shop"}, "yes", at=1767830400.0)
    assert learner.predict_proba_one({}) == pytest.approx(expected.predict_proba_one({}))
    assert learner.predict_proba_one({})["yes"] > 0.55


def test_a_trained_model_predicts_a_file_without_labels(people: Path, tmp_path: Path) -> None:
    model, new, out = tmp_path / "m.zip", tmp_path / "new.csv", tmp_path / "out.csv"
    result = run("train", people, "--target", "stays", "--out", model, "--model", "nb", "--drop-ids")
    assert result.exit_code == 0 and "NaiveBayes learned 300 rows" in result.stdout, result.stderr
    new.write_text('town,income,joined,level,user,more\nUlm,45.5,2026-01-02,1,u900,x\nBonn,NA,,2,"u,901",y\n')
    result = run("predict", model, new, "--out", out, "--key", "user", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows"] == 2
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == ["user", "prediction", "p(False)", "p(True)"]
    assert [row["user"] for row in rows] == ["u900", "u,901"]
    loaded = stream_bayes.load(model)
    x = loaded.schema.read({"town": "Ulm", "income": 45.5, "joined": "2026-01-02", "level": 1.0})
    probabilities = loaded.predict_proba_one(x)
    assert rows[0]["prediction"] == loaded.predict_one(x) == "True"
    assert float(rows[0]["p(True)"]) == pytest.approx(probabilities["True"], rel=1e-4)
    assert rows[1]["prediction"] == "False"
    numbered = run("predict", model, new)
    assert numbered.stdout.splitlines()[0] == "row,prediction,p(False),p(True)"
    assert numbered.stdout.splitlines()[1].startswith("1,True,")
    assert run("predict", model, new, "--out", "-").stdout == numbered.stdout
    refused = run("train", people, "--target", "stays", "--out", "-")
    assert refused.exit_code == 3 and "--out -: this is not written to standard output" in refused.stderr


def test_costs_and_what_was_expected_of_them_are_those_of_a_loop_by_hand(tmp_path: Path) -> None:
    source, path = random.Random(2), tmp_path / "rows.csv"
    rows = []
    for _ in range(80):
        y = source.choice(["ill", "well", "well"])
        rows.append(({"fever": "high" if source.random() < (0.7 if y == "ill" else 0.2) else "low"}, y))
    path.write_text("fever,state\n" + "".join(f"{x['fever']},{y}\n" for x, y in rows), "utf-8")
    arguments = ("compare", path, "--target", "state", "--model", "nb", "--cost", "ill:well=5", "--json")
    compared = json.loads(run(*arguments).stdout)
    costs, expected, model = [], [], stream_bayes.NaiveBayes()
    for x, y in rows:
        p = model.predict_proba_one(x)
        if p:
            risks = {"ill": p.get("well", 0.0), "well": 5 * p.get("ill", 0.0)}
            decision = min((d for d in risks if d in p), key=risks.__getitem__)
            costs.append(0 if decision == y else 5 if y == "ill" else 1)
            expected.append(risks[decision])
        model.learn_one(x, y)
    assert compared["costs"]["nb"] == pytest.approx(sum(costs) / len(costs), rel=1e-6)
    assert compared["expected_costs"]["nb"] == pytest.approx(sum(expected) / len(expected), rel=1e-6)
    assert compared["costs"]["nb"] < compared["costs"]["no-change"]


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "user,joined,level\n1\n2,3\n"), ("t.jsonl", '{"user":\n[1]\n')]
)
def test_a_file_of_which_no_row_can_be_read_is_refused(
    people: Path, tmp_path: Path, name: str, text: str
) -> None:
    ignored = [word for column in ("income", "town") for word in ("--ignore", column)]
    model, answers, file = tmp_path / "m.zip", tmp_path / "p.csv", tmp_path / name
    assert run("train", people, "--target", "stays", *ignored, "--model", "nb", "--out", model).exit_code == 0
    file.write_text(text)
    for options in (["--out", answers], ["--out", answers, "--json"], []):
        result = run("predict", model, file, *options)
        assert result.exit_code == 3, result.output
        assert f"{file}: none of its rows can be read, so there are no predictions" in result.stderr
    for command in (["train", file, "--out", tmp_path / "n.zip"], ["compare", file]):
        result = run(*command, "--target", "level")
        assert result.exit_code == 3 and "none of the first 2 records can be read" in result.stderr
    assert not (tmp_path / "n.zip").exists()


def test_costs_move_decisions_and_not_predictions(people: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "m.zip", tmp_path / "out.csv"
    assert (
        run("train", people, "--target", "stays", "--out", model, "--model", "nb", "--drop-ids").exit_code
        == 0
    )
    costs = ("--cost", "True:False=1000", "--unsure", "0.2")
    assert run("predict", model, people, "--out", out, *costs).exit_code == 0
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == ROWS
    for row in rows:
        p = float(row["p(True)"])
        risks = {"False": 1000 * p, "True": 1 - p, "unsure": 0.2}
        if sorted(risks.values())[1] - min(risks.values()) > 1e-3:  # the file has six digits
            assert row["decision"] == min(risks, key=risks.__getitem__)
    assert {row["decision"] for row in rows} > {"True"}
    for wrong, message in (
        ("True=5", "expected LABEL:DECISION=COST"),
        ("True:Flase=5", "there is no label 'Flase'"),
    ):
        result = run("predict", model, people, "--out", out, "--cost", wrong)
        assert result.exit_code == 3 and message in result.stderr


def test_thresholds_leave_doubtful_rows_undecided(people: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "m.zip", tmp_path / "out.csv"
    train = ("train", people, "--target", "stays", "--out", model, "--model", "nb", "--drop-ids")
    assert run(*train).exit_code == 0
    assert run("predict", model, people, "--out", out, "--threshold", "True=0.99").exit_code == 0
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    for row in rows:
        certain = row["prediction"] == "False" or float(row["p(True)"]) >= 0.99
        assert row["decision"] == (row["prediction"] if certain else "unsure")
    assert {row["decision"] for row in rows} == {"True", "False", "unsure"}
    compare = ("compare", people, "--target", "stays", "--model", "nb", "--json")
    compared = json.loads(run(*compare, "--threshold", "0.8", "--unsure", "0.1").stdout)
    assert 0 < compared["costs"]["nb"] < 1 - compared["learners"]["nb"]["cumulative"]["accuracy"]
    for wrong, message in (("True=1.5", "from 0 to 1"), ("Ture=0.9", "there is no label 'Ture'")):
        result = run("predict", model, people, "--out", out, "--threshold", wrong)
        assert result.exit_code == 3 and message in result.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sliding-window", ["size=200", "learner=tan"]),
        ("half-life-choice", ['learner={"kind": "nb", "arguments": {"strength": 0.5}}']),
    ],
)
def test_learners_around_others_train_predict_and_explain(
    people: Path, tmp_path: Path, name: str, arguments: list[str]
) -> None:
    model, given = tmp_path / "m.zip", [part for text in arguments for part in ("--arg", text)]
    train = ("train", people, "--target", "stays", "--out", model, "--drop-ids", "--model", name)
    assert run(*train, *given).exit_code == 0
    predicted = run("predict", model, people)
    loaded = stream_bayes.load(model)
    assert loaded.learner.schema is not None and len(predicted.stdout.splitlines()) == ROWS + 1
    p = float(predicted.stdout.splitlines()[1].split(",")[-1])
    event = {"joined": "2026-01-01", "level": 0, "town": "Ulm"}
    explained = json.loads(run("explain", model, json.dumps(event), "--json").stdout)
    x = loaded.learner.schema.read(event)
    assert explained["probabilities"] == pytest.approx(list(loaded.predict_proba_one(x).values()))
    assert 0 < p < 1
    compared = run("compare", people, "--target", "stays", "--model", name, *given, "--json", "--drop-ids")
    assert name in compared.stdout
    refused = run(*train, "--arg", "learner=aodee")
    assert refused.exit_code == 3 and "did you mean 'aode'" in refused.stderr


class Tags(HTMLParser):
    """The tags that are open, and all that came."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Add a tag."""
        self.seen.append(tag)
        if tag not in ("meta", "line", "circle", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag."""
        if tag not in ("line", "circle", "rect"):
            assert self.open.pop() == tag


def test_a_report_is_one_file_with_all_its_parts(people: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    result = run("compare", people, "--target", "stays", "--model", "nb", "--html", path)
    assert result.exit_code == 0, result.stderr
    text = path.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert tags.open == [] and "script" not in tags.seen and "http" not in text
    for part in (
        "Results",
        "Over time",
        "Calibration",
        "Confusions of",
        "Label True",
        "Evidence of the features",
    ):
        assert f"<h2>{part}" in text, part
    assert tags.seen.count("polyline") >= 8 and "majority" in text and "income" in text
    weird = tmp_path / "w.csv"
    weird.write_text("<b>,y\n" + "".join(f"{n % 3},<i>{n % 2}\n" for n in range(60)))
    assert run("compare", weird, "--target", "y", "--model", "nb", "--html", path).exit_code == 0
    assert "<i>" not in path.read_text(encoding="utf-8") and "&lt;i&gt;1" in path.read_text(encoding="utf-8")


def test_inspect_writes_a_report_of_what_the_rows_show(people: Path, tmp_path: Path) -> None:
    page = tmp_path / "inspect.html"
    with people.open("a") as file:
        file.write("u7;2026-01-08;1;NA;<b>;True\n" * 2)  # equal rows, with a name that is no tag
    result = run("inspect", people, "--target", "stays", "--html", page)
    assert result.exit_code == 0, result.stderr
    text = page.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert (
        tags.open == []
        and not {"script", "b"} & set(tags.seen)
        and "http" not in text
        and "&lt;b&gt;" in text
    )
    told = text.split("What each feature tells about the label")[1]
    assert told.index("income") < told.index("town") < told.index("level")
    for part in (
        "equal an earlier row: 1<",
        "No change over the rows is sure",
        "histogram from",
        "identifier?",
    ):
        assert part in text, part
    sorted_rows = tmp_path / "sorted.csv"
    sorted_rows.write_text("a,copy,y\n" + "".join(f"{n % 7},{n % 7},{n // 60}\n" for n in range(120)))
    assert run("inspect", sorted_rows, "--target", "y", "--html", page).exit_code == 0
    assert (
        "The labels change over the rows" in page.read_text() and "a and copy are equal" in page.read_text()
    )


def test_baselines_are_always_there_and_a_sorted_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{n % 7},{'abc'[n // 100]}\n" for n in range(300)))
    result = run("compare", path, "--target", "y", "--model", "nb", "--json")
    assert list(json.loads(result.stdout)["learners"]) == ["nb", "majority", "no-change"]
    assert "rows are sorted by the target" in result.stderr and "--shuffle" in result.stderr
    shuffled = run("compare", path, "--target", "y", "--model", "nb", "--json", "--shuffle")
    assert "sorted" not in shuffled.stderr
    learners = json.loads(shuffled.stdout)["learners"]
    assert learners["no-change"]["cumulative"]["accuracy"] < 0.5
    assert learners["no-change"]["cumulative"]["log_loss"] is None


def test_the_default_model_learns_a_sorted_table_as_it_learns_a_mixed_one(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = [
        f"{rng.gauss(n // 60, 0.3):.2f},{rng.gauss(n // 60, 0.3):.2f},{'abc'[n // 60]}" for n in range(180)
    ]
    table, model = tmp_path / "sorted.csv", tmp_path / "model.zip"
    table.write_text("u,v,y\n" + "\n".join(rows) + "\n")
    models = []
    named = ("--model", "adaptive")
    for order in ((), ("--shuffle",), named, ("--no-shuffle",), (*named, "--no-shuffle"), ("--time", "v")):
        done = run("train", table, "--target", "y", "--out", model, *order)
        assert done.exit_code == 0 and ("random order" in done.stderr) == (order in ((), named))
        models.append(model.read_bytes())
    assert models[0] == models[1] == models[2] and models[3] == models[4] != models[0]
    follows = (("nb",), ("aode", "--arg", "half_life=50"), ("half-life-choice", "--arg", "learner=nb"))
    for arguments in follows:
        done = run("train", table, "--target", "y", "--out", model, "--model", *arguments)
        assert done.exit_code == 0 and "random order" not in done.stderr
    run("train", table, "--target", "y", "--out", model)
    with (tmp_path / "answers.csv").open("w") as answers:
        answers.write(run("predict", model, table).stdout)
    with (tmp_path / "answers.csv").open() as answers:
        right = [row["prediction"] == "abc"[n // 60] for n, row in enumerate(csv.DictReader(answers))]
    assert sum(right) > 171


def test_a_table_that_does_not_fit_in_memory_is_said_to_be_partly_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text("v,y\n" + "".join(f"{row},{'no' if row < 150 else 'yes'}\n" for row in range(300)))
    monkeypatch.setattr("stream_bayes.cli.training.MOST_CELLS", 100)
    done = run("train", path, "--target", "y", "--out", tmp_path / "m.zip")
    assert "of 300 rows 100 at a time fit in memory" in done.stderr
    assert (
        "at a time"
        not in run("train", path, "--target", "y", "--no-shuffle", "--out", tmp_path / "m.zip").stderr
    )


def test_a_row_of_sums_and_labels_that_differ_in_case_only_are_named(tmp_path: Path) -> None:
    table, model = tmp_path / "sums.csv", tmp_path / "model.zip"
    rows = "".join(
        f"{'abc'[n % 3]},{n % 7},{'Hi' if n % 9 == 0 else 'hi' if n % 2 else 'lo '}\n" for n in range(60)
    )
    table.write_text(f"shop,sold,y\n{rows}Total,177,lo\n")
    for order in ((), ("--model", "nb")):
        done = run("train", table, "--target", "y", "--out", model, *order)
        assert "learned 61 rows; 1 of them may be sums of others" in done.stdout
        assert "differ in case or blanks only: 'Hi' and 'hi'; each is a class of its own" in done.stderr
    table.write_text(f"shop,sold,y\n{rows.lower()}")
    done = run("train", table, "--target", "y", "--out", model)
    assert "sums of others" not in done.stdout and "differ in case" not in done.stderr


def test_labels_that_mostly_repeat_the_last_one_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{n % 7},{'abc'[n // 5 % 3]}\n" for n in range(300)))
    result = run("compare", path, "--target", "y", "--model", "nb", "--json")
    assert "to repeat the last label is right in 80.3%" in result.stderr and "--shuffle" in result.stderr


def test_names_and_figures_are_not_cut_in_80_columns(people: Path) -> None:
    name = "a-model-with-a-very-long-name-that-says-much"
    result = run("compare", people, "--target", "stays", "--model", f"{name}=nb")
    assert name in result.stdout and "…" not in result.stdout
    for heading in ("kappa", "kappa-M", "kappa-T", "F1", "log-loss", "AUC", "ECE %", "us/event", "size"):
        assert heading in result.stdout, heading


# -- bad input ---------------------------------------------------------------------------------------------------------


def lines_of(n: int = 120) -> str:
    return "".join(f"{n * 0.37 % 5:.3f},{'ab'[n % 2]},{n * 1.7 % 11:.3f}\n" for n in range(n))


def compared(path: Path, *arguments: str, target: str = "y") -> tuple[int, str]:
    result = run("compare", path, "--target", target, "--model", "nb", *arguments, "--json")
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.stderr, result.stderr
    return result.exit_code, " ".join(result.stderr.split())


def test_a_numeric_target_is_named_and_bins_make_classes_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,n,y\n" + lines_of())
    code, message = compared(path)
    assert code == 0 and "--target y has 110 distinct numbers" in message and "--bins 4" in message
    assert "each class costs time and memory" in message
    result = run(
        "compare", path, "--target", "y", "--model", "nb", "--bins", "3", "--checkpoints", tmp_path / "c"
    )
    assert result.exit_code == 0
    f1 = json.loads((tmp_path / "c").read_text().splitlines()[-3])["cumulative"]["f1"]
    assert len(f1) == 3 and any(label.startswith("below ") for label in f1)
    code, message = compared(path, "--bins", "3", target="n")
    assert code == 3 and "the target 'n' is not numeric" in message


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        ("x,y\n" + "1,a\n" * 30, (), 0, "--target y has one value, 'a', in the first 30 rows"),
        (
            "x,y\n" + "1,a\n2,None\n" * 30,
            (),
            0,
            "30 of 60 rows have no label, since 'None' counts as missing",
        ),
        ("x,y\n" + "1,a\n2,None\n" * 30, ("--missing", ""), 0, ""),
        ("x,z\n1,a\n", (), 3, "no column 'y'"),
        ("x,Y\n1,a\n", (), 3, "did you mean 'Y'"),
        (
            "5.1,3.5,setosa\n4.9,3,setosa\n",
            (),
            3,
            "There are ['c1', 'c2', 'c3']; the first line looks like data; if it holds the names: --header",
        ),
        ("x,x,y\n1,2,a\n", (), 0, "1 repeated name of a column was numbered: 'x.1'"),
        ("0.5,0,0,7\n1,2,a,b\n", (), 3, "There are ['c1', 'c2', 'c3', 'c4']; the first line looks like data"),
        (
            "id,y\n" + "".join(f"1,l{n}\n" for n in range(90)),
            (),
            0,
            "--target y has 90 labels in the first 90 rows",
        ),
        ("x,y\n1,a\r\n2,b\n3,a\r\n", (), 0, ""),
        ("x,y\r1,a\r2,b\r", (), 0, "no model is more accurate"),
        ("", (), 5, "the file is empty"),
        ("x,y\n", (), 3, "no row has a label, so nothing was compared"),
        ("x,y\n" + "1,a\n" * 20 + "9" * 2_000_000 + ",b\n2,b\n", (), 0, ""),
        ("x,y\n1,a\n", ("--decimal", ";"), 3, "decimal: expected '.' or ','"),
        ("x,y\n1,a\n", ("--encoding", "utf-99"), 3, "encoding: expected a name"),
    ],
    ids=[
        *("constant target", "a label that is a missing token", "a token made a label", "no such column"),
        *("another case", "no header", "duplicate columns", "repeated numbers", "identifiers"),
        *("mixed line ends", "returns alone", "empty"),
        *("no row", "a long cell", "wrong decimal", "wrong encoding"),
    ],
)
def test_bad_input_is_a_clear_line(
    tmp_path: Path, text: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    found, stderr = compared(path, *arguments)
    assert (found, message in stderr) == (code, True), stderr


@pytest.mark.parametrize("command", [("train", "--out", "m.zip", "--target", "y"), ("inspect",)])
def test_the_name_of_a_topic_in_place_of_a_file_is_answered_with_how_topics_are_read(
    command: tuple[str, ...],
) -> None:
    result = run(command[0], "weather", *command[1:])
    assert result.exit_code == 3
    assert "for a topic, streams.from_kafka or stream-bayes run PIPELINE.toml" in result.stderr


def test_a_file_without_a_header_is_read_with_numbered_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(lines_of())
    result = run("compare", path, "--no-header", "--target", "c2", "--model", "nb", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learners"]["nb"]["events"] == 120


def test_the_first_line_is_data_or_names_as_it_looks_and_said_in_predictions_too(tmp_path: Path) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "m.zip"
    path.write_text("".join(f"{n}.5,{n % 3},{'ab'[n % 2]}\n" for n in range(60)))
    trained = run("train", path, "--target", "c3", "--model", "nb", "--out", model)
    assert trained.exit_code == 0 and "NaiveBayes learned 60 rows" in trained.stdout, trained.stderr
    said = "the first line looks like data, so the columns are called c1 to c3"
    assert f"warning: {said}" in trained.stderr
    new = tmp_path / "new.csv"
    new.write_text("7.5,1\n8.5,2\n")
    predicted = run("predict", model, new)
    assert (
        len(predicted.stdout.splitlines()) == 3 and "so the columns are called c1 to c2" in predicted.stderr
    )
    new.write_text("c2,c1\n1,7.5\n2,8.5\n")
    named = run("predict", model, new)
    assert named.stdout == predicted.stdout and "looks like data" not in named.stderr


def test_the_command_to_go_on_with_is_quoted_and_repeats_the_options(tmp_path: Path) -> None:
    path, model = tmp_path / "my table.csv", tmp_path / "m.zip"
    path.write_text("what is it;n;code\n" + "".join(f"{'ab'[n % 2]};-99;{n % 2}\n" for n in range(60)))
    options = ("--target", "what is it", "--missing", "-99", "--ignore", "n")
    shown = run("inspect", path, *options).stdout.splitlines()[-1]
    assert shown == f"next: stream-bayes compare '{path}' --target 'what is it' --missing -99 --ignore n"
    shown = run("train", path, *options, "--model", "nb", "--out", model).stdout.splitlines()[-1]
    assert shown.endswith(f"next: stream-bayes predict {model} NEW.csv --out answers.csv --missing -99")


def test_a_feature_that_leaks_the_label_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{n % 2},{n % 6},{n % 5},row{n},{'ab'[n % 2]}\n" for n in range(90)]
    path.write_text("code,group,size,id,kind\n" + "".join(rows))
    result = run("inspect", path, "--target", "kind")
    assert (
        "warning: code gives kind away in the first rows: each of its values has one kind, and"
        in result.stdout
    )
    assert "--ignore code" in result.stdout
    assert "warning: group gives kind away" in result.stdout
    assert "size gives kind" not in result.stdout and "id gives kind" not in result.stdout
    assert (
        "gives"
        not in run("inspect", path, "--target", "kind", "--ignore", "code", "--ignore", "group").stdout
    )


def test_a_missing_target_lists_the_columns(people: Path) -> None:
    result = run("compare", people)
    assert result.exit_code == 3 and "--target is missing" in result.stderr
    assert "user, joined, level, income, town, stays" in " ".join(result.stderr.split())


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_read_and_named(people: Path, encoding: str) -> None:
    people.write_text(people.read_text(encoding="utf-8"), encoding=encoding)
    result = run("compare", people, "--target", "stays", "--model", "nb", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["learners"]["nb"]["events"] == ROWS
    shown = run("inspect", people, "--target", "stays").stdout
    assert f"encoding {'cp1252' if encoding == 'latin-1' else encoding}" in shown and "Köln" in shown


def test_a_learner_that_exceeds_its_budget_stops_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,y\n" + "".join(f"a{n},b{n},c{n},{'xy'[n % 2]}\n" for n in range(400)))
    given = ("--model", "nb", "--model", "aode", "--arg", "aode.memory_budget=60000")
    result = run("compare", path, "--target", "y", *given, "--json")
    found = json.loads(result.stdout)
    assert list(found["stopped"]) == ["aode"] and "budget" in found["stopped"]["aode"]
    assert found["learners"]["nb"]["events"] == 400 > found["learners"]["aode"]["events"]
    assert "aode stopped after" in run("compare", path, "--target", "y", *given).stdout


def test_a_pipeline_over_its_budget_ends_with_code_3(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "a,b,c,y\n" + "".join(f"a{n},b{n},c{n},{'xy'[n % 2]}\n" for n in range(400))
    )
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        'name = "p"\nsource = { kind = "csv", path = "t.csv", target = "y" }\n'
        'model = { kind = "aode", arguments = { memory_budget = 60000 } }\n'
    )
    result = run("run", pipeline)
    assert result.exit_code == 3 and "budget" in result.stderr and "Traceback" not in result.stderr


def test_nested_fields_of_json_can_be_ignored(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(json.dumps({"a": n % 3, "nested": {"b": [1]}, "y": "xy"[n % 2]}) + "\n" for n in range(40))
    )
    result = run("compare", path, "--target", "y", "--model", "nb", "--ignore", "nested", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learners"]["nb"]["events"] == 40


def test_a_saved_model_is_shown_like_a_snapshot_and_a_number_as_text_is_hinted_at(tmp_path: Path) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "m.zip"
    path.write_text("zip,y\n" + "0123,a\n12345,b\n" * 10)
    assert run("train", path, "--target", "y", "--out", model, "--model", "nb").exit_code == 0
    shown = run("snapshot", "show", model, "--json")
    assert shown.exit_code == 0 and json.loads(shown.stdout)["learner"] == "NaiveBayes"
    assert run("snapshot", "show", model, "3").exit_code == 3
    explained = run("explain", model, '{"zip": 12345}').stdout
    assert "(never learned; '12345'" in " ".join(explained.split()) and "give it as that" in explained


@pytest.fixture
def bracketed(tmp_path: Path) -> Path:
    """A table whose names and values look like markup and emoji of the library that draws tables."""
    path = tmp_path / "[b]table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["[red]size", "kind[/b]"])
        writer.writerows(rows := [["[a]", "[spam]"], ["[/a]", "[/ham]"], [":cat:", ":dog:"]])
        writer.writerows(rows * 20)
    return path


def test_names_and_values_in_brackets_are_shown_as_they_are(bracketed: Path, tmp_path: Path) -> None:
    target = ("--target", "kind[/b]")
    shown = run("inspect", bracketed, *target).stdout
    assert "[red]size" in shown and "kind[/b]" in shown
    shown = run("compare", bracketed, *target, "--model", "[red]one=nb", "--model", ":cat:=aode").stdout
    assert shown.count("[red]one") >= 3 and shown.count(":cat:") >= 3
    model = tmp_path / "model.zip"
    assert run("train", bracketed, *target, "--model", "nb", "--out", model).exit_code == 0
    shown = run("explain", model, json.dumps({"[red]size": "[a]"})).stdout
    assert all(text in shown for text in ("[red]size", "[spam]", "[/ham]", ":dog:"))


def test_an_error_shows_what_was_given_as_it_is(tmp_path: Path) -> None:
    missing = tmp_path / "\\[b]:cat:[/x].csv"
    result = run("inspect", missing)
    assert result.exit_code == 5 and str(missing) in result.stderr


def test_a_column_named_class_is_a_feature_unless_it_is_the_target(tmp_path: Path) -> None:
    path = tmp_path / "titanic.csv"
    rows = [("first", 30, "yes"), ("third", 20, "no")] * 30
    path.write_text("class,age,survived\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    for target in ((), ("--target", "survived")):
        inspected = run("inspect", path, *target, "--json")
        assert inspected.exit_code == 0, inspected.stderr
        assert "class = " in json.loads(inspected.stdout)["schema"]
        cut = run("cuts", path, *target)
        assert cut.exit_code == 0 and 'class = "nominal"' in cut.stdout, cut.stderr
    pipeline = tmp_path / "unlabelled.toml"
    pipeline.write_text(
        'name = "p"\nsource = { kind = "csv", path = "titanic.csv" }\nmodel = { kind = "nb" }\n'
        'schema = { features = { class = "nominal", age = "numeric" } }\n'
    )
    assert run("run", pipeline).exit_code == 0


def test_labels_that_come_late_are_named_with_their_rows(tmp_path: Path) -> None:
    table = tmp_path / "late.csv"
    late = [f"{k % 7},{'c' if k >= 1900 else 'ab'[k % 2]}" for k in range(2000)]
    table.write_text("\n".join(["x,y", *late]))
    line = "labels that the first 1,000 rows do not have: c (100 rows)"
    for command in (
        ["train", "--out", str(tmp_path / "m.zip"), "--model", "nb"],
        ["compare", "--model", "nb"],
    ):
        done = run(*command, str(table), "--target", "y")
        assert done.exit_code == 0 and line in done.output, done.output
    table.write_text("\n".join(["x,y", *late[:1900]]))
    done = run("compare", str(table), "--target", "y", "--model", "nb")
    assert "labels that" not in done.output


def test_inspect_marks_what_a_column_may_be_instead(tmp_path: Path) -> None:
    rng, path = random.Random(1), tmp_path / "marks.csv"
    words = "Cedar Hill Lake North Park River South Stone View Wood".split()
    lines = ["clerkID,place,ended,size,gone"]
    for n in range(120):
        place = " ".join(rng.choices(words, k=5))
        ended = f"{1 + n % 28}/{1 + n % 12}/2020" if n % 2 else f"{1 + n % 12}/{1 + n % 28}/2020"
        size = f"{n % 40}" if n % 3 else f"{n % 40} or {n}"
        lines.append(f"{7000 + 3 * n},{place},{ended},{size},{'yes' if n == 7 else ''}")
    path.write_text("\n".join(lines) + "\n")
    found = json.loads(run("inspect", path, "--json").stdout)["columns"]
    kinds = {row["column"]: row["kind"] for row in found}
    assert kinds["clerkID"] == "row id" and kinds["place"] == "text, names?" and kinds["gone"] == "constant"
    assert kinds["ended"].startswith("category") and kinds["ended"].endswith("?")
    assert kinds["size"].startswith("category") and kinds["size"].endswith("?")
    path.write_text("caller,says\nAnn,hello there\nBob,good bye\nEve,not now\n")
    few = json.loads(run("inspect", path, "--json").stdout)["columns"]
    assert {row["kind"] for row in few} == {"category, identifier?"}


def test_a_column_of_one_value_is_constant_so_far_unless_its_file_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "late.csv"
    path.write_text("unit,n\n" + "".join(f"mm,{n}\n" for n in range(1000)))
    unit, _ = json.loads(run("inspect", path, "--json").stdout)["columns"]
    assert unit["kind"] == "constant"
    path.write_text("unit,n\n" + "".join(f"mm,{n}\n" for n in range(30_000)))
    monkeypatch.setattr(table_profile, "LATER_CELLS", 20_000)
    unit, _ = json.loads(run("inspect", path, "--json").stdout)["columns"]
    assert unit["kind"] == "constant, so far?"
    monkeypatch.undo()
    with path.open("a") as file:
        file.write("cm,7\n")
    unit, _ = json.loads(run("inspect", path, "--json").stdout)["columns"]
    assert unit["kind"] == "category"


def calls_of(*command: object) -> int:
    """Return the number of calls of functions that a command takes."""
    calls = 0

    def count(frame: FrameType, event: str, function: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        assert run(*command).exit_code == 0
    finally:
        sys.setprofile(None)
    return calls


def test_inspect_and_train_take_time_in_proportion_to_the_columns(tmp_path: Path) -> None:
    rng, calls = random.Random(1), dict[str, list[int]](inspect=[], train=[])
    for columns in (10, 20, 60, 180):
        path = tmp_path / f"{columns}.csv"
        heading = ",".join(f"f{each}" for each in range(columns))
        rows = (",".join(str(rng.randrange(900)) for _ in range(columns)) for _ in range(8))
        path.write_text(f"y,{heading}\n" + "".join(f"{'ab'[k % 2]},{row}\n" for k, row in enumerate(rows)))
        options: dict[str, list[object]] = {
            "inspect": [],
            "train": ["--model", "nb", "--out", tmp_path / "m.zip"],
        }
        for name, more in options.items():
            command = (name, path, "--target", "y", *more)
            if columns == 10:  # imports what the others need
                assert run(*command).exit_code == 0
            else:
                calls[name].append(calls_of(*command))
    for name, (few, middle, most) in calls.items():
        # What each further column takes is the same among many as among few.
        assert (most - middle) / 120 <= 1.1 * (middle - few) / 40, (name, few, middle, most)


def test_what_commands_write_is_for_its_owner_only(people: Path, tmp_path: Path) -> None:
    report, model, out = tmp_path / "report.html", tmp_path / "model.zip", tmp_path / "predictions.csv"
    points, cuts = tmp_path / "points.jsonl", tmp_path / "schema.toml"
    report.touch(mode=0o644)
    for arguments in (
        ["compare", people, "--target", "stays", "--html", report, "--save", tmp_path / "best.zip"],
        ["compare", people, "--target", "stays", "--checkpoints", points],
        ["train", people, "--target", "stays", "--out", model],
        ["predict", model, people, "--out", out],
        ["cuts", people, "--out", cuts],
    ):
        result = run(*arguments)
        assert result.exit_code == 0, (arguments, result.stderr)
    for path in (report, tmp_path / "best.zip", model, out, points, cuts):
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_that_a_cell_is_missing_is_a_feature_where_it_tells_something(tmp_path: Path) -> None:
    path, model, out = tmp_path / "t.csv", tmp_path / "m.zip", tmp_path / "out.csv"
    rng = random.Random(5)
    lines = ["a,b,c,y"]
    for _ in range(400):
        y, by_chance = rng.random() < 0.5, rng.random() < 0.3
        a = "" if y else f"${rng.randrange(90)}"  # of a column of another kind, too
        lines.append(f"{a},{'' if by_chance else rng.randrange(90)},{'' if y else 'x'},{y}")
    path.write_text("\n".join(lines) + "\n")
    train = ("train", path, "--target", "y", "--out", model, "--model", "nb")
    shown = run(*train)
    assert "that a cell is missing tells something, and is a feature: a (0." in shown.stderr, shown.stderr
    loaded = stream_bayes.load(model)
    assert loaded.schema.missing_features == {
        "a": "a missing"
    }  # c is missing together with a, and b by chance
    assert stream_bayes.Schema.from_json(json.loads(json.dumps(loaded.schema.to_json()))) == loaded.schema
    x = {"a": None, "b": 3.0, "c": "x"}
    wanted = loaded.predict_proba_one(loaded.schema.read(x))["True"]
    assert wanted > 0.9
    for name, text in {"new.csv": "a,b,c\n,3,x\n", "new.jsonl": '{"b": 3, "c": "x"}\n'}.items():
        (tmp_path / name).write_text(text)
        assert run("predict", model, tmp_path / name, "--out", out).exit_code == 0
        (row,) = csv.DictReader(out.read_text().splitlines())
        assert float(row["p(True)"]) == pytest.approx(wanted, rel=1e-4)
    assert loaded.schema.lookup([x]).to_dicts()[0]["a missing"] == "yes"
    assert run(*train, "--no-blanks").exit_code == 0
    assert not stream_bayes.load(model).schema.missing_features
    assert 'blanks = ["a"]' in run("inspect", path, "--target", "y").stdout


def test_without_a_target_nothing_is_said_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = "".join(f"{k},p{k % 40},{k * 7 % 11}\n" for k in range(80))
    path.write_text(",person,size\n" + rows)
    result = run("inspect", path)
    assert "person (40 values in 80 rows; whether they tell something, --target would show)" in result.stdout
    assert "holds numbers" not in result.stdout and "the label" not in result.stdout


def test_numbers_of_which_each_label_has_its_own_and_flags_of_one_label_are_leaks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        f"{(n % 3 - 1) * (1 + n % 41 / 99):.3f},{int(n % 3 == 0)},{n % 7 / 9:.3f},{'abc'[n % 3]}\n"
        for n in range(90)
    ]
    path.write_text("margin,won,noise,result\n" + "".join(rows))
    said = run("inspect", path, "--target", "result").stdout
    assert "margin gives result away in the first rows: each result has numbers of its own" in said
    assert "won gives result away in the first rows: 1 stands in all rows with 'a', and in no other" in said
    assert "noise gives" not in said


def test_a_number_that_is_the_target_in_another_unit_is_a_leak(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{n * 0.37:.2f},{n * 0.37:.2f},{32 + 1.8 * n * 0.37:.3f},{(n * n) % 97}\n" for n in range(90)]
    path.write_text("y,copy,fahrenheit,noise\n" + "".join(rows))
    said = run("inspect", path, "--target", "y").stdout
    assert "copy gives y away in the first rows: it is the same number in each row" in said
    assert "fahrenheit gives y away in the first rows: it is the same number in another unit" in said
    assert "noise gives" not in said


def test_a_feature_that_is_the_label_but_for_few_rows_is_a_leak_and_an_honest_one_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.csv"
    # of 400 rows, `code` is wrong in 4, `boat` missing in 8 with the other label, `told` wrong in 40
    rows = [
        f"{(n + (n % 100 == 7)) % 2},{'' if n % 2 == (n % 50 != 9) else n % 23},{(n + (n % 10 == 3)) % 2},"
        f"{'ab'[n % 2]}\n"
        for n in range(400)
    ]
    path.write_text("code,boat,told,y\n" + "".join(rows))
    said = run("inspect", path, "--target", "y").stdout
    assert "code gives y away in the first rows: its values tell y in all but 4 of 400 rows" in said
    assert "boat gives y away in the first rows: that it is missing tells y in all but 8 of 400 rows" in said
    assert "told gives" not in said


def test_a_number_that_is_the_target_but_for_few_rows_is_a_leak(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        f"{n * 0.37:.2f},{n * 0.37 + (n % 30 == 4):.2f},{32 + 1.8 * n * 0.37 - 5 * (n % 45 == 4):.3f},{n + n % 3}\n"
        for n in range(90)
    ]
    path.write_text("y,copy,fahrenheit,near\n" + "".join(rows))
    said = run("inspect", path, "--target", "y").stdout
    assert "copy gives y away in the first rows: it is the same number in all but 3 of 90 rows" in said
    assert (
        "fahrenheit gives y away" in said
        and "the same number in another unit, in all but 2 of 90 rows" in said
    )
    assert "near gives" not in said


def test_the_column_of_a_feature_that_leaks_can_be_ignored_as_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f'"({40 + n / 90:.3f}, -73.{n % 7 + 10})",{"ab"[n > 45]}\n' for n in range(90)]
    path.write_text("at,y\n" + "".join(rows))
    said = run("inspect", path, "--target", "y").stdout
    assert "at latitude gives y away" in said and "--ignore at\n" in said
    assert run("inspect", path, "--target", "y", "--ignore", "at").exit_code == 0
