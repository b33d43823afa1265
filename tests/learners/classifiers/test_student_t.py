"""Numbers by Student's t: the formula by scipy, evidence that stays bounded, and log-loss on real streams."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pytest
from river import datasets, naive_bayes
from scipy import stats

import stream_bayes
from stream_bayes import GaussianNB, NaiveBayes
from tests.learners.training import trained

KINDS = pytest.mark.parametrize("kind", [NaiveBayes, GaussianNB])


def log_density(x: float, own: Any, everything: Any) -> float:
    """Return the formula of the docstring: the posterior predictive, and one sample more from the prior."""
    centre, spread, k = np.mean(everything), np.var(everything, ddof=1), 0.1 + len(own)

    def predictive(n: int, mean: float, squares: float) -> float:
        weight = 0.1 + n
        location = (0.1 * centre + n * mean) / weight
        scale = (spread + squares + 0.1 * n * (mean - centre) ** 2 / weight) / (n + 1)
        return float(stats.t.pdf(x, n + 1, location, math.sqrt(scale * (1 + 1 / weight))))

    n = len(own)
    mean = float(np.mean(own)) if n else 0.0
    squares = float(((np.array(own) - mean) ** 2).sum()) if n else 0.0
    assert k > 0
    return math.log((n * predictive(n, mean, squares) + predictive(0, 0.0, 0.0)) / (n + 1))


def log_presence(names: Collection[str], label: str, samples: Sequence[tuple[Collection[str], str]]) -> float:
    """Return the docstring's evidence of which numbers a sample has; samples are their names and their class."""
    shares = {
        name: sum(name in held for held, _ in samples) / len(samples) for held, _ in samples for name in held
    }
    sparse = {name for name, share in shares.items() if share < 0.5}
    own = [sparse & set(held) for held, y in samples if y == label]
    average = sum(len(sparse & set(held)) for held, _ in samples) / len(samples)
    total = -(sum(map(len, own)) + average) / (len(own) + 1)
    for name in sparse & set(names):
        rate = (sum(name in held for held in own) + 1) / (len(own) * shares[name] + 1)
        total += math.log(shares[name]) + math.log(rate)
    return total


@KINDS
@pytest.mark.parametrize("n", [1, 2, 5, 40, 300])
def test_the_density_is_the_posterior_predictive(kind, n):
    rng = np.random.default_rng(n)
    columns = {"a": rng.normal(3.0, 2.0, n).tolist(), "b": rng.normal(-1.0, 5.0, 7).tolist()}
    model = trained(kind(class_prior="uniform"), [({"x": v}, y) for y in columns for v in columns[y]])
    model.learn_one({"z": 1.0}, "never had x")
    everything = columns["a"] + columns["b"]
    for x in (-4.0, 0.3, 25.0):
        samples = [("x", y) for y in columns for _ in columns[y]] + [("z", "never had x")]
        expected = {
            y: math.log(1 / 3)
            + log_density(x, columns.get(y, []), everything)
            + log_presence({"x"}, y, samples)
            for y in ("a", "b", "never had x")
        }
        assert model.joint_log_likelihood({"x": x}) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("variance", ["classes", "features", "both"])
def test_shared_variances_bring_all_their_degrees_of_freedom(variance):
    rng = np.random.default_rng(1)
    model = NaiveBayes(variance=variance)
    for k in range(60):
        model.learn_one({"u": rng.normal(k % 2, 3.0), "v": rng.normal(0.0, 3.0)}, "ab"[k % 2])
    p = model.predict_proba_one({"u": 1.0, "v": 0.0})
    assert 0.5 < p["b"] < 0.7


@KINDS
@pytest.mark.parametrize("times", [1, 5, 30])
@pytest.mark.parametrize("predictive", ["student-t", "plug-in"])
def test_another_number_than_the_only_one_so_far_rules_out_no_class(kind, times, predictive):
    model = kind(predictive=predictive)
    for _ in range(times):
        model.learn_one({"free": 1}, "spam")
        model.learn_one({"lunch": 1}, "ham")
    assert model.predict_proba_one({"free": 2})["ham"] < 0.98
    assert model.predict_proba_one({"free": 1})["spam"] >= 0.5


@KINDS
def test_no_number_rules_out_a_class(kind):
    model = kind(class_prior="uniform")
    for k in range(100):
        model.learn_one({"x": k % 10}, "a")
        model.learn_one({"x": 1000 + k % 10}, "b")
    for x in (-1e100, 0.0, 500.0, 1e100):
        p = model.predict_proba_one({"x": x})
        assert min(p.values()) > 1e-6  # the plug-in density gives 0
        assert math.fsum(p.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("stream", "least"), [(datasets.ImageSegments, 1.84), (datasets.Phishing, 0.423)], ids=str
)
def test_log_loss_on_streams_is_far_below_that_of_plug_in_densities(stream, least):
    losses = {}
    for predictive in ("student-t", "plug-in"):
        model, lost, known = NaiveBayes(predictive=predictive), 0.0, 0
        for x, y in stream():
            p = model.predict_learn_one(x, y)
            if y in p:
                lost -= math.log(max(p[y], 1e-15))
                known += 1
        losses[predictive] = lost / known
    assert losses["student-t"] < min(least, 0.9 * losses["plug-in"])


def test_numbers_in_bins_fit_what_gaussians_do_not():
    rng = np.random.default_rng(2)
    right = {"gaussian": 0, "bins": 0}
    models = {numbers: NaiveBayes(numbers=numbers) for numbers in right}
    for _ in range(1500):
        y = bool(rng.random() < 0.5)
        x = {"x": rng.normal(0.0 if y else 4.0 * rng.choice([-1, 1]), 1.0), "noise": rng.normal()}
        for numbers, model in models.items():
            right[numbers] += model.predict_one(x) == y
            model.learn_one(x, y)
    assert right["bins"] > 1400
    assert list(models["bins"].cuts_) == ["x", "noise"]
    assert models["gaussian"].cuts_ == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"predictive": "normal"}, "predictive must be one of"),
        ({"numbers": "kernel"}, "numbers must be one of"),
        ({"ddof": 2}, "ddof must be at most 1"),
    ],
)
def test_bad_settings_of_numbers_are_refused(settings, message):
    from stream_bayes.errors import BadValue

    with pytest.raises(BadValue, match=message):
        NaiveBayes(**settings)


Bag = tuple[dict[Any, Any], Any]


def bag_of(rng: random.Random, label: Any, shares: list[float], amount: Callable[[], float]) -> Bag:
    return {f"w{word}": amount() for word, share in enumerate(shares) if rng.random() < share}, label


def presence_decides(rng: random.Random) -> Bag:
    label = rng.random() < 0.4
    shares = [0.3 if label == (word % 2 == 0) else 0.02 for word in range(40)]
    return bag_of(rng, label, shares, lambda: 1 + int(rng.expovariate(1.0)))


def presence_decides_weakly(rng: random.Random) -> Bag:
    label = rng.random() < 0.4
    shares = [0.12 if label == (word % 2 == 0) else 0.06 for word in range(100)]
    return bag_of(rng, label, shares, lambda: rng.gauss(0.0, 1.0))


def every_number_is_one(rng: random.Random) -> Bag:
    label = rng.random() < 0.4
    return bag_of(rng, label, [0.3 if label == (word % 2 == 0) else 0.02 for word in range(40)], lambda: 1)


def a_class_is_rare(rng: random.Random) -> Bag:
    label = rng.random() < 0.1
    shares = [0.15 if label == (word % 2 == 0) else 0.05 for word in range(60)]
    return bag_of(rng, label, shares, lambda: 1 + int(rng.expovariate(1.0)))


def four_classes(rng: random.Random) -> Bag:
    label = rng.randrange(4)
    shares = [0.25 if word % 4 == label else 0.05 for word in range(80)]
    return bag_of(rng, label, shares, lambda: 1 + int(rng.expovariate(1.0)))


def lengths_differ(rng: random.Random) -> Bag:
    label = rng.random() < 0.5
    return bag_of(rng, label, [0.3 if label else 0.1] * 40, lambda: 1 + int(rng.expovariate(1.0)))


@KINDS
@pytest.mark.parametrize(
    "family",
    [
        presence_decides,
        presence_decides_weakly,
        every_number_is_one,
        a_class_is_rare,
        four_classes,
        lengths_differ,
    ],
)
def test_it_is_not_below_rivers_on_sparse_bags_that_differ_in_their_words(
    kind: type[NaiveBayes], family: Callable[[random.Random], Bag]
) -> None:
    rng = random.Random(1)
    ours, theirs = kind(), naive_bayes.GaussianNB()
    right = [0, 0]
    for _ in range(400):
        x, label = family(rng)
        for place, model in enumerate((ours, theirs)):
            right[place] += model.predict_one(x) == label
            model.learn_one(x, label)
    assert right[0] >= right[1]


@KINDS
def test_the_numbers_that_a_sample_has_are_poisson_variables(kind: type[NaiveBayes]) -> None:
    rng = random.Random(3)
    model = kind()
    samples: list[tuple[Collection[str], str]] = []
    for _ in range(60):
        x, label = four_classes(rng)
        model.learn_one(x, str(label))
        samples.append((list(x), str(label)))
    for y, score in model.joint_log_likelihood({}).items():
        prior = math.log(model.class_prior_[y])
        assert score == pytest.approx(prior + log_presence([], y, samples), abs=1e-9)


@KINDS
@pytest.mark.parametrize("half_life", [None, 40.0])
def test_presence_is_read_from_the_counts_as_they_are_now(
    kind: type[NaiveBayes], half_life: float | None
) -> None:
    rng, held = random.Random(8), [(f"f{k}", 0.9 if k % 11 == 0 else 0.05) for k in range(150)]

    def draw() -> Bag:
        return {name: rng.random() for name, share in held if rng.random() < share}, rng.choice("abc")

    def as_saved(model: NaiveBayes, x: dict[Any, Any]) -> bool:
        return model.predict_proba_one(x) == type(model).from_state(model.state()).predict_proba_one(x)

    model = kind(half_life=half_life)
    learned = [draw() for _ in range(60)]
    for x, y in learned:
        model.learn_one(x, y)
        assert as_saved(model, x)
    x, y = draw()
    for clock, sample in enumerate(learned[:40], 1):
        model.unlearn_one(*sample, at=clock if half_life else None)
        assert as_saved(model, x)
    model.learn_one({"f0": 1.0, "later": 2.0}, "d", w=2.5)
    assert as_saved(model, x)
    many = [draw() for _ in range(40)]
    model.merge(trained(kind(half_life=half_life), many))
    assert as_saved(model, x)
    model.learn_many([sample for sample, _ in many], [label for _, label in many])
    assert as_saved(model, x)
    for _ in range(3000 if half_life else 100):  # weights are scaled on the way
        model.learn_one(x, y)
    assert as_saved(model, many[0][0])


@KINDS
def test_a_prediction_from_a_sparse_bag_reads_few_of_the_numbers(kind: type[NaiveBayes]) -> None:
    small, large = (2_000, 60_000) if stream_bayes.compiled else (200, 6_000)
    seconds = []
    for words in (small, large):
        model = kind()
        for start in range(0, words, 50):
            model.learn_one({f"w{k}": 1.0 for k in range(start, start + 50)}, "xy"[start // 50 % 2])
        x = {f"w{k}": 1.0 for k in range(0, words, words // 20)}
        runs = []
        for _ in range(7):
            start_time = time.process_time()
            for _ in range(20):
                model.predict_proba_one(x)
                model.learn_one(x, "x")
            runs.append(time.process_time() - start_time)
        seconds.append(min(runs))
    assert seconds[1] < 6 * seconds[0]  # of thirty times the numbers


@KINDS
def test_a_number_that_half_of_the_samples_have_is_missing_where_one_lacks_it(kind: type[NaiveBayes]) -> None:
    model = kind()
    for k in range(40):
        model.learn_one({"u": float(k), "v": float(k % 7) if k >= 20 else math.nan}, "ab"[k < 18])
    assert model.predict_proba_one({}) == pytest.approx(model.class_prior_, abs=1e-12)
    model.learn_one({"u": 3.0}, "a")  # now fewer than half have v
    assert model.predict_proba_one({}) != pytest.approx(model.class_prior_, abs=1e-3)


@KINDS
def test_explanations_and_intervals_contain_the_presence_of_numbers(kind: type[NaiveBayes]) -> None:
    rng = random.Random(5)
    model = trained(kind(), [presence_decides(rng) for _ in range(300)])
    for _ in range(20):
        x, _ = presence_decides(rng)
        why = model.explain_one(x)
        assert why.total == pytest.approx(model.joint_log_likelihood(x))
        added = {y: why.baseline[y] + sum(row[y] for row in why.evidence.values()) for y in why.baseline}
        assert added[True] - added[False] == pytest.approx(why.total[True] - why.total[False])
        p = model.predict_proba_one(x)
        for y, (low, high) in model.predict_interval_one(x).items():
            assert low <= p[y] <= high


@pytest.mark.parametrize("seed", range(4))
def test_it_is_not_below_rivers_on_sparse_bags_whose_amounts_differ(seed: int) -> None:
    rng = random.Random(seed)
    ours, theirs = NaiveBayes(), naive_bayes.GaussianNB()
    right = [0, 0]
    for _ in range(600):
        label = rng.random() < 0.4
        words = [word for word in range(40) if rng.random() < 0.15]
        x: dict[Any, Any] = {
            f"w{word}": 1 + int(rng.expovariate(0.25 if label == (word % 2 == 0) else 1.0)) for word in words
        }
        for place, model in enumerate((ours, theirs)):
            right[place] += model.predict_one(x) == label
            model.learn_one(x, label)
    assert right[0] >= right[1]


def test_two_of_a_word_after_one_in_ham_are_not_certain_of_ham() -> None:
    model = NaiveBayes()
    for _ in range(5):
        model.learn_one({"free": 1}, "ham")
        model.learn_one({"offer": 1}, "spam")
    assert model.predict_proba_one({"free": 2})["ham"] < 0.99
