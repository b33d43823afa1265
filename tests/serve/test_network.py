"""A network without a class is queried while it goes on learning."""

from __future__ import annotations

import json
from pathlib import Path

from tests.serve.test_replica import LAWN, lawns
from tests.serve.weather import running, wait_for_model

PIPELINE = """
name = "lawn"
batch = 20
source = { kind = "jsonl", path = "lawns.jsonl", follow = true }
model = { kind = "bayes-net", structure = "lawn.json", predict = ["lawn"] }
[serve]
port = 0
"""


def test_posteriors_follow_what_is_learned(tmp_path: Path) -> None:
    (tmp_path / "lawn.json").write_text(
        json.dumps({name: parents for name, parents in LAWN.items() if name != "month"})
    )
    lines = [json.dumps({name: x[name] for name in ("rain", "sprinkler", "lawn")}) + "\n" for x in lawns(200)]
    (tmp_path / "lawns.jsonl").write_text("".join(lines))
    with running(tmp_path, PIPELINE) as (engine, client):
        shares = []
        for rows in (200, 600):
            wait_for_model(client, rows)
            answer = client.post("/v1/query", {"evidence": {"lawn": "wet"}})
            shares.append(answer["posteriors"]["rain"]["probabilities"]["yes"])
            own = engine.step.model.model.query("rain", {"lawn": "wet"})["yes"]
            assert abs(shares[-1] - own) < 1e-12
            with (tmp_path / "lawns.jsonl").open("a") as file:
                file.write('{"rain": "yes", "sprinkler": "off", "lawn": "wet"}\n' * 400)
        assert shares[1] > shares[0] + 0.1
        event = client.get("/v1/history?limit=1")["events"][0]
        assert event["surprise"] > 0.0 and event["prediction"] == "wet"


CHAIN = """
name = "skies"
batch = 20
source = { kind = "jsonl", path = "skies.jsonl", follow = true, time = "at" }
[model]
kind = "dynamic-network"
predict = ["sky@+1"]
arguments = { lags = { sky = [1] }, structure = { sky = ["sky@-1"] }, key = "city", pause = "1h", step = "1min" }
[serve]
port = 0
"""


def test_an_event_of_a_network_in_time_is_explained_as_the_next_of_its_sequence(tmp_path: Path) -> None:
    rows = [
        {"at": 1e9 + 60 * k, "city": city, "sky": "ab"[k % 2]}
        for k in range(150)
        for city in ("Bonn", "Lima")
    ]
    (tmp_path / "skies.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with running(tmp_path, CHAIN) as (engine, client):
        wait_for_model(client, 300)
        usual, odd = {"city": "Bonn", "sky": "a"}, {"city": "Bonn", "sky": "b"}
        answer = client.post("/v1/explain", {"x": usual})
        model = engine.step.model.model
        due = 1e9 + 60 * 150
        assert answer["kind"] == "surprise" and abs(answer["total"] - model.score_one(usual, due)) < 1e-12
        assert answer["p_value"] > 0.05
        strange = client.post("/v1/explain", {"x": odd})
        assert strange["total"] > 4.0 and strange["p_value"] < 0.02
        assert [each["feature"] for each in strange["surprise"]] == ["sky"]
        assert client.get("/v1/model")["can"]["explain"]
        forecast = client.post("/v1/query", {"evidence": {"city": "Bonn"}, "targets": ["sky@+2"]})
        assert forecast["posteriors"]["sky@+2"]["probabilities"]["b"] > 0.95
