"""Targets of the spam filter, on any corpus and in any order, with its default configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.checks import Check
from benchmarks.spam.attack import Falls
from benchmarks.spam.filters import Order
from benchmarks.spam.measures import Measures, over
from benchmarks.spam.rewriting import Judged

__all__ = ["attack_checks", "checks_of", "rewriting_checks"]

PEER = "bogofilter"
OF_PEER = 0.6  # of its 1-ROCA
OF_PEER_SPEED = 0.8
HAM_LOST, SPAM_MISSED = 0.1, 8.0  # percent
OF_LEAST_COST = 1.2
A_SECOND = {True: 2_000, False: 600}  # messages learned and classified, with the fast parser and without
MEMORY, TOKENS = 40.0, 150_000  # MB for so many
ACCURACY_LOST, OF_UNCAPPED = 2.0, 0.5
OF_CATCH = 0.9  # of the spams caught as they came, each rewriting of them


def checks_of(corpus: str, orders: Sequence[Order], found: Sequence[Measures], fast: bool) -> list[Check]:
    """Return the targets for all orders together.

    Parameters
    ----------
    corpus
        Its name.
    orders
        The orders, with a run of each filter.
    found
        The measures of this package in each order.
    fast
        True if fast-mail-parser decoded the messages.
    """

    def mean(name: str) -> float:
        return float(np.mean([one[name] for one in found]))

    def at_most(name: str, most: float, unit: str = "") -> Check:
        return Check(corpus, f"{name}: at most {most:g}{unit}", f"{mean(name):.3g}{unit}", mean(name) <= most)

    speed, least = max(one["messages/s of processor time"] for one in found), A_SECOND[fast]
    held = max(one["memory, MB"] * min(1.0, TOKENS / one["tokens"]) for one in found)
    return [
        *_beside(corpus, orders),
        at_most("ham lost %", HAM_LOST),
        at_most("spam missed %", SPAM_MISSED),
        *(at_most(f"cost {times}:1, over the best", OF_LEAST_COST, "x") for times in (9, 99)),
        Check(corpus, f"messages/s of processor time: at least {least:,}", f"{speed:,.0f}", speed >= least),
        Check(
            corpus,
            f"memory: at most {MEMORY:g} MB for up to {TOKENS:,} tokens",
            f"{held:.3g} MB",
            held <= MEMORY,
        ),
    ]


def _beside(corpus: str, orders: Sequence[Order]) -> list[Check]:
    if any(PEER not in order.runs for order in orders):
        return []
    ratio, low, high = over(orders, PEER)
    checks = [
        Check(
            corpus,
            f"1-ROCA over {PEER}'s: at most {OF_PEER}, its interval below 1",
            f"{ratio:.3g} [{low:.3g}, {high:.3g}]",
            ratio <= OF_PEER and high < 1,
        )
    ]
    times = [(next(iter(order.runs.values())).seconds, order.runs[PEER].seconds) for order in orders]
    if all(mine and theirs for mine, theirs in times):
        speed = max(theirs / mine for mine, theirs in times)
        checks.append(
            Check(
                corpus,
                f"messages/s of processor time over {PEER}'s in bulk: at least {OF_PEER_SPEED}",
                f"{speed:.2f}",
                speed >= OF_PEER_SPEED,
            )
        )
    return checks


def attack_checks(corpus: str, capped: Falls, uncapped: Falls) -> list[Check]:
    """Return the targets when one message in a hundred is hostile."""
    share = capped.rank / uncapped.rank if uncapped.rank > 0 else float("inf")
    return [
        Check(
            corpus,
            f"accuracy falls by less than {ACCURACY_LOST:g} points",
            f"{capped.accuracy:.3g}",
            capped.accuracy < ACCURACY_LOST,
        ),
        Check(
            corpus,
            f"1-ROCA% rises by less than {OF_UNCAPPED:g} of what it rises by without the cap",
            f"{share:.3g}",
            share < OF_UNCAPPED,
        ),
    ]


def rewriting_checks(
    corpus: str, caught: dict[str, Judged], peer: dict[str, Judged] | None = None
) -> list[Check]:
    """Return the targets of each rewriting; the first counts are those of the spams as they came."""
    (_, plain), *rest = caught.items()
    checks = [
        Check(
            corpus,
            f"{name}: at least {OF_CATCH:g} of the catch",
            f"{many.spam} of {plain.spam}",
            many.spam >= OF_CATCH * plain.spam,
        )
        for name, many in rest
    ]
    return checks + [
        Check(
            corpus,
            f"{name}: no more called ham than by {PEER}",
            f"{caught[name].ham} and {theirs.ham}",
            caught[name].ham <= theirs.ham,
        )
        for name, theirs in (peer or {}).items()
    ]
