"""`python -m stream_bayes.testing`: check every public learner, a line each; exit code 1 if a law is broken.

With `--once` each class is checked in one setting alone: enough to see that an installed package works.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor

from stream_bayes import compiled
from stream_bayes.testing.laws import check_law, laws_of
from stream_bayes.testing.public_learners import learners


def main(once: bool) -> int:
    """Check every learner, each core one at a time; the number of those that break a law."""
    sys.stdout.write(f"the {'compiled' if compiled else 'uncompiled'} build\n")
    names = list(learners())
    if once:
        names = list({name.split("(")[0]: name for name in reversed(names)}.values())[::-1]
    broken = 0
    with ProcessPoolExecutor() as pool:
        for name, (laws, seconds, faults) in zip(names, pool.map(checked, names), strict=True):
            broken += bool(faults)
            verdict = "" if not faults else "  BROKEN"
            sys.stdout.write(f"{name:<60} {laws:>3} laws {seconds:6.1f} s{verdict}\n")
            for fault in faults:
                sys.stdout.write(f"    {fault}\n")
            sys.stdout.flush()
    return broken


def checked(name: str) -> tuple[int, float, list[str]]:
    """Return the number of laws that bind a learner, the seconds to check them, and the laws it breaks."""
    learner = learners()[name]
    start, faults = time.perf_counter(), []
    for law in laws_of(learner):
        try:
            check_law(law, learner)
        except AssertionError as error:
            faults.append(str(error))
    return len(laws_of(learner)), time.perf_counter() - start, faults


if __name__ == "__main__":
    sys.exit(min(main(once="--once" in sys.argv[1:]), 1))
