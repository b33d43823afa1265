"""The inner parts of kafka-python that this package calls, where the installed version was tried with them."""

from __future__ import annotations

import inspect
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.consumer.fetcher import Fetcher
from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import __name__ as manager_logger
from kafka.partitioner.default import murmur2
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import TransactionManager

from stream_bayes.kafka.clients.kafka_python import CONNECTION_LOGGER
from stream_bayes.kafka.clients.kafka_python_parts import are_tried, finish_join

CALLS: list[tuple[Any, str]] = [
    (RecordAccumulator.append, "self tp timestamp_ms key value headers"),
    (Sender.wakeup, "self"),
    (Sender.force_close, "self"),
    (TransactionManager.maybe_add_partition_to_transaction, "self topic_partition"),
    (TransactionManager.send_offsets_to_transaction, "self offsets group_metadata"),
    (TransactionManager.begin_commit, "self"),
    (TransactionManager.begin_abort, "self"),
]


@pytest.mark.parametrize(("method", "parameters"), CALLS, ids=lambda value: getattr(value, "__name__", ""))
def test_an_inner_method_takes_what_it_is_given(method: Any, parameters: str) -> None:
    found = list(inspect.signature(method).parameters)
    assert found[: len(parameters.split())] == parameters.split()


def test_a_producer_has_the_inner_objects_that_are_called() -> None:
    source = inspect.getsource(KafkaProducer)
    for name in ("_accumulator", "_sender", "_transaction_manager", "_closed"):
        assert f"self.{name} = " in source


def test_a_consumer_has_a_portion_that_can_be_dropped() -> None:
    assert "self._coordinator = " in inspect.getsource(KafkaConsumer)
    assert "self._fetcher = " in inspect.getsource(KafkaConsumer)
    assert "self._next_partition_records = None" in inspect.getsource(Fetcher)


def test_a_join_is_finished_though_its_reason_is_gone_meanwhile() -> None:
    client = KafkaNetClient(bootstrap_servers=["127.0.0.1:1"])
    subscription = SubscriptionState()
    subscription.subscribe(["t"])
    coordinator = ConsumerCoordinator(client, subscription, group_id="g", api_version=(2, 5), metrics=None)
    consumer = SimpleNamespace(_coordinator=coordinator)
    try:
        coordinator._joined_subscription = {"t"}
        coordinator.rejoin_needed, coordinator.rejoining = (
            False,
            True,
        )  # its leader, once it has the partitions
        assert not coordinator.need_rejoin()  # so the client itself never takes the answer
        finish_join(consumer)
        assert coordinator.need_rejoin()
        coordinator.rejoin_needed, coordinator.rejoining = False, False  # joined
        finish_join(consumer)
        assert not coordinator.need_rejoin()
    finally:
        client._net.stop(100)
        client._net.close()


def test_a_client_has_a_network_that_can_be_stopped_and_settings_that_can_be_set() -> None:
    client = KafkaNetClient(bootstrap_servers=["127.0.0.1:1"])
    client._net.stop(100)
    client._net.close()
    assert "allow_auto_create_topics" in client.cluster.config


def test_refusals_are_logged_where_they_are_listened_for() -> None:
    assert manager_logger == CONNECTION_LOGGER
    assert CONNECTION_LOGGER in logging.Logger.manager.loggerDict


def test_keys_go_to_the_partitions_of_java_clients() -> None:
    assert murmur2(b"foobar") & 0x7FFFFFFF == -790332482 & 0x7FFFFFFF  # from Kafka's own UtilsTest


def test_the_installed_version_was_tried() -> None:
    assert are_tried()
