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
    regression.main(40)
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0] for row in rows[2:]] == [
        "| chicks",
        "| mean rank of AdaptiveRegression",
        "| passengers",
        "| mean rank of AdaptiveRegression",
        "| us an event",
    ]
    assert all(row.count("|") == rows[0].count("|") for row in rows) and "nan" not in rows[2]
