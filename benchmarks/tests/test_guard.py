"""The guard of speed: what it counts, what it lets pass, and what it says where it cannot count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import stream_bayes
from benchmarks.guard import __main__ as guard
from benchmarks.guard import baseline
from benchmarks.guard.counting import CannotCount, count, environment
from benchmarks.guard.paths import PATHS

SLOWER = "benchmarks.tests.slower_paths"
HERE = {"counter": "callgrind 1", "python": "3.11"}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a baseline that the guard uses; here, its environment is `HERE`."""
    file = tmp_path / "baseline.json"
    monkeypatch.setattr(baseline, "FILE", file)
    monkeypatch.setattr(guard, "environment", lambda: HERE)
    monkeypatch.setattr(stream_bayes, "compiled", True)
    return file


def counting(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    monkeypatch.setattr(guard, "count", lambda names, layout=0: {name: int(10**6 * factor) for name in names})


def test_a_path_that_takes_5_percent_more_instructions_is_found_by_counting() -> None:
    try:
        counts = count(["as it was", "the same", "2 % slower", "5 % slower"], module=SLOWER)
    except CannotCount as reason:
        pytest.skip(str(reason))
    before = counts["as it was"]
    assert counts["the same"] == pytest.approx(before, rel=0.002)
    assert baseline.slips({"path": before}, {"path": counts["the same"]}) == {}
    assert baseline.slips({"path": before}, {"path": counts["2 % slower"]}) == {}
    slips = baseline.slips({"path": before}, {"path": counts["5 % slower"]})
    assert slips["path"].startswith("path: +")


def test_a_path_that_fails_is_no_count() -> None:
    try:
        environment()
    except CannotCount as reason:
        pytest.skip(str(reason))
    with pytest.raises(RuntimeError, match="cannot process 500 events"):
        count(["broken"], module=SLOWER)


@pytest.mark.parametrize(("factor", "status"), [(0.5, 0), (1.0, 0), (1.029, 0), (1.031, 1), (1.05, 1)])
def test_three_percent_more_are_allowed(
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    factor: float,
    status: int,
) -> None:
    counting(monkeypatch, 1.0)
    assert guard.main(["--renew"]) == 0
    counting(monkeypatch, factor)
    assert guard.main([]) == status
    assert ("make bench-guard" in capsys.readouterr().err) == (status == 1)


def test_a_path_that_memory_alone_makes_slower_is_let_pass(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting(monkeypatch, 1.0)
    assert guard.main(["--renew"]) == 0
    unlucky = PATHS[0].name

    def count_by_layout(names: Sequence[str], layout: int = 0) -> dict[str, int]:
        assert not layout or names == [unlucky], "what is not slower is counted once"
        return {name: 1_070_000 if name == unlucky and layout < 2 else 10**6 for name in names}

    monkeypatch.setattr(guard, "count", count_by_layout)
    assert guard.main([]) == 0


def test_a_path_without_a_baseline_fails(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting(monkeypatch, 1.0)
    baseline.renew(kept, HERE, {path.name: 10**6 for path in PATHS[1:]})
    assert guard.main([]) == 1


@pytest.mark.parametrize("other", [None, {**HERE, "python": "3.14"}])
def test_counts_of_another_environment_are_not_compared_and_that_is_said(
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    other: dict[str, str] | None,
) -> None:
    counting(monkeypatch, 9.0)
    if other is not None:
        baseline.renew(kept, other, {path.name: 1 for path in PATHS})
    assert guard.main([]) == 0
    error = capsys.readouterr().err
    assert "SKIPPED" in error
    assert ("there is no baseline" if other is None else "python: 3.11 here, 3.14 in the baseline") in error


def test_a_missing_tool_is_said(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing() -> dict[str, str]:
        raise CannotCount("valgrind is not installed")

    monkeypatch.setattr(guard, "environment", nothing)
    assert guard.main([]) == 0
    assert "SKIPPED" in (error := capsys.readouterr().err)
    assert "valgrind is not installed" in error


def test_a_baseline_is_renewed_beside_those_of_other_environments(kept: Path) -> None:
    other = {**HERE, "python": "3.14"}
    baseline.renew(kept, HERE, {"path": 1})
    baseline.renew(kept, other, {"path": 2})
    baseline.renew(kept, HERE, {"path": 3})
    assert [entry["instructions"] for entry in json.loads(kept.read_text())] == [{"path": 2}, {"path": 3}]


def test_the_committed_baseline_has_every_path_and_no_other() -> None:
    for entry in baseline.read(baseline.FILE):
        assert list(entry["instructions"]) == [path.name for path in PATHS]
        assert "callgrind" in entry["environment"]["counter"]


@pytest.mark.parametrize("arguments", [["--only", "no such path"], ["--renew", "--only", "LDA"]])
def test_wrong_arguments_are_refused(kept: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        guard.main(arguments)
