"""Shards of a regression: their sums add up to one pass, also with late labels, a kill and another number of shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import (
    AdaptiveRegression,
    BayesianRegression,
    FourierFeatures,
    GaussianProcess,
    Numeric,
    Schema,
)
from stream_bayes.errors import CannotMerge, NotSupported
from stream_bayes.workers.follower import Follower
from stream_bayes.workers.pipeline.rescale import rescale
from stream_bayes.workers.summable import check_summable
from tests.kafka.fake_broker import AFTER_COMMIT, FakeBroker, Killed
from tests.workers.fake_shards import NAME, FakeShards

DECLARED = Schema({"wind": Numeric()})


def run_over_kill(shards: FakeShards) -> None:
    """Run all shards, of which the second is killed once, and replays its journal."""

    def kill() -> None:
        raise Killed

    shards.broker.at(AFTER_COMMIT, f"{NAME}.shard-1", lambda: None)
    shards.broker.at(AFTER_COMMIT, f"{NAME}.shard-1", kill)
    with pytest.raises(Killed):
        shards.run(only=1)
    shards.run()


@pytest.mark.parametrize("half_life", [None, "1h"])
def test_shards_of_numbers_that_are_killed_and_rescaled_sum_to_one_pass(
    half_life: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shards = FakeShards(
        FakeBroker(),
        monkeypatch,
        3,
        6,
        labels=True,
        half_life=half_life,
        numbers=True,
        snapshots={"directory": str(tmp_path), "every_events": 10_000},
    )
    joined = shards.put_days(40)
    waiting = shards.put_days(20, labelled=False)
    shards.run()
    shards.put_days(60)
    run_over_kill(shards)
    shards.check()
    assert rescale(shards.config(), 2).has_changed
    for number in waiting:
        shards.put_label(number, 20.0 + number)
    for number in joined:  # each is unlearned in the shard that reads its correction
        shards.put_label(number, -1e6 if number % 2 else "3.5")
    shards.put_days(20)
    shards.run(2)
    shards.check()
    answers = [json.loads(record.value or b"") for record in shards.broker.records("answers")]
    assert answers[-1]["low"] < answers[-1]["prediction"] < answers[-1]["high"]
    with Follower(shards.connection, NAME) as follower:
        assert follower.predict_one({"wind": 2}) == follower.model.predict_one({"wind": 2})
        with pytest.raises(NotSupported, match="predicts numbers"):
            follower.predict_proba_one({"wind": 2})


def test_answers_and_scores_of_numbers_are_replayed_from_tapes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snapshots = {"directory": str(tmp_path), "every_events": 10_000}
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4, numbers=True, snapshots=snapshots)
    shards.put_days(80)
    run_over_kill(shards)
    shards.check()


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (AdaptiveRegression(), "AdaptiveRegression cannot be summed; use bayesian-regression"),
        (GaussianProcess(), "GaussianProcess cannot be summed; use bayesian-regression"),
        (BayesianRegression(), r"declare all features in \[schema.features\]"),
        (BayesianRegression(schema=DECLARED, features="fourier"), "the first events set the scales"),
        (BayesianRegression(schema=DECLARED, half_life=50.0), 'time, as half_life="7d"'),
        (BayesianRegression(schema=DECLARED, features=FourierFeatures({"wind": (3.0, 1.0)})), None),
    ],
)
def test_learners_of_numbers_that_cannot_be_summed_are_refused_by_name(
    learner: Any, message: str | None
) -> None:
    if message is None:
        check_summable(learner)
        return
    with pytest.raises(CannotMerge, match=message):
        check_summable(learner)
