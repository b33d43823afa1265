"""The image cannot be built here, nor the services started; what their files rely on can be looked at."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from stream_bayes._build import VERSION
from stream_bayes.cli.app import app
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.service.metrics_and_health import serving
from tests.repository.schemas import follows_schema

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
VERSIONS = dict(
    line.split("=", 1)
    for line in (DOCKER / ".env").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
OURS = ("worker", "producer")


def test_the_image_has_a_python_that_the_package_runs_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = re.fullmatch(r">=\s*3\.(\d+)", project["requires-python"])
    version = re.search(r"^ARG PYTHON=3\.(\d+)$", DOCKERFILE, re.MULTILINE)
    assert least is not None
    assert version is not None
    assert int(version[1]) >= int(least[1])


def test_the_image_holds_a_wheel_and_not_the_compiler_that_made_it() -> None:
    first, second = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]
    assert "gcc" in first and "pip wheel" in first
    assert "COPY --from=build /wheels" in second and "--no-index" in second
    assert "gcc" not in second and "COPY stream_bayes" not in second


def test_everything_that_is_copied_from_the_project_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name


def test_the_image_does_not_run_as_root() -> None:
    assert re.search(r"^USER (?!root)\w+$", DOCKERFILE, re.MULTILINE)
    assert DOCKERFILE.index("USER ") < DOCKERFILE.index("CMD ")


def test_every_version_is_in_one_place_and_kafka_is_the_one_that_is_tested() -> None:
    (tested,) = re.findall(
        r"<kafka\.version>(.+)</kafka\.version>", (ROOT / "tests/kafka_broker/pom.xml").read_text("utf-8")
    )
    assert VERSIONS["KAFKA"] == tested
    images = {service["image"] for service in SERVICES.values() if "image" in service}
    assert images == {"apache/kafka:${KAFKA}", "prom/prometheus:${PROMETHEUS}", "grafana/grafana:${GRAFANA}"}


def test_the_compose_file_follows_its_schema(tmp_path: Path) -> None:
    assert follows_schema("vendor.compose-spec", DOCKER / "compose.yaml").returncode == 0
    misspelled = tmp_path / "compose.yaml"
    worker = SERVICES["worker"] | {"comand": []}
    misspelled.write_text(yaml.safe_dump(COMPOSE | {"services": SERVICES | {"worker": worker}}), "utf-8")
    assert "comand" in follows_schema("vendor.compose-spec", misspelled).stdout


def test_services_depend_on_services_and_use_volumes_that_there_are() -> None:
    for name, service in SERVICES.items():
        assert ("image" in service) != ("build" in service), name
        for needed, how in service.get("depends_on", {}).items():
            condition = how["condition"]
            assert needed in SERVICES
            assert condition != "service_healthy" or "healthcheck" in SERVICES[needed]
        for volume in service.get("volumes", ()):
            held = volume.split(":")[0]
            assert (DOCKER / held).exists() if held.startswith(".") else held in COMPOSE["volumes"], volume


def test_the_image_is_built_from_the_file_that_is_there() -> None:
    for name in OURS:
        build_from = SERVICES[name]["build"]
        assert (DOCKER / build_from["context"] / build_from["dockerfile"]).samefile(DOCKER / "Dockerfile")


@pytest.mark.parametrize("service", OURS)
def test_the_commands_are_ones_that_the_program_knows(service: str) -> None:
    program, verb, *arguments = SERVICES[service]["command"]
    assert program == "stream-bayes"
    group: Any = typer.main.get_command(app)
    command = group.commands[verb]
    command.make_context(verb, list(arguments))  # it parses them, and does nothing


def test_the_topics_that_are_made_are_those_of_the_pipeline() -> None:
    config = load_config(DOCKER / "weather.toml")
    engine = build(config, DOCKER)
    parts = (config.source, config.predictions, config.dead_letters)
    (made,) = re.findall(r"for topic in (.+); do", SERVICES["topics"]["command"][0])
    assert made.split() == [part.topic for part in parts if part is not None and part.kind == "kafka"]
    assert engine.delivery == "exactly once"
    assert config.source.kind == "kafka"
    assert SERVICES["producer"]["command"][4] == config.source.topic


def test_state_outlives_the_container_where_its_user_may_write() -> None:
    snapshots = load_config(DOCKER / "weather.toml").snapshots
    assert snapshots is not None
    mounted = [volume.split(":")[1] for volume in SERVICES["worker"]["volumes"]]
    assert str(snapshots.directory) in mounted
    after = DOCKERFILE[DOCKERFILE.index("USER ") :]
    assert f"RUN mkdir {snapshots.directory.name}" in after  # so the volume begins with this owner


def test_prometheus_asks_where_the_worker_answers() -> None:
    ops = load_config(DOCKER / "weather.toml").ops
    scraped = yaml.safe_load((DOCKER / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    assert ops is not None and ops.host == "0.0.0.0"
    assert scraped[0]["static_configs"][0]["targets"] == [f"worker:{ops.port}"]
    assert "worker" in ops.hosts


WORKERS: dict[str, Any] = yaml.safe_load((DOCKER / "workers.yaml").read_text(encoding="utf-8"))
SPAM: dict[str, Any] = yaml.safe_load((DOCKER / "spam.yaml").read_text(encoding="utf-8"))


def test_the_spam_services_follow_the_schema_and_fit_their_pipeline() -> None:
    assert follows_schema("vendor.compose-spec", DOCKER / "spam.yaml").returncode == 0
    config = load_config(DOCKER / "spam.toml")
    services = SPAM["services"]
    assert services["kafka"]["extends"]["service"] in SERVICES
    (made,) = re.findall(r"for topic in (.+); do", services["topics"]["command"][0])
    assert config.labels is not None and config.source.kind == "kafka" and config.snapshots is not None
    sinks = [
        part.topic
        for part in (config.predictions, config.dead_letters)
        if part is not None and part.kind == "kafka"
    ]
    assert made.split() == [config.source.topic, config.labels.topic, *sinks]
    assert str(config.source.max_record_bytes) in services["topics"]["command"][0]
    assert f"state:{config.snapshots.directory}" in services["filter"]["volumes"]
    group: Any = typer.main.get_command(app)
    for name in ("filter", "ham", "spam"):
        _, verb, *arguments = services[name]["command"]
        group.commands[verb].make_context(verb, list(arguments))


def test_the_pipeline_of_the_spam_services_is_the_example() -> None:
    own, example = (
        load_config(ROOT / path).settings() for path in ("docker/spam.toml", "examples/spam_kafka.toml")
    )
    assert own == example


def test_the_image_is_of_one_digest() -> None:
    (digest,) = re.findall(r"^ARG DIGEST=(sha256:[0-9a-f]{64})$", DOCKERFILE, re.MULTILINE)
    assert digest
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert bases == ["python:${PYTHON}-slim@${DIGEST}"] * 2


@pytest.mark.parametrize(("path", "code"), [("/livez", 0), ("/gone", 1)])
def test_the_health_check_passes_while_the_pipeline_lives(path: str, code: int) -> None:
    (command,) = re.findall(r"^HEALTHCHECK .*CMD (\[.+?\])$", DOCKERFILE.replace("\\\n", ""), re.MULTILINE)
    program, *arguments = json.loads(command)
    assert program == "python" and "127.0.0.1:9464/livez" in arguments[1]
    engine = build(load_config(DOCKER / "weather.toml"), DOCKER)
    with serving(engine, "127.0.0.1", 0) as port:
        arguments[1] = arguments[1].replace(":9464/livez", f":{port}{path}")
        done = subprocess.run([sys.executable, *arguments], capture_output=True, timeout=60)
    assert done.returncode == code


def test_services_without_ops_are_not_checked() -> None:
    for name, file in (
        ("producer", COMPOSE),
        ("producer", WORKERS),
        *((name, SPAM) for name in ("filter", "ham", "spam")),
    ):
        assert file["services"][name]["healthcheck"] == {"disable": True}, name


def test_the_bill_of_materials_lists_what_the_package_needs() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCKER / "make_sbom.py")], capture_output=True, text=True, timeout=60, check=True
    )
    bill = json.loads(done.stdout)
    listed = {part["name"]: part["version"] for part in bill["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["fast"]]:
        name = re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()
        assert listed[name] == version(name)
    assert "ruff" not in listed and bill["metadata"]["component"]["version"] == VERSION
