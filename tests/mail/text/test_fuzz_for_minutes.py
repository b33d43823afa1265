"""The fuzzer of messages, for minutes."""

from __future__ import annotations

import pytest

from tests.mail.text.test_fuzz import compare


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_very_many_mutated_messages_are_read_alike_by_both_parsers(seed: int) -> None:
    compare(seed, count=5_000)
