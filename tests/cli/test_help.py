"""`--help` of every command says what is written for it, whatever signs the text has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stream_bayes.cli.app import app
from stream_bayes.cli.command_table import ListedCommand
from tests.machine import slowness


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands below one, each with the words that call it."""
    yield path, command
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part.load() if isinstance(part, ListedCommand) else part, (*path, name))


OWN_HELP = [("spam", "classify"), ("spam", "filter")]  # started for each mail, so without this library


def words(text: str | None) -> set[str]:
    return set((text or "").replace("`", "").replace("│", " ").split())


@pytest.mark.parametrize(
    ("path", "command"),
    [
        pytest.param(*found, id=" ".join(found[0]))
        for found in commands(get_command(app))
        if found[0] not in OWN_HELP
    ],
)
def test_no_word_of_a_commands_help_is_lost(path: tuple[str, ...], command: Any) -> None:
    shown = words(CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output)
    written = words(command.help)
    for parameter in command.params:
        if not parameter.hidden:
            written |= words(parameter.help)
    for part in getattr(command, "commands", {}).values():
        written |= words((part.help or "").split("\n\n")[0])
    assert written <= shown, sorted(written - shown)


HELP = """import sys
from stream_bayes.cli.app import main
sys.argv = ["stream-bayes", "--help"]
try:
    main()
except SystemExit:
    print("imported:", *sorted(sys.modules))"""
MOST_MODULES = 230  # typer without rich takes 120 of them, Python itself 60
MOST_SECONDS = 0.4  # of a processor, on an ordinary machine whose disk cache is warm


def test_help_imports_nothing_heavy() -> None:
    shown = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True).stdout
    modules = shown.rpartition("imported:")[2].split()
    imported = {name.partition(".")[0] for name in modules}
    assert "typer" in imported
    assert not imported & {
        "numpy",
        "scipy",
        "river",
        "pandas",
        "pydantic",
        "msgspec",
        "kafka",
        "starlette",
        "rich",
    }
    assert len(modules) <= MOST_MODULES


def test_help_takes_a_moment_of_a_processor() -> None:
    times = []
    for _ in range(4):
        before = sum(os.times()[2:4])
        subprocess.run([sys.executable, "-c", HELP], capture_output=True, check=True)
        times.append(sum(os.times()[2:4]) - before)
    assert min(times) <= MOST_SECONDS * slowness(), times
