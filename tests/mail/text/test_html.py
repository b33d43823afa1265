"""HTML to the text that is seen."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail.text import html
from stream_bayes.mail.text.html import (
    markup_of,
    selectolax_is_installed,
    text_by_expressions,
    text_by_selectolax,
    visible_text,
)

needs_selectolax = pytest.mark.skipif(not selectolax_is_installed(), reason="selectolax is not installed")

SOUND = [
    ("<p>Che<b></b>ap <i>pi</i>lls</p>", "Cheap pills"),
    ("<table><tr><td>one</td><td>two</td></tr></table>three", "one two three"),
    ("a<br>b<br/>c<hr>d", "a b c d"),
    ("<style>p {color: red}</style>seen<script>var x = '<p>no</p>'</script>", "seen"),
    ("<title>name</title><p>body", "body"),
    ("be<!-- hidden -->fore", "before"),
    ("caf&eacute; &amp; &#8364;5 &lt;b&gt;", "café & €5 <b>"),
    ('<a href="http://x.example/">link</a>text', "linktext"),
    ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ("<P ALIGN=center>upper</P><DIV>case</DIV>", "upper case"),
    ("", ""),
]


@pytest.mark.parametrize(("source", "text"), SOUND)
def test_expressions_find_the_text_that_is_seen(source: str, text: str) -> None:
    assert text_by_expressions(source).split() == text.split()


@needs_selectolax
@pytest.mark.parametrize(("source", "text"), SOUND)
def test_selectolax_finds_the_same(source: str, text: str) -> None:
    assert text_by_selectolax(source).split() == text.split()


def test_without_selectolax_expressions_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "LexborHTMLParser", None)
    assert visible_text("<title>a</title>b").split() == ["b"]


@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "<!--",
                "-->",
                "<p",
                "</",
                "<script>",
                "</script",
                '"',
                "a",
                "&",
                "&#x",
                "\0",
                "\ud800",
                "İ",
            ]
        )
    )
)
def test_no_source_makes_reading_raise(parts: list[str]) -> None:
    source = "".join(parts)
    assert isinstance(text_by_expressions(source), str)
    assert isinstance(visible_text(source), str)
    markup_of(source)


@pytest.mark.parametrize(
    "part", ["<", "<p ", "<!--", "<script>", "<a href=", '<a href="', "&#", "<b><i>", "<div>", "=' ", "a=b "]
)
def test_repetition_takes_linear_time(part: str) -> None:
    source = part * (65_536 // len(part))
    start = time.process_time()
    text_by_expressions(source)
    visible_text(source)
    markup_of(source)
    assert time.process_time() - start < 10.0


@pytest.mark.parametrize(
    ("source", "token"),
    [
        ('<font color="#FFFFFF">', "html:color=#ffffff"),
        ('<div style="DISPLAY : none">', "html:display:none"),
        ('<span style="font-size:0px">', "html:font-size:0px"),
        ("<img width=1 height=1>", "html:width=1"),
        ("<img src='cid:logo'>", "html:cid"),
        ("<a href=javascript:go()>", "html:javascript"),
        ("<p onclick=go()>", "html:onclick"),
        ("<kjhgf>", "html:unknown"),
        ("<a>" * 9, "html:a*8"),
        ("<!-- a -->", "html:comment"),
        ("&#65;" * 21, "html:entities"),
    ],
)
def test_evident_tags_are_tokens(source: str, token: str) -> None:
    assert token in markup_of(source).tokens


def test_links_are_found_once_each_with_entities_undone() -> None:
    source = '<a href="http://x.example/?a=1&amp;b=2">x</a><img src=http://y.example/z><A HREF = "http://x.example/?a=1&amp;b=2">'
    assert markup_of(source).links == ["http://x.example/?a=1&b=2", "http://y.example/z"]
