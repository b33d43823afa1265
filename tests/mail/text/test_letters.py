"""Letters as they look: invisible, styled and foreign ones become plain."""

from __future__ import annotations

import time

import pytest

from stream_bayes.mail import EmailTokens
from stream_bayes.mail.text.letters import as_seen
from tests.mail.messages import plain


@pytest.mark.parametrize(
    ("text", "seen", "trick"),
    [
        ("v\u200bi\u200ca\u200dg\u2060r\ufeffa", "viagra", "text:zero-width"),
        ("v\u00adi\u034fagra", "viagra", "text:zero-width"),
        ("\u202eargaiv\u202c", "viagra", "text:bidi"),
        ("\uff36iagra", "Viagra", "text:styled"),
        ("\U0001d415\U0001d422agra", "Viagra", "text:styled"),
        ("vi\u0430gr\u0430 \u0421ialis", "viagra Cialis", "text:mixed-scripts"),
        ("p\u03b9lls", "pills", "text:mixed-scripts"),
        ("\u1d20\u026a\u1d00\u0262\u0280\u1d00", "viagra", "text:small-capitals"),
        ("v\x01i\x7fa\x1fgra", "viagra", "text:zero-width"),
        ("v\ufff9i\U0001d173a\U0001bca0g\U00013430ra", "viagra", "text:zero-width"),
        ("v\u0301i\u0327agr\u0304\u0316a", "viagra", "text:marks"),
        ("\U0001f185\U0001f178\U0001f170\U0001f176\U0001f181\U0001f170", "VIAGRA", "text:styled"),
        ("\U0001f165\U0001f158\U0001f150\U0001f156\U0001f161\U0001f150", "VIAGRA", "text:styled"),
        ("c\u200ah\u200ae\u200aa\u200ap v\u202fi\u202fa\u202fg\u202fr\u202fa", "cheap viagra", "text:spaced"),
        ("v\u2800i\u2800a\u2800g\u2800r\u2800a", "viagra", "text:spaced"),
    ],
)
def test_a_disguised_word_reads_as_it_looks(text: str, seen: str, trick: str) -> None:
    assert as_seen(text) == (seen, [trick])
    bag = EmailTokens().transform_one(plain(f"cheap {text} offer"))
    assert set(seen.split()) | {trick} <= bag.keys()
    header = EmailTokens().transform_one(plain("offer", subject=text))
    assert {f"subject:{word}" for word in seen.split()} | {trick} <= header.keys()


@pytest.mark.parametrize(
    "text",
    [
        *("naïve café", "мир труд", "Ελλάδα", "日本語", "Größe 5 µm", "שלום", "می\u200cخواهم"),
        *("10\u202f000\u202f€ à\u202f5\u202f%", "cafe\u0301", "हिन्दी", "tab\tline\r\n", "a\u2009b"),
    ],
)
def test_an_honest_text_has_no_trick(text: str) -> None:
    assert as_seen(text)[1] == []


@pytest.mark.parametrize("part", ["e\u0300\u0316", "\u0300\u0316", "\ufdfa", "a\u200b", "\u0430a ", "\u1d00"])
def test_reading_letters_takes_time_and_space_bounded_by_their_number(part: str) -> None:
    text = part * (65_536 // len(part))
    start = time.process_time()
    seen, _ = as_seen(text)
    assert time.process_time() - start < 0.5 and len(seen) <= len(text) + 512


@pytest.mark.parametrize(
    "turned",
    [
        "<bdo dir=rtl>sllip</bdo>",
        "<span style='unicode-bidi:bidi-override;direction:rtl'>sllip</span>",
        '<b style="direction: rtl; unicode-bidi: isolate-override">sllip</b>',
    ],
)
def test_text_that_a_page_turns_is_read_as_it_is_seen(turned: str) -> None:
    raw = f"Content-Type: text/html\n\n<p>cheap {turned} now</p>".encode()
    tokens = EmailTokens().transform_one(raw)
    assert "pills" in tokens and "sllip" not in tokens


SPACED = {
    "cells": "<table><tr><td>v</td>\n<td>i</td>\n<td>a</td>\n<td>g</td>\n<td>r</td>\n<td>a</td></tr></table>",
    "cells of two rows": "<table><tr><td>v<td>i<td>a<td>g<td>r<td>a<tr><td>p<td>i<td>l<td>l<td>s</table>",
    "lines": "v<br>i<br>a<br>g<br>r<br>a",
    "bars": "v|i|a|g|r|a",
    "points": "v&middot;i&middot;a&middot;g&middot;r&middot;a",
}


@pytest.mark.parametrize("page", SPACED.values(), ids=SPACED)
def test_letters_that_a_page_sets_apart_are_read_as_the_word_that_they_make(page: str) -> None:
    tokens = EmailTokens().transform_one(
        f"Content-Type: text/html; charset=utf-8\n\n<p>cheap</p>{page}".encode()
    )
    assert {"viagra", "text:spaced", "cheap"} <= tokens.keys()


def test_letters_below_one_another_are_a_word_and_a_blank_line_ends_it() -> None:
    tokens = EmailTokens().transform_one(plain("\n\n".join(map("\n".join, ("cheap", "pills")))))
    assert {"cheap", "pills"} <= tokens.keys()


def test_a_word_of_a_script_with_signs_over_its_letters_is_one_word() -> None:
    tokens = EmailTokens().transform_one(plain("मुफ्त दवाइयाँ। வணக்கம்"))
    assert {"मुफ्त", "दवाइयाँ", "வணக்கம்"} <= tokens.keys()
