"""`stream-bayes run`: run the pipeline of a file; and `run_engine`, which `replay` shares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.arguments import moment_from
from stream_bayes.cli.data_file import listed
from stream_bayes.cli.exit_codes import exit_on_error, exit_with_json_log
from stream_bayes.cli.output import JSON, note, print_json, print_table
from stream_bayes.cli.progress import bar_over, print_summary
from stream_bayes.cli.runners import RUNNERS, RunOptions
from stream_bayes.cli.service import ServeOptions, service_of
from stream_bayes.data.amounts import Amount
from stream_bayes.data.dates import Date
from stream_bayes.data.features import Numeric
from stream_bayes.errors import BadConfig, BadValue, OtherSettings
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.setting_changes import setting_text
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.pipelines.config import PipelineConfig, load_config
from stream_bayes.streams.pipelines.pipeline import build, warm_start
from stream_bayes.streams.service.metrics_and_health import serving
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes.streams.sources.file_formats import is_data_name
from stream_bayes.streams.sources.journaled import JournaledSource
from stream_bayes.streams.sources.labelled import LabelledSource
from stream_bayes.streams.sources.merged import MergedSource

__all__ = ["MAY_CHANGE", "run", "run_engine", "size_of"]


def run(
    file: Annotated[Path, typer.Argument(help="Pipeline file (TOML).", show_default=False)],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show where the run would start, without changing anything.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Start from scratch, and replace snapshots and outputs once the new run has caught up.",
        ),
    ] = False,
    warm: Annotated[
        Path | None,
        typer.Option(
            "--warm-start", help="Start a first run with the model of this snapshot or saved model."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where a first run starts in its topic: earliest, latest, or a time.",
            metavar="TIME",
        ),
    ] = None,
    accept_gap: Annotated[
        bool, typer.Option("--accept-gap", help="Continue even if records expired before they were read.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Stop after this many records.", min=0)] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Stop at the end that the source had at the start.")
    ] = False,
    serve: ServeOptions,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="Start this many processes of a pipeline with [workers], and end them together.",
        ),
    ] = None,
    instance_id: Annotated[
        str | None,
        typer.Option(
            "--instance-id",
            help="Name of this worker, which keeps its shards over a crash. With --workers, the prefix of the names.",
        ),
    ] = None,
    ops_port: Annotated[
        int | None,
        typer.Option("--ops-port", help="Port of the metrics, in place of the file's.", hidden=True),
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log to stderr as JSON lines, with UTC times.")
    ] = False,
    json: JSON = False,
) -> None:
    """Run a pipeline until its source ends or it receives SIGTERM or Ctrl-C."""
    options = RunOptions(
        file=file,
        dry_run=dry_run,
        rebuild=rebuild,
        warm=warm,
        start=start,
        accept_gap=accept_gap,
        limit=limit,
        until_end=until_end,
        lasts=serve.is_wanted,
        processes=workers,
        instance_id=instance_id,
        ops_port=ops_port,
        log_json=log_json,
        json=json,
    )
    with exit_with_json_log() if log_json else exit_on_error():
        if is_data_name(file):
            raise BadConfig(
                f"{file} is a data file, and `run` takes a pipeline file (TOML); see `stream-bayes replay --help`"
            )
        config = load_config(file)
        if start is not None:
            config = starting_from(config, start)
        config = serve.with_service(config)
        runner = next((RUNNERS[name] for name, _ in config.products() if name in RUNNERS), run_pipeline)
        if code := runner(config, options):
            raise typer.Exit(code)


def run_pipeline(config: PipelineConfig, options: RunOptions) -> int:
    """Run a pipeline of a single engine, or show where it would start. Return the exit code."""
    if options.processes is not None or options.instance_id is not None:
        raise BadConfig(
            "--workers and --instance-id are for a pipeline with [workers]; add it with the number of shards"
        )
    directory = options.file.parent
    engine = build(config, directory, accept_gap=options.accept_gap, anew=options.rebuild)
    with closing(engine.source), showing_changed_settings(options.json):
        if options.dry_run:
            _print_start(engine, options.json, options.rebuild)
            return 0
        if (options.warm is not None or options.start is not None) and not options.rebuild:
            require_first_run(engine)
        if options.warm is not None:
            warm_start(engine, options.warm)
        _note_settings(engine, config, quiet=options.quiet)
        with ExitStack() as around:
            if config.ops is not None:
                around.enter_context(serving(engine, config.ops.host, config.ops.port, config.ops.hosts))
            service = None
            if config.serve is not None:
                service = around.enter_context(
                    service_of(
                        engine, config.serve, config, directory, quiet=options.quiet, lasts=options.lasts
                    )
                )
            run_engine(
                engine,
                _size_of_only_file(config, directory),
                options.limit,
                options.json,
                quiet=options.quiet,
                rebuild=options.rebuild,
                until_end=options.until_end,
            )
            if service is not None:
                service.finish()
    return 0


def _note_settings(engine: Engine, config: PipelineConfig, *, quiet: bool) -> None:
    """Say what was guessed of columns that are not declared, and what products have to say of their tables."""
    if config.schema_table is None:
        first = first_file(engine.source)
        if isinstance(first, CSVSource) and first.schema is not None:
            note(guess_of(first), quiet=quiet)
    for _, table in config.products():
        note(table.lines(), quiet=quiet)


def _size_of_only_file(config: PipelineConfig, directory: Path) -> int | None:
    """Return the last position of the only file; None of several, or of a topic."""
    paths = getattr(config.source, "paths", [])
    return size_of(directory / paths[0]) if len(paths) == 1 else None


def first_file(source: Source) -> Source:
    """Return a source, or the first of several that are merged, from which columns are guessed."""
    while isinstance(source, (JournaledSource, LabelledSource)):
        source = source.source
    return source.sources[0] if isinstance(source, MergedSource) else source


def guess_of(source: CSVSource) -> list[str]:
    """Return the guessed kinds of a file's columns, one per line."""
    assert source.schema is not None
    columns = source.schema.columns
    numbers = [name for name, spec in columns.items() if isinstance(spec, (Amount, Numeric))]
    dates = [name for name, spec in columns.items() if isinstance(spec, Date)]
    names = [name for name in columns if name not in numbers and name not in dates]
    form = str(source.format)
    return [
        f"by the first rows of {source.path}{f' ({form})' * bool(form)}; declare it in [schema.features]",
        f"  numbers ({len(numbers)}): {listed(numbers)}",
        f"  names ({len(names)}): {listed(names)}",
        *[f"  dates ({len(dates)}): {listed(dates)}"] * bool(dates),
    ]


# Settings that may change between two runs: the state does not depend on them.
MAY_CHANGE = (
    *(
        "batch",
        "max_dead_share",
        "max_skew",
        "source.path",
        "source.follow",
        "snapshots.every_events",
        "snapshots.every_seconds",
    ),
    *("snapshots.keep", "ops", "serve"),
)


@contextmanager
def showing_changed_settings(json: bool) -> Iterator[None]:
    """Print the settings that differ from the snapshot's, and those that may change, before raising `OtherSettings`."""
    try:
        yield
    except OtherSettings as error:
        if not json:
            rows = [
                {
                    "setting": path,
                    "in the snapshot": setting_text(before),
                    "now": setting_text(now),
                    "": "refused",
                }
                for path, before, now in error.changes
            ]
            rows += [
                {"setting": path, "in the snapshot": "", "now": "", "": "may change"} for path in MAY_CHANGE
            ]
            print_table("settings compared with the snapshot", rows)
        raise


def starting_from(config: PipelineConfig, start: str) -> PipelineConfig:
    """Return the configuration with another first position in its topic."""
    if not config.source.reads_topics:
        raise BadValue("--from is for a source of kind 'kafka'; files are read from the beginning")
    return config.model_copy(update={"source": config.source.model_copy(update={"start": start_from(start)})})


def start_from(text: str) -> str | float:
    """Return a start: earliest, latest, or seconds since 1970.

    Examples
    --------
    >>> start_from("latest"), start_from("1970-01-02T00:00:00Z"), start_from("86400")
    ('latest', 86400.0, 86400.0)
    """
    return text if text in ("earliest", "latest") else moment_from(text, "--from", "earliest, latest, ")


def require_first_run(engine: Engine) -> None:
    """Raise `BadConfig` for an option of first runs if there are snapshots."""
    if engine.store is not None and engine.store.list():
        raise BadConfig(
            f"{engine.store.directory} holds snapshots to resume from; add --rebuild to start from scratch"
        )


def size_of(file: Path) -> int | None:
    """Return the last position of a file; None where positions are not bytes of it."""
    return None if file.suffix in (".gz", ".zst", ".parquet", ".pq", ".avro") else file.stat().st_size


def run_engine(
    engine: Engine,
    total: int | None,
    limit: int | None,
    json: bool,
    *,
    quiet: bool | None = None,
    rebuild: bool = False,
    until_end: bool = False,
) -> None:
    """Run an engine with a progress bar until it ends or a signal comes, and print the result."""
    with stopping_on_signals(engine.stop), bar_over(engine, total, quiet=json if quiet is None else quiet):
        engine.run(limit, rebuild=rebuild, until_end=until_end)
    print_summary(engine, json)


def _print_start(engine: Engine, json: bool, rebuild: bool) -> None:
    preview = engine.preview(rebuild)
    if json:
        print_json(preview)
        return
    preview["snapshot"] = "none yet" if preview["snapshot"] is None else preview["snapshot"]
    preview["positions"] = ", ".join(
        f"{partition}={position:,}" for partition, position in preview["positions"].items()
    )
    for key, value in preview.items():
        typer.echo(f"{key}: {value:,}" if isinstance(value, int) else f"{key}: {value}")
