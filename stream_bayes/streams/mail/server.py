r"""A server that classifies mails over a Unix socket, in milliseconds instead of the start of a program.

    request   STREAM-BAYES 1 classify 1732\n and so many bytes
    answer    OK spam 0.998120 4.1730 9f86d081...\n or ERROR and a message\n

Only the owner may open the socket. The server never changes the filter: before each answer it reloads a state that
another process has written.
"""

from __future__ import annotations

import os
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any

from stream_bayes.errors import InUse, SourceError, StreamBayesError
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import FilterBag
from stream_bayes.streams.mail.home import SpamHome, id_of_mail

__all__ = ["SpamServer", "classify_mail", "encode_answer"]

MAX_BYTES = 1 << 27  # of a request
MAX_LINE = 200
REQUEST_SECONDS = 30.0  # for a client to send a mail


def classify_mail(model: SpamFilter, raw: bytes) -> tuple[str, str, str, str]:
    r"""Return a mail's verdict, probability of spam, score and id, as text.

    Examples
    --------
    >>> model = SpamFilter()
    >>> model.learn_one("cheap pills", "spam")
    >>> model.learn_one("lunch notes", "ham")
    >>> classify_mail(model, b"Subject: lunch\n\nnotes")[:2]
    ('ham', '0.048945')
    """
    return (*_classify(model, model.bag_of(raw)), id_of_mail(raw))


def _classify(model: SpamFilter, bag: FilterBag) -> tuple[str, str, str]:
    wanted, unwanted = model.labels
    answer = model.predict_proba_one(bag)
    verdict = model.decide(answer)
    name = "spam" if verdict == unwanted else "ham" if answer and verdict == wanted else "unsure"
    return name, f"{answer.get(unwanted, 0.5):.6f}", f"{model.score_one(bag):.4f}"


def encode_answer(answer: tuple[str, str, str, str]) -> bytes:
    """Return an answer as a line of the protocol."""
    return ("OK " + " ".join(answer) + "\n").encode("ascii")


class SpamServer:
    """Serves the socket of a filter's directory.

    Parameters
    ----------
    home
        The directory. A filter must be there.

    Raises
    ------
    InUse
        If another server answers there.
    SourceError
        If the socket cannot be created.
    StreamBayesError
        If there is no filter.
    """

    def __init__(self, home: SpamHome) -> None:
        self.home = home
        self.answered = 0
        self._version = home.version()
        self._model = home.load()
        self._turn = threading.Lock()
        self._clear()
        mask = os.umask(0o177)
        try:
            self._server = _Listener(str(home.socket), self._answer)
        except OSError as error:  # a path too long for a socket, mostly
            raise SourceError(f"{home.socket}: cannot listen at it: {error}; try a shorter --home") from error
        finally:
            os.umask(mask)

    def _clear(self) -> None:
        """Remove the socket of a server that has died."""
        path = self.home.socket
        if not path.exists():
            return
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(REQUEST_SECONDS)
            try:
                line.connect(str(path))
            except (ConnectionRefusedError, FileNotFoundError):
                path.unlink(missing_ok=True)
                return
        raise InUse(f"another server answers at {path}")

    def _answer(self, raw: bytes) -> bytes:
        model = self._model
        bag, key = model.bag_of(raw), id_of_mail(raw)  # most of the work: no mail waits for another's
        with self._turn:
            version = self.home.version()
            if version != self._version:
                self._model, self._version = self.home.load(), version
            if _tokenizer(self._model) != _tokenizer(model):
                bag = self._model.bag_of(raw)
            self.answered += 1
            return encode_answer((*_classify(self._model, bag), key))

    def run(self) -> None:
        """Serve until `stop` is called, then remove the socket."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self._server.server_close()
            self.home.socket.unlink(missing_ok=True)

    def stop(self) -> None:
        """End `run` soon. Return at once: a signal handler may call this."""
        threading.Thread(target=self._server.shutdown, daemon=True).start()


def _tokenizer(model: SpamFilter) -> tuple[Any, ...]:
    """Return the settings on which a mail's tokens depend."""
    return model.pairs, model.parser, model.limits, model.key


class _Listener(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: str, answer: Callable[[bytes], bytes]) -> None:
        self.answer = answer
        super().__init__(path, _Conversation)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect or do not finish their request."""


class _Conversation(socketserver.StreamRequestHandler):
    timeout = REQUEST_SECONDS
    server: _Listener

    def handle(self) -> None:
        """Answer one request."""
        try:
            raw = self._request()
            answer = self.server.answer(raw)
        except (StreamBayesError, OSError, ValueError) as error:
            answer = b"ERROR " + " ".join(str(error).split()).encode("utf-8", "replace")[:1000] + b"\n"
        self.wfile.write(answer)

    def _request(self) -> bytes:
        words = self.rfile.readline(MAX_LINE).split()
        if len(words) != 4 or words[:3] != [b"STREAM-BAYES", b"1", b"classify"] or not words[3].isdigit():
            raise ValueError("expected STREAM-BAYES 1 classify, and a number of bytes")
        size = int(words[3])
        if size > MAX_BYTES:
            raise ValueError(f"expected at most {MAX_BYTES:,} bytes, got {size:,}")
        raw = self.rfile.read(size)
        if len(raw) != size:
            raise ValueError(f"expected {size} bytes, got {len(raw)}")
        return raw
