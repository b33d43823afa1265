"""Hill climbing never lowers the score, keeps its limits, is deterministic, and reports each step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.networks.equivalence import Difference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.k2 import K2Search
from stream_bayes.core.search.pc import PC
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.saved_search import search_from_json
from stream_bayes.core.search.scores import BIC, K2, BDeu, LogLikelihood, Score
from stream_bayes.core.search.search_result import Move
from stream_bayes.errors import BadStructure, BadValue, UnknownFeature
from tests.builds import examples
from tests.core.search.drawn_samples import Drawn, drawn_from, drawn_samples, plain_sample

LAWN = Structure(
    {"sky": [], "sprinkler": [], "wet": ["sky", "sprinkler"], "slip": ["wet"], "shoes": ["slip"]}
)


def total(sample: Sample, structure: Structure, score: Score) -> float:
    parents = [[sample.place(p) for p in structure.parents(v)] for v in sample.variables]
    return FamilyScorer(sample, score).total(parents)


def after(structure: Structure, move: Move) -> Structure:
    if move.kind == "add":
        return structure.with_edge(move.parent, move.child)
    if move.kind == "remove":
        return structure.without_edge(move.parent, move.child)
    return structure.with_reversed(move.parent, move.child)


def neighbours(structure: Structure) -> list[Structure]:
    """Every structure one step away."""
    found = []
    for a, b in permutations(structure.variables, 2):
        if (a, b) in structure.edges:
            steps = [structure.without_edge, structure.with_reversed]
        elif (b, a) in structure.edges:
            steps = []
        else:
            steps = [structure.with_edge]
        for step in steps:
            try:
                found.append(step(a, b))
            except BadStructure:
                continue  # a cycle
    return found


@st.composite
def searches(draw: Any) -> tuple[HillClimbing, Drawn, Structure]:
    """A search, a sample, and a structure to start from that keeps the search's limits."""
    drawn = draw(drawn_samples(least=2, rows=30, whole=True))
    order = draw(st.permutations(list(drawn.sizes)))
    most = draw(st.none() | st.integers(0, 2))
    start: dict[Any, list[Any]] = {v: [] for v in order}
    for i, v in enumerate(order[1:], start=1):
        start[v] = draw(
            st.lists(st.sampled_from(order[:i]), unique=True, max_size=2 if most is None else most)
        )
    structure = Structure(start)
    edges = structure.edges
    required = draw(st.lists(st.sampled_from(edges), unique=True, max_size=2)) if edges else []
    pairs = [pair for pair in permutations(order, 2) if pair not in edges]
    forbidden = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))
    search = HillClimbing(
        score=draw(st.sampled_from([BIC(), BDeu(), K2(), LogLikelihood()])),
        max_parents=most,
        required=required,
        forbidden=forbidden,
        tabu=draw(st.sampled_from([0, 0, 3])),
        patience=draw(st.integers(1, 5)),
        restarts=draw(st.sampled_from([0, 0, 2])),
        disturbance=draw(st.integers(1, 3)),
    )
    return search, drawn, structure


@settings(max_examples=examples(60))
@given(searches(), st.integers(0, 2**32 - 1))
def test_a_search_obeys_its_limits_and_tells_every_step(
    case: tuple[HillClimbing, Drawn, Structure], seed: int
) -> None:
    search, drawn, start = case
    sample = drawn.sample
    result = search.search(sample, start, rng=np.random.default_rng(seed))
    assert result.score >= result.start_score
    assert result.start_score == pytest.approx(total(sample, start, search.score))
    assert result.score == pytest.approx(total(sample, result.structure, search.score))
    assert result.finished
    assert set(search.required) <= set(result.structure.edges)
    assert not set(search.forbidden) & set(result.structure.edges)
    if search.max_parents is not None:
        assert max(len(result.structure.parents(v)) for v in sample.variables) <= search.max_parents
    structure, score = start, result.start_score
    for move in result.path:
        structure = after(structure, move)
        assert move.gain == pytest.approx(total(sample, structure, search.score) - score, abs=1e-8)
        score += move.gain
    assert structure == result.structure
    assert result.difference == start.difference(result.structure)
    again = search.search(sample, start, rng=np.random.default_rng(seed))
    assert again == result


@settings(max_examples=examples(40))
@given(drawn_samples(least=2, rows=30), st.sampled_from([BIC(), BDeu(), K2()]))
def test_no_step_from_the_top_leads_higher(drawn: Drawn, score: Score) -> None:
    sample = drawn.sample
    result = HillClimbing(score=score).search(sample)
    rounding = 1e-8 * max(1.0, abs(result.score))
    for other in neighbours(result.structure):
        assert total(sample, other, score) <= result.score + rounding
    assert all(move.gain > 0 for move in result.path)


@settings(max_examples=examples(40))
@given(drawn_samples(least=2, rows=30))
def test_each_step_is_the_best_there_is(drawn: Drawn) -> None:
    sample = drawn.sample
    structure = Structure.from_edges((), sample.variables)
    score = total(sample, structure, BIC())
    for move in HillClimbing().search(sample).path:
        best = max(total(sample, other, BIC()) for other in neighbours(structure))
        assert move.gain == pytest.approx(best - score, abs=1e-7)
        structure = after(structure, move)
        score += move.gain


def test_of_equal_changes_the_first_by_name_is_taken() -> None:
    column = [0, 1] * 20
    result = HillClimbing().search(Sample({"c": column, "b": column, "a": column}, dict.fromkeys("abc", 2)))
    assert [(move.kind, move.parent, move.child) for move in result.path] == [
        ("add", "a", "b"),
        ("add", "a", "c"),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_class_of_a_known_structure_is_found(seed: int) -> None:
    sample = plain_sample(LAWN, 20_000, seed).collapsed()
    found = HillClimbing(restarts=100, disturbance=2).search(sample, rng=np.random.default_rng(seed))
    assert found.structure.same_equivalence_class(LAWN)


def test_tabu_and_restarts_are_never_worse_than_climbing_once() -> None:
    rng = np.random.default_rng(3)
    structure = Structure({v: sorted(rng.choice(v, min(v, 2), replace=False).tolist()) for v in range(9)})
    sample = drawn_from(structure, 800, 3, values=3)
    once = HillClimbing(restarts=0).search(sample)
    assert HillClimbing(tabu=5, restarts=0).search(sample).score >= once.score
    restarted = HillClimbing(restarts=20).search(sample, rng=np.random.default_rng(0))
    assert restarted.score >= once.score
    assert restarted.families > once.families
    assert HillClimbing().restarts > 0  # the default


@pytest.mark.parametrize(("size", "disturbed"), [(6, 4), (30, 6)])
def test_a_restart_disturbs_a_fifth_of_the_variables_and_at_least_four(size: int, disturbed: int) -> None:
    rng = np.random.default_rng(size)
    structure = Structure({v: sorted(rng.choice(v, min(v, 2), replace=False).tolist()) for v in range(size)})
    sample = drawn_from(structure, 600, 3)
    search = HillClimbing(restarts=8)
    assert search_from_json(search.to_json()) == search
    drawn = {n: HillClimbing(restarts=8, disturbance=n).search(sample).path for n in range(3, 8)}
    found = search.search(sample).path
    assert found == drawn[disturbed]
    assert any(found != path for path in drawn.values())


def test_tabu_goes_down_before_it_goes_up_and_not_back() -> None:
    """Of four variables with an even sum, any three are independent: the first edges lower the score."""
    number = np.arange(160)
    a, b, c = number % 2, number // 2 % 2, number // 4 % 2
    sample = Sample({"a": a, "b": b, "c": c, "d": a ^ b ^ c}, dict.fromkeys("abcd", 2))
    assert HillClimbing().search(sample).structure.edges == ()
    assert HillClimbing(tabu=3, patience=1).search(sample).structure.edges == ()
    found = HillClimbing(tabu=3).search(sample)
    assert sorted([len(found.structure.parents(v)) for v in "abcd"]) == [0, 0, 0, 3]
    assert found.score > found.start_score + 50.0


def test_restarts_come_out_of_a_top_from_which_turned_edges_do_not_lead() -> None:
    rng = np.random.default_rng(39)
    columns: dict[str, Any] = {}
    for k in range(6):
        above = [columns[name] for name in columns if rng.random() < 0.6]
        chance = rng.random((2,) * len(above))[tuple(above)] if above else rng.random()
        columns[f"v{k}"] = (rng.random(400) < chance).astype(int)
    sample = Sample(columns, dict.fromkeys(columns, 2))
    once = HillClimbing(restarts=0).search(sample)
    again = HillClimbing(restarts=5, disturbance=2).search(sample, rng=np.random.default_rng(0))
    assert again.score > once.score + 10.0
    assert HillClimbing().search(sample).score == pytest.approx(again.score)
    # A restart that disturbs all variables climbs from the structure without edges again.
    everything = HillClimbing(restarts=40, disturbance=6).search(sample)
    assert everything.score == pytest.approx(once.score)


def test_what_is_required_stays_as_it_is_though_it_costs() -> None:
    useless = Sample({"a": [0, 0, 1, 1] * 20, "b": [0, 1] * 40}, {"a": 2, "b": 2})
    for kept in (
        HillClimbing(required=[("b", "a")]),
        HillClimbing(required=[("b", "a")], tabu=2),
        HillClimbing(required=[("b", "a")], restarts=3),
    ):
        assert kept.search(useless, rng=np.random.default_rng(1)).structure.edges == (("b", "a"),)
    sky, wind = np.random.default_rng(1).integers(0, 2, (2, 500))
    sample = Sample({"sky": sky, "wind": wind, "rain": sky & wind}, dict.fromkeys(["sky", "wind", "rain"], 2))
    apart = [("wind", "sky"), ("sky", "wind")]
    start = Structure({"wind": [], "rain": ["wind"], "sky": ["rain"]})
    assert HillClimbing(forbidden=apart).search(sample, start).structure.parents("rain") == ("sky", "wind")
    for required in start.edges:
        found = HillClimbing(forbidden=apart, required=[required]).search(sample, start)
        assert required in found.structure.edges


def test_a_search_that_spent_its_families_says_so() -> None:
    sample = drawn_from(LAWN, 2_000, 1)
    all_of_it = HillClimbing().search(sample)
    cut = HillClimbing(max_families=12).search(sample)
    assert all_of_it.finished
    assert not cut.finished
    # What a step counts may go over: a child's families with each other variable.
    assert 12 <= cut.families < 12 + 2 * len(sample.variables) < all_of_it.families
    assert not HillClimbing(max_families=0).search(sample).path


def test_a_scorer_that_knows_families_leaves_a_search_its_budget() -> None:
    sample = drawn_from(LAWN, 2_000, 1)
    scorer = FamilyScorer(sample, BIC())
    first = HillClimbing().search(sample, scorer=scorer)
    again = HillClimbing(max_families=1).search(sample, scorer=scorer)
    assert (again.families, again.finished) == (0, True)
    assert again.structure == first.structure


def test_a_search_that_was_stopped_says_so_and_keeps_the_best() -> None:
    sample = drawn_from(LAWN, 2_000, 1)
    told: list[tuple[int, float]] = []
    result = HillClimbing().search(
        sample,
        should_stop=lambda: len(told) >= 2,
        progress=lambda families, score: told.append((families, score)),
    )
    assert not result.finished
    assert len(result.path) == 2
    assert told[-1] == (result.families, result.score)
    assert told[0][1] < told[1][1]
    whole = HillClimbing().search(sample)
    assert whole.path[:2] == result.path


def test_a_warm_search_after_some_rows_ends_where_a_cold_one_does() -> None:
    before, after_it = drawn_from(LAWN, 3_000, 1), drawn_from(LAWN, 3_300, 2)
    whole = Sample(
        {
            v: np.concatenate([before.codes[:, k], after_it.codes[:, k]]).astype(int)
            for k, v in enumerate(before.variables)
        },
        dict.fromkeys(before.variables, 2),
    ).collapsed()
    scorer = FamilyScorer(before, BIC())
    first = HillClimbing().search(before, scorer=scorer)
    scorer.follow(whole, after_it)
    warm = HillClimbing().search(whole, first.structure, scorer=scorer)
    cold = HillClimbing().search(whole, first.structure)
    assert warm.structure == cold.structure
    assert warm.score == pytest.approx(cold.score)
    assert warm.families < cold.families


def test_required_edges_are_where_a_search_starts() -> None:
    sample = drawn_from(LAWN, 200, 1)
    result = HillClimbing(required=[("shoes", "sky")], max_families=0).search(sample)
    assert result.structure.edges == (("shoes", "sky"),)
    assert result.difference == Difference()


def sample_of_three() -> Sample:
    return Sample({v: [0, 1] for v in "abc"}, dict.fromkeys("abc", 2))


def test_edges_that_contradict_one_another_are_refused() -> None:
    with pytest.raises(BadStructure, match=r"both required and forbidden.*'b'"):
        HillClimbing(required=[("a", "b")], forbidden=[("b", "a"), ("a", "b")])
    circle = HillClimbing(required=[("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(BadStructure, match="cycle: 'a' -> 'b' -> 'c' -> 'a'"):
        circle.search(sample_of_three())
    with pytest.raises(BadStructure, match="cycle: 'a' -> 'b' -> 'c' -> 'a'"):
        circle.search(sample_of_three(), Structure({"a": [], "b": [], "c": []}))
    with pytest.raises(UnknownFeature, match="'z'"):
        HillClimbing(forbidden=[("a", "z")]).search(sample_of_three())


@pytest.mark.parametrize("rule", ["required", "forbidden"])
@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (["ab"], r"expected edges \(parent, child\), got 'ab'"),
        ([("a", "b", "c")], r"expected edges \(parent, child\), got \('a', 'b', 'c'\)"),
        ([("a", 0.5j)], "a variable's name: expected str"),
        ("ab", r"expected a list of edges \(parent, child\), got 'ab'"),
        (None, r"expected a list of edges \(parent, child\), got None"),
    ],
)
def test_what_is_no_edge_is_no_rule(rule: str, edges: Any, message: str) -> None:
    for search in (HillClimbing, PC):
        with pytest.raises(BadStructure, match=f"{rule}: {message}"):
            search(**{rule: edges})


@pytest.mark.parametrize(
    ("settings", "start", "complaint"),
    [
        ({"required": [("a", "b")]}, {"a": [], "b": [], "c": []}, r"lacks the required.*'a'"),
        ({"forbidden": [("a", "b")]}, {"a": [], "b": ["a"], "c": []}, r"has the forbidden.*'a'"),
        ({}, {"a": [], "b": []}, "the start has the variables"),
        ({"max_parents": 1}, {"a": [], "b": [], "c": ["a", "b"]}, "'c' has 2 parents .* max_parents=1"),
    ],
)
def test_a_start_that_breaks_the_rules_is_refused(settings: Any, start: Any, complaint: str) -> None:
    with pytest.raises(BadStructure, match=complaint):
        HillClimbing(**settings).search(sample_of_three(), Structure(start))


def test_more_required_parents_than_are_allowed_are_refused() -> None:
    with pytest.raises(BadStructure, match="max_parents=1"):
        HillClimbing(required=[("a", "c"), ("b", "c")], max_parents=1).search(sample_of_three())


@pytest.mark.parametrize(
    "settings",
    [
        {"tabu": -1},
        {"patience": 0},
        {"restarts": True},
        {"disturbance": 0},
        {"max_parents": -1},
        {"max_families": 0.5},
    ],
)
def test_settings_are_whole_numbers(settings: Any) -> None:
    with pytest.raises(BadValue, match=f"{next(iter(settings))}: expected a whole number"):
        HillClimbing(**settings)


@pytest.mark.parametrize("score", ["bic", BIC, None])
def test_a_score_is_a_score_and_not_its_name(score: Any) -> None:
    with pytest.raises(BadValue, match=r"score: expected one of .*BIC\(\)"):
        HillClimbing(score=score)
    with pytest.raises(BadValue, match=r"score: expected one of .*BIC\(\)"):
        K2Search(["a"], score=score)


def test_restarts_without_a_generator_are_drawn_with_the_seed() -> None:
    sample = sample_of_three()
    found = HillClimbing(restarts=3, seed=7).search(sample)
    assert found == HillClimbing(restarts=3, seed=7).search(sample)
    seed = int(np.random.default_rng(7).integers(2**63))
    drawn = HillClimbing(restarts=3).search(sample, rng=np.random.default_rng(7))
    assert drawn == HillClimbing(restarts=3, seed=seed).search(sample)


def test_a_search_in_slices_finds_the_same_in_more_than_one_slice() -> None:
    sample, search = sample_of_three(), HillClimbing(restarts=2, tabu=2)
    found = []

    def work() -> Iterator[None]:
        found.append((yield from search.slices(sample)))

    yields = list(work())
    assert found == [search.search(sample)] and len(yields) > 5


def test_a_scorer_of_something_else_is_refused() -> None:
    sample = sample_of_three()
    with pytest.raises(BadValue, match="by K2"):
        HillClimbing().search(sample, scorer=FamilyScorer(sample, K2()))
    with pytest.raises(BadValue, match="another sample"):
        HillClimbing().search(sample, scorer=FamilyScorer(sample_of_three(), BIC()))


def test_there_may_be_nothing_to_search() -> None:
    for sample in (Sample({}, {}), Sample({"a": []}, {"a": 2})):
        result = HillClimbing(tabu=2, restarts=2).search(sample, rng=np.random.default_rng(0))
        assert (result.path, result.structure.edges, result.finished) == ((), (), True)
