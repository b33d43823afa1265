"""No message crashes a parser, raises, takes long, or is read differently by the two parsers."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stream_bayes.mail.text.transfer_encodings import fast_parser_is_installed

ROOT = Path(__file__).parents[3]
SHORT = 200


def digests(parsers: list[str], seed: int, count: int) -> list[list[str]]:
    """What the fuzzer prints for each parser, in a process of its own; all at once."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.mail.text.fuzzing", parser, str(seed), str(count)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for parser in parsers
    ]
    with ThreadPoolExecutor() as pool:  # so that no pipe is full while another is read
        outputs = list(pool.map(subprocess.Popen.communicate, running))
    for parser, process, (out, wrong) in zip(parsers, running, outputs, strict=True):
        place = len(out.splitlines())
        assert process.returncode == 0, f"{parser} failed at message {place} of seed {seed}: {wrong[-2000:]}"
        assert place == count
    return [out.splitlines() for out, _ in outputs]


def compare(seed: int, count: int) -> None:
    found = digests(["standard", *(["fast"] if fast_parser_is_installed() else [])], seed, count)
    assert [one for one, other in zip(found[0], found[-1], strict=True) if one != other] == []


def test_mutated_messages_are_read_alike_by_both_parsers() -> None:
    compare(seed=1, count=SHORT)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_mutated_messages_are_read_alike_by_both_parsers(seed: int) -> None:
    compare(seed, count=2_000)
