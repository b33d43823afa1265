"""Sets of labels: their long-run coverage holds for any model and any sequence of known labels, and is saved."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, datasets, preprocessing

from stream_bayes import LDA, AdaptiveBayes, NaiveBayes, PredictionSets, load, save
from stream_bayes.errors import BadValue, OtherConfiguration

EVENTS = 3_000
LABELS = "pqr"


class Sure(base.Classifier):
    """A model that is certain of the first label, whatever comes."""

    def learn_one(self, x: Any, y: Any) -> None: ...

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        return dict(zip(LABELS, (1.0, 0.0, 0.0), strict=True))


def drifting(source: random.Random, number: int) -> tuple[dict[str, str], str]:
    kind = source.randrange(3)
    value = "xyz"[kind if source.random() < 0.7 else source.randrange(3)]
    return {"a": value}, LABELS[(kind + number // 700) % 3]


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize(
    ("name", "coverage"), [("drift", 0.9), ("drift", 0.5), ("sure", 0.9), ("adversary", 0.9)]
)
def test_the_share_holds_for_any_model_and_any_labels(name: str, coverage: float, by_class: bool) -> None:
    source = random.Random(3)
    model = PredictionSets(Sure() if name == "sure" else NaiveBayes(half_life=200), coverage, by_class)
    inside: dict[str, list[bool]] = {label: [] for label in LABELS}
    for number in range(EVENTS):
        x, y = drifting(source, number)
        labels = model.predict_set_one(x)
        if name == "adversary" and number > 20:  # what the set misses, if it misses any
            y = next((label for label in LABELS if label not in labels), y)
        if y in model.predict_proba_one(x):
            inside[y].append(y in labels)
        model.learn_one(x, y)
    every = [held for each in inside.values() for held in each]
    assert model.coverage_ == pytest.approx(sum(every) / len(every), abs=1e-9)
    assert model.unknown_ == EVENTS - len(every)
    if not by_class:
        assert sum(every) / len(every) == pytest.approx(coverage, abs=0.01)
        return
    for label, share in model.coverage_by_class_.items():
        assert share == pytest.approx(sum(inside[label]) / len(inside[label]), abs=1e-9)
        assert abs(share - coverage) <= 21.0 / len(inside[label])


def test_a_rare_label_is_missed_unless_each_has_its_share() -> None:
    found = []
    for by_class in (False, True):
        source, held = random.Random(5), []
        model = PredictionSets(NaiveBayes(), 0.9, by_class)
        for _ in range(4_000):
            y = "rare" if source.random() < 0.08 else "usual"
            x = {"a": "xy"[(y == "rare") == (source.random() < 0.7)]}
            if y == "rare":
                held.append(y in model.predict_set_one(x))
            model.learn_one(x, y)
        found.append(sum(held) / len(held))
    assert found[0] < 0.5 and found[1] > 0.83


@pytest.mark.parametrize("name", ["bayes", "adaptive", "pipeline"])
def test_a_saved_one_goes_on_as_before(name: str, tmp_path: Path) -> None:
    make: Any = {
        "bayes": LDA,
        "adaptive": AdaptiveBayes,
        "pipeline": lambda: preprocessing.StandardScaler() | NaiveBayes(),
    }[name]
    events = list(datasets.Phishing())[:400]
    model = PredictionSets(make(), 0.8, by_class=name == "bayes")
    for x, y in events[:200]:
        model.learn_one(x, y)
    save(model, tmp_path / "sets.zip")
    again = load(tmp_path / "sets.zip", PredictionSets(make(), 0.8, by_class=name == "bayes"))
    for x, y in events[200:]:
        assert again.predict_set_one(x) == model.predict_set_one(x)
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert again.coverage_ == model.coverage_
    with pytest.raises(OtherConfiguration):
        load(tmp_path / "sets.zip", PredictionSets(make(), 0.7, by_class=name == "bayes"))


def test_what_cannot_be_is_refused() -> None:
    for coverage in (0.0, 1.0, -1, True, float("nan"), "wide"):
        with pytest.raises(BadValue, match="coverage lies between 0 and 1"):
            PredictionSets(NaiveBayes(), coverage)  # type: ignore[arg-type]  # the point
    with pytest.raises(BadValue, match="by_class"):
        PredictionSets(NaiveBayes(), by_class=1)  # type: ignore[arg-type]  # the point
    model = PredictionSets(NaiveBayes())
    assert model.predict_set_one({"a": "x"}) == [] and model.coverage_ != model.coverage_
    with pytest.raises(BadValue):
        model.learn_one({"a": [1]}, "p")
    assert model.unknown_ == 0
    for levels in ([], [0.9, 0.9], [0.9, 1.5]):
        with pytest.raises(BadValue, match="coverage"):
            PredictionSets(NaiveBayes(), levels)


def test_an_event_without_a_label_is_in_no_share() -> None:
    source = random.Random(11)
    model = PredictionSets(NaiveBayes(unlabelled="em"))
    for number in range(200):
        x, y = drifting(source, number)
        model.learn_one(x, None if number % 5 and number > 20 else y)
    assert model.unknown_ == 3  # the first of each label


def test_an_event_without_weight_is_in_no_share() -> None:
    source, model, other = random.Random(12), PredictionSets(NaiveBayes()), PredictionSets(NaiveBayes())
    for number in range(200):
        x, y = drifting(source, number)
        model.learn_one(x, y)
        other.learn_one(x, y, w=1.0)
        other.learn_one(x, LABELS[number % 3], w=0.0)
    assert other.coverage_ == model.coverage_ and other.unknown_ == model.unknown_


@pytest.mark.parametrize("by_class", [False, True])
def test_the_share_is_that_of_the_sets_that_were_given_where_labels_come_late(
    by_class: bool, tmp_path: Path
) -> None:
    source, waiting, inside = random.Random(13), deque[Any](), []
    outstanding, balances = 200, len(LABELS) if by_class else 1
    levels = [0.9, 0.5]
    model = PredictionSets(NaiveBayes(half_life=30), levels, by_class)
    for number in range(EVENTS):
        x, y = drifting(source, number)
        waiting.append((x, y, model.predict_set_one(x)))
        if number < outstanding:
            continue
        x, y, given = waiting.popleft()
        if y in model.predict_proba_one(x):
            inside.append([y in given[level] for level in levels])
        model.learn_one(x, y, given=given)
    for share, level in zip(np.mean(inside, axis=0), levels, strict=True):
        assert model.coverage_[level] == pytest.approx(share, abs=1e-9)
        assert abs(share - level) <= balances * (21 + outstanding) / len(inside)
    path = tmp_path / "sets.zip"
    save(model, path)
    again = load(path, PredictionSets(NaiveBayes(half_life=30), levels, by_class))
    assert again.coverage_ == model.coverage_


@pytest.mark.parametrize("coverage", [0.9, [0.8, 0.9]])
def test_what_was_not_given_is_refused_before_it_is_learned(coverage: Any) -> None:
    model = PredictionSets(NaiveBayes(), coverage)
    for given in (
        "p",
        {0.7: ["p"]},
        {0.8: "p", 0.9: []},
        ["p"] if isinstance(coverage, list) else {"p": 1.0},
    ):
        with pytest.raises(BadValue, match="given is what predict_set_one returned"):
            model.learn_one({"a": "x"}, "p", given=given)
    assert model.predict_proba_one({}) == {}


def test_several_levels_are_each_what_one_alone_is(tmp_path: Path) -> None:
    source = random.Random(7)
    both = PredictionSets(NaiveBayes(), [0.6, 0.95], by_class=True)
    alone = {level: PredictionSets(NaiveBayes(), level, by_class=True) for level in (0.6, 0.95)}
    for number in range(300):
        x, y = drifting(source, number)
        for model in (both, *alone.values()):
            model.learn_one(x, y)
        assert both.predict_set_one(x) == {level: each.predict_set_one(x) for level, each in alone.items()}
    assert both.coverage_ == {level: each.coverage_ for level, each in alone.items()}
    assert both.coverage_by_class_ == {level: each.coverage_by_class_ for level, each in alone.items()}
    save(both, tmp_path / "sets.zip")
    again = load(tmp_path / "sets.zip", PredictionSets(NaiveBayes(), [0.6, 0.95], by_class=True))
    assert again.predict_set_one(x) == both.predict_set_one(x)
