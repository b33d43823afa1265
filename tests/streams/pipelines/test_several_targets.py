"""Pipelines whose labels are several numbers: answers and losses by target, late labels, corrections, restarts."""

from __future__ import annotations

import base64
import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_bayes import MultiTargetRegression, streams
from stream_bayes.cli.app import app
from stream_bayes.core.events.actions import Learned
from stream_bayes.errors import BadConfig
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.service.metrics_and_health import Metrics
from tests.streams.engine.test_step import bytes_of

EVENTS = 160
MODEL = '{ kind = "multi-target-regression" }'


def features(k: int) -> dict[str, Any]:
    return {"wind": float(k % 7), "sky": "grey" if k % 3 else "blue"}


def targets(k: int) -> dict[str, float]:
    rain = 20.0 - 2.0 * (k % 7) + 0.3 * (k * k % 5)
    return {"rain": rain, "river": 1000.0 + 3.0 * rain + k % 2}


def pipeline(
    directory: Path, further: str = "", model: str = MODEL, target: str = '["rain", "river"]'
) -> Engine:
    directory.mkdir(exist_ok=True)
    (directory / "p.toml").write_text(
        'name = "p"\nbatch = 7\n'
        f'source = {{ kind = "jsonl", path = "events.jsonl", target = {target}, key = "id", time = "at", '
        'type = "type" }\n'
        'predictions = { kind = "jsonl", path = "answers.jsonl" }\n'
        'dead_letters = { kind = "jsonl", path = "dead.jsonl" }\n'
        f'snapshots = {{ directory = "state", every_events = 50 }}\nmodel = {model}\n{further}\n'
    )
    return build(load_config(directory / "p.toml"), directory)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def sample(k: int, **further: Any) -> dict[str, Any]:
    return {"id": k, "at": float(k), **features(k), **further}


def write_late_events(path: Path) -> None:
    """Samples whose labels come with them or later, corrections, withdrawn samples, and labels that lack a target."""
    lines: list[dict[str, Any]] = []
    for k in range(EVENTS):
        lines.append(sample(k, **(targets(k) if k % 2 == 0 else {})))
        if k % 2 and k > 8:
            late = {"id": k - 8, "at": float(k), "type": "label"}
            lines.append({**late, **targets(k - 8)} if k % 5 else {**late, "rain": 1.0})
        if k % 20 == 19:
            wrong = {name: number + 5.0 for name, number in targets(k - 9).items()}
            lines.append({"id": k - 9, "at": float(k), "type": "correction", **wrong})
    lines.append({"id": 10, "at": float(EVENTS), "type": "tombstone"})
    write_lines(path, lines)


def test_answers_are_those_of_the_learner_and_a_record_without_a_target_is_a_dead_letter(
    tmp_path: Path,
) -> None:
    bad: list[dict[str, Any]] = [{"rain": None}, {"river": "high"}, {"rain": True}, {"river": 1e200}]
    lines = [sample(k, **targets(k)) for k in range(EVENTS)]
    lines += [sample(1000 + k, **{**targets(k), **each}) for k, each in enumerate(bad)]
    lines.append(sample(2000))  # without any target: only predicted
    write_lines(tmp_path / "events.jsonl", lines)
    engine = pipeline(tmp_path)
    metrics = Metrics(engine)
    engine.run()
    answers = {each["key"]: each for each in lines_of(tmp_path / "answers.jsonl")}
    model = MultiTargetRegression()
    errors = dict[str, list[float]](rain=[], river=[])
    for k in range(EVENTS):
        if k > 7:
            expected = model.predict_one(features(k))
            assert answers[k]["predictions"] == expected
            intervals = model.predict_interval_one(features(k), 0.9)
            assert {name: tuple(each) for name, each in answers[k]["intervals"].items()} == intervals
        for name in errors if k else ():
            errors[name].append((answers[k]["predictions"][name] - targets(k)[name]) ** 2)
        model.learn_one(features(k), targets(k))
    assert answers[0]["predictions"] == {} == answers[0]["intervals"]
    assert answers[1]["intervals"] == {"rain": [None, None], "river": [None, None]}
    assert answers[2000]["predictions"] == model.predict_one(features(2000))
    assert engine.step.learned == EVENTS and len(answers) == EVENTS + 1
    dead = lines_of(tmp_path / "dead.jsonl")
    assert [(each["key"], each["reason"]) for each in dead] == [(1000 + k, "bad_label") for k in range(4)]
    words = [
        "['rain'] are missing",
        "'river': expected a number",
        "'rain': target: expected",
        "'river': target",
    ]
    for each, said in zip(dead, words, strict=True):
        assert said in each["detail"]
    assert json.loads(base64.b64decode(dead[0]["raw"]))["river"] == targets(0)["river"]
    for name, losses in engine.step.losses.by_name.items():
        mean = sum(errors[name]) / len(errors[name])
        assert losses.cumulative.rmse == pytest.approx(mean**0.5) and losses.unanswered == 1
        assert losses.cumulative.coverage > 0.8 and losses.cumulative.weight == EVENTS - 1
    values = {
        (each.name, each.labels["variable"]): each.value
        for metric in metrics.collect()
        for each in metric.samples
        if "variable" in each.labels
    }
    assert values["stream_bayes_variable_rmse", "rain"] > 0.0
    assert 0.0 < values["stream_bayes_variable_coverage", "river"] <= 1.0


def test_stopped_and_started_again_it_ends_the_same_with_late_labels_and_corrections(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for each in (whole, parts):
        write_late_events(each / "events.jsonl")
    engine = pipeline(whole, "labels = { wait_for = 30 }")
    engine.run()
    for limit in (3, 60, 1, 77):
        pipeline(parts, "labels = { wait_for = 30 }").run(limit)
    for rebuild in (False, True):
        again = pipeline(parts, "labels = { wait_for = 30 }")
        again.run(rebuild=rebuild)
        assert bytes_of(again.step) == bytes_of(engine.step)
        for name in ("answers.jsonl", "dead.jsonl"):
            assert (parts / name).read_bytes() == (whole / name).read_bytes()
    pending = engine.step.pending
    assert pending is not None and pending.counts["corrected"] > 5
    dead = lines_of(whole / "dead.jsonl")
    assert len(dead) > 10 and all("['river'] are missing" in each["detail"] for each in dead)
    expected = MultiTargetRegression()  # of the labels as they are at last, in any order
    for learned in pending._resolved.values():
        if isinstance(learned, Learned):
            assert isinstance(learned.label, tuple)
            expected.learn_one(learned.encoded, dict(learned.label))  # type: ignore[arg-type]  # pairs
    assert expected.clock == engine.step.learned > 100
    ours, theirs = engine.step.model.model.predict_one(features(4)), expected.predict_one(features(4))
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_a_csv_of_amounts_is_read_and_a_span_of_time_is_taken_back(tmp_path: Path) -> None:
    rows = [f'{k},{k % 7},{targets(k)["rain"]:.2f} mm,"{targets(k)["river"]:,.2f}"' for k in range(60)]
    (tmp_path / "data.csv").write_text("at,wind,rain,river\n" + "\n".join(rows) + "\n")
    (tmp_path / "p.toml").write_text(
        f'name = "p"\nmodel = {MODEL}\nsnapshots = {{ directory = "state" }}\n'
        'source = { kind = "csv", path = "data.csv", target = ["rain", "river"], time = "at" }\n'
        'predictions = { kind = "csv", path = "answers.csv" }\n'
    )
    ran = CliRunner().invoke(app, ["run", str(tmp_path / "p.toml")])
    assert ran.exit_code == 0 and "rmse of rain" in ran.output and "coverage of river" in ran.output
    with (tmp_path / "answers.csv").open(newline="") as file:
        answers = list(csv.DictReader(file))
    assert json.loads(answers[50]["predictions"])["river"] == pytest.approx(targets(50)["river"], abs=6.0)
    where = ["unlearn", str(tmp_path / "p.toml"), "--from", "20", "--to", "50"]
    refused = CliRunner().invoke(app, [*where, "--where", "label=3"])
    assert refused.exit_code != 0 and "several numbers" in refused.output
    taken = CliRunner().invoke(app, where)
    assert taken.exit_code == 0, taken.output
    again = build(load_config(tmp_path / "p.toml"), tmp_path)
    again.run()
    expected = MultiTargetRegression()
    for k in [*range(20), *range(50, 60)]:
        expected.learn_one({"wind": float(k % 7)}, {name: round(y, 2) for name, y in targets(k).items()})
    assert again.step.learned == 30
    ours = again.step.model.model.predict_one({"wind": 3.0})
    assert ours == pytest.approx(expected.predict_one({"wind": 3.0}), rel=1e-9)


def test_a_half_life_in_stream_time_and_a_schema_are_taken(tmp_path: Path) -> None:
    write_lines(tmp_path / "events.jsonl", [sample(k, **targets(k)) for k in range(60)])
    engine = pipeline(
        tmp_path,
        '[schema.features]\nwind = "numeric"\n',
        '{ kind = "multi-target-regression", arguments = { half_life = "20s" } }',
    )
    engine.run()
    model = engine.step.model.model
    assert model.feature_names == ["wind"] and model.schema is not None
    expected = MultiTargetRegression(half_life="20s")
    for k in range(60):
        expected.learn_one({"wind": float(k % 7)}, targets(k), at=float(k))
    assert model.predict_one({"wind": 2.0}) == pytest.approx(expected.predict_one({"wind": 2.0}), rel=1e-9)


def test_a_stream_of_pairs_runs_too() -> None:
    outputs: list[Any] = []
    rows = [(features(k), targets(k)) for k in range(60)]
    result = streams.run(rows, MultiTargetRegression(), predictions=outputs.extend)
    assert result.learned == 60 and result.losses.by_name["rain"].cumulative.r2 > 0.9
    assert outputs[-1].predictions.keys() == outputs[-1].intervals.keys() == {"rain", "river"}


@pytest.mark.parametrize(
    ("further", "model", "target", "message"),
    [
        ("", '{ kind = "nb" }', '["rain", "river"]', "kind = 'multi-target-regression'"),
        ("", '{ kind = "adaptive-regression" }', '["rain", "river"]', "kind = 'multi-target-regression'"),
        ("", MODEL, '"rain"', "for one target: bayesian-regression"),
        ("serve = {}", MODEL, '["rain"]', "serve: is for one target"),
        (
            '[[challengers]]\nname = "c"\nkind = "bayesian-regression"',
            MODEL,
            '["rain"]',
            "challengers: is for one",
        ),
        ("labels = { on_expiry = 'assume', assumed = 3 }", MODEL, '["rain"]', "take 'drop'"),
        ("", MODEL, '["rain", "rain"]', "a name comes twice"),
        ("", MODEL, "[]", "expected a list of names"),
        ("", MODEL, '["rain", "id"]', "share one"),
        (
            "",
            '{ kind = "multi-target-regression", arguments = { targets = ["rain"] } }',
            '["rain"]',
            "targets",
        ),
    ],
)
def test_what_is_for_one_target_is_refused_by_name(
    tmp_path: Path, further: str, model: str, target: str, message: str
) -> None:
    write_lines(tmp_path / "events.jsonl", [sample(0, **targets(0))])
    with pytest.raises(Exception, match=re.escape(message)) as raised:
        pipeline(tmp_path, further, model, target)
    assert type(raised.value).__module__ == BadConfig.__module__
