"""Draws of networks: weighed by the event, their mean is the answer, missing values included."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BayesNet,
    BayesNetClassifier,
    MixedNetwork,
    Nominal,
    Numeric,
    Schema,
    SlidingWindow,
)
from stream_bayes.core.live_networks.mixed_draws import DrawnFamilies
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.errors import BadValue, NoValueKnown, UnknownFeature
from stream_bayes.learners.base.draws import generator_of
from stream_bayes.networks import DiscreteNetwork, Inference, Structure
from stream_bayes.networks.posterior_draws import world_given

STRUCTURE = {"cause": [], "class": ["cause"], "sign": ["class", "cause"], "echo": ["sign"], "size": ["class"]}
DRAWS = 80


def events(number: int) -> list[tuple[dict[str, Any], str]]:
    source, rows = random.Random(number), []
    for _ in range(number):
        cause = source.choice("ab")
        y = "p" if source.random() < (0.7 if cause == "a" else 0.3) else "q"
        sign = y if source.random() < 0.8 else source.choice("pqr")
        x = {"cause": cause, "sign": sign, "echo": sign.upper(), "size": source.gauss("pq".index(y), 1.0)}
        rows.append(({name: value for name, value in x.items() if source.random() < 0.9}, y))
    return rows


def is_mean(drawn: Any, answer: Any) -> bool:
    """Return True if draws have a mean within 4.5 standard errors."""
    drawn = np.asarray(drawn)
    return bool(
        np.abs(drawn.mean(axis=0) - answer).max() < 4.5 * (drawn.std(axis=0) / math.sqrt(DRAWS)).max()
    )


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda: BayesNetClassifier(STRUCTURE), ["sign"]),
        (lambda: BayesNetClassifier(STRUCTURE), []),
        (lambda: BayesNetClassifier(None, strength=0.0, class_prior="uniform"), ["cause"]),
        (lambda: SlidingWindow(BayesNetClassifier(STRUCTURE, half_life=40.0), 50), ["cause", "echo"]),
    ],
)
def test_draws_weighed_by_the_event_and_labels_simulated_have_the_answer_as_mean(
    make: Any, missing: list[str]
) -> None:
    model, rng = make(), np.random.default_rng(2)
    for x, y in events(70):
        model.learn_one(x, y)
    x = {"cause": "a", "sign": "q", "echo": "Q", "size": 0.3, "other": 1}
    x = {name: value for name, value in x.items() if name not in missing}
    answer = np.array(list(model.joint_log_likelihood(x).values()))
    drawn = [list(model.draw(rng).joint_log_likelihood(x).values()) for _ in range(DRAWS)]
    assert is_mean(np.exp(np.array(drawn) - answer), 1.0)
    labels = [model.simulate_one(x, 1, rng)[0] == "p" for _ in range(DRAWS)]
    p = model.predict_proba_one(x)["p"]
    assert abs(np.mean(labels) - p) < 4.0 * math.sqrt(p * (1.0 - p) / DRAWS)


def test_a_world_is_drawn_given_the_event_and_the_doubt_about_it_is_in_the_number_of_a_value() -> None:
    model, rng, n = BayesNet({"hidden": [], "seen": ["hidden"]}), np.random.default_rng(0), 50
    for hidden, seen in [("a", "x"), ("a", "y"), ("b", "y")]:
        model.learn_one({"hidden": hidden, "seen": seen})
    columns = [model.simulate_one({"seen": "y"}, n, rng) for _ in range(300)]
    assert all(set(each["seen"]) == {"y"} for each in columns)
    shares = np.array([each["hidden"].count("a") for each in columns]) / n
    answer = model.query("hidden", {"seen": "y"})["a"]
    assert abs(shares.mean() - answer) < 4.0 * shares.std() / math.sqrt(len(columns))
    assert shares.std() > 3.0 * math.sqrt(answer * (1.0 - answer) / n)
    # The event itself counts in its world, with the value that it lacks by its probabilities.
    network, engine = model.live.network(), model.live.engine()
    worlds = [world_given(network, engine, {"seen": "y"}, rng).tables for _ in range(600)]
    assert np.mean([each["hidden"][0] for each in worlds]) == pytest.approx((2.5 + answer) / 5.0, abs=0.03)
    assert np.mean([each["seen"][0, 1] for each in worlds]) == pytest.approx(
        answer * 2.5 / 4.0 + (1.0 - answer) * 0.5, abs=0.03
    )


def test_draws_are_networks_that_later_learning_does_not_change() -> None:
    model = BayesNetClassifier(STRUCTURE)
    rows = events(60)
    for x, y in rows:
        model.learn_one(x, y)
    first, second = (model.draw(np.random.default_rng(3)) for _ in range(2))
    before = [first.predict_proba_one(x) for x, _ in rows[:5]]
    for x, _ in rows:
        model.learn_one({**x, "sign": "new"}, "third")
    assert [second.predict_proba_one(x) for x, _ in rows[:5]] == before
    assert first.classes_ == ("p", "q")
    network = first.to_network()
    assert isinstance(network, DiscreteNetwork)
    assert dict(Inference(network).query("class")) == first.class_prior_
    assert first.conditional("cause", {"class": "p"}) == dict(
        Inference(network).query("cause", {"class": "p"})
    )


def test_what_was_given_is_certain_and_a_network_given_beforehand_is_a_prior() -> None:
    coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["head", "tail"]}, {"coin": [0.5, 0.5]})
    model, rng = BayesNet(network=coin, network_weight=40.0), np.random.default_rng(0)
    heads = [model.draw(rng).tables["coin"][0] for _ in range(300)]
    assert np.std(heads) == pytest.approx(math.sqrt(0.25 / 41.0), rel=0.15)
    classifier = BayesNetClassifier(None, class_prior={"p": 0.25, "q": 0.75})
    classifier.learn_one({"sign": "s"}, "p")
    assert classifier.draw(rng).class_prior_ == pytest.approx({"p": 0.25, "q": 0.75})


def test_what_cannot_be_drawn_says_why() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(NoValueKnown, match="no class is known"):
        BayesNetClassifier(STRUCTURE).draw(rng)
    model = BayesNet({"rain": [], "lawn": ["rain"]})
    with pytest.raises(NoValueKnown, match="'lawn', 'rain' is known yet"):
        model.draw(rng)
    model.learn_one({"rain": "yes", "lawn": "wet"})
    with pytest.raises(UnknownFeature, match="'snow'"):
        model.simulate_one({"snow": 1}, 3, rng)


# --- names and numbers ---

MIXED = {"kind": [], "size": ["kind"], "price": ["size", "kind"], "sold": ["price"]}


def homes(number: int) -> list[dict[str, Any]]:
    source, rows = random.Random(number), []
    for _ in range(number):
        kind = source.choice(["flat", "house", "house"])
        size = source.gauss(2.0 if kind == "flat" else 4.0, 1.0)
        price = size * (3.0 if kind == "flat" else 2.0) + source.gauss(0.0, 0.5)
        sold = "yes" if source.random() < (0.8 if price < 7.0 else 0.3) else "no"
        rows.append({"kind": kind, "size": size, "price": price, "sold": sold})
    return rows


def of_homes(number: int) -> MixedNetwork:
    schema = Schema({"kind": Nominal(), "size": Numeric(), "price": Numeric(cuts=[7.0]), "sold": Nominal()})
    model = MixedNetwork(MIXED, schema=schema)
    model.learn_many(homes(number))
    return model


def test_draws_of_names_and_numbers_have_the_density_of_an_event_as_mean() -> None:
    model, draws = of_homes(40), 300
    x: dict[Any, Any] = {"kind": "flat", "size": 2.5, "price": 8.0, "sold": "no"}
    worlds = [DrawnFamilies(model.store, 1.0, seed, generator_of) for seed in range(draws)]
    drawn = np.exp([MixedInference(each).log_density(x) - model.log_density_one(x) for each in worlds])
    assert abs(drawn.mean() - 1.0) < 4.0 * drawn.std() / math.sqrt(draws)
    assert drawn.std() > 0.2
    # The variance of a mean at some numbers grows with how far out these are.
    family = model.families.numeric("price", x)
    mean, away = family.mean_at([9.0])
    means = [each.numeric("price", x).mean_at([9.0])[0] for each in worlds]
    expected = family.factor[-1] ** 2 / (family.freedom - 1.0) * (1.0 / family.weight + away)
    assert np.mean(means) == pytest.approx(mean, abs=4.0 * math.sqrt(expected / draws))
    assert np.var(means) == pytest.approx(expected, rel=0.35)


def test_a_drawn_network_is_the_same_whatever_is_read_first_and_learned_later() -> None:
    model, x = of_homes(30), {"kind": "house", "size": 3.0, "price": 6.0, "sold": "yes"}
    one, other = (model.draw(np.random.default_rng(5)) for _ in range(2))
    density, mean = one.log_density_one(x), other.query("price", {"kind": "flat", "size": 1.0}).mean
    model.learn_many(homes(50))
    assert other.log_density_one(x) == density
    assert one.query("price", {"kind": "flat", "size": 1.0}).mean == mean
    assert other.sample(3, np.random.default_rng(1)) == one.sample(3, np.random.default_rng(1))


def test_events_are_simulated_in_one_world_that_the_event_allows() -> None:
    model, rng = of_homes(20), np.random.default_rng(4)
    worlds = [[e["price"] for e in model.simulate_one({"kind": "flat"}, 12, rng)] for _ in range(40)]
    means = np.mean(worlds, axis=1)
    error = means.std() / math.sqrt(len(worlds))
    assert means.mean() == pytest.approx(model.query("price", {"kind": "flat"}).mean, abs=4.0 * error)
    # In one world the events share the doubt about the tables.
    assert means.var() > 1.5 * np.var(worlds, axis=1).mean() / 12
    below = {"price": 6.0, "sold": "yes"}
    kinds = [
        event["kind"]
        for _ in range(30)
        for event in model.simulate_one(below, 1, rng)
        if below.items() <= event.items()
    ]
    share = model.query("kind", below)["flat"]
    assert kinds.count("flat") / 30 == pytest.approx(share, abs=4.0 * math.sqrt(share * (1.0 - share) / 30))
    with pytest.raises(BadValue, match="was never learned"):
        model.simulate_one({"kind": "boat"}, 1, rng)
    with pytest.raises(NoValueKnown):
        MixedNetwork(MIXED).simulate_one({}, 1, rng)
