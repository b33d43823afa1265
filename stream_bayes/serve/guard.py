"""The guard before all routes: names of the host, tokens, same-site writes, sizes, rates, times, and headers.

Host            one of the service's own names, so that a page elsewhere cannot reach it through its DNS
Origin          the service itself, for every write that a browser sends
Authorization   Bearer and the token, for every write; for reads, if a token for reads is set
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_bayes.serve.problems import Refused, problem

__all__ = ["Guard", "Limits"]

logger = logging.getLogger(__name__)

READS = ("GET", "HEAD")
# They compute and change nothing, so they are reads; but a browser sends them across sites only after a preflight.
COMPUTING = ("/v1/predict", "/v1/explain", "/v1/query", "/v1/check")
OPEN = ("/livez", "/readyz")
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
MOST_ADDRESSES = 10_000  # whose rates are remembered
MOST_ARRIVING = 64_000_000  # bytes of bodies that arrive at the same time


@dataclass(frozen=True)
class Limits:
    """The limits of the service.

    Parameters
    ----------
    token
        The token for writes; None: there are no writes.
    read_token
        The token for reads; None: they are open.
    hosts
        Names that requests may be for, besides the loopback's and `host`.
    host
        The address that is listened on.
    max_body_bytes
        Size of a request.
    max_requests
        Requests a second from one address; twice as many at once.
    seconds
        Time for a request to arrive, and for its answer.
    """

    token: str | None = None
    read_token: str | None = None
    hosts: Collection[str] = ()
    host: str = "127.0.0.1"
    max_body_bytes: int = 8_388_608
    max_requests: int = 1000
    seconds: float = 10.0


class Guard:
    """ASGI middleware that refuses what the limits do not allow.

    Parameters
    ----------
    app
        The application behind it.
    limits
        The limits.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._hosts = {name.lower() for name in (*limits.hosts, "localhost", "127.0.0.1", "::1", limits.host)}
        self._is_everywhere = _is_unspecified(limits.host)
        self._arriving = 0  # bytes of bodies that are not whole yet
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no WebSockets
        has_begun = False

        async def secured(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURE.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            body: bytes | None = await self._body(scope, receive)
        except Refused as refused:
            # The body is not read to its end: the connection cannot be used for another request.
            refused.headers.setdefault("Connection", "close")
            await refused.response(scope, receive, secured)
            return

        async def replay() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message: Message = {"type": "http.request", "body": body, "more_body": False}
            body = None
            return message

        try:
            if scope["path"] == "/v1/events":
                await self._app(scope, replay, secured)
                return
            async with asyncio.timeout(self._limits.seconds):
                await self._app(scope, replay, secured)
        except TimeoutError:
            if has_begun:
                return
            await self._too_long()(scope, receive, secured)
        except Exception as error:
            # Class and place only: the text may hold data.
            logger.error("a request failed: %s", type(error).__name__, exc_info=True)
            if not has_begun:
                detail = (
                    "the service failed at this request; its log names the place. Other requests are answered"
                )
                await problem(500, "internal", detail)(scope, receive, secured)

    def _too_long(self) -> Response:
        detail = f"the answer took longer than {self._limits.seconds:g} s; request less at once"
        return problem(503, "too-long", detail, {"Retry-After": "5"})

    # -- before the body ----------------------------------------------------------------------------------------------

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        self._check_rate(scope)
        method, path = scope["method"], scope["path"]
        if path in OPEN:
            return
        is_read = method in READS or path in COMPUTING
        if method not in READS:
            self._check_site(headers)
        if not is_read and not self._limits.token:
            raise Refused(
                403,
                "no-writes",
                "this service takes no writes: it was started without a token. Set serve.token in the pipeline file, "
                "as ${NAME} of an environment variable, or start with --serve, which makes one",
            )
        if not is_read or self._limits.read_token:
            tokens = [self._limits.token, *([self._limits.read_token] if is_read else [])]
            self._check_token(headers, [token for token in tokens if token])
        declared = headers.get("content-length")
        if declared is not None and declared.isdigit() and int(declared) > self._limits.max_body_bytes:
            raise self._too_large()

    def _check_host(self, headers: Headers) -> None:
        name = _name_in(headers.get("host", ""))
        if name in self._hosts or (self._is_everywhere and _is_address(name)):
            return
        raise Refused(
            421,
            "other-host",
            f"this service is not {name!r}; add the name to serve.hosts if requests come through a proxy",
        )

    def _check_site(self, headers: Headers) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        # Behind a proxy with TLS the schemes differ, so that the hosts are compared.
        foreign = origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
        if foreign or site not in (None, "same-origin", "none"):
            raise Refused(
                403, "other-site", "a page of another site may not send this; use the service's own page"
            )
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "message/rfc822"):
            raise Refused(
                415,
                "content-type",
                f"expected the header Content-Type: application/json (of a mail, message/rfc822), got {kind or 'none'}",
            )

    def _check_token(self, headers: Headers, tokens: list[str]) -> None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = [hmac.compare_digest(given.strip().encode(), token.encode()) for token in tokens]
        if scheme.lower() != "bearer" or not any(right):
            raise Refused(
                401,
                "token",
                "expected the header Authorization: Bearer TOKEN with the service's token",
                {"WWW-Authenticate": "Bearer"},
            )

    def _check_rate(self, scope: Scope) -> None:
        client = scope.get("client")
        address = "" if client is None else str(client[0])
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

    # -- the body -----------------------------------------------------------------------------------------------------

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the whole body, within size and time."""
        if scope["method"] in READS:
            return b""
        parts: list[bytes] = []
        size, most = 0, max(MOST_ARRIVING, 2 * self._limits.max_body_bytes)
        try:
            async with asyncio.timeout(self._limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "cut-off", "the request ended before its body")
                    length = len(message.get("body", b""))
                    size += length
                    self._arriving += length
                    if size > self._limits.max_body_bytes:
                        raise self._too_large()
                    if self._arriving > most:
                        raise Refused(
                            503, "busy", "too many bodies arrive at once; try again", {"Retry-After": "1"}
                        )
                    parts.append(message.get("body", b""))
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            detail = (
                f"the body did not arrive within {self._limits.seconds:g} s; send it faster, or less of it"
            )
            raise Refused(408, "slow", detail) from None
        finally:
            self._arriving -= size

    def _too_large(self) -> Refused:
        most = self._limits.max_body_bytes
        return Refused(
            413,
            "too-large",
            f"expected a body of at most {most:,} bytes; send the events in several requests",
        )


def _name_in(host: str) -> str:
    """Return the name in a Host header, without the port.

    Examples
    --------
    >>> _name_in("localhost:8080"), _name_in("[::1]:8080"), _name_in("")
    ('localhost', '::1', '')
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_unspecified(host: str) -> bool:
    return _is_address(host) and ip_address(host).is_unspecified
