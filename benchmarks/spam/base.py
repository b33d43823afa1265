"""`python -m benchmarks.spam.base BASE.jsonl.gz OWN.jsonl.gz`: filters that begin with the base of another corpus.

A filter learns up to 3,000 mails of the first corpus, and its base begins a filter that learns 0 to 500 mails of each
label of the second. A table compares it with one that begins with nothing, on later mails of the second corpus: the
1-ROCA% of the score, and the verdicts in percent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.spam.filters import Corpus
from benchmarks.spam.measures import roca
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.base_model import base_of

__all__ = ["compared"]

OWN = (0, 20, 60, 500)  # mails of each label
BASE_MAILS, LATER = 3_000, 400
SEEDS = 3


def compared(base: Corpus, own: Corpus) -> Table:
    """Return a table with a row for each number of own mails: means over some draws of the corpus."""
    teacher = SpamFilter()
    for number in np.random.default_rng(0).permutation(len(base.messages))[:BASE_MAILS].tolist():
        teacher.learn_one(base.messages[number], "spam" if base.spam[number] else "ham")
    prior = base_of(teacher).model
    table = Table(title="without the base, and with it; percent", title_justify="left")
    for name in ("own mails of each", "1-ROCA", "ham lost", "ham unsure", "spam caught", "spam called ham"):
        table.add_column(name, justify="right")
    rows = {number: ([], []) for number in OWN}  # type: dict[int, tuple[list[list[float]], list[list[float]]]]
    for seed in range(SEEDS):
        ham, spam = (
            np.random.default_rng(seed).permutation(np.flatnonzero(own.spam == label)).tolist()
            for label in (False, True)
        )
        most = min(len(ham), len(spam)) - LATER // 2  # some corpora have little spam
        later = [*ham[-LATER:], *spam[-min(LATER, len(spam) - most) :]]
        for begun in (0, 1):
            model = SpamFilter().add_prior(prior) if begun else SpamFilter()
            bags = {
                number: model.bag_of(own.messages[number]) for number in (*ham[:most], *spam[:most], *later)
            }
            learned = 0
            for number in OWN:
                for pair in list(zip(ham[:most], spam[:most], strict=False))[learned:number]:
                    for place, label in zip(pair, ("ham", "spam"), strict=True):
                        model.learn_one(bags[place], label, id=str(place))
                learned = number
                rows[number][begun].append(
                    _measured(model, [bags[place] for place in later], own.spam[later])
                )
    for number, both in rows.items():
        means = [np.mean(each, axis=0) for each in both]
        cells = [f"{one:.2f}, {other:.2f}" for one, other in zip(*means, strict=True)]
        table.add_row(str(min(number, most)), *cells)
    return table


def _measured(model: SpamFilter, bags: list[object], spam: np.ndarray) -> list[float]:
    scores = np.array([model.score_one(bag) for bag in bags])  # type: ignore[arg-type]  # bags of the filter
    verdicts = np.array([model.verdict_one(bag) for bag in bags])  # type: ignore[arg-type]  # the same
    of_ham, of_spam = verdicts[~spam], verdicts[spam]
    shares = (of_ham == "spam", of_ham == "unsure", of_spam == "spam", of_spam == "ham")
    return [roca(scores, spam), *(100 * float(share.mean()) for share in shares)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", type=Path)
    parser.add_argument("own", type=Path)
    given = parser.parse_args()
    Console().print(compared(Corpus.read(given.base), Corpus.read(given.own)))
