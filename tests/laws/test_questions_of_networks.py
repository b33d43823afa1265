"""Every network class answers every question with something, or with an error that can be acted on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BayesNet,
    BayesNetClassifier,
    DynamicNetwork,
    HiddenMarkov,
    LatentClass,
    MarkovChain,
    MixedNetwork,
    Nominal,
    Schema,
)
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.errors import BadValue, ImpossibleEvidence, NotLearned, NoValueKnown, UnknownFeature
from stream_bayes.networks import Decision, InfluenceDiagram, Utility

GRAPH: dict[str, list[str]] = {"rain": [], "lawn": ["rain"]}
EVENT = {"rain": "yes", "lawn": "wet"}
OTHER_EVENT = {"rain": "no", "lawn": "dry"}
LAGGED = {"rain": ["rain@-1"], "lawn": ["rain"]}

NETWORKS: dict[str, Callable[[], Any]] = {
    "graph": lambda: BayesNet(GRAPH),
    "unsmoothed": lambda: BayesNet(GRAPH, strength=0),
    "grows": lambda: BayesNet("learn"),
    "fades": lambda: BayesNet(GRAPH, half_life=50),
    "EM": lambda: BayesNet(GRAPH, missing="stepwise-em"),
    "mixed": lambda: MixedNetwork(GRAPH),
    "mixed grows": MixedNetwork,
    "classes": lambda: LatentClass(["rain", "lawn"]),
    "classes of all": LatentClass,
    "dynamic": lambda: DynamicNetwork({"rain": [1]}, LAGGED, strength=0),
    "dynamic grows": lambda: DynamicNetwork({"rain": [1]}),
    "classifier": lambda: BayesNetClassifier(GRAPH, target="rain"),
}
SEQUENCES: dict[str, Callable[[], Any]] = {
    "hidden": lambda: HiddenMarkov(["rain", "lawn"]),
    "chain": lambda: MarkovChain("rain"),
}
ALL = NETWORKS | SEQUENCES

Question = Callable[[Any, dict[str, Any]], Any]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def drawn(model: Any, evidence: dict[str, Any]) -> Any:
    return model.sample(3, rng(), evidence) if isinstance(model, BayesNet) else model.sample(3, rng())


# Questions about the model, with evidence where they take it.
QUESTIONS: dict[str, Question] = {
    "query": lambda model, evidence: model.query("rain", evidence),
    "marginals": lambda model, evidence: model.marginals(evidence),
    "most_probable": lambda model, evidence: model.most_probable(evidence),
    "map_query": lambda model, evidence: model.map_query(["rain"], evidence),
    "entropy": lambda model, evidence: model.entropy("rain", evidence),
    "probability_of_evidence": lambda model, evidence: model.probability_of_evidence(evidence),
    "sample": drawn,
    "simulate_one": lambda model, evidence: model.simulate_one(evidence, 3, rng()),
    "do": lambda model, evidence: model.do(evidence),
    "draw": lambda model, evidence: model.draw(rng()),
    "cpt": lambda model, evidence: model.cpt("rain"),
    "to_network": lambda model, evidence: model.to_network(),
    "view": lambda model, evidence: model.view().query("rain", evidence),
    "most_probable of a view": lambda model, evidence: model.view().most_probable(evidence),
    "sample of a view": lambda model, evidence: model.view().sample(3, rng()),
    "emissions": lambda model, evidence: model.emissions("rain"),
    "forecast_one": lambda model, evidence: (
        model.forecast_one(2) if isinstance(model, MarkovChain) else model.forecast_one(2, variable="rain")
    ),
    "most_probable_path": lambda model, evidence: model.most_probable_path(2),
}
# Those that have the evidence as an argument.
WITH_EVIDENCE = {
    "query", "marginals", "most_probable", "map_query", "entropy", "probability_of_evidence", "view",
    "most_probable of a view", "simulate_one",
}  # fmt: skip
METHOD_OF = {"view": "view", "most_probable of a view": "view", "sample of a view": "view"}


def taught(make: Callable[[], Any], events: list[dict[str, str]]) -> Any:
    model = make()
    for x in events:
        if isinstance(model, BayesNetClassifier):
            model.learn_one({v: value for v, value in x.items() if v != "rain"}, x["rain"])
        else:
            model.learn_one(x)
    return model


def asks(names: Mapping[str, Callable[[], Any]], questions: Any = QUESTIONS) -> list[Any]:
    """Return each class with each of the questions that it has."""
    return [
        pytest.param(name, question, id=f"{name}-{question}")
        for name, make in names.items()
        for question in questions
        if hasattr(made := make(), METHOD_OF.get(question, question))
        and not (
            isinstance(made, BayesNetClassifier) and question in ("cpt", "sample of a view", "simulate_one")
        )
    ]


def says_nothing(answer: Any) -> bool:
    """Return True for an answer that holds None, or nothing at all."""
    if isinstance(answer, Mapping):
        return not answer or any(says_nothing(each) for pair in answer.items() for each in pair)
    if isinstance(answer, (list, tuple)):
        return not answer or any(map(says_nothing, answer))
    return answer is None or (isinstance(answer, float) and math.isnan(answer))


@pytest.mark.parametrize(("name", "question"), asks(ALL))
def test_an_untaught_network_says_that_nothing_is_known(name: str, question: str) -> None:
    model = ALL[name]()
    if question == "draw" and isinstance(model, MixedNetwork):
        model = model.draw(rng())
        question = "query"
    evidence = EVENT if question == "do" else {}
    if question == "probability_of_evidence" and not isinstance(model, BayesNetClassifier):
        assert model.probability_of_evidence({}) == 1.0  # of no evidence it is certain
        evidence = {"lawn": "wet"}
    with pytest.raises(
        (NoValueKnown, UnknownFeature), match=r"known yet|no variables yet|no variable 'rain'|'lawn'"
    ):
        QUESTIONS[question](model, evidence)


@pytest.mark.parametrize(("name", "question"), asks(ALL))
def test_a_network_of_one_event_answers(name: str, question: str) -> None:
    model = taught(ALL[name], [EVENT])
    if name == "dynamic" and question == "to_network":
        with pytest.raises(NoValueKnown, match="rain@-1"):
            model.to_network()
        return
    answer = QUESTIONS[question](model, {"lawn": "wet"})
    if question == "cpt":
        answer = [*answer.values()]  # the rows: a parent without values leaves one
    assert not says_nothing(answer)


@pytest.mark.parametrize(
    ("name", "question"),
    asks(
        {name: each for name, each in ALL.items() if name not in ("grows", "mixed grows", "classes of all")}
    ),
)
def test_a_variable_that_never_came_is_named(name: str, question: str) -> None:
    if name == "chain" or question in (
        "map_query",
        "entropy",
        "query",
        "view",
        "cpt",
        "emissions",
        "forecast_one",
    ):
        return  # about `rain`, which came
    model = taught(ALL[name], [{"rain": "yes"}, {"rain": "no"}])
    if name == "classifier" and question == "draw":
        return  # of the class it is enough
    if question == "draw" and isinstance(model, MixedNetwork):
        return  # `sample` of it says it
    if name == "dynamic grows":
        assert not says_nothing(QUESTIONS[question](model, {}))  # a growing one has the variables that came
        return
    evidence = {"lawn": "wet"} if question == "probability_of_evidence" else {}
    if name == "classifier" and question in ("probability_of_evidence", "do"):
        return
    evidence = {"rain": "yes"} if question == "do" else evidence
    with pytest.raises(NoValueKnown, match="'lawn'"):
        QUESTIONS[question](model, evidence)


@pytest.mark.parametrize(
    ("name", "question"), [each for each in asks(NETWORKS) if each.values[1] in WITH_EVIDENCE]
)
@pytest.mark.parametrize("events", [0, 2])
def test_wrong_evidence_is_refused_by_name(name: str, question: str, events: int) -> None:
    model = taught(NETWORKS[name], [EVENT, OTHER_EVENT][:events])
    if question == "simulate_one" and isinstance(model, MixedNetwork):
        misspelt: Any = ()  # an event has whatever features it has
    else:
        misspelt = UnknownFeature
    for evidence in ({"lawm": "wet"}, {"lawm": None}):
        if misspelt:
            with pytest.raises(
                (misspelt, NoValueKnown) if not events else misspelt,
                match=r"lawm|known yet|variables: \[\]|It has \[\]",
            ):
                QUESTIONS[question](model, evidence)
    if events:
        with pytest.raises(BadValue, match="moist"):
            QUESTIONS[question](model, {"lawn": "moist"})


@pytest.mark.parametrize("name", ["unsmoothed", "dynamic"])
@pytest.mark.parametrize(
    "question", ["query", "marginals", "most_probable", "map_query", "simulate_one", "sample", "view"]
)
def test_impossible_evidence_is_an_error(name: str, question: str) -> None:
    model = taught(NETWORKS[name], 4 * [EVENT, OTHER_EVENT])
    if not hasattr(model, question) or (question == "sample" and not isinstance(model, BayesNet)):
        return
    impossible = {"rain": "yes", "lawn": "dry"}
    with pytest.raises(ImpossibleEvidence):
        QUESTIONS[question](model, impossible)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_target_in_the_evidence_is_certain(name: str) -> None:
    model = taught(NETWORKS[name], 4 * [EVENT, OTHER_EVENT])
    for evidence in ({"rain": "yes"}, EVENT):  # of all variables, too
        assert model.query("rain", evidence)["yes"] == pytest.approx(1.0)
        assert set(model.query("rain", evidence)) == {"yes", "no"}
    assert model.query("rain", {"rain": None})["yes"] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("make", [lambda: MixedNetwork({"heat": []}), MixedNetwork, LatentClass])
def test_an_observed_number_is_no_target(make: Callable[[], Any]) -> None:
    model = make()
    model.learn_many({"heat": k % 7 + 0.5} for k in range(40))
    with pytest.raises(BadValue, match=r"'heat' is in the evidence: .* leave it out"):
        model.query("heat", {"heat": 3.0})
    assert model.query("heat", {"heat": None}).mean == model.query("heat").mean


@pytest.mark.parametrize("name", NETWORKS)
def test_a_target_that_is_none_is_refused(name: str) -> None:
    model = taught(NETWORKS[name], [EVENT])
    for target in ("rian", [], ["rain", "rian"]):
        with pytest.raises((UnknownFeature, BadValue)):
            model.query(target)


@pytest.mark.parametrize("name", ALL)
def test_the_verbs_of_a_stream_answer_before_the_first_event(name: str) -> None:
    model = ALL[name]()
    if isinstance(model, BayesNetClassifier):
        assert (model.predict_proba_one({"lawn": "wet"}), model.predict_one({"lawn": "wet"})) == ({}, None)
        return
    where: dict[str, Any] = {} if name == "chain" else {"variable": "rain"}
    try:
        assert model.predict_proba_one({"lawn": "wet"}, **where) == {}
        if hasattr(model, "predict_one"):
            assert model.predict_one({"lawn": "wet"}, **where) is None
        if hasattr(model, "predict_interval_one"):
            assert model.predict_interval_one({"lawn": "wet"}, **where) is None
    except UnknownFeature:
        assert name in ("mixed grows", "classes of all", "dynamic grows")  # no such variable has come
    if name not in SEQUENCES:
        assert model.score_one(EVENT) == 0.0
        assert model.explain_one(EVENT).total == 0.0
    else:
        assert model.log_likelihood_one(EVENT) == 0.0


def test_declared_values_have_a_prior_before_any_event() -> None:
    values = {"rain": Nominal(["yes", "no"]), "lawn": Nominal(["wet", "dry"])}
    for model in (
        BayesNet(GRAPH, schema=Schema(values)),
        MixedNetwork(GRAPH, schema=Schema(values)),
        DynamicNetwork({"rain": [1]}, LAGGED, schema=Schema(values)),
    ):
        assert dict(model.query("rain", {"lawn": "wet"})) == pytest.approx({"yes": 0.5, "no": 0.5})
    drawn = BayesNet(GRAPH, schema=Schema(values)).sample(400, rng())
    assert 150 < drawn["rain"].count("yes") < 250


def test_an_influence_diagram_refuses_what_nothing_is_known_of() -> None:
    cloud = BayesNet({"sky": []})
    with pytest.raises(NoValueKnown, match="'sky'"):
        cloud.to_network()
    cloud.learn_many([{"sky": "grey"}, {"sky": "blue"}])
    worth = {("on", "grey"): 1.0, ("on", "blue"): 0.0, ("off", "grey"): 0.0, ("off", "blue"): 1.0}
    take = Utility(["coat", "sky"], worth)
    diagram = InfluenceDiagram(cloud.to_network(), {"coat": Decision(options=["on", "off"])}, {"dry": take})
    assert diagram.expected_utility({"sky": "grey"}) == pytest.approx(1.0)
    with pytest.raises(UnknownFeature, match="sy"):
        diagram.expected_utility({"sy": "grey"})
    with pytest.raises(BadValue, match="gray"):
        diagram.expected_utility({"sky": "gray"})


def test_numbers_in_the_evidence_of_a_sample_are_their_bins() -> None:
    from stream_bayes import Numeric

    schema = Schema({"size": Numeric(cuts=[1.0, 2.0]), "kind": Nominal()})
    model = BayesNet({"kind": ["size"], "size": []}, schema=schema, strength=0)
    model.learn_many([{"size": 0.5, "kind": "s"}, {"size": 1.5, "kind": "m"}, {"size": 7.0, "kind": "l"}])
    assert set(model.sample(9, rng(), {"size": 1.2})["kind"]) == {"m"}


def test_forecasts_of_numbers_before_any_are_refused() -> None:
    model = HiddenMarkov(["heat"], numbers="heat")
    for ask in (lambda: model.forecast_one(1), lambda: model.emissions()):
        with pytest.raises(NoValueKnown, match="'heat'"):
            ask()
    model.learn_one({"heat": 3.0})
    assert isinstance(model.forecast_one(1), StudentMixture)


def test_an_untaught_classifier_has_no_class() -> None:
    with pytest.raises((NoValueKnown, NotLearned), match="no class"):
        BayesNetClassifier(GRAPH, target="rain").query("rain")
