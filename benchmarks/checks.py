"""Checks of a benchmark's results, each a line of a table with its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

__all__ = ["Check", "show"]


@dataclass(frozen=True)
class Check:
    """Something that should hold of what was found on a stream.

    Parameters
    ----------
    stream
        The stream's name.
    what
        What should hold.
    found
        What was measured.
    met
        Whether it holds.
    """

    stream: str
    what: str
    found: str
    met: bool


def show(checks: Sequence[Check], console: Console) -> None:
    """Print the checks, which are met, and how many."""
    table = Table(title="What should hold", title_justify="left")
    for heading in ("stream", "check", "found", ""):
        table.add_column(heading)
    for check in checks:
        table.add_row(
            check.stream, check.what, check.found, "[green]met" if check.met else "[bold red]missed"
        )
    console.print(table)
    console.print(f"{sum(check.met for check in checks)} of {len(checks)} checks met")
