"""The networks that the literature measures itself on: read whole, and written so that they come back."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.networks.files.bif import bif_text, parse_bif, read_bif


def folder_of_known_networks() -> Path | None:
    """Where they are: a folder of .bif.gz files that the variable names, or the one in an installed pgmpy, whose
    package is found without being imported.
    """
    if named := os.environ.get("STREAM_BAYES_BIF_DIR"):
        return Path(named)
    pgmpy = find_spec("pgmpy")
    return Path(pgmpy.origin).parent / "utils" / "example_models" if pgmpy and pgmpy.origin else None


SIZES = {  # variables, edges and numbers in all tables
    "alarm": (37, 46, 752),
    "andes": (223, 338, 2314),
    "asia": (8, 8, 36),
    "barley": (48, 84, 130180),
    "cancer": (5, 4, 20),
    "child": (20, 25, 344),
    "diabetes": (413, 602, 461069),
    "earthquake": (5, 4, 20),
    "hailfinder": (56, 66, 3741),
    "hepar2": (70, 123, 2139),
    "insurance": (27, 52, 1419),
    "link": (724, 1125, 20502),
    "mildew": (35, 46, 547158),
    "munin": (1041, 1397, 98423),
    "munin1": (186, 273, 19226),
    "munin4": (1038, 1388, 97943),
    "pathfinder": (109, 195, 97851),
    "pigs": (441, 592, 8427),
    "sachs": (11, 17, 267),
    "survey": (6, 6, 37),
    "water": (32, 66, 13484),
    "win95pts": (76, 112, 1148),
}


ALIKE = {"diabetes", "munin1", "munin4"}  # large, and each of the same names and tables as others


@pytest.mark.skipif(
    folder_of_known_networks() is None,
    reason="the networks come with pgmpy, of the extra peers; or name a folder in STREAM_BAYES_BIF_DIR",
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if name in ALIKE else name for name in SIZES]
)
def test_a_known_network_is_read_whole_and_comes_back(name):
    folder: Any = folder_of_known_networks()
    network = read_bif(folder / f"{name}.bif.gz")
    numbers = sum(table.size for table in network.tables.values())
    assert (len(network.structure), len(network.structure.edges), numbers) == SIZES[name]
    assert parse_bif(bif_text(network)) == network
