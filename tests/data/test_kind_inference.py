"""Kinds of columns as foreign tables have them: what cannot be known is marked, and nothing is misread in silence."""

from __future__ import annotations

from collections import Counter

import pytest

from stream_bayes.data.amounts import Amount
from stream_bayes.data.dates import Date
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.kind_inference import inferred_kind
from stream_bayes.streams.files.code_columns import may_be_codes
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.table_profile import profiled_columns


def test_a_word_for_an_amount_that_is_not_there_is_missing_however_often_it_stands() -> None:
    texts = Counter({f"${k},000,000": 1 for k in range(1, 40)} | {"Undisclosed amount": 200})
    kind = inferred_kind(texts)
    assert (kind.word, kind.column, len(kind.numbers)) == ("money", Amount(["$"]), 39)
    assert kind.misfits == (200, ["Undisclosed amount"])
    assert "200 of 239 values are 'Undisclosed amount'" in kind.warnings[0]


def test_a_word_for_a_date_that_is_not_there_is_missing_however_often_it_stands() -> None:
    texts = Counter({f"{k}/5/2015": 1 for k in range(1, 31)} | {"TBA": 13, "next one on 26/09/2016": 1})
    kind = inferred_kind(texts)
    assert (kind.word, kind.column) == ("date", Date("dmy", ["date", "day", "weekday"]))
    assert kind.misfits == (14, ["TBA", "next one on 26/09/2016"]) and kind.reason.startswith(
        "30 of 44 dates"
    )
    assert "13 of 44 values are 'TBA', which is no date" in kind.warnings[0]


@pytest.mark.parametrize("texts", [[f"FR-{k:02}" for k in range(1, 96)], [f"Fr{k:03}" for k in range(70)]])
def test_codes_behind_letters_of_a_currency_are_no_money(texts: list[str]) -> None:
    assert inferred_kind(Counter(texts)).word == "category"
    assert inferred_kind(Counter(f"Fr {k}.50" for k in range(70))).word == "money"
    assert inferred_kind(Counter(["EUR -5", "EUR 7", "EUR-2.50"] * 9)).numbers["EUR-2.50"] == -2.5


def test_two_zeros_among_plain_numbers_are_the_number() -> None:
    kind = inferred_kind(Counter(["00", "5", "17", "120"] * 9))
    assert (kind.word, kind.numbers["00"]) == ("number", 0.0)
    assert inferred_kind(Counter(["00", "10", "20"] * 9)).word == "category"


def test_hours_and_minutes_in_four_digits_are_times_of_the_day() -> None:
    texts = [f"{k * 7 // 60 % 24:02}{k * 7 % 60:02}" for k in range(300)]
    kind = inferred_kind(Counter(texts))
    assert (kind.word, kind.column) == ("time", Date("hm", ["hour"]))
    assert isinstance(kind.column, Date)
    assert kind.column.read("0930") == (9.5,) and kind.column.read("5") == (5 / 60,)
    plain = inferred_kind(
        Counter(str(int(text)) for text in texts)
    )  # as where a program took them for numbers
    assert (plain.word, plain.doubt) == ("number", "times?")
    assert inferred_kind(Counter(f"{k:04}" for k in range(300))).word == "category"
    assert inferred_kind(Counter(map(str, range(1900, 1960)))).doubt == ""


def test_bounds_on_both_sides_of_one_number_are_names() -> None:
    assert inferred_kind(Counter({"< 20 yrs": 160, "> 20 yrs": 60})).word == "category"
    ages = inferred_kind(Counter([*map(str, range(60, 91)), "90+"] * 3))
    assert (ages.word, ages.numbers["90+"]) == ("number", 90.0)


def test_seconds_since_1970_are_marked() -> None:
    kind = inferred_kind(Counter(f"{1594153053 + 977 * k}.25" for k in range(30)))
    assert (kind.word, kind.doubt) == ("number", "dates?") and "seconds since 1970" in kind.warnings[0]
    assert inferred_kind(Counter(f"{3_000_000_000 + 977 * k}" for k in range(30))).doubt == ""


@pytest.mark.parametrize(
    ("texts", "doubt", "said"),
    [
        ([f"Sample  {80 + k / 4}" for k in range(40)], "numbers?", "'Sample  #'"),
        ([f"{k % 9} full defects" for k in range(40)], "numbers?", "'# full defects'"),
        ([f"Week {k % 9}" for k in range(40)], "numbers?", "'Week #'"),
        ([f"{k % 30} ({k % 7 * 10}.5%)" for k in range(40)], "numbers?", "'# (#%)'"),
        ([f"{k}'" for k in range(1, 40)] + ["90'+4'"], "numbers?", "#'"),
        (["25", "40", "35", "thirty"] * 9, "numbers?", "27 of 36 values are numbers"),
        ([*(f"${k}.50" for k in range(20)), "free", "ask", "later", "by size"], "numbers?", "20 of 24"),
        ([f"{k}:15" for k in range(20, 72)], "durations?", "71:15 is no time of the day"),
    ],
)
def test_names_that_may_be_numbers_are_marked(texts: list[str], doubt: str, said: str) -> None:
    kind = inferred_kind(Counter(texts))
    assert (kind.word, kind.doubt) == ("category", doubt)
    assert said in kind.warnings[0]


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "2", "3A", "3B"] * 9,  # codes
        ["2nd class", "1st class", "3rd class"] * 9,
        ["red", "blue", "12"] * 9,
        [f"12{k % 9} Main Street {k % 7}" for k in range(40)],
        [f"ob-{k % 30}" for k in range(60)],
        ["007", "123", "x"] * 9,
    ],
)
def test_names_with_digits_in_them_stay_names(texts: list[str]) -> None:
    kind = inferred_kind(Counter(texts))
    assert (kind.word, kind.doubt) == ("category", "")


def test_decades_are_years_and_no_seconds() -> None:
    kind = inferred_kind(Counter(["1940s", "1970s", "1998", "2003"]))
    assert (kind.word, kind.reason, kind.warnings) == ("number", "all years and decades", [])
    assert kind.numbers["1940s"] == 1940.0
    assert inferred_kind(Counter(["15s", "30s", "7s"])).word == "duration"


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        ([f"17{k:02}0{k % 9 + 1}00" for k in range(30)], "dates?"),  # no day is known
        ([f"{1990 + k // 12}{k % 12 + 1:02}" for k in range(60)], "dates?"),
        ([f"{150 + k}000" for k in range(60)], ""),  # round amounts
        ([f"{190000 + 37 * k}" for k in range(60)], ""),
    ],
)
def test_numbers_that_may_be_years_and_months_are_marked(texts: list[str], doubt: str) -> None:
    kind = inferred_kind(Counter(texts))
    assert (kind.column, kind.doubt, bool(kind.warnings)) == (Numeric(), doubt, bool(doubt))


def test_times_that_may_be_durations_are_marked() -> None:
    songs = inferred_kind(Counter(["3:38", "4:18", "4:07", "10:15"]))
    assert (songs.word, songs.doubt) == ("time", "duration?")
    assert "3:38 is read as a time of the day" in songs.warnings[0]
    marathon = inferred_kind(Counter(["02:09:19", "02:14:10", "04:51:00"]))
    assert (marathon.word, marathon.doubt) == ("time", "duration?")
    for clock in (
        ["02:09:19", "14:05:01"],
        ["9:30", "14:05", "17:45"],
        ["03:38", "04:18", "09:15"],
        ["9:30 AM", "10:15 AM"],
    ):
        kind = inferred_kind(Counter(clock))
        assert (kind.word, kind.doubt, kind.warnings) == ("time", "", [])


def test_whole_numbers_with_one_name_each_may_be_codes() -> None:
    counties = [f"county {chr(97 + k)}" for k in range(20)]
    rows = [
        {
            "place": str(31001 + 2 * (k % 20)),
            "county": counties[k % 20],
            "votes": str(700 + k % 20 + k // 20 % 2),
        }
        for k in range(200)
    ]
    profiles = profiled_columns(["place", "county", "votes"], rows, CSVFormat())
    assert [name for name, each in profiles.items() if may_be_codes(each)] == ["place"]
    assert profiles["place"].numbers_column == "county"
    rows[7]["county"] = counties[3]  # a mistake
    assert may_be_codes(profiled_columns(["place", "county"], rows, CSVFormat())["place"])
    for row in rows[8:20]:
        row["county"] = counties[3]
    assert not may_be_codes(profiled_columns(["place", "county"], rows, CSVFormat())["place"])


def test_numbers_without_a_gap_that_stand_for_few_rows_may_be_groups() -> None:
    stratum = [str(k // 3 + 1) for k in range(90)]
    counts = [str(k * k % 41) for k in range(90)]  # some come once
    halves = ["-0.045", "0.051"] * 45
    rows = [dict(zip("abc", row, strict=True)) for row in zip(stratum, counts, halves, strict=True)]
    profiles = profiled_columns("abc", rows, CSVFormat())
    assert [name for name, each in profiles.items() if may_be_codes(each)] == ["a", "c"]


def test_points_that_group_thousands_are_no_decimal_marks() -> None:
    texts = Counter(["950", "1.230", "12.400", "-3.017", "829", "7"])
    kind = inferred_kind(texts)
    assert kind.numbers == {
        "950": 950.0,
        "1.230": 1230.0,
        "12.400": 12400.0,
        "-3.017": -3017.0,
        "829": 829.0,
        "7": 7.0,
    }
    assert kind.column == Amount(decimal=",")
    assert any("'1.230' is read as 1230: the points group thousands" in warning for warning in kind.warnings)
    # As the other columns have decimal commas.
    assert inferred_kind(Counter(["1.234", "2.345"]), likely=",").numbers == {
        "1.234": 1234.0,
        "2.345": 2345.0,
    }


@pytest.mark.parametrize(
    ("texts", "likely"),
    [
        (["950", "1.234", "12.341"], None),  # no 0 at an end: decimals without them
        (["1.230", "12.400", "5.000"], None),  # three decimals
        (["1.230", "0.400", "5"], None),
        (["1.230", "12.4", "5"], ","),
        (["1.230", "1950"], None),  # beyond 999, without a point
        (["950", "1.230", "12.400"], "."),  # as the other columns have decimal points
    ],
)
def test_points_that_may_be_decimal_marks_are(texts: list[str], likely: str | None) -> None:
    kind = inferred_kind(Counter(texts), likely=likely)
    assert kind.numbers == {text: float(text) for text in texts}
    assert not kind.warnings


def test_a_number_beyond_all_floats_among_amounts_counts_as_missing() -> None:
    texts = Counter({"1e400": 2, "inf": 3, "-inf": 3} | {f"{number}.5": 1 for number in range(60)})
    kind = inferred_kind(texts)
    assert isinstance(kind.column, Numeric | Amount)
    assert kind.misfits[0] == 8 and "1e400" in kind.misfits[1]


@pytest.mark.parametrize("code", ["-999", "-9999", "999", "-9.0"])
def test_a_number_far_from_all_others_that_recurs_may_stand_for_missing_values(code: str) -> None:
    usual = {f"{k / 10}": 2 for k in range(30)}
    kind = inferred_kind(Counter({**usual, code: 7}))
    assert kind.word == "number" and kind.numbers[code] == float(code)
    assert f"{code} (7 cells), far from the other numbers (0 to 2.9)" in kind.warnings[0]
    assert not inferred_kind(Counter({**usual, code: 1})).warnings
    assert not inferred_kind(
        Counter({f"{float(k)}": 2 for k in range(-10_000, 10_000, 500)} | {code: 7})
    ).warnings


@pytest.mark.parametrize("bound", ["<2.5", ">= 90", "~7", "90+", "<$5"])
def test_a_bound_among_numbers_is_read_without_its_mark_and_that_is_said(bound: str) -> None:
    usual = {f"{k}.5": 2 for k in range(30)}
    kind = inferred_kind(Counter({**usual, bound: 4}))
    assert kind.numbers[bound] == float(bound.strip("<>=~+$ "))
    assert any(f"4 of 64 numbers are bounds or rounded ('{bound}')" in warning for warning in kind.warnings)
    assert not inferred_kind(Counter(usual)).warnings


LONG = "9" * 5_000  # more digits than Python reads as a whole number


@pytest.mark.parametrize(
    "text",
    [f"{LONG}:15", f"{LONG}:15:10", f"{LONG}-{LONG}", f"{LONG}/1/2020", f"${LONG}", f"1-{LONG}", f"0{LONG}"],
    ids=lambda text: text.replace(LONG, "9...9"),
)
def test_numbers_of_thousands_of_digits_end_nothing(text: str) -> None:
    usual = {text.replace(LONG, str(number)): 1 for number in range(70, 90)}
    for texts in ({text: 1}, {text: 1, **usual}):
        assert text not in inferred_kind(Counter(texts)).numbers


def test_amounts_that_zeros_fill_up_are_numbers_and_codes_are_names() -> None:
    incomes = [f"{17 * 3**k % 2_000_000:09}" for k in range(200)]
    kind = inferred_kind(Counter(incomes))
    assert kind.word == "number" and kind.numbers[incomes[3]] == int(incomes[3])
    assert "filled up with zeros" in kind.warnings[0]
    postcodes = [f"{k:05}" for k in (501, 601, 1001, 1002, 2134, 7030, 10001, 60601, 99950)] * 3
    assert (inferred_kind(Counter(postcodes)).word, inferred_kind(Counter(postcodes)).doubt) == (
        "category",
        "",
    )


def test_short_digits_with_leading_zeros_may_be_numbers() -> None:
    rooms = inferred_kind(Counter(f"{k % 14:02}" for k in range(60)))
    assert (rooms.word, rooms.doubt) == ("category", "numbers?") and "--numeric" in rooms.warnings[0]


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["si", "no", "no"], "flag"),
        (["Oui", "Non"] * 9, "flag"),
        (["Greater than 45", "25 - 45", "Less than 25"], "range"),
        (["1-10", "Sub 1", "10+"], "range"),
        (["2-1", "0-3", "at home"], "category"),
        ([f"{5 + k % 2}'{k % 12}\"" for k in range(20)], "number"),
        ([f"{k % 3 + 1}h {k}min" for k in range(20)] + ["45 min"], "duration"),
    ],
)
def test_flags_of_other_languages_two_open_ranges_and_amounts_in_two_units(
    texts: list[str], word: str
) -> None:
    assert inferred_kind(Counter(texts)).word == word


def test_names_of_many_words_may_be_texts_and_addresses_are_names() -> None:
    messages = [f"link error in port {chr(97 + k % 26)}{chr(97 + k // 26)} again" for k in range(60)]
    assert inferred_kind(Counter(messages * 5)).doubt == "text?"
    streets = Counter({f"12{k} North Main Street {k % 7}": 5 for k in range(60)})
    assert inferred_kind(streets).doubt == ""


@pytest.mark.parametrize(
    ("cells", "is_marked"),
    [
        ([str(3 * k + k % 2) for k in range(30)], True),  # rising
        ([str(10001 + 37 * k % 997) for k in range(30)], True),  # of one length
        ([str(1950 + k) for k in range(30)], False),  # years
        ([str(37 * k % 997) for k in range(30)], False),
        ([str(1 + 7 * k % 41) for k in range(40)], True),  # places in an order
        ([str(3 * k) for k in range(29)] + ["3"], False),  # comes twice
    ],
)
def test_whole_numbers_of_which_none_comes_twice_may_identify_rows(cells: list[str], is_marked: bool) -> None:
    profile = profiled_columns(["n"], [{"n": cell} for cell in cells], CSVFormat())["n"]
    assert profile.may_be_id is is_marked


def test_bounds_alone_are_ranges_and_a_last_bound_among_counts_is_marked() -> None:
    ages = inferred_kind(Counter({"13+": 40, "18+": 30, "all": 20, "7+": 10, "16+": 5}))
    assert (ages.word, ages.column) == ("range", Nominal(("7+", "13+", "16+", "18+")))
    children = inferred_kind(Counter({"0": 50, "1": 30, "2": 20, "3+": 10}))
    assert (children.word, children.doubt, children.numbers["3+"]) == ("number", "range?", 3.0)
    limits = inferred_kind(Counter([*(f"{k / 10}" for k in range(30)), "<0.1", "<0.2", "<0.3"]))
    assert (limits.word, limits.doubt) == ("number", "")


def test_lists_of_numbers_among_numbers_are_said() -> None:
    kind = inferred_kind(Counter([*map(str, range(10001, 10100)), "10001, 10118", "10005, 10270"]))
    assert (kind.word, kind.doubt, kind.misfits[0]) == ("number", "names?", 2)
    assert "'10001, 10118' and the like hold several numbers" in kind.warnings[0]
