"""Values that were never learned, and the share of probability that is kept for them.

    share = min(1, max(values held once, 1/2) / N)      N: the weight of all values of the variable

That is the estimate of Good and Turing for the probability that the next value is new: the share of values held once.
Half a value is counted if none was held once, so that a new value is improbable and not impossible. The share stands
beside the probabilities of known values, which it leaves as they are. It is 0 if a schema closes the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.values.values import Value, canonical, is_missing, shown
from stream_bayes.errors import BadValue

__all__ = ["novel_share", "novel_values"]

LEAST_HELD_ONCE = 0.5


def novel_values(network: CountedNetwork, x: Mapping[Any, Any]) -> dict[Value, Value]:
    """Return the values of an event that the network does not hold, by variable.

    Raises
    ------
    BadValue
        If a value is a held one under another type, as True is the text `"True"`.
    """
    novel = {}
    encoder = network.counts.encoder
    for name, read in x.items():
        if name not in network.structure or is_missing(read) or encoder.features[name].measured:
            continue
        value = canonical(read, feature=name)
        states = network.states[name]
        if value in states or encoder.features[name].vocabulary.other >= 0:
            continue
        same = next((state for state in states if state is not None and str(state) == str(value)), None)
        if same is not None:
            raise BadValue(
                f"variable {shown(name)}: got {shown(value)} of type {type(value).__name__}; the network holds "
                f"{shown(same)} of type {type(same).__name__}; convert one of them"
            )
        novel[name] = value
    return novel


def novel_share(network: CountedNetwork, variable: Value) -> float:
    """Return the share of probability that is kept for new values of a variable.

    Examples
    --------
    >>> from stream_bayes.core.live_networks.family_counts import FamilyCounts, network_encoder
    >>> from stream_bayes.core.networks.structure import Structure
    >>> counts = FamilyCounts(network_encoder(), Structure({"fruit": []}))
    >>> for fruit in ["apple", "apple", "pear", "plum"]:
    ...     counts.learn({"fruit": fruit})
    >>> novel_share(CountedNetwork(counts, strength=1.0, spread=True), "fruit")
    0.5
    """
    counts = network.counts
    vocabulary = counts.encoder.features[variable].vocabulary
    if vocabulary.closed:
        return 0.0
    weights = counts.weights_of_values(variable)
    held_once = np.count_nonzero((weights > 0.0) & (weights <= 1.0))
    total = float(weights.sum()) + (network.weight if network.prior is not None else 0.0)
    return min(max(float(held_once), LEAST_HELD_ONCE) / total, 1.0) if total > 0.0 else 1.0
