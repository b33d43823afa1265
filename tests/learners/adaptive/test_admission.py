"""Events for which a store has no room: it takes the first features that fit, and always the label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import AdaptiveBayes
from stream_bayes.core.counts.store import CountStore
from stream_bayes.errors import BadValue
from stream_bayes.learners.adaptive.admission import Admission
from stream_bayes.learners.adaptive.experts import STORE_BYTES
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.saving.river.model_state import model_state, restore_model


def wide(events: int, features: int, classes: int, seed: int = 0) -> list[tuple[dict[str, Any], str]]:
    """Numbers, of which each class has a mean of its own; all classes come at last."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(classes, features))
    made = []
    for event in range(events):
        y = int(rng.integers(0, min(classes, 2 + event // 4)))
        x = {f"n{k}": float(v) for k, v in enumerate(means[y] + rng.normal(size=features))}
        made.append((x, f"class {y}"))
    return made


def store_of(budget: int) -> CountStore:
    store = LiveChoice(readings=("nb", "aode"), memory_budget=budget)._store
    assert isinstance(store, CountStore)
    return store


def test_the_first_features_that_fit_are_taken_and_small_ones_after_them() -> None:
    store = store_of(600_000)
    admission = Admission(store, ())
    x: dict[str, Any] = {f"n{k}": float(k) for k in range(60)} | {"flag": "yes"}
    store.add(admission.encode(x, "a", 1.0))
    taken = list(store.encoder.features)
    numbers = [name for name in taken if name != "flag"]
    assert 0 < len(numbers) < 60
    assert numbers == [f"n{k}" for k in range(len(numbers))]
    assert "flag" in taken
    assert store.memory_bytes <= 600_000
    assert admission.refused == set(x) - set(taken)


def test_what_was_refused_is_not_tried_again_and_a_restored_store_takes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = store_of(600_000)
    admission = Admission(store, ())
    tries = [0]
    encode = store.encode

    def counted(*sample: Any) -> Any:
        tries[0] += 1
        return encode(*sample)

    monkeypatch.setattr(store, "encode", counted)
    samples = wide(100, 60, 2)
    for x, y in samples[:30]:
        store.add(admission.encode(x, y, 1.0))
    tries[0] = 0
    for x, y in samples[30:40]:
        store.add(admission.encode(x, y, 1.0))
    assert tries[0] == 10
    again = Admission(store, ())  # has forgotten what was refused
    before = list(store.encoder.features)
    again.encode(*samples[40], 1.0)
    assert list(store.encoder.features) == before
    assert again.refused == admission.refused


def test_labels_and_last_labels_are_taken_whatever_the_budget() -> None:
    store = store_of(600_000)
    admission = Admission(store, ("last",))
    for number in range(6):
        x: dict[str, Any] = {f"n{k}": float(k) for k in range(60)} | {"last": f"class {number}"}
        row = admission.encode(x, f"class {number}", 1.0)
        store.add(row)
    assert store.encoder.labels.values == [f"class {number}" for number in range(6)]
    assert store.encoder.features["last"].vocabulary.values == [f"class {number}" for number in range(6)]


@pytest.mark.parametrize("memory", [0, 2])
def test_memory_stays_bounded_when_classes_come_later(memory: int) -> None:
    model = AdaptiveBayes(label_memory=memory)
    right = 0
    samples = wide(400, 50, 24)
    for number, (x, y) in enumerate(samples):
        answer = model.predict_learn_one(x, y)
        right += number >= 200 and max(answer, key=answer.__getitem__) == y
    for member in model.members:
        assert member._store.memory_budget is None or member.memory_bytes <= STORE_BYTES
        assert member._store.encoder.labels.values == list(model.classes_)
        assert member.clock == 400
    assert len(model.classes_) == 24
    assert model.left_out_
    assert right > 190
    again = restore_model(AdaptiveBayes(label_memory=memory), model_state(model))
    for x, y in wide(40, 50, 24, seed=3):
        assert again.predict_learn_one(x, y) == model.predict_learn_one(x, y)


def test_a_refused_sample_with_a_new_label_begins_no_store_anew() -> None:
    model = AdaptiveBayes()
    samples = wide(30, 50, 24)
    for x, y in samples:
        model.learn_one(x, y)
    members = list(model.members)
    with pytest.raises(BadValue):
        model.learn_one({**samples[0][0], "n1": float("inf")}, "another class")
    model.learn_one(samples[0][0], "another class", w=0.0)
    assert list(model.members) == members
    assert "another class" not in model.classes_
