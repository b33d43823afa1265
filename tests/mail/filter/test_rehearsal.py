"""Training by class: what a filter learned must not depend on the order of folders."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from stream_bayes import BernoulliNB
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.rehearsal import Rehearsal
from tests.mail.messages import stream

Mails = list[tuple[bytes, str]]
MIXED: Mails = list(stream(900))
LATER: Mails = list(stream(500, seed=9))


def of(label: str) -> Mails:
    return [mail for mail in MIXED if mail[1] == label]


def batches(size: int) -> Mails:
    ham, spam = of("ham"), of("spam")
    starts = range(0, max(len(ham), len(spam)), size)
    return [mail for start in starts for mail in (*ham[start : start + size], *spam[start : start + size])]


ORDERS: dict[str, Callable[[], Mails]] = {
    "ham first": lambda: of("ham") + of("spam"),
    "spam first": lambda: of("spam") + of("ham"),
    "batches of 100": lambda: batches(100),
}


def costs(model: SpamFilter) -> tuple[float, float]:
    """The shares of ham lost and of spam not caught among later mail."""
    verdicts = np.array([model.verdict_one(raw) == "spam" for raw, _ in LATER])
    spam = np.array([label == "spam" for _, label in LATER])
    return float(verdicts[~spam].mean()), float((~verdicts)[spam].mean())


def trained(mails: Mails) -> SpamFilter:
    """A filter that has learned these mails; each order of them is learned once."""
    return copy.deepcopy(_trained(tuple(mails)))


@cache
def _trained(mails: tuple[tuple[bytes, str], ...]) -> SpamFilter:
    model = SpamFilter()
    for raw, label in mails:
        model.learn_one(raw, label)
    return model


def area(model: SpamFilter) -> float:
    """The share of pairs of later mails, a ham and a spam, that are ranked right."""
    scores = {
        label: [model.score_one(raw) for raw, own in LATER if own == label] for label in ("ham", "spam")
    }
    return float(np.mean(np.subtract.outer(scores["spam"], scores["ham"]) > 0))


@pytest.fixture(scope="module")
def worst_mixed() -> float:
    """The most spam missed after training in some mixed orders, none of which loses ham."""
    orders = [np.random.default_rng(seed).permutation(len(MIXED)).tolist() for seed in range(5)]
    found = [costs(trained([MIXED[place] for place in order])) for order in orders]
    assert max(lost for lost, _ in found) == 0.0
    return max(missed for _, missed in found)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
def test_after_a_replay_the_order_of_folders_makes_no_difference(
    worst_mixed: float, order: Callable[[], Mails]
) -> None:
    models = trained(MIXED), trained(order())
    for model in models:
        model.replay()
        assert not model.replay_is_due
    assert costs(models[0]) == costs(models[1])
    lost, missed = costs(models[1])
    assert lost <= 0.01 and missed <= worst_mixed


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS.keys())
def test_learned_message_by_message_the_order_of_folders_loses_no_ham_and_no_rank(
    worst_mixed: float,
    order: Callable[[], Mails],
) -> None:
    mixed, model = trained(MIXED), trained(order())
    lost, missed = costs(model)
    assert lost <= 0.01 and missed <= max(1.2 * worst_mixed, 0.05)
    assert 1.0 - area(model) <= 1.2 * (1.0 - area(mixed)) + 0.001


@pytest.mark.parametrize("learned", [520, 700])
def test_a_long_run_of_ham_does_not_lower_the_scores_of_later_mail(learned: int) -> None:
    live = trained((of("spam") + of("ham"))[:learned])
    scores = np.mean([live.score_one(raw) for raw, _ in LATER])
    assert live.replay_is_due  # the last messages came after the last replay
    live.replay()
    assert abs(scores - np.mean([live.score_one(raw) for raw, _ in LATER])) < 1.5


def test_a_folder_of_spam_after_mixed_mail_does_no_harm() -> None:
    more = [mail for mail in stream(800, seed=3) if mail[1] == "spam"]
    model = trained(MIXED + more)
    assert costs(model)[0] <= costs(trained(MIXED))[0] + 0.01
    model.replay()
    assert costs(model)[0] <= costs(trained(MIXED))[0] + 0.01


def test_counts_are_those_of_the_messages_in_any_order() -> None:
    tokens = [trained(order()).export_counts()["tokens"] for order in ORDERS.values()]
    assert tokens[0] == tokens[1] == tokens[2] == trained(MIXED).export_counts()["tokens"]


@pytest.mark.parametrize("learner", [None, BernoulliNB()])
def test_rehearsed_messages_are_corrected_and_forgotten_exactly(learner: BernoulliNB | None) -> None:
    mails = of("ham")[:60] + of("spam")[:60]
    model = SpamFilter(learner=learner and learner.clone())
    for number, (raw, label) in enumerate(mails):
        model.learn_one(raw, label, id=str(number))
    for number in range(len(mails)):
        model.correct(str(number), "ham")
        model.forget(str(number))
    assert model.messages == {"ham": 0.0, "spam": 0.0} and model.correctable == 0
    if learner is None:
        assert model.tokens == 0


def test_mixed_mail_is_never_rehearsed() -> None:
    rng = np.random.default_rng(0)
    for share in (0.01, 0.3, 0.97):
        rehearsal = Rehearsal()
        drawn = (rng.random(20_000) < share).astype(int).tolist()
        assert sum(rehearsal.observe(label, (100.0, 100.0)) for label in drawn) == 0


def test_a_drift_of_mixed_mail_is_followed_but_folders_are_rehearsed() -> None:
    received = (np.random.default_rng(1).random(1_000) < 0.4).astype(int).tolist() + [0] * 300
    live, folders = Rehearsal(), Rehearsal()
    assert sum(live.observe(label, (100.0, 100.0)) for label in received) == 0
    assert sum(folders.observe(label, (100.0, 100.0)) for label in [1] * 300 + [0] * 300) > 200


def test_receipts_keep_half_of_their_room_for_the_rarer_label() -> None:
    model = SpamFilter(max_receipts=10)
    for number in range(5):
        model.learn_one(f"spam {number}", "spam", id=f"s{number}")
    for number in range(40):
        model.learn_one(f"ham {number}", "ham", id=f"h{number}")
    assert model.ids() == [f"s{number}" for number in range(5)] + [f"h{number}" for number in range(35, 40)]


def test_a_filter_whose_ham_come_late_is_replayed_as_they_come() -> None:
    ham, spam = of("ham")[:60], [mail for mail in stream(1_600, seed=5) if mail[1] == "spam"][:640]
    model = trained(spam[:300] + ham[:3] + spam[300:])  # 643 mails, but hardly any ham
    assert min(_chances_of_ham(model)) > 0.5 and model.replay_is_due
    model = SpamFilter.from_state(model.state())
    for raw, label in ham[3:]:
        model.learn_one(raw, label)
    live = _chances_of_ham(model)
    model.replay()
    assert np.mean(live) < np.mean(_chances_of_ham(model)) + 0.1


def _chances_of_ham(model: SpamFilter) -> list[float]:
    return [chance for chance, is_spam in model.recent_probabilities() if not is_spam]
