"""The corpora of mail that filters are measured on, and the filters, each as a run over a stream of messages."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from river import feature_extraction, naive_bayes

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.token_scorer import TokenScorer

__all__ = ["Corpus", "Message", "Order", "Run", "bogofilters", "ours", "rivers", "with_wrong_labels"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Corpus:
    """Messages and whether they are spam."""

    messages: list[bytes | str]
    spam: Array
    lines: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Corpus:
        """Read a corpus file."""
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        messages = [line["raw"].encode("latin-1") if "raw" in line else line["text"] for line in lines]
        return cls(messages, np.array([line["label"] == "spam" for line in lines]), lines)

    def order(self, name: str) -> list[int]:
        """Return the places of the messages in an order: `file`, `time`, `rand`, `seed:N`, or by label."""
        places = range(len(self.messages))
        if name in ("time", "rand"):
            return sorted(places, key=lambda place: (self.lines[place][name], place))
        if name == "file":
            return list(places)
        kind, _, seed = name.partition(":")
        if name in ("ham-first", "spam-first"):
            return self._by_label(len(self.messages), name == "spam-first")
        if kind == "batches" and seed.isdigit() and int(seed):
            return self._by_label(int(seed), spam_first=False)
        if kind != "seed" or not seed.isdigit():
            raise SystemExit(
                f"an order is file, time, rand, seed:N, ham-first, spam-first or batches:N; got {name!r}"
            )
        found: list[int] = np.random.default_rng(int(seed)).permutation(len(self.messages)).tolist()
        return found

    def _by_label(self, size: int, spam_first: bool) -> list[int]:
        """Return a random order with the labels in turn, so many messages of each."""
        mixed = self.order("seed:0")
        rest = {
            label: [place for place in mixed if bool(self.spam[place]) == label] for label in (False, True)
        }
        found: list[int] = []
        label = spam_first
        while any(rest.values()):
            found += rest[label][:size]
            rest[label], label = rest[label][size:], not label
        return found


def with_wrong_labels(spam: Array, share: float) -> Array:
    """Return the labels with a share of them wrong, the same ones at each call."""
    wrong: Array = np.asarray(spam) ^ (np.random.default_rng(0).random(len(spam)) < share)
    return wrong


@dataclass
class Run:
    """The answers of one filter on a stream, in its order."""

    name: str
    score: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)  # of spam; bogofilter's spamicity stands for it
    verdict: list[str] = field(default_factory=list)  # ham, unsure or spam
    seconds: float = 0.0
    memory: int | None = None
    tokens: int | None = None


@dataclass
class Order:
    """An order of a corpus: the places of its messages, which are spam, and a run of each filter, ours first."""

    name: str
    places: list[int]
    spam: Array
    runs: dict[str, Run] = field(default_factory=dict)


Message = tuple[bytes | str, bool]


def ours(
    stream: Sequence[Message], hostile: Sequence[tuple[int, dict[str, int]]] = (), **settings: Any
) -> Run:
    """Run the filter of this package; `hostile` bags are learned as spam before the message at their place."""
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
    texts = (
        model._parts.scorer.table.vocabulary.values if isinstance(model._parts.scorer, TokenScorer) else []
    )
    run.memory = model.memory_bytes + sum(sys.getsizeof(token) for token in texts)
    run.tokens = len(texts)
    return run


def rivers(stream: Sequence[Message]) -> Run:
    """Run River's bag of words with multinomial naive Bayes."""
    # River types a text as features.
    model: Any = feature_extraction.BagOfWords() | naive_bayes.MultinomialNB()
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
    """Run bogofilter with all its digits and no configuration, trained on every message."""
    run = Run("bogofilter")
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as folder:
        for message, spam in shown(stream, run.name):
            data = message if isinstance(message, bytes) else b"\n" + message.encode()
            call = ["bogofilter", "-C", "-d", folder]
            output = subprocess.run(
                [*call, "-TT"], input=data, capture_output=True, check=False
            ).stdout.split()
            score = float(output[-1]) if output else 0.5
            run.score.append(score)
            run.probability.append(score)
            # Its own cutoffs, where it is not configured.
            run.verdict.append("spam" if score >= 0.99 else "ham" if score <= 0.45 else "unsure")
            subprocess.run([*call, "-s" if spam else "-n"], input=data, check=True)
        run.memory = Path(folder, "wordlist.db").stat().st_size
        run.seconds = _in_bulk(stream, Path(folder) / "bulk")
    return run


def _in_bulk(stream: Sequence[Message], folder: Path) -> float:
    """Return the seconds bogofilter takes to learn all messages from files, and to classify them."""
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
    """Yield the stream with a progress bar."""
    yield from track(stream, name, console=Console(stderr=True), transient=True)
