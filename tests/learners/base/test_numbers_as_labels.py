"""Measurements as labels are refused before they become classes. Whole floats and the steps of a rating are classes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import compose, naive_bayes, preprocessing

from stream_bayes import (
    AODE,
    AdaptiveBayes,
    BayesianRegression,
    BayesNetClassifier,
    DriftAdaptive,
    NaiveBayes,
    Schema,
    streams,
)
from stream_bayes.errors import BadConfig, BadLabel, BadValue, BudgetExceeded, TooManyDeadLetters
from stream_bayes.sklearn import NaiveBayesClassifier
from stream_bayes.streams import from_csv, from_file
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.served_models.served import served

SOURCE = random.Random(3)
XS = [{"size": SOURCE.choice("sml")} for _ in range(300)]
PRICES = SOURCE.sample([number + 0.25 for number in range(100, 900)], len(XS))
EACH: dict[str, Any] = {
    "naive Bayes": NaiveBayes,
    "adaptive": AdaptiveBayes,
    "network": lambda: BayesNetClassifier(None),
    "drift": lambda: DriftAdaptive(NaiveBayes()),
    "pipeline": lambda: compose.Select("size") | AODE(),
}


@pytest.mark.parametrize("name", EACH)
def test_prices_are_refused_and_regression_is_named(name: str) -> None:
    model = EACH[name]()
    for x, price in zip(XS[:10], PRICES, strict=False):
        model.learn_one(x, price)
    with pytest.raises(BadLabel, match="BayesianRegression, or --task regression"):
        model.learn_one(XS[10], PRICES[10])
    assert len(model.predict_proba_one(XS[0])) == 10
    for rows in (XS, pd.DataFrame(XS))[name == "pipeline" :]:  # River's take frames alone
        fresh = EACH[name]()
        with pytest.raises(BadLabel, match="row 10: label"):
            fresh.learn_many(rows, pd.Series(PRICES))
        assert not fresh.predict_proba_one(XS[0])


def test_whole_floats_steps_and_declared_numbers_are_classes() -> None:
    model = NaiveBayes()
    for number, x in enumerate(XS):
        model.learn_one(x, np.float64(number % 11 / 2))
    assert sorted(model.classes_) == [number / 2 for number in range(11)]
    declared = NaiveBayes(schema=Schema({"size": "nominal"}, classes=PRICES))
    declared.learn_many(XS, PRICES)
    assert set(declared.classes_) == set(PRICES)
    both = NaiveBayes()
    for part in (PRICES[:10], PRICES[10:20]):
        other = NaiveBayes()
        other.learn_many(XS[:10], part)
        both += other
    assert set(both.classes_) == set(PRICES[:20])
    with pytest.raises(BadLabel, match="number 51 of the classes that are floats"):
        NaiveBayes().learn_many(XS, [float(number) for number in range(300)])


def test_prices_are_refused_by_what_reads_classes_from_data() -> None:
    frame = pd.DataFrame(XS).assign(price=PRICES, rounded=np.arange(300.0) % 100)
    with pytest.raises(BadLabel, match="BayesianRegression"):
        Schema.infer(frame, target="price")
    for column in ("price", "rounded"):
        with pytest.raises(BadLabel, match=r"(?i)to learn numbers: "):
            NaiveBayesClassifier().fit(frame[["size"]], frame[column])
    model = served(preprocessing.StandardScaler() | naive_bayes.GaussianNB())
    _, refused = model.process([{"n": number} for number in range(300)], PRICES, [1.0] * 300)
    assert isinstance(refused, BadLabel)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_pipeline_refuses_prices(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    pairs = list(zip(XS, PRICES, strict=True))
    lines = {
        "csv": ["size,price", *(f"{x['size']},{price}" for x, price in pairs)],
        "jsonl": [f'{{"size": "{x["size"]}", "price": {price}}}' for x, price in pairs],
    }
    (tmp_path / "data").write_text("\n".join(lines[kind]) + "\n")
    file = tmp_path / "p.toml"
    file.write_text(
        f'name = "p"\nsource = {{kind = "{kind}", path = "data", target = "price"}}\nmodel = {{kind = "nb"}}\n'
    )
    if kind == "csv":
        (tmp_path / "data.csv").write_text((tmp_path / "data").read_text())
        from_csv(tmp_path / "data.csv", target="price").close()
        assert "300 distinct numbers in the first 300 rows; a classifier makes a class of each" in caplog.text
        with pytest.raises(BadConfig, match=r"300 distinct numbers .* kind = .adaptive-regression."):
            build(load_config(file), tmp_path)
        return
    engine = build(load_config(file), tmp_path)
    with pytest.raises(TooManyDeadLetters, match="BayesianRegression, or --task regression"):
        engine.run()
    assert engine.step.learned == 10


def test_only_a_use_for_classes_warns_of_prices(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["size,price", *(f"{k % 7},{price}" for k, price in enumerate(PRICES))]))

    warn: list[Callable[[], Any]] = [
        lambda: from_csv(path, target="price").close(),
        lambda: from_file(path, target="price").close(),
        lambda: streams.evaluate(path, NaiveBayes(), target="price"),
        lambda: streams.run(path, NaiveBayes(), target="price"),
    ]
    silent: list[Callable[[], Any]] = [
        lambda: from_csv(path, target="price", task="regression").close(),
        lambda: from_file(path, target="price", task="classification").close(),
        lambda: streams.evaluate_regression(path, BayesianRegression(), target="price"),
        lambda: streams.run(path, BayesianRegression(), target="price"),
    ]
    for uses, is_warned in ((warn, True), (silent, False)):
        for number, use in enumerate(uses):
            caplog.clear()
            use()
            assert ("makes a class of each" in caplog.text) == is_warned, number
    with pytest.raises(BadValue, match="task: expected 'classification' or 'regression', got 'ranking'"):
        from_csv(path, target="price", task="ranking")  # type: ignore[arg-type]


def test_a_full_budget_names_the_classes_if_they_are_many() -> None:
    model = AODE(memory_budget=20_000)
    with pytest.raises(BudgetExceeded, match="there are 1,000 classes: are the labels numbers"):
        model.learn_many([{"size": "s", "area": 1.5}] * 1000, list(range(1000)))
