"""Errors in a text in the Interchange Format name source, line and column."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_bayes.core.inference.inference import Inference
from stream_bayes.errors import BadFormat
from stream_bayes.networks.files.bif import bif_text, parse_bif
from tests.networks.files.lawn_bif import EXPECTED, LAWN, lawn_with

# --- what is wrong, and where -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # Tokens.
        ("{ yes, no };", "{ yes, no }\n}", "5:1: expected ';', got '}'"),
        ("{ yes, no };", '{ yes, "no };', "4:30: this quote has no end on its line: expected '\"'"),
        ("table 0.2, 0.8;", "/* table 0.2, 0.8;", "13:3: this comment has no end: expected '*/'"),
        ("network lawn {\n}", "network lawn {\n", "3:1: expected a property or '}', got 'variable'"),
        ("network lawn {\n}", "network {\n}", "1:9: expected the network's name, got '{'; a name that holds"),
        ("network lawn {\n}\n", "", "24:1: expected a 'network' block, got none to the end of the file"),
        ("network lawn {\n}", "network lawn {}\nnetwork lawn {}", "2:1: a second network; a file holds one"),
        ("variable rain", '"variable" rain', "3:1: expected 'network', 'variable' or 'probability', got"),
        (
            "network lawn {\n}",
            "net lawn {\n}",
            "1:1: expected 'network', 'variable' or 'probability', got 'net'",
        ),
        ("  (high, no) 0.8, 0.2;\n}\n", "  (high, no) 0.8, 0.2;", "24:23: expected a row such as"),
        # Variables.
        ("variable sprinkler", "variable rain", "6:10: variable 'rain' is defined twice"),
        ("type discrete [ 2 ] { yes", "type real [ 2 ] { yes", "4:8: expected 'discrete', the only type"),
        ("type discrete [ 2 ] { yes, no };", "", "3:10: variable 'rain' has no type"),
        ("{ yes, no };", "{ yes, no }; type discrete [ 1 ] { a };", "4:36: expected one type, properties or"),
        ("[ 2 ] { yes", "[ 3 ] { yes", "4:19: variable 'rain' declares 3 labels and lists 2; a label that"),
        ("[ 2 ] { yes", "[ two ] { yes", "4:19: variable 'rain' declares two labels and lists 2"),
        ("[ 2 ] { yes, no }", "[ 0 ] { }", "4:19: variable 'rain' declares 0 labels and lists 0"),
        ("{ yes, no }", "{ yes, yes }", "4:30: 'yes' is given twice as a label of 'rain'"),
        ("{ yes, no }", "{ yes, no(t) }", "4:32: expected a label or '}', got '('; a name that holds marks"),
        ("{ yes, no }", "{ yes; no }", "4:28: expected a label or '}', got ';'"),
        # The graph.
        (
            "probability ( sprinkler )",
            "probability ( rain )",
            "15:15: the probabilities of 'rain' are given twice",
        ),
        (
            "probability ( sprinkler )",
            "probability ( sprinkle )",
            "6:10: variable 'sprinkler' has no probability",
        ),
        ("| sprinkler, rain )", "| sprinkler, ran )", "18:33: no variable 'ran' is defined"),
        ("| sprinkler, rain )", "| sprinkler, lawn )", "18:33: 'lawn' cannot be its own parent"),
        ("| sprinkler, rain )", "| rain, rain )", "18:28: 'rain' is given twice as a parent of 'lawn'"),
        ("| sprinkler, rain )", "| sprinkler | rain )", "18:32: expected a parent or ')', got '|'"),
        (
            "probability ( rain ) {\n  table 0.2, 0.8;",
            "probability ( rain | lawn ) {\n  default 0.2, 0.8;",
            "18:15: the edges form a cycle: 'lawn' -> 'rain' -> 'lawn'; remove or reverse one",
        ),
        # Tables.
        ("table 0.2, 0.8;", "", "12:15: the table of 'rain' is missing; give it, or a 'default' entry"),
        (
            "table 0.2, 0.8;",
            "table 0.2, 0.7;",
            "13:3: the table of 'rain': the probabilities sum to 0.9, which",
        ),
        (
            "table 0.2, 0.8;",
            "table -0.2, 1.2;",
            "13:3: the table of 'rain': expected probabilities, got -0.2",
        ),
        ("table 0.2, 0.8;", "table 1e999, 0;", "13:3: the table of 'rain': expected probabilities, got inf"),
        ("table 0.2, 0.8;", "table 0.2, many;", "13:14: expected a number or ';', got 'many'"),
        ("table 0.2, 0.8;", "table 0.2, nan;", "13:14: expected a number or ';', got 'nan'"),
        ("table 0.2, 0.8;", "table 0.2, 0.8.0;", "13:14: expected a number or ';', got '0.8.0'"),
        ("table 0.2, 0.8;", "table 0.2, 0_8;", "13:14: expected a number or ';', got '0_8'"),
        ("table 0.2, 0.8;", 'table 0.2, "0.8";', "13:14: expected a number or ';', got '0.8'"),
        ("table 0.2, 0.8;", "table 0.2, 0.8", "14:1: expected a number or ';', got '}'"),
        ("table 0.2, 0.8;", "table 0.2, 0.8; table 0.2, 0.8;", "13:19: expected '}' after a table of all"),
        ("table 0.2, 0.8;", "table 0.2, 0.8; default 0.2, 0.8;", "13:19: expected '}' after a table of all"),
        ("table 0.2, 0.8;", '"table" 0.2, 0.8;', "13:3: expected a row such as"),
        ("table 0.2, 0.8;", "() 1, 0; table 1, 0;", "13:12: expected a row such as"),
        ("table 0.2, 0.8;", "default 1, 0; default 1, 0;", "13:17: expected a row such as"),
        ("table 0.2, 0.8;", "default 1, 0; table 1, 0;", "13:17: expected a row such as"),
        (
            "table 0.2, 0.8;",
            "table 0.2, 0.8, 0;",
            "13:3: the table of 'rain': expected 2 numbers, 2 for each of 1",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "(off, no) 0.01, 0.9;",
            "22:3: the table of 'lawn', row ('off', 'no'): the prob",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "default 0.01, 0.9;",
            "22:3: the table of 'lawn', row ('off', 'no'): the prob",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "(off, no) 1;",
            "22:3: the table of 'lawn': expected 2 numbers, one for each",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "default 1;",
            "22:3: the table of 'lawn': expected 2 numbers, one for each",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "(off) 1, 0;",
            "22:3: the table of 'lawn': expected a label for each of its 2",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "(off, not) 1, 0;",
            "22:9: 'rain' has no label 'not'; it has ['yes', 'no']",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "(no, off) 1, 0;",
            "22:4: 'sprinkler' has no label 'no'; it has ['off', 'low'",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "(low, yes) 1, 0;",
            "22:3: the table of 'lawn', row ('low', 'yes') is given tw",
        ),
        (
            "(off, no) 0.01, 0.99;",
            "",
            "18:15: the table of 'lawn', row ('off', 'no') is missing; give it, or a",
        ),
    ],
)
def test_an_error_names_source_line_and_column(old, new, message):
    with pytest.raises(BadFormat, match=re.escape(f"lawn.bif:{message}")) as caught:
        parse_bif(lawn_with(old, new), source="lawn.bif")
    assert str(caught.value).startswith("lawn.bif:")


def test_the_block_that_closes_a_cycle_is_named():
    ring = [("a", "d"), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")]
    variables = "".join(f"variable {v} {{ type discrete [ 1 ] {{ x }}; }}\n" for v, _ in ring)
    blocks = "".join(f"probability ( {v} | {p} ) {{ default 1; }}\n" for v, p in ring)
    with pytest.raises(
        BadFormat, match=re.escape("<text>:10:15: the edges form a cycle: 'a' -> 'b' -> 'c' -> 'd' ->")
    ):
        parse_bif(f"network n {{}}\n{variables}{blocks}")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end):
    text = lawn_with("table 0.2, 0.8;", "table 0.2, many;").replace("\n", end)
    with pytest.raises(BadFormat, match="<text>:13:14: expected a number or"):
        parse_bif("\ufeff" + text)


def test_the_tolerance_can_be_stated():
    text = lawn_with("table 0.5, 0.25, 0.25;", "table 0.33, 0.33, 0.33;")
    with pytest.raises(BadFormat, match=r"15|16:3: .*sum to 0\.99, which is not 1 to within 0\.001"):
        parse_bif(text)
    network = parse_bif(text, tolerance=0.01)
    assert network.tables["sprinkler"].tolist() == [0.33] * 3
    assert parse_bif(bif_text(network), tolerance=0.01) == network


def test_rows_that_were_rounded_to_three_digits_are_kept_and_answers_divided_by_their_sums():
    network = parse_bif(lawn_with("table 0.5, 0.25, 0.25;", "table 0.333, 0.333, 0.333;"))
    assert network.tables["sprinkler"].tolist() == [0.333] * 3
    assert list(Inference(network).query("sprinkler").values()) == pytest.approx([1 / 3] * 3)


def test_a_short_text_cannot_ask_for_a_table_that_fills_the_memory():
    names = [f"v{i}" for i in range(40)]
    text = "network n { }" + "".join(f"variable {v} {{ type discrete [ 2 ] {{ a, b }}; }}" for v in names)
    text += "".join(f"probability ( {v} ) {{ table 0.5, 0.5; }}" for v in names[1:])
    text += f"probability ( v0 | {' '.join(names[1:])} ) {{ default 0.5, 0.5; }}"
    with pytest.raises(
        BadFormat, match=r"the table of 'v0' has 1,099,511,627,776 cells; at most 134,217,728 are read"
    ):
        parse_bif(text)


@example(0, "")
@given(st.integers(0, len(LAWN) - 1), st.text(alphabet='{}()[];,|"/*\\ \n\r0a', max_size=3))
def test_a_damaged_text_is_read_or_refused_with_its_place(start, patch):
    text = LAWN[:start] + patch + LAWN[start + 1 :]
    try:
        network = parse_bif(text)
    except BadFormat as error:
        place = re.match(r"<text>:(\d+):(\d+): .", str(error))
        assert place is not None
        line, column = map(int, place.groups())
        assert 1 <= line <= len(text) + 1
        assert column >= 1
    else:
        assert parse_bif(bif_text(network)) == network


@given(st.integers(0, len(LAWN)))
def test_a_text_cut_short_is_refused(length):
    if length >= len(LAWN) - 1:  # only the last line's end is lost
        assert parse_bif(LAWN[:length]) == EXPECTED
    elif LAWN[:length].rstrip() == "network lawn {\n}":
        assert len(parse_bif(LAWN[:length]).structure) == 0
    else:
        with pytest.raises(BadFormat):
            parse_bif(LAWN[:length])


def test_a_property_without_end_is_named():
    with pytest.raises(BadFormat, match=re.escape("<text>:2:3: this property has no end: expected ';'")):
        parse_bif('network lawn {\n  property author = "L; S"\n}')
