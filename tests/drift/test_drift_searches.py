"""What is tried once the world has changed, wherever it is searched for; and that stopping anywhere changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from river import drift
from river.drift import binary

from stream_bayes import (
    AODE,
    KDB,
    SPODE,
    TAN,
    BayesNetClassifier,
    DriftAdaptive,
    GaussianNB,
    LiveChoice,
    NaiveBayes,
    SlidingWindow,
)
from stream_bayes.core.search.hill_climbing import HillClimbing
from tests.drift.drifting_streams import (
    TARGET,
    Scripted,
    Stream,
    again,
    bytes_of,
    drifting,
    kinds_logged,
    losses,
)


def in_numbers(stream: Stream) -> Stream:
    """Values as numbers, which need cut points: the others in the second world."""
    return [
        ({name: float(str(v)[-1]) + (20.0 if n >= 1500 else 0.0) + n % 7 / 10 for name, v in x.items()}, y)
        for n, (x, y) in enumerate(stream)
    ]


# -- every learner ----------------------------------------------------------------------------------------------------

LEARNERS: dict[str, Callable[[], Any]] = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "KDB with one parent": KDB,
    "KDB with two parents": lambda: KDB(k=2, window=1000),
    "SPODE": lambda: SPODE(min_count=1.0),
    "AODE": AODE,
    "AODE with weights": lambda: AODE(weights="mutual-information"),
    "LiveChoice": LiveChoice,
    "BayesNetClassifier": lambda: BayesNetClassifier(None),
    "BayesNetClassifier that grows": BayesNetClassifier,
    "SlidingWindow": lambda: SlidingWindow(TAN(), 3000),
}


@pytest.mark.parametrize("policy", ["both", "refit", "search"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_drift_is_noticed_and_what_is_adopted_predicts_better_than_what_was_there(
    name: str, policy: str
) -> None:
    stream = drifting(2, 1500, 1200)
    stale = LEARNERS[name.removesuffix(" that grows")]()  # one that grows follows the drift itself, slowly
    model = DriftAdaptive(LEARNERS[name](), policy=policy, renew=False)
    lost, of_stale = losses(model, stream), losses(stale, stream)
    assert kinds_logged(model)[0] == "drift"
    assert model.log.entries[0]["event"] < 1700
    if policy == "search" and not name.startswith("BayesNetClassifier"):
        assert sum(lost[1500:]) <= 1.001 * sum(
            of_stale[1500:]
        )  # the present counts are half of the old world
    else:
        assert model.log.entries[1]["what"] == "adopted"
        assert sum(lost[1700:]) < 0.9 * sum(of_stale[1700:])


def test_a_super_parent_is_chosen_anew_and_the_log_says_so() -> None:
    model = DriftAdaptive(SPODE(min_count=1.0))
    before = None
    for x, y in drifting(5, 1500, 400):
        model.learn_one(x, y)
        present: Any = model.model_
        if model.generation:
            break
        before = present.parent_
    assert (before, present.parent_) == ("v1", "v6")
    changed = model.log.entries[-1]["structure"]
    assert changed["added"] == [["v6", name] for name in sorted(x) if name not in ("v1", "v6")]
    assert changed["removed"] == [["v1", name] for name in sorted(x) if name not in ("v1", "v6")]


def test_super_parents_get_new_weights() -> None:
    stream = drifting(7, 1500, 400)
    model = DriftAdaptive(AODE(min_count=1.0, weights="mutual-information"))
    heaviest = []
    for part in (stream[:1500], stream[1500:]):
        losses(model, part)
        weights: Any = model.model_
        heaviest.append(max(weights.weights_, key=weights.weights_.get))
    assert model.generation == 1 and heaviest == ["v6", "v5"]


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.NumbersMoved")  # they move: that is what is tested
def test_numbers_get_new_cut_points() -> None:
    stream = in_numbers(drifting(2, 1500, 1200))
    model, stale = DriftAdaptive(TAN(), renew=False), TAN()
    lost, of_stale = losses(model, stream), losses(stale, stream)
    assert kinds_logged(model)[:2] == ["drift", "adopted"]
    assert sum(lost[1700:]) < 0.9 * sum(of_stale[1700:])
    cuts: Any = model.model_
    assert min(min(points) for points in cuts.cuts_.values()) > 19.0


def test_gaussians_follow_too() -> None:
    stream = in_numbers(drifting(2, 1500, 1200))
    model, stale = DriftAdaptive(GaussianNB()), GaussianNB()
    lost, of_stale = losses(model, stream), losses(stale, stream)
    assert model.generation >= 1
    assert sum(lost[1700:]) < 0.9 * sum(of_stale[1700:])


# -- policies ---------------------------------------------------------------------------------------------------------


def test_a_refit_keeps_the_structure_and_counts_anew() -> None:
    stream = drifting(2, 1500, 600)
    model = DriftAdaptive(TAN(), policy="refit")
    losses(model, stream[:1500])
    before: Any = model.model_
    tree, clock = before.parents_, None
    for x, y in stream[1500:]:
        model.learn_one(x, y)
        if model.generation and clock is None:
            clock, after = model.model_.clock, model.model_
            changed = model.log.entries[-1]["structure"]
            assert not changed["added"] and not changed["removed"] and changed["kept"]
            assert getattr(after, "parents_", None) == tree
    assert clock is not None and clock < 600


def test_a_search_that_spends_its_budget_changes_nothing_but_the_log() -> None:
    model = DriftAdaptive(BayesNetClassifier(None), search=HillClimbing(max_families=5))
    losses(model, drifting(2, 1500, 600))
    assert set(kinds_logged(model)) == {"drift", "unfinished"}
    assert model.log.entries[1]["why"] == "the search spent its budget of 5 families"
    assert (model.generation, model.model_.clock) == (0, 2100)


# -- recurring concepts -----------------------------------------------------------------------------------------------


def test_a_world_that_comes_back_finds_its_model_again() -> None:
    stream = drifting(2, 1500, 1500, 600)
    model, forgetful = DriftAdaptive(TAN()), DriftAdaptive(TAN(), retired=0)
    lost, without = losses(model, stream), losses(forgetful, stream)
    adopted = [entry["candidate"] for entry in model.log.entries if entry["what"] == "adopted"]
    assert adopted == ["both", "retired 0"]
    assert model.retired_ == ("retired 1",)  # the one that came back is not kept twice
    assert sum(lost[3000:]) < sum(without[3000:])
    assert forgetful.retired_ == ()


@pytest.mark.parametrize("learner", [TAN(), AODE(min_count=1.0)])
def test_a_model_that_is_kept_has_forgotten_what_came_after_its_world(learner: Any) -> None:
    stream = drifting(2, 1500, 600)
    model, alone = DriftAdaptive(learner), learner.clone()
    losses(model, stream)
    for x, y in stream[: model.log.entries[0]["since"] - 1]:
        alone.learn_one(x, y)
    alone.rederive()
    kept: Any = model._succession.retired[0][1]
    for x, _ in stream[-100:]:
        assert kept.joint_log_likelihood(x) == pytest.approx(alone.joint_log_likelihood(x), rel=1e-12)


def test_only_so_many_models_are_kept() -> None:
    model = DriftAdaptive(NaiveBayes(), retired=1, window=200)
    losses(model, drifting(2, 800, 800, 800, 800))
    assert model.generation >= 2 and len(model.retired_) == 1


# -- the same wherever it is stopped, and wherever it is searched ------------------------------------------------------

MAKERS: dict[str, Callable[[], DriftAdaptive]] = {
    "inline": lambda: DriftAdaptive(TAN()),
    "delayed": lambda: DriftAdaptive(TAN(), search_delay=40),
    "network": lambda: DriftAdaptive(BayesNetClassifier(None), search_delay=30),
    "refit": lambda: DriftAdaptive(
        KDB(k=2, window=300), drift.ADWIN(delta=0.05), policy="refit", search_delay=20
    ),
    "refused": lambda: DriftAdaptive(
        KDB(k=1), policy="refit", search_delay=20, trials=2, margin=0.4, renew=False
    ),
    "search": lambda: DriftAdaptive(BayesNetClassifier(None), policy="search", search_delay=30, window=500),
}


def events_of_interest(make: Callable[[], DriftAdaptive], stream: Stream) -> list[int]:
    """The events around each entry of the log, and some between."""
    model = make()
    losses(model, stream)
    marks = {entry["event"] + near for entry in model.log.entries for near in (-1, 0, 1, 11)}
    return sorted(mark for mark in marks if 0 < mark < len(stream))


@pytest.mark.parametrize("name", MAKERS)
def test_stopped_around_whatever_happens_it_ends_the_same_byte_for_byte(name: str) -> None:
    make, stream = MAKERS[name], drifting(2, 700, 350)
    marks = events_of_interest(make, stream)
    assert len(marks) > 5
    whole, phases = make(), set()
    others: list[DriftAdaptive] = []
    for number, (x, y) in enumerate(stream):
        if number in marks:
            others = [again(other, make) for other in others[-1:]]  # stopped again and again
            others.append(again(whole, make))  # stopped once
            assert bytes_of(others[-1]) == bytes_of(whole)
            phases.add(whole.state_)
        for model in (whole, *others):
            model.learn_one(x, y)
        assert all(bytes_of(other) == bytes_of(whole) for other in others if number in marks)
    assert all(bytes_of(other) == bytes_of(whole) for other in others)
    assert {"stable", "trial"} <= phases
    assert "searching" in phases or name == "inline"


def test_a_search_that_a_restart_runs_again_is_bounded_as_before() -> None:
    def make() -> DriftAdaptive:
        network, search = BayesNetClassifier(None, target=TARGET), HillClimbing(max_families=5)
        return DriftAdaptive(
            network, search=search, search_delay=20, window=500, judge_after=20, trials=1, renew=False
        )

    whole, restarted, restarts = make(), make(), 0
    for x, y in drifting(2, 700, 150):
        was_searching = restarted.state_ == "searching"
        for model in (whole, restarted):
            model.learn_one(x, y)
        if not was_searching and restarted.state_ == "searching":
            restarted, restarts = again(restarted, make), restarts + 1
    assert restarts == 1
    assert "unfinished" in kinds_logged(whole)
    assert bytes_of(restarted) == bytes_of(whole)


def test_a_warning_and_its_shadow_are_restored_too() -> None:
    make = lambda: DriftAdaptive(TAN(), "hddm-w", "error")
    stream, whole, phases = drifting(2, 700, 350), make(), set()
    for x, y in stream:
        if whole.state_ not in phases or whole.state_ == "warning":
            phases.add(whole.state_)
            other = again(whole, make)
            other.learn_one(x, y)
        else:
            other = None
        whole.learn_one(x, y)
        assert other is None or bytes_of(other) == bytes_of(whole)
    assert phases == {"stable", "warning", "trial"}
    assert {"warning", "drift", "adopted"} <= set(kinds_logged(whole))


@pytest.mark.parametrize("name", ["delayed", "network", "refit", "search"])
def test_beside_the_stream_or_in_its_loop_the_same_comes_of_a_search(name: str) -> None:
    stream = drifting(2, 700, 350)
    inside, beside, resumed = (MAKERS[name]() for _ in range(3))
    with ThreadPoolExecutor(1) as executor:
        beside.search_on(executor)
        for number, (x, y) in enumerate(stream):
            if resumed.state_ == "searching" and number % 5 == 0:  # killed in the search, again and again
                resumed = again(resumed, MAKERS[name])
                resumed.search_on(executor)
            for model in (inside, beside, resumed):
                model.learn_one(x, y)
    assert "searched" in kinds_logged(inside)
    assert bytes_of(inside) == bytes_of(beside) == bytes_of(resumed)


def test_what_a_search_finds_is_tried_a_known_number_of_events_later_with_all_that_came_meanwhile() -> None:
    model = DriftAdaptive(TAN(), search_delay=40, renew=False)
    stream = drifting(2, 700, 350)
    for x, y in stream:
        model.learn_one(x, y)
        if model.trial_ is not None:
            break
    noticed, searched = model.log.entries
    assert searched["event"] == noticed["event"] + 40
    ((_, candidate),) = model._succession.candidates
    assert candidate.clock == model.clock - noticed["since"] + 1


def test_a_long_search_is_caught_up_with_in_parts() -> None:
    stream = drifting(2, 700, 900)
    model = DriftAdaptive(TAN(), Scripted((760,)), search_delay=600)
    clocks = []
    for x, y in stream:
        model.learn_one(x, y)
        clocks += [candidate.clock for _, candidate in model._succession.candidates]
    steps = [after - before for before, after in pairwise(clocks)]
    assert set(steps[:8]) == {64} and set(steps[10:]) == {1}
    assert kinds_logged(model) == ["drift", "searched", "adopted"]


def test_the_time_that_a_search_took_stands_apart() -> None:
    ticks = iter(range(1000))
    model = DriftAdaptive(TAN(), search_delay=40, renew=False)
    model.log.timer = lambda: float(next(ticks))
    plain = DriftAdaptive(TAN(), search_delay=40, renew=False)
    stream = drifting(2, 700, 350)
    losses(model, stream)
    losses(plain, stream)
    assert model.log.entries == plain.log.entries
    assert (model.log.seconds, plain.log.seconds) == ({1: 1.0}, {})
    assert json.loads(model.log.json_lines().splitlines()[1])["seconds"] == 1.0
    assert again(model, lambda: DriftAdaptive(TAN(), search_delay=40, renew=False)).log.seconds == {1: 1.0}


# -- detectors by name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "signal"),
    [
        ("adwin", drift.ADWIN, "log-loss"),
        ("page-hinkley", drift.PageHinkley, "log-loss"),
        ("kswin", drift.KSWIN, "log-loss"),
        ("ddm", binary.DDM, "error"),
        ("eddm", binary.EDDM, "error"),
        ("hddm-a", binary.HDDMA, "error"),
        ("hddm-w", binary.HDDMW, "error"),
    ],
)
def test_every_detector_has_a_name_and_its_state_is_kept(name: str, kind: type, signal: str) -> None:
    make = lambda: DriftAdaptive(NaiveBayes(), name)
    whole, stream = make(), drifting(2, 500, 300)
    assert whole.signal_ == signal
    losses(whole, stream[:600])
    other = again(whole, make)
    assert type(other._watch.detector) is kind
    losses(whole, stream[600:])
    losses(other, stream[600:])
    assert bytes_of(other) == bytes_of(whole)
