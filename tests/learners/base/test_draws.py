"""Draws of tables: their mean is the answer, their spread that of the second look, and nothing else changes them."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from stream_bayes import (
    A2DE,
    AODE,
    KDB,
    LDA,
    ODE,
    QDA,
    SPODE,
    TAN,
    AdaptiveBayes,
    BayesNetClassifier,
    BernoulliNB,
    ComplementNB,
    DriftAdaptive,
    GaussianNB,
    HalfLifeChoice,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    SlidingWindow,
)
from stream_bayes.core.draws.drawn_tables import log_terms
from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.learners.base.draws import log_prior_of

EACH: dict[str, Any] = {
    "naive Bayes": NaiveBayes,
    "spread": lambda: NaiveBayes(prior="m-estimate", class_prior="uniform", half_life=40.0),
    "shared variance": lambda: NaiveBayes(variance="both"),
    "bins": lambda: NaiveBayes(numbers="bins", strength=0.3),
    "ODE": lambda: ODE(parents={"f1": "f0", "n0": "f1", "f2": "n1"}),
    "TAN": TAN,
    "KDB": lambda: KDB(k=3),
    "SPODE": SPODE,
    "AODE": lambda: AODE(min_count=5, subsumption=10.0),
    "AODE, weighed": lambda: AODE(
        min_count=1, prior="laplace", class_prior="uniform", weights="mutual-information"
    ),
    "A2DE": lambda: A2DE(min_count=3),
    "LDA": LDA,
    "QDA": lambda: QDA(shrinkage=0.1),
    "window": lambda: SlidingWindow(NaiveBayes(), 60),
}


def events(number: int, names: int = 3, numbers: int = 2, absent: float = 0.2) -> list[Any]:
    source, rows = random.Random(number), []
    for _ in range(number):
        y = source.randrange(3)
        x: dict[str, Any] = {
            f"f{k}": "abcd"[y] if source.random() < 0.4 else source.choice("abcd"[: 2 + k])
            for k in range(names)
        }
        x |= {f"n{k}": source.gauss(y * k, 1 + k) for k in range(numbers)}
        rows.append(({name: value for name, value in x.items() if source.random() >= absent}, "pqr"[y]))
    return rows


def messages(number: int) -> list[Any]:
    source = random.Random(number)
    words = [{w: source.randint(1, 3) for w in "abcdefgh" if source.random() < 0.4} for _ in range(number)]
    return [(x, source.choice("xy")) for x in words]


def taught(model: Any, rows: list[Any]) -> Any:
    for x, y in rows:
        model.learn_one(x, y)
    return model


def log_joint(model: Any, x: Any, tables: Any = None) -> Any:
    posterior = getattr(model, "learner", model).counted_tables()
    tables = posterior if tables is None else tables
    row = model.store.encoder.lookup(x)
    joint = logsumexp(log_terms(posterior.terms(row), tables, row), axis=0)
    return joint if np.isfinite(joint).any() else log_prior_of(posterior, tables)


@pytest.mark.parametrize("name", [*EACH, "words", "words there", "sparse numbers"])
def test_the_tables_at_their_means_give_the_answer(name: str) -> None:
    rows = messages(80) if name.startswith("words") else events(160)
    bags = {"words": MultinomialNB, "words there": BernoulliNB, "sparse numbers": GaussianNB}
    if name == "sparse numbers":
        rows = events(160, names=0, numbers=5, absent=0.7)
    model = taught((EACH | bags)[name](), rows[:-12])
    for x, _ in rows[-12:]:
        answer = list(model.joint_log_likelihood(x).values())
        assert log_joint(model, x).tolist() == pytest.approx(answer, abs=1e-8)


@pytest.mark.parametrize("make", [NaiveBayes, lambda: A2DE(min_count=1), QDA])
def test_labels_are_simulated_as_often_as_the_answer_says(make: Any) -> None:
    model, rng, draws = make(), np.random.default_rng(4), 80
    is_of_numbers = isinstance(model, QDA)
    rows = events(150, names=0 if is_of_numbers else 3, numbers=2 if is_of_numbers else 0, absent=0.0)
    taught(model, rows[:-1])
    shares = model.predict_proba_one(rows[-1][0])
    labels = [model.simulate_one(rows[-1][0], 1, rng)[0] for _ in range(draws)]
    for label, p in shares.items():
        assert abs(labels.count(label) / draws - p) < 4.5 * math.sqrt(p * (1.0 - p) / draws) + 1e-9


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(strength=1e-5),
        BayesNetClassifier({"class": [], "a": ["class"], "b": ["class"]}, strength=1e-5),
    ],
)
def test_a_draw_that_leaves_an_event_no_probability_has_no_weight(model: Any) -> None:
    taught(model, [({"a": "x", "b": "y"}, "p"), ({"a": "y", "b": "x"}, "q")] * 3)
    rng, x = np.random.default_rng(0), {"a": "x", "b": "x"}
    draws = [model.draw(rng) for _ in range(30)]
    joints = [[*draw.joint_log_likelihood(x).values()] for draw in draws]
    assert max(map(max, joints)) < -5.0 and min(map(min, joints)) == -math.inf
    certain = draws[[max(joint) for joint in joints].index(-math.inf)]
    assert certain.predict_proba_one(x) == certain.class_prior_


def test_equal_sources_give_equal_draws_which_later_learning_does_not_change() -> None:
    model = taught(AODE(min_count=1), events(60))
    first, second, other = (model.draw(np.random.default_rng(seed)) for seed in (5, 5, 6))
    probes = [x for x, _ in events(12)]
    before = [first.predict_proba_one(x) for x in probes]
    assert before != [other.predict_proba_one(x) for x in probes]
    taught(model, [({"f0": "new", "f9": "a", "n0": 70.0}, "a class")] * 40)
    model.unlearn_one(*events(60)[0])
    # The order in which tables are first read changes nothing either.
    assert [second.predict_proba_one(x) for x in reversed(probes)][::-1] == before
    assert [first.predict_proba_one(x) for x in probes] == before


def test_the_number_of_a_label_varies_by_the_doubt_about_the_tables() -> None:
    model, rng = NaiveBayes(), np.random.default_rng(0)
    taught(model, [({"sky": "grey"}, "rain"), ({"sky": "grey"}, "dry")] * 5)
    counts = [model.simulate_one({"sky": "grey"}, 100, rng).count("rain") for _ in range(400)]
    # Given x: Beta(6, 6) of the classes, with P(grey | y) = Beta(6, 1) of each near its mean; binomial beside it.
    assert np.std(counts) == pytest.approx(100 * math.sqrt(0.25 / 13 + 0.25 / 100), rel=0.15)


def test_small_shapes_and_empty_models_draw_probabilities() -> None:
    rng = np.random.default_rng(0)
    model = taught(NaiveBayes(strength=1e-6), [({"a": v}, y) for v, y in zip("xyz", "ppq", strict=True)])
    for _ in range(50):
        draw = model.draw(rng)
        assert math.fsum(draw.conditional("a", {"class": "q"}).values()) == pytest.approx(1.0)
        assert math.fsum(draw.predict_proba_one({"a": "x"}).values()) == pytest.approx(1.0)
    assert NaiveBayes().draw(rng).predict_proba_one({"a": "x"}) == {}
    with pytest.raises(NotSupported, match="learned no event"):
        NaiveBayes().simulate_one({}, 3, rng)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (LiveChoice(), "mixes the answers"),
        (AdaptiveBayes(), "mixes the answers"),
        (HalfLifeChoice(NaiveBayes(), [10.0, 20.0]), "mixes the answers"),
        (DriftAdaptive(LiveChoice()), "LiveChoice has no draws"),
        (ComplementNB(), "no probability of the event"),
        (GaussianNB(predictive="plug-in"), "certain of means and variances"),
        (QDA(predictive="plug-in"), "certain of means and variances"),
    ],
)
def test_what_has_no_draws_says_why(model: Any, why: str) -> None:
    model.learn_one({"a": 1.0}, "p")
    for ask in (model.draw, lambda rng: model.simulate_one({"a": 1.0}, 2, rng)):
        with pytest.raises(NotSupported, match=why):
            ask(np.random.default_rng(0))


def test_a_source_of_randomness_and_a_number_of_events_are_checked() -> None:
    model = taught(NaiveBayes(), events(5))
    with pytest.raises(BadValue, match="numpy Generator"):
        model.draw(7)
    with pytest.raises(BadValue, match="n must be"):
        model.simulate_one({}, 0, np.random.default_rng(0))
