"""Counts of a filter go out, come in and are added to those of another: exactly, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes.errors import BadValue, CannotMerge
from stream_bayes.mail import SpamFilter
from tests.mail.filter.filters import counts, trained
from tests.mail.messages import stream


def test_exported_counts_come_in_again() -> None:
    model = trained(100)
    fresh = SpamFilter(classes=("ham", "spam"))
    fresh.import_counts(model.export_counts())
    assert counts(fresh) == counts(model)
    turned = SpamFilter(classes=("spam", "ham"))
    turned.import_counts(model.export_counts())
    assert turned.messages == {"spam": model.messages["spam"], "ham": model.messages["ham"]}
    assert turned.score_one("casino casino pills") < 0 < fresh.score_one("casino casino pills")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["ham", "eggs"]},
        {"tokens": {"a": [5.0, 0.0]}},
        {"tokens": {"a": [-1.0, 0.0]}},
        {"tokens": {1: [0.0, 0.0]}},
    ],
)
def test_counts_that_cannot_be_are_refused_whole(change: dict[str, Any]) -> None:
    model = trained(20)
    before = model.state()["checksum"]
    with pytest.raises((BadValue, CannotMerge)):
        model.import_counts({"labels": ["ham", "spam"], "messages": [2.0, 1.0], "tokens": {}} | change)
    assert model.state()["checksum"] == before


def test_counts_alone_are_enough_to_answer() -> None:
    model = SpamFilter()
    model.import_counts(trained(60).export_counts())
    assert model.predict_proba_one("casino")["spam"] > 0.5


@pytest.mark.parametrize(
    "counts", [{}, {"labels": ["ham", "spam"], "messages": [1], "tokens": {}}, {"labels": 3}, []]
)
def test_values_that_are_no_counts_are_refused(counts: Any) -> None:
    model = SpamFilter()
    with pytest.raises((BadValue, CannotMerge)):
        model.import_counts(counts)
    assert model.predict_proba_one("a") == {}


def test_merged_filters_hold_what_both_learned() -> None:
    left, right, whole = SpamFilter(), SpamFilter(), SpamFilter()
    for number, (raw, label) in enumerate(stream(120)):
        (left if number % 3 else right).learn_one(raw, label, id=str(number))
        whole.learn_one(raw, label, id=str(number))
    untouched = right.state()["checksum"]
    assert left.merge(right) is left
    assert counts(left) == counts(whole)
    assert right.state()["checksum"] == untouched
    for key in ("0", "1"):
        left.correct(key, "spam")
        whole.correct(key, "spam")
    left.forget("3")
    whole.forget("3")
    assert counts(left) == counts(whole)


def test_filters_that_differ_or_learned_the_same_message_are_not_merged() -> None:
    left = SpamFilter()
    left.learn_one("a", "ham", id="1")
    other = SpamFilter()
    other.learn_one("b", "ham", id="1")
    with pytest.raises(CannotMerge, match="'1'"):
        left.merge(other)
    with pytest.raises(CannotMerge, match="pairs"):
        left.merge(SpamFilter(pairs=True))
