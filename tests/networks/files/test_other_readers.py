"""Files written here open in other tools with the same numbers, if these are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.networks.files.bif import write_bif
from stream_bayes.networks.files.network_files import read_network, write_network

# Each prints, for each file, the numbers of each table: the variable, the labels of its family, the number. Then it
# writes the network of the first file in its own way.
READERS = {
    "pgmpy": """
import json, sys
import numpy as np
from pgmpy.readwrite import BIFReader, NETReader, XDSLReader, XDSLWriter, XMLBIFReader, XMLBIFWriter
readers = {"bif": BIFReader, "xml": XMLBIFReader, "net": NETReader, "xdsl": XDSLReader}
told = {}
for path in sys.argv[1:]:
    ending = path.rpartition(".")[2]
    model = readers[ending](path).get_model()
    told[ending] = []
    for cpd in model.get_cpds():
        for at in np.ndindex(cpd.values.shape):
            labels = {v: cpd.state_names[v][i] for v, i in zip(cpd.variables, at)}
            told[ending].append([cpd.variable, labels, float(cpd.values[at])])
model = BIFReader(sys.argv[1]).get_model()
XMLBIFWriter(model).write_xmlbif(sys.argv[1] + ".theirs.xml")
XDSLWriter(model).write_xdsl(sys.argv[1] + ".theirs.xdsl")
print(json.dumps(told))
""",
    "pyagrum": """
import json, shutil, sys
import pyagrum
told = {}
for path in sys.argv[1:]:
    ending = path.rpartition(".")[2]
    if ending == "xml":
        path = shutil.copy(path, path + ".bifxml")
    network = pyagrum.loadBN(path)
    told[ending] = []
    for name in network.names():
        table = network.cpt(name)
        at = pyagrum.Instantiation(table)
        while not at.end():
            family = [at.variable(i) for i in range(at.nbrDim())]
            told[ending].append([name, {v.name(): v.label(at.val(v)) for v in family}, table.get(at)])
            at.inc()
network = pyagrum.loadBN(sys.argv[1])
for ending in ("bifxml", "xdsl", "net"):
    pyagrum.saveBN(network, sys.argv[1] + ".theirs." + ending)
print(json.dumps(told))
""",
}
EXACTLY = {"pgmpy": 0.0, "pyagrum": 1e-7}  # pyAgrum keeps single precision
TURNED = {("pyagrum", "xdsl")}  # there the first of the parents changes first
WRITTEN = {"pgmpy": 1e-15, "pyagrum": 1e-6}

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
def test_another_tool_reads_the_same_numbers_in_each_format_and_its_files_are_read(tool, tmp_path):
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed; the extra peers has it")
    paths = [tmp_path / f"network.{ending}" for ending in ("bif", "xml", "xdsl", "net")]
    for path in paths:
        write_network(NETWORK, path)
    done = subprocess.run(  # in a process of its own: importing it warns, and takes seconds
        [sys.executable, "-W", "ignore", "-c", READERS[tool], *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    assert read.keys() == {"bif", "xml", "xdsl", "net"}
    for ending, rows in read.items():
        assert len(rows) == sum(table.size for table in NETWORK.tables.values())
        for variable, told, number in rows:
            if (tool, ending) in TURNED and len(told) > 2:
                continue
            labels = {v: label == "True" if v == "rain_" else label for v, label in told.items()}
            expected = NETWORK.probability(variable, labels[variable], labels)
            assert number == pytest.approx(expected, abs=EXACTLY[tool], rel=0)
    theirs = sorted(tmp_path.glob("*.theirs.*"))
    assert len(theirs) == {"pgmpy": 2, "pyagrum": 3}[tool]
    for path in theirs:
        again = read_network(path, tolerance=1e-3)
        for variable, table in NETWORK.tables.items():
            family = (*NETWORK.structure.parents(variable), variable)
            if (tool, path.suffix.removeprefix(".")) in TURNED and len(family) > 2:
                continue
            for at in np.ndindex(table.shape):
                labels = {v: str(NETWORK.states[v][i]) for v, i in zip(family, at, strict=True)}
                number = again.probability(variable, labels[variable], labels)
                assert number == pytest.approx(table[at], abs=WRITTEN[tool], rel=0), path


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
