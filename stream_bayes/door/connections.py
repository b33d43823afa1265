"""The open connections of a listening socket: how many there may be, and which one gives way to a new one.

A client at its limit loses the connection that has waited longest for its own bytes; one that is being answered is
never closed for another. So idle connections shut nobody out, not even other clients behind the same address.
"""

from __future__ import annotations

import resource
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Protocol

from stream_bayes.errors import BadConfig

__all__ = [
    "AdmittedTo",
    "ConnectionLimits",
    "Connections",
    "OpenConnection",
    "checked_proxies",
    "network_of",
]

SPARE_FILES = 124  # descriptors that are left to all else


class AdmittedTo(Enum):
    """The answer to a new connection: refused; for probes of health alone; or for all requests."""

    REFUSED = 0
    PROBES = 1
    ALL = 2


class OpenConnection(Protocol):
    """A connection as `Connections` counts it."""

    @property
    def address(self) -> str:
        """The address at the other end; "" for a Unix socket."""
        ...

    @property
    def has_served(self) -> bool:
        """True once a request was answered."""
        ...

    @property
    def waits_since(self) -> float | None:
        """The time since which it waits for bytes of its client; None while a request is being answered."""
        ...

    def drop(self) -> None:
        """Close it at once. Thread-safe."""
        ...


@dataclass(frozen=True)
class ConnectionLimits:
    """The most connections at once."""

    most: int = 900  # in all
    most_each: int = 300  # from one address; of IPv6, from one network of 64 bits
    for_probes: int = 32  # the part of `most` in which only probes of health are answered

    def within_files(self) -> ConnectionLimits:
        """Return the limits that the open files of this process allow."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or self.most + SPARE_FILES <= soft:
            return self
        most = max(soft - SPARE_FILES, 16)
        return ConnectionLimits(most, min(self.most_each, most // 2), min(self.for_probes, most // 4))


class Connections:
    """The open connections. Thread-safe. `proxies` are addresses and networks that may open as many connections as
    there are: they limit their own clients.
    """

    def __init__(self, limits: ConnectionLimits | None = None, proxies: Collection[str] = ()) -> None:
        self.limits = ConnectionLimits() if limits is None else limits
        self._proxies = checked_proxies(proxies)
        self._open: dict[str, dict[OpenConnection, None]] = {}
        self._count = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

    def all(self) -> list[OpenConnection]:
        """Return the open connections."""
        with self._lock:
            return [each for same in self._open.values() for each in same]

    def admit(self, connection: OpenConnection) -> AdmittedTo:
        """Add a new connection unless there are too many. Drop a waiting one for it if there is any."""
        network, limits = network_of(connection.address), self.limits
        is_proxy = _is_within(connection.address, self._proxies)
        victim = None
        with self._lock:
            same = self._open.get(network, {})
            if network and not is_proxy and len(same) >= limits.most_each:
                victim = _longest_waiting(same)
                if victim is None:
                    return AdmittedTo.REFUSED
            elif self._count >= limits.most - limits.for_probes:
                largest = max(self._open.values(), key=len)
                victim = _longest_waiting(largest)
                if victim is None and self._count >= limits.most:
                    return AdmittedTo.REFUSED
            if victim is not None:
                self._remove(victim)
            admission = (
                AdmittedTo.PROBES if self._count >= limits.most - limits.for_probes else AdmittedTo.ALL
            )
            self._open.setdefault(network, {})[connection] = None
            self._count += 1
        if victim is not None:
            victim.drop()
        return admission

    def remove(self, connection: OpenConnection) -> None:
        """Remove a connection that is closed."""
        with self._lock:
            self._remove(connection)

    def _remove(self, connection: OpenConnection) -> None:
        network = network_of(connection.address)
        same = self._open.get(network, {})
        if connection in same:
            del same[connection]
            self._count -= 1
            if not same:
                del self._open[network]


def _longest_waiting(connections: Iterable[OpenConnection]) -> OpenConnection | None:
    """Return the connection that gives way: first those that never sent a whole request, then those idle longest."""
    waiting = [
        (each.has_served, since, each) for each in connections if (since := each.waits_since) is not None
    ]
    return min(waiting, key=lambda each: each[:2])[2] if waiting else None


@lru_cache(10_000)
def network_of(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the 64 bits that one customer of IPv6 gets.

    Examples
    --------
    >>> network_of("192.0.2.1"), network_of("::ffff:192.0.2.1"), network_of("2001:db8::1"), network_of("")
    ('192.0.2.1', '192.0.2.1', '2001:db8::/64', '')
    """
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed[:8] + bytes(8), 64)))
    return address if parsed is None else str(parsed)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return parsed if isinstance(parsed, IPv4Address) else parsed.ipv4_mapped or parsed


def checked_proxies(proxies: Collection[str]) -> tuple[str, ...]:
    """Return addresses and networks of proxies in their usual form.

    Raises
    ------
    BadConfig
        If one is neither.
    """
    try:
        return tuple(str(ip_network(each.strip())) for each in proxies)
    except ValueError as error:
        raise BadConfig(
            f"proxies: expected addresses such as 10.0.0.7, or networks such as 10.0.0.0/8: {error}"
        ) from None


def _is_within(address: str, networks: Collection[str]) -> bool:
    parsed = _parsed(address) if networks else None
    return parsed is not None and any(parsed in ip_network(each) for each in networks)
