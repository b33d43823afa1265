"""Checks of a state that is read: any fault in it raises `BadState`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stream_bayes.errors import BadState, StreamBayesError

__all__ = ["expect", "refusing_bad_state"]


def expect(condition: bool, message: str) -> None:
    """Raise `BadState` unless the condition holds."""
    if not condition:
        raise BadState(f"the state does not fit: {message}")


@contextmanager
def refusing_bad_state() -> Iterator[None]:
    """Raise `BadState` for any error that a malformed state causes inside."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, StreamBayesError):
            raise
        raise BadState(f"the state is truncated or was altered: {type(error).__name__}: {error}") from error
    except MemoryError as error:
        if isinstance(error, StreamBayesError):
            raise
        raise BadState(
            "the state asks for more memory than there is: it was altered, or needs a larger machine"
        ) from error
