"""A command."""

from __future__ import annotations

import typer

__all__ = ["COMMAND", "roll"]

COMMAND = ("example_plugin.roll:roll", "Roll a die that always shows the same.")


def roll(sides: int = 6) -> None:
    """Roll a die that always shows the same."""
    typer.echo(f"rolled {sides}")
