"""Where there is no broker to be had, one line says why and how to get one; it is no way past these tests in CI."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.kafka_broker import broker
from tests.kafka_broker.broker import NoBroker
from tests.kafka_broker.conftest import have_jars


@pytest.fixture(params=["java", "mvn"])
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A machine that lacks a program, and has no jars yet."""
    missing: str = request.param
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else f"/usr/bin/{name}")
    monkeypatch.setattr(broker, "JARS", tmp_path / "jars")
    return missing


def test_the_tests_are_skipped_with_a_line_that_says_what_to_install(
    without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STREAM_BAYES_KAFKA_REQUIRED", raising=False)
    with pytest.raises(pytest.skip.Exception) as skipped:
        have_jars()
    said = str(skipped.value)
    assert {"java": "no Java was found", "mvn": "no Maven was found"}[without] in said
    assert "install" in said and "STREAM_BAYES_KAFKA=host:port" in said and "\n" not in said


def test_they_fail_where_they_must_not_be_skipped(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_BAYES_KAFKA_REQUIRED", "1")
    with pytest.raises(NoBroker):
        have_jars()


def test_ci_lets_none_be_skipped_where_the_jars_are_there() -> None:
    run = Path(__file__).parents[2] / ".ci" / "run"
    asked, told = "from tests.kafka_broker.broker import jars", "export STREAM_BAYES_KAFKA_REQUIRED=1"
    text = run.read_text("utf-8")
    assert text.index(asked) < text.index(told) < text.index("make test\n")
