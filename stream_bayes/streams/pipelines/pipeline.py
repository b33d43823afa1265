"""Construction of an engine from a pipeline file."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from river import compose

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import EventCount, StreamTime
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import Amount
from stream_bayes.data.features import Numeric
from stream_bayes.data.schema import Schema
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.errors import BadConfig, BadState, BadValue, NoSnapshot, SchemaError, StreamBayesError
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.catalogue import DEFAULT_REGRESSOR, NETWORK
from stream_bayes.learners.factory import (
    make_event_model,
    make_learner,
    make_network,
    make_regressor,
    make_target_model,
)
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.files.network_files import ENDINGS, read_network
from stream_bayes.networks.growth import LEARN
from stream_bayes.saving.prior_files import add_prior_of_file
from stream_bayes.saving.river.catalogue import make_adaptive, make_transformer
from stream_bayes.saving.snapshots.single_file import read_snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.sink import DeadLetter, NumberOutput, Output, Sink, TargetsOutput
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.engine.challengers import Challenger, Challengers
from stream_bayes.streams.engine.engine import SETTINGS, Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.files.label_log import LabelLog
from stream_bayes.streams.files.sink import FileSink
from stream_bayes.streams.files.source import FileSource
from stream_bayes.streams.files.table_profile import has_rows, inferred_schema, profile_of
from stream_bayes.streams.pipelines.config import (
    CSVConfig,
    DriftConfig,
    JSONLinesConfig,
    LabelsConfig,
    PipelineConfig,
    SnapshotsConfig,
)
from stream_bayes.streams.pipelines.config_base import SinkTable
from stream_bayes.streams.pipelines.config_model import NETWORKS_OF_EVENTS
from stream_bayes.streams.pipelines.products import Messages, product_parts
from stream_bayes.streams.records.commands import COMMANDS
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.product_models import MODELS
from stream_bayes.streams.served_models.protocol import Served
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sources.journaled import JOURNAL, JournaledSource
from stream_bayes.streams.sources.labelled import LabelledSource
from stream_bayes.streams.sources.merged import MergedSource

__all__ = ["build", "make_model", "make_pending", "make_source", "structure_arguments", "warm_start"]

logger = logging.getLogger(__name__)

LabelAmounts: TypeAlias = (
    Amount | Mapping[str, Amount]
)  # how the labels are written; of several targets by target

GUESSED = "guessed"  # key of the settings of a snapshot: the format and the schema that the first rows showed


def build(
    config: PipelineConfig,
    directory: Path = Path(),
    *,
    source: Source | None = None,
    schema: Schema | None = None,
    written: LabelAmounts | None = None,
    accept_gap: bool = False,
    anew: bool = False,
) -> Engine:
    """Build the engine of a pipeline. It writes nothing before it runs, and reads only the first rows of a file.

    Paths in the file are relative to `directory`. `source` is read in place of the file's, as for a paced replay.
    `schema` is the stream's, used if the file declares none, and `written` how its labels are, where they are numbers.
    With `accept_gap` the engine continues where records of a topic expired before they were read. `anew` is True if the
    run will not resume from a snapshot.

    Raises
    ------
    StreamBayesError
        If a part cannot be made: an argument the model does not take, a column that is not there.
    """
    for name, table in config.products():
        if table.run_with is not None:
            raise BadConfig(f"{name}: this pipeline has shards; build it with {table.run_with}")
    schema = config.schema_of_stream() or schema
    store = _store(config.snapshots, directory)
    settings = config.settings()
    form: CSVFormat | None = None
    written = Amount() if written is None else written
    if source is None and isinstance(config.source, CSVConfig):
        kept = None if anew else _kept_guess(store)
        config, schema, form, written, settings[GUESSED] = _with_guesses(
            config, config.source, directory, schema, written, kept
        )
    model = make_model(config, schema, directory)
    keep = () if config.serve is None else config.serve.history.keep or ()
    parts = product_parts(config, schema, accept_gap, _messages(config, model, keep))
    step = Step(
        _served(config, model, config.model.intervals, written),
        config.name,
        pending=make_pending(config.labels, config.max_skew),
        max_dead_share=config.max_dead_share,
        intervals=config.model.intervals if config.model.learns_classes else None,
        sets=config.model.label_sets(),
        max_skew=config.max_skew,
    )
    source = source or parts.source
    open_again: Callable[[], Source] | None = None
    if source is None:
        source = _with_logs(config, directory, make_source(config, directory, schema, form), store)
        open_again = partial(_file_again, config, directory, schema, form)
    elif source is parts.source:
        open_again = partial(_topic_again, config, schema, model)
    challengers = {
        each.name: _challenger(config, each.name, directory, schema, settings, written)
        for each in config.challengers
    }
    return Engine(
        step,
        source,
        predictions=parts.predictions
        or _sink(
            config.predictions,
            directory,
            "predictions",
            step.output_class,
        ),
        dead_letters=parts.dead_letters or _sink(config.dead_letters, directory, "dead_letters", DeadLetter),
        drifts=_drift_sink(config.drift, directory),
        recovery=parts.recovery,
        store=store,
        schedule=_schedule(config.snapshots),
        settings=settings,
        challengers=Challengers(challengers),
        open_again=open_again,
        accept_gap=accept_gap,
        batch=config.batch,
    )


class _Guessed(NamedTuple):
    """A pipeline over a CSV file once its first rows are read, and what they have shown, for the snapshot."""

    config: PipelineConfig
    schema: Schema | None
    form: CSVFormat
    written: LabelAmounts
    guess: dict[str, Any]


def _with_guesses(
    config: PipelineConfig,
    table: CSVConfig,
    directory: Path,
    schema: Schema | None,
    written: LabelAmounts,
    kept: Mapping[str, Any] | None,
) -> _Guessed:
    """Return a pipeline with what the first rows of its CSV file show, or a snapshot kept: format, schema, labels."""
    if not table.misfits:
        table = table.model_copy(update={"misfits": "missing" if schema is None else "dead-letter"})
        config = config.model_copy(update={"source": table})
    schema, form = _guessed(table, directory, kept, schema)
    guessed = None if config.schema_table is not None or schema is None else schema.to_json()
    guess: dict[str, Any] = {"format": form.to_json(), "schema": guessed}
    if config.model.predicts_numbers and table.target is not None:
        written = _written_labels(directory / table.paths[0], table.target, form, kept)
        guess["label"] = (
            written.options()
            if isinstance(written, Amount)
            else {name: each.options() for name, each in written.items()}
        )
    is_open = schema is None or schema.classes is None
    if config.model.learns_classes and isinstance(table.target, str) and is_open:
        _refuse_numbers(directory / table.paths[0], table.target, form, config.model.kind)
    return _Guessed(config, schema, form, written, guess)


def _served(config: PipelineConfig, model: Any, level: float | None, written: LabelAmounts) -> Served:
    table = config.model
    return served(model, table.max_names, table.predict, level, written)


def _kept_guess(store: SnapshotStore | None) -> Mapping[str, Any] | None:
    """Return what the first rows had shown, by the snapshot to resume from; None without one."""
    newest = None if store is None else store.latest()
    return None if newest is None else newest.snapshot.sections.get(SETTINGS, {}).get(GUESSED)


def _written_labels(
    path: Path, target: str | list[str], form: CSVFormat, kept: Mapping[str, Any] | None
) -> LabelAmounts:
    """Return how the numbers in the columns of labels are written, by the first rows or the snapshot to resume from."""
    if kept is not None and "label" in kept:
        label = kept["label"]
        if isinstance(target, str):
            return Amount(**label)
        return {name: Amount(**options) for name, options in label.items()}
    profiles = profile_of(path, form=form)  # of all columns, as the marks of others count, too
    columns = {name: profiles[name].kind.column for name in ([target] if isinstance(target, str) else target)}
    amounts = {
        name: column if isinstance(column, Amount) else Amount(decimal=form.decimal)
        for name, column in columns.items()
    }
    return amounts[target] if isinstance(target, str) else amounts


def _guessed(
    table: CSVConfig, directory: Path, kept: Mapping[str, Any] | None, declared: Schema | None
) -> tuple[Schema | None, CSVFormat]:
    """Return the schema and the format that the first rows show, or those of the snapshot to resume from."""
    if kept is not None:
        schema = None if kept["schema"] is None else Schema.from_json(kept["schema"])
        return declared or schema, CSVFormat(**kept["format"])
    path, form = directory / table.paths[0], table.form(directory, declared)
    for guess in form.guesses:
        logger.warning("%s: %s", path, guess)
    if declared is not None:
        return declared, form
    if table.follow and not has_rows(path, table.fields(), form=form):
        raise SchemaError(
            f"{path} has no row yet that shows which columns hold numbers: declare them in [schema.features], "
            'as in wind = "numeric", or start once there are some'
        )
    schema = inferred_schema(path, table.fields(), form=form)
    numbers = [name for name, spec in schema.columns.items() if isinstance(spec, (Amount, Numeric))]
    logger.info("columns that hold numbers, by the first rows of %s: %s", path, ", ".join(numbers) or "none")
    if str(form):
        logger.info("format of %s, by its first lines: %s", path, form)
    return schema, form


def _refuse_numbers(path: Path, target: str, form: CSVFormat, model: str) -> None:
    """Raise `BadConfig` if the labels of a file are measurements by its first rows: each would become a class."""
    profile = profile_of(path, [target], form=form)[target]
    if profile.is_measured:
        raise BadConfig(
            f"source.target: {target} has {profile.distinct:,} distinct numbers in the first {profile.values:,} rows "
            f"of {path}, and {model} learns classes; to learn numbers: kind = {DEFAULT_REGRESSOR!r} in [model]; if "
            "each number is a class: declare them, classes = [...] in [schema]"
        )


def make_model(config: PipelineConfig, schema: Schema | None, directory: Path = Path()) -> Any:
    """Build the model behind its transformers, whose features are not in the stream's schema; its rule around them."""
    table = config.model
    steps = [make_transformer(part.kind, part.arguments) for part in config.transformers]
    if table.reads_messages:
        if steps:
            raise BadConfig(f"transformers: {table.kind} reads messages itself, and takes no transformers")
        return _message_model(config, directory)
    if table.has_targets:
        return make_target_model(table.kind, table.arguments, config.source.target or [], schema)
    if table.predicts_numbers:
        return make_regressor(table.kind, table.arguments, schema)
    arguments = dict(table.arguments)
    if table.learns_events:
        return _event_model(config, arguments, schema, directory)
    if table.kind == NETWORK:
        if table.structure is not None:
            takes_tables = "network_weight" in arguments and config.source.target is None
            arguments |= structure_arguments(table.structure, directory, takes_tables=takes_tables)
        if config.source.target is None:
            return _network(config, arguments, schema)
        arguments.setdefault("target", config.source.target)
    if table.predict:
        raise BadConfig(
            "model.predict: names variables of a network without a class; leave source.target out"
        )
    learner = _with_prior(_class_learner(config, arguments, None if steps else schema), config, directory)
    learner = _with_drift(learner, config)
    model = compose.Pipeline(*steps, learner) if steps else learner
    rule = table.rule()
    return model if rule is None else DecidingClassifier(model, rule)


def _class_learner(config: PipelineConfig, arguments: dict[str, Any], schema: Schema | None) -> Any:
    """Return the learner of classes that the file names."""
    kind = config.model.kind
    try:
        learner: Any = make_learner(kind, arguments, schema)
    except SchemaError as error:
        raise SchemaError(
            f"{kind}: {error}; ignore such columns, declare them as something else in [schema.features], or "
            "choose another model"
        ) from error
    if config.labels is not None and getattr(learner, "unlabelled", "refuse") == "em":
        raise BadConfig(
            "model.arguments.unlabelled: 'em' learns an event without a label when it comes, and [labels] waits for "
            "the label; leave one of them out"
        )
    return learner


def _with_drift(learner: Any, config: PipelineConfig) -> Any:
    """Return a learner behind the drift detection of the file, if any."""
    kind, drift = config.model.kind, config.drift
    if drift is None:
        return learner
    if isinstance(learner, AdaptiveBayes | HalfLifeChoice):
        raise BadConfig(f"drift: {kind} adapts to drift itself; leave [drift] out, or choose another model")
    if isinstance(learner, ModelPerKey):
        raise BadConfig(f"drift: {kind} adds up all events, and is not replaced; leave [drift] out")
    return make_adaptive(learner, drift.detector, drift.detector_arguments, drift.arguments)


def _message_model(config: PipelineConfig, directory: Path) -> Any:
    """Return the model of messages of a product, with its prior and the people to whom mails were sent, if any."""
    table = config.model
    key = None if table.key is None else table.key.get_secret_value().encode()
    model = _with_prior(MODELS[table.kind].make(table.arguments, key), config, directory)
    if table.sent:
        try:
            MODELS[table.kind].learn_sent(model, [directory / path for path in table.sent])
        except StreamBayesError as error:
            raise BadConfig(f"model.sent: {error}") from error
    return model


def _with_prior(model: Any, config: PipelineConfig, directory: Path) -> Any:
    """Return a model that has learned nothing, with the prior of the file, if any."""
    table = config.model
    if table.prior is not None:
        try:
            add_prior_of_file(model, directory / table.prior, table.prior_weight)
        except BadValue as error:
            raise BadConfig(f"model.prior: {error}") from error
    return model


def _event_model(
    config: PipelineConfig, arguments: dict[str, Any], schema: Schema | None, directory: Path
) -> Any:
    """Build a model of events without a label."""
    table = config.model
    for name in ("transformers", "labels", "drift"):
        if getattr(config, name) and not (name == "drift" and table.kind in NETWORKS_OF_EVENTS):
            raise BadConfig(
                f"{name}: {table.kind} learns events without a label, and takes none; leave it out"
            )
    if config.source.target is not None:
        raise BadConfig(
            f"source.target: {table.kind} learns events without a label; leave target out, and name what to predict in "
            "model.predict"
        )
    if table.structure is not None:
        arguments |= structure_arguments(table.structure, directory)
    model = make_event_model(table.kind, arguments, schema)
    if config.drift is not None:
        drift = config.drift
        return make_adaptive(model, drift.detector, drift.detector_arguments, drift.arguments)
    return model


def _network(
    config: PipelineConfig, arguments: dict[str, Any], schema: Schema | None
) -> BayesNet | DriftAdaptive:
    """Build a network without a class."""
    for name in ("transformers", "labels"):
        if getattr(config, name):
            raise BadConfig(
                f"{name}: a {NETWORK} without a class takes none; name its class with source.target"
            )
    if "structure" not in arguments and "network" not in arguments:
        raise BadConfig(
            f"model.structure: is missing; a {NETWORK} without source.target needs a .bif or .json file, or 'learn'"
        )
    if config.model.rule() is not None:
        raise BadConfig(
            f"model.costs, model.thresholds: are for a class; a {NETWORK} without source.target has none"
        )
    if config.model.prior is not None:
        raise BadConfig(
            f"model.prior: is for a class; the prior of a {NETWORK} are the tables of its structure's file"
        )
    network = make_network(arguments, schema)
    if network.unseen == "error" and (empty := network.variables_without_values()):
        raise BadConfig(
            f"model.arguments.unseen: 'error' refuses values that were never learned, so that no event with "
            f"{shown(empty)} would ever be learned; declare their values in [schema.features], or choose 'novel'"
        )
    unknown = (
        [] if network.is_growing else [name for name in config.model.predict if name not in network.structure]
    )
    if unknown:
        raise BadConfig(
            f"model.predict: expected variables of the structure, {shown(list(network.structure))}, got "
            f"{shown(unknown)}"
        )
    if config.drift is not None:
        drift = config.drift
        return make_adaptive(network, drift.detector, drift.detector_arguments, drift.arguments)
    return network


def structure_arguments(
    structure: str | Path, directory: Path = Path(), *, takes_tables: bool = False
) -> dict[str, Any]:
    """Return the arguments for the structure of a network: from a file of a network or of JSON, or one that grows.

    With `takes_tables`, the tables of a file such as .bif are the prior.

    Examples
    --------
    >>> structure_arguments("learn")
    {'structure': 'learn'}
    """
    if str(structure) == LEARN:
        return {"structure": LEARN}
    path = directory / structure
    if path.suffix in ENDINGS:
        network = read_network(path)
        if takes_tables:
            return {"network": network}
        return {"structure": network.structure}
    if path.suffix != ".json":
        raise BadConfig(
            f"model.structure: expected a file {', '.join(ENDINGS)} or .json, or {LEARN!r}, got {str(structure)!r}"
        )
    try:
        return {"structure": Structure(json.loads(path.read_text("utf-8")))}
    except (OSError, ValueError, TypeError, StreamBayesError) as error:
        raise BadConfig(
            f"model.structure: {path} holds no object {{variable: [parent, ...]}}: {error}"
        ) from error


def _challenger(
    config: PipelineConfig,
    name: str,
    directory: Path,
    schema: Schema | None,
    settings: Mapping[str, Any],
    written: LabelAmounts,
) -> Challenger:
    """Return a challenger, with the settings that the pipeline would have with its model."""
    challenging = config.challenging(name)
    level = config.model.intervals if challenging.model.predicts_numbers else None
    model = _served(challenging, make_model(challenging, schema, directory), level, written)
    as_they_are = {part: settings[part] for part in ("source", GUESSED) if part in settings}
    return Challenger(
        Step(
            model,
            name,
            pending=make_pending(config.labels, config.max_skew),
            max_skew=config.max_skew,
        ),
        challenging.settings() | as_they_are,
    )


def _messages(config: PipelineConfig, model: Any, keep: Sequence[str]) -> Messages | None:
    """Return what makes the decoder of messages, taken apart as the model does it, with the headings that are kept."""
    if config.messages_for is None:
        return None
    kind = MODELS[config.model.kind]
    headings = [name for name in keep if name in kind.headings]
    return lambda most: kind.make_decoder(model, most, headings)


def make_source(
    config: PipelineConfig, directory: Path, schema: Schema | None, form: CSVFormat | None = None
) -> Source:
    """Build the source of a pipeline that reads a file, or several merged by time.

    Raises
    ------
    SourceError, SchemaError
        If it cannot be read, or lacks a column that is named.
    BadConfig
        If it reads no file.
    """
    table = config.source
    if not isinstance(table, CSVConfig | JSONLinesConfig):
        return table.make(config, directory, schema)
    if table.target is None and schema is not None and schema.target is None:
        raise SchemaError("source.target: name the column that holds the labels")
    if len(table.paths) == 1:
        return _file_source(config, directory, directory / table.paths[0], config.name, schema, form)
    names = [path.name for path in table.paths]
    if len(set(names)) < len(names):  # files of one name in several directories
        names = [path.as_posix() for path in table.paths]
    files = [
        _file_source(config, directory, directory / path, name, schema, form)
        for path, name in zip(table.paths, names, strict=True)
    ]
    return MergedSource(files, config.name, table.wait_idle)


def _file_source(
    config: PipelineConfig,
    directory: Path,
    path: Path,
    name: str,
    schema: Schema | None,
    form: CSVFormat | None,
) -> FileSource:
    table = config.source
    assert isinstance(table, CSVConfig | JSONLinesConfig)
    if table.kind == "csv":
        return CSVSource(
            path,
            table.fields(),
            schema,
            form=table.form(directory, schema) if form is None else form,
            misfits=table.misfits or "dead-letter",
            name=name,
            follow=table.follow,
            max_record_bytes=table.max_record_bytes,
        )
    decoder = JSONDecoder(table.fields(), schema, max_record_bytes=table.max_record_bytes)
    if not config.model.reads_messages:
        decoder.watch_texts(name, shlex.quote(str(path)))
    return JSONLinesSource(path, decoder, name=name, follow=table.follow)


def _file_again(
    config: PipelineConfig, directory: Path, schema: Schema | None, form: CSVFormat | None
) -> Source:
    """Return another reader of a pipeline's files, for records that were processed."""
    return _with_logs(config, directory, make_source(config, directory, schema, form), is_again=True)


def _topic_again(config: PipelineConfig, schema: Schema | None, model: Any) -> Source:
    """Return another reader of a pipeline's topics."""
    source = product_parts(config, schema, False, _messages(config, model, ())).source
    assert source is not None
    return source


def _with_logs(
    config: PipelineConfig,
    directory: Path,
    source: Source,
    store: SnapshotStore | None = None,
    *,
    is_again: bool = False,
) -> Source:
    """Add the logs in the directory of snapshots.

    They are the journal of a merge, the labels that people give, if the service can take some or has taken some, and
    commands.
    """
    if config.snapshots is None:
        return source
    log_directory = directory / config.snapshots.directory
    if isinstance(source, MergedSource):
        source = JournaledSource(source, log_directory / JOURNAL, _oldest_positions(store), is_again=is_again)
    if config.serve is not None or LabelLog.is_in(log_directory):
        source = LabelledSource(source, LabelLog(log_directory, is_again=is_again))
    if LabelLog.is_in(log_directory, COMMANDS):
        source = LabelledSource(source, LabelLog(log_directory, name=COMMANDS, is_again=is_again))
    return source


def _oldest_positions(store: SnapshotStore | None) -> dict[Partition, Position] | None:
    """Return the positions of the oldest snapshot; None if there is none that can be read."""
    try:
        oldest = None if store is None else store.describe(store.list()[0])
    except (BadState, IndexError, NoSnapshot, OSError):
        return None
    if oldest is None:
        return None
    return {Partition(source, number): position for source, number, position in oldest["positions"]}


def warm_start(engine: Engine, path: Path) -> None:
    """Load the model of a snapshot, without its positions, scores and held samples.

    Raises
    ------
    BadState
        If the file is not a snapshot, or of another model.
    """
    snapshot = read_snapshot(path)
    if "model" not in snapshot.sections:
        raise BadState(f"{path} holds no model, but {sorted(snapshot.sections)}")
    try:
        engine.step.load_model(snapshot.sections["model"])
    except BadState as error:
        raise BadState(
            f"{path} does not fit the pipeline's model: {error}. Give the two the same arguments; the schema of a CSV "
            "pipeline without [schema] is what its first rows show"
        ) from error


def make_pending(labels: LabelsConfig | None, max_skew: float) -> Pending | None:
    """Build the store of samples that wait for labels."""
    if labels is None:
        return None
    settings: dict[str, Any] = labels.model_dump(exclude={"clock", "topic", "target", "decoder"})
    stream_time = StreamTime(max_skew) if labels.clock == "time" else EventCount()
    return Pending(time=stream_time, **settings)


def _sink(
    table: SinkTable | None,
    directory: Path,
    name: str,
    of: type[Output] | type[NumberOutput] | type[TargetsOutput] | type[DeadLetter],
) -> Sink | None:
    return None if table is None else table.make(directory, name, of)


def _drift_sink(table: DriftConfig | None, directory: Path) -> FileSink | None:
    return None if table is None or table.log is None else JSONLinesSink(directory / table.log, "drifts")


def _store(table: SnapshotsConfig | None, directory: Path) -> SnapshotStore | None:
    if table is None:
        return None
    key = None if table.key is None else table.key.get_secret_value().encode()
    return SnapshotStore(directory / table.directory, table.keep, key)


def _schedule(table: SnapshotsConfig | None) -> Schedule | None:
    return None if table is None else Schedule(table.every_events, table.every_seconds)
