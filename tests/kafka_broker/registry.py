"""Apicurio Registry, for as long as the tests that use it run: a schema registry with Confluent's interface.

It comes from Maven Central, once, into a cache outside the repository; it keeps its schemas in memory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.kafka_broker.broker import CACHE, FETCH_SECONDS, NoBroker, die_with_parent
from tests.ports import free_ports
from tests.waiting import PATIENCE

VERSION = "3.0.9"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
# Later ones need the descriptors of parents too.
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:2.8"
PROGRAM = CACHE / f"apicurio-{VERSION}"
HEAP = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def program() -> Path:
    """Return the directory of the registry's program; fetch it if need be."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        raise NoBroker("no Java or Maven was found to run a schema registry with: install Java 17 and Maven")
    if PROGRAM.is_dir():
        return PROGRAM
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    fetching = PROGRAM.with_name(f"{PROGRAM.name}-{os.getpid()}")
    fetching.mkdir()
    packed = fetching / "all.tar.gz"
    command = [
        "mvn",
        "-q",
        "-B",
        f"{PLUGIN}:get",
        f"-Dartifact={ARTIFACT}",
        "-Dtransitive=false",
        f"-Ddest={packed}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, cwd=PROGRAM.parent)
    if done.returncode != 0 or not packed.exists():
        shutil.rmtree(fetching)
        raise NoBroker(f"Maven did not fetch Apicurio {VERSION}: {done.stdout[-500:]}")
    with tarfile.open(packed) as archive:
        archive.extractall(fetching, filter="data")
    packed.unlink()
    try:
        fetching.rename(PROGRAM)
    except OSError:  # another process was quicker
        shutil.rmtree(fetching)
    return PROGRAM


class Registry:
    """A registry that runs as a process.

    Parameters
    ----------
    directory
        For its log.
    """

    def __init__(self, directory: Path) -> None:
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}/apis/ccompat/v7"
        self._log = directory / "registry.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return once it answers. It begins empty."""
        jar = program() / f"apicurio-registry-app-{VERSION}-runner.jar"
        settings = [f"-Dquarkus.http.port={self.port}", "-Dquarkus.http.host=127.0.0.1"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["java", *HEAP, *settings, "-jar", str(jar)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._log.parent,
                preexec_fn=die_with_parent,
            )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text("utf-8", "replace")[-800:]
            with suppress(URLError, ConnectionError), urlopen(f"{self.url}/subjects", timeout=5):
                return
            time.sleep(0.1)
        raise AssertionError(f"the registry did not start in {PATIENCE:g} seconds")

    def register(self, subject: str, schema: object) -> int:
        """Register a schema; return its id."""
        body = json.dumps({"schema": json.dumps(schema)}).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        with urlopen(Request(f"{self.url}/subjects/{subject}/versions", body, headers), timeout=30) as answer:
            number: int = json.load(answer)["id"]
        return number

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.wait()
