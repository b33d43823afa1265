"""`python -m stream_bayes.testing [LEARNER ...]`: check public learners, a line each; exit code 1 if a law is broken.

Without names, every learner is checked, those of other installed packages too. With `--once` each class is checked in
one setting alone: enough to see that an installed package works.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from stream_bayes import compiled
from stream_bayes.checked_names import check_known
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import SEVERAL_LABELS, UNLABELLED
from stream_bayes.testing.laws import checks_of, without_laws
from stream_bayes.testing.public_learners import learners, regressors


def main(arguments: Sequence[str] | None = None) -> int:
    """Check learners, each core one at a time; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m stream_bayes.testing", description="Check that learners obey their laws."
    )
    parser.add_argument("learner", nargs="*", help="class of a learner, such as AODE; all by default")
    parser.add_argument("--once", action="store_true", help="check each class in one setting alone")
    options = parser.parse_args(arguments)
    by_class: dict[str, list[str]] = {}
    for label in _settings():
        by_class.setdefault(label.partition("(")[0], []).append(label)
    try:
        for name in options.learner:
            if name in UNLABELLED or name in SEVERAL_LABELS:
                parser.error(without_laws(name))
            check_known("learner", name, by_class)
    except BadValue as error:
        parser.error(str(error))
    chosen = [by_class[name][: 1 if options.once else None] for name in options.learner or by_class]
    labels = [label for settings in chosen for label in settings]
    sys.stdout.write(f"the {'compiled' if compiled else 'uncompiled'} build\n")
    broken = 0
    with ProcessPoolExecutor() as pool:
        for label, (laws, seconds, faults) in zip(labels, pool.map(_checked, labels), strict=True):
            broken += bool(faults)
            verdict = "" if not faults else "  BROKEN"
            sys.stdout.write(f"{label:<60} {laws:>3} laws {seconds:6.1f} s{verdict}\n")
            for fault in faults:
                sys.stdout.write(f"    {fault}\n")
            sys.stdout.flush()
    return min(broken, 1)


def _settings() -> dict[str, Any]:
    return {**learners(), **regressors()}


def _checked(label: str) -> tuple[int, float, list[str]]:
    """Return the number of laws that bind a learner, the seconds to check them, and the laws it breaks."""
    checks = checks_of(_settings()[label])
    start, faults = time.perf_counter(), []
    for check in checks:
        try:
            check(0)
        except AssertionError as error:
            faults.append(str(error))
    return len(checks), time.perf_counter() - start, faults


if __name__ == "__main__":
    sys.exit(main())
