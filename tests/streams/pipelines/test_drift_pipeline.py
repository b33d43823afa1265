"""A pipeline file whose model follows drift: what it may say, what comes of it, and what its log holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import DriftAdaptive
from stream_bayes.errors import BadConfig, BadSnapshot, BadValue
from stream_bayes.networks import BOSS, ExactSearch, HillClimbing
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.pipelines.config import load_config, parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.served_models.network import ServedNetwork
from stream_bayes.streams.served_models.river import ServedAdaptive

LEAST = """
name = "lights"
batch = 100
source = { kind = "jsonl", path = "events.jsonl", target = "day", time = "at" }
model = { kind = "nb" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
snapshots = { directory = "state", every_events = 150 }
"""
DRIFT = '[drift]\nlog = "drifts.jsonl"\narguments = { window = 1500 }\n'
EVENTS, CHANGES = 1000, 500


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with (tmp_path / "events.jsonl").open("w") as file:
        for n in range(EVENTS):
            light = "on" if n % 3 else "off"
            day = (light == "on") == (n < CHANGES)
            file.write(json.dumps({"light": light, "day": "yes" if day else "no", "at": n / 10}) + "\n")
    return tmp_path


def run(directory: Path, text: str, limit: int | None = None) -> None:
    (directory / "lights.toml").write_text(text)
    engine = build(load_config(directory / "lights.toml"), directory)
    assert engine.delivery == "exactly once"
    engine.run(limit)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_model_is_swapped_and_the_log_says_where(directory: Path) -> None:
    run(directory, LEAST + DRIFT)
    noted = lines(directory / "drifts.jsonl")
    assert [entry["what"] for entry in noted] == ["drift", "adopted"]
    for entry in noted:
        assert entry["source"] == "lights" and entry["time"] == (int(str(entry["event"])) - 1) / 10
    answers = lines(directory / "answers.jsonl")
    assert [answer["model"]["generation"] for answer in answers] == sorted(
        answer["model"]["generation"] for answer in answers
    )
    assert answers[-1]["prediction"] == (
        "yes" if lines(directory / "events.jsonl")[-1]["day"] == "yes" else "no"
    )


@pytest.mark.parametrize("stop", [200, 520, 700])
def test_a_run_in_two_parts_leaves_the_same_log_and_state(directory: Path, tmp_path: Path, stop: int) -> None:
    run(directory, LEAST + DRIFT)
    names = ("drifts.jsonl", "answers.jsonl")
    files = [(directory / name).read_bytes() for name in names]
    state = SnapshotStore(directory / "state").latest()
    for path in [*(directory / "state").iterdir(), *(directory / name for name in names)]:
        path.unlink()
    run(directory, LEAST + DRIFT, limit=stop)
    run(directory, LEAST + DRIFT)
    again = SnapshotStore(directory / "state").latest()
    assert [(directory / name).read_bytes() for name in names] == files
    assert state is not None and again is not None
    assert again.snapshot.to_bytes() == state.snapshot.to_bytes()


def test_a_state_of_other_settings_is_not_gone_on_from(directory: Path) -> None:
    run(directory, LEAST + DRIFT, limit=300)
    with pytest.raises(BadSnapshot, match=r"drift\.detector was 'adwin', is 'page-hinkley'"):
        run(directory, LEAST + DRIFT + 'detector = "page-hinkley"\n'.replace("arguments", ""))
    with pytest.raises(BadSnapshot, match="drift was"):
        run(directory, LEAST)
    run(
        directory, LEAST + DRIFT.replace("drifts.jsonl", "elsewhere.jsonl")
    )  # where the log goes is not a setting


@pytest.mark.parametrize("detector", ["adwin", "page-hinkley", "ddm", "eddm", "hddm-a", "hddm-w", "kswin"])
def test_every_detector_has_a_name(directory: Path, detector: str) -> None:
    run(directory, LEAST + f'[drift]\ndetector = "{detector}"\n')
    found = SnapshotStore(directory / "state").latest()
    assert found is not None and found.snapshot.learner == "DriftAdaptive"


@pytest.mark.needs("mail")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LEAST + '[drift]\ndetector = "adwim"', "drift: there is no detector 'adwim'; did you mean 'adwin'?"),
        (
            LEAST + "[drift]\ndetector_arguments = { detla = 0.1 }",
            "no argument 'detla'; did you mean 'delta'?",
        ),
        (LEAST + "[drift]\narguments = { windw = 5 }", "no argument 'windw'; did you mean 'window'?"),
        (LEAST + "[drift]\narguments = { learner = 5 }", "no argument 'learner'"),
        (LEAST + "[drift]\nkind = 'adwin'", "drift.kind: is not a key here"),
        (LEAST.replace('"nb"', '"spam-filter"') + "[drift]", "drift: spam-filter follows no drift"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(text: str, said: str) -> None:
    with pytest.raises(BadConfig) as caught:
        parse_config(text)
    assert said in str(caught.value)


def test_how_networks_are_searched_is_a_table_of_its_own(directory: Path) -> None:
    network = LEAST.replace('kind = "nb"', 'kind = "bayes-net", arguments = { target = "day" }')
    made = network + "[drift]\narguments = { search = { max_families = 50 }, search_delay = 40 }"
    engine = build(parse_config(made), directory)
    engine.source.close()
    served = engine.step.model
    assert isinstance(served, ServedAdaptive)
    assert served.adaptive.search is not None and served.adaptive.search.max_families == 50
    for kind, search in {"boss": BOSS, "exact": ExactSearch, "hill-climbing": HillClimbing}.items():
        engine = build(parse_config(made.replace("{ max", f"{{ kind = '{kind}', max")), directory)
        engine.source.close()
        assert isinstance(engine.step.model, ServedAdaptive)
        assert engine.step.model.adaptive.search == search(max_families=50)
    with pytest.raises(BadValue, match="search has no argument 'families'; did you mean 'max_families'"):
        build(parse_config(made.replace("max_families", "families")), directory)
    with pytest.raises(BadValue, match="there is no kind of search 'bos'; did you mean 'boss'"):
        build(parse_config(made.replace("{ max", "{ kind = 'bos', max")), directory)


def test_a_value_that_an_argument_cannot_have_is_told_when_the_pipeline_is_built(directory: Path) -> None:
    config = parse_config(LEAST + "[drift]\narguments = { window = 0 }")
    with pytest.raises(BadValue, match="window"):
        build(config, directory)


@pytest.mark.needs("kafka")
def test_a_pipeline_over_kafka_may_have_a_log_of_drifts_too() -> None:
    over_kafka = """
name = "lights"
source = { kind = "kafka", topic = "lights", target = "day" }
predictions = { kind = "kafka", topic = "answers" }
model = { kind = "nb" }
kafka = { servers = ["localhost:9"] }
snapshots = { directory = "state" }
"""
    config = parse_config(over_kafka + DRIFT)
    assert config.drift is not None and config.drift.log == Path("drifts.jsonl")


@pytest.mark.parametrize(
    ("drift", "signal"),
    [
        ("[drift]", "family"),
        ("[drift]\narguments = { signal = 'family' }", "family"),
        ("[drift]\narguments = { signal = 'log-loss' }", "log-loss"),
        ("[drift]\ndetector = 'page-hinkley'", "log-loss"),
        ("[drift]\ndetector_arguments = { delta = 0.01 }", "log-loss"),
    ],
)
def test_families_of_a_network_are_tested_one_by_one_as_in_python(
    directory: Path, drift: str, signal: str
) -> None:
    network = LEAST.replace('"nb"', '"bayes-net", structure = "learn"').replace(', target = "day"', "")
    engine = build(parse_config(network + drift), directory)
    engine.source.close()
    assert isinstance(engine.step.model, ServedNetwork)
    assert isinstance(engine.step.model.model, DriftAdaptive)
    assert engine.step.model.model.signal_ == signal
