"""Contests between a peer and ours: passes run in turn in one process, the best pass of each counts.

Events are made a few at a time, outside the timed part and right before it, as a stream's are: the objects are new, so
nothing profits from a hash or an identity that an earlier pass has left behind, and they are as near in memory as
events are that have just been decoded.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

__all__ = [
    "Case",
    "Contest",
    "Learner",
    "Result",
    "Side",
    "learns",
    "measure",
    "predicts",
    "predicts_after_learning",
    "predicts_learns",
    "timed",
]

Learner: TypeAlias = Any  # River's, scikit-learn's or ours: only the verbs matter
Events: TypeAlias = Sequence[Any]


@dataclass(frozen=True)
class Side:
    """One of two competitors.

    Parameters
    ----------
    events
        How many events a pass takes. Chosen so that passes of both sides take about as long.
    run
        Runs over some events, and says what it took: the seconds of its timed part.
    make
        Makes fresh events of raw ones.
    chunk
        How many events are made and run at a time.
    """

    events: int
    run: Callable[[Events], float]
    make: Callable[[Events], Events]
    chunk: int = 32

    def one_pass(self, raw: Iterator[Any]) -> float:
        """Run over the next events of the raw ones: what was taken for each."""
        taken, left = 0.0, self.events
        while left > 0:
            events = self.make(list(itertools.islice(raw, min(left, self.chunk))))
            taken += self.run(events)
            left -= len(events)
        return taken / self.events


@dataclass(frozen=True)
class Contest:
    """A measurement: ours, maybe against a peer, over raw events that are taken in turn."""

    raw: Sequence[Any]
    ours: Side
    peer: Side | None = None


@dataclass(frozen=True)
class Case:
    """A line of the report.

    Parameters
    ----------
    work
        What is done.
    prepare
        Makes the contest: data and trained models. Called only if the case is chosen.
    peer
        The peer's name, if there is one.
    target
        How many times as fast as the peer ours must be; None reports only.
    limit
        In this unit: what ours may take at most.
    unit
        What a number of the report stands for. For "MB", `run` returns bytes, for "%" a share, for "nats" a difference
        of scores.
    once
        One pass is all: it takes long, and tells as much as ten.
    """

    work: str
    prepare: Callable[[], Contest]
    peer: str = ""
    target: float | None = None
    limit: float | None = None
    unit: str = "us/event"
    once: bool = False


SCALE = {"us/event": 1e6, "ms": 1e3, "MB": 1e-6, "%": 1e2, "nats": 1.0}


@dataclass(frozen=True)
class Result:
    """The measurements of a case, in its unit: a number for each round."""

    case: Case
    ours: tuple[float, ...]
    peer: tuple[float, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Return the time relative to the peer, best pass against best pass."""
        return min(self.peer) / min(self.ours) if self.peer else None

    @property
    def met(self) -> bool | None:
        """Return whether the target is met; None where there is none."""
        if self.case.limit is not None:
            return min(self.ours) <= self.case.limit
        if self.case.target is not None and self.ratio is not None:
            return self.ratio >= self.case.target
        return None

    def to_json(self) -> dict[str, Any]:
        """Return everything that was measured."""
        return {
            "work": self.case.work,
            "unit": self.case.unit,
            "peer": self.case.peer,
            "target": self.case.target,
            "limit": self.case.limit,
            "peer_best": min(self.peer, default=None),
            "ours_best": min(self.ours),
            "ratio": self.ratio,
            "met": self.met,
            "peer_rounds": self.peer,
            "ours_rounds": self.ours,
        }


def measure(case: Case, rounds: int, after_round: Callable[[], None] = lambda: None) -> Result:
    """Run a case: peer, ours, peer, ours, ...; the first pass of each warms up and does not count, unless it is all."""
    contest = case.prepare()
    raw = itertools.cycle(contest.raw)
    sides = [side for side in (contest.peer, contest.ours) if side is not None]
    taken: dict[int, list[float]] = {id(side): [] for side in sides}
    gc.collect()
    gc.freeze()  # the collector stays on, as it is for users, but what was prepared here is not searched every time
    try:
        for number in range(1 if case.once else rounds + 1):
            for side in sides:
                figure = SCALE[case.unit] * side.one_pass(raw)
                if number or case.once:
                    taken[id(side)].append(figure)
            after_round()
    finally:
        gc.unfreeze()
    peer = () if contest.peer is None else tuple(taken[id(contest.peer)])
    return Result(case, tuple(taken[id(contest.ours)]), peer)


def learns(model: Learner) -> Callable[[Events], float]:
    """Return a pass that learns events (x, y)."""

    def run(events: Iterable[Any]) -> float:
        learn = model.learn_one
        start = perf_counter()
        for x, y in events:
            learn(x, y)
        return perf_counter() - start

    return run


def timed(step: Callable[[Any], object], rows: int = 1) -> Callable[[Any], float]:
    """Return a pass that takes a step with each event, or with each batch of so many rows."""

    def run(events: Iterable[Any]) -> float:
        start = perf_counter()
        for event in events:
            step(event)
        return (perf_counter() - start) / rows

    return run


def predicts(model: Learner) -> Callable[[Events], float]:
    """Return a pass that predicts events (x, y)."""

    def run(events: Iterable[Any]) -> float:
        predict = model.predict_proba_one
        start = perf_counter()
        for x, _ in events:
            predict(x)
        return perf_counter() - start

    return run


def predicts_learns(model: Learner) -> Callable[[Events], float]:
    """Return a pass that predicts and learns each event (x, y) in one step."""

    def run(events: Iterable[Any]) -> float:
        step = model.predict_learn_one
        start = perf_counter()
        for x, y in events:
            step(x, y)
        return perf_counter() - start

    return run


def predicts_after_learning(model: Learner) -> Callable[[Events], float]:
    """Return a pass of test-then-train that times the predictions alone: each is the first after a sample."""

    def run(events: Iterable[Any]) -> float:
        predict, learn = model.predict_proba_one, model.learn_one
        spent = 0.0
        for x, y in events:
            start = perf_counter()
            predict(x)
            spent += perf_counter() - start
            learn(x, y)
        return spent

    return run
