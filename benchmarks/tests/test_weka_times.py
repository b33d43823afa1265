"""WEKA as a peer: what it is given, what comes back, and that benchmarks go on where it cannot run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.harness import Contest, Side
from benchmarks.speed.weka import Shape, WekaTimer, codes, weka_side, weka_times
from tests.oracles.weka.jvm import cache, stream_text, version

SMALL = Shape(5, 3, 2)

# Nothing is fetched for a test's sake; `.ci/run` and `python -m benchmarks.speed.weka` fill the cache.
needs_weka = pytest.mark.skipif(
    not (cache() / f"weka-stable-{version()}.jar").exists() or not shutil.which("javac"),
    reason="needs Java with its compiler, and WEKA's jar in the cache",
)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STREAM_BAYES_CACHE", str(tmp_path))


@pytest.mark.usefixtures("nothing_installed")
def test_without_java_there_is_no_figure_and_the_reason_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert weka_times(shapes=[SMALL]) is None
    assert "there is no mvn on the path" in capsys.readouterr().err
    assert weka_side(SMALL, "both") is None
    assert "there is no mvn on the path" in capsys.readouterr().err


def test_a_stream_is_text_with_a_line_for_each_event() -> None:
    text = stream_text(2, [3, 4], [(1.0, 0, [2, 3]), (0.5, 1, [None, 0])])
    assert text == "2\n3,4\n1.0,0,2,3\n0.5,1,,0\n"


def test_both_sides_get_the_same_codes_and_each_class_prefers_other_values() -> None:
    drawn, labels = codes(Shape(4, 8, 2), 4_000, 1)
    assert drawn.shape == (4_000, 4)
    assert set(drawn.ravel().tolist()) == set(range(8))
    assert set(labels.tolist()) == {0, 1}
    shares = [[(drawn[labels == label, 0] == value).mean() for value in range(8)] for label in (0, 1)]
    assert max(abs(one - other) for one, other in zip(*shares, strict=True)) > 0.05
    codes.cache_clear()
    assert (codes(Shape(4, 8, 2), 4_000, 1)[0] == drawn).all()


@needs_weka
def test_weka_is_timed_for_each_kind_of_work() -> None:
    times = weka_times(shapes=[SMALL], classifiers=[("AODE", "-F", "30")], rounds=1, warm=0.01)
    assert times is not None
    assert times["weka"] == version()
    works = times["us"]["AODE -F 30"][str(SMALL)]
    assert set(works) == {"update", "predict", "both"}
    assert all(taken > 0 for taken in works.values())


@needs_weka
def test_wekas_side_of_a_contest_takes_as_long_as_java_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def seconds(timer: WekaTimer, work: str, events: int) -> float:
        asked.append((work, events))
        return 2e-6 * events

    side = weka_side(SMALL, "both", warm=0.01)
    assert side is not None
    monkeypatch.setattr(WekaTimer, "seconds", seconds)
    assert Contest(range(10), Side(1, lambda _: 0.0, list), side).peer is side
    assert side.one_pass(iter(range(10**9))) == pytest.approx(2e-6)
    assert asked == [("both", side.events)]


@needs_weka
def test_what_weka_refuses_is_an_error() -> None:
    timer = WekaTimer(SMALL)
    with pytest.raises(RuntimeError, match="WEKA failed at no such work"):
        timer.seconds("no such work", 1)
    timer.close()
    with pytest.raises(RuntimeError, match="NoSuchClassifier"):
        WekaTimer(SMALL, "NoSuchClassifier")
