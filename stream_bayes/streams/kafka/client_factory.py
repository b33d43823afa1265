"""The clients by name. Each is imported when it is asked for: a pipeline over files loads neither."""

from __future__ import annotations

from stream_bayes.errors import MissingPackage
from stream_bayes.streams.kafka.client import Reader, Writer
from stream_bayes.streams.kafka.connection import Connection

__all__ = ["make_reader", "make_writer"]


def make_reader(connection: Connection, most_bytes: int) -> Reader:
    """A reader that keeps at most about this many bytes of each broker ready.

    Raises
    ------
    BrokerError
        If no broker answers.
    MissingPackage
        If the client is not installed.
    """
    if connection.client == "kafka-python":
        from stream_bayes.streams.kafka.python_client import PythonReader

        return PythonReader(connection, most_bytes)
    _find_confluent()
    from stream_bayes.streams.kafka.confluent_client import ConfluentReader

    return ConfluentReader(connection, most_bytes)


def make_writer(
    connection: Connection, transactional_id: str | None, seconds: float, most_bytes: int
) -> Writer:
    """A writer of records of at most this many bytes; with an id, in transactions given up after so many seconds.

    Raises
    ------
    BrokerError
        If no broker answers.
    MissingPackage
        If the client is not installed.
    """
    if connection.client == "kafka-python":
        from stream_bayes.streams.kafka.python_client import PythonWriter

        return PythonWriter(connection, transactional_id, seconds, most_bytes)
    _find_confluent()
    from stream_bayes.streams.kafka.confluent_client import ConfluentWriter

    return ConfluentWriter(connection, transactional_id, seconds, most_bytes)


def _find_confluent() -> None:
    try:
        import confluent_kafka  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise MissingPackage(
            "the client confluent-kafka is not installed; install it with: pip install 'stream-bayes[fast]'"
        ) from error
