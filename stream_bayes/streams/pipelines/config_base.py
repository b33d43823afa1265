"""The base of a pipeline file's tables, secrets, and the fields of records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from stream_bayes.streams.records.fields import MAX_FIELDS, Fields

__all__ = ["VARIABLE", "FieldsConfig", "ObjectFieldsConfig", "RenewedSecret", "Secret", "Table"]

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _secret(given: object) -> object:
    """Return the value of a secret."""
    if isinstance(given, str):
        named = VARIABLE.fullmatch(given)
        if named is None:
            raise ValueError(
                "a secret is not written here, but as ${NAME} of an environment variable, or as { file = ... }"
            )
        if named[1] not in os.environ:
            raise ValueError(f"the environment has no variable {named[1]}")
        return os.environ[named[1]]
    if isinstance(given, Mapping) and set(given) == {"file"}:
        try:
            return Path(given["file"]).read_text("utf-8").strip()
        except (OSError, TypeError, UnicodeError) as error:
            raise ValueError(f"its file cannot be read: {error}") from error
    raise ValueError("expected ${NAME} of an environment variable, or { file = ... }")


def _renewed(given: object) -> Callable[[], object]:
    _secret(given)  # so that a wrong one is reported when the file is loaded
    return lambda: _secret(given)


Secret: TypeAlias = Annotated[SecretStr, BeforeValidator(_secret)]
# A secret that changes while a pipeline runs: it is read again at each use.
RenewedSecret: TypeAlias = Annotated[Callable[[], str], BeforeValidator(_renewed)]


class Table(BaseModel):
    """A table of the file: frozen, and without any keys but those below."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, strict=True)


class FieldsConfig(Table):
    """The roles of a record's fields."""

    target: str | None = None
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
