"""A shard's model: it learns into the counts of its shard, and answers from the sum of all shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stream_bayes.core.measures.number_losses import SHARES
from stream_bayes.core.values.payloads import Payload
from stream_bayes.errors import SourceError, StreamBayesError
from stream_bayes.streams.served_models.answers import (
    AnswerColumns,
    AnswerDicts,
    BatchAnswers,
    LabelProbabilities,
)
from stream_bayes.streams.served_models.learner import ServedLearner
from stream_bayes.streams.served_models.regressor import ServedRegressor
from stream_bayes.workers.answer_tape import Rows, Tape, rows_of, tape_of
from stream_bayes.workers.summable import SummedLearner
from stream_bayes.workers.total import Total

__all__ = ["NumberShardModel", "ShardModel"]

ANSWER = ("mean", "low", "high", *SHARES)  # to a question for a number; what it lacks is NaN on a tape


class ShardModel:
    """The model of one shard, as the engine serves it.

    It is replaying until `go_live`. During a replay the answers come from tapes, and the sum is left alone. Live, the
    sum answers and learns, the counts learn what the sum accepted, and the answers are recorded for `take_tape`.
    The state that the engine saves is the shard's counts.

    `learner` has no counts; it becomes the shard's. The shards of a worker share `total`.

    Attributes
    ----------
    model
        The counts of the shard.
    is_live
        True once everything was replayed.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> total = Total(NaiveBayes())
    >>> one, other = (ShardModel(number, NaiveBayes(), total) for number in (0, 1))
    >>> one.go_live(), other.go_live()
    (None, None)
    >>> one.learn({"sky": "grey"}, "rain", 1.0)
    >>> other.answer({"sky": "grey"}), other.model.predict_proba_one({"sky": "grey"})
    ({'rain': 1.0}, {})
    """

    drifts = None
    drift_state = None
    generation = 0
    is_unsupervised = False
    predicts_numbers = False
    is_timed: bool

    _serve: Callable[[Any], ServedLearner] = ServedLearner

    def __init__(self, shard: int, learner: SummedLearner, total: Total) -> None:
        self.shard = shard
        self._served = self._serve(learner)
        self._total = total
        self.name = self._served.name
        self.is_timed = self._served.is_timed
        self.model: SummedLearner = learner
        self.decide: Callable[[LabelProbabilities], Any] = total.served.decide
        self.is_live = False
        self._tape = Tape(b"")
        self._calls: list[Rows] = []

    # -- live or replaying --------------------------------------------------------------------------------------------

    def replay(self, tape: bytes) -> None:
        """Take the answers of the next batch from a tape."""
        self._tape.check_end()
        self._tape = Tape(tape)

    def go_live(self) -> None:
        """Add the shard's counts to the sum, and answer from it."""
        self._tape.check_end()
        self.is_live = True
        self._total.replace({self.shard: self.model})

    def take_tape(self) -> bytes:
        """Return the answers since the last call, to be written into the journal."""
        calls, self._calls = self._calls, []
        return tape_of(calls)

    # -- the verbs of `Served` ----------------------------------------------------------------------------------------

    def answer(self, x: Any, /) -> LabelProbabilities:
        if not self.is_live:
            rows = self._tape.next()
            _raise(rows.error())
            return rows.first()
        with self._total.lock, self._recording_refusal():
            answer: LabelProbabilities = self._total.served.answer(x)
        self._calls.append(_row(answer))
        return answer

    def hold(self, x: Any, /) -> Any:
        return x

    def learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        if not self.is_live:
            _raise(self._tape.next().error())
            self._served.learn(x, y, w, at)
            return
        with self._total.lock, self._recording_refusal():
            self._total.served.learn(x, y, w, at)
            self._add([x], [y], [w], [at])
        self._calls.append(_row({}))

    def predict_then_learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> LabelProbabilities:
        if not self.is_live:
            rows = self._tape.next()
            _raise(rows.error())
            self._served.learn(x, y, w, at)
            return rows.first()
        with self._total.lock, self._recording_refusal():
            answer: LabelProbabilities = self._total.served.predict_then_learn(x, y, w, at)
            self._add([x], [y], [w], [at])
        self._calls.append(_row(answer))
        return answer

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        ats: Sequence[float | None] | None = None,
        /,
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        times = [None] * len(xs) if ats is None else ats
        if not self.is_live:
            rows = self._tape.next()
            self._add(xs[: rows.samples], ys, ws, times)
            return self._repeated(rows), rows.error()
        with self._total.lock:
            answers, refused = self._total.served.process(xs, ys, ws, ats)
            self._add(xs[: len(answers)], ys, ws, times)
        self._calls.append(self._recorded(answers, refused))
        return answers, refused

    def _recorded(self, answers: BatchAnswers, refused: StreamBayesError | None) -> Rows:
        """Return the answers to a batch as a tape holds them."""
        assert isinstance(answers, AnswerColumns)
        return rows_of(answers.table, answers.labels, refused)

    def _repeated(self, rows: Rows) -> BatchAnswers:
        """Return the answers that a tape holds as the model gave them."""
        return rows.answers()

    def _add(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], ats: Sequence[float | None]
    ) -> None:
        """Add samples that the sum has learned to the shard's counts; those without a label were only predicted."""
        labelled = [sample for sample in zip(xs, ys, ws, ats, strict=False) if sample[1] is not None]
        if not labelled:
            return
        try:
            if len(labelled) == 1:
                self._served.learn(*labelled[0])
                return
            features, labels, weights, times = (list(column) for column in zip(*labelled, strict=True))
            self.model.learn_many(features, labels, weights, times if self.is_timed else None)
        except StreamBayesError as error:
            raise SourceError(
                f"shard {self.shard} refuses samples that the sum of all shards has learned: {error}. Declare all "
                "features in [schema.features], so that the shards agree on their kinds"
            ) from error

    def _recording_refusal(self) -> _Refusals:
        return _Refusals(self._calls)

    @property
    def clock(self) -> int | None:
        return self._served.clock

    def content(self, x: Any) -> Payload:
        return self._served.content(x)

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        # The shard decides: a sample that is corrected was learned here. So a replay needs no tape.
        with self._total.lock:
            self._served.relearn(content, was, y, w, clock)
            if self.is_live:
                self._total.served.relearn(content, was, y, w, clock)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        with self._total.lock:
            self._served.unlearn(content, y, w, clock)
            if self.is_live:
                self._total.served.unlearn(content, y, w, clock)

    def work(self) -> bool:
        return self._served.work()

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        return "the counts of a shard are a part of a sum, which other workers hold"

    def settings(self) -> dict[str, Any]:
        return self._served.settings()

    def freeze(self) -> Callable[[], dict[str, Any]]:
        return self._served.freeze()

    def load(self, state: Mapping[str, Any]) -> None:
        self._served.load(state)
        self.model = self._served.model


class NumberShardModel(ShardModel):
    """The model of one shard of a learner of numbers: its sums are the counts, and a row of its tape has the mean and
    the ends of the interval.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression, Numeric, Schema
    >>> total = Total(BayesianRegression(schema=Schema({"wind": Numeric()})))
    >>> one, other = (NumberShardModel(number, total.clone(), total) for number in (0, 1))
    >>> one.go_live(), other.go_live()
    (None, None)
    >>> for k in range(8):
    ...     one.learn({"wind": k}, 3.0 * k, 1.0)
    >>> round(other.answer({"wind": 4})["mean"])
    12
    """

    predicts_numbers = True
    has_targets = False
    _serve = ServedRegressor

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self._total.served.level

    def read_label(self, y: Any, /) -> float:
        return self._total.served.read_label(y)

    def _recorded(self, answers: BatchAnswers, refused: StreamBayesError | None) -> Rows:
        rows = [[answer.get(name, np.nan) for name in ANSWER] for answer in answers.named(str)]
        return rows_of(np.array(rows, np.float64).reshape(len(rows), len(ANSWER)), list(ANSWER), refused)

    def _repeated(self, rows: Rows) -> BatchAnswers:
        return AnswerDicts(rows.answers().named(str))


class _Refusals:
    """Records an error of the model on the tape, and lets it pass."""

    def __init__(self, calls: list[Rows]) -> None:
        self._calls = calls

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StreamBayesError):
            self._calls.append(rows_of(np.zeros((0, 0)), [], error))


def _row(answer: LabelProbabilities) -> Rows:
    return rows_of(np.array([list(answer.values())], np.float64), list(answer))


def _raise(error: StreamBayesError | None) -> None:
    if error is not None:
        raise error
