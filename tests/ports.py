"""Ports of this machine: some that stay free until they are listened at, and one at which nobody ever listens."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOWEST = 10_000
GIVEN = Path(
    "/proc/sys/net/ipv4/ip_local_port_range"
)  # what the system itself gives to whoever wants any port


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now, and that the system gives to nobody.

    Of its own choice another test's server, or a client that connects, could be given one before it is listened at, and
    the one of a broker that was killed before it is there again.
    """
    most = int(GIVEN.read_text().split()[0]) if GIVEN.exists() else 32_768
    chance = random.SystemRandom()
    held: list[socket.socket] = []
    try:
        while len(held) < count:
            one = socket.socket()
            held.append(one)
            try:
                one.bind(("127.0.0.1", chance.randrange(LOWEST, most)))
            except OSError:
                held.pop().close()
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


@contextmanager
def unanswered() -> Iterator[int]:
    """A port at which nobody listens, nor can while this lasts."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
