"""Searches over rows with gaps: no edges are invented, those that are there are found, and no slice takes long."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.completions import completed, completing
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.k2 import K2Search
from stream_bayes.core.search.pc import PC
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import BIC, K2, BDeu
from stream_bayes.core.search.structure_score import edge_confidence, score
from stream_bayes.core.search.tree_search import chow_liu_tree, tan_structure
from stream_bayes.networks import BayesNet
from tests.builds import EVERYTHING
from tests.concepts import drawn_network

ROWS = 20_000
pytestmark = pytest.mark.skipif(
    not EVERYTHING, reason="so many rows take minutes; tests of fewer run the same kernels on this build"
)
NAMES = [f"v{k}" for k in range(8)]


def with_gaps(columns: dict[str, Any], share: float, rng: np.random.Generator, values: int = 2) -> Sample:
    gappy = {v: np.where(rng.random(len(column)) < share, -1, column) for v, column in columns.items()}
    return Sample(gappy, dict.fromkeys(gappy, values))


def independent(seed: int, share: float, values: int = 2, rows: int = ROWS) -> Sample:
    """Eight independent skewed variables."""
    rng = np.random.default_rng(seed)
    columns = {}
    for v in NAMES:
        shares = np.sort(np.maximum(rng.dirichlet([0.6] * values), 0.03))[::-1]
        columns[v] = rng.choice(values, rows, p=shares / shares.sum())
    return with_gaps(columns, share, rng, values)


def chain(seed: int, share: float, flips: float = 0.2, rows: int = ROWS) -> Sample:
    rng = np.random.default_rng(seed)
    columns, column = {}, (rng.random(rows) < 0.3).astype(int)
    for v in NAMES:
        columns[v] = column
        column = np.where(rng.random(rows) < flips, 1 - column, column)
    return with_gaps(columns, share, rng)


CHAIN = Structure.from_edges(itertools.pairwise(NAMES))


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_independent_variables_get_no_edges(share: float, values: int) -> None:
    sample = independent(21, share, values)
    assert HillClimbing().search(sample).structure.edges == ()
    assert K2Search(NAMES, score=BIC()).search(sample).structure.edges == ()


@pytest.mark.parametrize("how", [BDeu(), K2()])
def test_other_scores_invent_none_either(how: Any) -> None:
    assert HillClimbing(score=how, max_parents=2).search(independent(23, 0.3, 3)).structure.edges == ()


@pytest.mark.parametrize("flips", [0.1, 0.3])
def test_a_chain_is_found_exactly(flips: float) -> None:
    sample = chain(31, 0.3, flips)
    assert HillClimbing().search(sample).structure.cpdag() == CHAIN.cpdag()
    assert K2Search(NAMES, score=BIC()).search(sample).structure == CHAIN
    assert chow_liu_tree(sample, root="v0") == CHAIN
    assert PC(significance=1e-4, max_given=2).search(sample).cpdag == CHAIN.cpdag()


def test_trees_and_classes_of_gappy_rows() -> None:
    sample = chain(32, 0.3)
    tree = tan_structure(sample, "v0")
    assert set(tree.children("v0")) == set(NAMES[1:])
    joined = {frozenset(edge) for edge in tree.edges if "v0" not in edge}
    assert {frozenset(pair) for pair in itertools.pairwise(NAMES[1:])} == joined


def test_rows_whose_gaps_depend_on_other_values_still_give_the_chain() -> None:
    rng = np.random.default_rng(33)
    whole = chain(34, 0.0)
    columns = {v: whole.codes[:, k].astype(int) for k, v in enumerate(NAMES)}
    for v, above in zip(NAMES[1::2], NAMES[::2], strict=True):  # missing at random: by a value that is there
        share = np.where(columns[above] == 1, 0.5, 0.1)
        columns[v] = np.where(rng.random(ROWS) < share, -1, columns[v])
    sample = Sample(columns, dict.fromkeys(NAMES, 2))
    assert HillClimbing().search(sample).structure.cpdag() == CHAIN.cpdag()


def test_a_random_network_costs_hardly_more_than_the_true_graph() -> None:
    found = 0.0
    for seed in (41, 42):
        network = drawn_network(12, seed)
        rng = np.random.default_rng(seed)
        codes = Inference(network).sample_codes(ROWS, rng)
        columns = {str(v): codes[:, k] for k, v in enumerate(network.structure.variables)}
        sample = with_gaps(columns, 0.4, rng, 3)
        found += network.structure.cpdag().shd(HillClimbing().search(sample).structure.cpdag())
    assert found <= 4  # of some 40 edges


def test_a_growing_network_invents_no_edges_and_finds_those_that_are_there() -> None:
    for sample, expected in ((independent(51, 0.3, rows=4000), ()), (chain(52, 0.3, 0.1, 4000), 7)):
        model = BayesNet("learn")
        for row in sample.codes.tolist():
            model.learn_one({v: code for v, code in zip(NAMES, row, strict=True) if code < 2})
        edges = model.structure.edges
        assert edges == expected if expected == () else len(edges) == expected


def test_nothing_changes_without_gaps_and_filled_rows_keep_what_is_there() -> None:
    whole = chain(61, 0.0, rows=500)
    assert completed(whole) is whole
    gappy = chain(61, 0.3, rows=500)
    filled = completed(gappy, seed=3)
    assert filled.weight == pytest.approx(gappy.weight) and not filled.has_gaps
    times = len(filled) // len(gappy)
    known = np.tile(gappy.codes < 2, (times, 1))
    assert (filled.codes[known] == np.tile(gappy.codes, (times, 1))[known]).all()
    assert (completed(gappy, seed=3).codes == filled.codes).all()
    assert (completed(gappy, seed=4).codes != filled.codes).any()


def test_the_score_is_the_one_that_the_search_maximises() -> None:
    sample = chain(62, 0.2, rows=3000)
    found = HillClimbing().search(sample)
    assert score(found.structure, sample) == pytest.approx(found.score)
    assert score(CHAIN, sample) == pytest.approx(found.score)
    assert score(CHAIN.without_edge("v0", "v1"), sample) < found.score


def test_required_edges_stay_and_start_and_path_agree() -> None:
    sample = independent(63, 0.3, rows=3000)
    found = HillClimbing(required=[("v1", "v0")]).search(sample)
    assert found.structure.edges == (("v1", "v0"),)
    start = Structure.from_edges([("v2", "v3")], NAMES)
    found = HillClimbing().search(sample, start)
    edges = set(start.edges)
    for move in found.path:
        edge = (move.parent, move.child)
        edges = edges | {edge} if move.kind == "add" else edges - {edge}
        edges |= {edge[::-1]} if move.kind == "reverse" else set()
    assert edges == set(found.structure.edges)
    assert found.difference.removed == (("v2", "v3"),)


def test_confidence_of_gappy_rows_is_low_for_what_is_not_there() -> None:
    shares = edge_confidence(
        independent(64, 0.3, rows=2000), HillClimbing(restarts=2), 4, np.random.default_rng(1)
    )
    assert max(shares.values(), default=0.0) <= 0.5


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [-1] * 50, "b": [0, 1] * 25},
        {"a": [-1] * 50, "b": [-1] * 50},
        {"a": [-1] * 25 + [0, 1] * 12 + [0], "b": [0, 1] * 12 + [0] + [-1] * 25},
        {"a": [0, -1], "b": [1, 1]},
        {"a": [-1], "b": [-1]},
        {"a": [], "b": []},
    ],
    ids=["one", "all", "never together", "two rows", "one row", "no row"],
)
def test_variables_that_are_never_there_are_joined_to_nothing(columns: dict[str, list[int]]) -> None:
    sample = Sample({v: np.array(codes, int) for v, codes in columns.items()}, {"a": 2, "b": 2})
    assert HillClimbing().search(sample).structure.edges == ()
    weightless = Sample(
        {v: np.array(codes, int) for v, codes in columns.items()}, {"a": 2, "b": 2}, [0.0] * len(columns["a"])
    )
    assert HillClimbing().search(weightless).structure.edges == ()


def test_the_work_is_done_in_slices() -> None:
    steps = completing(chain(65, 0.3, rows=2000))
    assert sum(1 for _ in steps) > 200
