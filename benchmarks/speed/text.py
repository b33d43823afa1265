"""Bags of words: messages of 60 words from a vocabulary of 20,000, counted by River's `BagOfWords`.

The counts come as JSON, so the words of an event are equal to those that the model knows, but not the same objects.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import feature_extraction, naive_bayes

import stream_bayes
from benchmarks.harness import (
    Case,
    Contest,
    Learner,
    Side,
    learns,
    predicts,
    predicts_after_learning,
    predicts_learns,
)

__all__ = ["cases", "words"]

VOCABULARY = 20_000
WORDS = 60
TRAINED = 6_000  # messages learned before anything is timed; together they hold every word
STREAM = 4_000  # messages that the timed passes take in turn
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
CLASSES = ("ham", "spam")

Message = tuple[str, str]  # text and label


def words(number: int, rng: np.random.Generator) -> NDArray[np.object_]:
    """Return so many different words of 4 to 10 letters."""
    found: dict[str, None] = {}
    while len(found) < number:
        for length in range(4, 11):
            drawn = LETTERS[rng.integers(0, 26, (number // 4, length))]
            found.update(dict.fromkeys(map("".join, drawn.tolist())))
    return np.array(rng.permutation(np.array(list(found), object))[:number], object)


@cache
def messages() -> tuple[list[Message], list[Message]]:
    """Messages to train with, and messages to be timed with.

    Words are drawn as in Zipf's law, P(rank r) ~ 1 / (r + 2.7). The ranks of the two classes differ among neighbours.
    """
    rng = np.random.default_rng(20)
    vocabulary = words(VOCABULARY, rng)
    ranks = np.arange(VOCABULARY)
    share = 1.0 / (ranks + 2.7)
    share /= share.sum()
    order = {"ham": ranks, "spam": np.argsort(ranks * rng.uniform(0.5, 2.0, VOCABULARY), kind="stable")}

    def drawn(number: int) -> list[Message]:
        made = []
        for label in np.array(CLASSES)[rng.integers(0, 2, number)].tolist():
            places = order[label][rng.choice(VOCABULARY, WORDS, p=share)]
            made.append((" ".join(vocabulary[places]), label))
        return made

    every_word = [
        (" ".join(chunk), CLASSES[number % 2])
        for number, chunk in enumerate(vocabulary.reshape(-1, WORDS // 3))
    ]
    return every_word + drawn(TRAINED - len(every_word)), drawn(STREAM)


@cache
def lines() -> tuple[list[str], list[str]]:
    """Return the messages in the form of `BagOfWords`, a line of JSON each."""
    count = feature_extraction.BagOfWords().transform_one
    train, stream = messages()
    return [json.dumps([count(text), y]) for text, y in train], [
        json.dumps([count(text), y]) for text, y in stream
    ]


def bags(raw: Sequence[str], kind: Callable[[Any], Any] = dict) -> list[Any]:
    """Return messages decoded one by one: words are strings of their own."""
    events = [json.loads(line) for line in raw]
    return events if kind is dict else [(kind(x), y) for x, y in events]


@cache
def trained(make: Callable[[], Learner]) -> Learner:
    """Return a model that has learned the training messages; the cases of a model share it, and train it further."""
    return taught(make())


def contest(
    run: Callable[[Learner], Callable[[Any], float]],
    ours: Callable[[], Learner],
    our_events: int,
    peer: Callable[[], Learner] | None = None,
    peer_events: int = 0,
    kind: Callable[[Any], Any] = dict,
) -> Contest:
    """Ours against a peer, both trained with the same messages."""
    make = partial(bags, kind=kind)
    other = None if peer is None else Side(peer_events, run(trained(peer)), make)
    return Contest(lines()[1], Side(our_events, run(trained(ours)), make), other)


def with_a_new_word(make: Callable[[], Learner]) -> Contest:
    """Predicting and learning messages with one word more, not known yet, beside the same without it."""
    known = [(dict.fromkeys(text.split()[: WORDS // 2], 1), label) for text, label in messages()[1]]
    new = [({**x, f"new {number}": 1}, label) for number, (x, label) in enumerate(known)]
    passed = count()

    def fresh(pairs: Any) -> list[Any]:
        turn = next(passed)  # a word is new once
        return [
            ({f"{word}{turn}" if word[:4] == "new " else word: 1 for word in x}, y) for (x, y), _ in pairs
        ]

    pairs = list(zip(new, known, strict=True))
    ours, other = (taught(make()) for _ in "12")
    return Contest(
        pairs,
        Side(2_000, predicts_learns(ours), fresh),
        Side(2_000, predicts_learns(other), lambda pairs: [({**x}, y) for _, (x, y) in pairs]),
    )


def taught(model: Learner) -> Learner:
    """Return a learner after it has learned the training messages."""
    for x, y in bags(lines()[0]):
        model.learn_one(x, y)
    return model


def cases() -> list[Case]:
    """Return the report's lines."""
    bag = f"{WORDS} words of {VOCABULARY // 1000}k"
    multinomial = (stream_bayes.MultinomialNB, naive_bayes.MultinomialNB)
    complement = (stream_bayes.ComplementNB, naive_bayes.ComplementNB)
    bernoulli = (stream_bayes.BernoulliNB, naive_bayes.BernoulliNB)

    def against(
        name: str,
        models: tuple[Callable[[], Learner], Callable[[], Learner]],
        run: Callable[[Learner], Callable[[Any], float]],
        our_events: int,
        peer_events: int,
        target: float | None = None,
        kind: Callable[[Any], Any] = dict,
    ) -> Case:
        ours, peer = models
        prepare = partial(contest, run, ours, our_events, peer, peer_events, kind)
        return Case(f"{ours.__name__} {name}, {bag}", prepare, f"River {peer.__name__}", target)

    return [
        against("learn", multinomial, learns, 2_000, 200, 25),
        against("predict", multinomial, predicts, 2_000, 100, 60),
        against("learn, Counter", multinomial, learns, 2_000, 200, kind=Counter),
        against("predict, Counter", multinomial, predicts, 2_000, 100, kind=Counter),
        Case(
            f"MultinomialNB predict_learn_one, {bag}",
            partial(contest, predicts_learns, stream_bayes.MultinomialNB, 2_000),
        ),
        against("learn", complement, learns, 2_000, 200),
        against("predict", complement, predicts, 2_000, 4, 3_000),
        against("learn", bernoulli, learns, 2_000, 200),
        against("predict", bernoulli, predicts, 2_000, 4, 1_000),
        against("predict after each learn", bernoulli, predicts_after_learning, 1_000, 4, 1_000),
        *(
            Case(
                f"{ours.__name__} predict_learn_one, 30 words and a new one",
                partial(with_a_new_word, ours),
                "30 words alone",
                1 / 1.3,
            )
            for ours in (stream_bayes.MultinomialNB, stream_bayes.BernoulliNB)
        ),
    ]
