"""`stream-bayes replay`, `run`: a file, or what a pipeline file describes, through a model."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json, print_table
from stream_bayes.cli.progress import bar_over, print_summary
from stream_bayes.cli.sources import DATA, Delimiter, File, Ignore, Nominal, Target, Time, kind_of, source_of
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.errors import BadConfig, BadValue, OtherSettings, Undecodable
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.settings import written
from stream_bayes.streams.pipelines.config import PipelineConfig, checked, load_config
from stream_bayes.streams.pipelines.pipeline import build, warm_start
from stream_bayes.streams.records.fields import Fields, seconds_from
from stream_bayes.streams.service.logs import logging_json
from stream_bayes.streams.service.ops import serving
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes.streams.sources.paced import Paced

__all__ = ["MAY_CHANGE", "learner_arguments", "replay", "run"]


def learner_arguments(given: list[str], option: str = "--arg") -> dict[str, Any]:
    """Arguments written as name=value, where a value is JSON, or else a text.

    Examples
    --------
    >>> learner_arguments(["min_count=1", "prior=laplace", "schema_free=true"])
    {'min_count': 1, 'prior': 'laplace', 'schema_free': True}
    """
    arguments = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadValue(f"{option} {text}: expected name=value")
        try:
            arguments[name] = json_text.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments


def replay(
    file: File,
    target: Target,
    model: Annotated[str, typer.Option(help="What learns; see `stream-bayes models`.")] = "nb",
    arg: Annotated[
        list[str], typer.Option("--arg", help="An argument of the model, name=value. May be repeated.")
    ] = [],
    drift: Annotated[
        str | None,
        typer.Option(help="Follow drift, noticed by this detector: " + ", ".join(DETECTORS) + "."),
    ] = None,
    drift_arg: Annotated[
        list[str],
        typer.Option("--drift-arg", help="How drift is followed, name=value. May be repeated."),
    ] = [],
    drift_log: Annotated[
        Path | None, typer.Option(help="A file for what is noted of drifts, as JSON lines.")
    ] = None,
    time: Time = None,
    nominal: Nominal = [],
    ignore: Ignore = [],
    delimiter: Delimiter = None,
    speed: Annotated[
        float | None, typer.Option(help="So many times as fast as the events happened; needs --time.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="A file for the predictions, as JSON lines.")
    ] = None,
    snapshots: Annotated[
        Path | None, typer.Option(help="A directory for snapshots; a second run goes on from them.")
    ] = None,
    most: Annotated[int | None, typer.Option(help="Stop after so many records.", min=0)] = None,
    json: JSON = False,
) -> None:
    """Predict each event of a file, then learn it, and say how good the predictions were."""
    with telling_errors():
        if speed is not None and time is None:
            raise BadValue("--speed needs --time, the column that says when an event happened")
        table: dict[str, Any] = {
            "name": file.name.split(".")[0] or "replay",
            "source": {"kind": kind_of(file), "path": str(file), "target": target},
            "model": {"kind": model, "arguments": learner_arguments(arg)},
        }
        if drift is not None:
            table["drift"] = {"detector": drift, "arguments": learner_arguments(drift_arg, "--drift-arg")}
            if drift_log is not None:
                table["drift"]["log"] = str(drift_log)
        elif drift_arg or drift_log is not None:
            raise BadValue("--drift-arg and --drift-log need --drift, the detector that notices it")
        if predictions is not None:
            table["predictions"] = {"kind": "jsonl", "path": str(predictions)}
        if snapshots is not None:
            table["snapshots"] = {"directory": str(snapshots)}
        config = checked(table)
        source, schema = source_of(file, target, time, nominal, ignore, delimiter)
        with closing(source):
            paced = source if speed is None else Paced(source, speed)
            _run(build(config, source=paced, schema=schema), _size(file), most, json)


def run(
    file: Annotated[Path, typer.Argument(help="A pipeline file (TOML).", show_default=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say where it would start, and change nothing.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Start anew, and forget snapshots and outputs.")
    ] = False,
    warm: Annotated[
        Path | None, typer.Option("--warm-start", help="Begin with the model of this snapshot.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where a first run begins to read a topic: earliest, latest, or a time.",
            metavar="TIME",
        ),
    ] = None,
    accept_gap: Annotated[
        bool, typer.Option("--accept-gap", help="Go on though records of a topic expired unread.")
    ] = False,
    most: Annotated[int | None, typer.Option(help="Stop after so many records.", min=0)] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Stop once all is read that was there at the start.")
    ] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log to stderr as JSON lines, with times in UTC.")
    ] = False,
    json: JSON = False,
) -> None:
    """Run what a pipeline file describes, until the source ends or a signal comes."""
    with telling_errors():
        if file.suffix.lower() in DATA:
            raise BadConfig(
                f"{file} is data, and run takes a pipeline file (TOML); see `stream-bayes replay --help`"
            )
        config = load_config(file)
        if start is not None:
            config = starting_from(config, start)
        engine = build(config, file.parent, accept_gap=accept_gap, anew=rebuild)
        with closing(engine.source):
            if dry_run:
                with telling_changes(json):
                    _say_where(engine, json, rebuild)
                return
            if (warm is not None or start is not None) and not rebuild:
                refuse_to_begin_anew(engine)
            if warm is not None:
                warm_start(engine, warm)
            size = None if config.source.kind == "kafka" else _size(file.parent / config.source.path)
            with ExitStack() as around:
                if log_json:
                    around.enter_context(logging_json(sys.stderr))
                if config.ops is not None:
                    around.enter_context(serving(engine, config.ops.host, config.ops.port))
                with telling_changes(json):
                    _run(
                        engine, size, most, json, quiet=json or log_json, rebuild=rebuild, until_end=until_end
                    )


# What a pipeline file may say otherwise from one run to the next; the state does not depend on it.
MAY_CHANGE = (
    *(
        "batch",
        "most_dead",
        "source.path",
        "source.follow",
        "snapshots.every_events",
        "snapshots.every_seconds",
    ),
    *("snapshots.keep", "ops"),
)


@contextmanager
def telling_changes(json: bool) -> Iterator[None]:
    """Where a snapshot was taken with other settings, show which of them are refused, and which might have changed."""
    try:
        yield
    except OtherSettings as error:
        if not json:
            rows = [
                {"setting": path, "in the snapshot": written(before), "now": written(now), "": "refused"}
                for path, before, now in error.changes
            ]
            rows += [
                {"setting": path, "in the snapshot": "", "now": "", "": "may change"} for path in MAY_CHANGE
            ]
            print_table("settings and the snapshot to go on from", rows)
        raise


def starting_from(config: PipelineConfig, start: str) -> PipelineConfig:
    """The pipeline, with another place to begin in its topic."""
    if config.source.kind != "kafka":
        raise BadValue("--from is for a source of kind 'kafka'; a file is read from its beginning")
    return config.model_copy(update={"source": config.source.model_copy(update={"start": moment(start)})})


def moment(text: str) -> str | float:
    """A place to begin.

    Examples
    --------
    >>> moment("latest"), moment("1970-01-02T00:00:00Z"), moment("86400")
    ('latest', 86400.0, 86400.0)
    """
    if text in ("earliest", "latest"):
        return text
    try:
        seconds = seconds_from(_number(text), Fields(time="--from"))
    except Undecodable:
        seconds = None
    if seconds is None or seconds < 0:
        raise BadValue(
            f"--from {text}: expected earliest, latest, seconds since 1970, or a time such as 2026-01-31T12:00:00Z"
        )
    return seconds


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def refuse_to_begin_anew(engine: Engine) -> None:
    """Refuse what is for a first run where there is something to go on from."""
    if engine.store is not None and engine.store.list():
        raise BadConfig(
            f"{engine.store.directory} holds snapshots to go on from; with --rebuild it starts anew"
        )


def _size(file: Path) -> int | None:
    """How far positions go, in a file that is read as it is."""
    return None if file.suffix == ".gz" else file.stat().st_size


def _run(
    engine: Engine,
    total: int | None,
    most: int | None,
    json: bool,
    *,
    quiet: bool | None = None,
    rebuild: bool = False,
    until_end: bool = False,
) -> None:
    with stopping_on_signals(engine.stop), bar_over(engine, total, quiet=json if quiet is None else quiet):
        engine.run(most, rebuild=rebuild, until_end=until_end)
    print_summary(engine, json)


def _say_where(engine: Engine, json: bool, rebuild: bool) -> None:
    told = engine.preview(rebuild)
    if json:
        print_json(told)
        return
    told["snapshot"] = "none yet" if told["snapshot"] is None else told["snapshot"]
    told["positions"] = ", ".join(f"{place}={position:,}" for place, position in told["positions"].items())
    for key, value in told.items():
        typer.echo(f"{key}: {value:,}" if isinstance(value, int) else f"{key}: {value}")
