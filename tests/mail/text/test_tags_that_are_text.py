"""Text that looks like a tag and is none hides nothing; colours are those that browsers know."""

from __future__ import annotations

import time

import pytest

from stream_bayes.mail.text.html import read_page, shortened, with_plain_tags
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.styles import color_of
from stream_bayes.mail.text.tokens import UNREAD, bag_of_message
from stream_bayes.mail.text.transfer_encodings import decoder

HEAD = b"From: ann@example.com\nContent-Type: text/html\n\n"


def tokens_of(page: str) -> dict[str, int]:
    return bag_of_message(HEAD + page.encode(), Limits(), decoder("standard"), pairs=False)


@pytest.mark.parametrize(
    "before",
    [
        '<p title="<style>">',
        "<p title = '<script>' class=x>",
        '<p title="<!--">',
        '<p title="a>b<title>">',
        "<noframes><xml><style></xml></noframes>",
        "<iframe><style></iframe>",
        "<noembed><!-- </noembed>",
        "<textarea><style></textarea>",
        "<xmp><script></xmp>",
        "<svg><style/></svg>",
        "<svg><title x='y' /></svg>",
        "<!-- <p title='--><p>",
        "<!-- <textarea> -->",
        "<script>'<textarea>'</script>",
        "<textarea>x</textarea> ",
        '<p>it\'s="<b>"</b>',
        '<a href="x>q">',
    ],
)
def test_text_after_what_looks_like_a_tag_is_read(before: str) -> None:
    for page in (f"{before}cheap pills", f"{before}cheap pills {'<!-- x -->' * 20_000}"):
        tokens = tokens_of(page)
        assert {"cheap", "pills"} <= tokens.keys() and "hidden:cheap" not in tokens


@pytest.mark.parametrize(
    "page",
    [
        "<style title='a>b'>cheap{}</style>lunch",
        "<svg><style>cheap{}</style></svg>lunch",
        "<noframes>cheap</noframes>lunch",
        "<p style='display:none' title='<style>'>cheap</p>lunch",
        f"<style class='{'x ' * 400}'>cheap</style>lunch",
        "<style/>cheap</style>lunch",
    ],
)
def test_what_is_hidden_stays_hidden(page: str) -> None:
    tokens = tokens_of(page)
    assert "lunch" in tokens and "cheap" not in tokens


def test_what_an_element_of_text_shows_is_read() -> None:
    assert {"<b>cheap</b>"} == {read_page(with_plain_tags("<xmp><b>cheap</b></xmp>")).text.strip()}
    assert read_page(shortened(with_plain_tags("<textarea>a<b</textarea>"), 5)).text.strip() == "a<b"


def test_links_behind_a_quoted_bracket_are_found() -> None:
    assert "url:shop.example.com" in tokens_of('<a title="a > b" href="http://shop.example.com/">q</a>')


@pytest.mark.parametrize(
    "unit", ['<a b="', "<a b='\"", "<textarea>", "<noframes><style>", "<svg><style/>", '=">']
)
def test_pages_of_such_marks_take_linear_time(unit: str) -> None:
    started = time.process_time()
    with_plain_tags(f"<svg><textarea>x</textarea>{unit * (400_000 // len(unit))}")
    assert time.process_time() - started < 0.5  # some hundredths


@pytest.mark.parametrize(
    ("name", "value"),
    [("darkslateblue", 0x483D8B), ("RebeccaPurple", 0x663399), ("tan", 0xD2B48C), ("tint", None)],
)
def test_all_names_of_colours_are_known(name: str, value: int | None) -> None:
    assert color_of(name) == value


@pytest.mark.parametrize(
    ("page", "is_seen"),
    [
        ("<div style='background:midnightblue'><p style='color:#fff'>cheap", True),
        ("<div style='background-color:var(--dark)'><p style='color:#fff'>cheap", True),
        ("<div style='background:oklch(40% 0.2 20)'><p style='color:white'>cheap", True),
        ("<div style='background:beige'><p style='color:ivory'>cheap", False),
        ("<div style='background:transparent'><p style='color:white'>cheap", False),
        ("<p style='color:red' style='display:none'>cheap", True),
        ("<p style='display:none' style='color:red'>cheap", False),
        ("<p style='clip:rect(0,0,0,0)'>cheap", True),
        ("<p style='clip:rect(0,0,0,0);position:absolute'>cheap", False),
        ("<p style='clip-path:inset(50%)'>cheap", False),
    ],
)
def test_text_on_any_background_is_read_as_it_is_seen(page: str, is_seen: bool) -> None:
    assert ("cheap" in tokens_of(page)) == is_seen


@pytest.mark.parametrize("end", ["</div>", "</div></div></div>", ""])
def test_no_number_of_hidden_tags_hides_what_follows(end: str) -> None:
    """The text is read, and as nobody knows where the hidden element ends, the mail is never ham."""
    tokens = tokens_of(f"<p>lunch</p><div style='display:none'>{'<b>x</b>' * 1_100}{end}<p>cheap pills")
    assert {"lunch", "cheap", "pills", "hidden:display", "hidden:unfollowed"} <= tokens.keys()
    assert "hidden:unfollowed" in UNREAD
    many = tokens_of(f"<p>lunch</p><div>{'<b>x</b>' * 1_100}</div><p style='display:none'>cheap pills")
    assert {"cheap", "hidden:many-tags"} <= many.keys() and not set(UNREAD) & many.keys()


def test_no_number_of_entities_hides_what_follows() -> None:
    tokens = tokens_of("&nbsp;" * 6_000 + "".join(f"&#{ord(letter)};" for letter in "cheap pills"))
    assert {"cheap", "pills"} <= tokens.keys()
