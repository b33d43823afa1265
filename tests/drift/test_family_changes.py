"""Tests of families: a stream without change has none reported, whatever the network; a change is dated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import DriftAdaptive
from stream_bayes.networks import BayesNet, Inference
from tests.concepts import drawn_network


def reported(variables: int, seed: int, number: int) -> tuple[list[Any], list[Any]]:
    """Return what is logged of a stream without change, and the adoptions of its structure that lose."""
    network = drawn_network(variables, seed)
    columns = Inference(network).sample(number, np.random.default_rng(seed))
    model = DriftAdaptive(BayesNet("learn"))
    for values in zip(*columns.values(), strict=True):
        model.learn_one(dict(zip(columns, values, strict=True)))
    present: Any = model.model_
    return model.log.entries, [one for one in present.changes if one.why is None and one.gain < 0.0]


def test_stationary_streams_have_no_family_reported() -> None:
    for seed in range(6):
        assert reported(5, seed, 1500) == ([], [])


@pytest.mark.soak
def test_stationary_streams_have_at_most_as_many_families_reported_as_the_error_allows() -> None:
    found = [len(reported(12, 700 + seed, 25_000)[0]) for seed in range(30)]
    assert sum(number > 0 for number in found) <= 3  # each with a probability of 0.01
