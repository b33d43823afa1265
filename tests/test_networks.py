"""The front of networks, and rows of every kind as the sample that structures are searched over."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stream_bayes import Numeric, Schema, networks
from stream_bayes.errors import BadValue, BadWeight, SchemaError
from stream_bayes.networks import (
    PC,
    HillClimbing,
    K2Search,
    Sample,
    chow_liu_tree,
    sample_of,
    tan_structure,
)

COLUMNS = {"rain": [1, 0, 1, None, 0], "lawn": ["wet", "dry", None, "wet", "wet"]}
DICTS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
CODES = {"rain": [0, 1, 0, -1, 1], "lawn": [0, 1, -1, 0, 0]}


def same(one: Sample, other: Sample) -> bool:
    return (
        one.variables == other.variables
        and one.sizes.tolist() == other.sizes.tolist()
        and one.codes.tolist() == other.codes.tolist()
        and one.weights.tolist() == other.weights.tolist()
    )


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame, lambda _: DICTS])
def test_every_form_is_the_same_sample(form):
    assert same(sample_of(form(COLUMNS)), Sample(CODES, {"rain": 2, "lawn": 2}))
    assert same(
        sample_of(form(COLUMNS), [1, 2, 3, 4, 5]), Sample(CODES, {"rain": 2, "lawn": 2}, [1, 2, 3, 4, 5])
    )


def test_coded_columns_keep_all_values_that_they_declare():
    coded = Schema({"rain": [0, 1, 2], "lawn": ["dry", "wet"]}).encode(COLUMNS)
    sample = sample_of(coded)
    assert dict(zip(sample.variables, sample.sizes.tolist(), strict=True)) == {"lawn": 2, "rain": 3}
    assert sample.codes[:3, sample.place("rain")].tolist() == [1, 0, 1]


def test_a_dependence_in_a_frame_of_numbers_is_found():
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 3, (2, 500))
    found = HillClimbing().search(sample_of(pd.DataFrame({"one": one, "other": other, "sum": one + other})))
    assert found.structure.parents("sum") == ("one", "other")


def test_what_is_no_sample_is_refused():
    with pytest.raises(SchemaError, match="expected a data frame"):
        sample_of(7)
    with pytest.raises(BadWeight, match="5 rows, but 2 weights"):
        sample_of(COLUMNS, [1.0, 2.0])
    with pytest.raises(BadWeight):
        sample_of(COLUMNS, [1.0, -2.0, 1.0, 1.0, 1.0])
    with pytest.raises(BadValue, match="row 1"):
        sample_of({"rain": [1.0, math.inf]})
    with pytest.raises(SchemaError, match="'heat'"):
        sample_of(Schema({"heat": Numeric()}).encode({"heat": [1.5]}))


@pytest.mark.parametrize(
    "search",
    [HillClimbing().search, K2Search(["rain", "lawn"]).search, PC().search, chow_liu_tree,
     lambda rows: tan_structure(rows, "rain")],
)  # fmt: skip
def test_a_search_over_a_frame_says_how_it_becomes_a_sample(search):
    with pytest.raises(BadValue, match=r"expected a Sample.*sample_of\(rows\) makes one"):
        search(pd.DataFrame(COLUMNS))


def test_nothing_is_a_sample_too():
    assert len(sample_of([])) == len(sample_of({})) == 0
    assert sample_of({"rain": [None]}).sizes.tolist() == [1]


def test_every_name_of_the_front_is_there_and_in_its_documentation():
    documented = set(re.findall(r"\w+", networks.__doc__))
    for name in networks.__all__:
        assert hasattr(networks, name) and name in documented, name


def test_the_front_loads_no_heavy_package():
    code = "import sys, stream_bayes.networks; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "polars", "sklearn", "matplotlib", "networkx", "scipy.stats"} & set(
        run.stdout.split()
    )


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame])
def test_measurements_are_no_categories(form):
    measured = form({"weight": [0.5, 1.25, 3.0], "kind": ["a", "b", "a"]})
    with pytest.raises(SchemaError, match=r"column 'weight': .* the number 0\.5; put measurements into bins"):
        sample_of(measured)
    assert sample_of(form({"door": [1.0, 2.0, None]})).sizes.tolist() == [2]
