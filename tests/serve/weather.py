"""A pipeline over a followed file of made-up days, with a service, and a client of it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

from stream_bayes.serve.launch import serve_engine
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.waiting import PATIENCE, until

TOKEN = "a token of more than sixteen"

PIPELINE = """
name = "weather"
batch = 50
source = { kind = "csv", path = "days.csv", target = "rain", key = "day", follow = true }
model = { kind = "MODEL" }
labels = {}
predictions = { kind = "jsonl", path = "predictions.jsonl" }
snapshots = { directory = "state" }
SERVE
[schema.features]
sky = "nominal"
wind = "numeric"
"""


def write_days(directory: Path, days: int, seed: int = 1, start: int = 0) -> None:
    """Append days to the file: grey ones are rainy, nine times in ten."""
    rng = random.Random(seed)
    path = directory / "days.csv"
    lines = [] if path.exists() else ["day,sky,wind,rain"]
    for day in range(start, start + days):
        sky = rng.choice(("grey", "blue"))
        rain = "yes" if (sky == "grey") is (rng.random() < 0.9) else "no"
        lines.append(f"d{day},{sky},{rng.gauss(3.0 if sky == 'grey' else 1.0, 1.0):.2f},{rain}")
    with path.open("a") as file:
        file.write("\n".join(lines) + "\n")


def pipeline_text(model: str = "nb", serve: str = "") -> str:
    """Return the text of the pipeline file."""
    table = f"[serve]\nport = 0\n{serve}\n"
    return PIPELINE.replace("MODEL", model).replace("SERVE", table)


@dataclass
class Client:
    """Sends requests to a service."""

    port: int
    token: str | None = TOKEN
    headers: dict[str, str] = field(default_factory=dict)

    def send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and body of an answer; JSON is decoded."""
        given = {"Content-Type": "application/json"} if body is not None else {}
        if self.token is not None:
            given["Authorization"] = f"Bearer {self.token}"
        given |= self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        line = self.connection()
        try:
            line.request(method, path, data, given)
            answer = line.getresponse()
            content = answer.read()
            found = {name.lower(): value for name, value in answer.getheaders()}
            is_json = "json" in found.get("content-type", "")
            return answer.status, found, json.loads(content) if is_json else content
        finally:
            line.close()

    def connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def is_answered(self) -> bool:
        """Return True once the service is there."""
        try:
            return bool(self.send("GET", "/livez")[0] == 200)
        except OSError:
            return False

    def send_until_answered(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Send a request again, as the service asks for, while the engine has not handed over a model."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self.send(method, path, body, **headers)
            if found[0] != 503 or "retry-after" not in found[1] or time.monotonic() > deadline:
                return found
            time.sleep(float(found[1]["retry-after"]) / 4)

    def get(self, path: str, **headers: str) -> Any:
        """Return the body of an answer that is expected to be sound."""
        status, _, body = self.send_until_answered("GET", path, None, **headers)
        assert status == 200, (status, body)
        return body

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """Return the body of an answer that is expected to be sound."""
        status, _, answer = self.send_until_answered("POST", path, body, **headers)
        assert status in (200, 202), (status, answer)
        return answer

    def refusal(self, path: str, body: Any, status: int, **headers: str) -> str:
        """Return the detail of a problem that is expected to have this status."""
        send = self.send if status == 503 else self.send_until_answered
        found, given, answer = send("POST", path, body, **headers)
        assert found == status, (found, answer)
        assert given["content-type"] == "application/problem+json"
        assert answer["status"] == status and answer["type"].startswith("urn:stream-bayes:")
        return str(answer["detail"])


def wait_for_status(client: Client, count: int) -> None:
    """Wait until the service has been told of so many events."""
    until(
        f"a status of {count} events",
        lambda: client.get("/v1/evaluation")["status"].get("processed", 0) >= count,
    )


def wait_for_model(client: Client, count: int) -> None:
    """Wait until the service answers by a model of so many events."""
    until(f"a model of {count} events", lambda: client.get("/v1/model")["model"]["processed"] >= count)


@contextmanager
def running(directory: Path, text: str, token: str | None = TOKEN) -> Iterator[tuple[Engine, Client]]:
    """Run a pipeline with its service inside a `with` block."""
    config = parse_config(text)
    engine = build(config, directory)
    assert config.serve is not None
    with serve_engine(engine, config.serve, config, directory, token=token) as served:
        failures: list[BaseException] = []

        def run() -> None:
            try:
                engine.run()
            except BaseException as error:
                failures.append(error)

        thread = Thread(target=run)
        thread.start()
        try:
            yield engine, Client(served.port, token)
        finally:
            engine.stop()
            thread.join()
        assert not failures, failures
