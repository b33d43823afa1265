"""A replica over a model that is served in a thread, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from threading import Thread

from stream_bayes.door.request_checks import ServiceLimits
from stream_bayes.serve.followed import Followed, follow_model
from stream_bayes.serve.replica import serve_replica
from tests.serve.weather import Client


@contextmanager
def served(path: Path | Followed, token: str | None = None) -> Iterator[Client]:
    """Serve a model inside a `with` block."""
    addresses: list[str] = []
    stopped, ready = Flag(), Flag()

    def is_ready(url: str) -> None:
        addresses.append(url)
        ready.set()

    def run() -> None:
        followed = follow_model(str(path), None, None) if isinstance(path, Path) else path
        serve_replica(followed, "lawn", "127.0.0.1", 0, ServiceLimits(token=token), is_ready, stopped)

    thread = Thread(target=run)
    thread.start()
    try:
        assert ready.wait(60)
        yield Client(int(addresses[0].rstrip("/").rpartition(":")[2]), token)
    finally:
        stopped.set()
        thread.join()
