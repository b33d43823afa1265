"""Settings of all tests, and the check that they run on the build they were meant for."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import hypothesis
import pytest

import stream_bayes
from tests.builds import EVERYTHING, build_in_use

# Before numpy is loaded, and for processes that tests start. Threads of linear algebra wait for one another by
# spinning: beside a process that computes, regressions took three times the processor's time, and four times as long.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# Times differ a hundredfold between the compiled and the uncompiled build; a deadline would only be noise.
# The same examples in every run: a change is judged by what it changed. New ones are looked for by `make soak`.
# Fewer of them on the builds that are not for users.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    print_blob=True,
    derandomize=True,
    max_examples=30 if EVERYTHING else 10,
)
hypothesis.settings.register_profile("soak", deadline=None, print_blob=True, max_examples=5000)
hypothesis.settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--build",
        choices=["compiled", "pure", "checked"],
        help="stop unless the stream_bayes that is imported is this build",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector of garbage pass over the tests themselves: looking through all of them, again and again while
    they run, took a sixth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_report_header() -> str:
    return f"stream_bayes: {build_in_use()} build, {stream_bayes.__path__[0]}"


def pytest_sessionstart(session: pytest.Session) -> None:
    wanted = session.config.getoption("--build")
    if wanted not in (None, build_in_use()):
        raise pytest.UsageError(
            f"these tests are for the {wanted} build of stream_bayes, "
            f"but {stream_bayes.__file__} is the {build_in_use()} one"
        )
