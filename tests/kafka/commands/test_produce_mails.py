"""Mails of a directory are written to topics; what lies beside them is no mail, and gets no label."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_bayes.cli.app import app
from stream_bayes.kafka import producing


class Topics:
    """A cluster and a writer to it that keep what was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def require_topics(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: SimpleNamespace(partitions=1) for name in names}

    def send_all(self, sends: Iterable[Any]) -> None:
        self.sent += sends

    def flush(self) -> None: ...

    def close(self) -> None: ...


def test_what_is_no_mail_or_has_another_label_is_skipped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = Topics()
    monkeypatch.setattr(producing, "Cluster", lambda connection: topics)
    monkeypatch.setattr(producing, "make_writer", lambda *arguments: topics)
    (tmp_path / "1.eml").write_bytes(b"Subject: winner\n\ncheap pills\n")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(99))
    (tmp_path / "README").write_bytes(b"These are spams.\n")
    (tmp_path / "texts.csv").write_bytes(b"label,text\nham,lunch\nspam,free pills\n")
    arguments = [
        "produce",
        str(tmp_path),
        "--topic",
        "mail",
        "--label",
        "spam",
        "--labels",
        "mail-labels",
        "--json",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"topic": "mail", "sent": 2, "skipped": 3}
    values = {
        topic: [value for name, _, _, value, _ in topics.sent if name == topic]
        for topic in ("mail", "mail-labels")
    }
    assert [b"pills" in value for value in values["mail"]] == [True, True]
    assert values["mail-labels"] == [b'{"label": "spam"}'] * 2
