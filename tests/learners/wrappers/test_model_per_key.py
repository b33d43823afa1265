"""A key's answers are those of its own counts and of all keys', and a new key begins as all keys are."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stream_bayes
from stream_bayes import (
    AODE,
    LDA,
    TAN,
    AdaptiveBayes,
    BayesianRegression,
    Costs,
    DecidingClassifier,
    LiveChoice,
    ModelPerKey,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Numeric,
    PriorTables,
    Schema,
    SlidingWindow,
)
from stream_bayes.cli.app import app
from stream_bayes.errors import (
    BadConfig,
    BadLabel,
    BadValue,
    CannotMerge,
    KindChanged,
    NotLearned,
    NotSupported,
    UnknownFeature,
)
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.saving.river.model_state import model_state
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.served_models.served import served

Event = tuple[dict[str, Any], str]


def customers(seed: int, events: int, keys: int = 40) -> list[Event]:
    """Events of many customers, who are alike in what most of them buy, and differ in one feature."""
    rng = random.Random(seed)
    flips = {f"c{number}": rng.random() < 0.3 for number in range(keys)}
    stream = []
    for _ in range(events):
        name = f"c{rng.randrange(keys)}"
        word, day, price = rng.choice("ab"), rng.choice("uvw"), rng.gauss(0, 1)
        buys = (word == "a") ^ flips[name] ^ (rng.random() < 0.15)
        stream.append(
            ({"who": name, "word": word, "day": day, "price": price + buys}, "yes" if buys else "no")
        )
    return stream


def without_key(x: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in x.items() if name != "who"}


def taught(model: Any, events: list[Event]) -> Any:
    for x, y in events:
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize(
    "make", [NaiveBayes, lambda: AODE(binning=None, min_count=1), LDA, lambda: TAN(binning=None)]
)
def test_the_answer_is_that_of_the_counts_of_a_key_and_of_all_each_at_its_weight(make: Any) -> None:
    events = customers(1, 150, 5)
    if not isinstance(make(), NaiveBayes):  # names alone, or numbers alone
        kept = {"who", "price"} if isinstance(make(), LDA) else {"who", "word", "day"}
        events = [({name: value for name, value in x.items() if name in kept}, y) for x, y in events]
    model = taught(ModelPerKey(make(), key="who", weight=30), events)
    for name in ("c0", "c3", "new"):
        expected = make()
        for x, y in events:
            expected.learn_one(without_key(x), y, 0.2 + 0.8 * (x["who"] == name))  # 30 of 150 events
        expected.rederive()
        for x, _ in events[:20]:
            answer = model.predict_proba_one({**x, "who": name})
            assert answer == pytest.approx(expected.predict_proba_one(without_key(x)), abs=1e-9)


def test_a_prior_above_all_events_is_the_learner_of_all_and_one_of_none_a_learner_per_key() -> None:
    events = customers(2, 200)
    together, apart = NaiveBayes(), defaultdict[str, Any](NaiveBayes)
    wide, narrow = (ModelPerKey(NaiveBayes(), key="who", weight=weight) for weight in (1e9, 0))
    for x, y in events:
        assert wide.predict_learn_one(x, y) == together.predict_learn_one(without_key(x), y)
        expected = apart[x["who"]].predict_learn_one(without_key(x), y)
        if narrow.clock:
            assert narrow.predict_learn_one(x, y) == pytest.approx(expected, abs=1e-12)
        else:
            narrow.learn_one(x, y)


def test_one_key_with_all_events_is_answered_as_by_the_learner_alone() -> None:
    events = [({**x, "who": "one"}, y) for x, y in customers(3, 120)]
    model, alone = ModelPerKey(NaiveBayes(), key="who", weight=7), NaiveBayes()
    for x, y in events:
        answer = model.predict_learn_one(x, y)
        assert answer == pytest.approx(alone.predict_learn_one(without_key(x), y), abs=1e-12)


def test_the_first_events_of_keys_are_predicted_better_than_by_all_or_by_each_alone() -> None:
    losses: dict[str, float] = defaultdict(float)
    for seed in (4, 5):
        model, together = ModelPerKey(NaiveBayes(), key="who", weight=20), NaiveBayes()
        apart = defaultdict[str, Any](NaiveBayes)
        for x, y in customers(seed, 900):
            plain = without_key(x)
            losses["prior"] += log_loss(model.predict_learn_one(x, y), y)
            losses["together"] += log_loss(together.predict_learn_one(plain, y), y)
            losses["apart"] += log_loss(apart[x["who"]].predict_learn_one(plain, y), y)
    assert losses["prior"] < 0.92 * min(losses["together"], losses["apart"])


def test_a_new_key_begins_with_the_prior_of_a_model_or_of_tables_and_events_without_key_are_of_all() -> None:
    everybody = taught(NaiveBayes(), [(without_key(x), y) for x, y in customers(6, 300)])
    x = {"word": "a", "day": "u", "price": 0.5}
    for prior in (
        everybody,
        taught(ModelPerKey(NaiveBayes(), "other"), [(without_key(x), y) for x, y in customers(6, 300)]),
    ):
        model = ModelPerKey(NaiveBayes(), "who").add_prior(prior, 50)
        expected = NaiveBayes().add_prior(everybody, 50).predict_proba_one(x)
        assert model.predict_proba_one(x) == model.predict_proba_one({**x, "who": "new"}) == expected
    tables = PriorTables({"class": {"yes": 0.25, "no": 0.75}})
    assert ModelPerKey(NaiveBayes(), "who").add_prior(tables, 8).predict_proba_one({"who": 1})[
        "no"
    ] == pytest.approx(0.7)


def test_unlearning_takes_an_event_from_its_key_and_from_all() -> None:
    events = customers(7, 200, 6)
    model = taught(ModelPerKey(NaiveBayes(), "who", weight=10), events)
    for x, y in events[100:]:
        model.unlearn_one(x, y)
    expected = taught(ModelPerKey(NaiveBayes(), "who", weight=10), events[:100])
    for x, _ in events:
        assert model.predict_proba_one(x) == pytest.approx(expected.predict_proba_one(x), abs=1e-9)
    before = repr(model_state(model))
    with pytest.raises(NotLearned, match="the key 'stranger' has no counts"):
        model.unlearn_one({"who": "stranger", "word": "a"}, "yes")
    with pytest.raises(NotLearned):
        model.unlearn_one({"who": "c1", "word": "never"}, "yes")
    assert repr(model_state(model)) == before


def test_it_is_saved_and_goes_on_byte_for_byte(tmp_path: Path) -> None:
    events = customers(8, 160, 7)
    model = taught(ModelPerKey(NaiveBayes(strength=0.5), "who", 12, max_keys=5), events[:80])
    stream_bayes.save(model, tmp_path / "model.zip")
    loaded = stream_bayes.load(tmp_path / "model.zip")
    assert (loaded.key, loaded.weight, loaded.max_keys, loaded.learner.strength) == ("who", 12, 5, 0.5)
    for x, y in events[80:]:
        assert loaded.predict_learn_one(x, y) == model.predict_learn_one(x, y)
    assert loaded.keys_ == model.keys_ and repr(model_state(loaded)) == repr(model_state(model))


def test_of_too_many_keys_the_one_longest_without_an_event_is_dropped_and_stays_in_the_sum() -> None:
    model = ModelPerKey(NaiveBayes(), "who", weight=2, max_keys=2)
    for name in ("a", "b", "a", "c"):
        model.learn_one({"who": name, "word": name}, "yes")
    assert model.keys_ == ("a", "c") and model.clock == 4
    assert ("word", "b", "yes") in model.shared_.store.by_name()


def test_rows_intervals_and_explanations_are_those_of_the_models_of_keys() -> None:
    events = customers(9, 200, 6)
    model = ModelPerKey(NaiveBayes(), "who", weight=15)
    rows = [x for x, _ in events]
    model.learn_many(pd.DataFrame(rows), [y for _, y in events])
    one = taught(ModelPerKey(NaiveBayes(), "who", weight=15), events)
    answers = model.predict_proba_many(pd.DataFrame(rows[:20]))
    intervals = model.predict_interval_many(rows[:20], 0.9)
    for place, x in enumerate(rows[:20]):
        expected = one.predict_proba_one(x)
        assert dict(answers.iloc[place]) == pytest.approx(expected)
        of_key = one.model_of(x["who"])
        assert of_key.predict_proba_one(without_key(x)) == expected
        assert one.explain_one(x) == of_key.explain_one(without_key(x))
        for label, p in expected.items():
            low, high = one.predict_interval_one(x, 0.9)[label]
            assert low <= p <= high
            assert (intervals.low[place][label], intervals.high[place][label]) == pytest.approx((low, high))
    assert model.predict_many(rows[:20]) == [one.predict_one(x) for x in rows[:20]]
    wide, narrow = (one.predict_interval_one({**rows[0], "who": name})["yes"] for name in ("new", "c1"))
    assert math.dist(wide, wide[::-1]) > 0 and wide[1] - wide[0] > narrow[1] - narrow[0]
    assert "who" not in one.model_of("c1").store.encoder.features


def test_a_keys_model_simulates_and_says_what_a_feature_is_worth() -> None:
    model = taught(ModelPerKey(NaiveBayes(), "who", weight=15), customers(16, 200, 6))
    of_key, x = model.model_of("c2"), {"who": "c2", "day": "u"}
    assert model.joint_log_likelihood(x) == of_key.joint_log_likelihood({"day": "u"})
    labels = model.simulate_one(x, 40, np.random.default_rng(1))
    assert labels == of_key.simulate_one({"day": "u"}, 40, np.random.default_rng(1))
    costs = Costs.zero_one(["yes", "no"])
    worth = DecidingClassifier(model, costs).value_of_one(x, "word")
    assert worth == DecidingClassifier(of_key, costs).value_of_one({"day": "u"}, "word") > 0
    with pytest.raises(UnknownFeature, match="no feature 'who'"):
        DecidingClassifier(model, costs).value_of_one({"day": "u"}, "who")
    with pytest.raises(NotSupported, match=r"each key has a model of its own; .*model_of\(key\)"):
        model.draw(np.random.default_rng(1))
    together = taught(ModelPerKey(NaiveBayes(), "who", weight=1e9), customers(17, 20))
    together.model_of("c1").learn_one({"word": "a"}, "yes")  # a copy
    assert together.clock == 20


def test_a_refused_event_changes_nothing() -> None:
    model = taught(ModelPerKey(NaiveBayes(), "who"), customers(10, 30))
    before = repr(model_state(model))
    for x, y, error in [
        ({"who": "x", "word": 3}, "yes", KindChanged),
        ({"who": "x"}, 1j, BadLabel),
        ([], "yes", BadValue),
    ]:
        with pytest.raises(error):
            model.learn_one(x, y)
    assert repr(model_state(model)) == before


@pytest.mark.parametrize(
    ("learner", "error", "why"),
    [
        (AdaptiveBayes(), BadValue, "a classifier of this package|learner"),
        (BayesianRegression(), BadValue, "predicts numbers"),
        (NaiveBayes(half_life=10.0), NotSupported, "fade at different rates"),
        (NaiveBayes(half_life="7d"), NotSupported, "fade at different rates"),
        (NaiveBayes(unlabelled="em"), BadValue, "unlabelled"),
        (SlidingWindow(NaiveBayes(), 5), NotSupported, "no sum over its events"),
        (LiveChoice(), NotSupported, "no sum over its events"),
        (AODE(), NotSupported, "it sets cut points of numbers"),
    ],
)
def test_a_learner_whose_counts_do_not_add_up_is_refused_by_name(learner: Any, error: Any, why: str) -> None:
    with pytest.raises(error, match=why) as raised:
        ModelPerKey(learner, "who")
    assert type(learner).__name__ in str(raised.value) or error is BadValue


def test_bad_arguments_are_refused() -> None:
    for arguments in (
        {"key": None},
        {"key": "k", "weight": -1},
        {"key": "k", "weight": math.nan},
        {"key": "k", "max_keys": 0},
    ):
        with pytest.raises(BadValue, match=next(name for name in reversed(arguments))):
            ModelPerKey(NaiveBayes(), **arguments)
    with pytest.raises(BadValue, match="has learned before"):
        ModelPerKey(taught(NaiveBayes(), [({}, "a")]), "who")
    with pytest.raises(CannotMerge):
        ModelPerKey(NaiveBayes(), "who").add_prior(taught(TAN(), [({"a": "b"}, "y")]), 5)


def test_bags_of_words_and_declared_numbers_have_models_per_key() -> None:
    bags = ModelPerKey(MultinomialNB(), "who", weight=4)
    for number in range(40):
        bags.learn_one(
            {"who": f"u{number % 4}", "win" if number % 2 else "lunch": 1}, "spam" if number % 2 else "ham"
        )
    assert bags.predict_one({"who": "new", "win": 2}) == "spam"
    cut = Schema({"price": Numeric(cuts=[0.0, 1.0]), "word": Nominal(), "day": Nominal()})
    model = taught(ModelPerKey(TAN(schema=cut), "who", weight=20), customers(11, 200))
    assert model.predict_one(customers(12, 1)[0][0]) in ("yes", "no")


def test_a_pipeline_begins_with_the_prior_of_a_file_and_goes_on(tmp_path: Path) -> None:
    before, rows = customers(13, 120), customers(14, 60, 5)
    everybody = taught(NaiveBayes(), [(without_key(x), y) for x, y in before])
    stream_bayes.save(everybody, tmp_path / "prior.zip")
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(x | {"label": y}) + "\n" for x, y in rows))
    text = """
name = "mine"
source = { kind = "jsonl", path = "events.jsonl", target = "label" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
snapshots = { directory = "state" }
[model]
kind = "model-per-key"
arguments = { learner = "nb", key = "who", weight = 10 }
prior = "prior.zip"
prior_weight = 30
"""
    for limit in (25, None):  # and a run that resumes has it in its snapshot
        build(parse_config(text), tmp_path).run(limit)
    expected = ModelPerKey(NaiveBayes(), "who", 10).add_prior(everybody, 30)
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    for answer, (x, y) in zip(answers, rows, strict=True):
        assert answer["probabilities"] == pytest.approx(expected.predict_learn_one(x, y), abs=1e-12)
    with pytest.raises(BadConfig, match="drift: model-per-key adds up all events"):
        build(parse_config(text + '[drift]\ndetector = "adwin"\n'), tmp_path)
    with pytest.raises(BadValue, match="there is no model 'adaptive'"):
        build(parse_config(text.replace('"nb"', '"adaptive"')), tmp_path)


def test_a_pipeline_corrects_a_label_in_its_key_and_in_all() -> None:
    events = customers(15, 60, 4)
    (x, y), other = events[30], {"yes": "no", "no": "yes"}[events[30][1]]
    model, expected = (
        ModelPerKey(NaiveBayes(), "who", 10),
        taught(ModelPerKey(NaiveBayes(), "who", 10), [*events[:30], (x, other), *events[31:]]),
    )
    adapter = served(model)
    for each, label in events:
        adapter.learn(each, label, 1.0)
    assert adapter.unlearning_fault(is_read_again=True) is None
    adapter.relearn(adapter.content(x), y, other, 1.0, None)
    for each, _ in events:
        assert model.predict_proba_one(each) == pytest.approx(expected.predict_proba_one(each), abs=1e-9)
    adapter.unlearn(adapter.content(x), other, 1.0, None)
    assert model.clock == 61 and sum(model.shared_.store.tables.class_weight) == 59


def test_explain_warns_of_a_key_that_learned_nothing_and_of_no_other(tmp_path: Path) -> None:
    file = tmp_path / "model.zip"
    stream_bayes.save(taught(ModelPerKey(NaiveBayes(), "who", weight=15), customers(18, 100, 5)), file)
    for name, warns in (("c2", False), ("new", True)):
        result = CliRunner().invoke(app, ["explain", str(file), json.dumps({"who": name, "word": "a"})])
        assert result.exit_code == 0 and ("never learned" in result.output) == warns


def test_keys_by_themselves_answer_rows_without_the_classes_that_they_lack() -> None:
    model = ModelPerKey(NaiveBayes(), key="user", weight=0.0)
    model.learn_one({"user": "ann", "word": "win"}, "ham")
    model.learn_one({"user": "bob", "word": "win"}, "spam")
    rows = [{"user": "ann", "word": "win"}, {"user": "new", "word": "win"}]
    assert model.predict_proba_many(rows) == [{"ham": 1.0, "spam": 0.0}, {}]
    assert model.predict_many(rows)[0] == "ham"
