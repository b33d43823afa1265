"""`python -m benchmarks.spam CORPUS.jsonl.gz --order seed:0`: the spam filter beside others, predicting, then learning.

A corpus is gzip JSON lines, a message a line: `label` ("ham" or "spam") and `raw` (the bytes of the message as Latin-1)
or `text` (a short message); for `--order time` also `time`, for `--order rand` `rand`. Everybody sees the same messages
in the same order. bogofilter (run where it is installed) gets `-TT -C` and is trained on every message; its start of a
process for each is not counted against it: its speed is that of training and classifying all files at once, in bulk.
The memory of ours is tables and texts of tokens, of River's all objects, of bogofilter's the database.

1-ROCA% is 100 (1 - area under the ROC curve) of the score, as in the TREC spam track: lower is better. Intervals are
paired bootstraps over messages; after several orders also of the means over them, with the same draws in each.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from river import feature_extraction, naive_bayes

import stream_bayes
from benchmarks.spam_attack import START, dictionary, falls, uncapped
from benchmarks.spam_costs import cost_of, least_cost, one_threshold
from stream_bayes.core.calibration import Calibration
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.evidence import TokenEvidence

__all__ = ["Corpus", "Run", "main", "measures", "ratio_interval", "roca"]

Array = NDArray[Any]
SETTLED = 500  # messages before verdicts are judged
RESAMPLED = 1_000
LOST = 0.001  # the share of ham that may be lost


@dataclass(frozen=True)
class Corpus:
    """Messages and whether they are spam."""

    messages: list[bytes | str]
    spam: Array
    lines: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Corpus:
        """The corpus of a file."""
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        messages = [line["raw"].encode("latin-1") if "raw" in line else line["text"] for line in lines]
        return cls(messages, np.array([line["label"] == "spam" for line in lines]), lines)

    def order(self, name: str) -> list[int]:
        """The places of the messages, in an order: `file`, `time`, `rand` or `seed:N`."""
        places = range(len(self.messages))
        if name in ("time", "rand"):
            return sorted(places, key=lambda place: (self.lines[place][name], place))
        if name == "file":
            return list(places)
        kind, _, seed = name.partition(":")
        if kind != "seed" or not seed.isdigit():
            raise SystemExit(f"an order is file, time, rand or seed:N; got {name!r}")
        found: list[int] = np.random.default_rng(int(seed)).permutation(len(self.messages)).tolist()
        return found


@dataclass
class Run:
    """What one filter said of a stream, in its order."""

    name: str
    score: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)  # of spam; bogofilter's spamicity stands for it
    verdict: list[str] = field(default_factory=list)  # ham, unsure or spam
    seconds: float = 0.0
    memory: int | None = None


Message = tuple[bytes | str, bool]


def ours(
    stream: Sequence[Message], hostile: Sequence[tuple[int, dict[str, int]]] = (), **settings: Any
) -> Run:
    """The filter of this package; `hostile` bags are learned as spam before the message at their place."""
    model, run = SpamFilter(**settings), Run("SpamFilter")
    waiting = list(hostile)
    for place, (message, spam) in enumerate(shown(stream, "SpamFilter")):
        while waiting and waiting[0][0] <= place:
            model.learn_one(waiting.pop(0)[1], "spam")
        run.score.append(model.score_one(message))
        run.verdict.append(model.verdict_one(message) or "unsure")
        model.score_one("")  # the message's tokens are not to be at hand
        start = time.perf_counter()
        run.probability.append(model.predict_proba_one(message).get("spam", 0.5))
        model.learn_one(message, "spam" if spam else "ham")
        run.seconds += time.perf_counter() - start
    texts = model._evidence.table.vocabulary.values if isinstance(model._evidence, TokenEvidence) else []
    run.memory = model.memory_bytes + sum(sys.getsizeof(token) for token in texts)
    return run


def rivers(stream: Sequence[Message]) -> Run:
    """River's bag of words and multinomial naive Bayes."""
    model: Any = (
        feature_extraction.BagOfWords() | naive_bayes.MultinomialNB()
    )  # River types a text as features
    run = Run("River MultinomialNB")
    for message, spam in shown(stream, run.name):
        start = time.perf_counter()
        text = message if isinstance(message, str) else message.decode("latin-1")
        joint = model["MultinomialNB"].joint_log_likelihood(model["BagOfWords"].transform_one(text))
        chance = model.predict_proba_one(text).get(True, 0.5)
        model.learn_one(text, spam)
        run.seconds += time.perf_counter() - start
        run.score.append(float(joint.get(True, 0.0) - joint.get(False, 0.0)) if len(joint) == 2 else 0.0)
        run.probability.append(float(chance))
        run.verdict.append("spam" if chance > 0.5 else "ham")
    run.memory = model._raw_memory_usage
    return run


def bogofilters(stream: Sequence[Message]) -> Run:
    """Bogofilter with all its digits and no configuration, trained on every message."""
    run = Run("bogofilter")
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as folder:
        for message, spam in shown(stream, run.name):
            data = message if isinstance(message, bytes) else b"\n" + message.encode()
            call = ["bogofilter", "-C", "-d", folder]
            said = subprocess.run([*call, "-TT"], input=data, capture_output=True, check=False).stdout.split()
            score = float(said[-1]) if said else 0.5
            run.score.append(score)
            run.probability.append(score)
            run.verdict.append(
                "spam" if score >= 0.99 else "ham" if score <= 0.45 else "unsure"
            )  # its cutoffs
            subprocess.run([*call, "-s" if spam else "-n"], input=data, check=True)
        run.memory = Path(folder, "wordlist.db").stat().st_size
        run.seconds = _in_bulk(stream, Path(folder) / "bulk")
    return run


def _in_bulk(stream: Sequence[Message], folder: Path) -> float:
    """How long bogofilter takes to learn all messages from files, and to classify them."""
    folder.mkdir()
    names: dict[bool, list[str]] = {True: [], False: []}
    for place, (message, spam) in enumerate(stream):
        path = folder / str(place)
        path.write_bytes(message if isinstance(message, bytes) else b"\n" + message.encode())
        names[spam].append(str(path))
    call = ["bogofilter", "-C", "-d", str(folder), "-b"]
    start = time.perf_counter()
    for flag, listed in (("-s", names[True]), ("-n", names[False]), ("-TT", names[True] + names[False])):
        subprocess.run(
            [*call, flag], input="\n".join(listed).encode(), stdout=subprocess.DEVNULL, check=False
        )
    return time.perf_counter() - start


def shown(stream: Sequence[Message], name: str) -> Iterator[Message]:
    """The stream, with a bar that goes away."""
    yield from track(stream, name, console=Console(stderr=True), transient=True)


def roca(score: Array, spam: Array, weight: Array | None = None) -> float:
    """100 (1 - area under the ROC curve); equal scores count half."""
    weight = np.ones(len(score)) if weight is None else weight
    _, place = np.unique(score, return_inverse=True)
    ham = np.bincount(place, weight * ~spam)
    caught = np.bincount(place, weight * spam)
    pairs = ham.sum() * caught.sum()
    wrong = (ham * (np.cumsum(caught) - caught)).sum() + (ham * caught).sum() / 2
    return float(100 * wrong / pairs) if pairs else float("nan")


def ratio_interval(ours: Array, theirs: Array, spam: Array, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of our 1-ROCA over theirs, each message drawn as often for both."""
    rng = np.random.default_rng(seed)
    ratios = []
    for _ in range(RESAMPLED):
        weight = rng.multinomial(len(spam), np.full(len(spam), 1 / len(spam))).astype(float)
        below = roca(theirs, spam, weight)
        ratios.append(roca(ours, spam, weight) / below if below else np.inf)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def mean_ratio(
    pairs: Sequence[tuple[Array, Array, Sequence[int]]], spam: Array, seed: int = 0
) -> tuple[float, float, float]:
    """Our mean 1-ROCA over theirs, in several orders, with the middle 95 % of it.

    Parameters
    ----------
    pairs
        Of each order our scores, their scores, and the places of the messages in the corpus.
    spam
        Of the corpus, in its own order.
    """

    def ratio(weight: Array) -> float:
        above = below = 0.0
        for mine, other, order in pairs:
            truth, drawn = spam[list(order)], weight[list(order)]
            above += roca(mine, truth, drawn)
            below += roca(other, truth, drawn)
        return above / below if below else np.inf

    rng, share = np.random.default_rng(seed), np.full(len(spam), 1 / len(spam))
    ratios = [ratio(rng.multinomial(len(spam), share).astype(float)) for _ in range(RESAMPLED // 4)]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return ratio(np.ones(len(spam))), float(low), float(high)


def measures(run: Run, spam: Array) -> dict[str, float]:
    """Everything that is measured of a run; verdicts, costs and calibration after the first messages."""
    score, chance = np.array(run.score), np.array(run.probability)
    order = np.argsort(-score, kind="stable")
    caught, lost = np.cumsum(spam[order]), np.cumsum(~spam[order])
    right = np.append(0, caught - lost) + (~spam).sum()
    allowed = int(np.searchsorted(lost, int(LOST * (~spam).sum()), side="right"))
    late = slice(min(SETTLED, len(spam) // 2), None)
    truth, certain, verdict = spam[late], chance[late], np.array(run.verdict)[late]
    calibration = Calibration()
    sure = np.maximum(certain, 1 - certain)
    calibration.add(np.minimum(sure, 1.0), (certain > 0.5) == truth, np.ones(len(truth)))
    found = {
        "1-ROCA%": roca(score, spam),
        "accuracy %": 100 * float(((chance > 0.5) == spam).mean()),
        "best accuracy %": 100 * float(right.max() / len(spam)),
        "ham lost %": _share((verdict == "spam") & ~truth, ~truth),
        "spam missed %": _share((verdict != "spam") & truth, truth),
        "of it unsure %": _share((verdict == "unsure") & truth, truth),
        "ham unsure %": _share((verdict == "unsure") & ~truth, ~truth),
        f"spam missed at {100 * LOST:g} % lost %": 100
        * float(1 - (caught[allowed - 1] if allowed else 0) / spam.sum()),
        "calibration error": calibration.error(),
    }
    for times in (9, 99):
        paid = cost_of(certain >= times / (1 + times), truth, times)
        least = least_cost(score[late], truth, times)
        found[f"cost {times}:1, a message"] = paid / len(truth)
        found[f"cost {times}:1, over the best"] = paid / least if least else float("nan")
    if run.seconds:
        found["messages/s"] = len(spam) / run.seconds
    if run.memory is not None:
        found["memory, MB"] = run.memory / 1e6
    return found


def _share(part: Array, whole: Array) -> float:
    return 100 * float(part.sum() / whole.sum()) if whole.any() else float("nan")


def report(runs: Sequence[Run], spam: Array, title: str) -> Table:
    """The measures, a column a filter."""
    found = [measures(run, spam) for run in runs]
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    for name in found[0]:
        table.add_row(name, *(f"{one[name]:.4g}" if name in one else "" for one in found))
    for other in runs[1:]:
        low, high = ratio_interval(np.array(runs[0].score), np.array(other.score), spam)
        ratio = found[0]["1-ROCA%"] / measures(other, spam)["1-ROCA%"]
        table.add_row(f"1-ROCA over {other.name}'s", f"{ratio:.3g} [{low:.3g}, {high:.3g}]")
    return table


def attacked(corpus: Corpus, order: Sequence[int], words: int, settings: dict[str, Any], name: str) -> Table:
    """What one per cent of hostile messages cost the filter, with its cap on long messages and without."""
    stream = [(corpus.messages[place], bool(corpus.spam[place])) for place in order]
    ham = [message for message, spam in stream if not spam]
    hostile = dictionary(ham, len(stream), words, 0.01)
    start = min(START, len(stream) // 2)
    truth = np.array([spam for _, spam in stream])[start:]

    def judged(run: Run) -> tuple[float, float]:
        right = (np.array(run.probability)[start:] > 0.5) == truth
        return 100 * float(right.mean()), roca(np.array(run.score)[start:], truth)

    found = {"capped": {"honest": judged(ours(stream, **settings))}, "uncapped": {}}
    found["capped"]["attacked"] = judged(ours(stream, hostile, **settings))
    with uncapped() as without:
        found["uncapped"]["honest"] = judged(ours(stream, **settings | without))
        found["uncapped"]["attacked"] = judged(ours(stream, hostile, **settings | without))
    return falls(
        found, f"{name}: {len(hostile)} hostile messages of {words:,} words, from message {start} on"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the filters over a corpus and print what they did."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spam", description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--order", action="append", help="file, time, rand or seed:N; may be given again")
    parser.add_argument("--alone", action="store_true", help="leave River and bogofilter out")
    parser.add_argument("--parser", default="auto", help="what decodes messages: auto, fast or standard")
    parser.add_argument("--train", default="everything", choices=SpamFilter.TRAINING)
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
    corpus, console, kept = Corpus.read(given.corpus), Console(), {}
    pairs: dict[str, list[tuple[Array, Array, Sequence[int]]]] = {}
    late: list[tuple[Array, Array]] = []
    paid: dict[int, list[float]] = {9: [], 99: []}
    for name in given.order or ["file"]:
        order = corpus.order(name)
        settings = {"train": given.train, "parser": given.parser}
        if given.hostile:
            console.print(
                attacked(corpus, order, given.hostile, settings, f"{given.corpus.name}, order {name}")
            )
            continue
        stream = [(corpus.messages[place], bool(corpus.spam[place])) for place in order]
        runs = [ours(stream, **settings)]
        others: list[Callable[[Sequence[Message]], Run]] = []
        if not given.alone:
            others = [rivers, *([bogofilters] if shutil.which("bogofilter") else [])]
        runs += [other(stream) for other in others]
        spam = corpus.spam[order]
        console.print(
            report(
                runs, spam, f"{given.corpus.name}, order {name}: {len(order):,} messages, {spam.sum():,} spam"
            )
        )
        if not given.alone and len(others) == 1:
            console.print("bogofilter is not installed, and so not compared")
        for run in runs[1:]:
            pairs.setdefault(run.name, []).append((np.array(runs[0].score), np.array(run.score), order))
        start = min(SETTLED, len(spam) // 2)
        late.append((np.array(runs[0].score)[start:], spam[start:]))
        for times, ratios in paid.items():
            ratios.append(measures(runs[0], spam)[f"cost {times}:1, over the best"])
        kept[name] = {run.name: {"score": run.score, "verdict": run.verdict} for run in runs}
    for times, ratios in paid.items() if len(late) > 1 else ():
        mean, worst = one_threshold(late, times)
        console.print(
            f"cost {times}:1 over the best threshold of each of {len(late)} orders: mean {np.mean(ratios):.3g}, "
            f"worst {max(ratios):.3g}; of one threshold for all, known afterwards: {mean:.3g}, {worst:.3g}"
        )
    for other, scored in pairs.items():
        if len(scored) > 1:
            ratio, low, high = mean_ratio(scored, corpus.spam)
            console.print(
                f"mean 1-ROCA over {other}'s, {len(scored)} orders: {ratio:.3g} [{low:.3g}, {high:.3g}]"
            )
    if given.json is not None:
        given.json.write_text(json.dumps(kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
