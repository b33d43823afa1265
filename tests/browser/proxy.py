"""A reverse proxy with TLS as docs/service.md configures it, in an nginx of its own, where one is installed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from tests.serve.weather import Client

__all__ = ["HOST", "NGINX", "Proxied", "example", "proxying"]

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
HOST = "bayes.example.org"
SECONDS = 20.0  # until it listens
AROUND = """
daemon off;
worker_processes 1;
pid nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path bodies;
    proxy_temp_path answers;
    fastcgi_temp_path fastcgi;
    scgi_temp_path scgi;
    uwsgi_temp_path uwsgi;
{server}
}}
"""


class OverTLS(HTTPSConnection):
    """A connection to the loopback, for the name of the certificate."""

    def __init__(self, port: int, trusted: ssl.SSLContext) -> None:
        super().__init__(HOST, port, timeout=60)
        self._trusted = trusted

    def connect(self) -> None:
        line = socket.create_connection(("127.0.0.1", self.port), self.timeout)
        self.sock = self._trusted.wrap_socket(line, server_hostname=HOST)


@dataclass
class Proxied(Client):
    """A client that reaches the service through the proxy."""

    trusted: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def connection(self) -> HTTPConnection:
        return OverTLS(self.port, self.trusted)


def example() -> str:
    """Return the server block of the documentation."""
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text("utf-8")
    (block,) = re.findall(r"^```nginx\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return str(block)


@contextmanager
def proxying(directory: Path, port: int, service: int, token: str | None = None) -> Iterator[Proxied]:
    """Run the example in front of a service inside a `with` block; only its ports and paths are replaced."""
    assert NGINX is not None
    certificate, key = directory / "proxy.pem", directory / "proxy.key"
    made = ["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", f"/CN={HOST}"]
    made += ["-addext", f"subjectAltName=DNS:{HOST}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *made], check=True, capture_output=True, timeout=60)
    server = example()
    for stands, instead in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (f"/etc/ssl/{HOST}.pem", str(certificate)),
        (f"/etc/ssl/{HOST}.key", str(key)),
        ("http://127.0.0.1:8080;", f"http://127.0.0.1:{service};"),
    ):
        assert server.count(stands) == 1, f"docs/service.md: the example has no single {stands!r}"
        server = server.replace(stands, instead)
    account = (
        "user root;\n" if os.geteuid() == 0 else ""
    )  # of the workers, as the directory is closed to others
    (directory / "nginx.conf").write_text(account + AROUND.format(server=server), "utf-8")
    log = directory / "nginx.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [NGINX, "-p", f"{directory}/", "-c", "nginx.conf", "-e", "errors.log"],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        wait_until_it_listens(process, port, log)
        yield Proxied(port, token, trusted=ssl.create_default_context(cafile=str(certificate)))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while True:
        assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
