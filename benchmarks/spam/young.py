"""Young filters: 20 to 150 mails of each label in several orders, and the verdicts on later mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.checks import Check
from benchmarks.spam.filters import Corpus
from stream_bayes.mail import SpamFilter

__all__ = ["table_of_young", "young_checks", "young_filters"]

SIZES = (20, 30, 60, 100, 150)  # mails of each label
SEEDS = 4
LATER = 300  # mails of each label that are judged
HAM_LOST, SPAM_AS_HAM, CAUGHT, CAUGHT_FROM = 2.0, 10.0, 30.0, 60  # percent; mails of each label

Young = dict[tuple[int, str], list[float]]  # ham lost, spam called ham and spam caught, in percent


def young_filters(corpus: Corpus, settings: dict[str, Any]) -> Young:
    """Train filters on few mails in each order, and return the means over some draws of the corpus."""
    reader = SpamFilter(**settings)
    bags = [reader.bag_of(message) for message in corpus.messages]
    shares: dict[tuple[int, str], list[list[float]]] = {}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ham, spam = (
            rng.permutation(np.flatnonzero(corpus.spam == label)).tolist() for label in (False, True)
        )
        for size in SIZES:
            for name, mails in _orders(ham[:size], spam[:size]):
                model = SpamFilter(**settings)
                for number, is_spam in mails:
                    model.learn_one(bags[number], "spam" if is_spam else "ham")
                of_ham, of_spam = (
                    [model.verdict_one(bags[number]) for number in some[size : size + LATER]]
                    for some in (ham, spam)
                )
                shares.setdefault((size, name), []).append(
                    [
                        100 * of_ham.count("spam") / len(of_ham),
                        100 * of_spam.count("ham") / len(of_spam),
                        100 * of_spam.count("spam") / len(of_spam),
                    ]
                )
    return {key: np.mean(each, axis=0).tolist() for key, each in shares.items()}


def _orders(ham: Sequence[int], spam: Sequence[int]) -> Iterator[tuple[str, list[tuple[int, bool]]]]:
    hams, spams = [(number, False) for number in ham], [(number, True) for number in spam]
    half = len(spams) // 2
    yield "ham first", hams + spams
    yield "spam first", spams + hams
    yield "ham between", spams[:half] + hams + spams[half:]
    yield "alternating", [mail for pair in zip(hams, spams, strict=True) for mail in pair]


def table_of_young(shares: Young) -> Table:
    """Return a table with a row for each size and order."""
    table = Table(title=f"young filters, {SEEDS} draws of the corpus", title_justify="left")
    for name in ("mails of each", "order", "ham lost %", "spam called ham %", "spam caught %"):
        table.add_column(name, justify="left" if name == "order" else "right")
    for (size, order), each in shares.items():
        table.add_row(str(size), order, *(f"{share:.2f}" for share in each))
    return table


def young_checks(shares: Young) -> list[Check]:
    """Return the targets of each size, for its worst order."""
    checks = []
    for size in SIZES:
        lost, missed, caught = zip(*(each for (own, _), each in shares.items() if own == size), strict=True)
        name = f"{size} mails of each label, worst order"
        checks += [
            Check(name, f"ham lost: at most {HAM_LOST:g} %", f"{max(lost):.2f} %", max(lost) <= HAM_LOST),
            Check(
                name,
                f"spam called ham: at most {SPAM_AS_HAM:g} %",
                f"{max(missed):.1f} %",
                max(missed) <= SPAM_AS_HAM,
            ),
        ]
        if size >= CAUGHT_FROM:
            least = min(caught)
            checks.append(
                Check(name, f"spam caught: at least {CAUGHT:g} %", f"{least:.1f} %", least >= CAUGHT)
            )
    return checks
