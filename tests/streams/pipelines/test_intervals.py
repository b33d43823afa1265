"""Credible intervals in the outputs of a pipeline: of the model as it was before it learned the event."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.errors import BadConfig, BadValue
from stream_bayes.networks import BayesNet
from stream_bayes.streams import Step, served
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build

ROWS = [({"sky": "grb"[number % 3], "wind": float(number % 5)}, "ab"[number % 7 > 3]) for number in range(60)]


def outputs(directory: Path, kind: str = "jsonl", **further: str) -> list[dict[str, Any]]:
    lines = [json.dumps({**x, "y": y, "id": number}) for number, (x, y) in enumerate(ROWS)]
    (directory / "data.jsonl").write_text(
        "\n".join([*lines[:30], "{}", '{"sky": [1], "y": "a"}', *lines[30:]]) + "\n"
    )
    out = directory / f"out{len(list(directory.iterdir()))}.{kind}"
    own = {"model": '{ kind = "nb", intervals = 0.9 }', **further}
    text = 'name = "p"\nsource = { kind = "jsonl", path = "data.jsonl", target = "y", key = "id" }\n'
    text += "".join(f"{name} = {value}\n" for name, value in own.items())
    (directory / "p.toml").write_text(f'{text}predictions = {{ kind = "{kind}", path = "{out.name}" }}\n')
    build(load_config(directory / "p.toml"), directory).run()
    if kind == "csv":
        with out.open(newline="") as file:
            return [{**row, "intervals": json.loads(row["intervals"])} for row in csv.DictReader(file)]
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_an_output_has_the_intervals_of_the_model_before_the_event(tmp_path: Path) -> None:
    answers, plain = outputs(tmp_path), outputs(tmp_path, model='{ kind = "nb" }')
    assert [{k: v for k, v in each.items() if k != "intervals"} for each in answers] == plain
    model = NaiveBayes()
    by_key = {each["key"]: each for each in answers}
    for number, (x, y) in enumerate(ROWS):
        expected = model.predict_interval_one(x, 0.9)
        found = by_key[number]["intervals"]
        assert {label: tuple(ends) for label, ends in found.items()} == expected
        model.learn_one(x, y)
    assert [each["intervals"] for each in outputs(tmp_path, "csv")] == [each["intervals"] for each in answers]


def test_intervals_come_through_transformers_and_with_late_labels(tmp_path: Path) -> None:
    late = outputs(tmp_path, labels="{ wait_for = 10 }")
    behind = outputs(tmp_path, model='{ kind = "tan", intervals = 0.9 }', drift="{}")
    for answers in (late, behind):
        assert len(answers) > 50
        for each in answers[1:]:
            assert each["intervals"].keys() == each["probabilities"].keys() != set()
            for label, p in each["probabilities"].items():
                low, high = each["intervals"][label]
                assert low <= p <= high


def test_levels_and_models_without_intervals_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="intervals"):
        outputs(tmp_path, model='{ kind = "nb", intervals = 95 }')
    with pytest.raises(BadValue, match="level lies between"):
        Step(served(NaiveBayes()), intervals=1.0)
    with pytest.raises(BadValue, match="intervals: a BayesNet has none"):
        Step(served(BayesNet({"a": []})), intervals=0.9)
