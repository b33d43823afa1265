"""The mixture keeps its bound against every sequence of experts, and is what its formulas say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.mixtures._expert_mixture import ExpertMixture
from tests.builds import examples

DOUBT = 1e-3


def random_stream(seed: int, events: int, experts: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(labels, 0.5), (events, experts)), rng.integers(0, labels, events)


def answers(mixture: ExpertMixture, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    found = []
    for row, label in zip(probabilities, labels, strict=True):
        mixture.mix(row, row.shape[1])
        found.append(np.asarray(mixture.answer)[: row.shape[1]].copy())
        mixture.learn(int(label), 1.0)
    return np.array(found)


def with_doubt(rows: np.ndarray) -> np.ndarray:
    rest = np.clip(1.0 - rows.sum(axis=-1, keepdims=True), 0.0, None)
    return (1.0 - DOUBT) * (rows + rest / rows.shape[-1]) + DOUBT / rows.shape[-1]


def by_the_formulas(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return what a mixture with one mixer of each kind answers, computed with arrays."""
    count = probabilities.shape[1]
    linear, logarithmic, final = np.full(count, 1 / count), np.full(count, 1 / count), np.full(2, 0.5)
    found = []
    for row, label in zip(with_doubt(probabilities), labels, strict=True):
        powers = np.prod(row ** logarithmic[:, None], axis=0)
        plain = powers / powers.sum()
        mixed = with_doubt(np.array([linear @ row, plain]))
        found.append(final @ mixed)
        final = 0.97 * final * mixed[:, label] / (final @ mixed[:, label]) + 0.03 / 2
        linear = 0.9 * linear * row[:, label] / (linear @ row[:, label]) + 0.1 / count
        logarithmic = logarithmic + 0.05 * (np.log(row[:, label]) - np.log(row) @ mixed[1])
    return np.array(found)


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_it_is_what_the_formulas_say(labels: int) -> None:
    probabilities, outcomes = random_stream(labels, 200, 4, labels)
    probabilities *= np.random.default_rng(0).choice([1.0, 0.6], (200, 4, 1))  # some leave a part out
    mixture = ExpertMixture(4, [0.1], [0.05], 0.03)
    np.testing.assert_allclose(
        answers(mixture, probabilities, outcomes), by_the_formulas(probabilities, outcomes), rtol=1e-9
    )


def by_a_posterior(probabilities: np.ndarray, labels: np.ndarray, walk: float) -> np.ndarray:
    """Return what a mixture with one mixer answers whose weights have a normal posterior, by inverted matrices."""
    count = probabilities.shape[1]
    weights, precision = np.full(count, 1 / count), np.eye(count) / 0.05
    found = []
    for row, label in zip(with_doubt(probabilities), labels, strict=True):
        powers = np.prod(row ** weights[:, None], axis=0)
        mixed = with_doubt(powers / powers.sum())
        found.append(mixed)
        slope = np.log(row[:, label]) - np.log(row) @ mixed
        covariance = np.linalg.inv(precision + np.outer(slope, slope))
        weights = weights + covariance @ slope
        grown = np.diagonal(covariance) + walk
        np.fill_diagonal(covariance, np.minimum(grown, np.maximum(np.diagonal(covariance), 0.05)))
        precision = np.linalg.inv(covariance)
    return np.array(found)


@pytest.mark.parametrize("walk", [0.0, 1e-3])
@pytest.mark.parametrize("labels", [2, 5])
def test_weights_with_a_posterior_are_what_the_formulas_say(labels: int, walk: float) -> None:
    probabilities, outcomes = random_stream(labels, 200, 4, labels)
    found = answers(ExpertMixture(4, [], [], 0.0, walks=[walk]), probabilities, outcomes)
    np.testing.assert_allclose(found, by_a_posterior(probabilities, outcomes, walk), rtol=1e-7)


def test_a_posterior_learns_the_difference_of_two_experts_that_are_nearly_alike() -> None:
    """The same chance twice, and once more with what the others lack: a fixed rate moves all three alike."""
    rng, losses = np.random.default_rng(3), []
    known, lacking = rng.normal(size=(2000, 2)).T
    outcomes = (rng.random(2000) < 1 / (1 + np.exp(-2 * known - lacking))).astype(int)
    chances = 1 / (1 + np.exp(-np.stack([2 * known, 2 * known, 2 * known + 0.3 * lacking], axis=1)))
    for rates, walks in (([0.01], []), ([], [1e-6])):
        mixture = ExpertMixture(3, [], rates, 0.0, walks=walks)
        found = answers(mixture, np.stack([1 - chances, chances], axis=2), outcomes)
        losses.append(-np.log(found[1000:][np.arange(1000), outcomes[1000:]]).mean())
    assert losses[1] < losses[0] - 0.01


def test_nothing_is_learned_of_the_weight_of_a_sleeping_expert_which_wakes_as_at_first() -> None:
    mixture = ExpertMixture(3, [0.01], [], 0.01, walks=[1e-6])
    probabilities, outcomes = random_stream(1, 100, 3, 2)
    answers(mixture, probabilities, outcomes)
    mixture.put_to_sleep(1)
    asleep = float(mixture.weights[1, 1])
    answers(mixture, probabilities, outcomes)
    assert mixture.weights[1, 1] == asleep
    mixture.wake(1)
    np.testing.assert_array_equal(np.asarray(mixture.covariance)[0, 1], [0.0, 0.05, 0.0])
    assert mixture.weights[1, 1] == 0.0


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), switches=st.integers(0, 4), rate=st.sampled_from([0.001, 0.01, 0.1]))
def test_it_keeps_its_bound_against_any_sequence_of_experts(seed: int, switches: int, rate: float) -> None:
    events, experts = 150, 5
    probabilities, outcomes = random_stream(seed, events, experts, 3)
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.choice(np.arange(1, events), switches, replace=False))
    followed = np.repeat(rng.integers(0, experts, switches + 1), np.diff([0, *ends, events]))
    actual = int((np.diff(followed) != 0).sum())
    given_to = with_doubt(probabilities)[np.arange(events), followed, outcomes]
    found = answers(ExpertMixture(experts, [rate], [], rate), probabilities, outcomes)
    lost = -np.log(found[np.arange(events), outcomes]).sum() + np.log(given_to).sum()
    bound = (actual + 1) * math.log(experts) + actual * math.log(1 / rate)
    bound += (events - actual - 1) * math.log(1 / (1 - rate))
    assert lost <= bound + events * -math.log(1.0 - DOUBT) + 1e-9


def test_a_heavy_sample_counts_as_one_and_nothing_becomes_infinite() -> None:
    heavy, plain = (ExpertMixture(2, [0.01], [0.02], 0.01) for _ in range(2))
    row = np.array([[1.0, 0.0], [0.0, 1.0]])
    for _ in range(500):
        for mixture, weight in ((heavy, 1e9), (plain, 1.0)):
            mixture.mix(row, 2)
            mixture.learn(0, weight)
    assert heavy.state() == plain.state()
    assert np.isfinite(np.asarray(heavy.weights)).all()


def test_more_labels_than_before_have_room() -> None:
    mixture = ExpertMixture(2, [0.01], [0.02], 0.01)
    for labels in (1, 2, 3, 40):
        mixture.mix(np.full((2, labels), 1.0 / labels), labels)
        np.testing.assert_allclose(np.asarray(mixture.answer)[:labels], 1.0 / labels)
        mixture.learn(labels - 1, 1.0)
