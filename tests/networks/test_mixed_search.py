"""Scores and searches over names and numbers: the score is the probability of learning the rows one after another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stream_bayes import MixedNetwork
from stream_bayes.core.live_networks.mixed_counts import Marginal
from stream_bayes.core.live_networks.mixed_families import NumericFamily
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.mixed_scores import MixedScorer, search_mixed
from stream_bayes.errors import BadValue, KindChanged
from stream_bayes.networks import BOSS, BDeu, ExactSearch, HillClimbing, mixed_structure
from stream_bayes.networks.mixed_search import _mixed_sample
from tests.hash_seeds import printed_with
from tests.networks.test_mixed_network import GRAPH, events


def sequential(
    rows: list[dict[str, Any]], child: str, names: list[str], numbers: list[str], strength: float
) -> float:
    """Return the log-probability of a child's values, each predicted from the rows before it."""
    family = [*numbers, child]
    whole = np.array([[row[v] for v in family] for row in rows], float)
    units = [Marginal(1.0, *each) for each in zip(whole.mean(axis=0), whole.std(axis=0), strict=True)]
    total = 0.0
    before: dict[tuple[Any, ...], list[list[float]]] = {}
    for row in rows:
        configuration = tuple(row[v] for v in names)
        seen: Any = np.array(before.setdefault(configuration, []), float).reshape(-1, len(family))
        mean: Any = seen.mean(axis=0) if len(seen) else np.zeros(len(family))
        products = (seen - mean).T @ (seen - mean)
        posterior = NumericFamily(len(units), strength)
        posterior.fill(units, float(len(seen)), mean, products)
        total += posterior.predict([row[v] for v in numbers]).log_density(row[child])
        before[configuration].append([row[v] for v in family])
    return total


def test_a_score_is_the_probability_of_the_values_each_predicted_from_those_before() -> None:
    rows = events(25)
    scorer = MixedScorer(_mixed_sample(rows, None), 0.7)
    column = {v: k for k, v in enumerate("abxyz")}
    for child, names, numbers in [
        ("x", [], []),
        ("x", ["a"], []),
        ("y", ["b"], ["x"]),
        ("z", ["a", "b"], ["x", "y"]),
    ]:
        parents = [column[v] for v in names + numbers]
        expected = sequential(rows, child, names, numbers, 0.7)
        assert scorer.score(column[child], parents) == pytest.approx(expected, rel=1e-9)
    expected, before = 0.0, [row["b"] for row in rows]
    for k, row in enumerate(rows):
        same = [b for b, earlier in zip(before[:k], rows, strict=False) if earlier["a"] == row["a"]]
        expected += math.log((same.count(row["b"]) + 0.35) / (len(same) + 0.7))
    assert scorer.score(column["b"], [column["a"]]) == pytest.approx(expected)


def test_bic_is_that_of_least_squares_in_each_configuration() -> None:
    rows = events(80)
    scorer, column = MixedScorer(_mixed_sample(rows, None), 0.0), {v: k for k, v in enumerate("abxyz")}
    for child, names, numbers in [("x", [], []), ("y", ["b"], ["x"]), ("z", ["a", "b"], ["x", "y"])]:
        parameters = 2 ** len(names) * (len(numbers) + 2)
        expected = -0.5 * math.log(len(rows)) * parameters
        for configuration in {tuple(row[v] for v in names) for row in rows}:
            inside = [row for row in rows if tuple(row[v] for v in names) == configuration]
            design = np.array([[1.0, *(row[v] for v in numbers)] for row in inside])
            values = np.array([row[child] for row in inside])
            rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
            expected -= 0.5 * len(inside) * (math.log(2.0 * math.pi * float((rest**2).mean())) + 1.0)
        parents = [column[v] for v in names + numbers]
        assert scorer.score(column[child], parents) == pytest.approx(expected, rel=1e-9)
    expected = -0.5 * math.log(len(rows)) * 2
    for a, b in itertools.product("uv", (False, True)):
        beside = [row["b"] for row in rows if row["a"] == a]
        expected += beside.count(b) * math.log(beside.count(b) / len(beside))
    assert scorer.score(column["b"], [column["a"]]) == pytest.approx(expected, rel=1e-9)


def test_a_number_that_follows_from_the_other_parents_adds_parameters_and_no_likelihood() -> None:
    rows = [{**row, "w": 3.0 * row["x"] - row["y"] + 1.0} for row in events(60)]
    scorer, column = MixedScorer(_mixed_sample(rows, None), 0.0), {v: k for k, v in enumerate("abwxyz")}
    two, three = [column["x"], column["y"]], [column["x"], column["y"], column["w"]]
    alone, beside = scorer.score(column["z"], two), scorer.score(column["z"], three)
    assert beside == pytest.approx(alone - 0.5 * math.log(60), abs=1e-6)


def test_structures_over_numbers_with_the_same_independences_have_the_same_score() -> None:
    scorer = MixedScorer(_mixed_sample(events(30), None), 1.0)
    scores = []
    for x, y, z in itertools.permutations((2, 3, 4)):
        scores.append(scorer.score(x, []) + scorer.score(y, [x]) + scorer.score(z, [x, y]))
    assert scores == pytest.approx([scores[0]] * 6, rel=1e-10)


@pytest.mark.parametrize("score", ["marginal-likelihood", "bic"])
def test_the_graph_that_made_the_rows_is_found_up_to_its_equivalence(score: str) -> None:
    found = mixed_structure(events(3_000, seed=4), score=score)
    assert {frozenset(edge) for edge in found.structure.edges} == {
        frozenset(e) for e in Structure(GRAPH).edges
    }
    assert found.structure.parents("y") == ("b", "x")
    assert found.finished


def test_a_number_becomes_the_parent_of_a_name_where_that_explains_more_or_nothing_else_may_be() -> None:
    rows: list[dict[str, Any]] = [
        {"size": float(k * 7 % 40), "kind": "middle" if 13 <= k * 7 % 40 < 27 else "end"} for k in range(400)
    ]
    assert mixed_structure(rows).structure == Structure({"kind": ["size"], "size": []})
    rng = np.random.default_rng(4)
    labels = ["uv"[rng.integers(2)] for _ in range(400)]
    numbers = [{"size": float(rng.normal() + 3.0 * (label == "v")), "label": label} for label in labels]
    assert mixed_structure(numbers).structure == Structure({"label": [], "size": ["label"]})
    for search in (HillClimbing(tiers=[["size"], ["label"]]), HillClimbing(required=[("size", "label")])):
        assert mixed_structure(numbers, search).structure == Structure({"label": ["size"], "size": []})
    with pytest.raises(BadValue, match="give score="):
        mixed_structure(rows, HillClimbing(score=BDeu()))


@pytest.mark.parametrize("score", ["marginal-likelihood", "bic"])
def test_a_search_uses_rows_of_which_each_lacks_a_variable(score: str) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for k in range(1_500):
        x, rest = float(rng.normal()), rng.normal(size=2).tolist()
        kind = "ab"[rng.random() < (0.8 if k % 3 else 0.2)]
        row = {"day": "mon" if k % 3 else "sun", "kind": kind, "x": x, "y": x + 0.5 * rest[0], "z": rest[1]}
        rows.append({**row, ["day", "kind", "x", "y", "z"][k % 5]: None})
    found = mixed_structure(rows, score=score).structure
    assert {frozenset(edge) for edge in found.edges} == {frozenset(["day", "kind"]), frozenset("xy")}


def test_a_search_over_rows_without_values_is_an_error() -> None:
    with pytest.raises(BadValue, match="none of 2 has one"):
        mixed_structure([{"a": None}, {"a": math.nan, "b": None}])
    with pytest.raises(BadValue, match="none of 0 has one"):
        mixed_structure([])


def test_a_name_of_each_row_depends_on_nothing() -> None:
    rng = np.random.default_rng(2)
    rows = [
        {"id": f"row {k}", "x": float(rng.normal()), "y": float(rng.normal()), "kind": "ab"[rng.integers(2)]}
        for k in range(300)
    ]
    assert mixed_structure(rows).structure.edges == ()


@pytest.mark.parametrize("score", ["marginal-likelihood", "bic"])
def test_a_number_that_does_not_differ_is_no_parent(score: str) -> None:
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = [{"x": float(x), "y": 2.0 * x + 1.0, "c": 5.0} for x in rng.normal(size=200)]
    found = mixed_structure(rows, score=score).structure
    assert {frozenset(edge) for edge in found.edges} == {frozenset("xy")}
    model = MixedNetwork()
    model.learn_many(rows)
    assert not any("c" in edge for edge in model.structure.edges)


def test_gaps_in_every_row_hide_no_dependence_from_a_live_search() -> None:
    rng = np.random.default_rng(8)
    model = MixedNetwork()
    for _ in range(410):
        kind, size = "ab"[rng.integers(2)], float(rng.normal())
        row: dict[str, Any] = {"kind": kind, "size": size, "price": 3.0 * size + float(rng.normal())}
        row |= {"level": 2.0 * (kind == "b") + float(rng.normal())}
        row |= {f"noise {k}": float(rng.normal()) for k in range(8)}
        gone = rng.choice(sorted(row), 3, replace=False)
        model.learn_one({v: x for v, x in row.items() if v not in gone})
    edges = {frozenset(edge) for edge in model.structure.edges}
    assert edges >= {frozenset(("size", "price")), frozenset(("kind", "level"))}
    assert len(edges) <= 4  # of 66, of which chance makes one in the mean


def test_a_score_over_gaps_does_not_depend_on_the_families_scored_before() -> None:
    rng = np.random.default_rng(5)
    rows = [{v: x for v, x in row.items() if rng.random() < 0.7} for row in events(300, seed=6)]
    sample = _mixed_sample(rows, None)
    for child in range(5):
        parents = [k for k in range(5) if k != child]
        alone = MixedScorer(sample, 1.0).score(child, parents)
        for order in itertools.permutations(parents):
            scorer = MixedScorer(sample, 1.0)
            for number in range(1, len(order)):
                scorer.score(child, order[:number])
            assert scorer.score(child, parents) == alone


def with_gaps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with a tenth of their values missing, by the seed 7."""
    rng = np.random.default_rng(7)
    return [{v: x for v, x in row.items() if rng.random() < 0.9} for row in rows]


@pytest.mark.parametrize("score", ["marginal-likelihood", "bic"])
def test_columns_and_rows_in_any_order_make_the_same_structure(score: str) -> None:
    rows = with_gaps(events(400, seed=2))
    found = mixed_structure(rows, score=score)
    for other in (rows, [dict(reversed(row.items())) for row in rows], rows[::-1]):
        again = mixed_structure(other, score=score)
        assert again.structure == found.structure and again.families == found.families
        assert again.score == pytest.approx(found.score, rel=1e-12)


@pytest.mark.parametrize(
    "arguments", [{}, {"transform": "ranks"}, {"missing": "window-em", "window": 60}, {"classes": [1, 2]}]
)
def test_a_live_network_is_the_same_with_columns_in_any_order(arguments: dict[str, Any]) -> None:
    one, other = MixedNetwork(**arguments), MixedNetwork(**arguments)
    for row in with_gaps(events(110, seed=3)):
        assert one.score_learn_one(row) == other.score_learn_one(dict(reversed(row.items())))
    assert one.structure == other.structure and one.state()["checksum"] == other.state()["checksum"]


HASHED = """
from stream_bayes import MixedNetwork
from stream_bayes.networks.mixed_search import mixed_structure

rows = [{"kind": "ab"[k % 2], "day": ("mon", "sun", "fri")[k * k % 3], "x": float(k * 7 % 40)} for k in range(120)]
rows = [{v: x for v, x in (row | {"y": 2.0 * row["x"] + k % 5}).items() if k % 9 or v != "x"}
        for k, row in enumerate(rows)]
model, found = MixedNetwork(classes=[1, 2]), mixed_structure(rows)
print(([model.score_learn_one(row) for row in rows], model.structure, found.score, found.structure))
"""


def test_a_structure_and_scores_of_anomalies_are_the_same_whatever_the_seed_of_hashes() -> None:
    assert len({printed_with(seed, HASHED) for seed in (1, 2)}) == 1


def test_no_family_of_more_parents_than_allowed_is_scored() -> None:
    class Noting(MixedScorer):
        most = 0

        def score(self, child: int, parents: Sequence[int]) -> float:
            self.most = max(self.most, len(parents))
            return super().score(child, parents)

    scorer = Noting(_mixed_sample(events(200), None), 1.0)
    found = search_mixed(HillClimbing(max_parents=1), scorer).structure
    assert max(len(found.parents(v)) for v in found.variables) == 1
    assert scorer.most == 1


def test_variables_that_never_come_together_have_no_edge() -> None:
    rows = [{v: x for v, x in row.items() if v != "xy"[k % 2]} for k, row in enumerate(events(300, seed=4))]
    found = mixed_structure(rows).structure
    assert not {("x", "y"), ("y", "x")} & {*found.edges}
    assert {frozenset(edge) for edge in found.edges} >= {frozenset("ax"), frozenset("by")}


def test_a_number_that_becomes_a_name_is_refused() -> None:
    with pytest.raises(KindChanged, match="'x'"):
        mixed_structure([{"x": 1.5, "y": "a"}, {"x": "high", "y": "b"}])
    with pytest.raises(KindChanged, match="'y'"):
        mixed_structure([{"x": 1.5, "y": "a"}, {"x": 2.5, "y": 3.5}])


def drawn_rows(seed: int, count: int, size: int) -> list[dict[str, Any]]:
    """Draw rows of a random network of names and numbers: every third variable has names."""
    rng = np.random.default_rng(seed)
    parents: list[list[int]] = []
    for v in range(size):
        most = min(v, int(rng.integers(0, 4)))
        parents.append(rng.choice(v, most, replace=False).tolist() if most else [])
    edges = [(p, v) for v in range(size) for p in parents[v]]
    slope = {edge: rng.uniform(0.4, 1.2) * rng.choice([-1, 1]) for edge in edges}
    shift = {edge: rng.normal(0.0, 1.5, 3) for edge in edges}
    columns: list[Any] = []
    for v in range(size):
        number, shares = rng.normal(size=count) * 0.7, rng.gumbel(size=(count, 3))
        for p in parents[v]:
            if v % 3 == 0 and p % 3 == 0:
                shares += np.eye(3)[columns[p]] * 2.0 * slope[p, v]
            elif v % 3 and p % 3:
                number += slope[p, v] * columns[p]
            elif v % 3:
                number += shift[p, v][columns[p]]
        columns.append(number if v % 3 else shares.argmax(axis=1))
    name = [f"v{k}" for k in rng.permutation(size)]
    return [
        {name[v]: float(columns[v][k]) if v % 3 else "abc"[columns[v][k]] for v in range(size)}
        for k in range(count)
    ]


@pytest.mark.parametrize("seed", [8, 10, 13])
def test_orders_leave_local_maxima_of_hill_climbing_over_names_and_numbers(seed: int) -> None:
    rows = drawn_rows(seed, 150, 8)
    climbed, ordered = mixed_structure(rows), mixed_structure(rows, BOSS())
    assert ordered.score > climbed.score + 10.0 and ordered.finished
    sample = _mixed_sample(rows, None)
    column = {v: k for k, v in enumerate(sample.variables)}
    parents = [[column[p] for p in ordered.structure.parents(v)] for v in sample.variables]
    assert MixedScorer(sample, 1.0).total(parents) == pytest.approx(ordered.score, rel=1e-9)
    banned = ordered.structure.edges[0]
    within = mixed_structure(rows, BOSS(forbidden=[banned], max_parents=2, restarts=2)).structure
    assert banned not in within.edges and max(len(within.parents(v)) for v in within) <= 2
    with pytest.raises(BadValue, match="BOSS"):
        mixed_structure(rows, ExactSearch())  # type: ignore[arg-type]
