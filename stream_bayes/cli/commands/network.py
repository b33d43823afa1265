"""`stream-bayes network ...`: networks of saved models as files of other tools, and models of such files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.commands.snapshots import KeyOption, key_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import checked_output
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.files.network_files import read_network, write_network
from stream_bayes.saving.model_files import load_network, save

__all__ = ["network"]

network = typer.Typer(
    name="network",
    help="Write the network of a saved model for other tools, or make a model of one.",
    no_args_is_help=True,
    add_completion=False,
)


@network.command()
def export(
    model: Annotated[
        Path,
        typer.Argument(help="Directory of snapshots, or one snapshot or saved model.", show_default=False),
    ],
    file: Annotated[
        Path, typer.Argument(help="File to write: .bif, .xml, .xdsl or .net.", show_default=False)
    ],
    key_env: KeyOption = None,
) -> None:
    """Write the network of a model, with its tables as they are now, for pyAgrum, pgmpy, bnlearn or GeNIe."""
    with exit_on_error():
        checked_output("FILE", file)
        exported = load_network(model, key_of(key_env)).to_network()
        write_network(exported, file)
        variables, edges = len(exported.structure), len(exported.structure.edges)
        typer.echo(f"wrote {file}: {variables:,} variables, {edges:,} edges")


@network.command(name="import")
def import_(
    file: Annotated[
        Path, typer.Argument(help="File of a network: .bif, .xml, .xdsl or .net.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(help="Save the model to this file, such as model.zip.", show_default=False)
    ],
    weight: Annotated[
        float, typer.Option(help="Number of events that each row of a table is worth.", min=0.0)
    ] = 1.0,
) -> None:
    """Make a model that starts from the tables of such a file, and learns on from there.

    `predict`, `explain` and `stream_bayes.load` read it. In a pipeline file, set `model.structure` to the file.
    """
    with exit_on_error():
        checked_output("--out", out)
        model = BayesNet.from_network(read_network(file), weight)
        save(model, out)
        variables, edges = len(model.structure), len(model.structure.edges)
        typer.echo(f"saved to {out}: a BayesNet of {variables:,} variables and {edges:,} edges")
