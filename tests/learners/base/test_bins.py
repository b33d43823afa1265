"""Numbers in bins: they wait for their cuts, and are then counted as if the cuts had always been known."""

from __future__ import annotations

import math
import random
from functools import partial
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes import AODE, KDB, SPODE, TAN, Binning, LiveChoice, NaiveBayes, Nominal, Numeric, Schema
from stream_bayes.errors import CannotMerge, NotLearned
from stream_bayes.testing.assertions import changes_nothing, same_bytes
from tests.learners.training import Row, trained

KINDS = [AODE, SPODE, TAN, KDB, LiveChoice]
METHODS = ("quantile", "equal-width", "mdl")


def weather(seed: int, number: int, missing: float = 0.0) -> list[Row]:
    """Events of a word and two numbers, which may be missing now and then."""
    source = random.Random(seed)
    rows: list[Row] = []
    for _ in range(number):
        y = source.choice("uv")
        x: dict[str, Any] = {
            "sky": source.choice("gb" if y == "u" else "b"),
            "size": round(source.gauss(1.0 if y == "u" else -1.0, 1.0), 2),
            "heat": float(source.randrange(4)) + (y == "u"),
        }
        rows.append(({name: v for name, v in x.items() if name == "sky" or source.random() >= missing}, y))
    return rows


def declared(cuts: dict[str, tuple[float, ...]]) -> Schema:
    """A schema with these cuts."""
    kinds: dict[str, Any] = {name: Numeric(cuts=list(known)) for name, known in cuts.items()}
    return Schema({"sky": Nominal()} | kinds)


def tables(model: Any) -> dict[Any, Any]:
    """Every table that a learner over pairs can be read by, of "sky" and the features that have cuts."""
    names = ["sky", *model.cuts_]
    held = {name: sorted({v for of in model.conditional(name).values() for v in of}) for name in names}
    found: dict[Any, Any] = {name: model.conditional(name) for name in names if held[name]}
    for name, other in permutations(found, 2):
        found |= {(name, other, value): model.conditional(name, {other: value}) for value in held[other]}
    return found


# -- waiting ----------------------------------------------------------------------------------------------------------


# Those that read numbers in bins alone; LiveChoice by default reads them as they are, too.
IN_BINS: dict[str, Any] = {kind.__name__: kind for kind in KINDS}
IN_BINS["LiveChoice"] = partial(LiveChoice, ("nb", "spode", "tan", "kdb", "aode"))


@pytest.mark.parametrize("kind", IN_BINS.values(), ids=IN_BINS)
def test_a_number_waits_for_cuts_while_all_else_is_counted(kind):
    rows = weather(1, 19)
    waiting = trained(kind(binning=Binning(after=20)), rows)
    without = trained(kind(binning=Binning(after=20)), [({"sky": x["sky"]}, y) for x, y in rows])
    assert waiting.cuts_ == {}
    assert waiting.conditional("size") == {"u": {}, "v": {}}
    for x, _ in rows:
        assert waiting.predict_proba_one(x) == without.predict_proba_one({"sky": x["sky"]})
    waiting.learn_one(*weather(2, 1)[0])
    assert set(waiting.cuts_) == {"size", "heat"}


@settings(max_examples=60 if stream_bayes.compiled else 5)
@given(
    st.integers(0, 10**6),
    st.sampled_from(METHODS),
    st.sampled_from([None, 2, 3, 6]),
    st.integers(1, 12),
    st.integers(10, 50),
    st.sampled_from([0.0, 0.3, 0.8]),
)
def test_once_cut_the_counts_are_as_if_the_cuts_had_always_been_known(
    seed, method, bins, after, window, missing
):
    model: Any = AODE(binning=Binning(method, bins=bins, after=after, window=window))
    rows = weather(seed, 60, missing)
    for number, row in enumerate(rows, start=1):
        model.learn_one(*row)
        cuts = {name: known for name, known in model.cuts_.items() if known}
        if number in (after, 2 * after, 60) and cuts:
            known = trained(AODE(schema=declared(cuts)), rows[:number])
            assert tables(known) == {
                key: table for key, table in tables(model).items() if not set(key_names(key)) - {"sky", *cuts}
            }


def key_names(key: Any) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key[:2]


def test_cuts_are_set_at_so_many_numbers_and_at_each_doubling_within_the_window():
    model = AODE(binning=Binning(after=5, window=45))
    cut_at, before = [], model.cuts_
    for number, (x, y) in enumerate(weather(3, 200), start=1):
        model.learn_one(x, y)
        if model.cuts_ != before:
            cut_at.append(number)
            before = model.cuts_
    assert cut_at == [5, 10, 20, 40]


def test_a_feature_has_a_schedule_of_its_own_from_its_first_number_on():
    model = AODE(binning=Binning(after=5, window=20))
    cut_at: dict[str, list[int]] = {"size": [], "late": [], "rare": []}
    before = model.cuts_
    source = random.Random(4)
    late = 100  # long after the cuts of "size" stay
    for number, (x, y) in enumerate(weather(4, 200), start=1):
        if number > late:
            x["late"] = source.gauss(0.0, 1.0)
        if number % 10 == 0:
            x["rare"] = source.gauss(0.0, 1.0)
        model.learn_one(x, y)
        for name in cut_at:
            if model.cuts_.get(name) != before.get(name):
                cut_at[name].append(number)
        before = model.cuts_
    assert cut_at == {"size": [5, 10, 20], "late": [105, 110, 120], "rare": [50, 100, 200]}


def test_a_feature_that_comes_late_is_counted_from_its_first_number_on():
    rows = weather(5, 80)
    rows = [({n: v for n, v in x.items() if n != "heat" or at >= 50}, y) for at, (x, y) in enumerate(rows)]
    model = trained(AODE(binning=Binning(after=5, window=20)), rows)
    assert tables(trained(AODE(schema=declared(model.cuts_)), rows)) == tables(model)


def test_there_is_room_for_all_bins_of_features_that_come_one_by_one():
    source = random.Random(16)
    model: Any = AODE(binning=Binning(after=1, window=100))
    rows: list[Row] = []
    for number in range(300):
        names = [f"n{place}" for place in range(1 + number // 30)]
        rows.append(({name: source.random() for name in names} | {"sky": "g"}, source.choice("uv")))
        model.learn_one(*rows[-1])
    cuts = {name: known for name, known in model.cuts_.items() if known}
    assert max(len(known) for known in cuts.values()) > 4
    assert tables(model) == tables(trained(AODE(schema=declared(cuts)), rows))


def test_of_a_feature_that_is_always_the_same_there_is_one_bin_until_it_varies():
    model: Any = trained(AODE(binning=Binning(after=4, window=20)), [({"size": 2.5}, "u")] * 4)
    assert model.cuts_ == {"size": ()}
    model = trained(model, [({"size": 3.5}, "v")] * 4)
    assert model.cuts_ == {"size": (3.0,)}


@pytest.mark.parametrize(("number", "bins"), [(10, 5), (40, 5), (160, 8), (640, 13), (2560, 20)])
def test_the_number_of_bins_grows_with_the_cube_root_of_the_numbers(number, bins):
    source = random.Random(6)
    model = trained(
        AODE(binning=Binning(after=number, window=number)),
        [({"size": source.random()}, source.choice("uv")) for _ in range(number)],
    )
    assert len(model.cuts_["size"]) + 1 == bins


def test_declared_cuts_stay_whatever_comes():
    schema = Schema({"size": Numeric(cuts=[0.0, 2.0]), "heat": Numeric()})
    model = trained(AODE(schema=schema, binning=Binning(after=5)), weather(7, 60))
    assert model.cuts_["size"] == (0.0, 2.0)
    assert len(model.cuts_["heat"]) > 1


def test_a_number_on_a_cut_is_in_the_bin_above():
    model = trained(AODE(schema=Schema({"size": Numeric(cuts=[1.0, 2.0])})), [({"size": 1.0}, "u")])
    assert model.conditional("size", {"class": "u"}) == pytest.approx(
        {"(-inf, 1.0)": 1 / 6, "[1.0, 2.0)": 2 / 3, "[2.0, inf)": 1 / 6}
    )


# -- taking back ------------------------------------------------------------------------------------------------------


@settings(max_examples=40 if stream_bayes.compiled else 5)
@given(st.integers(0, 10**6), st.data())
def test_any_event_can_be_taken_back_before_and_after_its_cuts_are_set(seed, data):
    rows = weather(seed, 50, missing=0.2)
    model: Any = AODE(binning=Binning(after=4, window=30))
    held: list[Row] = []
    for row in rows:
        model.learn_one(*row)
        held.append(row)
        if data.draw(st.integers(0, 3)) == 0:
            model.unlearn_one(*held.pop(data.draw(st.integers(0, len(held) - 1))))
    cuts = {name: known for name, known in model.cuts_.items() if known}
    known = trained(AODE(schema=declared(cuts)), held)
    expected = tables(known)
    assert {key: table for key, table in tables(model).items() if key in expected} == expected


def test_a_number_that_was_never_learned_is_not_taken_back_while_it_would_wait():
    model = trained(AODE(binning=Binning(after=20)), weather(8, 10))
    with changes_nothing(model, "unlearning"), pytest.raises(NotLearned, match="no such sample is held"):
        model.unlearn_one({"size": 123.0}, "u")


@pytest.mark.parametrize("half_life", [3.0, 40.0])
def test_counted_anew_faded_weights_round_differently_and_the_state_still_comes_back(half_life):
    source = random.Random(17)
    model: Any = AODE(min_count=1, binning=Binning(after=3, window=100), half_life=half_life)
    for x, y in weather(17, 150):
        model.learn_one(x, y, source.choice([1.0, 0.3, 1.7]))
        twin = AODE.from_state(model.state())
        same_bytes(model, twin, "a state read back")


# -- merging ----------------------------------------------------------------------------------------------------------


def test_learners_with_other_cuts_are_not_merged_and_say_which_and_what_to_do():
    one, other = (trained(AODE(binning=Binning(after=5)), weather(seed, 30)) for seed in (9, 10))
    with pytest.raises(
        CannotMerge, match=r"feature 'size' has the cut points \[.*\] in one learner and \[.*\]"
    ):
        one.merge(other)
    schema = declared(one.cuts_)
    same, again = (
        trained(AODE(schema=schema, binning=Binning(after=5)), weather(seed, 30)) for seed in (9, 10)
    )
    assert tables(same.merge(again) or same) == tables(
        trained(AODE(schema=schema), weather(9, 30) + weather(10, 30))
    )


def test_learners_whose_numbers_all_wait_are_merged_and_cut_once_there_are_enough():
    rows = weather(11, 24)
    one, other = (
        trained(AODE(binning=Binning(after=20)), rows[:12]),
        trained(AODE(binning=Binning(after=20)), rows[12:]),
    )
    one.merge(other)
    assert set(one.cuts_) == {"size", "heat"}
    assert tables(one) == tables(trained(AODE(schema=declared(one.cuts_)), rows))


def test_a_learner_without_numbers_takes_over_the_cuts_of_the_other_and_its_schedule():
    rows = weather(12, 60)
    bare = [({"sky": x["sky"]}, y) for x, y in rows[:20]]
    for length in (12, 30):  # within its window, and past it
        one = trained(AODE(binning=Binning(after=5, window=20)), bare)
        other = trained(AODE(binning=Binning(after=5, window=20)), rows[:length])
        one.merge(other)
        assert one.cuts_ == other.cuts_
        one, other = trained(one, rows[length:]), trained(other, rows[length:])
        assert one.cuts_ == other.cuts_
        assert tables(one) == tables(trained(AODE(schema=declared(one.cuts_)), bare + rows))


# -- predicting -------------------------------------------------------------------------------------------------------


class Between:
    """Naive Bayes over bins, by the formula: a number is read from its bin and, by how far into it it lies, from both
    neighbours, like a quadratic B-spline.
    """

    def __init__(self, rows: list[Row], cuts: tuple[float, ...], edges: tuple[float, float]) -> None:
        self.rows = rows
        self.ends = [edges[0], *cuts, edges[1]]
        self.cuts = cuts

    def place(self, number: float) -> int:
        return sum(number >= cut for cut in self.cuts)

    def shares(self, number: float) -> dict[int, float]:
        place, last = self.place(number), len(self.cuts)
        low, high = self.ends[place], self.ends[place + 1]
        inside = min(max((number - low) / (high - low), 0.0), 1.0)
        left = (1.0 - inside) ** 2 / 2 if place > 0 else 0.0
        right = inside**2 / 2 if place < last else 0.0
        return {place - 1: left, place: 1.0 - left - right, place + 1: right}

    def answer(self, number: float) -> dict[Any, float]:
        labels = sorted({y for _, y in self.rows})
        bins, joint = len(self.cuts) + 1, {}
        for y in labels:
            own = [self.place(x["size"]) for x, label in self.rows if label == y]
            inside = math.fsum(share * own.count(place) for place, share in self.shares(number).items())
            prior = (len(own) + 1 / len(labels)) / (len(self.rows) + 1)
            joint[y] = prior * (inside + 1 / bins) / (len(own) + 1)
        return {y: p / math.fsum(joint.values()) for y, p in joint.items()}


def test_a_number_is_read_between_the_bins_around_it():
    rows = [({"size": x["size"]}, y) for x, y in weather(13, 40)]
    model: Any = trained(KDB(k=0, binning=Binning(bins=4, after=40, window=40)), rows)
    cuts, numbers = model.cuts_["size"], sorted(x["size"] for x, _ in rows)
    below, above = [n for n in numbers if n < cuts[0]], [n for n in numbers if n >= cuts[-1]]

    def median(some: list[float]) -> float:
        return (some[(len(some) - 1) // 2] + some[len(some) // 2]) / 2

    # The end bins reach as far beyond their medians as these are from the cut.
    edges = 2 * median(below) - cuts[0], 2 * median(above) - cuts[-1]
    oracle = Between(rows, cuts, edges)
    for step in range(-60, 61):
        number = step / 12
        assert model.predict_proba_one({"size": number}) == pytest.approx(oracle.answer(number), abs=1e-12)


def test_answers_do_not_leap_at_a_cut():
    model: Any = trained(AODE(binning=Binning(bins=6, after=60, window=60), min_count=1), weather(14, 60))
    for cut in model.cuts_["size"]:
        below, above = ({"size": at, "heat": 1.0} for at in (math.nextafter(cut, -math.inf), cut))
        assert model.predict_proba_one(below) == pytest.approx(model.predict_proba_one(above), abs=1e-9)


def test_a_feature_with_a_bin_for_each_value_is_read_as_it_was_counted():
    rows = [({"heat": x["heat"]}, y) for x, y in weather(15, 60)]
    named = [({"heat": str(x["heat"])}, y) for x, y in rows]
    binned, names = trained(KDB(k=0), rows), trained(NaiveBayes(prior="m-estimate"), named)
    for (x, _), (name, _) in zip(rows, named, strict=True):
        assert binned.predict_proba_one(x) == pytest.approx(names.predict_proba_one(name), abs=1e-12)
