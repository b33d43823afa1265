"""procmail with the recipe: spam goes to its own folder, and on an error the mail passes unchanged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mail.server.conversations import CERTAIN_HAM, CERTAIN_SPAM, trained_home
from tests.mail_systems.programs import EXAMPLES, ROOT, needs

pytestmark = needs("procmail")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("trained") / "home").directory


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with the command, as it is installed."""
    command = tmp_path / "bin" / "stream-bayes"
    command.parent.mkdir()
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from stream_bayes.mail.start import main\nsys.exit(main())\n"
    )
    command.chmod(0o755)
    return command.parent


def delivered(
    raw: bytes, home: Path, programs: Path, box: Path, recipe: Path = EXAMPLES / "procmailrc"
) -> dict[str, bytes]:
    """Deliver a mail by procmail; return the new mails by folder."""
    command = [
        "/usr/bin/procmail",
        f"PATH={programs}:/usr/bin:/bin",
        f"STREAM_BAYES_SPAM={home}",
        f"MAILDIR={box}",
        f"DEFAULT={box}/",
        f"LOGFILE={box / 'log'}",
        str(recipe),
    ]
    (box / "new").mkdir(parents=True)
    subprocess.run(command, input=raw, check=True, timeout=120, cwd=box)
    return {str(path.parent.parent.relative_to(box)): path.read_bytes() for path in new_mails(box)}


def new_mails(box: Path) -> Iterator[Path]:
    yield from (path for path in box.glob("**/new/*") if path.is_file())


@pytest.mark.parametrize(
    ("raw", "folder", "verdict"), [(CERTAIN_SPAM, ".Junk", b"spam"), (CERTAIN_HAM, ".", b"ham")]
)
def test_each_mail_goes_to_the_folder_of_its_verdict(
    trained: Path, programs: Path, tmp_path: Path, raw: bytes, folder: str, verdict: bytes
) -> None:
    ((found, mail),) = delivered(
        b"X-Stream-Bayes: ham\n" + raw, trained, programs, tmp_path / "Maildir"
    ).items()
    assert found == folder
    assert mail.count(b"X-Stream-Bayes: ") == 1 and b"X-Stream-Bayes: " + verdict in mail
    assert mail.rstrip().endswith(raw.rstrip())  # an mbox's blank line follows


def test_the_recipe_of_the_page_delivers_without_a_complaint(
    trained: Path, programs: Path, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "spam.md").read_text("utf-8")
    recipe = tmp_path / "procmailrc"
    recipe.write_text(":0fw\n" + page.partition("```\n:0fw\n")[2].partition("```")[0])
    found = delivered(CERTAIN_SPAM, trained, programs, tmp_path / "Maildir", recipe)
    assert list(found) == ["spam"]
    assert "fail" not in (tmp_path / "Maildir" / "log").read_text("utf-8").lower()


def test_a_mail_passes_unchanged_if_the_state_is_broken(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "filter.zip").write_bytes(b"PK broken")
    found = delivered(CERTAIN_SPAM, tmp_path / "home", programs, tmp_path / "Maildir")
    assert found == {".": CERTAIN_SPAM}
