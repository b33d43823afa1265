"""How answers are printed: as tables for people, or as one JSON value for machines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

__all__ = ["JSON", "print_json", "print_table"]

JSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(value: object) -> None:
    """Write one JSON value, a line, to the standard output."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_table(title: str, rows: Sequence[Mapping[str, Any]], right: Sequence[str] = ()) -> None:
    """Print rows under the names of their columns; those in `right` are numbers."""
    table = Table(title=title, box=SIMPLE, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    Console().print(table)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
