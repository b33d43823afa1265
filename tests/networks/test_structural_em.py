"""A hidden common cause is found with its children, and said not to be there where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes.errors import BadValue
from stream_bayes.networks import HillClimbing, Structure, hidden_structure, sample_of

CAUSED = ["x0", "x1", "x2", "x3"]
TRUTH = Structure({"mood": [], **{v: ["mood"] for v in CAUSED}, "y": ["x0"], "z": []})


def drawn(count: int, seed: int, gaps: float = 0.0, strong: float = 0.8) -> list[dict[str, Any]]:
    """Draw rows in which four values follow a hidden one, and a fifth follows the first of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for mood in rng.integers(2, size=count).tolist():
        row: dict[str, Any] = {v: mood if rng.random() < strong else int(rng.integers(2)) for v in CAUSED}
        row |= {"y": row["x0"] if rng.random() < 0.8 else int(rng.integers(2)), "z": int(rng.integers(3))}
        rows.append({v: "abc"[value] for v, value in row.items() if rng.random() >= gaps})
    return rows


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_common_cause_is_found_with_the_graph_of_the_others(gaps: float) -> None:
    rows = drawn(500, 2, gaps)
    answer = hidden_structure(rows, "mood", starts=2)
    assert answer.is_better and answer.structure.same_equivalence_class(TRUTH)
    without = HillClimbing().search(sample_of(rows)).structure
    assert len(without.edges) > len(answer.structure.edges)
    shares = answer.network.query("mood", dict.fromkeys(CAUSED, "a"))
    assert max(shares.values()) > 0.95
    assert "without it" in str(answer)


def test_independent_variables_have_no_common_cause() -> None:
    answer = hidden_structure(drawn(300, 3, strong=0.0), "mood", starts=1)
    assert not answer.is_better
    assert {*answer.structure.markov_blanket("mood")} <= {"x0", "y"}  # it may stand between these


def test_the_number_of_states_with_the_highest_score_is_chosen() -> None:
    answer = hidden_structure(drawn(300, 5), "mood", [1, 2, 3], starts=1)
    assert answer.best == 2 == max(answer.scores, key=lambda number: answer.scores[number])
    assert answer.scores[1] <= answer.score_without < answer.scores[2]
    assert len(answer.network.query("mood")) == 2


def test_a_search_keeps_what_it_requires_and_forbids() -> None:
    search = HillClimbing(restarts=0, forbidden=[("mood", "x3")], required=[("z", "y")])
    structure = hidden_structure(drawn(200, 2), "mood", search=search, starts=1).structure
    assert ("mood", "x3") not in structure.edges and ("z", "y") in structure.edges


def test_bad_input_is_refused_by_name() -> None:
    rows = drawn(20, 1)
    with pytest.raises(BadValue, match="'x0' is not hidden"):
        hidden_structure(rows, "x0")
    with pytest.raises(BadValue, match="at least two variables"):
        hidden_structure([{"a": 1}], "mood")
    with pytest.raises(BadValue, match="states must be whole numbers"):
        hidden_structure(rows, "mood", 0)
    with pytest.raises(BadValue, match="restarts"):
        hidden_structure(rows, "mood", restarts=0)
    with pytest.raises(BadValue, match="starts"):
        hidden_structure(rows, "mood", starts=0)
    with pytest.raises(BadValue, match="hold measurements"):
        hidden_structure([{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "y"}], "mood")
