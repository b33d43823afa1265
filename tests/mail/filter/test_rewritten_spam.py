"""Spam that was rewritten to get past a filter: hidden words, and letters that only look alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stream_bayes import Costs
from stream_bayes.mail import SpamFilter
from tests.mail.messages import BOTH, HAM, encoded, headers, multipart, stream

PADDING = " ".join(HAM * 40 + BOTH)
TRICKS = [
    "display:none",
    "font-size:0",
    "position:absolute;left:-9999px",
    "opacity:0",
    "color:#fff",
    "visibility:hidden",
]
LOOKALIKES = str.maketrans("aeopci", "\u0430\u0435\u043e\u0440\u0441\u0456")


def page(body: str, sender: str, subject: str) -> bytes:
    more = "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n"
    return f"{headers(sender, subject, more)}\n<html><body>{body}</body></html>\n".encode()


def rewritten(raw: bytes, change: Callable[[str], str]) -> bytes:
    """A mail of `stream` as a page, with its words changed."""
    head, _, body = raw.decode().partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return page(change(body), fields["From"], fields["Subject"])


CHANGES: dict[str, Callable[[str], str]] = {
    **{trick: lambda body, trick=trick: f"{body}<div style='{trick}'>{PADDING}</div>" for trick in TRICKS},  # type: ignore[misc]  # bound now
    "style sheet": lambda body: f"<style>.x{{display:none}}</style>{body}<p class=x>{PADDING}</p>",
    "zero width": lambda body: " ".join("\u200b".join(word) for word in body.split()),
    "look-alikes": lambda body: body.translate(LOOKALIKES),
    "full width": lambda body: body.translate({code: code + 0xFEE0 for code in range(97, 123)}),
    "template with attributes": lambda body: f"{body}<template id=a>{PADDING}</template>",
    "drawing's description": lambda body: f"{body}<svg><desc>{PADDING}</desc><defs>{PADDING}</defs></svg>",
    "drawing without size": lambda body: f"{body}<svg width=0 height='0'><text>{PADDING}</text></svg>",
    "formula's annotation": lambda body: f"{body}<math><annotation>{PADDING}</annotation></math>",
    "formula's gap": lambda body: f"{body}<math><mphantom>{PADDING}</mphantom></math>",
    "text of a dot": lambda body: (
        f"{body}<img width='1' height=1 src=http://a.example/1.png alt='{' '.join(HAM)}'>"
    ),
    "text of a hidden picture": lambda body: f"{body}<p style='display:none'><img alt='{' '.join(HAM)}'></p>",
    "text of a picture in a comment": lambda body: f"{body}<!-- <img alt='{' '.join(HAM)}'> -->",
    "white by hue": lambda body: f"{body}<p style='color:hsl(120, 0%, 99%)'>{PADDING}</p>",
    "clear by hue": lambda body: f"{body}<p style='color:hsla(0,50%,50%,0)'>{PADDING}</p>",
    "filter": lambda body: f"{body}<p style='filter: opacity(0)'>{PADDING}</p>",
    "content-visibility": lambda body: f"{body}<p style='content-visibility:hidden'>{PADDING}</p>",
    "after the end": lambda body: f"{body}</body></html><p style='display:none'>{PADDING}</p>",
    "hidden letters": lambda body: " ".join(
        "<i style='display:none'>q</i>".join(word) for word in body.split()
    ),
    "right to left": lambda body: " ".join(f"\u202e{word[::-1]}\u202c" for word in body.split()),
    "right to left by tags": lambda body: " ".join(
        f"<bdo dir=rtl>{word[::-1]}</bdo>" for word in body.split()
    ),
}


@pytest.fixture(scope="module")
def model() -> SpamFilter:
    trained = SpamFilter(costs=Costs.false_positive(9, "spam", "ham"))
    for place, (raw, label) in enumerate(stream(800)):
        # Ham and spam come as text and as pages.
        trained.learn_one(rewritten(raw, str) if place % 2 else raw, label)
    return trained


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_rewriting_saves_at_most_a_tenth_of_the_spam(
    model: SpamFilter, change: Callable[[str], str]
) -> None:
    spam = [raw for raw, label in stream(400, seed=5) if label == "spam"]
    honest = np.array([model.verdict_one(rewritten(raw, str)) == "spam" for raw in spam])
    disguised = np.array([model.verdict_one(rewritten(raw, change)) == "spam" for raw in spam])
    assert honest.sum() > 50
    assert disguised.sum() >= 0.9 * honest.sum()


def test_of_two_pages_of_a_mail_the_last_one_is_read(model: SpamFilter) -> None:
    caught = honest = 0
    for raw, label in stream(400, seed=5):
        if label == "spam":
            head, _, body = raw.decode().partition("\n\n")
            fields = dict(line.split(": ", 1) for line in head.splitlines())
            sent = {"sender": fields["From"], "subject": fields["Subject"]}
            forms = [
                encoded(PADDING, "quoted-printable"),
                encoded(PADDING, "base64", media="text/html"),
                encoded(body, "base64", media="text/html"),
            ]
            verdicts = [
                model.verdict_one(multipart(*parts, media="multipart/alternative", **sent))
                for parts in (forms, forms[::2])
            ]
            caught += verdicts[0] == "spam"
            honest += verdicts[1] == "spam"
    assert honest > 50
    assert caught >= 0.9 * honest


def test_pages_within_one_form_of_a_mail_are_all_read() -> None:
    pages = [encoded(f"<p>{word}</p>", "base64", media="text/html") for word in ("lunch", "pills")]
    both = multipart(*pages, boundary="inner").partition(b"MIME-Version: 1.0\n")[2]
    bag = (
        SpamFilter().bag_of(multipart(encoded("text", "base64"), both, media="multipart/alternative")).tokens
    )
    assert {"lunch", "pills"} <= bag.keys()
    assert "text" not in bag and "hidden:text" in bag
