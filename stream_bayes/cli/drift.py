"""`stream-bayes drift show`: what a model that follows drift noted, and what came of it."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from stream_bayes import plots
from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json
from stream_bayes.cli.snapshots import Key, key_of, store_of
from stream_bayes.errors import BadFormat, BadValue, NoSnapshot
from stream_bayes.river_state.drift_logs import drift_logs
from stream_bayes.snapshots.snapshot import Snapshot

__all__ = ["drifts"]

drifts = typer.Typer(name="drift", help="Look at what was noted of drifts.", no_args_is_help=True)

HEADINGS = ("event", "since", "what", "before -> after")
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
            _print_entries(f"drifts in {source}", entries)


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
        return _of_snapshot(source, Snapshot.from_bytes(data, key_of(key_env)))
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


def _print_entries(title: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """A line each, and below it what takes more room: in a narrow window no column is left to break in."""
    rows = [HEADINGS, *map(_facts, entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    console = Console(highlight=False)
    console.print(Text(title, style="italic"))
    for row, entry in zip(rows, [None, *entries], strict=True):
        event, since, what, scores = row
        line = f"{event:>{widths[0]}}  {since:>{widths[1]}}  {what:<{widths[2]}}  {scores}"
        console.print(Text(line, style="bold" if entry is None else ""), overflow="fold")
        for detail in () if entry is None else _details(entry):
            console.print(Padding(Text(detail), (0, 0, 0, widths[0] + 2)))


def _facts(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What there is nothing to say of is left empty."""
    since, score = entry.get("since"), entry.get("score") or {}
    before, after = score.get("before"), score.get("after")
    return (
        f"{entry['event']:,}",
        "" if since is None else f"{since:,}",
        " ".join(str(part) for part in (entry["what"], entry.get("candidate")) if part is not None),
        "" if before is None or after is None else f"{before:.4g} -> {after:.4g}",
    )


def _details(entry: Mapping[str, Any]) -> list[str]:
    structure, families = entry.get("structure") or {}, (entry.get("detector") or {}).get("families")
    changes = [("", structure)]
    if structure.get("members"):
        changes = [(f"{name}: ", change) for name, change in structure["members"].items()]
    told = [
        entry.get("why") or "",
        "" if not families else "families: " + " ".join(families),
        *(
            name + _difference(change.get("added") or (), change.get("removed") or ())
            for name, change in changes
            if change.get("added") or change.get("removed")
        ),
        _place(entry),
        "" if entry.get("seconds") is None else f"took {entry['seconds']:.4g} s",
    ]
    return list(filter(None, told))


def _place(entry: Mapping[str, Any]) -> str:
    """The record that an entry came with, and its time.

    Examples
    --------
    >>> _place({"source": "events", "partition": 0, "position": 1536, "time": 12.5})
    'events[0]=1,536 at 12.5'
    """
    position, time = entry.get("position"), entry.get("time")
    place = "" if position is None else f"{entry['source']}[{entry['partition']}]={position:,}"
    return place if time is None else f"{place} at {time:.15g}".lstrip()


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
