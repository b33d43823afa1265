"""Programs of mail systems from Debian's packages, started with a configuration and ports of their own.

    sudo apt-get install --no-install-recommends postfix rspamd dovecot-imapd dovecot-sieve procmail spamc systemd

Nothing that is installed is changed: each test writes its configuration into a directory of its own. Where a program is
missing its tests are skipped; with STREAM_BAYES_MAIL_SYSTEMS_REQUIRED=1 they fail instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

Found = TypeVar("Found")

__all__ = ["EXAMPLES", "free_port", "needs", "open_directory", "running", "wait_for"]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "mail"
REQUIRED = "STREAM_BAYES_MAIL_SYSTEMS_REQUIRED" in os.environ
ADMIN_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS = 30.0  # until a program is ready or has done its work


def needs(*programs: str, root: bool = False) -> list[pytest.MarkDecorator]:
    """Return the marks of tests that need some programs, and the superuser's rights."""
    missing = [name for name in programs if shutil.which(name, path=ADMIN_PATH) is None]
    reasons = [f"not installed: {', '.join(missing)}"] if missing else []
    if root and os.geteuid() != 0:
        reasons.append("its mail server only starts as root")
    return [
        pytest.mark.mail_systems,
        pytest.mark.skipif(bool(reasons) and not REQUIRED, reason="; ".join(reasons)),
    ]


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


@contextmanager
def open_directory() -> Iterator[Path]:
    """Yield a directory that the accounts of a mail server may enter: those of pytest are closed to all but one."""
    with tempfile.TemporaryDirectory(prefix="mail-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def wait_for(found: Callable[[], Found | None], what: str) -> Found:
    """Return what is found, as soon as it is."""
    until = time.monotonic() + SECONDS
    while True:
        result = found()
        if result is not None:
            return result
        assert time.monotonic() < until, f"{what}: not within {SECONDS:g} s"
        time.sleep(0.02)


def answers(port: int) -> bool | None:
    """Return True if a program listens at a port; None if none does."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return None
    return True


@contextmanager
def running(command: Sequence[str], port: int, directory: Path) -> Iterator[None]:
    """Run a daemon in the foreground until it listens at a port, and end it and its children afterwards."""
    log = directory / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PATH": ADMIN_PATH},
            start_new_session=True,
        )
    try:

        def ready() -> bool | None:
            code = process.poll()
            assert code is None, f"{command[0]} ended with {code}:\n{log.read_text(errors='replace')[-3000:]}"
            return answers(port)

        wait_for(ready, f"{command[0]} at port {port}")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(SECONDS)
