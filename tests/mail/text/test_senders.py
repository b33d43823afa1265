"""Evidence of modern mail: authentication, senders that differ, links behind other links."""

from __future__ import annotations

import pytest

from stream_bayes.errors import BadValue
from stream_bayes.mail import EmailTokens, SpamFilter
from tests.mail.messages import plain

RESULTS = (
    "Authentication-Results: mx.example.org (v 2.1) 1;\n spf=pass smtp.mailfrom=shop.example;\n dmarc=fail\n"
)
SEALED = "ARC-Authentication-Results: i=2; mx.example.org; dkim=pass header.i=@mail.example.com\n"


def auth(more: str, authserv_id: str | None = None) -> set[str]:
    raw = more.encode() + plain("body", sender="ann@example.com")
    return {
        token
        for token in EmailTokens(authserv_id=authserv_id).transform_one(raw)
        if token.startswith(("auth:", "arc:"))
    }


def test_results_count_only_from_the_server_that_is_named() -> None:
    both = RESULTS + SEALED
    assert auth(both) == set() and auth(both, authserv_id="mx.example.net") == set()
    assert auth(both, authserv_id="MX.example.org") == {
        "auth:spf=pass",
        "auth:dmarc=fail",
        "arc:dkim=pass",
        "arc:dkim-same",
    }
    forged = RESULTS + RESULTS.replace("fail", "pass")  # the server's is on top
    assert "auth:dmarc=pass" not in auth(forged, authserv_id="mx.example.org")


def test_a_filter_keeps_the_name_of_the_server() -> None:
    model = SpamFilter(authserv_id="mx.example.org")
    assert "auth:spf=pass" in model.bag_of(RESULTS.encode() + plain("body")).tokens
    assert SpamFilter.from_state(model.state()).authserv_id == "mx.example.org"
    with pytest.raises(BadValue, match="authserv_id"):
        SpamFilter(authserv_id=7)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("more", "token"),
    [
        ("Reply-To: b@mail.example.com\n", "sender:reply-same"),
        ("Reply-To: ann@elsewhere.example\n", "sender:reply-other"),
        ("DKIM-Signature: v=1; a=rsa-sha256;\n d=news.example.com; s=x\n", "sender:dkim-same"),
        ("DKIM-Signature: v=1; d=bulk.example; s=x\n", "sender:dkim-other"),
        ("Return-Path: <x@bulk.example>\n", "sender:return-other"),
    ],
)
def test_senders_are_compared(more: str, token: str) -> None:
    bag = EmailTokens().transform_one(more.encode() + plain("body", sender="ann@mail.example.com"))
    assert token in bag


@pytest.mark.parametrize(
    "link",
    [
        "https://www.google.com/url?sa=t&q=http://pills.example.com/buy&x=1",
        "https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fpills.example.com%2Fbuy&data=05%7C0",
        "https://urldefense.proofpoint.com/v2/url?u=http-3A__pills.example.com_buy&d=DwMFaQ",
        "https://urldefense.com/v3/__https://pills.example.com/buy__;!!abc",
        "https://a.example/r?u=https%253A%252F%252Fpills.example.com%252Fbuy",
        "https://a.example/r?u=https%3A%2F%2Fb.example%2F%3Fto%3Dhttps%253A%252F%252Fpills.example.com%252Fbuy",
    ],
)
def test_the_targets_of_redirectors_are_read(link: str) -> None:
    bag = EmailTokens().transform_one(plain(f"see {link} now"))
    assert {"url:pills.example.com", "url:redirect", "path:buy"} <= bag.keys()
