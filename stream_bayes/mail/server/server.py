r"""The server of a filter: its own protocol over a Unix socket, and on request those of mail systems.

    STREAM-BAYES 1 classify 1732\n and so many bytes      OK spam 0.998120 4.1730 9f86d081...\n, perhaps with a note
    STREAM-BAYES 1 learn spam 1732\n and so many bytes    OK learned\n, or corrected, or unchanged
    STREAM-BAYES 1 correct ham 9f86d081\n                 the same
    STREAM-BAYES 1 forget 9f86d081\n                      OK forgotten\n
    STREAM-BAYES 1 forget-mail 1732\n and so many bytes   the same
    STREAM-BAYES 1 forget-user ann\n                      OK forgotten 3\n: mails that the site had learned from ann
    STREAM-BAYES 1 classify 1732 user=ann\n and so on     any of these for a user

A failed request gets ERROR and a message. Only the owner may open a Unix socket that the server creates.
"""

from __future__ import annotations

import logging
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_bayes.errors import BadValue, InUse, SourceError, StreamBayesError
from stream_bayes.mail.server.callers import Caller, caller_of
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.server.milter import ON_SPAM, answer_milter
from stream_bayes.mail.server.spamd import answer_spamc
from stream_bayes.mail.server.web_api import WebConversation
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.judged_mails import DAYS, MAX_BYTES
from stream_bayes.mail.store.users import Quota, user_of_address

__all__ = ["PROTOCOLS", "ServedUsers", "SpamServer", "inherited_sockets"]

logger = logging.getLogger(__name__)

PROTOCOLS = ("spamd", "milter", "http")
MAX_REQUEST = 1 << 27  # bytes
MAX_LINE = 2_000
USER = "user="
REQUEST_SECONDS = 30.0  # for a client to send a mail
MILTER_SECONDS = 7_200.0  # a mail server keeps its connections open
FIRST_INHERITED = 3  # the first descriptor that systemd passes
IDLE_THREADS = 4  # of each socket that wait for connections
ACCEPT_PAUSE = 0.1  # seconds after a connection that could not be accepted
BACKLOG = 128  # connections that wait


def inherited_sockets(environment: Mapping[str, str]) -> dict[str, socket.socket]:
    """Return the sockets that systemd has opened, by protocol; `FileDescriptorName=` names it.

    Raises
    ------
    BadValue
        If one has another name than "socket" or a protocol.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return {}
    count = int(environment.get("LISTEN_FDS", "0"))
    names = environment.get("LISTEN_FDNAMES", "").split(":")
    sockets: dict[str, socket.socket] = {}
    for place in range(count):
        name = names[place] if place < len(names) else "unknown"
        if name not in (*PROTOCOLS, "socket"):
            raise BadValue(
                f"systemd passes a socket named {name!r}; set FileDescriptorName= to socket, {' or '.join(PROTOCOLS)}"
            )
        sockets[name] = socket.socket(fileno=FIRST_INHERITED + place)
    return sockets


@dataclass(frozen=True, slots=True)
class ServedUsers:
    """The use of users' filters by the protocols of mail systems.

    Parameters
    ----------
    with_domain
        True if the user of a milter's mail is the whole address of its recipient; False for the part before the @.
    teach_site
        True if the site also learns what users teach.
    trusted
        Accounts of this machine that act for all users over Unix sockets, as root does.
    """

    with_domain: bool = True
    teach_site: bool = False
    trusted: tuple[str, ...] = ()

    def user_of_address(self, address: str) -> str | None:
        """Return the user with an address."""
        return user_of_address(address, with_domain=self.with_domain)


class SpamServer:
    """Serves a filter's directory.

    Parameters
    ----------
    home
        The directory, with a filter in it.
    listen
        The addresses of other protocols, by name: "PORT" on this machine alone, "HOST:PORT", or the path of a Unix
        socket.
    inherited
        Sockets that are open already, by protocol; "socket" is the server's own.
    max_bytes, days
        The bounds of the tokens of judged mails; see `JudgedMails`.
    may_learn
        True to allow `TELL` and changes over HTTP. Always allowed over Unix sockets that the server creates.
    on_spam
        What a mail server does with spam: "mark", "quarantine" or "reject".
    users
        How the other protocols use users' filters; None: they use the site's alone.
    quota
        The bounds of users' filters.

    Raises
    ------
    InUse
        If another server answers there.
    SourceError
        If a socket cannot be created.
    StreamBayesError
        If there is no filter.
    """

    def __init__(
        self,
        home: SpamHome,
        listen: Mapping[str, str] | None = None,
        inherited: Mapping[str, socket.socket] | None = None,
        max_bytes: int = MAX_BYTES,
        days: float = DAYS,
        *,
        may_learn: bool = False,
        on_spam: str = "mark",
        users: ServedUsers | None = None,
        quota: Quota | None = None,
    ) -> None:
        for name in listen or {}:
            if name not in PROTOCOLS:
                raise BadValue(f"listen: expected one of {', '.join(PROTOCOLS)}, got {name!r}")
        if on_spam not in ON_SPAM:
            raise BadValue(f"on_spam: expected one of {', '.join(ON_SPAM)}, got {on_spam!r}")
        self.home = home
        self._stopped = threading.Event()
        given = dict(inherited or {})
        own = given.pop("socket", None)
        if own is None:
            _clear(home.socket)
        teach_site = users is not None and users.teach_site
        self.service = FilterService(home, max_bytes, days, quota, teach_site=teach_site)
        self.service.clean_users()
        self._may_learn, self._on_spam, self._users = may_learn, on_spam, users
        self._listeners: dict[str, _Listener] = {}
        self._paths: list[Path] = []
        try:
            if own is None:
                self._listen_at_path("socket", home.socket)
            else:
                self._adopt("socket", own, inherited=True)
            for name, address in (listen or {}).items():
                self._listen(name, address)
            for name, opened in given.items():
                self._adopt(name, opened, inherited=True)
        except BaseException:
            self._close()
            raise

    @property
    def answered(self) -> int:
        """The number of mails judged."""
        return self.service.judged

    def addresses(self) -> dict[str, str]:
        """Return the address of each protocol."""
        return {name: _shown(each.socket) for name, each in self._listeners.items()}

    # -- listening ----------------------------------------------------------------------------------------------------

    def _listen(self, name: str, address: str) -> None:
        """Listen for a protocol at an address."""
        if "/" in address:
            path = Path(address)
            _clear(path)
            self._listen_at_path(name, path)
            return
        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65_535:
            raise BadValue(f"--{name} {address}: expected PORT, HOST:PORT or the path of a socket")
        try:
            family, *_, place = socket.getaddrinfo(
                host.strip("[]") or "127.0.0.1", int(port), type=socket.SOCK_STREAM
            )[0]
            opened = socket.create_server(place[:2], family=family, backlog=BACKLOG)
        except OSError as error:
            raise SourceError(f"--{name} {address}: cannot listen at it: {error}") from error
        self._adopt(name, opened, may_learn=self._may_learn)

    def _listen_at_path(self, name: str, path: Path) -> None:
        mask = os.umask(0o177)
        opened = socket.socket(socket.AF_UNIX)
        try:
            opened.bind(str(path))
        except OSError as error:  # a path too long for a socket, mostly
            opened.close()
            raise SourceError(f"{path}: cannot listen at it: {error}; try a shorter --home") from error
        finally:
            os.umask(mask)
        self._paths.append(path)
        self._adopt(name, opened, may_learn=True)

    def _adopt(
        self, name: str, opened: socket.socket, *, may_learn: bool | None = None, inherited: bool = False
    ) -> None:
        """Serve a protocol at an open socket."""
        may_learn = self._may_learn if may_learn is None else may_learn
        opened.listen(BACKLOG)
        service, on_spam, users = self.service, self._on_spam, self._users
        trusted = () if users is None else users.trusted

        def caller(connection: Any) -> Caller:
            return caller_of(connection, may_learn=may_learn, has_users=users is not None, trusted=trusted)

        if name == "http":
            handler: Any = type(
                "_Web", (WebConversation,), {"service": service, "caller_of": staticmethod(caller)}
            )
        elif name == "socket":
            handler = _conversation(
                lambda reader, write, _: write(_answered(reader, service)), REQUEST_SECONDS
            )
        elif name == "spamd":
            handler = _conversation(
                lambda reader, write, connection: answer_spamc(reader, write, service, caller(connection)),
                REQUEST_SECONDS,
            )
        else:
            user_of = None if users is None else users.user_of_address
            handler = _conversation(
                lambda reader, write, _: answer_milter(
                    reader, write, service, on_spam=on_spam, user_of=user_of
                ),
                MILTER_SECONDS,
            )
        self._listeners[name] = _Listener(opened, handler, inherited=inherited)

    # -- running ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `stop` is called, then remove the sockets."""
        try:
            for each in self._listeners.values():
                each.start()
            while not self._stopped.wait(0.1):
                self.service.tend()
        finally:
            self._close()
            self.service.close()

    def stop(self) -> None:
        """End `run` soon. Return at once: a signal handler may call this."""
        self._stopped.set()

    def _close(self) -> None:
        for each in self._listeners.values():
            each.stop()
            each.socket.close()
        for path in self._paths:
            path.unlink(missing_ok=True)


def _answered(reader: Any, service: FilterService) -> bytes:
    """Return the answer to a request of the server's own protocol."""
    try:
        words = reader.readline(MAX_LINE).decode("utf-8", "replace").split()
        if words[:2] != ["STREAM-BAYES", "1"]:
            raise ValueError("expected STREAM-BAYES 1 and a verb")
        return ("OK " + " ".join(_done(words[2:], reader, service)) + "\n").encode("utf-8", "replace")
    except (StreamBayesError, OSError, ValueError) as error:
        return b"ERROR " + " ".join(str(error).split()).encode("utf-8", "replace")[:1000] + b"\n"


def _done(words: list[str], reader: Any, service: FilterService) -> tuple[str, ...]:
    """Make the change or the judgement that a request is about; return the words of the answer."""
    user = None
    if words and words[-1].startswith(USER):
        user = words.pop().removeprefix(USER)
    match words:
        case ["classify", size]:
            return service.judge(_mail(reader, size), user).texts()
        case ["learn", "ham" | "spam" as label, size]:
            return (service.learn(_mail(reader, size), label, user),)
        case ["correct", "ham" | "spam" as label, name]:
            return (service.correct(name, label, user),)
        case ["forget", name]:
            service.forget(name, user)
            return ("forgotten",)
        case ["forget-mail", size]:
            service.forget_mail(_mail(reader, size), user)
            return ("forgotten",)
        case ["forget-user", name]:
            return ("forgotten", str(service.forget_user(name)))
        case _:
            raise ValueError(
                "expected classify, learn, correct, forget, forget-mail or forget-user, with a label, an id or a size"
            )


def _mail(reader: Any, given: str) -> bytes:
    size = int(given) if given.isdecimal() else -1
    if not 0 <= size <= MAX_REQUEST:
        raise ValueError(f"expected 0 to {MAX_REQUEST:,} bytes, got {given}")
    raw: bytes = reader.read(size)
    if len(raw) != size:
        raise ValueError(f"expected {size} bytes, got {len(raw)}")
    return raw


def _clear(path: Path) -> None:
    """Remove the socket of a server that has died."""
    if not path.exists():
        return
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(REQUEST_SECONDS)
        try:
            line.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise SourceError(f"{path}: cannot listen at it: {error}; try a shorter --home") from error
    raise InUse(f"another server answers at {path}")


def _shown(opened: socket.socket) -> str:
    name = opened.getsockname()
    return name if isinstance(name, str) else f"{name[0]}:{name[1]}"


class _Listener:
    """Serves an open socket, a thread for each connection.

    Some threads wait for connections, so that the one that accepts a mail also judges it: starting a thread, and waking
    it, would take longer than most verdicts. When the last one gets a connection, it starts another first.

    Parameters
    ----------
    opened
        The socket.
    handler
        The class of handlers, as of `socketserver`.
    inherited
        True for a socket that another process has opened, and goes on using.
    """

    def __init__(self, opened: socket.socket, handler: Any, *, inherited: bool) -> None:
        self.socket = opened
        opened.setblocking(True)
        self._handler = handler
        self._inherited = inherited
        self._lock = threading.Lock()
        self._idle = 0
        self._stopping = False

    def start(self) -> None:
        """Begin to serve."""
        for _ in range(IDLE_THREADS):
            self._add_thread()

    def stop(self) -> None:
        """Wake the waiting threads, and accept nothing more. Open connections go on until they end."""
        self._stopping = True
        if not self._inherited:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            return
        for _ in range(self._idle):  # shutting it down would end it for its owner too
            with socket.socket(self.socket.family) as line, suppress(OSError):
                line.settimeout(1.0)
                line.connect(self.socket.getsockname())

    def _add_thread(self) -> None:
        with self._lock:
            self._idle += 1
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        """Serve one connection after another."""
        while True:
            line = self._accepted()
            with self._lock:
                self._idle -= 1
                is_last = not self._idle
            if line is None:
                return
            if is_last:
                self._add_thread()
            self._converse(line)
            with self._lock:
                if self._stopping or self._idle >= IDLE_THREADS:
                    return
                self._idle += 1

    def _accepted(self) -> socket.socket | None:
        """Return the next connection; None if the server stops."""
        while not self._stopping:
            try:
                line, _ = self.socket.accept()
            except OSError as error:  # a client that has gone already, or too many open files
                if not self._stopping:
                    logger.debug("no connection was accepted: %s", error)
                    time.sleep(ACCEPT_PAUSE)
                continue
            if not self._stopping:
                return line
            line.close()
        return None

    def _converse(self, line: socket.socket) -> None:
        with line:
            try:
                if line.family != socket.AF_UNIX:
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._handler(line, ("", 0), self)
                line.shutdown(socket.SHUT_WR)
            except Exception:  # clients that disconnect, or do not finish their request
                logger.debug("a connection ended with an error", exc_info=True)


def _conversation(converse: Callable[[Any, Any, Any], object], seconds: float) -> type:
    """Return a handler of connections."""

    class Conversation(socketserver.StreamRequestHandler):
        timeout = seconds

        def handle(self) -> None:
            converse(self.rfile, self.wfile.write, self.connection)

    return Conversation
