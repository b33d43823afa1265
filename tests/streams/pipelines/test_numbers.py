"""Pipelines whose labels are numbers: means and intervals, late labels, corrections, and restarts."""

from __future__ import annotations

import csv
import json
import math
import random
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_bayes import AdaptiveRegression, BayesianRegression
from stream_bayes.cli.app import app
from stream_bayes.core.events.actions import Learned
from stream_bayes.errors import BadConfig
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.service.metrics_and_health import Metrics
from tests.streams.engine.test_step import bytes_of

EVENTS = 240


def number_of(k: int) -> float:
    return 20.0 - 2.0 * (k % 7) + (3.0 if k % 3 else 0.0) + 0.5 * math.sin(k * k)


def sample(k: int, **further: Any) -> dict[str, Any]:
    return {"id": k, "at": float(k), "wind": float(k % 7), "sky": "grey" if k % 3 else "blue", **further}


def write_events(path: Path, *, is_late: bool = False) -> None:
    """Samples whose labels come with them or later, corrections, a sample withdrawn, and labels that are no numbers."""
    rng = random.Random(7)
    lines: list[dict[str, Any]] = []
    for k in range(EVENTS):
        if is_late and k % 2:
            lines.append(sample(k))
            lines.append({"id": k - 8, "at": float(k), "type": "label", "y": number_of(k - 8)})
            if rng.random() < 0.2:
                lines.append(
                    {"id": k - 8, "at": float(k), "type": "correction", "y": str(number_of(k - 8) + 5)}
                )
        else:
            lines.append(sample(k, y=number_of(k)))
        if k % 50 == 20:
            bad = ["high", True, "inf", 1e200, None][k // 50]
            lines.append({**sample(k), "id": 10_000 + k, "y": bad})
    if is_late:
        lines.append({"id": EVENTS - 1, "at": float(EVENTS), "type": "label", "y": "NaN"})
        lines.append({"id": 10, "at": float(EVENTS), "type": "tombstone"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def pipeline(directory: Path, model: str, further: str = "") -> Engine:
    directory.mkdir(exist_ok=True)
    (directory / "p.toml").write_text(
        'name = "p"\nbatch = 7\n'
        'source = { kind = "jsonl", path = "events.jsonl", target = "y", key = "id", time = "at", type = "type" }\n'
        'predictions = { kind = "jsonl", path = "answers.jsonl" }\n'
        'dead_letters = { kind = "jsonl", path = "dead.jsonl" }\n'
        f'snapshots = {{ directory = "state", every_events = 50 }}\nmodel = {model}\n{further}\n'
    )
    return build(load_config(directory / "p.toml"), directory)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(directory: Path) -> tuple[bytes, bytes]:
    return (directory / "answers.jsonl").read_bytes(), (directory / "dead.jsonl").read_bytes()


def test_answers_are_means_with_intervals_and_labels_that_are_no_numbers_are_dead_letters(
    tmp_path: Path,
) -> None:
    write_events(tmp_path / "events.jsonl")
    engine = pipeline(tmp_path, '{ kind = "bayesian-regression", intervals = 0.8, task = "regression" }')
    metrics = Metrics(engine)
    engine.run()
    model, answers = BayesianRegression(), lines_of(tmp_path / "answers.jsonl")
    by_key = {each["key"]: each for each in answers}
    for k in range(EVENTS):
        x, each = {"wind": float(k % 7), "sky": "grey" if k % 3 else "blue"}, by_key[k]
        if k > 3:
            low, high = model.predict_interval_one(x, 0.8)
            assert (each["prediction"], each["low"], each["high"]) == (model.predict_one(x), low, high)
        model.learn_one(x, number_of(k))
    assert by_key[0]["prediction"] is None is by_key[1]["low"]
    assert "probabilities" not in answers[0] and by_key[10_220]["prediction"] is not None  # it has no label
    dead = lines_of(tmp_path / "dead.jsonl")
    assert [(each["key"], each["reason"]) for each in dead] == [
        (10_000 + k, "bad_label") for k in (20, 70, 120, 170)
    ]
    assert "'high'" in dead[0]["detail"] and "expected a number" in dead[0]["detail"]
    measures = engine.step.losses.cumulative
    errors = [
        (by_key[k]["prediction"] - number_of(k), by_key[k]["low"], by_key[k]["high"], number_of(k))
        for k in range(4, EVENTS)
    ]
    assert measures.weight == EVENTS - 1 and engine.step.losses.unanswered == 1
    assert engine.step.losses.windowed.rmse == pytest.approx(measures.rmse)
    assert sum(low <= y <= high for _, low, high, y in errors) + 3 >= round(
        measures.coverage * measures.weight
    )
    assert measures.rmse < measures.mean_rmse < 8.0 and measures.no_change_rmse > 3.0 and measures.r2 > 0.5
    values = {each.name: each for metric in metrics.collect() for each in metric.samples}
    assert values["stream_bayes_rmse"].value > 0.0 and 0.5 < values["stream_bayes_coverage"].value <= 1.0
    assert values["stream_bayes_interval_width"].value > 0.0 and "stream_bayes_accuracy" not in values


@pytest.mark.parametrize("kind", [AdaptiveRegression, BayesianRegression])
def test_crps_and_log_density_of_late_labels_are_those_of_the_forecasts_when_their_samples_came(
    tmp_path: Path, kind: type[AdaptiveRegression | BayesianRegression]
) -> None:
    scores: list[tuple[float, float]] = []
    model = kind()
    for k in range(80):
        x = {"wind": float(k % 7), "sky": "grey" if k % 3 else "blue"}
        forecast = model.predict_distribution_one(x)
        y = number_of(k)
        scores.append((forecast.crps(y), forecast.log_density(y)) if k > 7 else (math.nan, math.nan))
        if k < 40:
            model.learn_one(x, number_of(k))
    lines = [sample(k, **({"y": number_of(k)} if k < 40 else {})) for k in range(80)]
    lines += [{"id": k, "at": 80.0, "type": "label", "y": number_of(k)} for k in range(40, 80)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    name = "adaptive-regression" if kind is AdaptiveRegression else "bayesian-regression"
    engine = pipeline(tmp_path, f'{{ kind = "{name}", intervals = 0.99 }}', "labels = { wait_for = 300 }")
    metrics = Metrics(engine)
    engine.run()
    recent = engine.step.losses.state()["arrays"]["recent"][-72:, -3:-1]  # the first few have far tails
    crps, log_density = (sum(each) / 72 for each in zip(*scores[8:], strict=True))
    assert recent[:, 0].mean() == pytest.approx(crps, rel=0.04)
    assert recent[:, 1].mean() == pytest.approx(log_density, abs=0.1)
    measures = engine.step.losses.windowed
    assert (
        measures.crps == pytest.approx(engine.step.losses.cumulative.crps)
        and measures.crps < measures.mae + 1.0
    )
    values = {each.name: each.value for metric in metrics.collect() for each in metric.samples}
    assert values["stream_bayes_crps"] > 0.0
    assert math.isfinite(values["stream_bayes_log_density"])


@pytest.mark.parametrize("kind", ["bayesian-regression", "adaptive-regression"])
def test_stopped_and_started_again_it_ends_the_same_and_a_rebuild_too(tmp_path: Path, kind: str) -> None:
    further = 'labels = { wait_for = 30 }\n[[challengers]]\nname = "other"\nkind = "bayesian-regression"'
    model = f'{{ kind = "{kind}" }}'
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
        write_events(tmp_path / name / "events.jsonl", is_late=True)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    engine = pipeline(whole, model, further)
    engine.run()
    for limit in (3, 60, 1, 77):
        pipeline(parts, model, further).run(limit)
    for rebuild in (False, True):
        again = pipeline(parts, model, further)
        again.run(rebuild=rebuild)
        assert written(parts) == written(whole) and bytes_of(again.step) == bytes_of(engine.step)
        other, others = again.challengers.by_name["other"].step, engine.challengers.by_name["other"].step
        assert bytes_of(other) == bytes_of(others)
    details = {each["detail"] for each in lines_of(whole / "dead.jsonl") if each["reason"] == "refused"}
    pending = others.pending
    assert (
        others.dead_letters.counts["bad_label"] == 5
        and pending is not None
        and pending.counts["corrected"] > 5
    )
    if kind == "adaptive-regression":
        assert details == {"AdaptiveRegression cannot correct what it learned; take bayesian-regression"}
        return
    expected = BayesianRegression()  # of the labels as they are at last, in any order
    for each in pending._resolved.values():
        if isinstance(each, Learned):
            assert isinstance(each.label, float)
            expected.learn_one(each.encoded, each.label)
    assert not details and expected.clock == others.learned > 150
    x = {"wind": 3.0, "sky": "grey"}
    assert others.model.model.predict_one(x) == pytest.approx(expected.predict_one(x), rel=1e-9)


def test_a_late_label_is_learned_with_the_last_numbers_that_its_prediction_saw(tmp_path: Path) -> None:
    write_events(tmp_path / "events.jsonl", is_late=True)
    engine = pipeline(tmp_path, '{ kind = "adaptive-regression" }', "labels = { wait_for = 30 }")
    engine.run()
    model, held = AdaptiveRegression(), dict[int, Any]()
    for line in lines_of(tmp_path / "events.jsonl"):
        key, kind = line["id"], line.get("type", "sample")
        y: Any = line.get("y")
        if isinstance(y, bool) or (isinstance(y, str) and not re.fullmatch(r"[\d.]+", y)) or y == 1e200:
            continue
        x = {"wind": line.get("wind"), "sky": line.get("sky")}
        if kind == "sample" and y is None:
            held[key] = model.hold(x)
            before = model.predict_distribution_one(held[key])
            model.predict_one({"wind": 1.0, "sky": "blue"})
            assert model.predict_distribution_one(held[key]) == before
        elif kind == "sample":
            model.learn_one(x, y)
        elif kind == "label" and key in held:
            model.learn_one(held.pop(key), y)
    assert engine.step.model.model.state()["checksum"] == model.state()["checksum"]


def test_a_span_of_time_is_taken_back_and_a_csv_with_decimal_commas_is_read(tmp_path: Path) -> None:
    rows = [f"{k};{k};{k % 7};{number_of(k):.2f}".replace(".", ",") for k in range(60)]
    (tmp_path / "data.csv").write_text("id;at;wind;y\n" + "\n".join([*rows, "99;60;3;-"]) + "\n")
    (tmp_path / "p.toml").write_text(
        'name = "p"\nmodel = { kind = "bayesian-regression" }\nsnapshots = { directory = "state" }\n'
        'source = { kind = "csv", path = "data.csv", target = "y", key = "id", time = "at" }\n'
        'predictions = { kind = "csv", path = "answers.csv" }\n'
    )
    engine = build(load_config(tmp_path / "p.toml"), tmp_path)
    engine.run()
    assert engine.step.dead_letters.counts == {"bad_label": 1} and engine.step.learned == 60
    with (tmp_path / "answers.csv").open(newline="") as file:
        answers = list(csv.DictReader(file))
    assert abs(float(answers[50]["prediction"]) - number_of(50)) < 4.0 < float(answers[50]["high"])

    def unlearned(start: str, stop: str, *where: str) -> Any:
        return CliRunner().invoke(
            app, ["unlearn", str(tmp_path / "p.toml"), "--from", start, "--to", stop, *where]
        )

    taken = unlearned("20", "50")
    assert taken.exit_code == 0, taken.output
    named = unlearned("0", "60", "--where", "label=20.0")  # the cell of the first row is 20,00
    assert "unlearned 1 samples" in named.output
    refused = unlearned("0", "60", "--where", "label=high")
    assert (
        refused.exit_code != 0
        and "label=high: the labels of bayesian-regression are numbers" in refused.output
    )
    again = build(load_config(tmp_path / "p.toml"), tmp_path)
    again.run()
    expected = BayesianRegression()
    for k in [*range(1, 20), *range(50, 60)]:
        expected.learn_one({"wind": float(k % 7)}, round(number_of(k), 2))
    x = {"wind": 3.0}
    assert again.step.learned == 29
    assert again.step.model.model.predict_one(x) == pytest.approx(expected.predict_one(x), rel=1e-9)


@pytest.mark.parametrize(
    ("model", "further", "message"),
    [
        (
            '{ kind = "nb", task = "regression" }',
            "",
            "task: 'nb' is not for regression; there are adaptive-regression",
        ),
        ('{ kind = "bayesian-regression", thresholds = 0.9 }', "", "decide between classes"),
        ('{ kind = "bayesian-regression" }', "drift = {}", "drift: is for models of classes"),
        (
            '{ kind = "bayesian-regression" }',
            '[[transformers]]\nkind = "standard-scaler"',
            "transformers: bayesian",
        ),
        (
            '{ kind = "adaptive-regression" }',
            'labels = { on_expiry = "negative" }',
            "'negative' is for classes",
        ),
        (
            '{ kind = "adaptive-regression" }',
            '[[challengers]]\nname = "c"\nkind = "nb"',
            "learns numbers and nb classes",
        ),
        (
            '{ kind = "nb" }',
            '[[challengers]]\nname = "c"\nkind = "bayesian-regression"',
            "learns numbers and nb classes",
        ),
        ('{ kind = "bayesian-regression" }', "[schema]\nclasses = ['a']\nfeatures = {}", "schema.classes"),
    ],
)
def test_what_is_for_classes_is_refused_by_name(
    tmp_path: Path, model: str, further: str, message: str
) -> None:
    write_events(tmp_path / "events.jsonl")
    with pytest.raises(BadConfig, match=re.escape(message)):
        pipeline(tmp_path, model, further)
