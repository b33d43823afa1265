"""Posteriors of tables, and the evidence of models: against scipy, draws, and the chain of predictions."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes import (
    AODE,
    LDA,
    QDA,
    AdaptiveBayes,
    BayesNet,
    BayesNetClassifier,
    BernoulliNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Schema,
)
from stream_bayes.errors import BadValue, NotSupported, UnknownFeature
from stream_bayes.learners.base.posteriors import NumberPosterior, SharePosterior, log_bayes_factor

FEATURES = {"a": Nominal(["x", "y", "z"]), "b": Nominal(["u", "v"])}
STAR: dict[str, list[str]] = {"c": [], "a": ["c"], "b": ["c"]}
SCHEMA = Schema(FEATURES, classes=["p", "q", "r"])


def events(number: int, absent: float = 0.0) -> list[tuple[dict[str, str], str]]:
    source, rows = random.Random(number), []
    for _ in range(number):
        y = source.choice("pqr")
        x = {
            "a": "xyz"["pqr".index(y)] if source.random() < 0.6 else source.choice("xyz"),
            "b": source.choice("uv"),
        }
        rows.append(({name: value for name, value in x.items() if source.random() >= absent}, y))
    return rows


def taught(model: Any, rows: list[tuple[Any, Any]]) -> Any:
    for x, y in rows:
        model.learn_one(x, y)
    return model


# -- posteriors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(strength=0.5),
        AODE(prior="m-estimate"),
        BayesNetClassifier(STAR, target="c"),
    ],
)
def test_the_posterior_of_a_table_has_its_answer_as_mean(model: Any) -> None:
    taught(model, events(80))
    for y, posterior in model.posterior("a").items():
        given = {model.target_name: y}
        assert posterior.mean == pytest.approx(model.conditional("a", given), abs=1e-12)
        assert posterior == model.posterior("a", given)
        weights = np.array(list(posterior.parameters.values()))
        exact = stats.dirichlet(weights)
        assert list(posterior.variance.values()) == pytest.approx(exact.var().tolist())
        ends = stats.beta(weights[0], weights[1:].sum()).interval(0.8)
        assert posterior.interval(0.8)[next(iter(posterior.mean))] == pytest.approx(ends)
    assert model.posterior(model.target_name).mean == pytest.approx(model.class_prior_)


def test_learners_over_pairs_have_posteriors_given_a_second_feature() -> None:
    model = taught(AODE(), events(80))
    given = {"class": "p", "b": "u"}
    assert model.posterior("a", given).mean == pytest.approx(model.conditional("a", given))
    with pytest.raises(NotSupported, match="counts pairs"):
        model.posterior("a", given | {"c": 1})
    network = taught(BayesNetClassifier({"c": [], "b": ["c"], "a": ["c", "b"]}, target="c"), events(80))
    assert network.posterior("a", {"c": "p", "b": "u"}).mean == pytest.approx(
        network.conditional("a", {"c": "p", "b": "u"})
    )
    with pytest.raises(NotSupported, match="given its parents"):
        network.posterior("a", {"c": "p"})


def test_the_mean_of_a_number_is_where_draws_of_its_prior_and_events_put_it() -> None:
    source = np.random.default_rng(4)
    numbers = source.normal(20.0, 3.0, 12).tolist()
    model = taught(
        GaussianNB(), [*(({"n": n}, "p") for n in numbers), *(({"n": n + 9}, "q") for n in numbers)]
    )
    posterior = model.posterior("n", {"class": "p"})
    every = np.array([*numbers, *(n + 9 for n in numbers)])
    # The prior: 0.1 samples of the mean, one degree of freedom of the variance, of all classes together.
    variances = every.var(ddof=1) / source.chisquare(1.0, 400_000)
    means = source.normal(every.mean(), np.sqrt(variances / 0.1))
    logs = -6.0 * np.log(variances) - 0.5 * sum((n - means) ** 2 for n in numbers) / variances
    weights = np.exp(logs - logs.max())
    assert posterior.mean == pytest.approx(np.average(means, weights=weights), abs=0.05)
    assert posterior.variance == pytest.approx(
        np.average((means - posterior.mean) ** 2, weights=weights), rel=0.1
    )
    order = np.argsort(variances)
    below = np.cumsum(weights[order]) / weights.sum()
    drawn = [math.sqrt(variances[order][np.searchsorted(below, p)]) for p in (0.05, 0.95)]
    assert posterior.deviation_interval(0.9) == pytest.approx(drawn, rel=0.05)
    low, high = posterior.interval(0.9)
    assert low < posterior.mean < high


def test_words_have_posteriors_of_their_shares() -> None:
    rows = [(["cash", "now"], "spam"), (["lunch"], "ham"), (["cash", "cash"], "spam")]
    for model in (MultinomialNB(), BernoulliNB()):
        taught(model, rows)
        posterior = model.posterior("cash", {"class": "spam"})
        assert posterior.mean[True] == pytest.approx(model.conditional("cash", {"class": "spam"}))
        with pytest.raises(UnknownFeature):
            model.posterior("tea")


@pytest.mark.parametrize("make", [LDA, QDA])
def test_the_posterior_of_one_of_many_numbers_predicts_it_as_the_model_does(make: Any) -> None:
    source, model = random.Random(3), make()
    for number in range(30):
        size = source.gauss(number % 2, 1)
        model.learn_one(
            {"size": size, "price": 3 * size + source.gauss(0, 1), "a": "xy"[number % 3 == 0]}, number % 2
        )
    assert model.posterior("a", {"class": 0}).mean == pytest.approx(model.conditional("a", {"class": 0}))
    joint = model.joint_log_likelihood({"price": 1.5})
    for y, posterior in model.posterior("price").items():
        scale = math.sqrt(posterior.scale * (1 + 1 / posterior.weight))
        density = stats.t(posterior.degrees, posterior.location, scale).logpdf(1.5)
        assert joint[y] == pytest.approx(math.log(model.class_prior_[y]) + density)


def test_what_has_no_posterior_is_refused() -> None:
    rows = events(30)
    with pytest.raises(NotSupported, match="plug-in"):
        taught(LDA(predictive="plug-in"), [({"a": 1.0}, "p"), ({"a": 2.0}, "q")]).posterior("a")
    with pytest.raises(NotSupported, match="certain"):
        taught(NaiveBayes(class_prior="uniform"), rows).posterior("class")
    with pytest.raises(BadValue, match="given nothing"):
        taught(NaiveBayes(), rows).posterior("class", {"class": "p"})
    with pytest.raises(NotSupported, match="no table given 'b'"):
        taught(NaiveBayes(), rows).posterior("a", {"b": "u"})
    with pytest.raises(BadValue, match="level lies between"):
        SharePosterior({"a": 1.0}).interval(95)
    assert SharePosterior({"a": 0.0}).mean == {} == SharePosterior({"a": 0.0}).interval()
    assert NumberPosterior(0.0, 1.0, 1.0, 2.0).variance == math.inf


# -- evidence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [{}, {"prior": "m-estimate", "strength": 0.3}, {"class_prior": {"p": 0.2, "q": 0.3, "r": 0.5}}],
)
def test_the_evidence_of_names_is_the_chain_of_predictions(arguments: dict[str, Any]) -> None:
    rows, model, chain = events(60, absent=0.2), NaiveBayes(schema=SCHEMA, **arguments), 0.0
    (x, y), *others = rows
    model.learn_one(x, y)
    chain = model.log_evidence()  # of the first event, before which no answer is given
    share = arguments.get("class_prior", {}).get(y, 1 / 3)
    assert chain == pytest.approx(
        math.log(share) - sum(math.log(len(FEATURES[name].values or ())) for name in x)
    )
    for x, y in others:
        chain += model.joint_log_likelihood(x)[y]
        model.learn_one(x, y)
    assert model.log_evidence() == pytest.approx(chain, abs=1e-9)
    turned = taught(NaiveBayes(schema=SCHEMA, **arguments), rows[:30])
    turned.merge(taught(NaiveBayes(schema=SCHEMA, **arguments), rows[30:]))
    assert turned.log_evidence() == pytest.approx(chain, abs=1e-9)


@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_the_evidence_of_networks_is_the_chain_of_scores_and_weighs_structures(prior: str) -> None:
    schema = Schema({**FEATURES, "c": Nominal(["p", "q", "r"])})
    linked = BayesNet({"c": [], "a": ["c"], "b": ["a", "c"]}, prior=prior, schema=schema)
    apart = BayesNet({"c": [], "a": [], "b": []}, prior=prior, schema=schema)
    chain = 0.0
    for x, y in events(90):
        chain -= linked.score_learn_one({**x, "c": y})
        apart.learn_one({**x, "c": y})
    assert linked.log_evidence() == pytest.approx(chain, abs=1e-9)
    assert log_bayes_factor(linked, apart) == linked.log_evidence() - apart.log_evidence() > 3.0
    classifier = BayesNetClassifier(
        {"c": [], "a": ["c"], "b": ["a", "c"]},
        target="c",
        prior=prior,
        schema=Schema(FEATURES, classes=["p", "q", "r"], target="c"),
    )
    taught(classifier, events(90))
    assert classifier.log_evidence() == pytest.approx(chain, abs=1e-9)


def test_evidence_that_would_not_be_exact_is_refused() -> None:
    rows = events(30)
    schema = Schema({**FEATURES, "c": Nominal(["p", "q", "r"])})
    weighed = NaiveBayes(schema=SCHEMA)
    weighed.learn_one({"a": "x"}, "p", 0.5)
    gaps = BayesNet(STAR, schema=schema)
    for x, y in events(30, absent=0.3):
        gaps.learn_one({**x, "c": y})
    for model, message in [
        (taught(AODE(), rows), "an? AODE has no exact evidence"),
        (taught(NaiveBayes(), rows), "declare all classes"),
        (
            taught(NaiveBayes(schema=Schema({"a": "nominal"}, classes=["p", "q", "r"])), rows),
            "declare all values of 'a'",
        ),
        (taught(NaiveBayes(schema=SCHEMA, strength=0.0), rows), "strength=0"),
        (taught(NaiveBayes(schema=SCHEMA, half_life=9), rows), "fade"),
        (weighed, "not whole"),
        (gaps, "was missing in"),
        (taught(BayesNetClassifier(STAR, target="c"), rows), "declare all classes"),
    ]:
        with pytest.raises(NotSupported, match=message):
            model.log_evidence()
    with pytest.raises(NotSupported, match="have learned 30 and 29"):
        log_bayes_factor(
            taught(NaiveBayes(schema=SCHEMA), rows), taught(NaiveBayes(schema=SCHEMA), rows[:-1])
        )
    with pytest.raises(AttributeError):
        AdaptiveBayes().log_evidence()  # type: ignore[attr-defined]  # a mixture has none
