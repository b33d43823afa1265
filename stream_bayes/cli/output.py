"""Output of commands: tables for people, or one JSON value for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.errors import BadValue

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "JSON",
    "STANDARD_OUTPUT",
    "checked_output",
    "console",
    "left_out_lines",
    "note",
    "print_json",
    "print_table",
]

MOST_NAMED = 20  # features in one line
MOST_FOLDED = 500  # rows of a table whose cells are folded to the terminal's width

STANDARD_OUTPUT = Path("-")  # as an option for a file

JSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints texts as they are: `[b]` in them is no markup, and `:cat:` no picture."""
    from rich.console import Console

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:  # Rich ends the program with 1, the code of a bug
            raise BrokenPipeError("nobody reads the output")

    return PipedConsole(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_json(value: object) -> None:
    """Write one JSON value and a newline to stdout."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def note(lines: Iterable[str], *, quiet: bool = False) -> None:
    """Write lines to stderr; only warnings if `quiet`, for output that programs read."""
    for line in lines:
        if not quiet or line.startswith("warning:"):
            typer.echo(line, err=True)


def checked_output(option: str, path: Path) -> None:
    """Raise `BadValue` for a file that cannot be written, before hours are spent."""
    if path == STANDARD_OUTPUT:
        raise BadValue(f"{option} -: this is not written to standard output; name a file")
    if not path.parent.is_dir():
        raise BadValue(f"{option} {path}: there is no directory {path.parent}; create it first")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadValue(
            f"{option} {path}: cannot be written; name a file in a directory that you can write to"
        )


def print_table(title: str, rows: Sequence[Mapping[str, Any]], right: Sequence[str] = ()) -> None:
    """Print rows as a table with a header; columns in `right` are right-aligned.

    A table of more than MOST_FOLDED rows is not folded to the width of the terminal: that would take seconds.
    """
    if len(rows) > MOST_FOLDED:
        typer.echo(f"{title}\n")
        typer.echo("\n".join(_unfolded(rows, right)))
        return
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE)
    for name in rows[0] if rows else ():
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    out = console()
    out.print(title, style="italic")  # as a part of the table it would wrap at the table's width
    out.print(table)


def _unfolded(rows: Sequence[Mapping[str, Any]], right: Sequence[str]) -> Iterator[str]:
    names = [*rows[0]]
    lines = [names, *([" ".join(_text(value).splitlines()) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [str.rjust if name in right else str.ljust for name in names]
    for line in lines:
        yield "  ".join(
            align(cell, width) for align, cell, width in zip(aligned, line, widths, strict=True)
        ).rstrip()


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def left_out_lines(learner: Any) -> list[str]:
    """Return a line that names the features that some experts of a learner do not see; none if all see all."""
    from stream_bayes.core.values.values import shown

    names = [shown(name) for name in getattr(learner, "left_out_", ())]
    if not names:
        return []
    listed = ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
    return [f"left out by some experts, for lack of room ({len(names)}): {listed}"]
