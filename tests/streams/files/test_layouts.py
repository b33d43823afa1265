"""Tables as people store them: with titles, units, comments, no header, odd names, line ends, containers."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from stream_bayes import streams
from stream_bayes.core.events.event import Event
from stream_bayes.data.features import Numeric
from stream_bayes.errors import SourceError
from stream_bayes.streams.files.csv_delimiters import guessed_delimiter
from stream_bayes.streams.files.csv_format import guessed_format
from stream_bayes.streams.files.csv_layout import guessed_layout
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.table_profile import inferred_schema, profile_of
from stream_bayes.streams.records.fields import Fields
from tests.streams.files.reading import continued, whole

NAMES = ("colour", "size", "count", "label")
ROWS = [(("red", "green", "blue")[n % 3], n * 1.25, n % 7, "ab"[n % 2]) for n in range(60)]
CELLS = [[colour, f"{size:.2f}", str(count), label] for colour, size, count, label in ROWS]
BODY = "".join(",".join(row) + "\n" for row in CELLS)
HEADER = ",".join(NAMES) + "\n"
NUMBERED = ("c1", "c2", "c3", "c4")
HEADLESS = "the first line looks like data, so the columns are called c1 to c4"
TITLES = "2 lines before the table were skipped: 'Report'"

LAYOUTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "plain": (HEADER + BODY, NAMES, ""),
    "no header": (BODY, NUMBERED, HEADLESS),
    "a first row with missing cells": ("?,,1,a\n" + BODY, NUMBERED, HEADLESS),
    "no header, decimal commas": (BODY.replace(",", ";").replace(".", ","), NUMBERED, HEADLESS),
    "blanks after commas": ((HEADER + BODY).replace(",", ", "), NAMES, ""),
    "quotes after blanks": (
        "".join(f'"{a}", {b}, {c}, "{d}"\n' for a, b, c, d in [NAMES, *CELLS]),
        NAMES,
        "",
    ),
    "single quotes": ("".join(f"'{a}',{b},{c},'{d}'\n" for a, b, c, d in [NAMES, *CELLS]), NAMES, ""),
    "a row of units": (
        HEADER + ",mm,n,\n" + BODY,
        NAMES,
        "1 row after the header was skipped, as of units: 'mm', 'n'",
    ),
    "titles": ("Report\n\n,of 2026\n" + HEADER + BODY, NAMES, TITLES),
    "titles in one cell": ("Report,,,\nof 2026,,,\n" + HEADER + BODY, NAMES, TITLES),
    "comment lines": ('# "made\n#by x, y\n' + HEADER + BODY + '# a, "pause\n' + BODY, NAMES, ""),
    "names in a comment": (
        "# x\n# " + HEADER + BODY,
        NAMES,
        "the names of the columns stand in a comment line",
    ),
    "a count of rows": (
        "60,3,a,b\n" + BODY,
        NUMBERED,
        "the first line counts the rows (60, 3); it was skipped",
    ),
    "a repeated name": (
        "colour,size,size,label\n" + BODY,
        ("colour", "size", "size.1", "label"),
        "1 repeated name of a column was numbered: 'size.1'",
    ),
    "a column without a name": (
        "colour,size,,label\n" + BODY,
        ("colour", "size", "c3", "label"),
        "1 column without a name was called 'c3'",
    ),
    "names of rows": (
        HEADER + "".join(f"r{n},{','.join(row)}\n" for n, row in enumerate(CELLS)),
        ("", *NAMES),
        "the header has no name for the first column",
    ),
    "names in two rows": (
        "colour,measured,,label\n,size,count,\n" + BODY,
        ("colour", "measured: size", "measured: count", "label"),
        "the names of the columns stand in two rows: 'measured: size', 'measured: count'",
    ),
    "names of answers below a question": (
        "colour,size,count,label\n,Response,Response,Response\n" + BODY,
        NAMES,
        "1 row after the header was skipped, as of units: 'Response', 'Response', 'Response'",
    ),
    "a first column without a name that is no index": (
        ",size,count,label\n" + BODY,
        ("c1", *NAMES[1:]),
        "the first column has no name and is no index of rows, for its values recur; it was called 'c1'",
    ),
    "a comma at the end": (HEADER + BODY.replace("\n", ",\n"), (*NAMES, "c5"), "no name for the last column"),
    "returns alone": ((HEADER + BODY).replace("\n", "\r"), NAMES, ""),
    "blanks and tabs": ("".join(f" {a}  {b:>8}\t{c} {d}\n" for a, b, c, d in CELLS), NUMBERED, HEADLESS),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_is_read_whatever_surrounds_it_and_from_any_record(tmp_path: Path, layout: str) -> None:
    text, names, guess = LAYOUTS[layout]
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    source = streams.from_csv(path)
    records = whole(source)
    events = [record for record in records if isinstance(record, Event)]
    assert source.columns == names and len(events) == len(records)
    said = "\n".join((*source.format.guesses, *source.notes))
    assert guess in said if guess else not said
    assert len(events) == {"a first row with missing cells": 61, "comment lines": 120}.get(layout, 60)
    assert [[*event.x.values()][:4] for event in events[-60:]] == [[*row] for row in ROWS]
    source.close()
    assert continued(lambda: streams.from_csv(path), records[31]) == records[31:]


@pytest.mark.parametrize("above", ["\n\n", ",,\n,,\n", "\n,,\n"])
def test_rows_of_blank_cells_above_the_header_are_skipped(tmp_path: Path, above: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(above + "name,size,colour\nAnn,1.5,red\nBob,2.5,blue\nEve,2,red\n")
    with closing(CSVSource(path, form=guessed_format(path))) as source:
        assert list(source.columns) == ["name", "size", "colour"]
        assert [event.x["name"] for event in whole(source) if isinstance(event, Event)] == [
            "Ann",
            "Bob",
            "Eve",
        ]


def test_a_first_column_of_days_without_a_name_is_no_index_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    days = [f"2024-{1 + n // 28:02}-{1 + n % 28:02}" for n in range(len(CELLS))]
    path.write_text(
        "," + HEADER + "".join(f"{d},{','.join(row)}\n" for d, row in zip(days, CELLS, strict=True))
    )
    source = streams.from_csv(path)
    event = source.poll(1)[0]
    source.close()
    assert source.columns == ("c1", *NAMES) and isinstance(event, Event) and event.x["c1 month"] == "Jan"
    assert "it holds dates; it was called 'c1'" in "".join(source.format.guesses)
    # A pipeline that leaves the column out by its empty name finds it; one that uses its new name does, too.
    assert guessed_format(path, named=["", *NAMES]).is_indexed
    assert not guessed_format(path, named=["c1"]).is_indexed


def test_what_cannot_be_known_of_a_column_is_logged_where_no_command_says_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.csv"
    days = [
        f"{1 + n % 28}/{1 + n % 12}/2020" if n % 2 else f"{1 + n % 12}/{1 + n % 28}/2020" for n in range(90)
    ]
    path.write_text(
        "day,rain\n" + "".join(f"{day},{'yes' if n % 3 else 'no'}\n" for n, day in enumerate(days))
    )
    streams.from_csv(path, target="rain").close()
    assert "t.csv: column day: dates of mixed order" in caplog.text


def test_what_the_user_wrote_outweighs_the_guess(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Years 1990 to 1992,,\n1990,1991,1992\n" + "7,8,9\n" * 9)
    with_names = guessed_format(path, named=["1992"])
    assert (with_names.skip, with_names.header) == (1, True)
    path.write_text(BODY)
    named = guessed_format(path, named=["red"])
    said = "the first line looks like data, and is read as names because it holds 'red'"
    assert (named.header, named.guesses) == (True, (said,))
    assert not guessed_format(path, named=["red"], header=True).guesses
    path.write_text(HEADER + BODY)
    assert not guessed_format(path, named=["label"]).guesses
    given = guessed_format(path, header=False, skip=2, units=0)
    assert (given.header, given.skip, given.guesses) == (False, 2, ())


def test_names_that_count_on_are_a_header_also_above_names() -> None:
    lines = ["name,f1,f2,f3,f4,f5,f6"]
    lines += [
        ",".join([word, *(f"#{code}{n}0C" for n in "182435")])
        for word, code in (("blue", "569BBD"), ("green", "114B5F"), ("pink", "D89A9E"), ("red", "F05133"))
    ]
    assert guessed_layout(lines, ",").header
    codes = [f"a{n},a{n + 1},a{n + 2},b{n % 5}" for n in range(9)]  # rows count on, too
    assert guessed_layout(codes, ",").header is guessed_layout([codes[0], *codes[4:]], ",").header is False


def test_rows_that_only_look_like_a_header_or_units_are_data(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    # The first row has a text in each column of numbers, but its other cells are values of their columns.
    path.write_text("town,pay,size\nUlm,**,**\nUlm,1,2\nUlm,3,4\nBonn,5,6\nUlm,7,8\n")
    assert guessed_format(path).units == 0
    # A second row of names, as of a pivot table, is no data; answers that are named as their questions are, are.
    path.write_text("town,side,size,mass\ntown,side,1,2\n" + "Ulm,east,1.5,20\nBonn,west,2.5,30\n" * 9)
    assert guessed_format(path).units == 1
    path.write_text("mail,phone,sex\nmail,phone,f\n,phone,m\nmail,,f\n,,m\n")
    assert guessed_format(path).units == 0
    # Files that were put together repeat their header.
    path.write_text("state,share\nNY,47%\nNJ,28%\nstate,share\nNY,4%\nNJ,2%\nstate,share\nCT,1%\n")
    assert guessed_format(path).header
    # A header of years, or counted from 0 as pandas does.
    for header in ("name,1990,1991,1992", "0,1,2,3"):
        path.write_text(f"{header}\n" + "".join(f"n{n},{n},{n * 2.5},{n % 3}\n" for n in range(9)))
        assert guessed_format(path).header, header


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["first name", "John Smith", "Ann Miller"], ","),
        (["5,1;3,5;a", "4,9;3,0;b"], ";"),
        (["18.0  8\t307", "15.0  6\t350"], " "),
        (['a,"x; y"', 'b,"z; w"'], ","),
        (["lasts\tat", *(f"{k}h {k}m\t(40.{k}, -73.{k}) {k}" for k in range(10, 40))], "\t"),
    ],
)
def test_the_delimiter_leaves_whole_cells(lines: list[str], delimiter: str) -> None:
    assert guessed_delimiter(lines) == delimiter


def zipped(**members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.bz2", bz2.compress((HEADER + BODY).encode())),
        ("t.csv.xz", lzma.compress((HEADER + BODY).encode())),
        ("t.zip", zipped(readme_txt="of 2026", data__t_csv=HEADER + BODY)),
        ("t.json", json.dumps([dict(zip(NAMES, row, strict=True)) for row in ROWS], indent=1).encode()),
        ("t.csv", (HEADER + BODY).encode("utf-32")),
    ],
    ids=["bz2", "xz", "zip", "array", "utf-32"],
)
def test_a_table_is_read_out_of_what_holds_it_and_from_any_record(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    source = streams.from_file(path)
    records = whole(source)
    assert [tuple(record.x.values()) for record in records if isinstance(record, Event)] == ROWS
    source.close()
    assert continued(lambda: streams.from_file(path), records[31]) == records[31:]


def test_an_archive_of_several_tables_is_refused_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(zipped(a_csv=HEADER, b_csv=HEADER))
    with pytest.raises(SourceError, match=r"t\.zip holds 2 tables: a\.csv, b\.csv\. Unpack it"):
        streams.from_file(path)
    path.write_bytes(zipped(a_md="x", b_pdf="y"))
    with pytest.raises(SourceError, match="expected a table in the archive"):
        streams.from_file(path)


@pytest.mark.parametrize("read_at_once", [1, 7, 2**15])
def test_elements_of_an_array_become_lines_wherever_a_block_ends(
    monkeypatch: pytest.MonkeyPatch, read_at_once: int
) -> None:
    from stream_bayes.streams.byte_files import json_array

    monkeypatch.setattr(json_array, "READ_AT_ONCE", read_at_once)
    objects = [{"a": 'x"]},[\\', "b": [1, {"c": "}"}]}, {}, {"d": "ü\n"}]
    for indent in (None, 2):
        lines = json_array.lines_of_array(io.BytesIO(json.dumps(objects, indent=indent).encode())).read(
            10_000
        )
        assert [json.loads(line) for line in lines.splitlines() if line.strip()] == objects


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """A workbook of two sheets: a title, merged cells, a date and a truth value in the first one."""
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    strings = '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'
    rows = [
        strings.format("A1", "Sales"),
        "".join(strings.format(f"{column}2", name) for column, name in zip("ABCD", NAMES, strict=True)),
        *(
            (strings.format(f"A{n}", "red") if n % 2 else "")
            + f'<c r="B{n}"><v>{n / 4}</v></c><c r="C{n}"><f>1+{n}</f><v>{n + 1}</v></c>'
            + strings.format(f"D{n}", "ab"[n % 2])
            for n in range(3, 23)
        ),
    ]
    merged = "".join(f'<mergeCell ref="A{n}:A{n + 1}"/>' for n in range(3, 22, 2))
    body = "".join(f'<row r="{n}">{row}</row>' for n, row in enumerate(rows, 1))
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{relations}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{space}" xmlns:r="{relations}"><sheets><sheet name="Data" sheetId="1" r:id="r1"/>'
            '<sheet name="Notes" sheetId="2" r:id="r2"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}">'
            + "".join(
                f'<Relationship Id="r{n}" Type="{relations}/worksheet" Target="worksheets/sheet{n}.xml"/>'
                for n in (1, 2)
            )
            + "</Relationships>",
        )
        sheet = '<worksheet xmlns="{}"><sheetData>{}</sheetData>{}</worksheet>'
        archive.writestr(
            "xl/worksheets/sheet1.xml", sheet.format(space, body, f"<mergeCells>{merged}</mergeCells>")
        )
        archive.writestr(
            "xl/worksheets/sheet2.xml",
            sheet.format(space, f'<row r="1">{strings.format("A1", "x")}</row>', ""),
        )
    return path


def test_a_sheet_is_a_table_with_its_formulas_and_merged_cells_filled(workbook: Path) -> None:
    source = streams.from_file(workbook)
    assert source.format.guesses[0] == "the first of 2 sheets is read, 'Data'; the others are 'Notes'"  # type: ignore[attr-defined]  # a CSV source
    records = whole(source)
    assert [record.x for record in records if isinstance(record, Event)] == [
        dict(zip(NAMES, ("red", n / 4, n + 1.0, "ab"[n % 2]), strict=True)) for n in range(3, 23)
    ]
    source.close()
    assert continued(lambda: streams.from_file(workbook), records[9]) == records[9:]
    with pytest.raises(SourceError, match=r"there is no sheet 'Dat'; did you mean 'Data'\?"):
        streams.from_csv(workbook, sheet="Dat")


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("\u043c\u043e\u0441\u043a\u0432\u0430 \u043d\u0435\u0442", "cp1251"),
        ("\u043c\u043e\u0441\u043a\u0432\u0430 \u043d\u0435\u0442", "koi8-r"),
        ("\u306f\u3044 \u3044\u3044\u3048", "shift-jis"),
        ("\u5317\u4eac\u5e02", "gb18030"),
    ],
)
def test_a_file_of_another_script_that_is_read_as_western_is_named(
    tmp_path: Path, words: str, encoding: str
) -> None:
    path = tmp_path / "towns.csv"
    path.write_bytes("".join(f"{number},{words}\n" for number in range(30)).encode(encoding))
    (guess,) = [guess for guess in guessed_format(path).guesses if "script" in guess]
    assert "read as" in guess
    assert not [guess for guess in guessed_format(path, encoding=encoding).guesses if "script" in guess]


@pytest.mark.parametrize("words", ["gr\u00f6\u00dfer f\u00fcr", "\u20ac10 na\u00efve caf\u00e9", "plain"])
def test_western_files_are_no_other_script(tmp_path: Path, words: str) -> None:
    path = tmp_path / "words.csv"
    path.write_bytes("".join(f"{number},{words}\n" for number in range(30)).encode("cp1252"))
    assert not [guess for guess in guessed_format(path).guesses if "script" in guess]


def test_a_number_of_thousands_of_digits_is_a_cell_like_others() -> None:
    long = "9" * 5_000
    assert guessed_layout(["x,y", *["1,a"] * 20, f"{long},b"], ",").header
    assert not guessed_layout([f"{long},a", *["1,a", "2,b"] * 20], ",").header
    assert guessed_layout([f"{long},b", *["1,a"] * 9], ",", named=["b"]).header


def test_a_header_that_comes_again_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "joined.csv"
    header = "day,sky,wind,rain\n"
    part = header + "".join(f"{k + 1},grey,{k}.5,no\n" for k in range(60))
    for text in (part * 3, (part * 3).replace("grey", '"grey, dark"'), (part * 3).replace("\n", "\r\n")):
        path.write_bytes(text.encode())
        form = guessed_format(path)
        with closing(CSVSource(path, Fields(target="rain"), form=form, block_bytes=200)) as source:
            assert form.header and [getattr(event, "y", None) for event in whole(source)] == ["no"] * 180
        assert inferred_schema(path, Fields(target="rain"), form=form).columns["wind"] == Numeric()


def test_rows_after_the_first_ones_show_what_these_do_not(tmp_path: Path) -> None:
    path = tmp_path / "sorted.csv"
    rows = [
        f"{k},{k * 0.37 if k > 1500 else ''},{int(k > 2000)},{k if k < 1100 else f'n{k % 7}'},a"
        for k in range(3000)
    ]
    path.write_text("\n".join(["n,late,label,mixed,same", *rows]) + "\n")
    profiles = profile_of(path, form=guessed_format(path))
    assert {name: each.kind.word for name, each in profiles.items()} == {
        "n": "number",
        "late": "number",
        "label": "flag",
        "mixed": "category",
        "same": "constant",
    }
    assert "the first 1,000 rows alone would show another kind: number" in profiles["mixed"].kind.warnings[-1]
    assert profiles["n"].values == 1000  # nothing new came
