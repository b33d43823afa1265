"""`python -m benchmarks.spam CORPUS.jsonl.gz --order seed:0`: the spam filter beside others, predicting, then learning.

A corpus is gzip JSON lines, a message a line: `label` ("ham" or "spam") and `raw` (the bytes of the message as Latin-1)
or `text` (a short message); for `--order time` also `time`, for `--order rand` `rand`. All filters see the same
messages in the same order. bogofilter (run where it is installed) gets `-TT -C` and is trained on every message; its
start of a process for each is not counted against it: its speed is that of training and classifying all files at once,
in bulk. Speeds are messages for each second of processor time. SpamAssassin's Bayes (where `sa-learn` is installed)
gives its probability alone, without any other rule, and none before 200 messages of each label. The memory of ours is
tables and texts of tokens, of River's all objects, of the others' their databases. A table at the end lists the targets
and which of them hold.

1-ROCA% is 100 (1 - area under the ROC curve) of the score, as in the TREC spam track: lower is better. Intervals are
paired bootstraps over messages; after several orders also of the means over them, with the same draws in each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import stream_bayes
from benchmarks.checks import Check, show
from benchmarks.spam.attack import START, dictionary, falls, table_of, uncapped
from benchmarks.spam.by_class import by_class_checks, later_mail, table_of_later
from benchmarks.spam.costs import one_threshold
from benchmarks.spam.filters import (
    OTHERS,
    Corpus,
    Message,
    Order,
    Run,
    bogofilter_alone,
    ours,
    ours_alone,
    with_wrong_labels,
)
from benchmarks.spam.measures import Measures, measures, over, roca, settled
from benchmarks.spam.rewriting import caught, split, table_of_rewritings, with_few_headers
from benchmarks.spam.targets import PEER, attack_checks, checks_of, rewriting_checks
from benchmarks.spam.young import table_of_young, young_checks, young_filters
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.text.transfer_encodings import fast_parser_is_installed

__all__ = ["main"]


def compared(
    corpus: Corpus, name: str, alone: bool, settings: dict[str, Any], wrong: tuple[float, int], delay: int
) -> Order:
    """Run each filter over the messages in one order; a share of labels may be wrong, or all of them come late.

    `wrong` is that share, and the seed by which they are drawn.
    """
    places = corpus.order(name)
    labels = with_wrong_labels(corpus.spam, *wrong)
    stream = [(corpus.messages[place], bool(labels[place])) for place in places]
    others = [] if alone else installed()
    runs = [ours(stream, delay=delay, **settings), *(other(stream, delay) for other in others)]
    return Order(name, places, corpus.spam[places], {run.name: run for run in runs})


def installed() -> list[Callable[[Sequence[Message], int], Run]]:
    """Return the other filters that can be run here."""
    return [run for program, run in OTHERS.items() if program is None or shutil.which(program)]


def report(order: Order, found: Sequence[Measures], title: str) -> Table:
    """Return a table of the measures, a column for each filter."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in order.runs:
        table.add_column(name, justify="right")
    for name in found[0]:
        table.add_row(name, *(f"{one[name]:.4g}" if name in one else "" for one in found))
    for other in list(order.runs)[1:]:
        table.add_row(f"1-ROCA over {other}'s", interval(over([order], other)))
    return table


def interval(found: tuple[float, float, float]) -> str:
    """Format a ratio with its 95 % interval."""
    ratio, low, high = found
    return f"{ratio:.3g} [{low:.3g}, {high:.3g}]"


def together(orders: Sequence[Order], found: Sequence[Measures], console: Console) -> None:
    """Print costs against those of one threshold for all orders, and mean ratios to the other filters."""
    late = [
        (np.array(_first(order).score)[settled(order.spam) :], order.spam[settled(order.spam) :])
        for order in orders
    ]
    for times in (9, 99):
        ratios = [one[f"cost {times}:1, over the best"] for one in found]
        mean, worst = one_threshold(late, times)
        console.print(
            f"cost {times}:1 over the best threshold of each of {len(late)} orders: mean {np.mean(ratios):.3g}, "
            f"worst {max(ratios):.3g}; of one threshold for all, known afterwards: {mean:.3g}, {worst:.3g}"
        )
    for other in list(orders[0].runs)[1:]:
        console.print(f"mean 1-ROCA over {other}'s, {len(orders)} orders: {interval(over(orders, other))}")


def _first(order: Order) -> Run:
    return next(iter(order.runs.values()))


def attacked(corpus: Corpus, name: str, words: int, settings: dict[str, Any]) -> tuple[Table, list[Check]]:
    """Measure the damage of one per cent of hostile messages, with and without the cap on long messages."""
    stream = [(corpus.messages[place], bool(corpus.spam[place])) for place in corpus.order(name)]
    ham = [message for message, spam in stream if not spam]
    hostile = dictionary(ham, len(stream), words, 0.01)
    start = min(START, len(stream) // 2)
    truth = np.array([spam for _, spam in stream])[start:]

    def accuracy_and_roca(run: Run) -> tuple[float, float]:
        right = (np.array(run.probability)[start:] > 0.5) == truth
        return 100 * float(right.mean()), roca(np.array(run.score)[start:], truth)

    found = {"capped": {"honest": accuracy_and_roca(ours(stream, **settings))}, "uncapped": {}}
    found["capped"]["attacked"] = accuracy_and_roca(ours(stream, hostile, **settings))
    with uncapped() as without:
        found["uncapped"]["honest"] = accuracy_and_roca(ours(stream, **settings | without))
        found["uncapped"]["attacked"] = accuracy_and_roca(ours(stream, hostile, **settings | without))
    what = f"order {name}, {len(hostile)} hostile messages of {words:,} words, from message {start} on"
    checks = attack_checks(what, falls(found["capped"]), falls(found["uncapped"]))
    return table_of(found, what), checks


def disguised(
    corpus: Corpus, name: str, alone: bool, settings: dict[str, Any], few_headers: bool
) -> tuple[Table, list[Check]]:
    """Count the spams that are still caught when they are rewritten, by ours and by bogofilter."""
    stream = [(corpus.messages[place], bool(corpus.spam[place])) for place in corpus.order(name)]
    if few_headers:
        stream = [
            (with_few_headers(message) if isinstance(message, bytes) else message, spam)
            for message, spam in stream
        ]
    learned, spams = split(stream)
    found = {"SpamFilter": caught(ours_alone(settings), learned, spams)}
    if not alone and shutil.which(PEER):
        with bogofilter_alone() as other:
            found[PEER] = caught(other, learned, spams)
    what = f"order {name}, {'few' if few_headers else 'all'} headers"
    return table_of_rewritings(found, len(spams), what), rewriting_checks(
        what, found["SpamFilter"], found.get(PEER)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the filters over a corpus, and print measures and checks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam", description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument(
        "--order",
        action="append",
        help="file, time, rand, seed:N, ham-first, spam-first or batches:N (of a label in turn); may be given again",
    )
    parser.add_argument(
        "--wrong-labels", type=float, default=0.0, metavar="SHARE", help="the share of labels learned wrong"
    )
    parser.add_argument(
        "--wrong-seed", type=int, default=0, metavar="SEED", help="which labels are wrong; default: 0"
    )
    parser.add_argument("--alone", action="store_true", help="leave other filters out")
    parser.add_argument(
        "--delay", type=int, default=0, metavar="MESSAGES", help="a label is learned so many messages later"
    )
    parser.add_argument(
        "--rewritten",
        action="store_true",
        help="count the spams that are caught when they hide words or letters; nothing else is run",
    )
    parser.add_argument(
        "--later",
        action="store_true",
        help="train by class in each order, and judge later mail, beside mixed training; nothing else is run",
    )
    parser.add_argument(
        "--young",
        action="store_true",
        help="train on 20 to 150 mails of each label, and judge later mail; nothing else is run",
    )
    parser.add_argument("--parser", default="auto", help="what decodes messages: auto, fast or standard")
    parser.add_argument("--train", default="everything", choices=SpamFilter.TRAINING)
    parser.add_argument(
        "--tokens-alone", action="store_true", help="without the second opinion by 4-grams of characters"
    )
    parser.add_argument(
        "--hostile",
        type=int,
        metavar="WORDS",
        help="what 1 %% of hostile spam with so many words of ham costs; nothing else is run",
    )
    parser.add_argument("--json", type=Path, help="write every score to this file")
    given = parser.parse_args(arguments)
    if not stream_bayes.compiled:
        print(
            "the uncompiled build is slow, and its times mean nothing: install without STREAM_BAYES_PURE",
            file=sys.stderr,
        )
        return 2
    corpus, console = Corpus.read(given.corpus), Console()
    names = given.order or ["file"]
    opinion = False if given.tokens_alone else None
    settings = {"train": given.train, "parser": given.parser, "second_opinion": opinion}
    if given.young:
        young = young_filters(corpus, settings)
        console.print(table_of_young(young))
        show(young_checks(young), console)
        return 0
    if given.later:
        later = later_mail(corpus, names, settings)
        console.print(table_of_later(later))
        show(by_class_checks(later), console)
        return 0
    if given.hostile or given.rewritten:
        checks: list[Check] = []
        for name in names:
            if given.hostile:
                tables = [attacked(corpus, name, given.hostile, settings)]
            else:
                tables = [disguised(corpus, name, given.alone, settings, few) for few in (False, True)]
            for table, held in tables:
                console.print(table)
                checks += held
        show(checks, console)
        return 0
    orders, found = [], []
    for name in names:
        wrong = (given.wrong_labels, given.wrong_seed)
        order = compared(corpus, name, given.alone, settings, wrong, given.delay)
        measured = [measures(run, order.spam) for run in order.runs.values()]
        size = f"{len(order.places):,} messages, {order.spam.sum():,} spam"
        console.print(report(order, measured, f"{given.corpus.name}, order {name}: {size}"))
        orders.append(order)
        found.append(measured[0])
    if not given.alone and PEER not in orders[0].runs:
        console.print(f"{PEER} is not installed, and so not compared")
    if len(orders) > 1:
        together(orders, found, console)
    fast = given.parser != "standard" and fast_parser_is_installed()
    show(checks_of(given.corpus.name, orders, found, fast), console)
    if given.json is not None:
        scores = {
            order.name: {
                name: {"score": run.score, "verdict": run.verdict} for name, run in order.runs.items()
            }
            for order in orders
        }
        given.json.write_text(json.dumps(scores), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
