"""Evidence of modern mail: authentication, senders that differ, links behind other links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream_bayes.errors import BadState, BadValue, NotSupported
from stream_bayes.mail import EmailTokens, SpamFilter, UserFilter
from stream_bayes.mail.store.home import SpamHome
from tests.cli.test_snapshots import run
from tests.mail.messages import plain
from tests.resealing import resealed

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


SERVER = "mx.example.org"
SENT = b"To: Ann <Ann@a.example>, bob@b.example\nCc: cleo@c.example\nMessage-ID: <7@own.example>\n\nlunch?\n"


def from_(sender: str, more: str = "") -> bytes:
    return f"From: {sender}\n{more}Subject: yes\n\nat noon\n".encode()


def results(text: str, server: str = SERVER) -> str:
    return f"Authentication-Results: {server}; {text}\n"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (from_("ann@A.example", results("dmarc=pass header.from=a.example")), {"sender:written-to"}),
        (
            from_("cleo@c.example <cleo@c.example>", results("dkim=pass header.d=mail.c.example")),
            {"sender:written-to"},
        ),
        (from_("ann@a.example"), {"sender:written-to-unproved"}),
        (
            from_("ann@a.example", results("dkim=pass header.d=evil.example; dkim=fail header.d=a.example")),
            {"sender:written-to-unproved"},
        ),
        (from_("ann@a.example", results("dmarc=pass", "mx.evil.example")), {"sender:written-to-unproved"}),
        (from_("ann@a.example, eve@evil.example", results("dmarc=pass")), set()),
        (from_("eve@evil.example", "From: ann@a.example\n" + results("dmarc=pass")), set()),
        (from_('"ann@a.example" <eve@evil.example>', results("dmarc=pass")), set()),
        (from_("eve@evil.example", "In-Reply-To: <7@own.example>\n"), {"sender:answer"}),
        (from_("eve@evil.example", "References: <1@x.example>\n <7@own.example>\n"), {"sender:answer"}),
    ],
)
def test_people_one_has_written_to_are_evidence_if_they_are_proved(raw: bytes, expected: set[str]) -> None:
    model = SpamFilter(authserv_id=SERVER)
    assert model.learn_sent(SENT) == 3 and model.learn_sent(SENT) == 0
    kinds = ("sender:written-to", "sender:answer")
    assert {token for token in model.bag_of(raw).tokens if token.startswith(kinds)} == expected


def test_a_known_from_is_no_evidence_without_a_server_that_proves_it() -> None:
    model = SpamFilter()
    model.learn_sent(SENT)
    assert (
        model.bag_of(from_("ann@a.example", results("dmarc=pass"))).tokens
        == SpamFilter().bag_of(from_("ann@a.example", results("dmarc=pass"))).tokens
    )


def test_correspondents_are_hashes_that_are_saved_merged_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = SpamFilter(authserv_id=SERVER), SpamFilter(authserv_id=SERVER)
    model.learn_sent(SENT)
    other.learn_sent(b"To: dan@d.example\n\nlunch?\n")
    state = model.merge(other).state()
    assert "a.example" not in str(state) and len(state["arrays"]["correspondents"]) == 5
    proved = results("dmarc=pass")
    for sender in ("ann@a.example", "dan@d.example"):
        assert "sender:written-to" in SpamFilter.from_state(state).bag_of(from_(sender, proved)).tokens
    user = UserFilter(model)
    assert "sender:written-to" in user.bag_of(from_("ann@a.example", proved)).tokens
    assert not len(user.state()["arrays"]["correspondents"])
    with pytest.raises(NotSupported, match="site"):
        user.learn_sent(SENT)
    broken = state | {"arrays": state["arrays"] | {"correspondents": np.zeros(2, np.int64)}}
    with pytest.raises(BadState, match="correspondent twice"):
        SpamFilter.from_state(resealed(broken))
    monkeypatch.setattr("stream_bayes.mail.text.correspondents.MOST", 3)
    other.learn_sent(SENT)
    assert "sender:written-to" not in other.bag_of(from_("dan@d.example", proved)).tokens


def test_the_command_says_what_it_learned_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sent.eml").write_bytes(SENT)
    (tmp_path / "pill.png").write_bytes(b"\x89PNG")
    files = tmp_path / "sent.eml", tmp_path / "pill.png"
    done = run("spam", "sent", "--home", tmp_path / "home", *files)
    assert done.exit_code == 0 and "3 addresses learned from 1 message; 4 hashes in all" in done.stdout
    assert "without --authserv-id" in done.stderr and "1 refused" in done.stderr
    assert len(SpamHome(tmp_path / "home").load().correspondents) == 4
    done = run("spam", "sent", "--home", tmp_path / "home", tmp_path / "pill.png")
    assert done.exit_code == 3 and "1 refused" in done.stderr
