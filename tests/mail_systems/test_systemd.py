"""systemd's own programs with the units: they are valid, hardened, and pass the sockets by name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mail.server.conversations import CERTAIN_SPAM, exchanged, trained_home
from tests.mail_systems.programs import EXAMPLES, ROOT, free_port, needs, running

pytestmark = needs("systemd-analyze", "systemd-socket-activate")

MAX_EXPOSURE = 1.5  # of 10, by systemd's own count; below 2 it calls a unit OK
INSTALLED = "/usr/local/bin/stream-bayes"


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units with a program that exists."""
    for path in EXAMPLES.glob("*.s[eo]*"):
        if path.suffix in (".service", ".socket"):
            (tmp_path / path.name).write_text(path.read_text().replace(INSTALLED, sys.executable))
    assert len(list(tmp_path.iterdir())) == 4
    return tmp_path


def analysed(*arguments: str) -> str:
    """Return what systemd-analyze prints; it must find nothing wrong."""
    command = ["/usr/bin/systemd-analyze", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_systemd_accepts_the_units(units: Path) -> None:
    printed = analysed("verify", "--man=no", "--recursive-errors=no", *map(str, sorted(units.iterdir())))
    assert "stream-bayes" not in printed


def test_systemd_finds_the_service_hardened(units: Path) -> None:
    printed = analysed("security", "--offline=true", "--no-pager", str(units / "stream-bayes-spam.service"))
    found = re.search(r"exposure level for stream-bayes-spam\.service: ([\d.]+)", printed)
    assert found is not None
    assert float(found[1]) <= MAX_EXPOSURE, printed


def test_the_server_takes_its_sockets_from_systemd(tmp_path: Path) -> None:
    home = trained_home(tmp_path / "home").directory
    spamd, web = free_port(), free_port()
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from stream_bayes.mail.start import main;"
        f" main(['spam', 'serve', '--home', {str(home)!r}])"
    )
    activate = shutil.which("systemd-socket-activate") or ""
    addresses = [f"--listen=127.0.0.1:{spamd}", f"--listen=127.0.0.1:{web}", "--fdname=spamd:http"]
    with running([activate, *addresses, sys.executable, "-c", program], spamd, tmp_path):
        request = b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%b" % (len(CERTAIN_SPAM), CERTAIN_SPAM)
        assert b"Spam: True" in exchanged(f"127.0.0.1:{spamd}", request)
        head = f"POST /judge HTTP/1.0\r\nHost: 127.0.0.1:{web}\r\nContent-Type: message/rfc822\r\n".encode()
        request = head + b"Content-Length: %d\r\n\r\n%b" % (len(CERTAIN_SPAM), CERTAIN_SPAM)
        assert b'"verdict":"spam"' in exchanged(f"127.0.0.1:{web}", request)
