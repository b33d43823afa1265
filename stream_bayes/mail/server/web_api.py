r"""The filter over HTTP, for rspamd's plug-in and for scripts.

    POST /judge           a mail -> {"verdict": "spam", "probability": 0.99812, "score": 4.173, "id": "9f86..."}
    POST /learn/spam      a mail -> {"outcome": "learned"}, or "corrected" or "unchanged"; also /learn/ham
    POST /correct/spam    an id -> the same
    POST /forget          an id -> {"outcome": "forgotten"}
    GET  /ping            {"judged": 17, "changed": 3}

With users, the header `User:` or `?user=` names the user whose filter is used and changed; without it, the site's is.
Errors are {"error": "..."} with the status 400, 403, 404 or 503.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stream_bayes.errors import BadValue, NotLearned, StreamBayesError
from stream_bayes.mail.server.callers import Caller, NotAllowed
from stream_bayes.mail.server.filter_service import FilterService

__all__ = ["WebConversation"]

MAX_BYTES = 1 << 27
SECONDS = 30.0
LABELS = ("ham", "spam")


class WebConversation(BaseHTTPRequestHandler):
    """The requests of one connection. A subclass sets `service` and `caller_of`."""

    timeout = SECONDS
    protocol_version = "HTTP/1.1"
    service: FilterService
    caller_of: Callable[[Any], Caller]  # the rights of the client of a connection

    def do_GET(self) -> None:
        if self.path == "/ping":
            self._send(200, {"judged": self.service.judged, "changed": self.service.changed})
        else:
            self._send(404, {"error": "expected GET /ping, or POST /judge, /learn, /correct or /forget"})

    def do_POST(self) -> None:
        try:
            size = int(self.headers.get("Content-Length", "-1"))
            if not 0 <= size <= MAX_BYTES:
                self.close_connection = True
                raise BadValue(f"Content-Length: expected 0 to {MAX_BYTES:,} bytes")
            self._answer(self.rfile.read(size))
        except NotAllowed as error:
            self._send(403, {"error": str(error)})
        except NotLearned as error:
            self._send(404, {"error": str(error)})
        except (BadValue, ValueError) as error:
            self._send(400, {"error": str(error)})
        except (StreamBayesError, OSError) as error:
            self._send(503, {"error": str(error)})

    def _answer(self, body: bytes) -> None:
        place = urlsplit(self.path)
        verb, _, label = place.path.strip("/").partition("/")
        service, caller = self.service, self.caller_of(self.connection)
        user = caller.user(self.headers.get("User") or parse_qs(place.query).get("user", [None])[0])
        if verb == "judge" and not label:
            found = service.judge(body, user)
            note = {"note": found.note} if found.note else {}
            self._send(
                200,
                {
                    "verdict": found.verdict,
                    "probability": found.probability,
                    "score": found.score,
                    "id": found.id,
                    "threshold": found.threshold,
                    **note,
                },
            )
            return
        is_known = (verb in ("learn", "correct") and label in LABELS) or (verb == "forget" and not label)
        if not is_known:
            self._send(404, {"error": "expected POST /judge, /learn/LABEL, /correct/LABEL or /forget"})
        elif not caller.may_learn:
            service.note_refusal()
            self._send(403, {"error": "changes are refused here: start the server with --allow-learn"})
        elif verb == "learn":
            self._send(200, {"outcome": service.learn(body, label, user)})
        elif verb == "correct":
            self._send(200, {"outcome": service.correct(_text(body), label, user)})
        else:
            service.forget(_text(body), user)
            self._send(200, {"outcome": "forgotten"})

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write no line for each request."""

    def log_error(self, *arguments: Any) -> None:
        """Write no line for a client that sends something else, or too slowly."""


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace").strip()
