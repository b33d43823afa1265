"""The program `stream-bayes`: a table of its commands, each imported when it runs."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from stream_bayes._build import VERSION
from stream_bayes.cli.command_table import command_group
from stream_bayes.registry import Registry

__all__ = ["app", "main"]

# The program's own commands: where each is, and the first sentences of its help.
TABLE = {
    "inspect": (
        "stream_bayes.cli.commands.inspect:inspect",
        "Show the columns of a data file: kinds, missing values, identifiers, classes, suggestions, a schema to paste.",
    ),
    "compare": (
        "stream_bayes.cli.commands.compare:compare",
        "Compare models on one stream: each predicts, then learns, every event. Report accuracy and speed.",
    ),
    "train": (
        "stream_bayes.cli.commands.train:train",
        "Train a model on a data file, and save it for `predict`, `explain` and `run --warm-start`.",
    ),
    "predict": (
        "stream_bayes.cli.commands.predict:predict",
        "Predict each row of a file with a saved model. The file needs no labels.",
    ),
    "replay": (
        "stream_bayes.cli.commands.replay:replay",
        "Predict each event of a file, then learn it, and report the accuracy of the predictions.",
    ),
    "run": (
        "stream_bayes.cli.commands.run:run",
        "Run a pipeline until its source ends or it receives SIGTERM or Ctrl-C.",
    ),
    "promote": (
        "stream_bayes.cli.commands.promote:promote",
        "Make a challenger the pipeline's model, in a new snapshot. Stop the pipeline first.",
    ),
    "unlearn": (
        "stream_bayes.cli.commands.unlearn:unlearn",
        "Take back the labels of a span of time, exactly: as if their samples had never been learned.",
    ),
    "serve": (
        "stream_bayes.cli.commands.serve:serve",
        "Serve a model over HTTP, with a page. A pipeline's newest snapshots or counts are loaded as it writes them.",
    ),
    "report": (
        "stream_bayes.cli.commands.report:report",
        "Write the page of a service, or of a model, as one file of HTML: measures, charts, events, drifts.",
    ),
    "cuts": (
        "stream_bayes.cli.commands.cuts:cuts",
        "Find cut points of numeric features, and write the [schema.features] table of a pipeline file.",
    ),
    "demo": (
        "stream_bayes.cli.commands.demo:demo",
        "Show a stream that drifts and a spam filter live, each on a page of its own, until Ctrl-C.",
    ),
    "explain": (
        "stream_bayes.cli.commands.explain:explain",
        "Show the probability of each label for an event with its 95 % interval, and each feature's contribution.",
    ),
    "anomalies": (
        "stream_bayes.cli.commands.anomalies:anomalies",
        "List the most unexpected rows of a data file, and which of their values are odd.",
    ),
    "network": (
        "stream_bayes.cli.commands.network:network",
        "Write the network of a saved model for other tools, or make a model of one.",
    ),
    "models": (
        "stream_bayes.cli.commands.models:models",
        "List the models, or the arguments of one model.",
    ),
    "snapshot": (
        "stream_bayes.cli.commands.snapshots:snapshots",
        "List, verify and roll back snapshots.",
    ),
    "drift": (
        "stream_bayes.cli.commands.drift:drifts",
        "Show the drift log.",
    ),
}
# What products and other packages bring: such a pair, or the function itself.
BROUGHT: Registry[Any] = Registry("command", "commands")


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"stream_bayes {VERSION}")
        raise typer.Exit


def begin(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Learn from streams with Bayesian models, counting every event exactly once."""


app = command_group(
    "stream-bayes",
    "Learn from streams with Bayesian models, counting every event exactly once.",
    TABLE,
    BROUGHT,
    callback=begin,
    add_completion=True,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, by default with the arguments of this process."""
    # Read when numpy is loaded. Threads over matrices of a few hundred rows wait for one another by spinning: beside a
    # process that computes, a comparison of regressors took six times the processor's time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    app(arguments)
