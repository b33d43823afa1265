"""Tables that are far too wide end, with what was left out; small here, and in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import wide
from stream_bayes.cli.app import app


def test_a_table_of_many_columns_and_classes_ends_with_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended_here(arguments: list[str]) -> dict[str, Any]:
        done = CliRunner().invoke(app, arguments)
        return {
            "exit": done.exit_code,
            "said": [line for line in done.stdout.splitlines() if "left out" in line],
        }

    monkeypatch.setattr(wide, "ended", ended_here)
    wide.main(["60,40,20"])
    result = json.loads(capsys.readouterr().out)
    assert result["train"]["exit"] == result["predict"]["exit"] == 0
    assert result["train"]["said"][0].startswith("left out by some experts, for lack of room (")


def test_a_command_ends_with_its_memory_and_its_last_line() -> None:
    large = bytearray(500_000_000)  # of this process, which is not that of the command
    large[::4096] = bytes(len(range(0, len(large), 4096)))
    ended = wide.ended(["train", "no-such-file.csv", "--target", "y", "--out", "m.zip"])
    assert ended["exit"] != 0 and 0 < ended["most_megabytes"] < 450
    assert "no-such-file.csv" in ended["said"][0]
