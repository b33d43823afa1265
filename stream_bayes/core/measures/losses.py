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
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.bootstrap import Blocks
from stream_bayes.core.measures.classification_measures import Measures
from stream_bayes.core.measures.label_codes import MOST_PROBABLE, NO_LABEL, UNDECIDED, LabelCodes
from stream_bayes.core.measures.scored_window import ScoredWindow
from stream_bayes.core.measures.state import (
    label_weights,
    labels_state,
    load_labels,
    load_recent,
    load_tally,
    recent_arrays,
    tally_arrays,
    whole,
)
from stream_bayes.core.measures.tally import FadingTally, Scored, Tally
from stream_bayes.core.values._weights import MOST_WEIGHT
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import canonical_label, name_order, tagged_many, untagged_many
from stream_bayes.errors import BadValue, BadWeight

__all__ = ["Losses"]

Array = NDArray[Any]

SETTINGS = ("window", "half_life", "least_probability", "max_labels")

BATCH = 1024  # events scored together
CELLS = 16_384  # probabilities scored together: more do not fit the processor's cache
SLACK = 1e-9  # rounding by which normalised probabilities may exceed 1


class Unlisted(NamedTuple):
    """The figures of an event with labels past the limit, which share a code."""

    label: Any
    predicted: int
    right: bool
    chance: float
    confidence: float
    # The part of the Brier score that the labels past the limit add. The fields before are as in `Scored`.
    brier: float


class Losses:
    """Losses of a stream's predictions: cumulative, over a window, and fading.

    An event takes about 1.5 microseconds with two labels and 3.5 with twenty, and half of that in `update_many`.
    Memory: 50 kB a label, and a buffer of 1024 events. The state depends on the sequence of events alone, not on when
    measures are read or how events are batched.

    An event without an answer, as of a learner that has learned nothing yet, is in no measure; `unanswered` counts
    these. River skips them, too. A label missing from a prediction has probability 0, and a true label with
    probability 0 counts as `least_probability` in the log-loss. A true label that has never come before is another
    case, for no model can name it: without a probability it counts as 1 / (k + 1) after k labels, in the log-loss
    alone and for every model alike. A probability that is negative or not a number counts
    as 0, one above 1 as 1; `invalid_probabilities` counts these. An answer that the probabilities do not list, such as
    "unsure", is not a label: it is not right, and in no table by label; `Measures.undecided` is its share.

    `window` is the number of events of the windowed measures. After `half_life` events, at least 1, an event weighs
    half in the fading measures. `least_probability` is the lower limit of the true label's probability in the log-loss,
    which would be infinite at 0: no event costs more than -log of it, 34.5 by default. `blocks` also sum the events,
    for confidence intervals; they are not part of the state.

    `max_labels` is the most labels with rows of their own in the tables by label (F1, ROC AUC); further labels share
    one row, `<other>`; see `has_further_labels`. Accuracy, log-loss and Brier score are of the labels themselves,
    whatever their number; but a further label without a probability counts as one that never came. The majority and
    Cohen's chance are never one of the further labels.

    Attributes
    ----------
    invalid_probabilities
        The number of invalid probabilities that counted as 0 or 1.
    unanswered
        The number of events without an answer, which were not scored.

    Examples
    --------
    >>> losses = Losses()
    >>> losses.update("rain", {})
    >>> losses.update("rain", {"rain": 1.0})
    >>> losses.update("sun", {"rain": 0.75, "sun": 0.25})
    >>> losses.update("sun", {"rain": 0.5, "sun": 0.5}, predicted="sun")
    >>> measures = losses.cumulative
    >>> measures.accuracy, measures.majority_accuracy, losses.unanswered
    (0.666..., 0.333..., 1)
    >>> losses.windowed.accuracy, losses.fading.weight
    (0.666..., 2.99...)
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
        self._buffer: list[tuple[int, int, Mapping[Any, Any], float, Unlisted | None]] = []
        self._invalid = 0
        self._unanswered = 0
        self._last: Any = None  # the previous label
        self._label_weight = np.zeros(0)  # of each label, answered or not
        self._cumulative = Tally()
        self._fading = FadingTally(self.half_life)
        self._recent = ScoredWindow(self.window)

    # -- scoring ------------------------------------------------------------------------------------------------------

    def update(
        self, label: Any, probabilities: Mapping[Any, Any], predicted: Any = ..., weight: float = 1.0
    ) -> None:
        """Score one prediction. The probabilities are read later, so do not change them. `predicted` is None if there
        is none. If not given, it is the most probable label; ties go to the first by name. The event counts as `weight`
        events.
        """
        if weight != 1.0:
            weight = _sound_weight(weight)
        code_of = self._codes.code_of
        try:
            code = code_of[label]
            answer = MOST_PROBABLE if predicted is ... else code_of[predicted]
            new = not probabilities.keys() <= code_of.keys()
        except (KeyError, TypeError):
            new = True
        unlisted = None
        if new:
            code, answer = self._codes.insert(label, predicted, probabilities)
            if self._codes.rest != NO_LABEL:
                unlisted = self._past_the_limit(label, answer, predicted, probabilities)
        self._buffer.append((code, answer, probabilities, weight, unlisted))
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
        """Score many predictions, with the same result as one by one. `classes` has the label of each column of
        `probabilities`. A row of zeros is an empty prediction. If not given, the predicted labels are the most probable
        ones, and the weights 1 each.
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
        if not len(labels):
            return
        possible = [label for label, column in zip(classes, table.T, strict=True) if (column > 0.0).any()]
        answered = () if predicted is None else [answer for answer in predicted if answer not in (None, ...)]
        if not self._codes.has_room_for(labels, answered, possible):
            for event, label in enumerate(labels):
                answer = ... if predicted is None else predicted[event]
                row = _summed(classes, table[event].tolist())
                self.update(label, row, answer, float(weight[event]))
            return
        codes, answers = self._codes.insert_many(labels, predicted, classes, table)
        self._score_buffer()
        numbers = self._valid(table.T.reshape(-1)).reshape(table.T.shape)
        scores = np.zeros((len(self._codes.names), len(labels)))
        for label, column in zip(classes, numbers, strict=True):
            code = self._codes.of_class(label)
            if code != NO_LABEL:
                scores[code] += column
        self._score(codes, answers, scores, weight, {})

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

    def confusion(self) -> dict[tuple[Any, Any], float]:
        """Return the weight of each pair of label and prediction among the newest `window` events.

        The prediction is None where there was no label among the answers, as for "unsure".

        Examples
        --------
        >>> losses = Losses()
        >>> for label, share in [("rain", 0.8), ("rain", 0.3), ("sun", 0.1)]:
        ...     losses.update(label, {"rain": share, "sun": 1.0 - share})
        >>> losses.confusion()
        {('rain', 'rain'): 1.0, ('rain', 'sun'): 1.0, ('sun', 'sun'): 1.0}
        """
        self._score_buffer()
        columns = self._recent.in_order()
        names = [*self._codes.names, None]
        size = len(names)
        predicted = np.where(columns["predicted"] < 0, size - 1, columns["predicted"])
        cells = np.bincount(columns["label"] * size + predicted, columns["weight"], size * size)
        pairs = ((names[cell // size], names[cell % size]) for cell in range(size * size))
        return {pair: weight for pair, weight in zip(pairs, cells.tolist(), strict=True) if weight > 0.0}

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

    @property
    def has_further_labels(self) -> bool:
        """True if labels past `max_labels` share a row of the tables by label."""
        return self._codes.rest != NO_LABEL

    @property
    def unanswered(self) -> int:
        """The number of events without an answer, which were not scored."""
        self._score_buffer()
        return self._unanswered

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state: JSON values, and arrays under "arrays". `load` is the inverse."""
        self._score_buffer()
        meta = {name: getattr(self, name) for name in SETTINGS} | labels_state(self._codes)
        meta |= {
            "last": [] if self._last is None else tagged_many([self._last]),
            "place": self._fading.position,
            "invalid_probabilities": self._invalid,
            "unanswered": self._unanswered,
        }
        arrays = (
            {"label_weight": self._label_weight.copy()}
            | tally_arrays("cumulative", self._cumulative)
            | tally_arrays("fading", self._fading.tally)
        )
        return meta | {"arrays": arrays | recent_arrays(self._recent)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Load the state of losses of the same settings; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            for name in SETTINGS:
                expect(
                    state[name] == getattr(self, name),
                    f"{name} is {state[name]!r}, not {getattr(self, name)!r}",
                )
            loaded: Losses = type(self)(**{name: getattr(self, name) for name in SETTINGS})
            arrays, fading = state["arrays"], loaded._fading
            load_labels(loaded._codes, state)
            labels = len(loaded._codes.names)
            last = untagged_many(state["last"])
            expect(len(last) <= 1, "last is more than one label")
            loaded._last = last[0] if last else None
            loaded._unanswered = whole(state, "unanswered", 0, 2**62)
            loaded._label_weight = label_weights(arrays, labels)
            fading.position = whole(state, "place", 0, fading.cycle)
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
        codes, answers, probabilities, weights, unlisted = zip(*self._buffer, strict=True)
        self._buffer.clear()
        further = {event: one for event, one in enumerate(unlisted) if one is not None}
        self._score(codes, answers, self._scores_of(probabilities), np.array(weights), further)

    def _past_the_limit(
        self, label: Any, answer: int, predicted: Any, probabilities: Mapping[Any, Any]
    ) -> Unlisted | None:
        """Return the figures of an event with labels past the limit; None if it has none."""
        code_of, rest = self._codes.code_of, self._codes.rest
        chances = _summed(probabilities, map(_valid, probabilities.values()))
        actual = canonical_label(label)
        answered = predicted
        if answer == MOST_PROBABLE:
            best = max(chances.values(), default=0.0)
            top = [name for name, p in chances.items() if p == best]
            answered = min(top, key=name_order) if best > 0.0 else None
        elif answer in (NO_LABEL, UNDECIDED):
            answered = None
        further = [p for name, p in chances.items() if name not in code_of]
        if actual in code_of and (answered is None or answered in code_of) and not any(further):
            return None
        code = UNDECIDED if answer == UNDECIDED else NO_LABEL
        if answered is not None:
            code = code_of.get(answered, rest)
        chance, brier = chances.get(actual, 0.0), math.fsum(p * p for p in further)
        return Unlisted(
            actual,
            code,
            answered is not None and answered == actual,
            chance,
            chances.get(answered, 0.0),
            brier if actual in code_of else brier + 1.0 - 2.0 * chance,
        )

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

    def _score(
        self,
        codes: Sequence[int],
        answers: Sequence[int],
        scores: Array,
        weight: Array,
        further: Mapping[int, Unlisted],
    ) -> None:
        """Score many events, in parts that fit the cache."""
        np.minimum(scores, 1.0, out=scores)  # after adding the probabilities of labels that share a code
        if len(scores) > self._cumulative.by_label.shape[1]:
            for tally in (self._cumulative, self._fading.tally, self._recent):
                tally.grow(len(scores))
            self._label_weight = np.pad(self._label_weight, (0, len(scores) - len(self._label_weight)))
        actual, answered = np.array(codes, np.intp), np.array(answers, np.intp)
        answered = np.where(answered == MOST_PROBABLE, self._most_probable(scores), answered)
        has_answer = (answered != NO_LABEL) | scores.any(axis=0)
        self._unanswered += int(np.count_nonzero(~has_answer))
        identity, before = self._identities(actual, further)
        most = max(1, CELLS // max(1, len(scores)))
        for start in range(0, len(actual), most):
            some = slice(start, min(start + most, len(actual)))
            label, some_scores = actual[some], np.ascontiguousarray(scores[:, some])
            majority = self._majority_before(label, weight[some])
            columns = self._figures(label, answered[some], some_scores)
            for event in range(some.start, some.stop) if further else ():
                if event in further:
                    _correct(columns, event - start, further[event])
            self._give_new_labels_a_chance(label, weight[some], columns["chance"], has_answer[some])
            np.add.at(self._label_weight, label, weight[some])
            self._add(
                Scored(
                    label=label,
                    weight=np.where(has_answer[some], weight[some], 0.0),
                    majority=majority == label,
                    no_change=identity[some] == before[some],
                    scores=some_scores,
                    least_probability=self.least_probability,
                    **columns,
                )
            )

    def _identities(self, actual: Array, further: Mapping[int, Unlisted]) -> tuple[Array, Array]:
        """Return a number for each event's label, another for each label; and that of the label before."""
        code_of, names = self._codes.code_of, self._codes.names
        identity, numbers = actual.copy(), {}
        last = NO_LABEL if self._last is None else code_of.get(self._last, len(names))
        if last == len(names):
            numbers[self._last] = last
        for event, one in further.items():
            if one.label not in code_of:
                identity[event] = numbers.setdefault(one.label, len(names) + len(numbers))
        end = len(actual) - 1
        self._last = further[end].label if end in further else names[actual[end]]
        return identity, np.concatenate([[last], identity[:-1]])

    def _figures(self, label: Array, predicted: Array, scores: Array) -> dict[str, Array]:
        """Return the columns of a `Scored` that depend on predictions, as if every label had a code of its own."""
        events = np.arange(len(label))
        brier = np.zeros(len(label))
        for code, row in enumerate(scores):
            if code != self._codes.rest:
                distance = row - (label == code)
                brier += distance * distance
        return {
            "predicted": predicted,
            "right": label == predicted,
            "chance": scores[label, events],
            "confidence": np.where(predicted < 0, 0.0, scores[np.maximum(predicted, 0), events]),
            "brier": brier,
        }

    def _give_new_labels_a_chance(
        self, label: Array, weight: Array, chance: Array, has_answer: Array
    ) -> None:
        """Set the probability of true labels that never came before and have none: 1 / (k + 1) after k labels."""
        for event in np.flatnonzero(has_answer & (chance == 0.0)).tolist():
            came = self._label_weight > 0.0
            came[label[:event][weight[:event] > 0.0]] = True
            if not came[label[event]] or label[event] == self._codes.rest:
                chance[event] = 1.0 / (1.0 + np.count_nonzero(came))

    def _add(self, scored: Scored) -> None:
        self._cumulative.add(scored, scored.weight)
        self._fading.add(scored)
        self._recent.add(scored)
        if self._blocks is not None:
            self._blocks.add(scored)

    def _majority_before(self, label: Array, weight: Array) -> Array:
        """Return the label with the largest weight before each event; `NO_LABEL` before the first. Ties: first
        occurrence.
        """
        counts = np.zeros((len(self._codes.names), len(label)))
        counts[:, 0] = self._label_weight
        counts[label[:-1], np.arange(1, len(label))] = weight[:-1]
        np.add.accumulate(counts, axis=1, out=counts)
        if self._codes.rest != NO_LABEL:
            counts[self._codes.rest] = 0.0  # several labels
        return np.where(counts.any(axis=0), counts.argmax(axis=0), NO_LABEL)

    def _most_probable(self, scores: Array) -> Array:
        """Return the most probable label of each prediction; `NO_LABEL` of an empty one. Ties go to the
        first by name.
        """
        order = np.array(self._codes.by_name(), np.intp)
        if not len(order):
            return np.full(scores.shape[1], NO_LABEL)
        return np.where(scores.any(axis=0), order[scores[order].argmax(axis=0)], NO_LABEL)


def _numbers(values: list[Any]) -> Array:
    if set(map(type, values)) <= {float}:
        return np.array(values, np.float64)
    return np.array([_number(value) for value in values], np.float64)


def _correct(columns: dict[str, Array], event: int, one: Unlisted) -> None:
    """Write the figures of an event with labels past the limit."""
    columns["predicted"][event] = one.predicted
    columns["right"][event] = one.right
    columns["chance"][event] = one.chance
    columns["confidence"][event] = one.confidence
    columns["brier"][event] += one.brier


def _valid(value: object) -> float:
    """Return a probability between 0 and 1 for a value."""
    number = _number(value)
    return min(number, 1.0) if number > 0.0 else 0.0


def _summed(labels: Iterable[Any], numbers: Iterable[float]) -> dict[Any, float]:
    """Return the number of each label; a repeated label has the sum."""
    sums: dict[Any, float] = {}
    for label, number in zip(labels, numbers, strict=True):
        name = canonical_label(label) if number > 0.0 else label
        sums[name] = sums[name] + number if name in sums else number
    return sums


def _number(value: object) -> float:
    """Return the value as a float; NaN if it is not a number."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf


def _sound_weight(weight: object) -> float:
    sound = _number(weight)
    if not 0.0 <= sound <= MOST_WEIGHT:
        raise BadWeight(f"a weight is a number of at least 0 and of at most 2**53, not {weight!r}")
    return sound


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _at_least_one(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValue(f"{name} is a whole number of at least 1; got {value!r}")
    return value
