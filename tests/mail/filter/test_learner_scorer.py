"""Any learner of the package scores the tokens in place of the filter's own evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_bayes import AODE, BernoulliNB, ComplementNB, MultinomialNB, NaiveBayes
from stream_bayes.errors import BadState, BadValue, BudgetExceeded, CannotMerge, NotSupported
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.state import checksum, text_of
from stream_bayes.mail import EmailTokens, SpamFilter
from stream_bayes.saving.snapshots.snapshot import Snapshot
from tests.mail.messages import stream
from tests.resealing import resealed

TEXT_LEARNERS: tuple[type[Any], ...] = (MultinomialNB, ComplementNB, BernoulliNB)
LEARNERS: tuple[type[Any], ...] = (*TEXT_LEARNERS, NaiveBayes)


def trained(learner: BayesClassifier, number: int = 200, **settings: Any) -> SpamFilter:
    model = SpamFilter(learner=learner, **settings)
    for place, (raw, label) in enumerate(stream(number)):
        model.learn_one(raw, label, id=str(place))
    return model


def by_name(model: SpamFilter) -> Any:
    assert model.learner is not None
    return model.learner.store.by_name()


@pytest.mark.parametrize("kind", TEXT_LEARNERS)
def test_it_tells_spam_from_ham(kind: type[Any]) -> None:
    model = trained(kind())
    right = [model.predict_one(raw) == label for raw, label in stream(200, seed=1)]
    assert np.mean(right) > 0.9
    verdicts = {model.verdict_one(raw) for raw, _ in stream(200, seed=1)}
    assert verdicts <= {"ham", "unsure", "spam"} and "ham" in verdicts


def test_the_learner_learns_the_tokens_as_it_would_alone() -> None:
    model, alone, tokens = trained(MultinomialNB()), MultinomialNB(), EmailTokens()
    for raw, label in stream(200):
        alone.learn_one(tokens.transform_one(raw), label)
    assert by_name(model) == alone.store.by_name()
    raw = next(iter(stream(1, seed=5)))[0]
    joint = alone.joint_log_likelihood(tokens.transform_one(raw))
    size = len(tokens.transform_one(raw))
    assert model.score_one(raw) == pytest.approx((joint["spam"] - joint["ham"]) / size**0.5)


@pytest.mark.parametrize("kind", TEXT_LEARNERS)
def test_a_correction_leaves_the_counts_as_if_it_had_come_so(kind: type[Any]) -> None:
    model, other = SpamFilter(learner=kind()), SpamFilter(learner=kind())
    for place, (raw, label) in enumerate(stream(30)):
        model.learn_one(raw, "spam" if place == 7 else label, id=str(place))
        other.learn_one(raw, "ham" if place == 7 else label, id=str(place))
    model.correct("7", "ham")
    model.correct("7", "ham")
    assert model.label_of("7") == "ham"
    assert by_name(model) == by_name(other)
    assert model.messages == other.messages
    for place in range(30):
        model.forget(str(place))
    assert by_name(model) == kind().store.by_name()
    assert model.messages == {"ham": 0.0, "spam": 0.0}


def test_with_fading_a_message_is_taken_back_as_of_then() -> None:
    model, other = (
        SpamFilter(learner=BernoulliNB(half_life=5.0)),
        SpamFilter(learner=BernoulliNB(half_life=5.0)),
    )
    for place, (raw, label) in enumerate(stream(12)):
        model.learn_one(raw, label, id=str(place))
        if place == 3:
            assert other.learner is not None
            other.learner.advance(1)
        else:
            other.learn_one(raw, label, id=str(place))
    model.forget("3")
    for raw, _ in stream(5, seed=3):
        assert model.score_one(raw) == pytest.approx(other.score_one(raw), abs=1e-9)


def test_a_message_longer_than_messages_are_weighs_less() -> None:
    model = SpamFilter(learner=MultinomialNB(), influence=10)
    model.learn_one({f"w{number}": 1 for number in range(20)}, "spam")
    assert 0.0 < model.messages["spam"] < 0.1


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_state_gives_back_the_same_filter(kind: type[Any]) -> None:
    model = trained(kind(), 60, train="near-errors")
    snapshot = Snapshot(learner="SpamFilter", sections={"model": model.state()})
    restored = SpamFilter.from_state(Snapshot.from_bytes(snapshot.to_bytes()).sections["model"])
    for twin in (model, restored):
        twin.correct("5", "spam")
        twin.learn_one("more words", "ham")
    assert checksum(text_of(model.state()), model.state()["arrays"]) == checksum(
        text_of(restored.state()), restored.state()["arrays"]
    )
    for raw, _ in stream(5, seed=2):
        assert restored.predict_proba_one(raw) == model.predict_proba_one(raw)


def test_a_message_refused_by_the_learner_changes_nothing() -> None:
    model = SpamFilter(learner=AODE(memory_budget=20_000))
    model.learn_one({"a": 1}, "ham")
    before = model.state()["checksum"]
    with pytest.raises(BudgetExceeded):
        model.learn_one({f"w{number}": 1 for number in range(500)}, "spam")
    assert model.state()["checksum"] == before


def test_a_message_that_a_learner_refuses_moves_no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SpamFilter(train="near-errors", learner=BernoulliNB())
    for text, label in (("free pills", "spam"), ("lunch notes", "ham")):
        model.learn_one(text, label)

    def refuse(*arguments: object) -> None:
        raise BudgetExceeded("full")

    monkeypatch.setattr(model.learner, "learn_one", refuse)
    before = model.state()["store"]
    with pytest.raises(BudgetExceeded):
        model.learn_one("free lunch", "spam")
    assert model.state()["store"] == before


def test_explanations_add_up_to_the_score() -> None:
    model = trained(MultinomialNB(class_prior="uniform"))
    raw = next(iter(stream(1, seed=9)))[0]
    reported = model.explain_one(raw)
    assert sum(row.adds for row in reported.tokens) == pytest.approx(model.score_one(raw))
    assert "nan" not in str(reported)


def test_filters_with_learners_merge_where_their_learners_do() -> None:
    one, other, both = (SpamFilter(learner=MultinomialNB()) for _ in range(3))
    for place, (raw, label) in enumerate(stream(40)):
        for model in (both, one if place < 20 else other):
            model.learn_one(raw, label, id=str(place))
    one.merge(other)
    assert by_name(one) == by_name(both)
    assert one.label_of("30") == both.label_of("30")
    with pytest.raises(CannotMerge, match="learner"):
        one.merge(SpamFilter())
    with pytest.raises(CannotMerge, match="fades"):
        SpamFilter(learner=MultinomialNB(half_life=3.0)).merge(
            SpamFilter(learner=MultinomialNB(half_life=3.0))
        )


def test_unsupported_verbs_of_a_learner_are_refused_by_name() -> None:
    model = trained(BernoulliNB(), 5)
    for verb in (model.export_counts, lambda: model.import_counts({})):
        with pytest.raises(NotSupported, match="merge"):
            verb()
    wrong: Any = "bernoulli-nb"
    with pytest.raises(BadValue, match="learner"):
        SpamFilter(learner=wrong)
    assert model.clone().predict_one("a") is None


def first_byte(value: int) -> Callable[[Any], Any]:
    return lambda array: np.concatenate([np.array([value], np.uint8), array[1:]])


ALTERED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another class": lambda state: state["store"]["learner"].update(learner="SpamFilter"),
    "no learner": lambda state: state["store"].update(learner=None),
    "the learner's store": lambda state: state["store"]["learner"].update(store={}),
    "a bag": lambda state: state["arrays"].update(
        receipt_bags=first_byte(0)(state["arrays"]["receipt_bags"])
    ),
    "a bag less": lambda state: state["arrays"].update(receipt_bags=state["arrays"]["receipt_bags"][:-1]),
    "tokens": lambda state: state["store"].update(tokens="a"),
    "an array of the learner": lambda state: state["arrays"].pop(
        next(name for name in state["arrays"] if name.startswith("learner_"))
    ),
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED.keys())
def test_an_altered_state_is_refused_even_with_a_right_checksum(
    alter: Callable[[dict[str, Any]], Any],
) -> None:
    state = trained(MultinomialNB(), 20).state()
    state = state | {"store": dict(state["store"]), "arrays": dict(state["arrays"])}
    state["store"]["learner"] = dict(state["store"]["learner"])
    SpamFilter.from_state(resealed(state))
    alter(state)
    with pytest.raises(BadState):
        SpamFilter.from_state(resealed(state))
