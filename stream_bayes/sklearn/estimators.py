"""An estimator for each learner: its arguments are the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.classifiers.discriminant import LDA, QDA
from stream_bayes.learners.classifiers.kdb import KDB
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.learners.classifiers.naive_bayes import GaussianNB, NaiveBayes
from stream_bayes.learners.classifiers.one_dependence import A2DE, AODE, SPODE
from stream_bayes.learners.classifiers.text import BernoulliNB, ComplementNB, MultinomialNB
from stream_bayes.learners.classifiers.trees import ODE, TAN
from stream_bayes.learners.wrappers.half_life_choice import HalfLifeChoice
from stream_bayes.learners.wrappers.sliding_window import SlidingWindow
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.sklearn.classifier import Learner, LearnerClassifier, given_learner
from stream_bayes.sklearn.columns import FROM_DTYPE, Categorical

__all__ = [
    "A2DEClassifier",
    "AODEClassifier",
    "AdaptiveClassifier",
    "BayesNetworkClassifier",
    "BernoulliNBClassifier",
    "ComplementNBClassifier",
    "GaussianNBClassifier",
    "HalfLifeChoiceClassifier",
    "KDBClassifier",
    "LDAClassifier",
    "LiveChoiceClassifier",
    "MultinomialNBClassifier",
    "NaiveBayesClassifier",
    "ODEClassifier",
    "QDAClassifier",
    "SPODEClassifier",
    "SlidingWindowClassifier",
    "TANClassifier",
]


class OneLearner(LearnerClassifier):
    """A classifier with one kind of learner, whose arguments are its parameters, by name."""

    kind: ClassVar[type]
    _signature: ClassVar[inspect.Signature]

    def __init__(self, **parameters: Any) -> None:
        bound = self._signature.bind(**parameters)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def __init_subclass__(cls, kind: type, defaults: Mapping[str, Any] | None = None, **options: Any) -> None:
        own = defaults or {}
        named = [
            argument.replace(
                kind=inspect.Parameter.KEYWORD_ONLY, default=own.get(argument.name, argument.default)
            )
            for argument in inspect.signature(kind).parameters.values()
        ]
        columns = inspect.Parameter(
            "categorical_features", inspect.Parameter.KEYWORD_ONLY, default=FROM_DTYPE, annotation=Categorical
        )
        cls.kind = kind
        cls._signature = inspect.Signature([*named, columns])
        of_instance = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

        def construct(self: OneLearner, **parameters: Any) -> None:
            OneLearner.__init__(self, **parameters)

        # scikit-learn reads the parameters of an estimator from here.
        construct.__signature__ = inspect.Signature([of_instance, *named, columns])  # type: ignore[attr-defined]  # for `inspect`
        cls.__init__ = construct  # type: ignore[method-assign]  # the same, under the signature of the learner
        super().__init_subclass__(**options)

    def _given_learner(self) -> Learner:
        names = [name for name in self._signature.parameters if name != "categorical_features"]
        given = {name: getattr(self, name) for name in names}
        if "learner" in given:  # a clone, as a window takes over the learner that it is given
            given["learner"] = given_learner(given["learner"]).clone()
        return self.kind(**given)


class NaiveBayesClassifier(OneLearner, kind=NaiveBayes):
    """Naive Bayes: nominal values are counted, and each class has a Gaussian for each numeric feature.

    Parameters are the arguments of `stream_bayes.NaiveBayes`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import NaiveBayesClassifier
    >>> X, y = [[1, 3], [1, 2], [0, 3], [0, 2]] * 25, ["rain", "rain", "dry", "dry"] * 25
    >>> model = NaiveBayesClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[1, 2], [0, 3]]).tolist()
    ['rain', 'dry']
    """


class GaussianNBClassifier(OneLearner, kind=GaussianNB):
    """Naive Bayes over numbers, each a Gaussian in each class.

    Parameters are the arguments of `stream_bayes.GaussianNB`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import GaussianNBClassifier
    >>> X, y = [[1.0, 20.5], [1.5, 21.0], [7.0, 3.5], [7.5, 4.0]], ["mild", "mild", "cold", "cold"]
    >>> model = GaussianNBClassifier().fit(X, y)
    >>> model.predict([[1.2, 19.0], [8.0, 3.0]]).tolist()
    ['mild', 'cold']
    """


class MultinomialNBClassifier(OneLearner, kind=MultinomialNB):
    """Multinomial naive Bayes over counts of words.

    Parameters are the arguments of `stream_bayes.MultinomialNB`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import MultinomialNBClassifier
    >>> X = [[2, 1, 0, 0], [1, 2, 0, 1], [0, 0, 1, 2], [0, 1, 2, 1]]  # counts of words, or a sparse matrix
    >>> model = MultinomialNBClassifier().fit(X, ["spam", "spam", "ham", "ham"])
    >>> model.predict([[1, 1, 0, 0], [0, 0, 1, 1]]).tolist()
    ['spam', 'ham']
    """


class ComplementNBClassifier(OneLearner, kind=ComplementNB):
    """Complement naive Bayes over counts of words, for classes of unequal size.

    Parameters are the arguments of `stream_bayes.ComplementNB`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import ComplementNBClassifier
    >>> X = [[2, 1, 0, 0], [1, 2, 0, 1], [0, 0, 1, 2], [0, 1, 2, 1]]  # counts of words, or a sparse matrix
    >>> model = ComplementNBClassifier().fit(X, ["spam", "spam", "ham", "ham"])
    >>> model.predict([[1, 1, 0, 0], [0, 0, 1, 1]]).tolist()
    ['spam', 'ham']
    """


class BernoulliNBClassifier(OneLearner, kind=BernoulliNB):
    """Bernoulli naive Bayes: a word is present or absent.

    Parameters are the arguments of `stream_bayes.BernoulliNB`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import BernoulliNBClassifier
    >>> X = [[2, 1, 0, 0], [1, 2, 0, 1], [0, 0, 1, 2], [0, 1, 2, 1]]  # counts of words, or a sparse matrix
    >>> model = BernoulliNBClassifier().fit(X, ["spam", "spam", "ham", "ham"])
    >>> model.predict([[1, 1, 0, 0], [0, 0, 1, 1]]).tolist()
    ['spam', 'ham']
    """


class SPODEClassifier(OneLearner, kind=SPODE):
    """One super-parent: each feature depends on the class and on one feature, chosen by its losses.

    Parameters are the arguments of `stream_bayes.SPODE`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import SPODEClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = SPODEClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class AODEClassifier(OneLearner, kind=AODE):
    """Averaged one-dependence estimators: the average of all super-parents (Webb et al. 2005).

    Parameters are the arguments of `stream_bayes.AODE`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import AODEClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = AODEClassifier(min_count=1, categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class A2DEClassifier(OneLearner, kind=A2DE):
    """Averaged two-dependence estimators: the average of all pairs of super-parents (Webb et al. 2012).

    Parameters are the arguments of `stream_bayes.A2DE`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import A2DEClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = A2DEClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class ODEClassifier(OneLearner, kind=ODE):
    """A given one-dependence structure; name the parents as the columns are named.

    Parameters are the arguments of `stream_bayes.ODE`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import ODEClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = ODEClassifier(parents={"x1": "x0"}, categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class TANClassifier(OneLearner, kind=TAN):
    """Tree-augmented naive Bayes: the most informative tree over the features (Friedman et al. 1997).

    Parameters are the arguments of `stream_bayes.TAN`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import TANClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = TANClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class KDBClassifier(OneLearner, kind=KDB):
    """k-dependence Bayes: each feature depends on the class and up to k features (Sahami 1996).

    Parameters are the arguments of `stream_bayes.KDB`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import KDBClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = KDBClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class BayesNetworkClassifier(OneLearner, kind=BayesNetClassifier):
    """A Bayesian network over the class and the features.

    Parameters are the arguments of `stream_bayes.BayesNetClassifier`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import BayesNetworkClassifier
    >>> X, y = [[1, 3], [1, 2], [0, 3], [0, 2]] * 25, ["rain", "rain", "dry", "dry"] * 25
    >>> model = BayesNetworkClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[1, 2], [0, 3]]).tolist()
    ['rain', 'dry']
    """


class LiveChoiceClassifier(OneLearner, kind=LiveChoice):
    """A mixture of several models over the same counts, weighted by their recent losses.

    Parameters are the arguments of `stream_bayes.LiveChoice`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import LiveChoiceClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = LiveChoiceClassifier(categorical_features="all").fit(X, y)
    >>> model.predict([[0, 0], [1, 0]]).tolist()
    ['same', 'other']
    """


class LDAClassifier(OneLearner, kind=LDA):
    """Linear discriminant analysis: Gaussians with one covariance for all classes.

    Parameters are the arguments of `stream_bayes.LDA`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import LDAClassifier
    >>> X = [[n % 5, n % 5 + (0.7 if n % 2 else -0.7)] for n in range(100)]
    >>> y = ["up" if n % 2 else "down" for n in range(100)]
    >>> model = LDAClassifier().fit(X, y)
    >>> model.predict(X[:4]).tolist() == y[:4]
    True
    """


class QDAClassifier(OneLearner, kind=QDA):
    """Quadratic discriminant analysis: a Gaussian with a covariance of its own for each class.

    Parameters are the arguments of `stream_bayes.QDA`, and `categorical_features` of `BayesEstimator`.

    Examples
    --------
    >>> from stream_bayes.sklearn import QDAClassifier
    >>> X = [[n % 5, n % 5 + (0.7 if n % 2 else -0.7)] for n in range(100)]
    >>> y = ["up" if n % 2 else "down" for n in range(100)]
    >>> model = QDAClassifier().fit(X, y)
    >>> model.predict(X[:4]).tolist() == y[:4]
    True
    """


class AdaptiveClassifier(OneLearner, kind=AdaptiveBayes, defaults={"label_memory": 0}):
    """`AdaptiveBayes`: experts of several kinds, mixed by how well they have predicted.

    Parameters are the arguments of `stream_bayes.AdaptiveBayes`, and `categorical_features` of `BayesEstimator`.
    `label_memory` is 0 by default, as the rows of a table have no order.

    Examples
    --------
    >>> from stream_bayes.sklearn import AdaptiveClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = AdaptiveClassifier(categorical_features="all").fit(X, y)
    >>> model.predict(X[:4]).tolist() == y[:4]
    True
    """


class SlidingWindowClassifier(OneLearner, kind=SlidingWindow, defaults={"learner": "nb", "size": 10_000}):
    """A learner of the newest rows alone.

    Parameters are the arguments of `stream_bayes.SlidingWindow`, and `categorical_features` of `BayesEstimator`.
    `learner` is a learner or its short name, by default `"nb"`, `size` 10,000.

    Examples
    --------
    >>> from stream_bayes import TAN
    >>> from stream_bayes.sklearn import SlidingWindowClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = SlidingWindowClassifier(learner=TAN(), size=80, categorical_features="all").fit(X, y)
    >>> model.predict(X[:4]).tolist() == y[:4]
    True
    """


class HalfLifeChoiceClassifier(OneLearner, kind=HalfLifeChoice, defaults={"learner": "nb"}):
    """A learner with several half-lives, of which the best answers.

    Parameters are the arguments of `stream_bayes.HalfLifeChoice`, and `categorical_features` of `BayesEstimator`.
    `learner` is a learner or its short name, by default `"nb"`.

    Examples
    --------
    >>> from stream_bayes import TAN
    >>> from stream_bayes.sklearn import HalfLifeChoiceClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 25, ["same", "other", "other", "same"] * 25
    >>> model = HalfLifeChoiceClassifier(learner=TAN(), categorical_features="all").fit(X, y)
    >>> model.predict(X[:4]).tolist() == y[:4]
    True
    """
