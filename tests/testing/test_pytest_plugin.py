"""The fixture `replay`: a file as a stream into a learner, and assertions on the evaluation."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PLUGIN = "stream_bayes.testing.pytest_plugin"
# The entry point is there only where the package was installed with it; so the plug-in is named.
OPTIONS = ("-p", "no:stream_bayes", "-p", PLUGIN, "-p", "no:cacheprovider")
ORDERS = "customer,late\n" + "new,yes\nknown,no\n" * 100

TEST = """
from stream_bayes import AODE

def test_late_orders_are_found(replay):
    result = replay("orders.csv", AODE(), target="late")
    result.assert_accuracy(at_least={at_least})
    assert result.windowed.accuracy > 0.9 and result.answers[-1].prediction == "no"
"""


@pytest.fixture(autouse=True)
def _this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def run(pytester: pytest.Pytester, test: str) -> pytest.RunResult:
    pytester.makepyfile(test)
    return pytester.runpytest_subprocess(*OPTIONS)


def test_a_replay_passes_an_assertion_that_holds(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("orders.csv").write_text(ORDERS)
    run(pytester, TEST.format(at_least=0.9)).assert_outcomes(passed=1)


def test_a_failure_shows_the_accuracy_and_the_wrong_answers(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("orders.csv").write_text(ORDERS)
    result = run(pytester, TEST.format(at_least=0.999))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: expected an accuracy of at least 0.999, got 0.995 over 200 events*",
            "*1 x 'no' predicted as 'yes'*",
            "*sample 1: {'customer': 'known'} is 'no', got 'yes'*",
        ]
    )


def test_a_file_is_found_beside_the_test(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("orders")
    (folder / "orders.csv").write_text(ORDERS)
    (folder / "test_orders.py").write_text(TEST.format(at_least=0.9))
    pytester.runpytest_subprocess(*OPTIONS, folder).assert_outcomes(passed=1)


def test_a_file_that_is_not_there_fails_with_where_it_was_looked_for(pytester: pytest.Pytester) -> None:
    result = run(pytester, TEST.format(at_least=0.9))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*replay: there is no file orders.csv, neither in {pytester.path} nor in*"])


def test_the_plug_in_is_registered_under_its_own_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"stream_bayes": PLUGIN}


def test_loading_the_plug_in_imports_almost_nothing() -> None:
    """Every run of pytest loads it, where the package is installed."""
    code = f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {name for name in done.stdout.split() if name.startswith("stream_bayes")}
    assert loaded == {
        "stream_bayes",
        "stream_bayes._build",
        "stream_bayes.lazy_imports",
        "stream_bayes.testing",
        PLUGIN,
    }
    assert not {"numpy", "river", "msgspec"} & set(done.stdout.split())
