"""Best order score search against exact search, hill climbing, and parents grown and shrunk by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import ClimbLimits
from stream_bayes.core.search.exact_search import ExactSearch
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.order_search import BOSS, _OrderSearch
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.saved_search import search_from_json
from stream_bayes.core.search.score_search import Watching
from stream_bayes.core.search.scores import AIC, BIC, BDeu, Score
from stream_bayes.core.search.structure_score import score
from stream_bayes.errors import BadStructure, BadValue, UnknownFeature
from stream_bayes.networks.files.bif import read_bif
from tests.core.search.test_exact_search import drawn
from tests.networks.files.test_known_networks import folder_of_known_networks


def test_it_finds_the_optimum_of_a_few_variables_nearly_always() -> None:
    short = []
    for seed in range(12):
        sample = drawn(11, 300, 400 + seed)
        optimum = ExactSearch(max_parents=3).search(sample)
        assert optimum.is_optimal
        result = BOSS(max_parents=3).search(sample)
        assert result.score <= optimum.score + 1e-6
        assert not result.is_optimal  # it is not proven
        short.append(optimum.score - result.score)
    assert sum(each > 1e-6 for each in short) <= 1


def test_it_is_never_below_hill_climbing_and_mostly_above() -> None:
    gains = []
    for variables, seed in ((20, 1), (20, 2), (30, 4)):
        sample = drawn(variables, 1000, 500 + seed)
        climbed = HillClimbing(max_parents=3).search(sample)
        gains.append(BOSS(max_parents=3).search(sample).score - climbed.score)
    assert min(gains) >= 0.0
    assert sum(gain > 1.0 for gain in gains) >= 2


@pytest.mark.skipif(
    folder_of_known_networks() is None, reason="the networks come with pgmpy, of the extra peers"
)
@pytest.mark.parametrize(
    ("name", "optimum_is_found"), [("asia", True), ("sachs", True), ("insurance", False)]
)
def test_it_finds_the_optimum_of_known_networks(name: str, optimum_is_found: bool) -> None:
    folder = folder_of_known_networks()
    assert folder is not None
    network = read_bif(folder / f"{name}.bif.gz")
    names = network.structure.variables
    codes = Inference(network).sample_codes(1000, np.random.default_rng(61))
    sizes = {v: len(network.states[v]) for v in names}
    sample = Sample({v: codes[:, k] for k, v in enumerate(names)}, sizes).collapsed()
    result = BOSS(restarts=5).search(sample)
    assert result.score >= HillClimbing().search(sample).score
    if optimum_is_found:
        optimum = ExactSearch().search(sample)
        assert optimum.is_optimal and result.score == pytest.approx(optimum.score)
    else:
        assert result.score > HillClimbing().search(sample).score + 50.0


@pytest.mark.parametrize("by", [BIC(), AIC(), BDeu(5.0)], ids=str)
def test_its_score_is_that_of_its_structure_and_its_path_leads_there(by: Score) -> None:
    sample = drawn(9, 400, 3)
    result = BOSS(score=by).search(sample)
    assert result.finished
    assert result.score == pytest.approx(score(result.structure, sample, by), abs=1e-7)
    assert sum(move.gain for move in result.path) == pytest.approx(result.score - result.start_score)
    again = BOSS(score=by).search(sample, result.structure)
    assert again.structure == result.structure and not again.path
    assert BOSS(score=by).search(sample).structure == result.structure  # it is deterministic


def test_constraints_are_kept_and_the_best_within_them_is_found() -> None:
    for seed in range(6):
        sample = drawn(6, 300, 20 + seed)
        names = sample.variables
        constraints: dict[str, Any] = {
            "max_parents": 2,
            "required": [(names[3], names[0]), (names[5], names[3])],
            "forbidden": [(names[1], names[2])],
            "tiers": [[names[2], names[3]], [names[4]]],
        }
        search = BOSS(**constraints)
        result = search.search(sample)
        assert result.score == pytest.approx(ExactSearch(**constraints).search(sample).score, abs=1e-6)
        edges = set(result.structure.edges)
        assert edges.issuperset(constraints["required"]) and (names[1], names[2]) not in edges
        assert not edges & {(names[4], names[2]), (names[4], names[3])}
        assert max(len(result.structure.parents(name)) for name in names) <= 2
        assert search_from_json(search.to_json()) == search


def test_parents_are_grown_and_shrunk_from_those_before() -> None:
    sample = drawn(6, 200, 8)
    scorer, size = FamilyScorer(sample, AIC()), len(sample.variables)
    allowed = ~np.eye(size, dtype=bool)
    allowed[2, 1] = False
    required = np.zeros((size, size), bool)
    required[0, 4] = True
    watching = Watching(lambda: False, lambda families, score: None)
    trees = _OrderSearch(scorer, ClimbLimits(allowed, required, 3), watching, 0).trees
    for child in range(size):
        for before in itertools.chain.from_iterable(
            itertools.combinations([v for v in range(size) if v != child], number) for number in range(size)
        ):
            parents = [0] if child == 4 else []
            if not set(parents).issubset(before):
                continue
            candidates = [v for v in before if allowed[v, child]]

            def best(parents: list[int], changes: list[list[int]], child: int = child) -> list[int]:
                top = max(changes, key=lambda each: scorer.score(child, each), default=parents)
                return top if scorer.score(child, top) > scorer.score(child, parents) + 1e-6 else parents

            while len(parents) < 3:
                further = [v for v in candidates if v not in parents]
                grown = best(parents, [[*parents, v] for v in further])
                if grown is parents and len(parents) - (child == 4) <= 1 and len(parents) <= 1:
                    grown = best(parents, [[*parents, *pair] for pair in itertools.combinations(further, 2)])
                if grown is parents:
                    break
                parents = grown
            while True:
                shrunk = best(
                    parents, [[p for p in parents if p != v] for v in parents if (v, child) != (0, 4)]
                )
                if shrunk is parents:
                    break
                parents = shrunk
            bits = sum(1 << v for v in before)
            assert trees[child].parents(bits) == sorted(parents)
            assert trees[child].score(bits) == pytest.approx(scorer.score(child, parents))


def test_two_parents_that_tell_nothing_alone_are_found_together() -> None:
    rng = np.random.default_rng(4)
    a, b, c = rng.integers(0, 2, (3, 500))
    sample = Sample({"a": a, "b": b, "c": c, "d": a ^ b}, dict.fromkeys("abcd", 2))
    assert not HillClimbing().search(sample).structure.edges
    result = BOSS().search(sample)
    assert result.score == pytest.approx(ExactSearch().search(sample).score)
    assert len(result.structure.edges) == 2 and not result.structure.parents("c")


def test_a_budget_or_its_caller_ends_it_with_the_best_so_far() -> None:
    sample = drawn(12, 500, 2)
    whole = BOSS().search(sample)
    cut = BOSS(max_families=300).search(sample)
    assert not cut.finished and cut.families < whole.families
    assert cut.start_score <= cut.score <= whole.score
    calls: list[int] = []

    def is_late() -> bool:
        calls.append(1)
        return len(calls) > 600

    stopped = BOSS().search(sample, should_stop=is_late)
    assert not stopped.finished and stopped.score <= whole.score
    none = BOSS().search(sample, should_stop=lambda: True)
    assert none.structure == Structure.from_edges([], sample.variables) and not none.path


def test_progress_rises_to_the_families_of_the_result() -> None:
    seen: list[int] = []
    result = BOSS(restarts=2).search(drawn(8, 300, 5), progress=lambda families, score: seen.append(families))
    assert seen == sorted(seen) and seen[-1] <= result.families


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_give_no_edges(rows: int) -> None:
    assert BOSS().search(Sample({"a": [0] * rows, "b": [0] * rows}, {"a": 2, "b": 2})).structure.edges == ()


def test_one_variable_and_rows_with_gaps() -> None:
    assert BOSS().search(Sample({"a": [0, 1]}, {"a": 2})).structure.variables == ("a",)
    rng = np.random.default_rng(1)
    cause = rng.integers(0, 2, 2000)
    effect, other = np.where(rng.random(2000) < 0.1, 1 - cause, cause), rng.integers(0, 2, 2000)
    columns = {"cause": cause, "effect": effect, "other": other}
    gappy = {v: np.where(rng.random(2000) < 0.3, -1, column) for v, column in columns.items()}
    result = BOSS().search(Sample(gappy, dict.fromkeys(gappy, 2)))
    assert [set(edge) for edge in result.structure.edges] == [{"cause", "effect"}]


def test_what_is_wrong_is_refused() -> None:
    sample = drawn(4, 50, 1)
    a, b, *_ = sample.variables
    with pytest.raises(BadValue, match="restarts: expected a whole number of at least 0"):
        BOSS(restarts=-1)
    with pytest.raises(UnknownFeature, match="tiers"):
        BOSS(tiers=[["cause"]]).search(sample)
    with pytest.raises(BadStructure):
        BOSS(required=[(a, b), (b, a)]).search(sample)
    with pytest.raises(BadStructure, match="lacks the required"):
        BOSS(required=[(a, b)]).search(sample, Structure.from_edges([], sample.variables))
