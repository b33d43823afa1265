"""Priors from other models: the counts of their events, each with the same small weight, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import (
    A2DE,
    LDA,
    TAN,
    AdaptiveBayes,
    BayesNetClassifier,
    BernoulliNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
    SlidingWindow,
    load,
    save,
)
from stream_bayes.errors import BadLabel, BadValue, CannotMerge, NotSupported, UnknownFeature
from tests.cli.test_snapshots import run

WEIGHT = 20.0
STRUCTURE = {"class": [], "sky": ["class"], "wet": ["sky", "class"]}


def events(seed: int, number: int, numbers: bool = True) -> list[Any]:
    source, rows = random.Random(seed), []
    for _ in range(number):
        y = source.choice("pq")
        x: dict[str, Any] = {"sky": source.choice(y + "r"), "wet": source.choice(["yes", "no", y])}
        if numbers:
            x["wind"] = source.gauss("pq".index(y), 1.0)
        rows.append(({name: value for name, value in x.items() if source.random() < 0.9}, y))
    return rows


def words(seed: int, number: int) -> list[Any]:
    source = random.Random(seed)
    return [
        ({w: 1 + source.randrange(2) for w in "abcdef" if source.random() < 0.5}, source.choice("pq"))
        for _ in range(number)
    ]


def taught(model: Any, rows: list[Any], w: float = 1.0) -> Any:
    for x, y in rows:
        model.learn_one(x, y, w)
    return model


@pytest.mark.parametrize(
    "make",
    [
        NaiveBayes,
        lambda **settings: NaiveBayes(half_life=30.0, **settings),
        GaussianNB,
        LDA,
        TAN,
        A2DE,
        lambda **settings: BayesNetClassifier(STRUCTURE, **settings),
        MultinomialNB,
        BernoulliNB,
    ],
)
def test_a_prior_is_the_other_models_events_with_small_weights(make: Any, tmp_path: Path) -> None:
    kinds = make().inputs
    is_numeric, is_bag = "nominal" not in kinds, "bag" in kinds
    before, own = (
        words(s, n) if is_bag else events(s, n, make in (NaiveBayes, GaussianNB, LDA))
        for s, n in ((1, 83), (2, 25))
    )
    if is_numeric and not is_bag:
        before, own = ([({"wind": x.get("wind", 0.0)}, y) for x, y in rows] for rows in (before, own))
    settings = {"class_prior": "uniform"}
    model = make().add_prior(taught(make(**settings), before), WEIGHT)
    scaled = make()
    if scaled.half_life is None:
        taught(scaled, before, WEIGHT / len(before))
    else:  # a prior is counted now, whatever the other model forgets
        weights = [2.0 ** (-k / 30.0) for k in range(len(before))][::-1]
        scaled = NaiveBayes()
        for (x, y), w in zip(before, weights, strict=True):
            scaled.learn_one(x, y, w * WEIGHT / sum(weights))
    assert agree(model, scaled, own)
    if scaled.half_life != model.half_life:
        return
    path = tmp_path / "model.zip"
    save(taught(model, own), path)
    taught(scaled, own)
    assert agree(load(path), scaled, own)
    loaded: Any = load(path)
    loaded.unlearn_one(*own[0])
    scaled.unlearn_one(*own[0])
    assert agree(loaded, scaled, own)
    assert agree(loaded.merge(taught(make(), own[:5])), taught(scaled, own[:5]), own)


def agree(one: Any, other: Any, rows: list[Any]) -> bool:
    """Return True for equal answers; trees are derived first, as they are after some number of events."""
    one.rederive()
    other.rederive()
    return all(
        one.predict_proba_one(x) == pytest.approx(other.predict_proba_one(x), abs=1e-9) for x, _ in rows
    )


def test_a_prior_fades_as_events_do() -> None:
    model = NaiveBayes(half_life=10.0).add_prior(taught(NaiveBayes(), [({}, "p"), ({}, "q")]), 8.0)
    taught(model, [({}, "p")] * 10)
    assert model.posterior("class").mean["q"] == pytest.approx(
        (2.0 + 1.0) / (4.0 + sum(2.0 ** (-k / 10) for k in range(10)) + 2.0)
    )


@pytest.mark.parametrize(
    ("model", "prior", "error", "why"),
    [
        (NaiveBayes(class_prior={"p": 0.5, "z": 0.5}), NaiveBayes(), BadLabel, "label 'q' is not among"),
        (NaiveBayes(schema=Schema({"sky": Nominal()})), NaiveBayes(), UnknownFeature, "the feature 'wet'"),
        (
            NaiveBayes(schema=Schema({"sky": Nominal(["p", "q"], closed=True), "wet": Nominal()})),
            NaiveBayes(),
            BadValue,
            "the value 'r' of 'sky'",
        ),
        (
            NaiveBayes(schema=Schema({"sky": Numeric(), "wet": Nominal()})),
            NaiveBayes(),
            CannotMerge,
            "'sky' is nominal",
        ),
        (TAN(), NaiveBayes(), CannotMerge, "not with a NaiveBayes"),
        (BernoulliNB(max_values=3), BernoulliNB(), CannotMerge, "differ in max_values"),
        (NaiveBayes(half_life="7d"), NaiveBayes(), NotSupported, "call advance_to"),
        (SlidingWindow(NaiveBayes(), 9), SlidingWindow(NaiveBayes(), 9), NotSupported, "no sum over"),
        (BayesNetClassifier(), BayesNetClassifier(), NotSupported, "no sum over"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_changes_nothing(
    model: Any, prior: Any, error: Any, why: str
) -> None:
    rows = words(1, 9) if isinstance(model, BernoulliNB) else events(1, 30, numbers=False)
    taught(prior, rows)
    before = model.state()["checksum"]
    with pytest.raises(error, match=why):
        model.add_prior(prior, 5.0)
    assert model.state()["checksum"] == before


def test_cuts_that_are_not_final_are_no_prior_and_final_ones_are_taken_over() -> None:
    rows = [({"wind": x["wind"]}, y) for x, y in events(3, 60) if "wind" in x]
    with pytest.raises(CannotMerge, match="cut points are final"):
        TAN().add_prior(taught(TAN(), rows[:8]), 5.0)
    declared = Schema({"wind": Numeric(cuts=[-1.0, 0.0, 1.0])})
    model = TAN().add_prior(taught(TAN(schema=declared), rows), 5.0)
    assert agree(model, taught(TAN(schema=declared), rows, 5.0 / len(rows)), rows)


def test_a_weight_above_0_and_a_model_that_learned_are_needed() -> None:
    with pytest.raises(BadValue, match="weight must be"):
        NaiveBayes().add_prior(taught(NaiveBayes(), events(1, 5)), 0.0)
    with pytest.raises(BadValue, match="learned nothing"):
        NaiveBayes().add_prior(NaiveBayes(), 5.0)
    with pytest.raises(NotSupported, match="weights of its experts"):
        AdaptiveBayes().add_prior(AdaptiveBayes(), 5.0)


def test_train_begins_with_a_saved_model(tmp_path: Path) -> None:
    rows, path = events(4, 12), tmp_path / "rows.csv"
    lines = [",".join([x.get("sky", ""), str(x.get("wind", "")), y]) for x, y in rows]
    path.write_text("\n".join(["sky,wind,label", *lines]) + "\n", "utf-8")
    before = [({"sky": x.get("sky"), "wind": x.get("wind")}, y) for x, y in events(5, 40)]
    save(taught(NaiveBayes(), before), tmp_path / "all.zip")
    arguments = ["train", path, "--target", "label", "--model", "nb", "--out", tmp_path / "new.zip"]
    prior = ["--prior", tmp_path / "all.zip", "--prior-weight", "7"]
    assert run(*arguments, *prior).exit_code == 0
    model: Any = load(tmp_path / "new.zip")
    expected = taught(NaiveBayes().add_prior(taught(NaiveBayes(), before), 7.0), rows)
    for x, _ in before:
        assert model.predict_proba_one(x) == pytest.approx(expected.predict_proba_one(x), abs=1e-9)
    alone = run(*arguments, "--prior-weight", "7")
    assert alone.exit_code == 3 and "give --prior" in alone.stderr
    other = run(*arguments, *prior, "--model", "adaptive")
    assert other.exit_code == 3 and "all.zip: AdaptiveBayes takes no prior" in other.stderr
