"""`stream-bayes promote`: a challenger takes the place of a pipeline's model."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.errors import BadConfig, NoSnapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.challengers import promoted
from stream_bayes.streams.pipelines.config import ModelConfig, PipelineConfig, load_config

__all__ = ["promote"]


def promote(
    file: Annotated[Path, typer.Argument(help="Pipeline file (TOML).", show_default=False)],
    challenger: Annotated[str, typer.Argument(help="Name of the challenger.", show_default=False)],
    json: JSON = False,
) -> None:
    """Make a challenger the pipeline's model, in a new snapshot. Stop the pipeline first.

    The challenger keeps its counts, its losses and its waiting samples; positions and outputs stay. The old model
    becomes the challenger of that name. Then change the pipeline file as printed: the next run refuses the old file.
    """
    with exit_on_error():
        config = load_config(file)
        config.challenging(challenger)  # refuse a name that is not in the file
        if config.snapshots is None:
            raise BadConfig(
                f"{file}: snapshots: the table is missing; a challenger is promoted in a snapshot"
            )
        key = None if config.snapshots.key is None else config.snapshots.key.get_secret_value().encode()
        directory = file.parent / config.snapshots.directory
        store = SnapshotStore(directory, config.snapshots.keep, key)
        newest = store.latest()
        if newest is None:
            raise NoSnapshot(f"there are no snapshots in {directory}: run the pipeline first")
        snapshot = promoted(newest.snapshot, challenger)
        store.take_over()
        generation = store.save(snapshot)
        tables = "\n".join(_tables(config, challenger))
        if json:
            print_json({"promoted": challenger, "generation": generation, "tables": tables})
        else:
            typer.echo(
                f"{challenger} answers from snapshot {generation} on. In {file}, replace the tables by\n\n{tables}"
            )


def _tables(config: PipelineConfig, name: str) -> Iterator[str]:
    """Yield the tables of the pipeline file after the promotion."""
    chosen = next(each for each in config.challengers if each.name == name)
    yield "[model]"
    yield from _model(chosen)
    for transformer in chosen.transformers:
        yield "\n[[transformers]]"
        yield from _lines(transformer.model_dump(mode="json"))
    if chosen.drift is not None:
        yield "\n[drift]"
        yield from _lines(chosen.drift.model_dump(mode="json", exclude_defaults=True))
    yield "\n[[challengers]]"
    yield f"name = {_toml(name)}"
    yield from _model(config.model)
    if config.transformers:
        yield f"transformers = {_toml([each.model_dump(mode='json') for each in config.transformers])}"
    if config.drift is not None:
        yield f"drift = {_toml(config.drift.model_dump(mode='json', exclude_defaults=True, exclude={'log'}))}"


def _model(model: ModelConfig) -> Iterator[str]:
    structure = None if model.structure is None else str(model.structure)
    yield from _lines({"kind": model.kind, "arguments": model.arguments, "max_names": model.max_names})
    yield from _lines({"structure": structure, "predict": model.predict or None})
    if model.key is not None:
        yield "# and its key, as it is now"


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name} = {_toml(value)}" for name, value in table.items() if value is not None)


def _toml(value: object) -> str:
    """Return a value as TOML.

    Examples
    --------
    >>> _toml({"bins": 5, "names": ["a", True]})
    '{ bins = 5, names = ["a", true] }'
    """
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{json_text.dumps(k) if not k.isidentifier() else k} = {_toml(v)}" for k, v in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json_text.dumps(value, ensure_ascii=False)
