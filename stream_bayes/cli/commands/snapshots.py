"""`stream-bayes snapshot ...`: list, verify, export and roll back the snapshots of a pipeline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from stream_bayes.cli.exit_codes import WRONG_SNAPSHOT, exit_on_error
from stream_bayes.cli.output import JSON, checked_output, print_json, print_table
from stream_bayes.errors import BadSnapshot, BadState, BadValue, CannotMerge, NoSnapshot
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.private_files import write_private
from stream_bayes.saving.model_files import load_answering, load_learner, save
from stream_bayes.saving.snapshots.snapshot import describe, head_size
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.secret_masking import remember_secret

__all__ = ["snapshots"]

JOURNAL = "journal"  # of Kafka's recovery, among the outputs of a snapshot

snapshots = typer.Typer(
    name="snapshot", help="List, verify and roll back snapshots.", no_args_is_help=True, add_completion=False
)

Directory = Annotated[Path, typer.Argument(help="Directory of the snapshots.", show_default=False)]
KeyOption = Annotated[
    str | None,
    typer.Option("--key-env", help="Environment variable with the key that signs the snapshots."),
]


def store_of(directory: Path, key_env: str | None) -> SnapshotStore:
    """Return the store in a directory. Raise `NoSnapshot` if there is no such directory."""
    if not directory.is_dir():
        raise NoSnapshot(f"there is no directory {directory}")
    return SnapshotStore(directory, key=key_of(key_env))


def key_of(key_env: str | None) -> bytes | None:
    """Return the key in an environment variable; None if none is named."""
    if key_env is None:
        return None
    if key_env not in os.environ:
        raise BadValue(f"--key-env {key_env}: the environment variable is not set")
    return remember_secret(os.environ[key_env]).encode()


def store_with_snapshots(directory: Path, key_env: str | None) -> SnapshotStore:
    """Return the store in a directory. Raise `NoSnapshot` if it holds no snapshots."""
    store = store_of(directory, key_env)
    if not store.list():
        raise NoSnapshot(f"there are no snapshots in {directory}")
    return store


@snapshots.command("list")
def list_(directory: Directory, json: JSON = False) -> None:
    """List the snapshots, oldest first."""
    with exit_on_error():
        store = store_with_snapshots(directory, None)
        rows = [_row(store, generation) for generation in store.list()]
        if json:
            print_json(rows)
        else:
            print_table(f"snapshots in {directory}", rows, right=("generation", "events", "bytes"))


def _row(store: SnapshotStore, generation: int) -> dict[str, Any]:
    try:
        described = store.describe(generation)
    except BadState as error:
        return {
            "generation": generation,
            "model": "",
            "events": "",
            "bytes": "",
            "positions": "",
            "error": str(error),
        }
    events, size = described["clock"], described["bytes"]
    return {
        "generation": generation,
        "model": described["learner"],
        "events": events,
        "bytes": size,
        "positions": _positions_in(described),
        "error": "",
    }


def _positions_in(described: dict[str, Any]) -> str:
    """Return the next position to read of each partition, as text."""
    return ", ".join(
        f"{source}[{number}]={position:,}" for source, number, position in described["positions"]
    )


@snapshots.command()
def show(
    directory: Annotated[
        Path,
        typer.Argument(
            help="Directory of the snapshots, or one snapshot or saved model.",
            show_default=False,
            metavar="DIRECTORY|FILE",
        ),
    ],
    generation: Annotated[
        int | None, typer.Argument(help="Number of the snapshot, as `list` shows it. Default: the newest.")
    ] = None,
    json: JSON = False,
) -> None:
    """Show the metadata of a snapshot."""
    with exit_on_error():
        if directory.is_file():
            if generation is not None:
                raise BadValue(f"{directory} is one snapshot; leave the number {generation} out")
            described, title = _described_file(directory), f"snapshot {directory}"
        else:
            store = store_with_snapshots(directory, None)
            generation = max(store.list()) if generation is None else generation
            described, title = store.describe(generation), f"snapshot {generation} in {directory}"
        if json:
            print_json(described)
        else:
            described["positions"] = _positions_in(described)
            described["sections"] = ", ".join(described["sections"])
            rows = [{"key": key, "value": value} for key, value in described.items()]
            print_table(title, rows)


def _described_file(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    try:
        return describe(data[: head_size(data)], len(data))
    except BadState as error:
        raise BadSnapshot(f"{path}: {error}") from None


@snapshots.command()
def verify(directory: Directory, key_env: KeyOption = None, json: JSON = False) -> None:
    """Read every snapshot in full and report broken ones; exit with code 4 if there are any."""
    with exit_on_error():
        store = store_with_snapshots(directory, key_env)
        broken = {part.generation: part.reason for part in store.verify()}
        rows = [
            {"generation": generation, "sound": generation not in broken, "error": broken.get(generation, "")}
            for generation in store.list()
        ]
        if json:
            print_json(rows)
        else:
            print_table(f"snapshots in {directory}", rows, right=("generation",))
    if broken:
        raise typer.Exit(WRONG_SNAPSHOT)


@snapshots.command()
def rollback(
    directory: Directory,
    to: Annotated[
        int, typer.Option("--to", help="Number of the snapshot to go back to.", show_default=False)
    ],
    replay: Annotated[bool, typer.Option("--replay", help="Process the records since then again.")] = False,
    skip_to: Annotated[
        Literal["now"] | None,
        typer.Option("--and-skip-to", help="Never process the records since then again.", show_default=False),
    ] = None,
    key_env: KeyOption = None,
    json: JSON = False,
) -> None:
    """Make an older snapshot the newest, so that the next run resumes from it. Stop the pipeline first.

    With files, the next run reads the source again from there and writes its outputs again. With Kafka, pass --replay
    or --and-skip-to now, because replaying the journal would give the model that it had before the rollback.
    """
    with exit_on_error():
        if replay and skip_to is not None:
            raise BadValue("--replay and --and-skip-to exclude each other: choose one")
        store = store_of(directory, key_env)
        store.load(to)  # refuse a broken one before taking over
        if not replay and skip_to is None and JOURNAL in store.describe(max(store.list()))["outputs"]:
            raise BadValue(
                f"the pipeline has a journal, and its next start replays what was learned since snapshot {to}. Add "
                "--and-skip-to now to leave that out of the model, or --replay to learn it again, as after mending a "
                "decoder"
            )
        store.take_over()
        made = store.rollback(to) if skip_to is None else store.rollback_and_skip(to)
        if json:
            print_json({"rolled_back_to": to, "generation": made, "skips": skip_to is not None})
        else:
            skips = ", and skips the records since then" * (skip_to is not None)
            typer.echo(f"snapshot {to} is now the newest, as {made}; the next run resumes from it{skips}")


@snapshots.command()
def merge(
    one: Annotated[Path, typer.Argument(help="Directory of snapshots, or one snapshot or saved model.")],
    other: Annotated[Path, typer.Argument(help="The other one, of the same model and settings.")],
    file: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    key_env: KeyOption = None,
) -> None:
    """Add up the counts of two models, and write the result to a file.

    The result equals a model that has learned both streams. `--warm-start`, `explain` and `stream_bayes.load` read it.
    """
    with exit_on_error():
        checked_output("FILE", file)
        if file.exists():
            raise BadValue(f"{file} exists; name a file that does not")
        merged, added = (_mergeable(path, key_of(key_env)) for path in (one, other))
        if isinstance(merged, HalfLifeChoice):
            raise CannotMerge("a HalfLifeChoice forgets by the events it has seen, so two cannot be summed")
        if isinstance(merged, ModelPerKey):
            raise CannotMerge("models per key are not summed: the keys that one dropped are in its sum alone")
        merged.merge(added)  # other classes are refused
        save(merged, file)
        typer.echo(f"wrote {file}: a {type(merged).__name__} with the counts of both")


def _mergeable(path: Path, key: bytes | None) -> Any:
    """Return the learner or the network in a file or directory."""
    model = load_answering(path, key)
    return model if isinstance(model, BayesNet | BayesRegressor) else load_learner(path, key)


@snapshots.command()
def export(
    directory: Directory,
    file: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    generation: Annotated[
        int | None, typer.Option(help="Number of the snapshot. Default: the newest sound one.")
    ] = None,
    key_env: KeyOption = None,
) -> None:
    """Write a snapshot to a file, unsigned, for `--warm-start`, `explain` or `stream_bayes.load`."""
    with exit_on_error():
        store = store_of(directory, key_env)
        if generation is not None:
            snapshot = store.load(generation)
        elif (newest := store.latest()) is not None:
            snapshot = newest.snapshot
        else:
            raise NoSnapshot(f"there are no snapshots in {directory}")
        write_private(file, snapshot.to_bytes())
        typer.echo(f"wrote {file}, after {snapshot.clock:,} events")
