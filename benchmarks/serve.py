"""The service: its cost to the stream, latency of predictions, rows of batches, clicks on a network, slow readers.

    python -m benchmarks.serve                     all of it, as JSON; some minutes
    python -m benchmarks.serve --only clicks       one of cost, latency, clicks, viewers

Costs are processor seconds of the engine's process, threads of the service in it included, with all variants in turn:
the median of the ratios of the rounds, and beside it what the service's own work took: its calls in the engine's
thread, less the time of the clock itself, and its threads by their clocks.
Latencies are those of one client with an open connection, clicks those in a headless Chromium, from the click to the
frame that shows all bars, while the network goes on learning.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from typing import Any

import numpy as np

from benchmarks.networks.questions import alarm
from stream_bayes import AODE, BayesNet
from stream_bayes.core.events import event as events
from stream_bayes.serve.handover import Handover
from stream_bayes.serve.launch import serve_engine
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.pipelines.config import ServeConfig
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sources.iterable import IterableSource
from stream_bayes.streams.sources.paced import Paced
from tests.browser.chromium import browser, why_there_is_none

__all__ = ["main"]

ROWS = 400_000
ROUNDS = 5
FEATURES, VALUES, CLASSES = 10, 8, 3
PER_SECOND, REQUESTS, SECONDS = 10_000, 200, 6.0
BATCH, BATCHES = 5_000, 8
VIEWERS = 200
CLICKS, ALARM_PER_SECOND = 80, 500


def main() -> None:
    """Measure, and print the figures."""
    measures = {"cost": cost_of_looking, "latency": latency, "clicks": clicks, "viewers": slow_readers}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve")
    parser.add_argument("--only", choices=measures)
    only = parser.parse_args().only
    for name, measure in measures.items():
        if only in (None, name):
            sys.stdout.write(json.dumps({name: measure()}) + "\n")
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
    spent: dict[str, list[float]] = {"alone": [], "served": [], "watched": []}
    own: dict[str, list[float]] = {"served": [], "watched": []}
    for _ in range(ROUNDS):
        for variant, taken in spent.items():
            engine = Engine(Step(served(AODE())), IterableSource(data))
            with ExitStack() as around:
                work = around.enter_context(time_of_handing_over())
                if variant != "alone":
                    service = around.enter_context(serve_engine(engine, settings()))
                    wait_until_alive(service.port)
                if variant == "watched":
                    around.enter_context(viewers(service.port, 2))
                start, threads = time.process_time(), time_of_threads()
                engine.run()
                taken.append(time.process_time() - start)
                if variant != "alone":
                    own[variant].append((sum(work.values()) + time_of_threads() - threads) / taken[-1])
                    service.handover.finish()

    def cost(variant: str) -> float:
        ratios = [taken / alone for taken, alone in zip(spent[variant], spent["alone"], strict=True)]
        return round(100 * (median(ratios) - 1.0), 2)

    return {
        "events_per_cpu_second": round(ROWS / min(spent["alone"])),
        "with_nobody_per_cent": cost("served"),
        "with_two_viewers_per_cent": cost("watched"),
        "own_work_with_nobody_per_cent": round(100 * median(own["served"]), 2),
        "own_work_with_two_viewers_per_cent": round(100 * median(own["watched"]), 2),
    }


@contextmanager
def time_of_handing_over() -> Iterator[dict[str, float]]:
    """Measure the processor time of the calls of the service in the engine's thread, less that of the clock."""
    work: dict[str, float] = {}
    originals = {name: getattr(Handover, name) for name in ("_attend", "_note")}

    def timed(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            before = time.thread_time()
            start = time.thread_time()  # a reading takes microseconds after much else: as long as most calls
            try:
                return method(*args, **named)
            finally:
                work[name] = work.get(name, 0.0) + time.thread_time() - start - (start - before)

        return call

    try:
        for name, method in originals.items():
            setattr(Handover, name, timed(name, method))
        yield work
    finally:
        for name, method in originals.items():
            setattr(Handover, name, method)


def time_of_threads() -> float:
    """Return the processor time of the service's threads in the engine's process so far."""
    clocks = [
        time.pthread_getcpuclockid(thread.ident)
        for thread in enumerate_threads()
        if thread.name.startswith("serve-") and thread.ident is not None
    ]
    return sum(map(time.clock_gettime, clocks))


def latency() -> dict[str, float]:
    """Return the latency of single predictions while the engine runs, and the rows a second of batches after it."""
    data = rows(int(PER_SECOND * (SECONDS + 6)))
    engine = Engine(Step(served(AODE())), Paced(IterableSource(data), 1.0))
    with serve_engine(engine, settings()) as service:
        thread = Thread(target=engine.run)
        thread.start()
        wait_until_alive(service.port)
        line = HTTPConnection("127.0.0.1", service.port, timeout=30)
        taken, moments, ages = [], [], []
        body = json.dumps({"x": data[0].x}).encode()
        for _ in range(50):
            send(line, body)
        begun = time.perf_counter()
        for number in range(int(REQUESTS * SECONDS)):
            if not thread.is_alive():
                break  # the machine is too busy for as many requests
            time.sleep(max(0.0, begun + number / REQUESTS - time.perf_counter()))
            start = time.perf_counter()
            answer = send(line, body)
            taken.append(time.perf_counter() - start)
            moments.append(start - begun)
            ages.append(answer["model"]["age_seconds"])
        passed = time.perf_counter() - begun
        thread.join()
        service.handover.finish()
        line.close()  # idle meanwhile, and so closed by the service
        many = json.dumps({"events": [event.x for event in data[:BATCH]]}).encode()
        send(line, many)
        fastest = float("inf")
        for _ in range(BATCHES):
            start = time.perf_counter()
            send(line, many)
            fastest = min(fastest, time.perf_counter() - start)
        line.close()
    seconds: dict[int, list[float]] = {}
    for moment, each in zip(moments, taken, strict=True):
        seconds.setdefault(int(moment), []).append(each)
    ages.sort()
    return {
        "requests_per_second": round(len(taken) / passed),
        "predict_p50_ms": share_of(taken, 0.5),
        "predict_p99_ms": share_of(taken, 0.99),
        "quietest_second_p50_ms": min(share_of(each, 0.5) for each in seconds.values()),
        "quietest_second_p99_ms": min(share_of(each, 0.99) for each in seconds.values()),
        "view_age_p99_seconds": ages[int(len(ages) * 0.99)],
        "batch_rows_per_second": round(BATCH / fastest),
    }


def clicks() -> dict[str, Any]:
    """Return the time from a click on a bar of ALARM to the frame with the posteriors of all 37 variables."""
    if (reason := why_there_is_none()) is not None:
        return {"skipped": reason}
    model = BayesNet.from_network(alarm(), 100.0)
    columns = model.sample(ALARM_PER_SECOND * 90, np.random.default_rng(3))
    names = list(columns)
    data = [
        events.Event(dict(zip(names, row, strict=True)), None, f"k{n}", n / ALARM_PER_SECOND, n)
        for n, row in enumerate(zip(*columns.values(), strict=True))
    ]
    engine = Engine(Step(served(model)), Paced(IterableSource(data), 1.0))
    with serve_engine(engine, settings()) as service, browser() as driver:
        thread = Thread(target=engine.run)
        thread.start()
        wait_until_alive(service.port)
        driver.get(f"http://127.0.0.1:{service.port}/#model")
        wait_for(lambda: driver.find_elements("css selector", ".belief[aria-label]"))
        before = engine.step.processed
        driver.set_script_timeout(120)
        found = driver.execute_async_script(CLICK, CLICKS)
        learned = engine.step.processed - before
        engine.stop()
        thread.join()
    taken = [each / 1000 for each in found["taken"]]
    return {
        "variables": found["variables"],
        "events_learned_meanwhile": learned,
        "click_to_frame_p10_ms": share_of(taken, 0.1),
        "click_to_frame_p50_ms": share_of(taken, 0.5),
        "click_to_frame_p95_ms": share_of(taken, 0.95),
    }


def share_of(seconds: list[float], share: float) -> float:
    """Return the milliseconds that a share of these take at most."""
    return round(1000 * sorted(seconds)[min(int(len(seconds) * share), len(seconds) - 1)], 1)


# Clicks bars, each twice: evidence, and back. The page marks the graph once its bars are set; the next frame is timed.
CLICK = """
const [clicks, done] = arguments;
(async () => {
  const graph = document.querySelector("svg:has(.belief)");
  const bars = [...graph.querySelectorAll(".belief[role=button]")], taken = [];
  for (let n = 0; n < clicks; n++) {
    const start = performance.now();
    const drawn = new Promise((resolve) => new MutationObserver((_, observer) => {
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(resolve));
    }).observe(graph, {attributes: true, attributeFilter: ["data-milliseconds"]}));
    bars[(n >> 1) * 7 % bars.length].dispatchEvent(new MouseEvent("click", {bubbles: true}));
    await drawn;
    taken.push(performance.now() - start);
  }
  done({taken, variables: graph.querySelectorAll(".node").length});
})();
"""


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
                with suppress(
                    OSError, HTTPException
                ):  # an idle line is closed; the next request opens another
                    for path in ("/v1/model", "/v1/evaluation", "/v1/history?limit=50"):
                        polled.request("GET", path)
                        polled.getresponse().read()
                    continue
                polled.close()
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
