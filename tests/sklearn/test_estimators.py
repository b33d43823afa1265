"""The estimators pass scikit-learn's own checks, and agree with its classifiers and with our learners."""

from __future__ import annotations

import inspect
import pickle
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn import datasets, naive_bayes
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils.estimator_checks import estimator_checks_generator

from stream_bayes import (
    AODE,
    KDB,
    ODE,
    TAN,
    DriftAdaptive,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
)
from stream_bayes import sklearn as estimators
from stream_bayes.data.frames import iter_dicts
from stream_bayes.errors import BadLabel, BadValue
from stream_bayes.learners.base.traits import is_led_by_order
from stream_bayes.learners.catalogue import DECLARED, LEARNERS, REGRESSORS, declaration_of
from stream_bayes.sklearn import BayesEstimator, NaiveBayesClassifier, TANClassifier
from stream_bayes.sklearn.classifier import names_of_learners
from stream_bayes.testing.public_learners import made
from tests.builds import EVERYTHING

NAMES = [name for name in estimators.__all__ if name != "BayesEstimator"]
# One class makes them all: every check for three learners, and for each of the others a share.
WHOLE = ["NaiveBayesClassifier", "MultinomialNBClassifier", "AdaptiveRegressor"]
CHECKED = [*WHOLE, *(name for name in estimators.__all__ if name not in WHOLE)] if EVERYTHING else WHOLE
# Their losses, posteriors, or which rows are the newest, depend on the order of the rows, which this check shuffles;
# scikit-learn leaves it out for AdaBoost, SGD and gradient boosting in the same way.
ORDERED = {
    "LiveChoiceClassifier",
    "AdaptiveClassifier",
    "HalfLifeChoiceClassifier",
    "HalfLifeRegressor",
    "AdaptiveRegressor",
    "BayesianLogisticClassifier",
    "NearestNeighboursClassifier",
    "BayesianTreeRegressor",
    "GaussianProcessRegressor",
}
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": "the losses follow the order of the rows"}

SKY = pd.DataFrame(
    {
        "sky": ["grey", "grey", "blue", None] * 25,
        "wind": [3.5, 2.0, 0.5, np.nan] * 25,
        "wet": [True, False] * 50,
    }
)
RAIN = ["rain", "rain", "dry", "dry"] * 25


def checks() -> Any:
    for place, name in enumerate(CHECKED):
        estimator = getattr(estimators, name)()
        for number, (each, check) in enumerate(estimator_checks_generator(estimator)):
            if name in WHOLE or (place + number) % 6 == 0 or check.func.__name__ in EXPECTED:
                yield pytest.param(name, each, check, id=f"{name}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "estimator", "check"), list(checks()))
def test_scikit_learn_finds_nothing_wrong(name: str, estimator: Any, check: Any) -> None:
    if name in ORDERED and check.func.__name__ in EXPECTED:
        with pytest.raises(AssertionError, match="not equivalent"):
            check(estimator)
    else:
        try:
            check(estimator)
        except SkipTest as reason:
            if "SCIPY_ARRAY_API" not in str(reason):  # this one is skipped for scikit-learn's own, too
                raise AssertionError(f"skipped: {reason}") from reason


def test_each_learner_by_name_has_an_estimator() -> None:
    kinds = {getattr(estimators, name).kind for name in NAMES}
    assert kinds == {*LEARNERS.values(), *REGRESSORS.values()}


@pytest.mark.parametrize("name", names_of_learners())
def test_each_learner_goes_by_its_short_name(name: str) -> None:
    X = np.random.default_rng(8).integers(0, 3, (60, 3))
    given = ODE(parents={}) if name == "ode" else name  # which needs its structure
    model = BayesEstimator(given, categorical_features=None if "qda" in name else "all")
    if name in ("gaussian-nb", "multinomial-nb", "complement-nb", "bernoulli-nb"):
        model.categorical_features = None
    found = model.fit(X, X[:, 0] > 0).predict_proba(X)
    assert found.shape == (60, 2) and ((found.argmax(axis=1) == 1) == (X[:, 0] > 0)).mean() > 0.8


def test_the_discriminants_agree_with_scikit_learn() -> None:
    X, y = datasets.load_wine(return_X_y=True)
    for ours, theirs in (
        (
            estimators.LDAClassifier(predictive="plug-in", shrinkage=0.0, strength=0.0),
            LinearDiscriminantAnalysis(),
        ),
        (
            estimators.QDAClassifier(predictive="plug-in", shrinkage=0.0, strength=0.0),
            QuadraticDiscriminantAnalysis(),
        ),
    ):
        assert np.allclose(ours.fit(X, y).predict_proba(X), theirs.fit(X, y).predict_proba(X), atol=1e-6)


def test_regressors_give_deviations_and_intervals_of_tables_with_names() -> None:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"size": rng.normal(size=500), "sky": rng.choice(["grey", "blue"], 500)})
    y = 2.0 * X["size"] + 3.0 * (X["sky"] == "blue") + 0.5 * rng.normal(size=500)
    X.loc[::9, "size"] = np.nan
    for kind in (estimators.AdaptiveRegressor, estimators.BayesianRegressor):
        model = kind().partial_fit(X[:200], y[:200]).partial_fit(X[200:400], y[200:400], np.ones(200))
        assert model.learner_.clock == 400 and model.score(X[400:], y[400:]) > 0.85
        predicted, deviations = model.predict(X[400:], return_std=True)
        assert predicted == pytest.approx(model.predict(X[400:])) and np.all(deviations > 0.3)
        low, high = model.predict_interval(X[400:], 0.9).T
        assert 0.8 <= ((low <= y[400:]) & (y[400:] <= high)).mean() <= 0.98
    with pytest.raises(BadLabel, match="AdaptiveRegressor"):
        TANClassifier().fit(X, y)


def test_rows_of_a_table_are_mixed_without_their_order() -> None:
    X, y = datasets.load_wine(return_X_y=True)
    model = BayesEstimator("adaptive").fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    order = np.random.default_rng(9).permutation(len(y))
    assert (model.predict(X[order]) == model.predict(X)[order]).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_the_arguments_of_the_learner(name: str) -> None:
    estimator = getattr(estimators, name)()
    assert set(estimator.get_params()) == {
        *inspect.signature(estimator.kind).parameters,
        *("categorical_features", "shuffle"),
    }
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(TypeError, match="strenght"):
        type(estimator)(strenght=1)


@pytest.mark.parametrize("classes", [2, 4])
def test_it_agrees_with_categorical_naive_bayes(classes: int) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 5, (300, 6)), rng.integers(0, classes, 300)
    weights = rng.integers(1, 4, 300).astype(float)
    ours = NaiveBayesClassifier(class_prior="uniform", categorical_features="all").fit(X, y, weights)
    theirs = naive_bayes.CategoricalNB(fit_prior=False).fit(X, y, weights)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=0)
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
def test_text_agrees_with_scikit_learn_and_sparse_with_dense(name: str) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.poisson(0.7, (200, 30)), rng.integers(0, 3, 200)
    ours = getattr(estimators, f"{name}Classifier")().fit(scipy.sparse.csr_matrix(X), y)
    dense = getattr(estimators, f"{name}Classifier")().fit(X, y)
    theirs = getattr(naive_bayes, name)().fit(X, y)
    assert (ours.predict_proba(scipy.sparse.csr_array(X)) == dense.predict_proba(X)).all()
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-12)


def test_fit_learns_what_the_learner_learns_event_by_event() -> None:
    X, y = datasets.load_wine(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    rows = (X[order] * 2).astype(int) % 7
    model = TANClassifier(categorical_features="all").fit(rows, y[order])
    learner = TAN(schema=Schema({f"x{n}": Nominal() for n in range(13)}, classes=[0, 1, 2]))
    for row, label in zip(rows.tolist(), y[order].tolist(), strict=True):
        learner.learn_one({f"x{n}": value for n, value in enumerate(row)}, label)
    learner.rederive()
    for row, found in zip(rows[:20].tolist(), model.predict_proba(rows[:20]), strict=True):
        own = learner.predict_proba_one({f"x{n}": value for n, value in enumerate(row)})
        assert own == pytest.approx(dict(enumerate(found)), rel=1e-12)


def test_intervals_are_those_of_the_learner_and_hold_the_probabilities() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    for learner in (NaiveBayes(), AODE(), "adaptive"):
        model = BayesEstimator(learner).fit(X[::2], y[::2])
        low, high = np.moveaxis(model.predict_interval(X[1::2], 0.9), 2, 0)
        shares = model.predict_proba(X[1::2])
        assert low.shape == shares.shape
        assert (low <= shares).all() and (shares <= high).all() and (low < high).any()
    with pytest.raises(BadValue, match="level"):
        model.predict_interval(X, 1.5)


BY_ORDER = [name for name in DECLARED if is_led_by_order(made(name, declaration_of(name).example))]


@pytest.mark.parametrize("name", BY_ORDER)
def test_sorted_rows_do_no_harm(name: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(260, 3))
    y: Any = X[:, 0] + 0.5 * np.abs(X[:, 1]) + 0.2 * rng.normal(size=260)
    if declaration_of(name).task == "classification":
        y = np.digitize(y, [-0.3, 0.9])
    kind = getattr(estimators, declaration_of(name).estimator_name)
    rows = np.argsort(y[:200], kind="stable")
    scores = [kind().fit(X[order], y[order]).score(X[200:], y[200:]) for order in (np.arange(200), rows)]
    assert scores[1] > scores[0] - 0.09, scores


def test_rows_keep_their_order_where_that_is_asked_for() -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40) % 3
    for learner in (KDB(half_life=5.0), DriftAdaptive(NaiveBayes()), NaiveBayes()):
        assert BayesEstimator(learner).fit(X, y)._order_of(40) is None
    assert {"adaptive", "live-choice", "adaptive-regression", "bayesian-logistic"} <= {*BY_ORDER}
    assert BayesEstimator("kdb").fit(X, y)._order_of(40) is not None
    assert BayesEstimator("kdb", shuffle=False).fit(X, y)._order_of(40) is None
    assert NaiveBayesClassifier(shuffle=True).fit(X, y)._order_of(40) is not None
    regressor = estimators.AdaptiveRegressor
    assert regressor(lags=2).fit(X, y)._order_of(40) is None
    assert regressor().fit(X, y)._order_of(40) is not None
    with pytest.raises(BadValue, match="shuffle: expected True, False or None, got 'yes'"):
        BayesEstimator("kdb", shuffle="yes").fit(X, y)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("learner", ["aode", "tan", "kdb", "bayes-net"])
def test_sorted_rows_are_learned_as_well_as_shuffled_ones(learner: str) -> None:
    X, y = datasets.load_iris(return_X_y=True)
    order = np.random.default_rng(4).permutation(len(y))
    in_order = BayesEstimator(learner).fit(X, y)
    shuffled = BayesEstimator(learner).fit(X[order], y[order])
    assert np.allclose(in_order.predict_proba(X), shuffled.predict_proba(X), rtol=1e-9)
    assert in_order.score(X, y) > 0.9


def test_data_frames_of_both_libraries_with_strings_and_missing_values() -> None:
    model = BayesEstimator("nb").fit(SKY, RAIN)
    other = BayesEstimator("nb").fit(pl.from_pandas(SKY), RAIN)
    assert (model.predict_proba(SKY) == other.predict_proba(pl.from_pandas(SKY))).all()
    assert model.score(SKY, RAIN) == 1.0
    assert model.feature_names_in_.tolist() == ["sky", "wind", "wet"]
    as_array = SKY.to_numpy(dtype=object)
    assert (
        BayesEstimator("nb").fit(as_array, RAIN).predict_proba(as_array) == model.predict_proba(SKY)
    ).all()
    fresh = pd.DataFrame({"sky": ["green"], "wind": [1.0], "wet": [None]})  # a value that was never learned
    assert model.predict_proba(fresh).sum() == pytest.approx(1.0)


def test_categorical_features_by_name_position_mask_or_all() -> None:
    X = pd.DataFrame({"zip": [1, 2, 3, 4] * 20, "size": [1.5, 2.5, 3.5, 4.5] * 20})
    y = [0, 1, 0, 1] * 20
    found = [
        BayesEstimator("nb", categorical_features=given).fit(X, y).predict_proba(X)
        for given in (["zip"], [0], [True, False])
    ]
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    numeric = BayesEstimator("nb").fit(X, y).predict_proba(X)
    assert not np.allclose(found[0], numeric)
    with pytest.raises(BadValue, match="there is no column 'zap'"):
        BayesEstimator(categorical_features=["zap"]).fit(X, y)
    with pytest.raises(BadValue, match="expected a mask of 2 columns"):
        BayesEstimator(categorical_features=[True]).fit(X, y)
    with pytest.raises(BadValue, match='"from_dtype", "all", None'):
        BayesEstimator(categorical_features="dtype").fit(X, y)


@pytest.mark.parametrize("numbers", [[-3.0, 0.5], [10**12, 7], [0.0, 2000.0], [-0.5, 1e300]])
def test_any_numbers_may_be_names(numbers: list[float]) -> None:
    X, y = np.array([[number] for number in numbers] * 20), [0, 1] * 20
    model = NaiveBayesClassifier(categorical_features="all").fit(X, y)
    assert model.predict(X[:1]).tolist() == [0] and model.predict_proba(X[:1])[0, 0] > 0.9


@pytest.mark.parametrize("numbers", [[2, 3, 5], [2.0, 3.0, 5.0], ["02", "03", "05"], ["2", "3", "x"]])
@pytest.mark.parametrize(
    "library",
    [pd.DataFrame, pl.DataFrame, lambda frame: np.array([*zip(*frame.values(), strict=True)], object)],
)
def test_a_code_is_the_same_name_as_a_number_and_as_a_text(numbers: list[Any], library: Any) -> None:
    y = [0, 1, 2] * 20
    X = library({"zip": numbers * 20, "sky": ["grey", "blue", "grey"] * 20})
    model = NaiveBayesClassifier(categorical_features="all").fit(X, y)
    expected = model.predict_proba(X[:2])
    for cells in ([2, 3], [2.0, 3.0], ["2", "3"], ["2.0", " 3"]):
        if isinstance(numbers[0], str) and isinstance(cells[0], str):
            continue  # texts are texts as they are
        again = library({"zip": cells, "sky": ["grey", "blue"]})
        assert (model.predict_proba(again) == expected).all(), cells


def test_columns_of_no_kind_are_refused_by_name() -> None:
    column = pd.Series([1, "one", 2, "two"], dtype=object)
    with pytest.raises(BadValue, match="column 'x' holds both numbers and names"):
        BayesEstimator().fit(pd.DataFrame({"x": column}), [0, 1, 0, 1])


def test_columns_of_dates_and_durations_become_the_features_of_a_schema() -> None:
    days = pd.date_range("2024-01-01", periods=60, freq="7h")
    frame = pd.DataFrame({"day": days, "took": days - days[0], "sky": ["grey", "blue"] * 30})
    frame.loc[5, "day"] = pd.NaT
    y = ["late" if hour > 12 else "early" for hour in days.hour]
    for X in (frame, pl.from_pandas(frame), frame.astype({"day": object})):
        model = BayesEstimator("nb").fit(X, y)
        schema = Schema.infer(frame)
        assert [*model.learner_.schema.features] == [*schema.features]
        assert model.learner_.schema.features["took"] == Numeric()
        learner = NaiveBayes(schema=model.learner_.schema)
        samples = [schema.read({str(name): cell for name, cell in x.items()}) for x in iter_dicts(frame)]
        for x, label in zip(samples, y, strict=True):
            learner.learn_one(x, label)
        shares = [[learner.predict_proba_one(x)[label] for label in ("early", "late")] for x in samples]
        assert np.allclose(model.predict_proba(X), shares)
    with pytest.raises(
        BadValue, match="column 0: expected a date or time, as in the first batch, got 'noon'"
    ):
        model.predict(frame.assign(day="noon"))


def test_partial_fit_of_parts_learns_as_a_learner_does() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(y))
    X, y = X[order], np.array(["setosa", "versicolor", "virginica"])[y[order]]
    model = BayesEstimator(AODE())
    for part in np.array_split(np.arange(len(y)), 7):
        model.partial_fit(X[part], y[part], classes=["virginica", "setosa", "versicolor"])
    whole = BayesEstimator(AODE()).partial_fit(X, y, classes=["setosa", "versicolor", "virginica"])
    assert np.allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    with pytest.raises(BadLabel, match="'rose' is not among the classes"):
        model.partial_fit(X[:1], ["rose"])
    with pytest.raises(BadLabel, match="expected those of the first call"):
        model.partial_fit(X[:1], y[:1], classes=["rose"])
    with pytest.raises(BadLabel, match="expected all labels in the first call"):
        BayesEstimator().partial_fit(X, y)


def test_grid_search_reaches_the_learner_within() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    search = GridSearchCV(
        BayesEstimator(KDB(k=1)), {"learner__k": [1, 2], "learner__strength": [0.5, 1.0]}, cv=3
    ).fit(X, y)
    assert search.best_estimator_.learner_.k == search.best_params_["learner__k"]
    assert search.best_score_ > 0.9
    by_name = GridSearchCV(BayesEstimator(), {"learner": ["nb", "tan"]}, cv=3).fit(X, y)
    assert by_name.best_params_["learner"] in ("nb", "tan")
    nested = BayesEstimator(DriftAdaptive(TAN())).set_params(learner__learner__strength=0.25)
    assert nested.learner.learner.strength == 0.25
    assert nested.get_params()["learner__learner__strength"] == 0.25
    with pytest.raises(BadValue, match="did you mean 'strength'"):
        BayesEstimator(TAN()).set_params(learner__strenght=1)


def test_it_works_in_pipelines_with_set_output_and_routed_weights() -> None:
    columns = make_column_transformer(
        (FunctionTransformer(feature_names_out="one-to-one"), ["sky"]), (FunctionTransformer(), ["wind"])
    ).set_output(transform="pandas")
    assert make_pipeline(columns, BayesEstimator("aode")).fit(SKY, RAIN).score(SKY, RAIN) == 1.0
    encoded = make_pipeline(OrdinalEncoder(), NaiveBayesClassifier(categorical_features="all"))
    assert cross_val_score(encoded, SKY[["sky", "wet"]], RAIN, cv=4).mean() > 0.8
    weights = np.repeat([0.0, 1.0], 50)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(BayesEstimator("nb").set_fit_request(sample_weight=True))
        routed.fit(SKY, RAIN, sample_weight=weights)
    half = BayesEstimator("nb").fit(SKY[50:], RAIN[50:])
    assert np.allclose(routed.predict_proba(SKY), half.predict_proba(SKY))


def test_a_fitted_estimator_pickles_and_explains() -> None:
    model = BayesEstimator(NaiveBayes(strength=0.5)).fit(SKY, RAIN)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(SKY) == model.predict_proba(SKY)).all()
    assert model.learner_.explain_one({"sky": "grey"})
    assert model.learner.classes_ == ()  # the given learner stays unchanged


@pytest.mark.parametrize("learner", ["aodee", 3, AODE])
def test_what_is_no_learner_is_refused(learner: object) -> None:
    with pytest.raises(BadValue, match="learner"):
        BayesEstimator(learner).fit(SKY, RAIN)


def test_a_learner_of_text_takes_sparse_counts_in_blocks() -> None:
    X = scipy.sparse.random(20_000, 50, density=0.05, format="csr", random_state=6)
    X.data = np.ceil(X.data * 3)
    y = np.arange(20_000) % 3
    model = BayesEstimator(MultinomialNB()).fit(X, y)
    assert model.learner_.clock == 20_000
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 5, 3, 4],
        [-2, 0, -2, 7],
        np.array([-100, 100, 0, -100], np.int8),
        np.array([2**63, 2**63 + 1] * 2, np.uint64),
    ],
    ids=["whole", "negative", "of a byte", "huge"],
)
def test_labels_of_whole_numbers_are_sorted_and_keep_their_type(labels: Any) -> None:
    y = np.asarray(labels).repeat(20)
    model = BayesEstimator("nb", categorical_features="all").fit(y[:, None] % 97, y)
    assert model.classes_.tolist() == sorted(set(y.tolist())) and model.classes_.dtype == y.dtype
    assert (model.predict(y[:, None] % 97) == y).all()


def test_whole_numbers_are_their_own_codes_wherever_a_cell_is_missing() -> None:
    X = np.random.default_rng(5).integers(0, 4, (10_000, 3)).astype(float)
    y = X[:, 0] > 1
    X[9_000, 1] = X[4_500, 2] = np.nan  # in later blocks
    names = X.astype(object)
    names[np.isnan(X)] = None
    coded = BayesEstimator("nb", categorical_features="all").fit(X, y)
    named = BayesEstimator("nb", categorical_features="all").fit(names, y)
    assert np.allclose(coded.predict_proba(X), named.predict_proba(names), rtol=1e-12)
    X[9_999, 0] = 0.5
    assert BayesEstimator("nb", categorical_features="all").fit(X, y).score(X, y) > 0.9
