"""Tokens for OAUTHBEARER from an OpenID Connect provider, by the client-credentials grant of RFC 6749, section 4.4."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable
from threading import Lock
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

import msgspec

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BrokerAway, BrokerError

__all__ = ["ClientCredentials"]

MARGIN_SECONDS = 400.0  # a token with less time left is replaced: confluent-kafka holds one for 300 seconds
MAX_ANSWER_BYTES = 1_000_000


class _Answer(msgspec.Struct):
    access_token: str
    expires_in: float = 300.0


class ClientCredentials:
    """A source of tokens: fetches one from a provider, and again before it expires. Thread-safe. `token_url` must be
    https, except on this machine. The credentials are sent by HTTP basic authentication. A `scope` of None is the
    provider's default. A request times out after `seconds`.
    """

    def __init__(
        self,
        token_url: str,
        client_id: str,
        client_secret: str,
        scope: str | None = None,
        *,
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        url = urlsplit(token_url)
        if url.scheme != "https" and not (
            url.scheme == "http" and url.hostname in ("localhost", "127.0.0.1")
        ):
            raise BadValue(f"token_url: expected an https address, got {shown(token_url)}")
        self.token_url = token_url
        # RFC 6749, section 2.3.1.
        credentials = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._authorization = f"Basic {b64encode(credentials.encode()).decode()}"
        self._form = {"grant_type": "client_credentials"} | ({} if scope is None else {"scope": scope})
        self._seconds = seconds
        self._clock = clock
        self._lock = Lock()
        self._token = ""
        self._renew_at = float("-inf")

    def __call__(self) -> str:
        """Return a token.

        Raises
        ------
        BrokerError
            If the provider does not answer, or answers with something else.
        """
        with self._lock:
            if self._clock() >= self._renew_at:
                answer = self._fetch()
                self._token = answer.access_token
                self._renew_at = self._clock() + max(
                    answer.expires_in / 2, answer.expires_in - MARGIN_SECONDS
                )
            return self._token

    def _fetch(self) -> _Answer:
        headers = {"Authorization": self._authorization, "Content-Type": "application/x-www-form-urlencoded"}
        request = Request(self.token_url, urlencode(self._form).encode(), headers)  # http or https
        try:
            with urlopen(request, timeout=self._seconds) as response:
                body = response.read(MAX_ANSWER_BYTES)
            return msgspec.json.decode(body, type=_Answer)
        except HTTPError as error:
            with error:
                raise BrokerError(
                    f"{self.token_url} refused a token: HTTP {error.code}; check client_id, client_secret and scope"
                ) from None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            kind = BrokerAway if isinstance(error, OSError) else BrokerError
            raise kind(f"{self.token_url} returned no token: {error}; check token_url") from None
