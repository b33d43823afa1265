"""Laws of predicting: it changes nothing, answers are probabilities, missing is missing, many is one by one."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from operator import add
from typing import Any

import numpy as np

from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import (
    EXACT,
    FLOAT,
    Untouched,
    changes_nothing,
    require,
    same_bytes,
    same_probabilities,
)
from stream_bayes.testing.sample_streams import FRACTIONAL, WHOLE, LabelledSample, Streams, coded

__all__ = [
    "answers_are_probabilities",
    "explanations_add_up",
    "learn_all",
    "many_are_one_by_one",
    "missing_is_missing",
    "no_interval_for_no_level",
    "of_array",
    "of_arrays",
    "predicting_changes_nothing",
    "values_of_arrays_are_values",
]

EXTREME_WEIGHTS = (1e-9, 1e-3, 1.0, 1e9)
FEATURES = {1: 5000, 2: 200, 3: 40}  # for a store of values, of pairs, of triples
FARTHEST = 1e100  # that a number may be


def learn_all(learner: BayesClassifier, samples: list[LabelledSample]) -> BayesClassifier:
    """Teach a learner samples, one by one; the learner again."""
    for x, y, w in samples:
        learner.learn_one(x, y, w)
    return learner


def predicting_changes_nothing(learner: BayesClassifier, streams: Streams) -> None:
    """Check that predicting and reading a model leaves its pickle, and so its state, byte-identical."""
    probes = streams.probes(6)
    frame = coded(streams, [LabelledSample(streams.features(0), streams.labels[0]) for _ in range(4)])
    for model in (learner.clone(), learn_all(learner.clone(), streams.samples(40))):
        twin = pickle.loads(pickle.dumps(model))
        untouched = Untouched(model)
        fullest = max(probes, key=len)
        for probe in probes:
            before = copy.deepcopy(probe)
            readings = list(_readings_of(model, probe))
            # Watching takes longer than what is watched: each reading by itself once, for the others all together.
            watched = [[reading] for reading in readings] if probe is fullest else [readings]
            for together in watched:
                for _, read in together:
                    with contextlib.suppress(StreamBayesError):
                        read()
                untouched.check(f"{', '.join(name for name, _ in together)} of {probe!r}")
            require(repr(probe) == repr(before), f"predicting {before!r} changed the features to {probe!r}")
        for rows in (probes, frame):
            for verb in (model.predict_many, model.predict_proba_many):
                verb(rows)
                untouched.check(verb.__name__)
        more = streams.samples(10)
        same_bytes(learn_all(model, more), learn_all(twin, more), "learning on after predicting, and without")


def _readings_of(model: BayesClassifier, x: dict[Any, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    for verb in ("predict_one", "predict_proba_one", "joint_log_likelihood", "explain_one"):
        yield verb, partial(getattr(model, verb), x)
    for name in ("classes_", "class_prior_", "clock", "memory_bytes"):
        yield name, partial(getattr, model, name)
    for feature in (*x, "never seen"):
        yield f"conditional of {feature!r}", partial(model.conditional, feature)
    yield "predict_interval_one", partial(model.predict_interval_one, x)
    for name in ("state", "__repr__", "clone"):
        yield name, getattr(model, name)
    yield "+", partial(add, model, model)


def answers_are_probabilities(learner: BayesClassifier, streams: Streams) -> None:
    """Check that probabilities lie in [0, 1] and in their intervals, and sum to 1, whatever was learned."""
    require(learner.clone().predict_proba_one({}) == {}, "before any learning the answer is not empty")
    require(learner.clone().predict_one({}) is None, "before any learning there is a prediction")
    probes = streams.probes()
    histories = {
        "whole weights": streams.samples(40),
        "fractional weights": streams.samples(40, FRACTIONAL),
        "weights from 1e-9 to 1e9": streams.samples(40, EXTREME_WEIGHTS),
        "one class": [sample._replace(y=streams.labels[0]) for sample in streams.samples(10)],
        "one sample": [LabelledSample(streams.features(0), streams.labels[0])],
        "no features": [LabelledSample({}, label) for label in streams.labels[:2]],
        "constant features": [LabelledSample(probes[0], label) for label in streams.labels[:2] * 3],
    }
    if streams.numeric:
        constant = dict.fromkeys(streams.numeric, 5.0)
        histories["constant numbers"] = [LabelledSample(constant, label) for label in streams.labels[:2] * 3]
        probes += [dict.fromkeys(streams.numeric, number) for number in (5.0, 5.0 + 1e-12, -1e6, FARTHEST)]
    for what, samples in histories.items():
        model = learn_all(learner.clone(), samples)
        for probe in probes:
            _require_probabilities(model, probe, f"after {what}, for {probe!r}")
        if what == "one class" and not streams.declares_classes:
            require(model.predict_proba_one({}) == {streams.labels[0]: 1.0}, "the only class is not certain")
    if streams.takes_any_feature:
        _require_many_features(learner.clone(), streams)


def _require_many_features(model: BayesClassifier, streams: Streams) -> None:
    store = model.store
    features = FEATURES[
        2 if store.tables.co_moments is not None else store.order
    ]  # co-moments are of pairs, too
    for number in range(4):
        model.learn_one(_wide(streams, number, features), streams.labels[number % 2])
    for number in range(3):
        _require_probabilities(model, _wide(streams, number, features), f"with {features} features")


def _wide(streams: Streams, number: int, features: int) -> dict[Any, Any]:
    rng = streams.rng
    if streams.bags:
        return {f"word {i}": 1 + i % 2 for i in range(features) if rng.random() < 0.7}
    x: dict[Any, Any] = {}
    if streams.numeric:
        x |= {f"number {i}": float(rng.normal(number, 1 + i % 3)) for i in range(features // 2)}
    if streams.nominal:
        x |= {f"value {i}": f"{rng.integers(3)}" for i in range(features - len(x))}
    return x


def _require_probabilities(model: BayesClassifier, probe: Mapping[Any, Any], what: str) -> None:
    answer, joint = model.predict_proba_one(probe), model.joint_log_likelihood(probe)
    require(list(answer) == list(model.classes_) == list(joint), f"{what}: classes are left out of {answer}")
    require(not any(map(math.isnan, joint.values())), f"{what}: the joint log-likelihood is {joint}")
    require(
        all(type(p) is float and 0.0 <= p <= 1.0 for p in answer.values()),
        f"{what}: {answer} are no probabilities",
    )
    require(abs(math.fsum(answer.values()) - 1.0) <= EXACT, f"{what}: {answer} do not sum to 1")
    best = model.predict_one(probe)
    require(answer.get(best) == max(answer.values()), f"{what}: {best!r} is predicted from {answer}")
    within = {label: (p, p) for label, p in answer.items()}
    for level in (0.01, 0.95):
        intervals = model.predict_interval_one(probe, level)
        require(
            list(intervals) == list(answer), f"{what}: the intervals {intervals} are not those of {answer}"
        )
        for label, (low, high) in intervals.items():
            least, most = within[label]
            require(
                0.0 <= low <= least <= most <= high <= 1.0,
                f"{what}: at level {level} the interval of {label!r} is {low!r} to {high!r}, without {within[label]}",
            )
        within = intervals


def no_interval_for_no_level(learner: BayesClassifier, streams: Streams) -> None:
    """Check that nothing learned has no interval, and that levels which are none and infinite numbers are refused."""
    model, probe = learn_all(learner.clone(), streams.samples(20)), streams.probes()[0]
    require(learner.clone().predict_interval_one(probe) == {}, "before any learning there is an interval")
    levels: list[Any] = [0.0, 1.0, -0.5, 95, True, math.nan, math.inf, "0.95", None]
    refused: dict[str, Callable[[], object]] = {}
    for level in levels:
        refused[f"the level {level!r}"] = partial(model.predict_interval_one, probe, level)
        refused[f"the level {level!r} of many"] = partial(model.predict_interval_many, [probe], level)
    used = [name for name in streams.numeric if name in model.store.encoder.features]
    for name, number in product(used, (math.inf, -math.inf)):
        refused[f"{name} = {number}"] = partial(model.predict_interval_one, {name: number})
    Untouched(model).refuses(refused, BadValue)


def missing_is_missing(learner: BayesClassifier, streams: Streams) -> None:
    """Check that absent, None and NaN are the same in learning, predicting and unlearning."""
    samples, probes = streams.samples(30), streams.probes()
    forms = (None, float("nan"), np.float64("nan"), np.float32("nan"))
    names = [*streams.nominal, *streams.numeric, *streams.tokens]
    absent = [sample._replace(x=_without_missing(sample.x)) for sample in samples]
    reference = learn_all(learner.clone(), absent)
    taken_back = pickle.loads(pickle.dumps(reference))
    if learner.unlearns:
        _take_back_first_half(taken_back, absent)
    for form in forms:
        filled = [sample._replace(x={**dict.fromkeys(names, form), **sample.x}) for sample in absent]
        same_bytes(learn_all(learner.clone(), filled), reference, f"learning absent values, and {form!r}")
        many = learner.clone()
        many.learn_many([s.x for s in filled], [s.y for s in filled], [s.w for s in filled])
        same_bytes(many, reference, f"learn_many of absent values, and {form!r}")
        if learner.unlearns:
            _take_back_first_half(many, filled)
        same_bytes(many, taken_back, f"unlearning absent values, and {form!r}")
        for probe in probes:
            bare = _without_missing(probe)
            answers = [reference.predict_proba_one(x) for x in (bare, {**dict.fromkeys(names, form), **bare})]
            require(
                answers[0] == answers[1], f"predicting {bare!r} with the rest absent, and {form!r}: {answers}"
            )


def values_of_arrays_are_values(learner: BayesClassifier, streams: Streams) -> None:
    """Check that values of numpy's types are those of Python, in learning, predicting and unlearning."""
    samples, probes = streams.samples(20), streams.probes()
    typed = [sample._replace(x=of_arrays(sample.x), y=of_array(sample.y)) for sample in samples]
    reference, model = learn_all(learner.clone(), samples), learn_all(learner.clone(), typed)
    same_bytes(model, reference, "learning values of numpy's types")
    for probe in probes:
        answers = [one.predict_proba_one(x) for one, x in ((reference, probe), (model, of_arrays(probe)))]
        require(answers[0] == answers[1], f"predicting {probe!r}, and the same of numpy's types: {answers}")
    if learner.unlearns:
        _take_back_first_half(reference, samples)
        _take_back_first_half(model, typed)
        same_bytes(model, reference, "unlearning values of numpy's types")


def of_arrays(x: Any) -> Any:
    """Return an event whose values are of numpy's types."""
    return {name: of_array(value) for name, value in x.items()} if isinstance(x, Mapping) else x


def of_array(value: Any) -> Any:
    """Return a value in numpy's type for it."""
    types: dict[type, Callable[[Any], Any]] = {float: np.float64, int: np.int64, bool: np.bool_, str: np.str_}
    return types.get(type(value), lambda same: same)(value)


def _take_back_first_half(model: BayesClassifier, samples: list[LabelledSample]) -> None:
    for clock, (x, y, w) in enumerate(samples[: len(samples) // 2], start=1):
        model.unlearn_one(x, y, w, at=clock)


def _without_missing(x: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: value for name, value in x.items() if value is not None and value == value}


def many_are_one_by_one(learner: BayesClassifier, streams: Streams) -> None:
    """Check that many rows are learned and predicted as one at a time, to the bit; the same for test-then-train."""
    samples = [*streams.samples(25, (*WHOLE, 0.0)), *streams.extras(10, FRACTIONAL), *streams.samples(10)]
    xs, ys, ws = ([sample[part] for sample in samples] for part in range(3))
    one, answers = learner.clone(), []
    for x, y, w in samples:
        answers.append(one.predict_proba_one(x))
        one.learn_one(x, y, w)
    tested = learner.clone()
    for sample, answer in zip(samples, answers, strict=True):
        with_learning = tested.predict_learn_one(*sample)
        require(
            _typed(with_learning) == _typed(answer),
            f"predict_learn_one of {sample}: {with_learning}, not {answer}",
        )
    same_bytes(tested, one, "predict_learn_one, and predicting before learning")

    for size in (len(samples), 7, 1):
        batches, trained = learner.clone(), learner.clone()
        for start in range(0, len(samples), size):
            rows = slice(start, start + size)
            batches.learn_many(xs[rows], ys[rows], ws[rows])
            for row, answer in enumerate(trained.predict_learn_many(xs[rows], ys[rows], ws[rows])):
                same_probabilities(
                    {label: p for label, p in answer.items() if p},
                    {label: p for label, p in answers[start + row].items() if p},
                    f"predict_learn_many, row {start + row}",
                    0.0,
                )
        same_bytes(batches, one, f"learn_many in batches of {size}, and one by one")
        same_bytes(trained, one, f"predict_learn_many in batches of {size}, and one by one")

    probes = streams.probes()
    singly = [one.predict_proba_one(probe) for probe in probes]
    require(one.predict_proba_many(probes) == singly, "predict_proba_many differs from predict_proba_one")
    predicted = one.predict_many(probes)
    require(
        _typed(predicted) == _typed(map(one.predict_one, probes)), "predict_many differs from predict_one"
    )
    low, high = one.predict_interval_many(probes)
    for row, probe in enumerate(probes):
        ends = {label: (low[row][label], high[row][label]) for label in low[row]}
        require(
            ends == one.predict_interval_one(probe), "predict_interval_many differs from predict_interval_one"
        )
    for verb in (one.predict_many, one.predict_proba_many):
        require(verb([]) == [], f"{verb.__name__} of no rows is {verb([])!r}")
    with changes_nothing(one, "learn_many of no rows"):
        one.learn_many([], [])


def _typed(values: Any) -> list[tuple[str, Any]]:
    pairs = values.items() if isinstance(values, Mapping) else values
    return [(type(pair[0] if isinstance(values, Mapping) else pair).__name__, pair) for pair in pairs]


def explanations_add_up(learner: BayesClassifier, streams: Streams) -> None:
    """Check that baseline and evidence of an explanation add up to the joint log-likelihood."""
    model = learn_all(learner.clone(), streams.samples(40))
    for probe in streams.probes():
        explanation, joint = model.explain_one(probe), model.joint_log_likelihood(probe)
        scores_of_evidence = [score for scores in explanation.evidence.values() for score in scores.values()]
        if not all(map(math.isfinite, (*scores_of_evidence, *joint.values()))):
            continue  # impossible rows add nothing
        for label, score in joint.items():
            size = max([1.0, *map(abs, scores_of_evidence), abs(score)])
            evidence = [scores[label] for scores in explanation.evidence.values()]
            total = math.fsum([explanation.baseline[label], *evidence])
            require(
                abs(total - score) <= FLOAT * size, f"{probe!r}: {label!r} adds up to {total}, not {score}"
            )
