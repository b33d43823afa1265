"""Answers of the service about an event: the surprise of each of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.errors import NotLearned
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.latent_class import LatentClass
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.serve.plain_values import as_json, label_name

__all__ = ["described_surprise"]


def described_surprise(model: BayesNet | MixedNetwork | LatentClass, x: Mapping[Any, Any]) -> dict[str, Any]:
    """Return how unexpected each value of an event is, the oddest first, as JSON values."""
    if not model.clock:
        raise NotLearned("the model has not learned anything yet")
    surprise = model.explain_one(x)
    return {
        "kind": "surprise",
        "total": as_json(surprise.total),
        "novel": [label_name(v) for v in surprise.novel],
        "surprise": [
            {
                "feature": label_name(v),
                "value": as_json(x.get(v)),
                "nats": as_json(surprise[v]),
                "expected": as_json(surprise.expected[v]),
            }
            for v in surprise.oddest
        ],
    }
