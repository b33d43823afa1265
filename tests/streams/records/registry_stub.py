"""A schema registry in this process, with as much of Confluent's HTTP interface as readers use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Thread
from typing import Any

import fastavro


class RegistryStub:
    """The contents of a registry.

    Attributes
    ----------
    schemas
        What is returned for each id.
    versions
        What is returned for each subject and version.
    status
        The status of every answer, in place of the right one.
    authorization
        The header that requests must have, if any.
    requests
        The paths that were requested.
    """

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.versions: dict[tuple[str, int], dict[str, Any]] = {}
        self.status: int | None = None
        self.authorization: str | None = None
        self.requests: list[str] = []
        self.url = ""

    def add(
        self, number: int, schema: object, kind: str = "AVRO", references: list[dict[str, Any]] | None = None
    ) -> None:
        self.schemas[number] = {"schema": json.dumps(schema), "schemaType": kind} | (
            {} if references is None else {"references": references}
        )

    def answer(self, path: str, headers: Mapping[str, str]) -> tuple[int, object]:
        self.requests.append(path)
        if self.status is not None:
            return self.status, {"error_code": self.status, "message": "as the test says"}
        if self.authorization is not None and headers.get("Authorization") != self.authorization:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        match path.strip("/").split("?")[0].split("/"):
            case ["schemas", "types"]:
                return 200, ["AVRO"]
            case ["schemas", "ids", number] if int(number) in self.schemas:
                return 200, self.schemas[int(number)]
            case ["subjects", subject, "versions", version] if (subject, int(version)) in self.versions:
                return 200, self.versions[subject, int(version)]
            case ["schemas" | "subjects", *_]:
                return 404, {"error_code": 40403, "message": "not found"}
        return 404, {}


@contextmanager
def registry_stub() -> Iterator[RegistryStub]:
    """Run a registry."""
    stub = RegistryStub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = stub.answer(self.path, dict(self.headers))
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def framed(number: int, schema: Any, value: object) -> bytes:
    """Return a record of Avro behind the id of its schema."""
    file = BytesIO(b"\0" + number.to_bytes(4, "big"))
    file.seek(5)
    fastavro.schemaless_writer(file, fastavro.parse_schema(schema), value)
    return file.getvalue()
