"""Challengers learn what the model learns, change nothing of it, survive restarts, and can take its place."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from stream_bayes.errors import BadConfig, OtherSettings
from stream_bayes.streams.engine.challengers import Challenger
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from tests.cli.test_snapshots import run

BASE = """
name = "days"
batch = 20
source = { kind = "jsonl", path = "days.jsonl", target = "rain", key = "id" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
snapshots = { directory = "state" }
labels = { correct_within = 1000.0, clock = "events" }
"""
NB, TAN = 'kind = "nb"', 'kind = "tan"'
ROWS = 300


def text(model: str, *challengers: tuple[str, str]) -> str:
    return f"{BASE}\n[model]\n{model}\n" + "".join(
        f'[[challengers]]\nname = "{name}"\n{kind}\n' for name, kind in challengers
    )


def engine_of(directory: Path, pipeline: str) -> Engine:
    return build(parse_config(pipeline), directory)


@pytest.fixture
def days(tmp_path: Path) -> Path:
    chance = random.Random(5)
    with (tmp_path / "days.jsonl").open("w") as file:
        for number in range(ROWS):
            sky, wind = chance.choice(["grey", "blue"]), chance.choice(["strong", "weak"])
            rain = (sky == "grey") != (wind == "weak")  # each alone says nothing: TAN sees it, NB does not
            row = {"id": f"d{number}", "sky": sky, "wind": wind, "rain": "yes" if rain else "no"}
            file.write(json.dumps(row) + "\n")
    return tmp_path


def test_a_challenger_is_the_model_that_would_have_run_alone_and_changes_no_answer(days: Path) -> None:
    alone = engine_of(days, text(NB))
    alone.run()
    answers = (days / "answers.jsonl").read_bytes()
    other = engine_of(days, text(TAN))
    other.run(rebuild=True)
    both = engine_of(days, text(NB, ("trees", TAN)))
    both.run(rebuild=True)
    assert (days / "answers.jsonl").read_bytes() == answers
    trees = both.challengers.by_name["trees"].step
    assert trees.losses.cumulative.as_dict() == other.step.losses.cumulative.as_dict()
    assert trees.learned == other.step.learned == ROWS
    assert (trees.losses.cumulative.accuracy or 0) > (both.step.losses.cumulative.accuracy or 0) + 0.2


def test_challengers_survive_restarts_and_may_come_and_go(days: Path) -> None:
    whole = engine_of(days, text(NB, ("trees", TAN)))
    whole.run()
    expected = whole.challengers.by_name["trees"].step.losses.cumulative.as_dict()
    engine_of(days, text(NB, ("trees", TAN))).run(100, rebuild=True)
    resumed = engine_of(days, text(NB, ("trees", TAN), ("late", 'kind = "aode"')))
    resumed.run(100)
    assert resumed.challengers.by_name["late"].since == 100
    last = engine_of(days, text(NB, ("late", 'kind = "aode"'), ("trees", TAN)))
    last.run()
    assert last.challengers.by_name["trees"].step.losses.cumulative.as_dict() == expected
    assert last.challengers.by_name["late"].step.learned == ROWS - 100
    gone = engine_of(days, text(NB, ("late", 'kind = "aode"\narguments = { min_count = 3 }')))
    gone.run(0)  # other settings: it starts anew
    assert gone.challengers.by_name["late"].step.learned == 0


def test_a_challenger_that_fails_is_dropped_and_the_pipeline_goes_on(
    days: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_of(days, text(NB, ("trees", TAN)))
    trees = engine.challengers.by_name["trees"]

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by it")

    monkeypatch.setattr(trees.step, "process", fail)
    engine.run()
    assert engine.step.learned == ROWS and trees.failure == "ZeroDivisionError: by it"
    assert "challenger trees is dropped" in caplog.text


def test_a_promoted_challenger_answers_as_if_it_had_always_been_the_model(days: Path) -> None:
    before, after = text(NB, ("trees", TAN)), text(TAN, ("trees", NB))
    alone = engine_of(days, text(TAN))
    alone.run()
    expected = (days / "answers.jsonl").read_text().splitlines()
    engine_of(days, before).run(150, rebuild=True)
    (days / "days.toml").write_text(before)
    result = run("promote", days / "days.toml", "trees", "--json")
    assert result.exit_code == 0, result.stderr
    printed = parse_config(BASE + json.loads(result.stdout)["tables"])
    assert (printed.model.kind, printed.challengers[0].kind) == ("tan", "nb")
    with pytest.raises(OtherSettings):
        engine_of(days, before).run()
    engine = engine_of(days, after)
    engine.run()
    answers = (days / "answers.jsonl").read_text().splitlines()
    assert len(answers) == ROWS
    assert [json.loads(line)["probabilities"] for line in answers[150:]] == [
        json.loads(line)["probabilities"] for line in expected[150:]
    ]
    old = engine.challengers.by_name["trees"]
    assert isinstance(old, Challenger) and old.step.learned == engine.step.learned == ROWS


def test_a_challenger_is_promoted_where_the_kinds_of_columns_were_guessed(days: Path) -> None:
    rows = [json.loads(line) for line in (days / "days.jsonl").read_text().splitlines()]
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    (days / "days.csv").write_text("\n".join(lines) + "\n")
    before, after = (
        each.replace("jsonl", "csv") for each in (text(NB, ("trees", TAN)), text(TAN, ("trees", NB)))
    )
    engine_of(days, before).run(150)
    (days / "days.toml").write_text(before)
    assert run("promote", days / "days.toml", "trees").exit_code == 0
    engine = engine_of(days, after)
    engine.run()
    assert engine.challengers.by_name["trees"].step.learned == engine.step.learned == ROWS


@pytest.mark.needs("mail")
def test_wrong_challengers_are_refused_with_what_to_do(days: Path) -> None:
    for pipeline, said in (
        (text(NB, ("a", NB), ("a", TAN)), "two are named 'a'"),
        (text(NB, ("a", 'kind = "spam-filter"')), "messages are for"),
        (text(NB, ("a b", NB)), "name"),
        (text(NB, ("a", 'kind = "tann"')), "did you mean 'tan'"),
    ):
        with pytest.raises(BadConfig, match=said):
            parse_config(pipeline)
    (days / "days.toml").write_text(text(NB, ("trees", TAN)))
    for name, said in (("tree", "there is no challenger 'tree'"), ("trees", "run the pipeline first")):
        result = run("promote", days / "days.toml", name)
        assert result.exit_code in (3, 4) and said in result.stderr.replace("\n", " "), result.stderr
