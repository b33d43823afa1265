"""A client of another service, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from stream_bayes.errors import BadValue, SourceError

__all__ = ["ServiceClient"]

SECONDS = 30.0
MOST_BYTES = 256 << 20


class ServiceClient:
    """A client of a service at an address such as "http://127.0.0.1:8080", with a token for reads if it needs one.
    `seconds` is the time for an answer, `most_bytes` its largest size. Redirections are not followed.

    Raises
    ------
    BadValue
        If the address is none of a service.
    """

    def __init__(
        self, address: str, token: str | None = None, seconds: float = SECONDS, most_bytes: int = MOST_BYTES
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise BadValue(f"expected the address of a service, as http://127.0.0.1:8080; got {address!r}")
        self._address, self._seconds, self._most_bytes = address, seconds, most_bytes
        self._connect: Callable[..., HTTPConnection] = (
            HTTPSConnection if parts.scheme == "https" else HTTPConnection
        )
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def get(self, path: str, parameters: Mapping[str, str] = {}) -> Any:
        """Return the answer to a GET; None if the service refuses it, as what its model cannot do."""
        return self._asked("GET", f"{path}?{urlencode(parameters)}" if parameters else path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer to a POST; None if the service refuses it."""
        return self._asked("POST", path, msgspec.json.encode(body))

    def _asked(self, method: str, path: str, body: bytes | None) -> Any:
        """Raise `SourceError` if the service cannot be reached, or wants a token."""
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        line = self._connect(self._host, self._port, timeout=self._seconds)
        try:
            line.request(method, f"{self._path}/{path}", body, headers)
            answer = line.getresponse()
            content = answer.read(self._most_bytes + 1)
        except (OSError, HTTPException) as error:
            raise SourceError(f"{self._address} does not answer: {error}") from error
        finally:
            line.close()
        if answer.status in (401, 403):
            raise SourceError(
                f"{self._address} refuses reads without its token: name the variable with --read-token-env, or set "
                "read_token under serve.others"
            )
        if answer.status == 503 or len(content) > self._most_bytes:
            raise SourceError(f"{self._address} has no answer to {path} yet, or too large a one; try again")
        if answer.status != 200:
            return None
        if "json" not in answer.getheader("content-type", ""):
            return content.decode("utf-8", "replace")
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError as error:
            raise SourceError(f"{self._address} is no service of stream_bayes: {error}") from error
