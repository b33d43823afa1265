"""The base of a pipeline file's tables, secrets, and the fields of records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from stream_bayes.core.values.durations import seconds_of
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.secret_masking import masked, remember_secret
from stream_bayes.streams.contracts.sink import Sink
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.records.decoders import decoder_names
from stream_bayes.streams.records.fields import MAX_FIELDS, Fields

__all__ = [
    "TOPIC",
    "VARIABLE",
    "ConfigTable",
    "Duration",
    "FieldsConfig",
    "ObjectFieldsConfig",
    "ProductTable",
    "RenewedSecret",
    "Secret",
    "SinkTable",
    "SourceTable",
    "known_decoder",
]

TOPIC = r"^[A-Za-z0-9._-]{1,249}$"

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _secret(value: object) -> object:
    """Return the value of a secret."""
    if isinstance(value, str):
        named = VARIABLE.fullmatch(value)
        if named is None:
            raise ValueError(
                "a secret is not written here, but as ${NAME} of an environment variable, or as { file = ... }"
            )
        if named[1] not in os.environ:
            raise ValueError(f"the environment has no variable {named[1]}")
        return remember_secret(os.environ[named[1]])
    if isinstance(value, Mapping) and set(value) == {"file"}:
        try:
            return remember_secret(Path(value["file"]).read_text("utf-8").strip())
        except (OSError, TypeError, UnicodeError) as error:
            raise ValueError(f"its file cannot be read: {error}") from error
    raise ValueError("expected ${NAME} of an environment variable, or { file = ... }")


def _renewed(value: object) -> Callable[[], object]:
    _secret(value)  # so that a wrong one is reported when the file is loaded
    return lambda: _secret(value)


Secret: TypeAlias = Annotated[SecretStr, BeforeValidator(_secret)]
# A secret that changes while a pipeline runs: it is read again at each use.
RenewedSecret: TypeAlias = Annotated[Callable[[], str], BeforeValidator(_renewed)]


def _seconds(value: object) -> object:
    """Return a duration such as "24h" in seconds; a number as it is."""
    if not isinstance(value, str):
        return value
    try:
        return seconds_of("duration", value)
    except BadValue as error:
        raise ValueError(f"{str(error).removeprefix('duration: ')}; or a number of seconds") from None


Duration: TypeAlias = Annotated[float, BeforeValidator(_seconds)]


class ConfigTable(BaseModel):
    """A table of the file: frozen, and without any keys but those below."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, strict=True)

    def __repr__(self) -> str:
        return masked(super().__repr__())

    def __str__(self) -> str:
        return masked(super().__str__())


class FieldsConfig(ConfigTable):
    """The roles of a record's fields."""

    target: str | list[str] | None = Field(
        None, description="the field of the label, or a list of those of several numbers"
    )
    key: str | None = None
    time: str | None = None
    time_unit: Literal["s", "ms", "us", "ns", "iso"] = "s"
    weight: str | None = None
    type: str | None = Field(None, description="the field that holds sample, label, correction or tombstone")
    ignore: list[str] = []
    only: list[str] | None = None
    max_fields: int = Field(MAX_FIELDS, ge=1, description="features of a record; more are a dead letter")

    def fields(self) -> Fields:
        """Return these settings as the `Fields` of a decoder."""
        return Fields(**self._arguments())

    def _arguments(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "key": self.key,
            "time": self.time,
            "time_unit": self.time_unit,
            "weight": self.weight,
            "kind": self.type,
            "ignore": tuple(self.ignore),
            "only": None if self.only is None else tuple(self.only),
            "max_fields": self.max_fields,
        }


class SourceTable(FieldsConfig):
    """The table of a kind of source.

    `needs` names the table of the file without which it cannot be read, and `reads_topics` says that its records are in
    topics, where labels and corrections can be too. `secrets` and `variables` are the paths of keys below this table
    that hold secrets, and that may hold variables of the environment.
    """

    kind: str
    needs: ClassVar[str | None] = None
    reads_topics: ClassVar[bool] = False
    secrets: ClassVar[tuple[tuple[str, ...], ...]] = ()
    variables: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def check(self, config: Any) -> None:
        """Raise `ValueError` if another table of the pipeline's file does not fit this source."""

    def labels_decoder(self, labels: Any) -> str | None:
        """Return the format of the records in the topic of labels; None without one."""
        return None

    def make(self, config: Any, directory: Path, schema: Schema | None) -> Source:
        """Return the source of a pipeline; paths are relative to the directory."""
        raise NotImplementedError(f"{type(self).__name__} makes no source")

    def write_command(self, config: Any, command: bytes) -> None:
        """Write a command into the pipeline's topic of commands. For a source that reads topics."""
        raise NotImplementedError(f"{type(self).__name__} has no topic of commands")

    def label_topic(self, config: Any) -> Any:
        """Return what writes labels into the topic of labels. For a source that reads topics."""
        raise NotImplementedError(f"{type(self).__name__} has no topic of labels")

    if TYPE_CHECKING:  # the keys of a kind

        def __getattr__(self, name: str) -> Any: ...


class SinkTable(ConfigTable):
    """The table of a kind of sink; `needs` and `variables` as of a source."""

    kind: str
    needs: ClassVar[str | None] = None
    variables: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def make(self, directory: Path, name: str, of: type[Any]) -> Sink | None:
        """Return the sink for results of a class; None where the pipeline's product makes it with its other parts."""
        return None

    if TYPE_CHECKING:  # the keys of a kind

        def __getattr__(self, name: str) -> Any: ...


class ProductTable(ConfigTable):
    """A table of the file that a product brings; `secrets` and `variables` as of a source.

    `run_with` says how to run a pipeline that is no single engine where it has this table.
    """

    run_with: ClassVar[str | None] = None
    secrets: ClassVar[tuple[tuple[str, ...], ...]] = ()
    variables: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def check(self, config: Any) -> None:
        """Raise `ValueError` if another table of the pipeline's file does not fit this one."""

    def lines(self) -> list[str]:
        """Return what `stream-bayes run` prints of it when a pipeline starts."""
        return []

    def state_settings(self) -> dict[str, Any]:
        """Return the settings that the state depends on, as JSON values."""
        return {}


def known_decoder(name: str) -> str:
    """Return the name of a decoder, or raise `ValueError`."""
    if name not in decoder_names():
        raise ValueError(f"there is no decoder {name!r}; there are {', '.join(decoder_names())}")
    return name


class ObjectFieldsConfig(FieldsConfig):
    """The roles of the fields of JSON objects, which may be nested or in an envelope."""

    flatten: bool = Field(False, description="nested fields are named as in payload.after.sky")
    envelope: Literal["debezium", "cloudevents"] | None = None
    on_bad_field: Literal["refuse", "missing"] = "refuse"

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | {
            "flatten": self.flatten,
            "envelope": self.envelope,
            "on_bad_field": self.on_bad_field,
        }
