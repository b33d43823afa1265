"""Every exception the package raises.

Each message says what was expected, what came, where it came from, and what to do about it. All errors
derive from `StreamBayesError`, and also from the built-in exception that fits, so that code which
already catches `ValueError` or `TypeError` keeps working. Warnings derive from `UserWarning`.
"""

from __future__ import annotations

__all__ = [
    "BadConfig",
    "BadFormat",
    "BadLabel",
    "BadSnapshot",
    "BadState",
    "BadStructure",
    "BadValue",
    "BadWeight",
    "BrokenSnapshotWarning",
    "BrokerAway",
    "BrokerError",
    "BudgetExceeded",
    "CannotMerge",
    "CannotResume",
    "CannotSave",
    "CountsForgotten",
    "Exhausted",
    "Fenced",
    "ImpossibleEvidence",
    "InUse",
    "KindChanged",
    "MissingPackage",
    "NeverEligible",
    "NeverMet",
    "NoSnapshot",
    "NoValueKnown",
    "NotDrawn",
    "NotLearned",
    "NotOwner",
    "NotSupported",
    "OtherConfiguration",
    "SchemaError",
    "SinkError",
    "SnapshotNotWritten",
    "SourceError",
    "StreamBayesError",
    "TooManyDeadLetters",
    "Undecodable",
    "UnknownFeature",
    "UnknownRow",
]


class StreamBayesError(Exception):
    """The base of every error of this package."""


class BadConfig(StreamBayesError, ValueError):
    """A pipeline file with keys that are missing, unknown or wrong: a line for each."""


class BadFormat(StreamBayesError, ValueError):
    """Text that is not in the format it is read as, with line and column; or what a format cannot express."""


class BadLabel(StreamBayesError, ValueError):
    """A label that cannot be learned: missing, of an unsupported type, or outside the declared classes."""


class BadValue(StreamBayesError, ValueError):
    """A feature's value that cannot be used: of an unsupported type, not finite, or not allowed here."""


class BadStructure(StreamBayesError, ValueError):
    """A network that contradicts itself: its graph has a cycle, say, or its tables do not fit its graph."""


class NoValueKnown(BadStructure):
    """A variable of a network of which no value is known yet: none was learned, and none declared."""


class BadWeight(StreamBayesError, ValueError):
    """A sample weight that is negative, infinite or not a number."""


class KindChanged(StreamBayesError, TypeError):
    """A feature that was nominal turned numeric, or the other way round."""


class UnknownFeature(StreamBayesError, KeyError):
    """A feature that the schema does not declare and so refuses, or a variable that a network does not have."""

    def __str__(self) -> str:  # KeyError would print the message's repr
        return str(self.args[0]) if self.args else ""


class UnknownRow(StreamBayesError, KeyError):
    """Values of the parents that the table of a network has no row for, or that are no values of the parents."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class SchemaError(StreamBayesError, ValueError):
    """A schema, or a frame read with it, that contradicts itself."""


class MissingPackage(StreamBayesError, ImportError):
    """A package that only some functions need, and that is not installed."""


class NotDrawn(StreamBayesError, RuntimeError):
    """A picture that another program was to draw and did not."""


class NotLearned(StreamBayesError, ValueError):
    """Unlearning something that was never learned: a count would fall below zero."""


class CannotMerge(StreamBayesError, ValueError):
    """Two learners of different kinds, settings or schemas, or with parts that cannot be merged."""


class BudgetExceeded(StreamBayesError, MemoryError):
    """Tables that would grow past the declared memory budget. Raised before anything changes."""


class BadState(StreamBayesError, ValueError):
    """A saved state that is truncated, altered, of another learner or of a newer format."""


class OtherConfiguration(BadState):
    """A saved state of a model that was configured otherwise than the one that is to go on from it."""


class CannotSave(StreamBayesError, TypeError):
    """A step of a model whose state no snapshot can hold: it is code, it is not known, or it is not reproducible."""


class NotSupported(StreamBayesError, NotImplementedError):
    """A question that makes no sense for this learner."""


class ImpossibleEvidence(StreamBayesError, ValueError):
    """Evidence of probability zero, of which nothing follows; or so improbable that no sample agreed with it."""


class InUse(StreamBayesError, RuntimeError):
    """Asking an engine that another thread is asking at this moment: it works in one place, for one at a time."""


class BadSnapshot(BadState):
    """A snapshot file that is truncated, altered, forged, hostile or of a newer format."""


class OtherSettings(BadSnapshot):
    """A snapshot that was taken with other settings than those of the run that is to go on from it.

    Attributes
    ----------
    changes
        The path of each setting that differs, what it was, and what it is; `...` where it is not given.
    """

    def __init__(self, message: str, changes: tuple[tuple[str, object, object], ...] = ()) -> None:
        super().__init__(message)
        self.changes = changes


class NoSnapshot(StreamBayesError, LookupError):
    """A snapshot that is not there, or a directory in which none can be read."""


class NotOwner(StreamBayesError, RuntimeError):
    """Changing a directory of snapshots that another process has taken over, or that was never taken over."""


class SnapshotNotWritten(StreamBayesError, OSError):
    """A snapshot that is too large, or that the disk did not take. Those written before it are untouched."""


class Exhausted(StreamBayesError):
    """A source has reached its end: nothing will come any more."""


class SourceError(StreamBayesError, RuntimeError):
    """A source that cannot be read as it was promised: it repeats or skips a position, or cannot go back to one."""


class BrokerError(StreamBayesError, RuntimeError):
    """A Kafka cluster that does not answer, that lacks a topic, or that does not allow what a pipeline has to do."""


class BrokerAway(BrokerError):
    """A Kafka cluster of which no broker answers, at least now."""


class CannotResume(StreamBayesError, RuntimeError):
    """A log and a snapshot that do not belong together: to go on would lose events or count them twice."""


class Fenced(StreamBayesError, RuntimeError):
    """Writing for a pipeline that another worker has taken over."""


class TooManyDeadLetters(StreamBayesError, RuntimeError):
    """More than the allowed share of a stream's records could not be used."""


class SinkError(StreamBayesError, RuntimeError):
    """A sink that cannot be written as it was promised: it holds something else, or does not take what is written."""


class Undecodable(StreamBayesError, ValueError):
    """A record that is no event. A decoder raises it; it never leaves the source, which keeps a `BadRecord` for it.

    Parameters
    ----------
    reason
        Why, in a word, for counting: one of `stream_bayes.streams.records.decoders.Reason`, or a decoder's own.
    detail
        Why, for people. It holds nothing of the record but names of fields.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class BrokenSnapshotWarning(UserWarning):
    """A snapshot that cannot be read was passed over, or an old one could not be deleted."""


class CountsForgotten(UserWarning):
    """Another structure was set, and of some of its families nothing is known any more."""


class NeverEligible(UserWarning):
    """No value can ever hold the weight that `min_count` asks for, because it fades."""


class NeverMet(UserWarning):
    """A feature that a learner's arguments name has not come in many events: perhaps its name is another."""
