"""Whatever the model is, the engine can ask it the same; a pipeline of River is saved whole, or refused by its step."""

from __future__ import annotations

from pathlib import Path

import pytest
from river import compose, feature_extraction, linear_model, preprocessing

from stream_bayes import Costs, DecidingClassifier, GaussianNB, MultinomialNB, NaiveBayes
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import BadValue, CannotSave
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.challengers import Challenger
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.river import ServedRiver
from stream_bayes.streams.served_models.served import served
from tests.failing_code import in_module
from tests.streams.engine.test_step import bytes_of
from tests.streams.lists import ListSink, ListSource


def scaled() -> compose.Pipeline:
    return preprocessing.StandardScaler() | GaussianNB()


def heights(count: int) -> list[Event]:
    return [
        Event({"height": 1.5 + 0.4 * (n % 2) + 0.01 * (n % 7)}, ("short", "tall")[n % 2], position=n)
        for n in range(count)
    ]


def test_a_pipeline_answers_and_learns_as_river_does() -> None:
    model, mine = scaled(), served(scaled())
    for event in heights(40):
        assert mine.predict_then_learn(event.x, event.y, 1.0) == model.predict_proba_one(dict(event.x))
        model.learn_one(dict(event.x), event.y)


@pytest.mark.parametrize("first", [0, 1, 33, 60])
def test_a_pipeline_goes_on_from_its_snapshot(tmp_path: Path, first: int) -> None:
    def engine() -> Engine:
        step = Step(served(scaled()))
        return Engine(step, ListSource(heights(60)), predictions=sink(), store=SnapshotStore(tmp_path))

    lasting: list[object] = []

    def sink() -> ListSink:
        return ListSink("predictions", lasting)  # type: ignore[arg-type]  # results, to the sink

    engine().run(limit=first)
    last = engine()
    last.run()
    whole = Step(served(scaled()))
    whole.process(heights(60))
    assert bytes_of(last.step) == bytes_of(whole)
    assert lasting == whole.collect_outputs()


def test_a_step_that_no_snapshot_can_hold_is_named_at_the_start(tmp_path: Path) -> None:
    model = compose.FuncTransformer(lambda x: x) | GaussianNB()
    engine = Engine(Step(served(model)), ListSource(heights(5)), store=SnapshotStore(tmp_path))
    with pytest.raises(CannotSave, match="FuncTransformer holds a function"):
        engine.run()
    assert engine.step.processed == 0
    assert Engine(Step(served(model)), ListSource(heights(5))).run().processed == 5


def test_a_correction_takes_back_what_the_last_step_saw() -> None:
    events = heights(30)
    step = Step(served(scaled()), pending=Pending())
    step.process([Event(e.x, e.y, key=e.position, position=e.position) for e in events])
    step.process([Event({}, "tall", key=4, position=30, kind=Kind.CORRECTION)])
    assert step.dead_letters.counts == {}
    # The pipeline by hand, with what its last step saw of the corrected sample.
    model = scaled()
    seen = []
    for event in events:
        model.learn_one(dict(event.x), event.y)
        seen.append(model.transform_one(dict(event.x)))
    last = model["GaussianNB"]
    last.learn_one(seen[4], "tall")
    last.unlearn_one(seen[4], "short")
    assert step.model.answer({"height": 1.7}) == pytest.approx(
        model.predict_proba_one({"height": 1.7}), abs=1e-12
    )


def test_a_model_that_cannot_unlearn_is_named_in_the_dead_letter() -> None:
    step = Step(served(preprocessing.StandardScaler() | linear_model.LogisticRegression()), pending=Pending())
    step.process(
        [Event({"height": 1.0}, True, key="a"), Event({}, False, key="a", position=1, kind=Kind.CORRECTION)]
    )
    assert [letter.detail for letter in step.dead_letters.letters] == ["LogisticRegression cannot unlearn"]


def test_a_weight_that_the_classifier_would_ignore_is_refused() -> None:
    class Unweighted(linear_model.ALMAClassifier):
        pass

    step = Step(served(Unweighted()))
    step.process([Event({"height": 1.0}, True, weight=2.0)])
    assert "takes no weights" in step.dead_letters.letters[0].detail


def test_what_rivers_classifiers_raise_is_a_dead_letter() -> None:
    step = Step(served(preprocessing.StandardScaler() | GaussianNB()))
    step.process([Event({"height": "tall"}, "tall")])
    assert step.dead_letters.letters[0].reason == "refused"
    assert step.collect_outputs() == []


def test_words_are_counted_before_they_are_learned() -> None:
    model = feature_extraction.BagOfWords(on="text") | MultinomialNB()
    step = Step(served(model))
    step.process([Event({"text": "cheap offer"}, "spam"), Event({"text": "lunch today"}, "ham", position=1)])
    step.process([Event({"text": "an offer"}, position=2)])
    assert step.collect_outputs()[-1].prediction == "spam"


def test_a_decision_rule_may_stand_around_a_pipeline() -> None:
    rule = Costs.false_positive(9, unsure=0.5, positive="tall", negative="short")
    model = served(DecidingClassifier(scaled(), rule))
    assert isinstance(model, ServedRiver)
    assert model.decide({"tall": 0.6, "short": 0.4}) == rule.decide({"tall": 0.6, "short": 0.4})


@pytest.mark.parametrize("model", [preprocessing.StandardScaler(), object(), linear_model.LinearRegression()])
def test_what_is_no_classifier_is_refused(model: object) -> None:
    with pytest.raises(BadValue, match="expected a classifier"):
        served(model)


def test_arguments_are_compared_when_a_state_is_loaded() -> None:
    assert served(NaiveBayes()).settings() != served(NaiveBayes(strength=2.0)).settings()
    assert served(scaled()).settings() == served(scaled()).settings()


def wide(first: int, count: int) -> dict[str, str]:
    return {f"name-{number}": "a" for number in range(first, first + count)}


NARROW = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun"), ({"sky": "grey"}, None)]
STREAM_OF_NAMES = [
    *NARROW,
    (wide(0, 3), "rain"),
    (wide(0, 4), None),
    (wide(3, 2), "sun"),
    *NARROW,
    (wide(1, 3), "sun"),
]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_sample_with_too_many_new_names_is_refused_and_no_other_one(batch: int) -> None:
    """Names: sky, name-0, name-1, name-2; the limit is 4. The batches leave no trace."""
    step = Step(served(NaiveBayes(), max_names=4))
    events = [Event(x, y, position=number) for number, (x, y) in enumerate(STREAM_OF_NAMES)]
    for start in range(0, len(events), batch):
        step.process(events[start : start + batch])
    assert [letter.position for letter in step.dead_letters.letters] == [5, 9]
    assert all("max_names = 4" in letter.detail for letter in step.dead_letters.letters)
    assert list(step.model.model.store.encoder.features) == ["sky", "name-0", "name-1", "name-2"]
    without = Step(served(NaiveBayes()))
    without.process([event for event in events if event.position not in (5, 9)])
    assert step.model.freeze()()["arrays"].keys() == without.model.freeze()()["arrays"].keys()
    assert [output.probabilities for output in step.collect_outputs()] == [
        output.probabilities for output in without.collect_outputs()
    ]


def test_the_limit_of_names_holds_for_late_labels_too() -> None:
    step = Step(served(NaiveBayes(), max_names=4), pending=Pending(wait_for=100))
    step.process(
        [
            Event(wide(0, 5), key="a", time=0.0),
            Event({}, "rain", "a", 1.0, 1, kind=Kind.LABEL),
            Event(wide(0, 5), "rain", "b", 2.0, 2),
            Event(wide(0, 4), "rain", "c", 3.0, 3),
        ]
    )
    assert [letter.position for letter in step.dead_letters.letters] == [1, 2]
    assert step.learned == 1


def test_words_of_a_text_and_declared_features_are_not_limited() -> None:
    for model, x in (
        (served(MultinomialNB(), max_names=2), dict.fromkeys(wide(0, 5), 1)),
        (
            served(NaiveBayes(schema=Schema({name: Nominal() for name in wide(0, 5)})), max_names=2),
            wide(0, 5),
        ),
    ):
        model.learn(x, "rain", 1.0)
        _, refused = model.process([x], ["rain"], [1.0])
        assert refused is None


@pytest.mark.parametrize(
    ("module", "error"), [("stream_bayes.learners.text", KeyError), ("river.utils", BadValue)]
)
def test_a_bug_of_ours_is_no_event_that_rivers_model_refuses(
    monkeypatch: pytest.MonkeyPatch, module: str, error: type[Exception]
) -> None:
    monkeypatch.setattr(GaussianNB, "predict_proba_one", in_module(module, {}.popitem))
    with pytest.raises(error, match="dictionary is empty"):
        served(scaled()).predict_then_learn({"height": 1.5}, "short", 1.0)


@pytest.mark.parametrize(
    ("module", "is_shown"), [("stream_bayes.learners.text", True), ("river.utils", False)]
)
def test_a_challenger_is_dropped_with_the_traceback_of_a_bug(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, module: str, is_shown: bool
) -> None:
    challenger = Challenger(Step(served(NaiveBayes()), "nb"), {})
    monkeypatch.setattr(challenger.step, "process", in_module(module, {}.popitem))
    challenger.process([])
    (record,) = caplog.records
    assert "dictionary is empty" in record.getMessage()
    assert bool(record.exc_info and record.exc_info[0]) == is_shown
