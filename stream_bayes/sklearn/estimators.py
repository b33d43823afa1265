"""An estimator for each learner of the catalogue: its arguments are the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from stream_bayes.checked_names import check_known
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import (
    DECLARED,
    LEARNERS,
    REGRESSION,
    REGRESSORS,
    declaration_of,
    inner_names,
)
from stream_bayes.learners.wrappers.wrapped_regressors import check_regressor
from stream_bayes.sklearn.classifier import LearnerClassifier, given_learner
from stream_bayes.sklearn.columns import FROM_DTYPE, Categorical
from stream_bayes.sklearn.estimator import AnyLearner, LearnerEstimator
from stream_bayes.sklearn.regressor import LearnerRegressor

__all__ = ["OneLearner", "estimator_of"]


# Parameters of every estimator.
OF_ROWS = {
    "categorical_features": inspect.Parameter(
        "categorical_features", inspect.Parameter.KEYWORD_ONLY, default=FROM_DTYPE, annotation=Categorical
    ),
    "shuffle": inspect.Parameter(
        "shuffle", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=bool | None
    ),
}


class OneLearner(LearnerEstimator):
    """An estimator with one kind of learner, whose arguments are its parameters, by name."""

    kind: ClassVar[type]
    _signature: ClassVar[inspect.Signature]
    # parameters of the order of the rows, with their values where it has none
    _of_order: ClassVar[Mapping[str, Any]]

    def __init__(self, **parameters: Any) -> None:
        bound = self._signature.bind(**parameters)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def _given_learner(self) -> AnyLearner:
        names = [name for name in self._signature.parameters if name not in OF_ROWS]
        given = {name: getattr(self, name) for name in names}
        if "learner" in given:  # a clone, as a window takes over the learner that it is given
            given["learner"] = self._learner_within(given["learner"]).clone()
        return self.kind(**given)

    def _is_asked_for_order(self) -> bool:
        return any(getattr(self, name) != value for name, value in self._of_order.items())

    def _learner_within(self, learner: Any) -> AnyLearner:
        """Return the learner given by an argument `learner`: itself, or the one of a short name."""
        return given_learner(learner)


class OneClassifier(OneLearner, LearnerClassifier):
    """A classifier with one kind of learner."""


class OneRegressor(OneLearner, LearnerRegressor):
    """A regressor with one kind of learner."""

    def _learner_within(self, learner: Any) -> AnyLearner:
        if isinstance(learner, str):
            check_known("learner", learner, [*inner_names(REGRESSION)])
            learner = REGRESSORS[learner]()
        check_regressor(learner)
        return learner


def estimator_of(name: str) -> type[OneLearner]:
    """Return the estimator of a learner by its name in the catalogue.

    Examples
    --------
    >>> estimator_of("tan")(strength=0.5).get_params()["strength"]
    0.5
    """
    estimator = declaration_of(name).estimator_name
    if estimator not in globals():
        globals()[estimator] = _make_estimator(name)  # where pickle and `clone` look for it
    return globals()[estimator]


def _make_estimator(name: str) -> type[OneLearner]:
    declared = declaration_of(name)
    kind = REGRESSORS[name] if declared.task == REGRESSION else LEARNERS[name]
    defaults = {**declared.example, **declared.unordered}
    parameters = [
        argument.replace(
            kind=inspect.Parameter.KEYWORD_ONLY, default=defaults.get(argument.name, argument.default)
        )
        for argument in inspect.signature(kind).parameters.values()
    ]
    parameters += OF_ROWS.values()

    def construct(self: OneLearner, **given: Any) -> None:
        OneLearner.__init__(self, **given)

    # scikit-learn reads the parameters of an estimator from here.
    of_instance = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    construct.__signature__ = inspect.Signature([of_instance, *parameters])  # type: ignore[attr-defined]  # for `inspect`
    members = {
        "__doc__": _documentation(kind, declared.estimator_name, defaults),
        "__init__": construct,
        "__module__": __name__,
        "_of_order": declared.unordered,
        "_signature": inspect.Signature(parameters),
        "kind": kind,
    }
    made = OneRegressor if declared.task == REGRESSION else OneClassifier
    return type(declared.estimator_name, (made,), members)


COUNTS = """[[2, 1, 0, 0], [1, 2, 0, 1], [0, 0, 1, 2], [0, 1, 2, 1]]  # of words; or a sparse matrix
    >>> y = ["spam", "spam", "ham", "ham"]"""
NUMBERS = """[[1.0, 20.5], [1.5, 21.0], [7.0, 3.5], [7.5, 4.5]] * 25
    >>> y = ["mild", "mild", "cold", "cold"] * 25"""
NAMES = """[["grey", "east"], ["grey", "west"], ["blue", "east"], ["blue", "west"]] * 25
    >>> y = ["rain", "rain", "dry", "dry"] * 25"""

TARGETS = """[[1.0, 20.5], [1.5, 21.0], [7.0, 3.5], [7.5, 4.5]] * 25
    >>> y = [2.0, 3.0, 14.0, 15.0] * 25"""


def _documentation(kind: type[Any], name: str, defaults: Mapping[str, Any]) -> str:
    """Return the docstring of an estimator: the learner's first sentence, and an example that suits its features."""
    inputs = getattr(kind, "inputs", None)  # of a learner around others, what these take
    inputs = inputs if isinstance(inputs, frozenset) else {"nominal", "numeric"}
    rows = NAMES if "nominal" in inputs else NUMBERS if "numeric" in inputs else COUNTS
    check = "model.predict(X[:4]).tolist() == y[:4]"
    if issubclass(kind, BayesRegressor):
        rows, check = TARGETS, "all(abs(model.predict(X[:4]) - y[:4]) < 0.5)"
    other = ", ".join(f"`{name}` is {value!r}" for name, value in defaults.items())
    return f"""{inspect.cleandoc(kind.__doc__ or "").partition(chr(10) * 2)[0]}

    Parameters are the arguments of `{kind.__module__.partition(".")[0]}.{kind.__name__}`, and `categorical_features`
    and `shuffle` of `BayesEstimator`.{f" By default {other}." if other else ""}

    Examples
    --------
    >>> from stream_bayes.sklearn import {name}
    >>> X = {rows}
    >>> model = {name}().fit(X, y)
    >>> {check}
    True
    """


def __getattr__(name: str) -> type[OneLearner]:
    """Return the estimator of a learner that another package brings."""
    if not name.startswith("_"):
        for learner in (*LEARNERS, *REGRESSORS):
            if learner not in DECLARED and declaration_of(learner).estimator_name == name:
                return estimator_of(learner)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


for _learner in DECLARED:
    estimator_of(_learner)

if TYPE_CHECKING:  # `make declarations` writes these

    class A2DEClassifier(OneClassifier): ...

    class AODEClassifier(OneClassifier): ...

    class AdaptiveClassifier(OneClassifier): ...

    class BayesNetworkClassifier(OneClassifier): ...

    class BernoulliNBClassifier(OneClassifier): ...

    class ComplementNBClassifier(OneClassifier): ...

    class GaussianNBClassifier(OneClassifier): ...

    class HalfLifeChoiceClassifier(OneClassifier): ...

    class KDBClassifier(OneClassifier): ...

    class LDAClassifier(OneClassifier): ...

    class LiveChoiceClassifier(OneClassifier): ...

    class MultinomialNBClassifier(OneClassifier): ...

    class NaiveBayesClassifier(OneClassifier): ...

    class ODEClassifier(OneClassifier): ...

    class QDAClassifier(OneClassifier): ...

    class SPODEClassifier(OneClassifier): ...

    class SlidingWindowClassifier(OneClassifier): ...

    class TANClassifier(OneClassifier): ...

    class AdaptiveRegressor(OneRegressor): ...

    class BayesianRegressor(OneRegressor): ...

    class GaussianProcessRegressor(OneRegressor): ...

    class BayesianLogisticClassifier(OneClassifier): ...

    class NearestNeighboursClassifier(OneClassifier): ...

    class BayesianTreeRegressor(OneRegressor): ...

    class DriftAdaptiveRegressor(OneRegressor): ...

    class HalfLifeRegressor(OneRegressor): ...

    class ModelPerKeyClassifier(OneClassifier): ...
