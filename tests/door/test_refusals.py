"""Refusals in the log: a line for each reason now and then, on one line whatever a request held."""

from __future__ import annotations

import pytest

from stream_bayes.door.refusals import LONGEST_DETAIL, Refusals


def test_a_refusal_is_one_line_with_its_reason_and_further_ones_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    refusals = Refusals("spamd", lambda: now[0])
    for _ in range(5):
        refusals.add("token", "192.0.2.1", "a token is needed\nroot: all is well")
    refusals.add("slow", "", "x" * 1000)
    now[0] = 11.0
    refusals.add("token", "192.0.2.2", "a token is needed")
    first, slow, later = [record.getMessage() for record in caplog.records]
    assert first.startswith("spamd refused a request of 192.0.2.1: token: a token is needed")
    assert "\n" not in first
    assert "a Unix socket: slow" in slow and len(slow) < LONGEST_DETAIL + 100
    assert later.endswith("a token is needed (5 of this kind since the last such line)")
    assert refusals.counts == {"token": 6, "slow": 1}
