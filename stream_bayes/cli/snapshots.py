"""`stream-bayes snapshot ...`: what is kept in a directory, and going back to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.cli.exits import WRONG_SNAPSHOT, telling_errors
from stream_bayes.cli.printing import JSON, print_json, print_table
from stream_bayes.errors import BadState, BadValue, NoSnapshot
from stream_bayes.streams.files.snapshot_store import SnapshotStore

__all__ = ["snapshots"]

snapshots = typer.Typer(
    name="snapshot", help="Look at snapshots, check them, go back to one.", no_args_is_help=True
)

Directory = Annotated[Path, typer.Argument(help="The directory of the snapshots.", show_default=False)]
Generation = Annotated[int, typer.Argument(help="The number of the snapshot.", show_default=False)]
Key = Annotated[
    str | None,
    typer.Option(
        "--key-env", help="The environment variable with the key that the snapshots are signed with."
    ),
]


def store_of(directory: Path, key_env: str | None) -> SnapshotStore:
    """The store in a directory that is there."""
    if not directory.is_dir():
        raise NoSnapshot(f"there is no directory {directory}")
    return SnapshotStore(directory, key=key_of(key_env))


def key_of(key_env: str | None) -> bytes | None:
    """The key in a variable of the environment; None where none is named."""
    if key_env is None:
        return None
    if key_env not in os.environ:
        raise BadValue(f"the environment has no variable {key_env}")
    return os.environ[key_env].encode()


def store_with_snapshots(directory: Path, key_env: str | None) -> SnapshotStore:
    """The store in a directory, where something was kept in it."""
    store = store_of(directory, key_env)
    if not store.list():
        raise NoSnapshot(f"there are no snapshots in {directory}")
    return store


@snapshots.command("list")
def list_(directory: Directory, json: JSON = False) -> None:
    """List the snapshots, oldest first."""
    with telling_errors():
        store = store_with_snapshots(directory, None)
        rows = [_row(store, generation) for generation in store.list()]
        if json:
            print_json(rows)
        else:
            print_table(f"snapshots in {directory}", rows, right=("generation", "events", "bytes"))


def _row(store: SnapshotStore, generation: int) -> dict[str, Any]:
    try:
        told = store.describe(generation)
    except BadState as error:
        return {"generation": generation, "model": "", "events": "", "bytes": "", "said": str(error)}
    events, size = told["clock"], told["bytes"]
    return {
        "generation": generation,
        "model": told["learner"],
        "events": events,
        "bytes": size,
        "said": _where(told),
    }


def _where(told: dict[str, Any]) -> str:
    """Which position is read next, of each partition."""
    return ", ".join(f"{source}[{number}]={position:,}" for source, number, position in told["positions"])


@snapshots.command()
def show(
    directory: Directory,
    generation: Annotated[
        int | None, typer.Argument(help="Its number, as `list` shows it; the newest, if not given.")
    ] = None,
    json: JSON = False,
) -> None:
    """Show what a snapshot says of itself."""
    with telling_errors():
        store = store_with_snapshots(directory, None)
        generation = max(store.list()) if generation is None else generation
        told = store.describe(generation)
        if json:
            print_json(told)
        else:
            told["positions"] = _where(told)
            told["sections"] = ", ".join(told["sections"])
            rows = [{"key": key, "value": value} for key, value in told.items()]
            print_table(f"snapshot {generation} in {directory}", rows)


@snapshots.command()
def verify(directory: Directory, key_env: Key = None, json: JSON = False) -> None:
    """Read every snapshot whole, and say which are broken; the exit code is 4 if any is."""
    with telling_errors():
        store = store_with_snapshots(directory, key_env)
        broken = {part.generation: part.reason for part in store.verify()}
        rows = [
            {"generation": generation, "sound": generation not in broken, "why": broken.get(generation, "")}
            for generation in store.list()
        ]
        if json:
            print_json(rows)
        else:
            print_table(f"snapshots in {directory}", rows, right=("generation",))
    if broken:
        raise typer.Exit(WRONG_SNAPSHOT)


@snapshots.command()
def rollback(directory: Directory, generation: Generation, key_env: Key = None, json: JSON = False) -> None:
    """Make an older snapshot the newest, so that the next run goes on from it. The pipeline must not be running."""
    with telling_errors():
        store = store_of(directory, key_env)
        store.load(generation)  # before anything is taken over
        store.take_over()
        made = store.rollback(generation)
        if json:
            print_json({"rolled_back_to": generation, "generation": made})
        else:
            typer.echo(f"snapshot {generation} is the newest again, as {made}; the next run goes on from it")


@snapshots.command()
def export(
    directory: Directory,
    file: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    generation: Annotated[
        int | None, typer.Option(help="Which one; the newest that is sound, if not given.")
    ] = None,
    key_env: Key = None,
) -> None:
    """Copy a snapshot into a file of its own, unsigned, to start from elsewhere."""
    with telling_errors():
        store = store_of(directory, key_env)
        if generation is not None:
            snapshot = store.load(generation)
        elif (found := store.latest()) is not None:
            snapshot = found.snapshot
        else:
            raise NoSnapshot(f"there are no snapshots in {directory}")
        file.write_bytes(snapshot.to_bytes())
        typer.echo(f"wrote {file}, after {snapshot.clock:,} events")
