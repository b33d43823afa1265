"""Files of mails as people have them: read if they can be read, and otherwise refused with a count."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stream_bayes.cli.app import app
from stream_bayes.errors import BadValue, SourceError
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.streams.mailbox import mails
from stream_bayes.mail.streams.tables import _rows

ONE, TWO = b"Subject: a\n\none\n", b"Subject: b\n\ntwo\n"
MBOX = b"From a\n" + ONE + b"\nFrom b\n" + TWO
DATED = b"From ann@example.com Mon Jan  1 10:00:00 2024\n"


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one.eml", ONE)
        archive.writestr("folder/two.eml", TWO)
    return out.getvalue()


def tarred(mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # the mode is a variable
        for name, data in (("one.eml", ONE), ("two.eml", TWO)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def dboxed(mail: bytes) -> bytes:
    return b"\1\2N          %016x\n%b\n\1\3\nGab12\nR65a1\n\n" % (len(mail), mail)


BOXES: dict[str, Callable[[], bytes]] = {
    "mbox": lambda: MBOX,
    "gzip": lambda: gzip.compress(MBOX),
    "lines that end with a carriage return": lambda: MBOX.replace(b"\n", b"\r"),
    "the same packed": lambda: gzip.compress(MBOX.replace(b"\n", b"\r")),
    "bzip2": lambda: bz2.compress(MBOX),
    "xz": lambda: lzma.compress(MBOX),
    "zstd": lambda: pyarrow.compress(MBOX, "zstd", asbytes=True),
    "zip": zipped,
    "tar": lambda: tarred("w"),
    "tar.gz": lambda: tarred("w:gz"),
    "tar.xz": lambda: tarred("w:xz"),
    "MMDF": lambda: b"\1\1\1\1\n" + ONE + b"\1\1\1\1\n\1\1\1\1\n" + TWO + b"\1\1\1\1\n",
    "dbox": lambda: b"2 M1e C65a1b2c3\n" + dboxed(ONE) + dboxed(TWO),
    "JSON lines": lambda: b"\n".join(json.dumps({"mail": mail.decode()}).encode() for mail in (ONE, TWO)),
    "byte order mark": lambda: b"\xef\xbb\xbf" + MBOX,
    "leading blank lines": lambda: b"\n\r\n" + MBOX,
    "no blank line between mails": lambda: DATED + ONE + DATED + TWO,
}


@pytest.mark.parametrize("kind", BOXES)
def test_boxes_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "box"
    path.write_bytes(BOXES[kind]())
    assert [mail.raw for mail in mails(path)] == [ONE, TWO]
    assert not any(mail.refusal for mail in mails(path))


OTHERS = {
    "zstd in gzip": gzip.compress(pyarrow.compress(MBOX, "zstd", asbytes=True)),
    "JSON": json.dumps([{"text": "free pills"}], indent=1).encode(),
    "JSON without a mail": b'{"id": 1, "name": "free pills"}\n',
    "pst": b"!BDN" + bytes(600),
    "msg": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "pdf": b"%PDF-1.4\n1 0 obj\n",
    "random bytes": bytes(range(256)) * 40,
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "gzip in gzip": gzip.compress(gzip.compress(MBOX)),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_mail_is_refused_with_a_count_and_not_learned(kind: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(OTHERS[kind])
    home = ["--home", str(tmp_path / "home")]
    for command in (["train", "--spam", str(tmp_path / "other")], ["learn", "spam", str(tmp_path / "other")]):
        done = CliRunner().invoke(app, ["spam", *command, *home])
        assert done.exit_code != 0 and "1 refused" in done.output, done.output
    (tmp_path / "mail").write_bytes(ONE)
    both = ["--spam", str(tmp_path / "other"), "--ham", str(tmp_path / "mail"), "--json"]
    done = CliRunner().invoke(app, ["spam", "train", *both, *home])
    assert done.exit_code == 0 and json.loads(done.stdout)["refused"] == 1
    assert SpamHome(tmp_path / "home").load().learned == (1, 0)


TABLES = {
    "box.jsonl": b'{"label": "spam", "raw": "Subject: k\\u00e4se"}\n\n{"label": 0, "Text": "lunch"}\n[1]\n',
    "box.csv": b'Label;Subject;Message\nspam;k\xc3\xa4se;"free;\n""pills"""\nham;;lunch\n',
    "box.tsv": b"Spam/Ham\tMail\n1\tSubject: a\nfalse\tSubject: b\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_a_table_are_learned_under_their_own_label_only(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(TABLES[name])
    found = {
        label: [mail for mail in mails(tmp_path / name, label) if not mail.refusal]
        for label in ("ham", "spam")
    }
    assert [len(each) for each in found.values()] == [1, 1]
    both = ["--ham", str(tmp_path / name), "--spam", str(tmp_path / name), "--json"]
    done = CliRunner().invoke(app, ["spam", "train", *both, "--home", str(tmp_path / "home")])
    assert json.loads(done.stdout)["new"] == 2 and SpamHome(tmp_path / "home").load().learned == (1, 1)


def test_texts_and_exact_copies_in_tables_keep_their_letters(tmp_path: Path) -> None:
    for name, data in TABLES.items():
        (tmp_path / name).write_bytes(data)
    raw = [mail.raw for name in TABLES for mail in mails(tmp_path / name, "spam") if not mail.refusal]
    assert raw[0] == "Subject: käse".encode("latin-1") and raw[2] == b"Subject: a"
    bag = SpamFilter().bag_of(raw[1]).tokens
    assert {"subject:käse", "free", "pills"} <= bag.keys()


@pytest.fixture
def usual_limit() -> Iterator[int]:
    """The limit of the csv module; what was read before in this process may have raised it."""
    before = csv.field_size_limit(2**17)
    yield 2**17
    csv.field_size_limit(before)


def test_a_mail_longer_than_the_limit_of_csv_is_read_and_the_limit_stays(
    tmp_path: Path, usual_limit: int
) -> None:
    text = 'free "pills"\r\n' * (usual_limit // 10)
    with (tmp_path / "box.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["label", "mail"], ["spam", f"Subject: a\n\n{text}"], ["ham", "Subject: b"]]
        )
    for mail in mails(tmp_path / "box.csv"):
        assert csv.field_size_limit() == usual_limit and not mail.refusal
        assert mail.raw in (f"Subject: a\n\n{text}".encode(), b"Subject: b")


@pytest.mark.parametrize("row", ['spam,"free, pills', 'spam,"free ""pills""'])
def test_a_quote_of_a_table_that_is_never_closed_is_an_error(row: str, tmp_path: Path) -> None:
    (tmp_path / "box.csv").write_text(f"label,mail\nham,lunch\n{row}\nham,notes\n")
    with pytest.raises(SourceError, match="a quote is not closed"):
        list(mails(tmp_path / "box.csv"))


@given(st.text(st.sampled_from('ab,"\n ;')), st.sampled_from(",;"))
def test_rows_of_a_table_are_those_of_the_csv_module(text: str, separator: str) -> None:
    lines = text.splitlines(keepends=True)
    try:
        rows = list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        return
    assert list(_rows(lines, separator)) == [row for row in rows if row]


def test_a_table_without_a_column_of_mails_is_refused_with_its_columns(tmp_path: Path) -> None:
    (tmp_path / "box.csv").write_bytes(b"v1,v2\nham,lunch\n")
    assert [mail.refusal[:35] for mail in mails(tmp_path / "box.csv")] == [
        "a table with the columns v1, v2; ex"
    ]


def test_a_dbox_that_ends_within_a_message_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "u.1").write_bytes(BOXES["dbox"]()[:-30])
    with pytest.raises(SourceError, match="does not end where"):
        list(mails(tmp_path / "u.1"))


def test_the_server_learns_no_binary_data(tmp_path: Path) -> None:
    home = SpamHome(tmp_path)
    with home.changing(SpamFilter):
        pass
    service = FilterService(home)
    with pytest.raises(BadValue, match="a PDF"):
        service.learn(OTHERS["pdf"], "spam")
    assert service.learn(b"no header, but text", "spam") == "learned"


def test_notes_beside_mails_are_no_mails_and_what_was_delivered_is_one(tmp_path: Path) -> None:
    for name, data in {
        "1.eml": ONE,
        "README.txt": b"These are spams.\nDo not open.\n",
        "Inbox.msf": b"// <!-- <mdb:mork:z v=1.4/> -->\n",
        "archive_browser.html": b"<!DOCTYPE html>\n<title>Archive</title>\n",
        "box/cur/1:2,S": ONE,
        "box/cur/2:2,S": b"a mail whose headers were lost\n",
        "texts.csv": b"text\nfree pills\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    refused = {Path(mail.origin).name: mail.refusal for mail in mails(tmp_path) if mail.refusal}
    assert sorted(refused) == ["Inbox.msf", "README.txt", "archive_browser.html"]
    assert set(refused.values()) == {"a text without headers: name its file to learn it"}
    assert len(list(mails(tmp_path))) == 7
    assert not any(mail.refusal for mail in mails(tmp_path / "README.txt"))


def test_documents_in_an_archive_are_no_mails(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "letter.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w:document>cheap pills</w:document>")
    assert [bool(mail.refusal) for mail in mails(tmp_path / "letter.docx")] == [True]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_expands_without_end_is_refused_while_it_expands(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "bomb").write_bytes(4 * pack(b"Subject: a\n" + bytes(1 << 26)))
    with pytest.raises(SourceError, match="without end"):
        list(mails(tmp_path / "bomb"))


def test_a_zip_packed_by_lzma_is_refused_as_its_memory_has_no_bound(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "box.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.eml", MBOX)
    with pytest.raises(SourceError, match=r"a\.eml is packed by LZMA; unpack it, or pack it again"):
        list(mails(tmp_path / "box.zip"))


def test_a_zip_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mail", b"Subject: a\n\n" + bytes(1 << 27))
    with pytest.raises(SourceError, match="without end"):
        list(mails(tmp_path / "bomb"))


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "bzip2", "xz"])
def test_a_broken_archive_is_an_error(kind: str, tmp_path: Path) -> None:
    data = BOXES[kind]()
    (tmp_path / "box").write_bytes(data[: len(data) // 2])
    with pytest.raises(SourceError, match="cannot be read"):
        list(mails(tmp_path / "box"))


def test_a_packed_pipe_is_read(tmp_path: Path) -> None:
    out, into = os.pipe()
    os.write(into, bz2.compress(MBOX))
    os.close(into)
    try:
        assert [mail.raw for mail in mails(f"/dev/fd/{out}")] == [ONE, TWO]
    finally:
        os.close(out)


def raws(path: Path, label: str | None = None) -> list[bytes]:
    return [mail.raw for mail in mails(path, label) if not mail.refusal]


@pytest.mark.parametrize(
    "body",
    [
        b"hello\n\nFrom my point of view this is fine\nbye\n",
        b"hello\n\nFrom\n",
        b"hello\nFrom here\nTo: there\n",
        b"hello\n\nFrom here on, all:\n\nbye\n",
    ],
)
def test_text_that_begins_with_from_begins_no_message(tmp_path: Path, body: bytes) -> None:
    """Not every program quotes such lines."""
    box = tmp_path / "box"
    box.write_bytes(DATED + b"Subject: s\n\n" + body + b"\n" + DATED + ONE)
    assert raws(box) == [b"Subject: s\n\n" + body, ONE]


@pytest.mark.parametrize("line", [b"From -\n", b"From - \n", b"From ann@example.com\n"])
@pytest.mark.parametrize("between", [b"", b"\n"])
def test_a_separator_without_a_date_begins_a_message(tmp_path: Path, line: bytes, between: bytes) -> None:
    (tmp_path / "box").write_bytes(line + ONE + between + line + TWO + between + line + ONE)
    assert raws(tmp_path / "box") == [ONE, TWO, ONE]


def test_a_separator_may_have_another_date(tmp_path: Path) -> None:
    line = b"From ann@example.com  2024-01-01 10:00\n"
    (tmp_path / "box").write_bytes(line + ONE + b"\n" + line + TWO)
    assert raws(tmp_path / "box") == [ONE, TWO]


@pytest.mark.parametrize("ending", [b"\n", b"      \n", b"\r\n"])
def test_the_mail_in_a_file_of_apple_is_read(tmp_path: Path, ending: bytes) -> None:
    (tmp_path / "1.emlx").write_bytes(
        str(len(ONE)).encode() + ending + ONE + b"<?xml version='1.0'?>\n<plist/>\n"
    )
    (tmp_path / "text").write_bytes(b"17\nis a number\n")
    assert [*raws(tmp_path / "1.emlx"), *raws(tmp_path / "text")] == [ONE, b"17\nis a number\n"]


def test_lines_of_a_label_and_a_text_are_texts(tmp_path: Path) -> None:
    (tmp_path / "SMSSpamCollection").write_bytes(
        "ham\tok lär\nspam\tfree\tpills\n\nodd\nham\tlunch\n".encode()
    )
    found = list(mails(tmp_path, "ham"))
    assert [mail.raw.rpartition(b"\n")[2].decode() for mail in found if not mail.refusal] == [
        "ok lär",
        "lunch",
    ]
    assert [mail.refusal for mail in found if mail.refusal] == [
        "a row labelled spam",
        "a line without a label, among lines with one",
    ]
    assert len(raws(tmp_path, "spam")) == 1 and len(raws(tmp_path)) == 3


@pytest.mark.parametrize(
    "header",
    ["Subject,Message,Spam/Ham", "Subject,Message,label_num", "subject,text,verdict", "x,text,Label2"],
)
def test_a_column_of_labels_is_known_by_its_cells_too(tmp_path: Path, header: str) -> None:
    cells = ("0", "1") if "abel" in header else ("ham", "Spam")
    (tmp_path / "a.csv").write_text(f"{header}\na,one,{cells[0]}\nb,two,{cells[1]}\n", "utf-8")
    assert [raw[-3:] for raw in raws(tmp_path, "ham")] == [b"one"]
    assert [raw[-3:] for raw in raws(tmp_path, "spam")] == [b"two"]


def test_a_folder_that_is_a_link_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_bytes(ONE)
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "far").symlink_to(tmp_path / "far", target_is_directory=True)
    assert raws(tmp_path / "near") == [ONE] and raws(tmp_path) == [ONE]
