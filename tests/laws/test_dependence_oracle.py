"""KDB with two or more parents answers as sums over the events that are kept, written out in dictionaries."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stream_bayes import KDB
from stream_bayes.core.counts import _families as _family_counts
from stream_bayes.testing.assertions import same_bytes
from tests.builds import examples
from tests.oracles.dependence import DependenceOracle

EXAMPLES = examples(20)
CLOSE = 1e-12

NAMES = ["a", "b", "größe", "d"]
VALUES = ["red", "green", True]
LABELS = ["yes", "no", 2.5]
NAN = float("nan")

values = st.sampled_from(VALUES)
whole_rows = st.fixed_dictionaries(dict.fromkeys(NAMES, values))
gappy_rows = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(NAMES, st.sampled_from([*VALUES, *VALUES, None, NAN]))
)
weights = st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.0])
events = st.lists(
    st.tuples(st.one_of(whole_rows, gappy_rows), st.sampled_from(LABELS), weights), min_size=1, max_size=25
)
arguments = st.fixed_dictionaries(
    {
        "prior": st.sampled_from(["laplace", "m-estimate"]),
        "strength": st.sampled_from([1.0, 0.5, 2.0, 0.0]),
        "half_life": st.sampled_from([None, None, 3.0, 20.0]),
        "window": st.sampled_from([1, 4, 50]),
    }
)


def compare(model: KDB, oracle: DependenceOracle, x: dict[str, Any]) -> None:
    scores = oracle.scores(x)
    joint = model.joint_log_likelihood(x)
    assert set(joint) == set(scores)
    size = max([1.0, *(abs(score) for score in scores.values() if math.isfinite(score))])
    for label, score in scores.items():
        assert joint[label] == pytest.approx(score, abs=CLOSE * size, rel=0), (x, joint, scores)
    answer = model.predict_proba_one(x)
    for label, p in oracle.probabilities(x).items():
        assert answer[label] == pytest.approx(p, abs=CLOSE * size, rel=0), x


@pytest.mark.parametrize("most_cells", [None, 4], ids=["whole tables", "configurations"])
@settings(max_examples=EXAMPLES)
@given(st.data(), events, arguments, st.integers(2, 3), st.sampled_from([None, 1, 4]))
def test_kdb_backs_off_level_by_level(
    most_cells: int | None,
    data: st.DataObject,
    samples: list[tuple[dict[str, Any], Any, float]],
    arguments: dict[str, Any],
    k: int,
    every: int | None,
) -> None:
    # Unsmoothed, rounding leaves something of what fades and is taken back.
    assume(not (arguments["strength"] == 0.0 and arguments["half_life"] is not None))
    with pytest.MonkeyPatch.context() as patch:
        if most_cells is not None:
            patch.setattr(_family_counts, "MOST_CELLS", most_cells)
        model, oracle = KDB(k=k, every=every, **arguments), DependenceOracle(**arguments)
        held = []
        for x, y, w in samples:
            model.learn_one(x, y, w)
            oracle.learn(x, y, w)
            oracle.take_parents(model.parents_)
            held.append((x, y, w, model.clock))
        compare(model, oracle, samples[-1][0])
        model.rederive()
        oracle.take_parents(model.parents_)
        for x, y, w, clock in held:
            if w > 0.0 and data.draw(st.integers(0, 3)) == 0:
                model.unlearn_one(x, y, w, at=clock)
                oracle.unlearn(clock)
        twin = KDB.from_state(model.state())
        same_bytes(model, twin, "from_state")
        for x in [{}, *data.draw(st.lists(st.one_of(whole_rows, gappy_rows), min_size=1, max_size=4))]:
            compare(model, oracle, x)
            compare(twin, oracle, x)
        model.rederive()
        oracle.take_parents(model.parents_)
        compare(model, oracle, samples[0][0])
