"""Transactions of a shard say which one they are of."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes.errors import BrokerAway, CannotResume
from stream_bayes.kafka.clients.client import Interrupted, Send
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.transactions import Transaction
from stream_bayes.workers.shard import ShardRecovery, ShardTransactions
from tests.kafka.fake_broker import NoLog


class AwayTransactions(ShardTransactions):
    """Transactions of a shard that no broker takes."""

    def __init__(self) -> None:
        super().__init__(
            Connection(servers=("nobody:9092",)), "weather", NoLog(), shard=3, sleep=lambda seconds: None
        )
        self.take_tape = bytes

    def _due(self, at_end: bool) -> list[Send]:
        return []

    def _transact(self, batch: Transaction) -> None:
        raise Interrupted("no answer")

    def _recover(self, batch: Transaction, lost: bool) -> bool:
        raise BrokerAway("nobody")


def test_log_and_error_name_the_shard_whose_batch_is_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    delivery = AwayTransactions()
    delivery.interrupt()
    with pytest.raises(
        BrokerAway, match=r"weather \(shard 3\) was stopped .*: their events are processed again"
    ):
        delivery._deliver((), ())
    assert "a batch of weather (shard 3) is sent again: no answer" in caplog.text
    assert "weather (shard 3) waits for a broker: nobody" in caplog.text
    assert delivery.resends == 1 and delivery.waiting


def test_a_replay_that_lacks_records_names_its_shard() -> None:
    nothing: Any = None
    recovery = ShardRecovery(nothing, "weather", AwayTransactions(), model=nothing)
    with pytest.raises(
        CannotResume, match=r"had 3 records when weather \(shard 3\) processed them, and 1 of these"
    ):
        recovery._check_count("rain 0: 7 to 10", 3, 2)
