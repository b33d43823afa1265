"""Reports of services: what they are made of, and what they are not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes.cli.app import app
from stream_bayes.serve.app import PAGE
from tests.ports import free_ports


def test_a_report_of_a_saved_model_holds_its_description_and_every_module_of_the_page(tmp_path: Path) -> None:
    model = stream_bayes.NaiveBayes()
    for k in range(20):
        model.learn_one({"</script><b>": "grey" if k % 2 else "blue"}, "wet" if k % 2 else "dry")
    stream_bayes.save(model, tmp_path / "model.zip")
    written = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", str(tmp_path / "model.zip"), "-o", str(written)])
    assert result.exit_code == 0, result.output
    html = written.read_text("utf-8")
    (answers,) = re.findall(r'id="answers">(.*?)</script>', html, re.DOTALL)
    answer_of = {each["path"]: each["answer"] for each in json.loads(answers)["answers"]}
    assert answer_of["v1/model"]["features"][0]["name"] == "</script><b>"
    assert answer_of["v1/model"]["can"]["predict"] is False and not answer_of["v1/model"]["writes"]
    (imports,) = re.findall(r'<script type="importmap">(.*?)</script>', html, re.DOTALL)
    assert set(json.loads(imports)["imports"]) == {f"page/{path.name}" for path in PAGE.glob("*.js")}
    assert html.count("<b>") == 0 and not re.findall(r'(?:src|href)="(?!data:|#|docs|metrics)', html)


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("ftp://127.0.0.1", 3, "expected the address of a service"),
        ("http://127.0.0.1:PORT", 5, "does not answer"),
        ("no-such-model.zip", 4, "there is no no-such-model.zip"),
    ],
)
def test_what_is_no_service_is_refused_and_nothing_is_written(
    tmp_path: Path, source: str, code: int, words: str
) -> None:
    (port,) = free_ports(1)
    written = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", source.replace("PORT", str(port)), "-o", str(written)])
    assert (result.exit_code, written.exists()) == (code, False)
    assert words in " ".join(result.output.split())
