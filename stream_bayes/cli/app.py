"""The program `stream-bayes`."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_bayes._build import VERSION
from stream_bayes.cli.compare import compare
from stream_bayes.cli.drift import drifts
from stream_bayes.cli.explain import explain
from stream_bayes.cli.models import models
from stream_bayes.cli.produce import produce
from stream_bayes.cli.snapshots import snapshots
from stream_bayes.cli.spam import spam
from stream_bayes.cli.spam_counts import counting
from stream_bayes.cli.streams import replay, run

__all__ = ["app", "main"]

app = typer.Typer(
    name="stream-bayes",
    help="Bayesian learning from a stream: every event counts once.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # they would show data, and secrets
)
app.command()(replay)
app.command()(run)
app.command()(produce)
app.command()(compare)
app.command()(explain)
app.command()(models)
app.add_typer(snapshots)
app.add_typer(drifts)
counting(spam)
app.add_typer(spam)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"stream_bayes {VERSION}")
        raise typer.Exit


@app.callback()
def begin(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Bayesian learning from a stream: every event counts once."""


def main() -> None:
    """Run the program."""
    app()
