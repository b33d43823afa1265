r"""The protocol of SpamAssassin's spamd, so that `spamc` and other clients of spamd work unchanged.

    request    CHECK SPAMC/1.5\r\nContent-length: 1732\r\n\r\n and the mail
    response   SPAMD/1.1 0 EX_OK\r\nSpam: False ; -3.1 / 4.1\r\n\r\n

CHECK, SYMBOLS, REPORT, REPORT_IFSPAM, PROCESS, HEADERS, TELL, PING and SKIP. The score is the log-odds of spam, the
threshold the log-odds from which the filter's costs call a mail spam; a further class is what `side_of` says. `User:`
names the user whose filter is used, if the server has users. TELL with `Set: local` learns a mail, with `Remove: local`
forgets it. PROCESS and HEADERS return the mail with X-Stream-Bayes headers, and with the headers X-Spam-Flag and
X-Spam-Status that delivery rules for SpamAssassin match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from stream_bayes.decompression import unpacked
from stream_bayes.door.input_budget import MemoryBudget, MemoryFull, Reservation
from stream_bayes.door.query_numbers import whole_number
from stream_bayes.door.refusals import Refusals
from stream_bayes.door.request_reading import RequestReader
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.mail.filter.verdict import Judgement
from stream_bayes.mail.server.callers import Caller, NotAllowed
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.start import MOST_TO_SERVER, with_fields, without_fields
from stream_bayes.mail.text.structure import head_and_body

__all__ = ["BUSY", "answer_spamc", "mail_with"]

SECONDS: Final = 30.0  # for a request to arrive, and for its answer to be read
PATIENCE: Final = 5.0  # seconds that a mail waits for memory
MAX_LINE: Final = 1_000
MAX_HEADERS: Final = 50
OK, USAGE, DATA, UNAVAILABLE, SOFTWARE, IO_ERROR = (  # codes of sysexits.h
    (0, "EX_OK"),
    (64, "EX_USAGE"),
    (65, "EX_DATAERR"),
    (69, "EX_UNAVAILABLE"),
    (70, "EX_SOFTWARE"),
    (74, "EX_IOERR"),
)
NO_USER, TEMPORARY, NO_PERMISSION = (67, "EX_NOUSER"), (75, "EX_TEMPFAIL"), (77, "EX_NOPERM")
SYMBOLS: Final = 12  # tokens that decided, in a report
SPAMASSASSIN = (
    b"x-spam-flag",
    b"x-spam-status",
    b"x-spam-level",
    b"x-spam-checker-version",
    b"x-spam-report",
)


class _Refused(Exception):
    """A request that the protocol does not allow, with the code of the response."""

    def __init__(self, code: tuple[int, str], reason: str) -> None:
        super().__init__(reason)
        self.code = code


def answer_spamc(
    reader: RequestReader,
    service: FilterService,
    caller: Caller,
    memory: MemoryBudget,
    refusals: Refusals,
) -> None:
    """Answer one request of a client of spamd. `caller` has the rights of the client: whether TELL is allowed, and the
    users that `User:` may name. `memory` is the budget for mails in flight.
    """
    if not reader.has_begun():
        return
    reader.begin(SECONDS)
    with memory.open(reader.address, PATIENCE) as reservation:
        answer = _answer(reader, service, caller, reservation, refusals)
        if answer:
            reader.write(answer, SECONDS)


def _answer(
    reader: RequestReader,
    service: FilterService,
    caller: Caller,
    reservation: Reservation,
    refusals: Refusals,
) -> bytes:
    """Return the response to a request; nothing if there is none."""
    try:
        verb, headers = _request(reader)
        if verb == "SKIP":
            return b""
        if verb == "PING":
            return b"SPAMD/1.5 0 PONG\r\n"
        if verb not in _VERBS:
            raise _Refused(
                USAGE, f"expected one of {', '.join((*_VERBS, 'PING', 'SKIP'))}, got {verb[:40]!r}"
            )
        if verb == "TELL" and not caller.may_learn:
            service.note_refusal()
            raise _Refused(
                UNAVAILABLE,
                "TELL is refused here: start the server with --allow-learn (spamc says: un/learned)",
            )
        request = _Request(headers, _user(headers, caller))
        fields, body = _VERBS[verb](service, _mail(reader, headers, reservation), request)
        reservation.grow(len(body))
        code = OK
    except _Refused as error:
        refusals.add(error.code[1].removeprefix("EX_").lower(), reader.address, str(error))
        code, fields, body = error.code, [], f"{error}\r\n".encode("utf-8", "replace")
    except MemoryFull as error:
        refusals.add("busy", reader.address, str(error))
        code, fields, body = TEMPORARY, [], f"{error}\r\n".encode()
    except TimeoutError as error:
        refusals.add("slow", reader.address, str(error))
        code, fields, body = IO_ERROR, [], f"{error}\r\n".encode("utf-8", "replace")
    except StreamBayesError as error:
        code, fields, body = SOFTWARE, [], f"{error}\r\n".encode("utf-8", "replace")
    except (OSError, ValueError) as error:
        code, fields, body = IO_ERROR, [], f"{error}\r\n".encode("utf-8", "replace")
    return _response(code, fields, body)


def _response(code: tuple[int, str], fields: Sequence[str], body: bytes) -> bytes:
    number, name = code
    lines = [f"SPAMD/1.1 {number} {name}", f"Content-length: {len(body)}", *fields]
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "replace") + b"\r\n" + body


# To a connection that is refused.
BUSY: Final = _response(TEMPORARY, [], b"too many connections are open; try again\r\n")


def _request(reader: RequestReader) -> tuple[str, dict[str, str]]:
    """Return the verb and the headers of a request."""
    words = reader.readline(MAX_LINE).split()
    if len(words) != 2 or not words[1].startswith(b"SPAMC/"):
        raise _Refused(USAGE, "expected a request such as CHECK SPAMC/1.5")
    headers: dict[str, str] = {}
    while line := reader.readline(MAX_LINE).strip():
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers[name.strip().lower()] = value.strip()
        if len(headers) > MAX_HEADERS:
            raise _Refused(USAGE, f"expected at most {MAX_HEADERS} headers")
    return words[0].decode("ascii", "replace").upper(), headers


def _user(headers: dict[str, str], caller: Caller) -> str | None:
    """Return the user of a request."""
    try:
        return caller.user(headers.get("user"))
    except NotAllowed as error:
        raise _Refused(NO_PERMISSION, str(error)) from None
    except BadValue as error:
        raise _Refused(NO_USER, str(error)) from None


def _mail(reader: RequestReader, headers: dict[str, str], reservation: Reservation) -> bytes:
    """Return the mail of a request; one without a length ends with the connection."""
    length = headers.get("content-length")
    if length is None:
        raw = reader.read(MOST_TO_SERVER + 1, reservation)
        if len(raw) > MOST_TO_SERVER:
            raise _Refused(DATA, f"expected at most {MOST_TO_SERVER:,} bytes")
    else:
        try:
            size = whole_number(length, "Content-length", 0, MOST_TO_SERVER)
        except BadValue as error:
            raise _Refused(USAGE, str(error)) from None
        raw = reader.read(size, reservation)
        if len(raw) != size:
            raise _Refused(DATA, f"expected {length} bytes, got {len(raw)}")
    if headers.get("compress", "").lower() != "zlib":
        return raw
    try:
        return unpacked(raw, MOST_TO_SERVER, reserve=reservation.grow)
    except BadValue as error:
        raise _Refused(DATA, str(error)) from None


Response = tuple[list[str], bytes]


class _Request(NamedTuple):
    """The headers of a request, and its user; None for the site."""

    headers: dict[str, str]
    user: str | None


def _status(judgement: Judgement) -> str:
    return f"Spam: {judgement.is_spam} ; {judgement.log_odds:.2f} / {judgement.log_odds_threshold:.2f}"


def _check(service: FilterService, raw: bytes, request: _Request) -> Response:
    return [_status(service.judge(raw, request.user))], b""


def _symbols(service: FilterService, raw: bytes, request: _Request) -> Response:
    judgement = service.judge(raw, request.user)
    share = round(100 * judgement.probability)
    return [
        _status(judgement)
    ], f"STREAM_BAYES_{judgement.verdict.upper()},STREAM_BAYES_{share:02}\r\n".encode()


def _report(service: FilterService, raw: bytes, request: _Request) -> Response:
    judgement = service.judge(raw, request.user)
    lines = [
        f"{judgement.verdict}: probability of spam {judgement.probability:.6f}, score {judgement.score:.4f}",
        *([judgement.note] if judgement.note else []),
        *(f"{row.adds:+8.3f}  {row.token}" for row in service.explain(raw, request.user).tokens[:SYMBOLS]),
    ]
    return [_status(judgement)], "".join(f"{line}\r\n" for line in lines).encode("utf-8", "replace")


def _report_if_spam(service: FilterService, raw: bytes, request: _Request) -> Response:
    judgement = service.judge(raw, request.user)
    return _report(service, raw, request) if judgement.is_spam else ([_status(judgement)], b"")


def _process(service: FilterService, raw: bytes, request: _Request) -> Response:
    judgement = service.judge(raw, request.user)
    return [_status(judgement)], mail_with(raw, judgement)


def _headers(service: FilterService, raw: bytes, request: _Request) -> Response:
    status, marked = _process(service, raw, request)
    end = b"\r\n" if b"\r\n" in marked[:MAX_LINE] else b"\n"
    head, _ = head_and_body(marked.replace(b"\r\n", b"\n"))
    return status, head.replace(b"\n", end) + end + end


def mail_with(raw: bytes, judgement: Judgement) -> bytes:
    """Return a mail with the filter's headers and those of SpamAssassin; earlier ones are removed."""
    fields = [
        *(["X-Spam-Flag: YES"] if judgement.is_spam else []),
        f"X-Spam-Status: {'Yes' if judgement.is_spam else 'No'}, score={judgement.log_odds:.2f} "
        f"required={judgement.log_odds_threshold:.2f} tests=STREAM_BAYES_{judgement.verdict.upper()}",
    ]
    return with_fields(without_fields(raw, (b"x-stream-bayes", *SPAMASSASSIN)), judgement.texts(), fields)


def _tell(service: FilterService, raw: bytes, request: _Request) -> Response:
    databases = {
        name: [database.strip() for database in request.headers.get(name, "").split(",")]
        for name in ("set", "remove")
    }
    label = request.headers.get("message-class", "").lower()
    if "local" in databases["remove"]:
        # Without a header spamc reports that the message was already un/learned.
        return (["DidRemove: local"] if service.forget_mail(raw, request.user) == "forgotten" else []), b""
    if "local" not in databases["set"]:
        raise _Refused(USAGE, "TELL: expected Set: local or Remove: local; reports to others are not made")
    if label not in service.classes:
        names = " or ".join(map(str, service.classes))
        raise _Refused(USAGE, f"TELL: expected Message-class: {names}, got {label[:40]!r}")
    return (["DidSet: local"] if service.learn(raw, label, request.user) != "unchanged" else []), b""


_VERBS: dict[str, Callable[[FilterService, bytes, _Request], Response]] = {
    "CHECK": _check,
    "SYMBOLS": _symbols,
    "REPORT": _report,
    "REPORT_IFSPAM": _report_if_spam,
    "PROCESS": _process,
    "HEADERS": _headers,
    "TELL": _tell,
}
