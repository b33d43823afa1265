"""The Interchange Format: every form of it is read, and what is written is read again to the last bit."""

from __future__ import annotations

import gzip
import itertools
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_bayes.core.network import DiscreteNetwork
from stream_bayes.core.structure import Structure
from stream_bayes.errors import BadFormat
from stream_bayes.formats.bif import bif_text, parse_bif, read_bif, write_bif

LAWN = """\
network lawn {
}
variable rain {
  type discrete [ 2 ] { yes, no };
}
variable sprinkler {
  type discrete [ 3 ] { off, low, high };
}
variable lawn {
  type discrete [ 2 ] { wet, dry };
}
probability ( rain ) {
  table 0.2, 0.8;
}
probability ( sprinkler ) {
  table 0.5, 0.25, 0.25;
}
probability ( lawn | sprinkler, rain ) {
  (off, yes) 0.9, 0.1;
  (low, yes) 0.95, 0.05;
  (high, yes) 0.99, 0.01;
  (off, no) 0.01, 0.99;
  (low, no) 0.7, 0.3;
  (high, no) 0.8, 0.2;
}
"""
EXPECTED = DiscreteNetwork(
    Structure({"rain": [], "sprinkler": [], "lawn": ["rain", "sprinkler"]}),
    {"rain": ["yes", "no"], "sprinkler": ["off", "low", "high"], "lawn": ["wet", "dry"]},
    {
        "rain": [0.2, 0.8],
        "sprinkler": [0.5, 0.25, 0.25],
        "lawn": [
            [[0.9, 0.1], [0.95, 0.05], [0.99, 0.01]],
            [[0.01, 0.99], [0.7, 0.3], [0.8, 0.2]],
        ],
    },
    name="lawn",
)
ROWS = LAWN[LAWN.index("  (off, yes)") : LAWN.rindex("}")]


def lawn_with(old: str, new: str) -> str:
    """The example with one place changed."""
    assert LAWN.count(old) == 1
    return LAWN.replace(old, new)


def one_variable(labels: str, count: int = 2, numbers: str = "0.5, 0.5") -> str:
    return (
        f"network n {{ }} variable x {{ type discrete [ {count} ] {{ {labels} }}; }} "
        f"probability ( x ) {{ table {numbers}; }}"
    )


# --- every form -------------------------------------------------------------------------------------------------


def test_rows_are_read_in_any_order_of_rows_and_parents():
    assert parse_bif(LAWN) == EXPECTED
    lines = ROWS.splitlines(keepends=True)
    assert parse_bif(lawn_with(ROWS, "".join(reversed(lines)))) == EXPECTED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("network lawn {\n}", 'network "lawn" {}'),
        ("network lawn {\n}", "/* by hand,\n by me */ network lawn { // nothing\n}"),
        ("(off, no) 0.01, 0.99;", "(off, no) 0.01, /* rare */ 0.99; // dry"),
        ("(off, no) 0.01, 0.99;", "(/* never */ off, no /* rain */) 0.01, 0.99; /**/ /* // */"),
        ("(off, no) 0.01, 0.99;", "( off no ) 0.01 0.99 ;"),
        ("(off, no) 0.01, 0.99;", "(off,no)0.01,0.99;"),
        ("(off, no) 0.01, 0.99;", "(off, no)\n\n   0.01,\n   0.99\n;"),
        ("(off, no) 0.01, 0.99;", '("off", "no") 0.01, 0.99;'),
        ("(off, no) 0.01, 0.99;", "(off, no) 1e-2, 9.9E-01;"),
        ("(off, no) 0.01, 0.99;", "(off, no) +1.0E-002 .99e+0;"),
        ("(off, no) 0.01, 0.99;", "default 0.01, 0.99;"),
        ("table 0.2, 0.8;", "table 0.2 0.8;"),
        ("table 0.2, 0.8;", "default 0.2, 0.8;"),
        ("table 0.2, 0.8;", "() 0.2, 0.8;"),
        ("table 0.2, 0.8;", "table .2, 8e-1;"),
        (ROWS, "table 0.9 0.01 0.95 0.7 0.99 0.8 0.1 0.99 0.05 0.3 0.01 0.2;"),
        (ROWS, ROWS.replace("  (low, no) 0.7, 0.3;\n", "") + "default 0.7, 0.3;"),
        (ROWS, "default 0.7, 0.3;" + ROWS.replace("  (low, no) 0.7, 0.3;\n", "")),
        ("probability ( lawn | sprinkler, rain )", "probability(lawn|sprinkler rain)"),
        ("probability ( lawn | sprinkler, rain )", "probability ( lawn sprinkler rain )"),
        ("probability ( lawn | sprinkler, rain )", 'probability ( "lawn" | "sprinkler", "rain" )'),
        ("variable rain {", 'variable "rain"\n{'),
        ("type discrete [ 2 ] { yes, no };", "type discrete[2]{yes no};"),
        ("type discrete [ 2 ] { yes, no };", 'type discrete [ 2 ] { "yes", "no" };'),
    ],
)
def test_every_way_to_write_the_same_is_read_the_same(old, new):
    assert parse_bif(lawn_with(old, new)) == EXPECTED


def test_blocks_come_in_any_order():
    blocks = re.findall(r"^\w.*?^}\n", LAWN, re.DOTALL | re.MULTILINE)
    assert "".join(blocks) == LAWN
    for some in itertools.islice(itertools.permutations(blocks), 0, None, 37):
        assert parse_bif("".join(some)) == EXPECTED


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_any_line_ends_and_a_byte_order_mark_are_read(end):
    assert parse_bif("\ufeff" + LAWN.replace("\n", end)) == EXPECTED


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("<5, 5-12, 12+", ["<5", "5-12", "12+"]),
        ("<7.5, >=7.5", ["<7.5", ">=7.5"]),
        ("Asy/Patchy, Transp., Grp.~1", ["Asy/Patchy", "Transp.", "Grp.~1"]),
        ("0-3_days, 4-10_days", ["0-3_days", "4-10_days"]),
        ("1, 2, 3.5, -1", ["1", "2", "3.5", "-1"]),
        ("100%, 'a', $, #", ["100%", "'a'", "$", "#"]),
        ("default, table, type, property", ["default", "table", "type", "property"]),
        ('"a, b", "c;d", "e}", "f//g", "h i", "(j)"', ["a, b", "c;d", "e}", "f//g", "h i", "(j)"]),
        ('"}", ",", ")", ";"', ["}", ",", ")", ";"]),
        (r'"say \"hi\"", "C:\new", "back\\slash", ""', ['say "hi"', r"C:\new", r"back\slash", ""]),
        ("äß, 日本", ["äß", "日本"]),
        ("a/b, /, a/ ", ["a/b", "/", "a/"]),
    ],
)
def test_labels_of_every_kind_are_read(written, labels):
    numbers = (
        " ".join(["0.25"] * 4) if len(labels) == 4 else " ".join(map(repr, [1.0, *[0.0] * (len(labels) - 1)]))
    )
    network = parse_bif(one_variable(written, len(labels), numbers))
    assert network.states["x"] == tuple(labels)
    assert parse_bif(bif_text(network)) == network


def test_words_of_the_format_can_be_names():
    text = LAWN
    for name, word in (("rain", "variable"), ("sprinkler", "probability"), ("lawn", "network")):
        text = re.sub(rf"\b{name}\b", word, text)
    text = text.replace("off", "table").replace("yes", "default")
    network = parse_bif(text)
    assert network.structure.parents("network") == ("probability", "variable")
    assert network.probability("network", "wet", {"probability": "table", "variable": "default"}) == 0.9
    assert parse_bif(bif_text(network)) == network


def test_properties_are_kept_where_they_stood():
    text = (
        LAWN.replace("network lawn {", 'network lawn {\n property author = "L; S" ;\nproperty version 1.0;')
        .replace("variable rain {", "variable rain { property position = (73, 165);")
        .replace("(low, no)", "property source { http://weather };\n(low, no)")
        .replace(
            "{ off, low, high };\n", '{ off, low, high };\n property size 5";\n property // no comment ;'
        )
    )
    network = parse_bif(text)
    assert network.properties == ('author = "L; S"', "version 1.0")
    assert dict(network.properties_of) == {
        "rain": ("position = (73, 165)",),
        "sprinkler": ('size 5"', "// no comment"),
        "lawn": ("source { http://weather }",),
    }
    assert network.tables["lawn"].tolist() == EXPECTED.tables["lawn"].tolist()
    assert parse_bif(bif_text(network)) == network


def test_a_label_alone_in_its_variable_and_a_text_of_one_line_are_read():
    network = parse_bif(one_variable("only", 1, "1"))
    assert network.tables["x"].tolist() == [1.0]


def test_a_network_without_variables_is_read_and_written():
    network = parse_bif("network nothing { }")
    assert len(network.structure) == 0
    assert parse_bif(bif_text(network)) == network


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
    text = lawn_with("table 0.5, 0.25, 0.25;", "table 0.333, 0.333, 0.333;")
    with pytest.raises(BadFormat, match=r"15|16:3: .*sum to 0\.999, which is not 1 to within 1e-06"):
        parse_bif(text)
    network = parse_bif(text, tolerance=0.01)
    assert network.tables["sprinkler"].tolist() == [0.333] * 3
    assert parse_bif(bif_text(network), tolerance=0.01) == network


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
        line, column = map(int, re.match(r"<text>:(\d+):(\d+): .", str(error)).groups())  # type: ignore[union-attr]
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


# --- writing ----------------------------------------------------------------------------------------------------

some_text = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6)
property_texts = st.text(alphabet='ab= ()"/*{}\n', max_size=6).map(str.strip)


@st.composite
def networks(draw):
    names = draw(st.lists(some_text, max_size=4, unique=True))
    structure = Structure(
        {v: draw(st.sets(st.sampled_from(names[:i]))) if i else [] for i, v in enumerate(names)}
    )
    states = {v: draw(st.lists(some_text, min_size=1, max_size=3, unique=True)) for v in names}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = {}
    for v in names:
        shape = [len(states[u]) for u in (*structure.parents(v), v)]
        table = rng.random(shape) ** rng.integers(1, 40)
        tables[v] = table / table.sum(axis=-1, keepdims=True)
    return DiscreteNetwork(
        structure,
        states,
        tables,
        name=draw(some_text),
        properties=draw(st.lists(property_texts, max_size=2)),
        properties_of={v: draw(st.lists(property_texts, max_size=2)) for v in names},
    )


@given(networks())
def test_what_is_written_is_read_again_to_the_last_bit(network):
    text = bif_text(network)
    again = parse_bif(text)
    assert again == network
    assert bif_text(again) == text


def test_the_text_is_the_plain_form_that_other_tools_write():
    by_name = LAWN.replace("| sprinkler, rain", "| rain, sprinkler")
    by_name = re.sub(r"\((\w+), (\w+)\) 0", r"(\2, \1) 0", by_name)
    blocks = re.findall(r"^\w.*?^}\n", by_name, re.DOTALL | re.MULTILINE)
    assert bif_text(EXPECTED) == "".join([blocks[i] for i in (0, 3, 1, 2, 6, 4, 5)])


def test_names_and_labels_that_are_no_strings_are_written_as_they_read():
    network = DiscreteNetwork(
        Structure({1: [], ("a", "b"): [1]}),
        {1: [True, False, 2.5], ("a", "b"): ["1", 1]},
        {1: [0.25, 0.25, 0.5], ("a", "b"): [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]},
    )
    again = parse_bif(bif_text(network))
    assert again.structure == Structure({"1": [], "('a', 'b')": ["1"]})
    assert again.states["1"] == ("True", "False", "2.5")
    assert again.states["('a', 'b')"] == ("'1'", "1")
    assert again.tables["('a', 'b')"].tolist() == [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]


@pytest.mark.parametrize("bad", ["two\nlines", "a\rb", "\ud800"])
@pytest.mark.parametrize("place", ["network", "variable", "label"])
def test_a_name_that_no_file_can_hold_is_refused(place, bad):
    variable, label = (bad if place == which else "x" for which in ("variable", "label"))
    network = DiscreteNetwork(
        Structure({variable: []}),
        {variable: [label]},
        {variable: [1.0]},
        name=bad if place == "network" else "n",
    )
    with pytest.raises(BadFormat, match="BIF cannot hold the name"):
        bif_text(network)


@pytest.mark.parametrize("bad", ["a; b", " a", "a ", "\ud800", 'a"\n;"'])
def test_a_property_that_would_not_be_read_again_is_refused(bad):
    network = DiscreteNetwork(Structure({}), {}, {}, properties=[bad])
    with pytest.raises(BadFormat, match="BIF cannot hold the property"):
        bif_text(network)


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lawn.bif", "lawn.bif.gz"])
def test_a_file_gives_the_network_back(tmp_path, name):
    path = tmp_path / name
    write_bif(EXPECTED, path)
    assert read_bif(path) == read_bif(str(path)) == EXPECTED
    before = path.read_bytes()
    assert (before[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert not name.endswith(".gz") or before[4:8] == bytes(
        4
    )  # no time: the same network makes the same file


def test_an_error_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "lawn.bif.gz"
    path.write_bytes(gzip.compress(lawn_with("0.99, 0.01;", "0.99, 0.01}").encode()))
    with pytest.raises(BadFormat, match=re.escape(f"{path}:21:25: expected a number or ';', got '}}'")):
        read_bif(path)


def test_a_file_in_another_encoding_is_refused_with_the_place(tmp_path):
    path = tmp_path / "lawn.bif"
    path.write_bytes(LAWN.replace("low", "tröpfelnd", 1).encode("latin-1"))
    with pytest.raises(
        BadFormat, match=re.escape(f"{path}:7:32: expected UTF-8, got the byte 0xf6; convert")
    ):
        read_bif(path)


@pytest.mark.parametrize(
    "data", [b"network", gzip.compress(LAWN.encode())[:-10], b"\x1f\x8b\x08\x00garbage garbage"]
)
def test_a_damaged_compressed_file_is_refused(tmp_path, data):
    path = tmp_path / "lawn.bif.gz"
    path.write_bytes(data)
    with pytest.raises(BadFormat, match="expected a file compressed by gzip"):
        read_bif(path)


def test_a_file_that_is_not_there_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_bif(tmp_path / "lawn.bif")


def test_a_network_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "lawn.bif"
    write_bif(EXPECTED, path)
    with pytest.raises(BadFormat):
        write_bif(DiscreteNetwork(Structure({"\n": []}), {"\n": ["x"]}, {"\n": [1.0]}), path)
    assert read_bif(path) == EXPECTED
