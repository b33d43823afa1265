"""Laws of regressors: sums form a group to 1e-9 of the result, forecasts are distributions, nothing is lost."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.errors import BadLabel, BadState, BadValue, BadWeight, CannotMerge, NotLearned
from stream_bayes.learners.base.regressor import BayesRegressor, SummedRegressor
from stream_bayes.testing.assertions import FLOAT, Untouched, changes_nothing, require, same_bytes
from stream_bayes.testing.laws_of_predictions import of_array, of_arrays
from stream_bayes.testing.sample_streams import FRACTIONAL, WHOLE, LabelledSample, Streams

__all__ = ["REGRESSION_LAWS", "TargetStreams"]

PARTS = 8
HOUR = 3600.0
FAR = (1e8, -3.3e15, 1.7e9)
NO_TARGETS: tuple[Any, ...] = (
    None,
    "3",
    b"3",
    True,
    float("nan"),
    math.inf,
    -math.inf,
    1e300,
    10**400,
    [1.0],
)
FARTHEST = 10.0  # ranges of the targets: a forecast of an event just learned that is farther has diverged
LEVELS = (0.1, 0.5, 0.9, 0.99)

R = TypeVar("R", bound=BayesRegressor)


class TargetStreams(Streams):
    """Streams of samples whose labels are numbers, which depend on the features.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression
    >>> all(isinstance(sample.y, float) for sample in TargetStreams(BayesianRegression()).samples(9))
    True
    """

    def samples(self, rows: int, weights: Sequence[float] = WHOLE) -> list[LabelledSample]:
        """Return samples, some values missing, with weights drawn from those given."""
        made = []
        for _ in range(rows):
            number = int(self.rng.integers(4))
            target = round(float(self.rng.normal(10.0 + 2.5 * number, 1.0)), 2)
            made.append(LabelledSample(self.features(number), target, self.one_of(weights)))
        return made

    def extras(self, rows: int, weights: Sequence[float] = WHOLE) -> list[LabelledSample]:
        """Return samples with numbers far from all others, and names no other has where the learner allows it."""
        extras = self.samples(rows, weights)
        for number, sample in enumerate(extras):
            if self.accepts_new_features:
                sample.x.update(self._novelty(number))
            for name in self.numeric:
                sample.x[name] = FAR[number % len(FAR)] + number
            extras[number] = sample._replace(y=FAR[(number + 1) % len(FAR)])
        return extras


def _learned(learner: R, samples: Sequence[LabelledSample]) -> R:
    """Teach a learner samples, one by one; in stream time an hour apart."""
    for number, (x, y, w) in enumerate(samples):
        learner.learn_one(x, y, w, **_time_of(learner, number))
    return learner


def _time_of(learner: BayesRegressor, number: int) -> dict[str, Any]:
    return {"at": number * HOUR} if isinstance(learner.half_life, str) else {}


def _same_forecasts(one: BayesRegressor, other: BayesRegressor, streams: Streams, what: str) -> None:
    """Require that two learners forecast the same, to 1e-9 of the deviation of the forecast or of its size."""
    for x in streams.probes():
        mine, theirs = one.predict_distribution_one(x), other.predict_distribution_one(x)
        if not (isinstance(mine, StudentT) and isinstance(theirs, StudentT)):
            require(mine == theirs, f"{what}: {mine} for {x!r}, expected {theirs}")
            continue
        size = max(abs(mine.location), mine.scale)
        same = abs(mine.location - theirs.location) <= FLOAT * size
        same = same and abs(mine.scale - theirs.scale) <= FLOAT * mine.scale
        same = same and abs(mine.degrees - theirs.degrees) <= FLOAT * max(1.0, mine.degrees)
        require(same, f"{what}: {mine} for {x!r}, expected {theirs}")


def forecasting_changes_nothing(learner: BayesRegressor, streams: Streams) -> None:
    """Check that predicting and explaining leave the state byte-identical."""
    for samples in ([], streams.samples(30)):
        model = _learned(learner.clone(), samples)
        with changes_nothing(model, "predicting"):
            for x in streams.probes():
                model.predict_one(x)
                model.predict_interval_one(x)
                model.explain_one(x)


def forecasts_are_distributions(learner: BayesRegressor, streams: Streams) -> None:
    """Check that intervals nest and hold the median, densities are those of the quantiles, and nothing is NaN."""
    for rows in (0, 1, 2, 3, 60):
        model = _learned(learner.clone(), streams.samples(rows))
        for x in streams.probes():
            forecast = model.predict_distribution_one(x)
            middle = model.predict_median_one(x)
            require(math.isfinite(model.predict_one(x)), f"the mean of {x!r} is {model.predict_one(x)}")
            low = high = middle
            for level in LEVELS:
                lower, upper = model.predict_interval_one(x, level)
                require(lower <= low <= high <= upper, f"the interval of level {level} is not the wider one")
                low, high = lower, upper
            require(model.predict_density_one(x, middle + 1.0) >= 0.0, "a density is negative, or no number")
            for p in LEVELS if forecast.scale > 0.0 else ():
                below = forecast.below(model.quantile_one(x, p))
                require(abs(below - p) <= FLOAT, f"the quantile of {p} has {below} below it")


def missing_numbers_are_missing(learner: BayesRegressor, streams: Streams) -> None:
    """Check that None, NaN and an absent value are the same, in learning and in predicting."""
    samples = streams.samples(40)
    absent = [s._replace(x={n: v for n, v in s.x.items() if v is not None and v == v}) for s in samples]
    one, other = _learned(learner.clone(), samples), _learned(learner.clone(), absent)
    _same_forecasts(one, other, streams, "leaving out what is missing")


def numbers_of_arrays_are_numbers(learner: BayesRegressor, streams: Streams) -> None:
    """Check that features and targets of numpy's types are those of Python, in learning and in predicting."""
    samples = streams.samples(40)
    typed = [sample._replace(x=of_arrays(sample.x), y=of_array(sample.y)) for sample in samples]
    one, other = _learned(learner.clone(), samples), _learned(learner.clone(), typed)
    same_bytes(other, one, "learning values of numpy's types")
    for x in streams.probes():
        mine, theirs = one.predict_interval_one(x), other.predict_interval_one(of_arrays(x))
        require(mine == theirs, f"predicting {x!r}, and the same of numpy's types: {mine} and {theirs}")


def sums_form_a_group(learner: BayesRegressor, streams: Streams) -> None:
    """Check that any order, split and merge, and unlearning of far numbers give the same to 1e-9 of the result."""
    if (
        not isinstance(learner, SummedRegressor)
        or learner.half_life is not None
        or learner.max_values is not None
        or learner.traits.is_order_dependent
    ):
        return
    for weights in (WHOLE, FRACTIONAL):
        samples, extras = streams.samples(60, weights), streams.extras(12, weights)
        reference = _learned(learner.clone(), samples)
        order = streams.rng.permutation(len(samples))
        shuffled = [samples[i] for i in order]
        _same_forecasts(_learned(learner.clone(), shuffled), reference, streams, "another order")
        mixed = [*samples[:30], *extras, *samples[30:]]
        model = _learned(learner.clone(), mixed)
        for x, y, w in extras[::-1]:
            model.unlearn_one(x, y, w)
        _same_forecasts(model, reference, streams, "unlearning far numbers")
        parts = [_learned(learner.clone(), shuffled[start::PARTS]) for start in range(PARTS)]
        for orders in (range(PARTS), streams.rng.permutation(PARTS)):
            total = learner.clone()
            for i in orders:
                total.merge(parts[i])
            _same_forecasts(total, reference, streams, f"merging {PARTS} parts")
        _same_forecasts(sum(parts), reference, streams, "adding parts")  # type: ignore[arg-type]  # `+` of learners


def old_samples_fade(learner: BayesRegressor, streams: Streams) -> None:
    """Check that fading equals weights that halve, and that unlearning takes back what has faded."""
    if not isinstance(learner, SummedRegressor) or not isinstance(learner.half_life, (int, float)):
        return
    if learner.max_values is not None:
        return
    samples = streams.samples(40, (1.0,))
    model = _learned(learner.clone(), samples)
    weighed = learner.clone({"half_life": None})
    for number, (x, y, _) in enumerate(samples):
        weighed.learn_one(x, y, 2.0 ** ((number + 1 - len(samples)) / learner.half_life))
    _same_forecasts(model, weighed, streams, "fading")
    before = model.state()
    (extra,) = streams.samples(1)
    model.learn_one(*extra)
    model.unlearn_one(*extra, at=model.clock)
    aged = type(learner).from_state(before)
    aged.advance(1)
    _same_forecasts(model, aged, streams, "unlearning with fading")


def many_numbers_are_one_by_one(learner: BayesRegressor, streams: Streams) -> None:
    """Check that many rows are learned and predicted as one by one."""
    samples = streams.samples(30)
    one, many = _learned(learner.clone(), samples), learner.clone()
    times = [_time_of(learner, number) for number in range(len(samples))]
    many.learn_many(
        [sample.x for sample in samples],
        [sample.y for sample in samples],
        [sample.w for sample in samples],
        **({"at": [time["at"] for time in times]} if times[0] else {}),
    )
    same_bytes(one, many, "learning many rows")
    probes = streams.probes()
    require(many.predict_many(probes) == [one.predict_one(x) for x in probes], "predicting many rows differs")


def saving_keeps_all_sums(learner: BayesRegressor, streams: Streams) -> None:
    """Check that a saved, pickled or copied learner is equal to the byte, and goes on with equal bytes."""
    samples, more = streams.samples(25, FRACTIONAL), streams.extras(6)
    for rows in (0, 1, 25):
        model = _learned(learner.clone(), samples[:rows])
        copies: dict[str, BayesRegressor] = {
            "loading": type(learner).from_state(model.state()),
            "unpickling": pickle.loads(pickle.dumps(model)),
            "copying": copy.deepcopy(model),
        }
        for x, y, w in more:
            for each in (model, *copies.values()):
                each.learn_one(x, y, w, **_time_of(learner, 100))
        for what, each in copies.items():
            same_bytes(each, model, f"learning after {what}")
            for x in streams.probes():
                require(
                    each.predict_distribution_one(x) == model.predict_distribution_one(x),
                    f"forecasts differ after {what}",
                )


def bad_numbers_change_nothing(learner: BayesRegressor, streams: Streams) -> None:
    """Check that targets that are no finite numbers, bad weights and bad features are refused before any change."""
    model = _learned(learner.clone(), streams.samples(20))
    (x, y, _), at = streams.samples(1)[0], _time_of(learner, 30)
    untouched = Untouched(model)
    new = {**x, "new": "only here"} if streams.accepts_new_features else x
    learn: Callable[..., partial[None]] = partial(partial, model.learn_one, **at)
    untouched.refuses({f"the target {bad!r}": learn(new, bad) for bad in NO_TARGETS}, BadLabel)
    untouched.refuses({f"the weight {bad!r}": learn(new, y, bad) for bad in (-1.0, math.nan, "1")}, BadWeight)
    if streams.numeric:
        bad_x = [{**new, streams.numeric[0]: bad} for bad in (math.inf, 1e300, [1.0])]
        untouched.refuses({f"features {bad!r}": learn(bad, y) for bad in bad_x}, BadValue)
    untouched.refuses({"a level of 1": partial(model.predict_interval_one, x, 1.0)}, BadValue)
    rows: partial[None] = partial(model.learn_many, [x, x], [1.0, None], **({"at": [0.0, 0.0]} if at else {}))
    untouched.refuses({"a batch with a bad row": rows}, BadLabel)
    other = learner.clone({"memory_budget": 10**9, "max_values": 77})
    untouched.refuses({"merging other settings": partial(model.merge, other)}, CannotMerge)
    if isinstance(model, SummedRegressor):
        untouched.refuses({"unlearning a far target": partial(model.unlearn_one, x, 1e9, **at)}, NotLearned)


def hard_streams_stay_finite(learner: BayesRegressor, streams: Streams) -> None:
    """Check that columns and targets that are hard to regress on end in no NaN, and that no forecast diverges."""
    if not streams.accepts_new_features:
        return  # these columns are in no schema
    for name, samples in _hard_streams(streams.rng).items():
        model = learner.clone()
        for number, (x, y, w) in enumerate(samples):
            model.learn_one(x, y, w, **_time_of(learner, number))
            mean, middle = model.predict_one(x), model.predict_median_one(x)
            low, high = model.predict_interval_one(x, 0.9)
            require(math.isfinite(mean), f"{name}: the mean is {mean} after {number + 1} events")
            require(
                low <= middle <= high, f"{name}: the interval is {low} to {high} after {number + 1} events"
            )
            require(not math.isnan(model.predict_density_one(x, y)), f"{name}: the density is no number")
            targets = [sample.y for sample in samples[: number + 1] if sample.w]
            reach = max(targets) - min(targets)
            reach = FARTHEST * reach + FLOAT * max(map(abs, targets))
            require(
                min(targets) - reach <= mean <= max(targets) + reach,
                f"{name}: the mean is {mean}, where all targets were {min(targets)} to {max(targets)}",
            )


def _hard_streams(rng: np.random.Generator) -> dict[str, list[LabelledSample]]:
    """Return streams by what is hard about them."""
    rows: list[tuple[dict[str, Any], float]] = [
        ({"a": float(a), "b": float(b)}, round(3.0 * a - b, 3)) for a, b in rng.normal(5.0, 2.0, (40, 2))
    ]
    wide: list[list[float]] = rng.normal(size=(20, 30)).tolist()
    hard: dict[str, list[tuple[dict[str, Any], float, float]]] = {
        "a constant target": [(x, 7.0, 1.0) for x, _ in rows],
        "a target that is always 0": [(x, 0.0, 1.0) for x, _ in rows],
        "eight equal targets first": [(x, 7.0 if k < 8 else y, 1.0) for k, (x, y) in enumerate(rows)],
        "more columns than events": [
            ({f"c{k}": value for k, value in enumerate(row)}, row[0], 1.0) for row in wide
        ],
        "columns that depend on each other": [
            (x | {"c": x["a"] + x["b"], "d": x["a"], "e": 4.0}, y, 1.0) for x, y in rows
        ],
        "a column that is always missing": [
            (x | {"c": math.nan if k % 2 else None}, y, 1.0) for k, (x, y) in enumerate(rows)
        ],
        "no columns": [({}, y, 1.0) for _, y in rows],
        "a column that is almost constant": [
            (x | {"c": 1e8 + (1e-7 if k == 30 else 0.0)}, y, 1.0) for k, (x, y) in enumerate(rows)
        ],
        "a far number": [(x | {"a": 1e9} if k == 20 else x, y, 1.0) for k, (x, y) in enumerate(rows)],
        "a target in other units": [(x, y if k < 20 else 1e6 * y, 1.0) for k, (x, y) in enumerate(rows)],
        "weights of 0": [(x, y, float(k % 3 != 1)) for k, (x, y) in enumerate(rows)],
        "more values than events": [
            ({"u": f"u{k}", "v": f"v{k}", **x}, y, 1.0) for k, (x, y) in enumerate(rows)
        ],
    }
    return {name: [LabelledSample(*sample) for sample in samples] for name, samples in hard.items()}


def altered_sums_are_refused(learner: BayesRegressor, streams: Streams) -> None:
    """Check that a state with an array missing, cut or changed raises BadState."""
    state = _learned(learner.clone(), streams.samples(20)).state()
    altered: dict[str, Any] = {}
    for name, array in state["arrays"].items():
        others = {key: one for key, one in state["arrays"].items() if key != name}
        altered[f"no {name}"] = {**state, "arrays": others}
        if array.size:
            changed = array.copy()
            changed.flat[-1] = np.nan_to_num(changed.flat[-1]) + 1.0
            altered[f"{name} changed"] = {**state, "arrays": {**others, name: changed}}
            altered[f"{name} cut"] = {**state, "arrays": {**others, name: array[:-1]}}
    untouched = Untouched(learner)
    actions = {what: partial(type(learner).from_state, bad) for what, bad in altered.items()}
    untouched.refuses(actions, BadState)


REGRESSION_LAWS: tuple[Callable[[BayesRegressor, Streams], None], ...] = (
    forecasting_changes_nothing,
    forecasts_are_distributions,
    missing_numbers_are_missing,
    numbers_of_arrays_are_numbers,
    sums_form_a_group,
    old_samples_fade,
    many_numbers_are_one_by_one,
    saving_keeps_all_sums,
    bad_numbers_change_nothing,
    hard_streams_stay_finite,
    altered_sums_are_refused,
)
