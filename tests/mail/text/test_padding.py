"""Parts that a reader does not see take no room from those that are read, and make no mail ham."""

from __future__ import annotations

import base64

import pytest

from stream_bayes.mail import EmailTokens, Limits, SpamFilter
from tests.mail.messages import HAM, SPAM, encoded, multipart, plain, stream

BODY = "<p>winner of cheap pills</p>"
WORDS = " ".join(HAM)
PICTURE = b"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(
    bytes(1_500_000)
)


def page(source: str) -> bytes:
    return encoded(source, "base64", media="text/html")


PADDED = {
    "style sheet": page(f"<style>{'.a { color: red } ' * 5_000}</style>{BODY}"),
    "style sheet as quoted-printable": encoded(
        f"<style>{'.a { color: red } ' * 5_000}</style>{BODY}", "quoted-printable", media="text/html"
    ),
    "comment": page(f"<!-- {WORDS * 900} -->{BODY}"),
    "script": page(f"<script>{'x = 1; ' * 12_000}</script>{BODY}"),
    "picture in the page": page(f'<img src="data:image/png;base64,{"A" * 90_000}">{BODY}'),
    "blanks": page(" \n" * 40_000 + BODY),
    "zero-width characters": page("\u200b" * 90_000 + BODY),
    "long attribute": page(f'<p title="{"a" * 90_000}">{BODY}'),
    "text before the end": encoded("pad " * 30_000 + "winner of cheap pills", "base64"),
    "text after the beginning": encoded("winner of cheap pills " + "pad " * 30_000, "base64"),
    "picture part": multipart(PICTURE, page(BODY)),
    "many parts": multipart(*[b"Content-Type: image/png\n\nA"] * 300, page(BODY)),
}


@pytest.mark.parametrize("name", PADDED)
def test_padding_does_not_hide_the_text(name: str) -> None:
    raw = PADDED[name]
    raw = raw if raw.startswith(b"Received") else plain("").split(b"\n\n")[0] + b"\n" + raw
    bag = EmailTokens().transform_one(raw)
    assert {"winner", "cheap", "pills"} <= bag.keys()
    assert not bag.keys() & set(HAM)
    was_cut = name.startswith(("text", "many"))
    assert bool(bag.keys() & {"defect:long-text", "defect:many-parts"}) is was_cut


def test_a_short_message_is_read_at_both_ends_too() -> None:
    bag = EmailTokens(limits=Limits(text=1_000)).transform_one("winner " + "pad " * 9_000 + "pills")
    assert {"winner", "pills", "defect:long-text"} <= bag.keys()


def test_the_middle_of_a_huge_mail_is_left_out_and_its_end_is_read() -> None:
    raw = plain("winner " + "pad " * 3_000_000 + "pills")
    bag = EmailTokens().transform_one(raw)
    assert {"winner", "pills", "defect:oversize", "defect:long-text"} <= bag.keys()


def test_text_that_is_hidden_by_a_long_style_is_no_content() -> None:
    style = "margin: 0; " * 90 + "display: none"
    bag = EmailTokens().transform_one(
        plain("").split(b"\n\n")[0] + b"\n" + page(f'{BODY}<div style="{style}">{WORDS}</div>')
    )
    assert "pills" in bag and not bag.keys() & set(HAM) and "hidden:display" in bag


def test_the_plain_form_of_a_page_is_no_content() -> None:
    text = encoded(WORDS, "quoted-printable")
    bag = EmailTokens().transform_one(multipart(text, page(BODY), media="multipart/alternative"))
    assert "pills" in bag and not bag.keys() & set(HAM) and "hidden:alternative" in bag
    both = EmailTokens().transform_one(multipart(text, page(BODY)))  # two parts that are both shown
    assert "pills" in both and set(HAM) <= both.keys()
    alone = EmailTokens().transform_one(multipart(text, media="multipart/alternative"))
    assert set(HAM) <= alone.keys() and "hidden:alternative" not in alone


@pytest.mark.parametrize("key", [None, b"k" * 16])
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"From:",
        b"\n\n",
        plain(" ".join(HAM * 6_000)),
        plain(""),
        PADDED["many parts"],
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) + " ".join(HAM).encode(),  # no mail at all
    ],
)
def test_what_is_not_read_is_no_evidence_for_ham(raw: bytes, key: bytes | None) -> None:
    model = SpamFilter(key=key)
    for mail, label in stream(200):
        model.learn_one(mail, label)
    assert model.predict_proba_one(raw)["spam"] >= 0.5
    assert model.verdict_one(raw) != "ham"
    assert model.verdict_one(plain(" ".join(HAM * 3), subject="meeting")) == "ham"
    assert model.verdict_one(plain(" ".join(SPAM * 3), subject="winner")) == "spam"
