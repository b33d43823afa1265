"""ODE, TAN and KDB: whose parent is whom, found by brute force, got back from samples, a function of counts."""

from __future__ import annotations

import math
import pickle
import random
from itertools import combinations, pairwise
from typing import Any

import pytest

from stream_bayes import KDB, ODE, TAN, NaiveBayes, Nominal, Schema
from stream_bayes.errors import BadValue, UnknownFeature
from stream_bayes.testing.assertions import same_bytes
from tests.learners.biased_events import Event, biased_events
from tests.learners.training import trained
from tests.oracles.aode import OneDependenceOracle
from tests.oracles.random_trees import random_tree, tree_events, undirected

DERIVED = pytest.mark.parametrize("kind", [TAN, KDB], ids=lambda kind: kind.__name__)


def oracle_of(stream: list[Event]) -> OneDependenceOracle:
    oracle = OneDependenceOracle()
    for x, y in stream:
        oracle.learn(x, y)
    return oracle


def shuffled(source: random.Random, stream: list[Event]) -> list[Event]:
    """The same events in another order, the features of each too."""
    return [(dict(source.sample(list(x.items()), len(x))), y) for x, y in source.sample(stream, len(stream))]


# -- a structure of the user's own -----------------------------------------------------------------------------------


def test_given_parents_are_taken_as_soon_as_their_features_are_met():
    model = ODE(parents={"wind": "sky", "rain": "wind"})
    for x, expected in [
        ({"moon": "new"}, {"moon": None}),
        ({"wind": "west"}, {"moon": None, "wind": None}),
        ({"sky": "grey"}, {"moon": None, "sky": None, "wind": "sky"}),
        ({"rain": "yes"}, {"moon": None, "rain": "wind", "sky": None, "wind": "sky"}),
    ]:
        model.learn_one(x, "u")
        assert model.parents_ == expected
    twin = pickle.loads(pickle.dumps(model))
    assert twin.parents_ == model.parents_
    same_bytes(twin, model, "pickled")


def test_given_parents_are_found_again_after_merging():
    empty, full = ODE(parents={"b": "a"}), trained(ODE(parents={"b": "a"}), biased_events(1, 30))
    assert empty.parents_ == {}
    merged = empty + full
    assert merged.parents_ == {"a": None, "b": "a", "c": None}
    x = {"a": "x", "b": "y"}
    assert merged.predict_proba_one(x) == pytest.approx(full.predict_proba_one(x), abs=1e-15)


@pytest.mark.parametrize("parents", [None, {}, {"a": None, "b": None}])
def test_without_parents_it_is_naive_bayes_to_the_bit(parents):
    model, plain = ODE(parents=parents), NaiveBayes(prior="m-estimate")
    for x, y in biased_events(2, 40):
        assert model.predict_learn_one(x, y) == plain.predict_learn_one(x, y)


def test_a_derived_structure_given_as_ones_own_answers_to_the_bit():
    stream = biased_events(3, 60, names="abcd")
    tan = trained(TAN(), stream)
    tan.rederive()
    model = trained(ODE(parents=tan.parents_), stream)
    assert model.parents_ == tan.parents_
    for x, _ in stream[:10]:
        assert model.predict_proba_one(x) == tan.predict_proba_one(x)


def test_names_of_any_kind_can_be_parents_and_come_back():
    parents = {("a", 1): "größe", True: ("a", 1), b"x": True}
    model = ODE(parents=parents)
    model.learn_one({"größe": "x", ("a", 1): "y", True: "z", b"x": "w"}, "u")
    twin = ODE.from_state(model.state())
    assert twin.parents == parents
    assert twin.parents_ == model.parents_ == parents | {"größe": None}


@pytest.mark.parametrize(
    ("parents", "words"),
    [
        ({"a": "a"}, "'a' -> 'a'"),
        ({"a": "b", "b": "a"}, "circle: 'a' -> 'b' -> 'a'"),
        ({"x": "a", "a": "b", "b": "c", "c": "a"}, "circle"),
        ({True: 1}, "circle"),  # Python's dict says that they are the same
        (["a"], r"\{feature: its parent\}"),
        ("ab", r"\{feature: its parent\}"),
        ({"a": ["b"]}, "list"),
        ({"a": 3.5j}, "complex"),
        ({"a": math.nan}, "finite"),
    ],
)
def test_parents_that_make_no_forest_are_refused(parents, words):
    with pytest.raises(BadValue, match=words):
        ODE(parents=parents)


@pytest.mark.parametrize("parents", [{"wind": "sky"}, {"sky": "wind"}])
def test_parents_that_the_schema_does_not_declare_are_refused(parents):
    with pytest.raises(UnknownFeature, match="'wind' is not declared"):
        ODE(parents=parents, schema=Schema({"sky": Nominal()}))


# -- the tree --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_behind_samples_is_got_back_and_led_away_from_its_root(seed):
    source = random.Random(seed)
    names = list("abcdefg")
    source.shuffle(names)
    tree = random_tree(source, names)
    stream = tree_events(source, tree, 3, 500)
    for root in (None, names[0], names[-1]):
        model = trained(TAN(root=root), stream)
        model.rederive()
        assert undirected(model.parents_) == undirected(tree)
        assert [name for name, parent in model.parents_.items() if parent is None] == [root or "a"]
        if root == names[0]:
            assert model.parents_ == tree
        assert {frozenset(edge) for edge in model.edges_} == undirected(tree)


@pytest.mark.parametrize("seed", range(5))
def test_edges_come_strongest_first_and_no_other_tree_tells_more(seed):
    stream = biased_events(seed, 90, names="abcde")
    for number, (x, _) in enumerate(stream):
        if number % 3 == 0:
            del x["abcde"[number % 5]]
    model, oracle = trained(TAN(), stream), oracle_of(stream)
    model.rederive()
    information = {
        frozenset(pair): oracle.conditional_mutual_information(*pair) for pair in combinations("abcde", 2)
    }
    mine = [information[frozenset(edge)] for edge in model.edges_]
    assert all(first >= second - 1e-12 for first, second in pairwise(mine))
    assert all(edge == tuple(sorted(edge)) for edge in model.edges_)
    trees = (some for some in combinations(information, 4) if spans(some, "abcde"))
    assert math.fsum(mine) == pytest.approx(
        max(math.fsum(information[edge] for edge in tree) for tree in trees)
    )


def spans(edges: tuple[frozenset[str], ...], names: str) -> bool:
    reached, grown = {names[0]}, True
    while grown:
        more = {name for edge in edges if edge & reached for name in edge}
        grown, reached = not more <= reached, reached | more
    return reached == set(names)


def test_a_root_that_is_not_met_yet_leaves_the_first_by_name():
    stream = biased_events(7, 40)
    model = trained(TAN(root="late"), stream)
    model.rederive()
    assert model.parents_["a"] is None
    for x, y in stream:
        model.learn_one({**x, "late": x["b"]}, y)
    model.rederive()
    assert [name for name, parent in model.parents_.items() if parent is None] == ["late"]


def test_the_root_decides_directions_and_not_edges():
    stream = biased_events(8, 60, names="abcde")
    models = [trained(TAN(root=root), stream) for root in "abcde"]
    for model in models:
        model.rederive()
        assert model.edges_ == models[0].edges_
        assert undirected(model.parents_) == undirected(models[0].parents_)


@pytest.mark.parametrize("root", ["wind", ["sky"], 3.5j])
def test_a_root_that_the_schema_does_not_declare_is_refused(root):
    with pytest.raises((UnknownFeature, BadValue)):
        TAN(root=root, schema=Schema({"sky": Nominal()}))


# -- k-dependence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_parent_is_the_one_that_tells_most_of_those_that_tell_more_of_the_class(seed):
    stream = biased_events(seed, 80, names="abcde", classes="uvw")
    oracle = oracle_of(stream)
    model = trained(KDB(), stream)
    model.rederive()
    of_class = {name: oracle.mutual_information(name) for name in "abcde"}
    for name, parent in model.parents_.items():
        above = [other for other in "abcde" if of_class[other] > of_class[name]]
        information = {other: oracle.conditional_mutual_information(name, other) for other in above}
        assert parent == max(information, key=information.__getitem__, default=None)


def test_with_k_0_no_feature_has_a_parent_and_naive_bayes_answers_to_the_bit():
    model, plain = KDB(k=0), NaiveBayes(prior="m-estimate")
    for x, y in biased_events(9, 60):
        assert model.predict_learn_one(x, y) == plain.predict_learn_one(x, y)
    assert model.parents_ == {"a": None, "b": None, "c": None}


@pytest.mark.parametrize("k", [-1, True, 1.0, "1", None])
def test_a_k_that_is_no_number_of_parents_is_refused(k):
    with pytest.raises(BadValue, match="k must be"):
        KDB(k=k)


# -- a function of the counts ----------------------------------------------------------------------------------------


@DERIVED
@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_any_shards_give_the_same_structure(kind, seed):
    source = random.Random(seed)
    names: list[Any] = ["a", "größe", True, b"a", ("a", 1)]
    stream: list[Event] = []
    for x, y in biased_events(seed, 60, names="vwxyz"):
        renamed = dict(zip(names, x.values(), strict=True))
        stream.append(({n: v for n, v in renamed.items() if source.random() < 0.9}, y))
    model = trained(kind(), stream)
    shards = [kind() for _ in range(3)]
    for x, y in shuffled(source, stream):
        shards[source.randrange(3)].learn_one(x, y)
    merged = shards[0] + shards[1] + shards[2]
    detour = trained(trained(kind(), biased_events(seed + 50, 30)), shuffled(source, stream))
    for x, y in biased_events(seed + 50, 30):
        detour.unlearn_one(x, y)
    for one in (model, merged, detour):
        one.rederive()
    found = {name: parent for name, parent in detour.parents_.items() if name in names}
    assert model.parents_ == merged.parents_ == found
    if kind is TAN:
        assert model.edges_ == merged.edges_ == detour.edges_


@DERIVED
def test_of_equal_features_all_hang_on_the_first_by_name(kind):
    model = kind()
    for value, y in [("x", "u"), ("y", "v"), ("x", "v"), ("x", "u"), ("y", "u")]:
        model.learn_one(dict.fromkeys(["d", "b", "a", "c"], value), y)
    model.rederive()
    assert model.parents_ == {"a": None, "b": "a", "c": "a", "d": "a"}


@DERIVED
def test_features_that_tell_nothing_hang_on_the_first_by_name(kind):
    # What is 0 comes out of sums of logarithms, whose rounding must not choose.
    source = random.Random(10)
    for classes in ("u", "uvw", "uvwxyz"):
        model = kind()
        for _ in range(70):
            model.learn_one({"c": "o", "a": "same", "b": "same"}, source.choice(classes), 0.7)
        model.rederive()
        assert model.parents_ == {"a": None, "b": "a", "c": "a"}


@DERIVED
def test_a_structure_is_derived_from_a_state_alone(kind):
    # No event is kept: what a loaded model derives it derives from counts.
    stream = biased_events(11, 300, names="abcde")
    model = trained(kind(every=1000), stream)
    assert set(model.parents_.values()) == {None}
    twin = kind.from_state(model.state())
    size = twin.memory_bytes
    for one in (model, twin):
        one.rederive()
    assert model.parents_ == twin.parents_
    assert set(model.parents_.values()) != {None}
    assert trained(twin, stream).memory_bytes == size
