"""Output of commands: tables for people, or one JSON value for programs."""

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

JSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_json(value: object) -> None:
    """Write one JSON value and a newline to stdout."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_table(title: str, rows: Sequence[Mapping[str, Any]], right: Sequence[str] = ()) -> None:
    """Print rows as a table with a header; columns in `right` are right-aligned."""
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
