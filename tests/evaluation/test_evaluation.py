"""Several learners side by side do what each would do alone, and are scored by what they said before they learned."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from river import (
    compose,
    dummy,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    naive_bayes,
    preprocessing,
    tree,
    utils,
)

from stream_bayes import AODE, BernoulliNB, Costs, DecidingClassifier, GaussianNB, NaiveBayes
from stream_bayes.errors import BadFormat, BadValue, BadWeight, TooManyLabels
from stream_bayes.streams import Checkpoint, Comparison, compare, read_checkpoints
from tests.oracles import losses as oracle
from tests.streams.recording_learners import AtOnce, Listening, Slow

LEAST = 1e-15


def weather(events: int, seed: int = 1) -> list[tuple[dict[Any, Any], str]]:
    """Numbers that tell something of three labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, events)
    numbers = rng.normal(labels[:, np.newaxis], 1.0, (events, 3))
    return [
        ({name: float(value) for name, value in zip("abc", row, strict=True)}, ["fog", "rain", "sun"][label])
        for row, label in zip(numbers, labels, strict=True)
    ]


def by_hand(model: Any, stream: list[tuple[dict[Any, Any], str]]) -> list[oracle.Event]:
    """Predict, note, learn: the loop that everybody writes."""
    events = []
    for x, y in stream:
        answer = dict(model.predict_proba_one(x))
        events.append((y, answer, model.predict_one(x), 1.0))
        model.learn_one(x, y)
    return events


MODELS: dict[str, Callable[[], Any]] = {
    "ours": NaiveBayes,
    "pairs": lambda: AODE(min_count=1),
    "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=20),
    "theirs": naive_bayes.GaussianNB,
    "pipeline": lambda: preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
    "ours in a pipeline": lambda: preprocessing.StandardScaler() | GaussianNB(),
}


def test_every_learner_is_scored_as_by_a_loop_of_its_own() -> None:
    stream = weather(230)
    found = compare({name: make() for name, make in MODELS.items()}, stream, every=50, window=60)
    assert list(found) == list(MODELS) and len(found) == len(MODELS)
    for name, make in MODELS.items():
        events = by_hand(make(), stream)
        for view, expected in (
            (found[name].cumulative, oracle.measures(events, [1.0] * len(events), LEAST)),
            (found[name].windowed, oracle.windowed(events, 60, LEAST)),
            (found[name].fading, oracle.fading(events, 1000.0, LEAST)),
        ):
            for measure, value in msgspec.structs.asdict(view).items():
                tolerance = 5e-3 if measure == "roc_auc" else 1e-9
                assert value == pytest.approx(expected[measure], abs=tolerance), (name, measure)


@pytest.mark.parametrize("delay", [0, 1, 2, 17, 1000])
def test_accuracy_and_delays_are_those_of_rivers_own_evaluation(delay: int) -> None:
    stream = weather(230)
    found = compare(
        {"tree": tree.HoeffdingTreeClassifier(grace_period=20)},
        stream,
        delay=delay,
        metrics=[metrics.Accuracy()],
    )
    rivers = metrics.Accuracy()
    evaluate.progressive_val_score(stream, tree.HoeffdingTreeClassifier(grace_period=20), rivers, delay=delay)
    assert found["tree"].metrics["Accuracy"] == rivers.get()


def test_kappas_are_those_computed_by_hand() -> None:
    # Of labels a a a b a b b a: predicting the majority so far is right at the 2nd, 3rd, 5th and 8th, the label before
    # at the 2nd, 3rd and 7th; what was predicted is right in 6 of 8.
    labels = "aaababba"
    answers = iter("aaabbbab")

    class Told(Listening):
        def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
            return {next(answers): 1.0}

    found = compare({"told": Told()}, [({}, y) for y in labels])["told"].cumulative
    right = [a == b for a, b in zip(labels, "aaabbbab", strict=True)]
    assert sum(right) == 5
    assert found.accuracy == 5 / 8
    assert found.kappa_m == pytest.approx((5 / 8 - 4 / 8) / (1 - 4 / 8))
    assert found.kappa_t == pytest.approx((5 / 8 - 3 / 8) / (1 - 3 / 8))
    chance = (5 / 8) * (4 / 8) + (3 / 8) * (4 / 8)
    assert found.kappa == pytest.approx((5 / 8 - chance) / (1 - chance))
    assert found.f1 == pytest.approx({"a": 2 * 3 / 9, "b": 2 * 2 / 7})


def test_weights_are_passed_on_and_count_in_the_scores() -> None:
    one, two = AtOnce(), Listening()
    found = compare(
        {"one": one, "two": two}, [({}, "a", 3.0), ({}, "a"), ({}, "b", 0.5)], metrics=[metrics.Accuracy()]
    )
    assert [call for call in one.calls if call[0] == "learn"] == [
        ("learn", {}, "a", 3.0),
        ("learn", {}, "a", 1.0),
        ("learn", {}, "b", 0.5),
    ]
    assert one.calls == two.calls
    for each in found.values():
        assert each.cumulative.accuracy == pytest.approx(1.0 / 1.5)
        # Without an answer, before anything is learned, an event is not scored, as in River.
        assert each.metrics == {"Accuracy": pytest.approx(1.0 / 1.5)}


def test_only_the_learners_own_calls_are_timed_and_ram_hours_are_gigabytes_times_hours() -> None:
    slow = Slow()
    slow.memory_bytes = 3_600_000_000  # type: ignore[attr-defined]  # as some learners have it
    found = compare({"slow": slow}, weather(10), every=4, clock=slow.clock)
    assert [each.seconds for each in found.checkpoints] == [12.0, 24.0, 30.0]
    assert [each.ram_hours for each in found.checkpoints] == pytest.approx([0.012, 0.024, 0.030])
    late = Slow()
    assert compare({"slow": late}, weather(10), delay=3, clock=late.clock)["slow"].seconds == 30.0


def test_size_is_what_a_learner_says_or_what_river_finds_or_unknown() -> None:
    ours, theirs = NaiveBayes(), naive_bayes.GaussianNB()

    class Unknown:
        """Not of River's family, and silent about its size."""

        def learn_one(self, x: Any, y: Any) -> None: ...

        def predict_one(self, x: Any) -> str:
            return "sun"

    found = compare({"ours": ours, "theirs": theirs, "unknown": Unknown()}, weather(20))
    assert found["ours"].memory_bytes == ours.memory_bytes
    assert found["theirs"].memory_bytes == theirs._raw_memory_usage
    assert found["unknown"].memory_bytes is None and found["unknown"].ram_hours is None
    assert str(found).count(" - ") >= 2


def test_standings_are_noted_every_so_many_events_and_at_the_end_for_all_learners() -> None:
    heard: list[Checkpoint] = []
    found = compare(
        {"a": NaiveBayes(), "b": GaussianNB()}, weather(250), every=120, on_checkpoint=heard.append
    )
    assert [(c.events, c.learner) for c in found.checkpoints] == [
        (120, "a"),
        (120, "b"),
        (240, "a"),
        (240, "b"),
        (250, "a"),
        (250, "b"),
    ]
    assert heard == found.checkpoints
    exact = compare({"a": NaiveBayes()}, weather(240), every=120)
    assert [c.events for c in exact.checkpoints] == [120, 240]
    # What stands at a checkpoint is what a shorter stream ends with.
    assert compare({"a": NaiveBayes()}, weather(250)[:120])["a"].cumulative == found.checkpoints[0].cumulative


def test_nothing_to_score_is_no_error() -> None:
    found = compare({"a": NaiveBayes()}, [])
    assert found["a"].events == 0 and found["a"].cumulative.accuracy is None
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["learners"]["a"]["seconds"] == 0.0
    assert "0 events" in str(found)


def test_progress_is_told_and_a_stop_is_obeyed_with_labels_that_wait_left_alone() -> None:
    reported: list[int] = []
    endless = (pair for _ in iter(int, 1) for pair in weather(50))
    found = compare(
        {"a": NaiveBayes(), "b": NaiveBayes()},
        endless,
        delay=30,
        progress=reported.append,
        should_stop=lambda: reported[-1] >= 300,
    )
    assert reported == sorted(reported) and 300 <= reported[-1] <= 400
    assert found["a"].events == found["b"].events == reported[-1]
    assert found.waiting == 30


def test_checkpoints_are_lines_of_json_that_can_be_read_back(tmp_path: Path) -> None:
    found = compare({"größe": NaiveBayes(), "b": dummy.NoChangeClassifier()}, weather(90), every=40)
    path = tmp_path / "checkpoints.jsonl"
    found.write(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["learner"], line["events"]) for line in lines] == [
        (name, n) for n in (40, 80, 90) for name in ("größe", "b")
    ]
    assert lines[0]["windowed"]["f1"].keys() <= {"fog", "rain", "sun"}
    assert read_checkpoints(path) == found.checkpoints
    path.write_text(path.read_text(encoding="utf-8") + '{"learner": 1}\n', encoding="utf-8")
    with pytest.raises(BadFormat, match="line 7"):
        read_checkpoints(path)


def test_a_learner_that_answers_labels_alone_has_no_measures_of_probabilities() -> None:
    def voting() -> Any:
        return ensemble.VotingClassifier(
            [naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier()], use_probabilities=False
        )

    stream = weather(600)
    found = compare({"votes": voting(), "ours": NaiveBayes()}, stream)
    expected = metrics.Accuracy()
    evaluate.progressive_val_score(stream, voting(), expected)
    figures = found["votes"].cumulative
    assert figures.accuracy == pytest.approx(expected.get(), abs=1 / 600)  # of the first River says nothing
    none = {name for name, value in msgspec.structs.asdict(figures).items() if value is None}
    assert none == {"log_loss", "brier", "roc_auc", "calibration_error"}
    assert math.isnan(found.interval("votes", "log_loss").value)
    assert math.isnan(found.difference("votes", "ours", "brier").value)
    assert found.difference("votes", "ours").low < found.difference("votes", "ours").high
    assert found.to_dict()["learners"]["votes"]["intervals"]["log_loss"] == [None, None]
    with pytest.raises(BadValue, match="LogLoss needs probabilities"):
        compare({"votes": voting()}, stream, metrics=[metrics.LogLoss()])


def test_a_classifier_that_decides_for_itself_is_scored_by_its_decisions() -> None:
    labels = {"pills": "spam", "lunch": "ham"}
    stream = [({word: 1}, labels[word]) for word in ["pills", "lunch", "lunch", "pills"] * 20]
    never = Costs.false_positive(10_000)
    found = compare({"bold": BernoulliNB(), "timid": DecidingClassifier(BernoulliNB(), never)}, stream)
    assert found["timid"].cumulative.log_loss == found["bold"].cumulative.log_loss
    assert found["bold"].cumulative.accuracy == pytest.approx(0.95, abs=0.05)
    assert found["timid"].cumulative.accuracy == pytest.approx(0.5, abs=0.02)


def test_an_answer_that_the_classifier_changes_later_is_scored_as_it_was() -> None:
    class Reusing(Listening):
        """Answers with one dict again and again, as some classifiers do."""

        def __init__(self) -> None:
            super().__init__()
            self.answer: dict[Any, float] = {}

        def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
            self.answer.update(super().predict_proba_one(x))
            return self.answer

    stream = weather(40)
    found = compare({"reusing": Reusing(), "other": Listening()}, stream, delay=5)
    assert found["reusing"].cumulative == found["other"].cumulative


def test_each_learner_has_metrics_of_its_own_and_the_ones_given_stay_as_they_are() -> None:
    given: list[Any] = [
        metrics.Accuracy() + metrics.MacroF1(),
        metrics.Accuracy(),
        utils.Rolling(metrics.Accuracy, window_size=20),
    ]
    stream = weather(100)
    found = compare({"a": NaiveBayes(), "b": dummy.NoChangeClassifier()}, stream, metrics=given)
    assert list(found["a"].metrics) == ["Accuracy 1", "MacroF1", "Accuracy 2", "Accuracy 3"]
    assert found["a"].metrics["Accuracy 1"] != found["b"].metrics["Accuracy 1"]
    assert found["a"].metrics["Accuracy 3"] != found["a"].metrics["Accuracy 2"]
    assert given[1].get() == 0.0
    assert len(found.metrics["a"]) == 4


def test_an_interval_is_drawn_by_the_generator_that_was_given() -> None:
    def intervals(seed: int) -> list[Any]:
        found = compare({"a": NaiveBayes(), "b": GaussianNB()}, weather(900), rng=np.random.default_rng(seed))
        return [
            found.interval("a"),
            found.interval("a", "log_loss", 0.8),
            found.difference("a", "b", "brier"),
        ]

    assert intervals(1) == intervals(1) != intervals(2)
    value, low, high = intervals(1)[0]
    assert low < value < high < low + 0.2


def test_the_table_tells_all_learners_apart() -> None:
    found = compare({"ours": NaiveBayes(), "no change": dummy.NoChangeClassifier()}, weather(700))
    assert isinstance(found, Comparison) and found.most_accurate == "ours"
    text = str(found)
    assert "700 events" in text and "against ours, on the same events" in text
    row = next(line for line in text.splitlines() if line.strip().startswith("ours"))
    assert f"{100 * found.interval('ours').value:.2f}" in row
    assert repr(found) == "<Comparison of ours, no change over 700 events>"


def test_what_a_learner_refuses_is_passed_on_with_its_name_and_place() -> None:
    stream = [({"a": 1.0}, "x"), ({"a": 2.0}, "y"), ({"a": math.inf}, "x")]
    with pytest.raises(BadValue) as caught:
        compare({"b": NaiveBayes()}, stream)
    assert caught.value.__notes__ == ["'b' raised this at sample 2 of the stream, from 0"]


@pytest.mark.parametrize(
    ("learners", "arguments", "message"),
    [
        ({}, {}, "got none"),
        ({"a": object()}, {}, "expected a learner with learn_one"),
        ({"a": compose.Select("x")}, {}, "expected a learner with learn_one"),
        ({"a": NaiveBayes()}, {"delay": -1}, "delay"),
        ({"a": NaiveBayes()}, {"delay": 1.5}, "delay"),
        ({"a": NaiveBayes()}, {"every": 0}, "every"),
        ({"a": NaiveBayes()}, {"window": 0}, "window"),
        ({"a": NaiveBayes()}, {"metrics": [metrics.MAE()]}, "MAE does not work with 'a'"),
    ],
)
def test_what_makes_no_comparison_is_refused(learners: Any, arguments: Any, message: str) -> None:
    with pytest.raises(BadValue, match=message):
        compare(learners, weather(5), **arguments)


def test_learners_without_names_or_after_the_stream_are_refused_with_how_they_are_given() -> None:
    stream = [({"sky": "grey"}, "rain")]
    for learners, events in (
        ([NaiveBayes()], stream),
        (NaiveBayes(), stream),
        (stream, {"ours": NaiveBayes()}),
    ):
        with pytest.raises(BadValue, match=r"expected \{name: learner\} as the first"):
            compare(learners, events)  # type: ignore[arg-type]  # refused


def test_one_learner_under_two_names_is_refused() -> None:
    model = NaiveBayes()
    with pytest.raises(BadValue, match="two names"):
        compare({"a": model, "b": model}, weather(5))


def test_what_is_no_sample_or_no_weight_is_refused() -> None:
    with pytest.raises(BadValue, match=r"pairs \(x, y\)"):
        compare({"a": NaiveBayes()}, [{"a": 1}])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(BadWeight):
        compare({"a": Listening()}, [({}, "a", -1.0)])


def test_a_comparison_over_labels_that_never_come_again_has_an_accuracy_of_0_and_says_what_is_cut() -> None:
    stream = [({"a": n % 3}, f"label {n}") for n in range(1020)]
    with pytest.warns(TooManyLabels):
        found = compare({"nb": NaiveBayes()}, stream)
    assert found["nb"].cumulative.accuracy == 0.0
    assert "there are more than 1,000 labels" in " ".join(found.caption().split())
    few = compare({"nb": NaiveBayes()}, stream[:300])
    assert "labels" not in few.caption() and "1 not scored" in few.caption()
