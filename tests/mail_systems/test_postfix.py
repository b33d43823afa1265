"""Postfix with the milter: mails are marked, held or rejected before they are accepted, and pass without a filter."""

from __future__ import annotations

import os
import pwd
import smtplib
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from stream_bayes.mail.store.identity import id_of_mail
from tests.mail.server.conversations import CERTAIN_HAM, CERTAIN_SPAM, serving, trained_home
from tests.mail_systems.programs import free_port, needs, open_directory, running, wait_for

pytestmark = needs("postfix", root=True)

MAIN = """
compatibility_level = 3.6
queue_directory = {directory}/queue
data_directory = {directory}/data
maillog_file = {directory}/mail.log
maillog_file_prefixes = {directory}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.example.org
mydestination =
virtual_mailbox_domains = example.org
virtual_mailbox_base = {directory}/boxes
virtual_mailbox_maps = inline:{{ bob@example.org=bob/ }}
virtual_minimum_uid = 1
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
smtpd_recipient_restrictions = reject_unauth_destination
milter_default_action = accept
"""
MASTER = """
{services}
postlog unix-dgram n - n - 1 postlogd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
virtual unix - n n - - virtual
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
tlsmgr unix - - n 1000? 1 tlsmgr
"""


@dataclass(frozen=True)
class Postfix:
    """A running Postfix, with a port for each way of the milter to treat spam."""

    directory: Path
    ports: dict[str, int]

    def deliver(self, raw: bytes, way: str) -> None:
        """Send a mail to the user by SMTP."""
        with smtplib.SMTP("127.0.0.1", self.ports[way], local_hostname="mx.example.com", timeout=30) as line:
            line.sendmail("ann@example.com", ["bob@example.org"], raw)

    def delivered(self) -> bytes:
        """Return the only mail that was delivered since the last call."""

        def next_mail() -> bytes | None:
            for path in (self.directory / "boxes" / "bob" / "new").glob("*"):
                raw = path.read_bytes()
                path.unlink()
                return raw
            return None

        return wait_for(next_mail, "a delivered mail")

    def held(self) -> list[Path]:
        """Return the mails that wait for a person's decision."""
        return list((self.directory / "queue" / "hold").glob("**/*"))


@pytest.fixture(scope="module")
def postfix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postfix]:
    user = pwd.getpwnam("nobody")
    home = trained_home(tmp_path_factory.mktemp("trained") / "home")
    with ExitStack() as stack:
        directory = stack.enter_context(open_directory())
        services, ports = [], {}
        for way in ("mark", "quarantine", "reject", "no filter"):
            ports[way] = free_port()
            address = f"127.0.0.1:{free_port()}"
            if way != "no filter":
                own = home
                if way != "mark":
                    own = trained_home(tmp_path_factory.mktemp(way) / "home")
                stack.enter_context(serving(own, {"milter": address}, on_spam=way))
            services.append(
                f"127.0.0.1:{ports[way]} inet n - n - - smtpd -o smtpd_milters=inet:{address}"
                " -o milter_connect_timeout=2s"
            )
        for name in ("queue", "data", "boxes", "configuration"):
            (directory / name).mkdir()
        os.chown(directory / "data", pwd.getpwnam("postfix").pw_uid, -1)
        os.chown(directory / "boxes", user.pw_uid, user.pw_gid)
        configuration = directory / "configuration"
        (configuration / "main.cf").write_text(
            MAIN.format(directory=directory, uid=user.pw_uid, gid=user.pw_gid)
        )
        (configuration / "master.cf").write_text(MASTER.format(services="\n".join(services)))
        command = ["/usr/sbin/postfix", "-c", str(configuration), "start-fg"]
        stack.enter_context(running(command, ports["mark"], directory))
        # Its master has a session of its own, and outlives the program that started it.
        stop = [*command[:-1], "stop"]
        stack.callback(subprocess.run, stop, check=True, capture_output=True, timeout=60)
        yield Postfix(directory, ports)


def test_each_mail_is_delivered_with_its_verdict(postfix: Postfix) -> None:
    for raw, verdict in ((CERTAIN_SPAM, b"spam"), (CERTAIN_HAM, b"ham")):
        postfix.deliver(b"X-Stream-Bayes: ham, forged\n" + raw, "mark")
        found = postfix.delivered()
        assert found.count(b"\nX-Stream-Bayes: ") == 1
        assert b"\nX-Stream-Bayes: " + verdict in found and b"forged" not in found
        assert found.rstrip().endswith(raw.partition(b"\n\n")[2].rstrip())
        # The headers of delivery are others than those that the filter saw; the id is the same.
        assert b"\nX-Stream-Bayes-Id: " + id_of_mail(raw).encode() in found


def test_spam_is_held_and_ham_delivered(postfix: Postfix) -> None:
    assert not postfix.held()
    postfix.deliver(CERTAIN_SPAM, "quarantine")
    (held,) = wait_for(lambda: postfix.held() or None, "a held mail")
    postfix.deliver(CERTAIN_HAM, "quarantine")
    assert b"\nX-Stream-Bayes: ham" in postfix.delivered()
    held.unlink()


def test_spam_is_rejected_before_it_is_accepted(postfix: Postfix) -> None:
    with pytest.raises(smtplib.SMTPDataError, match="recognised as spam") as raised:
        postfix.deliver(CERTAIN_SPAM, "reject")
    assert raised.value.smtp_code == 550
    postfix.deliver(CERTAIN_HAM, "reject")
    assert b"\nX-Stream-Bayes: ham" in postfix.delivered()


def test_mails_pass_while_the_filter_is_away(postfix: Postfix) -> None:
    postfix.deliver(CERTAIN_SPAM, "no filter")
    assert b"\nX-Stream-Bayes" not in postfix.delivered()
