"""The guard before all routes: framing, names of the host, same-site writes, tokens, sizes, rates, times, and headers.

framing         one length of a body, and none for a read; the parser before it refuses what is no HTTP
Host            one of the service's own names, so that a page elsewhere cannot reach it through its DNS
Origin          the service itself, for every write that a browser sends
Content-Type    one that a browser sends to other sites only after asking
Authorization   Bearer and the token, for every write; for reads, if a token for reads is set

Over a Unix socket there are neither names nor tokens: the permissions of its file decide who may connect.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from stream_bayes.door.connections import AdmittedTo, ConnectionLimits, Connections, network_of
from stream_bayes.door.host_names import HostNames
from stream_bayes.door.input_budget import MEMORY, MemoryBudget, MemoryFull, Reservation
from stream_bayes.door.problems import Refused, internal_problem
from stream_bayes.door.refusals import Refusals

__all__ = ["Access", "Door", "ServiceLimits", "guarded"]

logger = logging.getLogger(__name__)

READS = ("GET", "HEAD")
SINGLE = frozenset(
    (
        b"host",
        b"origin",
        b"sec-fetch-site",
        b"content-type",
        b"content-length",
        b"transfer-encoding",
        b"authorization",
        b"user",
    )
)
SECURE = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
RAW_SECURE = [(name.lower().encode(), value.encode()) for name, value in SECURE.items()]
MOST_ADDRESSES = 10_000  # whose rates are remembered
REST_SECONDS = 1.0  # in which the rest of a body that is refused may come
UNREAD = ("framing", "cut-off", "slow")  # refusals after which nothing more is read


@dataclass(frozen=True)
class ServiceLimits:
    """The limits of a service over HTTP."""

    token: str | None = None  # for writes; None: there are no writes
    read_token: str | None = None  # for reads; None: they are open
    hosts: Collection[str] = ()  # names that requests may be for, besides the loopback's and `host`
    host: str = "127.0.0.1"  # the address that is listened on
    max_body_bytes: int = 8_388_608  # of a request
    max_requests: int = 1000  # a second from one address; twice as many at once
    seconds: float = 10.0  # for a request to arrive, and for its answer
    # Addresses or networks of proxies whose `X-Forwarded-For` names the client. All other clients are known by the
    # address that they connect from, whatever their headers say.
    proxies: Collection[str] = ()


@dataclass(frozen=True)
class Access:
    """The kinds of requests of an application, for its guard."""

    # Paths of requests with a body that change nothing: they are reads. A browser sends them to another site only after
    # asking, as it does with writes.
    computing: Collection[str] = ()
    # paths for probes of health: answered without a token, at any rate, and when all other connections are taken
    open: Collection[str] = ("/livez", "/readyz")
    endless: Collection[str] = ()  # paths of answers without an end
    # Types of bodies. None of those that a page may send to another site: `text/plain` and forms.
    content_types: Collection[str] = ("application/json", "message/rfc822")
    # the setting that adds a host, for the details of refusals
    name_hosts: str = "add the name to serve.hosts"
    # the setting of the token, for the same
    set_token: str = (
        "Set serve.token in the pipeline file, as ${NAME} of an environment variable, or start with --serve, which "
        "makes one"
    )


@dataclass
class Door:
    """All that the connections of one listening socket share."""

    limits: ServiceLimits
    port: str = "service"  # the name of the socket in metrics and log lines
    access: Access = field(default_factory=Access)
    connections: Connections = field(init=False)
    # the budget for bodies, which other sockets of the process may share
    memory: MemoryBudget = field(default_factory=MemoryBudget)
    refusals: Refusals = field(init=False)
    turned_away: int = field(default=0, init=False)  # connections that are refused, and still send

    def __post_init__(self) -> None:
        limits = ConnectionLimits().within_files()
        self.connections = Connections(limits, self.limits.proxies)
        self.refusals = Refusals(self.port)
        self.memory.most = max(MEMORY, 4 * self.limits.max_body_bytes)


def guarded(app: ASGIApp, door: Door) -> ASGIApp:
    """Return an application behind its guard; clients of trusted proxies are told apart by the proxies' headers."""
    guard = _Guard(app, door)
    if not door.limits.proxies:
        return guard
    application: Any = guard  # uvicorn has types of its own for ASGI
    return cast(ASGIApp, ProxyHeadersMiddleware(application, list(door.limits.proxies)))


class _Guard:
    """ASGI middleware that refuses what the limits do not allow."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door
        self._limits = door.limits
        self._access = door.access
        self._hosts = HostNames(door.limits.host, door.limits.hosts)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._in_flight: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no WebSockets
        has_begun = False
        connection = scope.get("state", {}).get("connection")

        async def secured(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = list(message.get("headers", ()))
                names = {name for name, _ in headers}
                headers += [each for each in RAW_SECURE if each[0] not in names]
                message = {**message, "headers": headers}
            elif connection is not None:
                connection.make_room_for(len(message.get("body", b"")))
            await send(message)

        has_ended = scope["method"] in READS

        async def received() -> Message:
            nonlocal has_ended
            message = await receive()
            has_ended = not message.get("more_body", False)
            return message

        address = network_of(_address_of(scope))
        self._in_flight[address] += 1
        reservation = self._door.memory.open(address)
        try:
            self._check(scope, address)
            body = await self._body(scope, received, reservation)
            await self._answer(scope, _replaying(body, receive), secured)
        except Refused as refused:
            self._door.refusals.add(refused.kind, address, refused.detail)
            if not has_begun:
                if not has_ended and refused.kind not in UNREAD:
                    await self._discard_body(scope, received)
                # The body may not be read to its end: the connection cannot be used for another request.
                refused.headers.setdefault("Connection", "close")
                await refused.response(scope, receive, secured)
        except Exception as error:
            # Class and place only: the text may hold data.
            logger.error("a request failed: %s", type(error).__name__, exc_info=_without_text(error))
            if not has_begun:
                await internal_problem()(scope, receive, secured)
        finally:
            reservation.close()
            self._in_flight[address] -= 1
            if not self._in_flight[address]:
                del self._in_flight[address]

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in self._access.endless:
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._limits.seconds) as limit:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not limit.expired():
                raise  # of something within the application
            detail = f"the answer took longer than {self._limits.seconds:g} s; request less at once"
            raise Refused(503, "too-long", detail, {"Retry-After": "5"}) from None

    # -- before the body ----------------------------------------------------------------------------------------------

    def _check(self, scope: Scope, address: str) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        _check_framing(scope, headers)
        connection = scope.get("state", {}).get("connection")
        is_local = connection is not None and connection.is_local
        if not is_local:
            self._check_host(headers)
        method, path = scope["method"], scope["path"]
        if path in self._access.open:
            return
        if connection is not None and connection.admission is AdmittedTo.PROBES:
            raise Refused(
                503,
                "too-many-connections",
                f"{len(self._door.connections)} connections are open; the rest is for probes of health. Try again",
                {"Retry-After": "5"},
            )
        self._check_rate(address)
        is_read = method in READS or path in self._access.computing
        if method not in READS:
            self._check_site(headers)
        if not is_local:
            self._check_token(headers, is_read=is_read)
        declared = headers.get("content-length")
        if declared is not None and int(declared[:20]) > self._limits.max_body_bytes:
            raise self._too_large()

    def _check_host(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if host not in self._hosts:
            raise Refused(
                421,
                "other-host",
                f"this service is not {host[:100]!r}; {self._access.name_hosts} if requests come through a proxy",
            )

    def _check_site(self, headers: Mapping[str, str]) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        # Behind a proxy with TLS the schemes differ, so that the hosts are compared.
        foreign = origin is not None and _netloc_of(origin) != headers.get("host", "").lower()
        if foreign or site not in (None, "same-origin", "none"):
            raise Refused(
                403, "other-site", "a page of another site may not send this; use the service's own page"
            )
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in self._access.content_types:
            raise Refused(
                415,
                "content-type",
                f"expected the header Content-Type: application/json (of a mail, message/rfc822), "
                f"got {kind[:100] or 'none'}",
            )
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding != "identity":
            raise Refused(
                415, "content-encoding", f"expected a body that is not compressed, got {coding[:40]!r}"
            )

    def _check_token(self, headers: Mapping[str, str], *, is_read: bool) -> None:
        if not is_read and not self._limits.token:
            raise Refused(
                403,
                "no-writes",
                f"this service takes no writes: it was started without a token. {self._access.set_token}",
            )
        if is_read and not self._limits.read_token:
            return
        tokens = [self._limits.token, *([self._limits.read_token] if is_read else [])]
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        right = [hmac.compare_digest(sent.strip().encode(), token.encode()) for token in tokens if token]
        if scheme.lower() != "bearer" or not any(right):
            raise Refused(
                401,
                "token",
                "expected the header Authorization: Bearer TOKEN with the service's token",
                {"WWW-Authenticate": "Bearer"},
            )

    def _check_rate(self, address: str) -> None:
        now, rate = time.monotonic(), float(self._limits.max_requests)
        left, at = self._buckets.pop(address, (2.0 * rate, now))
        left = min(2.0 * rate, left + (now - at) * rate)
        self._buckets[address] = (max(0.0, left - 1.0), now)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        if left < 1.0:
            raise Refused(
                429,
                "too-many-requests",
                f"more than {rate:g} requests a second from one address; send fewer, with many events each",
                {"Retry-After": "1"},
            )
        most = self._door.connections.limits.most_each
        if address and self._in_flight[address] > most:
            raise Refused(
                429,
                "too-many-requests",
                f"{most} requests of one address are being answered; wait for some of them",
                {"Retry-After": "1"},
            )

    # -- the body -----------------------------------------------------------------------------------------------------

    async def _body(self, scope: Scope, receive: Receive, reservation: Reservation) -> bytes:
        """Return the whole body, within size, time and memory."""
        if scope["method"] in READS:
            return b""
        parts: list[bytes] = []
        try:
            connection = scope.get("state", {}).get("connection")
            is_here = connection is not None and connection.has_whole_request
            async with nullcontext() if is_here else asyncio.timeout(self._limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "cut-off", "the request ended before its body")
                    part = message.get("body", b"")
                    if reservation.size + len(part) > self._limits.max_body_bytes:
                        raise self._too_large()
                    reservation.grow(len(part))
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            detail = (
                f"the body did not arrive within {self._limits.seconds:g} s; send it faster, or less of it"
            )
            raise Refused(408, "slow", detail) from None
        except MemoryFull as error:
            raise Refused(503, "busy", str(error), {"Retry-After": "1"}) from None

    async def _discard_body(self, scope: Scope, receive: Receive) -> None:
        """Receive the rest of a body that is refused, for a while: a client that still sends when its connection is
        closed would not see the answer. One that asks first whether to send sends nothing.
        """
        if any(name == b"expect" for name, _ in scope["headers"]):
            return
        left = self._limits.max_body_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return

    def _too_large(self) -> Refused:
        most = self._limits.max_body_bytes
        return Refused(
            413,
            "too-large",
            f"expected a body of at most {most:,} bytes; send less in one request",
        )


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Return a function that returns a body that was received already, and then what comes after it."""
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _check_framing(scope: Scope, headers: Mapping[str, str]) -> None:
    """Refuse a request that a proxy before the service, or another parser, may take for two, or for another one."""
    seen = set()
    for name, _ in scope["headers"]:
        if name in SINGLE:
            if name in seen:
                raise Refused(400, "framing", f"expected one header {name.decode()}, got more")
            seen.add(name)
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is not None and coding is not None:
        raise Refused(400, "framing", "expected Content-Length or Transfer-Encoding, got both")
    if length is not None and not (length.isascii() and length.isdigit() and len(length) <= 20):
        raise Refused(400, "framing", f"Content-Length: expected a whole number, got {length[:40]!r}")
    version = scope.get("http_version", "1.1")
    if version not in ("1.0", "1.1"):
        raise Refused(400, "framing", f"expected HTTP/1.1, got HTTP/{version[:10]}")
    if coding is not None and version == "1.0":
        raise Refused(400, "framing", "HTTP/1.0 has no Transfer-Encoding; send a Content-Length")
    if scope["method"] in READS and (coding is not None or int(length or "0")):
        raise Refused(400, "framing", f"expected no body with {scope['method']}")
    if not scope["path"].isprintable():
        raise Refused(400, "path", "expected a path without control characters")


def _without_text(error: BaseException) -> BaseException:
    """Return an error with the same trace, but without its text."""
    return Exception(type(error).__name__).with_traceback(error.__traceback__)


def _address_of(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _netloc_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
