"""A name or label that does not exist is refused, with the nearest one: it must never change an answer silently."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BayesNet,
    BayesNetClassifier,
    DriftAdaptive,
    DynamicNetwork,
    HiddenMarkov,
    MarkovChain,
    MixedNetwork,
    Nominal,
    Schema,
    plots,
)
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    FeaturesIgnored,
    NeverMet,
    NoValueKnown,
    StreamBayesError,
    UnknownFeature,
)
from stream_bayes.networks import (
    PC,
    Difference,
    DiscreteNetwork,
    ExactSearch,
    HillClimbing,
    Inference,
    K2Search,
    Structure,
    chow_liu_tree,
    edge_confidence,
    g_test,
    sample_of,
    score,
    tan_structure,
    write_bif,
)
from stream_bayes.networks.pictures import drawn_network
from stream_bayes.saving.river.catalogue import make_adaptive

PARENTS: dict[str, list[str]] = {"cause": [], "effect": ["cause"], "other": []}
RNG = np.random.default_rng(1)
CAUSE = RNG.integers(0, 2, 400).tolist()
ROWS = {
    "cause": [("yes", "no")[c] for c in CAUSE],
    "effect": [("wet", "dry")[int(c ^ (u < 0.1))] for c, u in zip(CAUSE, RNG.random(400), strict=True)],
    "other": [("on", "off")[int(u < 0.5)] for u in RNG.random(400)],
}
EVENTS = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
SAMPLE = sample_of(ROWS)


def model(**settings: Any) -> BayesNet:
    made = BayesNet(PARENTS, **settings)
    made.learn_many(EVENTS)
    return made


def classifier() -> BayesNetClassifier:
    made = BayesNetClassifier({"cause": [], "effect": ["cause"], "other": []}, target="cause")
    for event in EVENTS:
        made.learn_one({k: v for k, v in event.items() if k != "cause"}, event["cause"])
    return made


def learn_each(asked: BayesNet) -> None:
    for event in EVENTS:
        asked.learn_one(event)


def network() -> DiscreteNetwork:
    return model().to_network()


NAMES: dict[str, Callable[[], Any]] = {
    "tiers": lambda: HillClimbing(tiers=[["cause"], ["Effect"]]).search(SAMPLE),
    "required": lambda: HillClimbing(required=[("cause", "Effect")]).search(SAMPLE),
    "forbidden": lambda: HillClimbing(forbidden=[("cause", "Effect")]).search(SAMPLE),
    "required of PC": lambda: PC(required=[("cause", "Effect")]).search(SAMPLE),
    "forbidden of PC": lambda: PC(forbidden=[("cause", "Effect")]).search(SAMPLE),
    "order": lambda: K2Search(["cause", "Effect", "other"]).search(SAMPLE),
    "confidence": lambda: edge_confidence(SAMPLE, HillClimbing(tiers=[["Effect"]]), 2, RNG),
    "root": lambda: chow_liu_tree(SAMPLE, root="Effect"),
    "label of TAN": lambda: tan_structure(SAMPLE, "Effect"),
    "root of TAN": lambda: tan_structure(SAMPLE, "cause", root="Effect"),
    "test": lambda: g_test(SAMPLE, "cause", "Effect"),
    "given of a test": lambda: g_test(SAMPLE, "cause", "other", ["Effect"]),
    "score": lambda: score(Structure({"Effect": []}), SAMPLE),
    "growing tiers": lambda: BayesNet(
        "learn", schema=Schema({v: Nominal() for v in ROWS}), search=HillClimbing(tiers=[["Effect"]])
    ),
    "growing required": lambda: BayesNet(
        "learn",
        schema=Schema({v: Nominal() for v in ROWS}),
        search=HillClimbing(required=[("cause", "Effect")]),
    ),
    "growing classifier": lambda: BayesNetClassifier(
        target="other",
        schema=Schema({"cause": Nominal(), "effect": Nominal()}),
        search=HillClimbing(forbidden=[("cause", "Effect")]),
    ),
    "exact search": lambda: ExactSearch(required=[("cause", "Effect")]).search(SAMPLE),
    "search after drift": lambda: DriftAdaptive(model(), search=HillClimbing(tiers=[["Effect"]])),
    "search of a pipeline after drift": lambda: make_adaptive(
        BayesNetClassifier("learn", target="other", schema=Schema({"cause": Nominal(), "effect": Nominal()})),
        arguments={"search": {"forbidden": [["cause", "Effect"]]}},
    ),
    "schema": lambda: BayesNet({"Effect": []}, schema=Schema({"effect": Nominal()})),
    "target of a query": lambda: model().query("Effect"),
    "targets of a query": lambda: model().query(["cause", "Effect"]),
    "variables of a map query": lambda: model().map_query(["Effect"]),
    "evidence": lambda: model().query("cause", {"Effect": "wet"}),
    "missing evidence": lambda: model().query("cause", {"Effect": None}),
    "soft evidence": lambda: model().query("cause", {"Effect": {"wet": 1, "dry": 0}}),
    "evidence of marginals": lambda: model().marginals({"Effect": "wet"}),
    "evidence of the most probable": lambda: model().most_probable({"Effect": "wet"}),
    "evidence of a probability": lambda: model().probability_of_evidence({"Effect": "wet"}),
    "variable to predict": lambda: model().predict_proba_one(EVENTS[0], "Effect"),
    "variable to predict in rows": lambda: model().predict_proba(EVENTS[:2], "Effect"),
    "hidden variables": lambda: model().predict_proba_one(EVENTS[0], "cause", hidden=["Effect"]),
    "table": lambda: model().cpt("Effect"),
    "intervention": lambda: model().do({"Effect": "wet"}),
    "view": lambda: model().view().query("Effect"),
    "engine's target": lambda: Inference(network()).query("Effect"),
    "engine's evidence": lambda: Inference(network()).marginals({"Effect": "wet"}),
    "engine's tables": lambda: Inference(network()).update({"Effect": [0.5, 0.5]}),
    "engine's blanket": lambda: Inference(network()).blanket_scores("Effect", [[0, 0, 0]]),
    "network's intervention": lambda: network().do({"Effect": "wet"}),
    "network's probability": lambda: network().probability("effect", "wet", {"cause": "yes", "Effect": 1}),
    "network's table": lambda: network().probability("Effect", "wet"),
    "parents": lambda: Structure({"a": ["Effect"], "effect": []}),
    "separation": lambda: Structure(PARENTS).d_separated("cause", "Effect"),
    "edge to add": lambda: Structure(PARENTS).with_edge("other", "Effect"),
    "classifier's target": lambda: BayesNetClassifier(PARENTS, target="Effect"),
    "classifier's query": lambda: classifier().query("Effect"),
    "classifier's evidence": lambda: classifier().query("other", {"Effect": "wet"}),
    "classifier's conditional": lambda: classifier().conditional("Effect"),
    "drawn evidence": lambda: plots.network(network(), {"Effect": "wet"}),
    "drawn difference": lambda: drawn_network(
        network(), difference=Difference(removed=(("other", "Effect"),))
    ),
}


@pytest.mark.parametrize("where", NAMES)
def test_a_name_that_does_not_exist_is_refused_with_the_nearest_one(where: str) -> None:
    with pytest.raises(StreamBayesError, match="did you mean 'effect'"):
        NAMES[where]()


LABELS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "query": lambda e: model().query("cause", e),
    "query with unseen ignored": lambda e: model(unseen="ignore").query("cause", e),
    "query with intervals": lambda e: model().query("cause", e, level=0.9),
    "marginals": lambda e: model().marginals(e),
    "most probable": lambda e: model().most_probable(e),
    "map query": lambda e: model().map_query(["cause"], e),
    "probability": lambda e: model().probability_of_evidence(e),
    "view": lambda e: model().view().query("cause", e),
    "intervention": lambda e: model().do(e),
    "engine": lambda e: Inference(network()).query("cause", e),
    "engine's most probable": lambda e: Inference(network()).most_probable(e),
    "network's intervention": lambda e: network().do(e),
    "network's probability": lambda e: (
        network().probability("cause", "yes") + network().probability("effect", e["effect"], {"cause": "yes"})
    ),
    "classifier": lambda e: classifier().query("cause", e),
    "classifier's marginals": lambda e: classifier().marginals(e),
    "classifier's most probable": lambda e: classifier().most_probable(e),
    "classifier's probability": lambda e: classifier().probability_of_evidence(e),
    "classifier's intervention": lambda e: classifier().do(e),
}


@pytest.mark.parametrize("where", LABELS)
def test_a_label_that_does_not_exist_is_refused_with_the_nearest_one(where: str) -> None:
    LABELS[where]({"effect": "wet"})
    with pytest.raises(BadValue, match=r"'effect': expected one of .*got 'Wet'; did you mean 'wet'"):
        LABELS[where]({"effect": "Wet"})


def test_events_with_new_values_are_still_scored_and_predicted_from() -> None:
    found = model()
    event = {"cause": "maybe", "effect": "wet"}
    assert found.predict_proba_one(event, "other") == pytest.approx(dict(found.query("other")))
    assert found.log_likelihood_one(event) < found.log_likelihood_one({"effect": "wet"})
    soft = {"cause": "maybe", "effect": {"wet": 0.5, "dry": 1.0}}
    assert found.log_likelihood_one(soft) < found.log_likelihood_one({"effect": soft["effect"]})
    with pytest.raises(BadValue, match="never learned"):
        model(unseen="error").predict_proba_one(event, "effect")


def test_a_name_that_may_come_yet_is_warned_of_once_with_the_nearest_one() -> None:
    growing = BayesNet("learn", search=HillClimbing(tiers=[["cause"], ["Effect"]]))
    with pytest.warns(NeverMet, match=r"'Effect'.*did you mean 'effect'") as caught:
        growing.learn_many(EVENTS)
    assert len(caught) == 1
    assert growing.structure.edges


MISSPELT: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "network learns": lambda x: BayesNet(PARENTS).learn_one(x),
    "network predicts": lambda x: model().predict_proba_one(x, "cause"),
    "network scores": lambda x: model().score_one(x),
    "network explains": lambda x: model().explain_one(x),
    "mixed network learns": lambda x: MixedNetwork(PARENTS).learn_one(x),
    "mixed network predicts": lambda x: mixed().predict_proba_one(x, "cause"),
    "mixed network scores": lambda x: mixed().score_one(x),
    "mixed network explains": lambda x: mixed().explain_one(x),
    "growing mixed network learns": lambda x: MixedNetwork(
        schema=Schema({v: Nominal() for v in ROWS})
    ).learn_one(x),
    "network over time learns": lambda x: DynamicNetwork(
        {"cause": [1]}, {"cause": ["cause@-1"], "effect": ["cause"]}
    ).learn_one(x),
}


def mixed() -> MixedNetwork:
    made = MixedNetwork(PARENTS)
    made.learn_many(EVENTS)
    return made


@pytest.mark.parametrize("way", MISSPELT)
def test_a_feature_that_no_variable_takes_is_warned_of_with_the_nearest_one(way: str) -> None:
    with pytest.warns(FeaturesIgnored, match="'Effect'.*; did you mean 'effect'") as caught:
        MISSPELT[way]({"other": "on", "Effect": "wet"})
    assert len(caught) == 1


def test_an_event_without_any_variable_is_not_judged() -> None:
    for judged in (model(), mixed()):
        for judge in (judged.score_one, judged.explain_one, judged.score_learn_one):
            with pytest.raises(UnknownFeature, match="none of the network's variables"):
                judge({"Effect": "wet"})
        assert judged.score_one({}) == judged.score_one({"effect": None}) == 0.0


@pytest.mark.parametrize(
    "absent",
    [MarkovChain("Effect"), HiddenMarkov(["other", "Effect"])],
    ids=lambda learner: type(learner).__name__,
)
def test_a_variable_that_no_event_has_is_named_after_a_hundred(absent: Any) -> None:
    with pytest.warns(
        NeverMet, match=r"none of 100 events had \['Effect'\].*did you mean 'effect'"
    ) as caught:
        absent.learn_many(EVENTS)
    assert len(caught) == 1


def test_a_variable_that_no_labelled_event_has_is_named_after_a_thousand() -> None:
    asked = BayesNetClassifier({"cause": [], "Effect": ["cause"], "other": []}, target="cause")
    rows, labels = [{k: v for k, v in event.items() if k != "cause"} for event in EVENTS], ROWS["cause"]
    with pytest.warns(NeverMet, match="'Effect' has not come in 1,000 events") as caught:
        asked.learn_many(3 * rows, 3 * labels)
    assert len(caught) == 1


def test_tiers_hold_once_their_variables_have_come() -> None:
    growing = BayesNet("learn", search=HillClimbing(tiers=[["effect"], ["cause", "later"]]))
    with pytest.warns(NeverMet, match="'later'"):
        growing.learn_many(EVENTS)
    assert ("effect", "cause") in growing.structure.edges


@pytest.mark.parametrize("path", ["x.xdsl", "x.net", "x", "x.bif.zip", "x.BIFXML"])
def test_only_files_of_the_format_are_written(path: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"ends in \.bif or \.bif\.gz"):
        write_bif(network(), tmp_path / path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "search",
    [
        HillClimbing(forbidden=[("cause", "effect")]),
        HillClimbing(tiers=[["effect"], ["cause"]]),
        HillClimbing(required=[("effect", "cause")]),
    ],
    ids=["forbidden", "tiers", "required"],
)
def test_an_edge_that_may_not_be_has_no_confidence(search: HillClimbing) -> None:
    found = edge_confidence(SAMPLE, search, 10, np.random.default_rng(1))
    assert ("cause", "effect") not in found
    assert found["effect", "cause"] == 1.0


def test_directions_that_follow_from_constraints_count_whole() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 2000)
    b, c = (np.where(rng.random(2000) < 0.1, 1 - a, a) for _ in range(2))
    rows = sample_of({"a": a.tolist(), "b": b.tolist(), "c": c.tolist()})
    found = edge_confidence(rows, HillClimbing(required=[("b", "a")]), 10, np.random.default_rng(1))
    assert found["b", "a"] == 1.0 and found["a", "c"] == 1.0 and ("c", "a") not in found


def test_a_hidden_variable_without_declared_values_is_refused() -> None:
    hidden = {"type": [], "cause": ["type"], "effect": ["type"], "other": []}
    for missing in ("window-em", "stepwise-em"):
        asked = BayesNet(hidden, missing=missing)
        before = asked.state()["checksum"]
        with pytest.raises(NoValueKnown, match=r"no event has \['type'\]; .*declare how many values"):
            asked.learn_many(EVENTS)
        assert asked.state()["checksum"] == before
        with pytest.warns(NeverMet, match="nothing is learned of it"):
            learn_each(asked)
    windowed = BayesNet(hidden, missing="window-em", window=50)
    windowed.learn_one(EVENTS[0])
    with pytest.raises(NoValueKnown, match="declare how many values"):
        windowed.run_em()
    declared = Schema({"type": Nominal([0, 1]), "cause": Nominal(), "effect": Nominal(), "other": Nominal()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesNet(hidden, missing="window-em", schema=declared).learn_many(EVENTS)


def test_a_table_takes_no_other_names_than_parents() -> None:
    with pytest.raises(StreamBayesError, match=r"'Cause'; did you mean 'cause'"):
        model().cpt("effect").interval({"cause": "yes", "Cause": "no"})


def test_a_difference_that_leads_elsewhere_is_not_drawn() -> None:
    with pytest.raises((BadValue, BadStructure), match="difference"):
        drawn_network(network(), difference=Difference(added=(("effect", "other"),)))
