"""Times that cannot be right are counted, and named once with what to do."""

from __future__ import annotations

import logging

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Event
from stream_bayes.core.events.time import StreamTime
from stream_bayes.streams.contracts.incidents import FUTURE_TIMES, JUMPS, LATE_TIMES, WRONG_UNIT
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.engine.time_check import TimeCheck
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sources.iterable import IterableSource

NOW = 1_800_000_000.0
YEAR = 365 * 86_400.0


def counts(*times: float | None) -> dict[str, int]:
    check = TimeCheck(clock=lambda: NOW)
    for time in times:
        check.inspect([Event({}, time=time)])
    return dict(check.incidents)


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e9])
def test_times_of_a_finer_unit_than_declared_are_counted(factor: float) -> None:
    assert counts(*((NOW - day) * factor for day in range(5))) == {WRONG_UNIT: 5}


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e9])
def test_times_of_a_coarser_unit_than_declared_are_counted(factor: float) -> None:
    assert counts(*((NOW - day) / factor for day in range(5))) == {WRONG_UNIT: 5}


def test_times_in_the_future_are_counted() -> None:
    assert counts(NOW, NOW + 50 * YEAR, None, NOW + 1.0, NOW + 60 * YEAR, float("inf")) == {FUTURE_TIMES: 3}


def test_times_that_may_be_right_are_not_counted() -> None:
    assert counts(NOW - 10.0, NOW - 60 * YEAR, NOW) == {}  # of 1967
    assert counts(*map(float, range(0, 2_000_000, 50_000))) == {}  # a stream's own seconds, from 0
    assert counts(None, None) == {}


def apart(*days: float) -> dict[str, int]:
    check, time = TimeCheck(clock=lambda: NOW), StreamTime(max_skew=7 * 86_400.0)
    time.report = check.report_apart
    for day in days:
        time.advance(Event({}, time=NOW + day * 86_400.0))
    return dict(check.incidents)


def test_records_that_a_clock_lags_behind_or_has_left_behind_are_counted() -> None:
    days = [float(day) for day in range(-70, -50)]
    assert apart(*days, days[-3]) == {}
    # The clock is a week further after each.
    assert apart(-98.0, -97.0, *days) == {JUMPS: 4}
    assert apart(*days, days[0], days[1]) == {LATE_TIMES: 2}


def test_a_time_that_starts_no_clock_is_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert apart(365.0, -70.0, -69.0, -68.0) == {JUMPS: 1}
        assert apart(-20_000.0, -70.0, -69.0) == {LATE_TIMES: 1}
    first, second = [record.getMessage() for record in caplog.records]
    assert "434 days from the other two of the first three" in first and "it starts no clock" in first
    assert "19,931 days from the other two" in second and "1972-" in second


def test_a_run_warns_once_and_reports_the_total(caplog: pytest.LogCaptureFixture) -> None:
    days = [Event({"sky": "grey"}, "rain", time=1e12 + n, position=n) for n in range(2_500)]
    engine = Engine(Step(served(NaiveBayes())), IterableSource(days, "days"))
    with caplog.at_level(logging.WARNING):
        engine.run()
    first, last = [record.getMessage() for record in caplog.records if "time" in record.getMessage()]
    assert "position 0 of days[0]" in first and "1,000 times too large" in first and "time_unit" in first
    assert last.startswith("2500 records")
    assert engine.times.incidents == {WRONG_UNIT: 2_500}
