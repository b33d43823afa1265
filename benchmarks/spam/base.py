"""`python -m benchmarks.spam.base OTHERS.jsonl.gz OWN.jsonl.gz`: filters that begin with the mail of others.

A filter learns up to 3,000 mails of the first corpus. Of the second corpus 0 to 500 mails of each label are learned by
a filter that begins with nothing, and by one that begins with the base of the first filter. A table compares them on
later mails of the second corpus: the 1-ROCA% of the score, and the verdicts in percent.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.spam.filters import Corpus
from benchmarks.spam.measures import roca
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.base_model import base_of

__all__ = ["COLUMNS", "compared", "measured"]

OWN = (0, 20, 60, 500)  # mails of each label
OTHERS, LATER = 3_000, 400
SEEDS = 3
COLUMNS = ("1-ROCA", "ham lost", "ham unsure", "spam caught", "spam called ham")


def compared(others: Corpus, own: Corpus) -> Table:
    """Return a table with a row for each number of own mails: means over some draws of the corpus."""
    site = SpamFilter()
    for number in np.random.default_rng(0).permutation(len(others.messages))[:OTHERS].tolist():
        site.learn_one(others.messages[number], "spam" if others.spam[number] else "ham")
    site.replay()
    prior = base_of(site).model
    table = Table(title="without the base, and with it; percent", title_justify="left")
    table.add_column("own mails of each", justify="right")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    rows: dict[int, list[list[list[float]]]] = {number: [[], []] for number in OWN}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ham, spam = (rng.permutation(np.flatnonzero(own.spam == label)).tolist() for label in (False, True))
        most = min(len(ham), len(spam)) - LATER // 2  # some corpora have little spam
        later = [*ham[-LATER:], *spam[most:][:LATER]]
        begun = SpamFilter(), SpamFilter().add_prior(prior)
        for each, model in enumerate(begun):
            bags = {
                number: model.bag_of(own.messages[number]) for number in (*ham[:most], *spam[:most], *later)
            }
            learned = 0
            for number in OWN:
                for pair in list(zip(ham[:most], spam[:most], strict=False))[learned:number]:
                    for place, label in zip(pair, ("ham", "spam"), strict=True):
                        model.learn_one(bags[place], label, id=str(place))
                learned = number
                rows[number][each].append(measured(model, [bags[place] for place in later], own.spam[later]))
    for number, drawn in rows.items():
        means = [np.mean(each, axis=0).tolist() for each in drawn]
        table.add_row(
            str(min(number, most)),
            *(", ".join(f"{value:.2f}" for value in column) for column in zip(*means, strict=True)),
        )
    return table


def measured(model: SpamFilter, bags: list[Any], spam: NDArray[np.bool_]) -> list[float]:
    """Return the 1-ROCA% of a filter on some bags, and the shares of its verdicts in percent, as `COLUMNS`."""
    scores = np.array([model.score_one(bag) for bag in bags])
    verdicts = np.array([model.verdict_one(bag) for bag in bags])
    of_ham, of_spam = verdicts[~spam], verdicts[spam]
    shares = (of_ham == "spam", of_ham == "unsure", of_spam == "spam", of_spam == "ham")
    return [roca(scores, spam), *(100 * float(share.mean()) for share in shares)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("others", type=Path)
    parser.add_argument("own", type=Path)
    given = parser.parse_args()
    Console().print(compared(Corpus.read(given.others), Corpus.read(given.own)))
