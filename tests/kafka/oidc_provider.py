"""A provider of tokens in this process: the token endpoint of OpenID Connect."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs


@contextmanager
def provider(
    status: int = 200, body: bytes | None = None
) -> Iterator[tuple[str, list[dict[str, list[str]]]]]:
    """Run a provider; yield its token endpoint and the forms that it got."""
    forms: list[dict[str, list[str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            credentials = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
            forms.append(parse_qs(text) | {"credentials": [credentials]})
            self.send_response(status)
            self.end_headers()
            token = {"access_token": f"token-{len(forms)}", "expires_in": 1000, "token_type": "Bearer"}
            self.wfile.write(json.dumps(token).encode() if body is None else body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/token", forms
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
