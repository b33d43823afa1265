"""The tables of a pipeline file for Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.kafka.clients.client import MAX_MESSAGE_BYTES, TRANSACTION_SECONDS
from stream_bayes.kafka.clients.connection import SECONDS, Connection, default_client
from stream_bayes.kafka.clients.oidc import ClientCredentials
from stream_bayes.registry import load
from stream_bayes.streams.pipelines.config_base import (
    TOPIC,
    ConfigTable,
    ObjectFieldsConfig,
    ProductTable,
    RenewedSecret,
    Secret,
    SinkTable,
    SourceTable,
    known_decoder,
)
from stream_bayes.streams.records.decoders import decoder_class, needs_registry
from stream_bayes.streams.records.schema_registry import REQUEST_SECONDS, SchemaRegistry

if TYPE_CHECKING:
    from stream_bayes.kafka.labels import TopicLabels
    from stream_bayes.kafka.source import KafkaSource

__all__ = ["KafkaConfig", "KafkaSinkConfig", "KafkaSourceConfig", "RegistryConfig"]


class OIDCConfig(ConfigTable):
    """The provider of tokens for OAUTHBEARER: OpenID Connect with client credentials."""

    token_url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None

    def tokens(self) -> ClientCredentials:
        """Return the source of tokens. It opens no connection yet."""
        return ClientCredentials(
            self.token_url, self.client_id, self.client_secret.get_secret_value(), self.scope
        )


class RegistryConfig(ConfigTable):
    """The registry with the schemas of the records."""

    url: str
    user: str | None = None
    password: Secret | None = None
    token: RenewedSecret | None = None
    oidc: OIDCConfig | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: Secret | None = None
    seconds: float = Field(REQUEST_SECONDS, gt=0, description="time-out of a request")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.token is not None and self.oidc is not None:
            raise ValueError("token and oidc are two sources of tokens: leave one out")
        try:
            self.registry()
        except BadValue as error:
            raise ValueError(str(error)) from None
        return self

    def registry(self) -> SchemaRegistry:
        """Return a client of the registry. It opens no connection yet."""
        return SchemaRegistry(
            self.url,
            user=self.user,
            password=None if self.password is None else self.password.get_secret_value(),
            token=self.token if self.oidc is None else self.oidc.tokens(),
            ca_file=self.ca_file,
            cert_file=self.cert_file,
            key_file=self.key_file,
            key_password=None if self.key_password is None else self.key_password.get_secret_value(),
            seconds=self.seconds,
        )


class KafkaConfig(ProductTable):
    """The connection to the cluster, and the delivery of results."""

    secrets = (("password",), ("token",), ("key_password",), ("oidc", "client_secret"))
    variables = (("servers",), ("settings",))

    servers: list[str] = Field(min_length=1)
    client: Literal["kafka-python", "confluent-kafka"] = Field(
        default_factory=default_client,  # type: ignore[arg-type]  # it returns one of the two
        description="confluent-kafka if it is installed, else kafka-python, if not given",
    )
    tls: bool = False
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: Secret | None = None
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    user: str | None = None
    password: Secret | None = None
    token: RenewedSecret | None = None
    oidc: OIDCConfig | None = None
    settings: dict[str, str | bool | int | float] = Field(
        default_factory=dict, repr=False, description="further settings of the client, by Kafka's names"
    )
    delivery: Literal["exactly-once", "at-least-once"] = "exactly-once"
    replication_factor: int | None = Field(
        None, ge=1, description="of the journal; all brokers up to three, if not given"
    )
    seconds: float = Field(SECONDS, gt=0, description="to try before the error that no broker answers")
    transaction_seconds: float = Field(TRANSACTION_SECONDS, gt=0)
    max_message_bytes: int = Field(MAX_MESSAGE_BYTES, ge=16_384, description="of a record that is written")

    @field_validator("servers", mode="before")
    @classmethod
    def _listed(cls, servers: object) -> object:
        """Return the servers as a list: they may be one text with commas, as a deployment's variable usually is."""
        texts = [servers] if isinstance(servers, str) else servers
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return [server.strip() for text in texts for server in text.split(",") if server.strip()]
        return servers

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.token is not None and self.oidc is not None:
            raise ValueError("token and oidc are two sources of tokens: leave one out")
        try:
            self.connection().check_settings()
        except BadValue as error:
            raise ValueError(str(error)) from None
        return self

    def lines(self) -> list[str]:
        return [f"Kafka client: {self.client}"]

    def connection(self) -> Connection:
        """Return these settings as a `Connection`."""
        return Connection(
            servers=tuple(self.servers),
            client=self.client,
            tls=self.tls,
            ca_file=self.ca_file,
            cert_file=self.cert_file,
            key_file=self.key_file,
            key_password=None if self.key_password is None else self.key_password.get_secret_value(),
            mechanism=self.mechanism,
            user=self.user,
            password=None if self.password is None else self.password.get_secret_value(),
            token=self.token if self.oidc is None else self.oidc.tokens(),
            settings=self.settings,
            seconds=self.seconds,
        )


class KafkaSourceConfig(SourceTable, ObjectFieldsConfig):
    """A topic of events."""

    needs = "kafka"
    reads_topics = True
    secrets = tuple(("registry", *path) for path in KafkaConfig.secrets)
    variables = (("topic",), ("registry", "url"))

    kind: Literal["kafka"]
    topic: str = Field(pattern=TOPIC)
    decoder: str = Field("json", description="the format of its records; see `register_decoder`")
    start: Literal["earliest", "latest"] | float = "earliest"
    wait_idle: float = Field(
        0.0, ge=0, description="seconds to wait for a partition at its end, to merge by time"
    )
    max_record_bytes: int = Field(1_048_576, ge=16)
    registry: RegistryConfig | None = Field(None, description="of the schemas, for the decoder avro")

    @field_validator("decoder")
    @classmethod
    def _is_known(cls, name: str) -> str:
        return known_decoder(name)

    @model_validator(mode="after")
    def _has_registry(self) -> Self:
        if self.registry is None and needs_registry(self.decoder):
            raise ValueError(
                f"source.registry: is missing; the decoder {self.decoder!r} needs it, with the registry's url"
            )
        return self

    def check(self, config: Any) -> None:
        decoders = [name for name in (self.decoder, config.labels_decoder) if name is not None]
        if self.registry is not None and not any(map(needs_registry, decoders)):
            raise ValueError(
                "source.registry: is for the decoder 'avro'; choose it, or leave the registry out"
            )
        if (
            self.registry is None
            and config.labels_decoder is not None
            and needs_registry(config.labels_decoder)
        ):
            raise ValueError(
                f"source.registry: is missing; labels.decoder {config.labels_decoder!r} needs it, with the registry's "
                "url"
            )

    def labels_decoder(self, labels: Any) -> str:
        if labels.decoder is not None:
            return str(labels.decoder)
        return self.decoder if decoder_class(self.decoder).has_fields else "json"

    def make(self, config: Any, directory: Path, schema: Schema | None) -> KafkaSource:
        return load("stream_bayes.kafka.pipeline.parts:kafka_source")(config, schema)

    def write_command(self, config: Any, command: bytes) -> None:
        from stream_bayes.kafka.producing import write_command

        kafka: KafkaConfig = config.kafka
        write_command(
            kafka.connection(), config.name, command, kafka.replication_factor, kafka.max_message_bytes
        )

    def label_topic(self, config: Any) -> TopicLabels:
        from stream_bayes.kafka.labels import TopicLabels

        labels = config.labels
        target = labels.target or self.target or "label"
        assert isinstance(target, str)  # the service, which writes labels, is refused for several targets
        return TopicLabels(config.kafka.connection(), labels.topic, target, self.key)


class KafkaSinkConfig(SinkTable):
    """A topic of results."""

    needs = "kafka"
    variables = (("topic",),)

    kind: Literal["kafka"]
    topic: str = Field(pattern=TOPIC)
