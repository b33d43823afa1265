"""Scores to probabilities: rising everywhere, and right on the whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.errors import BadState
from stream_bayes.mail.filter.calibration import WINDOW, ScoreCurve

scores = st.floats(-60, 60, allow_nan=False)


@given(st.lists(st.tuples(scores, st.booleans()), max_size=120), st.lists(scores, min_size=2, max_size=30))
def test_a_higher_score_never_has_a_lower_probability(
    learned: list[tuple[float, bool]], asked: list[float]
) -> None:
    calibration = ScoreCurve()
    for score, label in learned:
        calibration.add(score, int(label))
    odds = [calibration.log_odds(score) for score in sorted(set(asked))]
    # But for the last digit: the bend is computed, too.
    assert all(higher - lower >= -1e-14 * max(1.0, abs(higher)) for lower, higher in pairwise(odds))
    assert all(0.0 < calibration.probability(score) < 1.0 for score in asked)


@given(st.lists(st.tuples(scores, st.booleans()), max_size=120), st.floats(-12, 12), st.floats(0.001, 5.0))
def test_it_rises_strictly_over_the_usual_scores(
    learned: list[tuple[float, bool]], score: float, more: float
) -> None:
    calibration = ScoreCurve()
    for known, label in learned:
        calibration.add(known, int(label))
    if abs(calibration.log_odds(score)) < 20:
        assert calibration.log_odds(score) < calibration.log_odds(score + more)


def test_the_first_answers_are_modest() -> None:
    calibration = ScoreCurve()
    assert calibration.probability(0.0) == 0.5
    calibration.add(3.0, 1)
    assert 0.5 < calibration.probability(5.0) < 0.99


@pytest.mark.parametrize(("slope", "intercept"), [(0.5, 0.0), (1.5, -2.0), (0.2, 1.0)])
def test_it_finds_the_curve_that_the_labels_were_drawn_from(slope: float, intercept: float) -> None:
    rng = np.random.default_rng(3)
    calibration = ScoreCurve()
    for score in rng.normal(0, 4, WINDOW).tolist():
        calibration.add(score, int(rng.random() < 1 / (1 + math.exp(-slope * score - intercept))))
    assert calibration.slope == pytest.approx(slope, rel=0.15)
    assert calibration.intercept == pytest.approx(intercept, abs=0.2)
    for score in (-4.0, 0.0, 2.0):
        assert calibration.probability(score) == pytest.approx(
            1 / (1 + math.exp(-slope * score - intercept)), abs=0.06
        )


def test_it_is_fitted_only_to_scores_that_came_before() -> None:
    rng = np.random.default_rng(4)
    whole, part = ScoreCurve(), ScoreCurve()
    for number, score in enumerate(rng.normal(0, 3, 700).tolist()):
        whole.add(score, int(score > 0))
        if number < 650:
            part.add(score, int(score > 0))
    replayed = ScoreCurve()
    replayed.load(part.meta(), part.arrays())
    for score in whole.scores[650:700].tolist():
        replayed.add(score, int(score > 0))
    assert (replayed.slope, replayed.intercept, replayed.levels) == (
        whole.slope,
        whole.intercept,
        whole.levels,
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda meta, arrays: meta.update(slope=math.nan), "slope"),
        (lambda meta, arrays: meta.update(slope=0.0), "slope"),
        (lambda meta, arrays: meta.update(intercept=math.inf), "intercept"),
        (lambda meta, arrays: meta.update(seen=-1), "seen"),
        (lambda meta, arrays: meta.update(seen=3), "scores"),
        (lambda meta, arrays: arrays.update(calibration_labels=np.full(2, 0.5)), "label"),
        (lambda meta, arrays: arrays.update(calibration_scores=np.array([1.0, math.nan])), "finite"),
        (lambda meta, arrays: arrays.update(calibration_levels=-arrays["calibration_levels"]), "rise"),
        (lambda meta, arrays: arrays.update(calibration_middles=np.zeros(0)), "steps"),
    ],
)
def test_a_state_that_cannot_be_is_refused(change: Callable[..., None], complaint: str) -> None:
    calibration = ScoreCurve()
    calibration.add(-1.0, 0)
    calibration.add(2.0, 1)
    meta, arrays = calibration.meta(), calibration.arrays()
    change(meta, arrays)
    with pytest.raises(BadState, match=complaint):
        ScoreCurve().load(meta, arrays)


def test_no_score_between_two_steps_is_above_the_upper_one() -> None:
    calibration = ScoreCurve()
    for score, label in ((-1.4953700481345606, 0), (0.0, 1)):
        calibration.add(score, label)
    assert calibration.log_odds(-1.2283388276349298e-159) <= calibration.log_odds(0.0)


def test_the_bound_on_missed_spam_follows_new_scores() -> None:
    calibration = ScoreCurve()
    for score in range(40):
        calibration.add(float(score), 1)
    before = calibration.low_score(0.08)
    for score in range(40):
        calibration.add(-float(score), 1)
        assert calibration.low_score(0.08) == loaded(calibration).low_score(0.08)
    assert before == 2.0 and calibration.low_score(0.08) == -34.0


def loaded(calibration: ScoreCurve) -> ScoreCurve:
    again = ScoreCurve()
    again.load(calibration.meta(), calibration.arrays())
    return again
