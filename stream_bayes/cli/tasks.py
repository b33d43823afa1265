"""Classification or regression: whether the labels of a table are classes or numbers, and the model for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from stream_bayes.checked_names import check_known
from stream_bayes.cli.data_file import DataFile
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import (
    DEFAULT,
    DEFAULT_REGRESSOR,
    LEARNERS,
    REGRESSION,
    REGRESSORS,
    SEVERAL_TARGETS,
    TARGET_MODELS,
)
from stream_bayes.streams.files.telling_columns import MANY_LABELS

__all__ = ["Task", "check_several", "chosen_model", "is_regression", "is_regressor", "seen_as", "seen_task"]

TASKS = ("classification", REGRESSION)
MOST_CLEAR_CLASSES = 2  # distinct whole numbers; more may be classes or amounts
MOST_LIKELY_CLASSES = 10  # distinct whole numbers; more are likelier to be amounts

Task = Annotated[
    str | None,
    typer.Option(
        help="'classification' if the labels are classes, 'regression' if they are numbers. Seen in the column if not "
        "given.",
        show_default=False,
    ),
]


def is_regressor(model: str) -> bool:
    """Return True for the name of a model whose labels are numbers.

    Examples
    --------
    >>> is_regressor("bayesian-regression"), is_regressor("aode")
    (True, False)
    """
    return model not in LEARNERS and (model in REGRESSORS or model in TARGET_MODELS)


def is_regression(models: Sequence[str] | None, task: str | None) -> bool:
    """Return True if models of numbers are to be compared: by the task, or by the models that are named.

    Raises
    ------
    BadValue
        If there is no such task, or models of both kinds are named.
    """
    if task is not None:
        check_known("task", task, TASKS)
    kinds = {text.partition("=")[2] or text for text in models or ()}
    numbers = {kind for kind in kinds if is_regressor(kind)}
    if numbers and (numbers != kinds or task == "classification"):
        others = ", ".join(sorted(kinds - numbers)) or "--task classification"
        raise BadValue(f"{', '.join(sorted(numbers))} learn numbers and {others} classes: compare them apart")
    return bool(numbers) or task == REGRESSION


def chosen_model(table: DataFile, model: str | None, task: str | None) -> tuple[str, list[str]]:
    """Return the name of the model for a table's labels, and lines about what was chosen. `model` is the one that was
    named; None to choose the default of the task. `task` is the one that was named; None: that of the model, or else of
    the column.

    Raises
    ------
    BadValue
        If model and task do not fit.
    """
    if task is not None:
        check_known("task", task, TASKS)
    if table.targets:
        check_several(table, [model] if model is not None else [], task)
        chosen = f"{', '.join(table.targets)} are several targets, so {SEVERAL_TARGETS} learns them"
        return model or SEVERAL_TARGETS, [] if model is not None else [chosen]
    if model is not None:
        of_model = REGRESSION if is_regressor(model) else "classification"
        if task is not None and task != of_model:
            other = DEFAULT_REGRESSOR if task == REGRESSION else DEFAULT
            raise BadValue(f"--task {task}: {model} is for {of_model}; for {task}: --model {other}")
        return model, []
    if task is not None:
        return (DEFAULT_REGRESSOR if task == REGRESSION else DEFAULT), []
    seen, said = seen_as(table)
    return (DEFAULT_REGRESSOR if seen == REGRESSION else DEFAULT), said


def seen_as(table: DataFile) -> tuple[str, list[str]]:
    """Return the task that the labels of a table show, and a line about it where they are numbers."""
    if table.targets:
        return REGRESSION, []
    seen, is_unsure = seen_task(table)
    if seen == REGRESSION:
        chosen = f"{table.target} holds numbers, so {DEFAULT_REGRESSOR} learns them; for classes: --task classification"
        return seen, [f"unsure: {chosen}" if is_unsure else chosen]
    if not is_unsure:
        return seen, []
    distinct = table.profiles[table.target or ""].distinct
    amounts = f"{table.target} has {distinct} whole numbers, which are learned as classes, though they "
    return seen, [f"unsure: {amounts}may be amounts; for these: --task regression"]


def check_several(table: DataFile, models: Sequence[str], task: str | None) -> None:
    """Raise `BadValue` if a model does not learn several targets, or a target holds no numbers."""
    for model in models:
        if model not in TARGET_MODELS:
            raise BadValue(
                f"--target is given {len(table.targets)} times, and {model} learns one target: --model "
                f"{SEVERAL_TARGETS}, or one command for each target"
            )
    if task is not None and task != REGRESSION:
        raise BadValue(
            f"--task {task}: several targets are numbers; for classes: one command for each target"
        )
    for name in table.targets:
        profile = table.profiles[name]
        if profile.values and not profile.is_numeric:
            examples = ", ".join(list(profile.counts)[:3])
            raise BadValue(
                f"--target {name}: several targets are numbers, and this column holds names ({examples}); leave it a "
                f"feature, or train a classifier on it alone"
            )


def seen_task(table: DataFile) -> tuple[str, bool]:
    """Return the task that the labels of a table show, and True if the other one may be meant."""
    profile = None if table.target is None else table.profiles.get(table.target)
    if profile is None or not profile.is_numeric or profile.distinct <= MOST_CLEAR_CLASSES:
        return "classification", False
    if profile.is_whole and profile.distinct <= MOST_LIKELY_CLASSES:
        return "classification", True
    return REGRESSION, profile.is_whole and profile.distinct <= MANY_LABELS
