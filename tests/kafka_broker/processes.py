"""Worker processes, of which many are started: each is forked from one that has imported everything already."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE, until

# It has no threads, and no connections, that a child would share.
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["tests.kafka_broker.worker"])


class Process:
    """A worker.

    Parameters
    ----------
    told
        What it is told; see `tests.kafka_broker.worker`.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="worker-")
        self._said = Path(self._directory.name, "said")
        self._wrong = Path(self._directory.name, "wrong")
        self._process = FORKING.Process(
            target=work, args=(told, str(self._said), str(self._wrong)), daemon=True
        )
        self._process.start()

    def send_signal(self, number: signal.Signals) -> None:
        pid = self._process.pid
        assert pid is not None
        os.kill(pid, number)

    def is_stopped(self) -> bool:
        """Return True if it was stopped by a signal and has not gone on."""
        about = Path(f"/proc/{self._process.pid}/stat")
        return about.exists() and about.read_text().rpartition(")")[2].split()[0] == "T"

    def is_stopped_or_ended(self) -> bool:
        return self.is_stopped() or self._process.exitcode is not None

    def ended(self, seconds: float = PATIENCE) -> int:
        """Its exit code, once it has ended."""
        self._process.join(seconds)
        code = self._process.exitcode
        assert code is not None, f"a worker did not end in {seconds:g} seconds; it says {self.stderr_text()}"
        return code

    def outcome(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """What it says at its good end."""
        assert self.ended(seconds) == 0, self.stderr_text()
        outcome: dict[str, Any] = json.loads(self.stdout_text().splitlines()[-1])
        return outcome

    def wait_for(self, text: str, seconds: float = PATIENCE) -> None:
        """Return once it has said this, or has ended."""
        until(
            f"a worker to say {text!r}",
            lambda: text in self.stdout_text() + self.stderr_text() or self._process.exitcode is not None,
            seconds,
        )

    def stdout_text(self) -> str:
        return self._said.read_text("utf-8") if self._said.exists() else ""

    def stderr_text(self) -> str:
        """What it said went wrong."""
        return self._wrong.read_text("utf-8") if self._wrong.exists() else ""

    def kill(self) -> None:
        """End it if it has not ended, and forget what it said."""
        self._process.kill()
        self._process.join(PATIENCE)
        self._process.close()
        self._directory.cleanup()


def work(told: dict[str, Any], said: str, wrong: str) -> None:
    """Be a worker."""
    from tests.kafka_broker.worker import main

    threading.Thread(target=_end_with_tests, daemon=True).start()
    for stream, path in ((sys.stdout, said), (sys.stderr, wrong)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, stream.fileno())
        os.close(file)
    main(told)


def _end_with_tests() -> None:
    """End at once when the process of the tests has, however it did; the one that forks outlives it."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    wait([tests.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)
