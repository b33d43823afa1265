"""Codecs of River's metrics: most hold a confusion matrix, some a mean.

A metric that goes through the labels goes through a set of them, so the last bits of its value depend on hashes, and
differ from one process to the next. `fix_order` makes them go through the labels in the order of their names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from river import metrics

from stream_bayes.core.values.values import JSONValue, name_order
from stream_bayes.saving.river.codecs import REAL, ListOf, PayloadCodec, SortedDictOf, ValueCodec
from stream_bayes.saving.river.compiled_objects import CURVE
from stream_bayes.saving.river.location import Location
from stream_bayes.saving.river.registry import (
    OBJECT,
    OBJECTS,
    ObjectCodec,
    configuration_of,
    decode_object,
    encode_object,
    register,
    register_alias,
    register_codec,
)

__all__ = ["OrderedConfusionMatrix"]

# Below 0 after reverting what was not learned.
DIFFERENCE = PayloadCodec("a whole number", lambda n: type(n) is int and abs(n) < 2**62)


class OrderedConfusionMatrix(metrics.ConfusionMatrix):
    """River's confusion matrix, with its classes in the order of their names.

    Sums over them are then the same to the bit in every process.

    Examples
    --------
    >>> matrix = OrderedConfusionMatrix()
    >>> matrix.update("spam", "ham")
    >>> matrix.update("eggs", "eggs")
    >>> matrix.classes
    ['eggs', 'ham', 'spam']
    """

    @property
    def classes(self) -> list[Any]:
        labels = [label for sums in (self.sum_row, self.sum_col) for label, weight in sums.items() if weight]
        return sorted(dict.fromkeys(labels), key=_label_order)


def _label_order(label: Any) -> tuple[int, Any]:
    return (0, 0) if label is None else (1, name_order(label))


class _Cells(ValueCodec):
    """A row for each true label with cells that are not 0."""

    ROW = SortedDictOf(REAL)

    def encode(self, value: Any, location: Location) -> JSONValue:
        rows = {label: row for label, row in value.items() if any(row.values())}
        return SortedDictOf(self.ROW).encode(rows, location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        return SortedDictOf(self.ROW).decode(saved, made, location)


CELLS = _Cells()
SUMS = SortedDictOf(REAL)
MATRIX = {
    "data": CELLS,
    "sum_row": SUMS,
    "sum_col": SUMS,
    "n_samples": DIFFERENCE,
    "total_weight": REAL,
    "_total_true_positives": REAL,
}


def _order_classes(matrix: Any) -> None:
    # In location, and so for every metric that shares it. The class adds nothing that an object would have to hold.
    matrix.__class__ = OrderedConfusionMatrix


register(
    metrics.ConfusionMatrix,
    MATRIX,
    derived=["_init_classes"],
    parameters={"classes": lambda instance: instance._init_classes},
    fix_order=_order_classes,
)
register_alias(OrderedConfusionMatrix, metrics.ConfusionMatrix)

# Parts of these share the matrix, which is a parameter.
OF_ALL_LABELS: tuple[type, ...] = (
    *(metrics.Accuracy, metrics.BalancedAccuracy, metrics.CohenKappa, metrics.GeometricMean),
    *(metrics.FowlkesMallows, metrics.MacroF1, metrics.MicroF1, metrics.WeightedF1),
    *(metrics.MacroFBeta, metrics.MicroFBeta, metrics.WeightedFBeta),
    *(metrics.MacroPrecision, metrics.MicroPrecision, metrics.WeightedPrecision),
    *(metrics.MacroRecall, metrics.MicroRecall, metrics.WeightedRecall),
    *(metrics.MacroJaccard, metrics.MicroJaccard, metrics.WeightedJaccard),
)
OF_ONE_LABEL: tuple[type, ...] = (
    metrics.Precision,
    metrics.Recall,
    metrics.F1,
    metrics.FBeta,
    metrics.Jaccard,
    metrics.MCC,
)
for kind in (*OF_ALL_LABELS, *OF_ONE_LABEL):
    register(kind, derived=["_requires_labels", "precision", "recall", "beta"])

# Without weights it makes a dict that grows when it is read; all weights in it are 1.
register(
    metrics.MultiFBeta,
    derived=["_requires_labels"],
    parameters={
        "weights": lambda instance: None if isinstance(instance.weights, defaultdict) else instance.weights
    },
)

AVERAGES = tuple(
    f"_{average}_{of}" for average in ("macro", "micro", "weighted") for of in ("precision", "recall", "f1")
)
register(metrics.ClassificationReport, derived=["_f1s", "_accuracy", *AVERAGES])

OF_A_MEAN: tuple[type, ...] = (metrics.LogLoss, metrics.CrossEntropy)
OF_NUMBERS: tuple[type, ...] = (metrics.MAE, metrics.MSE, metrics.RMSE, metrics.RMSLE)
for kind in (*OF_A_MEAN, *OF_NUMBERS):
    register(kind, {"_mean": OBJECT})

register(metrics.ROCAUC, {"cms": OBJECTS}, derived=["thresholds", "_requires_labels"])
LABELS = ListOf(PayloadCodec("a whole number of 32 bits", lambda n: type(n) is int and -(2**31) <= n < 2**31))
ROLLING_CURVES: tuple[type, ...] = (metrics.RollingROCAUC, metrics.RollingPRAUC)
for kind in ROLLING_CURVES:
    register(
        kind,
        {"_metric": CURVE, "_buf_labels": LABELS, "_buf_scores": ListOf(REAL)},
        fits=lambda instance: len(instance._buf_labels) == len(instance._buf_scores),
    )


class _Collection(ObjectCodec):
    """Several metrics, in their order: {"metrics": [{...}, {...}], "str_sep": ", "}."""

    def encode(self, instance: Any, location: Location) -> dict[str, Any]:
        return {
            "metrics": [encode_object(one, at) for one, at in _located(instance, location)],
            "str_sep": instance.str_sep,
        }

    def configuration(self, instance: Any, location: Location) -> dict[str, Any]:
        return {
            "metrics": [configuration_of(one, at) for one, at in _located(instance, location)],
            "str_sep": instance.str_sep,
        }

    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        listed, _ = location.fields(saved, "metrics", "str_sep")
        if len(location.items(listed)) != len(made.data):
            raise location.altered(f"{len(made.data)} metrics", listed)
        made.data = [
            decode_object(one, state, at)
            for (one, at), state in zip(_located(made, location), listed, strict=True)
        ]
        return made

    def parts(self, instance: Any) -> Iterator[Any]:
        return iter(instance.data)


def _located(instance: Any, location: Location) -> Iterator[tuple[Any, Location]]:
    return ((one, location.at(f"metric {number}")) for number, one in enumerate(instance.data, start=1))


register_codec(metrics.base.Metrics, _Collection())
