"""rspamd with the plug-in: the filter's probability adds to a mail's score; without an answer nothing is added."""

from __future__ import annotations

import http.client
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.mail import SpamFilter
from stream_bayes.mail.server.server import ServedUsers
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.cli.test_snapshots import run
from tests.mail.server.conversations import CERTAIN_HAM, CERTAIN_SPAM, serving, trained_home
from tests.mail_systems.programs import EXAMPLES, free_port, needs, open_directory, running

pytestmark = needs("rspamd")


# A file, as rspamd has without Redis; and as few words as these mails have.
STATISTICS = """
backend = "sqlite3";
min_tokens = 1;
cache {{ type = "sqlite3"; path = "{state}/learned.sqlite"; }}
statfile {{ symbol = "BAYES_HAM"; spam = false; path = "{state}/ham.sqlite"; }}
statfile {{ symbol = "BAYES_SPAM"; spam = true; path = "{state}/spam.sqlite"; }}
"""


# The processes that rspamd starts by itself.
WORKERS = ("normal", "controller", "proxy", "fuzzy")


@dataclass(frozen=True)
class Rspamd:
    """A running rspamd with the plug-in, and the address at which the plug-in expects the filter."""

    port: int
    filter_address: str
    state: Path

    def answer(self, path: str, raw: bytes, *recipients: str) -> dict[str, Any]:
        """Return what rspamd's only process answers about a mail."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        line.putrequest("POST", path)
        line.putheader("Content-Length", str(len(raw)))
        for recipient in recipients:
            line.putheader("Rcpt", recipient)
        line.endheaders(raw)
        answer = line.getresponse()
        said: dict[str, Any] = json.loads(answer.read())
        line.close()
        assert answer.status == 200, said
        return said

    def results(self, raw: bytes, *recipients: str) -> dict[str, Any]:
        """Return the symbols of the plug-in for a mail."""
        found = self.answer("/checkv2", raw, *recipients)["symbols"]
        assert "MIME_TRACE" in found  # rspamd's own checks ran
        return {name: symbol for name, symbol in found.items() if name.startswith("STREAM_BAYES")}


@contextmanager
def started(worker: str) -> Iterator[Rspamd]:
    """Run rspamd as it is installed, but for ports, the plug-in, what takes long to start, and all workers but one.

    Two would share the files of the statistics, and learning fails for good where the other is reading them.
    """
    with open_directory() as directory:
        local, state = directory / "local.d", directory / "state"
        made = Rspamd(free_port(), f"127.0.0.1:{free_port()}", state)
        for path in (directory / "plugins.d", local, state):
            path.mkdir()
        shutil.copy(EXAMPLES / "stream_bayes.lua", directory / "plugins.d")
        settings = (
            f'stream_bayes {{ url = "http://{made.filter_address}/judge"; timeout = 5.0; users = true; }}\n'
        )
        (directory / "rspamd.conf.local").write_text(settings)
        for name in WORKERS:
            enabled = f'bind_socket = "127.0.0.1:{made.port}";\ncount = 1;\n'
            disabled = "enabled = false;\ncount = -1;\n"
            (local / f"worker-{name}.inc").write_text(enabled if name == worker else disabled)
        (local / "classifier-bayes.conf").write_text(STATISTICS.format(state=state))
        (directory / "domains").write_text("com\nnet\norg\n")
        (local / "options.inc").write_text(
            f'dns {{ nameserver = ["127.0.0.1"]; timeout = 0.1s; }}\ndisable_hyperscan = true;\n'
            f'url_tld = "{directory / "domains"}";\n'
        )
        variables = [f"--var={name}={state}" for name in ("DBDIR", "RUNDIR", "LOGDIR")]
        account = ["--insecure"] if os.geteuid() == 0 else []
        command = ["/usr/bin/rspamd", "-f", "-c", "/etc/rspamd/rspamd.conf", *account, *variables]
        with running([*command, f"--var=LOCAL_CONFDIR={directory}"], made.port, directory):
            yield made


@pytest.fixture(scope="module")
def rspamd() -> Iterator[Rspamd]:
    """Run the worker that scans."""
    with started("normal") as made:
        yield made


@pytest.fixture(scope="module")
def learning_rspamd() -> Iterator[Rspamd]:
    """Run the worker that learns."""
    with started("controller") as made:
        yield made


def test_the_probability_of_spam_adds_to_the_score(rspamd: Rspamd, tmp_path: Path) -> None:
    home = trained_home(tmp_path / "home")
    model = home.load()
    with serving(home, {"http": rspamd.filter_address}):
        for raw, name, weight in (
            (CERTAIN_SPAM, "STREAM_BAYES_SPAM", 6.0),
            (CERTAIN_HAM, "STREAM_BAYES_HAM", -3.0),
        ):
            certainty = abs(2 * model.predict_proba_one(raw)["spam"] - 1)
            found = rspamd.results(raw)
            assert found.pop(name)["score"] == pytest.approx(weight * certainty, abs=0.02)
            assert not [symbol for symbol in found.values() if symbol["score"]]


def test_a_filter_that_learned_little_adds_nothing(rspamd: Rspamd, tmp_path: Path) -> None:
    home = SpamHome(tmp_path / "home")
    with home.changing(SpamFilter) as model:
        for raw, label in ((CERTAIN_SPAM, "spam"), (CERTAIN_HAM, "ham")):
            model.learn_one(raw, label, id=id_of_mail(raw))
    with serving(home, {"http": rspamd.filter_address}):
        found = rspamd.results(CERTAIN_SPAM)
        assert found["STREAM_BAYES_NEW"]["score"] == 0.0
        assert "STREAM_BAYES_SPAM" not in found


def test_a_mail_to_one_user_is_judged_by_the_own_filter(rspamd: Rspamd, tmp_path: Path) -> None:
    home = trained_home(tmp_path / "home")
    with serving(home, {"http": rspamd.filter_address}, users=ServedUsers()) as server:
        for number in range(30):
            server.service.learn(CERTAIN_SPAM + b"copy %d\n" % number, "ham", "ann@example.org")
        common = rspamd.results(CERTAIN_SPAM, "bob@example.org")
        assert common["STREAM_BAYES_SPAM"]["score"] > 5.0
        assert "STREAM_BAYES_SPAM" not in rspamd.results(CERTAIN_SPAM, "Ann+lists@example.org")
        assert rspamd.results(CERTAIN_SPAM, "ann@example.org", "bob@example.org") == common


def test_a_mail_is_scanned_while_the_filter_is_away(rspamd: Rspamd) -> None:
    assert rspamd.results(CERTAIN_SPAM) == {}


@pytest.mark.parametrize("label", ["spam", "ham"])
def test_statistics_of_rspamd_are_refused_with_a_way_on(
    learning_rspamd: Rspamd, tmp_path: Path, label: str
) -> None:
    raw = CERTAIN_SPAM if label == "spam" else CERTAIN_HAM
    assert learning_rspamd.answer(f"/learn{label}", raw) == {"success": True}
    statistics = learning_rspamd.state / f"{label}.sqlite"
    assert statistics.stat().st_size > 4096
    done = run("spam", "import", statistics, "--home", tmp_path / "home")
    assert done.exit_code == 3
    assert "no word can be read back" in done.stderr and "spam train --ham" in done.stderr
