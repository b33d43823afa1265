"""A network as a text in the Interchange Format, and variations of it."""

from __future__ import annotations

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure

LAWN = """\
network lawn {
}
variable rain {
  type discrete [ 2 ] { yes, no };
}
variable sprinkler {
  type discrete [ 3 ] { off, low, high };
}
variable lawn {
  type discrete [ 2 ] { wet, dry };
}
probability ( rain ) {
  table 0.2, 0.8;
}
probability ( sprinkler ) {
  table 0.5, 0.25, 0.25;
}
probability ( lawn | sprinkler, rain ) {
  (off, yes) 0.9, 0.1;
  (low, yes) 0.95, 0.05;
  (high, yes) 0.99, 0.01;
  (off, no) 0.01, 0.99;
  (low, no) 0.7, 0.3;
  (high, no) 0.8, 0.2;
}
"""
EXPECTED = DiscreteNetwork(
    Structure({"rain": [], "sprinkler": [], "lawn": ["rain", "sprinkler"]}),
    {"rain": ["yes", "no"], "sprinkler": ["off", "low", "high"], "lawn": ["wet", "dry"]},
    {
        "rain": [0.2, 0.8],
        "sprinkler": [0.5, 0.25, 0.25],
        "lawn": [
            [[0.9, 0.1], [0.95, 0.05], [0.99, 0.01]],
            [[0.01, 0.99], [0.7, 0.3], [0.8, 0.2]],
        ],
    },
    name="lawn",
)
ROWS = LAWN[LAWN.index("  (off, yes)") : LAWN.rindex("}")]


def lawn_with(old: str, new: str) -> str:
    """The example with one place changed."""
    assert LAWN.count(old) == 1
    return LAWN.replace(old, new)


def one_variable(labels: str, count: int = 2, numbers: str = "0.5, 0.5") -> str:
    return (
        f"network n {{ }} variable x {{ type discrete [ {count} ] {{ {labels} }}; }} "
        f"probability ( x ) {{ table {numbers}; }}"
    )
