"""What the events kept are for: what candidates catch up on, and what a model that leaves has taken back."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from stream_bayes import TAN, BayesNetClassifier, DriftAdaptive, NaiveBayes, Numeric, Schema
from tests.drift.drifting_streams import Scripted, Stream, again, bytes_of, drifting, losses


def turning(number: int, turns: int) -> Stream:
    """A class that follows a feature, and from one event on its opposite."""
    return [({"a": str(n % 2)}, (n + (n >= turns)) % 2) for n in range(number)]


def until_swapped(model: DriftAdaptive, stream: Stream) -> None:
    for x, y in stream:
        model.learn_one(x, y)
        if model.generation:
            return


def test_after_a_swap_events_of_the_new_world_alone_are_kept_and_the_structure_is_of_all_of_them() -> None:
    model = DriftAdaptive(TAN(every=10_000))
    until_swapped(model, drifting(2, 700, 350))
    present: Any = model.model_
    assert len(model._succession.recent) == present.clock == model.clock - model.log.entries[-1]["since"] + 1
    assert present.derived_state()["derived_at"] == present.clock


@pytest.mark.parametrize(("half_life", "delay"), [(200.0, 0), (None, 600)], ids=["fades", "long ago"])
def test_what_fades_or_is_too_much_is_not_taken_back_from_a_model_that_leaves(
    half_life: float | None, delay: int
) -> None:
    learner = NaiveBayes(half_life=half_life)
    model, alone = DriftAdaptive(learner, Scripted((440,)), search_delay=delay), learner.clone()
    stream = turning(1200, 400)
    until_swapped(model, stream)
    for x, y in stream[: model.clock]:
        alone.learn_one(x, y)
    [(_, kept)] = model._succession.retired
    assert isinstance(kept, NaiveBayes)
    assert kept.store.by_name() == alone.store.by_name()


def of_numbers() -> Stream:
    """Two numbers of which the class is the sum's sign, and after 900 events the opposite, far from there."""
    numbers = np.random.default_rng(4).normal(size=(1400, 2)).round(3).tolist()
    return [
        ({"a": a + 50 * (n >= 900), "b": b + 50 * (n >= 900)}, (a + b > 0) != (n >= 900))
        for n, (a, b) in enumerate(numbers)
    ]


def test_numbers_that_came_during_a_search_are_counted_in_the_bins_of_the_candidate() -> None:
    model, stream = DriftAdaptive(TAN(), search_delay=150, judge_after=100), of_numbers()
    for x, y in stream:
        model.learn_one(x, y)
        if model.trial_ is not None and model.trial_.gains:
            break
    candidate: Any = model._succession.candidates[0][1]
    cuts = {name: Numeric(cuts=list(points)) for name, points in candidate.cuts_.items()}
    alone = TAN(schema=Schema(cuts))
    for x, y in stream[model.log.entries[0]["since"] - 1 : model.clock]:
        alone.learn_one(x, y)
    assert sorted(cuts) == ["a", "b"]
    assert candidate.store.by_name() == alone.store.by_name()


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.NumbersMoved")  # they move: that is what is tested
def test_a_network_is_searched_over_numbers_in_bins() -> None:
    model = DriftAdaptive(BayesNetClassifier(None, target="y"), search_delay=150)
    until_swapped(model, of_numbers())
    present: Any = model.model_
    assert any("y" in edge for edge in present.structure.edges)


def test_events_kept_may_lack_a_feature_that_is_known() -> None:
    make = lambda: DriftAdaptive(BayesNetClassifier(None, target="class"))
    model = make()
    losses(model, turning(50, 50))
    model.learn_one({"a": "0", "later": "x"}, 1, 0.0)  # without weight, it is not kept
    other = again(model, make)
    assert len(other._succession.recent) == 50
    for one in (model, other):
        losses(one, [({"a": "1", "later": "x"}, 1)])
    assert bytes_of(other) == bytes_of(model)


def test_a_copy_has_the_events_kept_and_no_place_to_search() -> None:
    model = DriftAdaptive(TAN(), search_delay=40)
    with ThreadPoolExecutor(1) as beside:
        model.search_on(beside)
        for x, y in drifting(2, 700, 350):
            model.learn_one(x, y)
            if model._succession.running is not None:
                break
        copied = pickle.loads(pickle.dumps(model))
    assert (copied.state_, len(copied._succession.recent)) == ("searching", len(model._succession.recent))
    assert bytes_of(copied) == bytes_of(model)
