"""The learner that needs no choice: as good as its best expert and mostly better, and the same after a restart."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from river.datasets import synth

from stream_bayes import AODE, AdaptiveBayes, BayesianLogistic, NaiveBayes, Nominal, Numeric, Schema
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import BadLabel, BadValue, CannotMerge, StreamBayesError
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served

Sample = tuple[dict[str, Any], Any]
SCHEMA = Schema({"size": Numeric(), "sky": Nominal(["grey", "blue"], closed=True)}, classes=["dry", "wet"])


def drifting(events: int, seed: int = 0) -> list[Sample]:
    """A class that follows one number, then another, with a nominal feature beside."""
    rng, made = np.random.default_rng(seed), list[Sample]()
    for number in range(events):
        a, b = rng.normal(size=2)
        y = "yes" if (a if number < events // 2 else b) > 0 else "no"
        made.append(({"a": float(a), "b": float(b), "sky": str(rng.choice(["grey", "blue"]))}, y))
    return made


def held(model: AdaptiveBayes) -> tuple[str, dict[str, bytes]]:
    """Return all that a model holds, in a form that compares."""
    state = dict(model_state(model))
    arrays = {name: np.asarray(array).tobytes() for name, array in state.pop("arrays").items()}
    return repr(state), arrays


def loss_of(model: Any, stream: Iterable[Sample]) -> float:
    losses = [-math.log(max(model.predict_learn_one(x, y).get(y, 0.0), 1e-4)) for x, y in stream]
    return float(np.mean(losses))


def learned(events: int = 300, **arguments: Any) -> AdaptiveBayes:
    model = AdaptiveBayes(**arguments)
    for x, y in drifting(events):
        model.learn_one(x, y)
    return model


def test_predicting_then_learning_is_one_step() -> None:
    one, other = AdaptiveBayes(), AdaptiveBayes()
    for x, y in drifting(200):
        assert one.predict_proba_one(x) == (answer := other.predict_learn_one(x, y))
        assert not answer or sum(answer.values()) == pytest.approx(1.0)
        one.learn_one(x, y)
    assert held(one) == held(other)


def test_an_event_that_was_predicted_is_not_predicted_again_to_learn_it() -> None:
    model, stream = learned(60), drifting(80)[60:]

    def scored(x: dict[str, Any], y: Any) -> int:
        before = model.members[0].reading.scorings
        model.learn_one(x, y)
        return int(model.members[0].reading.scorings - before)

    for x, y in stream:
        model.predict_proba_one(x)
        assert scored(x, y) == 0
        model.predict_one(x)
        x["a"] += 1.0
        assert scored(x, y) == 1, "its numbers are others"
        model.predict_one(x)
        assert scored(dict(x), y) == 1, "as long as it is another event"


def test_whatever_is_asked_between_a_prediction_and_its_label_the_same_is_learned() -> None:
    """Other events, intervals, explanations, a member alone, an answer that is changed, a value never seen."""
    rng = random.Random(5)
    asked, silent = AdaptiveBayes(), AdaptiveBayes()
    for number, (x, _) in enumerate(drifting(150, 2)):
        y = rng.randrange(4) if rng.random() < 0.3 else (x["a"] > 0) + 2 * (x["b"] > 0)
        w = rng.choice([1.0, 1.0, 0.0, 2.5])
        if rng.random() < 0.05:
            x["sky"] = f"colour {number}"
        answer = asked.predict_proba_one(x)
        kept = dict(answer)
        match rng.randrange(8):
            case 0:
                asked.predict_proba_one({"a": 0.0})
            case 1:
                asked.predict_interval_one({"b": 0.5})
            case 2:
                asked.explain_one(x)
            case 3:
                rng.choice(asked.members).predict_proba_one({"a": 3.0})
            case 4:
                answer.clear()
            case 5:
                x["b"] = -x["b"]
                kept = asked.predict_proba_one(dict(x))
        assert kept == asked.predict_learn_one(x, y, w) == silent.predict_learn_one(x, y, w)
    assert held(asked) == held(silent)


def test_predicting_changes_nothing() -> None:
    model = learned()
    before = held(model)
    for x, _ in drifting(20, seed=5):
        model.predict_proba_one(x)
        model.explain_one(x)
        model.predict_one({"a": None, "new": "value"})
    assert held(model) == before


@pytest.mark.parametrize("arguments", [{}, {"label_memory": 0}, {"label_memory": 3, "trend_half_life": 5.0}])
def test_a_restored_model_goes_on_as_the_first(arguments: dict[str, Any]) -> None:
    model = learned(**arguments)
    state = model_state(model)
    other = restore_model(AdaptiveBayes(**arguments), state)
    copy = pickle.loads(pickle.dumps(model))
    for x, y in drifting(50, seed=3):
        expected = model.predict_learn_one(x, y)
        assert other.predict_learn_one(x, y) == expected
        assert copy.predict_learn_one(x, y) == expected
    assert held(other) == held(model)


def test_what_one_store_refuses_none_learns() -> None:
    model = AdaptiveBayes(schema=SCHEMA)
    model.learn_one({"size": 1.0, "sky": "grey"}, "wet")
    before = held(model)
    wrong: list[Sample] = [
        ({"size": 1.0, "sky": "red"}, "wet"),
        ({"size": "large"}, "wet"),
        ({"size": 1.0}, "snow"),
    ]
    for x, y in wrong:
        with pytest.raises(StreamBayesError):
            model.learn_one(x, y)
    with pytest.raises(BadLabel):
        AdaptiveBayes().learn_one({"a": 1.0}, None)
    assert held(model) == before


def test_it_is_better_than_each_of_the_learners_it_is_made_of() -> None:
    for make in (
        lambda: drifting(1200),
        lambda: list(synth.Agrawal(4, seed=3).take(800)) + list(synth.Agrawal(7, seed=4).take(800)),
        lambda: list(synth.RandomRBF(seed_model=3, seed_sample=4, n_classes=3, n_features=6).take(1000)),
    ):
        stream = make()
        mixed = loss_of(AdaptiveBayes(), stream)
        for single in (AODE(), AODE(half_life=500.0), NaiveBayes(), NaiveBayes(half_life=50.0)):
            assert mixed < loss_of(single, stream)


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.NumbersMoved")  # they move: that is what is tested
def test_labels_that_repeat_and_numbers_that_wander_are_followed() -> None:
    rng = np.random.default_rng(1)
    repeating = list[Sample]()
    for number in range(1500):
        repeating.append(({"noise": float(rng.normal())}, "ab"[number // 50 % 2]))
    assert loss_of(AdaptiveBayes(), repeating) < 0.2
    assert loss_of(AdaptiveBayes(label_memory=0), repeating) > 0.25
    wandering, levels = list[Sample](), [0.0]
    for _ in range(3000):  # the class says whether the number is above its recent mean
        levels.append(levels[-1] + float(rng.normal()))
        wandering.append(({"level": levels[-1]}, "up" if levels[-1] > np.mean(levels[-30:]) else "down"))
    assert loss_of(AdaptiveBayes(), wandering) < 0.3 < 0.5 < loss_of(AODE(), wandering)


def test_the_explanation_names_the_experts_by_weight() -> None:
    model = learned()
    x, _ = drifting(1, seed=9)[0]
    opinions = model.explain_one(x).experts
    assert set(opinions) == set(model.experts_)
    weights = [opinion.weight for opinion in opinions.values()]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    assert {label for opinion in opinions.values() for label in opinion.probabilities} == {"yes", "no"}
    assert list(model.weights_) == list(opinions)
    assert AdaptiveBayes().explain_one(x).experts == {}
    assert "nothing has been learned" in str(AdaptiveBayes().explain_one(x))


def test_the_explanation_adds_up_feature_by_feature_whoever_tells_the_same() -> None:
    rng = random.Random(3)
    model = AdaptiveBayes()
    for _ in range(1_500):
        sky, coin = rng.choice(["grey", "blue"]), rng.choice(["heads", "tails"])
        rain = "rain" if (sky == "grey") == (rng.random() < 0.9) else "dry"
        model.learn_one({"sky": sky, "clouds": sky == "grey", "coin": coin}, rain)
    x = {"sky": "grey", "clouds": True, "coin": "heads"}
    why = model.explain_one(x)
    assert {label: math.exp(score) for label, score in why.total.items()} == pytest.approx(
        model.predict_proba_one(x)
    )
    for label in model.classes_:
        added = math.fsum([why.baseline[label], *(row[label] for row in why.evidence.values())])
        assert added == pytest.approx(math.log(model.predict_proba_one(x)[label]), abs=1e-9)
    nats = dict(why.contrast()[2])
    assert nats["sky"] > 0.5 and nats["clouds"] > 0.5 > 0.1 > abs(nats["coin"])  # each alone would do
    assert model.explain_one(model.hold(x)).evidence == why.evidence  # held for its label: the same
    assert "sky" in str(why) and why.experts.keys() <= set(model.experts_)


def test_there_are_fourteen_stores_and_their_memory_is_known() -> None:
    model = learned()
    assert len(model._members) == 14
    assert model.memory_bytes == sum(member.memory_bytes for member in model._members) > 0
    assert model.clock == 300
    assert sorted(model.classes_) == ["no", "yes"]


def test_it_cannot_be_merged_and_says_why() -> None:
    with pytest.raises(CannotMerge, match="order of events"):
        AdaptiveBayes().merge(AdaptiveBayes())


@pytest.mark.parametrize(
    "arguments",
    [{"label_memory": -1}, {"label_memory": 1.5}, {"label_memory": 2**40}, {"trend_half_life": 0.0}],
)
def test_arguments_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match=next(iter(arguments))):
        AdaptiveBayes(**arguments)


def test_a_state_with_other_weights_is_refused() -> None:
    state = model_state(learned(50))
    weights = state["model"]["holds"]["_mixture"]
    weights["final"][0] = 2.0
    with pytest.raises(StreamBayesError):
        restore_model(AdaptiveBayes(), state)


def test_the_engine_serves_it() -> None:
    model = served(AdaptiveBayes())
    answers = [model.predict_then_learn(x, y, 1.0) for x, y in drifting(30)]
    assert answers[0] == {}
    assert set(answers[-1]) == {"yes", "no"}


@pytest.mark.parametrize("labels", [("up", "down"), (1, 2), (True, False)])
def test_a_late_label_is_learned_with_the_inputs_that_were_predicted(labels: tuple[Any, Any]) -> None:
    model = AdaptiveBayes()
    for number in range(60):
        model.learn_one({"price": float(number % 7), "sky": "grey"}, labels[number // 3 % 2])
    x = {"price": 3.0, "sky": "blue"}
    predicted, held = model.predict_proba_one(x), model.hold(x)
    views = model._views(x)
    for number in range(5):  # other labels come in between
        model.learn_one({"price": 50.0 + number, "sky": "grey"}, labels[1])
    assert model._views(held) == views != model._views(x)
    assert model.features_of(held) == x
    assert model.hold(held) is held
    model.learn_one(held, labels[0])
    assert set(predicted) == set(labels)
    assert "(last label 1)" not in model.store.encoder.features


def test_a_stream_with_late_labels_holds_them_through_a_snapshot() -> None:
    samples = [Event({"price": float(n % 5)}, key=f"sample {n}", time=float(n)) for n in range(40)]
    came = [
        Event({}, "ab"[n // 4 % 2], key=f"sample {n}", time=float(n) + 3.5, kind=Kind.LABEL)
        for n in range(40)
    ]
    records = sorted([*samples, *came], key=lambda event: event.time or 0.0)
    model = served(AdaptiveBayes(label_memory=1))
    seen: list[Any] = []
    learn = model.learn

    def recorded(x: Any, y: Any, w: float) -> None:
        seen.append((x.get("(last label 1)"), y))
        learn(x, y, w)

    model.learn = recorded  # type: ignore[method-assign]  # to see what is learned
    step = Step(model, pending=Pending())
    step.process(records[:41])
    kept, later = Pending(), served(AdaptiveBayes(label_memory=1))
    kept.load(step.pending.state())  # type: ignore[union-attr]  # it was given one
    later.load(model.freeze()())
    for each in (step, other := Step(later, pending=kept)):
        each.process(records[41:])
    assert step.learned == 40
    assert other.learned + 20 >= 40
    assert held(model.model) == held(later.model)
    labels = [y for _, y in seen]
    # When sample n came, the labels of the samples up to n - 4 had come.
    assert [last for last, _ in seen[4:]] == labels[:-4]


def test_a_slanting_border_is_found_by_the_linear_expert() -> None:
    rng, model = np.random.default_rng(5), AdaptiveBayes(label_memory=0)
    stream = list[Sample]()
    for _ in range(1200):
        numbers = rng.normal(size=8)
        stream.append(({f"n{k}": float(v) for k, v in enumerate(numbers)}, "ab"[int(numbers.sum() > 0)]))
    assert loss_of(model, stream) < 0.2 < 0.24 < loss_of(NaiveBayes(), stream)
    assert next(iter(model.weights_)) == "logistic, half-life 2000"


def test_clusters_that_move_are_found_by_the_neighbours_and_a_product_by_the_waves() -> None:
    rng, model, without = np.random.default_rng(6), AdaptiveBayes(label_memory=0), AODE()
    stream = list[Sample]()
    centers, speed = rng.normal(scale=2.0, size=(12, 4)), rng.normal(scale=0.003, size=(12, 4))
    for number in range(1500):
        cluster = int(rng.integers(12))
        at = centers[cluster] + number * speed[cluster] + rng.normal(scale=0.4, size=4)
        stream.append(({f"n{k}": float(v) for k, v in enumerate(at)}, "abc"[cluster % 3]))
    assert loss_of(model, stream) < 0.6 * loss_of(without, stream)
    assert "neighbours" in list(model.weights_)[:4]
    model = AdaptiveBayes(label_memory=0)
    for _ in range(1200):
        x = {name: float(rng.normal()) for name in "ab"}
        model.learn_one(x, "yes" if x["a"] * x["b"] + 0.3 * x["a"] > 0.0 else "no")
    assert "Fourier logistic, half-life 500" in list(model.weights_)[:7]


def stationary(kind: str, count: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield events of a stream that does not change, in which another expert is the best for each kind."""
    source = random.Random(8)
    for _ in range(count):
        if kind == "numbers":
            x: dict[str, Any] = {name: source.gauss(0.0, 1.0) for name in "abcd"}
            yes = x["a"] + x["b"] - x["c"] + source.gauss(0.0, 0.7) > 0.0
        elif kind == "pairs":
            x = {name: source.choice("xyz") for name in "abcd"}
            yes = (x["a"] == x["b"]) != (source.random() < 0.15)
        else:
            yes = source.random() < 0.5
            x = {name: source.choice("xxy" if yes else "xyy") for name in "abcdef"}
        yield x, "yes" if yes else "no"


@pytest.mark.parametrize("kind", ["numbers", "pairs", "independent"])
def test_without_drift_it_is_within_a_point_and_two_hundredths_of_a_nat_of_its_best_expert(
    kind: str,
) -> None:
    model = AdaptiveBayes(label_memory=0)
    lost, right, events = np.zeros(len(model.experts_) + 1), np.zeros(len(model.experts_) + 1), 0
    for number, (x, y) in enumerate(stationary(kind, 3000)):
        answer = model.predict_learn_one(x, y)
        if number < 20:
            continue
        code = model.classes_.index(y)
        given = np.asarray(model._panel.opinions)[:, :2]
        lost[:-1] -= np.log(np.maximum(given[:, code], 1e-6))
        right[:-1] += given[:, code] > 0.5
        lost[-1] -= np.log(answer[y])
        right[-1] += answer[y] > 0.5
        events += 1
    awake = [place for place, name in enumerate(model.experts_) if name not in model.asleep_]
    assert lost[-1] / events <= lost[awake].min() / events + 0.02
    assert right[-1] / events >= right[awake].max() / events - 0.01


def test_stores_that_are_shown_the_same_share_one_reading_of_an_event() -> None:
    shared, apart = AdaptiveBayes(), AdaptiveBayes()
    assert shared._experts().encoding.shared == 7
    apart._panel.encoding.by_name, apart._panel.encoding.leader_of = True, list(range(len(apart._stores)))
    for number, (x, y) in enumerate(drifting(180)):
        # Names come, more than the stores that have the fewest keep apart, and are missing.
        x["sky"] = [x["sky"], None, f"cloud {number}", f"cloud {-number}"][number % 4]
        x["b"] = x["b"] if number % 5 else None
        assert shared.predict_learn_one(x, y) == apart.predict_learn_one(x, y)
        seen = {"a": 0.0, "sky": "never seen"} if number % 2 else {"sky": "cloud 2", "new": 1}
        assert shared.predict_proba_one(seen) == apart.predict_proba_one(seen)
    assert held(shared) == held(apart)


def test_experts_that_do_not_help_sleep_and_wake_at_a_drift() -> None:
    rng, model = np.random.default_rng(4), AdaptiveBayes(label_memory=0)

    def sample(is_later: bool) -> Sample:
        x = {name: float(rng.normal()) for name in "abc"}
        return x, "yes" if x["c" if is_later else "a"] > 0.3 * rng.normal() else "no"

    for _ in range(2600):
        model.learn_one(*sample(False))
    asleep = model.asleep_
    assert asleep
    assert not set(asleep) & set(model.explain_one(sample(False)[0]).experts)
    assert all(model.weights_[name] == 0.0 for name in asleep)
    assert {member.clock for member in model.members} == {2600}  # who sleeps, learns
    other = restore_model(AdaptiveBayes(label_memory=0), model_state(model))
    for _ in range(60):
        x, y = sample(True)
        assert other.predict_learn_one(x, y) == model.predict_learn_one(x, y)
    assert other.asleep_ == model.asleep_ == ()


def test_its_logistic_regression_shares_the_covariance_of_many_classes_after_a_restart_too() -> None:
    rng, model = random.Random(1), AdaptiveBayes()
    for number in range(60):
        model.learn_one({f"n{k}": rng.gauss(0.0, 1.0) for k in range(9)}, f"c{number % 10}")
    for each in (restore_model(AdaptiveBayes(), model_state(model)), model):
        plain = next(member for member in each.members if isinstance(member, BayesianLogistic))
        assert plain.is_joint_
        each.learn_one({f"n{k}": rng.gauss(0.0, 1.0) for k in range(12)}, "c1")
        assert not plain.is_joint_ and plain.reading.columns * plain.reading.contrasts < 192
