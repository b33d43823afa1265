"""Sink: the destination of results (predictions, dead letters, drift entries), committed in batches.

    begin -> write, write, ... -> commit     the outputs of one batch of events, all of them or none
                               -> abort
    sync                                     before a snapshot, between batches

After a crash a sink is cut back to its length in the last snapshot, and the events after it are replayed: so each event
has one output. Where a sink cannot be cut back, outputs come at least once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from stream_bayes.core.events.event import Position, Slice

__all__ = [
    "SCHEMA_VERSION",
    "DeadLetter",
    "DriftEntry",
    "IntervalOutput",
    "IntervalSetOutput",
    "ModelVersion",
    "NumberOutput",
    "Output",
    "RecordResult",
    "ReplaceableSink",
    "Result",
    "ScoredOutput",
    "SetOutput",
    "Sink",
    "TargetsOutput",
]

SCHEMA_VERSION = 1  # of outputs and dead letters, so that readers can detect a later one


class ModelVersion(msgspec.Struct, frozen=True, gc=False):
    """The model that made a prediction."""

    name: str  # of the pipeline
    generation: int  # how many times the model was replaced by a better one
    configuration: str  # a digest


class RecordResult(msgspec.Struct, frozen=True, gc=False):
    """The fields that every result begins with: the record that it belongs to."""

    key: Any
    source: str
    partition: int
    position: Position
    time: float | None


class Output(RecordResult, frozen=True, gc=False):
    """The prediction for one event.

    Parameters
    ----------
    key, source, partition, position, time
        As in `RecordResult`.
    prediction
        The most probable label; None before anything is learned.
    probabilities
        `{label: probability}`. A label that cannot be a name in JSON, such as a number, stands as its JSON text.
    model
        The model that predicted.
    version
        `SCHEMA_VERSION`.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> outputs = []
    >>> result = streams.run(days, NaiveBayes(), predictions=streams.CallableSink(outputs.extend))
    >>> outputs[10].position, outputs[10].prediction
    (10, 'rain')
    """

    prediction: Any
    probabilities: Mapping[str, Any]
    model: ModelVersion
    version: int = SCHEMA_VERSION


class ScoredOutput(Output, frozen=True, gc=False):
    """The answer of a network without a class to one event: its score, and the variables that it was to predict.

    Parameters
    ----------
    key, source, partition, position, time, model, version
        As in `Output`.
    prediction
        The most probable value of the variable to predict; of several, `{variable: value}`; None if there is none.
    probabilities
        `{value: probability}` of that variable; of several, `{variable: {value: probability}}`.
    score
        The surprise of the event in nats: minus its log-likelihood before it was learned. None if it was impossible, or
        if exact inference would have needed more memory than the budget: the log warns of the first.
    novel
        The variables whose value was never learned before.
    p_value
        The probability that a usual event scores at least as high, by the scores of the newest 1,000 events before it.
        None without a score.

    Examples
    --------
    >>> from stream_bayes.streams import ScoredOutput
    >>> output = ScoredOutput("day-7", "days", 0, 7, None, "rain", {"rain": 0.9}, None, score=3.2, novel=["sky"])
    >>> output.prediction, output.score, output.novel
    ('rain', 3.2, ['sky'])
    """

    score: float | None = None
    novel: Sequence[str] = ()
    p_value: float | None = None


class IntervalOutput(Output, frozen=True, gc=False):
    """The prediction for one event, with the credible interval of each probability.

    Parameters
    ----------
    key, source, partition, position, time, prediction, probabilities, model, version
        As in `Output`.
    intervals
        `{label: (low, high)}`, with the names of `probabilities`.

    Examples
    --------
    >>> from stream_bayes.streams import IntervalOutput
    >>> IntervalOutput("k", "days", 0, 7, None, "rain", {"rain": 0.9}, None, intervals={"rain": (0.7, 1.0)}).intervals
    {'rain': (0.7, 1.0)}
    """

    intervals: Mapping[str, tuple[float, float]] = {}


class SetOutput(Output, frozen=True, gc=False):
    """The prediction for one event, with sets of labels.

    Parameters
    ----------
    key, source, partition, position, time, prediction, probabilities, model, version
        As in `Output`.
    sets
        `{coverage: labels}`: by each share of events, as text, the labels of a set that holds the true one in this
        share, the most probable first.

    Examples
    --------
    >>> from stream_bayes.streams import SetOutput
    >>> SetOutput("k", "days", 0, 7, None, "rain", {"rain": 0.9}, None, sets={"0.9": ["rain", "sun"]}).sets
    {'0.9': ['rain', 'sun']}
    """

    sets: Mapping[str, Sequence[Any]] = {}


class IntervalSetOutput(SetOutput, frozen=True, gc=False):
    """The prediction for one event, with sets of labels and the credible interval of each probability.

    Parameters
    ----------
    key, source, partition, position, time, prediction, probabilities, model, version, sets
        As in `SetOutput`.
    intervals
        As in `IntervalOutput`.

    Examples
    --------
    >>> from stream_bayes.streams import IntervalSetOutput
    >>> IntervalSetOutput("k", "days", 0, 7, None, "rain", {"rain": 0.9}, None).intervals
    {}
    """

    intervals: Mapping[str, tuple[float, float]] = {}


class NumberOutput(RecordResult, frozen=True, gc=False):
    """The prediction of a number for one event.

    Parameters
    ----------
    key, source, partition, position, time, model, version
        As in `Output`.
    prediction
        The predicted number; None before anything is learned.
    low, high
        The ends of its interval; None while it is infinite: until labels that differ, or many equal ones, were learned.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression, streams
    >>> rows = [({"wind": k % 7}, 20.0 - 2 * (k % 7)) for k in range(100)]
    >>> outputs = []
    >>> result = streams.run(rows, BayesianRegression(), predictions=outputs.extend)
    >>> round(outputs[50].prediction, 1), outputs[50].low < rows[50][1] < outputs[50].high
    (18.0, True)
    """

    prediction: float | None
    low: float | None
    high: float | None
    model: ModelVersion
    version: int = SCHEMA_VERSION


class TargetsOutput(RecordResult, frozen=True, gc=False):
    """The predictions of several numbers for one event.

    Parameters
    ----------
    key, source, partition, position, time, model, version
        As in `Output`.
    predictions
        `{target: predicted number}`; empty before anything is learned.
    intervals
        `{target: (low, high)}`; the ends are None while an interval is infinite, as of a `NumberOutput`.

    Examples
    --------
    >>> from stream_bayes import MultiTargetRegression, streams
    >>> rows = [({"wind": k % 7}, {"rain": 20.0 - 2 * (k % 7), "river": 3.0 * (k % 7)}) for k in range(100)]
    >>> outputs = []
    >>> result = streams.run(rows, MultiTargetRegression(), predictions=outputs.extend)
    >>> {name: round(number) for name, number in outputs[50].predictions.items()}
    {'rain': 18, 'river': 3}
    """

    predictions: Mapping[str, float]
    intervals: Mapping[str, tuple[float | None, float | None]]
    model: ModelVersion
    version: int = SCHEMA_VERSION


class DeadLetter(RecordResult, frozen=True, gc=False):
    """A record that could not be used, and the reason. It changed nothing but counters.

    Parameters
    ----------
    key, source, partition, position, time
        As in `RecordResult`.
    reason
        The reason as one word.
    detail
        The reason as a sentence.
    raw
        The record as it came, or its beginning. Its label and features as JSON if the source no longer has its bytes.
    version
        `SCHEMA_VERSION`.

    Examples
    --------
    >>> from stream_bayes.streams import DeadLetter
    >>> letter = DeadLetter("mail-1", "mails", 0, 17, None, "wrong-type", "expected an object, got a list", b"[]")
    >>> letter.reason, letter.position, letter.raw
    ('wrong-type', 17, b'[]')
    """

    reason: str
    detail: str
    raw: bytes
    version: int = SCHEMA_VERSION


class DriftEntry(RecordResult, frozen=True, gc=False):
    """An entry of the drift log.

    Parameters
    ----------
    key, source, partition, position, time
        As in `RecordResult`: the record at which it was made.
    what
        The kind of entry as one word, such as `"drift"` or `"adopted"`.
    event
        Number of events that the model had learned.
    details
        The other fields of the entry, `{name: JSON value}`.
    version
        `SCHEMA_VERSION`.

    Examples
    --------
    >>> from stream_bayes.streams import DriftEntry
    >>> DriftEntry(None, "days", 0, 5_012, None, "drift", 5_013, {"since": 4_980}).details
    {'since': 4980}
    """

    what: str
    event: int
    details: Mapping[str, Any]
    version: int = SCHEMA_VERSION


Result: TypeAlias = Output | NumberOutput | TargetsOutput | DeadLetter | DriftEntry


@runtime_checkable
class ReplaceableSink(Protocol):
    """A sink whose content can be rebuilt beside the present content, and then replace it.

    The snapshot of a number decides: what was prepared for it takes the place if that snapshot exists.
    """

    def open_aside(self) -> None:
        """Prepare to rebuild the content beside the present content."""
        ...

    def prepare(self, generation: int) -> None:
        """Name the rebuilt content after the snapshot that it belongs to."""
        ...

    def replace(self) -> None:
        """Replace the present content by the rebuilt content."""
        ...

    def finish_replacing(self, generation: int | None) -> None:
        """Finish a replacement that was prepared for a snapshot up to this number; drop any other rebuilt content."""
        ...


class Sink(Protocol):
    """The destination of the engine's results.

    Attributes
    ----------
    name
        Name of the sink in snapshots, unique within a pipeline.
    medium
        `"local"` if the sink can be cut back to a length, `"kafka"` for a broker's transactions, `"none"` for a sink
        that discards everything, and `"outside"` if it can neither be cut back nor take part in a transaction: there,
        outputs come at least once.

    Examples
    --------
    >>> from stream_bayes.streams import CallableSink, NoSink, Sink
    >>> sinks: list[Sink] = [NoSink(), CallableSink(print)]
    """

    name: str
    medium: str

    def open(self, length: int | None) -> None:
        """Prepare for writing.

        Parameters
        ----------
        length
            The value of `length` in the snapshot that the stream resumes from: what was written after it is cut off.
            None for a new stream.
        """
        ...

    @property
    def length(self) -> int | None:
        """The committed length, for a snapshot; None if the sink does not need one."""
        ...

    def begin(self) -> None:
        """Begin a batch."""
        ...

    def write(self, results: Sequence[Result]) -> None:
        """Add results to the batch, in order."""
        ...

    def commit(self, slices: Sequence[Slice]) -> None:
        """Commit what was written since `begin` together with the slices it came from: all or nothing.

        Parameters
        ----------
        slices
            The slices that the batch was read from, in the order of reading.
        """
        ...

    def abort(self) -> None:
        """Discard what was written since `begin`.

        Called too if a start is refused, of sinks that were not opened yet among others: then discard what `open` made.
        """
        ...

    def sync(self) -> None:
        """Return once everything committed survives a power cut.

        Call it before writing a snapshot that holds `length`: a stream could not resume from a length that a power cut
        took back.
        """
        ...

    def close(self) -> None:
        """Close files and connections; discard what was not committed."""
        ...
