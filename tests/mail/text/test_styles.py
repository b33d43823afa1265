"""Style sheets and styles: what their reader sees is read, and what is hidden is not, whichever rule says so."""

from __future__ import annotations

import pytest

from stream_bayes.mail import EmailTokens
from stream_bayes.mail.text.html import read_page
from stream_bayes.mail.text.sheets import MAX_TESTS

# Each has "gone" in text that nobody sees, or "seen" in text that is seen, or both.
STYLED = {
    "descendant": "<style>.a .b{display:none}</style><div class=a><p class=b>gone</p></div><p class=b>seen</p>",
    "descendant only tag": "<style>.a p{display:none}</style><div class=a><p>gone</p></div><p>seen</p>",
    "child": "<style>.a>p{display:none}</style><div class=a><p>gone</p></div><p>seen</p>",
    "child not grand": "<style>.a>i{display:none}</style><div class=a><b><i>seen</i></b><i>gone</i></div>",
    "id descendant": "<style>#x span{display:none}</style><div id=x><span>gone</span></div><span>seen</span>",
    "attr": "<style>[data-x]{display:none}</style><p data-x=1>gone</p><p>seen</p>",
    "attr val": '<style>p[title="k"]{display:none}</style><p title=k>gone</p><p title=z>seen</p>',
    "attr class val": "<style>[class=k]{display:none}</style><p class=k>gone</p><p>seen</p>",
    "attr prefix": "<style>[class^=k]{display:none}</style><p class=kx>gone</p><p>seen</p>",
    "attr contains": '<style>[class*="k"]{display:none}</style><p class=akx>gone</p><p>seen</p>',
    "comma": "<style>h1,.k,h2{display:none}</style><p class=k>gone</p><p>seen</p>",
    "compound": "<style>p.k.m{display:none}</style><p class='k m'>gone</p><p class=k>seen</p>",
    "compound id class": "<style>#i.k{display:none}</style><p id=i class=k>gone</p><p class=k>seen</p>",
    "tag.class only tag": "<style>td.k{display:none}</style><p class=k>seen</p>",
    "universal": "<style>.a *{display:none}</style><div class=a><p>gone</p></div><p>seen</p>",
    "star": "<style>*{color:#fff}</style><p>gone</p><p style='color:#000'>seen</p>",
    "inline overrides none": "<style>.k{display:none}</style><p class=k style='display:block'>seen</p>",
    "class display block after none": "<style>.k{display:none}.k{display:block}</style><p class=k>seen</p>",
    "specificity": "<style>#i{display:block}.k{display:none}</style><p id=i class=k>seen</p>",
    "specificity order": "<style>p.k{color:#000}.k{color:#fff}</style><p class=k>seen</p>",
    "important vs later": "<style>.k{color:#fff!important}.k{color:#000}</style><p class=k>gone</p><p>seen</p>",
    "media min-width": "<style>@media (min-width:1px){.k{display:none}}</style><p class=k>gone</p><p>seen</p>",
    "media all": "<style>@media all{.k{display:none}}</style><p class=k>gone</p><p>seen</p>",
    "media print": "<style>@media print{.k{display:none}}</style><p class=k>seen</p>",
    "media max 480": "<style>@media only screen and (max-width:480px){.k{display:none}}</style><p class=k>seen</p>",
    "media screen and min": (
        "<style>@media screen and (min-width:0){.k{display:none}}</style><p class=k>gone</p><p>seen</p>"
    ),
    "supports": "<style>@supports (display:none){.k{display:none}}</style><p class=k>gone</p><p>seen</p>",
    "media shows": "<style>.k{display:none}@media screen{.k{display:block}}</style><p class=k>seen</p>",
    "media only small shows": (
        "<style>.k{display:none}@media (max-width:480px){.k{display:block}}"
        "</style><p class=k>gone</p><p>seen</p>"
    ),
    "a:link color": "<style>a:link{color:#fff}</style><a href=x>gone</a><p>seen</p>",
    "layer": "<style>@layer x{.k{display:none}}</style><p class=k>gone</p><p>seen</p>",
    "right far": "<p style='position:absolute;right:-9999px'>gone</p><p>seen</p>",
    "left pos far": "<p style='position:absolute;left:9999px'>gone</p><p>seen</p>",
    "left pos static": "<p style='left:9999px'>seen</p>",
    "bottom far": "<p style='position:fixed;bottom:-999px'>gone</p><p>seen</p>",
    "inset": "<p style='position:absolute;inset:-9999px auto auto -9999px'>gone</p><p>seen</p>",
    "margin shorthand": "<p style='margin:-9999px 0 0 0'>gone</p><p>seen</p>",
    "margin shorthand left": "<p style='margin:0 0 0 -9999px'>gone</p><p>seen</p>",
    "margin-left 9999": "<p style='margin-left:9999px'>gone</p><p>seen</p>",
    "padding 9999": (
        "<div style='overflow:hidden;width:100px'><p style='text-indent:9999px'>gone</p></div><p>seen</p>"
    ),
    "text-indent pos": "<p style='text-indent:9999px;overflow:hidden;white-space:nowrap'>gone</p><p>seen</p>",
    "calc": "<p style='position:absolute;left:calc(-9999px)'>gone</p><p>seen</p>",
    "clip": "<p style='position:absolute;clip:rect(0,0,0,0)'>gone</p><p>seen</p>",
    "clip-path": "<p style='clip-path:inset(100%)'>gone</p><p>seen</p>",
    "scale": "<p style='transform:scale(0)'>gone</p><p>seen</p>",
    "scale .001": "<p style='transform:scale(.001)'>gone</p><p>seen</p>",
    "scale prop": "<p style='scale:0'>gone</p><p>seen</p>",
    "scale3d": "<p style='transform:scale3d(0,0,0)'>gone</p><p>seen</p>",
    "rotate90": "<p style='transform:rotateX(90deg)'>gone</p><p>seen</p>",
    "translate prop": "<p style='translate:-9999px'>gone</p><p>seen</p>",
    "zoom 0": "<p style='zoom:0.01'>gone</p><p>seen</p>",
    "em of 0": "<div style='font-size:0'><p style='font-size:2em'>gone</p><p style='font-size:14px'>seen</p></div>",
    "pct of 0": "<div style='font-size:0'><p style='font-size:200%'>gone</p><p style='font-size:1rem'>seen</p></div>",
    "small em of em": "<div style='font-size:.3em'><p style='font-size:.3em'>gone</p></div><p>seen</p>",
    "smaller of 0": "<div style='font-size:0'><p style='font-size:inherit'>gone</p></div><p>seen</p>",
    "calc font": "<p style='font-size:calc(0px)'>gone</p><p>seen</p>",
    "font keyword after 0": "<div style='font-size:0'><p style='font-size:medium'>seen</p></div>",
    "line-height 0": "<p style='line-height:0;overflow:hidden'>gone</p><p>seen</p>",
    "height 0 lh": "<p style='height:0;overflow:hidden'>gone</p><p>seen</p>",
    "overflow-y": "<p style='max-height:0;overflow-y:hidden'>gone</p><p>seen</p>",
    "overflow overflow-x": "<p style='max-width:0;overflow-x:hidden;white-space:nowrap'>gone</p><p>seen</p>",
    "max-height 0 mso": "<div style='max-height:0px;overflow:hidden;mso-hide:all'>gone</div><p>seen</p>",
    "height 0 auto": "<div style='height:0;overflow:auto'>gone</div><p>seen</p>",
    "body bgcolor": "<body bgcolor=#ff0000><p style='color:#ff0000'>gone</p><p>seen</p>",
    "table bgcolor": "<table bgcolor=red><tr><td><font color=#fe0101>gone</font></td></tr></table><p>seen</p>",
    "tr background": (
        "<table><tr style='background:#0000ff'><td><font color=blue>gone"
        "</font><font color=white>seen</font></td></tr></table>"
    ),
    "gradient white": (
        "<div style='background:linear-gradient(#fff,#fff)'><p style='color:#fff'>gone</p></div><p>seen</p>"
    ),
    "gradient colors": (
        "<div style='background:linear-gradient(90deg, #000, #333)'><p style='color:#fff'>seen</p></div>"
    ),
    "gradient image": (
        "<div style='background-image:linear-gradient(white, white)'>"
        "<p style='color:#fff'>gone</p></div><p>seen</p>"
    ),
    "hsl": "<p style='color:hsl(0,0%,100%)'>gone</p><p>seen</p>",
    "hex8 alpha": "<p style='color:#00000000'>gone</p><p>seen</p>",
    "hex4 alpha": "<p style='color:#0000'>gone</p><p>seen</p>",
    "color-mix named": "<p style='color:aliceblue'>gone</p><p>seen</p>",
    "seashell": "<p style='color:seashell'>gone</p><p>seen</p>",
    "text-fill": "<p style='-webkit-text-fill-color:transparent'>gone</p><p>seen</p>",
    "text-fill white": "<p style='-webkit-text-fill-color:white'>gone</p><p>seen</p>",
    "background-clip": (
        "<p style='color:#fff;background-clip:text;background-image:linear-gradient(red,blue)'>seen</p>"
    ),
    "col width 0": "<table><tr><td width=0 style='width:0;overflow:hidden'>gone</td><td>seen</td></tr></table>",
    "style in body with type": "<style type='text/css' media=print>.k{display:none}</style><p class=k>seen</p>",
    "style media screen": "<style media=screen>.k{display:none}</style><p class=k>gone</p><p>seen</p>",
    "import": "<style>@import url(x.css);.k{display:none}</style><p class=k>gone</p><p>seen</p>",
    "charset rule": "<style>@charset 'utf-8';.k{display:none}</style><p class=k>gone</p><p>seen</p>",
    "uppercase class": "<style>.K{display:none}</style><p class=K>gone</p><p>seen</p>",
    "comment in selector": "<style>.a/**/ p{display:none}</style><div class=a><p>gone</p></div><p>seen</p>",
    "brace in string": "<style>.z{content:'}'} .k{display:none}</style><p class=k>gone</p><p>seen</p>",
    "semicolon in url": "<p style='background:url(\"a;b\");display:none'>gone</p><p>seen</p>",
    "inherit visible child": "<div style='visibility:hidden'><p class=x style='visibility:visible'>seen</p></div>",
    "content none": "<p style='content-visibility:hidden'>gone</p><p>seen</p>",
    "letter-spacing": "<p style='letter-spacing:-1em'>gone</p><p>seen</p>",
    "letter-spacing px": "<p style='letter-spacing:-30px'>gone</p><p>seen</p>",
    "word in attribute quoted >": "<p title='a>b' style='display:none'>gone</p><p>seen</p>",
    "small letters in large ones": "<div style='font-size:100px'><p style='font-size:.14em'>seen</p></div>",
}


@pytest.mark.parametrize("name", STYLED)
def test_what_is_seen_is_read_and_what_is_hidden_is_not(name: str) -> None:
    source = STYLED[name]
    page = read_page(source)
    assert set(page.text.split()) == ({"seen"} if "seen" in source else set())
    assert ("hidden:gone" in page.hidden) is ("gone" in source)


@pytest.mark.parametrize("tag", "section article address details summary form header footer fieldset".split())
def test_blocks_begin_a_line(tag: str) -> None:
    source = f"win<{tag}>ner</{tag}>cheap"
    assert read_page(source).text.split() == ["win", "ner", "cheap"]
    assert read_page(f"<i style='color:red'>{source}").text.split() == ["win", "ner", "cheap"]


def test_texts_of_buttons_are_read() -> None:
    head = b"From: ann@example.com\nContent-Type: text/html\n\n"
    bag = EmailTokens().transform_one(
        head + b"<input type=submit value='cheap pills'><input type=hidden value=gone>"
        b"<input value=meeting style='display:none'>"
    )
    assert {"cheap", "pills", "hidden:meeting"} <= bag.keys() and not {"gone", "meeting"} & bag.keys()


def test_a_sheet_with_too_many_tests_is_said() -> None:
    rules = "b b b i i{display:none}" * 40
    page = read_page(f"<style>{rules}</style>" + "<b><i>" * 40 + "<i>x</i>" * (MAX_TESTS // 100))
    assert "hidden:many-rules" in page.hidden
