"""The service: its cost to the stream, latency of predictions, rows of batches, clicks on a network, slow readers.

    python -m benchmarks.serve          all of it, as JSON; about a minute and a half

Costs are processor seconds of the engine's process, threads of the service in it included, with both variants in turn;
the least of several rounds counts. Latencies are those of one client with an open connection.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import stream_bayes
from benchmarks.networks.questions import alarm
from stream_bayes import AODE, BayesNet
from stream_bayes.core.events import event as events
from stream_bayes.serve.guard import Limits
from stream_bayes.serve.launch import serve_engine
from stream_bayes.serve.replica import Followed, serve_replica
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.models.served import served
from stream_bayes.streams.pipelines.config import ServeConfig
from stream_bayes.streams.sources.iterable import IterableSource
from stream_bayes.streams.sources.paced import Paced

__all__ = ["main"]

ROWS = 400_000
ROUNDS = 4
FEATURES, VALUES, CLASSES = 10, 8, 3
PER_SECOND, REQUESTS, SECONDS = 10_000, 200, 6.0
BATCH, BATCHES = 5_000, 8
VIEWERS = 200


def main() -> None:
    """Measure, and print the figures."""
    for measure in (cost_of_looking, latency, clicks, slow_readers):
        sys.stdout.write(json.dumps(measure()) + "\n")
        sys.stdout.flush()


def rows(number: int) -> list[Any]:
    """Return events of ten nominal features and three classes."""
    rng = random.Random(5)
    made = []
    for position in range(number):
        y = rng.randrange(CLASSES)
        x = {f"f{k}": f"v{(rng.randrange(VALUES) + y * (k % 3)) % VALUES}" for k in range(FEATURES)}
        made.append(events.Event(x, f"c{y}", f"k{position}", position / PER_SECOND, position))
    return made


def settings() -> ServeConfig:
    return ServeConfig.model_validate({"port": 0, "max_requests": 100_000})


def cost_of_looking() -> dict[str, float]:
    """Return the share of processor time that the service adds, with nobody and with two browsers looking."""
    data = rows(ROWS)
    least = dict.fromkeys(("alone", "served", "watched"), float("inf"))
    for _ in range(ROUNDS):
        for variant in least:
            engine = Engine(Step(served(AODE())), IterableSource(data))
            with ExitStack() as around:
                if variant != "alone":
                    port = around.enter_context(serve_engine(engine, settings())).port
                    wait_until_alive(port)
                if variant == "watched":
                    around.enter_context(viewers(port, 2))
                start = time.process_time()
                engine.run()
                least[variant] = min(least[variant], time.process_time() - start)
    alone = least["alone"]
    return {
        "events_per_cpu_second": round(ROWS / alone),
        "cost_with_nobody_per_cent": round(100 * (least["served"] / alone - 1.0), 2),
        "cost_with_two_viewers_per_cent": round(100 * (least["watched"] / alone - 1.0), 2),
    }


def latency() -> dict[str, float]:
    """Return the latency of single predictions while the engine runs, and the rows a second of batches after it."""
    data = rows(int(PER_SECOND * (SECONDS + 6)))
    engine = Engine(Step(served(AODE())), Paced(IterableSource(data), 1.0))
    with serve_engine(engine, settings()) as service:
        thread = Thread(target=engine.run)
        thread.start()
        wait_until_alive(service.port)
        line = HTTPConnection("127.0.0.1", service.port, timeout=30)
        taken, ages = [], []
        body = json.dumps({"x": data[0].x}).encode()
        for _ in range(50):
            send(line, body)
        begun = time.perf_counter()
        for number in range(int(REQUESTS * SECONDS)):
            time.sleep(max(0.0, begun + number / REQUESTS - time.perf_counter()))
            start = time.perf_counter()
            answer = send(line, body)
            taken.append(time.perf_counter() - start)
            ages.append(answer["model"]["age_seconds"])
        thread.join()
        service.handover.finish()
        line.close()  # idle meanwhile, and so closed by the service
        many = json.dumps({"events": [event.x for event in data[:BATCH]]}).encode()
        send(line, many)
        start = time.perf_counter()
        for _ in range(BATCHES):
            send(line, many)
        per_second = BATCH * BATCHES / (time.perf_counter() - start)
        line.close()
    taken.sort()
    ages.sort()
    return {
        "predict_p50_ms": round(1000 * taken[len(taken) // 2], 2),
        "predict_p99_ms": round(1000 * taken[int(len(taken) * 0.99)], 2),
        "view_age_p99_seconds": ages[int(len(ages) * 0.99)],
        "batch_rows_per_second": round(per_second),
    }


def clicks() -> dict[str, float]:
    """Return the time of a click of evidence on ALARM: the posteriors of all 37 variables."""
    with TemporaryDirectory() as directory:
        model = BayesNet.from_network(alarm(), 100.0)
        path = Path(directory, "alarm.zip")
        stream_bayes.save(model, path)
        stopped, ready = Event(), Event()
        addresses: list[str] = []

        def is_ready(url: str) -> None:
            addresses.append(url)
            ready.set()

        limits = Limits(max_requests=100_000)
        thread = Thread(
            target=lambda: serve_replica(Followed(path), "alarm", "127.0.0.1", 0, limits, is_ready, stopped)
        )
        thread.start()
        ready.wait()
        port = int(addresses[0].rstrip("/").rpartition(":")[2])
        line = HTTPConnection("127.0.0.1", port, timeout=30)
        variables = list(model.structure.variables)
        taken = []
        for number in range(60):
            name = variables[number % len(variables)]
            body = json.dumps({"evidence": {name: str(model.states[name][0])}}).encode()
            start = time.perf_counter()
            send(line, body, "/v1/query")
            taken.append(time.perf_counter() - start)
        line.close()
        stopped.set()
        thread.join()
    taken.sort()
    return {"click_p50_ms": round(1000 * taken[30], 1), "click_p95_ms": round(1000 * taken[57], 1)}


def slow_readers() -> dict[str, Any]:
    """Return the memory that 200 viewers take, half of whom never read, and how many of those are dropped."""
    data = rows(40 * 500)
    engine = Engine(Step(served(AODE())), Paced(IterableSource(data), 0.05))
    with serve_engine(engine, settings()) as service:
        thread = Thread(target=engine.run)
        thread.start()
        wait_until_alive(service.port)
        before = resident()
        with viewers(service.port, VIEWERS // 2):
            lines = [follow(service.port) for _ in range(VIEWERS // 2)]
            time.sleep(15.0)
            grown = resident() - before
            for line in lines:
                line.close()
        engine.stop()
        thread.join()
    return {"mb_of_200_viewers": round(grown / 1e6, 1)}


@contextmanager
def viewers(port: int, number: int) -> Iterator[None]:
    """Look on from another process inside a `with` block."""
    command = [sys.executable, "-m", "benchmarks.serve", "viewers", str(port), str(number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.stdin.close()
            process.wait()


def look(port: int, number: int) -> None:
    """Read events, and the model and the measures every second, as the page does, until stdin ends."""
    ended = Event()
    lines = [follow(port) for _ in range(number)]
    for line in lines:
        line.setblocking(False)

    def drain() -> None:
        polled = HTTPConnection("127.0.0.1", port, timeout=30)
        due = 0.0
        while not ended.wait(0.05):
            for line in lines:
                with suppress(OSError):
                    line.recv(1 << 16)
            if number < 10 and time.monotonic() >= due:
                due = time.monotonic() + 1.0
                for path in ("/v1/model", "/v1/evaluation", "/v1/history?limit=50"):
                    polled.request("GET", path)
                    polled.getresponse().read()
        polled.close()

    thread = Thread(target=drain)
    thread.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    ended.set()
    thread.join()


def follow(port: int) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), timeout=30)
    line.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return line


def send(line: HTTPConnection, body: bytes, path: str = "/v1/predict") -> Any:
    line.request("POST", path, body, {"Content-Type": "application/json"})
    answer = line.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(content.decode())
    return json.loads(content)


def wait_until_alive(port: int) -> None:
    wait_for(lambda: is_alive(port))


def is_alive(port: int) -> bool:
    line = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request("GET", "/livez")
        return line.getresponse().status == 200
    except OSError:
        return False
    finally:
        line.close()


def wait_for(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.05)


def resident() -> int:
    """Return the bytes of memory that the processes of the service take."""
    own = str(Path("/proc/self").resolve().name)
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        is_service = b"stream_bayes.serve" in status.with_name("cmdline").read_bytes()
        if is_service and lines.get("PPid", "").strip() == own and "VmRSS" in lines:
            total += int(lines["VmRSS"].split()[0]) * 1024
    return total


if __name__ == "__main__":
    if sys.argv[1:2] == ["viewers"]:
        look(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
