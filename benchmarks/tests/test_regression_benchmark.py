"""The comparison of regressors runs to its end, over few events, and keeps the results of peers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import regression, regression_tables
from benchmarks.streams import moa
from benchmarks.streams.moa import MOA_REGRESSORS, TARGET, MoaIntervals, MoaRegressor


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # River leaves the files of streams open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_model_is_measured_on_names_numbers_and_dates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(regression, "missing_part", lambda: "there is no Java")
    monkeypatch.setattr(regression, "FIRST", 20)
    monkeypatch.setattr(regression, "HELD_OUT", 10)
    regression.main(
        [
            *(
                "--events",
                "40",
                "--stream",
                "ChickWeights|AirlinePassengers",
                "--tables",
                str(tmp_path / "none"),
            ),
            *("--results", str(tmp_path / "results.jsonl")),
        ]
    )
    left_out, no_table, *printed = capsys.readouterr().out.split("\n\n")
    assert left_out == f"left out: {', '.join(MOA_REGRESSORS)}: there is no Java"
    assert no_table == f"left out: regression tables: {tmp_path / 'none'} has no file .dat or .arff"
    tables = [table.splitlines() for table in printed]
    names = [
        "| ChickWeights",
        "| mean rank of AdaptiveRegression",
        "| AirlinePassengers",
        "| mean rank of AdaptiveRegression",
    ]
    for rows, last in zip(tables[:2], (["| us an event"], []), strict=True):
        assert [row.split(" | ")[0] for row in rows[2:]] == [*names, *last]
    heading = tables[0][0].strip("| ").split(" | ")
    assert heading[2:] == [
        *regression.OURS,
        *(name for name in regression.PEERS if name not in MOA_REGRESSORS),
    ]
    densities = ["AdaptiveRegression", "BayesianRegression", "BLR"]
    assert [row.split(" | ")[1] for row in tables[2][2:]] == [*densities, *densities]
    for rows in tables:
        assert all(row.count("|") == rows[0].count("|") and "nan" not in row for row in rows)


class Doubles:
    """A peer that says the double of a number, and counts what it is given."""

    learned = 0

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def __repr__(self) -> str:
        return f"Doubles({self.factor})"

    def predict_one(self, x: dict[str, Any]) -> float:
        return self.factor * float(x["column 1"])

    def learn_one(self, x: dict[str, Any], y: float) -> None:
        Doubles.learned += 1


class Fails(Doubles):
    """A peer that cannot learn."""

    def learn_one(self, x: dict[str, Any], y: float) -> None:
        super().learn_one(x, y)
        raise KeyError("column 2")


class Stopped(Doubles):
    """A peer whose Java is stopped."""

    def predict_one(self, x: dict[str, Any]) -> float:
        raise type("JVMNotRunning", (Exception,), {})("Java Virtual Machine is not running")


def keel_table(path: Path, rows: int = 60) -> None:
    lines = [f"{k % 9}, {'ab'[k % 2]}, {2 * (k % 9) + 5 * (k % 2)}.5" for k in range(rows)]
    path.write_text("@relation made\n@inputs n, c\n@data\n" + "\n".join(lines))


def test_tables_are_streams_whose_last_column_is_the_target(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keel_table(tmp_path / "made.dat")
    events = list(regression.tables_of(tmp_path)["keel made"]())
    assert len(events) == 60 and events[:9] != sorted(events[:9], key=lambda event: event[1])
    assert all(y == 2 * x["column 1"] + 5 * (x["column 2"] == "b") + 0.5 for x, y in events)
    heading = "@relation days\n@attribute wind numeric\n@attribute sky {a,b}\n@attribute rain real\n@data\n"
    (tmp_path / "days.arff").write_text(f"{heading}2,a,4.5\n3,b,5\n")
    table = regression.tables_of(tmp_path)["days"]
    assert list(table()) == [({"wind": 2.0, "sky": "a"}, 4.5), ({"wind": 3.0, "sky": "b"}, 5.0)]
    (tmp_path / "days.arff").write_text(f"{heading}2,a,4.5\n3,5\n")
    with pytest.raises(ValueError, match=r"days\.arff: expected 3 cells, got 2"):
        list(table())

    monkeypatch.setitem(regression.PEERS, "fails", Fails)
    given = ["--stream", "^keel", "--tables", str(tmp_path), "--results", str(tmp_path / "results.jsonl")]
    regression.main(["--peer", "^mean$|^fails$", *given])
    printed = capsys.readouterr().out.splitlines()
    row = next(line for line in printed if line.startswith("| keel made")).strip("| ").split(" | ")
    assert row[:2] == ["keel made", "60"] and len(row) == 5  # nothing for the model that failed
    assert min(float(cell.strip("*")) for cell in row[2:4]) < 0.3 < float(row[4].strip("| "))
    assert "fails on keel made: KeyError: 'column 2'" in printed


def test_a_kept_result_is_read_again_and_one_of_another_setting_is_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keel_table(tmp_path / "made.dat")
    monkeypatch.setattr(
        regression, "PEERS", {"doubles": Doubles, "fails": Fails, "SOKNL": lambda: Doubles(3)}
    )
    monkeypatch.setattr(regression, "MOA_REGRESSORS", ["SOKNL"])
    monkeypatch.setattr(regression, "missing_part", lambda: "")
    monkeypatch.setattr(regression, "OURS", {"ours": lambda: Doubles(1)})
    monkeypatch.setattr(regression, "version", lambda package: "1.2")
    kept = tmp_path / "results.jsonl"
    given = ["--stream", "^keel", "--tables", str(tmp_path), "--results", str(kept)]

    def learned(*options: str) -> int:
        """Return how many events models learned in a run that prints what the first one printed."""
        Doubles.learned = 0
        regression.main([*given, *options])
        without_times = re.sub(r"\| us an event.*", "", capsys.readouterr().out)
        assert printed in ("", without_times)
        return Doubles.learned

    printed = ""
    assert learned() == 60 + 60 + 1 + 60  # ours, the peer, the one that fails at once and the one of MOA
    before = kept.read_text()
    rows = [json.loads(line) for line in before.splitlines()]
    assert [(row["model"], row["stream"], row["limit"], row["by"]) for row in rows] == [
        ("doubles", "keel made", 5000, "river 1.2"),
        ("fails", "keel made", 5000, "river 1.2"),
        ("SOKNL", "keel made", 5000, "capymoa 1.2"),
    ]
    assert rows[1]["error_message"] == "KeyError: 'column 2'"
    regression.main(given)
    printed = re.sub(r"\| us an event.*", "", capsys.readouterr().out)
    assert learned() == 60 and kept.read_text() == before  # ours alone
    monkeypatch.setattr(regression, "missing_part", lambda: "there is no Java")
    assert learned() == 60  # what is kept needs no Java

    printed = ""
    monkeypatch.setitem(regression.PEERS, "doubles", lambda: Doubles(1.5))
    assert learned() == 60 + 60  # another setting of one peer
    assert learned("--renew") == 60 + 60 + 1  # not of the one that cannot run here
    changed = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {row["model"]: row.get("error") for row in changed}.keys() == {"doubles", "fails", "SOKNL"}
    assert len(changed) == 3
    keel_table(tmp_path / "made.dat", rows=50)
    assert learned() == 50 + 50 + 1  # other events; that of MOA is left blank

    monkeypatch.setitem(regression.PEERS, "doubles", Stopped)
    before = kept.read_text()
    with pytest.raises(Exception, match="Java Virtual Machine is not running"):
        learned()
    assert kept.read_text() == before  # a run that is stopped is no result


def test_regressors_and_intervals_of_moa_have_the_methods_of_river(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Part:
        """The parts of CapyMOA that a `MoaRegressor` calls: schemas, instances and regressors."""

        @staticmethod
        def from_custom(features: list[str], target: str, categories: dict[str, Any], name: str) -> Any:
            return features, target, categories

        @staticmethod
        def from_array(schema: Any, vector: Any, *target: float) -> Any:
            return vector.tolist(), *target

        def __init__(self, schema: Any, **settings: Any) -> None:
            made.append((schema, settings))

        def train(self, sample: Any) -> None:
            made.append(sample)

        def predict(self, sample: Any) -> Any:
            return sum(sample[0])

    class Around(Part):
        """Intervals."""

        def predict(self, sample: Any) -> Any:
            middle = super().predict(sample)
            return [middle - 1, middle, middle + 2]

    parts = {"Schema": Part, "Instance": Part, "RegressionInstance": Part, "SOKNL": Part, "MVE": Around}
    imported: list[str] = []

    def import_part(name: str) -> Any:
        imported.append(name)
        return type("Module", (), parts)

    monkeypatch.setattr("benchmarks.streams.moa.import_module", import_part)
    events = [({"n": float(k), "sky": "ab"[k % 2]}, float(k + k % 2)) for k in range(16)]
    plain = MoaRegressor("SOKNL", ensemble_size=3)
    result = regression.measure(plain, events)
    schema = ["n", "sky", TARGET], TARGET, {"sky": ["a", "b"]}  # the target is a number: it has no categories
    assert made == [
        (schema, {"ensemble_size": 3}),
        *(([x["n"], k % 2], y) for k, (x, y) in enumerate(events)),
    ]
    assert (result.error, result.forecasts) == (0.0, [])
    model = MoaIntervals("MVE", confidence_level=0.9)
    around = regression.measure(model, events)
    assert [model.ends(x) for x, _ in events] == [(y - 1, y + 2) for _, y in events]
    assert made[18][1].keys() == {"base_learner", "confidence_level"}
    assert {"capymoa.regressor", "capymoa.uncertainty"} < set(imported)
    row = [regression.shown(number) for number in around.forecasts]
    width = 3.0 / np.std([y for _, y in events])
    assert row[:3] == ["1.000", "", "1.000"]
    assert row[-3:] == [f"{width:.3f}", "", ""]  # neither 50 % nor a density


def test_what_moa_needs_is_named_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_package, has_java, reason in (
        (False, True, "capymoa is not"),
        (True, False, "no Java"),
        (True, True, ""),
    ):
        monkeypatch.setattr(moa, "find_spec", lambda _, found=has_package: found or None)
        monkeypatch.setattr("shutil.which", lambda _, found=has_java: found or None)
        monkeypatch.delenv("JAVA_HOME", raising=False)
        assert (reason in moa.missing_part()) and bool(moa.missing_part()) == bool(reason)


def test_tables_are_compared_with_the_figure_that_was_published_for_their_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{k % 9},{k % 7},{2 * (k % 9) - k % 7}\n" for k in range(120))
    for name in ("wine", "of nobody"):
        (tmp_path / f"{name}.csv").write_text(f"a,b,goal\n{rows}")
    regression_tables.main([f"{tmp_path / name}.csv:goal" for name in ("wine", "of nobody")])
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [(line[0], line[-1]) for line in lines[2:3]] == [("wine", "0.722")]
    assert lines[3][0] == "of nobody" and len(lines[3]) == 6  # without a figure
    best, linear, unchanged, mean = map(float, lines[2][2:6])
    assert max(best, linear) < min(unchanged, mean)
