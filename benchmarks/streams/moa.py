"""MOA's classifiers and regressors through CapyMOA, as models of the benchmarks. They need `capymoa` and Java.

MOA is given the features, their values and the classes before a stream begins; the other models meet them as they come.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

__all__ = [
    "MOA_MODELS",
    "MOA_REGRESSORS",
    "MoaClassifier",
    "MoaIntervals",
    "MoaLearner",
    "MoaRegressor",
    "is_result",
    "missing_part",
]

SEED = 1
TARGET = "(target)"


def missing_part() -> str:
    """Return why MOA's models do not run here; an empty string if they do."""
    if find_spec("capymoa") is None:
        return "capymoa is not installed; `make capymoa` installs it"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java"
    return ""


def is_result(error: Exception) -> bool:
    """Return False for the error of a run whose Java was stopped, as a signal to end does; True for a peer's own."""
    return type(error).__name__ != "JVMNotRunning"


class MoaLearner:
    """A learner of CapyMOA that is made when it is given a stream.

    Parameters
    ----------
    name
        The class in the module of its kind.
    settings
        Its arguments.
    """

    module: ClassVar[str]

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name
        self.settings = settings
        self._model: Any = None

    def declare(self, samples: Sequence[tuple[dict[Any, Any], Any]]) -> None:
        """Make the learner for the features and targets of a stream."""
        stream = import_module("capymoa.stream")
        self._core = import_module("capymoa.core")
        self._names = list(dict.fromkeys(name for x, _ in samples for name in x))
        values: dict[Any, dict[Any, int]] = {}
        for x, _ in samples:
            for name, value in x.items():
                if not isinstance(value, (int, float)) or isinstance(value, bool):
                    known = values.setdefault(name, {})
                    known.setdefault(value, len(known))
        self._codes = values
        categories = {str(name): [str(value) for value in known] for name, known in values.items()}
        self._schema = stream.Schema.from_custom(
            [*map(str, self._names), TARGET],
            TARGET,
            categories | self._classes(y for _, y in samples),
            "benchmark",
        )
        self._model = self._made()

    def _classes(self, targets: Iterable[Any]) -> dict[str, list[str]]:
        return {}

    def _made(self) -> Any:
        return getattr(import_module(self.module), self.name)(schema=self._schema, **self.settings)

    def _vector(self, x: dict[Any, Any]) -> Any:
        codes = self._codes
        row = [
            codes[name][x[name]] if name in codes and name in x else float(x.get(name, math.nan))
            for name in self._names
        ]
        return np.array(row, np.float64)

    def _answer(self, x: dict[Any, Any], method: str) -> Any:
        return getattr(self._model, method)(self._core.Instance.from_array(self._schema, self._vector(x)))

    @property
    def memory_bytes(self) -> float:
        """NaN: a Java heap has no bytes of one model."""
        return math.nan


class MoaClassifier(MoaLearner):
    """A classifier of CapyMOA with River's methods."""

    module = "capymoa.classifier"

    def _classes(self, targets: Iterable[Any]) -> dict[str, list[str]]:
        self._labels = sorted(set(targets))
        self._code_of = {label: code for code, label in enumerate(self._labels)}
        return {TARGET: self._labels}

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[str, float]:
        """Return the votes as probabilities; empty if there are none."""
        shares = self._answer(x, "predict_proba")
        return {} if shares is None else dict(zip(self._labels, shares.tolist(), strict=True))

    def learn_one(self, x: dict[Any, Any], y: str) -> None:
        """Learn a sample."""
        made = self._core.LabeledInstance.from_array(self._schema, self._vector(x), self._code_of[y])
        self._model.train(made)


class MoaRegressor(MoaLearner):
    """A regressor of CapyMOA with River's methods."""

    module = "capymoa.regressor"

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the number predicted."""
        return float(self._answer(x, "predict"))

    def learn_one(self, x: dict[Any, Any], y: float) -> None:
        """Learn a sample."""
        self._model.train(self._core.RegressionInstance.from_array(self._schema, self._vector(x), y))


class MoaIntervals(MoaRegressor):
    """Intervals of CapyMOA around SOKNL's forecasts, at the level that is its `confidence_level`."""

    module = "capymoa.uncertainty"

    def _made(self) -> Any:
        inner = import_module(MoaRegressor.module).SOKNL(schema=self._schema, ensemble_size=10)
        make = getattr(import_module(self.module), self.name)
        return make(schema=self._schema, base_learner=inner, **self.settings)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the number predicted, which the interval is around."""
        return float(self._answer(x, "predict")[1])

    def ends(self, x: dict[Any, Any]) -> tuple[float, float]:
        """Return the ends of the interval."""
        low, _, high = self._answer(x, "predict")
        return float(low), float(high)


MOA_MODELS: dict[str, Callable[[], MoaClassifier]] = {
    "CapyMOA NaiveBayes": lambda: MoaClassifier("NaiveBayes"),
    "CapyMOA HAT": lambda: MoaClassifier("HoeffdingAdaptiveTree", random_seed=SEED),
    "CapyMOA ARF(10)": lambda: MoaClassifier(
        "AdaptiveRandomForestClassifier", random_seed=SEED, ensemble_size=10
    ),
    "CapyMOA SRP(10)": lambda: MoaClassifier("StreamingRandomPatches", random_seed=SEED, ensemble_size=10),
    "CapyMOA OzaBoost": lambda: MoaClassifier("OzaBoost", random_seed=SEED),
    "CapyMOA KNN": lambda: MoaClassifier("KNN", random_seed=SEED),
    "CapyMOA LeveragingBagging(10)": lambda: MoaClassifier(
        "LeveragingBagging", random_seed=SEED, ensemble_size=10
    ),
    "CapyMOA DEMS(10)": lambda: MoaClassifier(
        "DynamicEnsembleMemberSelection", random_seed=SEED, ensemble_size=10
    ),
    "CapyMOA SGBT": lambda: MoaClassifier("StreamingGradientBoostedTrees", random_seed=SEED),
}

MOA_REGRESSORS: dict[str, Callable[[], MoaRegressor]] = {
    "CapyMOA SGBR": lambda: MoaRegressor("StreamingGradientBoostedRegression", random_seed=SEED),
    "CapyMOA SOKNL(10)": lambda: MoaRegressor("SOKNL", random_seed=SEED, ensemble_size=10),
    "CapyMOA ARFFIMTDD": lambda: MoaRegressor("ARFFIMTDD", random_seed=SEED),
    "CapyMOA ARF(10)": lambda: MoaRegressor(
        "AdaptiveRandomForestRegressor", random_seed=SEED, ensemble_size=10
    ),
    "CapyMOA kNN": lambda: MoaRegressor("KNNRegressor", random_seed=SEED),
    "CapyMOA MVE": lambda: MoaIntervals("MVE", random_seed=SEED, confidence_level=0.9),
    "CapyMOA AdaPI": lambda: MoaIntervals("AdaPI", random_seed=SEED, confidence_level=0.9),
}
