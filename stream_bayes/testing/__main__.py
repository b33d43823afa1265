"""`python -m stream_bayes.testing`: check every public learner, a line each; the exit code says whether all obey."""

from __future__ import annotations

import sys
import time

from stream_bayes import compiled
from stream_bayes.testing.laws import check_law, laws_of
from stream_bayes.testing.listing import learners


def main() -> int:
    """Check every learner; the number of those that break a law."""
    sys.stdout.write(f"the {'compiled' if compiled else 'uncompiled'} build\n")
    broken = 0
    for name, learner in learners().items():
        start, faults = time.perf_counter(), []
        for law in laws_of(learner):
            try:
                check_law(law, learner)
            except AssertionError as error:
                faults.append(str(error))
        broken += bool(faults)
        told = "" if not faults else "  BROKEN"
        sys.stdout.write(
            f"{name:<60} {len(laws_of(learner)):>3} laws {time.perf_counter() - start:6.1f} s{told}\n"
        )
        for fault in faults:
            sys.stdout.write(f"    {fault}\n")
        sys.stdout.flush()
    return broken


if __name__ == "__main__":
    sys.exit(min(main(), 1))
