"""Labels as numbers, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import OTHER, Value, canonical_label, name_order

__all__ = ["MOST_PROBABLE", "NO_LABEL", "UNDECIDED", "LabelCodes"]

Array = NDArray[Any]
CodeList = list[int]

NO_LABEL = -1  # the code of an event without prediction
MOST_PROBABLE = -2  # the most probable label, until the probabilities are read
UNDECIDED = -3  # the code of an answer that is no label, such as "unsure"


class LabelCodes:
    """The codes of labels: 0 for the first label, 1 for the next.

    A label gets a code when it is a true label, a prediction, or has a probability above 0, in this order within an
    event. An answer without a probability, such as "unsure", is not a label and gets none. A value that cannot be a
    label raises `BadLabel`, and no label of its event gets a code. Past `most` labels, further ones share a code, named
    `<other>`.

    Examples
    --------
    >>> codes = LabelCodes(most=2)
    >>> codes.insert("rain", None, {"rain": 0.5, "sun": 0.5, "fog": 0.0})
    (0, -1)
    >>> codes.insert("snow", "sun", {})
    (2, 1)
    >>> codes.names
    ['rain', 'sun', <other>]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.names: list[Any] = []  # values, and OTHER
        self.code_of: dict[Any, int] = {}  # the codes of labels that share none
        self.rest = NO_LABEL  # the code that further labels share, once there are any

    def insert(self, label: Any, predicted: Any, probabilities: Mapping[Any, Any]) -> tuple[int, int]:
        """Return the codes of an event's label and prediction, which is a label, a decision, None, or `...` for the
        most probable label.
        """
        label = canonical_label(label)
        answer = predicted if predicted is None or predicted is ... else canonical_label(predicted)
        possible = [canonical_label(key) for key, p in probabilities.items() if _is_possible(p)]
        is_label = answer in self.code_of or answer == label or not possible or answer in probabilities
        code = self._code(label)
        if answer is None or answer is ...:
            answered = NO_LABEL if answer is None else MOST_PROBABLE
        else:
            answered = self._code(answer) if is_label else UNDECIDED
        for key in possible:
            self._code(key)
        return code, answered

    def insert_many(
        self, labels: Sequence[Any], answers: Sequence[Any] | None, classes: Sequence[Any], table: Array
    ) -> tuple[CodeList, CodeList]:
        """Insert the labels of many events. The table has a row of probabilities for each event, a column for each
        class.
        """
        predicted = [...] * len(labels) if answers is None else answers
        possible = [
            int(np.argmax(table[:, column] > 0.0))
            for column, label in enumerate(classes)
            if not self._has_code(label) and (table[:, column] > 0.0).any()
        ]
        new = {event for event, label in enumerate(labels) if not self._has_code(label)} | set(possible)
        if answers is not None:
            new |= {
                event
                for event, answer in enumerate(answers)
                if answer is not None and not self._has_code(answer)
            }
        for event in new:  # raise before any label gets a code
            canonical_label(labels[event])
            if predicted[event] is not None and predicted[event] is not ...:
                canonical_label(predicted[event])
        inserted = {
            event: self.insert(
                labels[event], predicted[event], dict(zip(classes, table[event].tolist(), strict=True))
            )
            for event in sorted(new)
        }
        code_of = self.code_of
        codes = [
            inserted[event][0] if event in inserted else code_of[label] for event, label in enumerate(labels)
        ]
        if answers is None:
            return codes, [MOST_PROBABLE] * len(codes)
        answered = [
            inserted[event][1] if event in inserted else NO_LABEL if answer is None else code_of[answer]
            for event, answer in enumerate(answers)
        ]
        return codes, answered

    def has_room_for(self, *labels: Sequence[Any]) -> bool:
        """Return True if none of these labels would have to share a code."""
        if self.rest != NO_LABEL:
            return all(map(self._has_code, chain(*labels)))
        if len(self.code_of) + sum(map(len, labels)) <= self.most:
            return True
        return len(self.code_of.keys() | {canonical_label(label) for label in chain(*labels)}) <= self.most

    def _has_code(self, label: Any) -> bool:
        try:
            return label in self.code_of
        except TypeError:
            return False

    def of_class(self, label: Any) -> int:
        """Return the code of a label; `NO_LABEL` if it never had a probability above 0."""
        return self.code_of.get(label, self.rest)

    def by_name(self) -> CodeList:
        """Return all codes in the order of their labels, the shared one last."""
        codes = sorted(self.code_of.values(), key=lambda code: name_order(self.names[code]))
        return codes if self.rest == NO_LABEL else [*codes, self.rest]

    def _code(self, label: Value) -> int:
        code = self.code_of.get(label)
        if code is not None:
            return code
        if len(self.code_of) < self.most:
            self.names.append(label)
            self.code_of[label] = len(self.code_of)
            return len(self.code_of) - 1
        if self.rest == NO_LABEL:
            self.names.append(OTHER)
            self.rest = self.most
        return self.rest


def _is_possible(probability: object) -> bool:
    return isinstance(probability, Real) and bool(probability > 0)  # type: ignore[operator]  # reals have an order
