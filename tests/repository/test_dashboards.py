"""The dashboard and the alerts name metrics that the exporter has, and the alerts fire where they should."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.service.metrics_and_health import Metrics

DOCKER = Path(__file__).parents[2] / "docker"
DASHBOARD = DOCKER / "grafana" / "dashboards" / "stream-bayes.json"
ALERTS = DOCKER / "alerts.yaml"
METRIC = re.compile(r"\bstream_bayes_\w+")

PIPELINE = """
name = "days"
source = { kind = "jsonl", path = "days.jsonl", target = "rain", key = "day", time = "at" }
model = { kind = "nb" }
drift = {}
labels = {}
snapshots = { directory = "state" }
predictions = { kind = "jsonl", path = "predictions.jsonl" }
dead_letters = { kind = "jsonl", path = "dead.jsonl" }
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all metrics of a pipeline that has every part."""
    directory = tmp_path_factory.mktemp("days")
    rows = [
        json.dumps({"day": n, "at": n, "sky": "grey" if n % 2 else "blue", "rain": n % 3 == 0})
        for n in range(50)
    ]
    (directory / "days.jsonl").write_text("\n".join([*rows, "no JSON"]) + "\n", "utf-8")
    build(parse_config(PIPELINE), directory).run()  # there is a snapshot then
    with (directory / "days.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n".join(rows[:20]) + "\n")
    engine = build(parse_config(PIPELINE), directory)
    registry = CollectorRegistry()
    metrics = Metrics(engine)
    registry.register(metrics)
    texts: list[str] = []
    engine.watch(lambda _: texts.append(generate_latest(registry).decode()))
    engine.run()
    return {line.partition("{")[0] for line in texts[-1].splitlines() if line[0] != "#"}


def expressions(node: Any) -> list[str]:
    """Return every query in a dashboard or a file of rules."""
    if isinstance(node, list):
        return [found for each in node for found in expressions(each)]
    if isinstance(node, dict):
        own = [node["expr"]] if isinstance(node.get("expr"), str) else []
        return own + [found for each in node.values() for found in expressions(each)]
    return []


def test_every_metric_of_the_dashboard_is_exported(exported: set[str]) -> None:
    queries = expressions(json.loads(DASHBOARD.read_text("utf-8")))
    assert len(queries) >= 15
    named = {name for query in queries for name in METRIC.findall(query)}
    assert named - exported == set()
    assert all('pipeline=~"$pipeline"' in query for query in queries)


def test_every_metric_of_the_alerts_is_exported(exported: set[str]) -> None:
    queries = expressions(yaml.safe_load(ALERTS.read_text("utf-8")))
    named = {name for query in queries for name in METRIC.findall(query)}
    assert len(named) >= 6 and named - exported == set()


def test_the_dashboard_is_the_one_that_the_script_makes() -> None:
    made = runpy.run_path(str(DOCKER / "make_dashboard.py"))["dashboard"]()
    assert made == DASHBOARD.read_text("utf-8"), "run: python docker/make_dashboard.py"


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent() -> None:
    (group,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    cases = yaml.safe_load((DOCKER / "alerts_test.yaml").read_text("utf-8"))["tests"]
    tried: dict[bool, set[str]] = {True: set(), False: set()}
    for case in cases:
        for test in case["alert_rule_test"]:
            tried["exp_alerts" in test].add(test["alertname"])
    names = {rule["alert"] for rule in group["rules"]}
    assert tried == {True: names, False: names}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool; apt-get install prometheus")
def test_the_alerts_fire_in_their_cases_alone() -> None:
    command = ["promtool", "test", "rules", str(DOCKER / "alerts_test.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_and_grafana_are_given_these_files() -> None:
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))["services"]
    (rules,) = yaml.safe_load((DOCKER / "prometheus.yaml").read_text("utf-8"))["rule_files"]
    assert f"./alerts.yaml:{rules}:ro" in compose["prometheus"]["volumes"]
    provider = yaml.safe_load((DOCKER / "grafana/dashboards/provider.yaml").read_text("utf-8"))["providers"][
        0
    ]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in compose["grafana"]["volumes"]
    source = yaml.safe_load((DOCKER / "grafana/datasources/prometheus.yaml").read_text("utf-8"))[
        "datasources"
    ][0]
    assert source["url"] == "http://prometheus:9090"
    home = compose["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/{DASHBOARD.name}"
    assert all(
        port.startswith("127.0.0.1:") for name in ("grafana", "prometheus") for port in compose[name]["ports"]
    )
