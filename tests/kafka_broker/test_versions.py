"""A rolling upgrade: workers of two versions of the package, each installed for itself, share a group."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import stream_bayes
from stream_bayes._build import VERSION
from tests.kafka_broker.sharing import Shards
from tests.kafka_broker.topics import KafkaTopics
from tests.waiting import PATIENCE, until

PACKAGE = Path(stream_bayes.__path__[0])
NEWER = "9.0.0"


def installed(directory: Path, version: str) -> Path:
    """Install a copy of the package that says it is of another version; return the directory to run it in."""
    shutil.copytree(
        PACKAGE,
        directory / "stream_bayes",
        copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (directory / "tests").symlink_to(Path(__file__).parents[1])
    build = directory / "stream_bayes/_build.py"
    text = build.read_text("utf-8")
    build.unlink()  # a link, as all files are
    build.write_text(text.replace(f'VERSION = "{VERSION}"', f'VERSION = "{version}"'), "utf-8")
    return directory


@contextmanager
def worker(shards: Shards, directory: Path, version: str) -> Iterator[Callable[[], None]]:
    """Run a worker of an installed version in a `with` block; yield what stops it as an update does."""
    said = shards.cache() / f"{uuid.uuid4().hex}.said"
    said.parent.mkdir(exist_ok=True)
    with said.open("wb") as out:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.kafka_broker.worker",
                json.dumps({"pipeline": shards.pipeline_of(None)}),
            ],
            cwd=directory,
            stdout=out,
            stderr=out,
        )

    def stop() -> None:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, said.read_text("utf-8")

    try:
        until("a worker to run", lambda: b"running" in said.read_bytes() or process.poll() is not None)
        assert f"running {version}" in said.read_text("utf-8")
        yield stop
    finally:
        process.kill()
        process.wait()


def test_workers_are_upgraded_and_set_back_one_after_another(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    shards = Shards(kafka_topics, snapshots={"every_events": 20})
    older, newer = PACKAGE.parent, installed(tmp_path, NEWER)
    written = 0

    def write_and_wait() -> None:
        nonlocal written
        shards.put(100, seed=written)
        written += 100
        shards.wait_for(written)

    try:
        with ExitStack() as around:

            def start(directory: Path, version: str) -> Any:
                return around.enter_context(worker(shards, directory, version))

            first, second = start(older, VERSION), start(older, VERSION)
            write_and_wait()
            first()
            first = start(newer, NEWER)
            write_and_wait()
            second()
            second = start(newer, NEWER)
            write_and_wait()
            first()
            first = start(older, VERSION)  # the upgrade is taken back
            write_and_wait()
            second()
            write_and_wait()
            first()
        shards.check(written)
    finally:
        shards.close()
