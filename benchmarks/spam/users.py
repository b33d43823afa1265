"""`python -m benchmarks.spam.users CORPUS.jsonl.gz ...`: users' filters over that of their site.

Each corpus is the mail of one user. The site learns 500 mails of each; then each user labels 0 to 200 mails more. A
table shows how well the site judges the user's later mail, and the user's filter over it: the 1-ROCA% of the score, and
the verdicts in percent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.spam.base import COLUMNS, measured
from benchmarks.spam.filters import Corpus
from stream_bayes.mail import SpamFilter, UserFilter

__all__ = ["compared"]

SITE, LATER = 500, 1_000  # mails of each user
OWN = (0, 20, 60, 200)  # mails, as they come


def compared(corpora: dict[str, Corpus]) -> Table:
    """Return a table with rows for each user."""
    site = SpamFilter()
    mails = {}
    for name, corpus in corpora.items():
        order = np.random.default_rng(0).permutation(len(corpus.messages))[: SITE + max(OWN) + LATER]
        mails[name] = [
            (site.bag_of(corpus.messages[place]), bool(corpus.spam[place])) for place in order.tolist()
        ]
    for place in range(SITE):
        for own in mails.values():
            site.learn_one(own[place][0], "spam" if own[place][1] else "ham")
    site.replay()
    table = Table(title="users' filters over the site's; percent", title_justify="left")
    for name in ("user", "own mails", *COLUMNS):
        table.add_column(name, justify="left" if name == "user" else "right")
    for name, own in mails.items():
        user, later = UserFilter(site), own[SITE + max(OWN) :]
        bags, spam = [bag for bag, _ in later], np.array([label for _, label in later])
        for number in OWN:
            for bag, label in own[SITE + user.clock : SITE + number]:
                user.learn_one(bag, "spam" if label else "ham")
            table.add_row(name, str(number), *(f"{value:.2f}" for value in measured(user, bags, spam)))
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=Path, nargs="+")
    Console().print(
        compared({path.name.partition(".")[0]: Corpus.read(path) for path in parser.parse_args().corpora})
    )
