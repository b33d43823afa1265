"""The service over a pipeline whose labels are numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes.serve.regressor_answers import RegressorAnswers
from tests.serve.weather import running, wait_for_model
from tests.waiting import until

EVENTS = 200


def number_of(k: int) -> float:
    return 20.0 - 2.0 * (k % 7) + (3.0 if k % 3 else 0.0) + 0.1 * (k % 5)


def write_numbers(directory: Path) -> None:
    """Events with numbers for labels; the last one waits for its own."""
    lines = [
        {"id": f"k{k}", "at": k, "wind": k % 7, "sky": "grey" if k % 3 else "blue", "y": number_of(k)}
        for k in range(EVENTS)
    ]
    del lines[-1]["y"]
    (directory / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def numbers_text(kind: str) -> str:
    """Return the text of a pipeline file that follows them."""
    return f"""
name = "numbers"
source = {{ kind = "jsonl", path = "events.jsonl", target = "y", key = "id", time = "at", follow = true }}
model = {{ kind = "{kind}", intervals = 0.8 }}
labels = {{ wait_for = 1000 }}
snapshots = {{ directory = "state" }}
serve = {{ port = 0 }}
"""


@pytest.mark.parametrize("kind", ["bayesian-regression", "adaptive-regression"])
def test_a_number_is_predicted_explained_shown_and_corrected(tmp_path: Path, kind: str) -> None:
    write_numbers(tmp_path)
    with running(tmp_path, numbers_text(kind)) as (engine, client):
        wait_for_model(client, EVENTS)
        x = {"wind": 3, "sky": "grey"}
        copy = RegressorAnswers(engine.step.model.model, 0.8)
        answer, ours = client.post("/v1/predict", {"x": x}), copy.predict(x)
        assert {name: answer[name] for name in ours} == ours and answer["level"] == 0.8
        assert answer["interval"][0] < answer["prediction"] < answer["interval"][1]
        many = client.post("/v1/predict", {"events": [x, x], "level": 0.5})["predictions"]
        assert many[0] == many[1] and many[0]["interval"][1] < answer["interval"][1]
        assert "no feature 'wnd'" in client.refusal("/v1/predict", {"x": {"wnd": 1}}, 422)
        why = client.post("/v1/explain", {"x": x | {"sky": "red"}})
        assert why["never_learned"] == ["sky"] and len(why.get("contributions", why.get("experts"))) >= 1
        described = client.get("/v1/model")
        assert described["task"] == "regression"
        assert [(each["name"], each["kind"]) for each in described["features"]] == [
            ("wind", "numeric"),
            ("sky", "nominal"),
        ]
        evaluation = client.get("/v1/evaluation")
        assert evaluation["measures"]["cumulative"]["rmse"] == engine.step.losses.cumulative.rmse
        assert evaluation["status"]["measures"]["coverage"] > 0.5
        assert evaluation["measures"]["fading"]["log_density"] > -3.0
        assert len(evaluation["measures"]["windowed"]["pit"]) == 10
        newest = client.get("/v1/history?limit=2")["events"]
        assert newest[0]["label"] is None and newest[0]["interval"][0] < newest[0]["prediction"]
        assert newest[1]["prediction"] == pytest.approx(number_of(EVENTS - 2), abs=2.0)
        assert "expected a number" in client.refusal(
            "/v1/labels", {"key": f"k{EVENTS - 1}", "label": "high"}, 422
        )
        given = client.post("/v1/labels", {"key": f"k{EVENTS - 1}", "label": 17.5})
        assert given["label"] == 17.5 and given["outcome"] in ("late", "stored")
        until("all events", lambda: engine.step.learned == EVENTS)
        correction = {"key": f"k{EVENTS - 3}", "label": -3.5}
        if kind == "adaptive-regression":
            assert "cannot unlearn" in client.refusal("/v1/labels", correction, 409)
        else:
            assert client.post("/v1/labels", correction)["outcome"] in ("corrected", "stored")
