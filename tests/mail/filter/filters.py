"""Filters that have learned a stream of made-up mails, and what they count."""

from __future__ import annotations

from typing import Any

from stream_bayes.mail import SpamFilter
from tests.mail.messages import stream


def trained(number: int = 200, seed: int = 0, **settings: Any) -> SpamFilter:
    model = SpamFilter(**settings)
    for raw, label in stream(number, seed):
        model.learn_one(raw, label)
    return model


def counts(model: SpamFilter) -> Any:
    """What is counted, by name."""
    exported = model.export_counts()
    return exported["messages"], exported["tokens"]
