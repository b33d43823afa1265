"""`python -m benchmarks.guard`: count instructions, and fail if a path takes over 3 % more than in the baseline."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence

import stream_bayes
from benchmarks.guard import baseline
from benchmarks.guard.counting import CannotCount, count, environment, lowest
from benchmarks.guard.paths import PATHS

__all__ = ["main"]

LAYOUTS = 3  # of memory, in which a baseline is counted, and a path that takes more than its baseline


def report(before: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Print each path with its instructions for an event, and the change."""
    events = {path.name: path.events for path in PATHS}
    for name, number in now.items():
        change = f"{number / before[name] - 1.0:+8.2%}" if name in before else "     new"
        print(f"{name:28}{number / events[name]:14,.0f} {change}")


def skipped(reasons: Sequence[str]) -> int:
    """Say that nothing was compared."""
    print("\n".join(["== SKIPPED: instructions are not compared", *reasons]), file=sys.stderr)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print and compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", default="", help="only the paths that this finds")
    parser.add_argument("--renew", action="store_true", help="write the counts as the new baseline")
    options = parser.parse_args(arguments)
    names = [path.name for path in PATHS if re.search(options.only, path.name)]
    if not names:
        parser.error(f"no path matches {options.only!r}; there are: {', '.join(path.name for path in PATHS)}")
    if options.renew and options.only:
        parser.error("--renew counts all paths; leave --only out")
    if not stream_bayes.compiled:
        parser.error(
            "this is the uncompiled build of stream_bayes; run make setup, and unset STREAM_BAYES_PURE"
        )
    try:
        here = environment()
        entries = baseline.read(baseline.FILE)
        before = next((entry["instructions"] for entry in entries if entry["environment"] == here), None)
        if before is None and not options.renew:
            differing = [baseline.differences(here, entry["environment"]) for entry in entries]
            nearest = min(differing, key=len, default=["there is no baseline"])
            return skipped([*nearest, "to compare here, run this at the older commit: make bench-guard"])
        now = count(names)
        again = names if options.renew else [*baseline.slips(before or {}, now)]
        if again:
            now = lowest([now, *(count(again, layout) for layout in range(1, LAYOUTS + 1))])
    except CannotCount as reason:
        return skipped([str(reason)])
    report(before or {}, now)
    if options.renew:
        baseline.renew(baseline.FILE, here, now)
        return 0
    if wrong := baseline.slips(before or {}, now):
        print("\n".join(["", *wrong.values()]), file=sys.stderr)
        print(
            "make it faster, or say in the commit why it must take more and run: make bench-guard",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
