"""Priors, from other models and from tables: counts of events, each with a small weight, and nothing else."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import (
    A2DE,
    AODE,
    KDB,
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
    PriorTables,
    Schema,
    SlidingWindow,
    load,
    save,
)
from stream_bayes.errors import (
    BadConfig,
    BadLabel,
    BadValue,
    CannotMerge,
    NotSupported,
    UnknownFeature,
)
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
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


@pytest.mark.parametrize("make", [TAN, lambda **others: KDB(k=1, **others)])
def test_the_structure_is_derived_from_the_prior_at_once(make: Any) -> None:
    rng = random.Random(3)
    rows = []
    for _ in range(300):
        a, y = rng.choice("uv"), rng.choice("pq")
        rows.append(({"a": a, "b": a if rng.random() < 0.9 else "u", "c": a, "d": y}, y))
    before = taught(make(binning=None), rows)
    before.rederive()
    model = make(binning=None).add_prior(before, 100.0)
    assert model.parents_ == before.parents_ != {}


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


# --- tables that are written by hand ---

TABLES: dict[str, Any] = {
    "class": {"p": 0.25, "q": 0.75},
    "sky": {"p": {"r": 0.5, "p": 0.5}, "q": {"r": 0.125, "p": 0.875}},
    "wet": {"p": {"yes": 0.75, "no": 0.25}, "q": {"yes": 0.5, "no": 0.5}},
}
NUMBERS = {"wind": {"p": {"mean": 2.0, "sd": 3.0}, "q": {"mean": -1.0, "sd": 1.0}}}


def expected_events(numbers: bool) -> list[Any]:
    """The events of which 64 show the shares of the tables, with their weights."""
    rows: list[Any] = []
    for y, share in TABLES["class"].items():
        for sky, p in TABLES["sky"][y].items():
            for wet, q in TABLES["wet"][y].items():
                row = NUMBERS["wind"][y]
                for away in (-1.0, 1.0) if numbers else (0.0,):
                    x: dict[str, Any] = {"sky": sky, "wet": wet}
                    x |= {"wind": row["mean"] + away * row["sd"]} if numbers else {}
                    rows.append((x, y, 64 * share * p * q * (0.5 if numbers else 1.0)))
    return rows


@pytest.mark.parametrize(
    "make",
    [NaiveBayes, lambda: NaiveBayes(half_life=30.0), TAN, AODE, A2DE],
)
def test_tables_count_as_events_that_show_their_shares(make: Any) -> None:
    numbers = isinstance(make(), NaiveBayes)
    model = make().add_prior(PriorTables(TABLES | (NUMBERS if numbers else {})), 64)
    scaled = make() if model.half_life is None else NaiveBayes()
    for x, y, w in expected_events(numbers):
        scaled.learn_one(x, y, w)
    probes = [({"sky": "r", "wet": "no"}, "p"), ({"sky": "p"}, "q"), ({"wind": 1.0} if numbers else {}, "p")]
    assert agree(model, scaled, probes)
    loaded = type(model).from_state(model.state())
    assert agree(loaded.merge(taught(make(), [({"sky": "r", "wet": "no"}, "p")])), loaded, probes)


def test_each_table_has_a_strength_and_each_row_of_names_its_own() -> None:
    strengths = {"class": 4.0, "sky": {"p": 10.0, "q": 100.0}, "wind": 20.0}
    model = NaiveBayes(strength=0.0).add_prior(PriorTables(TABLES | NUMBERS, strengths), 64)
    posterior = model.posterior("sky")
    # The variance of a share m of a Dirichlet posterior of the weight n is m (1 - m) / (n + 1).
    assert [posterior[y].variance["r"] for y in "pq"] == pytest.approx([0.25 / 11, 0.125 * 0.875 / 101])
    assert model.posterior("wet", {"class": "q"}).variance["yes"] == pytest.approx(0.25 / 49)
    assert model.posterior("class").variance["p"] == pytest.approx(0.25 * 0.75 / 5)
    assert model.conditional("wind", {"class": "p"})["mean"] == pytest.approx(2.0)
    assert model.class_prior_ == pytest.approx(TABLES["class"])
    model.learn_one({"sky": "r"}, "p")
    assert model.conditional("sky", {"class": "p"})["r"] == pytest.approx(6 / 11)
    model.unlearn_one({"sky": "r"}, "p")
    assert model.conditional("sky", {"class": "p"})["r"] == pytest.approx(0.5)
    # In pairs, a table of few samples is as if the others had come without it.
    pairs = TAN(strength=0.0).add_prior(PriorTables(TABLES, {"sky": 16.0}), 64)
    pairs.rederive()
    assert pairs.conditional("sky", {"class": "q"}) == pytest.approx(TABLES["sky"]["q"])
    assert pairs.predict_proba_one({"sky": "r", "wet": "no"}) == pytest.approx({"p": 0.4, "q": 0.6})


@pytest.mark.parametrize(
    ("model", "tables", "strengths", "error", "why"),
    [
        (NaiveBayes(), {"sky": TABLES["sky"]}, None, BadValue, "no table of 'class'"),
        (NaiveBayes(), TABLES | {"wet": {"p": {"yes": 1.0}}}, None, BadValue, "a row for each label"),
        (
            NaiveBayes(),
            TABLES | {"wet": {"p": {"yes": 0.6}, "q": {"yes": 1.0}}},
            None,
            BadValue,
            "sums to 0.6",
        ),
        (NaiveBayes(), TABLES, {"wett": 3.0}, BadValue, "did you mean 'wet'"),
        (NaiveBayes(), TABLES, {"wet": {"p": 3.0}}, BadValue, "one for each label"),
        (NaiveBayes(), TABLES, {"wet": -1.0}, BadValue, "strengths\\['wet'\\]"),
        (
            NaiveBayes(schema=Schema({"sky": Nominal()})),
            TABLES,
            None,
            UnknownFeature,
            "has the feature 'wet'",
        ),
        (NaiveBayes(schema=Schema({"sky": Nominal(), "wet": Numeric()})), TABLES, None, BadValue, "wet"),
        (NaiveBayes(), TABLES | {"wet": {"p": {1: 1.0}, "q": {2: 1.0}}}, None, BadValue, "'wet' has names"),
        (NaiveBayes(class_prior={"p": 0.5, "z": 0.5}), TABLES, None, BadLabel, "label 'q' is not among"),
        (AODE(), TABLES | NUMBERS, None, NotSupported, "'wind': numbers are counted in bins"),
        (AODE(), TABLES, {"sky": {"p": 1.0, "q": 9.0}}, NotSupported, "how probable the labels are"),
        (NaiveBayes(), TABLES | NUMBERS, {"wind": {"p": 1.0, "q": 9.0}}, NotSupported, "how probable"),
        (MultinomialNB(), TABLES, None, NotSupported, "another model as their prior"),
        (LDA(), {"class": TABLES["class"], **NUMBERS}, None, NotSupported, "another model as their prior"),
        (BayesNetClassifier(STRUCTURE), TABLES, None, NotSupported, "another model as their prior"),
        (KDB(k=2, window=50), TABLES, None, NotSupported, "no sum over"),
    ],
)
def test_tables_that_do_not_fit_are_refused_by_name_and_change_nothing(
    model: Any, tables: Any, strengths: Any, error: Any, why: str
) -> None:
    before = model.state()["checksum"]
    with pytest.raises(error, match=why):
        model.add_prior(PriorTables(tables, strengths), 64)
    assert model.state()["checksum"] == before


# --- in files ---


@pytest.mark.parametrize("kind", ["model", "tables"])
def test_pipelines_begin_with_the_prior_of_a_file(kind: str, tmp_path: Path) -> None:
    rows, before = events(4, 40, numbers=False), events(5, 60, numbers=False)
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(x | {"label": y}) + "\n" for x, y in rows))
    if kind == "model":
        save(taught(NaiveBayes(), before), tmp_path / "prior.zip")
        expected = NaiveBayes().add_prior(taught(NaiveBayes(), before), 7.0)
    else:
        (tmp_path / "prior.json").write_text(json.dumps({"tables": TABLES, "strengths": {"sky": 9}}))
        expected = NaiveBayes().add_prior(PriorTables(TABLES, {"sky": 9}), 7.0)
    file = "prior.zip" if kind == "model" else "prior.json"
    text = f"""
name = "mine"
source = {{ kind = "jsonl", path = "events.jsonl", target = "label" }}
predictions = {{ kind = "jsonl", path = "answers.jsonl" }}
snapshots = {{ directory = "state" }}
[model]
kind = "nb"
prior = "{file}"
prior_weight = 7
"""
    for limit in (15, None):  # and a run that resumes has it in its snapshot
        build(parse_config(text), tmp_path).run(limit)
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    for answer, (x, y) in zip(answers, rows, strict=True):
        assert dict(answer["probabilities"]) == pytest.approx(expected.predict_proba_one(x), abs=1e-9)
        expected.learn_one(x, y)
    for line, why in [
        ('kind = "nb"\nprior_weight = 3', "give prior, too"),
        ('kind = "bayesian-regression"\nprior = "prior.zip"', "not for 'bayesian-regression'"),
    ]:
        with pytest.raises(BadConfig, match=why):
            parse_config(text.replace(text[text.index('kind = "nb"') :], line))
    (tmp_path / file).write_bytes(b"{}")
    with pytest.raises(BadConfig, match=f"model.prior: prior .*{file}: "):
        build(parse_config(text), tmp_path)
