"""Sums of numbers: against rational arithmetic, in any order, with numbers missing, and as states."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stream_bayes import LDA, QDA, GaussianNB, NaiveBayes, SlidingWindow
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.errors import BadState, BadValue, NotLearned

Event = tuple[dict[str, float], str, float]


def store(half_life: float | None = None) -> CountStore:
    return CountStore(RowEncoder(Vocabulary()), co_moments=True, half_life=half_life)


def learned(events: list[Event], into: CountStore | None = None) -> CountStore:
    target = store() if into is None else into
    for x, y, w in events:
        target.learn(x, y, w)
    return target


def drawn(
    seed: int, count: int, *, offset: float = 0.0, scale: float = 1.0, gaps: bool = False
) -> list[Event]:
    source = random.Random(seed)
    events = []
    for _ in range(count):
        x = {name: offset + scale * source.gauss(0, 1) for name in "abc" if not gaps or source.random() < 0.7}
        events.append((x, source.choice("yz"), source.choice([1.0, 2.0, 0.3, 1.0])))
    return events


def exact(events: list[Event], one: str, other: str, label: str) -> tuple[float, float]:
    """The weight of events with both numbers, and the sum of the products about their means."""
    both = [
        (Fraction(x[one]), Fraction(x[other]), Fraction(w))
        for x, y, w in events
        if y == label and one in x and other in x
    ]
    weight = sum(w for *_, w in both)
    means = [sum(row[place] * row[2] for row in both) / weight for place in (0, 1)]
    product = sum((u - means[0]) * (v - means[1]) * w for u, v, w in both)
    return float(weight), float(product)


@pytest.mark.parametrize(
    ("offset", "scale"), [(0.0, 1.0), (1e9, 1e-3), (-1e15, 1.0), (3e-7, 1e-20), (1e90, 1e80)]
)
@pytest.mark.parametrize("gaps", [False, True])
def test_moments_are_those_of_rational_arithmetic(offset, scale, gaps):
    events = drawn(1, 80, offset=offset, scale=scale, gaps=gaps)
    named: Any = learned(events).by_name()
    for label in "yz":
        size = {name: exact(events, name, name, label) for name in "abc"}
        for name in "abc":
            weight, _, squares = named[name, label]
            assert (weight, squares) == pytest.approx(size[name], rel=1e-9)
        for one, other in itertools.permutations("abc", 2):
            weight, _, product = named[one, other, label]
            expected = exact(events, one, other, label)
            assert weight == pytest.approx(expected[0], rel=1e-12)
            within = 1e-9 * math.sqrt(size[one][1] * size[other][1])
            assert product == pytest.approx(expected[1], abs=within)


@pytest.mark.parametrize("half_life", [None, 7.0, 0.4])
def test_what_far_numbers_leave_is_nothing_whatever_has_faded(half_life):
    both, without = store(half_life), store(half_life)
    far: list[tuple[Event, int]] = []
    for number, (x, y, w) in enumerate(drawn(2, 400)):
        if number % 40 == 5:
            event = (dict.fromkeys("abc", (-1.0) ** number * 10.0 ** (8 + number / 40)), "y", 0.7)
            both.learn(*event)
            without.advance(1)
            far.append((event, both.tables.clock))
        both.learn(x, y, w)
        without.learn(x, y, w)
    for event, clock in far[::-1]:
        both.unlearn(*event, at=clock)
    mine, theirs = both.by_name(), without.by_name()
    assert mine.keys() == theirs.keys()
    for name, moments in theirs.items():
        assert mine[name] == pytest.approx(moments, rel=1e-9), name


@pytest.mark.parametrize("half_life", [3.0, 0.7, 100.5, 1e-6])
def test_units_on_two_scales_differ_by_a_power_of_two(half_life):
    tables = store(half_life).tables
    tables.tick(1000)
    moments = [0, 1, 17, 998, 999, 1000]
    before = [tables.unit_at(moment) for moment in moments]
    tables.move_origin(tables.origin + 3.0)
    after = [tables.unit_at(moment) for moment in moments]
    assert [math.frexp(unit)[0] for unit in before] == [math.frexp(unit)[0] for unit in after]


@pytest.mark.parametrize("gaps", [(False, False), (True, True), (False, True), (True, False)])
def test_parts_with_their_features_in_another_order_add_up(gaps):
    here, there = drawn(3, 50, offset=1e9, gaps=gaps[0]), drawn(4, 50, offset=1e9, gaps=gaps[1])
    turned: list[Event] = [(dict(reversed(x.items())), y, w) for x, y, w in there]
    whole, far = learned(here + there), ({"a": 1e12, "b": -1e11, "c": 1e10}, "y", 1.0)
    for parts in ([here, turned], [turned, here], [here[:20], turned, here[20:]]):
        total = store()
        for part in parts:
            total.merge(learned([*part, far]))
        for _ in parts:
            total.unlearn(*far)
        mine, expected = total.by_name(), whole.by_name()
        assert mine.keys() == expected.keys()
        for name, moments in expected.items():
            assert mine[name] == pytest.approx(moments, rel=1e-9), name


def test_the_sums_beside_the_products_begin_with_the_first_number_that_is_missing():
    total = learned(drawn(5, 30))
    assert total.tables.co_moments.beside is None
    total.learn({"a": 1.0, "c": 2.0}, "y")
    assert total.tables.co_moments.beside is not None
    more = learned(drawn(5, 30))
    more.merge(learned([({"d": 1.0}, "y", 1.0)]))
    assert more.tables.co_moments.beside is not None


def test_a_sample_without_a_number_that_all_have_is_not_unlearned():
    total = learned(
        [({"a": 1.0, "b": 2.0}, "y", 1.0), ({"a": 3.0, "b": 1.0}, "y", 1.0), ({"a": 2.0, "b": 7.0}, "y", 1.0)]
    )
    with pytest.raises(NotLearned, match="together"):
        total.unlearn({"a": 2.0}, "y")
    total.unlearn({"a": 2.0, "b": 7.0}, "y")
    named: Any = total.by_name()
    assert named["a", "b", "y"][2] == -1.0


def test_equal_numbers_have_no_deviation_after_far_ones_have_gone():
    total = learned([({"a": 0.1}, "y", w) for w in (1.0, 0.3, 2.0, 1e-3)])
    for far in (1e8, 1e12, -3.3e15):
        total.learn({"a": far}, "y", 0.7)
    for far in (-3.3e15, 1e8, 1e12):
        total.unlearn({"a": far}, "y", 0.7)
    named: Any = total.by_name()
    weight, mean, squares = named["a", "y"]
    assert (weight, mean) == pytest.approx((3.301, 0.1), rel=1e-15)
    assert squares == 0.0


def test_numbers_beyond_1e100_are_refused_before_anything_changes():
    for learner in (GaussianNB(), NaiveBayes(), LDA(), QDA(), SlidingWindow(GaussianNB(), 5)):
        learner.learn_one({"a": 1e100, "b": -1e100}, "y", 2.0**53)
        learner.learn_one({"a": 1.0, "b": 2.0}, "z")
        before = learner.state()["checksum"]
        for number in (1e101, 1e300, math.inf, -math.inf, 10**400):
            with pytest.raises(BadValue):
                learner.learn_one({"a": number, "b": 1.0}, "y")
        assert learner.state()["checksum"] == before
        assert sum(learner.predict_proba_one({"a": 1e99, "b": 3.0}).values()) == pytest.approx(1.0)


def test_a_window_over_numbers_with_spikes_holds_what_the_newest_events_come_to():
    source = random.Random(6)
    window, events = SlidingWindow(GaussianNB(), 50), []
    for number in range(400):
        value = 10.0 ** source.randrange(8, 17) if number % 13 == 0 and number < 340 else source.gauss(5, 1)
        events.append(({"a": value}, source.choice("yz")))
        window.learn_one(*events[-1])
    fresh = GaussianNB()
    for event in events[-50:]:
        fresh.learn_one(*event)
    for name, moments in fresh.store.by_name().items():
        assert window.store.by_name()[name] == pytest.approx(moments, rel=1e-9)


IMPOSSIBLE: dict[str, tuple[str, int, float]] = {
    "a rest as large as the weight": ("numeric_sums", 0, 1.0),
    "numbers larger than any": ("numeric_sums", 2, 1e9),
    "squares larger than any": ("numeric_sums", 5, -1e9),
    "rounding as large as its sum": ("numeric_sums", 7, 50.0),
    "a number beyond 1e100": ("numeric_peak", 0, 1e101),
    "products larger than any": ("co_products", 0, 1e9),
    "rounding of a product as large": ("co_products", 2, 50.0),
    "a pair that weighs more than its class": ("co_beside", 0, 1e9),
    "a pair of negative weight": ("co_beside", 0, -1.0),
    "a pair with larger numbers": ("co_beside", 3, 1e9),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_sums_that_no_numbers_have_are_bad_state(what):
    name, row, value = IMPOSSIBLE[what]
    state = learned(drawn(7, 40, gaps=True)).state()
    store().load(state)
    array = state["arrays"][name]
    array[row] = value
    with pytest.raises(BadState):
        store().load(state)


def test_a_state_with_missing_numbers_needs_the_sums_beside_the_products():
    state = learned(drawn(8, 40, gaps=True)).state()
    del state["arrays"]["co_beside"]
    with pytest.raises(BadState, match="missing numbers"):
        store().load(state)


def test_a_loaded_store_goes_on_with_equal_bytes():
    events = drawn(9, 60)
    going = learned(events[:30])
    for sample in (events[30:], events[:30]):  # the second time all of it is unlearned before
        twin = store()
        twin.load(going.state())
        for target in (going, twin):
            learned(sample, target)
        arrays = [target.state()["arrays"] for target in (going, twin)]
        assert all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])
        for x, y, w in sample:
            going.unlearn(x, y, w)


def test_sums_are_the_same_to_the_bit_on_all_builds():
    total = learned(drawn(10, 200, offset=1e6, gaps=True))
    arrays = total.state()["arrays"]
    digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()
    assert digest == "af8d386ae66238b4d1f74fce5f62b57b6e7e3ce524efea724b0fe4d7273f6dd4"
