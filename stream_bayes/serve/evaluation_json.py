"""The measures of a stream's predictions as JSON values: of all events, of a window, fading, and by label."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.measures.classification_measures import Measures
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.measures.number_losses import NumberLosses
from stream_bayes.serve.plain_values import as_json, label_name

__all__ = ["evaluation_of", "measures_by_label"]

MOST_LABELS = 12  # whose measures are shown


def evaluation_of(losses: Losses | NumberLosses) -> dict[str, Any]:
    """Return the measures of a stream's predictions as JSON values."""
    evaluation: dict[str, Any] = {}
    if isinstance(losses, NumberLosses):
        for name in ("cumulative", "windowed", "fading"):
            numbers = getattr(losses, name)
            evaluation[name] = {
                **as_json(numbers.as_dict()),
                "weight": as_json(numbers.weight),
                "pit": numbers.pit,
            }
        return evaluation | {"unanswered": losses.unanswered, "level": losses.level}
    for name in ("cumulative", "windowed", "fading"):
        measures = getattr(losses, name)
        evaluation[name] = {
            **as_json(measures.as_dict()),
            "majority_accuracy": as_json(measures.majority_accuracy),
            "no_change_accuracy": as_json(measures.no_change_accuracy),
            "undecided": as_json(measures.undecided),
            "weight": as_json(measures.weight),
            "by_label": measures_by_label(measures),
        }
    evaluation["cumulative"]["accuracy_interval"] = as_json(losses.cumulative.accuracy_interval())
    evaluation["reliability"] = [
        {"weight": each.weight, "confidence": each.confidence, "accuracy": each.accuracy}
        for each in losses.windowed.reliability
    ]
    confusion = losses.confusion()
    evaluation["confusion"] = {
        "labels": [label_name(label) for label in losses.labels],
        "cells": [[as_json(label), as_json(answer), weight] for (label, answer), weight in confusion.items()],
    }
    evaluation["unanswered"] = losses.unanswered
    return evaluation


def measures_by_label(measures: Measures) -> dict[str, dict[str, Any]]:
    """Return precision, recall and F1 of the most frequent labels as JSON values."""
    f1, precision, recall = measures.f1, measures.precision, measures.recall
    frequent = list(measures.weight_by_label)[:MOST_LABELS]
    return {
        label_name(label): {
            "precision": as_json(precision.get(label)),
            "recall": as_json(recall.get(label)),
            "f1": as_json(f1.get(label)),
            "weight": measures.weight_by_label[label],
        }
        for label in frequent
    }
