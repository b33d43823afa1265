"""Which build the tests run on, and so how much of what.

The compiled build is the one that users have: there every example is run, and every learner obeys every law. On the
uncompiled one and on the one that checks bounds the same tests show that they compute the same, on fewer examples.
"""

from __future__ import annotations

from pathlib import Path

import stream_bayes

__all__ = ["EVERYTHING", "build_in_use"]


def build_in_use() -> str:
    """The name of the build, by its place too: only `make test` puts one under build/checked."""
    if not stream_bayes.compiled:
        return "pure"
    return "checked" if Path(stream_bayes.__file__).parts[-4:-2] == ("build", "checked") else "compiled"


EVERYTHING = build_in_use() == "compiled"  # every example, every setting
