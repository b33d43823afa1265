"""`stream-bayes serve` and the options of the service: mistakes end with a reason, and before anything runs."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes import NaiveBayes
from stream_bayes.cli.app import app


def failed(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code not in (0, 1), result.output
    return " ".join(result.output.split())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    learner = NaiveBayes()
    learner.learn_one({"sky": "grey"}, "rain")
    stream_bayes.save(learner, tmp_path / "model.zip")
    return tmp_path / "model.zip"


def test_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "expected a saved model, a directory of snapshots" in failed("serve", tmp_path / "nowhere.zip")
    assert "there are no snapshots in" in failed("serve", tmp_path)


def test_a_port_in_use_is_named(model: Path, pipeline: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
        assert f"127.0.0.1:{port} cannot be listened on" in failed("serve", model, "--port", port)
        assert f"127.0.0.1:{port} cannot be listened on" in failed("run", pipeline, "--serve", "--port", port)
    assert not (pipeline.parent / "state").exists()


def test_a_token_that_is_short_or_missing_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT", "abc")
    assert "at least 16 characters" in failed("serve", model, "--token-env", "SHORT")
    assert "NOT_SET" in failed("serve", model, "--read-token-env", "NOT_SET")


def test_a_port_without_the_service_is_a_mistake(pipeline: Path) -> None:
    assert "--port needs --serve" in failed("run", pipeline, "--port", 8080)
