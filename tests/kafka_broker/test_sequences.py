"""Models of sequences over topics: each key's own, in parts that go on from a snapshot, as the model has them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import HiddenMarkov, MarkovChain
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.test_networks import answers_of, put, table_of
from tests.kafka_broker.topics import KafkaTopics


def pages(count: int) -> list[dict[str, Any]]:
    """Return visits of three users by turns: two go round in opposite directions, with a pause; one moves at random."""
    rng, at = np.random.default_rng(2), {"ann": 0, "bob": 0, "eve": 0}
    events: list[dict[str, Any]] = []
    for k in range(count):
        user = ("ann", "bob", "eve")[k % 3]
        at[user] += {"ann": 1, "bob": 2, "eve": int(rng.integers(3))}[user]
        page = ("home", "shop", "cart")[at[user] % 3]
        events.append({"user": user, "page": page if k % 31 != 30 else None})
    return events


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("markov-chain", lambda: MarkovChain("page", order=2, key="user")),
        ("hidden-markov", lambda: HiddenMarkov("page", states=3, restarts=2, key="user")),
    ],
)
def test_sequences_of_several_keys_come_from_a_topic(
    kafka_topics: KafkaTopics, tmp_path: Path, kind: str, make: Any
) -> None:
    events = pages(240)
    arguments = {
        "markov-chain": {"variable": "page", "order": 2, "key": "user"},
        "hidden-markov": {"variables": "page", "states": 3, "restarts": 2, "key": "user"},
    }
    table = table_of(
        kafka_topics,
        put(kafka_topics, events),
        tmp_path,
        model={"kind": kind, "predict": ["page", "page@+1"], "arguments": arguments[kind]},
    )
    for stop in (
        100,
        140,
    ):  # the second run goes on from the snapshot of the first, in each sequence where it was
        assert build(checked(table), tmp_path).run(stop).processed_in_run == stop
    answers, alone, right = answers_of(kafka_topics, table), make(), []
    assert len(answers) == 240
    for k, (event, answer) in enumerate(zip(events, answers, strict=True)):
        alone.learn_one(event)
        shares = answer["probabilities"]["page@+1"]
        assert shares == pytest.approx(alone.forecast_one(1, {"user": event["user"]}), abs=1e-9)
        if 120 <= k < 237 and event["user"] != "eve" and events[k + 3]["page"]:
            right.append(answer["prediction"]["page@+1"] == events[k + 3]["page"])
    assert kind == "hidden-markov" or np.mean(right) > 0.9
