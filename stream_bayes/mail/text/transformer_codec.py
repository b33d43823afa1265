"""The codec of mail tokens, for pipelines of River."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from stream_bayes.mail.text.transformer import EmailTokens
from stream_bayes.saving.river.registry import register

__all__: list[str] = []


def _limits(transformer: Any) -> tuple[int, ...] | None:
    return None if transformer.limits is None else astuple(transformer.limits)


def _refused(transformer: Any) -> str | None:
    has_any = transformer.correspondents is not None
    return (
        "its correspondents are a filter's, which saves them; a step of a pipeline has none"
        if has_any
        else None
    )


register(
    EmailTokens,
    derived=["_decode", "_limits", "correspondents"],
    # Every parser finds the same tokens, so which one there is does not matter.
    parameters={"parser": None, "limits": _limits},
    refused=_refused,
)
