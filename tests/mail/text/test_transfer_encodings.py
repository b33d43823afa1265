"""Both parsers undo transfer encodings alike, whatever the body."""

from __future__ import annotations

import base64
import binascii
import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.errors import BadValue, MissingPackage
from stream_bayes.mail.text import transfer_encodings
from stream_bayes.mail.text.transfer_encodings import (
    canonical_base64,
    canonical_quoted,
    decoder,
    fast_parser_is_installed,
)

needs_fast = pytest.mark.skipif(not fast_parser_is_installed(), reason="fast-mail-parser is not installed")

STANDARD = decoder("standard")

noise = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(
            [
                b"=",
                b"=\n",
                b"= \n",
                b"=3D",
                b"=3d",
                b"=E9",
                b"=e",
                b"\n",
                b" ",
                b"\t",
                b"ab",
                b"--",
                b"=_:",
                b".",
            ]
        )
    ).map(b"".join),
)


@needs_fast
@given(st.lists(st.tuples(st.sampled_from(["base64", "quoted-printable"]), noise), min_size=1, max_size=5))
def test_the_parsers_agree_on_what_is_in_canonical_form(parts: list[tuple[str, bytes]]) -> None:
    canonical = {"base64": canonical_base64, "quoted-printable": canonical_quoted}
    sound = [(encoding, canonical[encoding](body.replace(b"\r", b""))[0]) for encoding, body in parts]
    assert decoder("fast")(sound) == STANDARD(sound)


@given(st.binary(max_size=300))
def test_base64_comes_back_as_it_was(data: bytes) -> None:
    body, is_defective = canonical_base64(base64.encodebytes(data))
    assert not is_defective
    assert binascii.a2b_base64(body) == data
    if body:
        assert STANDARD([("base64", body)]) == [data]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=200))
def test_quoted_printable_comes_back_as_it_was(text: str) -> None:
    data = text.encode()
    body, is_defective = canonical_quoted(quopri.encodestring(data))
    assert not is_defective
    if body:
        assert STANDARD([("quoted-printable", body)])[0].rstrip(b"\n") == data.rstrip(b"\n")


@pytest.mark.parametrize("body", [b"YWJj*ZGVm", b"YWJ", b"YWJj=ZGVm", b"Y", b"YWJjZA"])
def test_broken_base64_is_mended_and_told(body: bytes) -> None:
    sound, is_defective = canonical_base64(body)
    assert is_defective
    assert len(sound) % 4 == 0
    binascii.a2b_base64(sound, strict_mode=bool(sound))


@pytest.mark.parametrize(
    ("body", "sound"), [(b"50=% off", b"50=3D% off"), (b"a=zz", b"a=3Dzz"), (b"\xe9", b"=E9")]
)
def test_broken_quoted_printable_is_mended_and_told(body: bytes, sound: bytes) -> None:
    assert canonical_quoted(body) == (sound, True)


def test_an_unknown_parser_is_refused() -> None:
    with pytest.raises(BadValue, match="auto, fast, standard"):
        decoder("slow")


def test_without_the_fast_parser_auto_is_the_standard_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_encodings, "fast_mail_parser", None)
    assert decoder("auto") is decoder("standard")
    with pytest.raises(MissingPackage, match=r"\.\[mail\]"):
        decoder("fast")
