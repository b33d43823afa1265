"""Transactions of a shard say which one they are of."""

from __future__ import annotations

import pytest

from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.workers.shard import ShardTransactions
from tests.kafka.fake_broker import NoLog


def test_the_log_names_the_shard_whose_batch_is_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    delivery = ShardTransactions(Connection(servers=("nobody:9092",)), "weather", NoLog(), shard=3)
    delivery._record_retry(Interrupted("no answer"))
    assert "a batch of weather, shard 3, is sent again: no answer" in caplog.text
    assert delivery.resends == 1 and delivery.waiting
