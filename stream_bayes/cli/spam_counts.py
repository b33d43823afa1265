"""`stream-bayes spam export`, `import` and `merge`: what a filter has learned, out of it and into others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.spam import Home, Key, home_at, say_waiting
from stream_bayes.errors import BadFormat
from stream_bayes.mail.filter.filter import SpamFilter

__all__ = ["counting"]


def counting(spam: typer.Typer) -> None:
    """Add the commands to those of the spam filter."""
    spam.command("export")(export)
    spam.command("import")(import_)
    spam.command()(merge)


def export(
    file: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Write messages by label, and by token and label, as JSON: all that another program needs to go on from."""
    with telling_errors():
        counts = home_at(home, key_env).load().export_counts()
        file.write_bytes(msgspec.json.format(msgspec.json.encode(counts), indent=1) + b"\n")
        typer.echo(f"wrote {len(counts['tokens']):,} tokens to {file}")


def import_(
    file: Annotated[Path, typer.Argument(help="A file that `export` wrote.", show_default=False)],
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Add counts to those of the filter, all of them or, where anything is wrong, none."""
    with telling_errors():
        try:
            counts = msgspec.json.decode(file.read_bytes(), type=dict)
        except msgspec.DecodeError as error:
            raise BadFormat(f"{file}: expected what `export` wrote: {error}") from None
        place = home_at(home, key_env)
        with place.changing(lambda: SpamFilter(key=place.key), say_waiting) as model:
            model.import_counts(counts)
        typer.echo(f"{sum(model.messages.values()):,.0f} messages are counted now")


def merge(
    other: Annotated[Path, typer.Argument(help="The directory of another filter.", show_default=False)],
    home: Home = None,
    key_env: Key = None,
) -> None:
    """Add all that another filter of the same settings has learned; that one stays as it is."""
    with telling_errors():
        theirs = home_at(other, key_env).load()
        with home_at(home, key_env).changing(None, say_waiting) as model:
            model.merge(theirs)
        typer.echo(f"{sum(model.messages.values()):,.0f} messages are counted now")
