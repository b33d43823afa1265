"""What a budget refuses depends on what is held, and not on the room that tables have grown into on the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import drift

from stream_bayes import (
    A2DE,
    AODE,
    KDB,
    ODE,
    SPODE,
    TAN,
    BayesNet,
    BayesNetClassifier,
    Binning,
    DriftAdaptive,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    SlidingWindow,
)
from stream_bayes.errors import BudgetExceeded, FeaturesIgnored
from tests.builds import EVERYTHING
from tests.core.live_networks.family_events import cells
from tests.drift.drifting_streams import again, bytes_of

EXAMPLES = 3 if EVERYTHING else 1
EVENTS = 48
GRAPH = {"class": [], "a": ["class"], "b": ["a", "class"], "c": ["a", "b", "class"], 7: ["c", "class"]}
NETWORK = {name: [one for one in above if one != "class"] for name, above in GRAPH.items() if name != "class"}
SHORT: dict[str, Any] = {"binning": Binning(after=2, window=12)}

Maker = Callable[[int | None], Any]
MAKERS: dict[str, Maker] = {
    "NaiveBayes": lambda budget: NaiveBayes(memory_budget=budget),
    "MultinomialNB": lambda budget: MultinomialNB(memory_budget=budget),
    "AODE": lambda budget: AODE(memory_budget=budget, **SHORT),
    "A2DE": lambda budget: A2DE(memory_budget=budget, **SHORT),
    "SPODE": lambda budget: SPODE(memory_budget=budget, **SHORT),
    "ODE": lambda budget: ODE({"b": "a"}, memory_budget=budget),
    "TAN": lambda budget: TAN(every=7, memory_budget=budget, **SHORT),
    "KDB": lambda budget: KDB(k=2, every=7, window=20, memory_budget=budget, **SHORT),
    "KDB, sliding": lambda budget: SlidingWindow(KDB(k=3, every=5, memory_budget=budget, **SHORT), 20),
    "LiveChoice": lambda budget: LiveChoice(memory_budget=budget, **SHORT),
    "BayesNet": lambda budget: BayesNet(NETWORK, memory_budget=budget),
    "BayesNetClassifier": lambda budget: BayesNetClassifier(GRAPH, memory_budget=budget, **SHORT),
    "BayesNetClassifier, sliding": lambda budget: SlidingWindow(
        BayesNetClassifier(GRAPH, memory_budget=budget, **SHORT), 15
    ),
    "DriftAdaptive": lambda budget: DriftAdaptive(
        KDB(k=2, every=5, window=20, memory_budget=budget, **SHORT),
        drift.ADWIN(clock=1, grace_period=5, delta=0.5),
        window=40,
        judge_after=4,
    ),
}
# Families of networks are tables of all their cells, or list their configurations when these are too many.
WHOLE_TABLES, CONFIGURATIONS = 65536, 5
CASES = [pytest.param(make, WHOLE_TABLES, id=name) for name, make in MAKERS.items()] + [
    pytest.param(make, CONFIGURATIONS, id=f"{name}, configurations")
    for name, make in MAKERS.items()
    if "BayesNet" in name
]

weights = st.sampled_from([1.0] * 12 + [2.0, 0.5])
codes = st.integers(0, 9)
drawn_events = st.lists(
    st.tuples(codes, codes, codes, codes, weights, st.integers(0, 2)), min_size=EVENTS, max_size=EVENTS
)


def event(number: int, codes: tuple[int, ...], bags: bool, numeric: bool) -> dict[Any, Any]:
    """Few values at first, more and more of them later, now and then one that is missing."""
    a, b, c, d = codes
    wide = 2 + number // 12
    x: dict[Any, Any] = {"a": f"a{a % wide}", "b": f"b{b % wide}", "c": f"c{c * number % (2 * wide)}"}
    if d:
        x[7] = float(d) + number / 100 if numeric else f"d{d}"
    if a == b:
        x[f"rare {c}"] = "x"
    if bags:
        return {f"{name} {value}": 1 for name, value in x.items()}
    return x


def loaded(model: Any, make: Callable[[], Any]) -> Any:
    """One that goes on from the state of another."""
    return BayesNet.from_state(model.state()) if isinstance(model, BayesNet) else again(model, make)


def bytes_held(model: Any) -> str:
    """All of a model's state."""
    return str(model.state()["checksum"]) if isinstance(model, BayesNet) else bytes_of(model)


def learn(model: Any, x: dict[Any, Any], w: float, y: int) -> object:
    """What it answers, or why it refuses."""
    try:
        if isinstance(model, BayesNet):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FeaturesIgnored)  # its structure is given
                model.learn_one(x, w)
            return None
        answer = model.predict_proba_one(x)
        model.learn_one(x, y, w)
        return answer
    except BudgetExceeded as error:
        return str(error)


@pytest.mark.parametrize(("make", "most"), CASES)
@settings(max_examples=EXAMPLES)
@given(
    events=drawn_events,
    save_at=st.sets(st.integers(0, EVENTS - 1), min_size=1, max_size=6),
    within=st.integers(0, 14),
)
def test_a_restored_model_refuses_and_answers_near_its_budget_what_one_that_ran_on_does(
    make: Maker, most: int, events: list[tuple[Any, ...]], save_at: set[int], within: int
) -> None:
    network = isinstance(make(None), BayesNet)
    bags = isinstance(make(None), MultinomialNB)
    numeric = not network and not bags and not isinstance(make(None), ODE)
    stream = [
        (event(number, (a, b, c, d), bags, numeric), w, y) for number, (a, b, c, d, w, y) in enumerate(events)
    ]
    with cells(most):
        free = make(None)
        for x, w, y in stream[: EVENTS // 2]:
            learn(free, x, w, y)
        budget = loaded(free, lambda: make(None)).memory_bytes * (7 + within) // 14
        try:
            model = twin = make(budget)
        except BudgetExceeded:
            return
        twin = loaded(model, lambda: make(budget))
        for number, (x, w, y) in enumerate(stream):
            if number in save_at:
                twin = loaded(twin, lambda: make(budget))
            assert learn(model, x, w, y) == learn(twin, x, w, y), number
        assert bytes_held(model) == bytes_held(twin)
