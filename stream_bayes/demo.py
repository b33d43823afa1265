"""`make demo`: a spam filter on made-up mails, then models side by side on a stream, with tables and a picture.

python -m stream_bayes.demo                     the spam filter; then River's ImageSegments, about half a minute
python -m stream_bayes.demo phishing            another of the streams that ship with River
python -m stream_bayes.demo --into directory    where what is written goes; build/demo if not given
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import track
from rich.table import Table
from river import feature_extraction, naive_bayes

from stream_bayes._build import is_compiled
from stream_bayes.cli.app import app
from stream_bayes.cli.comparison.request import DATASETS
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.private_files import write_private
from stream_bayes.testing.mails import made_up_mails

MODELS = ("nb", "tan", "aode", "live-choice", "river-gaussian-nb", "river-hoeffding-tree")
MAILS = 2_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Classify mails and compare models, then print what was written and what to try next."""
    parser = argparse.ArgumentParser(
        prog="python -m stream_bayes.demo", description="A spam filter, and models side by side on a stream."
    )
    parser.add_argument("stream", nargs="?", default="image-segments", choices=DATASETS)
    parser.add_argument("--into", type=Path, default=Path("build/demo"))
    parser.add_argument("--mails", type=int, default=MAILS, help="how many to make up")
    given = parser.parse_args(arguments)
    given.into.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"{'compiled' if is_compiled() else 'uncompiled'} build\n\n")
    judge_mails(given.mails, given.into)
    compare_models(given.stream, given.into)


def judge_mails(number: int, into: Path) -> None:
    """Classify each mail, then learn its label; explain one, correct one, and save the filter."""
    console, say = Console(), sys.stdout.write
    mails = list(made_up_mails(number))
    say(f"{number:,} mails, made up just now: each is judged, then learned\n")
    model = SpamFilter()
    peer: Any = feature_extraction.BagOfWords() | naive_bayes.MultinomialNB()
    verdicts: list[tuple[Any, str]] = []
    forced: list[tuple[Any, str]] = []
    answers: list[tuple[Any, str]] = []
    scores: list[tuple[float, float, bool]] = []  # ours, River's, and True for spam
    seconds = [0.0, 0.0]
    for raw, label in track(mails, "judging", console=Console(stderr=True), transient=True):
        text = raw.decode("latin-1")
        score, log_odds = model.score_one(raw), river_log_odds(peer, text)
        model.score_one(
            ""
        )  # its tokens are not to be at hand: each filter's time is that of reading and learning
        start = time.perf_counter()
        verdicts.append((model.verdict_one(raw), label))
        forced.append((model.predict_one(raw), label))
        model.learn_one(raw, label, id=id_of_mail(raw))
        middle = time.perf_counter()
        answers.append((peer.predict_one(text), label))
        peer.learn_one(text, label)
        seconds[0] += middle - start
        seconds[1] += time.perf_counter() - middle
        scores.append((score, log_odds, label == "spam"))
    table = Table(box=SIMPLE)
    for name in ("", "ham lost", "spam caught", "let in", "unsure", "right", "mails/s"):
        table.add_column(name, justify="right" if name else "left")
    for name, said, took in (
        ("SpamFilter", verdicts, seconds[0]),
        ("never unsure", forced, seconds[0]),
        ("River's NB", answers, seconds[1]),
    ):
        table.add_row(name, *rates_of(said), f"{number / took:,.0f}")
    console.print(table)
    say(
        "A lost ham counts as much as 30 spams let in: spam is what is 98.3 % certain, and much of the first few\n"
        "hundred mails is left open. Forced to the more probable label, it is `never unsure`.\n\n"
    )
    console.print(table_at_equal_loss(scores[number // 2 :]))
    say(
        "How many are called spam is a choice, so this compares the rankings alone: each has the threshold that loses\n"
        "no more ham than the row says, over the second half, when both have learned.\n\n"
    )
    raw = next(raw for raw, label in reversed(mails) if label == "spam")
    lines = str(model.explain_one(raw)).splitlines()
    say("Why the last spam is one:\n" + "\n".join(lines[:8]) + "\n\n")
    key = id_of_mail(raw)
    before = model.score_one(raw)
    model.correct(key, "ham")
    after = model.score_one(raw)
    model.correct(key, "spam")
    exact = model.score_one(raw) == before
    say(f"Corrected by its id to ham, it scores {after:.3f} in place of {before:.3f}; ")
    say(f"corrected back, {'exactly what it scored before' if exact else 'something else'}.\n\n")
    home = SpamHome(into / "spam")
    home.state.unlink(missing_ok=True)  # of the demo before
    with home.changing(lambda: model):
        pass  # as it is
    write_private(into / "mail.eml", raw)
    mail, home_is = into / "mail.eml", into / "spam"
    say(f"{mail}    a mail to try: stream-bayes spam classify --home {home_is} {mail}\n\n")


def river_log_odds(peer: Any, text: str) -> float:
    """Return the score of River's pipeline; its probabilities are all 0 or 1 for texts."""
    joint = peer["MultinomialNB"].joint_log_likelihood(peer["BagOfWords"].transform_one(text))
    return float(joint["spam"] - joint["ham"]) if len(joint) == 2 else 0.0


def table_at_equal_loss(scores: Sequence[tuple[float, float, bool]]) -> Table:
    """Return a table of the spam that each ranking misses at the same share of ham lost."""
    table = Table(box=SIMPLE)
    for name in ("spam missed, second half", "SpamFilter", "River's NB"):
        table.add_column(name, justify="right" if name[0] != "s" else "left")
    for share in (0.0, 0.002, 0.01):
        missed = [missed_at([(row[model], row[2]) for row in scores], share) for model in (0, 1)]
        table.add_row(f"at {100 * share:g} % of ham lost", *(f"{100 * one:.2f} %" for one in missed))
    return table


def missed_at(scores: Sequence[tuple[float, bool]], lost: float) -> float:
    """Return the share of spam below the lowest threshold that loses at most a share of the ham.

    Examples
    --------
    >>> missed_at([(4.0, True), (3.0, False), (2.0, True), (1.0, False)], lost=0.0)
    0.5
    >>> missed_at([(4.0, True), (3.0, False), (2.0, True), (1.0, False)], lost=0.5)
    0.0
    """
    ham = sorted((score for score, is_spam in scores if not is_spam), reverse=True)
    spam = [score for score, is_spam in scores if is_spam]
    allowed = int(lost * len(ham))  # ham above the threshold; the highest one that may not be lost sets it
    threshold = ham[allowed] if allowed < len(ham) else float("-inf")
    return sum(score <= threshold for score in spam) / max(len(spam), 1)


def rates_of(said: list[tuple[Any, str]]) -> list[str]:
    """Return ham lost, spam caught, spam let through, unsure, and correct among the decided, in per cent."""
    ham = [verdict for verdict, label in said if label == "ham"]
    spam = [verdict for verdict, label in said if label == "spam"]
    decided = [verdict == label for verdict, label in said if verdict in ("ham", "spam")]
    parts = (
        (ham.count("spam"), len(ham)),
        (spam.count("spam"), len(spam)),
        (spam.count("ham"), len(spam)),
        (len(said) - len(decided), len(said)),
        (sum(decided), len(decided)),
    )
    return [f"{100 * part / max(whole, 1):.2f} %" for part, whole in parts]


def compare_models(stream: str, into: Path) -> None:
    """Compare models on a stream."""
    picture, lines, snapshot = (into / name for name in ("compare.svg", "compare.jsonl", "best.zip"))
    command = ["compare", stream, *(word for name in MODELS for word in ("--model", name))]
    kept = ["--picture", str(picture), "--checkpoints", str(lines), "--save", str(snapshot)]
    say = sys.stdout.write
    say(f"stream-bayes {' '.join(command)}\n")
    sys.stdout.flush()
    code = app([*command, *kept], standalone_mode=False)
    if code:
        sys.exit(code)
    say(f"\n{picture}    accuracy and log-loss over time\n{lines}    the same as JSON lines\n")
    say(f"{snapshot}    the most accurate model of this package: stream-bayes explain, or run --warm-start\n")


if __name__ == "__main__":
    main()
