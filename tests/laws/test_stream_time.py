"""Fading in stream time: a sample weighs by its own time, so any split into shards, in any order, has one sum."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from stream_bayes import KDB, NaiveBayes, SlidingWindow
from stream_bayes.errors import BadState, BadValue, BadWeight, CannotMerge, NotLearned
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.public_learners import learners
from stream_bayes.testing.sample_streams import Streams
from stream_bayes.workers.summable import check_summable
from stream_bayes.workers.total import summed
from tests.shares import share_of

HALF_LIFE, SECONDS = "7d", 7 * 86_400.0
NOW = 1.7e9
Timed = tuple[Any, Any, float, float]


@cache
def fading() -> dict[str, BayesClassifier]:
    """Return learners of each class that can be summed, with a half-life in stream time."""
    found = {}
    for name, learner in learners().items():
        if learner._get_params().get("half_life", 0) is not None:
            continue  # the same with a half-life in events, or one without any
        try:
            check_summable(learner)
        except CannotMerge:
            continue
        found[name] = learner.clone({"half_life": HALF_LIFE})
    return {name: found[name] for name in share_of(found, lambda name: type(found[name]), 3)}


def samples(learner: BayesClassifier, count: int = 60, days: float = 60.0) -> list[Timed]:
    chance = random.Random(3)
    return [
        (*sample, NOW + chance.uniform(0.0, days) * 86_400.0)
        for sample in Streams(learner, seed=3).samples(count)
    ]


def learn(learner: BayesClassifier, given: Sequence[Timed]) -> BayesClassifier:
    for x, y, w, at in given:
        learner.learn_one(x, y, w, at)
    return learner


def assert_alike(mine: BayesClassifier, other: BayesClassifier) -> None:
    """Check all counts by name to 1e-9 of the largest."""
    one, expected = mine.store.by_name(), other.store.by_name()
    assert one.keys() == expected.keys()
    largest = max((abs(part) for value in expected.values() for part in parts(value)), default=1.0)
    for place, value in expected.items():
        for found, wanted in zip(parts(one[place]), parts(value), strict=True):
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9 * largest), place


def parts(value: Any) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", fading())
def test_any_split_into_shards_in_any_order_has_one_sum(name: str) -> None:
    empty, chance = fading()[name], random.Random(5)
    given = samples(empty)
    whole = learn(empty.clone(), given)
    shards = {number: empty.clone() for number in range(3)}
    for x, y, w, at in chance.sample(given, len(given)):
        shards[chance.randrange(3)].learn_one(x, y, w, at)
    total = summed(empty, {number: type(empty).from_state(one.state()) for number, one in shards.items()})
    assert_alike(total, whole)
    x, y, w, at = given[7]
    whole.unlearn_one(x, y, w, at)
    without = learn(empty.clone(), given[:7] + given[8:])
    without.advance_to(max(time for *_, time in given))
    assert whole.store.by_name().keys() >= without.store.by_name().keys()
    for place, value in without.store.by_name().items():
        assert parts(whole.store.by_name()[place])[0] == pytest.approx(parts(value)[0], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", fading())
def test_a_snapshot_goes_on_as_if_nothing_had_happened(name: str) -> None:
    empty = fading()[name]
    given = samples(empty)
    whole = learn(empty.clone(), given[:40])
    loaded = type(empty).from_state(whole.state())
    for each in (whole, loaded):
        learn(each, given[40:])
    assert loaded.store.by_name() == whole.store.by_name()
    assert loaded.predict_proba_one(given[0][0]) == whole.predict_proba_one(given[0][0])


@pytest.mark.parametrize("name", fading())
def test_many_rows_are_learned_as_one_by_one(name: str) -> None:
    empty = fading()[name]
    given = samples(empty)
    xs, ys, ws, ats = (list(column) for column in zip(*given, strict=True))
    many, one = empty.clone(), learn(empty.clone(), given)
    many.learn_many(xs, ys, ws, ats)
    assert_alike(many, one)
    judged, answers = empty.clone(), []
    for x, y, w, at in given:
        answers.append(judged.predict_learn_one(x, y, w, at))
    assert_alike(judged, one)
    assert answers[-1] and sum(answers[-1].values()) == pytest.approx(1.0)


@pytest.mark.parametrize("days", [60.0, 7 * 400.0, 7 * 2500.0])
def test_a_weight_is_two_to_the_half_lives_since_its_time(days: float) -> None:
    learner = NaiveBayes(half_life=HALF_LIFE)
    given = samples(learner, 80, days)
    shards = [learn(learner.clone(), given[k::4]) for k in range(4)]
    newest = max(at for *_, at in given)
    expected: dict[Any, float] = {}
    for _, y, w, at in given:
        expected[y] = expected.get(y, 0.0) + w * 2.0 ** ((at - newest) / SECONDS)
    for total in (sum(shards), sum(reversed(shards)), learn(learner.clone(), given)):
        assert isinstance(total, NaiveBayes)
        counts = total.store.by_name()
        assert sum(counts[y,] for y in expected) == pytest.approx(math.fsum(expected.values()), rel=1e-9)
        for y, weight in expected.items():
            assert counts[y,] == pytest.approx(weight, rel=1e-9, abs=1e-200)


def test_units_of_shards_differ_by_powers_of_two() -> None:
    early, late = NaiveBayes(half_life="1d"), NaiveBayes(half_life="1d")
    early.learn_one({"a": "x"}, "y", 0.3, NOW)
    late.learn_one({"a": "x"}, "y", 0.3, NOW + 1000.5 * 3600)
    origins = [learner.state()["store"]["origin"] for learner in (early, late)]
    assert origins == [NOW // 86_400, (NOW + 1000.5 * 3600) // 86_400]
    assert (early + late).state()["arrays"]["class_weight"].tobytes() == (late + early).state()["arrays"][
        "class_weight"
    ].tobytes()


def test_a_later_time_fades_what_is_held_and_an_earlier_one_nothing() -> None:
    learner = NaiveBayes(half_life="1h")
    learner.learn_one({"a": "x"}, "y", 1.0, NOW)
    learner.advance_to(NOW - 1e6)
    assert learner.store.by_name()["y",] == 1.0
    learner.advance_to(NOW + 3600)
    assert learner.store.by_name()["y",] == pytest.approx(0.5)


def test_what_stream_time_cannot_do_is_refused_with_what_to_do() -> None:
    learner = NaiveBayes(half_life="7d")
    with pytest.raises(BadValue, match="a sample needs its time, at=SECONDS"):
        learner.learn_one({"a": "x"}, "y")
    with pytest.raises(BadValue, match="a sample needs its time"):
        learner.learn_many([{"a": "x"}], ["y"])
    with pytest.raises(BadValue, match="seconds since 1970, got nan"):
        learner.learn_one({"a": "x"}, "y", at=math.nan)
    assert learner.clock == 0 and not learner.store.by_name()
    learner.learn_one({"a": "x"}, "y", at=NOW)
    with pytest.raises(NotLearned, match="unlearn a sample with its time"):
        learner.unlearn_one({"a": "x"}, "y")
    with pytest.raises(NotLearned, match="newest sample is earlier"):
        learner.unlearn_one({"a": "x"}, "y", at=NOW + 5)
    with pytest.raises(BadWeight, match="advances with the samples"):
        learner.advance(3)
    with pytest.raises(BadValue, match="only samples of a half_life in stream time"):
        NaiveBayes().learn_one({"a": "x"}, "y", at=NOW)
    with pytest.raises(CannotMerge, match="differ in half_life"):
        learner.merge(NaiveBayes(half_life="8d"))
    with pytest.raises(BadValue, match="such as '90s'"):
        NaiveBayes(half_life="7 days")
    for made in (lambda: KDB(k=2, half_life="7d"), lambda: SlidingWindow(NaiveBayes(half_life="7d"), 10)):
        with pytest.raises(BadValue, match="a window counts events"):
            made()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "soon"}, "its time is"),
        ({"time": 2**62}, "its time is"),
        ({"origin": 5.0}, "its origin is invalid"),
        ({"origin": 0}, "too far from its origin"),
        ({"origin": 10**6}, "its origin is after its clock"),
        ({"time": None}, "a unit, and no time"),
    ],
)
def test_a_state_with_another_unit_is_refused(change: dict[str, Any], message: str) -> None:
    learner = NaiveBayes(half_life="7d")
    learner.learn_one({"a": "x"}, "y", at=NOW)
    state = learner.store.state()
    with pytest.raises(BadState, match=message):
        NaiveBayes(half_life="7d").store.load({**state, "meta": {**state["meta"], **change}})
