"""A schema registry with Confluent's HTTP interface: the schemas of framed records by their ids."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

from stream_bayes._build import install_command
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BrokerAway, BrokerError, MissingPackage

__all__ = ["REQUEST_SECONDS", "RegisteredSchema", "SchemaRegistry", "Schemas"]

REQUEST_SECONDS = 5.0
UNKNOWN_SECONDS = 10.0  # after which an unknown id is requested again: a replica of a registry may lag
MAX_UNKNOWN = 1000
NOT_ALLOWED = (401, 403)
NOT_FOUND = range(40400, 40500)  # the registry's own codes; another 404 is of another server
CHECK_URL = "check url: the interface of Confluent's registry, of Apicurio's http://host:8080/apis/ccompat/v7"


class RegisteredSchema(NamedTuple):
    """A schema of a registry."""

    kind: str  # "AVRO", "JSON" or "PROTOBUF"
    # the schemas that it refers to, each after those that it refers to itself; last its own text
    texts: tuple[str, ...]


class Schemas(Protocol):
    """Schemas by their ids."""

    def schema(self, number: int) -> RegisteredSchema | None:
        """Return a schema; None if the registry has none with this id.

        Raises
        ------
        BrokerAway
            If the registry does not respond at present.
        BrokerError
            If it refuses the request.
        """
        ...

    def check(self) -> None:
        """Raise as `schema` does if the registry does not respond, or refuses requests."""
        ...

    def close(self) -> None:
        """Close connections. A later request opens them again."""
        ...


class SchemaRegistry:
    """A client of a schema registry: Confluent's, or one with its interface, such as Apicurio, Karapace and Redpanda.

    Making one opens no connection. Each schema is requested once, as an id never gets another schema.

    Parameters
    ----------
    url
        The address; several with commas are tried in turn.
    user, password
        For HTTP basic authentication.
    token
        For bearer authentication: returns a token, and is called for every request.
    ca_file, cert_file, key_file, key_password
        For https: the certificate authorities to trust, and a client certificate.
    seconds
        Time-out of a request.
    clock
        Returns seconds, monotonic.

    Raises
    ------
    BadValue
        If the settings contradict one another.

    Examples
    --------
    >>> SchemaRegistry("https://registry.example.org", user="weather", password="sesame")
    SchemaRegistry(https://registry.example.org)
    """

    def __init__(
        self,
        url: str,
        *,
        user: str | None = None,
        password: str | None = None,
        token: Callable[[], str] | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        key_password: str | None = None,
        seconds: float = REQUEST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for part in url.split(","):
            address = urlsplit(part.strip())
            if address.scheme not in ("http", "https") or not address.hostname:
                raise BadValue(
                    f"url: expected the http or https address of a schema registry, got {shown(url)}"
                )
            if address.username is not None:
                raise BadValue("url: expected an address without credentials; use user and password")
        if (user is None) != (password is None):
            raise BadValue("user and password come together")
        if user is not None and token is not None:
            raise BadValue("user and token are two ways to authenticate: leave one out")
        if (cert_file is None) != (key_file is None):
            raise BadValue("cert_file and key_file come together")
        if not seconds > 0:
            raise BadValue(f"seconds: expected a number above 0, got {shown(seconds)}")
        self.url = url
        settings = {
            "basic.auth.user.info": None if user is None else f"{user}:{password}",
            "ssl.ca.location": ca_file,
            "ssl.certificate.location": cert_file,
            "ssl.key.location": key_file,
            "ssl.key.password": key_password,
        }
        # The poll of the source repeats requests, so that it can be stopped in between.
        self._settings: dict[str, Any] = {"url": url, "timeout": seconds, "max.retries": 0}
        self._settings |= {name: value for name, value in settings.items() if value is not None}
        if token is not None:
            self._settings |= {
                "bearer.auth.credentials.source": "CUSTOM",
                "bearer.auth.custom.provider.function": lambda _: _bearer_fields(token()),
                "bearer.auth.custom.provider.config": {},
            }
        self._clock = clock
        self._open = ExitStack()
        self._client: Any = None
        self._schemas: dict[int, RegisteredSchema] = {}
        self._unknown: dict[int, float] = {}  # when each id was found to be unknown

    def __repr__(self) -> str:
        return f"SchemaRegistry({self.url})"

    def schema(self, number: int) -> RegisteredSchema | None:
        """Return a schema; None if the registry has none with this id.

        Raises
        ------
        BrokerAway
            If the registry does not respond at present.
        BrokerError
            If it refuses the request.
        """
        schema = self._schemas.get(number)
        if schema is not None:
            return schema
        asked_at = self._unknown.get(number)
        if asked_at is not None and self._clock() - asked_at < UNKNOWN_SECONDS:
            return None
        schema = cast(
            "RegisteredSchema | None",
            self._request(lambda client: _registered(client, client.get_schema(number))),
        )
        if schema is None:
            if len(self._unknown) >= MAX_UNKNOWN:
                self._unknown.clear()
            self._unknown[number] = self._clock()
        else:
            self._unknown.pop(number, None)
            self._schemas[number] = schema
        return schema

    def check(self) -> None:
        """Raise as `schema` does if the registry does not respond, or refuses requests."""
        self._request(lambda client: client.get_schema_types())

    def close(self) -> None:
        """Close connections. A later request opens them again."""
        self._client = None
        self._open.close()

    def _request(self, request: Callable[[Any], Any]) -> Any:
        """Return what a request returns; None if the registry has nothing of this name."""
        client = self._connected_client()
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return request(client)
        except BrokerError:
            raise  # of the provider of tokens
        except SchemaRegistryError as error:
            status, code = error.http_status_code, error.error_code
            if status in NOT_ALLOWED:
                raise BrokerError(
                    f"the schema registry at {self.url} refuses the request: HTTP {status}; check its user, password "
                    "or token, and its permissions"
                ) from None
            if code in NOT_FOUND:
                return None
            if status == 404:
                raise BrokerError(f"{self.url} is no schema registry: HTTP 404; {CHECK_URL}") from None
            raise BrokerAway(f"the schema registry at {self.url} returned HTTP {status}") from None
        except ValueError as error:  # not JSON
            raise BrokerError(f"{self.url} is no schema registry: {error}; {CHECK_URL}") from None
        except Exception as error:  # the client leaves errors of its HTTP library as they are
            raise BrokerAway(
                f"the schema registry at {self.url} does not respond: {type(error).__name__}: {error}"
            ) from error

    def _connected_client(self) -> Any:
        if self._client is None:
            try:
                # Imported on use: it takes a quarter of a second to load.
                from confluent_kafka.schema_registry import SchemaRegistryClient
            except ImportError as error:
                raise MissingPackage(
                    "the client of schema registries is not installed; install it with: "
                    f"{install_command('registry')}"
                ) from error
            try:
                self._client = self._open.enter_context(SchemaRegistryClient(dict(self._settings)))
            except (OSError, ValueError) as error:  # files of certificates
                raise BrokerError(
                    f"registry: its client refuses the settings: {error}; check ca_file, cert_file and key_file"
                ) from error
        return self._client


def _registered(client: Any, schema: Any) -> RegisteredSchema:
    texts: list[str] = []
    seen: set[tuple[str, int]] = set()

    def add(schema: Any) -> None:
        for reference in schema.references or ():
            subject_version = (reference.subject, reference.version)
            if subject_version not in seen:
                seen.add(subject_version)
                add(client.get_version(*subject_version).schema)
        texts.append(schema.schema_str)

    add(schema)
    return RegisteredSchema(schema.schema_type or "AVRO", tuple(texts))


def _bearer_fields(token: str) -> dict[str, str]:
    """Return the fields that the client sends; the cluster is one of Confluent Cloud, and has to be there."""
    return {"bearer.auth.token": token, "bearer.auth.logical.cluster": ""}
