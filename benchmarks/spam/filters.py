"""The corpora of mail that filters are measured on, and the filters, each as a run over a stream of messages."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from river import feature_extraction, naive_bayes

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.token_scorer import TokenScorer

__all__ = [
    "OTHERS",
    "Corpus",
    "Filter",
    "Message",
    "Order",
    "Run",
    "bogofilter_alone",
    "ours",
    "ours_alone",
    "size_of_batches",
    "with_wrong_labels",
]

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
        if (size := size_of_batches(name, len(self.messages))) is not None:
            return self.by_label(self.order("seed:0"), size, name == "spam-first")
        if kind != "seed" or not seed.isdigit():
            raise SystemExit(
                f"an order is file, time, rand, seed:N, ham-first, spam-first or batches:N; got {name!r}"
            )
        found: list[int] = np.random.default_rng(int(seed)).permutation(len(self.messages)).tolist()
        return found

    def by_label(self, places: Sequence[int], size: int, spam_first: bool) -> list[int]:
        """Return these places with the labels in turn, so many messages of each."""
        rest = {
            label: [place for place in places if bool(self.spam[place]) == label] for label in (False, True)
        }
        found: list[int] = []
        label = spam_first
        while any(rest.values()):
            found += rest[label][:size]
            rest[label], label = rest[label][size:], not label
        return found


def size_of_batches(name: str, messages: int) -> int | None:
    """Return how many messages of a label come in a row in an order by label; None for another order."""
    if name in ("ham-first", "spam-first"):
        return messages
    kind, _, size = name.partition(":")
    return int(size) if kind == "batches" and size.isdigit() and int(size) else None


def with_wrong_labels(spam: Array, share: float, seed: int = 0) -> Array:
    """Return the labels with a share of them wrong, the same ones at each call with a seed."""
    wrong: Array = np.asarray(spam) ^ (np.random.default_rng(seed).random(len(spam)) < share)
    return wrong


@dataclass
class Run:
    """The answers of one filter on a stream, in its order."""

    name: str
    score: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)  # of spam; bogofilter's spamicity stands for it
    verdict: list[str] = field(default_factory=list)  # ham, unsure or spam
    seconds: float = 0.0  # of processor time
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
SPAMASSASSIN = Path(__file__).with_name("spamassassin.pl")


class Filter(Protocol):
    """A filter as the benchmark runs it."""

    name: str

    def judge(self, message: bytes | str) -> tuple[float, float, str]:
        """Return a score to rank by, the probability of spam, and the verdict."""

    def learn(self, message: bytes | str, spam: bool) -> None:
        """Learn the label of a message."""

    def finish(self, run: Run, stream: Sequence[Message]) -> None:
        """Add memory and speed to a run."""


def replayed(one: Filter, stream: Sequence[Message], delay: int = 0) -> Run:
    """Judge each message, and learn its label after `delay` further messages; return the run."""
    run = Run(one.name)
    waiting: deque[Message] = deque()
    for message, spam in shown(stream, one.name):
        score, chance, verdict = one.judge(message)
        run.score.append(score)
        run.probability.append(chance)
        run.verdict.append(verdict)
        waiting.append((message, spam))
        if len(waiting) > delay:
            one.learn(*waiting.popleft())
    one.finish(run, stream)
    return run


class _Ours:
    """The filter of this package."""

    name = "SpamFilter"

    def __init__(self, hostile: Sequence[tuple[int, dict[str, int]]], settings: dict[str, Any]) -> None:
        self.model = SpamFilter(**settings)
        self.waiting = deque(hostile)
        self.judged = 0
        self.seconds = 0.0

    def judge(self, message: bytes | str) -> tuple[float, float, str]:
        while self.waiting and self.waiting[0][0] <= self.judged:
            self.model.learn_one(self.waiting.popleft()[1], "spam")
        self.judged += 1
        score = self.model.score_one(message)
        verdict = self.model.verdict_one(message) or "unsure"
        self.model.score_one("")  # the message's tokens are not to be at hand
        start = time.process_time()
        chance = self.model.predict_proba_one(message).get("spam", 0.5)
        self.seconds += time.process_time() - start
        return score, chance, verdict

    def learn(self, message: bytes | str, spam: bool) -> None:
        start = time.process_time()
        self.model.learn_one(message, "spam" if spam else "ham")
        self.seconds += time.process_time() - start

    def finish(self, run: Run, stream: Sequence[Message]) -> None:
        scorer = self.model.unwanted_contest.scorer
        texts = scorer.table.vocabulary.values if isinstance(scorer, TokenScorer) else []
        run.seconds = self.seconds
        run.memory = self.model.memory_bytes + sum(sys.getsizeof(token) for token in texts)
        run.tokens = len(texts)


def ours(
    stream: Sequence[Message],
    hostile: Sequence[tuple[int, dict[str, int]]] = (),
    delay: int = 0,
    **settings: Any,
) -> Run:
    """Run the filter of this package; `hostile` bags are learned as spam before the message at their place."""
    return replayed(_Ours(hostile, settings), stream, delay)


def ours_alone(settings: dict[str, Any]) -> Filter:
    """Return the filter of this package, untrained."""
    return _Ours((), settings)


class _River:
    """River's bag of words with multinomial naive Bayes."""

    name = "River MultinomialNB"

    def __init__(self) -> None:
        # River types a text as features.
        self.model: Any = feature_extraction.BagOfWords() | naive_bayes.MultinomialNB()
        self.seconds = 0.0

    def judge(self, message: bytes | str) -> tuple[float, float, str]:
        start = time.process_time()
        text = _as_text(message)
        bag = self.model["BagOfWords"].transform_one(text)
        joint = self.model["MultinomialNB"].joint_log_likelihood(bag)
        chance = float(self.model.predict_proba_one(text).get(True, 0.5))
        self.seconds += time.process_time() - start
        score = float(joint.get(True, 0.0) - joint.get(False, 0.0)) if len(joint) == 2 else 0.0
        return score, chance, "spam" if chance > 0.5 else "ham"

    def learn(self, message: bytes | str, spam: bool) -> None:
        start = time.process_time()
        self.model.learn_one(_as_text(message), spam)
        self.seconds += time.process_time() - start

    def finish(self, run: Run, stream: Sequence[Message]) -> None:
        run.seconds, run.memory = self.seconds, self.model._raw_memory_usage


def rivers(stream: Sequence[Message], delay: int = 0) -> Run:
    """Run River's bag of words with multinomial naive Bayes."""
    return replayed(_River(), stream, delay)


def _as_text(message: bytes | str) -> str:
    return message if isinstance(message, str) else message.decode("latin-1")


def _as_mail(message: bytes | str) -> bytes:
    """Return a message as other programs read it: a text has no headers."""
    return message if isinstance(message, bytes) else b"\n" + message.encode()


@contextmanager
def _fast_directory() -> Iterator[Path]:
    """Yield a directory in memory, where there is one: a filter's speed is not that of a disk."""
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as folder:
        yield Path(folder)


class _Bogofilter:
    """bogofilter with all its digits and no configuration."""

    name = "bogofilter"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.call = ["bogofilter", "-C", "-d", str(folder)]

    def judge(self, message: bytes | str) -> tuple[float, float, str]:
        done = subprocess.run([*self.call, "-TT"], input=_as_mail(message), capture_output=True, check=False)
        output = done.stdout.split()
        score = float(output[-1]) if output else 0.5
        # Its own cutoffs, where it is not configured.
        return score, score, "spam" if score >= 0.99 else "ham" if score <= 0.45 else "unsure"

    def learn(self, message: bytes | str, spam: bool) -> None:
        subprocess.run([*self.call, "-s" if spam else "-n"], input=_as_mail(message), check=True)

    def finish(self, run: Run, stream: Sequence[Message]) -> None:
        run.memory = (self.folder / "wordlist.db").stat().st_size
        run.seconds = _in_bulk(stream, self.folder / "bulk")


@contextmanager
def bogofilter_alone() -> Iterator[Filter]:
    """Yield an untrained bogofilter."""
    with _fast_directory() as folder:
        yield _Bogofilter(folder)


def bogofilters(stream: Sequence[Message], delay: int = 0) -> Run:
    """Run bogofilter, trained on every message."""
    with _fast_directory() as folder:
        return replayed(_Bogofilter(folder), stream, delay)


class _SpamAssassin:
    """The Bayes of SpamAssassin alone, in one process of Perl: no other rule adds to its probability."""

    name = "SpamAssassin's Bayes"

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.process = folder, process

    def judge(self, message: bytes | str) -> tuple[float, float, str]:
        answer = self._exchange("judge", message)
        # It gives no probability before it has learned 200 of each label; none of a message without known tokens.
        chance = 0.5 if answer == "none" else float(answer)
        # The rules BAYES_99 and BAYES_50.
        return chance, chance, "spam" if chance >= 0.99 else "ham" if chance < 0.4 else "unsure"

    def learn(self, message: bytes | str, spam: bool) -> None:
        self._exchange("spam" if spam else "ham", message)

    def _exchange(self, verb: str, message: bytes | str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        data = _as_mail(message)
        self.process.stdin.write(f"{verb} {len(data)}\n".encode() + data)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().strip()
        if not answer:
            raise SystemExit(f"{SPAMASSASSIN.name} ended with {self.process.wait()}")
        return answer

    def finish(self, run: Run, stream: Sequence[Message]) -> None:
        run.memory = sum(path.stat().st_size for path in self.folder.glob("bayes_*"))
        run.seconds = float(self._exchange("seconds", b""))


def spamassassins(stream: Sequence[Message], delay: int = 0) -> Run:
    """Run SpamAssassin's Bayes, trained on every message."""
    with _fast_directory() as folder:
        command = ["perl", str(SPAMASSASSIN), str(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            try:
                return replayed(_SpamAssassin(folder, process), stream, delay)
            finally:
                process.kill()


# Other filters, each with the program that it needs.
OTHERS: dict[str | None, Callable[..., Run]] = {
    None: rivers,
    "bogofilter": bogofilters,
    "sa-learn": spamassassins,
}


def _in_bulk(stream: Sequence[Message], folder: Path) -> float:
    """Return the seconds of processor time that bogofilter takes to learn all messages from files and classify them."""
    folder.mkdir()
    names: dict[bool, list[str]] = {True: [], False: []}
    for place, (message, spam) in enumerate(stream):
        path = folder / str(place)
        path.write_bytes(_as_mail(message))
        names[spam].append(str(path))
    call = ["bogofilter", "-C", "-d", str(folder), "-b"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for flag, listed in (("-s", names[True]), ("-n", names[False]), ("-TT", names[True] + names[False])):
        subprocess.run(
            [*call, flag], input="\n".join(listed).encode(), stdout=subprocess.DEVNULL, check=False
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def shown(stream: Sequence[Message], name: str) -> Iterator[Message]:
    """Yield the stream with a progress bar."""
    yield from track(stream, name, console=Console(stderr=True), transient=True)
