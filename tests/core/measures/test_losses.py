from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import stream_bayes
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.values.values import OTHER
from tests.core.measures.scored_streams import (
    LEAST,
    agree,
    frozen,
    random_events,
    scored,
    streams,
    values,
)
from tests.oracles import losses as oracle

# --- against the definitions ----------------------------------------------------------------------------

WITHOUT_AREAS = [
    "weight",
    "effective_events",
    "accuracy",
    "majority_accuracy",
    "no_change_accuracy",
    "kappa",
    "kappa_m",
    "kappa_t",
    "log_loss",
    "brier",
    "f1",
    "macro_f1",
    "calibration_error",
]
ALL = [*WITHOUT_AREAS, "roc_auc_by_label", "roc_auc"]


@given(streams)
def test_cumulative_measures_are_those_of_their_definitions(events):
    expected = oracle.measures(events, [e[3] for e in events], LEAST)
    agree(values(scored(events).cumulative, WITHOUT_AREAS), {name: expected[name] for name in WITHOUT_AREAS})


@given(streams, st.integers(1, 15))
def test_windowed_measures_are_those_of_their_definitions_the_area_included(events, window):
    expected = oracle.windowed(events, window, LEAST)
    agree(values(scored(events, window=window).windowed, ALL), {name: expected[name] for name in ALL})


@given(streams, st.sampled_from([1.0, 2.5, 10.0, 1e6]))
def test_fading_measures_are_those_of_their_definitions(events, half_life):
    expected = oracle.fading(events, half_life, LEAST)
    found = values(scored(events, half_life=half_life).fading, WITHOUT_AREAS)
    agree(found, {name: expected[name] for name in WITHOUT_AREAS})


@given(streams, st.sampled_from([1.0, 10.0]))
def test_the_area_over_a_whole_stream_is_off_by_no_more_than_it_says(events, half_life):
    losses = scored(events, half_life=half_life)
    for measures, expected in (
        (losses.cumulative, oracle.measures(events, [e[3] for e in events], LEAST)),
        (losses.fading, oracle.fading(events, half_life, LEAST)),
    ):
        found, exact = measures.roc_auc_by_label, expected["roc_auc_by_label"]
        assert found.keys() == exact.keys()
        if found:
            assert abs(measures.roc_auc - expected["roc_auc"]) <= measures.roc_auc_error + 1e-12


def test_fading_stays_exact_over_many_half_lives():
    events = random_events(400, 3, weighted=True)
    for half_life in (1.0, 3.0):
        expected = oracle.fading(events, half_life, LEAST)
        measures = scored(events, half_life=half_life).fading
        agree(values(measures, WITHOUT_AREAS), {name: expected[name] for name in WITHOUT_AREAS})
        assert abs(measures.roc_auc - expected["roc_auc"]) <= measures.roc_auc_error + 1e-12


# --- against scikit-learn -------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_are_those_of_scikit_learn(labels, weighted):
    events = random_events(2500, labels, weighted=weighted)
    names = sorted({e[0] for e in events})
    assert len(names) == labels
    losses = scored(events, window=2500)
    y = [e[0] for e in events]
    z = [oracle.predicted_label(e) for e in events]
    w = [e[3] for e in events]
    table = np.array([[e[1][name] for name in names] for e in events])
    for measures in (losses.cumulative, losses.windowed):
        assert measures.accuracy == pytest.approx(sk.accuracy_score(y, z, sample_weight=w))
        assert measures.kappa == pytest.approx(sk.cohen_kappa_score(y, z, sample_weight=w))
        f1 = sk.f1_score(y, z, sample_weight=w, average=None, labels=names)
        assert [measures.f1[name] for name in names] == pytest.approx(list(f1))
        precision, recall, _, _ = sk.precision_recall_fscore_support(y, z, sample_weight=w, labels=names)
        assert [measures.precision[name] for name in names] == pytest.approx(list(precision))
        assert [measures.recall[name] for name in names] == pytest.approx(list(recall))
        assert measures.macro_f1 == pytest.approx(sk.f1_score(y, z, sample_weight=w, average="macro"))
        exact = [
            sk.roc_auc_score([label == name for label in y], table[:, i], sample_weight=w)
            for i, name in enumerate(names)
        ]
        found = measures.roc_auc_by_label
        if measures.roc_auc_error == 0:
            assert [found[name] for name in names] == pytest.approx(exact)
        assert abs(measures.roc_auc - np.mean(exact)) <= measures.roc_auc_error + 1e-12


@pytest.mark.parametrize("labels", [2, 5])
def test_log_loss_and_brier_score_are_those_of_scikit_learn(labels):
    events = random_events(2000, labels, seed=3, weighted=True)
    names = sorted({e[0] for e in events})
    y = [e[0] for e in events]
    w = [e[3] for e in events]
    table = np.array([[e[1][name] for name in names] for e in events])
    measures = scored(events, least_probability=float(np.finfo(float).eps)).cumulative
    assert measures.log_loss == pytest.approx(sk.log_loss(y, table, sample_weight=w, labels=names), rel=1e-9)
    if labels == 2:
        binary = sk.brier_score_loss(y, table[:, 1], sample_weight=w, pos_label=names[1])
        assert measures.brier == pytest.approx(2 * binary)  # both labels are summed here


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0, 15.0])
def test_the_area_over_a_long_stream_is_good_to_three_digits(spread):
    rng = np.random.default_rng(0)
    y = rng.random(50_000) < 0.2
    log_odds = rng.normal(np.where(y, 0.5, -0.7), 1.0) * spread  # hesitant to overconfident
    p = 1 / (1 + np.exp(-log_odds))
    losses = Losses()
    losses.update_many(y.tolist(), [True, False], np.column_stack([p, 1 - p]))
    exact = sk.roc_auc_score(y, p)
    measures = losses.cumulative
    assert measures.roc_auc_by_label[True] == pytest.approx(exact, abs=1e-3)
    assert abs(measures.roc_auc - exact) <= measures.roc_auc_error < 0.02


# --- what is agreed -------------------------------------------------------------------------------------


def test_before_any_event_nothing_is_defined():
    losses = Losses()
    for measures in (losses.cumulative, losses.windowed, losses.fading):
        assert set(measures.as_dict().values()) == {None}
        assert (measures.weight, measures.effective_events, measures.f1, measures.reliability) == (
            0,
            0,
            {},
            [],
        )
        assert all(map(math.isnan, (*measures.accuracy_interval(), *measures.log_loss_interval())))


def test_an_event_without_an_answer_is_in_no_measure_and_is_counted():
    losses = Losses(window=3, half_life=2.0)
    losses.update("a", {})
    losses.update("a", {"a": 0.0}, None)
    assert losses.unanswered == 2 and math.isnan(losses.cumulative.log_loss)
    losses.update("b", {"a": 0.5, "b": 0.5})
    for measures in (losses.cumulative, losses.windowed, losses.fading):
        assert measures.log_loss == pytest.approx(math.log(2.0))
        assert measures.brier == 0.5
        assert measures.weight == 1
        assert measures.majority_accuracy == 0 and measures.no_change_accuracy == 0
    losses.update("a", {"a": 1.0})
    assert losses.cumulative.majority_accuracy == 0.5  # the two before were labels all the same
    assert losses.unanswered == 2


def test_a_label_that_the_answer_lacks_has_probability_zero_unless_it_never_came_before():
    one, other = Losses(), Losses()
    for losses in (one, other):
        losses.update("a", {"a": 1.0})
        losses.update("b", {"a": 1.0, "b": 0.0})  # new after one label: log 2
    one.update("c", {"a": 0.75, "b": 0.25})  # new after two labels: log 3
    other.update("c", {"a": 0.75, "b": 0.25, "c": 0.0})
    assert frozen(one) == frozen(other)
    assert one.cumulative.log_loss * 3 == pytest.approx(math.log(2) + math.log(3))
    assert one.cumulative.brier * 3 == pytest.approx(2 + 0.75**2 + 0.25**2 + 1)
    one.update("c", {"a": 0.75, "b": 0.25})  # it has come before
    assert one.cumulative.log_loss * 4 == pytest.approx(math.log(6) - math.log(1e-15))
    one.update("d", {"d": 0.001, "a": 0.999})  # a model that names it is taken at its word
    assert one.cumulative.log_loss * 5 == pytest.approx(math.log(6) - math.log(1e-15) - math.log(0.001))


def test_without_a_prediction_the_most_probable_label_is_meant_and_of_equals_the_first_by_name():
    losses = Losses()
    losses.update("b", {"c": 0.5, "b": 0.5})
    losses.update("b", {"b": 0.2, "c": 0.5, "a": 0.3})
    losses.update(2, {10: 0.5, 2: 0.5})
    assert losses.cumulative.accuracy == pytest.approx(2 / 3)
    assert losses.cumulative.f1["b"] == pytest.approx(2 / 3)


def test_a_decision_that_is_no_label_is_a_mistake():
    losses = Losses()
    losses.update("spam", {"spam": 0.6, "ham": 0.4}, predicted="unsure")
    losses.update("spam", {"spam": 0.9, "ham": 0.1}, predicted="spam")
    assert losses.cumulative.accuracy == 0.5
    assert losses.cumulative.f1 == {"spam": pytest.approx(2 / 3)}
    for measures in (losses.cumulative, losses.windowed, losses.fading):
        assert measures.undecided == pytest.approx(0.5, abs=1e-3)
    assert losses.labels == ["spam", "ham"]


def test_the_prediction_that_is_given_counts_and_not_the_most_probable_label():
    losses = Losses()
    losses.update("ham", {"spam": 0.6, "ham": 0.4}, predicted="ham")
    assert losses.cumulative.accuracy == 1
    assert losses.cumulative.reliability == [(1.0, 0.4, 1.0)]


def test_the_majority_is_that_of_the_labels_before():
    losses = Losses()
    for label in "abbbaa":  # the majority before each: none, a, a of equals, b, b, b
        losses.update(label, {label: 1.0})
    assert losses.cumulative.majority_accuracy == pytest.approx(1 / 6)
    assert losses.cumulative.no_change_accuracy == pytest.approx(3 / 6)


def test_a_kappa_that_compares_with_no_mistakes_is_not_defined():
    losses = Losses()
    for _ in range(5):
        losses.update("a", {"a": 1.0}, weight=0.1)
    windowed = Losses(window=3)
    for _ in range(5):
        windowed.update("a", {"a": 1.0}, weight=0.1)
    assert math.isnan(losses.cumulative.kappa) and losses.cumulative.accuracy == 1
    assert math.isnan(windowed.windowed.kappa_m) and math.isnan(windowed.windowed.kappa_t)


def test_rounding_makes_no_mistakes_to_compare_with():
    losses = Losses()
    for _ in range(40):
        losses.update("a", {"a": 1.0}, weight=1.7)
        assert math.isnan(losses.cumulative.kappa)


def test_a_weight_is_a_repeat_count_in_all_sums():
    events = random_events(300, 3, seed=5)
    once = Losses()
    for i, (label, probabilities, _, _) in enumerate(events):
        once.update(label, probabilities, weight=1 + i % 3)
    again = Losses()
    for i, (label, probabilities, _, _) in enumerate(events):
        for _ in range(1 + i % 3):
            again.update(label, probabilities)
    mine, theirs = once.cumulative.as_dict(), again.cumulative.as_dict()
    for name in ("accuracy", "kappa", "log_loss", "brier", "roc_auc", "macro_f1", "calibration_error"):
        assert mine[name] == pytest.approx(theirs[name])
    assert once.cumulative.weight == again.cumulative.weight


def test_events_without_weight_change_no_measure():
    events = random_events(50, 3, seed=6)
    without, between = Losses(), Losses()
    for label, probabilities, _, _ in events:
        without.update(label, probabilities)
        between.update(label, probabilities)
        between.update(label, {"l0": 1.0}, weight=0)
    mine, theirs = between.cumulative.as_dict(), without.cumulative.as_dict()
    mine.pop("kappa_t"), theirs.pop("kappa_t")  # the label before came once more
    assert mine == theirs


@pytest.mark.parametrize("bad", [math.nan, -0.5, None, "0.5", 1j])
def test_a_probability_that_is_none_counts_as_zero_and_is_counted(bad):
    losses, clean = Losses(), Losses()
    for which, value in ((losses, bad), (clean, 0.0)):
        which.update("b", {"a": 0.5, "b": 0.5})
        which.update("a", {"a": value, "b": 0.5})
        assert which.invalid_probabilities == (which is losses)
        which.update("a", {"a": value, "b": value})
    assert losses.cumulative.as_dict() == clean.cumulative.as_dict()
    assert (losses.invalid_probabilities, clean.invalid_probabilities) == (3, 0)


def test_a_probability_above_one_counts_as_one():
    losses = Losses()
    losses.update("a", {"a": 10**400, "b": 0.0})
    losses.update("a", {"a": 1 + 1e-12, "b": Fraction(1, 2)})
    assert losses.cumulative.log_loss == 0 and losses.invalid_probabilities == 1


def test_the_reliability_diagram_holds_confidence_and_accuracy():
    losses = Losses()
    for right in (True, True, True, False):
        losses.update(right, {True: 0.85, False: 0.15})
    losses.update(False, {True: 0.0, False: 1.0})
    top, sure = losses.cumulative.reliability
    assert list(top) == pytest.approx([0.8, 0.85, 0.75]) and list(sure) == pytest.approx([0.2, 1.0, 1.0])
    assert losses.cumulative.calibration_error == pytest.approx(0.8 * 0.1)


# --- labels ---------------------------------------------------------------------------------------------


def test_labels_are_the_same_when_a_dict_says_so():
    losses = Losses()
    losses.update(True, {1: 0.7, 0: 0.3})
    losses.update(np.int64(0), {True: 0.7, False: 0.3})
    assert losses.labels == [True, 0] and losses.cumulative.accuracy == 0.5


@given(streams, st.integers(1, 3), st.lists(st.booleans(), min_size=40, max_size=40))
def test_accuracy_and_losses_are_of_the_labels_themselves_however_few_have_rows(events, most, at_once):
    expected = oracle.measures(events, [e[3] for e in events], LEAST, most)
    losses = Losses(max_labels=most)
    for (label, probabilities, predicted, weight), many in zip(events, at_once, strict=False):
        if many:
            table = np.array([list(probabilities.values())]).reshape(1, -1)
            given = None if predicted is ... else [predicted]
            losses.update_many([label], list(probabilities), table, given, [weight])
        else:
            losses.update(label, probabilities, predicted, weight)
    exact = ["weight", "accuracy", "no_change_accuracy", "log_loss", "brier", "calibration_error"]
    agree(values(losses.cumulative, exact), {name: expected[name] for name in exact})
    recent = oracle.windowed(events, 1000, LEAST, most)
    agree(values(losses.windowed, exact), {name: recent[name] for name in exact})


def test_labels_that_are_all_unique_are_never_predicted_right():
    losses = Losses(max_labels=10)
    for i in range(10):
        losses.update(f"id {i}", {f"id {known}": 1 / i for known in range(i)})
    assert not losses.has_further_labels
    for i in range(10, 200):
        losses.update(f"id {i}", {f"id {known}": 1 / i for known in range(i)})
    measures = losses.cumulative
    assert measures.accuracy == measures.no_change_accuracy == measures.majority_accuracy == 0
    # Each is new after those before; past the limit, after the ten labels and the row that the others share.
    new = [math.log(min(i, 10) + 1 + (i > 10)) for i in range(1, 200)]
    assert measures.log_loss == pytest.approx(math.fsum(new) / 199)
    assert measures.brier == pytest.approx(math.fsum(1 + 1 / i for i in range(1, 200)) / 199)
    assert losses.has_further_labels and losses.labels == [*(f"id {i}" for i in range(10)), OTHER]


def test_labels_past_the_limit_share_a_row_of_the_tables():
    losses = Losses(max_labels=2)
    losses.update("a", {"a": 0.5, "b": 0.25, "c": 0.25})
    losses.update("c", {"a": 0.4, "c": 0.3, "d": 0.3})
    losses.update("d", {}, predicted="c")
    losses.update("d", {"c": 0.7, "d": 0.7})
    assert losses.labels == ["a", "b", OTHER]
    measures = losses.cumulative
    assert measures.accuracy == 1 / 4  # c of the last two is not d
    assert measures.log_loss == pytest.approx(-sum(map(math.log, (0.5, 0.3, 1 / 3, 0.7))) / 4)
    Losses(max_labels=2).load(losses.state())


def test_memory_does_not_grow_with_labels_past_the_most():
    losses = Losses(max_labels=5)
    for i in range(3000):
        losses.update(i, {i: 0.5, i + 1: 0.5})
    assert len(losses.labels) == 6
    assert sum(array.nbytes for array in losses.state()["arrays"].values()) < 400_000


# --- cost -----------------------------------------------------------------------------------------------


def test_an_event_costs_a_few_microseconds_however_many_came_before():
    events = random_events(2000, 2)
    losses = Losses()
    taken = []
    for _ in range(4):
        start = time.process_time()
        for _ in range(5):
            for label, probabilities, _, _ in events:
                losses.update(label, probabilities)
        taken.append(time.process_time() - start)
    if stream_bayes.compiled:
        assert min(taken) / 10_000 < 50e-6  # about 1.2 alone; the machine is shared, and may be slower
    assert min(taken[2:]) < 3 * min(taken[:2])


def test_memory_is_bounded_however_many_came_before():
    losses = Losses()
    events = random_events(3000, 3)
    sizes = []
    for _ in range(3):
        for label, probabilities, _, _ in events:
            losses.update(label, probabilities)
        sizes.append(sum(array.nbytes for array in losses.state()["arrays"].values()))
    assert len(set(sizes)) == 1 and sizes[0] < 200_000
