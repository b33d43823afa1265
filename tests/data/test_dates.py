"""Dates and times: read in any usual writing as calendar features, alike by files, records, frames and models."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes import Date, Nominal, Numeric, Schema
from stream_bayes.cli.app import app
from stream_bayes.data.dates import PIVOT, written_moment
from stream_bayes.data.declarations import features_table
from stream_bayes.data.kind_inference import inferred_kind
from stream_bayes.errors import BadState, SchemaError, Undecodable
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.streams.files.parquet import ParquetSource
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder

CHRISTMAS = (18985.0, "Dec", 24.0, "Fri")
WAYS = [
    "2021-12-24",
    "2021/12/24",
    "20211224",
    "Dec 24, 2021",
    "December 24,2021",
    "24 December 2021",
    "24-Dec-21",
    "24th Dec 2021",
]
WAYS += ["Friday, December 24, 2021", "24.12.2021", "24/12/21", "24-12-2021"]


@pytest.mark.parametrize("text", WAYS)
def test_a_date_is_read_in_any_usual_writing(text: str) -> None:
    assert Date("dmy", ["date", "month", "day", "weekday"]).read(text) == CHRISTMAS


def test_times_are_hours_as_written_and_objects_are_read_as_they_are() -> None:
    hours = Date(parts=["date", "hour"])
    for text in (
        "2021-12-24T18:30:00Z",
        "2021-12-24 18:30+05:00",
        "2021/12/24 6:30 PM",
        "Dec 24, 2021 18:30",
    ):
        assert hours.read(text) == (18985 + 18.5 / 24, 18.5)
    assert hours.read(datetime(2021, 12, 24, 18, 30)) == (18985 + 18.5 / 24, 18.5)
    assert hours.read(date(2021, 12, 24)) == (18985.0, None)
    assert Date(parts=["hour"]).read("12:15 AM") == (0.25,)
    december, january = (Date(parts=["month cycle"]).read(day) for day in ("2021-12-01", "2022-01-01"))
    assert sum((a - b) ** 2 for a, b in zip(december, january, strict=True)) < 0.3  # type: ignore[misc, operator]  # numbers


@pytest.mark.parametrize(
    "text", ["2021-02-30", "31/11/2021", "24:01", "13:00 PM", "2021-13-01", "Foo 3, 2021", "7"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a date or time with the day first"):
        Date("dmy").read(text)


def test_the_order_is_decided_by_the_whole_column_and_doubts_are_said() -> None:
    def kind(*texts: str) -> tuple[object, int, str]:
        found = inferred_kind(Counter(texts))
        assert isinstance(found.column, Date)
        return found.column.order, found.misfits[0], " ".join(found.warnings)

    assert kind("1/2/2021", "13/2/2021") == ("dmy", 0, "")
    assert kind("1/2/2021", "2/13/2021") == ("mdy", 0, "")
    assert kind("1/2/2021", "3/4/2021")[2].startswith("no day is above 12")
    order, misfits, warning = kind(*[f"{n}/1/2021" for n in range(13, 30)], "1/31/2021")
    assert (order, misfits) == ("dmy", 1) and warning.startswith("dates of mixed order: 1 cannot")


def test_the_time_may_come_before_the_date_and_the_year_before_the_month() -> None:
    written = ("06:00:00  24 Dec 2021", "6:00 AM, 24 December 2021", "06:00 2021-12-24")
    assert {Date().read(text) for text in written} == {(18985.25, *CHRISTMAS[1:], 6.0)}
    months = inferred_kind(Counter(["1939, May", "1986, October", "1959 March"]))
    assert months.column == Date(parts=["date", "month"])


def test_months_and_quarters_are_dates_and_seasons_and_days_of_months_are_names() -> None:
    for texts in (
        ["Sep-63", "Oct-16", "Jan-99"],
        ["Sept '63", "Jan '99"],
        ["09/1963", "1/1999"],
        ["1963M09", "1999M01"],
    ):
        column = inferred_kind(Counter(texts)).column
        assert isinstance(column, Date) and column.parts == ("date", "month"), texts
        assert column.read(texts[0])[1] == "Sep" and column.read(texts[-1])[1] == "Jan"
    sixties = inferred_kind(Counter(["Sep-63", "Oct-70", "Jan-99"])).column
    assert isinstance(sixties, Date)
    assert sixties.read("Sep-63")[0] == date(1963, 9, 1).toordinal() - date(1970, 1, 1).toordinal()
    quarters = inferred_kind(Counter(["1963-Q1", "Q4 1964", "1999Q2", "1975:Q1"])).column
    assert isinstance(quarters, Date) and quarters.read("Q4 1964") == (-1918.0, "Oct")
    assert inferred_kind(Counter(["Sep-12", "Oct-13"])).warnings[0].startswith("no number is above 31")
    for names in (["2011/12", "2012/13"], ["9-Sep", "10-Oct"], ["1/2", "3/4"], ["M10", "Q4"]):
        assert not isinstance(inferred_kind(Counter(names)).column, Date), names


def test_years_of_two_digits_are_said_as_they_are_read() -> None:
    kind = inferred_kind(Counter(f"{day}/04/{year}" for day in (3, 13, 23) for year in range(95, 100)))
    assert kind.reason == "all dates, day first, years 1995 to 1999" and not kind.warnings
    kind = inferred_kind(Counter(f"13/04/{year:02}" for year in range(100)))
    assert isinstance(kind.column, Date) and kind.column.pivot == PIVOT
    assert (
        "years of two digits fill the century" in kind.warnings[0]
        and "from 69 on are read as 1969" in kind.warnings[0]
    )
    assert "years" not in inferred_kind(Counter(["13/04/1999", "14/04/2001"])).reason


def test_a_column_of_dates_in_no_order_is_of_names_and_says_so() -> None:
    day_first, month_first = (
        [f"{day}/01/2021" for day in range(13, 20)],
        ["01/25/2021", "02/26/2021", "03/27/2021"],
    )
    kind = inferred_kind(Counter([*day_first, *month_first, "02/03/2021"]))
    assert (kind.word, kind.column) == ("category", Nominal())
    assert kind.warnings[0].startswith("dates of mixed order: 7 must have the day first and 3 the month")
    assert not inferred_kind(Counter(["red", *month_first, "blue", "31/31/2021"])).warnings


def test_a_column_of_dates_becomes_the_features_that_vary() -> None:
    months = inferred_kind(Counter(["2021-01-01", "2021-02-01"])).column
    assert months == Date(parts=["date", "month"])
    assert inferred_kind(Counter(["9:30", "17:05"])).column == Date(parts=["hour"])
    old = inferred_kind(Counter(["6/17/47", "7/14/72", "7/1/99", "6/30/16"])).column
    assert (
        isinstance(old, Date)
        and old.read("6/17/47")[0] == date(1947, 6, 17).toordinal() - date(1970, 1, 1).toordinal()
    )
    for names in (
        ["2013", "2014"],
        ["3-1", "2-2"],
        ["12345678", "87654321"],
        ["May", "June"],
        ["1-2-3", "4-5-6"],
    ):
        assert not isinstance(inferred_kind(Counter(names)).column, Date)


def test_marks_of_a_missing_value_do_not_make_numbers_names() -> None:
    found = inferred_kind(Counter({"1.5": 3, "-": 4, "**": 2}))
    assert (found.column, found.misfits) == (Numeric(), (6, ["-", "**"]))


def test_a_date_is_a_schema_in_json_and_toml_alike() -> None:
    schema = Schema(
        {"day": Date("dmy", ["date", "hour cycle"], 30), "at": "date", "sky": Nominal()}, target="y"
    )
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    assert [*schema.features] == [
        "day",
        "day hour sin",
        "day hour cos",
        "at",
        "at month",
        "at day",
        "at weekday",
        "at hour",
        "sky",
    ]
    source = 'name = "p"\n[source]\nkind = "csv"\npath = "a.csv"\ntarget = "y"\n[model]\nkind = "nb"\n'
    assert parse_config(source + features_table(schema.columns)).schema_of_stream() == schema
    with pytest.raises(BadState, match="order: expected ymd, dmy, mdy"):
        Schema.from_json(schema.to_json() | {"features": [["a", {"kind": "date", "order": "dym"}]]})
    with pytest.raises(SchemaError, match="parts: expected a list of date, month"):
        Date(parts=["century"])


def test_files_records_frames_and_services_read_a_date_alike(tmp_path: Path) -> None:
    path, model, out = tmp_path / "t.csv", tmp_path / "m.zip", tmp_path / "out.csv"
    rows = [(f"{1 + n % 28}/{1 + n % 12}/2021", n % 12 < 6) for n in range(300)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("day", "y"), *rows])
    run = CliRunner()
    trained = run.invoke(app, ["train", str(path), "--target", "y", "--out", str(model), "--model", "nb"])
    assert trained.exit_code == 0 and "dates (1): day (date, month, day, weekday)" in trained.output, (
        trained.output
    )
    learner = stream_bayes.load(model)
    x = {"day": "5/3/2021"}  # the fifth of March
    features = learner.schema.read(x)
    assert features["day month"] == "Mar"
    wanted = learner.predict_proba_one(features)["True"]
    assert wanted > 0.9
    for name, text in {"new.csv": "day\n5/3/2021\n", "new.jsonl": json.dumps(x) + "\n"}.items():
        (tmp_path / name).write_text(text)
        done = run.invoke(app, ["predict", str(model), str(tmp_path / name), "--out", str(out)])
        assert done.exit_code == 0, done.output
        (row,) = csv.DictReader(out.read_text().splitlines())
        assert float(row["p(True)"]) == pytest.approx(wanted, rel=1e-4)
    assert ModelAnswers(learner).predict(x)["probabilities"]["True"] == wanted
    asked, of_history = (
        ModelAnswers(learner).explain(x),
        ModelAnswers(learner).explain(features, is_read=True),
    )
    assert asked == of_history and asked["probabilities"]["True"] == wanted
    assert learner.schema.lookup([x]).to_dicts() == [features]
    decoder = JSONDecoder(Fields(target="y"), learner.schema)
    assert decoder.content(json.dumps(x).encode()) == features
    with pytest.raises(Undecodable, match="field 'day': expected a date or time with the day first"):
        decoder.content(b'{"day": "soon"}')


def test_dates_of_a_parquet_file_are_read_by_their_type(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    rows = {"day": [date(2021, 12, 24), None], "at": [datetime(2021, 12, 24, 6), None], "y": ["a", "b"]}
    parquet.write_table(pyarrow.table(rows), path)
    source = ParquetSource(path, Fields(target="y"))
    first, second = source.poll(2)
    source.close()
    assert [*first.x.values()] == [*CHRISTMAS, 18985.25, *CHRISTMAS[1:], 6.0]  # type: ignore[union-attr]  # an event
    assert set(second.x.values()) == {None}  # type: ignore[union-attr]  # an event


@pytest.mark.parametrize(
    ("text", "day", "hours"),
    [
        ("Sun Dec 04 04:30:00 2005", date(2005, 12, 4), 4.5),
        ("Mon Jan  2 15:30:00 MST 2006", date(2006, 1, 2), 15.5),
        ("[10/Oct/2000:13:30:00 -0700]", date(2000, 10, 10), 13.5),
        ("20171223-22:15:00:000", date(2017, 12, 23), 22.25),
        ("20210304T123000Z", date(2021, 3, 4), 12.5),
        ("2005-06-03-15.45.00.675", date(2005, 6, 3), 15.75 + 0.675 / 3600),
        ("2015-07-29 17:30:00,000", date(2015, 7, 29), 17.5),
        ("00:30 UTC", None, 0.5),
    ],
)
def test_moments_are_read_as_logs_have_them(text: str, day: date | None, hours: float) -> None:
    moment = written_moment(text)
    assert moment is not None and moment.day == day and moment.hours == pytest.approx(hours)


@pytest.mark.parametrize("text", ["12:30-13:30", "12:30-13", "20210304-123", "Sun Dec 34 04:30:00 2005"])
def test_hours_of_opening_and_codes_are_no_moments(text: str) -> None:
    assert written_moment(text) is None
