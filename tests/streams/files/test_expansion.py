"""Files expand within bounds: each part is bounded while it expands, and refused by name with what to do."""

from __future__ import annotations

import bz2
import io
import lzma
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow
import pytest
from pyarrow import parquet

from stream_bayes import decompression, streams
from stream_bayes.core.events.event import BadRecord
from stream_bayes.errors import SchemaError, SourceError
from stream_bayes.streams.byte_files import avro_blocks, parquet_pages, spreadsheets
from stream_bayes.streams.byte_files.avro_blocks import plain_container
from stream_bayes.streams.files import table_profile
from stream_bayes.streams.files.table_profile import profile_of, typed_profiles
from tests.streams.files.reading import whole

MANY = 24_000_000  # bytes that a small file claims to hold


def read(path: Path) -> int:
    source = streams.from_file(path)
    try:
        return len(whole(source))
    finally:
        source.close()


def long_number(value: int) -> bytes:
    found = io.BytesIO()
    fastavro.schemaless_writer(found, "long", value)
    return found.getvalue()


def container(codec: str, data: bytes, count: int = 1, size: int | None = None) -> bytes:
    """Return an Avro file of one block, whatever it holds."""
    file = io.BytesIO()
    schema = {"type": "record", "name": "Day", "fields": [{"name": "sky", "type": "string"}]}
    fastavro.writer(file, schema, [], codec="null")
    head = file.getvalue().replace(b"\x08null", long_number(len(codec)) + codec.encode())
    block = long_number(count) + long_number(len(data) if size is None else size) + data
    return head + block + head[-16:]


def text(value: bytes) -> bytes:
    return long_number(len(value)) + value


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def snappy(data: bytes) -> bytes:
    return pyarrow.compress(data, "snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big")


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": deflated,
    "snappy": snappy,
    "zstandard": lambda data: pyarrow.compress(data, "zstd", asbytes=True),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("codec", CODECS)
def test_a_block_of_avro_is_bounded_in_each_codec(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "days.avro"
    path.write_bytes(container(codec, CODECS[codec](text(b"grey"))))
    assert read(path) == 1
    path.write_bytes(container(codec, CODECS[codec](text(bytes(200_000)))))
    monkeypatch.setattr(avro_blocks, "MOST_BLOCK", 100_000)
    with pytest.raises(SourceError, match=r"days\.avro .* after 0 records: .*100,000 bytes.*smaller blocks"):
        read(path)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (container("null", b"", size=1 << 60), "a block of at most"),
        (container("null", text(b"grey"), count=1 << 60), "at most a record a byte"),
        (container("lz4", b"x"), "expected one of the codecs null, deflate"),
        (b"Obj\x01" + long_number(1) + long_number(1 << 60), "metadata of at most"),
        (b"Obj\x01" + b"\xff" * 12, "at most 64 bits"),
    ],
)
def test_what_an_avro_file_claims_is_checked_before_it_is_read(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "days.avro"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=fault):
        read(path)


def test_one_object_of_any_size_is_judged_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "days.jsonl"
    lists, cells = b"[]," * 1_000_000, b",".join(b'"%d":0' % number for number in range(300_000))
    for content, is_table in (
        (b'{"a":[' + lists + b"0]}", False),
        (b'{"sky":{' + cells + b"}}", True),
        (b'{\n "sky": {' + cells.replace(b",", b",\n ") + b"}}\n", True),
        (b'{"columns":["a"],"data":[' + lists + b"[]]}", True),
        (b'{"sky":{' + cells + b'}}\n{"sky": 1}\n', False),
    ):
        path.write_bytes(content)
        tracemalloc.start()
        if is_table:
            with pytest.raises(SourceError, match="one object that is the whole file"):
                streams.from_file(path).poll(10)
        else:
            source = streams.from_file(path)
            first, *others = whole(source)
            assert isinstance(first, BadRecord) and first.reason == "too_long"
            assert len(others) == content.count(b"\n{")
            source.close()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 15_000_000, content[:30]  # a million lists would be 60 MB


def test_lists_in_a_record_of_avro_are_passed_over_and_never_built(tmp_path: Path) -> None:
    flag = {"type": "record", "name": "Flag", "fields": [{"name": "on", "type": "boolean"}]}
    schema = {
        "type": "record",
        "name": "Day",
        "fields": [
            {"name": "flags", "type": ["null", {"type": "array", "items": flag}]},
            {"name": "sky", "type": "string"},
            {"name": "flag", "type": "Flag"},  # defined within the field that is passed over
        ],
    }
    file = io.BytesIO()
    fastavro.writer(file, schema, [], codec="deflate")
    head, many = file.getvalue(), 300_000
    block = deflated(long_number(1) + long_number(many) + b"\1" * many + b"\0" + text(b"grey") + b"\1")
    path = tmp_path / "days.avro"
    path.write_bytes(head + long_number(1) + long_number(len(block)) + block + head[-16:])
    tracemalloc.start()
    source = streams.from_file(path, ignore=["flags"])
    (record,) = source.poll(10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    source.close()
    assert record.x == {"sky": "grey", "flag.on": True}  # type: ignore[union-attr]  # an event
    assert peak < 5_000_000  # each flag would be a dict of 200 bytes


def test_a_page_of_parquet_is_refused_by_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "days.parquet"
    table = pyarrow.table(
        {"n": list(range(50_000)), "sky": ["grey", "blue"] * 25_000, "y": [True, False] * 25_000}
    )
    parquet.write_table(table, path, compression="zstd", data_page_size=1 << 12, row_group_size=20_000)
    assert read(path) == 50_000
    monkeypatch.setattr(parquet_pages, "MOST_PAGE", 1000)
    with pytest.raises(
        SourceError, match=r"after 0 rows .*'n': expected pages of at most 1,000 bytes.*smaller pages"
    ):
        read(path)
    fixed = pyarrow.table({"code": pyarrow.array([b"ab"], pyarrow.binary(2)), "y": ["a"]})
    parquet.write_table(fixed, path)
    monkeypatch.setattr(parquet_pages, "MOST_FIXED", 1)
    with pytest.raises(SourceError, match="'code': expected values of at most 1 bytes, got 2"):
        read(path)


def test_a_long_text_that_recurs_in_parquet_is_in_memory_once(tmp_path: Path) -> None:
    path = tmp_path / "days.parquet"
    parquet.write_table(pyarrow.table({"note": ["x" * 100_000] * 4096, "y": ["a"] * 4096}), path)
    source = streams.from_file(path, target="y")
    before = pyarrow.total_allocated_bytes()
    records = source.poll(4096)
    assert pyarrow.total_allocated_bytes() - before < 10_000_000  # 400 MB if each row had its text
    assert len({id(record.x["note"]) for record in records}) == 1  # type: ignore[union-attr]  # events
    source.close()


@pytest.mark.parametrize(
    ("encoding", "version", "packing"),
    [
        ("DELTA_BYTE_ARRAY", "1.0", "zstd"),
        ("DELTA_BYTE_ARRAY", "2.0", "lz4"),
        ("DELTA_LENGTH_BYTE_ARRAY", "2.0", "snappy"),
    ],
)
def test_texts_of_parquet_apart_from_their_lengths_are_read_within_bounds(
    encoding: str, version: str, packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "days.parquet"
    notes = [None if number % 7 == 0 else "x" * 1000 + str(number) for number in range(4096)]
    parquet.write_table(
        pyarrow.table({"note": notes, "y": ["a"] * 4096}),
        path,
        compression=packing,
        data_page_version=version,
        use_dictionary=False,
        column_encoding={"note": encoding, "y": "PLAIN"},
    )
    source = streams.from_file(path, target="y")
    records = source.poll(4096)
    source.close()
    assert [record.x.get("note") for record in records] == notes  # type: ignore[union-attr]  # events
    is_shared = encoding == "DELTA_BYTE_ARRAY"  # a page of some kilobytes is 4 MB of texts
    monkeypatch.setattr(
        parquet_pages, "MOST_PAGE" if is_shared else "MOST_TEXTS", 1_000_000 if is_shared else 1000
    )
    with pytest.raises(SourceError, match="put together; write" if is_shared else "1,000 texts, got one of"):
        read(path)


def workbook(path: Path, sheet: str) -> Path:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{relations}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{space}" xmlns:r="{relations}"><sheets><sheet name="Data" sheetId="1" r:id="r1"/>'
            "</sheets></workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{relations}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{space}"><sheetData>{sheet}</sheetData></worksheet>',
        )
    return path


def ods(path: Path, table: str) -> Path:
    names = {
        each: f"urn:oasis:names:tc:opendocument:xmlns:{each}:1.0" for each in ("office", "table", "text")
    }
    spaces = " ".join(f'xmlns:{each}="{name}"' for each, name in names.items())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="Data">{table}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return path


NUMBER = '<c r="{}"><v>1</v></c>'
ODS_CELL = (
    '<table:table-cell{} office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell>'
)
BOMBS: dict[str, Callable[[Path], Path]] = {
    # Two cells far apart: the sheet between them has 17 billion.
    "corners": lambda path: workbook(
        path, f'<row r="1">{NUMBER.format("A1")}</row><row r="1048576">{NUMBER.format("XFD1048576")}</row>'
    ),
    "texts": lambda path: workbook(
        path,
        '<row r="1"><c r="A1" t="inlineStr"><is><t>' + "x" * MANY + "</t></is></c></row>",
    ),
    "repeated": lambda path: ods(
        path,
        f'<table:table-row table:number-rows-repeated="1048576">'
        f"{ODS_CELL.format(' table:number-columns-repeated=' + chr(34) + '16384' + chr(34))}</table:table-row>",
    ),
    "deep": lambda path: ods(path, "<table:table-row>" + "<table:table-cell>" * 1_000_000),
    "entities": lambda path: ods(path, "<table:table-row><table:table-cell><text:p>&a;&b;</text:p>"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_spreadsheet_expands_in_a_process_with_a_limit(
    bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("python_calamine")
    path = BOMBS[bomb](tmp_path / "days.xlsx")
    assert path.stat().st_size < 1_000_000
    monkeypatch.setattr(spreadsheets, "MOST_MEMORY", 80 << 20)
    with pytest.raises(SourceError, match=r"days\.xlsx cannot be read as a spreadsheet"):
        read(path)


def test_a_spreadsheet_beyond_the_limit_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("python_calamine")
    monkeypatch.setattr(spreadsheets, "MOST_MEMORY", 200 << 20)
    with pytest.raises(SourceError, match=r"at most 200 MiB of memory\. Save the sheet as CSV"):
        read(BOMBS["corners"](tmp_path / "days.xlsx"))


def test_a_table_of_too_many_columns_is_refused_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_profile, "MOST_COLUMNS", 3)
    path = tmp_path / "days.csv"
    path.write_text("a,b,c\n1,2,3\n")
    assert set(profile_of(path)) == {"a", "b", "c"}
    path.write_text("a,b,c,d\n1,2,3,4\n")
    for profiles in (lambda: profile_of(path), lambda: typed_profiles([{"a": 1, "b": 2}, {"c": 3, "d": 4}])):
        with pytest.raises(
            SchemaError, match="at most 3 columns whose kinds are inferred, got 4; keep those"
        ):
            profiles()


def test_xz_may_ask_for_a_dictionary_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "days.csv.xz"
    path.write_bytes(
        lzma.compress(b"sky,rain\ngrey,yes\n", preset=6) + lzma.compress(b"blue,no\n") + bytes(4)
    )
    assert read(path) == 2
    monkeypatch.setattr(decompression, "MOST_DICTIONARY", 1 << 20)
    with pytest.raises(
        SourceError, match="a dictionary of more than 1,048,576 bytes; compress it again by xz -9"
    ):
        read(path)


def test_a_zip_packed_by_lzma_is_refused_as_its_memory_has_no_bound(tmp_path: Path) -> None:
    path = tmp_path / "days.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("days.csv", "sky,rain\ngrey,yes\n")
    with pytest.raises(SourceError, match=r"days\.csv is packed by LZMA; unpack it"):
        read(path)


READER = """
import sys
from stream_bayes import streams
for path in sys.argv[1:]:
    source, records = streams.from_file(path, target="rain"), []
    try:
        while True:
            records += source.poll(1000)
    except Exception as error:
        if type(error).__name__ != "Exhausted":
            raise
    assert [type(record).__name__ for record in records] == ["Event", "BadRecord", "Event"], (path, records)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read there")
def test_a_cell_of_any_length_is_one_bad_record_in_bounded_memory_however_it_is_packed(
    tmp_path: Path,
) -> None:
    content = b"sky,rain\ngrey,yes\n" + b"x" * MANY + b",no\nblue,no\n"
    packed = {
        "gz": pyarrow.compress(content, "gzip", asbytes=True),
        "zst": pyarrow.compress(content, "zstd", asbytes=True),
        "bz2": bz2.compress(content, 1),
        "xz": lzma.compress(content, preset=0),
    }
    paths = [tmp_path / f"days.csv.{packing}" for packing in (*packed, "zip")]
    for path, data in zip(paths, packed.values(), strict=False):
        path.write_bytes(data)
    with zipfile.ZipFile(paths[-1], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("days.csv", content)
    run = subprocess.run(
        [sys.executable, "-c", READER, *map(str, paths)], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 160  # MiB, of which the packages take 130


def test_a_container_that_is_not_compressed_is_given_on_as_it_is() -> None:
    content = container("null", text(b"grey"))
    assert list(fastavro.reader(plain_container(io.BytesIO(content)))) == [{"sky": "grey"}]  # type: ignore[arg-type]  # it reads as a file does
