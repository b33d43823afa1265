"""Events without a label: expectation maximisation that counts as much as the labels show it to help.

The counts of labelled events stay exact. Beside them, the newest events without a label are counted in every class with
the probability of it, times a share from {0, 0.1, 0.4, 1}. The probabilities are estimated again from the labels
alone whenever the data have grown by a quarter; an estimate that went on from the last one would keep its errors. The
share is above 0 only if the newest labels, each by a model without it, are predicted better by two standard errors.
Labels that come later judge it, too: it answers only while all of them, each before it was learned, were predicted
better by estimates than without, by a standard error. Cut points, trees and other derived parts are those of the
labelled events alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import read_weight
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.readings._reading import Reading
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
from stream_bayes.learners.base.samples import samples_of
from stream_bayes.learners.base.traits import Traits

__all__ = ["LearnsUnlabelled"]

SHARES = (0.1, 0.4, 1.0)
ROUNDS = 3  # of expectation maximisation
MOST_EVENTS = 3_000  # without a label
MOST_LABELS = 200  # newest labelled events, which decide about the share
LEAST_LABELS = 3  # of each class
LEAST_TOGETHER = 30
ERRORS = 2.0  # standard errors by which the newest labels are predicted better
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
        The nats by which the labels were predicted better with an estimate than without, each before it was learned.
    squares
        The sum of squares of what each label added to `won`.
    estimate
        The counts and the reading of the present estimate; None if there is none.
    passed
        The number of events without a label ever learned.
    due
        The number of events of both kinds at which the next estimate is made.
    """

    def __init__(self, store: CountStore, reading: Reading) -> None:
        self.store, self.reading = store, reading
        self.events: deque[tuple[Payload, float]] = deque(maxlen=MOST_EVENTS)
        self.labelled: deque[tuple[Payload, Any, float]] = deque(maxlen=MOST_LABELS)
        self.counted: list[Payload] = []
        self.weights: Weights = np.zeros((0, 0))
        self.share = 0.0
        self.won = self.squares = 0.0
        self.estimate: tuple[CountStore, Reading] | None = None
        self.passed = 0
        self.due = LEAST_TOGETHER

    @property
    def clock(self) -> int:
        """The number of events of both kinds that were learned."""
        return int(self.store.tables.clock) + self.passed

    @property
    def answering(self) -> tuple[CountStore, Reading]:
        """The counts and the reading that answer: the estimate's while it has won by a standard error."""
        if self.estimate is None or self.won <= math.sqrt(self.squares):
            return self.store, self.reading
        return self.estimate

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
            "won": self.won,
            "squares": self.squares,
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
        self.won, self.squares = float(saved["won"]), float(saved["squares"])
        expect(math.isfinite(self.won), f"won is {self.won!r}")
        expect(0.0 <= self.squares < math.inf, f"squares is {self.squares!r}")
        self.share, self.passed, self.due = saved["share"], saved["passed"], saved["due"]


class LearnsUnlabelled(BayesClassifier):
    """A classifier with the argument `unlabelled`.

    With `unlabelled="em"` the store and the reading that predict are those of the estimate; `_unlabelled` has the exact
    counts.
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
            self._unlabelled = UnlabelledEvents(self.store, self.reading)

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
        unlabelled.store.unlearn(x, y, w, None)
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
                unlabelled.reading.learn(store.encode(x, y, w, None))
            else:
                won = round(self._won_by(estimate, unlabelled, x, y) * read_weight(w) * STEPS) / STEPS
                row = estimate[0].encode(x, y, w, None)
                unlabelled.reading.learn(store.encode(x, y, w, None))
                unlabelled.won += won
                unlabelled.squares += won * won
                if unlabelled.cuts_due() != cuts_due:
                    self._count_estimate(unlabelled)
                else:
                    self._follow(estimate, unlabelled, row)
                self.store, self.reading = unlabelled.answering
            if read_weight(w) > 0.0:
                unlabelled.labelled.append((_payload(x), canonical_label(y), read_weight(w)))
        if unlabelled.clock >= unlabelled.due:
            self._estimate(unlabelled)

    def _won_by(
        self, estimate: tuple[CountStore, Reading], unlabelled: UnlabelledEvents, x: X, y: Any
    ) -> float:
        """Return the nats by which a label is predicted better with the estimate than without."""
        losses = [
            log_loss(reading.probabilities(store.encoder.lookup(x)), canonical_label(y))
            for store, reading in (estimate, (unlabelled.store, unlabelled.reading))
        ]
        return losses[1] - losses[0]

    def _follow(self, estimate: tuple[CountStore, Reading], unlabelled: UnlabelledEvents, row: Row) -> None:
        """Learn a labelled event beside the estimate, and derive what the labelled events alone derive."""
        store, reading = estimate
        derived = unlabelled.reading.derived_state()
        if derived:
            store.add(row)
            reading.load_derived(derived)
        else:
            reading.learn(row)

    # -- the estimate -------------------------------------------------------------------------------------------------

    def _estimate(self, unlabelled: UnlabelledEvents) -> None:
        """Estimate the classes of the events without a label from the labels alone, and choose their share."""
        unlabelled.due = unlabelled.clock + unlabelled.clock // 4 + 1
        unlabelled.drop_estimate()
        samples = [count for count in np.asarray(unlabelled.store.tables.class_samples).tolist() if count > 0]
        is_enough = len(samples) > 1 and min(samples) >= LEAST_LABELS
        if unlabelled.events and is_enough and len(unlabelled.labelled) >= LEAST_TOGETHER:
            xs, ws = (list(column) for column in zip(*unlabelled.events, strict=True))
            alone = _losses(self._counting(unlabelled, [], np.zeros((0, 0))), unlabelled)
            least = 0.0
            for share in SHARES:
                model, weights = self._maximised(unlabelled, xs, ws, share)
                gains = alone - _losses(model, unlabelled)
                gain, error = float(gains.mean()), float(gains.std(ddof=1)) / math.sqrt(len(gains))
                if gain > max(ERRORS * error, least):
                    least = gain
                    unlabelled.counted, unlabelled.weights, unlabelled.share = xs, weights, share
        self._count_estimate(unlabelled)

    def _maximised(
        self, unlabelled: UnlabelledEvents, xs: list[Payload], ws: list[float], share: float
    ) -> tuple[Self, Weights]:
        """Return the classifier after some rounds of expectation maximisation, and the weights of the last one."""
        weights = np.zeros((0, 0))
        model = self._counting(unlabelled, [], weights)
        for _ in range(ROUNDS):
            scaled = model.class_probabilities(xs) * np.multiply(ws, share)[:, None]
            weights = np.round(scaled * STEPS) / STEPS
            model = self._counting(unlabelled, xs, weights)
        return model, weights

    def _count_estimate(self, unlabelled: UnlabelledEvents) -> None:
        """Predict by the exact counts and those of the estimate together."""
        unlabelled.estimate = None
        if unlabelled.share > 0.0:
            model = self._counting(unlabelled, unlabelled.counted, unlabelled.weights)
            unlabelled.estimate = model.store, model.reading
        self.store, self.reading = unlabelled.answering

    def _counting(self, unlabelled: UnlabelledEvents, xs: list[Payload], weights: Weights) -> Self:
        """Return a classifier with the counts of labelled events, and events with a weight in each class."""
        model: Self = self.clone({"unlabelled": "refuse"})
        store, derived = model.store, unlabelled.reading.derived_state()
        store.load(unlabelled.store.content().state())
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
        if self._unlabelled is None:
            super().rederive()
            return
        self._unlabelled.reading.rederive()
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
        """The share with which events without a label count at present: 0, 0.1, 0.4 or 1."""
        unlabelled = self._unlabelled
        return 0.0 if unlabelled is None or self.store is unlabelled.store else unlabelled.share

    def merge(self, other: Self) -> Self:
        """Add the counts of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` with `unlabelled="em"`, as the newest events depend on the order.
        """
        if self._unlabelled is not None:
            raise CannotMerge("unlabelled='em' depends on the order of events, so it cannot be merged")
        return super().merge(other)

    @property
    def _saved_store(self) -> CountStore:
        return self.store if self._unlabelled is None else self._unlabelled.store

    def derived_state(self) -> dict[str, Any]:
        if self._unlabelled is None:
            return super().derived_state()
        if (
            self.store.encoder.numeric
        ):  # as after loading: sums of numbers depend on their order in the last bit
            self._count_estimate(self._unlabelled)
        return self._unlabelled.reading.derived_state() | {"unlabelled": self._unlabelled.state()}

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        if self._unlabelled is None:
            super().load_derived(derived)
            return
        expect("unlabelled" in derived, "it has no events without a label")
        self._unlabelled.reading.load_derived({n: part for n, part in derived.items() if n != "unlabelled"})
        self._unlabelled.load(derived["unlabelled"])
        self._count_estimate(self._unlabelled)


def _payload(x: Any) -> Payload:
    """Return an event's features as they are kept."""
    if isinstance(x, (list, tuple)):
        x = counted(x)
    return plain({name: value for name, value in x.items() if not is_missing(value)})


def _losses(model: BayesClassifier, unlabelled: UnlabelledEvents) -> Weights:
    """Return the log-loss of each newest labelled event by the model without it."""
    losses = []
    for x, y, w in unlabelled.labelled:
        model.store.unlearn(x, y, w)
        losses.append(log_loss(model.predict_proba_one(x), y))
        model.store.learn(x, y, w)
    return np.array(losses)
