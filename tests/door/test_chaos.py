"""The service under attack from several addresses: honest clients are answered, memory and descriptors bounded."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import http.client
import json
import lzma
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.ports import free_ports
from tests.serve.weather import TOKEN, Client, pipeline_text, write_days
from tests.waiting import until

DAYS = 200
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Scale:
    """The size of each attack, and the time for which an honest client is measured."""

    idle: int
    slow_bodies: int
    readers: int
    predictions: int
    labels: int
    seconds: float


SMALL = Scale(idle=400, slow_bodies=100, readers=80, predictions=400, labels=20, seconds=3.0)
LARGE = Scale(idle=10_000, slow_bodies=3_000, readers=500, predictions=100_000, labels=500, seconds=60.0)


@dataclass
class Honest:
    """The answers and times of an honest client."""

    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def p99(self) -> float:
        return sorted(self.seconds)[int(0.99 * (len(self.seconds) - 1))]


@contextmanager
def pipeline(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """Run a pipeline with its service and its metrics in processes of their own."""
    write_days(directory, DAYS)
    port, ops = free_ports(2)
    tables = f'token = "${{TOKEN_OF_TEST}}"\nmax_requests = 100_000\n[ops]\nport = {ops}'
    text = pipeline_text(serve=tables)
    (directory / "weather.toml").write_text(text.replace("port = 0", f"port = {port}"))
    process = subprocess.Popen(
        [sys.executable, "-m", "stream_bayes", "run", str(directory / "weather.toml"), "--log-json"],
        env=os.environ | {"TOKEN_OF_TEST": TOKEN},
        stderr=subprocess.DEVNULL,
    )
    try:
        client = Client(port)
        until("the service", client.is_answered)
        until(f"{DAYS} days", lambda: client.get("/v1/evaluation")["status"].get("processed") == DAYS)
        yield process, port, ops
    finally:
        process.kill()
        process.wait()


def service_of(process: subprocess.Popen[bytes]) -> int:
    """Return the process of the service: the child of the pipeline's."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def descriptors(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


class Attack:
    """Connections that do harm, from some addresses of this machine."""

    def __init__(self, port: int, ops: int, around: ExitStack) -> None:
        self._port = port
        self._ops = ops
        self._around = around
        self._rng = random.Random(7)

    def connect(self, data: bytes = b"", window: int | None = None, port: int | None = None) -> None:
        line = self._around.enter_context(socket.socket())
        line.settimeout(5.0)
        if window is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        with contextlib.suppress(OSError):  # refused, or cut off: what it is for
            line.bind((f"127.0.0.{self._rng.randrange(2, 6)}", 0))
            line.connect(("127.0.0.1", port or self._port))
            line.sendall(data)

    def run(self, scale: Scale) -> None:
        head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        zeros = bytes(20 * MEGABYTE)
        bombs = {"deflate": zlib.compress(zeros), "gzip": gzip.compress(zeros), "bzip2": bz2.compress(zeros)}
        bombs["xz"] = lzma.compress(zeros)
        kinds: list[tuple[int, Callable[[], None]]] = [
            (scale.idle, lambda: self.connect()),
            (
                scale.slow_bodies,
                lambda: self.connect(head + b"Content-Length: 8000000\r\n\r\n" + b" " * 20_000),
            ),
            (scale.slow_bodies // 2, lambda: self.connect(head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n")),
            (
                scale.readers // 2,
                lambda: self.connect(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n", 4096),
            ),
            (scale.readers // 2, lambda: self.connect(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")),
            (scale.readers, lambda: self.connect(self._rng.randbytes(self._rng.randrange(1, 3_000)))),
            (
                scale.readers,
                lambda: self.connect(self._rng.randbytes(self._rng.randrange(1, 3_000)), port=self._ops),
            ),
        ]
        for coding, bomb in bombs.items():
            sent = b"%sContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (
                head,
                coding.encode(),
                len(bomb),
            )
            kinds.append((scale.readers // 8, partial(self.connect, sent + bomb)))
        for count, attack in kinds:
            for _ in range(count):
                attack()


def probe(port: int, seconds: float) -> Honest:
    """Probe the health on new connections, and predict over a kept one, as honest clients do."""
    seen = Honest()
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=("127.0.0.1", 0))
    end = time.monotonic() + seconds
    try:
        kept.connect()
        line = kept.sock
        while time.monotonic() < end:
            start = time.monotonic()
            kept.request("POST", "/v1/predict", b'{"x":{"sky":"grey"}}', {"Content-Type": "application/json"})
            if kept.getresponse().read()[:14] != b'{"prediction":' or kept.sock is not line:
                seen.faults.append("a prediction failed, or its connection was cut")
            status, _, _ = Client(port, None).send("GET", "/livez")
            if status != 200:
                seen.faults.append(f"/livez answered {status}")
            seen.seconds.append((time.monotonic() - start) / 2.0)
            time.sleep(0.02)
    except Exception as error:
        seen.faults.append(repr(error))
    finally:
        kept.close()
    return seen


def predict(port: int, count: int, seen: Honest) -> None:
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        for _ in range(count):
            kept.request("POST", "/v1/predict", b'{"x":{"sky":"blue"}}', {"Content-Type": "application/json"})
            answer = kept.getresponse()
            if b'"prediction":' not in answer.read():
                seen.faults.append(f"a prediction was answered with {answer.status}")
    except Exception as error:
        seen.faults.append(repr(error))
    finally:
        kept.close()


def endured(directory: Path, scale: Scale) -> tuple[Honest, int, int]:
    """Attack a service; return what honest clients saw, and the most memory and descriptors beyond those at first.

    The honest client has a process of its own: its times are the service's, and not those of the attackers beside it.
    """
    others = Honest()
    with (
        pipeline(directory) as (process, port, ops),
        ExitStack() as around,
        ProcessPoolExecutor(1, get_context("spawn")) as client,
    ):
        pid = service_of(process)
        memory, most, files = resident(pid), 0, 0
        attack = Attack(port, ops, around)
        stored: list[bytes] = []

        def store() -> None:
            for number in range(scale.labels):
                label = {"key": f"d{number % DAYS}", "label": "yes"}
                answer = Client(port).post("/v1/labels", label, Idempotency_Key=f"chaos-{number}")
                if answer["outcome"] in ("corrected", "repeated", "stored"):
                    stored.append(f'"request":"chaos-{number}"'.encode())

        probed = client.submit(probe, port, scale.seconds)
        threads = [threading.Thread(target=attack.run, args=(scale,)), threading.Thread(target=store)]
        threads += [
            threading.Thread(target=predict, args=(port, scale.predictions // 16, others)) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or not probed.done():
            most, files = max(most, resident(pid)), max(files, descriptors(pid))
            time.sleep(0.05)
        seen = probed.result()
        seen.faults += others.faults
        assert process.poll() is None
        assert Client(port).get("/livez") == b"alive\n" and Client(ops, None).get("/readyz") == b"ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        log = (directory / "state" / "labels.jsonl").read_bytes()
        assert len(stored) == scale.labels and all(each in log for each in stored), (
            "an acknowledged label is lost"
        )
    return seen, most - memory, files


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and connects from 127.0.0.2")
def test_honest_clients_are_answered_under_a_small_attack(tmp_path: Path) -> None:
    seen, memory, files = endured(tmp_path, SMALL)
    assert seen.faults == []
    assert memory < 300 * MEGABYTE and files < 1_000
    assert seen.p99() < 5.0  # a busy machine; the large one measures


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and connects from 127.0.0.2")
def test_honest_clients_are_answered_under_a_large_attack(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 30_000 else max(soft, 30_000), hard))
    try:
        seen, memory, files = endured(tmp_path, LARGE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    figures = {"p99": seen.p99(), "megabytes": memory / MEGABYTE, "descriptors": files}
    print(json.dumps(figures))
    assert seen.faults == []
    assert memory < 300 * MEGABYTE and files < 1_100 and seen.p99() < 0.5, figures
