"""Profiles and the price of thresholds, counted by hand."""

from __future__ import annotations

import pytest

from stream_bayes.errors import BadValue
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.profiles import PROFILES, costs_of, threshold_prices
from tests.mail.messages import stream

LABELS = ("ham", "spam")


def test_a_profile_is_stricter_the_more_a_lost_ham_costs() -> None:
    least = [costs_of(LABELS, profile).band("spam", "spam") for profile in ("tag", "mailbox", "strict")]
    assert least == sorted(least, key=lambda band: band or (0.0, 0.0)) and len(set(least)) == len(PROFILES)
    assert "unsure" not in costs_of(LABELS, "tag").decisions
    assert costs_of(LABELS) == costs_of(LABELS, "mailbox") == SpamFilter().rule
    assert costs_of(LABELS, "tag", lost_ham=99, unsure=0.1) == Costs.false_positive(99, unsure=0.1)
    with pytest.raises(BadValue, match="strict, mailbox, tag, got 'loose'"):
        costs_of(LABELS, "loose")


def test_prices_are_those_counted_by_hand() -> None:
    scored = [(0.99, False), (0.05, False), (0.97, True), (0.999, True), (0.01, True), (0.6, False)]
    prices = {each.lost_ham: each for each in threshold_prices(scored, LABELS, costs_of(LABELS), None)}
    default = prices[30.0]
    assert default.threshold == pytest.approx(1 - 0.5 / 30)
    assert (default.ham_lost, default.ham_unsure, default.spam_missed, default.spam_unsure) == (1, 1, 1, 1)
    assert default.price == 30 + 1 + 0.5 * 2
    strict = prices[300.0]
    assert (strict.ham_lost, strict.ham_unsure, strict.spam_missed, strict.spam_unsure) == (0, 2, 1, 1)
    assert strict.price == 1 + 0.5 * 3
    cheap = prices[1.0]  # nobody checks a mail for half of what a mistake costs
    assert (cheap.ham_lost, cheap.spam_missed) == (2, 1)


def test_prices_fall_on_messages_that_were_scored_before_they_were_learned() -> None:
    model = SpamFilter()
    for raw, label in stream(300):
        model.learn_one(raw, label)
    scored = model.recent_probabilities()
    spam = sum(label for _, label in scored)
    assert 280 <= len(scored) <= 300 and 90 < spam < 150
    prices = threshold_prices(scored, LABELS, model.rule, None)
    lost = [each.ham_lost for each in prices]
    missed = [each.spam_missed + each.spam_unsure for each in prices]
    assert lost == sorted(lost, reverse=True) and missed == sorted(missed)
    assert SpamFilter.from_state(model.state()).recent_probabilities() == scored
