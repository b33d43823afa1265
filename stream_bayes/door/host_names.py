"""The names for which a port answers: a page elsewhere that reaches it by its own DNS has another one."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

__all__ = ["HostNames"]


class HostNames:
    """The names for which requests at a port may be. At a `host` of 0.0.0.0 or :: every address is a name of the port.
    `hosts` are further names, besides the loopback's.

    Examples
    --------
    >>> names = HostNames("0.0.0.0", ["metrics.example.org"])
    >>> [name in names for name in ("localhost:80", "[::1]:80", "10.0.0.7", "metrics.example.org")]
    [True, True, True, True]
    >>> [name in names for name in ("evil.example", "evil.example@localhost", "localhost/evil.example", "")]
    [False, False, False, False]
    """

    def __init__(self, host: str, hosts: Collection[str] = ()) -> None:
        self._names = {name.lower() for name in (*hosts, "localhost", "127.0.0.1", "::1", host)}
        self._is_everywhere = _is_address(host) and ip_address(host).is_unspecified

    def __contains__(self, header: str) -> bool:
        """Return True if a `Host` header, with a port or without, has one of the names."""
        try:
            parts = urlsplit(f"//{header}")
            name = (parts.hostname or "").lower()
        except ValueError:
            return False
        if parts.netloc != header or "@" in header:  # more than a name and a port
            return False
        return name in self._names or (self._is_everywhere and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
