"""The tables of a pipeline file, and loading one: TOML, checked key by key.

    name = "weather"

    [source]
    kind = "csv"
    path = "weather.csv"
    target = "rain"

    [model]
    kind = "aode"
    arguments = { min_count = 1 }

    [predictions]
    kind = "jsonl"
    path = "answers.jsonl"

    [snapshots]
    directory = "state"

Learners, detectors and decoders have registered names: a file cannot name code to import. A secret is written as
`${NAME}`, which is read from the environment, or as `{ file = "path" }`; it is never printed.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, Union

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from stream_bayes.core.events.time import MAX_SKEW
from stream_bayes.data.declarations import ColumnDeclaration, kind_from_options
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.schema import Schema, usual_target
from stream_bayes.errors import BadConfig
from stream_bayes.learners.catalogue import DEFAULT_REGRESSOR, SEVERAL_TARGETS
from stream_bayes.secret_masking import remember_credentials, remember_secret
from stream_bayes.streams.files.csv_format import CSVFormat, guessed_format, named_columns
from stream_bayes.streams.files.csv_sink import CSVSink
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.files.sink import FileSink
from stream_bayes.streams.pipelines.config_base import (
    TOPIC,
    VARIABLE,
    ConfigTable,
    Duration,
    ObjectFieldsConfig,
    ProductTable,
    Secret,
    SinkTable,
    SourceTable,
    known_decoder,
)
from stream_bayes.streams.pipelines.config_errors import lines_of
from stream_bayes.streams.pipelines.config_model import (
    ChallengerConfig,
    DriftConfig,
    ModelConfig,
    TransformerConfig,
)
from stream_bayes.streams.pipelines.products import SINKS, SOURCES, TABLES
from stream_bayes.streams.records.decoders import decoder_class

__all__ = [
    "CSVConfig",
    "ChallengerConfig",
    "DriftConfig",
    "HistoryConfig",
    "JSONLinesConfig",
    "LabelsConfig",
    "ModelConfig",
    "OpsConfig",
    "PipelineConfig",
    "ServeConfig",
    "SnapshotsConfig",
    "TransformerConfig",
    "file_table",
    "load_config",
    "parse_config",
]

Written: TypeAlias = str | bool | int | float  # values and labels as TOML holds them
FIELDS = ("target", "key", "time", "weight", "type", "ignore", "only")
ColumnWord: TypeAlias = Literal["nominal", "numeric", "amount", "date", "coordinates", "text", "code"]
OPTIONS = {  # of the declaration of a column, by its kinds
    ("values", "closed", "max_values"): ("nominal",),
    ("cuts",): ("numeric", "amount"),
    ("units", "decimal"): ("amount",),
    ("order", "parts", "pivot"): ("date",),
    ("words",): ("text",),
    ("width",): ("code",),
}
LEAST_TOKEN = 16  # characters
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"  # of a pipeline: it becomes part of topics, groups and files


class FeatureConfig(ConfigTable):
    """The declaration of a feature."""

    kind: ColumnWord
    values: list[Written] | None = None
    closed: bool = False
    max_values: int | None = Field(None, ge=1)
    cuts: list[float] | None = None
    units: list[str] | None = None
    decimal: Literal[".", ","] | None = None
    order: Literal["ymd", "dmy", "mdy", "hm"] | None = None
    parts: list[str] | None = None
    pivot: int | None = None
    words: list[str] | None = None
    width: int | None = None

    def declared(self) -> ColumnDeclaration:
        if self.kind == "nominal":
            return Nominal(self.values, self.max_values, self.closed)
        if self.kind == "numeric":
            return Numeric() if self.cuts is None else Numeric(cuts=self.cuts)
        options = {name: getattr(self, name) for name in self.model_fields_set - {"kind"}}
        return kind_from_options(self.kind, options)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for names, kinds in OPTIONS.items():
            listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
            if self.kind not in kinds and not self.model_fields_set.isdisjoint(names):
                raise ValueError(f"{listed} are for {' or '.join(kinds)} features")
        return self


class SchemaConfig(ConfigTable):
    """The declared features and classes of the stream."""

    features: dict[str, FeatureConfig | ColumnWord]
    classes: list[Written] | None = None
    unknown: Literal["ignore", "refuse"] = "ignore"
    blanks: list[str] = Field(
        [], description="columns for which it is a feature whether their cell is missing"
    )


def _paths(value: object) -> object:
    """Return a path, or several, from text."""
    if isinstance(value, (str, Path)):
        return Path(value)
    if isinstance(value, list) and all(isinstance(path, (str, Path)) for path in value):
        return [Path(path) for path in value]
    raise ValueError("expected a path, or a list of paths, as text")


class FileConfig(SourceTable):
    """One file of records, or several that are merged by time."""

    path: Annotated[Path | list[Path], BeforeValidator(_paths)]
    follow: bool = False
    wait_idle: float = Field(
        0.0, ge=0, description="seconds to wait for a file at its end, to merge several by time"
    )
    max_record_bytes: int = Field(1_048_576, ge=16)

    @property
    def paths(self) -> list[Path]:
        """The files; of records with equal times, those of an earlier one come first."""
        return self.path if isinstance(self.path, list) else [self.path]

    @model_validator(mode="after")
    def _can_be_merged(self) -> Self:
        if not self.paths or len(set(self.paths)) < len(self.paths):
            raise ValueError("source.path: expected a file, or a list of different files")
        if len(self.paths) > 1 and self.time is None:
            raise ValueError("source.time: is missing; several files are merged by this field")
        return self


class CSVConfig(FileConfig):
    """A CSV file, plain or compressed. What is not given of its format is guessed from its first lines."""

    kind: Literal["csv"]
    delimiter: str | None = Field(None, pattern=r"^(.|tab|\\t)$")
    decimal: Literal[".", ","] | None = None
    thousands: str | None = Field(None, pattern=r"^[., '_]?$")
    encoding: str | None = None
    missing: list[str] | None = None
    header: bool | None = None
    skip: int | None = Field(None, ge=0, description="lines before the header, or the data without one")
    units: int | None = Field(None, ge=0, description="rows between the header and the data")
    comment: str | None = Field(None, max_length=4, description="what a comment line begins with")
    sheet: str | None = Field(None, description="the sheet of a spreadsheet")
    misfits: Literal["missing", "dead-letter"] | None = Field(
        None, description="what becomes of a cell of a numeric column that holds no number"
    )

    def form(self, directory: Path, schema: Schema | None) -> CSVFormat:
        """Return the format of the files, guessed from the first one if it is not given."""
        return guessed_format(
            directory / self.paths[0],
            delimiter=self.delimiter,
            decimal=self.decimal,
            thousands=self.thousands,
            encoding=self.encoding,
            missing=self.missing,
            header=self.header,
            skip=self.skip,
            units=self.units,
            comment=self.comment,
            sheet=self.sheet,
            named=named_columns(self.fields(), schema),
            follow=self.follow,
        )


class JSONLinesConfig(FileConfig, ObjectFieldsConfig):
    """A file of JSON objects, a line each, plain or gzipped."""

    kind: Literal["jsonl"]


class FileSinkConfig(SinkTable):
    """A file of results."""

    kind: Literal["jsonl", "csv"]
    path: Path = Field(strict=False)

    def make(self, directory: Path, name: str, of: type[Any]) -> FileSink:
        path = directory / self.path
        return CSVSink(path, of, name) if self.kind == "csv" else JSONLinesSink(path, name)


class LabelsConfig(ConfigTable):
    """Late labels: their topic, how long samples wait for them, and corrections."""

    topic: str | None = Field(
        None, pattern=TOPIC, description="a topic of labels, whose records have the samples' keys"
    )
    target: str | None = Field(
        None, description="the field of a label's record that holds it, if not the source's"
    )
    decoder: str | None = Field(
        None, description="the format of a label's record, if not the source's; json if that holds no fields"
    )
    wait_for: Duration | None = Field(None, ge=0)
    most_waiting: int = Field(100_000, ge=1)
    on_expiry: Literal["drop", "negative", "assume"] = "drop"
    assumed: Written | None = None
    correct_within: Duration | None = Field(None, ge=0)
    most_correctable: int = Field(100_000, ge=0)
    on_tombstone: Literal["skip", "unlearn"] = "skip"
    clock: Literal["time", "events"] = "time"

    @model_validator(mode="before")
    @classmethod
    def _counts_events(cls, table: Any) -> Any:
        if isinstance(table, dict) and table.get("clock") == "events":
            for name in ("wait_for", "correct_within"):
                if isinstance(table.get(name), str):
                    raise ValueError(
                        f"{name}: with clock = 'events' it is a number of events, not a duration"
                    )
        return table

    @field_validator("decoder")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        return None if name is None else known_decoder(name)


class SnapshotsConfig(ConfigTable):
    """The directory of snapshots, and their schedule."""

    directory: Path = Field(strict=False)
    keep: int = Field(3, ge=1)
    every_events: int | None = Field(None, ge=1)
    every_seconds: float | None = Field(60.0, gt=0)
    key: Secret | None = None


class OpsConfig(ConfigTable):
    """The address at which metrics and health are served."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(ge=0, le=65535)
    hosts: list[str] = Field(
        default_factory=list,
        description="further names that requests may be for: the one by which Prometheus comes",
    )


class HistoryConfig(ConfigTable):
    """The newest events that the service shows."""

    events: int = Field(1000, ge=0, le=100_000)
    keep: list[Literal["features", "subject", "sender"]] | None = Field(
        None, description="of each event; by default its features, and of a mail nothing but its verdict"
    )


class OtherServiceConfig(ConfigTable):
    """Another service that the page shows."""

    url: str = Field(pattern=r"^https?://[^/?#@\s]+(/[^?#\s]*)?$", description="as http://127.0.0.1:8081")
    read_token: Secret | None = Field(None, description="its token for reads, if they need one")


class ServeConfig(ConfigTable):
    """The service over the running pipeline: predictions, labels and a page over HTTP."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(8080, ge=0, le=65535)
    hosts: list[str] = Field(
        default_factory=list, description="further names that requests may be for, as behind a proxy"
    )
    proxies: list[str] = Field(
        default_factory=list,
        description="addresses or networks of proxies whose X-Forwarded-For names the client",
    )
    token: Secret | None = Field(None, description="needed for every write; without one there are none")
    read_token: Secret | None = Field(None, description="needed for reads, if given")
    history: HistoryConfig = Field(default_factory=lambda: HistoryConfig.model_validate({}))
    others: list[OtherServiceConfig] = Field(
        default_factory=list, max_length=64, description="services of other pipelines, shown on the same page"
    )
    max_body_bytes: int = Field(8_388_608, ge=1024)
    max_requests: int = Field(1000, ge=1, description="a second from one address")
    seconds: float = Field(10.0, gt=0, description="for a request to arrive, and for its answer")

    @model_validator(mode="after")
    def _has_strong_tokens(self) -> Self:
        for name in ("token", "read_token"):
            secret = getattr(self, name)
            if secret is not None and len(secret.get_secret_value()) < LEAST_TOKEN:
                raise ValueError(f"serve.{name}: expected at least {LEAST_TOKEN} characters")
        return self


class PipelineConfig(ConfigTable):
    """A pipeline file, without what products add to it: see `file_table`."""

    name: str = Field(pattern=NAME)
    source: SourceTable
    model: ModelConfig
    transformers: list[TransformerConfig] = Field(default_factory=list)
    drift: DriftConfig | None = None
    schema_table: SchemaConfig | None = Field(None, alias="schema")
    labels: LabelsConfig | None = None
    predictions: SinkTable | None = None
    dead_letters: SinkTable | None = None
    snapshots: SnapshotsConfig | None = None
    ops: OpsConfig | None = None
    challengers: list[ChallengerConfig] = Field(default_factory=list)
    serve: ServeConfig | None = None
    max_skew: Duration = Field(
        MAX_SKEW,
        gt=0,
        description="seconds that a record's time may be after its writing, and by which it may advance the clock",
    )
    batch: int = Field(1000, ge=1)
    max_dead_share: float = Field(0.5, gt=0, le=1)

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        uses = [part for part in (self.source, self.predictions, self.dead_letters) if part is not None]
        for name in [part.needs for part in uses if part.needs is not None]:
            if self.product(name) is None:
                raise ValueError(
                    f"{name}: is missing, and a source or sink is of this kind; add it with the servers"
                )
        if self.labels is not None and self.labels.topic is not None and not self.source.reads_topics:
            raise ValueError("labels.topic: belongs to a source that reads topics, as of kind 'kafka'")
        if self.labels is not None and self.labels.topic is None and self.labels.decoder is not None:
            raise ValueError("labels.decoder: is for records of labels.topic; add the topic, or leave it out")
        can_come = self.source.target is not None or self.messages_for is not None or self.serve is not None
        if self.labels is not None and self.labels.topic is None and not can_come:
            raise ValueError(
                "labels: no label would ever come; add labels.topic, or source.target with the field that holds it"
            )
        self.source.check(self)
        return self

    @model_validator(mode="after")
    def _drift_fits(self) -> Self:
        if self.drift is not None and self.model.reads_messages:
            raise ValueError(
                f"drift: {self.model.kind} follows no drift; give it a half_life, so that it forgets"
            )
        return self

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        for each in self.challengers:
            if each.predicts_numbers is not self.model.predicts_numbers:
                numbers, classes = sorted((each, self.model), key=lambda model: not model.predicts_numbers)
                raise ValueError(
                    f"challengers: {each.name!r}: {numbers.kind} learns numbers and {classes.kind} classes, so that "
                    "they cannot be compared"
                )
        if not self.model.predicts_numbers:
            return self
        kind = self.model.kind
        if self.drift is not None or any(each.drift is not None for each in self.challengers):
            raise ValueError(
                f"drift: is for models of classes; {DEFAULT_REGRESSOR} adapts itself, drift-regression replaces its "
                "learner, and others take half_life"
            )
        if self.transformers or any(each.transformers for each in self.challengers):
            raise ValueError(
                f"transformers: {kind} takes none here; it scales numbers and encodes names itself"
            )
        if self.schema_table is not None and self.schema_table.classes is not None:
            raise ValueError(f"schema.classes: the labels of {kind} are numbers; leave it out")
        if self.source.target is None and self.labels is None:
            raise ValueError(
                f"source.target: is missing; it names the field with the number that {kind} learns"
            )
        labels = self.labels
        if labels is not None and labels.on_expiry == "negative":
            raise ValueError(
                "labels.on_expiry: 'negative' is for classes; take 'drop', or 'assume' and a number in assumed"
            )
        if labels is not None and isinstance(labels.assumed, str | bool):
            raise ValueError(f"labels.assumed: {kind} learns numbers, got {labels.assumed!r}")
        return self

    @model_validator(mode="after")
    def _targets_fit(self) -> Self:
        """Refuse several targets where a part has one."""
        kind, target = self.model.kind, self.source.target
        if not self.model.has_targets:
            if isinstance(target, list):
                raise ValueError(
                    f"source.target: {kind} learns one target; for several numbers: kind = {SEVERAL_TARGETS!r} in "
                    "[model]"
                )
            return self
        if not isinstance(target, list):
            raise ValueError(
                f"source.target: {kind} needs the list of its targets, as in target = ['rain', 'river']; for one "
                "target: bayesian-regression"
            )
        shards = [name for name, table in self.products() if table.run_with is not None]
        for name in (*shards, "serve", "challengers"):
            if getattr(self, name):
                raise ValueError(
                    f"{name}: is for one target, and {kind} has several; leave it out, or run a pipeline with "
                    "bayesian-regression for each target"
                )
        if self.labels is not None and self.labels.target is not None:
            raise ValueError(
                "labels.target: the records of labels name the targets as source.target does; leave it out"
            )
        if self.labels is not None and self.labels.on_expiry != "drop":
            raise ValueError("labels.on_expiry: a label of several targets cannot be assumed; take 'drop'")
        return self

    @model_validator(mode="after")
    def _messages_fit(self) -> Self:
        if self.model.reads_messages and self.schema_table is not None:
            raise ValueError("schema: a message has no features to declare")
        if self.messages_for is None:
            return self
        if self.messages_for != self.model.kind:
            raise ValueError(f"source.decoder: such records are for the model {self.messages_for!r}")
        named = [name for name in FIELDS if getattr(self.source, name) not in (None, [])]
        if named:
            raise ValueError(f"source.{named[0]}: a message has no such field; its key is the record's")
        if self.labels is not None and self.labels.topic is not None and self.labels.target is None:
            raise ValueError(
                "labels.target: is missing; it names the field of a label's record that holds it"
            )
        return self

    @model_validator(mode="after")
    def _challengers_fit(self) -> Self:
        names = [each.name for each in self.challengers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"challengers: two are named {name!r}; give each a name of its own")
        for each in self.challengers:
            readers = [kind for kind in (each, self.model) if kind.reads_messages]
            if readers and each.kind != self.model.kind:
                raise ValueError(
                    f"challengers: {each.name!r} is {each.kind!r} and the model {self.model.kind!r}: messages are for "
                    f"{readers[0].kind!r} alone"
                )
            if each.reads_messages and (each.drift is not None or each.transformers):
                raise ValueError(f"challengers: {each.kind} takes no drift and no transformers")
        return self

    def challenging(self, name: str) -> PipelineConfig:
        """Return this pipeline with a challenger's model as its own, and without challengers.

        Raises
        ------
        BadConfig
            If there is no challenger of this name.
        """
        challenger = next((each for each in self.challengers if each.name == name), None)
        if challenger is None:
            names = ", ".join(each.name for each in self.challengers) or "none"
            raise BadConfig(f"there is no challenger {name!r} in the pipeline file; there are {names}")
        changes = {
            "model": challenger.model(),
            "transformers": challenger.transformers,
            "drift": challenger.drift,
            "challengers": [],
        }
        return self.model_copy(update=changes)

    @model_validator(mode="after")
    def _products_fit(self) -> Self:
        for _, table in self.products():
            table.check(self)
        return self

    def products(self) -> list[tuple[str, ProductTable]]:
        """Return the tables that products bring, by their names in the file."""
        tables = ((name, self.product(name)) for name in TABLES)
        return [(name, table) for name, table in tables if table is not None]

    def product(self, name: str) -> Any:
        """Return the table of a product by its name; None if the file has none."""
        return getattr(self, name, None)

    if TYPE_CHECKING:  # the tables of products, which `file_table` adds

        def __getattr__(self, name: str) -> Any: ...

    @property
    def messages_for(self) -> str | None:
        """The kind of model that the source's records are messages for; None for records of any other kind."""
        decoder = getattr(self.source, "decoder", None)
        return None if decoder is None else decoder_class(decoder).model

    @property
    def labels_decoder(self) -> str | None:
        """The format of the records in the topic of labels; None without one."""
        if self.labels is None or self.labels.topic is None:
            return None
        return self.source.labels_decoder(self.labels)

    def schema_of_stream(self) -> Schema | None:
        """Return the declared schema, or None."""
        if self.schema_table is None:
            return None
        features = {
            name: declared.declared()
            if isinstance(declared, FeatureConfig)
            else FeatureConfig.model_validate({"kind": declared}).declared()
            for name, declared in self.schema_table.features.items()
        }
        target = self.source.target
        return Schema(
            features,
            classes=self.schema_table.classes,
            target=target if isinstance(target, str) else usual_target(features),
            unknown=self.schema_table.unknown,
            blanks=self.schema_table.blanks,
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings that the state depends on as JSON values: a state of other settings cannot be resumed."""
        parts = {"name", "model", "schema_table", "labels"}
        # A state checks its key, and holds no outputs; sets of other levels begin anew.
        left_out = {"model": {"key", "task", "intervals", "coverage", "by_class"}}
        if self.model.predicts_numbers:
            left_out["model"].remove("intervals")  # their coverage is measured
        kept = self.model_dump(mode="json", by_alias=True, include=parts, exclude=left_out)
        if self.transformers:
            kept["transformers"] = [part.model_dump(mode="json") for part in self.transformers]
        for name, table in self.products():
            if table.state_settings():
                kept[name] = table.state_settings()
        if self.drift is not None:
            kept["drift"] = self.drift.model_dump(mode="json", exclude={"log"})
        csv_format = CSVConfig.model_fields.keys() - FileConfig.model_fields.keys()
        fields = {"kind", "decoder", *ObjectFieldsConfig.model_fields, *csv_format}
        return kept | {"source": self.source.model_dump(mode="json", include=fields)}


@cache
def file_table() -> type[PipelineConfig]:
    """Return the table of a whole file: with the kinds of sources and sinks and with the tables that products bring."""

    def one_of(tables: Iterable[type[ConfigTable]]) -> Any:
        kinds = tuple(dict.fromkeys(tables))
        return kinds[0] if len(kinds) == 1 else Annotated[Union[kinds], Field(discriminator="kind")]  # noqa: UP007  # of a tuple

    sink = one_of(SINKS.values()) | None
    fields: dict[str, Any] = {
        "source": (one_of(SOURCES.values()), ...),
        "predictions": (sink, None),
        "dead_letters": (sink, None),
        **{name: (table | None, None) for name, table in TABLES.items()},
    }
    return create_model("PipelineFile", __base__=PipelineConfig, __doc__=PipelineConfig.__doc__, **fields)


def load_config(path: str | os.PathLike[str]) -> PipelineConfig:
    """Load a pipeline file; paths in it are relative to it.

    Raises
    ------
    BadConfig
        If anything is wrong, with a line for each key.
    """
    try:
        text = Path(path).read_text("utf-8-sig")  # some editors write a mark before the text
    except (OSError, UnicodeError) as error:
        raise BadConfig(f"{path}: cannot be read: {error}") from error
    try:
        return parse_config(text)
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}") from None


# A key of fifty parts, such as a.b.c: at the beginning of a line, or within a table or a list.
_DEEP_KEY = re.compile(r"""(?:^|[\[{,])[ \t]*(?:[\w"'-]+[ \t]*\.[ \t]*){50}""", re.MULTILINE)


def parse_config(text: str) -> PipelineConfig:
    r"""Parse the text of a pipeline file.

    Examples
    --------
    >>> config = parse_config('''
    ...     name = "weather"
    ...     source = { kind = "csv", path = "weather.csv", target = "rain" }
    ...     model = { kind = "aode" }
    ... ''')
    >>> config.model.kind, config.source.target
    ('aode', 'rain')
    >>> parse_config('name = "weather"\nmodle = { kind = "aode" }')
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadConfig: source: is missing
    model: is missing
    modle: is not a key here; did you mean 'model'? There are name, source, model, ...
    """
    try:
        return checked(_table(text))
    except RecursionError:
        raise BadConfig("tables or lists are nested too deeply; a pipeline file needs four levels") from None


def _table(text: str) -> dict[str, Any]:
    if _DEEP_KEY.search(text):  # tomllib takes time and memory by the square of the parts
        raise RecursionError
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a TOMLDecodeError; or a number with more digits than Python reads
        raise BadConfig(f"not TOML: {error}") from error


def checked(table: Mapping[str, Any]) -> PipelineConfig:
    """Return the configuration in a table, or raise `BadConfig` with a line for each invalid key."""
    table = _substituted(table)
    misplaced = list(_misplaced(table, ()))
    if misplaced:
        raise BadConfig("\n".join(misplaced))
    try:
        return file_table().model_validate(table)
    except ValidationError as error:
        raise BadConfig("\n".join(lines_of(error, table, file_table()))) from None


_SECRETS = {
    ("model", "key"),
    ("challengers", "key"),
    ("snapshots", "key"),
    ("serve", "token"),
    ("serve", "read_token"),
    ("serve", "others", "read_token"),
}


@cache
def secrets() -> frozenset[tuple[str, ...]]:
    """Return the paths of the keys that hold secrets."""
    of_sources = (("source", *path) for table in SOURCES.values() for path in table.secrets)
    of_products = ((name, *path) for name, table in TABLES.items() for path in table.secrets)
    return frozenset({*_SECRETS, *of_sources, *of_products})


@cache
def variables() -> frozenset[tuple[str, ...]]:
    """Return the paths of other keys that may hold variables, as no state depends on them: a file for many clusters."""
    of_sources = (("source", *path) for table in SOURCES.values() for path in table.variables)
    of_sinks = (
        (name, *path)
        for table in SINKS.values()
        for path in table.variables
        for name in ("predictions", "dead_letters")
    )
    of_products = ((name, *path) for name, table in TABLES.items() for path in table.variables)
    return frozenset({("labels", "topic"), *of_sources, *of_sinks, *of_products})


def _substituted(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with the values of environment variables in servers, topics and settings of the client.

    Raises
    ------
    BadConfig
        If a variable is not set.
    """
    result = dict(table)
    missing: list[str] = []
    for *sections, key in sorted(variables()):
        part = _copied(result, sections)
        if part is None or key not in part:
            continue
        part[key] = _with_variables(part[key], ".".join((*sections, key)), missing)
    if missing:
        raise BadConfig("\n".join(missing))
    return result


def _copied(table: dict[str, Any], sections: Sequence[str]) -> dict[str, Any] | None:
    """Return a table in a table as a copy that replaces it, so that it can be changed; None if there is none."""
    for section in sections:
        inner = table.get(section)
        if not isinstance(inner, Mapping):
            return None
        table[section] = table = dict(inner)
    return table


def _with_variables(value: Any, path: str, missing: list[str]) -> Any:
    if isinstance(value, list):
        return [_with_variables(item, path, missing) for item in value]
    if isinstance(value, Mapping):
        return {key: _with_variables(item, f"{path}.{key}", missing) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    missing += [
        f"{path}: the environment has no variable {name}"
        for name in VARIABLE.findall(value)
        if name not in os.environ
    ]
    result = VARIABLE.sub(lambda match: os.environ.get(match[1], match[0]), value)
    remember_credentials(result)
    if "settings" in path.split("."):  # of the client: a password as well as anything else
        for name in VARIABLE.findall(value):
            remember_secret(os.environ.get(name, ""))
    return result


def _misplaced(part: object, path: tuple[str, ...]) -> Any:
    """Yield complaints about variables outside secrets: a pipeline must be fully described by its file."""
    if isinstance(part, str) and VARIABLE.search(part) and path not in secrets():
        yield (
            f"{'.'.join(path)}: only secrets, servers, topics, kafka.settings and source.registry.url are read from "
            "the environment"
        )
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _misplaced(value, (*path, str(key)))
    elif isinstance(part, list):
        for value in part:
            yield from _misplaced(value, path)
