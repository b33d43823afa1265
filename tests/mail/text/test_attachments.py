"""Attached files: what is read of each kind, and that none takes long or makes an error."""

from __future__ import annotations

import base64
import io
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping

import pytest

from stream_bayes.mail import EmailTokens, SpamFilter
from stream_bayes.mail.text.tokens import UNREAD
from tests.mail.messages import multipart, plain, stream

CARRIER = b"Content-Type: text/plain\n\nplease see below\n"
LINK = "http://pills.example.com/buy"
WANTED = {"cheap", "pills", "url:pills.example.com"}


def attached(data: bytes, name: str = "", media: str = "application/octet-stream") -> dict[str, int]:
    """The tokens of a mail with an attached file."""
    head = f'Content-Type: {media}; name="{name}"\nContent-Transfer-Encoding: base64\n'
    head += "Content-Disposition: attachment\n\n"
    part = head.encode() + base64.encodebytes(data)
    bag = EmailTokens().transform_one(multipart(CARRIER, part))
    assert EmailTokens(parser="standard").transform_one(multipart(CARRIER, part)) == bag
    return bag


def zipped(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def pdf(content: bytes, dictionary: bytes = b"/Filter /FlateDecode", more: bytes = b"") -> bytes:
    stream = zlib.compress(content) if b"Flate" in dictionary else content
    body = b"1 0 obj << %b /Length %d >>\nstream\n%b\nendstream endobj\n" % (dictionary, len(stream), stream)
    return b"%PDF-1.4\n" + body + more + b"\n%%EOF"


INNER = plain(f"cheap pills at {LINK}", subject="offer")
DOCUMENT = (
    '<w:document><w:p><w:r><w:t xml:space="preserve">che</w:t></w:r><w:r><w:t>ap</w:t></w:r></w:p>'
    "<w:p><w:r><w:t>pills</w:t></w:r></w:p></w:document>"
)
RELATIONS = f'<Relationships><Relationship Id="a" Target="{LINK}" TargetMode="External"/></Relationships>'
SHOWN = b"BT /F1 12 Tf (cheap) Tj 0 -14 Td [(pi) 20 (lls) -400 (now\\051)] TJ ET"
URI = b"2 0 obj << /A << /S /URI /URI (%b) >> >> endobj" % LINK.encode()
FILES = {
    "message by its name": (INNER, "offer.eml", "application/octet-stream"),
    "encoded message": (INNER, "", "message/rfc822"),
    "text": (f"cheap pills {LINK}".encode(), "notes.txt", "text/plain"),
    "picture of vectors": (
        f'<svg><a href="{LINK}"><text>cheap pills</text></a></svg>'.encode(),
        "a.svg",
        "image/svg+xml",
    ),
    "calendar": (
        f"BEGIN:VCALENDAR\r\nSUMMARY: cheap pi\r\n lls\\, {LINK}\r\n".encode(),
        "",
        "text/calendar",
    ),
    "rtf": (
        rb"{\rtf1{\fonttbl{\f0 Cheap;}{\f1 Arial;}}{\*\gen x}\b cheap\b0  pi\'6cls\par "
        + LINK.encode()
        + b"}",
        "a.rtf",
        "application/x",
    ),
    "document": (
        zipped({"word/document.xml": DOCUMENT, "word/_rels/document.xml.rels": RELATIONS}),
        "a.docx",
        "application/octet-stream",
    ),
    "document with a number of no letter": (
        zipped(
            {"word/document.xml": f"&#{'9' * 5_000};{DOCUMENT}", "word/_rels/document.xml.rels": RELATIONS}
        ),
        "a.docx",
        "application/octet-stream",
    ),
    "sheet": (
        zipped({"xl/sharedStrings.xml": f"<sst><si><t>cheap</t></si><si><t>pills {LINK}</t></si></sst>"}),
        "",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    "presentation": (
        zipped({"ppt/slides/slide1.xml": f"<a:p><a:t>cheap pills</a:t></a:p><a:p><a:t>{LINK}</a:t></a:p>"}),
        "a.pptx",
        "application/octet-stream",
    ),
    "pdf": (pdf(SHOWN, more=URI), "a.pdf", "application/pdf"),
    "pdf without compression": (pdf(SHOWN, b"", URI), "", "application/octet-stream"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_words_and_links_of_attached_files_are_read(name: str) -> None:
    bag = attached(*FILES[name])
    assert bag.keys() >= WANTED and "please" in bag
    assert not [token for token in bag if token.startswith(("unread:", "defect:"))]


def test_the_names_of_files_in_an_archive_are_read() -> None:
    bag = attached(zipped({"docs/invoice17.exe": b"MZ" * 50}), "invoice.zip", "application/zip")
    assert {"file:docs/invoice00.exe", "file:.exe"} <= bag.keys() and "MZ" not in bag


def test_the_texts_of_pictures_are_read() -> None:
    page = (
        b"Content-Type: text/html\n\n<img src=a.png alt='cheap pills'><IMG ALT=\"now &amp; here\"><img alt>"
    )
    bag = EmailTokens().transform_one(multipart(page))
    assert {"cheap", "pills", "now", "here"} <= bag.keys() and "defect:no-text" not in bag


@pytest.mark.parametrize(
    ("data", "name", "unread"),
    [
        (b"\x78\x9f\x3e\x22", "winmail.dat", "unread:tnef"),
        (b"\x30\x80", "smime.p7m", "unread:smime"),
        (b"\xd0\xcf\x11\xe0", "a.doc", "unread:old-office"),
        (b"Rar!", "a.rar", "unread:archive"),
        (b"PK\3\4 and no more", "a.docx", "unread:office"),
        (pdf(b"BT <0012> Tj ET"), "a.pdf", "unread:pdf"),
        (pdf(SHOWN, more=b"trailer << /Encrypt 3 0 R >>"), "a.pdf", "unread:pdf"),
        (pdf(SHOWN)[:60], "a.pdf", "unread:pdf"),
        (zipped({"word/document.xml": f"<w:t>{'a ' * 400_000}</w:t>"}), "a.docx", "unread:office"),
        # Its stream is broken, and it asks for a dictionary of 4 GiB: no office program packs by LZMA.
        (
            zipped({"word/document.xml": "<w:t>a</w:t>"}, zipfile.ZIP_LZMA).replace(
                b"\x5d\0\0\x80\0\0", b"\x5d" + b"\xff" * 5
            ),
            "a.docx",
            "unread:office",
        ),
    ],
)
def test_what_was_not_read_is_a_token(data: bytes, name: str, unread: str) -> None:
    assert unread in attached(data, name)


def test_a_mail_with_a_file_that_was_not_read_is_never_ham() -> None:
    model = SpamFilter()
    for raw, label in stream(200):
        model.learn_one(raw, label)
    ham = next(raw for raw, label in stream(50, seed=9) if label == "ham")
    head, _, body = ham.partition(b"\n\n")
    text = b"Content-Type: text/plain\n\n" + body
    for name in ("a.rar", "a.doc", "winmail.dat", "smime.p7m"):
        part = f'Content-Type: application/octet-stream; name="{name}"\n\nxyz\n'.encode()
        both = head + b"\nContent-Type: multipart/mixed; boundary=b\n\n"
        alone, carrier = (
            both + b"--b\n" + b"\n--b\n".join(parts) + b"\n--b--\n" for parts in ([text], [text, part])
        )
        assert model.verdict_one(alone) == "ham"
        assert model.verdict_one(carrier) != "ham", name


def test_a_mail_without_any_text_to_read_is_not_read_whole() -> None:
    picture = b"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n"
    page = b"Content-Type: text/html\n\n<img src=http://a.example/a.png>\n"
    for parts in ((picture,), (page,), (page, picture)):
        assert set(UNREAD) & EmailTokens().transform_one(multipart(*parts)).keys() == {"defect:no-text"}
    assert "defect:no-text" not in EmailTokens().transform_one(multipart(picture, CARRIER))


def nested_message(depth: int) -> bytes:
    raw = INNER
    for _ in range(depth):
        part = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(
            raw
        )
        raw = multipart(CARRIER, part)
    return raw


# Made when their test runs: packing them takes longer than reading them.
HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "zeros": (
        "a.docx",
        lambda: zipped({f"word/header{number}.xml": b"\0" * 10_000_000 for number in range(10)}),
    ),
    "names": ("a.zip", lambda: zipped({f"{number}": b"" for number in range(3_000)})),
    "tags": (
        "a.xlsx",
        lambda: zipped({f"xl/worksheets/sheet{number}.xml": "<c" * 300_000 for number in range(10)}),
    ),
    "strings": ("a.pdf", lambda: pdf(b"BT " + b"(" * 250_000)),
    "arrays": ("a.pdf", lambda: pdf(b"BT " + b"[(a" * 80_000)),
    "streams": ("a.pdf", lambda: b"%PDF" + b"stream\n" * 100_000),
    "packed streams": ("a.pdf", lambda: pdf(b"\0" * 5_000_000) * 60),
    "groups": ("a.rtf", lambda: b"{\\rtf" + b"{\\*\\pict" * 60_000),
    "attributes": ("a.svg", lambda: b"<img alt=" * 50_000),
    "messages": ("a.eml", lambda: nested_message(6)),
}


@pytest.mark.parametrize(("name", "make"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_take_time_bounded_by_counts(name: str, make: Callable[[], bytes]) -> None:
    data = make()
    start = time.process_time()
    attached(data, name)
    assert time.process_time() - start < 1.0  # of two readings
