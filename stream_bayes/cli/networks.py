"""Networks without a class on the command line, where no `--target` is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stream_bayes.cli.data_file import DataOptions, listed, open_table
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.learners.catalogue import EVENT_MODELS, LEARNERS, NETWORK
from stream_bayes.learners.factory import make_network
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.growth import LEARN
from stream_bayes.streams.pipelines.pipeline import structure_arguments

__all__ = ["check_target", "named_network"]


def check_target(
    file: Path,
    target: str | Sequence[str] | None,
    models: Sequence[str],
    options: DataOptions,
    *,
    runs: bool = False,
) -> None:
    """Raise `BadValue` if no target is given and a model needs one. `runs` is True where a pipeline runs the model."""
    if target is not None:
        return
    kinds = [kind.rpartition("=")[2].partition("+")[0] for kind in models]
    if all(kind == NETWORK or (runs and kind in EVENT_MODELS) for kind in kinds):
        return
    for kind in kinds:
        LEARNERS.refuse(kind)
    networks = (NETWORK, *EVENT_MODELS) if runs else (NETWORK,)
    columns = open_table(file, None, options)
    columns.source.close()
    raise BadValue(
        f"--target is missing: name the column with the labels. {file} has {listed(list(columns.profiles), 20)}. "
        f"For a model of all columns, without a class: --model {' or '.join(networks)}"
    )


def named_network(arguments: Mapping[str, Any], schema: Schema | None) -> BayesNet:
    """Make a network without a class.

    Its structure is learned if none is given; it may be `{variable: [parent, ...]}`, or a .bif or .json file.

    Raises
    ------
    SchemaError
        If a column holds numbers, of which a network takes bins only.
    """
    given: dict[str, Any] = {"structure": LEARN, **arguments}
    if isinstance(given["structure"], str):
        given |= structure_arguments(given["structure"], takes_tables="network_weight" in given)
        if "network" in given:
            del given["structure"]
    try:
        return make_network(given, schema)
    except SchemaError as error:
        raise SchemaError(
            f"{error}. On the command line: --nominal COLUMN for numbers that are codes, --ignore COLUMN to leave it "
            "out"
        ) from error
