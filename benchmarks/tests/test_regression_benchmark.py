"""The comparison of regressors runs to its end, over few events."""

from __future__ import annotations

import pytest

from benchmarks import regression


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
