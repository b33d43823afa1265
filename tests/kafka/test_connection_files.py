"""Files for TLS that are not there are named at once, whatever the client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BadValue
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.clients.factory import make_reader, make_writer
from stream_bayes.kafka.cluster import Cluster


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("missing", ["ca_file", "cert_file", "key_file"])
def test_a_missing_file_is_named_at_once(tmp_path: Path, client: str, missing: str) -> None:
    files: dict[str, Any] = {name: str(tmp_path / name) for name in ("ca_file", "cert_file", "key_file")}
    for name, path in files.items():
        if name != missing:
            Path(path).write_text("")
    connection = Connection(servers=("127.0.0.1:1",), client=client, tls=True, **files)
    began = time.monotonic()
    for use in (
        lambda: Cluster(connection).end_offsets([Partition("days")]),
        lambda: make_reader(connection, 1000),
        lambda: make_writer(connection, "days", 60.0, 1000),
    ):
        with pytest.raises(BadValue, match=f"kafka.{missing}: there is no file '.*{missing}'"):
            use()
    assert time.monotonic() - began < connection.seconds
