"""`stream-bayes redrive`: the records behind dead letters, processed again after their cause was mended."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.errors import BadConfig
from stream_bayes.streams.files.label_log import LabelWriter
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.commands import COMMANDS, encode_redrive

__all__ = ["redrive"]


def redrive(
    file: Annotated[Path, typer.Argument(help="Pipeline file (TOML).", show_default=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the records, without writing anything.")
    ] = False,
    json: JSON = False,
) -> None:
    """Process the records behind dead letters again, each letter once.

    Mend the cause first. Over Kafka the records are written to their topics again, with a new timestamp; a `time` field
    keeps its value. The pipeline may keep running. If its source is files, stop it first: the records are read again.
    """
    with exit_on_error():
        config = load_config(file)
        source, letters = config.source, config.dead_letters
        if config.kafka is None or source.kind != "kafka":
            _redrive_files(file, dry_run, json)
            return
        if letters is None or letters.kind != "kafka":
            raise BadConfig(
                f"{file}: dead_letters: expected a topic, as records are redriven from its letters"
            )
        # Imported here: the client takes a tenth of a second to load.
        from stream_bayes.kafka.redriving import redrive as write

        topics = [source.topic]
        if config.labels is not None and config.labels.topic is not None:
            topics.append(config.labels.topic)
        done = write(
            config.kafka.connection(),
            config.name,
            letters.topic,
            topics,
            max_message_bytes=config.kafka.max_message_bytes,
            dry_run=dry_run,
        )
        if json:
            print_json(done._asdict())
            return
        text = ", ".join(f"{count:,} {reason}" for reason, count in done.sent.items())
        deed = "to write" if dry_run else "written"
        typer.echo(f"{sum(done.sent.values()):,} records {deed} again{f' ({text})' * bool(text)}")
        if done.gone:
            typer.echo(
                f"warning: {done.gone:,} records are no longer in their topics, and are left out", err=True
            )
        if done.skipped:
            typer.echo(f"{done.skipped:,} letters are of no unused record, and are left out")


def _redrive_files(file: Path, dry_run: bool, json: bool) -> None:
    """Write a command to the log of a pipeline of files, and run the pipeline until it is processed."""
    config = load_config(file)
    if config.snapshots is None:
        raise BadConfig(f"{file}: snapshots: the table is missing; there is no state to go on from")
    engine = build(config, file.parent)
    engine.run(0)  # raises if another process writes the outputs
    positions = engine.step.dead_letters.take_positions()
    if positions is None:
        raise BadConfig(f"{file}: there were more dead letters than are remembered; run it with --rebuild")
    letters, learned = sum(map(len, positions.values())), engine.step.learned
    if not dry_run and letters:
        with closing(LabelWriter(file.parent / config.snapshots.directory, name=COMMANDS)) as writer:
            writer.write(encode_redrive())
        engine = build(config, file.parent)
        engine.run(1)
    again = engine.step.dead_letters.take_positions() or {}
    left = sum(map(len, again.values())) if letters and not dry_run else letters
    result = {"records": letters, "learned": engine.step.learned - learned, "dead_letters": left}
    if json:
        print_json(result)
    elif dry_run:
        typer.echo(f"{letters:,} records to process again")
    else:
        typer.echo(
            f"{letters:,} records processed again: {result['learned']:,} learned, {left:,} are dead letters again"
        )
