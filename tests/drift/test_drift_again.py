"""The world changes once more while a model is searched for or on trial: that is noticed, too, and not after it."""

from __future__ import annotations

import pytest

from stream_bayes import KDB, TAN, DriftAdaptive, NaiveBayes
from tests.concepts import drawn_network, stream_of, with_new_tables
from tests.drift.drifting_streams import (
    TARGET,
    Scripted,
    Stream,
    again,
    bytes_of,
    kinds_logged,
    losses,
)

GAP = 1500  # events between two changes
BEFORE = 2500


def twice(seed: int, child: str) -> Stream:
    """One table changes, and later all of them."""
    first = drawn_network(12, seed)
    second = with_new_tables(first, seed + 1000, [child])
    third = with_new_tables(second, seed + 2000)
    return list(stream_of([(first, BEFORE), (second, GAP), (third, GAP)], TARGET, seed))


@pytest.mark.parametrize(("seed", "child"), [(1, "v11"), (4, "v10"), (7, "v5")])
def test_a_second_drift_during_a_trial_is_followed_as_if_there_were_none(seed: int, child: str) -> None:
    stream, second = twice(seed, child), BEFORE + GAP
    model, fresh = DriftAdaptive(TAN(), margin=0.15), TAN()  # by less than that much the first is better
    lost = losses(model, stream[:second])
    assert kinds_logged(model) == ["drift"] and model.state_ == "trial"
    lost = losses(model, stream[second:])
    assert kinds_logged(model) == ["drift", "drift", "refused", "adopted"]
    _, noticed, refused, adopted = model.log.entries
    assert refused["why"] == "the world has changed again"
    assert noticed["event"] == refused["event"] < second + 100
    assert noticed["since"] == adopted["since"] and abs(noticed["since"] - second) < 30
    assert noticed["score"]["after"] > noticed["score"]["before"]
    assert sum(lost) < 1.2 * sum(losses(fresh, stream[second:]))


def opposites(*lengths: int) -> Stream:
    """A class that follows a feature, or its opposite, in turn."""
    worlds = [n % 2 for n, length in enumerate(lengths) for _ in range(length)]
    return [({"a": str(n % 2)}, (n + world) % 2) for n, world in enumerate(worlds)]


def test_what_is_seen_of_the_change_that_is_on_trial_does_not_end_it() -> None:
    stream = opposites(400, 300)
    model = DriftAdaptive(NaiveBayes(), Scripted((440, *range(442, 600))), judge_after=100, margin=50.0)
    losses(model, stream)
    assert kinds_logged(model) == ["drift"]
    assert model.trial_ is not None and model.trial_.begun == 441


def test_a_world_that_gets_better_again_does_not_end_a_trial() -> None:
    stream = opposites(400, 100, 300)
    model = DriftAdaptive(NaiveBayes(), Scripted((440, *range(442, 800))), judge_after=100, margin=50.0)
    losses(model, stream)
    assert kinds_logged(model) == ["drift"]


def test_a_second_drift_during_a_search_has_its_candidates_once_the_first_ones_were_tried() -> None:
    delay = GAP  # so the search is still running when the second comes
    model, states = DriftAdaptive(TAN(), search_delay=delay, renew=False), []
    for x, y in twice(1, "v11"):
        model.learn_one(x, y)
        states.append(model.state_)
    first, second = [entry for entry in model.log.entries if entry["what"] == "drift"][:2]
    assert first["event"] < BEFORE + GAP < second["event"] < first["event"] + delay
    assert states[second["event"] - 1] == "searching"
    searched, tried = [entry for entry in model.log.entries if entry["what"] in ("searched", "adopted")][:2]
    assert (searched["event"], searched["since"]) == (first["event"] + delay, first["since"])
    assert tried["since"] == first["since"]
    assert states[tried["event"] - 1] == "searching"
    assert model._succession.task is not None and model._succession.task.since == second["since"]


@pytest.mark.parametrize("delay", [0, GAP])
def test_stopped_around_a_second_drift_it_ends_the_same(delay: int) -> None:
    def make() -> DriftAdaptive:
        return DriftAdaptive(TAN(), margin=0.15, search_delay=delay)

    stream, whole, others = twice(1, "v11"), make(), []
    losses(whole, stream)
    drifts = [entry["event"] for entry in whole.log.entries if entry["what"] == "drift"]
    assert len(drifts) == 2
    whole = make()
    for number, (x, y) in enumerate(stream):
        if number in (drifts[1] - 1, drifts[1], drifts[1] + 1, drifts[1] + 100):
            others.append(again(whole, make))
        for model in (whole, *others):
            model.learn_one(x, y)
    assert all(bytes_of(other) == bytes_of(whole) for other in others)


def test_after_a_refusal_candidates_begin_with_the_newer_change() -> None:
    model = DriftAdaptive(
        KDB(), policy="refit", search_delay=GAP, trials=1, margin=20.0, renew=False
    )  # an unreachable margin
    for x, y in twice(1, "v11"):
        model.learn_one(x, y)
        if "refused" in kinds_logged(model):
            break
    assert kinds_logged(model) == ["drift", "drift", "searched", "refused"]
    task = model._succession.task
    assert task is not None and task.since == model.log.entries[1]["since"]


def test_a_model_that_knows_the_world_of_now_ends_the_looking() -> None:
    third = [1 + (n % 5 < 2) for n in range(150)]  # in which the second is still right about most
    worlds = [0] * 500 + [1] * 500 + third + [0] * 400
    model = DriftAdaptive(NaiveBayes(), search_delay=250, renew=False)
    for n, world in enumerate(worlds):
        model.learn_one({"a": str(n % 3)}, (n + world) % 3)
    what = [(entry["what"], entry["candidate"]) for entry in model.log.entries]
    noticed, back = [entry["event"] for entry in model.log.entries if entry["what"] == "drift"][1:]
    assert noticed < 1150 < back < noticed + 250
    assert what[-1] == ("adopted", "retired 0")
    assert model.state_ == "stable"
