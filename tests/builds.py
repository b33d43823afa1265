"""Which build the tests run on, and so how much of what.

The compiled build is the one that users have: there every example is run, and every class of learner obeys every law.
The other two can break in one way each, and are asked for that alone, on fewer examples: the uncompiled one computes
another figure, the one that checks bounds finds an index beyond a table.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import stream_bayes

__all__ = ["ASKS_NO_KERNEL", "EVERYTHING", "UNCOMPILED", "build_in_use", "examples"]


def build_in_use() -> str:
    """The name of the build, by its place too: only `make test` puts one under build/checked."""
    if not stream_bayes.compiled:
        return "pure"
    return "checked" if Path(stream_bayes.__file__).parts[-4:-2] == ("build", "checked") else "compiled"


EVERYTHING = build_in_use() == "compiled"  # every example, every setting
UNCOMPILED = build_in_use() == "pure"
# What Python around the kernels does is the same on every build.
ASKS_NO_KERNEL = pytest.mark.skipif(not EVERYTHING, reason="asks no kernel: the compiled build runs it")


def examples(count: int) -> int:
    """Return how many examples of hypothesis run on this build: a fifth on those that are not for users."""
    return count if EVERYTHING else max(count // 5, 3)
