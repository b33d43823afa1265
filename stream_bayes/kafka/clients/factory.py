"""Readers and writers by the client's name. Each client is imported on first use: a pipeline over files loads none."""

from __future__ import annotations

from stream_bayes._build import install_command
from stream_bayes.errors import MissingPackage
from stream_bayes.kafka.clients.client import Reader, Writer
from stream_bayes.kafka.clients.connection import Connection

__all__ = ["make_reader", "make_writer"]


def make_reader(connection: Connection, fetch_max_bytes: int) -> Reader:
    """Return a reader that buffers about `fetch_max_bytes` per broker at most.

    Raises
    ------
    BrokerError
        If no broker answers.
    MissingPackage
        If the client is not installed.
    """
    if connection.client == "kafka-python":
        from stream_bayes.kafka.clients.kafka_python import PythonReader

        return PythonReader(connection, fetch_max_bytes)
    _check_confluent()
    from stream_bayes.kafka.clients.confluent import ConfluentReader

    return ConfluentReader(connection, fetch_max_bytes)


def make_writer(
    connection: Connection, transactional_id: str | None, seconds: float, max_message_bytes: int
) -> Writer:
    """Return a writer of records of at most this many bytes; with an id, in transactions that time out in `seconds`.

    Raises
    ------
    BrokerError
        If no broker answers.
    MissingPackage
        If the client is not installed.
    """
    if connection.client == "kafka-python":
        from stream_bayes.kafka.clients.kafka_python import PythonWriter

        return PythonWriter(connection, transactional_id, seconds, max_message_bytes)
    _check_confluent()
    from stream_bayes.kafka.clients.confluent import ConfluentWriter

    return ConfluentWriter(connection, transactional_id, seconds, max_message_bytes)


def _check_confluent() -> None:
    try:
        import confluent_kafka  # noqa: F401  # checked here, used by the adapter
    except ImportError as error:
        raise MissingPackage(
            f"the client confluent-kafka is not installed; install it with: {install_command('fast')}"
        ) from error
