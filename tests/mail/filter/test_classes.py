"""Filters of more than two classes, which tell ham from all others as a filter of two does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stream_bayes.errors import BadLabel, BadState, CannotMerge, NotSupported
from stream_bayes.learners.classifiers.text import BernoulliNB
from stream_bayes.mail import SpamFilter, UserFilter
from stream_bayes.mail.filter.profiles import costs_of
from stream_bayes.mail.filter.state import save_state
from stream_bayes.mail.filter.verdict import judge
from stream_bayes.mail.streams.shard_filter import FilterTotal
from tests.mail.messages import BOTH, HAM, SPAM, plain

CLASSES = ("ham", "spam", "newsletter", "phishing")
WORDS = {
    "ham": HAM,
    "spam": SPAM,
    "newsletter": "digest weekly issue edition subscribe editorial roundup trends recipes events archive".split(),
    "phishing": "verify account password suspended login confirm security expired bank unlock identity".split(),
}


def mails(number: int, seed: int = 0) -> Iterator[tuple[bytes, str]]:
    """Messages of four kinds, half of them ham, with a few words of other kinds."""
    rng = np.random.default_rng(seed)
    for place in range(number):
        name = CLASSES[rng.choice(4, p=[0.4, 0.25, 0.2, 0.15])]
        other = CLASSES[rng.integers(4)]
        words = [*rng.choice(BOTH, 20), *rng.choice(WORDS[name], 5), *rng.choice(WORDS[other], 1)]
        sender = f"u{rng.integers(99)}@s{rng.integers(9)}.example"
        yield plain(" ".join(words), sender=sender, subject=f"{rng.choice(BOTH)} {seed}-{place}"), name


def trained(number: int = 240, **settings: Any) -> SpamFilter:
    model = SpamFilter(classes=CLASSES, **settings)
    for place, (raw, name) in enumerate(mails(number)):
        model.learn_one(raw, name, id=str(place))
    return model


@pytest.fixture(scope="module")
def model() -> SpamFilter:
    return trained(300)


def test_each_class_is_told_from_the_others(model: SpamFilter) -> None:
    likeliest, lost, later = 0, 0, list(mails(100, seed=1))
    for raw, name in later:
        chances = model.predict_proba_one(raw)
        assert list(chances) == list(CLASSES) and sum(chances.values()) == pytest.approx(1.0)
        likeliest += model.predict_one(raw) == name
        lost += name == "ham" and model.verdict_one(raw) not in ("ham", "unsure")
    assert likeliest > 0.85 * len(later) and lost <= 2


def test_the_verdict_is_the_decision_that_costs_the_least(model: SpamFilter) -> None:
    chances = {"ham": 0.001, "spam": 0.55, "newsletter": 0.349, "phishing": 0.1}
    assert model.decide(chances) == "spam"
    careful = SpamFilter.from_state(model.state())
    careful.set_costs(costs_of(CLASSES, mistakes={("spam", "newsletter"): 10.0}))
    assert careful.decide(chances) == "newsletter"
    assert careful.decide(chances | {"ham": 0.201, "newsletter": 0.149}) == "unsure"
    assert SpamFilter.from_state(careful.state()).decide(chances) == "newsletter"


def test_every_verdict_is_unsure_before_20_messages_of_each_class() -> None:
    model = SpamFilter(classes=CLASSES)
    for place, (raw, name) in enumerate(mails(180)):
        if name != "phishing" or model.learned[3] < 19:
            model.learn_one(raw, name, id=str(place))
    raw = next(raw for raw, name in mails(50, seed=2) if name == "spam")
    assert min(model.learned[:3]) > 20 and model.verdict_one(raw) == "unsure"
    judgement = judge(model, model.bag_of(raw), "1")
    assert judgement.note.endswith("-newsletter-19-phishing-of-20-each") and judgement.side == "unsure"


def test_what_a_class_is_to_a_protocol_of_two_answers_follows_from_the_costs(model: SpamFilter) -> None:
    letter, phish, ham = (
        next(raw for raw, name in mails(99, seed=3) if name == wanted and model.verdict_one(raw) == wanted)
        for wanted in ("newsletter", "phishing", "ham")
    )

    def texts(own: SpamFilter, raw: bytes) -> tuple[str, ...]:
        judgement = judge(own, own.bag_of(raw), "1")
        assert judgement.is_spam == (judgement.log_odds >= judgement.log_odds_threshold)
        return (judgement.verdict, *judgement.texts()[4:])

    assert [texts(model, raw) for raw in (letter, phish, ham)] == [
        ("newsletter", "as=spam"),
        ("phishing", "as=spam"),
        ("ham",),
    ]
    careful = SpamFilter.from_state(model.state())
    careful.set_costs(costs_of(CLASSES, mistakes={("spam", "newsletter"): 10.0}))
    assert texts(careful, letter) == ("newsletter", "as=ham") and texts(careful, phish) == (
        "phishing",
        "as=spam",
    )


def test_corrections_between_classes_are_exact_and_forgetting_leaves_nothing() -> None:
    model, right = (
        SpamFilter(classes=CLASSES, max_receipts=50),
        SpamFilter(classes=CLASSES, max_receipts=50),
    )
    for place, (raw, name) in enumerate(mails(70)):
        wrong = CLASSES[(CLASSES.index(name) + 1 + place % 3) % 4]
        model.learn_one(raw, wrong if place >= 55 else name, id=str(place))
        right.learn_one(raw, name, id=str(place))
    for place, (_, name) in enumerate(mails(70)):
        if place >= 55:
            model.correct(str(place), name)
            assert model.label_of(str(place)) == name
    assert model.export_counts() == right.export_counts() and model.messages == right.messages
    assert len(model.ids()) == 50 and {len(each.receipts) for each in model.contests} == {50}
    for name in model.ids():
        model.forget(name)
    assert [len(each.receipts) for each in model.contests] == [0] * 4
    assert sum(model.messages.values()) == pytest.approx(20.0)


def test_a_state_gives_back_the_same_filter_and_an_altered_one_is_refused(model: SpamFilter) -> None:
    state = model.state()
    loaded = SpamFilter.from_state(state)
    assert loaded.state()["checksum"] == state["checksum"] and loaded.classes == CLASSES
    raw, name = next(mails(1, seed=4))
    for one in (model, loaded):
        one.learn_one(raw, name, id="new")
        one.forget("new")
    assert loaded.predict_proba_one(raw) == model.predict_proba_one(raw)
    broken = SpamFilter.from_state(state)
    broken.contests[2].correct("3", 1 - broken.contests[2].receipts.by_id["3"].label)
    with pytest.raises(BadState, match="has not one class"):
        SpamFilter.from_state(
            save_state(broken.arguments(), broken.contests, broken.correspondents, broken.token_ages)
        )


def test_counts_come_in_again_and_filters_merge() -> None:
    model, other = trained(40), SpamFilter(classes=CLASSES)
    other.import_counts(model.export_counts())
    assert other.export_counts() == model.export_counts() and other.messages == model.messages
    late = SpamFilter(classes=CLASSES)
    for place, (raw, name) in enumerate(mails(80)):
        if place >= 40:
            late.learn_one(raw, name, id=str(place))
    assert model.merge(late).export_counts()["messages"] == trained(80).export_counts()["messages"]
    with pytest.raises(CannotMerge, match="classes"):
        model.merge(SpamFilter())


def test_a_user_labels_by_the_classes_of_the_site(model: SpamFilter) -> None:
    user = UserFilter(model)
    raws = [raw for raw, name in mails(120, seed=5) if name == "newsletter"]
    assert user.predict_proba_one(raws[0]) == model.predict_proba_one(raws[0])
    for place, raw in enumerate(raws[1:]):
        user.learn_one(raw, "ham", id=str(place))
    assert user.predict_proba_one(raws[0])["newsletter"] < model.predict_proba_one(raws[0])["newsletter"]
    restored = UserFilter.restored(user.state(), model)
    assert restored.predict_proba_one(raws[0]) == user.predict_proba_one(raws[0])
    with pytest.raises(BadState, match="classes"):
        UserFilter.restored(user.state(), SpamFilter(classes=("ham", "phishing", "newsletter", "spam")))


def test_an_explanation_is_of_the_likeliest_class_against_the_others(model: SpamFilter) -> None:
    raw = next(
        raw for raw, name in mails(99, seed=3) if name == "newsletter" and model.verdict_one(raw) == name
    )
    why = model.explain_one(raw)
    assert (
        why.labels == ("others", "newsletter")
        and why.probability == model.predict_proba_one(raw)["newsletter"]
    )
    assert sum(row.adds for row in why.tokens) == pytest.approx(why.score) and why.score > 0
    assert any(row.token in WORDS["newsletter"] and row.adds > 0 for row in why.tokens[:5])


def test_what_more_than_two_classes_cannot_do_is_refused_by_name() -> None:
    with pytest.raises(NotSupported, match="two classes, not of 4"):
        SpamFilter(classes=CLASSES, learner=BernoulliNB())
    with pytest.raises(CannotMerge, match="4 classes cannot be summed"):
        FilterTotal.of(SpamFilter(classes=CLASSES), None)
    with pytest.raises(BadLabel, match="'ham', 'spam', 'newsletter' and 'phishing'; got 'work'"):
        SpamFilter(classes=CLASSES).learn_one("notes", "work")


@pytest.mark.parametrize("second_opinion", [False, None])
def test_ham_is_told_from_all_others_as_by_a_filter_of_two_classes(second_opinion: bool | None) -> None:
    """At every time, also after corrections: one between unwanted classes is none for two."""
    several = SpamFilter(classes=CLASSES, second_opinion=second_opinion)
    two = SpamFilter(second_opinion=second_opinion)

    def of_two(name: str) -> str:
        return "ham" if name == "ham" else "spam"

    for place, (raw, name) in enumerate(mails(120, seed=7)):
        assert several.score_one(raw) == two.score_one(raw)
        assert several.predict_proba_one(raw).get("ham") == two.predict_proba_one(raw).get("ham")
        several.learn_one(raw, name, id=str(place))
        two.learn_one(raw, of_two(name), id=str(place))
        if place % 7 == 5:
            other = CLASSES[(CLASSES.index(name) + place) % 4]
            several.correct(str(place), other)
            two.correct(str(place), of_two(other))
        if place % 11 == 5:
            several.forget(str(place - 3))
            two.forget(str(place - 3))
    assert several.contests[0].receipts.of_each == two.contests[0].receipts.of_each
