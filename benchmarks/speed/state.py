"""Keeping a model: 100,000 tokens of 2 classes to bytes and back, and the memory it takes."""

from __future__ import annotations

import gc
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from river import naive_bayes

import stream_bayes
from benchmarks.harness import Case, Contest, Learner, Side
from benchmarks.speed.text import words

__all__ = ["cases"]

TOKENS = 100_000
WORDS = 50
CLASSES = ("ham", "spam")


@cache
def bags() -> list[tuple[dict[str, int], str]]:
    """Messages that hold each token once in each class, and some a second time."""
    rng = np.random.default_rng(22)
    tokens = words(TOKENS, rng)
    return [
        (dict(zip(chunk.tolist(), rng.integers(1, 3, WORDS).tolist(), strict=True)), label)
        for label in CLASSES
        for chunk in rng.permutation(tokens).reshape(-1, WORDS)
    ]


def learned(make: Callable[[], Learner]) -> Learner:
    """Return a model of all messages."""
    model = make()
    for x, y in bags():
        model.learn_one(x, y)
    return model


def dumps(model: Learner) -> Callable[[Any], float]:
    """Return a pass that writes the model."""

    def run(_: Any) -> float:
        start = perf_counter()
        pickle.dumps(model, pickle.HIGHEST_PROTOCOL)
        return perf_counter() - start

    return run


def loads(model: Learner) -> Callable[[Any], float]:
    """Return a pass that reads the model."""
    kept = pickle.dumps(model, pickle.HIGHEST_PROTOCOL)

    def run(_: Any) -> float:
        start = perf_counter()
        pickle.loads(kept)
        return perf_counter() - start

    return run


def both_ways(model: Learner) -> Callable[[Any], float]:
    """Return a pass that writes and reads the model."""

    def run(_: Any) -> float:
        start = perf_counter()
        pickle.loads(pickle.dumps(model, pickle.HIGHEST_PROTOCOL))
        return perf_counter() - start

    return run


def loaded_memory(model: Learner) -> Callable[[Any], float]:
    """Return a pass that measures the memory of a model that was read, without its token strings."""
    kept = pickle.dumps(model, pickle.HIGHEST_PROTOCOL)
    strings = sum(sys.getsizeof(token) for token in {token for x, _ in bags() for token in x})

    def run(_: Any) -> float:
        gc.collect()
        tracemalloc.start()
        try:
            read = pickle.loads(kept)
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0]
            del read
        finally:
            tracemalloc.stop()
        return float(taken - strings)

    return run


def learned_memory(make: Callable[[], Learner]) -> Callable[[Any], float]:
    """Return a pass that measures the memory of a model that learned event by event, without its token strings."""

    def run(_: Any) -> float:
        bags()
        gc.collect()
        tracemalloc.start()
        try:
            model = learned(make)
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0]
            del model
        finally:
            tracemalloc.stop()
        return float(taken)

    return run


def contest(run: Callable[[Any], Callable[[Any], float]], *, of_makers: bool = False) -> Contest:
    """Ours against River's, of the same messages."""
    makers = stream_bayes.MultinomialNB, naive_bayes.MultinomialNB
    ours, peer = (Side(1, run(make if of_makers else learned(make)), list) for make in makers)
    return Contest([None], ours, peer)


def cases() -> list[Case]:
    """Return the report's lines."""
    data = "100k tokens, 2 classes"
    river = "River MultinomialNB"
    return [
        Case(f"pickle.dumps MultinomialNB, {data}", partial(contest, dumps), river, 15, unit="ms"),
        Case(f"pickle.loads MultinomialNB, {data}", partial(contest, loads), river, 15, unit="ms"),
        Case(f"both ways MultinomialNB, {data}", partial(contest, both_ways), river, 15, unit="ms"),
        Case(
            f"memory of MultinomialNB from its state, {data}",
            partial(contest, loaded_memory),
            river,
            limit=10.0,
            unit="MB",
        ),
        Case(
            f"memory of MultinomialNB as learned, {data}",
            partial(contest, learned_memory, of_makers=True),
            river,
            unit="MB",
        ),
    ]
