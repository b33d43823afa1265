"""Streams whose world changes do so where they say, and nowhere else."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest

from stream_bayes import BayesNet, DiscreteNetwork
from stream_bayes.errors import BadValue
from stream_bayes.networks.files.bif import read_bif
from tests.concepts import (
    drawn_network,
    gradual_stream,
    stream_of,
    with_edges,
    with_new_tables,
    with_other_features,
)
from tests.networks.files.test_known_networks import folder_of_known_networks

SEEDS = range(5)


def shares(events: list[tuple[dict[Any, Any], Any]], name: str) -> dict[object, float]:
    counts = Counter(x[name] for x, _ in events)
    return {value: count / len(events) for value, count in counts.items()}


def prior(network: DiscreteNetwork, name: str) -> dict[object, float]:
    return dict(BayesNet.from_network(network, strength=0).query(name))


def distance(one: dict[object, float], other: dict[object, float]) -> float:
    return sum(abs(one.get(value, 0.0) - other.get(value, 0.0)) for value in {*one, *other})


def test_each_part_of_a_stream_is_drawn_from_its_own_network() -> None:
    before = drawn_network(6, seed=1)
    after = with_new_tables(before, seed=2)
    events = list(stream_of([(before, 4000), (after, 4000), (before, 4000)], "v5", seed=3))
    for part, network, other in ((0, before, after), (1, after, before), (2, before, after)):
        found = shares(events[4000 * part : 4000 * part + 4000], "v0")
        assert distance(found, prior(network, "v0")) < 0.1
        assert distance(found, prior(other, "v0")) > 0.2


def test_the_same_seed_gives_the_same_stream_and_another_one_another() -> None:
    network = drawn_network(6, seed=1)
    first, again, other = (list(stream_of([(network, 50)], "v5", seed)) for seed in (3, 3, 4))
    assert first == again != other
    assert drawn_network(6, seed=1) == network != drawn_network(6, seed=2)


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_are_added_removed_and_turned_and_other_tables_stay(seed: int) -> None:
    network = drawn_network(12, seed)
    structure = network.structure
    gone, turned = structure.edges[0], ("v0", next(iter(structure.children("v0"))))
    free = next(
        (a, b)
        for a in structure
        for b in structure
        if a != b and a in structure.ancestors(b) and a not in structure.parents(b)
    )
    cases = {"removed": [gone], "added": [free]}
    if not structure.without_edge(*turned).descendants("v0") or turned[1] not in structure.without_edge(
        *turned
    ).descendants("v0"):
        cases["turned"] = [turned]
    for how, edges in cases.items():
        after = with_edges(network, seed + 1, **{how: edges})
        changed = set(after.structure.edges) ^ set(structure.edges)
        assert len({frozenset(edge) for edge in changed}) == 1, how
        for name in structure:
            if after.structure.parents(name) == structure.parents(name):
                assert (after.tables[name] == network.tables[name]).all(), (how, name)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_virtual_drift_moves_the_features_and_leaves_the_class_given_them(seed: int) -> None:
    before = drawn_network(7, seed)
    after = with_other_features(before, "v4", seed + 100)
    assert distance(prior(before, "v0"), prior(after, "v0")) > 0.01
    models = [BayesNet.from_network(network, strength=0) for network in (before, after)]
    for x, _ in islice(stream_of([(before, 20)], "v4", seed), 20):
        answers = [dict(model.query("v4", x)) for model in models]
        assert answers[0] == pytest.approx(answers[1], abs=1e-9)


def test_a_gradual_drift_takes_over_within_its_width() -> None:
    before = drawn_network(4, seed=1)
    after = with_new_tables(before, seed=2)
    events = list(gradual_stream(before, after, "v3", 5, start=4000, width=4000, number=12000))
    one, other = prior(before, "v0"), prior(after, "v0")
    half = {value: (one.get(value, 0.0) + other.get(value, 0.0)) / 2 for value in {*one, *other}}
    for part, expected in ((0, one), (1, half), (2, other)):
        assert distance(shares(events[4000 * part : 4000 * part + 4000], "v0"), expected) < 0.1, part
    with pytest.raises(BadValue):
        next(gradual_stream(before, after, "v3", 5, start=0, width=0, number=5))


def test_a_feature_that_told_nothing_of_the_class_comes_to_tell_of_it() -> None:
    network = drawn_network(6, seed=3)
    target, feature = "v5", "v0"
    structure = network.structure
    gone = [edge for edge in structure.edges if feature in edge]
    before = with_edges(network, 7, removed=gone)
    after = with_edges(before, 8, added=[(feature, target)])

    def sways(concept: DiscreteNetwork) -> float:
        """By how much the class's probabilities differ between the feature's values, at most, all else known."""
        model = BayesNet.from_network(concept, strength=0)
        most = 0.0
        for x, _ in islice(stream_of([(before, 20)], target, 1), 20):
            answers = [dict(model.query(target, x | {feature: value})) for value in concept.states[feature]]
            most = max(most, *(distance(answers[0], answer) for answer in answers[1:]))
        return most

    assert sways(before) < 1e-9
    assert sways(after) > 0.2
    for name in structure:
        if name != target:
            assert (after.tables[name] == before.tables[name]).all()


@pytest.mark.skipif(folder_of_known_networks() is None, reason="the networks come with pgmpy")
@pytest.mark.parametrize(("name", "target"), [("asia", "dysp"), ("sachs", "Akt"), ("alarm", "HR")])
def test_known_networks_change_like_drawn_ones(name: str, target: str) -> None:
    folder: Any = folder_of_known_networks()
    before = read_bif(folder / f"{name}.bif.gz")
    after = with_new_tables(before, seed=1)
    events = list(stream_of([(before, 2000), (after, 2000)], target, seed=2))
    root = next(v for v in before.structure if not before.structure.parents(v) and v != target)
    for part, concept in enumerate((before, after)):
        found = shares(events[2000 * part : 2000 * part + 2000], str(root))
        assert distance(found, prior(concept, str(root))) < 0.1
    assert set(events[0][0]) == set(before.structure.variables) - {target}
