"""`compare` from the command line: models side by side, and what is refused before the stream is read."""

from __future__ import annotations

import json
import random
import stat
from pathlib import Path

import pytest

import stream_bayes
from stream_bayes import NaiveBayes
from stream_bayes.saving.snapshots.snapshot import Snapshot
from tests.cli.test_snapshots import run
from tests.conftest import ROWS
from tests.failing_code import in_module


def test_compare_shows_models_side_by_side(weather: Path, tmp_path: Path) -> None:
    models = [word for name in ("nb", "river-hoeffding-tree", "aode") for word in ("--model", name)]
    outputs = (
        "--picture",
        tmp_path / "p.svg",
        "--checkpoints",
        tmp_path / "l.jsonl",
        "--save",
        tmp_path / "b.zip",
    )
    result = run("compare", weather, "--target", "rain", "--ignore", "id", *models, *outputs, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("warning: the newest numbers of feature 'at'") == 1
    report = json.loads(result.stdout)
    assert list(report["learners"]) == ["nb", "river-hoeffding-tree", "aode", "majority", "no-change"]
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    assert len((tmp_path / "l.jsonl").read_text().splitlines()) == 5 * ROWS / 100
    saved = Snapshot.from_bytes((tmp_path / "b.zip").read_bytes())
    assert stat.S_IMODE((tmp_path / "b.zip").stat().st_mode) == 0o600
    stream_bayes.save(stream_bayes.load(tmp_path / "b.zip"), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert saved.clock > 0
    assert saved.learner in ("NaiveBayes", "AODE")


def test_standings_are_noted_as_often_as_asked_and_labels_come_as_late(weather: Path, tmp_path: Path) -> None:
    arguments = ("compare", weather, "--target", "rain", "--ignore", "id", "--model", "nb", "--json")
    at_once = json.loads(run(*arguments).stdout)["learners"]["nb"]
    lines = tmp_path / "l.jsonl"
    late = json.loads(run(*arguments, "--delay", 150, "--every", 200, "--checkpoints", lines).stdout)[
        "learners"
    ]["nb"]
    standings = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [each["events"] for each in standings if each["learner"] == "nb"] == [200, 400, 600]
    assert late["events"] == at_once["events"] == ROWS
    assert (
        late["cumulative"]["accuracy"] != at_once["cumulative"]["accuracy"]
    )  # 150 events have no answer, and no score


def test_compare_knows_rivers_datasets() -> None:
    report = json.loads(run("compare", "phishing", "--model", "nb", "--limit", 200, "--json").stdout)
    assert report["learners"]["nb"]["events"] == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "aode", "--model", "aode"), "give one of them another name"),
        (("--arg", "min_cuont=1"), "did you mean 'min_count'"),
        (("--model", "nb", "--arg", "aode.min_count=1"), "no model 'aode' in this comparison"),
        (("--model", "river-knn", "--arg", "river-knn.n=1"), "river-knn has no argument 'n'"),
        (("--picture", "{}/none/p.svg"), "there is no directory"),
        (("--picture", "{}/p.bmp"), "ends in one of"),
        (("--checkpoints", "{}"), "cannot be written"),
        (("--checkpoints", "-"), "--checkpoints -: this is not written to standard output"),
        (("--model", "river-knn", "--save", "{}/b.zip"), "no model of this package is compared"),
        (("--model", "nb", "--model", "gaussian-nb", "--save", "{}/b.zip"), "'gaussian-nb'"),
    ],
)
def test_a_comparison_that_cannot_end_well_is_refused_before_it_begins(
    weather: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run("compare", weather, "--target", "rain", *(part.format(tmp_path) for part in arguments))
    assert result.exit_code == 3, result.stdout
    assert message in result.stderr.replace("\n", " ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["weather.csv"]


def test_a_model_can_be_compared_with_itself_under_other_arguments(weather: Path) -> None:
    models = ("--model", "aode", "--model", "sharp=aode", "--model", "river-arf")
    given = ("--arg", "sharp.min_count=1", "--arg", "n_models=2")
    result = run("compare", weather, "--target", "rain", "--ignore", "id", *models, *given, "--json")
    report = json.loads(result.stdout)["learners"]
    assert list(report) == ["aode", "sharp", "river-arf", "majority", "no-change"]
    assert report["aode"]["cumulative"] != report["sharp"]["cumulative"]


def test_skipped_records_are_counted_by_reason(weather: Path) -> None:
    with weather.open("a") as file:
        file.write("1,2\n")
    message = run("compare", weather, "--target", "rain", "--model", "nb").stdout
    assert "1 skipped: 1 ragged" in " ".join(message.split())


def test_several_files_are_compared_as_the_one_file_they_make_in_order_of_time(tmp_path: Path) -> None:
    chance = random.Random(3)
    rows = [f"{n},{chance.choice('ab')},{chance.random():.3f},{chance.choice('xy')}\n" for n in range(400)]
    rows[200:] = [row.replace("x\n", "z\n") for row in rows[200:]]  # so that the order matters
    for name, part in (("all", rows), ("one", rows[::3]), ("two", [r for r in rows if r not in rows[::3]])):
        (tmp_path / f"{name}.csv").write_text("at,sky,wind,y\n" + "".join(part))

    def learners(*names: str) -> dict[str, object]:
        files = [tmp_path / f"{name}.csv" for name in names]
        result = run("compare", *files, "--target", "y", "--time", "at", "--model", "nb", "--json")
        assert result.exit_code == 0, result.stderr
        return {name: each["cumulative"] for name, each in json.loads(result.stdout)["learners"].items()}

    assert learners("one", "two") == learners("two", "one") == learners("all")


def test_several_files_of_other_columns_or_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sky,y\ngrey,1\nblue,0\n")
    (tmp_path / "b.csv").write_text("wind,y\n3,1\n")
    (tmp_path / "c.jsonl").write_text('{"sky": "grey", "y": 1}\n')
    for other, message in (("b.csv", "sky"), ("c.jsonl", "one format")):
        result = run("compare", tmp_path / "a.csv", tmp_path / other, "--target", "y", "--model", "nb")
        assert result.exit_code in (3, 4) and message in result.stderr, result.stderr


def test_a_bug_of_ours_is_not_blamed_on_the_stream(weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("compare", weather, "--target", "rain", "--ignore", "id", "--model", "nb")
    for verb in ("learn_one", "predict_learn_one"):
        monkeypatch.setattr(NaiveBayes, verb, in_module("stream_bayes.learners.text", {}.popitem))
    result = run(*arguments)
    assert isinstance(result.exception, KeyError) and result.exit_code == 1
    for verb in ("learn_one", "predict_learn_one"):
        monkeypatch.setattr(NaiveBayes, verb, in_module("river.naive_bayes", {}.popitem))
    result = run(*arguments)
    assert result.exit_code == 3
    assert "cannot learn from this stream" in result.stderr
