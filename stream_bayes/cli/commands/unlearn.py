"""`stream-bayes unlearn`: the labels of a span of time, taken back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.arguments import moment_from
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.errors import BadConfig, BadValue, NotSupported
from stream_bayes.streams.engine.commands import SpanSamples
from stream_bayes.streams.engine.dead_letters import NOT_UNLEARNED
from stream_bayes.streams.files.label_log import LabelWriter
from stream_bayes.streams.pipelines.config import PipelineConfig, load_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.commands import COMMANDS, encode_unlearn

__all__ = ["unlearn"]


def unlearn(
    file: Annotated[Path, typer.Argument(help="Pipeline file (TOML).", show_default=False)],
    start: Annotated[str, typer.Option("--from", help="First time of the span.", metavar="TIME")],
    stop: Annotated[str, typer.Option("--to", help="First time after the span.", metavar="TIME")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these samples: key=KEY or label=LABEL. Repeatable; several of one name are alternatives.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the samples, without changing anything.")
    ] = False,
    json: JSON = False,
) -> None:
    """Take back the labels of a span of time, exactly: as if their samples had never been learned.

    A sample belongs to the span by the time of the record with its label. Samples that are no longer remembered are
    read again from the source. If that is not possible, or the model cannot unlearn, nothing changes.

    Over Kafka the command becomes a record of NAME.commands, which the pipeline reads with its other topics. It may
    keep running. If its source is files, stop it first.
    """
    with exit_on_error():
        span = _span(start, stop, where or ())
        config = load_config(file)
        for name, table in config.products():
            if table.run_with is not None:
                raise BadConfig(f"{file}: {name}: a pipeline with shards cannot unlearn a span")
        if config.snapshots is None:
            raise BadConfig(f"{file}: snapshots: the table is missing; there is no state to unlearn from")
        if not config.source.reads_topics and config.source.time is None:
            raise BadConfig(f"{file}: source.time: is missing; without it no record has a time")
        if config.model.has_targets and span.labels:
            raise BadValue(
                f"--where label={span.labels[0]}: a label of {config.model.kind} is several numbers; leave it out"
            )
        if config.model.predicts_numbers:
            _check_numbers(span.labels, config.model.kind)
        samples = build(config, file.parent).preview_unlearning(span)
        written = False
        if not dry_run and config.source.reads_topics:
            config.source.write_command(config, encode_unlearn(span))
            written = True
        elif not dry_run and samples.total:
            _unlearn_files(config, file.parent, span)
            written = True
        _report(config, samples, written, json)


def _span(start: str, stop: str, where: Sequence[str]) -> Span:
    """Return the span of the options.

    Examples
    --------
    >>> _span("10", "20", ["key=a", "key=b", "label=rain"])
    Span(start=10.0, stop=20.0, keys=('a', 'b'), labels=('rain',))
    """
    first, last = moment_from(start, "--from"), moment_from(stop, "--to")
    if first >= last:
        raise BadValue(f"--to {stop}: expected a time after --from {start}")
    chosen: dict[str, list[str]] = {"key": [], "label": []}
    for condition in where:
        name, equals, value = condition.partition("=")
        if not equals or name not in chosen:
            raise BadValue(f"--where {condition}: expected key=KEY or label=LABEL")
        chosen[name].append(value)
    return Span(first, last, tuple(chosen["key"]), tuple(chosen["label"]))


def _check_numbers(labels: Sequence[str], kind: str) -> None:
    """Raise `BadValue` for a label that is no number: it would choose nothing."""
    for label in labels:
        try:
            float(label)
        except ValueError:
            raise BadValue(
                f"--where label={label}: the labels of {kind} are numbers, such as label=12.5"
            ) from None


def _unlearn_files(config: PipelineConfig, directory: Path, span: Span) -> None:
    """Write the command to the log of the pipeline, and run the pipeline until it is processed."""
    assert config.snapshots is not None
    build(config, directory).run(0)  # raises if another process writes the outputs
    with closing(LabelWriter(directory / config.snapshots.directory, name=COMMANDS)) as writer:
        writer.write(encode_unlearn(span))
    engine = build(config, directory)
    engine.run(1)
    refused = engine.step.dead_letters.last.get(NOT_UNLEARNED)
    if refused is not None:
        raise NotSupported(refused[1])


def _report(config: PipelineConfig, samples: SpanSamples, written: bool, json: bool) -> None:
    counts = {"remembered": len(samples.remembered), "read_again": len(samples.read_again)}
    if json:
        print_json({"samples": samples.total, **counts, "written": written})
        return
    text = f"{samples.total:,} samples, {counts['read_again']:,} of them read again from the source"
    if config.source.reads_topics:
        typer.echo(f"{text}, by the newest snapshot")
        if written:
            typer.echo(
                f"the command is in {config.name}.{COMMANDS}: the pipeline unlearns them within 30 seconds, or at its "
                "next start"
            )
    elif written:
        typer.echo(f"unlearned {text}")
    else:
        typer.echo(text if samples.total else "no sample was learned with such a label: nothing to unlearn")
