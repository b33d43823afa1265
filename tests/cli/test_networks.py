"""Networks without a class on the command line: trained, compared, explained, and taken out as BIF files."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

import stream_bayes
from stream_bayes.networks import BOSS, BayesNet, read_bif
from tests.cli.test_snapshots import run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write 600 days: the lawn is wet after rain, the wind is independent."""
    rng = random.Random(1)
    lines = ["rain,lawn,wind"]
    for _ in range(600):
        rain = rng.random() < 0.4
        lawn = rng.random() < (0.9 if rain else 0.1)
        lines.append(f"{'yes' if rain else 'no'},{'wet' if lawn else 'dry'},{rng.choice('abc')}")
    path = tmp_path / "days.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


PIPELINE = """
name = "net"
[source]
kind = "csv"
path = "days.csv"
[model]
kind = "bayes-net"
structure = "structure.json"
predict = ["lawn"]
[snapshots]
directory = "state"
"""


def test_a_network_is_taken_out_of_its_pipeline(file: Path, tmp_path: Path) -> None:
    (tmp_path / "structure.json").write_text('{"rain": [], "lawn": ["rain"], "wind": []}', "utf-8")
    (tmp_path / "net.toml").write_text(PIPELINE, "utf-8")
    state, event = tmp_path / "state", {"rain": "yes", "lawn": "dry", "wind": "z"}
    assert run("run", tmp_path / "net.toml", "--until-end").exit_code == 0
    model = stream_bayes.load(state)
    assert isinstance(model, BayesNet) and model.clock == 600

    report = json.loads(run("explain", state, json.dumps(event), "--json").stdout)
    assert report["score"] == pytest.approx(model.score_one(event))
    assert {each["variable"]: each["novel"] for each in report["surprise"]} == {
        "rain": False, "lawn": False, "wind": True
    }  # fmt: skip

    answers = tmp_path / "answers.csv"
    assert run("predict", state, file, "--variable", "lawn", "--out", answers).exit_code == 0
    with answers.open(encoding="utf-8") as text, file.open(encoding="utf-8") as events:
        for row, x in zip(csv.DictReader(text), csv.DictReader(events), strict=True):
            assert float(row["p(wet)"]) == pytest.approx(model.predict_proba_one(x, "lawn")["wet"], rel=1e-5)
            assert float(row["score"]) == pytest.approx(model.score_one(x), rel=1e-5)

    assert run("network", "export", state, tmp_path / "net.bif").exit_code == 0
    assert read_bif(tmp_path / "net.bif") == model.to_network()
    assert run("network", "import", tmp_path / "net.bif", "--out", tmp_path / "again.zip").exit_code == 0
    assert stream_bayes.load(tmp_path / "again.zip").to_network() == model.to_network()

    assert run("snapshot", "export", state, tmp_path / "one.zip").exit_code == 0
    assert run("snapshot", "merge", state, tmp_path / "one.zip", tmp_path / "both.zip").exit_code == 0
    assert stream_bayes.load(tmp_path / "both.zip").store.weight == 1200


def test_without_a_target_networks_are_trained_replayed_and_compared_by_their_surprise(
    file: Path, tmp_path: Path
) -> None:
    network = ("--model", "bayes-net")
    assert run("train", file, *network, "--out", tmp_path / "model.zip").exit_code == 0
    model = stream_bayes.load(tmp_path / "model.zip")
    assert len(model.structure.edges) == 1 and model.clock == 600

    again = BayesNet("learn", schema=model.schema)
    with file.open(encoding="utf-8") as events:
        mean = sum(again.score_learn_one(x) for x in csv.DictReader(events)) / 600
    replayed = json.loads(run("replay", file, *network, "--json").stdout)
    assert replayed["surprise"]["nats_per_event"] == pytest.approx(mean)
    apart = 'apart.structure={"rain": [], "lawn": [], "wind": []}'
    compared = json.loads(
        run("compare", file, *network, "--model", "apart=bayes-net", "--arg", apart, "--json").stdout
    )
    assert compared["models"]["bayes-net"]["nats_per_event"] == pytest.approx(mean)
    assert compared["models"]["apart"]["nats_per_event"] > mean + 0.2


def test_the_search_of_a_network_is_chosen_by_its_kind(file: Path, tmp_path: Path) -> None:
    search = 'search={"kind": "boss", "max_parents": 2}'
    for target in ((), ("--target", "rain")):
        trained = run(
            "train", file, "--model", "bayes-net", *target, "--arg", search, "--out", tmp_path / "model.zip"
        )
        assert trained.exit_code == 0, trained.output
        assert stream_bayes.load(tmp_path / "model.zip").search == BOSS(max_parents=2)
    wrong = ("--arg", 'search={"kind": "bos"}', "--out", tmp_path / "no.zip")
    refused = run("train", file, "--model", "bayes-net", *wrong)
    assert refused.exit_code != 0 and "did you mean 'boss'" in refused.output


def test_the_surprise_of_a_replay_goes_on_after_a_restart(file: Path, tmp_path: Path) -> None:
    command = ("replay", file, "--model", "bayes-net", "--json")
    whole = json.loads(run(*command).stdout)["surprise"]
    run(*command, "--snapshots", tmp_path / "state", "--limit", 250)
    assert json.loads(run(*command, "--snapshots", tmp_path / "state").stdout)["surprise"] == whole


@pytest.mark.parametrize("command", ["train", "replay", "compare"])
def test_other_models_still_need_a_target(file: Path, tmp_path: Path, command: str) -> None:
    more = ("--out", tmp_path / "model.zip") if command == "train" else ()
    result = run(command, file, *more)
    assert result.exit_code != 0
    assert "--target is missing" in result.output and "--model bayes-net" in result.output
