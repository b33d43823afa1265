"""A Markov chain against a slow chain over full contexts, its exact counts, and what bad input does to it."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import MarkovChain
from stream_bayes.errors import BadState, BadValue, BadWeight, BudgetExceeded, CannotMerge

WEATHER = ["sun", "sun", "rain", "sun", "fog", "rain", "rain", "sun", "sun", "fog", "sun", "rain", "fog"]


def events(values: list[Any], user: str = "ann") -> list[dict[str, Any]]:
    return [{"user": user, "sky": value} for value in values]


def trained(**arguments: Any) -> MarkovChain:
    model = MarkovChain("sky", key="user", **arguments)
    model.learn_many(events(WEATHER) + events(WEATHER[::-1], "bob"))
    return model


def slow_probability(sequences: list[list[Any]], context: tuple[Any, ...], value: Any, s: float) -> float:
    """Return P(value | context) by counting in the sequences themselves, from the empty context up."""
    padded = [[None, *sequence] for sequence in sequences]
    known = {v for sequence in sequences for v in sequence}
    p = 1 / len(known)
    for length in range(len(context) + 1):
        suffix = list(context[len(context) - length :])
        after = [
            row[k]
            for row in padded
            for k in range(1, len(row))
            if k >= length and row[k - length : k] == suffix
        ]
        if after:
            p = (after.count(value) + s * p) / (len(after) + s)
    return p


@pytest.mark.parametrize("order", [1, 3])
def test_forecasts_and_paths_are_those_of_enumerating_all_futures(order: int) -> None:
    model = trained(order=order, strength=0.7)
    sequences = [WEATHER, WEATHER[::-1]]
    values = sorted(set(WEATHER))
    best: tuple[float, tuple[str, ...]] = (-math.inf, ())
    of_third = dict.fromkeys(values, 0.0)
    for future in itertools.product(values, repeat=3):
        log_p, past = 0.0, [None, *WEATHER]
        for value in future:
            log_p += math.log(slow_probability(sequences, tuple(past[-order:]), value, 0.7))
            past.append(value)
        of_third[future[2]] += math.exp(log_p)
        best = max(best, (log_p, future))
    assert model.forecast_one(3, {"user": "ann"}) == pytest.approx(of_third, abs=1e-12)
    path, log_p = model.most_probable_path(3, {"user": "ann"})
    assert tuple(path) == best[1]
    assert log_p == pytest.approx(best[0])


def test_a_forecast_of_a_first_order_chain_is_the_power_of_its_matrix() -> None:
    model = MarkovChain("sky", strength=0)
    model.learn_many(events(WEATHER))
    values = sorted(set(WEATHER))
    matrix = np.array([[*model.reading.probabilities((value,)).values()] for value in values])
    power = np.linalg.matrix_power(matrix, 6)
    assert [*model.forecast_one(6).values()] == pytest.approx(power[values.index(WEATHER[-1])].tolist())


def test_a_missing_value_is_summed_out_and_what_follows_it_has_no_past() -> None:
    model = trained()
    two_ahead = model.forecast_one(2, {"user": "ann"})
    model.learn_one({"user": "ann", "sky": None})
    assert model.predict_proba_one({"user": "ann"}) == two_ahead
    before = model.transitions()
    model.learn_one({"user": "ann", "sky": "fog"})
    assert model.transitions() == before
    assert model.clock == 2 * len(WEATHER) + 1
    for _ in range(300):
        model.learn_one({"user": "ann"})
    assert model.predict_proba_one({"user": "ann"}) == model.reading.probabilities(())


def test_counts_are_exact_in_any_order_of_shards_and_unlearned_events_leave_no_trace() -> None:
    whole = trained(order=2)
    ann, bob = (MarkovChain("sky", order=2, key="user") for _ in range(2))
    ann.learn_many(events(WEATHER))
    bob.learn_many(events(WEATHER[::-1], "bob"))
    assert (
        (ann + bob).store.state()["meta"] == (bob + ann).store.state()["meta"] == whole.store.state()["meta"]
    )
    for each in (ann + bob, bob + ann):
        assert np.array_equal(each.store.state()["arrays"]["cells"], whole.store.state()["arrays"]["cells"])
    whole.unlearn_many(events(WEATHER[::-1], "bob"))
    assert whole.transitions() == ann.transitions()
    for k in reversed(range(len(WEATHER))):
        whole.unlearn_one({"user": "ann", "sky": WEATHER[k]}, WEATHER[:k][-2:])
    assert (whole.clock, whole.store.tables, whole.predict_proba_one({"user": "zoe"})) == (0, {}, {})


def test_what_was_not_learned_cannot_be_unlearned_and_nothing_changes() -> None:
    model = trained()
    before = model.transitions()
    with pytest.raises(BadValue, match="'fog' after 'fog' was learned 0 times, so not 1 times"):
        model.unlearn_one({"user": "ann", "sky": "fog"}, ["fog"])
    with pytest.raises(BadValue, match="at the start of a sequence"):
        model.unlearn_many([*events(WEATHER[:4]), {"user": "cy", "sky": "hail"}])
    assert model.transitions() == before


def test_values_that_are_in_contexts_alone_are_saved_and_forecast_from() -> None:
    model = MarkovChain("sky")
    model.learn_one({"sky": "fog"}, w=0)
    model.learn_many(events(["sun", "rain"]))
    model.unlearn_one({"sky": "sun"}, ["fog"])
    assert model.transitions() == {("sun",): {"rain": 1}}
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.forecast_one(3) == model.forecast_one(3) == {"rain": 1.0}


def test_a_sequence_ends_by_a_reset_and_by_a_pause() -> None:
    model = MarkovChain("sky", key="user", pause="10min", strength=0)
    for at, value in [(0, "sun"), (500, "rain"), (400, "rain"), (1101, "fog")]:
        model.learn_one({"user": "ann", "sky": value}, at=at)
    assert model.transitions() == {
        (None,): {"sun": 1, "fog": 1},
        ("sun",): {"rain": 1},
        ("rain",): {"rain": 1},
    }
    model.reset("ann")
    assert model.predict_proba_one({"user": "ann"}, at=1200) == {"fog": 0.5, "rain": 0.0, "sun": 0.5}
    with pytest.raises(BadValue, match="pause= needs the time"):
        model.learn_one({"user": "ann", "sky": "sun"})


def test_memory_of_sequences_and_of_values_is_bounded_and_the_dropped_are_counted() -> None:
    model = MarkovChain("sky", key="user", max_sequences=3, max_values=2)
    for k in range(50):
        model.learn_one({"user": k, "sky": f"value {k}"})
    assert (len(model.sequences), model.dropped_sequences, len(model.predict_proba_one({"user": 0}))) == (
        3,
        47,
        3,
    )
    with pytest.raises(CannotMerge, match="max_values"):
        model.merge(model)


def test_bad_events_are_refused_before_anything_changes() -> None:
    model = trained()
    before = pickle.dumps(model)
    for x, w, error in [
        ({"sky": "sun"}, 1.0, BadValue),
        ({"user": "ann", "sky": ["sun"]}, 1.0, BadValue),
        ({"user": "ann", "sky": 1.5}, 1.0, BadValue),
        ({"user": "ann", "sky": math.inf}, 1.0, BadValue),
        ({"user": "ann", "sky": "sun"}, 0.5, BadWeight),
        ({"user": "ann", "sky": "sun"}, 2**53, BadWeight),
        (["sun"], 1.0, BadValue),
    ]:
        with pytest.raises(error):
            model.learn_one(x, w)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BadValue):
        model.learn_many([*events(["sun"]), {"sky": "sun"}])
    assert pickle.dumps(model) == before


def test_a_forecast_over_too_many_contexts_is_refused_and_one_step_is_not() -> None:
    model = MarkovChain("sky", values=range(5_000))
    model.learn_many([{"sky": k} for k in range(5_000)])
    assert sum(model.predict_proba_one().values()) == pytest.approx(1.0)
    with pytest.raises(BudgetExceeded, match="needs more than"):
        model.forecast_one(2)


def test_it_is_saved_with_its_sequences_and_an_altered_state_is_refused(tmp_path: Path) -> None:
    model = trained(order=2, values=["hail", "sun"], max_values=3)
    model.learn_one({"user": "ann", "sky": None})
    stream_bayes.save(model, tmp_path / "chain.zip")
    loaded = stream_bayes.load(tmp_path / "chain.zip")
    assert pickle.dumps(loaded) == pickle.dumps(model) == pickle.dumps(pickle.loads(pickle.dumps(model)))
    for user in ("ann", "bob", "zoe"):
        assert loaded.forecast_one(2, {"user": user}) == model.forecast_one(2, {"user": user})
    store = model.store.state()
    store["arrays"]["cells"] = store["arrays"]["cells"][1:]
    with pytest.raises(BadState, match="a shorter context lacks events"):
        MarkovChain("sky", order=2, values=["hail", "sun"], max_values=3).store.load(store)


def test_states_that_never_occur_and_a_single_one() -> None:
    declared = MarkovChain("sky", values=["sun", "hail"], strength=2)
    declared.learn_many(events(["sun"] * 5))
    assert declared.predict_proba_one() == pytest.approx(
        {"hail": 0.5 * 2 / 7 * 2 / 6, "sun": 1 - 1 / 7 * 2 / 6}
    )
    single = MarkovChain("sky", strength=0)
    assert (single.predict_one(), single.predict_proba_one()) == (None, {})
    single.learn_many(events(["sun"] * 3))
    assert single.forecast_one(9) == {"sun": 1.0}
    assert single.log_likelihood_one({"sky": "moon"}) == math.log(0.5 / 3)
