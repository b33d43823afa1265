"""LiveChoice: what each reading lost, who leads and since when, and what the best one or the mixture answers."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.datasets import synth

from stream_bayes import AODE, KDB, LDA, QDA, SPODE, TAN, Binning, LiveChoice, NaiveBayes, Nominal, Schema
from stream_bayes.core.readings._members import Members
from stream_bayes.errors import BadState, BadValue, CannotMerge
from stream_bayes.learners.classifiers.live_choice import READINGS
from stream_bayes.testing.assertions import changes_nothing, same_bytes
from tests.builds import examples
from tests.learners.biased_events import biased_events
from tests.learners.training import trained
from tests.resealing import resealed

ALL = ("nb", "spode", "tan", "kdb", "aode")
ORDERS = st.one_of(
    st.just(ALL),
    st.permutations(ALL).map(tuple),
    st.lists(st.sampled_from(ALL), min_size=1, unique=True).map(tuple),
)


class Apart:
    """The same choice among learners that each keep counts of their own: no line of it is the package's."""

    def __init__(
        self,
        readings: tuple[str, ...],
        loss_half_life: float | None,
        min_count: float,
        rate: float = 0.1,
        **shared: Any,
    ):
        make = {
            "nb": lambda: NaiveBayes(**({"prior": "m-estimate"} | shared)),
            "spode": lambda: SPODE(loss_half_life=loss_half_life, min_count=min_count, **shared),
            "tan": lambda: TAN(**shared),
            "kdb": lambda: KDB(**shared),
            "aode": lambda: AODE(min_count=min_count, **shared),
        }
        self.members: dict[str, Any] = {name: make[name]() for name in readings}
        self.losses = dict.fromkeys(readings, 0.0)
        self.rate = rate
        self.decay = 1.0 if loss_half_life is None else 0.5 ** (1.0 / loss_half_life)

    def answers(self, x: dict[str, Any]) -> dict[str, dict[Any, float]]:
        return {name: member.predict_proba_one(x) for name, member in self.members.items()}

    def mixture(self, x: dict[str, Any]) -> dict[Any, float]:
        answers, least = self.answers(x), min(self.losses.values())
        weights = {name: math.exp(self.rate * (least - loss)) for name, loss in self.losses.items()}
        total = math.fsum(weights.values())
        labels = next(iter(answers.values()))
        return {y: math.fsum(weights[name] * answers[name][y] for name in answers) / total for y in labels}

    def learn(self, x: dict[str, Any], y: Any, w: float) -> None:
        for name, answer in self.answers(x).items():
            if answer and w > 0.0:
                lost = -math.log(max(answer.get(y, 0.0), 1e-12))
                self.losses[name] = self.losses[name] * self.decay + w * lost
        for member in self.members.values():
            member.learn_one(x, y, w)

    def rederive(self) -> None:
        for member in self.members.values():
            member.rederive()


# -- the formula -----------------------------------------------------------------------------------------------------

complete = st.fixed_dictionaries({name: st.sampled_from("xyz") for name in "abc"})
gappy = st.fixed_dictionaries({}, optional={name: st.sampled_from(["x", "y", None]) for name in "abcd"})
weights = st.sampled_from([1.0, 1.0, 1.0, 3.0, 0.5, 0.0])
streams = st.one_of(
    *(
        st.lists(st.tuples(rows, st.sampled_from("uuvw"), weights), min_size=1, max_size=35)
        for rows in (complete, gappy)
    )
)


@settings(max_examples=examples(60))
@given(
    streams,
    ORDERS,
    st.sampled_from([None, 4.0, 500.0]),
    st.sampled_from([1.0, 3.0]),
    st.sampled_from([0.1, 1.0, 2.5]),
    st.fixed_dictionaries(
        {
            "prior": st.sampled_from(["m-estimate", "laplace"]),
            "strength": st.sampled_from([1.0, 0.25]),
            "class_prior": st.sampled_from(["counted", "uniform", {"u": 0.5, "v": 0.25, "w": 0.25}]),
            "half_life": st.sampled_from([None, None, 9.0]),
        }
    ),
)
def test_it_answers_as_its_readings_apart_would(stream, readings, loss_half_life, min_count, rate, shared):
    arguments: dict[str, Any] = {
        "loss_half_life": loss_half_life,
        "min_count": min_count,
        "rate": rate,
        **shared,
    }
    apart = Apart(readings, **arguments)
    best = LiveChoice(readings, "best", **arguments)
    mixture = LiveChoice(readings, "mixture", **arguments)
    leader, since = readings[0], 0
    for x, y, w in stream:
        answers = apart.answers(x)
        # The best answers exactly as the leading reading alone does.
        assert best.predict_proba_one(x) == answers[best.leader_.reading]
        assert mixture.predict_proba_one(x) == pytest.approx(apart.mixture(x), abs=1e-12)
        for model in (best, mixture):
            assert model.predict_proba_one(x) == model.predict_learn_one(x, y, w)
        apart.learn(x, y, w)
        for model in (best, mixture):
            assert model.losses_ == pytest.approx(apart.losses, rel=1e-11, abs=1e-11)
            assert list(model.losses_) == list(readings)
            assert model.losses_[model.leader_.reading] == min(model.losses_.values())
        if best.leader_.reading != leader:
            leader, since = best.leader_.reading, best.clock
        assert best.leader_ == mixture.leader_ == (leader, since)
    for learner in (best, mixture, apart):
        learner.rederive()
    for x, _, _ in stream[:4]:
        assert best.predict_proba_one(x) == apart.answers(x)[best.leader_.reading]
        assert mixture.predict_proba_one(x) == pytest.approx(apart.mixture(x), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_it_answers_as_its_readings_apart_over_many_events(seed):
    source = random.Random(seed)
    apart = Apart(ALL, 40.0, 1.0)
    best, mixture = (LiveChoice(ALL, combine, loss_half_life=40.0) for combine in ("best", "mixture"))
    leaders = set()
    for number, (x, y) in enumerate(biased_events(seed, 240, names="abcde")):
        if number > 120:
            x["b"] = x["a"]
            y = "uv"[(x["a"] == "x") != (x["c"] == "x")] if source.random() < 0.9 else y
        assert best.predict_learn_one(x, y) == apart.answers(x)[best_before(best, apart)]
        mixture.learn_one(x, y)
        apart.learn(x, y, 1.0)
        assert best.losses_ == mixture.losses_ == pytest.approx(apart.losses, rel=1e-10)
        leaders.add(best.leader_.reading)
    assert len(leaders) > 2


def best_before(model: LiveChoice, apart: Apart) -> str:
    """Who led before the event that `model` has just learned, which `apart` has not."""
    return min(apart.losses, key=apart.losses.__getitem__)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_a_mixture_loses_at_most_the_logarithm_of_their_number_by_its_rate_more_than_the_best(rate, seed):
    model = LiveChoice(loss_half_life=None, rate=rate)
    lost = 0.0
    for number, (x, y) in enumerate(biased_events(seed, 300, names="abcd")):
        if number % 2:
            x["d"] = x["a"]
        answer = model.predict_learn_one(x, y)
        if y in answer:
            lost -= math.log(answer[y])
    # One event of each class came when it was not known yet: every reading lost the same by it.
    assert lost <= min(model.losses_.values()) + math.log(len(ALL)) / rate + 1e-9


def test_the_loss_of_a_class_never_met_is_that_of_a_probability_of_1e_12():
    model = LiveChoice(loss_half_life=None)
    model.learn_one({"a": "x"}, "u")
    assert set(model.losses_.values()) == {0.0}
    model.learn_one({"a": "x"}, "v", 2.0)
    assert model.losses_ == pytest.approx(dict.fromkeys(READINGS, 2 * 12 * math.log(10)), rel=1e-12)


def test_without_a_half_life_losses_are_sums_and_with_one_they_fade():
    stream = biased_events(1, 80)
    summed, faded = LiveChoice(("nb",), loss_half_life=None), LiveChoice(("nb",), loss_half_life=10.0)
    plain, each = NaiveBayes(prior="m-estimate"), []
    for x, y in stream:
        answer = plain.predict_learn_one(x, y)
        if answer:
            each.append(-math.log(max(answer.get(y, 0.0), 1e-12)))
        for model in (summed, faded):
            model.learn_one(x, y)
    assert summed.losses_["nb"] == pytest.approx(math.fsum(each), rel=1e-12)
    ages = range(len(each) - 1, -1, -1)
    expected = math.fsum(loss * 2 ** (-age / 10) for loss, age in zip(each, ages, strict=True))
    assert faded.losses_["nb"] == pytest.approx(expected, rel=1e-12)


# -- who leads -------------------------------------------------------------------------------------------------------


def test_of_equal_readings_the_first_leads():
    for readings in (("tan", "nb", "kdb"), ("kdb", "tan", "nb"), ("nb", "tan")):
        model = LiveChoice(readings)
        for x, y in biased_events(2, 9):  # before the first structure all three are naive Bayes
            model.learn_one(x, y)
        assert len(set(model.losses_.values())) == 1
        assert model.leader_ == (readings[0], 0)


def test_the_leader_follows_a_stream_that_changes_and_says_since_when():
    source, model = random.Random(3), LiveChoice(("nb", "tan"), loss_half_life=30.0, half_life=300.0)
    leaders = []
    for number in range(900):
        x = {name: source.choice("xy") for name in "abcd"}
        y = source.random() < 0.5
        if 300 <= number < 600:
            x["b"] = "xy"[(x["a"] == "x") != y]  # only a pair tells the class
        else:
            x = {n: "xy"[y] if source.random() < 0.7 else v for n, v in x.items()}
        before = model.leader_
        model.learn_one(x, y)
        if model.leader_ != before:
            assert model.leader_.reading != before.reading
            assert model.leader_.since == model.clock == number + 1
        leaders.append(model.leader_.reading)
    assert set(leaders[400:600]) == {"tan"}
    assert leaders[299] == leaders[-1] == "nb"


def test_a_sample_without_weight_a_prediction_and_time_leave_losses_alone():
    model = trained(LiveChoice(loss_half_life=5.0), biased_events(4, 30))
    losses, leader = model.losses_, model.leader_
    model.learn_one({"a": "x", "new": "y"}, "new class", 0.0)
    model.predict_learn_one({"a": "x"}, "u", 0.0)
    model.predict_proba_one({"a": "x", "b": "z"})
    model.advance(50)
    model.unlearn_one(*biased_events(4, 30)[0])
    assert model.losses_ == losses
    assert model.leader_ == leader


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("combine", ["best", "mixture"])
def test_a_choice_of_one_is_that_reading(name, combine):
    model, apart = LiveChoice((name,), combine), Apart((name,), 500.0, 1.0)
    for x, y in biased_events(5, 60, names="abcd"):
        assert model.predict_learn_one(x, y) == pytest.approx(apart.answers(x)[name], abs=1e-15)
        apart.learn(x, y, 1.0)
    assert model.leader_ == (name, 0)


# -- one store -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("readings", [ALL, ("aode", "spode"), ("spode", "nb"), ("tan",)])
def test_each_event_is_counted_once(readings):
    stream = biased_events(6, 40)
    model, counts = LiveChoice(readings), AODE()
    for number, (x, y) in enumerate(stream):
        if number % 2:
            model.predict_learn_one(x, y)
        else:
            model.learn_one(x, y)
        counts.learn_one(x, y)
    assert model.store.by_name() == counts.store.by_name()
    # Besides its counts it holds a few numbers for each reading.
    assert model.memory_bytes == counts.memory_bytes


@pytest.mark.parametrize("combine", ["best", "mixture"])
@pytest.mark.parametrize("names", ["abc", "abcd"])
def test_learning_and_predicting_many_is_as_one_by_one_to_the_bit(combine, names):
    stream = biased_events(7, 120, classes="uvw")
    for number, (x, _) in enumerate(stream):
        if names == "abcd" and number % 4:
            x["d"] = x["a"]
    xs, ys = [x for x, _ in stream], [y for _, y in stream]
    one, learned, tested = (LiveChoice(combine=combine) for _ in range(3))
    expected = [one.predict_learn_one(x, y) for x, y in stream]
    learned.learn_many(xs, ys)
    answers = tested.predict_learn_many(xs[:50], ys[:50]) + tested.predict_learn_many(xs[50:], ys[50:])
    for got, wanted in zip(answers, expected, strict=True):
        assert {y: p for y, p in got.items() if p} == {y: p for y, p in wanted.items() if p}
    assert learned.losses_ == tested.losses_ == one.losses_
    assert learned.leader_ == tested.leader_ == one.leader_
    assert learned.predict_proba_many(xs) == [one.predict_proba_one(x) for x in xs]


def test_merging_keeps_the_counts_and_starts_the_losses_anew():
    one, other = trained(LiveChoice(), biased_events(8, 60)), trained(LiveChoice(), biased_events(9, 70))
    counts = AODE() + trained(trained(AODE(), biased_events(8, 60)), biased_events(9, 70))
    assert any(one.losses_.values())
    losses = other.losses_
    merged = one + other
    assert merged.store.by_name() == counts.store.by_name()
    assert set(merged.losses_.values()) == {0.0}
    assert merged.leader_ == ("nb", merged.clock)
    assert other.losses_ == losses
    merged.learn_one(*biased_events(10, 1)[0])
    assert all(merged.losses_.values())


def test_choices_among_other_readings_do_not_merge():
    with pytest.raises(CannotMerge, match="readings"):
        LiveChoice(("nb", "tan")).merge(LiveChoice(("tan", "nb")))
    with pytest.raises(CannotMerge, match="combine"):
        LiveChoice(combine="best").merge(LiveChoice())


@pytest.mark.parametrize("combine", ["best", "mixture"])
@pytest.mark.parametrize("copy", ["state", "pickle"])
def test_losses_leader_and_structures_come_back(combine, copy):
    stream, more = biased_events(11, 77, names="abcd"), biased_events(12, 90, names="abcde")
    model = trained(LiveChoice(combine=combine, loss_half_life=20.0), stream)
    twin = LiveChoice.from_state(model.state()) if copy == "state" else pickle.loads(pickle.dumps(model))
    assert twin.losses_ == model.losses_
    assert twin.leader_ == model.leader_
    same_bytes(twin, model, copy)
    for x, y in more:
        assert twin.predict_learn_one(x, y) == model.predict_learn_one(x, y)
    same_bytes(twin, model, f"{copy}, going on")


def test_rederive_lets_every_reading_derive_what_it_derives():
    model = LiveChoice(("tan", "kdb"))
    stream = biased_events(13, 9)
    trained(model, stream)
    x = {"a": "x", "b": "z", "c": "y"}
    plain = trained(NaiveBayes(prior="m-estimate"), stream)
    assert model.predict_proba_one(x) == pytest.approx(plain.predict_proba_one(x), abs=1e-12)
    model.rederive()
    tan, kdb = trained(TAN(), stream), trained(KDB(), stream)
    for one in (tan, kdb):
        one.rederive()
    both = tan.predict_proba_one(x), kdb.predict_proba_one(x)
    assert both[0] != plain.predict_proba_one(x)
    expected = {y: (both[0][y] + both[1][y]) / 2 for y in both[0]}  # so far they lost the same
    assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)


# -- readings of moments, of several parents, and by weight ----------------------------------------------------------

NUMERIC = ("nb", "gaussian", "lda", "qda", "kdb3", "aode")


def numeric_events(seed: int, count: int, noise: int = 0) -> list[tuple[dict[str, Any], str]]:
    """Return events with names, numbers that tell the class, numbers that are noise, and values that are absent."""
    source, events = random.Random(seed), []
    for number in range(count):
        y = source.choice("uv" if number < count // 3 else "uvw")
        centre = "uvw".index(y)
        x: dict[str, Any] = {"name": source.choice("xyz"), "n": source.gauss(centre, 1.0)}
        x["m"] = x["n"] + source.gauss(centre / 2, 0.5)
        x |= {f"noise {place}": source.gauss(0.0, 1.0) for place in range(noise)}
        if source.random() < 0.1:
            del x[source.choice(list(x))]
        events.append((x, y))
    return events


@pytest.mark.parametrize("half_life", [None, 40.0])
def test_readings_of_moments_and_of_three_parents_are_the_learners_of_these_names(half_life):
    shared: dict[str, Any] = {"prior": "m-estimate", "half_life": half_life}
    apart: dict[str, Any] = {
        "nb": NaiveBayes(numbers="bins", **shared),
        "gaussian": NaiveBayes(**shared),
        "lda": LDA(**shared),
        "qda": QDA(**shared),
        "kdb3": KDB(k=3, **shared),
        "aode": AODE(min_count=1, **shared),
    }
    model, compared = LiveChoice(NUMERIC, half_life=half_life), 0
    given = np.zeros((len(NUMERIC), 3))
    for x, y in numeric_events(1, 150):
        codes = model.store.encoder.labels
        Members([model.reading], [len(NUMERIC)]).predict(
            [model.store.encoder.lookup(x)], False, np.zeros(1, np.uint8), given
        )
        if model.clock:
            for place, name in enumerate(NUMERIC):
                for label, p in apart[name].predict_proba_one(x).items():
                    assert given[place, codes.find(label)] == pytest.approx(p, abs=1e-12), name
                    compared += 1
        model.learn_one(x, y)
        for learner in apart.values():
            learner.learn_one(x, y)
    assert compared > 2000
    assert model.structures_["kdb3"] == apart["kdb3"].parents_
    before = model.predict_proba_one({"n": 1.0, "m": 2.0})
    twin = LiveChoice.from_state(model.state())
    assert twin.predict_proba_one({"n": 1.0, "m": 2.0}) == before
    same_bytes(twin, model, "state")


def test_where_lines_decide_numbers_as_they_are_win_over_bins():
    source = random.Random(2)
    events = []
    for _ in range(1500):
        x = {name: source.random() for name in "abcdef"}
        events.append((x, "over" if x["a"] + x["b"] + x["c"] > x["d"] + x["e"] + x["f"] else "under"))
    bins, both, lines = LiveChoice(ALL), LiveChoice(), LiveChoice((*READINGS, "lda"))
    right = {model: _right(model, events) for model in (bins, both, lines)}
    assert right[lines] > right[both] > right[bins] + 30
    assert both.leader_.reading == "gaussian"
    assert lines.leader_.reading == "lda"


def test_by_default_a_border_that_slants_and_turns_costs_at_most_half_a_point_against_naive_bayes():
    stream = synth.Hyperplane(seed=11, n_features=10, n_drift_features=5, mag_change=0.001)
    events = [(x, str(y)) for x, y in stream.take(5000)]
    naive, choice, bins = NaiveBayes(), LiveChoice(), LiveChoice(ALL)
    right = {model: _right(model, events) for model in (naive, choice, bins)}
    assert right[choice] >= right[naive] - 0.005 * len(events)
    assert right[bins] < right[naive] - 0.04 * len(events)


@pytest.mark.parametrize("combine", ["best", "mixture"])
def test_without_numbers_naive_bayes_over_moments_counts_once(combine):
    stream = biased_events(16, 200, names="abcd")
    both, alone = LiveChoice(combine=combine), LiveChoice(ALL, combine)
    last = LiveChoice(("gaussian", "aode", "nb"), combine)  # the same, before what it is the same as
    fewer = LiveChoice(("nb", "aode"), combine)
    for x, y in stream:
        assert both.predict_proba_one(x) == alone.predict_proba_one(x)
        assert both.predict_learn_one(x, y) == alone.predict_learn_one(x, y)
        assert last.predict_learn_one(x, y) == pytest.approx(fewer.predict_learn_one(x, y), abs=1e-12)
    assert {name: loss for name, loss in both.losses_.items() if name != "gaussian"} == alone.losses_
    assert both.losses_["gaussian"] == both.losses_["nb"]
    assert last.losses_["gaussian"] == last.losses_["nb"]
    assert both.leader_ == alone.leader_


def test_naive_bayes_over_moments_has_a_weight_while_numbers_are_held():
    stream, more = biased_events(17, 60), numeric_events(18, 90)
    both, alone = trained(LiveChoice(("nb", "gaussian")), stream), trained(LiveChoice(("nb",)), stream)
    for x, y in more:
        both.learn_one(x, y)
        alone.learn_one(x, y)
    numbers = {"n": 1.0, "m": 1.5}
    apart = trained(trained(NaiveBayes(prior="m-estimate"), stream), more).predict_proba_one(numbers)
    bins = alone.predict_proba_one(numbers)
    weights = {name: math.exp(-0.1 * loss) for name, loss in both.losses_.items()}
    expected = {
        y: (weights["nb"] * bins[y] + weights["gaussian"] * apart[y]) / sum(weights.values()) for y in bins
    }
    assert both.predict_proba_one(numbers) == pytest.approx(expected, abs=1e-9)
    for x, y in reversed(more):
        both.unlearn_one(x, y)
        alone.unlearn_one(x, y)
    x = stream[0][0]
    assert both.predict_proba_one(x) == pytest.approx(alone.predict_proba_one(x), abs=1e-9)


def _right(model: Any, events: list[tuple[dict[str, Any], str]]) -> int:
    return sum(y == max(p, key=p.get) for p, y in _answers(model, events))


def _answers(model: Any, events: list[tuple[dict[str, Any], str]]) -> list[tuple[Any, str]]:
    answers = [(model.predict_learn_one(x, y), y) for x, y in events]
    return [(answer, y) for answer, y in answers if answer]


def test_a_weight_is_the_share_of_information_that_chance_does_not_explain():
    model = LiveChoice(("weighted", "nb"), binning=Binning(bins=4, after=20, window=20))
    events = numeric_events(3, 400, noise=2)
    trained(model, events)
    model.rederive()
    weights = model.feature_weights_
    samples = [(x["name"], y) for x, y in events if "name" in x]
    total, information = len(samples), 0.0
    for pair in set(samples):
        joint = samples.count(pair) / total
        value = sum(one == pair[0] for one, _ in samples) / total
        label = sum(one == pair[1] for _, one in samples) / total
        information += joint * math.log(joint / value / label)
    assert weights["name"] == pytest.approx(max(0.0, 1.0 - 2 * 2 / (2 * total * information)), abs=1e-9)
    assert weights["n"] > 0.9 and weights["m"] > 0.9
    assert max(weights["noise 0"], weights["noise 1"]) < 0.7
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert LiveChoice().feature_weights_ == {}


def test_features_without_weight_change_nothing_and_others_by_their_power():
    model = LiveChoice(("weighted",))
    trained(model, [({"a": a, "useless": u}, "uv"[a == u == "x"]) for a in "xyx" for u in "xy"] * 5)
    model.reading.members[0].exponent = np.array([0.5, 0.0])
    plain = trained(NaiveBayes(prior="m-estimate"), [({}, "uv"[k % 3 == 0]) for k in range(30)])
    counted = model.predict_proba_one({"a": "x"})
    assert model.predict_proba_one({"a": "x", "useless": "y"}) == counted
    assert set(counted) == set(plain.predict_proba_one({}))
    prior, likelihood = model.class_prior_, model.conditional("a")
    odds = {y: prior[y] * likelihood[y]["x"] ** 0.5 for y in prior}
    assert counted == pytest.approx({y: odds[y] / sum(odds.values()) for y in odds}, abs=1e-12)


def test_in_a_wide_table_of_noise_a_weighted_choice_is_no_worse_than_naive_bayes():
    events = numeric_events(4, 400, noise=24)
    naive, choice = NaiveBayes(), LiveChoice(("nb", "weighted", "gaussian", "aode"))
    plain = LiveChoice(("nb", "aode"))
    lost = {
        model: math.fsum(-math.log(max(p.get(y, 0.0), 1e-3)) for p, y in _answers(model, events))
        for model in (naive, choice, plain)
    }
    assert lost[choice] < lost[plain] * 0.9
    assert lost[choice] < lost[naive] * 1.02


def test_a_choice_with_three_parents_refuses_to_merge_and_names_the_reading():
    one, other = LiveChoice(("nb", "kdb3")), LiveChoice(("nb", "kdb3"))
    assert not one.traits.is_mergeable and LiveChoice().traits.is_mergeable
    with pytest.raises(CannotMerge, match="kdb3"):
        one.merge(other)


@pytest.mark.parametrize("weights", [[1.5], [math.nan], ["x"], [0.5] * 9, None], ids=repr)
def test_weights_that_are_none_are_bad_state(weights):
    state = trained(LiveChoice(("weighted", "nb")), biased_events(15, 20)).state()
    state["reading"]["members"][0]["weights"] = weights
    with pytest.raises(BadState):
        LiveChoice.from_state(resealed(state))


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"readings": ()}, "readings must be some of"),
        ({"readings": "nb"}, "readings must be some of"),
        ({"readings": None}, "readings must be some of"),
        ({"readings": ("nb", "tan", "nb")}, "each once"),
        ({"readings": ("nb", "forest")}, "'forest'"),
        ({"readings": ("nb", 3)}, "3"),
        ({"readings": ("nb", ["tan"])}, "tan"),
        ({"combine": "worst"}, "combine must be one of 'best', 'mixture'"),
        ({"combine": None}, "combine"),
        ({"loss_half_life": 0}, "loss_half_life must be a finite number above 0"),
        ({"loss_half_life": math.inf}, "loss_half_life"),
        ({"rate": 0}, "rate must be a finite number above 0"),
        ({"rate": -1.0}, "rate"),
        ({"min_count": -1}, "min_count"),
        ({"prior": "uniform"}, "prior"),
    ],
    ids=repr,
)
def test_a_choice_that_is_none_is_refused(arguments, words):
    with pytest.raises(BadValue, match=words):
        LiveChoice(**arguments)


def test_readings_can_be_given_as_a_list_and_come_back():
    model = trained(LiveChoice(["nb", "tan"]), biased_events(14, 20))  # type: ignore[arg-type]  # what a user may write
    twin = LiveChoice.from_state(model.state())
    assert twin.losses_ == model.losses_
    assert pickle.loads(pickle.dumps(model)).leader_ == model.leader_


@pytest.mark.parametrize(
    "change",
    [
        {"losses": [0.0, 0.0]},
        {"losses": [0.0, math.nan, 0.0]},
        {"losses": [0.0, -1.0, 0.0]},
        {"losses": "abc"},
        {"leader": 3},
        {"leader": -1},
        {"leader": True},
        {"since": -1},
        {"due": None},
        {"members": []},
        {"members": [{}, {}, {}, {}]},
        {"members": [{}, {}, {}]},
    ],
    ids=repr,
)
def test_a_choice_that_fits_no_readings_is_bad_state(change):
    state = trained(LiveChoice(("nb", "tan", "spode")), biased_events(15, 20)).state()
    state["reading"] = state["reading"] | change
    with pytest.raises(BadState):
        LiveChoice.from_state(resealed(state))


def test_a_refused_event_leaves_losses_and_leader_alone():
    schema = Schema({"a": Nominal(["x", "y"], closed=True)}, classes=["u", "v"])
    model = trained(LiveChoice(schema=schema), [({"a": "x"}, "u"), ({"a": "y"}, "v")] * 6)
    with changes_nothing(model, "refused events"):
        for x, y in [({"a": "z"}, "u"), ({"a": "x"}, "w"), ({"a": "x"}, None)]:
            with pytest.raises(ValueError):
                model.learn_one(x, y)
            with pytest.raises(ValueError):
                model.predict_learn_one(x, y)
