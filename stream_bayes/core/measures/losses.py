"""Prequential losses: each event is predicted, then scored, then learned; this module scores.

    update  ->  a buffer of events
                  |  1024 of them, or a measure is read
                  v
                codes and probabilities as columns (`Scored`)
                  |                 |                  |                        |
                cumulative        windowed           fading                   by blocks, optional
                sums              newest events      sums in a growing unit   sums for intervals

Scoring events in batches costs a tenth of scoring them one by one. The batches do not matter: all sums are added in the
order of events. So reading a measure does not change any later state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.bootstrap import Blocks
from stream_bayes.core.measures.label_codes import MOST_PROBABLE, NO_LABEL, LabelCodes
from stream_bayes.core.measures.measures import Measures
from stream_bayes.core.measures.scored_window import ScoredWindow
from stream_bayes.core.measures.state import (
    labels_state,
    load_labels,
    load_recent,
    load_tally,
    recent_arrays,
    tally_arrays,
    whole,
)
from stream_bayes.core.measures.tally import FadingTally, Scored, Tally
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.errors import BadValue, BadWeight

__all__ = ["Losses"]

Array = NDArray[Any]

SETTINGS = ("window", "half_life", "least_probability", "max_labels")

BATCH = 1024  # events scored together
CELLS = 16_384  # probabilities scored together: more do not fit the processor's cache
SLACK = 1e-9  # rounding by which normalised probabilities may exceed 1


class Losses:
    """Losses of a stream's predictions: cumulative, over a window, and fading.

    An event takes about 1.5 microseconds with two labels and 3.5 with twenty, and half of that in `update_many`.
    Memory: 50 kB a label, and a buffer of 1024 events. The state depends on the sequence of events alone, not on when
    measures are read or how events are batched.

    A label missing from a prediction has probability 0. So has every label in an empty prediction, the prediction of a
    learner that has learned nothing yet. A true label with probability 0 counts as `least_probability` in the
    log-loss; an empty prediction counts as a mistake with confidence 0 and a Brier score of 1. A probability that is
    negative or not a number counts as 0, one above 1 as 1; `invalid_probabilities` counts these.

    Parameters
    ----------
    window
        The number of events of the windowed measures.
    half_life
        The number of events after which an event weighs half in the fading measures; at least 1.
    least_probability
        The lower limit of the true label's probability in the log-loss, which would be infinite at 0. No event costs
        more than -log of it, 34.5 by default.
    max_labels
        The most labels to distinguish; further labels count as one, `<other>`, whose probability is the sum of theirs.
    blocks
        Blocks to sum the events in as well, for confidence intervals. They are not part of the state.

    Attributes
    ----------
    invalid_probabilities
        The number of invalid probabilities that counted as 0 or 1.

    Examples
    --------
    >>> losses = Losses()
    >>> losses.update("rain", {})
    >>> losses.update("rain", {"rain": 1.0})
    >>> losses.update("sun", {"rain": 0.75, "sun": 0.25})
    >>> losses.update("sun", {"rain": 0.5, "sun": 0.5}, predicted="sun")
    >>> measures = losses.cumulative
    >>> measures.accuracy, measures.majority_accuracy, measures.kappa_m
    (0.5, 0.25, 0.333...)
    >>> losses.windowed.accuracy, losses.fading.weight
    (0.5, 3.99...)
    """

    def __init__(
        self,
        window: int = 1000,
        half_life: float = 1000.0,
        *,
        least_probability: float = 1e-15,
        max_labels: int = 1000,
        blocks: Blocks | None = None,
    ) -> None:
        if not _is_number(half_life) or not 1.0 <= half_life < math.inf:
            raise BadValue(f"half_life is a number of events, at least 1; got {half_life!r}")
        if not _is_number(least_probability) or not 0.0 < least_probability < 1.0:
            raise BadValue(f"least_probability lies between 0 and 1; got {least_probability!r}")
        self.window = _at_least_one("window", window)
        self.half_life = float(half_life)
        self.least_probability = float(least_probability)
        self.max_labels = _at_least_one("max_labels", max_labels)
        self._blocks = blocks
        self._codes = LabelCodes(self.max_labels)
        self._buffer: list[tuple[int, int, Mapping[Any, Any], float]] = []
        self._invalid = 0
        self._last = NO_LABEL  # the code of the previous label
        self._cumulative = Tally()
        self._fading = FadingTally(self.half_life)
        self._recent = ScoredWindow(self.window)

    # -- scoring ------------------------------------------------------------------------------------------------------

    def update(
        self, label: Any, probabilities: Mapping[Any, Any], predicted: Any = ..., weight: float = 1.0
    ) -> None:
        """Score one prediction.

        Parameters
        ----------
        label
            The true label.
        probabilities
            The probability of each label. They are read later, so do not change them.
        predicted
            The predicted label, None if there is none. If not given, it is the most probable label; ties go to the
            first by name.
        weight
            The number of events that this one counts as.
        """
        if weight != 1.0:
            weight = _sound_weight(weight)
        own = self._codes.own
        try:
            code = own[label]
            answer = MOST_PROBABLE if predicted is ... else own[predicted]
            new = not probabilities.keys() <= own.keys()
        except (KeyError, TypeError):
            new = True
        if new:
            code, answer = self._codes.insert(label, predicted, probabilities)
        self._buffer.append((code, answer, probabilities, weight))
        if len(self._buffer) == BATCH:
            self._score_buffer()

    def update_many(
        self,
        labels: Sequence[Any],
        classes: Sequence[Any],
        probabilities: Array,
        predicted: Sequence[Any] | None = None,
        weights: Sequence[float] | Array | None = None,
    ) -> None:
        """Score many predictions, with the same result as one by one.

        Parameters
        ----------
        labels
            The true labels.
        classes
            The label of each column of `probabilities`.
        probabilities
            A row for each event; a row of zeros is an empty prediction.
        predicted
            The predicted labels. If not given, the most probable ones.
        weights
            The events' weights. If not given, 1 each.
        """
        table = np.asarray(probabilities, np.float64)
        if table.shape != (len(labels), len(classes)):
            raise BadValue(
                f"expected probabilities with a row for each of {len(labels)} labels and a column for each of "
                f"{len(classes)} classes, got shape {table.shape}"
            )
        if predicted is not None and len(predicted) != len(labels):
            raise BadValue(f"expected a prediction for each of {len(labels)} labels, got {len(predicted)}")
        if weights is not None and len(weights) != len(labels):
            raise BadWeight(f"expected a weight for each of {len(labels)} labels, got {len(weights)}")
        weight = np.ones(len(labels)) if weights is None else np.array([_sound_weight(w) for w in weights])
        codes, answers = self._codes.insert_many(labels, predicted, classes, table)
        self._score_buffer()
        numbers = self._valid(table.T.reshape(-1)).reshape(table.T.shape)
        scores = np.zeros((len(self._codes.names), len(labels)))
        for label, column in zip(classes, numbers, strict=True):
            code = self._codes.of_class(label)
            if code != NO_LABEL:
                scores[code] += column
        self._score(codes, answers, scores, weight)

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def cumulative(self) -> Measures:
        """The measures over all events; the area under the ROC curve has the stated error."""
        self._score_buffer()
        tally = self._cumulative.copy()
        return Measures(tally, self.labels, tally.ranking)

    @property
    def windowed(self) -> Measures:
        """The measures over the newest `window` events, all of them exact."""
        self._score_buffer()
        tally, ranking = self._recent.tally(self.least_probability)
        return Measures(tally, self.labels, ranking)

    @property
    def fading(self) -> Measures:
        """The measures over all events, where an event weighs half after `half_life` further ones."""
        self._score_buffer()
        tally = self._fading.tally.copy()
        return Measures(tally, self.labels, tally.ranking, self._fading.unit)

    @property
    def blocks(self) -> Blocks | None:
        """The sums by blocks of all events so far; None without blocks."""
        self._score_buffer()
        return self._blocks

    @property
    def labels(self) -> list[Any]:
        """The labels in order of first occurrence."""
        return list(self._codes.names)

    @property
    def invalid_probabilities(self) -> int:
        """The number of invalid probabilities that counted as 0 or 1."""
        self._score_buffer()
        return self._invalid

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state: JSON values, and arrays under "arrays". `load` is the inverse."""
        self._score_buffer()
        meta = {name: getattr(self, name) for name in SETTINGS} | labels_state(self._codes)
        meta |= {
            "last": self._last,
            "place": self._fading.place,
            "invalid_probabilities": self._invalid,
        }
        arrays = tally_arrays("cumulative", self._cumulative) | tally_arrays("fading", self._fading.tally)
        return meta | {"arrays": arrays | recent_arrays(self._recent)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Load the state of losses of the same settings; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            for name in SETTINGS:
                expect(
                    state[name] == getattr(self, name),
                    f"{name} is {state[name]!r}, not {getattr(self, name)!r}",
                )
            loaded = type(self)(**{name: getattr(self, name) for name in SETTINGS})
            arrays, fading = state["arrays"], loaded._fading
            load_labels(loaded._codes, state)
            labels = len(loaded._codes.names)
            loaded._last = whole(state, "last", NO_LABEL, labels)
            fading.place = whole(state, "place", 0, fading.cycle)
            loaded._invalid = whole(state, "invalid_probabilities", 0, 2**62)
            load_tally("cumulative", loaded._cumulative, labels, arrays)
            load_tally("fading", fading.tally, labels, arrays)
            load_recent(loaded._recent, labels, arrays)
            expect(set(arrays) == set(loaded.state()["arrays"]), f"its arrays are {sorted(arrays)}")
        vars(self).update(vars(loaded) | {"_blocks": self._blocks})

    # -- scoring a batch ----------------------------------------------------------------------------------------------

    def _score_buffer(self) -> None:
        """Score the events in the buffer."""
        if not self._buffer:
            return
        codes, answers, probabilities, weights = zip(*self._buffer, strict=True)
        self._buffer.clear()
        self._score(codes, answers, self._scores_of(probabilities), np.array(weights))

    def _scores_of(self, answers: Sequence[Mapping[Any, Any]]) -> Array:
        """Return the probabilities of many predictions as a table, a row for each label, a column for
        each prediction.
        """
        of_class, labels, events = self._codes.of_class, len(self._codes.names), len(answers)
        first = list(answers[0])
        keys = list(chain.from_iterable(answers))
        lengths = list(map(len, answers))
        if keys == first * events:  # usually all predictions have the same labels
            codes = np.tile(np.array([of_class(key) for key in first], np.intp), events)
        else:
            codes = np.array([of_class(key) for key in keys], np.intp)
        numbers = self._valid(_numbers([p for answer in answers for p in answer.values()]))
        cells = codes * events + np.repeat(np.arange(events), lengths)
        possible = codes != NO_LABEL
        scores = np.zeros(labels * events)
        np.add.at(scores, cells[possible], numbers[possible])  # several labels may share one code
        return scores.reshape(labels, events)

    def _valid(self, numbers: Array) -> Array:
        """Return valid probabilities for these numbers, and count the invalid ones."""
        bad = ~((numbers >= 0.0) & (numbers <= 1.0 + SLACK))  # and so is NaN
        self._invalid += int(np.count_nonzero(bad))
        return np.where(numbers > 0.0, numbers, 0.0)

    def _score(self, codes: Sequence[int], answers: Sequence[int], scores: Array, weight: Array) -> None:
        """Score many events, in parts that fit the cache."""
        np.minimum(scores, 1.0, out=scores)  # after adding the probabilities of labels that share a code
        if len(scores) > self._cumulative.by_label.shape[1]:
            for tally in (self._cumulative, self._fading.tally, self._recent):
                tally.grow(len(scores))
        actual, answered = np.array(codes, np.intp), np.array(answers, np.intp)
        answered = np.where(answered == MOST_PROBABLE, self._most_probable(scores), answered)
        most = max(1, CELLS // max(1, len(scores)))
        for start in range(0, len(actual), most):
            stop = start + most
            part = np.ascontiguousarray(scores[:, start:stop])
            self._add(actual[start:stop], answered[start:stop], part, weight[start:stop])

    def _add(self, label: Array, predicted: Array, scores: Array, weight: Array) -> None:
        before = np.concatenate([[self._last], label[:-1]])
        majority = self._majority_before(label, weight)
        scored = Scored(
            label, predicted, weight, majority == label, before == label, scores, self.least_probability
        )
        self._last = int(label[-1])
        self._cumulative.add(scored, weight)
        self._fading.add(scored)
        self._recent.add(scored)
        if self._blocks is not None:
            self._blocks.add(scored)

    def _majority_before(self, label: Array, weight: Array) -> Array:
        """Return the label with the largest weight before each event; `NO_LABEL` before the first. Ties: first
        occurrence.
        """
        counts = np.zeros((len(self._codes.names), len(label)))
        counts[:, 0] = self._cumulative.by_label[0]
        counts[label[:-1], np.arange(1, len(label))] = weight[:-1]
        np.add.accumulate(counts, axis=1, out=counts)
        majority: Array = np.where(counts.any(axis=0), counts.argmax(axis=0), NO_LABEL)
        return majority

    def _most_probable(self, scores: Array) -> Array:
        """Return the most probable label of each prediction; `NO_LABEL` of an empty one. Ties go to the
        first by name.
        """
        order = np.array(self._codes.by_name(), np.intp)
        if not len(order):
            return np.full(scores.shape[1], NO_LABEL)
        best: Array = np.where(scores.any(axis=0), order[scores[order].argmax(axis=0)], NO_LABEL)
        return best


def _numbers(values: list[Any]) -> Array:
    if set(map(type, values)) <= {float}:
        return np.array(values, np.float64)
    return np.array([_number(value) for value in values], np.float64)


def _number(value: object) -> float:
    """Return the value as a float; NaN if it is not a number."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf


def _sound_weight(weight: object) -> float:
    sound = _number(weight)
    if not 0.0 <= sound < math.inf:
        raise BadWeight(f"a weight is a finite number of at least 0, not {weight!r}")
    return sound


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _at_least_one(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValue(f"{name} is a whole number of at least 1; got {value!r}")
    return value
