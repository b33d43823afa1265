"""The cost of the spam filter's server: `python -m benchmarks.spam.server CORPUS.jsonl.gz` prints a table.

The server runs as a process of its own over a filter of 4,000 mails, on a Unix socket. `spamc -c` judges 400 later
mails, a process each; beside it stand `spamc -K`, which only pings, and `spamc -V`, which only starts: what remains is
the filter's. Learning, correcting and forgetting go over the server's own socket; the processor time is the server's.

A corpus has a JSON object a line, with `raw` and `label`.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.start import send_to_server
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail

TRAINED, JUDGED = 4_000, 400
# Mails whose median is compared with those of other rounds: other work on the machine comes and goes.
ROUND = 40
TICKS = os.sysconf("SC_CLK_TCK")

Mails = list[tuple[bytes, str]]


def mails_of(corpus: Path) -> Mails:
    """Return the mails of a corpus in an order drawn by their ids."""
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = [(row["raw"].encode("latin-1"), row["label"]) for row in rows]
    return sorted(found, key=lambda mail: id_of_mail(mail[0]))


def milliseconds(action: Callable[[], object]) -> float:
    """Return the wall-clock time of an action."""
    start = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - start)


def processor_seconds(process: int) -> float:
    """Return the processor time of a process until now."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def spamc(socket: Path, *words: str, mail: bytes = b"") -> None:
    """Run spamc."""
    subprocess.run(["spamc", "-U", str(socket), *words], input=mail, stdout=subprocess.DEVNULL, check=False)


def measure(mails: Mails) -> list[tuple[str, float, str]]:
    """Return the figures: a name, a number and its unit."""
    figures: list[tuple[str, float, str]] = []
    with tempfile.TemporaryDirectory() as directory:
        home = SpamHome(Path(directory) / "home")
        with home.changing(SpamFilter) as model:
            for raw, label in mails[:TRAINED]:
                model.learn_one(raw, label, id=id_of_mail(raw))
        socket = Path(directory) / "spamd"
        command = [sys.executable, "-m", "stream_bayes", "spam", "serve", "--home", str(home.directory)]
        server = subprocess.Popen([*command, "--spamd", str(socket)], stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            server.stdout.readline()
            later = mails[TRAINED : TRAINED + JUDGED]
            for raw, _ in later[:20]:
                spamc(socket, "-c", mail=raw)
            # In turns, so that whatever else runs on the machine meets all three alike.
            taken: dict[str, list[float]] = {"spamc -c": [], "spamc -K": [], "spamc -V": []}
            for raw, _ in later:
                taken["spamc -c"].append(milliseconds(lambda raw=raw: spamc(socket, "-c", mail=raw)))  # type: ignore[misc]  # bound now
                taken["spamc -K"].append(milliseconds(lambda: spamc(socket, "-K")))
                taken["spamc -V"].append(milliseconds(lambda: spamc(socket, "-V")))
            for name, times in taken.items():
                figures.append((f"{name}: p50, wall clock", statistics.median(times), "ms"))
                rounds = [times[start : start + ROUND] for start in range(0, len(times), ROUND)]
                quietest = min(statistics.median(part) for part in rounds)
                figures.append((f"{name}: p50 of the quietest {ROUND} in a row", quietest, "ms"))
                figures.append((f"{name}: p95, wall clock", statistics.quantiles(times, n=20)[-1], "ms"))
            figures += changes(home, server.pid, later)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    return figures


def changes(home: SpamHome, process: int, later: Mails) -> list[tuple[str, float, str]]:
    """Return the server's processor time a change, by kind."""
    figures = []
    place = str(home.directory)
    other = {"ham": "spam", "spam": "ham"}
    rounds: Sequence[tuple[str, Callable[[bytes, str], object]]] = (
        ("judge", lambda raw, label: send_to_server(place, f"classify {len(raw)}", raw)),
        ("learn", lambda raw, label: send_to_server(place, f"learn {label} {len(raw)}", raw)),
        ("correct", lambda raw, label: send_to_server(place, f"correct {other[label]} {id_of_mail(raw)}")),
        ("forget", lambda raw, label: send_to_server(place, f"forget {id_of_mail(raw)}")),
    )
    for name, action in rounds:
        before = processor_seconds(process)
        for raw, label in later:
            action(raw, label)
        spent = 1e3 * (processor_seconds(process) - before) / len(later)
        figures.append((f"{name}: processor time of the server, each", spent, "ms"))
    return figures


def main() -> None:
    if len(sys.argv) != 2 or shutil.which("spamc") is None:
        sys.exit("usage: python -m benchmarks.spam.server CORPUS.jsonl.gz; spamc must be installed")
    for name, number, unit in measure(mails_of(Path(sys.argv[1]))):
        sys.stdout.write(f"{name:48} {number:8.2f} {unit}\n")


if __name__ == "__main__":
    main()
