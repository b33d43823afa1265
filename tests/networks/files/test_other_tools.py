"""Networks become objects of pgmpy and pyAgrum with the same probabilities, and come back."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes import BayesNet
from stream_bayes.errors import BadValue
from stream_bayes.networks import (
    DiscreteNetwork,
    Inference,
    Structure,
    from_pgmpy,
    from_pyagrum,
    to_pgmpy,
    to_pyagrum,
)

RNG = np.random.default_rng(3)


def rows(*shape: int) -> np.ndarray:
    return RNG.dirichlet(np.ones(shape[-1]), shape[:-1] or None).reshape(shape)


NETWORK = DiscreteNetwork(
    Structure({"sky": [], "Wind": [], "rain": ["Wind", "sky"], "wet": ["Wind", "rain"], "apart": []}),
    {
        "sky": ["blue", "grey"],
        "Wind": ["w1", "w2", "w3"],
        "rain": ["yes", "no"],
        "wet": ["a", "b", "c"],
        "apart": ["x", "y"],
    },
    {"sky": rows(2), "Wind": rows(3), "rain": rows(3, 2, 2), "wet": rows(3, 2, 3), "apart": rows(2)},
)
EVIDENCE = {"wet": "b", "sky": "grey"}


def close(one: DiscreteNetwork, other: DiscreteNetwork, digits: float) -> None:
    assert one.structure == other.structure and one.states == other.states
    for variable in one.structure:
        assert np.abs(one.tables[variable] - other.tables[variable]).max() <= digits


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of pgmpy about pgmpy
def test_pgmpy_answers_the_same_and_its_model_comes_back() -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination

    model = to_pgmpy(NETWORK)
    assert model.check_model()
    found = VariableElimination(model).query(["rain"], EVIDENCE, show_progress=False)
    expected = Inference(NETWORK).query("rain", EVIDENCE)
    assert {label: found.get_value(rain=label) for label in expected} == pytest.approx(dict(expected))
    close(from_pgmpy(model), NETWORK, 0.0)
    model.remove_cpds("rain")
    with pytest.raises(BadValue, match=r"no table of \['rain'\]"):
        from_pgmpy(model)


def test_pyagrum_answers_the_same_and_its_model_comes_back() -> None:
    pyagrum = pytest.importorskip("pyagrum")
    model = to_pyagrum(NETWORK)
    engine = pyagrum.LazyPropagation(model)
    engine.setEvidence(EVIDENCE)
    assert engine.posterior("rain").tolist() == pytest.approx(
        list(Inference(NETWORK).query("rain", EVIDENCE).values())
    )
    close(from_pyagrum(model), NETWORK, 1e-12)


def test_learned_networks_are_converted_and_other_objects_refused() -> None:
    pytest.importorskip("pgmpy")
    learned = BayesNet({"rain": [], "lawn": ["rain"]}).fit({"rain": [True, False], "lawn": ["wet", "dry"]})
    close(from_pgmpy(to_pgmpy(learned)), learned.to_network(), 0.0)
    with pytest.raises(BadValue, match="expected a DiscreteNetwork"):
        to_pgmpy({"rain": []})  # type: ignore[arg-type]  # wrong on purpose
