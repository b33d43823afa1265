"""Boxes of mails, and mails, that were changed at random: read, refused with a reason, or an error of the package."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from stream_bayes.errors import StreamBayesError
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.streams.mailbox import mails
from tests.fuzzing import changed, few, many
from tests.mail.messages import SPAM, plain
from tests.mail.streams.test_kinds_of_boxes import BOXES

ALTERNATIVE = (
    b'Subject: =?utf-8?q?win=20now?=\nContent-Type: multipart/alternative; boundary="b"\n\n'
    b"--b\nContent-Type: text/html; "
    b"charset=latin-1\nContent-Transfer-Encoding: base64\n\nPGI+ZnJlZTwvYj4=\n--b\nContent-Type: application/zip; "
    b'name="a.zip"\n\nPK\n--b--\n'
)
BOX_NAMES = ("mbox", "dbox", "JSON lines", "zip", "tar", "MMDF")
TARGETS = [*BOX_NAMES, "mail", "alternative"]


def reading(name: str, directory: Path) -> tuple[bytes, Callable[[bytes], None]]:
    path, model = directory / "box", SpamFilter()
    if name not in BOX_NAMES:
        raw = (
            ALTERNATIVE
            if name == "alternative"
            else plain(" ".join(SPAM), sender="a@b.example", subject="win")
        )

        def judge(data: bytes) -> None:
            assert math.isfinite(model.score_one(data))
            model.learn_one(data, "spam")

        return raw, judge

    def read(data: bytes) -> None:
        path.write_bytes(data)
        with suppress(StreamBayesError):
            for mail in mails(path):
                assert len(mail.raw) <= len(data) * 300 + 1_000

    return BOXES[name](), read


@pytest.mark.parametrize("name", TARGETS)
def test_changed_mails_are_read_or_refused(name: str, tmp_path: Path) -> None:
    content, read = reading(name, tmp_path)
    few(changed(content), read)


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_many_changed_mails_are_read_or_refused(name: str, tmp_path: Path) -> None:
    content, read = reading(name, tmp_path)
    many(changed(content), read)
