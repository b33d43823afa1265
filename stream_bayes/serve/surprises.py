"""Answers of the service about an event: the surprise of each of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.core.measures.surprises import Surprises
from stream_bayes.errors import NotLearned
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.latent_class import LatentClass
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.serve.plain_values import as_json, label_name

__all__ = ["described_surprise"]


def described_surprise(
    model: BayesNet | MixedNetwork | LatentClass | DynamicNetwork,
    x: Mapping[Any, Any],
    surprises: Surprises | None = None,
    at: float | None = None,
) -> dict[str, Any]:
    """Return how unexpected each value of an event is, the oddest first, as JSON values.

    `surprises` are those of the stream's newest events, for a p-value; without them it is None. `at` is the time of an
    event of a `DynamicNetwork`.
    """
    if not model.clock:
        raise NotLearned("the model has not learned anything yet")
    surprise = model.explain_one(x, at) if isinstance(model, DynamicNetwork) else model.explain_one(x)
    return {
        "kind": "surprise",
        "total": as_json(surprise.total),
        "p_value": None if surprises is None else surprises.p_value(surprise.total),
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
