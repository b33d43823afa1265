"""Following the model of a pipeline with shards in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stream_bayes.errors import BadValue

if TYPE_CHECKING:
    from stream_bayes.workers.follower import Follower

__all__ = ["follow"]


def follow(
    pipeline: str | os.PathLike[str],
    *,
    servers: str | Sequence[str] | None = None,
    client: str | None = None,
    key: bytes | None = None,
    filter_key: bytes | None = None,
) -> Follower:
    """Return a read-only model that follows the counts that the workers of a pipeline publish.

    It predicts in any process, so predictions scale out apart from learning. Close it, or use it in a `with` block.

    Parameters
    ----------
    pipeline
        The pipeline file (.toml), or the pipeline's name; then give its servers.
    servers
        The brokers, as `"host:port"` or a list.
    client
        `"confluent-kafka"` or `"kafka-python"`; by default the faster one that is installed.
    key
        The key under which the workers publish; a pipeline file has its own.
    filter_key
        The key of a spam filter's tokens, if they are hashed; a pipeline file has its own.

    Raises
    ------
    NoSnapshot
        If nothing was published yet.
    BrokerError
        If no broker answers, or the pipeline has no shards.

    Examples
    --------
    >>> from stream_bayes import streams
    >>> with streams.follow("weather", servers="localhost:9092") as model:    # doctest: +SKIP
    ...     model.predict_one({"sky": "grey"})
    """
    # Imported on use: the client takes a tenth of a second to load.
    from stream_bayes.kafka.clients.connection import Connection, default_client
    from stream_bayes.workers.follower import Follower

    name = os.fspath(pipeline)
    if servers is not None:
        places = servers.split(",") if isinstance(servers, str) else servers
        return Follower(
            Connection(servers=tuple(places), client=client or default_client()), name, key, filter_key
        )
    if not name.endswith(".toml"):
        raise BadValue(
            f"servers: expected the brokers of the pipeline {name!r}, as servers='localhost:9092'; or give its "
            "pipeline file (.toml)"
        )
    from stream_bayes.streams.pipelines.config import load_config

    config = load_config(Path(name))
    if config.kafka is None or config.workers is None:
        raise BadValue(f"{name}: expected a pipeline with [workers], whose counts are published")
    own = config.workers.key
    of_tokens = config.model.key
    return Follower(
        config.kafka.connection(),
        config.name,
        key or (own and own.get_secret_value().encode()) or None,
        filter_key or (of_tokens and of_tokens.get_secret_value().encode()) or None,
    )
