"""`stream-bayes redrive`: the records behind dead letters, processed again after their cause was mended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.errors import BadConfig
from stream_bayes.streams.pipelines.config import load_config

__all__ = ["redrive"]


def redrive(
    file: Annotated[Path, typer.Argument(help="Pipeline file (TOML).", show_default=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the records, without writing anything.")
    ] = False,
    json: JSON = False,
) -> None:
    """Write the records behind dead letters to their topics again, each letter once, so that they are processed again.

    Mend the cause first. The pipeline may run meanwhile. Records get a new timestamp; a `time` field keeps its own.
    """
    with exit_on_error():
        config = load_config(file)
        source, letters = config.source, config.dead_letters
        if config.kafka is None or source.kind != "kafka":
            raise BadConfig(
                f"{file}: source: expected a topic; after mending the cause, read a file again with --rebuild"
            )
        if letters is None or letters.kind != "kafka":
            raise BadConfig(
                f"{file}: dead_letters: expected a topic, as records are redriven from its letters"
            )
        # Imported here: the client takes a tenth of a second to load.
        from stream_bayes.streams.kafka.redrive import redrive as write

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
