"""The cost of the front door: predictions over kept connections with the guard, and of a plain uvicorn without it.

    python -m benchmarks.door                     as JSON; a minute
    python -m benchmarks.door --requests 100000   all that the target names

The same application answers both: once behind the guard on the door's server, once on uvicorn as it comes, with h11.
Rates are predictions for each second of processor time that the server took, so that other work on the machine, and the
client, change little; the two servers take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.serve import rows
from stream_bayes import AODE, save
from tests.ports import free_ports

__all__ = ["main"]

CONNECTIONS = 16
SERVER = """
import sys
import uvicorn
from stream_bayes.door import application
from stream_bayes.door.request_checks import ServiceLimits
from stream_bayes.serve import replica
from stream_bayes.serve.followed import follow_model
if sys.argv[1] == "plain":
    application.guarded = lambda app, door: app
    replica.make_server = lambda app, door: uvicorn.Server(
        uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False)
    )
model = follow_model(sys.argv[2], None, None)
replica.serve_replica(model, "model", "127.0.0.1", int(sys.argv[3]), ServiceLimits(max_requests=10**6), print)
"""


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.door")
    parser.add_argument("--requests", type=int, default=12_000, help="of each server in each round")
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    data = rows(2000)
    model = AODE()
    for event in data:
        model.learn_one(event.x, event.y)
    body = json.dumps({"x": data[0].x}).encode()
    head = "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    seen: dict[str, list[dict[str, float]]] = {"guarded": [], "plain": []}
    with TemporaryDirectory(prefix="door-") as directory:
        path = Path(directory, "model.sbm")
        save(model, path)
        for _ in range(told.rounds):
            for kind, figures in seen.items():
                figures.append(measured(kind, path, request, told.requests))
    found: dict[str, Any] = {
        kind: {name: round(median(each[name] for each in figures), 1) for name in figures[0]}
        for kind, figures in seen.items()
    }
    pairs = zip(seen["guarded"], seen["plain"], strict=True)
    ratios = sorted(one["per_cpu_second"] / other["per_cpu_second"] for one, other in pairs)
    found |= {"ratio": round(median(ratios), 3), "ratios": [round(each, 3) for each in ratios]}
    sys.stdout.write(json.dumps({"load": os.getloadavg()[0]} | found) + "\n")


def measured(kind: str, path: Path, request: bytes, count: int) -> dict[str, float]:
    """Return the figures of one server, which is started for it."""
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, kind, str(path), str(port)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        ask(port, request, 500)
        before, memory, begun = processor_seconds(process.pid), resident(process.pid), time.perf_counter()
        ask(port, request, count)
        return {
            "per_cpu_second": count / (processor_seconds(process.pid) - before),
            "per_second": count / (time.perf_counter() - begun),
            "growth_mb": (resident(process.pid) - memory) / 1e6,
        }
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def ask(port: int, request: bytes, count: int) -> None:
    """Send so many requests over kept connections, one at a time over each, and check each answer's status."""
    left = sent = count
    with selectors.DefaultSelector() as lines:
        for _ in range(CONNECTIONS):
            line = socket.create_connection(("127.0.0.1", port))
            lines.register(line, selectors.EVENT_READ, bytearray())
            line.sendall(request)
            sent -= 1
        while left:
            for key, _ in lines.select(30):
                answer: bytearray = key.data
                part = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]  # a socket
                assert part, "a kept connection was cut"
                answer += part
                head, end, body = answer.partition(b"\r\n\r\n")
                if not end or len(body) < int(
                    head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
                ):
                    continue
                assert head.startswith(b"HTTP/1.1 200"), bytes(answer)
                answer.clear()
                left -= 1
                if sent > 0:
                    key.fileobj.sendall(request)  # type: ignore[union-attr]  # a socket
                    sent -= 1
        for key in list(lines.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # a socket


def processor_seconds(pid: int) -> float:
    """Return the time that a process took, in it and in the system for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Return the bytes of memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
