"""Events without a label count beside the exact counts of labelled ones, as far as these show that it helps."""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    A2DE,
    AODE,
    KDB,
    ODE,
    SPODE,
    TAN,
    BayesNetClassifier,
    DriftAdaptive,
    HalfLifeChoice,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    SlidingWindow,
    load,
)
from stream_bayes.errors import BadConfig, BadLabel, BadState, BadValue, BadWeight, CannotMerge, NotLearned
from stream_bayes.learners.base.unlabelled import _losses
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.cli.test_snapshots import run

FEATURES = "abcdefgh"
LABELS = ("one", "other")
PAIRS: dict[str, Any] = {
    "AODE": AODE,
    "AODE, weighted": lambda **own: AODE(weights="mutual-information", **own),
    "A2DE": A2DE,
    "SPODE": lambda **own: SPODE("a0", **own),
    "SPODE, chosen": SPODE,
    "ODE": lambda **own: ODE({"a0": "b0", "c0": "size"}, **own),
    "TAN": TAN,
    "KDB": KDB,
}
EACH: dict[str, Any] = {
    **PAIRS,
    "naive Bayes": lambda **own: NaiveBayes(numbers="bins", **own),
    "words": lambda **own: MultinomialNB(**own),
    "network": lambda **own: BayesNetClassifier(None, **own),
}


@cache
def drawn(rows: int, seed: int, copies: int = 1, sharp: float = 0.65) -> list[tuple[dict[str, Any], str]]:
    """Return events of two classes; `copies` of each feature make naive Bayes wrong about them."""
    rng = np.random.default_rng(seed)
    events = []
    for kind in rng.integers(2, size=rows).tolist():
        x = {name: "xy"[int(rng.random() < (sharp if kind else 1.0 - sharp))] for name in FEATURES}
        events.append(
            (
                {f"{name}{number}": value for name, value in x.items() for number in range(copies)},
                LABELS[kind],
            )
        )
    return events


def as_words(x: dict[str, Any]) -> dict[str, int]:
    return {f"{name}={value}": 1 for name, value in x.items()}


def taught(model: Any, rows: int, every: int, is_bag: bool = False, **world: Any) -> Any:
    for number, (x, y) in enumerate(drawn(rows, 1, **world)):
        model.learn_one(as_words(x) if is_bag else x, None if number % every else y)
    return model


def loss(model: Any, is_bag: bool = False, **world: Any) -> float:
    shares = [model.predict_proba_one(as_words(x) if is_bag else x)[y] for x, y in drawn(500, 2, **world)]
    return float(-np.log(shares).mean())


@cache
def of_few_labels(name: str) -> Any:
    """Return a learner of 1,500 events, of which each thirtieth has a label; no test changes it."""
    return taught(EACH[name](unlabelled="em"), 1500, 30, name == "words")


def labelled_alone(name: str) -> Any:
    """Return a learner of the labels that `of_few_labels` has, without the events between them."""
    model = EACH[name]()
    for x, y in drawn(1500, 1)[::30]:
        model.learn_one(as_words(x) if name == "words" else x, y)
    return model


@pytest.mark.parametrize("name", EACH)
def test_a_few_labels_go_further_and_their_counts_stay_exact(name: str) -> None:
    is_bag = name == "words"
    model, plain = copy.deepcopy(of_few_labels(name)), labelled_alone(name)
    assert model.unlabelled_share_ > 0.0 and model.clock == 1500 and 0.3 < model.unlabelled_weight_ < 1.0
    assert loss(model, is_bag) < loss(plain, is_bag) - 0.01
    assert model.store.by_name() == plain.store.by_name()
    x, y = drawn(1500, 1)[0]
    model.unlearn_one(as_words(x) if is_bag else x, y)
    plain.unlearn_one(as_words(x) if is_bag else x, y)
    assert model.store.by_name() == plain.store.by_name()


def test_where_the_model_is_wrong_the_labels_alone_count() -> None:
    world: dict[str, Any] = {"copies": 12, "sharp": 0.55}
    model, plain = taught(NaiveBayes(unlabelled="em"), 1500, 20, **world), NaiveBayes()
    for x, y in drawn(1500, 1, **world)[::20]:
        plain.learn_one(x, y)
    assert loss(model, **world) <= loss(plain, **world) + 0.01


def test_some_thirty_labels_are_enough_for_a_gain() -> None:
    world: dict[str, Any] = {"sharp": 0.6}
    model, plain = taught(NaiveBayes(unlabelled="em"), 1000, 30, **world), NaiveBayes()
    for x, y in drawn(1000, 1, **world)[::30]:
        plain.learn_one(x, y)
    assert loss(model, **world) < loss(plain, **world) - 0.02


def test_more_rounds_follow_where_they_predict_the_labels_better(monkeypatch: pytest.MonkeyPatch) -> None:
    def chained() -> tuple[Any, float]:
        """Return a model of words that come with those near them, and what it loses of the labels, each left out."""
        model, rng = MultinomialNB(unlabelled="em"), np.random.default_rng(2)
        for number in range(1000):
            near = int(rng.integers(800))
            x = {f"w{min(max(near + step, 0), 799)}": 1 for step in rng.integers(-8, 9, size=4).tolist()}
            model.learn_one(x, None if number % 30 else LABELS[near < 400])
        assert model._unlabelled is not None and model._unlabelled.estimate is not None
        return model, float(_losses(model._unlabelled.estimate, model._unlabelled).mean())

    further, loss_of_further = chained()
    monkeypatch.setattr("stream_bayes.learners.base.unlabelled.MORE_ROUNDS", 0)
    three, loss_of_three = chained()
    assert further.unlabelled_share_ == three.unlabelled_share_ > 0.0
    assert loss_of_further < 0.7 * loss_of_three


def test_all_labels_together_lose_at_most_log_2() -> None:
    rng, most = np.random.default_rng(5), 0.0
    for copies, sharp in ((1, 0.65), (3, 0.6), (12, 0.55)):
        model, plain, lost = NaiveBayes(unlabelled="em"), NaiveBayes(), 0.0
        for number, (x, y) in enumerate(drawn(1200, copies, copies=copies, sharp=sharp)):
            if number > 600:  # the world turns around
                y = LABELS[int(rng.integers(2))]
            if number % 10:
                model.learn_one(x, None) if number > 5 else None
                continue
            if number:
                lost += np.log(plain.predict_proba_one(x).get(y, 1e-12))
                lost -= np.log(model.predict_learn_one(x, y).get(y, 1e-12))
            else:
                model.learn_one(x, y)
            plain.learn_one(x, y)
            most = max(most, model.unlabelled_weight_)
        assert lost <= np.log(2.0) + 1e-9
    assert most > 0.2


@pytest.mark.parametrize("name", EACH)
def test_answers_of_every_kind_are_of_the_same_mixture(name: str) -> None:
    is_bag = name == "words"
    model, plain = of_few_labels(name), labelled_alone(name)
    estimate: Any = model._unlabelled.estimate
    xs = [as_words(x) if is_bag else x for x, _ in drawn(20, 9)]
    many, (low, high) = model.predict_proba_many(xs), model.predict_interval_many(xs)
    for number, x in enumerate(xs):
        answer, joint = model.predict_proba_one(x), model.joint_log_likelihood(x)
        explained = model.explain_one(x)
        for label, p in answer.items():
            parts = plain.predict_proba_one(x)[label], estimate.predict_proba_one(x)[label]
            weight = model.unlabelled_weight_
            assert p == pytest.approx((1 - weight) * parts[0] + weight * parts[1], rel=1e-9)
            assert many[number][label] == pytest.approx(p, rel=1e-12)
            assert low[number][label] <= p <= high[number][label]
            whole = np.logaddexp.reduce(list(joint.values()))
            assert joint[label] - whole == pytest.approx(np.log(p), abs=1e-9)
            told = explained.baseline[label] + sum(each[label] for each in explained.evidence.values())
            assert told == pytest.approx(joint[label], abs=1e-9)


SAVED: dict[str, Any] = {
    "numbers": NaiveBayes,
    "bins": lambda **own: NaiveBayes(numbers="bins", **own),
    **PAIRS,
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_one_goes_on_as_if_nothing_had_happened(name: str) -> None:
    rng = np.random.default_rng(3)
    model = SAVED[name](unlabelled="em")
    others: list[Any] = []
    for number, (x, y) in enumerate(drawn(200, 4)):
        event = {**x, "size": float(rng.normal(2.0 * (y == "one")))}
        if number % 7 == 0 and number > 140:  # at first in an event without a label
            event |= {"new": "xy"[number % 2], "newest": "z"}
        for one in (model, *others):
            one.learn_one(event, None if number % 5 else y)
        if number in (5, 120, 170):
            is_pickled = number == 120
            others.append(
                pickle.loads(pickle.dumps(model))
                if is_pickled
                else type(model).from_state(json_again(model.state()))
            )
    assert model.unlabelled_share_ > 0.0
    for other in others:
        assert other.state()["checksum"] == model.state()["checksum"]
        assert other.predict_proba_one(event) == pytest.approx(model.predict_proba_one(event), rel=1e-9)
        assert other.predict_interval_one(event).keys() == model.predict_interval_one(event).keys()
    state = model.state()
    broken = copy.deepcopy(state["reading"])
    broken["unlabelled"]["share"] = 0.3
    with pytest.raises(BadState, match="share"):
        SAVED[name](unlabelled="em").load_parts({"meta": state["store"], "arrays": state["arrays"]}, broken)


@pytest.mark.parametrize("name", ["TAN", "KDB", "SPODE, chosen", "AODE, weighted"])
def test_what_is_derived_is_that_of_the_labelled_events_alone(name: str) -> None:
    model, plain = PAIRS[name](unlabelled="em"), PAIRS[name]()
    for number, (x, y) in enumerate(drawn(500, 1)):
        event = {**x, "size": float(number * 7 % 100)}
        model.learn_one(event, None if number % 10 else y)
        if number % 10 == 0:
            plain.learn_one(event, y)
            assert derived(model) == derived(plain)
    assert model.unlabelled_share_ > 0.0
    for one in (model, plain):
        one.rederive()
    assert derived(model) == derived(plain)


def derived(model: Any) -> dict[str, Any]:
    return {
        name: getattr(model, name, None) for name in ("cuts_", "edges_", "parent_", "parents_", "weights_")
    }


def json_again(state: dict[str, Any]) -> dict[str, Any]:
    arrays = state.pop("arrays")
    return json.loads(json.dumps(state)) | {"arrays": arrays}


def test_what_is_refused_changes_nothing() -> None:
    model = taught(NaiveBayes(unlabelled="em"), 200, 4)
    before = model.state()["checksum"]
    with pytest.raises(BadWeight):
        model.learn_one({"a0": "x"}, None, -1.0)
    with pytest.raises(BadValue):
        model.learn_one({"new": "x", "a0": [1]}, None)
    with pytest.raises(NotLearned):
        model.unlearn_one({"a0": "never"}, "one")
    model.learn_one({"a0": "x"}, None, 0.0)
    assert model.state()["checksum"] == before
    with pytest.raises(CannotMerge, match="order of events"):
        model + model
    with pytest.raises(BadLabel, match="no class is known yet"):
        NaiveBayes(unlabelled="em").learn_one({"a": "x"}, None)
    with pytest.raises(BadLabel):
        NaiveBayes().learn_one({"a": "x"}, None)
    with pytest.raises(BadValue, match="half_life"):
        NaiveBayes(unlabelled="em", half_life=10.0)
    with pytest.raises(BadValue, match="unlabelled must be"):
        MultinomialNB(unlabelled="guess")
    for part in (DriftAdaptive, HalfLifeChoice, lambda learner: SlidingWindow(learner, 5)):
        with pytest.raises(BadValue, match="not as part of another"):
            part(NaiveBayes(unlabelled="em"))
    assert AODE().unlabelled == LiveChoice().unlabelled == "refuse"
    with pytest.raises(BadValue, match="at most 1"):
        KDB(k=2, unlabelled="em")


def test_pipelines_and_the_program_learn_events_without_a_label(tmp_path: Path) -> None:
    events = drawn(900, 1)
    lines = [json.dumps({**x, "kind": y} if number % 20 == 3 else x) for number, (x, y) in enumerate(events)]
    data, model = tmp_path / "data.jsonl", tmp_path / "model.zip"
    data.write_text("\n".join(lines) + "\n")
    pipeline = (
        'name = "p"\nsource = { kind = "jsonl", path = "data.jsonl", target = "kind" }\n'
        'model = { kind = "nb", arguments = { unlabelled = "em" } }\n'
    )
    (tmp_path / "p.toml").write_text(pipeline)
    engine = build(load_config(tmp_path / "p.toml"), tmp_path)
    engine.run()
    learner: Any = engine.step.model.model
    assert (learner.clock, engine.step.learned) == (897, 45)  # three came before the first class
    done = run(
        *("train", data, "--target", "kind", "--model", "nb", "--arg", "unlabelled=em", "--out", model),
        "--no-shuffle",  # as the pipeline
    )
    share = f"{learner.unlabelled_share_:g}"
    assert learner.unlabelled_share_ > 0.0
    assert f"learned 45 rows; 855 rows without a label count with the share {share}" in done.stdout, (
        done.output
    )
    assert load(model).state()["checksum"] == learner.state()["checksum"]
    (tmp_path / "p.toml").write_text(pipeline + "[labels]\nwait_for = 100\n")
    with pytest.raises(BadConfig, match="waits for the label"):
        build(load_config(tmp_path / "p.toml"), tmp_path)
