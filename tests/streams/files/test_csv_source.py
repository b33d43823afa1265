"""CSV files, whatever stands in them: what was written is read, and what is wrong is told, row by row."""

from __future__ import annotations

import csv
import gzip
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.event import BadRecord, Event, Kind, Partition
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import Exhausted, SchemaError, SourceError
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.table_profile import inferred_schema
from stream_bayes.streams.records.fields import Fields
from tests.streams.files.reading import continued, csv_text, events, whole

RAIN = Fields(target="rain")


def written(directory: Path, text: str | bytes, name: str = "days.csv") -> Path:
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path: Path, *arguments, **settings):
    source = CSVSource(path, *arguments, **settings)
    try:
        return whole(source)
    finally:
        source.close()


def iterated(source):
    while True:
        try:
            yield from source.poll(100)
        except Exhausted:
            return


def reasons(records):
    return [record.reason if isinstance(record, BadRecord) else None for record in records]


CELLS = st.text(alphabet=st.sampled_from('ab,;"\r\n\t éß€🌧﻿\x85 '), max_size=6)


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    newline=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";", "\t"]),
    block_bytes=st.integers(1, 40),
    limit=st.integers(1, 4),
    data=st.data(),
)
def test_what_the_csv_module_writes_is_read_back_in_any_blocks_and_from_any_event(
    tmp_path_factory, rows, quoting, newline, delimiter, block_bytes, limit, data
):
    if newline == "\n":
        # Older versions of the module leave "\r" without quotes then, and cannot read it back.
        rows = [[cell.replace("\r", "r") for cell in row] for row in rows]
    text = csv_text([["a", "b"], *rows], quoting=quoting, lineterminator=newline, delimiter=delimiter)
    path = written(tmp_path_factory.mktemp("csv"), text)

    def source(block=block_bytes):
        return CSVSource(path, delimiter=delimiter, missing=[], block_bytes=block)

    opened = source()
    records = whole(opened, [limit])
    opened.close()
    assert [[*x.values()] for x, _ in events(records)] == rows
    assert sum(record.length for record in records) == (path.stat().st_size if rows else 0)
    at_once = source(10**6)
    assert whole(at_once) == records
    at_once.close()
    if records:
        number = data.draw(st.integers(0, len(records) - 1))
        assert continued(source, records[number]) == records[number:]


# Bytes that the csv module would never write: what they mean must not depend on how they are read.
BYTES = st.lists(
    st.sampled_from(
        [b'"', b",", b"\n", b"\r\n", b"\r", b"a", b"1", b"x,y\n", b"\xff", "é".encode(), b"\0", b'"a"']
    ),
    max_size=40,
).map(b"".join)


@given(
    content=BYTES,
    block_bytes=st.integers(1, 30),
    limit=st.integers(3, 40),
    numeric=st.booleans(),
    data=st.data(),
)
def test_no_bytes_whatsoever_stop_the_stream_and_blocks_do_not_matter(
    tmp_path_factory, content, block_bytes, limit, numeric, data
):
    path = written(tmp_path_factory.mktemp("csv"), content)
    schema = Schema({"a": Numeric(), "b": Nominal()}) if numeric else None

    def source(block=block_bytes):
        return CSVSource(path, schema=schema, columns=["a", "b"], max_record_bytes=limit, block_bytes=block)

    records = whole(opened := source())
    opened.close()
    at_once = source(10**6)
    assert whole(at_once) == records
    at_once.close()
    if records:
        assert records[0].position == 0
        number = data.draw(st.integers(0, len(records) - 1))
        assert continued(source, records[number]) == records[number:]


def test_rows_without_quotes_and_rows_with_them_mean_the_same(tmp_path):
    rows = [["a", "b", "rain"], *[[f"v{n % 3}", str(n % 2), f"y{n % 2}"] for n in range(500)]]
    plain = read(written(tmp_path, csv_text(rows, lineterminator="\n")), RAIN)
    quoted = read(written(tmp_path, csv_text(rows, quoting=csv.QUOTE_ALL)), RAIN)
    assert events(plain) == events(quoted)
    assert events(plain)[4] == ({"a": "v1", "b": "0"}, "y0")


def test_cells_become_what_their_columns_are_declared_as(tmp_path):
    path = written(tmp_path, "n,flag,size,more,rain\n1,true,-1.5e3,x,2\n7,False,,x,3\n?,?,?,?,?\n")
    schema = Schema({"n": [1, 2], "flag": [True, False], "size": Numeric()}, classes=[2, 3], target="rain")
    found = events(read(path, schema=schema, missing=["", "?"]))
    assert found == [
        ({"n": 1, "flag": True, "size": -1500.0}, 2),
        ({"n": "7", "flag": False, "size": None}, 3),
        ({"n": None, "flag": None, "size": None}, None),
    ]
    assert type(found[0][0]["flag"]) is bool and type(found[0][0]["n"]) is int


def test_roles_are_taken_from_their_columns(tmp_path):
    path = written(
        tmp_path,
        "id,at,w,what,a,rain\n"
        "k1,1970-01-01T00:00:10Z,2,sample,x,yes\n"
        "k2,20,,,y,\n"
        "k2,30,,label,,no\n"
        "k1,,,tombstone,,no\n",
    )
    fields = Fields(target="rain", key="id", time="at", weight="w", kind="what")
    place = Partition("days.csv")
    assert [(e.x, e.y, e.key, e.time, e.weight, e.kind, e.partition) for e in read(path, fields)] == [
        ({"a": "x"}, "yes", "k1", 10.0, 2.0, Kind.SAMPLE, place),
        ({"a": "y"}, None, "k2", 20.0, 1.0, Kind.SAMPLE, place),
        ({}, "no", "k2", 30.0, 1.0, Kind.LABEL, place),
        ({}, None, "k1", None, 1.0, Kind.TOMBSTONE, place),
    ]


def test_a_bad_row_is_told_by_column_type_and_size_and_the_others_are_events(tmp_path):
    path = written(
        tmp_path,
        b'a,size,rain\nx,1,y\nx,s3cret,y\nx,y\nx,1,y,z\nx\xff,1,y\n"x"\r"y",1,y\nx,nan,y\nx,1_0,y\nx,2,y\n',
    )
    records = read(path, RAIN, Schema({"a": Nominal(), "size": Numeric()}))
    bad = [record for record in records if isinstance(record, BadRecord)]
    assert [(record.reason, record.detail) for record in bad] == [
        ("wrong_type", "column 'size': expected a number, got text of 6 characters"),
        ("ragged", "expected 3 cells, got 2"),
        ("ragged", "expected 3 cells, got 4"),
        ("not_utf8", "expected UTF-8, got other bytes; if the file is in Latin-1: iconv -f latin1 -t utf-8"),
        ("not_csv", bad[4].detail),
        ("wrong_type", "column 'size': expected a number, got text of 3 characters"),
        ("wrong_type", "column 'size': expected a number, got text of 3 characters"),
    ]
    assert bad[0].raw == b"x,s3cret,y" and bad[3].raw == b"x\xff,1,y"
    assert events([record for record in records if isinstance(record, Event)]) == [
        ({"a": "x", "size": 1.0}, "y"),
        ({"a": "x", "size": 2.0}, "y"),
    ]


def test_a_required_column_must_hold_a_value(tmp_path):
    path = written(tmp_path, "id,a\n1,x\n,x\n2,x\n")
    records = read(path, Fields(key="id", required=["id"]))
    assert reasons(records) == [None, "missing_field", None]
    assert records[1].detail == "expected a value in the column 'id'"


def test_a_quote_that_is_never_closed_costs_one_line_and_not_the_file(tmp_path):
    path = written(tmp_path, 'a,b\n1,"2\n' + "3,4\n" * 1000 + '5,"6\n')
    records = read(path, max_record_bytes=100)
    assert reasons(records) == ["unclosed_quote", *[None] * 1000, "unclosed_quote"]
    assert records[0].raw == b'1,"2'
    assert records[0].detail == "expected a quote to be closed within 100 bytes, and it is not"


def test_a_file_in_which_every_line_leaves_a_quote_open_is_read_in_one_go(tmp_path):
    # A hundred million lines, were each looked at for each.
    path = written(tmp_path, "a,b\n" + 'a","b\n' * 30_000)
    records = read(path)
    assert reasons(records) == ["unclosed_quote"] * 30_000


@pytest.mark.parametrize("content", [b"x" * 10**6, b"x" * 999 + b"\n"], ids=["line", "lines"])
@pytest.mark.parametrize("opening", [b"", b'"'], ids=["plain", "quoted"])
def test_what_does_not_end_is_never_in_memory(tmp_path, content, opening):
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n1,2\n" + opening)
        for _ in range(10**7 // len(content)):
            file.write(content)
        file.write(b'\n3,4\n"5",6\n')
    source = CSVSource(path, max_record_bytes=10**4)
    first, last = None, None
    tracemalloc.start()
    try:
        for record in iterated(source):
            first, last = first or record, record
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
        source.close()
    assert isinstance(first, Event) and isinstance(last, Event)
    assert (first.x, last.x) == ({"a": "1", "b": "2"}, {"a": "5", "b": "6"})


def test_a_row_that_is_too_long_is_skipped_wherever_it_stands(tmp_path):
    long = "x" * 101
    path = written(tmp_path, f'a,b\n{long},1\n1,2\n"1\n{long}",2\n3,4\n{long},1')
    for block_bytes in (10, 100, 10000):
        records = read(path, max_record_bytes=100, block_bytes=block_bytes)
        assert reasons(records) == ["too_long", None, "unclosed_quote", "too_long", None, "too_long"]


def test_blank_lines_are_no_records(tmp_path):
    path = written(tmp_path, "\n\r\na,b\n\n\n1,2\n\r\n3,4\n\n")
    assert [x for x, _ in events(read(path))] == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbf" + "größe,b\n1,2".encode())
    assert events(read(path)) == [({"größe": "1", "b": "2"}, None)]


def test_a_compressed_file_is_read_like_the_file_in_it_whatever_its_name(tmp_path):
    text = csv_text([["a", "rain"], *[[str(n), "yes"] for n in range(5000)]])
    plain = written(tmp_path, text)
    packed = written(tmp_path, gzip.compress(text.encode()), "packed")
    records = read(packed, RAIN, name="days.csv")
    assert records == read(plain, RAIN)
    assert continued(lambda: CSVSource(packed, RAIN, name="days.csv"), records[4000]) == records[4000:]


def test_a_compressed_file_that_is_cut_ends_the_stream_with_an_error(tmp_path):
    packed = gzip.compress(os.urandom(50_000).hex().encode())
    path = written(tmp_path, b"a\n")
    path = written(tmp_path, packed[: len(packed) // 2])
    with pytest.raises(SourceError, match=r"days\.csv cannot be read past byte"):
        read(path, columns=["a"])


@pytest.mark.parametrize(
    ("text", "settings", "error", "message"),
    [
        ("", {}, SourceError, "expected a line with the columns' names, and the file is empty"),
        (
            "a,b,a\n",
            {},
            SchemaError,
            r"days\.csv: column names must be unique, but these are repeated: \['a'\]",
        ),
        (
            "a,b\n",
            {"fields": RAIN},
            SchemaError,
            r"target: there is no column 'rain'. There are \['a', 'b'\]",
        ),
        ("a,b\n", {"fields": Fields(ignore=["c"])}, SchemaError, "ignore: there is no column 'c'"),
        (
            "a,b\n",
            {"schema": Schema({"a": Nominal(), "c": Nominal()})},
            SchemaError,
            "schema: there is no column 'c'",
        ),
        (
            "a,b\n",
            {"schema": Schema({"a": Nominal()}, unknown="refuse")},
            SchemaError,
            r"does not declare \['b'\]",
        ),
        (b"\xff,b\n", {}, SourceError, "columns' names cannot be read: expected UTF-8"),
        ('a,"b\n', {}, SourceError, "columns' names cannot be read: expected a quote to be closed"),
        ("a" * 2000, {"max_record_bytes": 1000}, SourceError, "days.csv: .*1,000 bytes"),
        ("a,b\n", {"delimiter": ""}, SchemaError, "delimiter: expected one character"),
    ],
)
def test_a_file_that_cannot_be_read_as_asked_is_refused_before_the_first_event(
    tmp_path, text, settings, error, message
):
    path = written(tmp_path, text)
    with pytest.raises(error, match=message) as raised:
        CSVSource(path, **settings)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_or_no_file_is_refused(tmp_path):
    with pytest.raises(SourceError, match=r"no\.csv cannot be opened: No such file or directory"):
        CSVSource(tmp_path / "no.csv")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(SourceError, match=r"is not a regular file|Is a directory"):
            CSVSource(path)


def test_labels_may_be_missing_where_only_the_schema_names_the_target(tmp_path):
    schema = Schema({"a": Nominal()}, target="rain")
    assert events(read(written(tmp_path, "a\nx\n"), schema=schema)) == [({"a": "x"}, None)]
    assert events(read(written(tmp_path, "a,rain\nx,y\n"), schema=schema)) == [({"a": "x"}, "y")]


def test_a_file_of_other_length_or_content_is_not_gone_on_with(tmp_path):
    path = written(tmp_path, "a\nx\ny\nz\n")
    source = CSVSource(path)
    third = whole(source)[2]
    source.close()
    written(tmp_path, "a\nx\n")
    with pytest.raises(SourceError, match="ends after 4 bytes, but was read to byte 6 before"):
        continued(lambda: CSVSource(path), third)
    written(tmp_path, "a\nwxyz\nabc\n")
    with pytest.raises(SourceError, match="no record begins at byte 6"):
        continued(lambda: CSVSource(path), third)
    with pytest.raises(
        SourceError, match=r"the snapshot is of the source 'days.csv', and this one is 'other'"
    ):
        continued(lambda: CSVSource(path, name="other"), third)


def test_a_file_that_is_cut_while_it_is_read_is_noticed(tmp_path):
    path = written(tmp_path, "a\n" + "x\n" * 100)
    source = CSVSource(path, block_bytes=50)
    source.poll(1)
    os.truncate(path, 10)
    with pytest.raises(SourceError, match="was cut to 10 bytes while it was read"):
        whole(source)
    source.close()


def test_a_source_that_was_read_to_its_end_stays_there(tmp_path):
    source = CSVSource(written(tmp_path, "a\nx"))
    record = whole(source)[0]
    for _ in range(2):
        with pytest.raises(Exhausted, match=r"days\.csv has been read to its end"):
            source.poll(1)
    assert source.positions == {record.partition: 3}
    source.seek(source.positions)
    with pytest.raises(Exhausted):
        source.poll(1)
    source.seek({})
    assert whole(source) == [record]
    source.close()


# -- types that the first rows show -----------------------------------------------------------------------------------


def test_columns_of_numbers_are_numeric_and_all_others_nominal(tmp_path):
    path = written(tmp_path, "n,e,t,none,mixed,rain\n1,-1e3,x,,1,yes\n,2,y,,x,no\n")
    assert inferred_schema(path, RAIN) == Schema(
        {"n": Numeric(), "e": Numeric(), "t": Nominal(), "none": Nominal(), "mixed": Nominal()}, target="rain"
    )


def test_only_the_first_rows_are_looked_at(tmp_path):
    path = written(tmp_path, "a\n1\n2\nx\n")
    assert inferred_schema(path, rows=2) == Schema({"a": Numeric()})
    assert inferred_schema(path, rows=3) == Schema({"a": Nominal()})


def test_a_feature_with_the_targets_usual_name_is_refused(tmp_path):
    with pytest.raises(SchemaError, match="name the target, or rename the column"):
        inferred_schema(written(tmp_path, "a,class\n1,x\n"))
