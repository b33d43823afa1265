"""Files written here open in other tools with the same numbers, if these are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.networks.files.bif import write_bif

# Each prints, for each number of each table: the variable, the labels of its family, the number.
READERS = {
    "pgmpy": """
import json, sys
import numpy as np
from pgmpy.readwrite import BIFReader
told = []
for cpd in BIFReader(sys.argv[1]).get_model().get_cpds():
    for at in np.ndindex(cpd.values.shape):
        labels = {v: cpd.state_names[v][i] for v, i in zip(cpd.variables, at)}
        told.append([cpd.variable, labels, float(cpd.values[at])])
print(json.dumps(told))
""",
    "pyagrum": """
import json, sys
import pyagrum
network = pyagrum.loadBN(sys.argv[1])
told = []
for name in network.names():
    table = network.cpt(name)
    at = pyagrum.Instantiation(table)
    while not at.end():
        family = [at.variable(i) for i in range(at.nbrDim())]
        told.append([name, {v.name(): v.label(at.val(v)) for v in family}, table.get(at)])
        at.inc()
print(json.dumps(told))
""",
}
EXACTLY = {"pgmpy": 0.0, "pyagrum": 1e-7}  # pyAgrum keeps single precision

NETWORK = DiscreteNetwork(
    Structure({"sky": [], "Wind": [], "rain_": ["Wind", "sky"], "p2": ["rain_"]}),
    {"sky": ["blue", "grey"], "Wind": ["1", "2", "10"], "rain_": [True, False], "p2": ["x_", "y", "z"]},
    {
        "sky": [1 / 3, 2 / 3],
        "Wind": [1e-9, 0.1, 0.9 - 1e-9],
        "rain_": [[[p, 1 - p], [1 - p, p]] for p in (0.1, 0.7, 0.2)],
        "p2": [[0.0, 1e-5, 1 - 1e-5], [0.25, 0.7, 0.05]],
    },
    properties=["version 1"],
    properties_of={"sky": ["position = (73, 165)"]},
)


@pytest.mark.parametrize("tool", READERS)
def test_another_tool_reads_the_same_numbers(tool, tmp_path):
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed; the extra peers has it")
    path = tmp_path / "network.bif"
    write_bif(NETWORK, path)
    done = subprocess.run(  # in a process of its own: importing it warns, and takes seconds
        [sys.executable, "-W", "ignore", "-c", READERS[tool], str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    assert len(rows) == sum(table.size for table in NETWORK.tables.values())
    for variable, read, number in rows:
        labels = {v: label == "True" if v == "rain_" else label for v, label in read.items()}
        expected = NETWORK.probability(variable, labels[variable], labels)
        assert number == pytest.approx(expected, abs=EXACTLY[tool], rel=0)


@pytest.mark.parametrize("label", ["<5", "a b"])
def test_pyagrum_refuses_the_labels_that_the_documentation_names(label, tmp_path):
    if find_spec("pyagrum") is None:
        pytest.skip("pyagrum is not installed; the extra peers has it")
    path = tmp_path / "network.bif"
    write_bif(DiscreteNetwork(Structure({"x": []}), {"x": [label, "other"]}, {"x": [0.5, 0.5]}), path)
    read = [sys.executable, "-W", "ignore", "-c", READERS["pyagrum"], str(path)]
    assert subprocess.run(read, capture_output=True, check=False).returncode != 0
    write_bif(DiscreteNetwork(Structure({"x": []}), {"x": ["plain", "other"]}, {"x": [0.5, 0.5]}), path)
    assert subprocess.run(read, capture_output=True, check=False).returncode == 0
