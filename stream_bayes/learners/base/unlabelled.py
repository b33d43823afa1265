"""Events without a label: expectation maximisation that counts as much as the labels show it to help.

The counts of labelled events stay exact. Beside them, the newest events without a label are counted in every class with
the probability of it, times a share from {0, 0.1, 0.4, 1}. The probabilities are estimated again from the labels
alone whenever the data have grown by a quarter; an estimate that went on from the last one would keep its errors. The
share is the one by which the newest labels, each by a model without it, are predicted best.
The answer is a mixture of that with such an estimate and that of the labels alone. Labels that come later choose the
weight, each by the two answers before it was learned: it is the mean of eleven weights from 0 to 1 by how likely each
made the labels, 0 being as likely beforehand as all others together. So all labels together are predicted worse by at
most log 2 nats than by the labels alone. Tables, cut points, trees and other derived parts are those of the labelled
events alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import counted
from stream_bayes.core.values.payloads import Payload, plain, tagged_payload, untagged_payload
from stream_bayes.core.values.values import canonical_label, is_missing, tagged, untagged
from stream_bayes.data.frames import Native
from stream_bayes.errors import BadLabel, BadValue, CannotMerge
from stream_bayes.learners.base.arguments import check_choice
from stream_bayes.learners.base.base import BayesClassifier, X
from stream_bayes.learners.base.batches import encode_blocks
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.learners.base.credible_intervals import Intervals, ends_by_label
from stream_bayes.learners.base.explanation import Explanation, explained_by_steps
from stream_bayes.learners.base.samples import intervals_of_rows, samples_of
from stream_bayes.learners.base.traits import Traits

__all__ = ["LearnsUnlabelled"]

SHARES = (0.1, 0.4, 1.0)
ROUNDS, MORE_ROUNDS = 3, 7  # of expectation maximisation: for each share, and for the chosen one
MOST_EVENTS = 3_000  # without a label
MOST_LABELS = 200  # newest labelled events, which decide about the share
LEAST_LABELS = 3  # of each class
LEAST_TOGETHER = 30
WEIGHTS = np.linspace(0.0, 1.0, 11)  # of the estimate's answer in the mixture
BEFOREHAND = np.log([0.5, *[0.05] * 10])
STEPS = 2.0**20  # steps of a weight of 1: sums of such weights are exact, in any order

Weights = NDArray[np.float64]


class UnlabelledEvents:
    """The newest events with and without a label, and the estimate that counts those without.

    Attributes
    ----------
    events
        The newest events without a label: features and weight.
    labelled
        The newest labelled events: features, label and weight.
    counted
        The events of the present estimate.
    weights
        The weight of each in each class, a column for each label's code.
    share
        The share of the present estimate; 0 if there is none.
    won
        The nats by which each weight of an estimate's answer predicted the labels better than none, each before it was
        learned.
    estimate
        The classifier that counts the present estimate, too; None if there is none.
    passed
        The number of events without a label ever learned.
    due
        The number of events of both kinds at which the next estimate is made.
    """

    def __init__(self, store: CountStore) -> None:
        self.store = store
        self.events: deque[tuple[Payload, float]] = deque(maxlen=MOST_EVENTS)
        self.labelled: deque[tuple[Payload, Any, float]] = deque(maxlen=MOST_LABELS)
        self.counted: list[Payload] = []
        self.weights: Weights = np.zeros((0, 0))
        self.share = 0.0
        self.won = np.zeros(len(WEIGHTS))
        self.estimate: BayesClassifier | None = None
        self.passed = 0
        self.due = LEAST_TOGETHER

    @property
    def clock(self) -> int:
        """The number of events of both kinds that were learned."""
        return int(self.store.tables.clock) + self.passed

    @property
    def weight(self) -> float:
        """The weight of the estimate's answer in the mixture; 0 if there is none."""
        if self.estimate is None:
            return 0.0
        shares = np.exp(BEFOREHAND + self.won - (BEFOREHAND + self.won).max())
        return float(shares @ WEIGHTS / shares.sum())

    def judge(self, with_it: float, alone: float, w: float) -> None:
        """Add what a label says of each weight: its probability by the estimate, and by the labels alone."""
        gains = np.log(((1.0 - WEIGHTS) * alone + WEIGHTS * with_it) / alone)
        self.won += np.round(gains * w * STEPS) / STEPS

    def cuts_due(self) -> dict[int, int]:
        """Return the count of numbers at which the cuts of each open feature are set next: it changes with the cuts."""
        return {} if self.store.discretizer is None else dict(self.store.discretizer.due)

    def drop_estimate(self) -> None:
        """Count no event without a label."""
        self.counted, self.weights, self.share = [], np.zeros((0, 0)), 0.0

    def state(self) -> dict[str, Any]:
        """Return the events and the estimate as JSON values."""
        return {
            "events": [[tagged_payload(x), w] for x, w in self.events],
            "labelled": [[tagged_payload(x), tagged(y), w] for x, y, w in self.labelled],
            "counted": [tagged_payload(x) for x in self.counted],
            "weights": (self.weights * STEPS).astype(np.int64).tolist(),
            "share": self.share,
            "won": self.won.tolist(),
            "passed": self.passed,
            "due": self.due,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what `state` returned; raise `BadState` or an error of reading if it does not fit."""
        labels = len(self.store.encoder.labels)
        for name in ("passed", "due"):
            expect(type(saved[name]) is int and 0 <= saved[name] < 2**62, f"{name} is {saved[name]!r}")
        expect(saved["share"] in (0.0, *SHARES), f"share is {saved['share']!r}")
        expect(len(saved["events"]) <= MOST_EVENTS >= len(saved["counted"]), "it holds too many events")
        expect(len(saved["labelled"]) <= MOST_LABELS, "it holds too many labelled events")
        self.events.extend((untagged_payload(x), read_weight(w)) for x, w in saved["events"])
        self.labelled.extend(
            (untagged_payload(x), untagged(y), read_weight(w)) for x, y, w in saved["labelled"]
        )
        self.counted = [untagged_payload(x) for x in saved["counted"]]
        expect(bool(self.counted) == (saved["share"] > 0.0), "its estimate does not fit its share")
        for x in [*self.counted, *(event[0] for event in (*self.events, *self.labelled))]:
            expect(isinstance(x, dict), "an event kept has no features")
        weights = (
            np.array(saved["weights"], np.int64).reshape(len(self.counted), -1 if self.counted else 0) / STEPS
        )
        expect(weights.shape[1] <= labels and bool((weights >= 0.0).all()), "its weights do not fit")
        self.weights = weights
        self.won = np.array(saved["won"], np.float64)
        expect(
            self.won.shape == WEIGHTS.shape and bool(np.isfinite(self.won).all()), f"won is {saved['won']!r}"
        )
        self.share, self.passed, self.due = saved["share"], saved["passed"], saved["due"]


class LearnsUnlabelled(BayesClassifier):
    """A classifier with the argument `unlabelled`.

    With `unlabelled="em"` the store and the reading hold the labelled events alone; `_unlabelled` has the classifier
    that counts the others, too, whose answers are mixed in.
    """

    _unlabelled: UnlabelledEvents | None = None

    def _begin(self) -> None:
        check_choice("unlabelled", self.unlabelled, ("refuse", "em"))
        if self.unlabelled == "em" and self.half_life is not None:
            raise BadValue(
                "unlabelled='em' estimates the newest events again, which half_life would have faded; leave one out"
            )
        super()._begin()
        if self.unlabelled == "em":
            if self.store.cuts_move:
                raise BadValue(
                    "unlabelled='em' unlearns events, which Binning(moving=True) cannot; leave moving out"
                )
            self._unlabelled = UnlabelledEvents(self.store)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> None:
        """Learn a sample: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The features, `{name: value}`. An absent value, None or NaN is missing and adds no count.
        y
            The label; with `unlabelled="em"` None if there is none.
        w
            The sample's weight; 2.0 is the same as learning it twice.
        at
            With `half_life` in stream time: the sample's own time, in seconds since 1970. The order in which samples
            are learned then changes nothing.
        """
        if self._unlabelled is None:
            self.reading.learn(self.store.encode(x, y, w, at))
        else:
            self._learn_either(self._unlabelled, x, y, w)

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it: test-then-train.

        With `unlabelled="em"`, an event without a label is not learned before a class is known.
        """
        if self._unlabelled is None:
            return super().predict_learn_one(x, y, w, at)
        answer = self.predict_proba_one(x)
        if self.classes_ or not is_missing(y):
            self._learn_either(self._unlabelled, x, y, w)
        return answer

    def unlearn_one(self, x: X, y: Any, w: float = 1.0, at: float | None = None) -> None:
        """Unlearn a labelled sample, with the weight it was learned with; `at` as in `BayesClassifier`."""
        unlabelled = self._unlabelled
        if unlabelled is None:
            super().unlearn_one(x, y, w, at)
            return
        self.store.unlearn(x, y, w, None)
        sample = _payload(x), canonical_label(y), read_weight(w)
        if sample in unlabelled.labelled:
            unlabelled.labelled.remove(sample)
        self._count_estimate(unlabelled)

    def learn_many(self, X: Native, y: Native = None, w: Native = None, at: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused.

        Arguments are those of `BayesClassifier.learn_many`; each row needs a label.
        """
        if self._unlabelled is None:
            super().learn_many(X, y, w, at)
            return
        for sample in samples_of(self, X, y, w):
            self._learn_either(self._unlabelled, *sample)

    def predict_learn_many(self, X: Native, y: Native = None, w: Native = None, at: Native = None) -> Any:
        """Return the probabilities of many rows, each predicted from those before it and then learned.

        Raises `BadValue` with `unlabelled="em"`, which learns rows one by one.
        """
        if self._unlabelled is not None:
            raise BadValue("with unlabelled='em', use predict_learn_one for each row")
        return super().predict_learn_many(X, y, w, at)

    def _learn_either(self, unlabelled: UnlabelledEvents, x: X, y: Any, w: float) -> None:
        """Learn an event with or without a label, and estimate again if that is due."""
        store = unlabelled.store
        if is_missing(y):
            if not self.classes_:
                raise BadLabel("no class is known yet, so that an event without a label tells nothing")
            weight = read_weight(w)
            store.encoder.encode(
                x, self.classes_[0], weight
            )  # refuses what could not be learned with a label
            store.encoder.rollback()
            if weight > 0.0:
                unlabelled.events.append((_payload(x), weight))
                unlabelled.passed += 1
        else:
            estimate, cuts_due = unlabelled.estimate, unlabelled.cuts_due()
            if estimate is None:
                self.reading.learn(store.encode(x, y, w, None))
            else:
                label, weight = canonical_label(y), read_weight(w)
                alone = math.exp(-log_loss(super().predict_proba_one(x), label))
                with_it = math.exp(-log_loss(estimate.predict_proba_one(x), label))
                row = estimate.store.encode(x, y, w, None)
                self.reading.learn(store.encode(x, y, w, None))
                unlabelled.judge(with_it, alone, weight)
                if unlabelled.cuts_due() != cuts_due:
                    self._count_estimate(unlabelled)
                else:
                    self._follow(estimate, row)
            if read_weight(w) > 0.0:
                unlabelled.labelled.append((_payload(x), canonical_label(y), read_weight(w)))
        if unlabelled.clock >= unlabelled.due:
            self._estimate(unlabelled)

    def _follow(self, estimate: BayesClassifier, row: Row) -> None:
        """Learn a labelled event beside the estimate, and derive what the labelled events alone derive."""
        derived = self.reading.derived_state()
        if derived:
            estimate.store.add(row)
            estimate.reading.load_derived(derived)
        else:
            estimate.reading.learn(row)

    # -- answers ------------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        # What the method of the base does: calling that takes an eighth of a prediction.
        alone: dict[Any, float] = self.reading.probabilities(self.store.encoder.lookup(x))
        unlabelled = self._unlabelled
        if unlabelled is None or unlabelled.estimate is None:
            return alone
        return _mixed(unlabelled.weight, alone, unlabelled.estimate.predict_proba_one(x))

    def class_probabilities(
        self, xs: Native, ys: Native = None, ws: Native = None, ats: Native = None, *, learn: bool = False
    ) -> NDArray[np.float64]:
        """Return the probabilities of many rows, a column per label's code; with `learn`, learn each after it."""
        alone = super().class_probabilities(xs, ys, ws, ats, learn=learn)
        unlabelled = self._unlabelled
        if unlabelled is None or unlabelled.estimate is None:
            return alone
        weight = unlabelled.weight
        return (1.0 - weight) * alone + weight * unlabelled.estimate.class_probabilities(xs)

    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Return log P(y, x) of each class; empty before any learning.

        With `unlabelled="em"` it is the logarithm of the answer and that of P(x) by the mixture together.
        """
        alone = super().joint_log_likelihood(x)
        unlabelled = self._unlabelled
        if unlabelled is None or unlabelled.estimate is None:
            return alone
        parts = (alone, unlabelled.estimate.joint_log_likelihood(x))
        weight = unlabelled.weight
        with np.errstate(divide="ignore"):
            wholes = [np.logaddexp.reduce(list(part.values())) for part in parts]
            whole = float(np.logaddexp(wholes[0] + np.log1p(-weight), wholes[1] + np.log(weight)))
            answer = self.predict_proba_one(x)
            return {label: whole + float(np.log(answer[label])) for label in alone}

    def explain_one(self, x: X) -> Explanation:
        """Return the evidence of each feature for each class; it adds up to `joint_log_likelihood(x)`.

        Log-evidence if the model is a sum over features. Otherwise, as where events without a label count, it is what
        each feature changes when it is added to others.
        """
        if self._unlabelled is None or self._unlabelled.estimate is None:
            return super().explain_one(x)
        return explained_by_steps(self.joint_log_likelihood, x, self.joint_log_likelihood(x))

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the credible interval of each class's probability; empty before any learning.

        As `BayesClassifier.predict_interval_one`; with events without a label, the weight of their estimate is held.
        """
        alone = super().predict_interval_one(x, level)
        unlabelled = self._unlabelled
        if unlabelled is None or unlabelled.estimate is None:
            return alone
        with_it = unlabelled.estimate.predict_interval_one(x, level)
        low, high = (
            _mixed(unlabelled.weight, ends_by_label(alone, end), ends_by_label(with_it, end))
            for end in (0, 1)
        )
        return {label: (low[label], high[label]) for label in alone}

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the intervals of many rows: their lower and their upper ends."""
        if self._unlabelled is None or self._unlabelled.estimate is None:
            return super().predict_interval_many(X, level)
        return intervals_of_rows(self, X, level)

    # -- the estimate -------------------------------------------------------------------------------------------------

    def _estimate(self, unlabelled: UnlabelledEvents) -> None:
        """Estimate the classes of the events without a label from the labels alone, and choose their share."""
        unlabelled.due = unlabelled.clock + unlabelled.clock // 4 + 1
        unlabelled.drop_estimate()
        samples = [count for count in np.asarray(unlabelled.store.tables.class_samples).tolist() if count > 0]
        is_enough = len(samples) > 1 and min(samples) >= LEAST_LABELS
        if unlabelled.events and is_enough and len(unlabelled.labelled) >= LEAST_TOGETHER:
            xs, ws = (list(column) for column in zip(*unlabelled.events, strict=True))
            alone = _losses(self._counting([], np.zeros((0, 0))), unlabelled)
            most = 0.0
            for share in SHARES:
                model, weights = self._maximised(xs, ws, share)
                gain = float((alone - _losses(model, unlabelled)).mean())
                if gain > most:
                    most = gain
                    unlabelled.counted, unlabelled.weights, unlabelled.share = xs, weights, share
            if most > 0.0:
                model, weights = self._maximised(xs, ws, unlabelled.share, unlabelled.weights)
                if float((alone - _losses(model, unlabelled)).mean()) > most:
                    unlabelled.weights = weights
        self._count_estimate(unlabelled)

    def _maximised(
        self, xs: list[Payload], ws: list[float], share: float, reached: Weights | None = None
    ) -> tuple[Self, Weights]:
        """Return the classifier after some rounds of expectation maximisation, and the weights of the last one.

        The rounds begin with the labels alone, or go on from weights that were `reached`.
        """
        weights = np.zeros((0, 0)) if reached is None else reached
        model = self._counting([] if reached is None else xs, weights)
        for _ in range(ROUNDS if reached is None else MORE_ROUNDS):
            scaled = model.class_probabilities(xs) * np.multiply(ws, share)[:, None]
            weights = np.round(scaled * STEPS) / STEPS
            model = self._counting(xs, weights)
        return model, weights

    def _count_estimate(self, unlabelled: UnlabelledEvents) -> None:
        """Count the events of the estimate beside those with a label, in a classifier of its own."""
        unlabelled.estimate = (
            self._counting(unlabelled.counted, unlabelled.weights) if unlabelled.share > 0.0 else None
        )

    def _counting(self, xs: list[Payload], weights: Weights) -> Self:
        """Return a classifier with the counts of labelled events, and events with a weight in each class."""
        model: Self = self.clone({"unlabelled": "refuse"})
        store, derived = model.store, self.reading.derived_state()
        store.load(self.store.content().state())
        store.hold_cuts()
        if derived:  # by numbers of features, which must be the same here
            xs = [{name: value for name, value in x.items() if name in store.encoder.features} for x in xs]
        counted = Reading(store.tables, store.encoder.labels)  # it derives nothing
        for code in range(weights.shape[1]):
            label = store.encoder.labels.values[code]
            rows = np.flatnonzero(weights[:, code]).tolist()
            if rows:
                for batch in encode_blocks(
                    store, [xs[row] for row in rows], [label] * len(rows), weights[rows, code]
                ):
                    counted.learn_batch(batch)
        model.reading.load_derived(derived)
        return model

    # -- what follows from it -----------------------------------------------------------------------------------------

    def rederive(self) -> None:
        """Derive the structure or weights from the present counts, of labelled events, in learners that have any."""
        super().rederive()
        if self._unlabelled is not None:
            self._count_estimate(self._unlabelled)

    @property
    def clock(self) -> int:
        """The number of events that were learned, or passed by `advance`."""
        return int(self.store.tables.clock) if self._unlabelled is None else self._unlabelled.clock

    @property
    def traits(self) -> Traits:
        traits = super().traits
        return (
            traits
            if self._unlabelled is None
            else traits._replace(is_order_dependent=True, is_mergeable=False)
        )

    @property
    def unlabelled_share_(self) -> float:
        """The share with which events without a label count in their estimate at present: 0, 0.1, 0.4 or 1."""
        return 0.0 if self._unlabelled is None else self._unlabelled.share

    @property
    def unlabelled_weight_(self) -> float:
        """The weight in answers of what the events without a label add, from 0 to 1."""
        return 0.0 if self._unlabelled is None else self._unlabelled.weight

    def merge(self, other: Self) -> Self:
        """Add the counts of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` with `unlabelled="em"`, as the newest events depend on the order.
        """
        if self._unlabelled is not None:
            raise CannotMerge("unlabelled='em' depends on the order of events, so it cannot be merged")
        return super().merge(other)

    def derived_state(self) -> dict[str, Any]:
        derived = super().derived_state()
        if self._unlabelled is None:
            return derived
        if (
            self.store.encoder.numeric
        ):  # as after loading: sums of numbers depend on their order in the last bit
            self._count_estimate(self._unlabelled)
        return derived | {"unlabelled": self._unlabelled.state()}

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        if self._unlabelled is None:
            super().load_derived(derived)
            return
        expect("unlabelled" in derived, "it has no events without a label")
        super().load_derived({n: part for n, part in derived.items() if n != "unlabelled"})
        self._unlabelled.load(derived["unlabelled"])
        self._count_estimate(self._unlabelled)


def _payload(x: Any) -> Payload:
    """Return an event's features as they are kept."""
    if isinstance(x, (list, tuple)):
        x = counted(x)
    return plain({name: value for name, value in x.items() if not is_missing(value)})


def _mixed(weight: float, alone: Mapping[Any, float], with_it: Mapping[Any, float]) -> dict[Any, float]:
    """Return the mean of two answers; those of intervals' ends keep their order to the last digit."""
    return {label: (1.0 - weight) * p + weight * with_it.get(label, 0.0) for label, p in alone.items()}


def _losses(model: BayesClassifier, unlabelled: UnlabelledEvents) -> Weights:
    """Return the log-loss of each newest labelled event by the model without it."""
    losses = []
    for x, y, w in unlabelled.labelled:
        model.store.unlearn(x, y, w)
        losses.append(log_loss(model.predict_proba_one(x), y))
        model.store.learn(x, y, w)
    return np.array(losses)
