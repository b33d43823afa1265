"""Streams as wild as they come: features that appear late, sparse, or once; labels and values without end; every verb
between. Whatever happens, answers are probabilities and states can be read back; on the checked build, nothing is read
or written beyond a table.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

import stream_bayes
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import same_bytes
from stream_bayes.testing.public_learners import learners
from tests.shares import share_of

SEEDS = range(1)
SOAK_SEEDS = range(1_000, 1_030)
LENGTH = 120 if stream_bayes.compiled else 25
LEARNERS = learners()
TABULAR = sorted(
    name
    for name, model in LEARNERS.items()
    if model.schema is None and {"nominal", "numeric"} <= model.inputs and "binning=None" not in name
)
OF_EACH_CLASS: list[str] = share_of(TABULAR, lambda name: type(LEARNERS[name]), 2)


class Wild:
    """A stream of events for one learner, and what is done with it."""

    def __init__(self, model: BayesClassifier, seed: int) -> None:
        self.model = model
        self.source = random.Random(seed)
        words, numbers = self.source.randint(1, 6), self.source.randint(1, 6)
        self.names = [f"w{n}" for n in range(words)] + [f"n{n}" for n in range(numbers)]
        self.source.shuffle(self.names)
        self.opening = self.source.random() < 0.5  # features come one after the other
        self.time = 0
        self.held: list[tuple[dict[str, Any], Any, float, int]] = []

    def x(self) -> dict[str, Any]:
        source = self.source
        known = 1 + self.time * 2 * len(self.names) // LENGTH if self.opening else len(self.names)
        names = self.names[:known]
        return {name: self.value(name) for name in source.sample(names, source.randint(0, len(names)))}

    def value(self, name: str) -> Any:
        source = self.source
        if name[0] == "w":
            return source.choice(["a", "b", str(source.randrange(1 + self.time // 3))])
        return source.choice([source.gauss(0.0, 1.0), float(source.randrange(4)), 1e6 * source.random()])

    def y(self) -> str:
        return self.source.choice(["u", "v", str(self.source.randrange(1 + self.time // 20))])

    def go(self) -> None:
        """Do the next thing."""
        source, model = self.source, self.model
        self.time += 1
        what = source.random()
        try:
            if what < 0.6:
                x, y, w = self.x(), self.y(), source.choice([1.0, 1.0, 1.0, 2.0, 0.5, 0.0])
                (model.learn_one if what < 0.5 else model.predict_learn_one)(x, y, w)
                self.held.append((x, y, w, model.clock))
            elif what < 0.7:
                xs = [self.x() for _ in range(source.randint(1, 5))]
                (model.learn_many if what < 0.65 else model.predict_learn_many)(xs, [self.y() for _ in xs])
            elif what < 0.8 and self.held:
                x, y, w, at = self.held.pop(source.randrange(len(self.held)))
                model.unlearn_one(x, y, w, at=at)
            elif what < 0.83:
                model.advance(source.choice([1, 100, 5000]))
            elif what < 0.87:
                model.merge(type(model).from_state(model.state()))
            elif what < 0.9 and hasattr(model, "rederive"):
                model.rederive()
            else:
                self.ask()
        except StreamBayesError:
            pass  # refused; that the model is as before is a law of its own
        if self.time % 10 == 0:
            self.keep()

    def ask(self) -> None:
        answer = self.model.predict_proba_one(self.x())
        assert not answer or sum(answer.values()) == pytest.approx(1.0, abs=1e-9)
        for of in self.model.predict_proba_many([self.x(), self.x()]):
            assert not of or sum(of.values()) == pytest.approx(1.0, abs=1e-9)
        self.model.explain_one(self.x())

    def keep(self) -> None:
        """Go on from the state."""
        twin = type(self.model).from_state(self.model.state())
        same_bytes(self.model, twin, "a state read back")
        self.model = twin


def run(name: str, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of samples too few for what was asked
        wild = Wild(LEARNERS[name].clone(), seed)
        for _ in range(LENGTH):
            wild.go()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_EACH_CLASS)
def test_nothing_that_comes_breaks_a_learner(name: str, seed: int) -> None:
    run(name, seed)


@pytest.mark.soak
@pytest.mark.parametrize("name", TABULAR)
def test_nothing_that_comes_in_long_breaks_a_learner(name: str) -> None:
    for seed in SOAK_SEEDS:
        run(name, seed)
