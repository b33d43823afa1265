"""The program `stream-bayes`."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_bayes._build import VERSION
from stream_bayes.cli.commands.compare import compare
from stream_bayes.cli.commands.cuts import cuts
from stream_bayes.cli.commands.demo import demo
from stream_bayes.cli.commands.drift import drifts
from stream_bayes.cli.commands.explain import explain
from stream_bayes.cli.commands.inspect import inspect
from stream_bayes.cli.commands.models import models
from stream_bayes.cli.commands.predict import predict
from stream_bayes.cli.commands.promote import promote
from stream_bayes.cli.commands.replay import replay
from stream_bayes.cli.commands.run import run
from stream_bayes.cli.commands.serve import serve
from stream_bayes.cli.commands.snapshots import snapshots
from stream_bayes.cli.commands.train import train
from stream_bayes.cli.commands.unlearn import unlearn
from stream_bayes.cli.options import flattened
from stream_bayes.kafka.commands.produce import produce
from stream_bayes.kafka.commands.redrive import redrive
from stream_bayes.mail.commands.app import spam
from stream_bayes.workers.commands.follow import follow

__all__ = ["app", "main"]

app = typer.Typer(
    name="stream-bayes",
    help="Learn from streams with Bayesian models, counting every event exactly once.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # the default takes [workers] for a colour, and shows nothing of it
    pretty_exceptions_show_locals=False,  # locals may hold data and secrets
)
app.command()(flattened(inspect))
app.command()(flattened(compare))
app.command()(flattened(train))
app.command()(flattened(predict))
app.command()(flattened(replay))
app.command()(flattened(run))
app.command()(produce)
app.command()(promote)
app.command()(redrive)
app.command()(unlearn)
app.command()(serve)
app.command()(follow)
app.command()(flattened(cuts))
app.command()(demo)
app.command()(explain)
app.command()(models)
app.add_typer(snapshots)
app.add_typer(drifts)
app.add_typer(spam)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"stream_bayes {VERSION}")
        raise typer.Exit


@app.callback()
def begin(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Learn from streams with Bayesian models, counting every event exactly once."""


def main() -> None:
    """Run the command line."""
    app()
