"""Wrong labels: their share is estimated, and probabilities are fitted to what the labels should have been."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter import calibration
from stream_bayes.mail.filter.calibration import Calibration, wrong_label_rates

WRONG = 0.05


def scores_and_labels(number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of two kinds that overlap a little, their labels, and these with some wrong."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(number) < 0.4) * 1.0
    scores = rng.normal(np.where(labels == 1.0, 4.0, -4.0), 2.0)
    return scores, labels, np.where(rng.random(number) < WRONG, 1.0 - labels, labels)


@pytest.mark.parametrize("seed", range(3))
def test_the_share_of_wrong_labels_is_found_and_right_ones_are_believed(seed: int) -> None:
    scores, labels, given = scores_and_labels(2000, seed)
    assert wrong_label_rates(scores, labels) == (0.0, 0.0)
    assert all(0.5 * WRONG < rate < 1.5 * WRONG for rate in wrong_label_rates(scores, given))


def test_confusions_of_the_filter_are_no_wrong_labels() -> None:
    scores, labels, _ = scores_and_labels(2000)
    close = np.abs(scores) < 1.5  # half of what is in the middle has the other label
    confused = np.where(close & (np.arange(2000) % 2 == 0), 1.0 - labels, labels)
    assert (confused != labels).sum() > 50 and wrong_label_rates(scores, confused) == (0.0, 0.0)


def test_probabilities_are_near_those_of_right_labels() -> None:
    scores, labels, given = scores_and_labels(1200)
    right, wrong = Calibration(), Calibration()
    for score, label, other in zip(scores, labels, given, strict=True):
        right.add(score, int(label))
        wrong.add(score, int(other))
    for score in (-6.0, -3.0, 0.0, 3.0, 6.0):
        assert wrong.probability(score) == pytest.approx(right.probability(score), abs=0.06)
    assert wrong.probability(6.0) > 0.983 and wrong.probability(-6.0) < 0.017


def bags(number: int) -> Iterator[tuple[dict[str, int], str]]:
    """Messages of words of both kinds, most of them of their own, and their labels."""
    rng = np.random.default_rng(7)
    for _ in range(number):
        label = "spam" if rng.random() < 0.4 else "ham"
        other = "ham" if label == "spam" else "spam"
        words = [f"both{word}" for word in rng.integers(0, 200, 30)]
        words += [f"{label}{word}" for word in rng.integers(0, 80, rng.integers(4, 30))]
        words += [f"{other}{word}" for word in rng.integers(0, 80, rng.integers(0, 5))]
        yield dict.fromkeys(words, 1), label


def missed_and_lost(wrong: float) -> tuple[float, float]:
    """The shares of spam not caught and of ham lost, while a share of labels is wrong."""
    model, rng = SpamFilter(), np.random.default_rng(0)
    verdicts = []
    for place, (bag, label) in enumerate(bags(1600)):
        if place >= 800:
            verdicts.append((model.verdict_one(bag), label))
        given = label if rng.random() >= wrong else "ham" if label == "spam" else "spam"
        model.learn_one(bag, given, id=str(place))
    spam = [verdict for verdict, label in verdicts if label == "spam"]
    ham = [verdict for verdict, label in verdicts if label == "ham"]
    return 1.0 - spam.count("spam") / len(spam), ham.count("spam") / len(ham)


def test_at_five_per_cent_wrong_labels_less_than_half_as_much_spam_is_missed_as_if_all_were_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, lost = missed_and_lost(0.0)
    wrong, lost_then = missed_and_lost(WRONG)
    monkeypatch.setattr(calibration, "MAX_WRONG", 0.0)
    believed, _ = missed_and_lost(WRONG)
    assert lost_then <= lost + 0.005
    assert wrong < 0.5 * believed, (wrong, believed)
