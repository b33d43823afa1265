"""Where nothing changes, a model that follows drift is as good as one that does not."""

from __future__ import annotations

import pytest

from tests.drift.stationary_streams import LEARNERS, NETWORKS, check_staying, network_of


@pytest.mark.parametrize(("learner", "name"), list(zip(LEARNERS, NETWORKS, strict=True)))
def test_in_a_world_that_stays_no_model_is_swapped_for_a_worse_one(learner: str, name: str) -> None:
    check_staying(network_of(name, seed=1), learner, seed=2, events=30_000)
