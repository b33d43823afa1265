"""Networks of numbers and models of sequences in pipelines: each event is scored, predicted, learned, and forecast."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import DynamicNetwork, HiddenMarkov, LatentClass, MarkovChain, MixedNetwork
from stream_bayes.cli.progress import summary
from stream_bayes.core.measures.number_losses import NumberLosses
from stream_bayes.errors import BadConfig, BadValue, StreamBayesError
from stream_bayes.learners.catalogue import EVENT_MODELS, class_named
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.served_models.events import ServedEvents
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.service.metrics_and_health import Metrics
from tests.serve.weather import running, wait_for_model
from tests.streams.engine.test_step import bytes_of

MODELS: dict[str, dict[str, Any]] = {
    "mixed-network": {"predict": ["wind", "sky"], "arguments": {"window": 60}},
    "dynamic-network": {
        "predict": ["sky", "sky@+2"],
        "arguments": {"lags": {"sky": [1]}, "structure": {"sky": ["sky@-1"]}, "key": "city", "pause": "5min"},
    },
    "markov-chain": {"predict": ["sky", "sky@+1"], "arguments": {"variable": "sky", "key": "city"}},
    "hidden-markov": {"predict": ["state", "sky@+1"], "arguments": {"variables": "sky", "restarts": 2}},
}


def weather(count: int) -> list[dict[str, Any]]:
    rng, sky, rows = random.Random(3), {"Bonn": "dry", "Lima": "wet"}, []
    for k in range(count):
        city = ("Bonn", "Lima")[k % 2]
        if rng.random() < 0.2:
            sky[city] = "wet" if sky[city] == "dry" else "dry"
        wind = rng.gauss(6.0 if sky[city] == "wet" else 2.0, 1.0)
        rows.append(
            {"at": 60.0 * k, "city": city, "sky": sky[city] if k % 17 else None, "wind": round(wind, 2)}
        )
    return rows


def pipeline(directory: Path, kind: str, rows: list[dict[str, Any]], **model: Any) -> Engine:
    if kind != "mixed-network":
        rows = [{name: value for name, value in row.items() if name != "wind"} for row in rows]
    (directory / "weather.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = {
        "name": "weather",
        "batch": 16,
        "source": {"kind": "jsonl", "path": "weather.jsonl", "time": "at"},
        "model": {"kind": kind, **MODELS[kind], **model},
        "predictions": {"kind": "jsonl", "path": "out.jsonl"},
        "snapshots": {"directory": "state"},
    }
    return build(checked(table), directory)


def answers(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "out.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", MODELS)
def test_a_run_in_two_parts_is_the_run_in_one(tmp_path: Path, kind: str) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    engine = pipeline(whole, kind, weather(150))
    engine.run()
    pipeline(parts, kind, weather(150)).run(limit=70)
    resumed = pipeline(parts, kind, weather(150))
    resumed.run()
    assert bytes_of(resumed.step) == bytes_of(engine.step)
    assert answers(parts) == answers(whole)
    assert len(answers(whole)) == 150


def test_each_event_is_scored_and_predicted_as_the_model_does_it_alone(tmp_path: Path) -> None:
    pipeline(tmp_path, "markov-chain", weather(60)).run()
    alone = MarkovChain("sky", key="city")
    for row, answer in zip(weather(60), answers(tmp_path), strict=True):
        assert answer["score"] == pytest.approx(-alone.log_likelihood_one(row), abs=1e-12)
        before = alone.predict_proba_one(row)
        alone.learn_one(row)
        shares = answer["probabilities"]
        assert shares["sky"] == pytest.approx(before)
        assert shares["sky@+1"] == pytest.approx(alone.predict_proba_one(row))
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    pipeline(mixed, "mixed-network", weather(200), intervals=0.5).run()
    wind = [answer["probabilities"]["wind"] for answer in answers(mixed)[100:]]
    inside = [
        each["low"] < row["wind"] < each["high"] for each, row in zip(wind, weather(200)[100:], strict=True)
    ]
    assert sum(inside) / 100 == pytest.approx(0.5, abs=0.15)
    assert answers(mixed)[-1]["prediction"]["wind"] == wind[-1]["mean"]


def test_errors_of_predicted_numbers_are_measured_by_variable_and_names_apart(tmp_path: Path) -> None:
    rows = [row | {"wind": 3} if k == 120 else row for k, row in enumerate(weather(150))]
    engine = pipeline(tmp_path, "mixed-network", rows, intervals=0.8)
    metrics = Metrics(engine)
    engine.run()
    assert engine.step.errors is not None
    wind = NumberLosses(0.8)
    for row, answer in zip(rows, answers(tmp_path), strict=True):
        wind.update(float(row["wind"]), answer["probabilities"]["wind"])
    assert [*engine.step.errors.by_name] == ["wind"]
    measured = engine.step.errors.by_name["wind"]
    assert (measured.unanswered, measured.cumulative.as_dict()) == (
        wind.unanswered,
        wind.cumulative.as_dict(),
    )
    assert set(engine.step.losses.labels) == {"sky=dry", "sky=wet"}
    assert summary(engine)["errors"]["wind"]["last_1000"]["rmse"] == wind.windowed.rmse
    samples = {each.name: each for metric in metrics.collect() for each in metric.samples}
    assert samples["stream_bayes_variable_rmse"].labels["variable"] == "wind"
    assert samples["stream_bayes_variable_coverage"].value == pytest.approx(0.8, abs=0.1)


def test_names_that_read_like_the_answer_for_a_number_are_decided_as_names() -> None:
    model = served(MixedNetwork({"level": []}), predict=["level"])
    events = [{"level": level} for level in ("low", "mean", "high", "high", "high")]
    answers, refused = model.process(events, [None] * 5, [1.0] * 5)
    assert refused is None
    assert answers.decide(model.decide)[-1] == "high"


def test_a_variable_that_no_event_had_yet_has_no_prediction_and_holds_nothing_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for made in (lambda: DynamicNetwork({"sky": [1]}), MixedNetwork):
        model = served(made(), predict=["sky", "sly"])
        events = [{"sky": "dw"[k % 2]} for k in range(30)]
        answers, refused = model.process(events, [None] * 30, [1.0] * 30)
        assert (refused, len(answers)) == (None, 30)
        shares: list[Any] = answers.named(str)
        assert shares[0]["sky"] == shares[-1]["sly"] == {}
        assert sum(shares[-1]["sky"].values()) == pytest.approx(1.0)
        assert "no prediction of sly" in caplog.text
        caplog.clear()


def test_names_are_scored_by_their_predictions_and_new_ones_are_named(tmp_path: Path) -> None:
    rows = [*weather(150), {"at": 9e3, "city": "Rome", "sky": "foggy", "wind": 4.0}]
    for kind in MODELS:
        directory = tmp_path / kind
        directory.mkdir()
        engine = pipeline(directory, kind, rows)
        engine.run()
        assert "sky" in answers(directory)[-1]["novel"], kind
        assert engine.step.surprises is not None and engine.step.surprises.mean < 4.0
    assert answers(tmp_path / "hidden-markov")[-1]["probabilities"]["state"].keys() == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("kind", "model", "said"),
    [
        ("markov-chain", {"predict": ["wind"]}, "no variable 'wind'"),
        ("mixed-network", {"predict": ["sky@+1"]}, "does not follow events in time"),
        ("markov-chain", {"intervals": 0.9}, "predicts no numbers"),
        ("markov-chain", {"structure": "learn"}, "structure is for"),
        ("markov-chain", {"thresholds": 0.9}, "decide between classes"),
        ("markov-chain", {"arguments": {"variable": "sky", "ordr": 2}}, "did you mean 'order'"),
    ],
)
def test_what_a_model_of_events_cannot_do_is_refused_at_the_start(
    tmp_path: Path, kind: str, model: dict[str, Any], said: str
) -> None:
    with pytest.raises((StreamBayesError, ValueError), match=said):
        pipeline(tmp_path, kind, weather(5), **model)


def test_labels_drift_and_weights_have_no_place(tmp_path: Path) -> None:
    table: dict[str, Any] = {
        "name": "weather",
        "source": {"kind": "jsonl", "path": "weather.jsonl", "target": "sky"},
        "model": {"kind": "markov-chain", "arguments": {"variable": "sky"}},
    }
    refusals: list[tuple[dict[str, Any], str]] = [
        ({}, "leave target out"),
        ({"drift": {}}, "drift: markov-chain learns events"),
    ]
    for further, said in refusals:
        with pytest.raises(BadConfig, match=said):
            build(checked(table | further), tmp_path)
    hidden = served(HiddenMarkov("sky"))
    _, refused = hidden.process([{"sky": "dry"}], [None], [2.0])
    assert "learns each event once" in str(refused)
    _, refused = hidden.process([{"sky": "dry"}], ["rain"], [1.0])
    assert "has no class" in str(refused)


def test_every_model_of_events_that_is_listed_is_served() -> None:
    made = {
        "mixed-network": MixedNetwork(),
        "latent-class": LatentClass(),
        "dynamic-network": DynamicNetwork({"sky": [1]}),
        "markov-chain": MarkovChain("sky"),
        "hidden-markov": HiddenMarkov("sky"),
    }
    assert {name: type(model) for name, model in made.items()} == dict(EVENT_MODELS)
    for model in made.values():
        assert isinstance(served(model), ServedEvents)
        assert class_named(type(model).__name__) is type(model)
    with pytest.raises(BadValue, match="did you mean"):
        served(made["markov-chain"], predict=["sly"])


def test_the_service_answers_questions_and_shows_what_is_odd(tmp_path: Path) -> None:
    (tmp_path / "weather.jsonl").write_text("".join(json.dumps(row) + "\n" for row in weather(150)))
    text = """
name = "weather"
source = { kind = "jsonl", path = "weather.jsonl", follow = true, time = "at" }
model = { kind = "mixed-network", predict = ["sky"] }
[serve]
port = 0
"""
    with running(tmp_path, text) as (engine, client):
        wait_for_model(client, 150)
        answer = client.post("/v1/query", {"evidence": {"sky": "wet"}})
        wind = answer["posteriors"]["wind"]
        assert wind["mean"] == pytest.approx(engine.step.model.model.query("wind", {"sky": "wet"}).mean)
        assert sum(wind["probabilities"].values()) == pytest.approx(1.0)
        bar = next(reversed(wind["probabilities"]))
        posteriors = client.post("/v1/query", {"evidence": {"wind": bar}, "targets": ["sky"]})["posteriors"]
        assert posteriors["sky"]["probabilities"]["wet"] > 0.9
        event = client.get("/v1/history?limit=1")["events"][0]
        why = client.post("/v1/explain", {"id": event["id"]})
        assert why["total"] == pytest.approx(sum(each["nats"] for each in why["surprise"]))
        described = client.get("/v1/model")
        assert [each["name"] for each in described["features"]] == [*engine.step.model.model.kinds]
        assert described["can"] == {
            "predict": False,
            "explain": True,
            "intervals": False,
            "query": True,
            "check": False,
        }
