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
    ],
)
def test_a_disguised_word_reads_as_it_looks(text: str, seen: str, trick: str) -> None:
    assert as_seen(text) == (seen, [trick])
    bag = EmailTokens().transform_one(plain(f"cheap {text} offer"))
    assert set(seen.split()) | {trick} <= bag.keys()
    header = EmailTokens().transform_one(plain("offer", subject=text))
    assert {f"subject:{word}" for word in seen.split()} | {trick} <= header.keys()


@pytest.mark.parametrize(
    "text", ["naïve café", "мир труд", "Ελλάδα", "日本語", "Größe 5 µm", "שלום", "می\u200cخواهم"]
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
