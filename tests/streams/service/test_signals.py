"""The first signal asks a run to end; the second one does not ask."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import signal
from stream_bayes.streams.service.signals import stopping_on_signals
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what runs in the background ignore it
with stopping_on_signals(lambda: print("asked", flush=True)):
    for _ in range(2):
        signal.raise_signal(signal.{name})
print("went on")
"""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", -signal.SIGTERM), ("SIGINT", -signal.SIGINT)])
def test_a_second_signal_ends_the_process_at_once(name: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (code, "asked\n")
