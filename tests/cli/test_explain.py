"""`stream-bayes explain`: what speaks for each label, and what the model cannot know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import (
    AdaptiveBayes,
    AdaptiveRegression,
    BayesianRegression,
    BayesianTree,
    MultiTargetRegression,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
    save,
)
from stream_bayes.cli.comparison.models import compared_models
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.saving.model_files import load_learner
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served
from tests.cli.test_snapshots import run


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    model = NaiveBayes()
    for sky, wind, rain in [
        ("grey", 5.0, "yes"),
        ("blue", 1.0, "no"),
        ("grey", 4.0, "yes"),
        ("blue", 2.0, "no"),
    ]:
        model.learn_one({"sky": sky, "wind": wind}, rain)
    path = tmp_path / "model.zip"
    path.write_bytes(Snapshot(learner="NaiveBayes", sections={"model": model.state()}).to_bytes())
    return path


def test_the_probabilities_are_those_of_the_model_and_the_evidence_adds_up(snapshot: Path) -> None:
    x = {"sky": "grey", "wind": 3.0}
    report = json.loads(run("explain", snapshot, json.dumps(x), "--json").stdout)
    model = NaiveBayes.from_state(Snapshot.from_bytes(snapshot.read_bytes()).sections["model"])
    assert dict(zip(report["labels"], report["probabilities"], strict=True)) == model.predict_proba_one(x)
    odds = [
        start + sum(part["evidence"][k] for part in report["evidence"])
        for k, start in enumerate(report["baseline"])
    ]
    joint = model.joint_log_likelihood(x)
    assert odds == pytest.approx([joint[label] for label in report["labels"]])
    assert [part["seen"] for part in report["evidence"]] == [True, True]
    intervals = model.predict_interval_one(x)
    assert {
        y: tuple(ends) for y, ends in zip(report["labels"], report["intervals"], strict=True)
    } == intervals
    assert "95 % interval" in run("explain", snapshot, json.dumps(x)).stdout


def test_values_that_were_never_learned_are_counted_by_predictions(snapshot: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "new.jsonl", tmp_path / "answers.csv"
    rows = [{"sky": "violet"}, {"sky": "grey"}, {"wind": 99.0}, {"sky": "green"}, {"sky": None, "wind": 1.0}]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    predicted = run("predict", snapshot, file, "--out", out, "--json")
    assert (
        "warning: sky: 2 rows have a value that says nothing, such as 'violet' (never learned)"
        in predicted.stderr
    )
    assert json.loads(predicted.stdout)["unseen"] == {"sky": 2}
    model = NaiveBayes(schema=Schema({"code": Nominal()}))
    for code, label in [("1", "a"), ("2", "b")]:
        model.learn_one({"code": code}, label)
    path = tmp_path / "codes.zip"
    save(model, path)
    file.write_text('{"code": 1}\n')
    assert "1 (never learned; '1' was: give it as that)" in run("predict", path, file, "--out", out).stderr


def test_predictions_get_the_ends_of_their_intervals(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("sky,wind\ngrey,3.5\nblue,2.5\n")
    lines = run("predict", snapshot, tmp_path / "new.csv", "--intervals", "0.9").stdout.splitlines()
    assert lines[0] == "row,prediction,p(no),p(yes),low(no),high(no),low(yes),high(yes)"
    model = NaiveBayes.from_state(Snapshot.from_bytes(snapshot.read_bytes()).sections["model"])
    for line, x in zip(lines[1:], ({"sky": "grey", "wind": 3.5}, {"sky": "blue", "wind": 2.5}), strict=True):
        intervals = model.predict_interval_one(x, 0.9)
        expected = [*model.predict_proba_one(x).values(), *intervals["no"], *intervals["yes"]]
        assert list(map(float, line.split(",")[4:])) == pytest.approx(expected[2:], rel=1e-5)
    refused = run("predict", snapshot, tmp_path / "new.csv", "--intervals", "95")
    assert "level lies between 0 and 1, not 95.0" in refused.output


def test_what_was_never_learned_is_told_apart(snapshot: Path) -> None:
    event = json.dumps({"skyy": "grey", "sky": "purple", "wind": None})
    result = run("explain", snapshot, event)
    message = " ".join(result.stdout.split())
    assert "'purple' (never learned)" in message and "missing" in message
    assert "warning: skyy: no such feature; did you mean 'sky'?" in result.stderr
    assert "warning: sky: 'purple' (never learned)" in result.stderr
    assert result.exit_code == 3 and "nothing of this event was ever learned" in result.stderr
    report = json.loads(run("explain", snapshot, event, "--json").stdout)
    assert [part["seen"] for part in report["evidence"]] == [False, False, False]


def test_an_event_is_read_as_a_line_of_a_file(tmp_path: Path) -> None:
    model = NaiveBayes()
    for age, city, y in [
        (30.0, "Ulm", "yes"),
        (20.0, "Bonn", "no"),
        (35.0, "Ulm", "yes"),
        (22.0, "Bonn", "no"),
    ]:
        model.learn_one({"user.age": age, "user.city": city}, y)
    path = tmp_path / "model.zip"
    path.write_bytes(Snapshot(learner="NaiveBayes", sections={"model": model.state()}).to_bytes())
    nested = run("explain", path, '{"user": {"age": NaN, "city": "Ulm"}}', "--json")
    assert (nested.exit_code, nested.stderr) == (0, "")
    report = json.loads(nested.stdout)
    assert report["probabilities"][report["labels"].index("yes")] > 0.5
    assert "Infinity" in run("explain", path, '{"user": {"age": Infinity}}').stderr


def test_beside_values_that_were_never_learned_the_others_answer_with_a_warning(snapshot: Path) -> None:
    partly = run("explain", snapshot, '{"sky": "purple", "wind": 3.0}', "--json")
    assert partly.exit_code == 0 and "warning: sky: 'purple' (never learned)" in partly.stderr
    known = run("explain", snapshot, '{"wind": 3.0}', "--json")
    assert known.exit_code == 0 and "warning" not in known.stderr
    report = json.loads(partly.stdout)
    assert {part["feature"]: part["seen"] for part in report["evidence"]} == {"sky": False, "wind": True}
    assert report["probabilities"] == pytest.approx(json.loads(known.stdout)["probabilities"])


@pytest.mark.parametrize(
    "learner", [AdaptiveRegression(), BayesianRegression(), BayesianTree(), MultiTargetRegression(["y"])]
)
def test_regressions_warn_of_values_that_were_never_learned_too(
    learner: BayesRegressor | MultiTargetRegression, tmp_path: Path
) -> None:
    for k in range(60):
        y = 3.0 * (k % 2) + k % 7
        label: Any = {"y": y} if isinstance(learner, MultiTargetRegression) else y
        learner.learn_one({"sky": ("grey", "blue")[k % 2], "wind": k % 7}, label)
    path = tmp_path / "m.zip"
    save(learner, path)
    partly = run("explain", path, '{"sky": "purple", "wind": 3.0}', "--json")
    assert partly.exit_code == 0 and "warning: sky: 'purple' (never learned)" in partly.stderr
    known = run("explain", path, '{"wind": 3.0}', "--json")
    assert known.exit_code == 0 and "warning" not in known.stderr
    for name in ("mean", "targets"):
        assert json.loads(partly.stdout).get(name) == json.loads(known.stdout).get(name)
    alone = run("explain", path, '{"sky": "purple", "wind": null}')
    assert alone.exit_code == 3 and "the answer is that without any feature" in alone.stderr


def test_numbers_far_outside_those_that_were_learned_are_named(tmp_path: Path) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "m.zip"
    path.write_text("wind,y\n" + "".join(f"{k % 9},{2.5 * (k % 9) + k % 2}\n" for k in range(90)))
    assert (
        run("train", path, "--target", "y", "--model", "bayesian-regression", "--out", model).exit_code == 0
    )
    far = run("explain", model, '{"wind": 400}')
    assert far.exit_code == 0 and "wind: 400 is far outside all that was learned (0 to 8)" in far.stderr
    assert run("explain", model, '{"wind": 9}').stderr == ""


def test_of_a_model_that_follows_drift_the_one_that_answers_explains(tmp_path: Path) -> None:
    rows = "\n".join(f"{'abc'[number % 3]},{'xy'[number % 2]}" for number in range(60))
    (tmp_path / "events.csv").write_text(f"letter,kind\n{rows}\n")
    state = tmp_path / "state"
    file = str(tmp_path / "events.csv")
    replayed = run(
        *("replay", file, "--target", "kind", "--model", "tan", "--drift", "adwin", "--snapshots", str(state))
    )
    assert replayed.exit_code == 0, replayed.output
    report = json.loads(run("explain", str(state), '{"letter": "a"}', "--json").stdout)
    assert sorted(report["labels"]) == ["x", "y"]
    assert [part["feature"] for part in report["evidence"]] == ["letter"]


def test_it_reads_the_event_from_the_standard_input_and_the_newest_of_a_directory(
    snapshot: Path, tmp_path: Path
) -> None:
    store = SnapshotStore(tmp_path / "state")
    store.take_over()
    store.save(Snapshot.from_bytes(snapshot.read_bytes()))
    report = json.loads(run("explain", tmp_path / "state", '{"sky": "grey"}', "--json").stdout)
    assert report["labels"] == ["yes", "no"]


@pytest.mark.parametrize(
    ("where", "event", "code", "message"),
    [
        ("nowhere.zip", "{}", 4, "there is no snapshot"),
        ("", "{}", 4, "there are no snapshots in"),
        ("model.zip", "sky", 3, "the event is not a JSON object"),
        ("model.zip", '{"wind": "strong"}', 3, "'wind' is numeric"),
        ("broken.zip", "{}", 4, "broken.zip"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    snapshot: Path, tmp_path: Path, where: str, event: str, code: int, message: str
) -> None:
    (tmp_path / "broken.zip").write_bytes(snapshot.read_bytes()[:-10])
    result = run("explain", tmp_path / where, event)
    assert (result.exit_code, len(result.stderr.strip().splitlines())) == (code, 1), result.stderr
    assert message in result.stderr


@pytest.mark.needs("mail")
def test_the_spam_filter_of_a_pipeline_explains_its_verdict_on_a_message(tmp_path: Path) -> None:
    model = SpamFilter()
    for number in range(8):
        model.learn_one(b"Subject: cheap pills\n\nbuy pills now", "spam", id=f"s{number}")
        model.learn_one(b"Subject: minutes\n\nthe meeting is on monday", "ham", id=f"h{number}")
    step = Step(served(model))
    store = SnapshotStore(tmp_path / "state")
    store.take_over()
    store.save(Snapshot(learner=step.model.name, sections=step.freeze()()))
    mail = tmp_path / "new.eml"
    mail.write_bytes(b"Subject: pills\n\nbuy cheap pills")
    report = json.loads(run("explain", tmp_path / "state", mail, "--json").stdout)
    assert report["probability"] > 0.5
    assert any("pills" in row["token"] and row["adds"] > 0 for row in report["tokens"])
    assert "pills" in run("explain", tmp_path / "state", mail).stdout
    result = run("explain", tmp_path / "state", '{"sky": "grey"}')
    assert result.exit_code == 3 and "a file with a message" in result.stderr


def test_the_default_model_is_trained_saved_and_explained_by_its_features_and_experts(tmp_path: Path) -> None:
    file, saved = tmp_path / "events.csv", tmp_path / "model.zip"
    rows = [f"{number % 11 / 3},{'ab'[number % 2]},{'no yes'.split()[number % 2]}" for number in range(80)]
    file.write_text("\n".join(["size,letter,answer", *rows]) + "\n")
    trained = json.loads(run("train", file, "--target", "answer", "--out", saved, "--json").stdout)
    assert trained["model"] == "AdaptiveBayes"
    x = {"size": 1.0, "letter": "b"}
    report = json.loads(run("explain", saved, json.dumps(x), "--json").stdout)
    model = load_learner(saved)
    assert isinstance(model, AdaptiveBayes)
    assert dict(zip(report["labels"], report["probabilities"], strict=True)) == model.predict_proba_one(x)
    assert [part["expert"] for part in report["experts"]] == list(model.explain_one(x).experts)
    assert {part["feature"] for part in report["evidence"]} == {"size", "letter"}
    told = run("explain", saved, json.dumps(x)).stdout
    assert "last label again" in told and "step-by-step of AdaptiveBayes" in told
    unseen = run("explain", saved, '{"size": 1.0, "letter": "q"}')
    assert unseen.exit_code == 0 and "warning: letter: 'q' (never learned)" in unseen.stderr
    assert run("explain", saved, '{"letter": "q"}').exit_code == 3
    out = tmp_path / "answers.csv"
    run("predict", saved, file, "--out", out)
    predicted = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
    assert predicted == ["no", "yes"] * 40


def test_a_pipeline_with_the_adaptive_model_stops_and_goes_on(tmp_path: Path) -> None:
    rows = [f"{number},{number % 9},{'xy'[number % 9 > 4]}" for number in range(90)]
    file, answers = tmp_path / "events.csv", tmp_path / "answers.jsonl"
    (tmp_path / "pipeline.toml").write_text(
        'name = "sizes"\n[source]\nkind = "csv"\npath = "events.csv"\ntarget = "kind"\nkey = "id"\n'
        '[schema.features]\nsize = "numeric"\n[model]\nkind = "adaptive"\n'
        '[predictions]\nkind = "jsonl"\npath = "answers.jsonl"\n[snapshots]\ndirectory = "state"\n'
    )
    answered = []
    for upto in (50, 90):
        file.write_text("\n".join(["id,size,kind", *rows[:upto]]) + "\n")
        run("run", tmp_path / "pipeline.toml")
        answered.append([json.loads(line)["probabilities"] for line in answers.read_text().splitlines()])
    model = AdaptiveBayes(schema=Schema({"size": Numeric()}))
    expected = [
        model.predict_learn_one({"size": float(number % 9)}, "xy"[number % 9 > 4]) for number in range(90)
    ]
    assert answered[0] == expected[:50]
    assert answered[1] == expected
    assert json.loads(run("explain", tmp_path / "state", '{"size": 8}', "--json").stdout)["labels"] == [
        "x",
        "y",
    ]


def test_the_adaptive_model_refuses_a_detector_besides() -> None:
    with pytest.raises(BadValue, match="adapts to drift itself"):
        compared_models(["adaptive+adwin"], [], None)
