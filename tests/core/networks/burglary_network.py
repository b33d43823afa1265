"""The alarm that a burglary or a quake sets off."""

from __future__ import annotations

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure

ALARM = DiscreteNetwork(
    Structure({"burglary": [], "quake": [], "alarm": ["burglary", "quake"], "call": ["alarm"]}),
    states={v: ["yes", "no"] for v in ("burglary", "quake", "alarm", "call")},
    tables={
        "burglary": [0.01, 0.99],
        "quake": [0.02, 0.98],
        "alarm": [[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]],
        "call": [[0.9, 0.1], [0.05, 0.95]],
    },
)
