"""Altered states under a checksum that fits, as somebody makes them who means harm."""

from __future__ import annotations

from typing import Any

from stream_bayes.learners.base.state import checksum, text_of


def resealed(state: dict[str, Any]) -> dict[str, Any]:
    """The same, with the checksum that fits."""
    return {**state, "checksum": checksum(text_of(state), state["arrays"])}
