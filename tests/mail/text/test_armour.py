"""Files within plain text, and letters that are set apart or struck through."""

from __future__ import annotations

import binascii

import pytest

from stream_bayes.mail import EmailTokens
from tests.mail.messages import plain
from tests.mail.text.test_attachments import FILES


def uuencoded(data: bytes, name: str) -> str:
    lines = [binascii.b2a_uu(data[start : start + 45]).decode() for start in range(0, len(data), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


def test_uuencoded_files_are_read_and_their_letters_are_not() -> None:
    text = f"please see below\n{uuencoded(b'cheap pills today', 'notes.txt')}and above\n"
    bag = EmailTokens().transform_one(plain(text + uuencoded(FILES["pdf"][0], "a.pdf")))
    assert {"cheap", "pills", "today", "above", "file:notes.txt", "file:.pdf"} <= bag.keys()
    assert "url:pills.example.com" in bag and "end" not in bag
    kept = EmailTokens().transform_one(plain("we\nbegin 100 days of work\nhere"))
    assert {"begin", "days", "work", "here"} <= kept.keys()


def test_encrypted_text_is_not_read() -> None:
    armour = "-----BEGIN PGP MESSAGE-----\n\nhQEMA7wordwordword\n=abcd\n-----END PGP MESSAGE-----\n"
    bag = EmailTokens().transform_one(plain(f"see below\n{armour}bye"))
    assert {"unread:pgp", "below", "bye"} <= bag.keys() and "hQEMA7wordwordword" not in bag
    signed = EmailTokens().transform_one(
        plain(armour.replace("MESSAGE-----\n", "SIGNATURE-----\nVersion: GnuPG v2\n"))
    )
    assert {"SIGNATURE", "GnuPG"} <= signed.keys() and "hQEMA7wordwordword" not in signed
    assert {"unread:pgp", "defect:no-text"} <= EmailTokens().transform_one(plain(armour)).keys()


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("v\u0336i\u0336a\u0336g\u0336r\u0336a\u0336", "text:struck"),
        ("vi\U000e0061ag\U000e0100ra", ""),
        ("v i a g r a", "text:spaced"),
        ("v.i.a.g.r.a", "text:spaced"),
        ("v-i-a-g-r-a", "text:spaced"),
    ],
)
def test_letters_that_are_struck_or_set_apart_are_a_word(text: str, token: str) -> None:
    bag = EmailTokens().transform_one(f"buy {text} now")
    assert "viagra" in bag and (not token or token in bag)
    assert (
        not {"text:spaced", "text:struck"}
        & EmailTokens().transform_one("e.g. A. B. Smith, U.S. plan a b c").keys()
    )
