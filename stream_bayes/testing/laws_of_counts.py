"""Laws of counting: in any order, split, merged, taken back, faded, the same is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.traits import Promise
from stream_bayes.testing.assertions import (
    FLOAT,
    changes_nothing,
    require,
    same_knowledge,
    same_numbers,
    same_probabilities,
)
from stream_bayes.testing.laws_of_predictions import learn_all
from stream_bayes.testing.sample_streams import FRACTIONAL, WHOLE, LabelledSample, Streams, coded

__all__ = [
    "batches_of_coded_columns",
    "counts_form_a_group",
    "fading_has_its_closed_form",
    "far_numbers_leave_nothing",
    "fractions_form_a_group",
    "offset_numbers_keep_their_digits",
    "shards_share_a_clock",
]

SHARDS = 3
HALF_LIVES = (0.25, 3.0, 100.0)  # at 0.25 a stream of 80 events passes the point where tables are rescaled
FADED = 80
PARTS = 8
OFFSET, SCALE = 1e9, 1e-3
FAR: dict[str, tuple[float, ...]] = {
    "1e8": (1e8,),
    "-1e12": (-1e12,),
    "timestamps": (1.7e9, 1.7e9 - 1.0, 1.7e9 + 1.0, 1.7e9 + 0.1),
    "of three sizes": (3.3e15, -7.1e9, 1e12, 0.1),
    "1e18": (1e18,),
}


def counts_form_a_group(learner: BayesClassifier, streams: Streams) -> None:
    """Check that whole weights in any order, split and merged, or unlearned give exactly equal counts."""
    _form_a_group(learner, streams, WHOLE, exact=True)


def fractions_form_a_group(learner: BayesClassifier, streams: Streams) -> None:
    """Check the same for fractional weights, to 1e-9 of the largest weight, and of what numbers come to."""
    _form_a_group(learner, streams, FRACTIONAL, exact=False)


def _form_a_group(
    learner: BayesClassifier, streams: Streams, weights: Sequence[float], *, exact: bool
) -> None:
    samples, extras, probes = streams.samples(60, weights), streams.extras(20, weights), streams.probes()
    reference = learn_all(learner.clone(), samples)

    def require_same(other: BayesClassifier, what: str) -> None:
        same_knowledge(reference, other, probes, what, exact=exact)

    require_same(learn_all(learner.clone(), samples[::-1]), "learning in the opposite order")
    shuffled = [samples[i] for i in streams.rng.permutation(len(samples))]
    require_same(learn_all(learner.clone(), shuffled), "learning in another order")
    require_same(_learn_and_take_back(learner.clone(), samples, extras, streams), "unlearning extra samples")
    if exact:
        twice = [single for sample in samples for single in [sample._replace(w=1.0)] * int(sample.w)]
        require_same(learn_all(learner.clone(), twice), "learning weights as repeated samples")
    if not learner.traits.is_mergeable:
        return

    shards = [learn_all(learner.clone(), shuffled[start::SHARDS]) for start in range(SHARDS)]
    for order in (shards, shards[::-1]):
        total = learner.clone()
        for shard in order:
            with changes_nothing(shard, "merging, in the learner merged from,"):
                require(total.merge(shard) is total, "merge does not return the learner")
        require_same(total, "merging shards")
    first, *rest = shards
    with changes_nothing(first, "+"):
        require_same(first + rest[0] + rest[1], "adding shards")
    require_same(rest[1] + (rest[0] + first), "adding shards in the other direction")
    require_same(reference + learner.clone(), "adding an empty learner")
    doubled = learn_all(learn_all(learner.clone(), samples), samples)
    same_knowledge(reference + reference, doubled, probes, "adding a learner to itself", exact=exact)
    require_same(
        _take_back(first + rest[0] + rest[1] + learn_all(learner.clone(), extras), extras),
        "unlearning after merging",
    )


def _learn_and_take_back(
    model: BayesClassifier, samples: Sequence[LabelledSample], extras: list[LabelledSample], streams: Streams
) -> BayesClassifier:
    """Learn both mixed, then take back the extras in another order."""
    mixed: list[LabelledSample] = [*samples, *extras]
    learn_all(model, [mixed[i] for i in streams.rng.permutation(len(mixed))])
    return _take_back(model, extras)


def _take_back(model: BayesClassifier, samples: list[LabelledSample]) -> BayesClassifier:
    for x, y, w in samples[::-1]:
        model.unlearn_one(x, y, w)
    return model


def batches_of_coded_columns(learner: BayesClassifier, streams: Streams) -> None:
    """Check that coded columns are learned and predicted as the same events one by one."""
    exact = Promise.COUNTS in learner.promises and learner.half_life is None
    samples, probes = streams.samples(40), streams.probes()
    one, batch = learn_all(learner.clone(), samples), learner.clone()
    columns = coded(streams, samples)
    for start in (0, 1, 20):
        stop = {0: 1, 1: 20, 20: len(samples)}[start]
        batch.learn_many(columns.rows(start, stop), w=[sample.w for sample in samples[start:stop]])
    same_knowledge(one, batch, probes, "learn_many of coded columns", exact=exact)
    trained = learner.clone()
    trained.predict_learn_many(columns, w=[sample.w for sample in samples])
    same_knowledge(one, trained, probes, "predict_learn_many of coded columns", exact=exact)
    answers = batch.predict_proba_many(columns)
    for row, sample in enumerate(samples):
        answer = batch.predict_proba_one(sample.x)
        row_answer = dict(zip(answers.labels, answers.values[row].tolist(), strict=True))
        require(
            row_answer == answer,
            f"predict_proba_many of coded columns, row {row}: {row_answer}, not {answer}",
        )
    predicted = batch.predict_many(columns)
    require(list(predicted) == [batch.predict_one(s.x) for s in samples], "predict_many of coded columns")


def fading_has_its_closed_form(learner: BayesClassifier, streams: Streams) -> None:
    """Check that a sample learned at clock i weighs 2 ** ((i - now) / half_life)."""
    samples = streams.samples(FADED)
    for half_life in HALF_LIVES:
        probes = _steady_probes(learner, streams, half_life)
        faded, still = learner.clone({"half_life": half_life}), learner.clone({"half_life": None})
        learn_all(faded, samples)
        require(faded.clock == FADED, f"after {FADED} events the clock is at {faded.clock}")
        _learn_by_age(still, samples, FADED, half_life)
        same_knowledge(faded, still, probes, f"half_life={half_life}, and the weights it means", exact=False)
        faded.advance(5)
        require(faded.clock == FADED + 5, f"advance(5) moved the clock from {FADED} to {faded.clock}")
        still = _learn_by_age(learner.clone({"half_life": None}), samples, FADED + 5, half_life)
        same_knowledge(faded, still, probes, f"half_life={half_life}, and 5 events that passed", exact=False)


def _learn_by_age(
    model: BayesClassifier, samples: Sequence[LabelledSample], now: int, half_life: float
) -> BayesClassifier:
    for clock, (x, y, w) in enumerate(samples, start=1):
        model.learn_one(x, y, w * 2.0 ** ((clock - now) / half_life))
    return model


def shards_share_a_clock(learner: BayesClassifier, streams: Streams) -> None:
    """Check that faded shards that advance past each other's events merge to the whole; `at` unlearns exactly."""
    samples = streams.samples(FADED)
    for half_life in HALF_LIVES:
        probes = _steady_probes(learner, streams, half_life)
        new = learner.clone({"half_life": half_life})
        _require_take_back_at(new, samples, streams, half_life)
        if not learner.traits.is_mergeable:
            continue
        whole = learn_all(new.clone(), samples)
        shards = [new.clone() for _ in range(SHARDS)]
        for number, sample in enumerate(samples):
            for k, shard in enumerate(shards):
                if k == number % SHARDS:
                    shard.learn_one(*sample)
                else:
                    shard.advance(1)
        for merged in (shards[0] + shards[1] + shards[2], shards[2] + (shards[1] + shards[0])):
            same_knowledge(whole, merged, probes, f"half_life={half_life}: merged shards", exact=False)
            require(merged.clock == whole.clock, f"the merged clock is at {merged.clock}, not {whole.clock}")
        older = learn_all(new.clone(), samples[:50])
        rest = new.clone()
        rest.advance(50)
        learn_all(rest, samples[50:])
        for merged in (older + rest, rest + older):
            same_knowledge(
                whole, merged, probes, f"half_life={half_life}: the past and the rest", exact=False
            )


def _require_take_back_at(
    new: BayesClassifier, samples: list[LabelledSample], streams: Streams, half_life: float
) -> None:
    extras, without, both = streams.extras(10), new.clone(), new.clone()
    learned_at = []
    for number, sample in enumerate(samples):
        if number % 8 == 3:
            extra = extras[number // 8]
            both.learn_one(*extra)
            learned_at.append((extra, both.clock))
            without.advance(1)
        both.learn_one(*sample)
        without.learn_one(*sample)
    for (x, y, w), clock in learned_at:
        both.unlearn_one(x, y, w, at=clock)
    probes = _steady_probes(new, streams, half_life)
    same_knowledge(without, both, probes, f"half_life={half_life}: unlearning at its clock", exact=False)


def _steady_probes(learner: BayesClassifier, streams: Streams, half_life: float) -> list[dict[Any, Any]]:
    """Return events to compare predictions on.

    Where a sample fades within an event, a variance, M2 / (W - 1), an unsmoothed share and a share of one value's
    samples are ratios of what rounding has left. There what is held is compared, and no answers.
    """
    parameters = learner._get_params()
    unsmoothed = 0.0 in (parameters.get("strength"), parameters.get("alpha"))
    fragile = unsmoothed or streams.numeric or not learner.additive
    return [] if half_life < 1.0 and fragile else streams.probes()


def far_numbers_leave_nothing(learner: BayesClassifier, streams: Streams) -> None:
    """Check that far numbers, learned and unlearned, leave 1e-9 of what the others come to, and of the answers."""
    samples, probes = streams.samples(40), streams.probes()
    for what, numbers in FAR.items():
        for index in (0, 20):
            both, without = learner.clone(), learner.clone()
            learned_at = []
            for number, sample in enumerate(samples):
                for far in _far_samples(streams, numbers) if number == index else ():
                    both.learn_one(*far)
                    learned_at.append((far, both.clock))
                    without.advance(1)
                both.learn_one(*sample)
                without.learn_one(*sample)
            for (x, y, w), clock in learned_at:
                both.unlearn_one(x, y, w, at=clock)
            _require_equal(without, both, probes, f"unlearning numbers {what}, learned after {index} samples")


def _far_samples(streams: Streams, numbers: Sequence[float]) -> Iterator[LabelledSample]:
    label = streams.labels[0]
    for index, number in enumerate(numbers):
        x = {**streams.features(0), **dict.fromkeys(streams.numeric, number)}
        yield LabelledSample(x, label, FRACTIONAL[index % len(FRACTIONAL)])


def _require_equal(
    one: BayesClassifier, other: BayesClassifier, probes: Sequence[dict[Any, Any]], what: str
) -> None:
    """Require equal moments, and equal answers where these do not depend on the order of events."""
    same_numbers(one.store.by_name(), other.store.by_name(), what)
    if one.traits.is_order_dependent or one.traits.learns_cut_points:
        return
    one.rederive()
    other.rederive()
    for probe in probes:
        same_probabilities(one.predict_proba_one(probe), other.predict_proba_one(probe), what, FLOAT)


def offset_numbers_keep_their_digits(learner: BayesClassifier, streams: Streams) -> None:
    """Check that numbers of a mean of 1e9 and a deviation of 1e-3 have the moments of exact arithmetic, in any order.

    So have 8 parts, added in any order, and what is left after unlearning.
    """
    made, extras = (_offset(streams, streams.samples(count, FRACTIONAL)) for count in (60, 20))
    exact = _exact_moments(streams, made)

    def require_exact(model: BayesClassifier, what: str) -> None:
        moments = model.store.by_name()
        same_numbers(exact, {name: moments[name] for name in exact}, what)

    require_exact(learn_all(learner.clone(), made), "learning")
    require_exact(learn_all(learner.clone(), made[::-1]), "learning in the opposite order")
    require_exact(_learn_and_take_back(learner.clone(), made, extras, streams), "unlearning extra samples")
    if not learner.traits.is_mergeable or learner.traits.learns_cut_points:
        return
    parts = [learn_all(learner.clone(), made[start::PARTS]) for start in range(PARTS)]
    probes = streams.probes()
    for order in (range(PARTS), streams.rng.permutation(PARTS), streams.rng.permutation(PARTS)):
        total = learner.clone()
        for part in order:
            total.merge(parts[part])
        require_exact(total, f"adding {PARTS} parts")
        _require_equal(learn_all(learner.clone(), made), total, probes, f"adding {PARTS} parts")


def _offset(streams: Streams, samples: Sequence[LabelledSample]) -> list[LabelledSample]:
    """Return samples whose numbers are far from 0, and close together."""
    return [
        sample._replace(
            x={
                name: OFFSET + SCALE * value if name in streams.numeric and value is not None else value
                for name, value in sample.x.items()
            }
        )
        for sample in samples
    ]


def _exact_moments(streams: Streams, samples: Sequence[LabelledSample]) -> dict[tuple[Any, ...], Any]:
    """Return weight, mean and squared deviations of each number and class, from rational arithmetic."""
    columns: dict[tuple[Any, ...], list[tuple[Fraction, Fraction]]] = {}
    for x, y, w in samples:
        for name in streams.numeric:
            number = x.get(name)
            if number is not None and number == number:
                columns.setdefault((name, y), []).append((Fraction(number), Fraction(w)))
    moments: dict[tuple[Any, ...], Any] = {}
    for cell, column in columns.items():
        weight = sum((w for _, w in column), Fraction())
        mean = sum((w * number for number, w in column), Fraction()) / weight
        squares = sum((w * (number - mean) ** 2 for number, w in column), Fraction())
        moments[cell] = float(weight), float(mean), float(squares)
    return moments
