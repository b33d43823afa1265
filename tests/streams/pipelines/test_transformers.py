"""Transformers of pipeline files: by registered names alone, saved with the rest, and part of what may not change."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from stream_bayes.errors import BadConfig, BadSnapshot
from stream_bayes.saving.river.catalogue import TRANSFORMERS
from stream_bayes.saving.river.registry import registered
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build

PIPELINE = """
name = "heights"
source = {{ kind = "csv", path = "heights.csv", target = "size" }}
schema = {{ features = {{ cm = "numeric", kg = "numeric" }} }}
model = {{ kind = "gaussian-nb" }}
predictions = {{ kind = "jsonl", path = "{out}.jsonl" }}
snapshots = {{ directory = "{out}" }}
{transformers}
"""
SCALED = """
[[transformers]]
kind = "select"
arguments = { keys = ["cm"] }
[[transformers]]
kind = "standard-scaler"
"""


def heights(directory: Path) -> None:
    rows = [f"{150 + 30 * (n % 2) + n % 7},{n % 5},{('short', 'tall')[n % 2]}" for n in range(60)]
    (directory / "heights.csv").write_text("cm,kg,size\n" + "\n".join(rows) + "\n")


def run(directory: Path, out: str, transformers: str, limit: int | None = None) -> str:
    engine = build(parse_config(PIPELINE.format(out=out, transformers=transformers)), directory)
    engine.run(limit)
    return (directory / f"{out}.jsonl").read_text()


def test_the_model_sees_what_the_transformers_make_and_a_restart_goes_on_with_them(tmp_path: Path) -> None:
    heights(tmp_path)
    whole = run(tmp_path, "whole", SCALED)
    for limit in (7, 30, None):
        parts = run(tmp_path, "parts", SCALED, limit)
    assert parts == whole
    engine = build(parse_config(PIPELINE.format(out="whole", transformers=SCALED)), tmp_path)
    with closing(engine.source):
        engine.preview()
    assert list(engine.step.model.content({"cm": 165.0, "kg": 1.0})) == ["cm"]
    assert engine.step.model.answer({"cm": 180.0, "kg": 1.0})["tall"] > 0.9


def test_other_transformers_do_not_go_on_from_a_snapshot(tmp_path: Path) -> None:
    heights(tmp_path)
    run(tmp_path, "out", SCALED, 10)
    with pytest.raises(BadSnapshot, match="transformers"):
        run(tmp_path, "out", "")


@pytest.mark.parametrize(
    ("transformer", "said"),
    [
        ('kind = "standard-scalar"', "did you mean 'standard-scaler'"),
        ('kind = "river.preprocessing.StandardScaler"', "there is no transformer"),
        ('kind = "prefixer"\narguments = { prefx = "a" }', "did you mean 'prefix'"),
        ('kind = "select"', "keys is a list of at least one name"),
    ],
)
def test_what_is_no_transformer_is_refused_by_its_key(transformer: str, said: str) -> None:
    with pytest.raises(BadConfig, match="transformers") as refused:
        parse_config(PIPELINE.format(out="out", transformers=f"[[transformers]]\n{transformer}"))
    assert said in str(refused.value)


def test_every_transformer_with_a_name_can_be_saved() -> None:
    assert set(TRANSFORMERS.values()) <= set(registered())
