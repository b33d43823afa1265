"""The table of commands: what is imported for each, what other packages bring, and the lines of help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from stream_bayes import registry
from stream_bayes.cli.app import BROUGHT, TABLE, app
from stream_bayes.cli.command_table import Commands, ListedCommand, command_group
from stream_bayes.errors import BadValue
from stream_bayes.mail.commands.app import TABLE as SPAM

SLOW = ("kafka", "msgspec", "narwhals", "numpy", "prometheus_client", "river", "scipy", "starlette")


def loaded(statements: str) -> list[str]:
    """Return the modules that a process has loaded after some statements."""
    code = f"import sys, json\n{statements}\njson.dump(sorted(sys.modules), sys.__stdout__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def called(*arguments: str) -> list[str]:
    """Return the modules that are loaded after a command ran."""
    return loaded(
        "from typer.testing import CliRunner\nfrom stream_bayes.cli.app import app\n"
        f"assert CliRunner().invoke(app, {list(arguments)}).exit_code == 0"
    )


def test_importing_the_package_loads_next_to_nothing() -> None:
    bare = set(loaded(""))
    assert set(loaded("import stream_bayes")) - bare == {
        "stream_bayes",
        "stream_bayes._build",
        "stream_bayes.lazy_imports",
    }


@pytest.mark.needs("mail")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["models", "--help"], ["spam", "--help"]])
def test_help_loads_no_learner_and_nothing_that_computes(arguments: list[str]) -> None:
    modules = called(*arguments)
    assert not [name for name in modules if name.partition(".")[0] in SLOW]
    ours = [name for name in modules if name.startswith("stream_bayes.")]
    rooms = {".".join(name.split(".")[1:2]) for name in ours}
    light = {"_build", "checked_names", "cli", "errors", "lazy_imports", "registry", "secret_masking"}
    assert rooms <= {*light, "kafka", "mail", "workers"}
    assert len(ours) <= 20, ours


def test_a_command_loads_no_other_command() -> None:
    modules = called("models")
    commands = [name for name in modules if ".commands." in name]
    assert commands == ["stream_bayes.cli.commands.models"]


@pytest.mark.parametrize("statement", ["streams.evaluate(rows, NaiveBayes())", "import stream_bayes.plots"])
def test_evaluating_and_plotting_need_no_library_of_the_program(statement: str) -> None:
    loaded(
        "for name in ('rich', 'typer', 'prometheus_client', 'starlette', 'kafka'): sys.modules[name] = None\n"
        "from stream_bayes import NaiveBayes, streams\nrows = [({'sky': 'grey'}, 'rain')] * 20\n" + statement
    )


def entries() -> Iterator[Any]:
    for path, table in (((), TABLE), ((), {name: BROUGHT[name] for name in BROUGHT}), (("spam",), SPAM)):
        for name, entry in table.items():
            yield pytest.param(name, entry, id=" ".join([*path, name]))


@pytest.mark.parametrize(("name", "entry"), list(entries()))
def test_the_line_of_a_table_is_the_beginning_of_the_commands_help(name: str, entry: Any) -> None:
    command = ListedCommand(name, entry).load()
    assert command.name == name
    assert " ".join(command.help.split("\n\n")[0].split()) == entry[1]


def hello() -> None:
    """Greet the world.

    Nothing else.
    """
    typer.echo("hello, world")


def greet(name: str) -> None:
    """Greet somebody."""
    typer.echo(f"hello, {name}")


more = typer.Typer(name="more", help="More greetings.", add_completion=False)
more.command()(hello)
more.command()(greet)


@pytest.fixture
def extended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another package bring commands: two that work, and one that cannot be imported."""
    installed = {
        "hello": f"{__name__}:hello",
        "more": f"{__name__}:more",
        "broken": "no_such_package:command",
        "models": f"{__name__}:hello",
    }
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(registry, "entry_points", lambda: {"stream_bayes.commands": installed})
    monkeypatch.setattr(BROUGHT, "_loaded", {})


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})


def test_another_package_brings_a_command_and_a_group(extended: None) -> None:
    listed = run("--help").output
    assert "Greet the world." in listed and "More greetings." in listed
    assert run("hello").output == "hello, world\n"
    assert run("more", "greet", "Ann").output == "hello, Ann\n"


def test_another_packages_command_that_cannot_be_imported_leaves_the_others_alone(extended: None) -> None:
    listed = run("--help")
    assert listed.exit_code == 0
    assert "no_such_package" in listed.output
    result = run("broken")
    assert result.exit_code == 3
    assert "no_such_package" in result.output


def test_another_package_cannot_replace_a_command(extended: None) -> None:
    assert "hello" not in run("models", "--json").output


def test_no_metadata_of_packages_is_read_for_the_programs_own_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> Any:
        raise AssertionError("reading all metadata takes longer than most commands")

    monkeypatch.setattr(registry, "entry_points", refuse)
    assert run("models", "--help").exit_code == 0
    assert run("--version").exit_code == 0


def test_a_mistyped_command_is_told_the_nearest() -> None:
    result = run("modles")
    assert result.exit_code == 2
    assert "models" in result.output


def test_the_first_table_wins() -> None:
    commands = Commands([{"one": (f"{__name__}:hello", "One.")}, {"one": hello, "two": greet}])
    assert list(commands) == ["one", "two"] and len(commands) == 2
    assert commands["one"].help == "One."
    with pytest.raises(KeyError):
        commands["three"]
    assert commands.get("three") is None


def test_a_group_has_the_settings_of_each_entry() -> None:
    def rest(context: typer.Context) -> None:
        """Print what is left."""
        typer.echo(" ".join(context.args))

    table = {"rest": (rest, "Print it.", {"ignore_unknown_options": True, "allow_extra_args": True})}
    group = command_group("group", "A group.", table)
    assert get_command(group).commands["rest"].help == "Print it."  # type: ignore[attr-defined]  # a group
    assert CliRunner().invoke(group, ["rest", "--what", "ever"]).output == "--what ever\n"


def test_a_refusal_is_a_command() -> None:
    class Refusing(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            raise BadValue("it is broken")

    command = Commands([Refusing(x=1)])["x"]
    assert command.help == "Not available: it is broken"


@pytest.mark.parametrize("arguments", [["models"], ["models", "--json"]])
def test_a_command_whose_reader_has_ended_says_nothing(arguments: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "stream_bayes", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None and command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
    assert command.returncode == 141


@pytest.mark.parametrize(("chosen", "threads"), [(None, "1"), ("3", "3")])
def test_linear_algebra_has_one_thread_unless_the_user_chose_otherwise(
    chosen: str | None, threads: str
) -> None:
    code = """
import os, sys
from stream_bayes.mail.start import main
sys.argv[1:] = ["--version"]
try:
    main()
finally:
    assert "numpy" not in sys.modules  # which reads the variable when it is loaded
    print(os.environ["OPENBLAS_NUM_THREADS"])
"""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if chosen is None else {"OPENBLAS_NUM_THREADS": chosen}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == threads
