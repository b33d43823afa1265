"""Models of events learn data frames, and columns by name, as they learn their rows, gaps included."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from stream_bayes import (
    BayesNet,
    DriftAdaptive,
    DynamicNetwork,
    HiddenMarkov,
    LatentClass,
    MarkovChain,
    MixedNetwork,
)

NAMES: list[Any] = [
    BayesNet({"sky": [], "road": ["sky"]}),
    DynamicNetwork({"sky": [1]}, {"sky": ["sky@-1"], "road": ["sky"]}),
    MarkovChain("sky"),
    HiddenMarkov(["sky", "road"], states=2),
    DriftAdaptive(DynamicNetwork({"sky": [1]}, {"sky": ["sky@-1"], "road": ["sky"]})),
]
NUMBERS: list[Any] = [MixedNetwork({"sky": [], "heat": ["sky"]}), LatentClass(classes=2)]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "columns"])
@pytest.mark.parametrize("learner", [*NAMES, *NUMBERS], ids=lambda learner: str(type(learner).__name__))
def test_a_frame_is_learned_as_its_rows_are(learner: Any, library: Any) -> None:
    columns: dict[str, list[Any]] = {
        "sky": [None if k % 7 == 3 else "ab"[k % 3 == 0] for k in range(60)],
        "road": ["dry" if k % 3 else "wet" for k in range(60)],
        "heat": [None if k % 5 == 2 else 0.5 * (k % 4) for k in range(60)],
    }
    wanted = ["sky", "heat"] if learner in NUMBERS else ["sky", "road"]
    frame = library({name: columns[name] for name in wanted})
    whole, each = learner.clone(), learner.clone()
    whole.learn_many(frame)
    for k in range(60):
        each.learn_one({name: columns[name][k] for name in wanted if columns[name][k] is not None})
    whole, each = (getattr(model, "model_", model) for model in (whole, each))
    assert str(whole.state()) == str(each.state()) and whole.clock > 50
