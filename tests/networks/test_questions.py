"""The same questions, by the same names, to a network, its view, an engine and a classifier; soft evidence in all."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import narwhals as nw
import numpy as np
import pytest

from stream_bayes import BayesNet, BayesNetClassifier, DriftAdaptive
from stream_bayes.errors import BadValue, BudgetExceeded, NoValueKnown, UnknownFeature
from stream_bayes.networks import Inference
from tests.concepts import drawn_network

ROWS = 20 * [("yes", "off", "wet"), ("no", "on", "wet"), ("no", "off", "dry"), ("no", "off", "dry")]
EVENTS = [{"rain": rain, "sprinkler": sprinkler, "lawn": lawn} for rain, sprinkler, lawn in ROWS]
PARENTS = {"rain": [], "sprinkler": ["rain"], "lawn": ["rain", "sprinkler"]}
SOFT = {"lawn": {"wet": 0.9, "dry": 0.2}}
HARD_AS_SOFT = {"lawn": {"wet": 1.0, "dry": 0.0}}


def learned() -> BayesNet:
    model = BayesNet(PARENTS)
    model.learn_many(EVENTS)
    return model


def classifier() -> BayesNetClassifier:
    model = BayesNetClassifier(PARENTS, target="rain")
    model.learn_many([{v: x[v] for v in ("sprinkler", "lawn")} for x in EVENTS], [x["rain"] for x in EVENTS])
    return model


MODELS: dict[str, Any] = {
    "network": learned(),
    "view": learned().view(),
    "engine": Inference(learned().to_network()),
    "classifier": classifier(),
    "view of a classifier": classifier().view(),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_answers_every_question_with_soft_evidence(name):
    model, truth = MODELS[name], learned().to_network()
    if "classifier" in name:
        truth = classifier().to_network()
    weighed: dict[tuple[str, str, str], float] = {}
    for rain in ("yes", "no"):
        for sprinkler in ("off", "on"):
            for lawn in ("wet", "dry"):
                x = {"rain": rain, "sprinkler": sprinkler, "lawn": lawn}
                p = math.prod(truth.probability(v, x[v], x) for v in PARENTS)
                weighed[rain, sprinkler, lawn] = p * SOFT["lawn"][lawn]
    total = math.fsum(weighed.values())
    rainy = math.fsum(p for row, p in weighed.items() if row[0] == "yes") / total
    likeliest = max(weighed.items(), key=lambda row_and_weight: row_and_weight[1])[0]
    best = dict(zip(PARENTS, likeliest, strict=True))
    assert model.query("rain", SOFT)["yes"] == pytest.approx(rainy)
    assert model.marginals(SOFT)["rain"]["yes"] == pytest.approx(rainy)
    assert model.probability_of_evidence(SOFT) == pytest.approx(total)
    assert dict(model.most_probable(SOFT)) == dict(model.mpe(SOFT)) == model.map_query(None, SOFT) == best
    assert model.map_query(["rain"], SOFT) == {"rain": "yes" if rainy > 0.5 else "no"}
    assert model.map_query(None, {"lawn": "dry", "rain": None}).keys() == {"rain", "sprinkler"}
    if name != "engine":
        done = Inference(model.do({"lawn": "wet"}))
        assert done.query("rain")["yes"] == pytest.approx(model.query("rain")["yes"])


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.FeaturesIgnored")
@pytest.mark.parametrize("name", ["network", "view"])
def test_scores_and_predictions_of_events_take_soft_evidence(name):
    model = MODELS[name]
    assert model.log_likelihood_one(SOFT) == pytest.approx(math.log(model.probability_of_evidence(SOFT)))
    assert model.score_one({"rain": "yes", **HARD_AS_SOFT}) == pytest.approx(
        model.score_one({"rain": "yes", "lawn": "wet"})
    )
    assert model.log_likelihood_one({"other": 1, **SOFT}) == pytest.approx(model.log_likelihood_one(SOFT))
    novel = model.log_likelihood_one({"rain": "hail", **SOFT})
    assert -math.inf < novel < model.log_likelihood_one(SOFT)
    for_lawn = model.predict_proba_one(SOFT, "rain")
    assert for_lawn == pytest.approx(dict(model.query("rain", SOFT)))
    assert model.predict_proba([SOFT, {"lawn": "wet"}], "rain")[0] == pytest.approx(for_lawn)
    why = model.explain_one({"rain": "yes", **SOFT})
    assert why.total == pytest.approx(model.score_one({"rain": "yes", **SOFT}))
    assert why["lawn"] == pytest.approx(
        -math.log(sum(p * SOFT["lawn"][lawn] for lawn, p in model.query("lawn", {"rain": "yes"}).items()))
    )


def test_marginals_have_the_intervals_of_single_queries():
    for name in ("network", "view", "classifier", "view of a classifier"):
        model = MODELS[name]
        for variable, answer in model.marginals(SOFT, level=0.9).items():
            single = model.query(variable, SOFT, level=0.9).intervals
            assert {label: pytest.approx(pair) for label, pair in single.items()} == answer.intervals
        assert model.marginals()["rain"].intervals is None
        with pytest.raises(BadValue, match="level lies between 0 and 1"):
            model.marginals(SOFT, level=95)
    for name in ("network", "view"):
        model = MODELS[name]
        with pytest.raises(BadValue, match="evidence on 'rain'"):
            model.marginals({"rain": "hail"}, level=0.9)


def test_a_variable_that_came_after_the_view_is_refused_with_what_to_do():
    model = BayesNet("learn")
    model.learn_many(EVENTS)
    view = model.view()
    model.learn_one({**EVENTS[0], "late": "x"})
    assert model.query("rain", {"late": "x"})
    for ask in (lambda: view.query("rain", {"late": "x"}), lambda: view.query("late")):
        with pytest.raises(UnknownFeature, match=r"no variable 'late'.*as of event 80.*make a new view"):
            ask()
    assert sum(view.query("rain").values()) == pytest.approx(1.0)


@pytest.mark.parametrize("strength", [0, 1])
def test_a_classifier_is_as_uncertain_as_the_network_of_the_same_counts(strength):
    network = BayesNet(PARENTS, strength=strength)
    network.learn_many(EVENTS)
    same = BayesNetClassifier(PARENTS, target="rain", strength=strength)
    same.learn_many([{v: x[v] for v in ("sprinkler", "lawn")} for x in EVENTS], [x["rain"] for x in EVENTS])
    questions: list[tuple[Any, Any]] = [
        ("rain", {"lawn": "wet"}),
        ("lawn", {"rain": "yes"}),
        (["lawn", "rain"], SOFT),
    ]
    for targets, evidence in questions:
        own, other = (model.query(targets, evidence, level=0.95) for model in (same, network))
        assert own.intervals is not None and other.intervals is not None
        assert dict(own) == pytest.approx(dict(other)) and own.intervals.keys() == other.intervals.keys()
        for label, pair in own.intervals.items():
            assert pair == pytest.approx(other.intervals[label])
            assert pair[0] <= own[label] <= pair[1]


def test_a_classifiers_view_refuses_a_variable_that_came_after_it_and_gives_intervals():
    model = BayesNetClassifier(target="rain")
    model.learn_one({"lawn": "wet"}, "yes")
    model.learn_one({"lawn": "dry"}, "no")
    view = model.view()
    model.learn_one({"lawn": "wet", "late": "x"}, "yes")
    with pytest.raises(UnknownFeature, match=r"'late'.*as of event 2.*make a new view"):
        view.query("rain", {"late": "x"})
    low, high = view.predict_interval_one({"lawn": "wet"})["yes"]
    assert low < view.predict_proba_one({"lawn": "wet"})["yes"] < high


def test_a_structure_that_grows_names_the_window_among_what_a_budget_pays_for():
    for kind in (BayesNet, BayesNetClassifier):
        with pytest.raises(BudgetExceeded, match="window"):
            kind("learn", memory_budget=1000)


def test_a_network_that_drifts_explains_its_scores():
    model = DriftAdaptive(BayesNet(PARENTS))
    model.learn_many(EVENTS)
    why = model.explain_one({"rain": "yes", "sprinkler": "on"})
    assert why.total == pytest.approx(model.score_one({"rain": "yes", "sprinkler": "on"}))


def test_a_classifier_without_a_class_answers_nothing():
    with pytest.raises(NoValueKnown):
        BayesNetClassifier(PARENTS, target="rain").query("rain")


def test_entropy_and_mutual_information_follow_from_the_joint_distribution() -> None:
    network = drawn_network(4, 7)
    inference = Inference(network)
    joint = inference.query(["v0", "v3"], {"v2": network.states["v2"][0]})
    shares = np.array(list(joint.values())).reshape(3, 3)
    expected = (shares * np.log(shares / (shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)))).sum()
    evidence = {"v2": network.states["v2"][0]}
    assert inference.mutual_information("v0", "v3", evidence) == pytest.approx(expected)
    assert inference.entropy(["v0", "v3"], evidence) == pytest.approx(-(shares * np.log(shares)).sum())
    assert inference.mutual_information("v0", "v0") == pytest.approx(inference.entropy("v0"))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_is_a_frame_with_a_line_for_each_cell(library: Any) -> None:
    pytest.importorskip(library)
    model = BayesNet([("rain", "lawn")], strength=0)
    for rain, lawn in [(True, "wet"), (False, "dry"), (False, "wet"), (False, "dry")]:
        model.learn_one({"rain": rain, "lawn": lawn})
    frame = nw.from_native(model.cpt("lawn").to_frame(library), eager_only=True)
    assert frame.columns == ["rain", "lawn", "probability"]
    assert frame.filter(nw.col("rain") & (nw.col("lawn") == "wet"))["probability"].to_list() == [1.0]
    clash = BayesNet({"probability": []})
    clash.learn_one({"probability": "x"})
    with pytest.raises(BadValue, match="names that differ"):
        clash.cpt("probability").to_frame(library)


def test_rows_are_drawn_from_the_distribution_given_evidence() -> None:
    model, rng = learned(), np.random.default_rng(2)
    evidence = {"lawn": {"wet": 0.9, "dry": 0.2}, "sprinkler": "off"}
    columns = model.sample(4000, rng, evidence)
    assert set(columns["sprinkler"]) == {"off"}
    expected = model.query(["rain", "lawn"], evidence)
    drawn = Counter(zip(columns["rain"], columns["lawn"], strict=True))
    for values, share in expected.items():
        assert drawn[values] / 4000 == pytest.approx(share, abs=0.03)
    assert columns["rain"][:50].count("yes") not in (0, 50)  # rows that are alike are not together
    done = model.view().sample(2000, rng, None, {"lawn": "wet"})
    assert set(done["lawn"]) == {"wet"}
    assert done["rain"].count("yes") / 2000 == pytest.approx(model.query("rain")["yes"], abs=0.04)
    with pytest.raises(UnknownFeature):
        model.sample(3, rng, {"nope": 1})
