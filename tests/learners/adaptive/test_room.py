"""Room of the stores: never more than the memory budget, whatever comes; learning never ends for lack of it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import AdaptiveBayes, Date, Nominal, Numeric, Schema, load, save
from stream_bayes.core.counts.store import CountStore
from stream_bayes.errors import BadValue, UnknownFeature
from stream_bayes.learners.adaptive.expert_inputs import trend_name
from stream_bayes.learners.adaptive.experts import DEPARTURES, FEATURES, MOST_PAIRED
from stream_bayes.learners.adaptive.information import _of_numbers, information_about_labels
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes
from stream_bayes.saving.river.model_state import model_state, restore_model
from tests.cli.test_snapshots import run

BYTES = 2**20
Sample = tuple[dict[Any, Any], Any]


def numbers(events: int, classes: int, features: int, telling: int = 100) -> list[Sample]:
    """Numbers, of which the last `telling` have a mean for each class; classes that come one after the other."""
    source = random.Random(5)
    means = [[source.gauss(0.0, 5.0) for _ in range(features)] for _ in range(classes)]
    made: list[Sample] = []
    for n in range(events):
        y = source.randrange(min(classes, 2 + n // 3))
        first = features - telling
        x = {f"n{k}": source.gauss(means[y][k] if k >= first else 0.0, 1.0) for k in range(features)}
        made.append((x, f"y{y}"))
    return made


def loaded(model: AdaptiveBayes, **arguments: Any) -> AdaptiveBayes:
    again = restore_model(AdaptiveBayes(memory_budget=model.memory_budget, **arguments), model_state(model))
    assert isinstance(again, AdaptiveBayes)
    return again


@pytest.mark.parametrize("declared", [False, True])
def test_many_classes_keep_to_the_budget_and_what_is_left_out_is_named(declared: bool) -> None:
    schema = Schema({f"n{k}": Numeric() for k in range(12)}) if declared else None
    model = AdaptiveBayes(schema=schema, memory_budget=BYTES)
    stream = numbers(120, 60, 12)
    for x, y in stream[:110]:
        model.learn_one(x, y)
        assert model.memory_bytes <= BYTES
    assert len(model.classes_) > 30
    assert set(model.left_out_) <= {f"n{k}" for k in range(12)}
    assert model.left_out_
    again = loaded(model, schema=schema)
    for x, y in stream[110:]:
        assert again.predict_learn_one(x, y) == model.predict_learn_one(x, y)


def test_a_saved_model_keeps_its_whole_schema_though_its_first_store_gave_features_up(tmp_path: Path) -> None:
    schema = Schema({"word": Nominal(), "day": Date(), "size": Numeric()}, blanks=["word"])
    model = AdaptiveBayes(schema=schema, memory_budget=BYTES)
    source = random.Random(3)
    rows = [
        (
            {"word": f"w{source.randrange(40)}", "day": f"2024-0{1 + n % 9}-1{n % 7}", "size": float(n)},
            f"y{n % 300}",
        )
        for n in range(420)
    ]
    for x, y in rows[:400]:
        model.learn_one(schema.read(x), y)
    assert model._names[0] is not None  # only then does the first store's schema lack columns
    save(model, tmp_path / "model.zip")
    read = load(tmp_path / "model.zip")
    assert read.schema == schema
    for x, y in rows[400:]:
        assert read.predict_learn_one(schema.read(x), y) == model.predict_learn_one(schema.read(x), y)


def test_labels_without_end_are_counted_when_no_feature_has_room() -> None:
    model = AdaptiveBayes(memory_budget=BYTES)
    for number in range(300):
        model.learn_one({"n": float(number % 7)}, number)
    assert len(model.classes_) == 300
    assert {len(member.store.encoder.labels) for member in model.members} == {300}
    assert sum(model.predict_proba_one({"n": 1.0}).values()) == pytest.approx(1.0)


def test_an_identifier_costs_what_a_category_costs() -> None:
    source, model = random.Random(1), AdaptiveBayes()
    for n in range(600):
        model.learn_one({"id": f"i{n}", "sky": source.choice(["grey", "blue"])}, n % 3)
    for member, store in zip(model.members, model._stores, strict=True):
        values = len(member.store.encoder.features["id"].vocabulary)
        assert values == min(600, store.arguments["max_values"] + 1)
    assert model.left_out_ == ()


def test_pairs_are_of_the_features_that_tell_most_and_the_others_are_named() -> None:
    model = AdaptiveBayes(label_memory=0)
    stream = numbers(300, 2, MOST_PAIRED + 20, telling=5)
    for x, y in stream[:100]:
        model.learn_one(x, y)
    telling = {f"n{MOST_PAIRED + k}" for k in range(15, 20)}
    for member, store in zip(model.members, model._stores, strict=True):
        used = set(member.store.encoder.features)
        shown = {trend_name(name) for name in telling} if store.inputs == DEPARTURES else telling
        assert shown <= used
        assert member.clock == 100
        assert len(used) <= (MOST_PAIRED + 20 if store.inputs == FEATURES else MOST_PAIRED)
    assert len(model.left_out_) >= 20
    again = loaded(model, label_memory=0)
    for x, y in stream[100:110]:
        assert again.predict_learn_one(x, y) == model.predict_learn_one(x, y)


def test_stores_that_begin_anew_share_one_reading_again_and_go_on_from_the_newest_events() -> None:
    model = AdaptiveBayes(label_memory=0)
    for x, y in numbers(80, 2, MOST_PAIRED + 20, telling=5):
        model.learn_one(x, y)
    assert model._experts().encoding.shared >= 5
    weights = [float(np.asarray(member.store.tables.class_samples).sum()) for member in model.members]
    assert weights == [80.0] * len(weights)


def test_stores_keep_their_events_where_other_features_are_as_good_by_chance_alone() -> None:
    model = AdaptiveBayes(label_memory=0)
    for x, y in numbers(1_030, 2, MOST_PAIRED + 30, telling=4):
        model.learn_one(x, y)
    weights = [float(np.asarray(member.store.tables.class_samples).sum()) for member in model.members]
    assert weights == [1_030.0] * len(weights)


def test_information_orders_features_as_a_slow_count_of_it_does() -> None:
    source, model = random.Random(2), NaiveBayes()
    counts: dict[str, Counter[Any]] = {"near": Counter(), "far": Counter(), "none": Counter()}
    for _ in range(400):
        y = source.choice("abc")
        x = {
            "near": y if source.random() < 0.9 else source.choice("abc"),
            "far": y if source.random() < 0.3 else source.choice("abc"),
            "none": source.choice("pqrstuv"),
            "number": source.gauss(3.0 * "abc".index(y), 1.0),
            "noise": source.gauss(0.0, 1.0),
        }
        model.learn_one(x, y)
        for name, table in counts.items():
            table[x[name], y] += 1
    assert isinstance(model.store, CountStore)
    order = list(information_about_labels(model.store))
    assert order.index("near") < order.index("far") < min(order.index("none"), order.index("noise"))
    assert order.index("number") < order.index("far")


def test_undeclared_features_are_refused_where_the_declared_ones_have_no_room() -> None:
    schema = Schema({f"c{k}": Nominal([str(v) for v in range(400)]) for k in range(30)}, unknown="refuse")
    model = AdaptiveBayes(schema=schema, memory_budget=BYTES)
    x: dict[Any, Any] = {f"c{k}": str(k) for k in range(30)}
    for number in range(40):
        model.learn_one(x, number)
        assert model.memory_bytes <= BYTES
    assert model.left_out_
    with pytest.raises(UnknownFeature):
        model.learn_one({**x, "another": "x"}, 1)
    with pytest.raises(UnknownFeature):
        model.predict_proba_one({**x, "another": "x"})


def test_a_refused_sample_with_a_new_label_begins_no_store_anew() -> None:
    model = AdaptiveBayes(memory_budget=BYTES)
    stream = numbers(30, 24, 30)
    for x, y in stream:
        model.learn_one(x, y)
    members, x = list(model.members), stream[0][0]
    seen = next(iter(model.store.encoder.features))
    with pytest.raises(BadValue):
        model.learn_one({**x, seen: float("inf")}, "another class")
    model.learn_one(x, "another class", w=0.0)
    assert list(model.members) == members
    assert "another class" not in model.classes_


def test_a_budget_too_small_for_any_table_is_refused() -> None:
    with pytest.raises(BadValue, match=r"at least 2\*\*20"):
        AdaptiveBayes(memory_budget=1000)


def test_bags_of_words_are_taken_after_a_restart_too() -> None:
    model = AdaptiveBayes()
    for number in range(20):
        model.learn_one(Counter(["buy", "now"] if number % 2 else ["see", "you"]), number % 2)
    again = loaded(model)
    bag = Counter(["buy", "now", "now"])
    assert again.predict_learn_one(bag, 1) == model.predict_learn_one(bag, 1)


def test_train_learns_a_small_table_of_many_classes_and_says_what_is_left_out(tmp_path: Path) -> None:
    rows = numbers(201, 22, 40)
    lines = [",".join([*rows[0][0], "y"])]
    lines += [",".join([*(f"{number:.3f}" for number in x.values()), y]) for x, y in rows]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    result = run("train", tmp_path / "table.csv", "--target", "y", "--out", tmp_path / "model.zip")
    assert result.exit_code == 0, result.stderr
    assert "AdaptiveBayes learned 201 rows" in result.stdout
    assert "left out by some experts, for lack of room (" in result.stdout
    assert run("predict", tmp_path / "model.zip", tmp_path / "table.csv").exit_code == 0


def test_classes_that_are_points_far_apart_overflow_nothing() -> None:
    """Each number comes with one class alone: variance over that within the classes has no bound."""
    weight, mean = np.eye(3)[:, :2], np.array([[1e90, -1e90], [1e90, -1e90], [0.0, 5.0]])
    told = _of_numbers(np.ones((3, 2)) + weight, mean, np.zeros((3, 2)))
    assert np.isfinite(told).all()
