"""A candidate that learns events kept, whose names it has, asks for room only where a row may need more."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes import AODE, KDB, TAN
from stream_bayes.core.counts.store import CountStore
from stream_bayes.drift.candidates import share_names
from stream_bayes.drift.recent_events import RecentEvents, learn_events


@pytest.mark.parametrize(("make", "has_families"), [(TAN, False), (AODE, False), (lambda: KDB(k=2), True)])
def test_only_tables_of_families_are_given_room_row_by_row(
    make: Any, has_families: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = make(), make()
    recent = RecentEvents(model, 200)
    for number in range(200):
        row = model.store.encode({"a": number % 3, "b": number % 2, "c": number % 5}, number % 2)
        model.reading.learn(row)
        recent.push(row, number + 1, 0.5)
    share_names(other, model)
    calls: list[int] = []
    inner = CountStore.make_room_for

    def counting(store: CountStore, rows: int, whole: bool) -> None:
        calls.append(rows)
        inner(store, rows, whole)

    monkeypatch.setattr(CountStore, "make_room_for", counting)
    learn_events(other, recent.since(0))
    assert bool(calls) == has_families
    query = {"a": 1, "b": 0, "c": 4}
    assert other.predict_proba_one(query) == pytest.approx(make_of(make, 200).predict_proba_one(query))


def make_of(make: Any, events: int) -> Any:
    """The same events, learned one by one."""
    model = make()
    for number in range(events):
        model.learn_one({"a": number % 3, "b": number % 2, "c": number % 5}, number % 2)
    return model
