"""The measurements, their peers and targets, written down a second time: no target is lost unnoticed."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pgmpy")
pytest.importorskip("pyagrum")
pytest.importorskip("pybnesian")

from benchmarks.__main__ import all_cases, goal
from benchmarks.speed import batches, engine, naive_bayes, state, text

TARGETS = {  # the work: its peer and its target
    "BayesNet learn, dicts, ALARM": ("", "<= 10 us/event"),
    "BayesNet learn_many, CodedColumns, ALARM": ("", "<= 0.167 us/event"),
    "BayesNetClassifier predict, CodedColumns, ALARM, HYPOVOLEMIA": ("", "<= 0.667 us/event"),
    "scores of HYPOVOLEMIA in complete rows, ALARM": ("", "<= 0.667 us/event"),
    "TAN, ALARM, 100,000 rows": ("pyAgrum BNClassifier, with its tables", ">= 500x"),
    "hill climbing, 40 restarts, ALARM, 100,000 rows": ("pyAgrum greedy hill climbing", ">= 4x"),
    "hill climbing, 40 restarts, ALARM, 100,000 rows: BIC below pyAgrum's": ("", "<= 0 nats"),
    "hill climbing again after 5,000 rows, ALARM, 100,000 rows": ("the first search", ">= 5x"),
    **{
        f"hill climbing{kind}, ALARM, 100,000 rows{what}": target
        for kind in ("", " from a tree, 2 restarts", " from a tree, tabu")
        for what, target in (
            ("", ("pybnesian hc", ">= 2x")),
            (": BIC below pybnesian's", ("", "<= 0 nats")),
        )
    },
    "exact posterior, ALARM, 5 known": ("pyAgrum LazyPropagation", ">= 2x"),
    "MultinomialNB learn, 60 words of 20k": ("River MultinomialNB", ">= 25x"),
    "MultinomialNB predict, 60 words of 20k": ("River MultinomialNB", ">= 60x"),
    "ComplementNB predict, 60 words of 20k": ("River ComplementNB", ">= 3,000x"),
    "BernoulliNB predict, 60 words of 20k": ("River BernoulliNB", ">= 1,000x"),
    "BernoulliNB predict after each learn, 60 words of 20k": ("River BernoulliNB", ">= 1,000x"),
    "MultinomialNB predict_learn_one, 30 words and a new one": ("30 words alone", ">= 0.769231x"),
    "BernoulliNB predict_learn_one, 30 words and a new one": ("30 words alone", ">= 0.769231x"),
    "LDA learn, 20 numeric, 2 classes": ("", "<= 3 us/event"),
    "LDA predict, 20 numeric, 2 classes": ("", "<= 4 us/event"),
    "QDA learn, 20 numeric, 2 classes": ("", "<= 3 us/event"),
    "QDA predict, 20 numeric, 2 classes": ("", "<= 4 us/event"),
    "NaiveBayes learn, 20 nominal, 2 classes": ("River OneHotEncoder | MultinomialNB", ">= 100x"),
    "NaiveBayes predict, 20 nominal, 2 classes": ("River OneHotEncoder | MultinomialNB", ">= 150x"),
    "NaiveBayes learn, 20 nominal, 10 classes": ("River OneHotEncoder | MultinomialNB", ">= 100x"),
    "NaiveBayes predict, 20 nominal, 10 classes": ("River OneHotEncoder | MultinomialNB", ">= 150x"),
    "NaiveBayes learn, 20 numeric, 2 classes": ("River GaussianNB", ">= 6x"),
    "NaiveBayes predict, 20 numeric, 2 classes": ("River GaussianNB", ">= 60x"),
    "NaiveBayes learn, 20 numeric, 10 classes": ("River GaussianNB", ">= 6x"),
    "NaiveBayes predict, 20 numeric, 10 classes": ("River GaussianNB", ">= 60x"),
    "NaiveBayes learn_many, CodedColumns, 20 nominal, 2 classes": ("scikit-learn CategoricalNB", ">= 2x"),
    "NaiveBayes learn_many, CodedColumns, 20 nominal, 10 classes": ("scikit-learn CategoricalNB", ">= 2x"),
    "AODE predict_learn_one, dicts, 50 x 8, 2 classes": ("WEKA AODE", ">= 2x"),
    "AODE predict_learn_many, coded rows, 50 x 8, 2 classes": ("WEKA AODE", ">= 2.86x"),
    "AODE predict, dicts, 10 classes, 50 x 8": ("the same with 2 classes", ">= 0.25x"),
    "LiveChoice of five predict_learn_one, 50 x 8, 2 classes": ("AODE alone", ">= 0.625x"),
    "TAN structure from counts, 50 x 8, 2 classes": ("", "<= 2 ms"),
    "TAN structure from counts, 100 x 4, 2 classes": ("", "<= 4 ms"),
    "pickle.dumps MultinomialNB, 100k tokens, 2 classes": ("River MultinomialNB", ">= 15x"),
    "pickle.loads MultinomialNB, 100k tokens, 2 classes": ("River MultinomialNB", ">= 15x"),
    "both ways MultinomialNB, 100k tokens, 2 classes": ("River MultinomialNB", ">= 15x"),
    "memory of MultinomialNB from its state, 100k tokens, 2 classes": ("River MultinomialNB", "<= 10 MB"),
    "DriftAdaptive of AODE, one ADWIN, nothing drifts, predict_learn_one, 50 x 8, 2 classes": (
        "AODE alone",
        ">= 0.869565x",
    ),
    "DriftAdaptive of AODE, an ADWIN a family, nothing drifts, predict_learn_one, 50 x 8, 2 classes": (
        "AODE alone",
        ">= 0.333333x",
    ),
    "pause of the stream by a search over 50,000 x 37 events": ("", "<= 20 ms"),
    "abrupt structural drift, 20 variables, 20 seeds, TAN: log-loss over events 2,000-4,000, of that of a model of the "
    "new world alone": ("", "<= 105 %"),
    "abrupt structural drift, 20 variables, 20 seeds, TAN: log-loss, of that of a static model": (
        "",
        "<= 99 %",
    ),
    "abrupt structural drift, 20 variables, 20 seeds, TAN: log-loss, of that of a model that ADWIN has begin anew": (
        "",
        "<= 99 %",
    ),
    "A2DE predict_learn_one, dicts, 20 x 8, 2 classes": ("WEKA AODE", ">= 0.123457x"),
    "A2DE predict_learn_many, coded rows, 20 x 8, 2 classes": ("WEKA AODE", ">= 0.123457x"),
    "A2DE predict_learn_one, 18 numbers in bins, 7 classes": ("", "<= 1 ms"),
    "snapshot: pause, AODE, 800 features, 10 classes (102 MB)": ("", "<= 60 ms"),
    "snapshot: load, AODE, 800 features, 10 classes (102 MB)": ("", "<= 500 ms"),
    "snapshot: pause, MultinomialNB, 1.1 million tokens, 10 classes (98 MB)": ("", "<= 60 ms"),
    "snapshot: load, MultinomialNB, 1.1 million tokens, 10 classes (98 MB)": ("", "<= 500 ms"),
    "engine: CSV of 20 nominal to JSON lines, NaiveBayes": ("", "<= 6.66667 us/event"),
    "engine: CSV of 20 nominal to JSON lines, NaiveBayes, against a loop of River's": (
        "River progressive_val_score, OneHotEncoder | MultinomialNB",
        ">= 30x",
    ),
    "engine: 20 nominal in memory, NaiveBayes": ("predict_learn_one in a bare loop", ">= 0.769231x"),
    "engine: growth of memory over 10 million events, after the first": ("", "<= 1 %"),
    "engine: unlearning 100,000 of 300,000 events by time, NaiveBayes": ("learning them", ">= 0.5x"),
    "Kafka to Kafka, confluent-kafka": ("", "<= 33.3 us/event"),
    "Kafka to Kafka, confluent-kafka, beside its loop": ("without the model", ">= 0.7x"),
    "Kafka to Kafka, confluent-kafka, beside River": ("River, kafka-python, json", ">= 10x"),
    "Kafka to Kafka, kafka-python": ("", "<= 66.7 us/event"),
    "Kafka to Kafka, AODE, confluent-kafka, beside its loop": ("without the model", ">= 0.7x"),
    "Kafka to Kafka, labels in a second topic, beside its loop": ("without the model", ">= 0.7x"),
    "Kafka: 8 partitions and labels in the order of time, confluent-kafka": ("as fetched", ">= 0.909091x"),
    "Kafka: 8 partitions and labels in the order of time, kafka-python": ("as fetched", ">= 0.909091x"),
    "Kafka to Kafka: 8 partitions and labels in the order of time, confluent-kafka": (
        "as fetched",
        ">= 0.909091x",
    ),
    "Kafka to Kafka: 8 partitions and labels in the order of time, kafka-python": (
        "as fetched",
        ">= 0.909091x",
    ),
    "MixedNetwork score and learn, 7 numbers": ("", "<= 50 us/event"),
    "MixedNetwork score and learn, 12 names and numbers": ("", "<= 125 us/event"),
    "Kafka: replay after a snapshot": ("live", ">= 1.3x"),
    "BayesianRegression predict and learn, 20 numbers": (
        "River BayesianLinearRegression",
        "<= 6 us/event",
    ),
    "BayesianRegression against River's": ("River BayesianLinearRegression", ">= 20x"),
}
REPORTED = {  # the work that is measured against a peer, without a target
    "engine: 20 nominal in memory, NaiveBayes, to JSON lines": "predict_learn_one in a bare loop",
    "MultinomialNB learn, Counter, 60 words of 20k": "River MultinomialNB",
    "MultinomialNB predict, Counter, 60 words of 20k": "River MultinomialNB",
    "ComplementNB learn, 60 words of 20k": "River ComplementNB",
    "BernoulliNB learn, 60 words of 20k": "River BernoulliNB",
    **{
        f"GaussianNB {verb}, 20 numeric, {classes} classes": "River GaussianNB"
        for verb in ("learn", "predict")
        for classes in (2, 10)
    },
    **{
        f"AODE {work}, 2 classes": "WEKA AODE"
        for shape in ("20 x 8", "100 x 4")
        for work in (
            f"learn, dicts, {shape}",
            f"predict, dicts, {shape}",
            f"predict_learn_one, dicts, {shape}",
            f"predict_learn_many, coded rows, {shape}",
        )
    },
    "exact posterior, ALARM, 5 known, new tables": "pyAgrum LazyPropagation",
    "AODE learn, dicts, 50 x 8, 2 classes": "WEKA AODE",
    "AODE predict, dicts, 50 x 8, 2 classes": "WEKA AODE",
    "memory of MultinomialNB as learned, 100k tokens, 2 classes": "River MultinomialNB",
    "BayesianRegression distribution and learn, 20 numbers": "River BayesianLinearRegression",
}


def test_the_targets_are_these_and_no_others() -> None:
    found = {case.work: (case.peer, goal(case)) for case in all_cases() if goal(case)}
    assert found == TARGETS


def test_all_that_is_measured_against_a_peer_still_is() -> None:
    found = {case.work: case.peer for case in all_cases() if case.peer and not goal(case)}
    assert found == REPORTED


def test_the_work_is_as_large_as_its_name_says() -> None:
    assert (text.WORDS, text.VOCABULARY) == (60, 20_000)
    assert (len(naive_bayes.FEATURES), len(naive_bayes.VALUES), len(naive_bayes.CLASS_NAMES)) == (20, 8, 10)
    assert (batches.ROWS, state.TOKENS) == (1_000, 100_000)
    assert (engine.LONG, engine.SETTLED, engine.PER_SECOND) == (10_000_000, 1_000_000, 150_000)
    x, _ = naive_bayes.decoded(naive_bayes.nominal_lines(1, 2, 0))[0]
    assert len(x) == 20 and set(x.values()) <= set(naive_bayes.VALUES)
