r"""The entry point of the program `stream-bayes`, and its commands for which loading the package takes too long.

    stream-bayes spam filter [--embed]    < mail    the mail with a verdict in its headers
    stream-bayes spam classify [FILE...]            a line for each message
    stream-bayes spam learn, correct, forget, forget-user        where a server runs

They use the server of `stream-bayes spam serve`, if there is one, over a socket in the filter's directory, and import
nothing but `socket`. Without a server they load the package and the filter, which takes a hundred times as long. All
other commands are in the package. The protocol is described in `stream_bayes/mail/server/server.py`.

A filter stands between a mail and its reader: after any error, the mail passes unchanged, and the exit code is 3.
Otherwise the code is 0 for spam, 1 for ham and 2 for unsure, or always 0 with --embed; for a further class
of the filter it is that of spam or ham, as the answer's note says.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading these takes longer than classifying a mail
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["main", "own_fields", "with_fields", "without_fields", "without_own_fields"]

SPAM, HAM, UNSURE, ERROR = range(4)  # exit codes, as bogofilter's
CODES = {"spam": SPAM, "ham": HAM, "unsure": UNSURE}
AS = "as="  # before what a further class of the filter is where there are only ham and spam
GREETING = b"STREAM-BAYES 1"
OWN = b"x-stream-bayes"
ANSWER_SECONDS = 30.0  # for the server
MAX_ANSWER = 4096  # bytes
MOST_TO_SERVER = 1 << 24  # bytes of a mail; larger ones are handled without the server
NEVER_LEARNED = (
    "nothing to forget: these messages were never learned or judged by the server, or too long ago"
)
ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r"}  # of a file's name, so that it takes one line

HELP = """\
stream-bayes spam filter [--home DIR] [-u USER] [--embed]
stream-bayes spam classify [--home DIR] [-u USER] [FILE...]

  --home DIR   the filter's directory; $STREAM_BAYES_SPAM, or ~/.stream-bayes/spam
  -u USER      use this user's own filter on top of the site's; also --user
  --embed      exit with 0 whatever the verdict, for mail systems that treat other codes as failures
  --hold-megabytes N  without a server, hold N MB of tokens of classified mails, which correct finds by their
               ids; default 64
  --key-env N  environment variable with the key that hashes the filter's tokens

filter copies a mail from stdin to stdout and adds X-Stream-Bayes to its headers. classify reads files, or a mail from
stdin. Exit codes: 0 spam, 1 ham, 2 unsure; for several messages, the code of the last; 3 after any error.
"""

VerdictWords = tuple[str, ...]  # verdict, probability of spam, score and id, as text; and perhaps notes


def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["spam"] and words[1:2] in (["filter"], ["classify"]):
        sys.exit(run_command(words[1], words[2:]))
    if words[:1] == ["spam"] and words[1:2] in (["learn"], ["correct"], ["forget"], ["forget-user"]):
        code = change_on_server(words[1], words[2:])
        if code is not None:
            sys.exit(code)
    from stream_bayes.registry import load

    load("stream_bayes.cli.app:main")(words if arguments is not None else None)


def run_command(verb: str, arguments: list[str]) -> int:
    """Run `filter` or `classify`. Return the exit code."""
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(HELP)
        return 0
    return filter_mail(arguments) if verb == "filter" else classify(arguments)


def filter_mail(arguments: list[str]) -> int:
    """Write the mail with a verdict; unchanged after any error. Return the exit code."""
    import signal

    def interrupt(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # the mail must pass now
        raise KeyboardInterrupt("interrupted by SIGTERM")

    raw = b""
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        raw = read_input()
        options, files = parse(arguments)
        if files:
            raise ValueError(f"filter takes no files, got {files[0]}")
        plain = without_own_fields(raw)
        answer = make_classifier(options)(plain)
        output = with_fields(plain, answer)
        code = SPAM if "embed" in options else code_of(answer)
    except BaseException as error:  # Ctrl-C and SystemExit too: the mail must pass
        output, code = raw, ERROR
        report_error(error)
    signal.signal(signal.SIGTERM, before)
    return code if write_output(output) else ERROR


def classify(arguments: list[str]) -> int:
    """Write a line for each message: verdict, probability of spam, score, id and file. Return the exit code."""
    code, failed = ERROR, False
    note: VerdictWords = ()
    try:
        options, files = parse(arguments)
        if "embed" in options or "mail" in options:
            raise ValueError("--embed belongs to filter, --mail to correct and forget")
        classify_mail = make_classifier(options)
    except Exception as error:
        report_error(error)
        return ERROR
    for file in files or ["-"]:
        has_messages = False
        try:
            for name, raw in messages(file):
                has_messages = True
                answer = classify_mail(without_own_fields(raw))
                columns = (*answer[:4], name.translate(ESCAPES))
                if not write_output(os.fsencode("\t".join(columns) + "\n")):
                    return ERROR
                note = tuple(each for each in answer[4:] if not each.startswith(AS))
                code = code_of(answer)
            if not has_messages:
                raise ValueError(f"{file}: there is no message in it")
        except Exception as error:  # the other files can still be read
            report_error(error)
            failed = True
    if note:
        report_error(ValueError(f"every mail is unsure yet: {note[0]}"))
    return ERROR if failed else code


def code_of(answer: VerdictWords) -> int:
    """Return the exit code of an answer."""
    sides = [note.removeprefix(AS) for note in answer[4:] if note.startswith(AS)]
    return CODES[sides[0] if sides else answer[0]]


def change_on_server(verb: str, arguments: list[str]) -> int | None:
    """Send `learn`, `correct`, `forget` or `forget-user` to the server. Return the exit code; None if the package must
    do it.
    """
    try:
        options, words = parse(arguments)
        label = "" if verb in ("forget", "forget-user") else words.pop(0)
    except (ValueError, IndexError):  # help, and mistakes
        return None
    home = home_of(options)
    if (
        (label and not label.replace("-", "").isalnum())  # the server refuses what is no class of its filter
        or {"embed", "key-env", "hold-megabytes"} & options.keys()
        or not os.path.exists(f"{home}/socket")
    ):
        return None
    if verb == "forget-user":
        return forget_users(home, words) if words and not options.keys() - {"home"} else None
    user = user_words(options)
    by_mail = verb == "learn" or "mail" in options or not words or "-" in words
    if verb == "forget" and not words and "mail" not in options:
        return None
    outcomes: list[str] = []
    try:
        for request, raw, is_input in requests_of(verb, label, words, user, by_mail=by_mail):
            outcome = send_to_server(home, request, raw)
            if outcome is None:  # the standard input cannot be read again by the package
                return report_missing_server() if outcomes or is_input else None
            outcomes += outcome
        if not outcomes:
            raise ValueError(f"no message found in {', '.join(words or ['stdin'])}")
    except Exception as error:
        if outcomes:
            write_output((summary_of(outcomes) + "\n").encode())
        report_error(error)
        return ERROR
    if verb == "forget" and "forgotten" not in outcomes:
        report_error(ValueError(NEVER_LEARNED))
        return ERROR
    return 0 if write_output((summary_of(outcomes) + "\n").encode()) else ERROR


def requests_of(
    verb: str, label: str, words: list[str], user: str, *, by_mail: bool
) -> Iterator[tuple[str, bytes, bool]]:
    """Yield each request to the server, the mail that follows it, and True if this is the standard input."""
    if by_mail:
        request = "forget-mail" if verb == "forget" else f"learn {label}"
        for file in words or ["-"]:
            for _, raw in messages(file, label):
                yield f"{request} {len(raw)}{user}", raw, file == "-"
    else:
        for key in words:
            yield f"{verb} {label} {key}{user}".replace("  ", " "), b"", False


def forget_users(home: str, names: list[str]) -> int | None:
    """Send the names of users to forget to the server. Return the exit code; None without a server."""
    done = 0
    try:
        for name in names:
            words = send_to_server(home, f"forget-user {name}")
            if words is None:
                return report_missing_server() if done else None
            done += 1
            write_output(forgotten_user(name, int(words[1])).encode() + b"\n")
    except Exception as error:
        report_error(error)
        return ERROR
    return 0


def forgotten_user(name: str, mails: int) -> str:
    """Return the line that `forget-user` prints."""
    return f"{name} is forgotten" + (
        f", and {number_of(mails, 'mail')} that the site learned from {name}" if mails else ""
    )


def user_words(options: dict[str, str]) -> str:
    """Return the end of a request for a user; nothing for the site.

    A name with white space could not be sent as one word. The server refuses all other names that are none.
    """
    user = options.get("user")
    if user is None:
        return ""
    if not user or user != "".join(user.split()):
        raise ValueError(f"expected a user's name without white space, got {user!r}")
    return f" user={user}"


def report_missing_server() -> int:
    """Report that the server ended while its answers were used."""
    report_error(ValueError("the server ended before all messages were sent; repeat the command"))
    return ERROR


def summary_of(outcomes: list[str]) -> str:
    """Return the line that `learn`, `correct` and `forget` print."""
    if "forgotten" in outcomes:
        others = outcomes.count("unchanged")
        note = f", {others:,} never learned" if others else ""
        return f"{number_of(outcomes.count('forgotten'), 'message')} forgotten{note}"
    counts = {name: outcomes.count(name) for name in ("corrected", "learned", "unchanged")}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def number_of(count: float, noun: str) -> str:
    """Return a number of things: "1 message", "2,000 messages"."""
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"


def messages(file: str, label: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield each message of a file with its place. Load the package only for mailboxes, directories and gzip.

    With a label, the messages are learned: what is no mail, or has another label in its file, is reported in its place.
    """
    if file == "-":
        if sys.stdin is not None and sys.stdin.buffer.isatty():
            sys.stderr.write("stream-bayes: reading a mail from the terminal; Ctrl-D ends it\n")
        yield file, read_input()
        return
    if os.path.isfile(file):
        with open(file, "rb") as stream:
            begin = stream.read(512)
            if not begin:
                return
            # A header field; a box, an archive or anything else is read by the package.
            name = begin.partition(b":")[0]
            if name.replace(b"-", b"").isalnum() and b"\0" not in begin:
                yield file, begin + stream.read()
                return
    from stream_bayes.registry import load

    skipped = load("stream_bayes.mail.streams.mailbox:subfolders_of")(file)
    if skipped:
        report_skipped(file, [folder.name for folder in skipped])
    refused: dict[str, str] = {}
    for mail in load("stream_bayes.mail.streams.mailbox:mails")(file, label or None):
        if label and mail.refusal:
            refused[mail.origin] = mail.refusal
        else:
            yield mail.origin, mail.raw
    if refused:
        report_error(ValueError(load("stream_bayes.mail.commands.train:refusals")(refused)))


def report_skipped(file: str, names: list[str]) -> None:
    """Write to the standard error which subfolders of a Maildir are not read."""
    report_error(
        ValueError(
            f"{file}: {len(names)} subfolders are not read: {', '.join(names)}; name those to read too"
        )
    )


def parse(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return options by name, and files."""
    options: dict[str, str] = {}
    files: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            files += waiting
            break
        if word in ("--embed", "-e"):
            options["embed"] = ""
        elif word == "--mail":
            options["mail"] = ""
        elif name in ("--home", "--key-env", "--hold-megabytes", "--user", "-u"):
            if not equals and not waiting:
                raise ValueError(f"{name} needs a value")
            options["user" if name == "-u" else name[2:]] = value if equals else waiting.pop(0)
        elif word.startswith("-") and word != "-":
            raise ValueError(f"there is no option {word}; see --help")
        else:
            files.append(word)
    return options, files


def home_of(options: dict[str, str]) -> str:
    """Return the filter's directory."""
    named = options.get("home") or os.environ.get("STREAM_BAYES_SPAM")
    return named or os.path.expanduser("~/.stream-bayes/spam")


def make_classifier(options: dict[str, str]) -> Callable[[bytes], VerdictWords]:
    """Return a function that classifies a mail: by the server, or without one by the filter, loaded once."""
    home = home_of(options)
    here: list[Callable[[bytes], VerdictWords]] = []

    def classify_mail(raw: bytes) -> VerdictWords:
        answer = None if here else query_server(home, raw, user_words(options))
        if answer is not None:
            return answer
        if not here:
            from stream_bayes.registry import load

            local_classifier = load("stream_bayes.mail.commands.classify:local_classifier")
            settings = (options.get(name) for name in ("key-env", "user", "hold-megabytes"))
            here.append(local_classifier(home, *settings))
        return here[0](raw)

    return classify_mail


def read_input() -> bytes:
    """Return the whole standard input."""
    if sys.stdin is None:  # closed, before the program began
        raise ValueError("the standard input is closed")
    return sys.stdin.buffer.read()


def write_output(data: bytes) -> bool:
    """Write to the standard output. Return False if that failed."""
    try:
        if sys.stdout is None:
            raise OSError("the standard output is closed")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        report_error(error)
        return False
    return True


def query_server(home: str, raw: bytes, user: str = "") -> VerdictWords | None:
    """Return the server's answer on a mail; None without a server."""
    words = send_to_server(home, f"classify {len(raw)}{user}", raw)
    if words is None:
        return None
    if len(words) not in (4, 5, 6) or (words[0] not in CODES and not words[-1].startswith(AS)):
        raise ValueError(f"the server answers {' '.join(words)!r}")
    return tuple(words)


def send_to_server(home: str, request: str, raw: bytes = b"") -> list[str] | None:
    """Return the words of the server's answer to a request; None without a server."""
    path = f"{home}/socket"
    if len(raw) > MOST_TO_SERVER or not os.path.exists(path):
        return None
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(ANSWER_SECONDS)
        try:
            line.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):  # a server that ended may leave its socket behind
            return None
        line.sendall(b"%b %b\n" % (GREETING, os.fsencode(request)) + raw)
        answer = b""
        while not answer.endswith(b"\n") and len(answer) < MAX_ANSWER:
            more = line.recv(MAX_ANSWER)
            if not more:
                break
            answer += more
    text = answer.decode("utf-8", "replace").strip()
    words = text.split()
    if words[:1] == ["ERROR"]:
        raise ValueError(text.removeprefix("ERROR "))
    if words[:1] != ["OK"]:
        raise ValueError(f"the server answers {text!r}")
    return words[1:]


def without_own_fields(raw: bytes) -> bytes:
    """Return a mail without the header fields that begin with X-Stream-Bayes, whoever wrote them."""
    return without_fields(raw, (OWN,))


def without_fields(raw: bytes, beginnings: tuple[bytes, ...]) -> bytes:
    """Return a mail without the header fields whose names begin so, in lower case."""
    stop = end_of_head(raw)
    lower = raw[:stop].lower()
    if not any(each in lower for each in beginnings):
        return raw
    longest = max(map(len, beginnings))
    head, start, is_own = bytearray(), 0, False  # of one piece: a list of lines takes ten times their bytes
    while start < stop:
        end = raw.find(b"\n", start, stop) + 1 or stop
        if not (is_own and raw[start : start + 1] in (b" ", b"\t")):
            is_own = raw[start : start + longest].lower().startswith(beginnings)
        if not is_own:
            head += raw[start:end]
        start = end
    return bytes(head) + raw[stop:]


def end_of_head(raw: bytes) -> int:
    """Return the place of the blank line after a mail's headers; the length of a mail without one."""
    if raw.startswith((b"\n", b"\r\n")):
        return 0
    ends = [newline + 1 for newline in (raw.find(b"\n\n"), raw.find(b"\n\r\n")) if newline >= 0]
    return min(ends, default=len(raw))


def own_fields(answer: VerdictWords) -> list[str]:
    """Return the header fields with the filter's answer."""
    verdict, probability, score, key, *note = answer
    return [
        f"X-Stream-Bayes: {', '.join((verdict, f'probability={probability}', f'score={score}', *note))}",
        f"X-Stream-Bayes-Id: {key}",
    ]


def with_fields(raw: bytes, answer: VerdictWords, more: Sequence[str] = ()) -> bytes:
    """Return a mail with the answer before its other headers, where it can be removed whatever follows."""
    first = raw.find(b"\n") + 1
    end = b"\r\n" if raw[:first].endswith(b"\r\n") else b"\n"
    start = first if raw.startswith(b"From ") else 0  # the separator line of an mbox
    rest = raw[start:]
    fields = b"".join([line.encode("ascii") + end for line in (*own_fields(answer), *more)])
    # A first line that begins with a blank would continue our last field.
    return raw[:start] + fields + (end if rest[:1] in (b" ", b"\t") else b"") + rest


def report_error(error: BaseException) -> None:
    """Write an error to the standard error, in a line; ignore a standard error that is closed."""
    text = str(error).replace("\n", " ") or type(error).__name__
    if sys.stderr is None:  # closed, before the program began
        return
    try:
        sys.stderr.write(f"stream-bayes: {text}\n")
        sys.stderr.flush()
    except OSError:  # a log on a full disk
        sys.stderr = None  # or Python tries again at exit, and changes the exit code


if __name__ == "__main__":
    main()
