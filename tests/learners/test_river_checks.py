"""River's own checks, all of them, for every learner; and learners inside River's pipelines."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from river import base, checks, compose, datasets, evaluate, feature_extraction, metrics, preprocessing

import stream_bayes
from stream_bayes import (
    LDA,
    TAN,
    AdaptiveBayes,
    BayesianRegression,
    BernoulliNB,
    ComplementNB,
    DriftAdaptive,
    GaussianNB,
    HalfLifeChoice,
    MultinomialNB,
    NaiveBayes,
    Numeric,
    Schema,
)
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.catalogue import LEARNERS, REGRESSORS, declaration_of
from stream_bayes.learners.factory import make_learner
from stream_bayes.mail import EmailTokens, SpamFilter
from stream_bayes.testing.public_learners import counting_learners, made
from tests.builds import EVERYTHING

MODELS: tuple[BayesClassifier, ...] = tuple(
    made(name, settings) for name in counting_learners() for settings in declaration_of(name).river
)
if not EVERYTHING:  # one setting of each class
    MODELS = tuple({type(model): model for model in reversed(MODELS)}.values())[::-1]
# So many has River for a MiniBatchClassifier, a Classifier and a Regressor; fewer run without pandas or scikit-learn.
CHECKS, CHECKS_OF_ONE_BY_ONE, CHECKS_OF_NUMBERS = 30, 27, 25

OTHERS: tuple[Any, ...] = (
    AdaptiveBayes(),
    DriftAdaptive(NaiveBayes()),
    HalfLifeChoice(NaiveBayes(), (None, 50.0)),
    *(made("model-per-key", settings) for settings in declaration_of("model-per-key").river),
    *(made(name, settings) for name in REGRESSORS for settings in declaration_of(name).river),
)

Check = Callable[[Any], None]


def named_checks(model: Any, place: int) -> list[tuple[str, Check]]:
    """Return each check once, with its number.

    Of River's datasets a check runs on one, in turn, so that each learner meets them all, and each check too. The one
    of memory needs ten times as many samples, and runs on the first.
    """
    runs: dict[str, list[tuple[int, Check]]] = {}
    for number, check in enumerate(checks.yield_checks(model)):
        runs.setdefault(check.__name__, []).append((number, check))
    chosen = [
        each[0 if name == "check_bounded_memory_growth" else (place + turn) % len(each)]
        for turn, (name, each) in enumerate(runs.items())
    ]
    return [(f"{check.__name__}-{number}", check) for number, check in chosen]


FIRST = list({type(model): model for model in reversed(MODELS)}.values())  # setting of each class
CASES = [
    pytest.param(model, check, id=f"{type(model).__name__}{place}-{name}")
    for place, model in enumerate(MODELS)
    for number, (name, check) in enumerate(named_checks(model, place))
    if model in FIRST or (place + number) % 5 == 0  # of the other settings a share
]
CASES += [
    pytest.param(model, check, id=f"{type(model).__name__}{place}-{name}")
    for place, model in enumerate(OTHERS)
    for name, check in named_checks(model, place)
]


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.NeverMet")  # River's datasets have no x0
@pytest.mark.parametrize(("model", "check"), CASES)
def test_river_finds_nothing_wrong(model: Any, check: Check) -> None:
    random.seed(7)  # some checks shuffle and drop features
    gc.freeze()  # one collects all garbage twice: of this model's, not of all tests'
    check(model.clone())


@pytest.mark.parametrize("model", [*MODELS, *OTHERS], ids=lambda model: type(model).__name__)
def test_all_of_rivers_checks_run(model: Any) -> None:
    assert sklearn.__version__
    assert pd.__version__
    names = {check.__name__ for check in checks.yield_checks(model)}
    one_by_one = CHECKS_OF_NUMBERS if isinstance(model, base.Regressor) else CHECKS_OF_ONE_BY_ONE
    expected = CHECKS if isinstance(model, base.MiniBatchClassifier) else one_by_one
    assert len(names) == expected, sorted(names)
    assert model._unit_test_skips() == set()


def test_every_public_learner_is_checked() -> None:
    public = [getattr(stream_bayes, name) for name in stream_bayes.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, BayesClassifier)}
    assert {type(model) for model in MODELS} == kinds


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_learner_says_what_it_takes(model: BayesClassifier) -> None:
    assert model._multiclass
    assert ("positive input" in model._tags) == isinstance(model, (MultinomialNB, ComplementNB))


MAIL = (*(SpamFilter(**given) for given in SpamFilter._unit_test_params()), EmailTokens())
# So many has River for such a classifier, and for a transformer of texts.
MAIL_CHECKS: dict[type, int] = {SpamFilter: 28, EmailTokens: 14}
MAIL_CASES = [
    pytest.param(model, check, id=f"{type(model).__name__}{place}-{check.__name__}-{number}")
    for place, model in enumerate(MAIL)
    for number, check in enumerate(checks.yield_checks(model))
    if check.__name__ not in model._unit_test_skips()
]


@pytest.mark.parametrize(("model", "check"), MAIL_CASES)
def test_river_finds_nothing_wrong_with_mail(model: Any, check: Any) -> None:
    check(model.clone())


@pytest.mark.parametrize("model", MAIL, ids=lambda model: type(model).__name__)
def test_of_rivers_checks_one_does_not_hold_for_the_filter_and_all_for_tokens(model: Any) -> None:
    names = {check.__name__ for check in checks.yield_checks(model)}
    assert len(names) == MAIL_CHECKS[type(model)], sorted(names)
    assert model._unit_test_skips() == ({"check_predict_proba_one_binary"} if model in MAIL[:2] else set())


def test_gaussians_learn_behind_a_scaler() -> None:
    model = preprocessing.StandardScaler() | GaussianNB()
    accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert accuracy.get() > 0.85


def test_naive_bayes_learns_names_and_numbers_side_by_side() -> None:
    stream: Any = [
        ({"mark": "odd" if n % 2 else "even", "size": float(n % 2) + n / 1000}, n % 2 == 1)
        for n in range(200)
    ]
    accuracy = evaluate.progressive_val_score(stream, NaiveBayes(), metrics.Accuracy())
    assert accuracy.get() > 0.95


SENTENCES = [
    ("free pills for you", "spam"),
    ("lunch at noon", "ham"),
    ("free lunch", "ham"),
    ("pills pills pills", "spam"),
    ("notes of the meeting", "ham"),
]
TEXTS = pd.Series([text for text, _ in SENTENCES], index=[f"mail {n}" for n in range(len(SENTENCES))])
KINDS = pd.Series([kind for _, kind in SENTENCES], index=TEXTS.index)

MAILS = [
    ("free money now offer", "spam"),
    ("lunch at noon today", "ham"),
    ("free offer win money", "spam"),
    ("meeting notes for today", "ham"),
    ("win cash prize free", "spam"),
    ("see you at lunch meeting", "ham"),
]
TAKE_BAGS = {
    *(
        "adaptive",
        "nb",
        "gaussian-nb",
        "multinomial-nb",
        "complement-nb",
        "bernoulli-nb",
        "half-life-choice",
        "model-per-key",
    )
}
TEXT_MODELS = (MultinomialNB(), ComplementNB(), BernoulliNB())


@pytest.mark.parametrize("model", TEXT_MODELS, ids=lambda model: type(model).__name__)
def test_a_bag_of_words_is_learned_one_by_one_as_in_a_sparse_frame(model: BayesClassifier) -> None:
    one: Any = compose.Pipeline(("words", feature_extraction.BagOfWords()), ("learner", model.clone()))
    for text, kind in SENTENCES:
        one.learn_one(text, kind)
    many = compose.Pipeline(("words", feature_extraction.BagOfWords()), ("learner", model.clone()))
    many.learn_many(TEXTS[:2], KINDS[:2])
    many.learn_many(TEXTS[2:], KINDS[2:])
    assert many["learner"].store.by_name() == one["learner"].store.by_name()

    texts = pd.Series(["free pills", "the notes", "never a known word", ""], index=list("abcd"))
    answers = many.predict_proba_many(texts)
    assert list(answers.index) == list(texts.index)
    for label, text in texts.items():
        for kind, p in one.predict_proba_one(text).items():
            assert answers.loc[label, kind] == pytest.approx(p, abs=1e-12)
    predicted = many.predict_many(texts)
    assert predicted.to_dict() == {label: one.predict_one(text) for label, text in texts.items()}


@pytest.mark.parametrize("name", sorted(TAKE_BAGS))
def test_a_bag_of_words_is_learned(name: str) -> None:
    words = feature_extraction.BagOfWords().transform_one
    model = make_learner(name, declaration_of(name).example)
    for text, kind in MAILS * 5:
        model.learn_one(words(text), kind)
    assert model.predict_proba_one(words("free money offer"))["spam"] > 0.9


@pytest.mark.parametrize("name", sorted(LEARNERS.keys() - TAKE_BAGS))
def test_a_bag_of_words_is_refused_where_an_absent_word_is_a_missing_number(name: str) -> None:
    words = feature_extraction.BagOfWords().transform_one
    model = make_learner(name, {"learner": "tan", "size": 100} if name == "sliding-window" else None)
    for text, kind in MAILS[:2]:
        model.learn_one(words(text), kind)
    with pytest.raises(BadValue, match="MultinomialNB"):
        model.learn_one(words("see you at the meeting"), "ham")
    with pytest.raises(BadValue, match=r"row \d+: bags of words"):
        model.learn_many([words(text) for text, _ in MAILS], [kind for _, kind in MAILS])
    model.learn_one({"free": 1, "prize": 0}, "spam")  # whoever gives zeros is understood
    assert model.predict_proba_one({"free": 1})


@pytest.mark.parametrize("name", ["tan", "lda"])
def test_numbers_that_are_missing_are_no_bag_of_words(name: str) -> None:
    features = [f"sensor {number}" for number in range(30)]
    declared = make_learner(name, schema=Schema(dict.fromkeys(features, Numeric())))
    undeclared = make_learner(name)
    for place in range(30):
        declared.learn_one({features[place]: 1}, "on")
        undeclared.learn_one({features[place]: 1.5}, "on")
    assert declared.clock == undeclared.clock == 30


@pytest.mark.parametrize(
    "model", [TAN(), LDA(), BayesianRegression()], ids=lambda model: type(model).__name__
)
def test_the_one_number_that_is_left_of_a_row_is_no_bag_of_words(model: Any) -> None:
    model = model.clone()
    model.learn_one({f"poll {number}": number + 40 for number in range(8)}, 1)
    model.learn_one({"day": 736_475}, 0)
    with pytest.raises(BadValue, match="this event lacks 9 of 9 features, brings 2 new ones"):
        model.learn_one({"week": 4, "month": 11}, 0)


def test_counts_beside_names_are_no_bag_of_words() -> None:
    model = TAN()
    model.learn_one({f"shop {number}": number + 40 for number in range(8)} | {"town": "Ulm"}, "open")
    model.learn_one({"visits": 12, "sales": 3}, "closed")
    assert model.clock == 2


def test_a_sparse_frame_is_learned_as_the_dense_one() -> None:
    frame = pd.DataFrame({"free": [2, 0, 1], "pills": [0, 0, 3], "lunch": [0, 1, 0]}, dtype=np.uint16)
    sparse = frame.astype(pd.SparseDtype("uint16", 0))
    labels = pd.Series(["spam", "ham", "spam"])
    models: list[Any] = []
    for rows in (frame, sparse):
        model = MultinomialNB()
        model.learn_many(rows, labels)
        models.append(model)
    assert models[0].store.by_name() == models[1].store.by_name()
    dense, spare = (
        model.predict_proba_many(rows) for model, rows in zip(models, (frame, sparse), strict=True)
    )
    pd.testing.assert_frame_equal(dense, spare)


def test_text_is_judged_as_it_comes() -> None:
    model = feature_extraction.BagOfWords(lowercase=True) | MultinomialNB(alpha=0.5)
    stream: Any = [(text, kind) for _ in range(20) for text, kind in SENTENCES]
    accuracy = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    assert accuracy.get() > 0.9


def test_labels_keep_their_types_in_a_frame_of_answers() -> None:
    model = NaiveBayes()
    model.learn_many(pd.DataFrame({"sky": ["grey", "blue"]}), pd.Series([True, False]))
    answers = model.predict_proba_many(pd.DataFrame({"sky": ["grey"]}))
    assert [type(label) for label in answers.columns] == [bool, bool]
    assert model.predict_many(pd.DataFrame({"sky": ["grey", "blue"]})).tolist() == [True, False]
