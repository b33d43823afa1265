"""Laws of counting: in any order, split, merged, taken back, faded, the same is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.traits import Promise
from stream_bayes.testing.assertions import changes_nothing, require, same_knowledge
from stream_bayes.testing.laws_of_predictions import learn_all
from stream_bayes.testing.sample_streams import FRACTIONAL, WHOLE, LabelledSample, Streams, coded

__all__ = [
    "batches_of_coded_columns",
    "counts_form_a_group",
    "fading_has_its_closed_form",
    "fractions_form_a_group",
    "shards_share_a_clock",
]

SHARDS = 3
HALF_LIVES = (0.25, 3.0, 100.0)  # at 0.25 a stream of 80 events passes the point where tables are rescaled
FADED = 80


def counts_form_a_group(learner: BayesClassifier, streams: Streams) -> None:
    """Check that whole weights in any order, split and merged, or unlearned give exactly equal counts."""
    _form_a_group(learner, streams, WHOLE, exact=True)


def fractions_form_a_group(learner: BayesClassifier, streams: Streams) -> None:
    """Check the same for fractional weights, to 1e-9 of the largest magnitude held."""
    _form_a_group(learner, streams, FRACTIONAL, exact=False)


def _form_a_group(
    learner: BayesClassifier, streams: Streams, weights: Sequence[float], *, exact: bool
) -> None:
    samples, extras, probes = streams.samples(60, weights), streams.extras(20, weights), streams.probes()
    reference = learn_all(learner.clone(), samples)

    def require_same(other: BayesClassifier, what: str) -> None:
        same_knowledge(reference, other, probes, what, exact=exact)

    require_same(learn_all(learner.clone(), samples[::-1]), "learning in the opposite order")
    shuffled = [samples[place] for place in streams.rng.permutation(len(samples))]
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
    learn_all(model, [mixed[place] for place in streams.rng.permutation(len(mixed))])
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
            for place, shard in enumerate(shards):
                if place == number % SHARDS:
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
