"""Values that were never learned: a share of probability is kept for them, or they are ignored or refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from river import anomaly

from stream_bayes import BayesNet, DiscreteNetwork, Nominal, Schema, Structure
from stream_bayes.core.values.values import is_missing
from stream_bayes.errors import BadValue
from tests.networks.network_events import EXAMPLES, PARENTS, events_of, learned, whole

LOGINS = 500 * [{"user": "ann", "country": "DE"}, {"user": "bob", "country": "FR"}]
LOGIN_PARENTS = {"user": [], "country": ["user"]}


def logins(**arguments):
    model = BayesNet(LOGIN_PARENTS, **arguments)
    model.learn_many(LOGINS)
    return model


def test_the_more_of_an_event_is_new_the_less_probable_it_is():
    model = logins()
    usual, crossed, one_new, all_new = (
        model.log_likelihood_one({"user": user, "country": country})
        for user, country in [("ann", "DE"), ("ann", "FR"), ("eve", "DE"), ("eve", "KP")]
    )
    assert usual > crossed > one_new > all_new > -math.inf
    assert all_new == pytest.approx(2 * math.log(0.5 / 1000))
    assert one_new == pytest.approx(math.log(0.5 / 1000) + model.log_likelihood_one({"country": "DE"}))
    assert model.score_one({"user": "eve", "country": "KP"}) == -all_new


def test_the_share_of_new_values_is_that_of_values_held_once():
    model = BayesNet({"id": [], "kind": []})
    for number in range(100):
        model.learn_one({"id": f"order {number}", "kind": "order"})
    assert model.log_likelihood_one({"id": "order 100"}) == 0.0  # each value is new here
    assert model.log_likelihood_one({"kind": "return"}) == pytest.approx(math.log(0.5 / 100))
    model.unlearn_one({"id": "order 0", "kind": "order"})
    model.learn_one({"id": "order 1", "kind": "order"})
    assert model.log_likelihood_one({"id": "order 0"}) == pytest.approx(math.log(98 / 100))


@settings(max_examples=EXAMPLES, deadline=None)
@given(events_of(whole, least=1))
def test_answers_about_known_values_do_not_depend_on_the_policy(events):
    novel, ignoring, refusing = (learned(events, unseen=unseen) for unseen in ("novel", "ignore", "error"))
    for x, _ in events:
        assert novel.log_likelihood_one(x) == ignoring.log_likelihood_one(x) == refusing.log_likelihood_one(x)
        held = {name: value for name, value in x.items() if not is_missing(value)}
        assert math.fsum(novel.explain_one(held).values()) == pytest.approx(
            -novel.log_likelihood_one(held), abs=1e-9
        )
    for name in PARENTS:
        if novel.states[name]:
            assert dict(novel.query(name)) == dict(ignoring.query(name)) == dict(refusing.query(name))
        strange = {name: "never seen"}
        assert ignoring.log_likelihood_one(strange) == 0.0
        with pytest.raises(BadValue, match="which was never learned"):
            refusing.log_likelihood_one(strange)


def test_new_values_of_events_are_not_observed_and_questions_refuse_them():
    model = logins()
    assert model.predict_proba_one({"user": "eve"}, "country") == dict(model.query("country"))
    for unseen in ("novel", "ignore", "error"):
        with pytest.raises(BadValue, match="evidence on 'user': expected one of"):
            logins(unseen=unseen).query("country", {"user": "eve"})
    with pytest.raises(BadValue, match="never learned"):
        logins(unseen="error").predict_proba_one({"user": "eve"}, "country")
    with pytest.raises(BadValue, match="unseen"):
        logins(unseen="refuse")


def test_closed_values_leave_nothing_to_new_ones_and_open_ones_do():
    closed = logins(schema=Schema({"user": Nominal(["ann", "bob"], closed=True), "country": Nominal()}))
    assert closed.log_likelihood_one({"user": "eve"}) == -math.inf
    assert closed.explain_one({"user": "eve", "country": "DE"}).oddest[0] == "user"
    assert closed.log_likelihood_one({"country": "KP"}) == pytest.approx(math.log(0.5 / 1000))
    limited = logins(max_values=1)
    assert limited.log_likelihood_one({"user": "eve"}) == limited.log_likelihood_one({"user": "bob"})


def test_the_weight_of_a_given_network_counts_among_the_known_values():
    coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
    model = BayesNet.from_network(coin, weight=10)
    assert model.log_likelihood_one({"coin": "edge"}) == pytest.approx(math.log(0.5 / 10))


def test_a_known_value_under_another_type_is_a_mistake_and_not_new():
    model = BayesNet({"rain": []})
    model.learn_one({"rain": True})
    for ask in (model.log_likelihood_one, model.explain_one, lambda x: model.query("rain", x)):
        with pytest.raises(BadValue, match="'True' of type str; the network holds True of type bool"):
            ask({"rain": "True"})


def test_the_explanation_names_the_odd_variable():
    model = logins()
    crossed = model.explain_one({"user": "ann", "country": "FR"})
    assert crossed.oddest[0] == "country" and crossed.total == pytest.approx(7.6, abs=0.01)
    assert crossed.excess["user"] == pytest.approx(0.0, abs=1e-3)
    new = model.explain_one({"user": "eve", "country": "FR"})
    assert new.oddest[0] == "user" and new.novel == ("user",)
    assert dict(model.explain_one({"country": None})) == {}
    impossible = logins(strength=0.0).explain_one({"user": "ann", "country": "FR"})
    assert impossible["country"] == impossible.total == math.inf


def test_planted_novelties_rank_first_and_river_filters_them_by_quantile():
    rng = np.random.default_rng(5)
    model = anomaly.QuantileFilter(BayesNet(LOGIN_PARENTS), q=0.99)
    found, false = 0, 0
    for number in range(2000):
        x = LOGINS[int(rng.integers(2))]
        planted = number > 500 and number % 100 == 0
        if planted:
            x = [{"user": "ann", "country": "FR"}, {"user": f"eve {number}", "country": "KP"}][
                number % 200 == 0
            ]
        flagged = model.classify(model.score_one(x))
        found, false = found + (planted and flagged), false + (flagged and not planted and number > 500)
        model.learn_one(x)
    assert found >= 13 and false <= 15, (found, false)


@pytest.mark.parametrize("unseen", ["novel", "ignore", "error"])
def test_a_variable_without_any_value_yet_does_not_stop_predictions(unseen):
    model = BayesNet({"user": [], "country": ["user"], "late": []}, unseen=unseen)
    for event in LOGINS[:10]:
        model.learn_one(event)
    assert model.predict_proba_one({"late": "x"}, "country") == model.predict_proba_one({}, "country")
    model.learn_one({**LOGINS[0], "late": "x"})
    assert model.predict_proba_one({"user": "ann", "late": "x"}, "country")["DE"] > 0.5
