"""`make check` runs the tests of the rooms that changed, and a core that always runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.affected import CORE, ROOT, selected


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("stream_bayes/core/counts/store.py", {"tests/core/counts", "stream_bayes/core/counts/store.py"}),
        ("stream_bayes/core/counts/_layout.pxd", {"tests/core/counts"}),
        ("stream_bayes/core/counts/_layout.py", {"tests/core/counts"}),
        ("stream_bayes/plots.py", {"tests/test_plots.py", "stream_bayes/plots.py"}),
        ("tests/drift/drifting_streams.py", {"tests/drift"}),
        ("tests/drift/test_adaptive.py", {"tests/drift/test_adaptive.py"}),
        ("tests/kafka_broker/test_crashes.py", set()),
        ("benchmarks/spam/__main__.py", {"benchmarks/tests"}),
        ("docs/spam.md", {"tests/repository/test_examples.py"}),
        ("LICENSE", set()),
        ("stream_bayes/core/counts/deleted_long_ago.py", {"tests/core/counts"}),
    ],
)
def test_a_changed_file_selects_the_tests_of_its_room(changed: str, tests: set[str]) -> None:
    assert set(selected([changed])) == tests | set(CORE)


def test_no_test_is_selected_twice() -> None:
    chosen = selected(["tests/drift/test_adaptive.py", "tests/drift/drifting_streams.py", "pyproject.toml"])
    assert "tests/drift" in chosen and "tests/drift/test_adaptive.py" not in chosen
    assert "tests/repository" in chosen and not set(chosen) & {
        c for c in CORE if c.startswith("tests/repository/")
    }


def test_the_core_is_there() -> None:
    assert all((ROOT / path).exists() for path in CORE)


ROOMS = sorted(
    {path.parent for path in (ROOT / "stream_bayes").rglob("*.py")} - {ROOT / "stream_bayes"}, key=str
)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_every_room_has_tests(room: Path) -> None:
    file = next(room.glob("*.py")).relative_to(ROOT)
    assert set(selected([str(file)])) - set(CORE) - {str(file)}
