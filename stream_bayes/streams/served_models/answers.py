"""The answers of a model to a batch of samples: a table of probabilities, or a dict for each sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.readings._reading import AnswerTable
from stream_bayes.core.values.values import name_order
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base.class_probabilities import most_probable

__all__ = ["AnswerColumns", "AnswerDicts", "BatchAnswers", "LabelProbabilities", "process_one_by_one"]

LabelProbabilities: TypeAlias = Mapping[Any, float]  # the probability of each label
Decide: TypeAlias = Callable[[LabelProbabilities], Any]


class BatchAnswers(Protocol):
    """The answers to a batch of samples."""

    def __len__(self) -> int: ...

    def named(self, name: Callable[[Any], str], /) -> list[Mapping[str, float]]:
        """Return `{name: probability}` for each sample; `name` maps a label to its name."""
        ...

    def decide(self, decide: Decide, /) -> list[Any]:
        """Return the decision for each sample."""
        ...

    def newest(self, number: int, /) -> BatchAnswers:
        """Return the last answers alone."""
        ...

    def score(self, losses: Any, labels: Sequence[Any], weights: Sequence[float], /) -> None:
        """Score those whose label is not None, in their order."""
        ...


class AnswerColumns:
    """Answers of a learner of this package: a table with a row for each sample. `labels` has the label of each code.

    Attributes
    ----------
    table
        The probabilities: a row for each sample, a column for each label. NaN: the class was not live.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.learners.base.class_probabilities import most_probable
    >>> from stream_bayes.streams.served_models.served import served
    >>> answers, refused = served(NaiveBayes()).process([{}, {}], ["rain", None], [1.0, 1.0])
    >>> answers.named(str), answers.decide(most_probable), refused
    ([{}, {'rain': 1.0}], [None, 'rain'], None)
    >>> answers.newest(1).named(str)
    [{'rain': 1.0}]
    """

    def __init__(self, answers: AnswerTable, labels: Sequence[Any]) -> None:
        self._answers = answers
        table = np.asarray(answers.table)[: answers.rows]
        self.labels = list(labels)[: table.shape[1]]
        self.table = table[:, : len(self.labels)]

    def __len__(self) -> int:
        return len(self.table)

    def named(self, name: Callable[[Any], str], /) -> list[Mapping[str, float]]:
        return self._answers.by_name(list(map(name, self.labels)))

    def decide(self, decide: Decide, /) -> list[Any]:
        if decide is not most_probable:
            return list(map(decide, self._answers.by_name(self.labels)))
        if not self.labels:
            return [None] * len(self)
        # In the order of names, so that the first of equals wins.
        order = sorted(range(len(self.labels)), key=lambda code: name_order(self.labels[code]))
        ordered = np.nan_to_num(self.table[:, order], nan=-1.0)
        best = ordered.argmax(axis=1)
        best[ordered.max(axis=1) < 0.0] = len(order)
        decisions = [*(self.labels[code] for code in order), None]
        return [decisions[rank] for rank in best.tolist()]

    def newest(self, number: int, /) -> AnswerDicts:
        rows = self.table[max(0, len(self) - number) :].tolist()
        # NaN differs from itself.
        return AnswerDicts(
            [{label: p for label, p in zip(self.labels, row, strict=True) if p == p} for row in rows]
        )

    def score(self, losses: Losses, labels: Sequence[Any], weights: Sequence[float], /) -> None:
        table = np.nan_to_num(self.table, nan=0.0)
        if None in labels:
            rows = [row for row, label in enumerate(labels) if label is not None]
            labels, weights, table = (
                [labels[row] for row in rows],
                [weights[row] for row in rows],
                table[rows],
            )
        if labels:
            same = weights.count(1.0) == len(weights)
            losses.update_many(labels, self.labels, table, None, None if same else weights)


class AnswerDicts:
    """Answers with a dict for each sample."""

    def __init__(self, answers: Sequence[LabelProbabilities]) -> None:
        self._answers = answers

    def __len__(self) -> int:
        return len(self._answers)

    def named(self, name: Callable[[Any], str], /) -> list[Mapping[str, float]]:
        return [{name(label): p for label, p in answer.items()} for answer in self._answers]

    def decide(self, decide: Decide, /) -> list[Any]:
        return list(map(decide, self._answers))

    def newest(self, number: int, /) -> AnswerDicts:
        return AnswerDicts(self._answers[max(0, len(self) - number) :])

    def score(self, losses: Losses, labels: Sequence[Any], weights: Sequence[float], /) -> None:
        for label, answer, weight in zip(labels, self._answers, weights, strict=True):
            if label is not None:
                losses.update(label, answer, ..., weight)


def process_one_by_one(
    answer: Callable[[Any], LabelProbabilities],
    predict_then_learn: Callable[..., LabelProbabilities],
    xs: Sequence[Any],
    ys: Sequence[Any],
    ws: Sequence[float],
    ats: Sequence[float | None] | None = None,
    is_last: Callable[[], bool] = lambda: False,
    *,
    learns_unlabelled: bool = False,
) -> tuple[AnswerDicts, StreamBayesError | None]:
    """Predict and learn samples up to one that is refused, or until `is_last`; with `ats`, each at its time.

    Those without a label are only predicted, unless the model learns from them.
    """
    answers: list[LabelProbabilities] = []
    columns = (xs, ys, ws) if ats is None else (xs, ys, ws, ats)
    try:
        for x, y, *rest in zip(*columns, strict=True):
            answers.append(
                answer(x) if y is None and not learns_unlabelled else predict_then_learn(x, y, *rest)
            )
            if is_last():
                break
    except StreamBayesError as error:
        return AnswerDicts(answers), error
    return AnswerDicts(answers), None
