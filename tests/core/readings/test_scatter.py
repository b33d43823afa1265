"""Predictions that fail half-way leave nothing behind in a reading."""

from typing import Any

import pytest

from stream_bayes import KDB

EVENTS = [({"a": str(a), "b": str(b), "c": str(a ^ b)}, str(a & b)) for a in range(2) for b in range(2)] * 30


def model_with_families() -> Any:
    model = KDB(k=2)
    for x, y in EVENTS:
        model.learn_one(x, y)
    assert any(len(parents) == 2 for _, parents in model.store.tables.families.families)
    return model


def test_a_prediction_after_one_that_failed_reads_none_of_its_entries() -> None:
    model, untouched = model_with_families(), model_with_families()
    families = model.store.tables.families
    hashed = families.hashed
    for f in range(len(hashed)):
        families.base[f] = -1
    families.hashed = [object()] * len(hashed)
    with pytest.raises((TypeError, AttributeError)):
        model.predict_proba_one({"a": "1", "b": "1", "c": "0"})
    families.base, families.hashed = untouched.store.tables.families.base, hashed
    incomplete = {
        "c": "1"
    }  # its parents are missing: entries left of the event before would stand in for them
    assert model.predict_proba_one(incomplete) == untouched.predict_proba_one(incomplete)
