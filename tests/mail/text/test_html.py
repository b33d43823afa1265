"""Pages of HTML: the text that is seen, hidden text, and tags."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail import EmailTokens
from stream_bayes.mail.text.html import read_page
from stream_bayes.mail.text.tags import markup_of
from stream_bayes.mail.text.tokens import UNREAD
from tests.mail.messages import encoded, multipart

SOUND = [
    ("<p>Che<b></b>ap <i>pi</i>lls</p>", "Cheap pills"),
    ("<table><tr><td>one</td><td>two</td></tr></table>three", "one two three"),
    ("a<br>b<br/>c<hr>d", "a b c d"),
    ("<style>p {color: red}</style>seen<script>var x = '<p>no</p>'</script>", "seen"),
    ("<title>name</title><p>body", "body"),
    ("be<!-- hidden -->fore", "before"),
    ("&#0000000000118;i&#x00000000061;gra", "viagra"),
    (f"&#{'0' * 5_000}118;iagra", "viagra"),
    ("caf&eacute; &amp; &#8364;5 &lt;b&gt;", "café & €5 <b>"),
    ('<a href="http://x.example/">link</a>text', "linktext"),
    ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ("<P ALIGN=center>upper</P><DIV>case</DIV>", "upper case"),
    ("", ""),
]


@pytest.mark.parametrize(("source", "text"), SOUND)
def test_the_text_that_is_seen_is_found(source: str, text: str) -> None:
    page = read_page(source)
    assert page.text.split() == text.split() and not page.hidden
    # The same when the styles of all tags are read.
    assert read_page(f"<i style='color:red'>{source}").text.split() == text.split()


HIDDEN = [
    ("<p style='display:none'>gone</p>seen", "display"),
    ("<div style='DISPLAY :\tNone !important'><b>gone</b></div>seen", "display"),
    ("<div style='dis\\70lay:/**/none'>gone</div>seen", "display"),
    ("<div style='display&#58;none'>gone</div>seen", "display"),
    ('<div title=">" style="display:none">gone</div>seen', "display"),
    ("<p hidden>gone<p>seen", "display"),
    ("<p style='color:rgb(100%,100%,99%)'>gone</p>seen", "color"),
    ("<span style='visibility:hidden'>gone <b style='visibility:visible'>seen</b></span>", "visibility"),
    ("<span style='font-size:0'>gone <b style='font-size:12px'>seen</b></span>", "size"),
    ("<span style='font:0/0 a'>gone</span>seen", "size"),
    ("<span style='font-size:1px'>gone</span>seen", "size"),
    ("<span style='opacity:0'>gone</span>seen", "opacity"),
    ("<div style='position:absolute;left:-9999px'>gone</div>seen", "off-screen"),
    ("<div style='text-indent:-500em'>gone</div>seen", "off-screen"),
    ("<div style='max-height:0;overflow:hidden'>gone</div>seen", "clipped"),
    ("<font color=white>gone</font>seen", "color"),
    ("<span style='color:#fefefe'>gone</span>seen", "color"),
    ("<body bgcolor=black text='#0a0a0a'>gone<font color=white>seen", "color"),
    ("<td style='background:#00f'><a style='color:rgb(0,0,255)'>gone</a><a style='color:#fff'>seen", "color"),
    ("<style>.a, td#b {color:red; display:none}</style><p class='x A'>gone</p><p>seen", "display"),
    ("<style><!-- i {font-size:0px} --></style><i>gone</i>seen", "size"),
    ("<style>@media screen {.a{display:none}}</style><p class=a>gone</p>seen", "display"),
    ("<template>gone</template>seen", "element"),
    ("<p style='display:none'>" + "<i>" * 300 + "gone</p>seen", "display"),
]


@pytest.mark.parametrize(("source", "reason"), HIDDEN)
def test_hidden_text_is_no_content_but_evidence(source: str, reason: str) -> None:
    page = read_page(source)
    assert page.text.split() == ["seen"]
    assert {f"hidden:{reason}", "hidden:*1", "hidden:gone"} <= set(page.hidden)


@pytest.mark.parametrize(
    "source",
    [
        "<style>@media (max-width:480px) {.a{display:none}}</style><p class=a>seen",
        "<div style='font-size:0'><span style='font-size:14px'>seen</span></div>",
        "<td background=dark.png><font color=white>seen</font>",
        "<td style='background:url(dark.png)'><font color=white>seen</font>",
        "<style>.dark{background-color:#123}</style><td class=dark><font color=white>seen</font>",
        "<p style='display:none'><div>seen</div>",
        "<p style='opacity:0.9;left:-10px;color:#777'>seen",
        "<!--><p>seen",
        "<span style='color:;font-size:;opacity:x;left:-'>seen",
    ],
)
def test_text_that_can_be_seen_stays_content(source: str) -> None:
    assert read_page(source).text.split() == ["seen"]


def test_hidden_words_cannot_fill_a_bag() -> None:
    words = " ".join(f"word{number}" for number in range(5_000))
    page = read_page(f"<p style='display:none'>{words}</p>cheap")
    assert page.text.split() == ["cheap"] and len(page.hidden) < 30
    assert "hidden:*4096" in page.hidden


@pytest.mark.parametrize("head", ["Content-Disposition: attachment; filename=invoice.html\n", ""])
def test_a_page_is_read_as_an_attachment_too(head: str) -> None:
    media = "application/octet-stream" if head else "text/html"
    part = head.encode() + encoded("<b>Che</b>ap <i style='display:none'>gone</i>", "base64", media=media)
    bag = EmailTokens().transform_one(multipart(part))
    assert "Cheap" in bag and "hidden:display" in bag and "gone" not in bag


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
                "&#" + "9" * 5_000,
                ";",
                "</style>",
                "\0",
                "\ud800",
                "İ",
            ]
        )
    )
)
def test_no_source_makes_reading_raise(parts: list[str]) -> None:
    source = "".join(parts)
    assert isinstance(read_page(source).text, str)
    assert isinstance(
        read_page(f"<style>.a{{color:{source}}}</style><p style='left:-{source}' {source}>").text, str
    )
    markup_of(source)


@pytest.mark.parametrize(
    "part",
    [
        *(
            "<",
            "<p ",
            "<!--",
            "<script>",
            "<style>",
            "<style>a{",
            "<a href=",
            '<a href="',
            '<p a="<',
            "&#",
            "&#9",
        ),
        *("<b><i>", "<ul><li>", "<i></b>", "<div>", "=' ", "a=b ", "<p style='color:red'>a", "<p hidden><b>"),
    ],
)
def test_a_page_takes_time_bounded_by_its_length(part: str) -> None:
    source = part * (65_536 // len(part))
    start = time.process_time()
    read_page(source)
    markup_of(source)
    assert time.process_time() - start < 0.5  # some 20 ms; a tree of such a page took seconds


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


def page_tokens(source: str) -> dict[str, int]:
    return EmailTokens().transform_one(b"Subject: hi\nContent-Type: text/html\n\n" + source.encode())


@pytest.mark.parametrize(
    "frame",
    [
        "<iframe srcdoc='&lt;p&gt;cheap pills &lt;a href=&quot;http://pills.example/&quot;&gt;'></iframe>",
        '<IFRAME width=9 srcdoc = "<p>cheap pills <a href=http://pills.example/>"></IFRAME>',
    ],
)
def test_a_page_within_a_frame_is_read(frame: str) -> None:
    assert {"cheap", "pills", "hello", "url:pills.example"} <= page_tokens(f"<p>hello</p>{frame}").keys()


def test_text_of_a_style_sheet_is_a_token_and_no_ham() -> None:
    bag = page_tokens("<style>p::before {content: 'cheap pills today'}</style><p>hello</p>")
    assert {"hidden:content", "hidden:pills"} <= bag.keys() and "pills" not in bag
    assert "hidden:content" in UNREAD
    for sign in ('""', '"\\201C"', "'»'", "attr(title)", "'Date'"):
        assert "hidden:content" not in page_tokens(
            f"<style>p::before {{content: {sign}}}</style><p>hello</p>"
        )


def test_links_of_style_sheets_are_read() -> None:
    sheet = "@import 'http://a.example/a.css'; p {background: URL( \"http://b.example/b.png\" ); color: red}"
    bag = page_tokens(f"<style>{sheet}</style><p>hello</p>")
    assert {"url:a.example", "url:b.example"} <= bag.keys()


def test_frames_and_links_of_sheets_take_time_by_their_number() -> None:
    start = time.process_time()
    for source in (
        "<iframe " * 8_000 + "srcdoc=",
        "<iframe srcdoc='" * 4_000,
        "url(" * 15_000,
        "content:'" * 7_000,
    ):
        page_tokens(f"<style>{source}</style>{source}")
    assert time.process_time() - start < 1.0
