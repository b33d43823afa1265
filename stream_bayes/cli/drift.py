"""`stream-bayes drift show`: what a model that follows drift noted, and what came of it."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from stream_bayes import plots
from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json, print_table
from stream_bayes.cli.snapshots import Key, store_of
from stream_bayes.errors import BadFormat, BadValue, NoSnapshot
from stream_bayes.river_state.drift_logs import drift_logs
from stream_bayes.snapshot import Snapshot

__all__ = ["drifts"]

drifts = typer.Typer(name="drift", help="Look at what was noted of drifts.", no_args_is_help=True)

MOST_EDGES = 6  # of a structure's difference, in a cell


@drifts.callback()
def _group() -> None:
    """Look at what was noted of drifts."""


@drifts.command()
def show(
    source: Annotated[
        Path,
        typer.Argument(
            help="A directory of snapshots, one snapshot, or a log as JSON lines.",
            show_default=False,
            metavar="DIRECTORY|FILE",
        ),
    ],
    key_env: Key = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw what the last swap changed in the structure: a .svg or .dot."),
    ] = None,
    json: JSON = False,
) -> None:
    """Show each drift that was noticed, and what came of it, oldest first."""
    with telling_errors():
        entries = entries_in(source, key_env)
        if picture is not None:
            _draw(entries, picture)
        if json:
            print_json(entries)
        elif not entries:
            Console().print(f"no drift was noticed in {source}", highlight=False)
        else:
            print_table(f"drifts in {source}", [_row(entry) for entry in entries], right=("event", "since"))


def _draw(entries: Sequence[Mapping[str, Any]], picture: Path) -> None:
    """Draw the newest change of a structure."""
    for entry in reversed(entries):
        changed = entry.get("structure")
        if entry["what"] == "adopted" and changed is not None and (changed["added"] or changed["removed"]):
            plots.swap(entry, picture)
            return
    raise BadValue(f"--picture {picture}: no swap has changed a structure")


def entries_in(source: Path, key_env: str | None = None) -> list[dict[str, Any]]:
    """The entries of a log, or of the newest snapshot in a directory.

    Raises
    ------
    NoSnapshot
        If the directory has none, or its model follows no drift.
    BadFormat
        If a file is neither a snapshot nor JSON lines of a log.
    """
    if source.is_dir() or not source.exists():
        found = store_of(source, key_env).latest()
        if found is None:
            raise NoSnapshot(f"there are no snapshots in {source}")
        return _of_snapshot(source, found.snapshot)
    data = source.read_bytes()
    if data.startswith(b"PK"):
        return _of_snapshot(source, Snapshot.from_bytes(data))
    return [_of_line(source, number, line) for number, line in enumerate(data.splitlines(), 1)]


def _of_snapshot(source: Path, snapshot: Snapshot) -> list[dict[str, Any]]:
    logs = drift_logs(snapshot.sections.get("model", {}))
    if not logs:
        raise NoSnapshot(
            f"{source}: its model, {snapshot.learner}, follows no drift, and keeps no log of any"
        )
    return [entry for log in logs for entry in log]


def _of_line(source: Path, number: int, line: bytes) -> dict[str, Any]:
    """An entry as a sink wrote it, or as the log itself does."""
    try:
        entry: Any = json_text.loads(line)
    except ValueError as error:
        raise BadFormat(f"{source}, line {number}: is no JSON: {error}") from error
    if not isinstance(entry, dict) or "what" not in entry or "event" not in entry:
        raise BadFormat(f"{source}, line {number}: is no entry of a log of drifts")
    if isinstance(entry.get("told"), dict):
        told = entry.pop("told")
        entry = {name: value for name, value in entry.items() if name not in ("key", "version")} | told
    return dict(entry)


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry for people: what there is nothing to say of is left empty."""
    position = entry.get("position")
    structure = entry.get("structure") or {}
    score = entry.get("score") or {}
    before, after = score.get("before"), score.get("after")
    return {
        "event": entry["event"],
        "time": _or_nothing(entry.get("time")),
        "position": "" if position is None else f"{entry['source']}[{entry['partition']}]={position:,}",
        "what": " ".join(str(part) for part in (entry["what"], entry.get("candidate")) if part is not None),
        "since": _or_nothing(entry.get("since")),
        "before -> after": "" if before is None or after is None else f"{before:.4g} -> {after:.4g}",
        "structure": _difference(structure.get("added") or (), structure.get("removed") or ()),
        "seconds": _or_nothing(entry.get("seconds")),
        "why": _or_nothing(entry.get("why")),
    }


def _or_nothing(value: Any) -> Any:
    return "" if value is None else value


def _difference(added: Sequence[Sequence[str]], removed: Sequence[Sequence[str]]) -> str:
    """Edges, a plus before those that are new and a minus before those that are gone; the first few.

    Examples
    --------
    >>> _difference([["sky", "wind"]], [["wind", "sky"]])
    '+sky>wind -wind>sky'
    """
    told = [f"{sign}{edge[0]}>{edge[1]}" for sign, edges in (("+", added), ("-", removed)) for edge in edges]
    more = len(told) - MOST_EDGES
    return " ".join(told[:MOST_EDGES]) + (f" and {more} more" if more > 0 else "")
