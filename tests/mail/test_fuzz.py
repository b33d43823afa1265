"""No message crashes a parser, raises, takes long, or is read differently by the two parsers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stream_bayes.mail.parsing import fast_parser_is_installed

ROOT = Path(__file__).parents[2]
SHORT = 400


def digests(parser: str, seed: int, count: int) -> list[str]:
    """What the fuzzer prints, in a process of its own."""
    command = [sys.executable, "-m", "tests.mail.fuzzing", parser, str(seed), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (
        f"{parser} failed at message {len(lines)} of seed {seed}: {done.stderr[-2000:]}"
    )
    assert len(lines) == count
    return lines


def compare(seed: int, count: int) -> None:
    standard = digests("standard", seed, count)
    if fast_parser_is_installed():
        fast = digests("fast", seed, count)
        assert [one for one, other in zip(fast, standard, strict=True) if one != other] == []


def test_mutated_messages_are_read_alike_by_both_parsers() -> None:
    compare(seed=1, count=SHORT)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_mutated_messages_are_read_alike_by_both_parsers(seed: int) -> None:
    compare(seed, count=2_000)
