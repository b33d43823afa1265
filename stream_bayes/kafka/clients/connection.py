"""The connection to a Kafka cluster: servers, TLS and authentication."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from stream_bayes.checked_names import closest
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.kafka.clients.reconnecting import RECONNECT_WAIT_MS

__all__ = ["CLIENTS", "MECHANISMS", "SECONDS", "Connection", "Masked", "default_client"]

CLIENTS = ("kafka-python", "confluent-kafka")
SECONDS = 8.0  # with the time to load the program, a first start without a broker ends within fifteen
RESERVED = frozenset(  # set here, or by other keys; another value would break exactly-once or the memory bounds
    (
        "allow.auto.create.topics auto.offset.reset batch.size bootstrap.servers bootstrap.timeout.ms "
        "default.api.timeout.ms delivery.timeout.ms enable.auto.commit enable.auto.offset.store enable.idempotence "
        "enable.partition.eof fetch.max.bytes fetch.message.max.bytes group.id isolation.level kafka.client linger.ms "
        "max.block.ms max.partition.fetch.bytes max.request.size message.max.bytes message.timeout.ms "
        "metadata.broker.list metrics.enabled oauth.cb oauth_cb queued.max.messages.kbytes receive.message.max.bytes "
        "request.timeout.ms sasl.mechanism sasl.mechanisms sasl.oauth.token.provider sasl.password "
        "sasl.plain.password sasl.plain.username sasl.username security.protocol ssl.ca.location ssl.cafile "
        "ssl.certfile ssl.certificate.location ssl.key.location ssl.key.password ssl.keyfile ssl.password "
        "transaction.timeout.ms transactional.id"
    ).split()
)
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


class Masked(str):
    """A text that is not shown: clients write their settings into logs.

    Examples
    --------
    >>> {"password": Masked("sesame")}
    {'password': '***'}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Settings to reach a cluster. Making one opens no connection. All requests but those for records use kafka-python.

    Raises
    ------
    BadValue
        If the settings contradict one another.

    Examples
    --------
    >>> Connection(servers=("localhost:9092",), mechanism="PLAIN", user="me", password="sesame")
    Connection(servers=('localhost:9092',), client=..., tls=False, ... mechanism='PLAIN', user='me', ...)
    """

    servers: tuple[str, ...]  # `host:port` of some brokers
    # "kafka-python", or "confluent-kafka", which is installed with the extra `fast` and takes 0.4 of the time per
    # record, end to end. Default: confluent-kafka if it is installed.
    client: str = field(default_factory=lambda: default_client())
    tls: bool = False
    ca_file: str | None = None  # the authorities to trust; None: the system's
    cert_file: str | None = None  # a client certificate, if brokers require one
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    mechanism: str | None = None  # of SASL: "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512" or "OAUTHBEARER"
    user: str | None = None  # user and password for PLAIN and SCRAM
    password: str | None = field(default=None, repr=False)
    # for OAUTHBEARER; called for every connection
    token: Callable[[], str] | None = field(default=None, repr=False)
    # Further settings of the client, by Kafka's names, such as "socket.keepalive.enable"; see `check_settings`.
    settings: Mapping[str, str | bool | int | float] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS  # to try before raising that no broker answers

    def __post_init__(self) -> None:
        if isinstance(self.servers, str) or not self.servers:
            raise BadValue(f"servers: expected a list of host:port, got {shown(self.servers)}")
        if self.client not in CLIENTS:
            raise BadValue(f"client: expected one of {', '.join(CLIENTS)}, got {shown(self.client)}")
        if self.mechanism not in (None, *MECHANISMS):
            raise BadValue(f"mechanism: expected one of {', '.join(MECHANISMS)}, got {shown(self.mechanism)}")
        if not self.seconds > 0:
            raise BadValue(f"seconds: expected a number above 0, got {shown(self.seconds)}")
        by_password = self.mechanism not in (None, "OAUTHBEARER")
        if by_password != (self.user is not None and self.password is not None):
            raise BadValue("user and password belong to the mechanisms PLAIN and SCRAM, which need both")
        if (self.mechanism == "OAUTHBEARER") != (self.token is not None):
            raise BadValue("token belongs to the mechanism OAUTHBEARER, which needs it")
        if not self.tls and (self.ca_file or self.cert_file or self.key_file or self.key_password):
            raise BadValue(
                "ca_file, cert_file, key_file and key_password are for TLS: set tls, or leave them out"
            )
        if (self.cert_file is None) != (self.key_file is None):
            raise BadValue("cert_file and key_file come together")
        for name in self.settings:
            if name in RESERVED:
                raise BadValue(f"settings: {name!r} is set by this package, or by another key; leave it out")

    def __str__(self) -> str:
        return ", ".join(self.servers)

    @property
    def protocol(self) -> str:
        """Kafka's name for the combination of TLS and SASL."""
        return ("SASL_" if self.mechanism else "") + ("SSL" if self.tls else "PLAINTEXT")

    def check_settings(self) -> None:
        """Raise `BadValue` for a further setting that the client does not have. Open no connection."""
        if not self.settings:
            return
        if self.client == "kafka-python":
            from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

            kinds = (KafkaAdminClient, KafkaConsumer, KafkaProducer)
            names = {name.replace("_", ".") for kind in kinds for name in kind.DEFAULT_CONFIG}
            for name in self.settings:
                if name not in names:
                    raise BadValue(f"settings: kafka-python has no {name!r}{closest(name, names)}")
            return
        if find_spec("confluent_kafka") is None:
            return  # reported with a remedy when the client is made
        from confluent_kafka import Consumer, KafkaException

        try:
            Consumer(self.confluent_settings() | {"group.id": "stream_bayes"}).close()
        except KafkaException as error:
            raise BadValue(f"settings: confluent-kafka refuses them: {error.args[0].str()}") from None

    def _check_files(self) -> None:
        """Raise `BadValue` for a file that cannot be read: clients would try in vain until their time is up."""
        for name in ("ca_file", "cert_file", "key_file"):
            path = getattr(self, name)
            if path is not None and not os.access(path, os.R_OK):
                raise BadValue(
                    f"kafka.{name}: there is no file {path!r} that this user can read; correct the path"
                )

    def further_settings(self, kind: Any) -> dict[str, Any]:
        """Return the further settings that a kind of client of kafka-python has."""
        if self.client != "kafka-python" or not self.settings:
            return {}
        settings = {name.replace(".", "_"): value for name, value in self.settings.items()}
        return {name: value for name, value in settings.items() if name in kind.DEFAULT_CONFIG}

    def python_settings(self) -> dict[str, Any]:
        """Return the settings of kafka-python's clients. Raise `BadValue` if a file for TLS cannot be read."""
        self._check_files()
        settings: dict[str, Any] = {
            "bootstrap_servers": list(self.servers),
            "client_id": "stream_bayes",
            "bootstrap_timeout_ms": int(1000 * self.seconds),
            "reconnect_backoff_max_ms": RECONNECT_WAIT_MS,
            "security_protocol": self.protocol,
        }
        if self.tls:
            settings |= {
                "ssl_cafile": self.ca_file,
                "ssl_certfile": self.cert_file,
                "ssl_keyfile": self.key_file,
            }
            settings["ssl_password"] = _masked(self.key_password)
        if self.mechanism:
            settings["sasl_mechanism"] = self.mechanism
        if self.token is not None:
            settings["sasl_oauth_token_provider"] = _token_provider(self.token)
        elif self.mechanism:
            settings |= {"sasl_plain_username": self.user, "sasl_plain_password": _masked(self.password)}
        return settings

    def confluent_settings(self) -> dict[str, Any]:
        """Return the settings of confluent-kafka's clients. Raise `BadValue` if a file for TLS cannot be read."""
        self._check_files()
        settings: dict[str, Any] = {
            "bootstrap.servers": ",".join(self.servers),
            "client.id": "stream_bayes",
            "reconnect.backoff.max.ms": RECONNECT_WAIT_MS,
            "security.protocol": self.protocol,
            "allow.auto.create.topics": False,
        }
        credentials = {
            "ssl.ca.location": self.ca_file,
            "ssl.certificate.location": self.cert_file,
            "ssl.key.location": self.key_file,
            "ssl.key.password": self.key_password,
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.user,
            "sasl.password": self.password,
        }
        settings |= {name: value for name, value in credentials.items() if value is not None}
        if self.token is not None:
            settings["oauth_cb"] = _token_callback(self.token)
        return settings | dict(self.settings)


def default_client() -> str:
    """Return confluent-kafka if it is installed, which is the faster one; else kafka-python."""
    return "kafka-python" if find_spec("confluent_kafka") is None else "confluent-kafka"


def _masked(secret: str | None) -> Masked | None:
    return None if secret is None else Masked(secret)


def _token_provider(token: Callable[[], str]) -> Any:
    """Return a token provider for kafka-python."""
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # the package brings no types
        def token(self) -> str:
            return token()

    return Provider()


TOKEN_SECONDS = 300.0  # after which confluent-kafka fetches a new token


def _token_callback(token: Callable[[], str]) -> Callable[[str], tuple[str, float]]:
    """Return a token provider for confluent-kafka."""
    import time

    def provide(_: str) -> tuple[str, float]:
        return token(), time.time() + TOKEN_SECONDS

    return provide
