"""Random input for a check: the same few each time in `make test`, others for a minute in `make soak`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

__all__ = ["changed", "few", "many"]

ALIKE: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
}
SOAK_SECONDS = 60.0
PIECES = [
    b'"',
    b",",
    b"{",
    b"\0",
    b"\n",
    b"9" * 30,
    b"\xff\xfe",
    b"(",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>&b;",
    b"-1",
]


def few(data: st.SearchStrategy[bytes], check: Callable[[bytes], object], examples: int = 100) -> None:
    """Run a check with the same inputs each time."""
    _given(data, check, settings(max_examples=examples, derandomize=True, **ALIKE))()


def many(
    data: st.SearchStrategy[bytes], check: Callable[[bytes], object], seconds: float = SOAK_SECONDS
) -> None:
    """Run a check with other inputs for so long. A failure has the seed that finds it again."""
    end, number = time.monotonic() + seconds, int(time.time())
    while time.monotonic() < end:
        try:
            seed(number)(_given(data, check, settings(max_examples=200, **ALIKE)))()
        except BaseException as error:
            error.add_note(f"found by the seed {number}")
            raise
        number += 1


def _given(
    inputs: st.SearchStrategy[bytes], check: Callable[[bytes], object], how: settings
) -> Callable[[], None]:
    @how
    @given(data=inputs)
    def run(data: bytes) -> None:
        check(data)

    return run


def changed(content: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy of the content with pieces replaced, taken out, doubled, or cut off."""

    def apply(changes: list[tuple[int, int, bytes]]) -> bytes:
        data = content
        for start, length, piece in changes:
            data = data[:start] + piece + data[start + length :]
        return data

    pieces = st.one_of(st.binary(max_size=6), st.sampled_from(PIECES))
    change = st.tuples(st.integers(0, len(content)), st.integers(0, 12), pieces)
    return st.lists(change, min_size=1, max_size=4).map(apply)
