"""scikit-learn estimators over the learners of this package.

`BayesEstimator(learner)` takes any learner; each learner also has an estimator of its own, whose parameters are the
learner's arguments. They take arrays, data frames of any library with strings and missing values, and, for learners of
text, sparse matrices. They work in pipelines, in `GridSearchCV` and with `partial_fit`. `AdaptiveRegressor` and
`BayesianRegressor` predict numbers, with deviations and intervals.

>>> from sklearn.model_selection import GridSearchCV
>>> from stream_bayes.sklearn import TANClassifier
>>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
>>> search = GridSearchCV(TANClassifier(categorical_features="all"), {"strength": [0.5, 1.0]}).fit(X, y)
>>> search.best_score_
np.float64(1.0)
"""

from importlib.util import find_spec

from stream_bayes._build import install_command
from stream_bayes.errors import MissingPackage

if find_spec("sklearn") is None:
    raise MissingPackage(
        f"stream_bayes.sklearn needs scikit-learn 1.6 or later; install it with: {install_command('sklearn')}"
    )

from stream_bayes.sklearn import estimators as _estimators
from stream_bayes.sklearn.classifier import BayesEstimator
from stream_bayes.sklearn.estimators import (
    A2DEClassifier,
    AdaptiveClassifier,
    AdaptiveRegressor,
    AODEClassifier,
    BayesianLogisticClassifier,
    BayesianRegressor,
    BayesianTreeRegressor,
    BayesNetworkClassifier,
    BernoulliNBClassifier,
    ComplementNBClassifier,
    DriftAdaptiveRegressor,
    GaussianNBClassifier,
    GaussianProcessRegressor,
    HalfLifeChoiceClassifier,
    HalfLifeRegressor,
    KDBClassifier,
    LDAClassifier,
    LiveChoiceClassifier,
    ModelPerKeyClassifier,
    MultinomialNBClassifier,
    NaiveBayesClassifier,
    NearestNeighboursClassifier,
    ODEClassifier,
    QDAClassifier,
    SlidingWindowClassifier,
    SPODEClassifier,
    TANClassifier,
)

__all__ = [
    "A2DEClassifier",
    "AODEClassifier",
    "AdaptiveClassifier",
    "AdaptiveRegressor",
    "BayesEstimator",
    "BayesNetworkClassifier",
    "BayesianLogisticClassifier",
    "BayesianRegressor",
    "BayesianTreeRegressor",
    "BernoulliNBClassifier",
    "ComplementNBClassifier",
    "DriftAdaptiveRegressor",
    "GaussianNBClassifier",
    "GaussianProcessRegressor",
    "HalfLifeChoiceClassifier",
    "HalfLifeRegressor",
    "KDBClassifier",
    "LDAClassifier",
    "LiveChoiceClassifier",
    "ModelPerKeyClassifier",
    "MultinomialNBClassifier",
    "NaiveBayesClassifier",
    "NearestNeighboursClassifier",
    "ODEClassifier",
    "QDAClassifier",
    "SPODEClassifier",
    "SlidingWindowClassifier",
    "TANClassifier",
]


def __getattr__(name: str) -> object:
    """Return the estimator of a learner that another package brings."""
    return getattr(_estimators, name)
