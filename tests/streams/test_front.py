"""`from stream_bayes import streams`: one call each, cheap to import, and no name that a submodule could replace."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from river import base, metrics

from stream_bayes import (
    AODE,
    DecidingClassifier,
    NaiveBayes,
    Nominal,
    Schema,
    StreamBayesError,
    Thresholds,
    networks,
    streams,
)
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.errors import BadValue, OtherSettings, SchemaError, TooManyLabels

DAYS: list[tuple[dict[str, Any], str]] = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    rows = [f"{n},{'new' if n % 3 else 'known'},{n % 7},{'yes' if n % 3 else 'no'}" for n in range(300)]
    path.write_text("order,customer,items,late\n" + "\n".join(rows) + "\n")
    return path


def test_every_name_of_the_front_can_be_imported() -> None:
    for name in streams.__all__:
        assert getattr(streams, name).__name__.rpartition(".")[2] == name
    assert set(streams.__all__) <= set(dir(streams))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = streams.no_such_name


@pytest.mark.parametrize("front", [streams, networks], ids=lambda front: front.__name__)
def test_no_name_of_a_front_is_a_submodule(front: Any) -> None:
    """Importing the submodule would replace the function."""
    submodules = {module.name for module in pkgutil.iter_modules(getattr(front, "__path__", []))}
    assert not submodules & set(front.__all__)


def test_the_types_seen_by_a_type_checker_are_those_at_run_time() -> None:
    source = Path(streams.__file__).read_text("utf-8")
    module_of = {name: module for module, names in streams._MODULES.items() for name in names}
    for name, module in module_of.items():
        assert name in source.split("# The module of each name")[0]
        assert hasattr(importlib.import_module(f"stream_bayes.{module}"), name)
    assert sorted(module_of) == sorted(streams.__all__)


def test_importing_the_front_loads_none_of_its_parts() -> None:
    code = (
        "import sys, stream_bayes; before = set(sys.modules); from stream_bayes import streams;"
        "print(*(name for name in set(sys.modules) - before if name.startswith('stream_bayes')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["stream_bayes.streams"]


def test_a_csv_file_is_evaluated_in_one_line(orders: Path) -> None:
    result = streams.evaluate(orders, AODE(), target="late", ignore=["order"])
    assert result.events == 300 and result.accuracy > 0.97
    last = result.answers[-1]
    assert (last.x, last.label, last.prediction) == ({"customer": "new", "items": 5.0}, "yes", "yes")
    assert last.event is not None and last.event.partition.source == "orders.csv"
    right = sum(answer.is_correct for answer in result.answers)
    assert result.unanswered == 1  # the first, before anything was learned
    assert right / (len(result.answers) - 1) == result.accuracy
    assert str(result).split()[0] == "learner" and "AODE" in repr(result)


def test_json_lines_dicts_pairs_and_sources_are_evaluated_the_same(tmp_path: Path) -> None:
    dicts = [{**x, "weather": y} for x, y in DAYS]
    path = tmp_path / "days.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in dicts))
    given: list[tuple[Any, str | None]] = [
        (path, "weather"),
        (dicts, "weather"),
        (DAYS, None),
        (iter(DAYS), None),
        (streams.from_iterable(dicts, target="weather"), None),
    ]
    results = [streams.evaluate(stream, NaiveBayes(), target=target) for stream, target in given]
    answers = [[(answer.label, answer.probabilities) for answer in result.answers] for result in results]
    assert all(other == answers[0] for other in answers) and len(answers[0]) == 100


def test_an_evaluation_has_the_figures_of_a_comparison() -> None:
    result = streams.evaluate(DAYS, NaiveBayes(), metrics=[metrics.F1(pos_val="rain")], every=30)
    compared = streams.compare({"nb": NaiveBayes()}, DAYS)
    assert result.log_loss == compared["nb"].cumulative.log_loss
    assert result.interval()[:3] == compared.interval("nb")[:3]
    assert [checkpoint.events for checkpoint in result.checkpoints] == [30, 60, 90, 100]
    assert result.learner.predict_one({"sky": "blue"}) == "sun"


def test_answers_are_not_kept_unless_wanted() -> None:
    assert streams.evaluate(DAYS, NaiveBayes(), keep_answers=False).answers == []


def test_labels_that_come_late_are_scored_by_the_answer_given_before() -> None:
    at_once = streams.evaluate(DAYS, NaiveBayes())
    late = streams.evaluate(DAYS, NaiveBayes(), delay=20)
    assert (at_once.unanswered, late.unanswered) == (1, 20) and [a.number for a in late.answers] == list(
        range(100)
    )
    assert late.answers[19].probabilities == {}


def test_a_learner_without_probabilities_is_evaluated_by_its_labels() -> None:
    result = streams.evaluate(DAYS, _Constant())
    assert result.accuracy == 0.5 and math.isnan(result.log_loss)


class _Constant(base.Classifier):
    def predict_one(self, x: Any, **kwargs: Any) -> str:
        return "rain"

    def learn_one(self, x: Any, y: Any) -> None: ...


def test_a_failed_assertion_shows_the_figures_and_the_wrong_answers() -> None:
    result = streams.evaluate([*DAYS * 5, ({"sky": "blue"}, "rain")], NaiveBayes())
    result.assert_accuracy(at_least=0.9)
    result.assert_log_loss(at_most=1.0)
    with pytest.raises(AssertionError) as error:
        result.assert_accuracy(at_least=0.999)
    lines = str(error.value).splitlines()
    assert lines[0].startswith(
        "expected an accuracy of at least 0.999, got 0.996 over 501 events (95 % interval 0.9"
    )
    assert "samples without an answer, which are not scored: 1" in lines
    assert "1 x 'rain' predicted as 'sun'" in lines
    assert lines[-1] == "sample 500: {'sky': 'blue'} is 'rain', got 'sun'"
    with pytest.raises(AssertionError, match=r"expected a log-loss of at most 0\.001, got"):
        result.assert_log_loss(at_most=0.001)


def test_an_empty_stream_passes_no_assertion() -> None:
    with pytest.raises(AssertionError, match="got nan over 0 events"):
        streams.evaluate([], NaiveBayes()).assert_accuracy(at_least=0.0)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("orders.csv", NaiveBayes()), "target: expected the name of the field of orders.csv"),
        (("orders.pdf", NaiveBayes(), "late"), r"orders.pdf: expected a name that ends in \.csv"),
        ((DAYS, {"nb": NaiveBayes()}), "learner: expected a classifier"),
        ((NaiveBayes(), DAYS), "learner"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(arguments: tuple[Any, ...], complaint: str) -> None:
    stream, learner, *target = arguments
    with pytest.raises(BadValue, match=complaint):
        streams.evaluate(stream, learner, target=target[0] if target else None)


def test_the_types_of_a_csv_file_are_inferred_declared_or_left_as_text(orders: Path) -> None:
    def first(**options: Any) -> Any:
        source = streams.from_csv(orders, target="late", **options)
        try:
            return source.poll(1)[0].x["items"]  # type: ignore[union-attr]  # an event
        finally:
            source.close()

    assert first() == 0.0
    assert first(infer_types=False) == "0"
    assert first(schema=Schema({"items": Nominal()}, target="late")) == "0"


def test_a_followed_file_without_rows_needs_a_schema(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("sky,rain\n")
    with pytest.raises(SchemaError, match="holds no row yet"):
        streams.from_csv(path, target="rain", follow=True)
    streams.from_csv(path, target="rain", follow=True, infer_types=False).close()


def test_a_topic_with_labels_of_its_own_is_a_source() -> None:
    source = streams.from_kafka(["a:1", "b:2"], "orders", target="late", labels="returns", tls=True)
    assert source.connection.servers == ("a:1", "b:2") and source.connection.tls
    assert source.decoders["returns"].fields.default_kind is Kind.LABEL
    roles: dict[str, Any] = {"target": "late", "key": "id", "time": "at", "time_unit": "ms"}
    timed = streams.from_kafka("a:1", "orders", labels="returns", wait_idle=0.5, **roles)
    assert {name: getattr(timed.decoders["returns"].fields, name) for name in roles} == roles
    assert timed.wait_idle == 0.5
    with pytest.raises(BadValue, match="labels"):
        streams.from_kafka("a:1", "orders", labels="orders")


def test_a_run_that_is_called_again_resumes(orders: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"target": "late", "key": "order", "predictions": tmp_path / "answers.jsonl"}
    settings["snapshots"] = tmp_path / "state"
    first = streams.run(orders, AODE(), max_records=120, **settings)
    second = streams.run(orders, AODE(), **settings)
    assert (first.processed, second.processed, second.processed_in_run) == (120, 300, 180)
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [answer["key"] for answer in answers] == [str(number) for number in range(300)]
    whole = streams.run(orders, AODE(), target="late", key="order")
    assert whole.losses.cumulative.accuracy == second.losses.cumulative.accuracy
    assert whole.model.predict_proba_one({"customer": "new"}) == second.model.predict_proba_one(
        {"customer": "new"}
    )
    with pytest.raises(OtherSettings, match=r"source\.key was 'order', is not given"):
        streams.run(orders, AODE(), **settings | {"key": None})
    again = streams.run(orders, AODE(), rebuild=True, **settings)
    assert again.processed_in_run == 300


def test_results_go_to_files_functions_and_sinks(tmp_path: Path) -> None:
    bad: list[Any] = [({"sky": float("inf")}, "rain")]
    letters: list[Any] = []
    kept: list[Any] = []
    path = tmp_path / "answers.csv"
    result = streams.run(
        [*DAYS, *bad],
        NaiveBayes(),
        predictions=path,
        dead_letters=letters.extend,
        drift_log=streams.CallableSink(kept.extend),
    )
    assert len(path.read_text().splitlines()) == 101
    assert result.dead_letters == {"refused": 1} and letters[0].reason == "refused"
    assert result.learned == 100
    with pytest.raises(BadValue, match=r"drift_log: expected a \.jsonl file"):
        streams.run(DAYS, NaiveBayes(), drift_log=tmp_path / "drifts.csv")
    with pytest.raises(BadValue, match="predictions: expected a path"):
        streams.run(DAYS, NaiveBayes(), predictions=3)  # type: ignore[arg-type]  # refused


def test_labels_may_come_later_in_a_run() -> None:
    events = [
        Event({"sky": "grey"}, key=1, time=0.0),
        Event({}, "rain", key=1, time=10.0, kind=Kind.LABEL),
        Event({"sky": "grey"}, key=2, time=20.0),
    ]
    outputs: list[Any] = []
    result = streams.run(
        events, NaiveBayes(), late_labels=streams.Pending(wait_for=60.0), predictions=outputs.extend
    )
    assert [output.prediction for output in outputs] == [None, "rain"]
    assert result.pending is not None and result.pending.waiting == 1


def test_a_pipeline_file_is_run_in_one_call(orders: Path) -> None:
    path = orders.with_name("orders.toml")
    path.write_text(
        'name = "orders"\nsource = { kind = "csv", path = "orders.csv", target = "late" }\nmodel = { kind = "aode" }'
    )
    assert streams.pipeline(path).run().processed == 300
    with pytest.raises(StreamBayesError, match="cannot be read"):
        streams.pipeline(orders.with_name("none.toml"))


def test_evaluating_loads_no_client_of_kafka() -> None:
    code = (
        "import sys; from stream_bayes import NaiveBayes, streams;"
        "streams.evaluate([({'a': 1}, 'b')], NaiveBayes()); print('kafka' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_labels_that_never_come_twice_are_never_right() -> None:
    stream = [({"sky": "grey"}, f"order {number}") for number in range(1020)]
    with pytest.warns(TooManyLabels, match="more than 1,000 labels"):
        result = streams.evaluate(stream, NaiveBayes())
    assert result.accuracy == 0.0


def test_a_decision_that_is_no_label_has_no_f1() -> None:
    unsure = DecidingClassifier(NaiveBayes(), Thresholds(0.9999))
    result = streams.evaluate(DAYS, unsure)
    assert set(result.cumulative.f1) == {"rain", "sun"}
    assert any(answer.prediction == "unsure" for answer in result.answers)
