"""Files that deploy workers: their pipelines are valid, and their parts refer to one another."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7
from typer.testing import CliRunner

from stream_bayes._build import VERSION
from stream_bayes.cli.app import app
from stream_bayes.streams.pipelines.config import checked, load_config
from stream_bayes.workers.pipeline.parts import build_worker

ROOT = Path(__file__).parents[2]


def test_each_worker_of_the_compose_file_has_an_instance_id_of_its_own() -> None:
    services = yaml.safe_load((ROOT / "docker/workers.yaml").read_text("utf-8"))["services"]
    workers = {name: part for name, part in services.items() if name.startswith("worker")}
    assert len(workers) == 3
    for name, part in workers.items():
        command = part["command"]
        assert command[command.index("--instance-id") + 1] == name
        assert part["depends_on"]["topics"]["condition"] == "service_completed_successfully"
    worker = build_worker(load_config(ROOT / "docker/workers.toml"))
    (created,) = services["topics"]["command"]
    assert f"--partitions {worker.shards} " in created


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    monkeypatch.setenv("KAFKA_SERVERS", "kafka:9092")
    monkeypatch.setenv("KAFKA_PASSWORD", "sesame")
    text = (ROOT / "deploy/kubernetes/workers.yaml").read_text("utf-8")
    return {part["kind"]: part for part in yaml.safe_load_all(text)}


def test_the_stateful_set_runs_a_pipeline_with_shards(parts: dict[str, dict[str, Any]]) -> None:
    config = checked(tomllib.loads(parts["ConfigMap"]["data"]["pipeline.toml"]))
    assert config.workers is not None and config.ops is not None
    spec = parts["StatefulSet"]["spec"]
    assert config.workers.shards >= spec["replicas"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"][:2] == ["stream-bayes", "run"]
    (name,) = [entry for entry in container["env"] if entry["name"] == "POD_NAME"]
    assert name["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert "$(POD_NAME)" in container["command"]
    assert container["ports"] == [{"name": "metrics", "containerPort": config.ops.port}]
    paths = {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert paths == {"/livez", "/readyz"}
    help_text = CliRunner().invoke(app, ["run", "--help"], terminal_width=200).output
    for word in container["command"]:
        assert not word.startswith("--") or word in help_text


KUBERNETES = ("v1.28.0", "v1.37.0")


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_parts_match_the_schemas_of_kubernetes(parts: dict[str, dict[str, Any]], version: str) -> None:
    found = find_spec("kubernetes_validate")
    assert found is not None and found.origin is not None
    schemas = Path(found.origin).parent / "kubernetes-json-schema" / f"{version}-local-strict"
    names = {
        "ConfigMap": "configmap-v1",
        "Service": "service-v1",
        "StatefulSet": "statefulset-apps-v1",
        "PodDisruptionBudget": "poddisruptionbudget-policy-v1",
        "NetworkPolicy": "networkpolicy-networking-v1",
    }
    definitions = json.loads((schemas / "_definitions.json").read_text("utf-8"))
    registry = Registry().with_resource("_definitions.json", DRAFT7.create_resource(definitions))
    assert parts.keys() == names.keys()
    for kind, part in parts.items():
        schema = json.loads((schemas / f"{names[kind]}.json").read_text("utf-8"))
        validator = Draft7Validator(schema, registry=registry)
        validator.validate(part)
        assert not validator.is_valid({**part, "spce": {}}), kind  # a word that the schema does not have


def test_the_parts_select_the_same_pods(parts: dict[str, dict[str, Any]]) -> None:
    spec = parts["StatefulSet"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    assert parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert parts["Service"]["spec"]["selector"] == labels
    assert spec["serviceName"] == parts["Service"]["metadata"]["name"]
    assert parts["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    for spread in spec["template"]["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == labels
    (volume,) = spec["template"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == parts["ConfigMap"]["metadata"]["name"]


def test_the_image_is_pinned_by_the_command_that_the_manifest_shows(parts: dict[str, dict[str, Any]]) -> None:
    (container,) = parts["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    text = (ROOT / "deploy/kubernetes/workers.yaml").read_text("utf-8")
    (wanted,) = re.findall(r'sed "s\|(.+?)\|\$pinned\|"', text)
    pinned = f"registry.example.org/stream_bayes@sha256:{'b7' * 32}"
    assert re.sub(wanted, pinned, container["image"]) == pinned
    assert f"$image:{VERSION}" in text


def test_the_pods_have_no_rights_that_they_do_not_need(parts: dict[str, dict[str, Any]]) -> None:
    pod = parts["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert not pod["automountServiceAccountToken"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    uid = pod["securityContext"]["runAsUser"]
    assert f"--uid {uid} " in (ROOT / "docker/Dockerfile").read_text("utf-8")


def test_the_network_policy_lets_through_what_the_pipeline_needs(parts: dict[str, dict[str, Any]]) -> None:
    config = checked(tomllib.loads(parts["ConfigMap"]["data"]["pipeline.toml"]))
    policy = parts["NetworkPolicy"]["spec"]
    assert config.ops is not None and config.kafka is not None
    (ingress,) = policy["ingress"]
    assert ingress["ports"] == [{"port": config.ops.port, "protocol": "TCP"}]
    ports = {entry["port"] for rule in policy["egress"] for entry in rule["ports"]}
    assert ports == {53, *(int(server.rpartition(":")[2]) for server in config.kafka.connection().servers)}


def test_the_secret_is_wired_to_the_pipeline(parts: dict[str, dict[str, Any]]) -> None:
    (container,) = parts["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    (entry,) = [entry for entry in container["env"] if entry["name"] == "KAFKA_PASSWORD"]
    reference = entry["valueFrom"]["secretKeyRef"]
    text = (ROOT / "deploy/kubernetes/workers.yaml").read_text("utf-8")
    command = f"kubectl create secret generic {reference['name']} --from-literal={reference['key']}="
    assert command in text
    assert 'password = "${KAFKA_PASSWORD}"' in parts["ConfigMap"]["data"]["pipeline.toml"]
