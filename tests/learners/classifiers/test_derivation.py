"""When TAN and KDB derive their structures: by a schedule that comes back with the state, and at no other time."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from stream_bayes import KDB, TAN, NaiveBayes
from stream_bayes.core.readings.one_parent import Dependences, SpanningTree
from stream_bayes.errors import BadState
from stream_bayes.testing.assertions import same_bytes
from tests.learners.biased_events import Event, biased_events
from tests.learners.training import trained
from tests.oracles.aode import OneDependenceOracle
from tests.resealing import resealed

DERIVED = pytest.mark.parametrize("kind", [TAN, KDB], ids=lambda kind: kind.__name__)


def oracle_of(stream: list[Event]) -> OneDependenceOracle:
    oracle = OneDependenceOracle()
    for x, y in stream:
        oracle.learn(x, y)
    return oracle


Times = list[int]


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    """What the clock said whenever a structure was derived."""
    seen: Times = []
    for reading in (SpanningTree, Dependences):
        monkeypatch.setattr(reading, "rederive", noting(reading.rederive, seen))
    return seen


def noting(method: Callable[[Any], None], seen: Times) -> Callable[[Any], None]:
    def rederive(self: Any) -> None:
        seen.append(int(self.tables.clock))
        method(self)

    return rederive


def checks(last: int, half_life: float | None = None) -> Times:
    """When the order of the edges is looked at: whenever there are a tenth more events, at first every tenth."""
    found = [10]
    while found[-1] < last:
        step = max(10, found[-1] // 10)
        found.append(found[-1] + (step if half_life is None else min(step, max(10, int(half_life)))))
    return [time for time in found if time <= last]


@DERIVED
@pytest.mark.parametrize("every", [1, 7, 64])
def test_every_so_many_events_means_at_exactly_those(kind, every, times):
    trained(kind(every=every), biased_events(12, 70))
    assert times == list(range(every, 71, every))


@DERIVED
def test_deriving_on_call_leaves_the_schedule_alone(kind, times):
    model = kind(every=10)
    for number, (x, y) in enumerate(biased_events(13, 45), 1):
        model.learn_one(x, y)
        if number in (3, 25):
            model.rederive()
    assert times == [3, 10, 20, 25, 30, 40]


@DERIVED
def test_before_the_first_ten_events_nothing_is_derived_and_naive_bayes_answers_to_the_bit(kind, times):
    model, plain = kind(), NaiveBayes(prior="m-estimate")
    for number, (x, y) in enumerate(biased_events(14, 10), 1):
        assert times == []
        assert model.predict_learn_one(x, y) == plain.predict_learn_one(x, y), number
    assert times == [10]


@pytest.mark.parametrize("half_life", [None, 5.0, 15.5, 100.0])
def test_a_k_dependence_is_derived_whenever_there_are_a_tenth_more_events(half_life, times):
    trained(KDB(half_life=half_life), biased_events(15, 400))
    assert times == checks(400, half_life)


def test_the_tree_is_looked_at_when_there_are_a_tenth_more_and_derived_when_its_order_broke_or_events_doubled(
    times,
):
    reasons = {"order": 0, "doubled": 0, "new feature": 0, "none": 0}
    for seed in range(2):
        times.clear()
        # Dependences move from one pair of features to the next; a new one comes late.
        source = random.Random(seed)
        model, stream = TAN(), []
        expected: list[Any] = []
        for number in range(1, 261):
            x = {name: source.choice("xyz") for name in "abcd"}
            pair = ("ab", "bc", "cd")[number // 60 % 3]
            if source.random() < 0.6:
                x[pair[1]] = x[pair[0]]
            if number > 180:
                x["late"] = x["a"] if source.random() < 0.5 else source.choice("xyz")
            stream.append((x, source.choice("uv")))
            edges = model.edges_
            model.learn_one(*stream[-1])
            if number not in checks(260):
                assert times == expected
                continue
            last = expected[-1] if expected else 0
            oracle = oracle_of(stream)
            information = [oracle.conditional_mutual_information(a, b) for a, b in edges]
            if number >= 2 * last:
                reason = "doubled"
            elif number > 180 and not any("late" in edge for edge in edges):
                reason = "new feature"
            elif any(first < second - 1e-12 for first, second in pairwise(information)):
                reason = "order"
            else:
                reason = "none"
            reasons[reason] += 1
            if reason != "none":
                expected.append(number)
            assert times == expected, reason
    assert all(reasons.values()), reasons


def test_the_trees_edges_are_looked_at_once_a_half_life_when_counts_fade(times):
    # Every look derives, as no tree has an edge.
    trained(TAN(half_life=20.0), [({"a": "x"}, y) for _, y in biased_events(16, 400)])
    assert times == checks(400, 20.0)


def test_predicting_unlearning_time_and_merging_derive_nothing(times):
    stream = biased_events(17, 55)
    model, other = trained(TAN(every=50), stream), trained(TAN(every=50), stream)
    times.clear()
    parents = model.parents_
    model.predict_proba_one(stream[0][0])
    model.predict_proba_many([x for x, _ in stream])
    model.unlearn_one(*stream[0])
    model.advance(100)
    model.merge(other)
    assert times == []
    assert model.parents_ == parents
    model.learn_one(*stream[0])  # its time has come meanwhile
    assert times == [model.clock]


@DERIVED
def test_a_batch_derives_at_the_same_events(kind, times):
    stream = biased_events(18, 130, names="abcd")
    one = trained(kind(), stream)
    expected = times.copy()
    xs, ys = [x for x, _ in stream], [y for _, y in stream]
    for verb in ("learn_many", "predict_learn_many"):
        times.clear()
        many = kind()
        for part in (slice(0, 33), slice(33, 130)):
            getattr(many, verb)(xs[part], ys[part])
        assert times == expected
        assert many.parents_ == one.parents_
        same_bytes(one, many, verb)


@DERIVED
@pytest.mark.parametrize("every", [None, 7])
@pytest.mark.parametrize("copy", ["state", "pickle"])
def test_structure_and_schedule_come_back(kind, every, copy, times):
    stream, more = biased_events(19, 57, names="abcd"), biased_events(20, 150, names="abcde")
    model = trained(kind(every=every), stream)
    twin = kind.from_state(model.state()) if copy == "state" else pickle.loads(pickle.dumps(model))
    assert twin.parents_ == model.parents_
    same_bytes(twin, model, copy)
    times.clear()
    trained(model, more)
    expected = times.copy()
    times.clear()
    trained(twin, more)
    assert times == expected
    same_bytes(twin, model, f"{copy}, going on")


@DERIVED
def test_a_feature_wholly_unlearned_leaves_the_structure_at_the_next_look(kind):
    stream = biased_events(21, 100, names="ab")
    model = trained(kind(), stream)
    model.learn_one({"a": "x", "b": "y", "gone": "z"}, "u")
    model.rederive()
    assert "gone" in model.parents_
    model.unlearn_one({"a": "x", "b": "y", "gone": "z"}, "u")
    for x, y in biased_events(22, 40, names="ab"):
        model.learn_one({**x, "new": x["a"]}, y)
    assert model.parents_["gone"] is None
    assert "gone" not in model.parents_.values()
    assert model.parents_["new"] == "a" or model.parents_["a"] == "new"


def test_without_features_or_with_one_there_is_nothing_to_derive():
    for x in ({}, {"a": "x"}):
        model = trained(TAN(), [(x, "u"), (x, "v")] * 30)
        model.rederive()
        assert model.edges_ == ()
        assert model.parents_ == dict.fromkeys(x)
        assert model.predict_proba_one(x) == pytest.approx({"u": 0.5, "v": 0.5})


# -- states that cannot be -------------------------------------------------------------------------------------------


@DERIVED
@pytest.mark.parametrize(
    "change",
    [
        {"parents": [[0, 3]]},
        {"parents": [[3, 0]]},
        {"parents": [[-1, 0]]},
        {"parents": [[0, -1]]},
        {"parents": [[1, 1]]},
        {"parents": [[True, 0]]},
        {"parents": [[0.0, 1]]},
        {"parents": [[0]]},
        {"parents": None},
        {"due": -1},
        {"due": 2.0},
        {"due": 2**63},
    ],
    ids=repr,
)
def test_a_structure_that_fits_no_counts_is_bad_state(kind, change):
    refuse(trained(kind(), biased_events(23, 30)), change)


@pytest.mark.parametrize(
    "change",
    [{"derived_at": -1}, {"derived_at": "x"}, {"edges": [["a", "never met"]]}, {"edges": [["a"]]}],
    ids=repr,
)
def test_a_tree_that_fits_no_counts_is_bad_state(change):
    refuse(trained(TAN(), biased_events(24, 30)), change)


def refuse(model: Any, change: dict[str, Any]) -> None:
    state = model.state()
    state["reading"] = state["reading"] | change
    with pytest.raises(BadState):
        type(model).from_state(resealed(state))
