"""`python -m benchmarks.spam.wrong_labels CORPUS.jsonl.gz ...`: what wrong labels cost the spam filter.

Each mail of a corpus is judged, then learned, in some random orders, while a share of the labels is wrong:

- *both*: of all mails, as by mistakes of any kind;
- *spam pressed*: of the ham, labelled spam;
- *ham pressed*: of the spam, labelled ham;
- *newsletters*: of the ham, all from a few lists or senders: half of their mails are labelled spam.

The table has means over the orders, in percent, of the mails after the first 500, judged by the right labels: ham
called spam, spam not called spam, spam called ham, and 1-ROCA%. An order draws its own mistakes.
"""

from __future__ import annotations

import argparse
import email
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.checks import Check, show
from benchmarks.spam.filters import Corpus, with_wrong_labels
from benchmarks.spam.measures import roca, settled
from stream_bayes.mail import SpamFilter

__all__ = ["KINDS", "compared", "mistakes"]

Array = NDArray[Any]
SHARES = (0.01, 0.03, 0.1)
COLUMNS = ("ham lost", "spam missed", "spam called ham", "1-ROCA")


def _both(corpus: Corpus, share: float, seed: int) -> Array:
    return with_wrong_labels(corpus.spam, share, seed)


def _spam_pressed(corpus: Corpus, share: float, seed: int) -> Array:
    pressed: Array = corpus.spam | with_wrong_labels(corpus.spam, share, seed)
    return pressed


def _ham_pressed(corpus: Corpus, share: float, seed: int) -> Array:
    pressed: Array = corpus.spam & with_wrong_labels(corpus.spam, share, seed)
    return pressed


def _newsletters(corpus: Corpus, share: float, seed: int) -> Array:
    """Label half of the mails of some lists and senders spam, until there are enough of them."""
    rng = np.random.default_rng(seed)
    origins = [
        "" if spam or isinstance(message, str) else _origin(message)
        for message, spam in zip(corpus.messages, corpus.spam, strict=True)
    ]
    labels, wanted = corpus.spam.copy(), share * float((~corpus.spam).sum())
    for origin in rng.permutation(sorted(set(origins) - {""})).tolist():
        places = np.array([place for place, name in enumerate(origins) if name == origin])
        labels[places[rng.random(len(places)) < 0.5]] = True
        if (labels & ~corpus.spam).sum() >= wanted:
            break
    return labels


def _origin(raw: bytes) -> str:
    """Return the list that a mail is from, or its sender."""
    mail = email.message_from_bytes(raw)
    return str(mail["List-Id"] or mail["From"] or "").strip().lower()


KINDS: dict[str, Callable[[Corpus, float, int], Array]] = {
    "both": _both,
    "spam pressed": _spam_pressed,
    "ham pressed": _ham_pressed,
    "newsletters": _newsletters,
}


def mistakes(corpus: Corpus, kind: str, share: float, seed: int) -> Array:
    """Return the labels of a corpus with a share of mistakes of a kind."""
    return KINDS[kind](corpus, share, seed)


def measured(bags: Sequence[Any], spam: Array, labels: Array, order: Sequence[int]) -> list[float]:
    """Return what `COLUMNS` names, of a filter that judges mails in an order and learns these labels."""
    model = SpamFilter()
    scores, verdicts = [], []
    for place in order:
        bag = bags[place]
        scores.append(model.score_one(bag))
        verdicts.append(model.verdict_one(bag))
        model.learn_one(bag, "spam" if labels[place] else "ham", id=str(place))
    truth = spam[list(order)]
    start = settled(truth)
    late, verdict, score = truth[start:], np.array(verdicts)[start:], np.array(scores)[start:]
    of_ham, of_spam = verdict[~late], verdict[late]
    shares = of_ham == "spam", of_spam != "spam", of_spam == "ham"
    return [*(100 * float(each.mean()) for each in shares), roca(score, late)]


def compared(
    name: str, corpus: Corpus, kinds: Sequence[str], shares: Sequence[float], seeds: Sequence[int]
) -> tuple[Table, list[Check]]:
    """Return a table with a row for each kind and share of mistakes, and whether no more ham is lost."""
    reader = SpamFilter()
    bags = [reader.bag_of(message) for message in corpus.messages]
    table = Table(title=f"{name}, {len(bags):,} mails; percent", title_justify="left")
    table.add_column("mistakes")
    for column in ("share", *COLUMNS):
        table.add_column(column, justify="right")
    orders = [np.random.default_rng(seed).permutation(len(bags)).tolist() for seed in seeds]

    def add(kind: str, share: float, labels: Sequence[Array]) -> float:
        rows = [measured(bags, corpus.spam, each, order) for each, order in zip(labels, orders, strict=True)]
        means = np.mean(rows, axis=0).tolist()
        table.add_row(kind, f"{100 * share:g} %", *(f"{mean:.3f}" for mean in means))
        return float(means[0])

    right = add("none", 0.0, [corpus.spam for _ in seeds])
    one = 100 / (~corpus.spam).sum()
    checks = []
    for kind in kinds:
        for share in shares:
            labels = [mistakes(corpus, kind, share, seed) for seed in seeds]
            if all((each == corpus.spam).all() for each in labels):
                continue  # messages without senders
            lost = add(kind, share, labels)
            what = f"{kind}, {100 * share:g} %: no more ham lost than with right labels, or a mail more"
            checks.append(Check(name, what, f"{lost:.3f} % against {right:.3f} %", lost <= right + one))
    return table, checks


def main() -> None:
    """Print a table for each corpus, and the checks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="may be given again")
    parser.add_argument("--share", action="append", type=float, help="may be given again")
    parser.add_argument("--seeds", default="0:3", metavar="FIRST:END", help="of the orders; default: 0:3")
    given = parser.parse_args()
    first, end = map(int, given.seeds.split(":"))
    checks: list[Check] = []
    for path in given.corpora:
        table, found = compared(
            path.name.partition(".")[0],
            Corpus.read(path),
            given.kind or list(KINDS),
            given.share or SHARES,
            range(first, end),
        )
        Console().print(table)
        checks += found
    show(checks, Console())


if __name__ == "__main__":
    main()
