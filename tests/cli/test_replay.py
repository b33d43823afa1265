"""`replay` from the command line, and how mistakes end in `replay`, `run` and `compare`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from stream_bayes import AODE
from stream_bayes.cli import progress
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.sources.paced import Paced
from tests.cli.test_snapshots import run
from tests.conftest import ROWS


def test_replay_ends_with_a_table_of_measures(weather: Path) -> None:
    result = run("replay", weather, "--target", "rain", "--model", "aode", "--ignore", "id", "--ignore", "at")
    assert result.exit_code == 0, result.stderr
    assert "600 records" in result.stdout.replace("\n", " ")
    assert "accuracy" in result.stdout


def test_replay_for_machines_is_one_json_value(weather: Path) -> None:
    report = json.loads(run("replay", weather, "--target", "rain", "--ignore", "id", "--json").stdout)
    assert (report["records"], report["learned"], report["delivery"]) == (ROWS, ROWS, "exactly once")
    assert report["cumulative"]["accuracy"] > 0.8


def test_replay_takes_the_models_arguments(weather: Path, tmp_path: Path) -> None:
    run(
        "replay",
        weather,
        "--target",
        "rain",
        "--model",
        "aode",
        "--arg",
        "min_count=7",
        "--snapshots",
        tmp_path / "s",
    )
    found = SnapshotStore(tmp_path / "s").latest()
    assert found is not None
    assert AODE.from_state(found.snapshot.sections["model"]).min_count == 7


def test_a_second_replay_goes_on_from_the_snapshots_of_the_first(weather: Path, tmp_path: Path) -> None:
    rest = (
        "--target",
        "rain",
        "--snapshots",
        tmp_path / "s",
        "--predictions",
        tmp_path / "p.jsonl",
        "--json",
    )
    assert json.loads(run("replay", weather, *rest, "--limit", 150).stdout)["records"] == 150
    assert json.loads(run("replay", weather, *rest).stdout)["records_in_this_run"] == ROWS - 150
    positions = [json.loads(line)["position"] for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert len(positions) == ROWS and positions == sorted(set(positions))


def test_numbers_can_be_names(weather: Path) -> None:
    report = run(
        "replay",
        weather,
        "--target",
        "rain",
        "--nominal",
        "wind",
        "--ignore",
        "id",
        "--model",
        "nb",
        "--json",
    )
    assert report.exit_code == 0, report.stderr
    assert run("replay", weather, "--target", "rain", "--nominal", "winf").exit_code == 3


def test_dead_letters_are_told_with_a_reason_and_a_place(weather: Path) -> None:
    at = weather.stat().st_size
    with weather.open("ab") as file:
        file.write(b"1,2\n3,3.0,gr\xe9y,0.5,yes\n" + "4,4.0,süd,0.5,yes\n".encode() * 3)
    result = run("replay", weather, "--target", "rain")
    assert f"ragged): 1; latest at position {at:,}: expected 5 cells, got 2" in result.stdout
    assert "not_utf8): 1" in result.stdout and "iconv -f latin1" in result.stdout
    report = json.loads(run("replay", weather, "--target", "rain", "--json").stdout)
    assert report["last_dead_letters"]["ragged"]["position"] == at


def test_a_replay_at_a_pace_takes_its_part_of_the_time_that_passed(
    weather: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces: list[float] = []

    class Noted(Paced):
        def __init__(self, source: Source, speed: float) -> None:
            passed = [0.0]
            super().__init__(
                source, speed, clock=lambda: passed[0], sleep=lambda s: passed.append(passed.pop() + s)
            )
            self.passed = passed

        def close(self) -> None:
            super().close()
            paces.append(self.passed[0])

    monkeypatch.setattr("stream_bayes.cli.commands.replay.Paced", Noted)
    result = run(
        "replay", weather, "--target", "rain", "--time", "at", "--speed", 10, "--ignore", "id", "--json"
    )
    assert json.loads(result.stdout)["records"] == ROWS
    assert paces[0] == pytest.approx((ROWS - 1) / 10 / 10)  # a record each tenth of a second


def test_a_bar_tells_events_a_second_and_how_many_were_right(
    weather: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "console", partial(Console, force_terminal=True, width=150))
    monkeypatch.setattr(progress, "_is_terminal", lambda: True)
    shown = run("replay", weather, "--target", "rain", "--ignore", "id").stderr
    assert f"{ROWS:,} events" in shown and "/s" in shown
    report = json.loads(run("replay", weather, "--target", "rain", "--ignore", "id", "--json").stdout)
    assert f"{report['last_1000']['accuracy']:.1%} correct recently" in shown
    assert run("replay", weather, "--target", "rain", "--ignore", "id", "--json").stderr == ""


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("replay", "{}", "--target", "rane"), 3, "no column 'rane'; did you mean 'rain'?"),
        (("replay", "{}", "--target", "rain", "--delimiter", ";"), 3, "is the delimiter perhaps ','?"),
        (("replay", "{}", "--target", "rain", "--delimiter", "ab"), 3, 'expected one character, or "tab"'),
        (("replay", "nowhere.csv", "--target", "rain"), 5, "nowhere.csv"),
        (("replay", "{}", "--target", "rain", "--model", "aodee"), 3, "did you mean 'aode'"),
        (("replay", "{}", "--target", "rain", "--model", "AODE"), 3, "did you mean 'aode'"),
        (
            ("replay", "{}", "--target", "rain", "--model", "MultinomialNB"),
            3,
            "did you mean 'multinomial-nb'",
        ),
        (("replay", "{}", "--target", "RAIN"), 3, "did you mean 'rain'"),
        (
            ("replay", "{}", "--target", "rain", "--arg", "min_cuont=1", "--model", "aode"),
            3,
            "did you mean 'min_count'",
        ),
        (("replay", "{}", "--target", "rain", "--arg", "min_count"), 3, "expected name=value"),
        (("replay", "{}", "--target", "rain", "--speed", "2"), 3, "--speed needs --time"),
        (("replay", "{}"), 3, "--target"),
        (("compare", "{}", "--target", "rain", "--model", "river-gaussian-nb"), 3, "river-gaussian-nb"),
        (("compare", "phising"), 3, "did you mean 'phishing'"),
        (("compare", "{}"), 3, "--target"),
        (("compare", "{}", "--target", "rain", "--model", "river-afr"), 3, "did you mean 'river-arf'"),
        (("replay", "{}", "--target", "rain", "--model", "gaussian-nb"), 3, "[schema.features]"),
        (("run", "{}"), 3, "is a data file, and `run` takes a pipeline file"),
        (("run", "nowhere.toml"), 3, "nowhere.toml"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    weather: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = run(*(part.format(weather) for part in arguments))
    assert (result.exit_code, "Traceback" in result.stderr) == (code, False), result.stderr
    assert said in result.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "given"), [("w.tsv", ()), ("w.csv", ("tab",)), ("w.csv", ("\\t",)), ("w.txt", ("\t",))]
)
def test_a_tab_between_cells_is_told_by_the_name_or_written_out(
    weather: Path, tmp_path: Path, name: str, given: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_text(weather.read_text().replace(",", "\t"))
    rest = [word for delimiter in given for word in ("--delimiter", delimiter)]
    report = json.loads(run("replay", path, "--target", "rain", "--ignore", "id", *rest, "--json").stdout)
    assert (
        report["cumulative"]
        == json.loads(run("replay", weather, "--target", "rain", "--ignore", "id", "--json").stdout)[
            "cumulative"
        ]
    )


@pytest.mark.parametrize("command", ["replay", "compare"])
def test_labels_that_are_measurements_are_warned_of(weather: Path, command: str) -> None:
    result = run(command, weather, "--target", "wind", "--model", "nb")
    assert result.exit_code == 0 and "distinct numbers" in result.stderr
    assert "distinct numbers" not in run(command, weather, "--target", "rain", "--model", "nb").stderr


@pytest.mark.parametrize("command", ["replay", "compare"])
def test_a_target_that_no_json_record_has_is_refused(tmp_path: Path, command: str) -> None:
    path = tmp_path / "days.jsonl"
    path.write_text('{"sky": "grey", "rain": true}\n{"sky": "blue"}\n')
    result = run(command, path, "--target", "rian", "--model", "nb")
    assert result.exit_code == 3 and "did you mean 'rain'? Found: rain, sky" in result.stderr
    assert run(command, path, "--target", "rain", "--model", "nb").exit_code == 0


def test_a_run_in_which_no_record_has_a_label_asks_for_the_name_of_its_field(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("sky,rain\n" + "grey,\n" * 5)
    result = run("replay", tmp_path / "days.csv", "--target", "rain")
    assert result.exit_code == 0, result.stderr
    assert "5 records, 0 learned" in result.stdout and "None" not in result.stdout
    assert "warning: no record had a label; check that `target` names the field" in result.stderr


def test_text_before_a_step_that_takes_numbers_is_named(pipeline: Path) -> None:
    text = pipeline.read_text() + '\n[[transformers]]\nkind = "standard-scaler"\n'
    pipeline.write_text(text)
    result = run("run", pipeline)
    assert result.exit_code == 7
    assert "['sky'] hold text" in result.stderr and "[schema.features]" in result.stderr


def test_columns_that_share_a_name_are_numbered_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("sky,sky,rain\ngrey,blue,yes\n")
    for command in ("replay", "compare"):
        result = run(command, path, "--target", "rain", "--model", "nb", "--ignore", "sky.1")
        assert result.exit_code == 0, result.stderr
        assert "warning: 1 repeated name of a column was numbered: 'sky.1'" in result.stderr


def test_a_column_without_a_name_is_left_out_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text(",sky,rain\n0,grey,yes\n1,blue,no\n")
    for command in ("replay", "compare"):
        result = run(command, path, "--target", "rain", "--model", "nb")
        assert result.exit_code == 0
        assert "left out: the column without a name, an index that pandas or R wrote" in result.stderr
        quiet = run(command, path, "--target", "rain", "--model", "nb", "--ignore", "")
        assert quiet.exit_code == 0 and "left out" not in quiet.stderr


def test_a_first_column_without_a_name_that_holds_the_labels_is_learned_and_predicted(tmp_path: Path) -> None:
    path, model, fresh = tmp_path / "digits.csv", tmp_path / "digits.model", tmp_path / "fresh.csv"
    path.write_text(",x,y\n" + "".join(f"Digit {n % 3},{n % 3 + n / 100},{n % 7}\n" for n in range(60)))
    inspected = run("inspect", path)
    assert "left out" not in inspected.output and "--target None" not in inspected.output
    trained = run("train", path, "--target", "c1", "--out", model)
    assert trained.exit_code == 0, trained.stderr
    assert "no index of rows, for its values recur; it was called 'c1'" in trained.stderr
    fresh.write_text(",x,y\nDigit 2,2.1,1\nDigit 0,0.1,2\n")  # here the labels are all different
    predicted = run("predict", model, fresh)
    assert predicted.exit_code == 0 and "Digit 2" in predicted.stdout, predicted.output
    assert [line.split(",")[1] for line in predicted.stdout.splitlines()[1:]] == ["Digit 2", "Digit 0"]


def test_names_of_many_rows_without_a_target_are_not_called_labels(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",x\n" + "".join(f"row {n},{n / 7:.3f}\n" for n in range(90)))
    assert "labels in the first" not in run("inspect", path).output


def test_a_pipeline_file_with_keys_that_there_are_not_names_each_and_the_nearest(pipeline: Path) -> None:
    pipeline.write_text(pipeline.read_text().replace("batch = 50", "bacht = 50").replace("target", "tagret"))
    result = run("run", pipeline)
    assert result.exit_code == 3 and "Traceback" not in result.stderr
    assert "bacht: is not a key here; did you mean 'batch'?" in result.stderr
    assert "source.tagret: is not a key here; did you mean 'target'?" in result.stderr
    assert not (pipeline.parent / "state").exists()


@pytest.mark.parametrize("command", ["replay", "compare"])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "days.csv",
            b"sky,rain\ngrey,yes,1,2\nblue,no,3,4\n",
            "first 2 records can be read; the first one: expected 2",
        ),
        (
            "days.json",
            b'[["grey", true]]',
            "first 1 records can be read; the first one: Expected",
        ),
        ("days.jsonl", "{}\n".encode("utf-16"), "iconv -f utf-16 -t utf-8"),
        (
            "days.jsonl",
            b"sky,rain\ngrey,yes\n",
            "first 2 records can be read; the first one: expected a JSON",
        ),
    ],
)
def test_a_file_of_which_nothing_can_be_read_is_refused_with_why(
    tmp_path: Path, command: str, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    result = run(command, tmp_path / name, "--target", "rain", "--model", "nb")
    assert (result.exit_code, len(result.stderr.strip().splitlines())) == (3, 1), result.stderr
    assert said in result.stderr
    (tmp_path / name).write_bytes(
        b"sky,rain\n" if name == "days.csv" else b""
    )  # a stream may have no record yet; of none there is nothing to compare
    nothing = run(command, tmp_path / name, "--target", "rain", "--model", "nb")
    assert nothing.exit_code == (3 if command == "compare" else 0), nothing.stderr


def test_too_many_features_for_the_memory_are_refused_in_a_line(
    weather: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 298. GiB for an array")

    monkeypatch.setattr("stream_bayes.cli.commands.replay.build", full)
    result = run("replay", weather, "--target", "rain", "--model", "aode")
    assert (result.exit_code, result.stderr.count("error:")) == (3, 1)
    assert "not enough memory for this model and these features: Unable to allocate 298. GiB" in result.stderr
    assert "such as nb" in result.stderr


def test_a_file_that_is_none_is_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "days.csv").mkdir()
    result = run("replay", tmp_path / "days.csv", "--target", "rain")
    assert (result.exit_code, len(result.stderr.strip().splitlines())) == (5, 1), result.stderr
