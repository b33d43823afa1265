"""The models: learners of this package, and as peers those of River, and of MOA where CapyMOA is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from river import (
    base,
    compose,
    dummy,
    ensemble,
    forest,
    linear_model,
    multiclass,
    neighbors,
    preprocessing,
    tree,
)

from benchmarks.streams.moa import MOA_MODELS, missing_part
from stream_bayes import AODE, AdaptiveBayes, LiveChoice, NaiveBayes
from stream_bayes.learners.classifiers.live_choice import READINGS

__all__ = ["MODELS", "OURS"]

SEED = 1


def _numbers_only(model: Any) -> Any:
    """Return a model behind a scaler of numbers and indicators of names."""
    names = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (names + (compose.SelectType(int, float) | preprocessing.StandardScaler())) | model


OURS: dict[str, Callable[[], base.Classifier]] = {
    "AdaptiveBayes": AdaptiveBayes,
    "AdaptiveBayes, label_memory=0": lambda: AdaptiveBayes(label_memory=0),
    "LiveChoice": LiveChoice,
    "LiveChoice, more readings": lambda: LiveChoice((*READINGS, "weighted", "lda", "kdb3")),
    "AODE": AODE,
    "NaiveBayes": NaiveBayes,
}

# The fastest first: a run that is stopped has most of the rows.
MODELS: dict[str, Callable[[], Any]] = {
    **OURS,
    "River no-change": dummy.NoChangeClassifier,
    "River HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=SEED),
    "River logistic regression": lambda: _numbers_only(
        multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    ),
    "River ARF(10)": lambda: forest.ARFClassifier(seed=SEED, n_models=10),
    "River AMF(10)": lambda: _numbers_only(forest.AMFClassifier(seed=SEED, n_estimators=10)),
    "River LeveragingBagging": lambda: ensemble.LeveragingBaggingClassifier(
        tree.HoeffdingTreeClassifier(), seed=SEED
    ),
    "River KNN": lambda: _numbers_only(neighbors.KNNClassifier()),
    "River SRP(10)": lambda: ensemble.SRPClassifier(seed=SEED, n_models=10),
    "River ARF(100)": lambda: forest.ARFClassifier(seed=SEED, n_models=100),
    **({} if missing_part() else MOA_MODELS),
}
