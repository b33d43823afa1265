"""The Interchange Format: every form of it is read, and what is written is read again to the last bit."""

from __future__ import annotations

import gzip
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import BayesNet
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import canonical
from stream_bayes.errors import BadFormat
from stream_bayes.networks.files.bif import bif_text, parse_bif, read_bif, write_bif
from tests.networks.files.lawn_bif import EXPECTED, LAWN, ROWS, lawn_with, one_variable

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
    assert network.tables["lawn"].tolist() == parse_bif(LAWN).tables["lawn"].tolist()
    assert parse_bif(bif_text(network)) == network


def test_a_label_alone_in_its_variable_and_a_text_of_one_line_are_read():
    network = parse_bif(one_variable("only", 1, "1"))
    assert network.tables["x"].tolist() == [1.0]


def test_a_network_without_variables_is_read_and_written():
    network = parse_bif("network nothing { }")
    assert len(network.structure) == 0
    assert parse_bif(bif_text(network)) == network


# --- writing ----------------------------------------------------------------------------------------------------

some_text = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6)
some_value = st.one_of(
    some_text,
    st.sampled_from(["True", "1", "2.5", "b'a'", "('a', 1)"]),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=3),
    st.tuples(st.sampled_from(["a", 1, True])),
).map(canonical)
property_texts = st.text(alphabet='ab= ()"/*{}\n', max_size=6).map(str.strip)


@st.composite
def networks(draw):
    names = draw(st.lists(some_value, max_size=4, unique=True))
    structure = Structure(
        {v: draw(st.sets(st.sampled_from(names[:i]))) if i else [] for i, v in enumerate(names)}
    )
    states = {v: draw(st.lists(some_value, min_size=1, max_size=3, unique=True)) for v in names}
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


MIXED = DiscreteNetwork(
    Structure({1: [], ("a", "b"): [1], "1": [1]}),
    {1: [True, False, 2.5], ("a", "b"): ["1", 1, b"\xff", ("x", 0.5)], "1": ["yes"]},
    {
        1: [0.25, 0.25, 0.5],
        ("a", "b"): [[0.25, 0.75, 0.0, 0.0], [0.5, 0.25, 0.0, 0.25], [1.0, 0.0, 0.0, 0.0]],
        "1": [[1.0]] * 3,
    },
    properties_of={1: ["version 1"]},
)


def test_types_of_names_and_labels_survive_a_file():
    again = parse_bif(bif_text(MIXED))
    assert again == MIXED
    assert [tuple(map(type, labels)) for labels in again.states.values()] == [
        tuple(map(type, labels)) for labels in MIXED.states.values()
    ]
    assert list(map(type, again.structure.variables)) == list(map(type, MIXED.structure.variables))
    assert dict(again.properties_of) == {1: ("version 1",)}
    assert bif_text(again) == bif_text(MIXED)


def test_a_network_learned_from_booleans_answers_the_same_after_a_file(tmp_path):
    model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
    for rain, lawn in [(True, "wet"), (False, "dry"), (False, "wet"), (False, "dry")]:
        model.learn_one({"rain": rain, "lawn": lawn})
    write_bif(model, tmp_path / "lawn.bif")
    again = BayesNet.from_network(read_bif(tmp_path / "lawn.bif"), strength=0)
    again.learn_one({"rain": True, "lawn": "wet"})
    assert again.states == model.states
    assert again.log_likelihood_one({"rain": True, "lawn": "wet"}) > -3.0


@pytest.mark.parametrize(
    ("types", "complaint"),
    [
        ("bool", "expected 2 types"),
        ("bool int", "'False' is not of type int"),
        ("bool date", "types among str, quoted, bool"),
        ("float bool", "'True' is not of type float"),
        ("quoted bool", "'True' is not of type quoted"),
    ],
)
def test_a_record_of_types_that_does_not_fit_is_refused_with_its_position(types, complaint):
    text = one_variable("True, False").replace(
        "};", "}; property stream_bayes.label_types = " + types + ";", 1
    )
    with pytest.raises(BadFormat, match=rf"n.bif:1:\d+: .*{complaint}"):
        parse_bif(text, source="n.bif")


def test_labels_that_are_equal_by_their_types_are_refused():
    text = one_variable("True, 1").replace("};", "}; property stream_bayes.label_types = bool int;", 1)
    with pytest.raises(BadFormat, match=r"label (1|True) twice"):
        parse_bif(text)


def test_a_property_that_would_be_read_as_types_is_not_written():
    network = parse_bif(one_variable("a, b"))
    marked = DiscreteNetwork(
        network.structure,
        network.states,
        network.tables,
        properties_of={"x": ["stream_bayes.label_types = int int"]},
    )
    with pytest.raises(BadFormat, match="record of types"):
        bif_text(marked)


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
    # No time: the same network makes the same file.
    assert not name.endswith(".gz") or before[4:8] == bytes(4)


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
    with pytest.raises(BadFormat, match=r"compressed by gzip|cut off"):
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
