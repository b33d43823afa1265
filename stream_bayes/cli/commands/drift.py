"""`stream-bayes drift show`: the drift log of a model, in a snapshot or a file."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding

from stream_bayes import plots
from stream_bayes.cli.commands.snapshots import KeyOption, key_of, store_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, console, print_json
from stream_bayes.errors import BadFormat, BadValue, NoSnapshot
from stream_bayes.saving.river.drift_logs import drift_logs
from stream_bayes.saving.snapshots.snapshot import Snapshot

__all__ = ["drifts"]

drifts = typer.Typer(name="drift", help="Show the drift log.", no_args_is_help=True, add_completion=False)

HEADINGS = ("event", "since", "what", "before -> after")
MOST_EDGES = 6  # of a structure's difference, in a cell


@drifts.callback()
def _group() -> None:
    """Show the drift log."""


@drifts.command()
def show(
    source: Annotated[
        Path,
        typer.Argument(
            help="Directory of snapshots, one snapshot, or a drift log as JSON lines.",
            show_default=False,
            metavar="DIRECTORY|FILE",
        ),
    ],
    key_env: KeyOption = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw how the last adopted model changed the structure, as .svg or .dot."),
    ] = None,
    json: JSON = False,
) -> None:
    """Show each drift found and what followed, oldest first."""
    with exit_on_error():
        entries = entries_in(source, key_env)
        if picture is not None:
            _draw(entries, picture)
        if json:
            print_json(entries)
        elif not entries:
            console().print(f"no drift was found in {source}")
        else:
            _print_entries(f"drifts in {source}", entries)


def _draw(entries: Sequence[Mapping[str, Any]], picture: Path) -> None:
    """Draw the newest change of structure."""
    for entry in reversed(entries):
        changed = entry.get("structure")
        if entry["what"] == "adopted" and changed is not None and (changed["added"] or changed["removed"]):
            plots.swap(entry, picture)
            return
    raise BadValue(f"--picture {picture}: no adopted model has changed the structure")


def entries_in(source: Path, key_env: str | None = None) -> list[dict[str, Any]]:
    """Return the entries of a log, or of the newest snapshot in a directory.

    Raises
    ------
    NoSnapshot
        If the directory holds none, or its model does not adapt to drift.
    BadFormat
        If a file is neither a snapshot nor JSON lines of a log.
    """
    if source.is_dir() or not source.exists():
        snapshot = store_of(source, key_env).latest()
        if snapshot is None:
            raise NoSnapshot(f"there are no snapshots in {source}")
        return _of_snapshot(source, snapshot.snapshot)
    data = source.read_bytes()
    if data.startswith(b"PK"):
        return _of_snapshot(source, Snapshot.from_bytes(data, key_of(key_env)))
    return [_of_line(source, number, line) for number, line in enumerate(data.splitlines(), 1)]


def _of_snapshot(source: Path, snapshot: Snapshot) -> list[dict[str, Any]]:
    logs = drift_logs(snapshot.sections.get("model", {}))
    if not logs:
        raise NoSnapshot(
            f"{source}: its model, {snapshot.learner}, does not adapt to drift and has no drift log"
        )
    return [entry for log in logs for entry in log]


def _of_line(source: Path, number: int, line: bytes) -> dict[str, Any]:
    """Return the entry in a line of a log or of a sink."""
    try:
        entry: Any = json_text.loads(line)
    except ValueError as error:
        raise BadFormat(f"{source}, line {number}: not JSON: {error}") from error
    if not isinstance(entry, dict) or "what" not in entry or "event" not in entry:
        raise BadFormat(f"{source}, line {number}: not an entry of a drift log")
    if isinstance(entry.get("details"), dict):
        inner = entry.pop("details")
        entry = {name: value for name, value in entry.items() if name not in ("key", "version")} | inner
    return dict(entry)


def _print_entries(title: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Print a line per entry, with its details below it, so that narrow terminals need not wrap columns."""
    rows = [HEADINGS, *map(_facts, entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    out = console()
    out.print(title, style="italic")
    for row, entry in zip(rows, [None, *entries], strict=True):
        event, since, what, scores = row
        line = f"{event:>{widths[0]}}  {since:>{widths[1]}}  {what:<{widths[2]}}  {scores}"
        out.print(line, style="bold" if entry is None else "", overflow="fold")
        for detail in () if entry is None else _details(entry):
            out.print(Padding(detail, (0, 0, 0, widths[0] + 2)))


def _facts(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of an entry; what is absent is empty."""
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
    details = [
        entry.get("why") or "",
        "" if not families else "families: " + " ".join(families),
        *(
            name + _difference(change.get("added") or (), change.get("removed") or ())
            for name, change in changes
            if change.get("added") or change.get("removed")
        ),
        _record_of(entry),
        "" if entry.get("seconds") is None else f"took {entry['seconds']:.4g} s",
    ]
    return list(filter(None, details))


def _record_of(entry: Mapping[str, Any]) -> str:
    """Return the record and time of an entry, as text.

    Examples
    --------
    >>> _record_of({"source": "events", "partition": 0, "position": 1536, "time": 12.5})
    'events[0]=1,536 at 12.5'
    """
    position, time = entry.get("position"), entry.get("time")
    record = "" if position is None else f"{entry['source']}[{entry['partition']}]={position:,}"
    return record if time is None else f"{record} at {time:.15g}".lstrip()


def _difference(added: Sequence[Sequence[str]], removed: Sequence[Sequence[str]]) -> str:
    """Return the first few changed edges as text: a plus for each added, a minus for each removed.

    Examples
    --------
    >>> _difference([["sky", "wind"]], [["wind", "sky"]])
    '+sky>wind -wind>sky'
    """
    changes = [
        f"{sign}{edge[0]}>{edge[1]}" for sign, edges in (("+", added), ("-", removed)) for edge in edges
    ]
    more = len(changes) - MOST_EDGES
    return " ".join(changes[:MOST_EDGES]) + (f" and {more} more" if more > 0 else "")
