"""The comparison of regressors runs to its end, over few events."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import regression, regression_tables


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # River leaves the files of streams open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_model_is_measured_on_names_numbers_and_dates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(regression, "CHOSEN_ON", {"chicks": regression.CHOSEN_ON["ChickWeights"]})
    monkeypatch.setattr(regression, "KEPT_ASIDE", {"passengers": regression.KEPT_ASIDE["AirlinePassengers"]})
    monkeypatch.setattr(regression, "FIRST", 20)
    monkeypatch.setattr(regression, "HELD_OUT", 10)
    regression.main(40)
    tables = [table.splitlines() for table in capsys.readouterr().out.split("\n\n")]
    names = [
        "| chicks",
        "| mean rank of AdaptiveRegression",
        "| passengers",
        "| mean rank of AdaptiveRegression",
    ]
    for rows, last in zip(tables[:2], (["| us an event"], []), strict=True):
        assert [row.split(" | ")[0] for row in rows[2:]] == [*names, *last]
    densities = ["AdaptiveRegression", "BayesianRegression", "BLR"]
    assert [row.split(" | ")[1] for row in tables[2][2:]] == [*densities, *densities]
    for rows in tables:
        assert all(row.count("|") == rows[0].count("|") and "nan" not in row for row in rows)


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
