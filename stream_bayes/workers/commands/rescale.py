"""`stream-bayes rescale`: another number of shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json

__all__ = ["rescale"]


def rescale(
    file: Annotated[Path, typer.Argument(help="Pipeline file (TOML) with [workers].", show_default=False)],
    shards: Annotated[int, typer.Option(help="Number of shards from the next start on.", show_default=False)],
    json: JSON = False,
) -> None:
    """Change the number of shards of a pipeline with [workers], or adopt added partitions. Stop its workers first.

    It happens in one transaction: killed at any moment, it is done, or nothing has changed. Run it again then.
    """
    from stream_bayes.streams.pipelines.config import load_config
    from stream_bayes.workers.pipeline.rescale import rescale as to_shards

    with exit_on_error():
        done = to_shards(load_config(file), shards, file.parent)
    if json:
        print_json(done._asdict())
    elif done.has_changed:
        typer.echo(
            f"{done.events:,} records: from {done.before} shards to {done.after}. Set workers.shards = {done.after} in "
            f"{file}, and start the workers"
        )
    else:
        typer.echo(f"the pipeline has {done.after} shards already; nothing was changed")
