"""A filter's state: complete, byte for byte, and refused where it was altered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_bayes import Costs
from stream_bayes.errors import BadState, BadValue
from stream_bayes.learners.base.state import checksum, text_of
from stream_bayes.mail import Limits, SpamFilter
from stream_bayes.mail.filter import token_scorer
from stream_bayes.mail.filter.token_scorer import TokenScorer
from stream_bayes.saving.snapshots.snapshot import Snapshot
from tests.mail.messages import stream
from tests.resealing import resealed

KEY = b"sixteen bytes or"
SETTINGS: list[dict[str, Any]] = [
    {},
    {"classes": (0, "ungewünscht"), "train": "near-errors"},
    {"costs": Costs.false_positive(9, unsure=0.25), "limits": Limits(word=12)},
    {"max_receipts": 5, "max_tokens": 300, "pairs": True},
    {"key": KEY},
]


def trained(number: int = 120, **settings: Any) -> SpamFilter:
    model = SpamFilter(**settings)
    for raw, label in stream(number):
        model.learn_one(raw, model.classes[label == "spam"])
    return model


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_restored_filter_goes_on_as_if_nothing_had_been(settings: dict[str, Any]) -> None:
    model = trained(**settings)
    restored = SpamFilter.from_state(model.state(), key=settings.get("key"))
    assert restored.state()["checksum"] == model.state()["checksum"]
    for raw, label in stream(60, seed=7):
        assert restored.predict_proba_one(raw) == model.predict_proba_one(raw)
        for one in (model, restored):
            one.learn_one(raw, one.classes[label == "spam"])
    key = next(iter(model.unwanted_contest.receipts))
    for one in (model, restored):
        one.correct(key, one.classes[1])
        one.forget(key)
    assert restored.state()["checksum"] == model.state()["checksum"]


def test_the_same_messages_make_the_same_bytes() -> None:
    assert trained().state()["checksum"] == trained().state()["checksum"]


def test_a_state_does_not_change_with_the_filter() -> None:
    model = trained(50)
    state = model.state()
    before = checksum(text_of(state), state["arrays"])
    for raw, label in stream(50, seed=3):
        model.learn_one(raw, label)
    model.forget(next(iter(model.unwanted_contest.receipts)))
    assert checksum(text_of(state), state["arrays"]) == before


def test_a_state_fits_into_a_snapshot() -> None:
    model = trained(40)
    snapshot = Snapshot(learner="SpamFilter", sections={"learner": model.state()})
    loaded = Snapshot.from_bytes(snapshot.to_bytes())
    restored = SpamFilter.from_state(loaded.sections["learner"])
    restored.learn_one("more", "ham")
    assert restored.score_one("casino") == pytest.approx(model.score_one("casino"), rel=0.2)


def test_the_key_is_no_part_of_the_state_and_must_be_given_again() -> None:
    state = trained(30, key=KEY).state()
    assert KEY.decode() not in repr(state)
    assert KEY.hex() not in repr(state)
    for wrong in (None, b"another key, long"):
        with pytest.raises(BadState, match="key"):
            SpamFilter.from_state(state, key=wrong)
    with pytest.raises(BadState, match="another key"):
        SpamFilter.from_state(trained(3).state(), key=KEY)


def test_a_rule_that_cannot_be_saved_is_refused() -> None:
    class Coin:
        def decide(self, probabilities: Any) -> str:
            return "ham"

    model = SpamFilter(costs=Coin())
    assert model.rule.decide({}) == "ham"
    with pytest.raises(BadValue, match="Costs"):
        model.state()


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(state: dict[str, Any]) -> None:
        state["arrays"] = state["arrays"] | {name: change(state["arrays"][name])}

    return apply


def put(array: Any, value: Any) -> Any:
    array = array.copy()
    array.flat[0] = value
    return array


ALTERED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no store": lambda state: state.update(store={}),
    "no arrays": lambda state: state.update(arrays={}),
    "a parameter more": lambda state: state["parameters"].update(extra=1),
    "a wrong parameter": lambda state: state["parameters"].update(train="never"),
    "classes": lambda state: state["parameters"].update(classes={"list": ["a", "a"]}),
    "a token twice": lambda state: state["store"].update(tokens="a\na" + state["store"]["tokens"][3:]),
    "a token less": lambda state: state["store"].update(tokens=state["store"]["tokens"].partition("\n")[2]),
    "a token that is no text": lambda state: state["store"].update(
        tokens=[{"int": "1"}, *state["store"]["tokens"].split("\n")[1:]]
    ),
    "a future": lambda state: state["store"].update(clock=1),
    "a clock": lambda state: state["store"].update(clock=-1),
    "messages": lambda state: state["store"].update(messages=[1, 1]),
    "one number of messages": lambda state: state["store"].update(messages=[10**6]),
    "margin": lambda state: state["store"].update(margin=float("nan")),
    "an id twice": lambda state: state["store"].update(receipts="\n".join(["x"] * 40)),
    "negative counts": changed("counts", lambda array: put(array, -1)),
    "counts of floats": changed("counts", lambda array: array.astype(float)),
    "huge margins": changed("margins", lambda array: put(array, 2**62)),
    "codes beyond": changed("receipt_codes", lambda array: put(array, 10**6)),
    "codes below": changed("receipt_codes", lambda array: put(array, -2)),
    "codes short": changed("receipt_codes", lambda array: array[:-1]),
    "sizes": changed("receipt_sizes", lambda array: put(array, -1)),
    "labels of the journal": changed("receipt_labels", lambda array: put(array, 2)),
    "probabilities": changed("receipt_probabilities", lambda array: put(array, np.nan)),
    "units": changed("receipt_units", lambda array: put(array, -5)),
    "calibration": lambda state: state.update(reading={}),
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED.keys())
def test_an_altered_state_is_refused_even_with_a_right_checksum(
    alter: Callable[[dict[str, Any]], Any],
) -> None:
    state = trained(40).state()
    state = state | {name: dict(state[name]) for name in ("store", "parameters", "reading", "arrays")}
    SpamFilter.from_state(resealed(state))
    alter(state)
    with pytest.raises(BadState):
        SpamFilter.from_state(resealed(state))


def test_an_altered_state_is_refused_by_its_checksum() -> None:
    state = trained(10).state()
    state["store"]["clock"] += 1
    with pytest.raises(BadState, match="checksum"):
        SpamFilter.from_state(state)
    with pytest.raises(BadState, match="not of a"):
        SpamFilter.from_state(trained(3).state() | {"learner": "NaiveBayes"})


def test_memory_is_reported_and_bounded() -> None:
    model = SpamFilter(max_receipts=10)
    for start in range(0, 150_000, 5_000):
        model.learn_one(
            {f"a token of a usual length {number}": 1 for number in range(start, start + 5_000)}, "ham"
        )
    assert 150_000 * 30 < model.memory_bytes < 20e6
    texts = sum(sys.getsizeof(token) for token in model.export_counts()["tokens"])
    all_receipts = SpamFilter().max_receipts * (300 * 4 + 300)  # of mails of 300 tokens
    assert model.memory_bytes + texts + all_receipts < 42e6
    all_grams = SpamFilter().max_receipts * 2 * 2_000  # of mails of 2,000 different 4-grams
    assert model.memory_bytes + texts + all_receipts + all_grams < 82e6


def test_forgetting_moves_no_other_token_until_the_filter_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []
    keep = TokenScorer.keep

    def counted(self: TokenScorer, kept: Any) -> Any:
        moved.append(len(kept))
        return keep(self, kept)

    monkeypatch.setattr(TokenScorer, "keep", counted)
    one, other = trained(60), trained(60)
    for number in range(40):
        for model in (one, other):
            model.learn_one(f"zebra{number} other{number} meeting", "ham", id=str(number))
        if number % 3:
            one.forget(str(number))
            other.forget(str(number))
            assert f"zebra{number}" not in one.export_counts()["tokens"]
            other.state()  # closes the gaps
    assert one.tokens == other.tokens == len(one.export_counts()["tokens"])
    many = len(moved)
    assert one.state()["checksum"] == other.state()["checksum"] and len(moved) == many + 1
    copy = SpamFilter.from_state(one.state())
    for model in (one, copy):
        model.correct("3", "spam")
        model.forget("6")
        model.learn_one("zebra1 again", "ham", id="new")
    assert one.state()["checksum"] == copy.state()["checksum"]


def test_gaps_are_closed_when_they_outnumber_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_scorer, "MIN_GAPS", 5)
    model = SpamFilter()
    model.learn_one("lunch", "ham")
    for number in range(30):
        model.learn_one(f"word{number}", "spam", id=str(number))
        model.forget(str(number))
        assert len(model.unwanted_contest.scorer.table.vocabulary.values) <= 2 * model.tokens + 6  # type: ignore[attr-defined]  # its own scorer
    assert set(model.export_counts()["tokens"]) == {"lunch"}
