"""A network without a class is queried while it goes on learning."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.serve.test_replica import LAWN, lawns
from tests.serve.weather import running

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
            end = time.monotonic() + 30
            while (answer := client.post("/v1/query", {"evidence": {"lawn": "wet"}}))["model"][
                "processed"
            ] < rows:
                assert time.monotonic() < end
                time.sleep(0.1)
            shares.append(answer["posteriors"]["rain"]["probabilities"]["yes"])
            own = engine.step.model.model.query("rain", {"lawn": "wet"})["yes"]
            assert abs(shares[-1] - own) < 1e-12
            with (tmp_path / "lawns.jsonl").open("a") as file:
                file.write('{"rain": "yes", "sprinkler": "off", "lawn": "wet"}\n' * 400)
        assert shares[1] > shares[0] + 0.1
        event = client.get("/v1/history?limit=1")["events"][0]
        assert event["surprise"] > 0.0 and event["prediction"] == "wet"
