"""A window holds the newest events: what is older is taken back, whatever has been learned and however."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.preprocessing import StandardScaler

from stream_bayes import (
    AODE,
    KDB,
    TAN,
    BayesNetClassifier,
    DriftAdaptive,
    GaussianNB,
    HalfLifeChoice,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Schema,
    SlidingWindow,
)
from stream_bayes.errors import BadState, BadValue, BudgetExceeded, CannotMerge, NotLearned
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.streams.served_models.served import served
from stream_bayes.testing.assertions import state_bytes
from tests.resealing import resealed

Event = tuple[dict[str, str], str, float]

values = st.sampled_from(["a", "b", "c", None])
events: st.SearchStrategy[Event] = st.tuples(
    st.fixed_dictionaries({}, optional={"u": values, "v": values, "w": values}),
    st.sampled_from(["yes", "no", "maybe"]),
    st.sampled_from([1.0, 2.0, 0.0]),
)


@pytest.mark.parametrize("around", [lambda model: SlidingWindow(model, 10), HalfLifeChoice, DriftAdaptive])
def test_the_steps_of_a_pipeline_go_before_what_is_around_its_learner(around: Callable[[Any], Any]) -> None:
    with pytest.raises(BadValue, match="go before"):
        around(StandardScaler() | GaussianNB())


def trained(learner: Any, stream: list[Event]) -> Any:
    for event in stream:
        learner.learn_one(*event)
    return learner


@settings(max_examples=40)
@given(st.lists(events, max_size=40), st.integers(1, 12), st.data())
def test_in_any_batches_a_window_holds_the_newest_events_and_no_others(
    stream: list[Event], size: int, data: st.DataObject
) -> None:
    for learner in (NaiveBayes(), AODE(min_count=1.0)):
        model, rest = SlidingWindow(learner.clone(), size), stream
        while rest:
            number = data.draw(st.integers(1, len(rest)))
            xs, ys, ws = (list(part) for part in zip(*rest[:number], strict=True))
            getattr(model, data.draw(st.sampled_from(["learn_many", "predict_learn_many"])))(xs, ys, ws)
            rest = rest[number:]
        fresh = trained(learner.clone(), [event for event in stream if event[2] > 0.0][-size:])
        assert model.store.by_name() == fresh.store.by_name()
        for x, _, _ in stream:
            assert model.predict_proba_one(x) == pytest.approx(fresh.predict_proba_one(x), abs=1e-12)


def test_a_feature_met_late_does_not_disturb_a_window_that_has_gone_round() -> None:
    model = SlidingWindow(NaiveBayes(), 3)
    for _ in range(5):
        model.learn_one({"sky": "grey"}, "rain")
    for number in range(6):
        model.learn_one({"sky": "blue", f"met {number}": "x"}, "sun")
    assert model.store.by_name()["sky", "blue", "sun"] == 3.0
    assert model.classes_ == ("sun",)


def test_a_structure_follows_the_newest_events() -> None:
    tree = TAN()
    model = SlidingWindow(tree, 40)
    for round_, (same, other) in enumerate([("b", "c"), ("c", "b")]):
        for number in range(40):
            a, free = number % 2 == 0, number % 3 == 0
            model.learn_one({"a": a, same: a, other: free}, number % 5 == 0)
        model.rederive()
        parents = tree.parents_
        assert parents[same] == "a" or parents["a"] == same, round_


def test_what_counted_beside_several_parents_leaves_with_its_event() -> None:
    model, fresh = SlidingWindow(KDB(k=2, window=5), 30), KDB(k=2)
    stream = [({"a": n % 2, "b": n % 3, "c": n % 5}, str(n % 7 < 3)) for n in range(100)]
    schema = Schema({name: Nominal() for name in "abc"})
    model, fresh = model.clone({"schema": schema}), fresh.clone({"schema": schema})
    for x, y in stream[:60]:
        model.learn_one(x, y)
    model.rederive()
    for x, y in stream[60:]:
        model.learn_one(x, y)
    for x, y in stream[70:]:
        fresh.learn_one(x, y)
    for one in (model, fresh):
        one.rederive()
    for x, _ in stream[:30]:
        assert model.predict_proba_one(x) == pytest.approx(fresh.predict_proba_one(x), abs=1e-12)


def test_an_event_is_unlearned_while_it_is_held_and_not_later() -> None:
    model = SlidingWindow(NaiveBayes(), 2)
    for sky in ("grey", "blue", "red"):
        model.learn_one({"sky": sky}, "dry")
    with pytest.raises(NotLearned):
        model.unlearn_one({"sky": "grey"}, "dry")
    model.unlearn_one({"sky": "blue"}, "dry")
    model.learn_one({"sky": "red"}, "dry")  # the one unlearned is too old now, and not taken back twice
    assert model.store.by_name() == {("dry",): 2.0, ("sky", "red", "dry"): 2.0}


@pytest.mark.parametrize(
    "learner",
    [NaiveBayes(), NaiveBayes(half_life=20), AODE(), TAN(), KDB(k=2), BayesNetClassifier(None), LiveChoice()],
    ids=lambda learner: type(learner).__name__,
)
def test_what_has_left_is_not_taken_back_from_events_like_it(learner: BayesClassifier) -> None:
    model = SlidingWindow(learner, 5)
    for number in range(15):
        model.learn_one({"sky": "grey", "wind": "ns"[number % 2]}, "rain")
    before = state_bytes(model)
    for number in range(10):
        with pytest.raises(
            NotLearned, match=r"not among the 5 recent events; those before them were taken back"
        ):
            model.unlearn_one({"sky": "grey", "wind": "ns"[number % 2]}, "rain", at=number + 1)
    assert state_bytes(model) == before
    model.unlearn_one({"sky": "grey", "wind": "n"}, "rain", at=11)
    assert state_bytes(SlidingWindow.from_state(model.state())) == state_bytes(model)


def test_a_class_that_leaves_during_a_batch_was_answered() -> None:
    model = SlidingWindow(NaiveBayes(), 1)
    answers = model.predict_learn_many([{"a": "x"}, {"a": "x"}, {"a": "x"}], ["yes", "no", "no"])
    assert answers == [{}, {"yes": 1.0, "no": 0.0}, {"yes": 0.0, "no": 1.0}]


def test_a_window_serves_in_a_pipeline_and_goes_on_from_its_state() -> None:
    stream: list[Event] = [({"sky": str(n % 3)}, str(n % 2), 1.0) for n in range(30)]
    one, other = (served(SlidingWindow(AODE(min_count=1.0), 10)) for _ in range(2))
    for x, y, w in stream[:20]:
        one.learn(x, y, w)
    other.load(one.freeze()())
    for model in (one, other):
        for x, y, w in stream[20:]:
            model.learn(x, y, w)
    assert state_bytes(one.model) == state_bytes(other.model)


def test_a_budget_counts_the_window() -> None:
    with pytest.raises(BudgetExceeded):
        SlidingWindow(NaiveBayes(memory_budget=50_000), 100_000)
    model = SlidingWindow(NaiveBayes(memory_budget=3_000_000), 100_000)
    assert 2_000_000 < model.memory_bytes < 3_000_000


def test_what_cannot_slide_is_refused() -> None:
    used = NaiveBayes()
    used.learn_one({"sky": "grey"}, "rain")
    within = NaiveBayes()
    SlidingWindow(within, 10)
    wrong: list[tuple[Any, Any]] = [
        (used, 10),
        (within, 10),
        (MultinomialNB(), 10),
        (SlidingWindow(NaiveBayes(), 5), 10),
        ("nb", 10),
        (NaiveBayes, 10),
        (NaiveBayes(), 0),
        (NaiveBayes(), 2.5),
        (NaiveBayes(), None),
        (NaiveBayes(), 2**60),
    ]
    for learner, size in wrong:
        with pytest.raises(BadValue):
            SlidingWindow(learner, size)


def test_windows_are_not_merged() -> None:
    one, other = SlidingWindow(NaiveBayes(), 3), SlidingWindow(NaiveBayes(), 3)
    with pytest.raises(CannotMerge, match="order"):
        one.merge(other)


def test_a_state_that_names_a_class_to_import_or_holds_too_much_is_refused() -> None:
    model = trained(SlidingWindow(NaiveBayes(), 3), [({"sky": "grey"}, "rain", 1.0)] * 5)
    for parameters in (
        {**model.state()["parameters"], "learner": {"learner": ["os.system", {}]}},
        {**model.state()["parameters"], "size": 2},
        {**model.state()["parameters"], "learner": {"learner": ["NaiveBayes"]}},
    ):
        state = {**model.state(), "parameters": parameters}
        with pytest.raises(BadState):
            SlidingWindow.from_state(resealed(state))
