"""Messages to bags of tokens."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import compose

from stream_bayes import BernoulliNB, MultinomialNB
from stream_bayes.errors import BadValue
from stream_bayes.mail import EmailTokens, Limits
from stream_bayes.mail.text._words import words_of
from tests.mail.messages import encoded, headers, multipart, plain, stream

TOKENS = EmailTokens()


def bag(raw: Any, **settings: Any) -> dict[str, int]:
    return EmailTokens(**settings).transform_one(raw)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Only $9.99 for http-based e-mail", ["Only", "$9.99", "shape:$0.00", "for", "http-based", "e-mail"]),
        ("FREE!!! 100%", ["FREE!", "100%", "shape:000%"]),
        ("don't V*i*a*g*r*a a.b", ["don't", "V*i*a*g*r*a", "a.b"]),
        ("x" * 30 + " " + "y" * 500, ["long:x30", "long:y100"]),
        ("käse ПРИВЕТ", ["käse", "ПРИВЕТ"]),
        ("中文字 a 中", ["中文", "文字", "a", "中"]),
        ("abc中文", ["abc", "中文"]),
        ("-- .. !! --", []),
        ("a 1 22 333", ["a", "1", "22", "333", "shape:000"]),
        ("", []),
    ],
)
def test_text_is_cut_into_words(text: str, tokens: list[str]) -> None:
    assert words_of(text, "", 24, 1000) == tokens


@given(st.text(max_size=300), st.integers(1, 40), st.integers(1, 50))
def test_no_text_makes_cutting_raise_or_pass_its_limits(text: str, longest: int, most: int) -> None:
    found = words_of(text, "p:", longest, most)
    assert len(found) < most + len(text)
    assert all(token.startswith("p:") for token in found)
    words = [token for token in found if not token.startswith(("p:long:", "p:shape:"))]
    assert all(len(token) <= longest + 2 or len(token) == 4 for token in words)


def test_headers_have_their_name_before_them() -> None:
    found = bag(plain("body", sender="Ann@Shop.example.com", subject="Free pills"))
    for token in (
        "subject:Free subject:pills from:ann@shop.example.com from:shop.example.com from:example.com from:com"
        " received:192.0.2.7 received:192.0.2 received:192.0 received:in.example.org received:esmtp"
        " header:From header:Message-ID message-id:shop.example.com date:+0100 hops:1 body mime:text/plain"
    ).split():
        assert token in found
    assert "free" not in found
    assert "pills" not in found


@pytest.mark.parametrize(
    "name",
    "X-Stream-Bayes X-Stream-Bayes-Score X-Spam-Status x-spam-flag X-SPAM Status X-Status X-Bogosity X-DSPAM-Result"
    " X-Spambayes-Classification X-CRM114-Status X-Rspamd-Score X-Barracuda-Spam-Score X-MS-Exchange-Organization-SCL"
    " X-Microsoft-Antispam X-Mailscanner X-Proofpoint-Spam-Details Authentication-Results X-Antispam".split(),
)
def test_headers_of_filters_are_no_tokens(name: str) -> None:
    clean = plain("body")
    for value in ("Yes, verdict9", "", "=?utf-8?q?verdict9?=", "a\n verdict9"):
        assert bag(f"{name}: {value}\n".encode() + clean) == bag(clean)


def test_links_become_hosts_and_paths_in_text_and_html() -> None:
    page = '<a href="http://buy@www.shop.example:81/now/cheap?id=7">here</a>'
    for raw in (
        plain("see http://buy@www.shop.example:81/now/cheap?id=7 today"),
        multipart(encoded(page, "quoted-printable", media="text/html")),
    ):
        found = bag(raw)
        for token in "url:www.shop.example url:shop.example url:port url:user path:now path:cheap".split():
            assert token in found
    assert "html:a" in found


def test_a_host_that_is_hidden_by_escapes_is_found() -> None:
    found = bag("http://www%2Eshop%2eexample/")
    assert {"url:escaped", "url:shop.example"} <= set(found)


@pytest.mark.parametrize(
    "host",
    ["shop\u3002example", "shop\uff0eexample", "\uff53\uff48\uff4fp.example", "sh%EF%BD%8Fp%E3%80%82example"],
)
def test_a_host_in_other_forms_of_letters_and_full_stops_is_the_one_that_browsers_open(host: str) -> None:
    page = f'<a href="https://{host}/x">here</a>'
    assert "url:shop.example" in bag(multipart(encoded(page, "base64", media="text/html; charset=utf-8")))


def test_encodings_make_no_difference_to_words() -> None:
    text = "käse über straße and much more"
    seen = [
        {token for token in bag(multipart(encoded(text, encoding, charset))) if ":" not in token}
        for encoding in ("base64", "quoted-printable")
        for charset in ("utf-8", "latin-1", "utf-16", "cp1252")
    ]
    assert seen == [set(text.split())] * 8


def test_defects_of_bodies_are_tokens_too() -> None:
    def part(encoding: str, body: bytes, charset: str = "utf-8") -> bytes:
        head = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n"
        return multipart(head.encode() + body)

    assert "defect:bad-base64" in bag(part("base64", b"!!!!"))
    assert "defect:bad-quoted-printable" in bag(part("quoted-printable", b"50=% off"))
    assert "defect:charset-lie" in bag(part("8bit", b"k\xe4se"))
    assert "defect:unknown-charset" in bag(part("8bit", b"k\xe4se", "x-none"))
    assert "defect:8bit" in bag(part("8bit", b"k\xe4se", "us-ascii"))
    assert "defect:long-text" in bag(part("8bit", b"word " * 20_000))
    assert not [token for token in bag(part("8bit", b"sound")) if token.startswith("defect:")]


def test_defects_are_tokens_of_a_full_bag_too() -> None:
    found = bag(plain(" ".join(f"w{n}" for n in range(500)) + " k\xe4se"), limits=Limits(tokens=50))
    assert len(found) == 52 and "defect:many-tokens" in found
    assert "defect:8bit" in found


def test_attachments_are_told_but_not_read() -> None:
    part = (
        b"Content-Type: application/x-zip; name=Invoice17.zip\nContent-Transfer-Encoding: base64\n"
        b"Content-Disposition: attachment\n\naGlkZGVu\n"
    )
    found = bag(multipart(part))
    assert {"mime:application/x-zip", "mime:attachment", "file:invoice00.zip", "file:.zip"} <= set(found)
    assert "hidden" not in found


def test_pairs_are_neighbours() -> None:
    found = bag("one two three", pairs=True)
    assert found == {"one": 1, "two": 1, "three": 1, "one two": 1, "two three": 1}


def test_a_dict_holds_the_message_under_a_key() -> None:
    assert bag({"id": 7, "body": "a b"}, on="body") == {"a": 1, "b": 1}
    with pytest.raises(BadValue, match="'body'"):
        bag({"id": 7}, on="body")
    with pytest.raises(BadValue, match="set on="):
        bag({"id": 7})
    with pytest.raises(BadValue, match="NoneType"):
        TOKENS.transform_one(None)  # type: ignore[arg-type]  # wrong on purpose


def test_a_number_that_is_no_limit_is_refused() -> None:
    for value in (0, -1, 1.5, True, "9"):
        with pytest.raises(BadValue, match="'parts'"):
            Limits(parts=value)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("learner", [BernoulliNB, MultinomialNB])
def test_any_learner_of_bags_learns_from_it_in_a_pipeline(learner: Any) -> None:
    model: Any = compose.Pipeline(EmailTokens(), learner())
    right = 0
    for raw, label in stream(400):
        right += model.predict_one(raw) == label
        model.learn_one(raw, label)
    assert right > 300


def test_a_message_is_read_the_same_again_and_by_a_clone() -> None:
    raw = headers(more="Content-Type: text/html\n").encode() + b"\n<p>hello <a href=http://x.example/>x</a>"
    first = TOKENS.transform_one(raw)
    assert list(TOKENS.clone().transform_one(raw).items()) == list(first.items())
    assert list(TOKENS.transform_one(raw).items()) == list(first.items())


def test_parts_and_headers_share_their_caps() -> None:
    parts = [b"Content-Type: text/plain\n\n" + b"word " * 18 for _ in range(10)]
    few, many = multipart(*parts[:4]), multipart(*parts)
    tokens = EmailTokens(limits=Limits(text=100))
    assert "defect:long-text" in tokens.transform_one(many)
    assert "defect:long-text" not in tokens.transform_one(few)
    raw = b"Subject: =?utf-8?q?one?=\nX-Other: =?utf-8?q?t=77o?=\n\nb"
    one = EmailTokens(limits=Limits(encoded_words=1)).transform_one(raw)
    assert "subject:one" in one and "x-other:two" not in one
    assert "x-other:two" in EmailTokens().transform_one(raw)


@pytest.mark.parametrize(
    ("raw", "reported"),
    [
        (b"Subject: =?koi8-r?q?a?=\n\nb", "charset:koi8-r"),
        (b'Content-Type: multipart/mixed; boundary="Next_12"\n\n--Next_12\n\na\n', "boundary:Next_0"),
        (
            b"Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/related; boundary=b\n\n"
            b"--b\n\nc\n--b--\n--a--\n",
            "mime:multipart/related",
        ),
        (b"Message-ID: <AB12.x@a.example>\n\nb", "message-id:a202.a1"),
        (b"To: a@b.example, c@d.example\n\nb", "to:*2"),
        (b"Content-Type: message/rfc822\n\nSubject: within\n\nb", "within"),
        (b"Subject: a\n\nhttp://10.1.2.3/x", "url:ip"),
        (b'Content-Type: text/html\n\n<a href="mailto:a@b.example">c</a>', "url:mailto"),
        (b"Content-Type: text/html\n\n<p>a" + b"<!-- b -->" * 5, "html:comment*4"),
    ],
)
def test_each_thing_that_tells_is_a_token(raw: bytes, reported: str) -> None:
    assert reported in EmailTokens().transform_one(raw)


def test_of_headers_that_repeat_what_others_say_the_name_is_all_that_counts() -> None:
    bag = EmailTokens().transform_one(b"List-Help: <http://lists.example.com/help>\n\nb")
    assert [token for token in bag if token.lower().startswith(("header:list", "list-help"))] == [
        "header:List-Help"
    ]


@pytest.mark.parametrize(
    "part",
    ["<ul><li>", "<", "<b>w ", "&#9", "<p style='color:red'>x", "http://a.b/c ", "a.com ", "://", "\u0430a "],
)
def test_hostile_pages_take_time_bounded_by_counts(part: str) -> None:
    page = b"--x\nContent-Type: text/html; charset=utf-8\n\n" + part.encode() * (65_000 // len(part)) + b"\n"
    raw = b"From: a@b\nContent-Type: multipart/mixed; boundary=x\n\n" + page * 10 + b"--x--"
    start = time.process_time()
    assert len(EmailTokens().transform_one(raw)) < 100
    assert time.process_time() - start < 1.0  # some 60 ms for the 256 KB that are read


@pytest.mark.parametrize(
    "address", ["http://pills.example.com/buy", "www.pills.example.com/buy", "pills.example.com/buy"]
)
def test_addresses_need_no_scheme(address: str) -> None:
    bag = EmailTokens().transform_one(plain(f"go to {address} now"))
    assert {"url:pills.example.com", "url:example.com", "path:buy"} <= bag.keys()
