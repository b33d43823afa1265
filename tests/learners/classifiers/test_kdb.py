"""KDB with two or more parents: which they are, from which events they are counted, and what is refused."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from stream_bayes import KDB, TAN, Binning
from stream_bayes.errors import BadLabel, BadState, BadValue, CannotMerge, NotLearned, NotSupported
from stream_bayes.testing.assertions import changes_nothing, same_bytes
from tests.learners.biased_events import biased_events
from tests.learners.training import trained
from tests.oracles.aode import OneDependenceOracle


def switches(seed: int, number: int) -> list[tuple[dict[str, Any], str]]:
    """Events whose class is told by two switches together, and a third that follows both of them."""
    source = random.Random(seed)
    made = []
    for _ in range(number):
        a, b = source.choice("01"), source.choice("01")
        y = "on" if source.random() < 0.9 * (a == b == "1") + 0.05 else "off"
        made.append(({"a": a, "b": b, "c": str(int(a != b)), "d": source.choice("xyz")}, y))
    return made


def families(model: KDB) -> dict[Any, np.ndarray]:
    """The weights of each family by names: {(child, parents): weights of held configurations}."""
    tables, encoder = model.store.tables, model.store.encoder
    names = [feature.name for feature in encoder.nominal]
    return {
        (names[child], *(names[slot] for slot in parents)): tables.families.rows_of(f)[1]
        for f, (child, parents) in enumerate(tables.families.families)
    }


def weight_of_families(model: KDB) -> dict[Any, float]:
    return {key: float(weights.sum()) for key, weights in families(model).items()}


# -- the structure ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_parents_are_those_that_tell_most_of_those_that_tell_more_of_the_class(k, seed):
    stream = biased_events(seed, 80, names="abcde", classes="uvw")
    oracle = OneDependenceOracle()
    for x, y in stream:
        oracle.learn(x, y)
    model = trained(KDB(k=k), stream)
    model.rederive()
    of_class = {name: oracle.mutual_information(name) for name in "abcde"}
    for name, parents in model.parents_.items():
        above = [other for other in "abcde" if of_class[other] > of_class[name]]
        information = {other: oracle.conditional_mutual_information(name, other) for other in above}
        assert parents == tuple(sorted(above, key=lambda other: -information[other])[:k])


def test_k_0_1_and_2_have_the_same_first_parent():
    stream = biased_events(5, 90, names="abcde")
    one, two = (trained(KDB(k=k), stream) for k in (1, 2))
    for model in (one, two):
        model.rederive()
    assert {name: (above or (None,))[0] for name, above in two.parents_.items()} == one.parents_


def test_two_parents_see_what_one_does_not():
    # The class is the parity of three bits: no two of them tell anything of it.
    source, right = random.Random(1), {1: 0, 2: 0}
    models = {k: KDB(k=k) for k in right}
    for number in range(500):
        bits = {name: source.choice((False, True)) for name in "abc"}
        y = "odd" if sum(bits.values()) % 2 else "even"
        for k, model in models.items():
            answer = model.predict_learn_one(bits, y)
            right[k] += number >= 100 and max(answer, key=lambda label: answer[label]) == y
    assert right[2] == 400
    assert right[1] < 300


def test_without_every_it_is_derived_again_only_when_its_order_no_longer_holds():
    source = random.Random(2)
    model: Any = KDB(k=2)
    derived: list[int] = []
    looks, due = 0, 10
    for number in range(1, 2001):
        y = source.choice("uv")
        x, last = {}, y
        for place, name in enumerate("abcd"):
            last = last if source.random() < 0.9 - 0.05 * place else source.choice("uv")
            x[name] = last
        model.learn_one(x, y)
        if number == due:
            looks, due = looks + 1, due + max(10, due // 10)
        if not derived or derived[-1] != model.reading.derived_at:
            derived.append(model.reading.derived_at)
    assert 5 < len(derived) < looks / 2
    assert derived[-1] >= 1000


def test_a_structure_found_too_early_changes_with_the_stream():
    early = trained(KDB(k=2, every=50), biased_events(3, 100, names="abcd"))
    model = trained(KDB.from_state(early.state()), switches(3, 900))
    assert model.parents_ != early.parents_
    everything = trained(KDB(k=2, every=1000), [*biased_events(3, 100, names="abcd"), *switches(3, 900)])
    assert model.parents_ == everything.parents_


@pytest.mark.parametrize("k", [-1, -7, True, 2.0, "2", None])
def test_a_k_that_is_no_number_of_parents_is_refused(k):
    with pytest.raises(BadValue, match="k must be a whole number"):
        KDB(k=k)


@pytest.mark.parametrize("window", [0, -1, 1.5, None, True])
def test_a_window_that_keeps_nothing_is_refused(window):
    with pytest.raises(BadValue, match="window"):
        KDB(k=2, window=window)


# -- what families count ----------------------------------------------------------------------------------------------


def test_a_family_that_stays_counts_on_and_a_new_one_begins_with_the_window():
    model = KDB(k=2, window=30, every=10**6)
    stream = switches(4, 200)
    trained(model, stream[:100])
    model.rederive()
    first = weight_of_families(model)
    assert first
    assert set(first.values()) == {30.0}
    trained(model, stream[100:150])
    assert set(weight_of_families(model).values()) == {80.0}
    before = set(first)
    trained(model, biased_events(4, 300, names="abcd"))
    model.rederive()
    now = weight_of_families(model)
    assert set(now) != before
    assert {key: n for key, n in now.items() if key in before} == {key: 380.0 for key in now if key in before}
    assert {n for key, n in now.items() if key not in before} == {30.0}


def test_faded_events_are_counted_again_with_what_they_weigh_by_now():
    stream = switches(5, 40)
    model = KDB(k=2, half_life=7.0, every=10**6, window=100)
    trained(model, stream)
    model.advance(3)
    model.rederive()
    twin = KDB(k=2, half_life=7.0, every=10**6, window=100)
    trained(twin, stream[:20])
    twin.rederive()
    trained(twin, stream[20:])
    twin.advance(3)
    twin.rederive()
    for x, _ in stream:
        assert model.predict_proba_one(x) == pytest.approx(twin.predict_proba_one(x), abs=1e-12)


@pytest.mark.parametrize("window", [10_000, 60])
def test_new_cuts_have_families_counted_anew_from_the_window(window):
    source = random.Random(6)
    model: Any = KDB(k=2, binning=Binning(after=20, window=90), window=window)
    stream = []
    for _ in range(130):
        y = source.choice("uv")
        at = source.gauss(1.0 if y == "u" else -1.0, 1.0)
        x = {
            "a": round(at, 3),
            "b": round(at + source.gauss(0, 1), 3),
            "c": source.choice("xy"),
            "d": round(at**2, 2),
        }
        stream.append((x, y))
    cut_at = []
    for number, (x, y) in enumerate(stream, start=1):
        before = dict(model.store.encoder.bins.cuts)
        model.learn_one(x, y)
        if model.store.encoder.bins.cuts != before:
            cut_at.append(number)
            assert set(weight_of_families(model).values()) == {float(min(number, window))}
    assert cut_at == [20, 40, 80]
    # Each family holds what its events hold, in the bins of now.
    encoder: Any = model.store.encoder
    tables = model.store.tables
    slots = {feature.name: feature.slot for feature in encoder.nominal}

    def code(name: str, value: Any) -> int:
        if isinstance(value, float):
            return int(encoder.bins.code_of(slots[name], value))
        return int(encoder.nominal[slots[name]].vocabulary.find(value))

    names = {slot: name for name, slot in slots.items()}
    for f, (child, parents) in enumerate(tables.families.families):
        begun = int(tables.families.since[f])
        expected: dict[Any, float] = {}
        for x, y in stream[begun - 1 :]:
            key = (*(code(names[s], x[names[s]]) for s in parents), code(names[child], x[names[child]]), y)
            expected[key] = expected.get(key, 0.0) + 1.0
        codes, weights, _ = tables.families.rows_of(f)
        found = {
            (*above, v, label): float(row[v, encoder.labels.find(label)])
            for above, row in zip(codes.tolist(), weights, strict=True)
            for v, label in product(range(weights.shape[1]), "uv")
            if row[v, encoder.labels.find(label)]
        }
        assert found == expected


# -- taking back ------------------------------------------------------------------------------------------------------


def test_what_is_learned_and_taken_back_at_once_was_never_counted():
    model, twin = (trained(KDB(k=2, every=10**6), switches(7, 60)) for _ in range(2))
    for one in (model, twin):
        one.rederive()
    before = weight_of_families(model)
    model.learn_one({"a": "1", "b": "0", "c": "1", "d": "x"}, "on", 2.0)
    assert weight_of_families(model) == {key: n + 2.0 for key, n in before.items()}
    model.unlearn_one({"a": "1", "b": "0", "c": "1", "d": "x"}, "on", 2.0)
    assert weight_of_families(model) == before
    for key, weights in families(twin).items():
        assert np.array_equal(families(model)[key], weights)
    for x, _ in switches(8, 20):
        assert model.predict_proba_one(x) == twin.predict_proba_one(x)


def test_an_event_from_before_the_window_is_taken_back_at_its_time_from_what_counted_it():
    stream = switches(9, 50)
    model = KDB(k=2, window=20, every=10**6)
    trained(model, stream)
    model.rederive()
    before = weight_of_families(model)
    model.unlearn_one(*stream[3], at=4)  # the families begin with event 31
    assert weight_of_families(model) == before
    assert model.class_prior_ != trained(KDB(k=2), stream).class_prior_
    trained(model, switches(10, 30))  # now event 31 is no longer in the window, but in the families
    grown = weight_of_families(model)
    model.unlearn_one(*stream[30], at=31)
    assert weight_of_families(model) == {key: n - 1.0 for key, n in grown.items()}
    x, y = {"a": "0", "b": "0", "c": "0", "d": "x"}, "on"
    with (
        changes_nothing(model, "unlearning what is not in the window"),
        pytest.raises(NotLearned, match="at="),
    ):
        model.unlearn_one(x, y, 3.0)


def test_another_event_than_the_one_of_that_time_is_refused():
    stream = [({"a": "0", "b": "1"}, "u"), ({"a": "1", "b": "0"}, "v"), ({"a": "0", "b": "1"}, "v")]
    model = trained(KDB(k=2), stream)
    with changes_nothing(model, "unlearning another event"), pytest.raises(NotLearned, match="learned then"):
        model.unlearn_one(*stream[0], at=2)


def test_what_was_taken_back_is_not_counted_when_families_are_new():
    stream = switches(11, 40)
    model = trained(KDB(k=2, every=10**6), stream)
    for number in (5, 17):
        model.unlearn_one(*stream[number], at=number + 1)
    model.rederive()
    assert set(weight_of_families(model).values()) == {38.0}


# -- merging, saving ------------------------------------------------------------------------------------------------


def test_learners_with_two_parents_are_not_merged_and_say_which_are():
    model = trained(KDB(k=2), switches(12, 30))
    for other in (model, KDB(k=2), KDB(k=1), TAN(), None):
        with (
            changes_nothing(model, "merging"),
            pytest.raises(CannotMerge, match=r"KDB\(k=2\) cannot be merged.*TAN"),
        ):
            model.merge(other)
    with pytest.raises(CannotMerge, match=r"KDB\(k=2\)"):
        model + KDB(k=2)
    assert not model.traits.is_mergeable
    assert KDB(k=1).traits.is_mergeable


def test_parents_that_do_not_fit_are_refused():
    model = trained(KDB(k=2, every=10**6), switches(13, 40))
    model.rederive()
    good = model.reading.derived_state()
    assert KDB.from_state(model.state()).parents_ == model.parents_
    broken: list[Any] = [
        {**good, "order": good["order"][:-1]},
        {**good, "order": [*good["order"][:-1], good["order"][0]]},
        {**good, "order": [*good["order"][:-1], 4]},
        {**good, "order": good["order"][::-1]},
        {**good, "parents": [[0, 1, 2], *good["parents"][1:]]},
        {**good, "parents": good["parents"][:-1]},
        {**good, "parents": [*good["parents"][:-1], [good["order"][0]] * 2]},
        {**good, "parents": [*good["parents"][:-1], []]},
        {**good, "parents": [*good["parents"][:-1], None]},
        {**good, "due": -1},
        {**good, "derived_at": 1.5},
    ]
    for saved in broken:
        fresh = KDB(k=2, every=10**6)
        with pytest.raises(BadState):
            fresh.load_parts({"meta": model.state()["store"], "arrays": model.state()["arrays"]}, saved)


def test_saved_before_any_structure_it_goes_on_alike():
    stream = switches(14, 60)
    model = trained(KDB(k=2), stream[:5])
    twin = KDB.from_state(model.state())
    same_bytes(trained(model, stream[5:]), trained(twin, stream[5:]), "saved before the first structure")


# -- budgets --------------------------------------------------------------------------------------------------------


def test_where_there_is_no_room_the_features_that_tell_least_get_fewer_parents():
    stream = biased_events(15, 300, names="abcdef", values="uvwxyz")
    free = trained(KDB(k=3, window=50, every=10**6), stream)
    bare = free.memory_bytes
    free.rederive()
    needed = free.memory_bytes - bare
    assert needed > 0
    tight: Any = KDB(k=3, window=50, every=40, memory_budget=bare + needed + 20_000)
    for x, y in stream:
        tight.learn_one(x, y)
        assert tight.memory_bytes <= tight.memory_budget
    tight.rederive()
    assert tight.memory_bytes <= tight.memory_budget
    order = [tight.store.encoder.nominal[slot].name for slot in tight.reading.order]
    fewer = [name for name in order if len(tight.parents_[name]) < len(free.parents_[name])]
    assert fewer
    assert fewer[-1] == order[-1]
    for name in "abcdef":
        above = tight.parents_[name]
        assert above == free.parents_[name][: len(above)]
    same_bytes(tight, KDB.from_state(tight.state()), "within a budget")


# -- reading ----------------------------------------------------------------------------------------------------------


def test_conditionals_are_what_predictions_are_made_of():
    model = trained(KDB(k=2), switches(16, 120))
    model.rederive()
    assert model.parents_["c"] == ("a", "b")
    table = model.conditional("c", {"class": "on", "a": "1", "b": "0"})
    assert sum(table.values()) == pytest.approx(1.0)
    assert table["1"] > table["0"]
    both = model.conditional("c", {"a": "1", "b": "0"})
    assert set(both) == {"on", "off"}
    assert both["on"] == table
    x = {"a": "1", "b": "0", "c": "1"}
    without = {name: value for name, value in x.items() if name != "c"}
    joint, rest = model.joint_log_likelihood(x), model.joint_log_likelihood(without)
    for y in ("on", "off"):
        assert np.exp(joint[y] - rest[y]) == pytest.approx(both[y]["1"], abs=1e-12)
    one = model.conditional("c", {"class": "on", "a": "1"})
    assert sum(one.values()) == pytest.approx(1.0)
    assert sum(model.conditional("c", {"class": "on"}).values()) == pytest.approx(1.0)
    assert sum(model.conditional("a", {"class": "on", "d": "x"}).values()) == pytest.approx(1.0)
    with pytest.raises(NotSupported, match="parents of 'a'"):
        model.conditional("a", {"class": "on", "c": "1", "d": "x"})
    with pytest.raises(BadLabel, match="'b' has the values"):
        model.conditional("c", {"class": "on", "a": "1", "b": "7"})


def test_explanations_and_intervals_are_those_of_the_answer():
    model = trained(KDB(k=2), switches(17, 150))
    model.rederive()
    x = {"a": "1", "b": "1", "c": "0", "d": "x"}
    explanation = model.explain_one(x)
    assert explanation.kind == "step-by-step"
    assert explanation.joint == model.joint_log_likelihood(x)
    for y, (low, high) in model.predict_interval_one(x).items():
        assert low <= model.predict_proba_one(x)[y] <= high
        assert low < high


def test_a_learner_whose_families_new_cuts_have_dropped_loads_and_goes_on_alike() -> None:
    model = KDB(k=2, binning=Binning(bins=3, after=8, window=64))
    rng = random.Random(4)
    events = [
        (
            {"a": f"a{rng.randrange(3)}", "b": f"b{rng.randrange(3)}", "n": rng.random(), "m": rng.random()},
            n % 2,
        )
        for n in range(80)
    ]
    for x, y in events[:50]:
        model.learn_one(x, y)
    store = model.store
    assert store.tables.families is not None
    for x, y in events[50:]:  # as an expert learns that sleeps: nothing is derived
        store.learn(x, y)
        if store.tables.families is None:
            break
    assert store.tables.families is None
    assert model.parents_
    loaded = KDB.from_state(model.state())
    same_bytes(model, loaded, "without families")
    for x, y in events:
        assert model.predict_learn_one(x, y) == loaded.predict_learn_one(x, y)
    same_bytes(model, loaded, "families that were chosen anew")
    assert store.tables.families is not None
