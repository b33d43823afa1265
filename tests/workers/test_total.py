"""The sum of all shards is the model of one pass over all samples, count by count and name by name."""

from __future__ import annotations

import random
from typing import Any, cast

import numpy as np
import pytest

from stream_bayes import (
    AODE,
    KDB,
    ODE,
    SPODE,
    TAN,
    AdaptiveBayes,
    LiveChoice,
    NaiveBayes,
    Numeric,
    Schema,
    SlidingWindow,
)
from stream_bayes.cli.exit_codes import exit_code
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import BadState, BadValue, BudgetExceeded, CannotMerge, CannotResume
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.state import checksum, text_of
from stream_bayes.learners.catalogue import LEARNERS, declaration_of
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served
from stream_bayes.testing.public_learners import CUT, learners
from stream_bayes.testing.sample_streams import Streams
from stream_bayes.workers.shard import ShardRecovery, ShardTransactions
from stream_bayes.workers.shard_model import ShardModel
from stream_bayes.workers.state_parts import joined, parts_of
from stream_bayes.workers.summable import check_summable
from stream_bayes.workers.total import Total, summed

SHARDS = 3


def is_summable(learner: BayesClassifier) -> bool:
    try:
        check_summable(learner)
    except CannotMerge:
        return False
    return True


SUMMABLE = {name: learner for name, learner in learners().items() if is_summable(learner)} | {
    "SPODE(parent=wet)": SPODE(parent="wet", schema=CUT),
    "ODE(parents={size: wet})": ODE(parents={"size": "wet"}, schema=CUT),
}


def test_every_kind_of_learner_that_workers_take_is_summed_here() -> None:
    kinds = {kind for name, kind in LEARNERS.items() if "workers" not in declaration_of(name).cannot}
    assert {type(learner) for learner in SUMMABLE.values()} == kinds


@pytest.mark.parametrize("name", SUMMABLE)
def test_the_sum_of_shards_is_one_pass_over_all_samples(name: str) -> None:
    empty = SUMMABLE[name]
    samples = Streams(empty, seed=3).samples(90)
    whole, shards = empty.clone(), {number: empty.clone() for number in range(SHARDS)}
    for place, (x, y, w) in enumerate(samples):
        whole.learn_one(x, y, w)
        shards[place % SHARDS].learn_one(x, y, w)
    x, y, w = samples[4]
    whole.unlearn_one(x, y, w)
    shards[4 % SHARDS].unlearn_one(x, y, w)
    published = {
        number: type(empty).from_state(joined(parts_of(shard.state()))) for number, shard in shards.items()
    }
    total = summed(empty, published)
    assert_equal_counts(total.store.by_name(), whole.store.by_name())
    assert total.classes_ and set(total.classes_) == set(whole.classes_)


def assert_equal_counts(mine: dict[Any, Any], other: dict[Any, Any]) -> None:
    largest = max((abs(part) for value in other.values() for part in parts(value)), default=1.0)
    assert mine.keys() == other.keys()
    for place, value in other.items():
        for one, expected in zip(parts(mine[place]), parts(value), strict=True):
            if isinstance(value, tuple) or expected % 1.0:
                assert one == pytest.approx(expected, rel=1e-9, abs=1e-9 * largest)
            else:
                assert one == pytest.approx(expected, rel=1e-12)


def parts(value: Any) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_whole_counts_of_a_sum_are_exact() -> None:
    samples = [({"sky": random.Random(n).choice("abc"), "wet": n % 2 == 0}, n % 3) for n in range(300)]
    whole, shards = AODE(binning=None), {number: AODE(binning=None) for number in range(SHARDS)}
    for place, (x, y) in enumerate(samples):
        whole.learn_one(x, y)
        shards[place % SHARDS].learn_one(x, y)
    assert summed(AODE(binning=None), shards).store.by_name() == whole.store.by_name()


def test_a_structure_is_derived_from_the_sum() -> None:
    samples = [
        ({"a": f"{n % 2}", "b": f"{n % 2}", "c": f"{n // 2 % 3}"}, "yes" if n % 5 else "no")
        for n in range(120)
    ]
    whole, shards = TAN(binning=None), {number: TAN(binning=None) for number in range(SHARDS)}
    for place, (x, y) in enumerate(samples):
        whole.learn_one(x, y)
        shards[place % SHARDS].learn_one(x, y)
    whole.rederive()
    assert summed(TAN(binning=None), shards).parents_ == whole.parents_


REFUSED = [
    (SlidingWindow(NaiveBayes(), 10), "newest events"),
    (AdaptiveBayes(), "AdaptiveBayes cannot be summed"),
    (KDB(k=2, binning=None), "use k=1, or AODE"),
    (AODE(), "finds the cut points"),
    (NaiveBayes(max_values=3), "max_values=3"),
    (NaiveBayes(half_life=50.0), 'time, as half_life="7d"'),
    (SPODE(binning=None), "name the parent"),
]


@pytest.mark.parametrize(("learner", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_learners_that_cannot_be_summed_are_refused_by_name(learner: Any, message: str) -> None:
    with pytest.raises(CannotMerge, match=message):
        check_summable(learner)


def test_a_sum_past_its_budget_is_refused_by_names_and_changes_nothing() -> None:
    one, other = NaiveBayes(), NaiveBayes()
    one.learn_one({"sky": "grey"}, "rain")
    for number in range(500):
        other.learn_one({"sky": "blue", "user": f"u{number}"}, "sun")
    total = Total(NaiveBayes(), memory_budget=20_000)
    total.replace({0: one})
    with pytest.raises(
        BudgetExceeded, match=r"2 shards .*memory_budget=20,000. Most is in user \(500 values\)"
    ) as found:
        total.replace({1: other})
    assert exit_code(found.value) == 3
    assert total.model.store.by_name() == one.store.by_name()
    assert set(total.shards) == {0}


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 0.5])
def test_published_counts_are_checked_whoever_wrote_them(value: float) -> None:
    learner = NaiveBayes()
    learner.learn_one({"sky": "grey"}, "rain")
    state = learner.state()
    state["arrays"]["weight"] = np.full_like(state["arrays"]["weight"], value)
    state["checksum"] = checksum(text_of(state), state["arrays"])
    with pytest.raises(BadState):
        Total(NaiveBayes()).loaded(0, parts_of(state))


# -- a shard's model ---------------------------------------------------------------------------------------------------


def events(count: int, labelled: bool) -> list[Event]:
    chance = random.Random(5)
    found: list[Event] = []
    for number in range(count):
        rain = chance.random() < 0.4
        x = {"sky": chance.choice(["grey", "blué"] if rain else ["blue", "blué"]), "wind": chance.gauss(3, 1)}
        y = "rain" if rain else "dry"
        if number % 17 == 5:
            x["wind"] = "calm"  # refused: a number elsewhere
        key = f"day-{number}"
        found.append(Event(x, y if labelled else None, key, float(number), len(found)))
        if not labelled and number >= 3:
            kind = Kind.LABEL if number % 4 else Kind.CORRECTION
            found.append(Event({}, "rain", f"day-{number - 3}", float(number), len(found), kind=kind))
    return found


@pytest.mark.parametrize("half_life", [None, "90s"])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_replay_from_tapes_is_the_identical_step(labelled: bool, half_life: str | None) -> None:
    """Though the sum knew more when the batches were live than it does when they are replayed."""
    empty, at = NaiveBayes(half_life=half_life), 50.0 if half_life else None
    batches = [events(200, labelled)[start : start + 40] for start in range(0, 360, 40)]
    total = Total(empty.clone())
    other, model = ShardModel(1, empty.clone(), total), ShardModel(0, empty.clone(), total)
    other.go_live()
    model.go_live()
    step, again = (
        Step(one, pending=None if labelled else Pending(wait_for=50.0, correct_within=50.0))
        for one in (model, ShardModel(0, empty.clone(), Total(empty.clone())))
    )
    replayed = again.model
    assert isinstance(replayed, ShardModel)
    for batch in batches:
        other.learn({"sky": "grey", "wind": 7.5}, "rain", 1.0, at)
        other.take_tape()
        step.process(batch)
        step.clear_results()
        replayed.replay(model.take_tape())
        again.process(batch)
        again.clear_results()
    assert step.dead_letters.counts
    mine, theirs = again.freeze()(), step.freeze()()
    for section in theirs.values():
        section.pop("arrays", None)
    for section in mine.values():
        section.pop("arrays", None)
    assert mine == theirs
    assert replayed.model.store.by_name() == model.model.store.by_name()


def timed(times: list[float | None]) -> list[Event]:
    return [
        Event({"sky": "grey" if place % 2 else "blue"}, "rain", time=time, position=place)
        for place, time in enumerate(times)
    ]


def test_samples_of_shards_fade_by_their_own_time_of_which_one_too_far_ahead_counts_as_the_skew() -> None:
    empty = NaiveBayes(half_life="10s")
    total = Total(empty)
    models = [ShardModel(number, empty.clone(), total) for number in range(2)]
    steps = [Step(model, max_skew=100.0) for model in models]
    for model in models:
        model.go_live()
    steps[0].process(timed([1000.0, 990.0, None, 1200.0, 1010.0]))
    steps[1].process(timed([1095.0, 1005.0]))
    (letter,) = steps[0].dead_letters.letters
    assert "is in stream time" in letter.detail
    expected = sum(2.0 ** ((at - 1100.0) / 10.0) for at in (1000.0, 990.0, 1100.0, 1010.0, 1095.0, 1005.0))
    assert total.model.store.by_name()["rain",] == pytest.approx(expected, rel=1e-9)
    assert_equal_counts(
        summed(empty, {k: model.model for k, model in enumerate(models)}).store.by_name(),
        total.model.store.by_name(),
    )


def test_a_late_label_counts_in_the_time_of_its_sample_and_is_corrected_there() -> None:
    step = Step(served(NaiveBayes(half_life="10s")), pending=Pending(wait_for=1e3, correct_within=1e3))
    step.process(
        [
            Event({"sky": "grey"}, None, "a", 1000.0, 0),
            Event({"sky": "blue"}, "sun", "b", 1100.0, 1),
            Event({}, "sun", "a", 1100.0, 2, kind=Kind.LABEL),
            Event({}, "rain", "a", 1150.0, 3, kind=Kind.CORRECTION),
        ]
    )
    counts = step.model.model.store.by_name()
    assert counts["sun",] == pytest.approx(1.0) and counts["rain",] == pytest.approx(2.0**-10)


def test_a_tape_of_another_batch_is_refused() -> None:
    total = Total(NaiveBayes())
    model = ShardModel(0, NaiveBayes(), total)
    model.go_live()
    model.process([{"sky": "grey"}], ["rain"], [1.0])
    tape = model.take_tape()
    replayed = ShardModel(0, NaiveBayes(), total)
    with pytest.raises(CannotResume, match="lacks the answers"):
        replayed.process([{"sky": "grey"}], ["rain"], [1.0])
    replayed.replay(tape)
    with pytest.raises(CannotResume, match="1 answers more"):
        replayed.go_live()
    with pytest.raises(CannotResume, match="cannot be read"):
        ShardModel(0, NaiveBayes(), total).replay(b"no tape")


def test_a_batch_answers_as_the_total_and_learns_into_both() -> None:
    total, alone = Total(NaiveBayes()), served(NaiveBayes())
    model = ShardModel(0, NaiveBayes(), total)
    model.go_live()
    xs, ys = [{"sky": "grey"}, {"sky": "blue"}, {"sky": "grey"}], ["rain", "sun", None]
    answers, refused = model.process(xs, ys, [1.0, 2.0, 1.0])
    expected, _ = alone.process(xs, ys, [1.0, 2.0, 1.0])
    assert refused is None
    assert answers.named(str) == expected.named(str)
    assert model.model.store.by_name() == total.model.store.by_name() == alone.model.store.by_name()


def test_a_shard_of_other_kinds_is_refused() -> None:
    total = Total(NaiveBayes())
    one, other = NaiveBayes(), NaiveBayes()
    one.learn_one({"wind": 2.5}, "rain")
    other.learn_one({"wind": "calm"}, "sun")
    with pytest.raises(CannotMerge, match="'wind' is nominal in one"):
        total.replace({0: one, 1: other})


def test_the_leader_of_a_choice_survives_a_new_sum() -> None:
    empty = LiveChoice(readings=("nb", "aode"), binning=None, min_count=1)
    total = Total(empty)
    model = ShardModel(0, empty.clone(), total)
    model.go_live()
    for _ in range(20):
        for a, b in [("x", "x"), ("x", "o"), ("o", "x"), ("o", "o")]:
            model.predict_then_learn({"a": a, "b": b}, "same" if a == b else "different", 1.0)
    leading = total.model
    assert isinstance(leading, LiveChoice)
    assert leading.leader_.reading == "aode"
    total.replace({1: empty.clone()})
    again = total.model
    assert isinstance(again, LiveChoice)
    assert again.leader_.reading == "aode"
    assert again.losses_ == leading.losses_


def test_kinds_that_are_declared_are_refused_by_each_shard_alike() -> None:
    schema = Schema({"wind": Numeric()}, classes=["rain", "sun"])
    total = Total(NaiveBayes(schema=schema))
    model = ShardModel(0, NaiveBayes(schema=schema), total)
    model.go_live()
    with pytest.raises((BadValue, TypeError)):
        model.learn({"wind": "calm"}, "rain", 1.0)
    assert not model.model.store.by_name()


def test_a_shard_that_is_stopped_while_it_replays_commits_nothing() -> None:
    """Its positions are behind those that were committed: committing them would repeat answers."""
    flushed: list[Any] = []

    class Delivery:
        def flush(self, positions: Any, *, at_end: bool) -> None:
            flushed.append(at_end)

    model = ShardModel(0, NaiveBayes(), Total(NaiveBayes()))
    source, delivery = cast("KafkaSource", object()), cast("ShardTransactions", Delivery())
    recovery = ShardRecovery(source, "days", delivery, model=model)
    recovery.finish({})
    assert not flushed
    model.go_live()
    recovery.finish({})
    assert flushed == [True]
