"""Worlds that stay as they are for a million events."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes.networks.files.bif import read_bif
from tests.drift.stationary_streams import NETWORKS, check_staying, network_of
from tests.networks.files.test_known_networks import folder_of_known_networks

EVENTS = 1_000_000


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", NETWORKS)
def test_in_a_million_events_of_a_drawn_network_nothing_gets_worse(name: str, seed: int) -> None:
    check_staying(network_of(name, seed), "TAN", seed=seed + 1000, events=EVENTS)


@pytest.mark.soak
@pytest.mark.skipif(folder_of_known_networks() is None, reason="the networks come with pgmpy")
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["asia", "sachs", "insurance"])
def test_in_a_million_events_of_a_known_network_nothing_gets_worse(name: str, seed: int) -> None:
    folder: Any = folder_of_known_networks()
    check_staying(read_bif(folder / f"{name}.bif.gz"), "TAN", seed=seed, events=EVENTS)
