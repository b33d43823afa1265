"""When the world changes, another model is tried, and takes over once it has shown that it is better."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest
from river import drift
from river.drift import binary

from stream_bayes import (
    AODE,
    KDB,
    SPODE,
    TAN,
    DriftAdaptive,
    GaussianNB,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    SlidingWindow,
)
from stream_bayes.drift.detectors import since_change
from stream_bayes.errors import BadLabel, BadValue, CannotSave, OtherConfiguration
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.streams.served_models.served import served
from tests.concepts import (
    drawn_network,
    stream_of,
    with_new_tables,
    with_other_features,
)
from tests.drift.drifting_streams import (
    TARGET,
    Scripted,
    Stream,
    again,
    bytes_of,
    concepts,
    drifting,
    kinds_logged,
    losses,
)

LEARNERS: dict[str, Callable[[], Any]] = {
    "TAN": TAN,
    "KDB": lambda: KDB(k=2, window=1000),
    "AODE": AODE,
    "SPODE": lambda: SPODE(min_count=1.0),
    "LiveChoice": LiveChoice,
}


@pytest.mark.parametrize(("name", "seed"), [*((name, 2) for name in LEARNERS), ("TAN", 3), ("TAN", 4)])
def test_after_a_drift_it_is_as_good_as_a_learner_of_the_new_world_alone(name: str, seed: int) -> None:
    stream = drifting(seed, 3000, 2000, variables=10)
    model, stale, fresh = DriftAdaptive(LEARNERS[name]()), LEARNERS[name](), LEARNERS[name]()
    lost, of_stale, of_fresh = losses(model, stream), losses(stale, stream), losses(fresh, stream[3000:])
    assert kinds_logged(model)[:2] == ["drift", "adopted"]
    assert model.log.entries[0]["event"] - 3000 < 300
    assert abs(model.log.entries[0]["since"] - 3000) < 30
    assert sum(lost[4000:]) < 1.05 * sum(of_fresh[1000:])
    assert sum(lost[3000:]) < 0.9 * sum(of_stale[3000:])


def test_through_a_drift_it_loses_less_than_one_that_never_changes_and_one_that_begins_anew() -> None:
    lost = {"adaptive": 0.0, "static": 0.0, "reset": 0.0}
    for seed in (11, 12, 13):
        before = drawn_network(20, seed)
        target = max(before.structure, key=lambda name: len(before.structure.markov_blanket(name)))
        parts = [(before, 2000), (with_new_tables(before, seed + 1000), 1500)]
        stream = list(stream_of(parts, target, seed))
        lost["adaptive"] += sum(losses(DriftAdaptive(TAN()), stream))
        lost["static"] += sum(losses(TAN(), stream))
        detector: Any = drift.ADWIN()
        reset = drift.DriftRetrainingClassifier(TAN(), detector, train_in_background=False)
        for x, y in stream:
            lost["reset"] += log_loss(reset.predict_proba_one(x), y)
            reset.learn_one(x, y)
    assert lost["adaptive"] < 0.95 * lost["reset"] < lost["static"]
    assert lost["adaptive"] < 0.8 * lost["static"]


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_changes_nothing_is_swapped_for_the_worse(seed: int) -> None:
    before, _ = concepts(seed, variables=10)
    stream = list(stream_of([(before, 6000)], TARGET, seed))
    model, plain = DriftAdaptive(TAN()), TAN()
    assert sum(losses(model, stream)) <= 1.001 * sum(losses(plain, stream))
    assert model.generation <= 1


@pytest.mark.parametrize("seed", range(3))
def test_a_drift_of_the_features_alone_does_no_harm(seed: int) -> None:
    before, _ = concepts(seed, variables=10)
    stream = list(
        stream_of([(before, 3000), (with_other_features(before, TARGET, seed + 100), 3000)], TARGET, seed)
    )
    model, plain = DriftAdaptive(TAN()), TAN()
    assert sum(losses(model, stream)) <= 1.01 * sum(losses(plain, stream))


def flipping(number: int, flips: int) -> Stream:
    """A class that follows a feature, and from one event on its opposite."""
    return [({"a": str(n % 2)}, (n + (n >= flips)) % 2) for n in range(number)]


def test_the_rise_that_explains_most_is_found_also_after_a_learning_curve() -> None:
    rng = np.random.default_rng(1)
    for earlier in (0, 500):  # events of beginners
        for newest in (50, 200, 900):
            chances = np.repeat([0.9, 0.1, 0.6], [earlier, 1000 - newest, newest])
            signals = (rng.random(len(chances)) < chances).astype(float)
            if earlier == 0 or newest < 900:
                assert abs(since_change(signals) - newest) < 15
    falling = (rng.random(1000) < np.repeat([0.6, 0.1], [300, 700])).astype(float)
    assert since_change(falling) == 0
    assert since_change(np.ones(39)) == 39


def test_answers_that_became_better_are_no_drift() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((60, 100)))
    losses(model, flipping(200, 0))
    assert kinds_logged(model) == []


def test_answers_that_became_better_since_a_warning_are_no_drift() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((160,), tuple(range(100, 160))))
    losses(model, flipping(90, 0)[::2] + flipping(55, 0)[1::2] + flipping(200, 0))  # at first one class alone
    assert kinds_logged(model) == ["warning"]
    assert model.state_ == "stable"


def test_a_detector_that_is_given_is_told_nothing_itself() -> None:
    detector = drift.ADWIN()
    model = DriftAdaptive(NaiveBayes(), detector)
    losses(model, flipping(700, 400))
    assert model.generation == 1
    assert (detector.width, detector.n_detections) == (0, 0)


def test_a_candidate_that_is_no_better_is_refused_after_all_its_trials_and_the_model_stays() -> None:
    noise: Stream = [({"a": str(n % 2)}, n // 2 % 2) for n in range(500)]  # of which nobody knows anything
    stream = [*flipping(400, 400), *noise]
    model = DriftAdaptive(NaiveBayes(), Scripted((440,)), judge_after=20, trials=3, margin=0.5)
    for x, y in stream[:441]:
        model.learn_one(x, y)
    kept = model.model_
    assert model.state_ == "trial"
    for x, y in stream[441:]:
        model.learn_one(x, y)
    assert kinds_logged(model) == ["drift", "refused"]
    drift_, refused = model.log.entries
    assert refused["event"] == drift_["event"] + 20 + 40 + 80
    assert (model.model_, model.generation, model.state_) == (kept, 0, "stable")


def test_it_is_judged_at_a_known_event_and_not_before() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((450,)), judge_after=100)
    seen = []
    for x, y in flipping(700, 400):
        model.learn_one(x, y)
        seen.append((model.state_, model.generation))
    noticed = model.log.entries[0]["event"]
    assert seen[noticed - 2 : noticed] == [("stable", 0), ("trial", 0)]
    assert seen[noticed + 98 : noticed + 100] == [("trial", 0), ("stable", 1)]


def test_a_warning_says_since_when_the_candidate_learns() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((440,), tuple(range(410, 440))), judge_after=50)
    states = []
    for x, y in flipping(500, 400):
        model.learn_one(x, y)
        states.append(model.state_)
    warned, noticed = model.log.entries[:2]
    assert (warned["what"], warned["event"], warned["since"]) == (
        "warning",
        noticed["since"],
        noticed["since"],
    )
    assert noticed["event"] - noticed["since"] == 30
    assert states.index("warning") + 1 == noticed["since"]


def test_a_search_keeps_the_counts_and_derives_the_structure_anew() -> None:
    model = DriftAdaptive(TAN(every=10**6), Scripted((900,)), policy="search", judge_after=600, trials=1)
    stream = drifting(2, 800, 800, variables=10)
    for x, y in stream:
        model.learn_one(x, y)
    assert kinds_logged(model) in (["drift", "adopted"], ["drift", "refused"])
    assert model.model_.clock == 1600


@pytest.mark.parametrize(
    "detector",
    [
        drift.ADWIN(),
        drift.PageHinkley(),
        drift.KSWIN(seed=1, window_size=40, stat_size=15),
        binary.DDM(),
        binary.EDDM(),
        binary.HDDMA(),
        binary.HDDMW(),
    ],
    ids=lambda detector: type(detector).__name__,
)
def test_stopped_anywhere_it_goes_on_the_same_from_its_state(detector: Any) -> None:
    stream = [*flipping(500, 300), *flipping(200, 0)]
    made = lambda: DriftAdaptive(AODE(min_count=1.0), detector, "error", window=100, judge_after=30)
    adaptive = made()
    whole = served(adaptive)
    models = []
    for number, (x, y) in enumerate(stream):
        if number % 90 == 0:
            other = served(made())
            other.load(json_round_trip(whole.freeze()()))
            models.append(other)
        for model in (whole, *models[-2:]):
            model.predict_then_learn(x, y, 1.0)
    for model in models[-2:]:
        assert repr(model.freeze()()) == repr(whole.freeze()())
    noticed = adaptive.log.entries
    assert noticed
    assert all(entry["detector"]["numbers"] for entry in noticed)


def test_a_search_that_can_find_nothing_else_tries_nothing() -> None:
    model = DriftAdaptive(NaiveBayes(), policy="search", renew=False)
    for x, y in flipping(1000, 500):
        model.learn_one(x, y)
    what = [(entry["what"], entry["why"]) for entry in model.log.entries]
    assert ("drift", None) in what
    assert {one for one in what if one[0] != "drift"} == {("refused", "nothing else is found")}
    assert model.state_ == "stable"


def json_round_trip(state: Any) -> Any:
    arrays = state.pop("arrays")
    return json.loads(json.dumps(state)) | {"arrays": arrays}


def test_a_swapped_model_is_restored_in_the_middle_of_a_trial_too() -> None:
    model = DriftAdaptive(TAN(), judge_after=100)
    stream = list(chain(drifting(1, 800, 800, variables=10), drifting(5, 800, 0, variables=10)))
    phases = set()
    for number, (x, y) in enumerate(stream):
        model.learn_one(x, y)
        if number % 200 == 0 or model.state_ == "trial":
            phases.add((model.state_, model.generation))
        if model.state_ == "trial" and model.trial_ is not None and model.trial_.events == 50:
            other = again(model, lambda: DriftAdaptive(TAN(), judge_after=100))
            assert other.trial_ == model.trial_
            assert bytes_of(other) == bytes_of(model)
    assert {("stable", 0), ("trial", 0), ("stable", 1)} <= phases


def test_a_detector_without_a_codec_runs_and_cannot_be_saved() -> None:
    model = DriftAdaptive(NaiveBayes(), Scripted((10,)))
    model.learn_one({"a": "x"}, "yes")
    with pytest.raises(CannotSave, match="Scripted"):
        model_state(model)


def test_a_state_of_another_configuration_is_refused() -> None:
    state = model_state(DriftAdaptive(NaiveBayes(), drift.ADWIN()))
    for other in (
        DriftAdaptive(NaiveBayes(), drift.ADWIN(), judge_after=11),
        DriftAdaptive(NaiveBayes(), drift.ADWIN(delta=0.01)),
        DriftAdaptive(NaiveBayes(), drift.PageHinkley()),
        DriftAdaptive(TAN(), drift.ADWIN()),
    ):
        with pytest.raises(OtherConfiguration):
            restore_model(other, state)


def test_a_refused_sample_changes_nothing() -> None:
    model = DriftAdaptive(NaiveBayes())
    for x, y in flipping(50, 20):
        model.learn_one(x, y)
    before = repr(model_state(model))
    for x, y in (({"b": "new"}, 1j), ({"a": {1, 2}}, 1), ({"a": 1.5}, 1)):
        with pytest.raises((BadLabel, BadValue, TypeError)):
            model.learn_one(x, y)
    assert repr(model_state(model)) == before


def test_bad_arguments_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"learner": "nb"},
        {"detector": "adwim"},
        {"detector": drift.ADWIN},
        {"detector": object()},
        {"detector": binary.DDM(), "signal": "log-loss"},
        {"signal": "accuracy"},
        {"policy": "restart"},
        {"window": 0},
        {"window": 39},
        {"window": 100, "search_delay": 101},
        {"search_delay": -1},
        {"search": "hill-climbing"},
        {"retired": 1.0},
        {"learner": MultinomialNB()},
        {"learner": GaussianNB(), "signal": "family"},
        {"learner": SlidingWindow(GaussianNB(), 100), "signal": "family"},
        {"judge_after": 1.5},
        {"trials": 0},
        {"margin": -1.0},
    ]
    for arguments in wrong:
        with pytest.raises(BadValue):
            DriftAdaptive(**({"learner": NaiveBayes()} | arguments))
