"""MOA's classifiers through CapyMOA, as models of the benchmark: they run where `capymoa` and Java are installed.

MOA is given the features, their values and the classes before a stream begins; the other models meet them as they come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["MOA_MODELS", "MoaClassifier"]

SEED = 1


class MoaClassifier:
    """A classifier of CapyMOA with River's methods.

    Parameters
    ----------
    name
        The class in `capymoa.classifier`.
    settings
        Its arguments.
    """

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name
        self.settings = settings
        self._model: Any = None
        self._labels: list[str] = []

    def declare(self, samples: Sequence[tuple[dict[Any, Any], str]]) -> None:
        """Make the classifier for the features and classes of a stream."""
        stream = import_module("capymoa.stream")
        self._core = import_module("capymoa.core")
        self._names = list(dict.fromkeys(name for x, _ in samples for name in x))
        self._labels = sorted({y for _, y in samples})
        values: dict[Any, dict[Any, int]] = {}
        for x, _ in samples:
            for name, value in x.items():
                if not isinstance(value, (int, float)) or isinstance(value, bool):
                    known = values.setdefault(name, {})
                    known.setdefault(value, len(known))
        self._codes = values
        categories = {str(name): [str(value) for value in known] for name, known in values.items()}
        target = "(class)"
        self._schema = stream.Schema.from_custom(
            [*map(str, self._names), target], target, categories | {target: self._labels}, "benchmark"
        )
        make = getattr(import_module("capymoa.classifier"), self.name)
        self._model = make(schema=self._schema, **self.settings)
        self._code_of = {label: code for code, label in enumerate(self._labels)}

    def _vector(self, x: dict[Any, Any]) -> Any:
        codes = self._codes
        row = [
            codes[name][x[name]] if name in codes and name in x else float(x.get(name, math.nan))
            for name in self._names
        ]
        return np.array(row, np.float64)

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[str, float]:
        """Return the votes as probabilities; empty if there are none."""
        shares = self._model.predict_proba(self._core.Instance.from_array(self._schema, self._vector(x)))
        return {} if shares is None else dict(zip(self._labels, shares.tolist(), strict=True))

    def learn_one(self, x: dict[Any, Any], y: str) -> None:
        """Learn a sample."""
        made = self._core.LabeledInstance.from_array(self._schema, self._vector(x), self._code_of[y])
        self._model.train(made)

    @property
    def memory_bytes(self) -> float:
        """NaN: a Java heap has no bytes of one model."""
        return math.nan


def _models() -> dict[str, Callable[[], MoaClassifier]]:
    if find_spec("capymoa") is None:
        return {}
    return {
        "CapyMOA NaiveBayes": lambda: MoaClassifier("NaiveBayes"),
        "CapyMOA HAT": lambda: MoaClassifier("HoeffdingAdaptiveTree", random_seed=SEED),
        "CapyMOA ARF(10)": lambda: MoaClassifier(
            "AdaptiveRandomForestClassifier", random_seed=SEED, ensemble_size=10
        ),
        "CapyMOA SRP(10)": lambda: MoaClassifier(
            "StreamingRandomPatches", random_seed=SEED, ensemble_size=10
        ),
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


MOA_MODELS = _models()
