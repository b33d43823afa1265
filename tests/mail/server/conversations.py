"""Connections to the servers of the filter, as the programs of mail systems make them."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.server.server import SpamServer, WebAccess
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.mail.messages import HAM, SPAM, plain, stream

TOKEN = "a token of more than sixteen"
CERTAIN_SPAM = plain(" ".join(SPAM * 3), sender="user1@shop1.example.net", subject="winner 1")
CERTAIN_HAM = plain(" ".join(HAM * 3), sender="user1@work1.example.net", subject="meeting 1")


def trained_home(directory: Path, messages: int = 400) -> SpamHome:
    """A home with a filter that is certain of `CERTAIN_SPAM` and `CERTAIN_HAM`."""
    home = SpamHome(directory)
    with home.changing(SpamFilter) as model:
        for raw, label in stream(messages):
            model.learn_one(raw, label, id=id_of_mail(raw))
    return home


@contextmanager
def serving(home: SpamHome, listen: dict[str, str], **settings: Any) -> Iterator[SpamServer]:
    """Serve a home in a thread."""
    server = SpamServer(home, listen, **{"web": WebAccess(TOKEN)} | settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(60)
        assert not thread.is_alive()


def exchanged(address: str, data: bytes) -> bytes:
    """Return the answer of a server until it closes the connection; a reset is an end, too."""
    if "/" in address:
        line = socket.socket(socket.AF_UNIX)
        line.connect(address)
    else:
        host, _, port = address.rpartition(":")
        line = socket.create_connection((host.strip("[]"), int(port)))
    with line:
        line.settimeout(60)
        answer = b""
        with suppress(ConnectionError):
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            while more := line.recv(1 << 16):
                answer += more
        return answer


def over_http(
    server: SpamServer, method: str, path: str, body: bytes | dict[str, str] = b"", **headers: str
) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of an answer. A mail is sent as one, an id as JSON, and both with the token."""
    is_mail = isinstance(body, bytes)
    sent = {"Content-Type": "message/rfc822" if is_mail else "application/json"} if method == "POST" else {}
    sent |= {"Authorization": f"Bearer {TOKEN}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    line = http.client.HTTPConnection(server.addresses()["http"], timeout=60)
    try:
        line.request(method, path, body if isinstance(body, bytes) else json.dumps(body), sent)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


class MailServer:
    """The side of a mail server in a milter's connection."""

    def __init__(self, address: str, steps: int, actions: int = 0x1FF) -> None:
        host, _, port = address.rpartition(":")
        self.line = socket.create_connection((host.strip("[]"), int(port)))
        self.line.settimeout(60)
        self.send(b"O", struct.pack(">III", 6, actions, steps))
        command, data = self.receive()
        assert command == b"O"
        self.version, self.actions, self.steps = struct.unpack(">III", data)

    def send(self, command: bytes, data: bytes = b"") -> None:
        self.line.sendall(struct.pack(">I", len(data) + 1) + command + data)

    def receive(self) -> tuple[bytes, bytes]:
        (size,) = struct.unpack(">I", self._read(4))
        packet = self._read(size)
        return packet[:1], packet[1:]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.line.recv(size - len(data))
            assert more, "the milter closed the connection"
            data += more
        return data

    def step(self, command: bytes, data: bytes, declined: int, silent: int = 0) -> None:
        """Take a step as Postfix does: not one that was declined, and waiting for an answer unless there is none."""
        if self.steps & declined:
            return
        self.send(command, data)
        if not self.steps & silent:
            assert self.receive() == (b"c", b"")

    def deliver(self, raw: bytes, to: Sequence[bytes] = (b"bob@example.org",)) -> list[tuple[bytes, bytes]]:
        """Send a mail; return what the milter answers at its end."""
        self.step(b"C", b"mx.example.com\0004\0\x19192.0.2.7\0", 0x01, 0x1000)
        self.step(b"H", b"mx.example.com\0", 0x02, 0x2000)
        self.send(b"D", b"Mi\0004F1\0")
        self.step(b"M", b"<ann@example.com>\0", 0x04, 0x4000)
        for recipient in to:
            self.step(b"R", b"<" + recipient + b">\0", 0x08, 0x8000)
        self.step(b"T", b"", 0x200, 0x10000)
        head, _, body = raw.partition(b"\n\n")
        for field in head.replace(b"\n ", b"\x01 ").split(b"\n"):
            name, _, value = field.replace(b"\x01", b"\n").partition(b":")
            value = value if self.steps & 0x100000 else value.lstrip()
            self.step(b"L", name + b"\0" + value + b"\0", 0x20, 0x80)
        self.step(b"N", b"", 0x40, 0x40000)
        text = body.replace(b"\n", b"\r\n")
        for start in range(0, len(text), 100):
            self.step(b"B", text[start : start + 100], 0x10, 0x80000)
        self.send(b"E")
        answers: list[tuple[bytes, bytes]] = []
        while not answers or answers[-1][0] not in (b"a", b"c", b"y", b"r", b"t", b"d"):
            answers.append(self.receive())
        return answers

    def close(self) -> None:
        self.send(b"Q")
        self.line.close()
