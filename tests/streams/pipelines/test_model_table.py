"""The table of the model in a pipeline file: learners around others, and decision rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes.errors import BadConfig
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.pipelines.config import load_config, parse_config
from stream_bayes.streams.pipelines.pipeline import build

REST = """
name = "lights"
batch = 100
source = { kind = "jsonl", path = "events.jsonl", target = "day" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
snapshots = { directory = "state", every_events = 150 }
"""
EVENTS = 400


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with (tmp_path / "events.jsonl").open("w") as file:
        for n in range(EVENTS):
            light = "on" if n % 3 else "off"
            day = (light == "on") == (n % 5 > 0)
            file.write(json.dumps({"light": light, "who": f"u{n % 6}", "day": "yes" if day else "no"}) + "\n")
    return tmp_path


def run(directory: Path, model: str, limit: int | None = None) -> list[dict[str, object]]:
    """Run a pipeline, and return what it wrote."""
    (directory / "lights.toml").write_text(REST + model)
    build(load_config(directory / "lights.toml"), directory).run(limit)
    return [json.loads(line) for line in (directory / "answers.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "model",
    [
        '[model]\nkind = "sliding-window"\narguments = { learner = "aode", size = 50 }',
        '[model]\nkind = "half-life-choice"\n[model.arguments]\nhalf_lives = [20.0, 100.0]\ncombine = "mixture"\n'
        'learner = { kind = "nb", arguments = { strength = 0.5 } }',
        '[model]\nkind = "nb"\nthresholds = { yes = 0.7 }',
        '[model]\nkind = "model-per-key"\narguments = { learner = "nb", key = "who", weight = 20, max_keys = 4 }',
        '[model]\nkind = "half-life-choice"\narguments = { learner = "nb" }\nthresholds = 0.7',
    ],
    ids=["window", "half-lives", "thresholds", "per key", "thresholds of half-lives"],
)
def test_a_run_in_two_parts_is_the_run_in_one(directory: Path, model: str) -> None:
    whole = run(directory, model)
    state = SnapshotStore(directory / "state").latest()
    for path in [*(directory / "state").iterdir(), directory / "answers.jsonl"]:
        path.unlink()
    run(directory, model, limit=220)
    assert run(directory, model) == whole and len(whole) == EVENTS
    again = SnapshotStore(directory / "state").latest()
    assert state is not None and again is not None
    assert again.snapshot.to_bytes() == state.snapshot.to_bytes()


def test_costs_in_a_file_decide(directory: Path) -> None:
    plain = run(directory, '[model]\nkind = "nb"')
    for path in [*(directory / "state").iterdir(), directory / "answers.jsonl"]:
        path.unlink()
    costs = (
        "[model.costs]\nyes = { yes = 0, no = 4 }\nno = { yes = 1, no = 0 }\nunsure = { yes = 0.5, no = 0.5 }"
    )
    decided = run(directory, f'[model]\nkind = "nb"\n{costs}')
    for before, after in list(zip(plain, decided, strict=True))[10:]:
        assert before["probabilities"] == after["probabilities"]
        p = dict(after["probabilities"])["yes"]  # type: ignore[call-overload]  # a list of pairs
        risks = {"yes": 4 * (1 - p), "no": p, "unsure": 0.5}
        assert after["prediction"] == min(risks, key=risks.__getitem__)
    assert {answer["prediction"] for answer in decided[10:]} > {"no"}


@pytest.mark.needs("mail")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ('kind = "nb"\nthresholds = 0.5\ncosts = { a = { a = 0 } }', "two rules"),
        ('kind = "nb"\nthresholds = { a = 1.5 }', "from 0 to 1"),
        ('kind = "nb"\ncosts = { a = { a = 0, b = 1 }, b = { a = 1 } }', "no cost for the label 'b'"),
        ('kind = "spam-filter"\nthresholds = 0.5', "in its arguments"),
    ],
)
def test_a_wrong_rule_is_refused(model: str, message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        parse_config(f"{REST}[model]\n{model}")


def test_a_learner_around_others_needs_one(directory: Path) -> None:
    with pytest.raises(ValueError, match="needs learner, the name of a model such as 'nb'"):
        run(directory, '[model]\nkind = "sliding-window"\narguments = { size = 50 }')
