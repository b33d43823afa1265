"""Whose error it is: a bug of this package is told from what the models of others raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_bayes import NaiveBayes
from stream_bayes.error_origin import is_bug
from stream_bayes.errors import BadValue
from stream_bayes.streams.files._csv_rows import rows_of_columns
from tests.failing_code import in_module


def raised(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


OURS, RIVERS = "stream_bayes.learners.text", "river.naive_bayes"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (in_module(OURS, {}.popitem), True),
        (in_module(OURS, lambda: None + 1), False),  # type: ignore[operator]  # raised in a test
        (in_module(RIVERS, {}.popitem), False),
        (in_module(RIVERS, in_module(OURS, {}.popitem)), True),
        (in_module(OURS, in_module(RIVERS, {}.popitem)), False),
        (in_module(OURS, in_module("numpy.linalg", {}.popitem)), True),
        (in_module(OURS, in_module("json.decoder", {}.popitem)), True),
        (in_module(RIVERS, in_module("numpy.linalg", {}.popitem)), False),
        (in_module(OURS, lambda: np.reshape([1, 2], 3)), False),
        (lambda: NaiveBayes(strength=-1.0), False),
    ],
)
def test_the_innermost_code_decides(call: Callable[[], Any], expected: bool) -> None:
    assert is_bug(raised(call)) == expected


def test_an_error_of_this_package_is_no_bug() -> None:
    def refuse() -> None:
        raise BadValue("expected something else")

    assert not is_bug(raised(in_module(OURS, refuse)))


def test_an_error_in_a_kernel_is_a_bug() -> None:
    assert is_bug(raised(lambda: rows_of_columns(["sky"], [None], 1)))
