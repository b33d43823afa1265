"""Dovecot with the Sieve scripts: a mail that is moved into Junk or out of it is learned at once."""

from __future__ import annotations

import imaplib
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.mail.messages import plain
from tests.mail.server.conversations import serving, trained_home
from tests.mail_systems.programs import EXAMPLES, free_port, needs, open_directory, running, wait_for

pytestmark = needs("dovecot", "sievec", "spamc", root=True)

SETTINGS = """
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {directory}/mail.log
listen = 127.0.0.1
protocols = imap
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
mail_home = {directory}/boxes/%u
mail_location = maildir:~/Maildir
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
namespace inbox {{
  inbox = yes
  mailbox Junk {{
    auto = subscribe
    special_use = \\Junk
  }}
  mailbox Trash {{
    auto = subscribe
  }}
}}
protocol imap {{
  mail_plugins = imap_sieve
}}
"""
INSTALLED = "/usr/local/lib/dovecot/sieve"  # where the example's comment has its scripts


def documented_plugins() -> str:
    """Return the block of settings in the comment of the example."""
    lines = [line[1:] for line in (EXAMPLES / "learn-spam.sieve").read_text().splitlines() if line[:1] == "#"]
    start = next(place for place, line in enumerate(lines) if line.strip() == "plugin {")
    stop = next(place for place, line in enumerate(lines) if place > start and line.strip() == "}")
    return "\n".join(lines[start : stop + 1])


@dataclass(frozen=True)
class Mailbox:
    """A user's connection to Dovecot, and the filter that learns."""

    imap: imaplib.IMAP4
    home: SpamHome

    def put(self, raw: bytes, folder: str) -> None:
        """Append a mail to a folder."""
        assert self.imap.append(folder, None, None, raw.replace(b"\n", b"\r\n"))[0] == "OK"

    def move(self, raw: bytes, source: str, target: str) -> None:
        """Move the mail with a subject from one folder to another."""
        assert self.imap.select(source)[0] == "OK"
        subject = raw.partition(b"Subject: ")[2].partition(b"\n")[0].decode()
        places = self.imap.search(None, "SUBJECT", subject)[1][0].split()
        assert len(places) == 1
        assert self.imap.uid("MOVE", self._uid(places[0]), target)[0] == "OK"

    def _uid(self, place: bytes) -> str:
        found = self.imap.fetch(place.decode(), "(UID)")[1][0]
        assert isinstance(found, bytes)
        return found.split(b"UID ")[1].rstrip(b")").decode()

    def wait_until_learned(self, raw: bytes, label: str) -> None:
        """Return as soon as the filter has learned a mail with a label."""

        def learned() -> bool | None:
            return True if self.home.load().label_of(id_of_mail(raw)) == label else None

        wait_for(learned, f"a mail learned as {label}")


@pytest.fixture(scope="module")
def mailbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mailbox]:
    home = trained_home(tmp_path_factory.mktemp("trained") / "home")
    user, port, spamd = pwd.getpwnam("nobody"), free_port(), free_port()
    with open_directory() as directory, serving(home, {"spamd": f"127.0.0.1:{spamd}"}, may_learn=True):
        sieve = directory / "sieve"
        sieve.mkdir()
        boxes = directory / "boxes"
        boxes.mkdir()
        shutil.chown(boxes, user.pw_uid, user.pw_gid)
        script = (EXAMPLES / "stream-bayes-learn").read_text()
        assert ":-783}" in script
        (sieve / "stream-bayes-learn").write_text(script.replace(":-783}", f":-{spamd}}}"))
        (sieve / "stream-bayes-learn").chmod(0o755)
        settings = directory / "dovecot.conf"
        text = SETTINGS.format(directory=directory, port=port, uid=user.pw_uid, gid=user.pw_gid)
        settings.write_text(text + documented_plugins().replace(INSTALLED, str(sieve)))
        for name in ("learn-spam.sieve", "learn-ham.sieve"):
            shutil.copy(EXAMPLES / name, sieve)
            subprocess.run(["/usr/bin/sievec", "-c", settings, sieve / name], check=True, timeout=60)
        with running(["/usr/sbin/dovecot", "-F", "-c", str(settings)], port, directory):
            imap = imaplib.IMAP4("127.0.0.1", port, timeout=60)
            imap.login("bob", "secret")
            yield Mailbox(imap, home)
            imap.logout()


def test_a_mail_that_is_moved_into_junk_and_back_is_corrected(mailbox: Mailbox) -> None:
    raw = plain("quetzal", subject="quetzal")
    mailbox.put(raw, "INBOX")
    mailbox.move(raw, "INBOX", "Junk")
    mailbox.wait_until_learned(raw, "spam")
    mailbox.move(raw, "Junk", "INBOX")
    mailbox.wait_until_learned(raw, "ham")
    messages = mailbox.home.load().messages
    assert sum(messages.values()) == pytest.approx(401)  # once, whatever was said of it


def test_a_mail_from_junk_into_the_trash_says_nothing(mailbox: Mailbox) -> None:
    raw, marker = plain("numbat", subject="numbat"), plain("kakapo", subject="kakapo")
    mailbox.put(raw, "Junk")
    mailbox.wait_until_learned(raw, "spam")
    mailbox.move(raw, "Junk", "Trash")
    mailbox.put(marker, "Junk")
    mailbox.wait_until_learned(marker, "spam")
    assert mailbox.home.load().label_of(id_of_mail(raw)) == "spam"
