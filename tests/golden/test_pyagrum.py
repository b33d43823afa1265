"""Known networks: exact inference answers as pyAgrum's lazy propagation does."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.networks.files.bif import read_bif
from tests.networks.files.test_known_networks import folder_of_known_networks

GOLDEN = json.loads((Path(__file__).parent / "pyagrum_posteriors.json").read_text(encoding="utf-8"))
CLOSE = 1e-9

WITH_TABLES = [name for name, entry in GOLDEN["networks"].items() if "tables" in entry]
WITHOUT = [name for name, entry in GOLDEN["networks"].items() if "tables" not in entry]


@cache
def network(name: str) -> DiscreteNetwork:
    entry = GOLDEN["networks"][name]
    if "tables" in entry:
        return DiscreteNetwork(Structure(entry["parents"]), entry["labels"], entry["tables"])
    folder: Any = folder_of_known_networks()
    return read_bif(folder / f"{name}.bif.gz")


def assert_agrees(name: str) -> None:
    states = network(name).states
    engine = Inference(network(name))
    questions = GOLDEN["networks"][name]["questions"]
    assert questions
    for question in questions:
        certain = {v: states[v][code] for v, code in question["evidence"].items()}
        soft = {
            v: dict(zip(states[v], numbers, strict=True)) for v, numbers in question["likelihoods"].items()
        }
        evidence = {**certain, **soft}
        joint = engine.query(question["targets"], evidence)
        assert list(joint.values()) == pytest.approx(question["joint"], abs=CLOSE)
        marginals = engine.marginals(evidence)
        for target, expected in zip(question["targets"], question["marginals"], strict=True):
            assert list(engine.query(target, evidence).values()) == pytest.approx(expected, abs=CLOSE)
            assert list(marginals[target].values()) == pytest.approx(expected, abs=CLOSE)
        assert math.exp(engine.log_probability(certain)) == pytest.approx(question["probability"], rel=CLOSE)


@pytest.mark.parametrize("name", WITH_TABLES)
def test_small_networks_are_answered_as_pyagrum_answers(name):
    assert_agrees(name)


@pytest.mark.skipif(
    folder_of_known_networks() is None,
    reason="the networks come with pgmpy, of the extra peers; or name a folder in STREAM_BAYES_BIF_DIR",
)
@pytest.mark.parametrize("name", WITHOUT)
def test_larger_networks_are_answered_as_pyagrum_answers(name):
    assert_agrees(name)
