"""Labels as numbers, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import OTHER, Value, canonical_label, name_order

__all__ = ["MOST_PROBABLE", "NO_LABEL", "LabelCodes"]

Array = NDArray[Any]
Codes = list[int]

NO_LABEL = -1  # the code of an event without prediction
MOST_PROBABLE = -2  # stands for the most probable label until the probabilities are read


class LabelCodes:
    """The codes of labels: 0 for the first label, 1 for the next.

    A label gets a code when it is a true label, a prediction, or has a probability above 0, in this order within an
    event. A value that cannot be a label raises `BadLabel`, and no label of its event gets a code.

    Parameters
    ----------
    most
        The most labels with a code of their own; further labels share one, named `<other>`.

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
        self.own: dict[Any, int] = {}  # the codes of labels that share none
        self.rest = NO_LABEL  # the code that further labels share, once there are any

    def insert(self, label: Any, predicted: Any, probabilities: Mapping[Any, Any]) -> tuple[int, int]:
        """Return the codes of an event's label and prediction, which is a label, None, or `...` for the
        most probable.
        """
        own = self.own
        label = canonical_label(label)
        predicted = _canonical_answer(predicted)
        possible = [
            canonical_label(key) for key, p in probabilities.items() if key not in own and _is_possible(p)
        ]
        codes = self._code(label), self._answer(predicted)
        for key in possible:
            self._code(key)
        return codes

    def insert_many(
        self, labels: Sequence[Any], answers: Sequence[Any] | None, classes: Sequence[Any], table: Array
    ) -> tuple[Codes, Codes]:
        """Insert the labels of many events. The table has a row of probabilities for each event, a column for each
        class.
        """
        own = self.own
        new = [
            column
            for column, label in enumerate(classes)
            if label not in own and (table[:, column] > 0.0).any()
        ]
        if not new:
            try:
                codes = [own[label] for label in labels]
                return codes, [MOST_PROBABLE] * len(codes) if answers is None else [own[a] for a in answers]
            except (KeyError, TypeError):  # a new label, or None
                pass
        labels = [canonical_label(label) for label in labels]
        answers = [...] * len(labels) if answers is None else [_canonical_answer(label) for label in answers]
        possible: dict[int, list[Value]] = {}  # the labels that are possible for the first time, by event
        for column in new:
            event = int(np.argmax(table[:, column] > 0.0))
            possible.setdefault(event, []).append(canonical_label(classes[column]))
        actual, answered = [], []
        for event, (label, answer) in enumerate(zip(labels, answers, strict=True)):
            actual.append(self._code(label))
            answered.append(self._answer(answer))
            for key in possible.get(event, ()):
                self._code(key)
        return actual, answered

    def of_class(self, label: Any) -> int:
        """Return the code of a label; `NO_LABEL` if it never had a probability above 0."""
        return self.own.get(label, self.rest)

    def by_name(self) -> Codes:
        """Return all codes in the order of their labels, the shared one last."""
        own = sorted(self.own.values(), key=lambda code: name_order(self.names[code]))
        return own if self.rest == NO_LABEL else [*own, self.rest]

    def _answer(self, label: Any) -> int:
        if label is None:
            return NO_LABEL
        return MOST_PROBABLE if label is ... else self._code(label)

    def _code(self, label: Value) -> int:
        code = self.own.get(label)
        if code is not None:
            return code
        if len(self.own) < self.most:
            self.names.append(label)
            self.own[label] = len(self.own)
            return len(self.own) - 1
        if self.rest == NO_LABEL:
            self.names.append(OTHER)
            self.rest = self.most
        return self.rest


def _canonical_answer(label: Any) -> Any:
    return label if label is None or label is ... else canonical_label(label)


def _is_possible(probability: object) -> bool:
    return isinstance(probability, Real) and bool(probability > 0)  # type: ignore[operator]  # reals have an order
