"""Saved models load, at every moment of a stream whose names grow, and goes on with equal bytes and answers.

Every learner that the package offers is here, also those around others; budgets are hit, cuts are set again, experts
sleep and wake, and structures change within the few hundred events of a stream.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from river import compose, drift

import stream_bayes
from stream_bayes import (
    A2DE,
    AODE,
    KDB,
    LDA,
    QDA,
    SPODE,
    TAN,
    AdaptiveBayes,
    BayesNet,
    BayesNetClassifier,
    Binning,
    DriftAdaptive,
    HalfLifeChoice,
    LiveChoice,
    ModelPerKey,
    MultinomialNB,
    NaiveBayes,
    SlidingWindow,
)
from stream_bayes.learners.adaptive import adaptive_bayes, experts, sleeping_experts
from stream_bayes.networks import growth
from stream_bayes.saving.model_files import restored
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.testing.growing_streams import GrowingStream
from stream_bayes.testing.laws_of_states import goes_on_as_if_never_saved

EVENTS = 90 if stream_bayes.compiled else 20
SOAK_STREAMS = 2_000
SHORT: dict[str, Any] = {"binning": Binning(after=4, window=32)}
SMALL: dict[str, Any] = {"memory_budget": 60_000, **SHORT}
WITH_EVENTS: dict[str, Any] = {"memory_budget": 300_000, **SHORT}  # that are kept
BOTH = {"nominal", "numeric"}

Maker = Callable[[], Any]
MAKERS: dict[str, tuple[Maker, set[str]]] = {
    "AdaptiveBayes": (lambda: AdaptiveBayes(memory_budget=2**21), BOTH),
    "AdaptiveBayes without label memory": (lambda: AdaptiveBayes(label_memory=0, memory_budget=2**21), BOTH),
    "AdaptiveBayes over names": (lambda: AdaptiveBayes(memory_budget=2**20), {"nominal"}),
    "HalfLifeChoice": (lambda: HalfLifeChoice(KDB(k=2, window=30, **SMALL), [None, 20.0]), BOTH),
    "ModelPerKey": (lambda: ModelPerKey(NaiveBayes(), "wet", 5.0), BOTH),
    "HalfLifeChoice of naive Bayes": (
        lambda: HalfLifeChoice(NaiveBayes(), (10, 100), combine="mixture"),
        BOTH,
    ),
    "DriftAdaptive": (
        lambda: DriftAdaptive(
            KDB(k=2, every=5, window=20, **SMALL),
            drift.ADWIN(clock=1, grace_period=5, delta=0.5),
            window=40,
            judge_after=4,
        ),
        BOTH,
    ),
    "DriftAdaptive of a network": (
        lambda: DriftAdaptive(BayesNetClassifier(window=60, **SHORT), "adwin", window=40, judge_after=4),
        BOTH,
    ),
    "a pipeline": (lambda: compose.Prefixer("a ") | LiveChoice(**SMALL), BOTH),
    "NaiveBayes": (lambda: NaiveBayes(memory_budget=20_000), BOTH),
    "NaiveBayes in bins": (lambda: NaiveBayes(numbers=Binning(after=4, window=32), half_life=30.0), BOTH),
    "MultinomialNB": (lambda: MultinomialNB(memory_budget=4_000), {"bag"}),
    "LDA": (lambda: LDA(half_life=50.0), BOTH),
    "QDA": (QDA, BOTH),
    "AODE": (lambda: AODE(subsumption=3.0, min_count=2.0, **SMALL), BOTH),
    "A2DE": (lambda: A2DE(max_values=4, **SMALL), BOTH),
    "SPODE": (lambda: SPODE(**SMALL), BOTH),
    "TAN": (lambda: TAN(half_life=30.0, **SMALL), BOTH),
    "KDB": (lambda: KDB(k=3, window=40, **SMALL), BOTH),
    "KDB with a half-life": (lambda: KDB(k=2, every=7, half_life=20.0, window=40, **SMALL), BOTH),
    "LiveChoice": (
        lambda: LiveChoice(readings=("kdb3", "tan", "aode", "gaussian", "lda"), **WITH_EVENTS),
        BOTH,
    ),
    "LiveChoice of triples": (lambda: LiveChoice(readings=("a2de", "weighted"), **SHORT, max_values=5), BOTH),
    "SlidingWindow": (lambda: SlidingWindow(KDB(k=3, **WITH_EVENTS), 25), BOTH),
    "SlidingWindow of a choice": (lambda: SlidingWindow(LiveChoice(**SMALL), 25), BOTH),
    "SlidingWindow of a network": (lambda: SlidingWindow(BayesNetClassifier(**SHORT), 25), BOTH),
    "BayesNetClassifier": (lambda: BayesNetClassifier(window=50, **SHORT), BOTH),
    "BayesNetClassifier within a budget": (lambda: BayesNetClassifier(window=50, **SMALL), BOTH),
    "BayesNet": (lambda: BayesNet(structure="learn", window=60), {"nominal"}),
    "BayesNet within a budget": (
        lambda: BayesNet(structure="learn", window=60, memory_budget=60_000),
        {"nominal"},
    ),
}
LARGE = {
    name for name in MAKERS if "AdaptiveBayes" in name or "triples" in name
}  # states that take long to save


class Follower:
    """Any model, taught as a classifier is: a network has the label as one more variable."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_learn_one(self, x: dict[Any, Any], y: Any, w: float) -> object:
        if isinstance(self.model, BayesNet):
            event = {**x, "label": y}
            score = self.model.score_one(event)
            self.model.learn_one(event, w)
            return score
        answer = self.model.predict_proba_one(x)
        self.model.learn_one(x, y, w=w)
        return answer

    def predict_proba_one(self, x: dict[Any, Any]) -> object:
        net = isinstance(self.model, BayesNet)
        return self.model.score_one(x) if net else self.model.predict_proba_one(x)


@contextmanager
def hurried() -> Iterator[None]:
    """Experts that sleep soon, searches that come early, and stores of pairs with little room."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of features like ids
        patch.setattr(sleeping_experts, "TRIAL", 20)
        patch.setattr(sleeping_experts, "PAUSE", 5)
        patch.setattr(sleeping_experts, "FIRST_SLEEP", 60)
        patch.setattr(growth, "FIRST_SEARCH", 16)
        patch.setattr(growth, "SHORTEST_TRIAL", 6)
        for name in ("COARSE", "MIDDLE", "FINE"):
            bins = getattr(experts, name)
            patch.setattr(experts, name, Binning(bins=bins.bins, after=6, window=96))
        for module in (experts, adaptive_bayes):
            patch.setattr(module, "MOST_PAIRED", 6)
        patch.setattr(adaptive_bayes, "FIRST_CHOICE", 16)
        yield


def saved(follower: Follower) -> bytes:
    """The bytes of the file that a model is saved to."""
    model = follower.model
    state = model.state() if hasattr(type(model), "from_state") else model_state(model)
    return Snapshot(learner=type(model).__name__, sections={"model": state}).to_bytes()


def check(name: str, seed: int, events: int, every: int) -> None:
    make, kinds = MAKERS[name]

    def reloaded(follower: Follower) -> Follower:
        snapshot = Snapshot.from_bytes(saved(follower))
        state = snapshot.sections["model"]
        loaded = restored(snapshot.learner, state)
        return Follower(restore_model(make(), state) if loaded is None else loaded)

    with hurried():
        stream = GrowingStream(seed, kinds)
        goes_on_as_if_never_saved(Follower(make()), stream, events, reloaded, saved, every)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=1, phases=(Phase.explicit, Phase.generate))
@given(seed=st.integers(0, 2**32), every=st.integers(4, 15))
def test_a_model_saved_at_any_moment_loads_and_goes_on_with_equal_bytes(
    name: str, seed: int, every: int
) -> None:
    check(name, seed, EVENTS, 8 * every if name in LARGE else every)


@pytest.mark.soak
@pytest.mark.timeout(3600, func_only=True)
@pytest.mark.parametrize("name", MAKERS)
def test_models_saved_at_any_moment_of_many_streams_load(name: str) -> None:
    for seed in range(SOAK_STREAMS // len(MAKERS) + 1):
        check(name, seed, 300, 1 + seed % 50)
