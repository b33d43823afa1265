"""Every exception the package raises.

Each message says what was expected, what came, where it came from, and what to do about it. All of
them derive from `StreamBayesError`, and also from the built-in exception that fits, so that code which
already catches `ValueError` or `TypeError` keeps working.
"""

from __future__ import annotations

__all__ = [
    "BadLabel",
    "BadState",
    "BadValue",
    "BadWeight",
    "BudgetExceeded",
    "CannotMerge",
    "KindChanged",
    "NotLearned",
    "NotSupported",
    "SchemaError",
    "StreamBayesError",
    "UnknownFeature",
]


class StreamBayesError(Exception):
    """The base of every error of this package."""


class BadLabel(StreamBayesError, ValueError):
    """A label that cannot be learned: missing, of an unsupported type, or outside the declared classes."""


class BadValue(StreamBayesError, ValueError):
    """A feature's value that cannot be used: of an unsupported type, not finite, or not allowed here."""


class BadWeight(StreamBayesError, ValueError):
    """A sample weight that is negative, infinite or not a number."""


class KindChanged(StreamBayesError, TypeError):
    """A feature that was nominal turned numeric, or the other way round."""


class UnknownFeature(StreamBayesError, KeyError):
    """A feature that the schema does not declare, where the schema refuses such features."""

    def __str__(self) -> str:  # KeyError would print the message's repr
        return str(self.args[0]) if self.args else ""


class SchemaError(StreamBayesError, ValueError):
    """A schema, or a frame read with it, that contradicts itself."""


class NotLearned(StreamBayesError, ValueError):
    """Unlearning something that was never learned: a count would fall below zero."""


class CannotMerge(StreamBayesError, ValueError):
    """Two learners of different kinds, settings or schemas, or with parts that cannot be merged."""


class BudgetExceeded(StreamBayesError, MemoryError):
    """Tables that would grow past the declared memory budget. Raised before anything changes."""


class BadState(StreamBayesError, ValueError):
    """A saved state that is truncated, altered, of another learner or of a newer format."""


class NotSupported(StreamBayesError, NotImplementedError):
    """A question that makes no sense for this learner."""
