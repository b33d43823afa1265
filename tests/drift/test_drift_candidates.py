"""What candidates begin with, what they learn, and that nothing of them is left where they are refused."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import pytest

from stream_bayes import TAN, BayesNetClassifier, DriftAdaptive, NaiveBayes
from tests.drift.drifting_streams import Scripted, Stream, again, drifting, kinds_logged, losses


def coloured(number: int, colours: str, other_way: bool = False) -> Stream:
    """A class that follows which of the two colours there is, or its opposite."""
    return [({"c": colours[n % 2]}, (n + other_way) % 2) for n in range(number)]


def test_a_refit_has_the_tree_that_was_there_where_the_new_world_has_another() -> None:
    def twins(number: int, one: str, other: str, flip: bool) -> Stream:
        stream: Stream = []
        for n in range(number):
            x = dict(zip("abcd", (n % 2, n // 2 % 2, n // 4 % 2, n // 8 % 2), strict=True))
            x[other] = x[one] ^ (n % 7 == 0)
            stream.append(({name: str(value) for name, value in x.items()}, x["a"] ^ flip))
        return stream

    model = DriftAdaptive(TAN(every=10_000), policy="refit")
    for x, y in twins(1000, "a", "b", flip=False):
        model.learn_one(x, y)
    before: Any = model.model_
    before.rederive()
    tree, anew = before.parents_, TAN()
    changed = twins(1000, "c", "d", flip=True)
    for x, y in changed:
        anew.learn_one(x, y)
        if not model.generation:
            model.learn_one(x, y)
    anew.rederive()
    after: Any = model.model_
    assert model.generation == 1 and after is not before
    assert after.parents_ == tree != anew.parents_


def test_a_search_of_a_network_counts_all_events_kept() -> None:
    model = DriftAdaptive(BayesNetClassifier(None), policy="search", window=500, renew=False)
    for x, y in drifting(2, 700, 350):
        model.learn_one(x, y)
        if model.candidates_:
            break
    [(name, candidate)] = model._succession.candidates
    assert (name, candidate.clock) == ("search", 500)


def test_a_refused_trial_leaves_a_model_that_is_kept_as_it_was() -> None:
    nobody_knows: Stream = [({"c": "rg"[n % 2]}, n // 2 % 2) for n in range(500)]
    model = DriftAdaptive(
        NaiveBayes(), Scripted((440,)), judge_after=20, trials=1, margin=0.5, policy="refit", renew=False
    )
    losses(model, [*coloured(400, "rg"), *coloured(480, "rg", other_way=True)])
    assert kinds_logged(model) == ["drift", "adopted"]
    [(name, kept)] = model._succession.retired
    before, tried = kept.clock, []
    for x, y in nobody_knows:
        model.learn_one(x, y)
        tried += [model.candidates_] if model.candidates_ not in tried else []
    assert kinds_logged(model)[2:] == ["drift", "refused"]
    assert tried == [(), ("refit", name)]
    assert (model._succession.retired, kept.clock) == ([(name, kept)], before)


def test_after_a_model_has_come_back_candidates_learn_by_its_names() -> None:
    make = lambda: DriftAdaptive(NaiveBayes(), window=200, renew=False)
    model = make()
    losses(model, [*coloured(600, "rg"), *coloured(600, "gr"), *coloured(300, "xy")])
    losses(model, coloured(100, "rg"))
    adopted = [entry["candidate"] for entry in model.log.entries if entry["what"] == "adopted"]
    assert adopted[-1].startswith("retired")
    model = again(model, make)  # of what it has not met itself nothing is kept
    losses(model, coloured(400, "yx"))  # names that it has not met, in another order
    fresh, stream = NaiveBayes(), list(islice(cycle(coloured(2, "yx", other_way=True)), 100))
    for x, y in stream:
        model.learn_one(x, y)
        if model.candidates_:
            break
    since = model.log.entries[-1]["since"]
    for x, y in stream[: model.clock - since + 1]:
        fresh.learn_one(x, y)
    found: dict[str, Any] = dict(model._succession.candidates)
    assert found["both"].store.by_name() == fresh.store.by_name()


def test_a_shadow_has_learned_all_since_the_warning_also_what_is_no_longer_kept() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((460,), tuple(range(400, 460))), window=40, renew=False)
    alone, stream = NaiveBayes(), [*coloured(400, "rg"), *coloured(400, "rg", other_way=True)]
    for x, y in stream:
        model.learn_one(x, y)
        if model.candidates_:
            break
    warned = model.log.entries[0]["event"]
    for x, y in stream[warned - 1 : model.clock]:
        alone.learn_one(x, y)
    [(name, candidate)] = model._succession.candidates
    assert (name, candidate.clock) == ("both", 61)
    assert isinstance(candidate, NaiveBayes)
    assert candidate.store.by_name() == alone.store.by_name()


def test_a_warning_that_passes_leaves_nothing() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((460,), tuple(range(100, 110))))
    stream, states = [*coloured(400, "rg"), *coloured(100, "rg", other_way=True)], []
    memory = []
    for x, y in stream[:300]:
        model.learn_one(x, y)
        states.append(model.state_)
        memory.append(model.memory_bytes)
    assert states == ["stable"] * 100 + ["warning"] * 10 + ["stable"] * 190
    assert memory[-1] == memory[50] < memory[105]
    losses(model, stream[300:])
    warned, noticed = model.log.entries[:2]
    assert (warned["what"], warned["since"], noticed["what"], noticed["since"]) == (
        "warning",
        101,
        "drift",
        401,
    )


@pytest.mark.parametrize(
    ("learner", "policy", "first"),
    [
        (TAN(), "refit", "refit"),
        (TAN(every=10_000), "search", "search"),
        (BayesNetClassifier(None), "both", "both"),  # whose structure is to be searched
    ],
)
def test_where_a_shadow_is_not_what_is_wanted_a_warning_begins_none(
    learner: Any, policy: str, first: str
) -> None:
    model = DriftAdaptive(
        learner, Scripted((760,), tuple(range(700, 760))), policy=policy, window=100, renew=False
    )
    for x, y in drifting(2, 700, 100):
        model.learn_one(x, y)
        if model.candidates_:
            break
    [(name, candidate)] = model._succession.candidates
    assert (model.log.entries[0]["what"], name) == ("warning", first)
    searched: Any = candidate
    if isinstance(learner, BayesNetClassifier):
        assert searched.structure is not None


def test_a_shadow_has_its_structure_when_it_is_tried() -> None:
    model = DriftAdaptive(TAN(every=10_000), Scripted((760,), tuple(range(700, 760))), renew=False)
    for x, y in drifting(2, 700, 100):
        model.learn_one(x, y)
        if model.candidates_:
            break
    tree, alone = model._succession.candidates[0][1], TAN()
    for x, y in drifting(2, 700, 100)[model.log.entries[0]["event"] - 1 : model.clock]:
        alone.learn_one(x, y)
    alone.rederive()
    parents: Any = tree
    assert parents.parents_ == alone.parents_ != {}
