r"""The program `stream-bayes`, as it starts: what judges one mail and ends must not wait for the whole package.

    stream-bayes spam filter [--embed]    < mail    the mail with a verdict in its headers
    stream-bayes spam classify [FILE...]            a line for each message

Both ask the server of `stream-bayes spam serve` if there is one, over a socket in the filter's directory, and import
nothing but a socket. Without a server they load the package and the filter, which takes a hundred times as long. Any
other command is the package's. What is asked and answered:

    request   STREAM-BAYES 1 classify 1732\n and so many bytes
    answer    OK spam 0.998120 4.1730 9f86d081...\n or ERROR what was wrong\n

A filter stands between a mail and its reader: whatever goes wrong, the mail passes as it came, and the exit code is 3.
Otherwise the code is 0 for spam, 1 for ham and 2 for unsure, or always 0 with --embed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading these takes longer than judging a mail
    from collections.abc import Callable, Iterator

__all__ = ["main", "own_fields", "without_own_fields"]

SPAM, HAM, UNSURE, TROUBLE = range(4)  # exit codes, as bogofilter's
CODES = {"spam": SPAM, "ham": HAM, "unsure": UNSURE}
GREETING = b"STREAM-BAYES 1"
OWN = b"x-stream-bayes"
PATIENCE = 30.0  # seconds for the server to answer
MOST_ANSWER = 4096  # bytes of its line
ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r"}  # a file may be called anything, and has one line all the same

HELP = """\
stream-bayes spam filter [--home DIR] [--embed]
stream-bayes spam classify [--home DIR] [FILE...]

  --home DIR   the filter's directory; $STREAM_BAYES_SPAM, or ~/.stream-bayes/spam
  --embed      end with 0 whatever the verdict, for mail systems that take other codes for failures
  --key-env N  the environment variable with the key of the filter's tokens

filter reads a mail and writes it with X-Stream-Bayes among its headers. classify reads files, or a mail from the
standard input. Exit codes: 0 spam, 1 ham, 2 unsure, 3 trouble; of several messages, that of the last.
"""

Answer = tuple[str, str, str, str]  # verdict, probability of spam, score and id, as they are written


def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["spam"] and given[1:2] in (["filter"], ["classify"]):
        sys.exit(judge(given[1], given[2:]))
    from stream_bayes.cli.app import app

    app(given if arguments is not None else None)


def judge(verb: str, arguments: list[str]) -> int:
    """Run `filter` or `classify`; returns the exit code."""
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(HELP)
        return 0
    return filtered(arguments) if verb == "filter" else classified(arguments)


def filtered(arguments: list[str]) -> int:
    """Pass a mail on with a verdict, or, whatever goes wrong, as it came."""
    import signal

    def told_to_end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough
        raise KeyboardInterrupt("told to end")

    raw = b""
    before = signal.signal(signal.SIGTERM, told_to_end)
    try:
        raw = standard_input()
        options, files = parsed(arguments)
        if files:
            raise ValueError(f"filter takes no files, got {files[0]}")
        plain = without_own_fields(raw)
        answer = judge_of(options)(plain)
        told = with_fields(plain, answer)
        code = SPAM if "embed" in options else CODES[answer[0]]
    except BaseException as error:  # also Ctrl-C, and a module that ends the process: the mail must pass
        told, code = raw, TROUBLE
        complain(error)
    signal.signal(signal.SIGTERM, before)
    return code if passed_on(told) else TROUBLE


def classified(arguments: list[str]) -> int:
    """Write a line for each message: its verdict, the probability of spam, the score, the id, and where it is."""
    code = TROUBLE
    try:
        options, files = parsed(arguments)
        if "embed" in options:
            raise ValueError("--embed belongs to filter")
        ask = judge_of(options)
        for place, raw in messages(files):
            answer = ask(without_own_fields(raw))
            if not passed_on(os.fsencode("\t".join((*answer, place.translate(ESCAPES))) + "\n")):
                return TROUBLE
            code = CODES[answer[0]]
    except Exception as error:
        complain(error)
        return TROUBLE
    return code


def messages(files: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each message, and where it is. The package is loaded only for what is not one message a file."""
    for file in files or ["-"]:
        if file == "-":
            if sys.stdin is not None and sys.stdin.buffer.isatty():
                sys.stderr.write("stream-bayes: reading a mail from the terminal; Ctrl-D ends it\n")
            yield file, standard_input()
            continue
        begin = b""
        if os.path.isfile(file):
            with open(file, "rb") as stream:
                begin = stream.read(5)
                if begin[:5] != b"From " and begin[:2] != b"\x1f\x8b":
                    yield file, begin + stream.read()
                    continue
        from stream_bayes.streams.mail.mailbox import mails

        for mail in mails(file):
            yield mail.place, mail.raw


def parsed(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options by name, and files."""
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
        elif name in ("--home", "--key-env"):
            if not equals and not waiting:
                raise ValueError(f"{name} needs a value")
            options[name[2:]] = value if equals else waiting.pop(0)
        elif word.startswith("-") and word != "-":
            raise ValueError(f"there is no option {word}; see --help")
        else:
            files.append(word)
    return options, files


def home_of(options: dict[str, str]) -> str:
    """The filter's directory."""
    named = options.get("home") or os.environ.get("STREAM_BAYES_SPAM")
    return named or os.path.expanduser("~/.stream-bayes/spam")


def judge_of(options: dict[str, str]) -> Callable[[bytes], Answer]:
    """What judges a mail: the server, or, where there is none, the filter itself, loaded once."""
    home = home_of(options)
    here: list[Callable[[bytes], Answer]] = []

    def ask(raw: bytes) -> Answer:
        answer = None if here else asked(home, raw)
        if answer is not None:
            return answer
        if not here:
            from stream_bayes.cli.spam import local_classifier

            here.append(local_classifier(home, options.get("key-env")))
        return here[0](raw)

    return ask


def standard_input() -> bytes:
    """All of it."""
    if sys.stdin is None:  # closed, before the program began
        raise ValueError("the standard input is closed")
    return sys.stdin.buffer.read()


def passed_on(data: bytes) -> bool:
    """Write to the standard output; whether somebody took it."""
    try:
        if sys.stdout is None:
            raise OSError("the standard output is closed")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        complain(error)
        return False
    return True


def asked(home: str, raw: bytes) -> Answer | None:
    """What the server says; None where there is none."""
    path = f"{home}/socket"
    if not os.path.exists(path):
        return None
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(PATIENCE)
        try:
            line.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):  # it ended, and left its socket behind
            return None
        line.sendall(b"%b classify %d\n" % (GREETING, len(raw)) + raw)
        said = b""
        while not said.endswith(b"\n") and len(said) < MOST_ANSWER:
            more = line.recv(MOST_ANSWER)
            if not more:
                break
            said += more
    words = said.decode("utf-8", "replace").split()
    if len(words) != 5 or words[0] != "OK" or words[1] not in CODES:
        raise ValueError(f"the server says {said.decode('utf-8', 'replace').strip()!r}")
    return words[1], words[2], words[3], words[4]


def without_own_fields(raw: bytes) -> bytes:
    """A mail without the header fields that begin with X-Stream-Bayes, whoever wrote them; the rest as it is."""
    head, place, cutting = [], 0, False
    while place < len(raw):
        end = raw.find(b"\n", place) + 1 or len(raw)
        line = raw[place:end]
        if line in (b"\n", b"\r\n"):
            break
        if not (cutting and line[:1] in (b" ", b"\t")):
            cutting = line[: len(OWN)].lower() == OWN
        if not cutting:
            head.append(line)
        place = end
    return b"".join(head) + raw[place:]


def own_fields(answer: Answer, end: bytes) -> bytes:
    """The header fields that say what the filter thinks."""
    verdict, probability, score, key = answer
    lines = (
        f"X-Stream-Bayes: {verdict}, probability={probability}, score={score}",
        f"X-Stream-Bayes-Id: {key}",
    )
    return b"".join([line.encode("ascii") + end for line in lines])


def with_fields(raw: bytes, answer: Answer) -> bytes:
    """A mail with the verdict before its other headers: there it goes in, and out again, whatever comes after it."""
    first = raw.find(b"\n") + 1
    end = b"\r\n" if raw[:first].endswith(b"\r\n") else b"\n"
    start = first if raw.startswith(b"From ") else 0  # as mailboxes part their messages
    rest = raw[start:]
    # What begins with a blank would be taken for more of our last line.
    return raw[:start] + own_fields(answer, end) + (end if rest[:1] in (b" ", b"\t") else b"") + rest


def complain(error: BaseException) -> None:
    """Say on the standard error what went wrong, in a line; where nobody can be told, go on."""
    text = str(error).replace("\n", " ") or type(error).__name__
    if sys.stderr is None:  # closed, before the program began
        return
    try:
        sys.stderr.write(f"stream-bayes: {text}\n")
        sys.stderr.flush()
    except OSError:  # a log on a full disk
        sys.stderr = None  # or Python tries again at the end, and gives the process a code of its own


if __name__ == "__main__":
    main()
