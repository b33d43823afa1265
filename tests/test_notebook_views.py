"""Notebooks show results as tables and drawings, in which names from data stay text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from stream_bayes import AODE, KDB, TAN, BayesNet, BayesNetClassifier, DriftAdaptive, NaiveBayes
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.drift.log import DriftLog
from stream_bayes.streams import compare, evaluate

EVIL = "<img src=x onerror=alert(1)>"
ROWS = [
    ({EVIL: f"{EVIL}{n % 3}", "sky": "grey" if n % 2 else "blue"}, EVIL if n % 2 else "dry")
    for n in range(40)
]


def learned(model: Any) -> Any:
    for x, y in ROWS:
        model.learn_one(x, y)
    return model


def network() -> BayesNet:
    model = BayesNet({EVIL: [], "sky": [EVIL]})
    for x, _ in ROWS:
        model.learn_one(x)
    return model


def log() -> DriftLog:
    log = DriftLog()
    log.add("warning", 30, candidate=EVIL)
    log.add("adopted", 40, structure={"added": [[EVIL, "sky"]], "removed": []}, why=EVIL)
    return log


SHOWN = {
    "naive Bayes": lambda: learned(NaiveBayes()),
    "nothing learned": NaiveBayes,
    "TAN": lambda: learned(TAN()),
    "KDB": lambda: learned(KDB(k=2)),
    "AODE": lambda: learned(AODE()),
    "network of a class": lambda: learned(BayesNetClassifier({"class": [], "sky": ["class"], EVIL: ["sky"]})),
    "explanation": lambda: learned(NaiveBayes()).explain_one(ROWS[0][0]),
    "explanation of nothing": lambda: NaiveBayes().explain_one({}),
    "drift log": log,
    "empty drift log": DriftLog,
    "log of a learner": lambda: learned(DriftAdaptive(NaiveBayes())).log,
    "evaluation": lambda: evaluate(ROWS, NaiveBayes()),
    "comparison": lambda: compare({EVIL: NaiveBayes()}, ROWS),
    "network": network,
    "view": lambda: network().view(),
    "posterior": lambda: network().query("sky", {EVIL: f"{EVIL}1"}, level=0.9),
    "joint posterior": lambda: network().query(["sky", EVIL]),
    "most probable": lambda: network().most_probable(),
    "table": lambda: network().cpt("sky"),
    "surprise": lambda: network().explain_one(ROWS[0][0]),
    "structure": lambda: Structure({EVIL: [], "sky": [EVIL]}),
    "network as a value": lambda: network().to_network(),
}


@pytest.mark.parametrize("shown", SHOWN)
def test_a_result_is_shown_as_sound_markup_with_names_as_text(shown: str) -> None:
    result = SHOWN[shown]()
    text = result._repr_html_() if hasattr(result, "_repr_html_") else result._repr_svg_()
    root = ElementTree.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert "img" not in tags and "script" not in tags
    assert tags & {"table", "svg"}


def test_a_posterior_shows_each_label_with_its_probability_and_interval() -> None:
    answer = network().query("sky", {EVIL: f"{EVIL}1"}, level=0.9)
    low, high = (answer.intervals or {})["grey"]
    text = answer._repr_html_()
    assert f"{answer['grey']:.4f} ({low:.3f} to {high:.3f})" in text


def test_an_explanation_shows_the_most_probable_class_against_the_next() -> None:
    model = learned(NaiveBayes())
    text = model.explain_one({"sky": "grey"})._repr_html_()
    assert "evidence for &lt;img src=x onerror=alert(1)&gt; against dry" in text


def test_a_log_counts_the_rows_that_are_not_shown() -> None:
    long = DriftLog()
    for event in range(100):
        long.add("drift", event)
    assert "60 more rows are not shown" in long._repr_html_()


def test_a_large_network_is_drawn_without_bars_unless_they_are_requested() -> None:
    names = [f"v{n:03}" for n in range(200)]
    structure = Structure({name: names[max(0, n - 1) : n] for n, name in enumerate(names)})
    model = BayesNet(structure)
    model.learn_one(dict.fromkeys(names, "yes"))
    assert "yes: " not in model._repr_html_()
    small = DiscreteNetwork(Structure({"a": []}), {"a": ["yes", "no"]}, {"a": [0.25, 0.75]})
    assert "0.25" in small._repr_svg_() or "25" in small._repr_svg_()
