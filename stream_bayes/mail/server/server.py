r"""The server of a filter: its own protocol over a Unix socket, and on request those of mail systems.

    STREAM-BAYES 1 classify 1732\n and so many bytes      OK spam 0.998120 4.1730 9f86d081...\n, perhaps with notes
    STREAM-BAYES 1 learn spam 1732\n and so many bytes    OK learned\n, or corrected, or unchanged
    STREAM-BAYES 1 correct ham 9f86d081\n                 the same
    STREAM-BAYES 1 forget 9f86d081\n                      OK forgotten\n
    STREAM-BAYES 1 forget-mail 1732\n and so many bytes   the same, or OK unchanged\n
    STREAM-BAYES 1 forget-user ann\n                      OK forgotten 3\n: mails that the site had learned from ann
    STREAM-BAYES 1 classify 1732 user=ann\n and so on     any of these for a user

A failed request gets ERROR and a message. Only the owner may open a Unix socket that the server creates.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_bayes._build import install_command
from stream_bayes.door.input_budget import MemoryBudget, Reservation
from stream_bayes.door.query_numbers import whole_number
from stream_bayes.door.refusals import Refusals
from stream_bayes.door.request_reading import RequestReader
from stream_bayes.errors import BadValue, InUse, MissingPackage, SourceError, StreamBayesError
from stream_bayes.mail.server.callers import Caller, caller_of
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.server.listeners import Converse, MailListener, SocketListener, WebListener
from stream_bayes.mail.server.milter import ON_SPAM, answer_milter
from stream_bayes.mail.server.spamd import BUSY as SPAMD_BUSY
from stream_bayes.mail.server.spamd import answer_spamc
from stream_bayes.mail.start import MOST_TO_SERVER
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.judged_mails import DAYS, MAX_BYTES
from stream_bayes.mail.store.users import Quota, user_of_address

__all__ = ["PROTOCOLS", "ServedUsers", "SpamServer", "WebAccess", "inherited_sockets"]

PROTOCOLS = ("spamd", "milter", "http")
MAX_MAIL = MOST_TO_SERVER  # bytes
MAIL_MEMORY = 40_000_000  # bytes of mails in flight, over all sockets; parsing takes up to six times that
PATIENCE = 5.0  # seconds that a mail waits for memory
MAX_LINE = 2_000
USER = "user="
REQUEST_SECONDS = 30.0  # for a client to send a mail, and to read the answer
FIRST_INHERITED = 3  # the first descriptor that systemd passes
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
    count = whole_number(environment.get("LISTEN_FDS", "0"), "LISTEN_FDS", 0, 100)
    names = environment.get("LISTEN_FDNAMES", "").split(":")
    sockets: dict[str, socket.socket] = {}
    for index in range(count):
        name = names[index] if index < len(names) else "unknown"
        if name not in (*PROTOCOLS, "socket"):
            raise BadValue(
                f"systemd passes a socket named {name!r}; set FileDescriptorName= to socket, {' or '.join(PROTOCOLS)}"
            )
        sockets[name] = socket.socket(fileno=FIRST_INHERITED + index)
    return sockets


@dataclass(frozen=True, slots=True)
class ServedUsers:
    """The use of users' filters by the protocols of mail systems."""

    # True if the user of a milter's mail is the whole address of its recipient; False for the part before the @
    with_domain: bool = True
    teach_site: bool = False  # True if the site also learns what users teach
    # accounts of this machine that act for all users over Unix sockets, as root does
    trusted: tuple[str, ...] = ()

    def user_of_address(self, address: str) -> str | None:
        """Return the user with an address."""
        return user_of_address(address, with_domain=self.with_domain)


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The clients of the filter's HTTP over TCP."""

    token: str | None = None  # for changes; None: there are none
    hosts: tuple[str, ...] = ()  # names that requests may be for, besides the loopback's
    proxies: tuple[str, ...] = ()  # addresses or networks of proxies whose `X-Forwarded-For` names the client


class SpamServer:
    """Serves a filter's directory.

    A filter must be in the directory. `listen` has the addresses of other protocols, by name: "PORT" on this machine
    alone, "HOST:PORT", or the path of a Unix socket. `inherited` has sockets that are open already, by protocol;
    "socket" is the server's own. `max_bytes` and `days` bound the tokens of judged mails; see `JudgedMails`.
    `may_learn` allows `TELL` over ports, and changes over Unix sockets that were inherited; they are always allowed
    over Unix sockets that the server creates. `on_spam` is what a mail server does with spam: "mark", "quarantine" or
    "reject". `users` is how the other protocols use users' filters; None: they use the site's alone. `quota` bounds
    users' filters. `web` says who may use HTTP, and who may change the filter by it.

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
        web: WebAccess | None = None,
    ) -> None:
        for name in listen or {}:
            if name not in PROTOCOLS:
                raise BadValue(f"listen: expected one of {', '.join(PROTOCOLS)}, got {name!r}")
        if on_spam not in ON_SPAM:
            raise BadValue(f"on_spam: expected one of {', '.join(ON_SPAM)}, got {on_spam!r}")
        self.home = home
        self._stopped = threading.Event()
        sockets = dict(inherited or {})
        opened_socket = sockets.pop("socket", None)
        if opened_socket is None:
            _clear(home.socket)
        teach_site = users is not None and users.teach_site
        self.service = FilterService(home, max_bytes, days, quota, teach_site=teach_site)
        self.service.clean_users()
        self._may_learn, self._on_spam, self._users = may_learn, on_spam, users
        self._web = WebAccess() if web is None else web
        self._memory = MemoryBudget(MAIL_MEMORY)
        self._listeners: dict[str, MailListener] = {}
        self._paths: dict[Path, tuple[int, int]] = {}  # of sockets, with the file that each is
        try:
            if opened_socket is None:
                self._listen_at_path("socket", home.socket)
            else:
                self._adopt("socket", opened_socket, inherited=True)
            for name, address in (listen or {}).items():
                self._listen(name, address)
            for name, opened in sockets.items():
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
        try:
            number = whole_number(port, "the port", 0, 65_535)
        except BadValue as error:
            raise BadValue(f"--{name} {address}: expected PORT, HOST:PORT or the path of a socket") from error
        try:
            family, *_, socket_address = socket.getaddrinfo(
                host.strip("[]") or "127.0.0.1", number, type=socket.SOCK_STREAM
            )[0]
            opened = socket.create_server(socket_address[:2], family=family, backlog=BACKLOG)
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
        self._paths[path] = _identity(path)
        self._adopt(name, opened, may_learn=True)

    def _adopt(
        self, name: str, opened: socket.socket, *, may_learn: bool | None = None, inherited: bool = False
    ) -> None:
        """Serve a protocol at an open socket."""
        may_learn = self._may_learn if may_learn is None else may_learn
        opened.listen(BACKLOG)
        users = self._users
        trusted = () if users is None else users.trusted

        def rights_of(connection: Any, *, may_learn: bool) -> Caller:
            return caller_of(connection, may_learn=may_learn, has_users=users is not None, trusted=trusted)

        if name == "http":
            # Over TCP the guard lets nobody change anything without the token.
            is_local = opened.family == socket.AF_UNIX
            may_change = may_learn if is_local else True
            self._listeners[name] = self._web_listener(
                opened, lambda line: rights_of(line, may_learn=may_change)
            )
            return
        refusals, service, memory = Refusals(name), self.service, self._memory
        converse: Converse
        if name == "socket":
            converse, busy = (lambda reader: _answer_command(reader, service, memory)), b"ERROR busy\n"
        elif name == "spamd":
            converse, busy = (
                lambda reader: answer_spamc(
                    reader, service, rights_of(reader.line, may_learn=may_learn), memory, refusals
                ),
                SPAMD_BUSY,
            )
        else:
            user_of, on_spam = None if users is None else users.user_of_address, self._on_spam
            converse, busy = (
                lambda reader: answer_milter(
                    reader, service, memory, refusals, on_spam=on_spam, user_of=user_of
                ),
                b"",
            )
        self._listeners[name] = SocketListener(opened, converse, refusals, busy, inherited=inherited)

    def _web_listener(self, opened: socket.socket, rights_of: Callable[[Any], Caller]) -> WebListener:
        """Return the listener for HTTP."""
        try:
            from stream_bayes.door.request_checks import Door, ServiceLimits
            from stream_bayes.mail.server.web_api import ACCESS, filter_app
        except ImportError as error:
            raise MissingPackage(
                f"--http needs starlette and uvicorn; install them with: {install_command('serve')}"
            ) from error
        web = self._web
        host = "127.0.0.1" if opened.family == socket.AF_UNIX else str(opened.getsockname()[0])
        limits = ServiceLimits(
            token=web.token,
            hosts=web.hosts,
            host=host,
            proxies=web.proxies,
            max_body_bytes=MAX_MAIL,
            seconds=REQUEST_SECONDS,
        )
        door = Door(limits, "http", ACCESS, self._memory)
        return WebListener(opened, filter_app(self.service, door, rights_of, self.refusals), door)

    def refusals(self) -> list[Refusals]:
        """Return what each socket has refused."""
        return [each.refusals for each in self._listeners.values()]

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
        for path, identity in self._paths.items():
            with suppress(FileNotFoundError):
                if _identity(path) == identity:  # not what another server has put there
                    path.unlink()


def _answer_command(reader: RequestReader, service: FilterService, memory: MemoryBudget) -> None:
    """Answer a request of the server's own protocol."""
    reader.has_begun()
    reader.begin(REQUEST_SECONDS)
    with memory.open(reader.address, PATIENCE) as reservation:
        try:
            words = reader.readline(MAX_LINE).decode("utf-8", "replace").split()
            if words[:2] != ["STREAM-BAYES", "1"]:
                raise ValueError("expected STREAM-BAYES 1 and a verb")
            done = _done(words[2:], lambda size: _mail(reader, size, reservation), service)
            answer = ("OK " + " ".join(done) + "\n").encode("utf-8", "replace")
        except (StreamBayesError, OSError, ValueError) as error:
            answer = b"ERROR " + " ".join(str(error).split()).encode("utf-8", "replace")[:1000] + b"\n"
        reader.write(answer, REQUEST_SECONDS)


def _done(words: list[str], mail: Callable[[str], bytes], service: FilterService) -> tuple[str, ...]:
    """Make the change or the judgement that a request is about; return the words of the answer."""
    user = None
    if words and words[-1].startswith(USER):
        user = words.pop().removeprefix(USER)
    match words:
        case ["classify", size]:
            return service.judge(mail(size), user).texts()
        case ["learn", label, size]:
            return (service.learn(mail(size), label, user),)
        case ["correct", label, name]:
            return (service.correct(name, label, user),)
        case ["forget", name]:
            service.forget(name, user)
            return ("forgotten",)
        case ["forget-mail", size]:
            return (service.forget_mail(mail(size), user),)
        case ["forget-user", name]:
            return ("forgotten", str(service.forget_user(name)))
        case _:
            raise ValueError(
                "expected classify, learn, correct, forget, forget-mail or forget-user, with a class, an id or a size"
            )


def _mail(reader: RequestReader, size: str, reservation: Reservation) -> bytes:
    expected = whole_number(size, "the size of the mail", 0, MAX_MAIL)
    raw = reader.read(expected, reservation)
    if len(raw) != expected:
        raise ValueError(f"expected {expected} bytes, got {len(raw)}")
    return raw


def _identity(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def _clear(path: Path) -> None:
    """Remove the socket of a server that has died; never another file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SourceError(
            f"{path}: cannot listen at it: expected no file there, or the socket of a server; name another"
        )
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
    if isinstance(name, str):
        return name
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"
