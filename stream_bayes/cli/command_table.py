"""Tables of commands: what `--help` lists of each, and where it is imported from when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from stream_bayes.cli.options import flattened
from stream_bayes.errors import BadValue
from stream_bayes.registry import load

__all__ = ["ListedCommand", "command_group"]

# Markdown, as the default of typer takes [workers] for a colour and shows nothing of it. Locals of an exception may
# hold data and secrets.
SETTINGS: Mapping[str, Any] = {"rich_markup_mode": "markdown", "pretty_exceptions_show_locals": False}


class ListedCommand(TyperCommand):
    """A command of a table: its name and the first sentences of its help. It is imported when it is called. `entry` is
    a function, or a group of commands as a `typer.Typer`: itself, whose help is its docstring; or `("module:attribute",
    help)`, and maybe the settings with which typer parses its arguments.
    """

    def __init__(self, name: str, entry: Any) -> None:
        text = entry.info.help if isinstance(entry, typer.Typer) else entry.__doc__
        self.target, self.parsing = entry, {}
        if isinstance(entry, tuple):
            self.target, text, self.parsing = (*entry, {})[:3]
        super().__init__(
            name, help=(text or "").partition("\n\n")[0], rich_markup_mode=SETTINGS["rich_markup_mode"]
        )

    def load(self) -> Any:
        """Import the command, and return it with its parameters."""
        target = load(self.target) if isinstance(self.target, str) else self.target
        if isinstance(target, typer.Typer):
            return get_command(target)
        alone = typer.Typer(add_completion=False, **SETTINGS)
        alone.command(self.name, context_settings=self.parsing)(flattened(target))
        return get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.load().make_context(info_name, args, parent, **extra)


class Commands(Mapping[str, ListedCommand]):
    """The commands of one or more tables, the first of which comes first, and wins."""

    def __init__(self, tables: Sequence[Mapping[str, Any]]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> ListedCommand:
        for table in self._tables:
            if name in table:
                try:
                    return ListedCommand(name, table[name])
                except BadValue as error:  # another package's command; the others work
                    return ListedCommand(name, _refusing(error))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain.from_iterable(self._tables)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _refusing(error: BadValue) -> Callable[[], None]:
    """Return a command that cannot run for this error, which its help shows too."""

    def refuse() -> None:
        from stream_bayes.cli.exit_codes import exit_on_error

        with exit_on_error():
            raise error

    refuse.__doc__ = f"Not available: {error}"
    return refuse


def command_group(
    name: str,
    summary: str,
    *tables: Mapping[str, Any],
    callback: Callable[..., None] | None = None,
    add_completion: bool = False,
) -> typer.Typer:
    """Return a group of the commands in these tables, with the options of `callback`.

    A table has the entry of each command, as `ListedCommand` takes it. It is read when a command is called by a name
    that no table before it has, or when all are listed.
    """

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands: Any = Commands(tables)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """Write the help as plain text: to load what draws frames takes longer than all else."""
            super(TyperGroup, self).format_help(ctx, formatter)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write what each command does, whole."""
            del ctx
            with formatter.section("Commands"):
                formatter.write_dl([(name, command.help or "") for name, command in self.commands.items()])

    return typer.Typer(
        name=name,
        help=summary,
        cls=Group,
        callback=callback or _nothing,
        no_args_is_help=True,
        add_completion=add_completion,
        **SETTINGS,
    )


def _nothing() -> None:
    """Do nothing before a command of a group."""
