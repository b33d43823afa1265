"""Training by class, live: what the order of the labels costs on later mail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.checks import Check
from benchmarks.spam.filters import Corpus, size_of_batches
from benchmarks.spam.measures import roca
from stream_bayes.mail import SpamFilter

__all__ = ["Later", "by_class_checks", "later_mail", "table_of_later"]

MIXED = "mixed"
OF_MIXED = 1.2  # of the ham lost and the spam missed after mixed training
SEEDS = 5


class Later(NamedTuple):
    """The verdicts on later mail, summed over some random divisions of a corpus."""

    ham: int
    spam: int
    ham_lost: int
    spam_missed: int
    roca: float  # mean


def later_mail(corpus: Corpus, orders: Sequence[str], settings: dict[str, Any]) -> dict[str, Later]:
    """Train on two thirds of a corpus in each order, message by message, without a replay at the end; judge the rest.

    Parameters
    ----------
    corpus
        The messages.
    orders
        `ham-first`, `spam-first` or `batches:N`; a mixed order is added.
    settings
        Arguments of the filter.
    """
    reader = SpamFilter(**settings)
    bags = [reader.bag_of(message) for message in corpus.messages]
    found: dict[str, list[Later]] = {name: [] for name in (MIXED, *orders)}
    for seed in range(SEEDS):
        places = corpus.order(f"seed:{seed}")
        first, rest = places[: 2 * len(places) // 3], places[2 * len(places) // 3 :]
        spam = corpus.spam[rest]
        for name, runs in found.items():
            size = size_of_batches(name, len(first))
            if size is None and name != MIXED:
                raise SystemExit(f"an order by class is ham-first, spam-first or batches:N; got {name!r}")
            order = first if size is None else corpus.by_label(first, size, name == "spam-first")
            model = SpamFilter(**settings)
            for place in order:
                model.learn_one(bags[place], "spam" if corpus.spam[place] else "ham")
            called = np.array([model.verdict_one(bags[place]) == "spam" for place in rest])
            score = np.array([model.score_one(bags[place]) for place in rest])
            lost, missed = int((called & ~spam).sum()), int((~called & spam).sum())
            runs.append(Later(int((~spam).sum()), int(spam.sum()), lost, missed, roca(score, spam)))
    return {
        name: Later(
            ham=sum(run.ham for run in runs),
            spam=sum(run.spam for run in runs),
            ham_lost=sum(run.ham_lost for run in runs),
            spam_missed=sum(run.spam_missed for run in runs),
            roca=sum(run.roca for run in runs) / SEEDS,
        )
        for name, runs in found.items()
    }


def table_of_later(found: dict[str, Later]) -> Table:
    """Return a table with a row for each order."""
    table = Table(title=f"later mail, {SEEDS} divisions of the corpus", title_justify="left")
    for name in ("trained", "ham lost", "%", "spam missed", "%", "of mixed", "1-ROCA%"):
        table.add_column(name, justify="left" if name == "trained" else "right")
    for name, one in found.items():
        lost, missed = 100 * one.ham_lost / max(one.ham, 1), 100 * one.spam_missed / max(one.spam, 1)
        times = one.spam_missed / max(found[MIXED].spam_missed, 1)
        cells = (f"{one.ham_lost}", f"{lost:.3f}", f"{one.spam_missed}", f"{missed:.2f}", f"{times:.2f}")
        table.add_row(name, *cells, f"{one.roca:.4f}")
    return table


def by_class_checks(found: dict[str, Later]) -> list[Check]:
    """Return the targets of each order by class: ham lost and spam missed beside those of mixed training."""
    mixed = found[MIXED]
    return [
        Check(
            name,
            f"{what}: at most {OF_MIXED:g} of that of mixed training, or one more",
            f"{many} and {most}",
            many <= max(OF_MIXED * most, most + 1),
        )
        for name, one in found.items()
        if name != MIXED
        for what, many, most in (
            ("ham lost", one.ham_lost, mixed.ham_lost),
            ("spam missed", one.spam_missed, mixed.spam_missed),
        )
    ]
