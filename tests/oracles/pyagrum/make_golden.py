"""Writes tests/golden/pyagrum_posteriors.json: questions to known networks, and what pyAgrum's lazy propagation says.

    python -m tests.oracles.pyagrum.make_golden FOLDER

Needs pyAgrum, and a folder of .bif.gz files. The files are read by the package and not by pyAgrum, whose reader keeps
numbers in single precision; pyAgrum gets the tables through its own interface, each row divided by its sum, in double
precision. Questions come from seeds, so a second run with the same version asks the same. Of the smallest networks the
file holds the tables too, so that their answers can be checked without any folder.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.networks.files.bif import read_bif

GOLDEN = Path(__file__).parents[2] / "golden" / "pyagrum_posteriors.json"
NETWORKS = ("asia", "sachs", "child", "insurance", "alarm")
WHOLE = ("asia", "sachs")
QUESTIONS = 8


def rescaled(network: DiscreteNetwork, variable: Any) -> Any:
    table = network.tables[variable]
    return table / table.sum(axis=-1, keepdims=True)


def as_pyagrum(network: DiscreteNetwork) -> Any:
    """The same network, its labels replaced by their places: pyAgrum takes no label with a slash."""
    import pyagrum

    made = pyagrum.BayesNet()
    for variable in network.structure.variables:
        labels = [f"s{place}" for place in range(len(network.states[variable]))]
        made.add(pyagrum.LabelizedVariable(str(variable), "", labels))
    for parent, child in network.structure.edges:
        made.addArc(str(parent), str(child))
    for variable in network.structure.variables:
        table = rescaled(network, variable)
        family = [str(v) for v in (*network.structure.parents(variable), variable)]
        cells = made.cpt(str(variable))
        at = pyagrum.Instantiation(cells)
        for places in np.ndindex(table.shape):
            for name, place in zip(family, places, strict=True):
                at.chgVal(name, place)
            cells.set(at, float(table[places]))
    return made


def a_row(network: DiscreteNetwork, rng: random.Random) -> dict[Any, int]:
    """A row drawn from the network, so that evidence taken from it is possible."""
    row: dict[Any, int] = {}
    for variable in network.structure.topological_order:
        weights = network.tables[variable][tuple(row[p] for p in network.structure.parents(variable))]
        row[variable] = rng.choices(range(len(weights)), weights)[0]
    return row


def random_question(network: DiscreteNetwork, rng: random.Random) -> dict[str, Any]:
    """A question: two targets, and evidence on at most five other variables, on the last of them by likelihoods."""
    row = a_row(network, rng)
    variables = rng.sample(network.structure.variables, min(7, len(row) - 1))
    *hard, soft = variables[2:]
    likelihoods = [rng.randint(1, 16) / 16 for _ in network.states[soft]]
    return {
        "targets": variables[:2],
        "evidence": {v: row[v] for v in hard},
        "likelihoods": {soft: likelihoods},
    }


def pyagrum_answer(made: Any, network: DiscreteNetwork, question: dict[str, Any]) -> dict[str, Any]:
    """What pyAgrum says: marginals and joint of the targets, and the probability of the evidence that is certain."""
    import pyagrum

    one, two = question["targets"]
    engine = pyagrum.LazyPropagation(made)
    engine.setEvidence({**question["evidence"], **question["likelihoods"]})
    engine.addJointTarget({one, two})
    engine.makeInference()
    joint = engine.jointPosterior({one, two}).reorganize([one, two])
    at = pyagrum.Instantiation(joint)
    cells = []
    for i in range(len(network.states[one])):
        at.chgVal(one, i)
        for j in range(len(network.states[two])):
            at.chgVal(two, j)
            cells.append(joint.get(at))
    certain = pyagrum.LazyPropagation(made)
    certain.setEvidence(question["evidence"])
    return {
        "marginals": [engine.posterior(v).tolist() for v in (one, two)],
        "joint": cells,
        "probability": certain.evidenceProbability(),
    }


def main(folder: str) -> None:
    import pyagrum

    networks: dict[str, Any] = {}
    for number, name in enumerate(NETWORKS):
        network = read_bif(Path(folder) / f"{name}.bif.gz")
        made = as_pyagrum(network)
        rng = random.Random(number)
        questions = [random_question(network, rng) for _ in range(QUESTIONS)]
        entry: dict[str, Any] = {"questions": [q | pyagrum_answer(made, network, q) for q in questions]}
        if name in WHOLE:
            entry["parents"] = {v: network.structure.parents(v) for v in network.structure}
            entry["labels"] = dict(network.states)
            entry["tables"] = {v: table.tolist() for v, table in network.tables.items()}
        networks[name] = entry
    about = f"pyAgrum {pyagrum.__version__}, LazyPropagation; made by tests/oracles/pyagrum/make_golden.py"
    text = json.dumps({"about": about, "networks": networks}, separators=(",", ":"))
    GOLDEN.write_text(text.replace('{"targets"', '\n{"targets"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
