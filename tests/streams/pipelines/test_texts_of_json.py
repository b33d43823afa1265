"""Texts of JSON that are more than names: a pipeline that reads them as names says so, and how to declare them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build


@pytest.mark.parametrize(
    ("schema", "is_warned"),
    [("", True), ('[schema.features]\nprice = { kind = "amount", units = ["$"] }\nsky = "nominal"\n', False)],
)
def test_amounts_that_are_read_as_names_are_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, schema: str, is_warned: bool
) -> None:
    rows = [
        {"price": f"${1000 + number:,}.50", "sky": "gb"[number % 2], "y": number % 3} for number in range(60)
    ]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "p.toml").write_text(
        'name = "p"\nsource = { kind = "jsonl", path = "data.jsonl", target = "y" }\nmodel = { kind = "nb" }\n'
        + schema
    )
    with caplog.at_level(logging.WARNING):
        build(load_config(tmp_path / "p.toml"), tmp_path).run()
    assert ("each text of price (amount) is read as a name of its own" in caplog.text) == is_warned
    assert ("stream-bayes inspect" in caplog.text) == is_warned
