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
from stream_bayes.cli.compare import DATASETS
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.streams.mail.home import SpamHome
from stream_bayes.streams.mail.identity import id_of_mail
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
    seconds = [0.0, 0.0]
    for raw, label in track(mails, "judging", console=Console(stderr=True), transient=True):
        start = time.perf_counter()
        verdicts.append((model.verdict_one(raw), label))
        forced.append((model.predict_one(raw), label))
        model.learn_one(raw, label, id=id_of_mail(raw))
        middle = time.perf_counter()
        text = raw.decode("latin-1")
        answers.append((peer.predict_one(text), label))
        peer.learn_one(text, label)
        seconds[0] += middle - start
        seconds[1] += time.perf_counter() - middle
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
    (into / "mail.eml").write_bytes(raw)
    mail, home_is = into / "mail.eml", into / "spam"
    say(f"{mail}    a mail to try: stream-bayes spam classify --home {home_is} {mail}\n\n")


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
