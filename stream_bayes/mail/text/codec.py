"""The codec of mail tokens, for pipelines of River."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from stream_bayes.mail.text.transformer import EmailTokens
from stream_bayes.saving.river.registry import register

__all__: list[str] = []


def _limits(held: Any) -> tuple[int, ...] | None:
    return None if held.limits is None else astuple(held.limits)


# Every parser finds the same tokens, so which one there is does not matter.
register(EmailTokens, derived=["_decode", "_limits"], parameters={"parser": None, "limits": _limits})
