"""Apache Kafka itself, one process a broker, for as long as the tests run.

The jars come from Maven Central, once, into a cache outside the repository. Brokers listen on loopback, at ports that
were free, keep their logs in a directory of the test's, and are ended by their process id.
"""

from __future__ import annotations

import base64
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.ports import free_ports

POM = Path(__file__).with_name("pom.xml")
(VERSION,) = re.findall(r"<kafka\.version>(.+)</kafka\.version>", POM.read_text("utf-8"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stream_bayes"
JARS = CACHE / f"kafka-{VERSION}"

FETCH_SECONDS = 600
START_SECONDS = 180  # on a machine with much else to do
HEAP = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
# Looked for here: in a new process it could wait for a lock of a thread that is not there.
PRCTL: Any = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


class NoBroker(Exception):
    """There is none to be had here, and how to get one."""


def jars() -> Path:
    """The directory with the broker's jars; they are fetched where they are not there yet."""
    if shutil.which("java") is None:
        raise NoBroker(
            "no Java was found: install Java 17 or later and Maven, or set STREAM_BAYES_KAFKA=host:port"
        )
    if JARS.is_dir():
        return JARS
    if shutil.which("mvn") is None:
        raise NoBroker(
            "no Maven was found to fetch Kafka with: install it, or set STREAM_BAYES_KAFKA=host:port"
        )
    JARS.parent.mkdir(parents=True, exist_ok=True)
    fetching = JARS.with_name(f"{JARS.name}-{os.getpid()}")
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={fetching}", "-DincludeScope=runtime"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
    if done.returncode != 0:
        shutil.rmtree(fetching, ignore_errors=True)
        raise NoBroker(f"Maven did not fetch Kafka {VERSION}: {done.stdout[-500:]}")
    try:
        fetching.rename(JARS)
    except OSError:  # another process was quicker
        shutil.rmtree(fetching)
    return JARS


class Broker:
    """One broker, which is a controller too.

    Parameters
    ----------
    directory
        Its own: settings, log and data.
    number
        Which one of the cluster it is, from 1.
    ports
        Of each broker of the cluster, where it listens and where its controller does.
    cluster
        The cluster's id.
    settings
        Lines that are added to its settings.
    users
        What is added when its storage is made: of the users, what SCRAM needs.
    """

    def __init__(
        self,
        directory: Path,
        number: int = 1,
        ports: Sequence[tuple[int, int]] = (),
        cluster: str = "",
        settings: Sequence[str] = (),
        users: Sequence[str] = (),
    ) -> None:
        if not ports:
            port, controller = free_ports(2)
            ports = [(port, controller)]
        self.directory = directory
        self.port = ports[number - 1][0]
        self.address = f"127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True)
        copies = min(3, len(ports))
        voters = ",".join(f"{n}@127.0.0.1:{controller}" for n, (_, controller) in enumerate(ports, 1))
        self._properties = directory / "server.properties"
        self._properties.write_text(
            "\n".join(
                [
                    "process.roles=broker,controller",
                    f"node.id={number}",
                    f"controller.quorum.voters={voters}",
                    f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{ports[number - 1][1]}",
                    f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}",
                    "controller.listener.names=CONTROLLER",
                    "inter.broker.listener.name=PLAINTEXT",
                    f"log.dirs={directory / 'data'}",
                    "offsets.topic.num.partitions=1",
                    f"offsets.topic.replication.factor={copies}",
                    "transaction.state.log.num.partitions=1",
                    f"transaction.state.log.replication.factor={copies}",
                    f"transaction.state.log.min.isr={max(1, copies - 1)}",
                    "group.initial.rebalance.delay.ms=0",
                    "log.cleaner.dedupe.buffer.size=4194304",
                    "log.cleaner.backoff.ms=200",
                    "num.network.threads=2",
                    "num.io.threads=4",
                    "auto.create.topics.enable=true",  # the worst case: nothing may rely on the broker here
                    *settings,
                ]
            )
            + "\n"
        )
        cluster = cluster or cluster_id()
        added = [word for user in users for word in ("--add-scram", user)]
        self._run("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._properties), *added)

    def start(self) -> None:
        """Start it, without waiting for it."""
        with (self.directory / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                preexec_fn=die_with_parent,
            )

    def wait(self) -> None:
        """Return once it answers."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise NoBroker(f"Kafka ended at its start: {self._said()}")
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise NoBroker(f"Kafka did not start in {START_SECONDS} seconds: {self._said()}")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self.process is not None:
            process, self.process = self.process, None
            process.kill()
            process.wait()

    def _java(self) -> list[str]:
        return ["java", *HEAP, "-cp", f"{jars()}/*"]

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [*self._java(), *arguments],
            capture_output=True,
            text=True,
            cwd=self.directory,
            timeout=START_SECONDS,
        )
        if done.returncode != 0:
            raise NoBroker(f"{arguments[0]} failed: {done.stdout[-500:]}{done.stderr[-500:]}")

    def _said(self) -> str:
        return (self.directory / "broker.log").read_text("utf-8", "replace")[-800:]


def cluster_id() -> str:
    """A new one; none that begins with a dash, which the storage tool would take for an option."""
    return "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


def die_with_parent() -> None:
    """Let this process be killed when the one that started it ends, however that ends; where Linux does so."""
    if PRCTL is not None:
        PRCTL(DIES_WITH_PARENT, signal.SIGKILL)
