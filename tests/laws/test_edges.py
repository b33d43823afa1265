"""Where learners of counts go wrong: nothing, too much, zero, the last sample, and what cannot be saved."""

from __future__ import annotations

import contextlib
import hashlib
import math
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from stream_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes
from stream_bayes.errors import BadState, BadValue, BadWeight, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing import learners
from stream_bayes.testing.assertions import changes_nothing, refuses, same_bytes, state_bytes
from stream_bayes.testing.sample_streams import Streams
from tests.builds import ASKS_NO_KERNEL
from tests.hash_seeds import printed_with
from tests.shares import share_of

# Far out in a Gaussian's tail a square overflows to infinity, as it should; uncompiled, numpy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

ALL = learners()
SHARED: list[str] = share_of(ALL, lambda name: type(ALL[name]), 0)
OF_EACH_CLASS = pytest.mark.parametrize("name", SHARED)
EVERY_KIND = pytest.mark.parametrize(
    "kind", [NaiveBayes, GaussianNB, MultinomialNB, ComplementNB, BernoulliNB]
)


def demand_probabilities(answer: dict[Any, float]) -> None:
    assert all(0.0 <= p <= 1.0 for p in answer.values()), answer
    assert math.fsum(answer.values()) == pytest.approx(1.0, abs=1e-12)


def reloaded(model: BayesClassifier) -> BayesClassifier:
    return type(model).from_state(model.state())


# -- weight zero ------------------------------------------------------------------------------------------------------


@EVERY_KIND
def test_a_sample_without_weight_names_nothing(kind: type[BayesClassifier]) -> None:
    x = {"x": 1.5} if kind is GaussianNB else {"x": 1}
    one, tested, many = kind(), kind(), kind()
    for number in range(40):
        rows = [{"known": 1.0}, {f"new {n}": 2.0 for n in range(number)}]
        labels, weights = ["yes", f"new {number}"], [1.0, 0.0]
        for x, y, w in zip(rows, labels, weights, strict=True):
            before = one.predict_proba_one(x)
            one.learn_one(x, y, w)
            assert tested.predict_learn_one(x, y, w) == before
        many.learn_many(rows, labels, weights)
    same_bytes(one, tested, "weightless samples tested and learned")
    same_bytes(one, many, "weightless samples in a batch")
    assert one.classes_ == ("yes",)


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_a_number_that_was_all_unlearned_says_nothing() -> None:
    model = GaussianNB(strength=1.0)
    for y, times in (("a", 3), ("b", 1)):
        model.learn_one({"y": 1.0}, y, times)
    model.learn_one({"x": 1.0}, "a")
    model.unlearn_one({"x": 1.0}, "a")
    assert model.joint_log_likelihood({"x": 5.0}) == model.joint_log_likelihood({})


def test_a_number_that_was_only_named_says_nothing() -> None:
    model = NaiveBayes()
    model.learn_one({"c": "r"}, "a", 3.0)
    model.learn_one({"c": "g"}, "b")
    before = model.predict_proba_one({"c": "r"})
    assert model.predict_learn_one({"c": "r", "new": 7.0}, "a") == before


@pytest.mark.parametrize("value", [5.0, 6.0, 5000.0, -1e9])
def test_a_number_that_never_varied_does_not_drown_the_rest(value: float) -> None:
    model = NaiveBayes()
    for _ in range(9):
        model.learn_one({"constant": 5.0, "c": "r"}, "a")
        model.learn_one({"constant": 5.0, "c": "g"}, "b")
    model.learn_one({"c": "g"}, "a")
    expected = model.predict_proba_one({"c": "g"})
    assert model.predict_proba_one({"c": "g", "constant": value}) == pytest.approx(expected, abs=1e-6)


def test_the_last_zero_can_be_unlearned() -> None:
    numbers = [2.0, 8.0, 14.0, 0.1, 0.0]
    model = GaussianNB()
    for x in numbers:
        model.learn_one({"x": x}, "a")
    for x in numbers:
        model.unlearn_one({"x": x}, "a")
    assert model.classes_ == ()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6, 1e12])
def test_numbers_of_any_scale_can_be_unlearned_down_to_the_last(scale: float) -> None:
    numbers = [scale * n / 7 for n in (3, 1, 4, 1, 5, 9, 2, 6, 0)]
    model = GaussianNB()
    for x in numbers:
        model.learn_one({"x": x}, "a")
    for x in numbers:
        model.unlearn_one({"x": x}, "a")
    assert model.classes_ == ()


@pytest.mark.parametrize("half_life", [0.01, 0.25, 1.0])
def test_fast_fading_leaves_a_state_that_loads(half_life: float) -> None:
    model = GaussianNB(half_life=half_life)
    for n in range(300):
        model.learn_one({"x": math.sin(n) * 10, "y": n / 7}, n % 3)
        same_bytes(reloaded(model), model, f"event {n}")


def test_after_a_long_silence_answers_are_still_probabilities() -> None:
    for learner in (
        NaiveBayes(half_life=1.0),
        GaussianNB(half_life=1.0),
        NaiveBayes(half_life=1.0, strength=0.0),
    ):
        for n in range(20):
            learner.learn_one({"x": float(n % 5)}, n % 2)
        for events in (10, 100, 1000, 10_000, 10**9):
            learner.advance(events)
            demand_probabilities(learner.predict_proba_one({"x": 2.5}))
            same_bytes(reloaded(learner), learner, f"after {events} more events")
        learner.learn_one({"x": 1.0}, 1)
        demand_probabilities(learner.predict_proba_one({"x": 1.0}))


HUGE: list[tuple[BayesClassifier, list[tuple[dict[Any, Any], float]]]] = [
    (GaussianNB(), [({"x": 1e300}, 1.0), ({"x": -1e300}, 1.0)]),
    (GaussianNB(), [({"x": 1e160}, 1.0), ({"x": -1e160}, 1.0)]),
    (NaiveBayes(), [({"x": "a"}, 1e308), ({"x": "a"}, 1e308)]),
    (NaiveBayes(half_life=1.0), [({"x": "a"}, 1e300), ({"x": "b"}, 1e300)] * 100),
    (MultinomialNB(), [({"x": 1e308}, 1.0), ({"x": 1e308}, 1.0)]),
    (MultinomialNB(), [({"x": 1e200}, 1e200)]),
    (BernoulliNB(), [({"x": 1e308}, 1e308), ({"y": 1e308}, 1e308)]),
]


@pytest.mark.parametrize(("learner", "samples"), HUGE)
def test_what_is_too_large_is_refused_or_learned_but_breaks_nothing(
    learner: BayesClassifier, samples: list[tuple[dict[Any, Any], float]]
) -> None:
    model = learner.clone()
    model.learn_one({}, "other")
    for x, w in samples:
        before = state_bytes(model)
        try:
            model.learn_one(x, "y", w)
        except (BadValue, BadWeight):
            assert state_bytes(model) == before
        demand_probabilities(model.predict_proba_one({}))
        with contextlib.suppress(BadValue):
            demand_probabilities(model.predict_proba_one(x))
        same_bytes(reloaded(model), model, "reloading")


@pytest.mark.parametrize("events", [2**62, 2**63, 10**30])
def test_a_clock_that_would_run_over_is_refused(events: int) -> None:
    for model in (NaiveBayes(), NaiveBayes(half_life=2.0)):
        model.learn_one({"x": "a"}, "y")
        refuses(model, partial(model.advance, events), StreamBayesError, f"advance({events})")


# -- bags -------------------------------------------------------------------------------------------------------------


def test_an_empty_message_counts_as_a_message() -> None:
    model = BernoulliNB()
    model.learn_one({"a": 3}, 1)
    model.learn_one({"b": 3}, 0)
    model.joint_log_likelihood({})
    model.learn_one({}, 0)
    assert model.joint_log_likelihood({}) == reloaded(model).joint_log_likelihood({})
    model.unlearn_one({}, 0)
    assert model.joint_log_likelihood({}) == reloaded(model).joint_log_likelihood({})


def test_an_unsmoothed_complement_answers_with_probabilities() -> None:
    model = ComplementNB(alpha=0.0)
    model.learn_one({"free": 1, "the": 1}, "spam")
    model.learn_one({"meeting": 1, "the": 1}, "ham")
    for x in ({"free": 1}, {"meeting": 1}, {"free": 1, "meeting": 1}, {"the": 2, "free": 1}, {}):
        demand_probabilities(model.predict_proba_one(x))
    assert model.predict_one({"free": 1, "the": 1}) == "spam"


# -- names ------------------------------------------------------------------------------------------------------------

NO_NAMES = (None, float("nan"), float("inf"), frozenset("a"), object(), 1j, ("a", None))


@EVERY_KIND
@pytest.mark.parametrize("name", NO_NAMES, ids=lambda name: type(name).__name__)
def test_a_name_that_could_not_be_saved_is_refused(kind: type[BayesClassifier], name: Any) -> None:
    model = kind()
    refuses(model, lambda: model.learn_one({"fine": 1.0, name: 1.0}, "y"), BadValue, f"the name {name!r}")
    rows = [{"fine": 1.0}, {name: 1.0}]
    refuses(model, lambda: model.learn_many(rows, ["y", "y"]), BadValue, f"the name {name!r} in row 1")


@EVERY_KIND
@pytest.mark.parametrize("event", [["ab"], [], "", [("x", 1.0)]], ids=repr)
def test_an_event_that_is_no_mapping_is_refused(kind: type[BayesClassifier], event: Any) -> None:
    model = kind()
    if "bag" in kind.inputs and isinstance(event, list) and all(isinstance(token, str) for token in event):
        model.learn_one(event, "y")  # type: ignore[arg-type]  # the tokens of a text
        return
    refuses(model, lambda: model.learn_one(event, "y"), BadValue, f"the event {event!r}")


@EVERY_KIND
def test_any_mapping_will_do(kind: type[BayesClassifier]) -> None:
    plain, proxied = kind(), kind()
    for n in range(10):
        x = {"a": float(n % 3), "b": 1.0 + n % 2}
        plain.learn_one(x, n % 2)
        proxied.learn_one(MappingProxyType(x), n % 2)
        assert proxied.predict_proba_one(MappingProxyType(x)) == plain.predict_proba_one(x)
        assert proxied.explain_one(MappingProxyType(x)).evidence == plain.explain_one(x).evidence
    plain.unlearn_one({"a": 0.0, "b": 1.0}, 0)
    proxied.unlearn_one(MappingProxyType({"a": 0.0, "b": 1.0}), 0)
    same_bytes(plain, proxied, "dicts and other mappings")


# -- the rest ---------------------------------------------------------------------------------------------------------


@OF_EACH_CLASS
def test_before_any_learning_nothing_is_known(name: str) -> None:
    model = ALL[name].clone()
    streams = Streams(model)
    for x in streams.probes():
        assert model.predict_one(x) is None
        assert model.predict_proba_one(x) == model.joint_log_likelihood(x) == model.class_prior_ == {}
        assert model.predict_many([x, x]) == [None, None]
        assert model.predict_proba_many([x]) == [{}]


@OF_EACH_CLASS
def test_a_state_is_a_copy(name: str) -> None:
    model = ALL[name].clone()
    streams = Streams(model)
    for x, y, w in streams.samples(10):
        model.learn_one(x, y, w)
    state = model.state()
    loaded = type(model).from_state(state)
    for array in state["arrays"].values():
        with (
            changes_nothing(model, "writing into a state"),
            changes_nothing(loaded, "writing into the state"),
        ):
            array += array.dtype.type(1)


@pytest.mark.parametrize("half_life", [None, 3.0])
def test_merging_a_learner_with_itself_doubles_it(half_life: float | None) -> None:
    model = NaiveBayes(half_life=half_life)
    for n in range(20):
        model.learn_one({"a": "xyz"[n % 3], "b": float(n)}, n % 2)
    before = model.store.by_name()
    model.merge(model)
    for name, held in model.store.by_name().items():
        weight, expected = (cell[0] if isinstance(cell, tuple) else cell for cell in (held, before[name]))
        assert weight == pytest.approx(2 * expected, rel=1e-12)


SHOW_STATES = """
import hashlib
from stream_bayes.testing import learners
from stream_bayes.testing.assertions import state_bytes
from stream_bayes.testing.sample_streams import Streams
for name, model in learners().items():
    for x, y, w in Streams(model).samples(30):
        model.learn_one(x, y, w)
    print(name, hashlib.sha256(state_bytes(model) + repr(model.predict_proba_one({})).encode()).hexdigest())
"""


@ASKS_NO_KERNEL
def test_states_do_not_depend_on_hashes() -> None:
    shown = {printed_with(seed, SHOW_STATES) for seed in (0, 12345)}
    assert len(shown) == 1
    assert len(shown.pop().splitlines()) == len(ALL)


def test_a_state_of_another_kind_is_refused() -> None:
    with pytest.raises(BadState, match="MultinomialNB"):
        BernoulliNB.from_state(MultinomialNB().state())
    assert (
        hashlib.sha256(state_bytes(BernoulliNB())).digest()
        != hashlib.sha256(state_bytes(MultinomialNB())).digest()
    )
