"""Sets of labels in the outputs of a pipeline, over HTTP and from the command line: those of `PredictionSets`."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_bayes import BayesianRegression, NaiveBayes, PredictionSets
from stream_bayes.cli.app import app
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.measures.coverage_control import LabelSets
from stream_bayes.errors import BadConfig, BadValue, NotSupported, SinkError
from stream_bayes.saving.model_files import load_sets
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.serve.restoring import view_of
from stream_bayes.streams import Step, served
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build

ROWS = [
    ({"sky": "grb"[number % 3], "wind": float(number % 5)}, "abc"[number * number % 7 % 3])
    for number in range(90)
]
LEVELS = [0.6, 0.9]


def run_rows(
    directory: Path,
    first: int,
    stop: int,
    model: str = "coverage = [0.6, 0.9]",
    kind: str = "jsonl",
    further: str = "",
) -> list[dict[str, Any]]:
    """Run a pipeline over the rows up to one, from its snapshot, and return the outputs from the first row on."""
    lines = [json.dumps({**x, "y": y, "id": number}) for number, (x, y) in enumerate(ROWS[:stop])]
    (directory / "data.jsonl").write_text("\n".join(lines) + "\n")
    (directory / "p.toml").write_text(
        'name = "p"\nbatch = 7\nsource = { kind = "jsonl", path = "data.jsonl", target = "y", key = "id" }\n'
        f'model = {{ kind = "nb", {model} }}\nsnapshots = {{ directory = "state" }}\n{further}\n'
        f'predictions = {{ kind = "{kind}", path = "out.{kind}" }}\n'
    )
    build(load_config(directory / "p.toml"), directory).run()
    out = directory / f"out.{kind}"
    if kind == "csv":
        with out.open(newline="") as file:
            return [{**row, "sets": json.loads(row["sets"])} for row in csv.DictReader(file)][first:]
    return [json.loads(line) for line in out.read_text().splitlines()][first:]


def expected_sets(by_class: bool = False, last: int = len(ROWS)) -> tuple[list[Any], PredictionSets]:
    model = PredictionSets(NaiveBayes(), LEVELS, by_class)
    sets = []
    for x, y in ROWS[:last]:
        sets.append({str(level): labels for level, labels in model.predict_set_one(x).items()})
        model.learn_one(x, y)
    return sets, model


def test_outputs_have_the_sets_before_the_label_is_learned(tmp_path: Path) -> None:
    found = run_rows(tmp_path, 0, 40) + run_rows(tmp_path, 40, 90)  # the second run resumes
    expected, model = expected_sets()
    assert [each["sets"] for each in found] == expected
    assert any(len(each["0.9"]) > len(each["0.6"]) for each in expected[40:])
    newest = SnapshotStore(tmp_path / "state").latest()
    assert newest is not None
    view, _ = view_of(newest.snapshot, None, generation=0, moment=0.0)
    xs: list[dict[str, Any]] = [{"sky": "g", "wind": 1.0}, {"sky": "b"}]
    answers = [{str(level): labels for level, labels in model.predict_set_one(x).items()} for x in xs]
    assert [view.loop_copy.predict(x)["sets"] for x in xs] == answers
    assert [each["sets"] for each in view.loop_copy.predict_many(xs)["predictions"]] == answers
    assert load_sets(tmp_path / "state", 0.6).state()["balances"] == model._sets.state()["balances"][:1]


def test_sets_come_with_intervals_as_csv_and_for_labels_that_come_late(tmp_path: Path) -> None:
    for name in ("csv", "late"):
        (tmp_path / name).mkdir()
    model = "coverage = [0.6, 0.9], by_class = true, intervals = 0.9"
    rows = run_rows(tmp_path / "csv", 0, 90, model, "csv")
    expected, _ = expected_sets(by_class=True)
    assert [each["sets"] for each in rows] == expected
    assert json.loads(rows[-1]["intervals"]).keys() == json.loads(rows[-1]["probabilities"]).keys()
    late = run_rows(tmp_path / "late", 0, 90, model, further="labels = { wait_for = 10 }")
    assert [each["sets"] for each in late] == expected


def turning(events: int) -> Iterator[tuple[dict[str, Any], str]]:
    """A class that follows the sky, in another way after each 150 events."""
    rng = random.Random(5)
    for number in range(events):
        sky = rng.randrange(3)
        yield (
            {"sky": "rgb"[sky]},
            "abc"[(sky + number // 150) % 3 if rng.random() < 0.9 else rng.randrange(3)],
        )


@pytest.mark.parametrize("by_class", [False, True])
def test_labels_that_come_late_move_the_thresholds_by_the_sets_of_the_outputs(by_class: bool) -> None:
    late, samples, outputs = 100, list(turning(2000)), list[Any]()

    def made() -> Step:
        model = served(NaiveBayes(half_life=20.0))
        return Step(model, pending=Pending(wait_for=None), sets=LabelSets([0.9], by_class))

    step = made()
    for number, (x, _) in enumerate(samples):
        if number == 1000:  # what waits keeps its sets in a snapshot
            outputs += step.collect_outputs()
            sections, step = step.freeze()(), made()
            step.load(sections)
        step.process([Event(x, key=number, time=float(number), position=2 * number)])
        if number >= late:
            label, place = samples[number - late][1], 2 * number + 1
            step.process(
                [Event({}, label, number - late, time=float(number), position=place, kind=Kind.LABEL)]
            )
    outputs += step.collect_outputs()
    pairs = [
        (y, output)
        for (_, y), output in zip(samples[:-late], outputs, strict=False)
        if y in output.probabilities
    ]
    used = [y in output.sets["0.9"] for y, output in pairs]
    assert step.sets is not None and len(used) + step.sets.unknown == len(samples) - late
    assert step.sets.coverage(0.9) == pytest.approx(sum(used) / len(used))
    assert abs(step.sets.coverage(0.9) - 0.9) <= (21 + late) / len(used)


def test_a_level_may_change_between_two_runs_and_the_others_go_on(tmp_path: Path) -> None:
    expected, _ = expected_sets()
    run_rows(tmp_path, 0, 40, "coverage = 0.9")
    found = run_rows(tmp_path, 40, 90, "coverage = [0.9, 0.5]")
    assert [each["sets"]["0.9"] for each in found] == [each["0.9"] for each in expected[40:]]
    assert all(set(each["sets"]) == {"0.9", "0.5"} for each in found)


def test_a_csv_file_is_not_continued_with_other_columns(tmp_path: Path) -> None:
    run_rows(tmp_path, 0, 40, kind="csv")
    with pytest.raises(SinkError, match=r"does not begin with the columns .*intervals"):
        run_rows(tmp_path, 40, 90, "coverage = [0.6, 0.9], intervals = 0.5", kind="csv")


def test_train_learns_the_thresholds_that_predict_reads(tmp_path: Path) -> None:
    data, model, out = tmp_path / "data.csv", tmp_path / "model.zip", tmp_path / "out.csv"
    data.write_text("sky,wind,y\n" + "".join(f"{x['sky']},{x['wind']},{y}\n" for x, y in ROWS))
    run = CliRunner().invoke
    named = [str(data), "--target", "y", "--model", "nb", "--out", str(model)]
    trained = run(app, ["train", *named, "--coverage", "0.6", "--coverage", "0.9"])
    assert trained.exit_code == 0 and "sets of 0.9 held the label in " in trained.output, trained.output
    predicted = run(app, ["predict", str(model), str(data), "--coverage", "0.9", "--out", str(out)])
    assert predicted.exit_code == 0, predicted.output
    _, whole = expected_sets()
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["set(0.9)"]) for row in rows] == [whole.predict_set_one(x)[0.9] for x, _ in ROWS]
    refused = run(app, ["predict", str(model), str(data), "--coverage", "0.8"])
    assert refused.exit_code != 0 and "train --coverage 0.8" in refused.output
    assert run(app, ["train", *named, "--by-class"]).exit_code != 0
    numbers = run(
        app,
        [
            "train",
            str(data),
            "--target",
            "wind",
            "--task",
            "regression",
            "--out",
            str(model),
            "--coverage",
            "0.9",
        ],
    )
    assert numbers.exit_code != 0 and "predicts numbers" in numbers.output


def test_what_has_no_sets_is_refused(tmp_path: Path) -> None:
    for model, message in [
        ("coverage = 90", "coverage lies between"),
        ("by_class = true", "give coverage"),
        ("coverage = []", "coverage is a number"),
    ]:
        with pytest.raises(BadConfig, match=message):
            run_rows(tmp_path, 0, 9, model)
    with pytest.raises(BadValue, match="sets: a BayesianRegression predicts no class"):
        Step(served(BayesianRegression()), sets=LabelSets((0.9,)))
    run_rows(tmp_path, 0, 9, "coverage = 0.5")
    with pytest.raises(NotSupported, match=r"sets of the coverage 0\.5"):
        load_sets(tmp_path / "state", 0.9)


@pytest.mark.parametrize("is_late", [False, True])
def test_an_event_without_weight_moves_no_threshold(is_late: bool) -> None:
    steps = []
    for extra in (0, 1):
        pending = Pending(wait_for=None) if is_late else None
        step = Step(served(NaiveBayes()), pending=pending, sets=LabelSets([0.9]))
        events = [
            Event(x, y, 2 * number + other, float(number), 2 * number + other, weight=1.0 - other)
            for number, (x, y) in enumerate(ROWS)
            for other in range(1 + extra)
        ]
        step.process(events)
        assert step.sets is not None
        steps.append(step.sets.state())
    assert steps[0] == steps[1]
