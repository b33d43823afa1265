"""Every exception the package raises.

Each message names what was expected, what was found, where, and what to do about it. All errors
derive from `StreamBayesError`, and also from the built-in exception that fits, so that code which
already catches `ValueError` or `TypeError` keeps working. Warnings derive from `UserWarning`.
"""

from __future__ import annotations

from stream_bayes.secret_masking import masked

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
    "FeaturesIgnored",
    "Fenced",
    "ImpossibleEvidence",
    "InUse",
    "KindChanged",
    "MissingPackage",
    "NeverEligible",
    "NeverMet",
    "NoSnapshot",
    "NoValueKnown",
    "NotLearned",
    "NotOwner",
    "NotSupported",
    "NumbersMoved",
    "OtherConfiguration",
    "ReadOnlyArgument",
    "SchemaError",
    "SinkError",
    "SnapshotNotWritten",
    "SourceError",
    "StreamBayesError",
    "TooManyDeadLetters",
    "TooManyLabels",
    "TooManyValues",
    "Undecodable",
    "UnknownFeature",
    "UnknownRow",
]


class StreamBayesError(Exception):
    """The base of every error of this package. Its text never holds a secret that this process has read."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(masked(each) if isinstance(each, str) else each for each in args))


class BadConfig(StreamBayesError, ValueError):
    """A pipeline file has missing, unknown or wrong keys; the message has a line for each."""


class BadFormat(StreamBayesError, ValueError):
    """A text is not in the expected format (with line and column), or a format cannot express a value."""


class BadLabel(StreamBayesError, ValueError):
    """A label cannot be learned: it is missing, of an unsupported type, or not a declared class."""


class BadValue(StreamBayesError, ValueError):
    """A value or argument cannot be used: it is of an unsupported type, not finite, or not allowed here."""


class BadStructure(StreamBayesError, ValueError):
    """A network contradicts itself: its graph has a cycle, or its tables do not match its graph."""


class NoValueKnown(BadStructure):
    """A variable of a network has no values yet: none was learned or declared."""


class BadWeight(StreamBayesError, ValueError):
    """A sample weight is negative, infinite or not a number."""


class KindChanged(StreamBayesError, TypeError):
    """A nominal feature became numeric, or a numeric one nominal."""


class UnknownFeature(StreamBayesError, KeyError):
    """A feature is not declared by a schema that refuses others, or a network has no such variable."""

    def __str__(self) -> str:  # KeyError would print the message's repr
        return str(self.args[0]) if self.args else ""


class UnknownRow(StreamBayesError, KeyError):
    """The table of a network has no row for these values of the parents."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class SchemaError(StreamBayesError, ValueError):
    """A schema contradicts itself or the data read with it."""


class MissingPackage(StreamBayesError, ImportError):
    """An optional package that this function needs is not installed."""


class NotLearned(StreamBayesError, ValueError):
    """Something was unlearned that had never been learned: a count would fall below zero."""


class CannotMerge(StreamBayesError, ValueError):
    """Two learners differ in class, settings or schema, or hold parts that cannot be merged."""


class BudgetExceeded(StreamBayesError, MemoryError):
    """Tables would exceed the declared memory budget; raised before anything changes."""


class BadState(StreamBayesError, ValueError):
    """A saved state is truncated, altered, of another learner or of a newer format."""


class OtherConfiguration(BadState):
    """A saved state is of a model with another configuration than the one that loads it."""


class CannotSave(StreamBayesError, TypeError):
    """A snapshot cannot hold the state of a part of a model: it is code, unregistered, or not reproducible."""


class ReadOnlyArgument(StreamBayesError, AttributeError):
    """An argument of a learner is assigned after construction, when it would change nothing."""


class NotSupported(StreamBayesError, NotImplementedError):
    """The learner does not support the operation."""


class ImpossibleEvidence(StreamBayesError, ValueError):
    """The evidence has probability zero, or is so improbable that no sample agreed with it."""


class InUse(StreamBayesError, RuntimeError):
    """Two threads use an inference engine at the same time; it serves one query at a time."""


class BadSnapshot(BadState):
    """A snapshot file is truncated, altered, forged, hostile or of a newer format."""


class OtherSettings(BadSnapshot):
    """A snapshot was taken with other settings than those of the run that loads it.

    Attributes
    ----------
    changes
        The path, the saved value and the present value of each setting that differs; `...` if it is not given.
    """

    def __init__(self, message: str, changes: tuple[tuple[str, object, object], ...] = ()) -> None:
        super().__init__(message)
        self.changes = changes


class NoSnapshot(StreamBayesError, LookupError):
    """A snapshot does not exist, or none in a directory can be read."""


class NotOwner(StreamBayesError, RuntimeError):
    """A directory of snapshots is owned by another process, or was never taken over."""


class SnapshotNotWritten(StreamBayesError, OSError):
    """A snapshot is too large or could not be written; earlier ones are untouched."""


class Exhausted(StreamBayesError):
    """A source has reached its end."""


class SourceError(StreamBayesError, RuntimeError):
    """A source breaks its contract: it repeats or skips a position, or cannot seek to one."""


class BrokerError(StreamBayesError, RuntimeError):
    """A Kafka cluster or schema registry does not respond, lacks a topic, or denies what a pipeline needs."""


class BrokerAway(BrokerError):
    """No broker of a Kafka cluster, or no schema registry, responds at present."""


class CannotResume(StreamBayesError, RuntimeError):
    """A log and a snapshot do not belong together: resuming would lose events or count them twice."""


class Fenced(StreamBayesError, RuntimeError):
    """Another worker has taken over the pipeline; this one may not write any more."""


class TooManyDeadLetters(StreamBayesError, RuntimeError):
    """More than the allowed share of a stream's records are dead letters."""


class SinkError(StreamBayesError, RuntimeError):
    """A sink cannot be written: it holds something else, or refuses a result."""


class Undecodable(StreamBayesError, ValueError):
    """A record is not an event; a decoder raises this, and the source turns it into a `BadRecord`.

    Parameters
    ----------
    reason
        The reason as one word, for counting: one of `stream_bayes.streams.records.decoders.Reason`, or a decoder's own.
    detail
        The reason in words. It holds nothing of the record but names of fields.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class BrokenSnapshotWarning(UserWarning):
    """A broken snapshot was skipped, or an old one could not be deleted."""


class CountsForgotten(UserWarning):
    """A new structure was set, and some of its families have no counts any more."""


class FeaturesIgnored(UserWarning):
    """Events have features that the network's structure does not have: a name may be misspelt."""


class NeverEligible(UserWarning):
    """No value can ever reach the weight `min_count`, because samples fade."""


class NeverMet(UserWarning):
    """A feature named in a learner's arguments has not occurred in many events: the name may be misspelt."""


class NumbersMoved(UserWarning):
    """The numbers of a feature have left the cuts of its bins, and tell little any more."""


class TooManyLabels(UserWarning):
    """A stream has more labels than the tables by label have rows; accuracy and losses are not affected."""


class TooManyValues(UserWarning):
    """A nominal feature is like an id: many of its events bring a new value, and its tables grow with each."""
