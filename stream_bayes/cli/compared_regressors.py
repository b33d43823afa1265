"""The regressors of `compare`: ours by name, with arguments, on rows whose target is a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from stream_bayes.cli.arguments import learner_arguments
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.data.amounts import Amount
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.evaluation.regression import RegressionEvaluation
from stream_bayes.learners.catalogue import REGRESSORS
from stream_bayes.learners.factory import arguments_of, make_regressor
from stream_bayes.names import check_known, closest

__all__ = ["compared_regressors", "number_of", "numeric_rows", "standings"]

NO_NUMBER = "its target is not a number"


def compared_regressors(
    models: Sequence[str], arguments: Sequence[str], schema: Schema | None
) -> dict[str, Any]:
    """Return the regressors by name: each as its name, or as `other=name`; all of them where none is named.

    Raises
    ------
    BadValue
        If a model or an argument is unknown, or two models have the same name.

    Examples
    --------
    >>> made = compared_regressors(["bayesian-regression", "fast=bayesian-regression"], ["fast.half_life=50"], None)
    >>> [(name, model.half_life) for name, model in made.items()]
    [('bayesian-regression', None), ('fast', 50)]
    """
    kinds: dict[str, str] = {}
    for text in models or REGRESSORS:
        name, equals, kind = text.partition("=")
        kind = kind if equals else name
        check_known("model for numbers", kind, REGRESSORS)
        if name in kinds:
            raise BadValue(
                f"--model {name} is given twice; give one of them another name: --model other={kind}"
            )
        kinds[name] = kind
    given: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for argument, value in learner_arguments(list(arguments)).items():
        model, dot, rest = argument.partition(".")
        if dot and model not in kinds:
            raise BadValue(f"--arg {argument}: no model {model!r} in this comparison{closest(model, kinds)}")
        takers = (
            [model]
            if dot
            else [name for name, kind in kinds.items() if argument in arguments_of(REGRESSORS[kind])]
        )
        if not takers:
            raise BadValue(f"--arg {argument}: no model has this argument; see `stream-bayes models NAME`")
        for name in takers:
            given[name][rest if dot else argument] = value
    return {name: make_regressor(kind, given[name], schema) for name, kind in kinds.items()}


def number_of(label: object, amount: Amount) -> float | None:
    """Return a label as a number, as the column is written; None if it is none."""
    try:
        number = amount.read(label)[0]
    except ValueError:
        return None
    return float(number) if isinstance(number, (int, float)) else None


def numeric_rows(
    records: Iterable[Event | BadRecord], amount: Amount, skipped: Counter[str]
) -> Iterator[Event]:
    """Yield the rows whose target is a number, and count the others by reason."""
    for record in records:
        if isinstance(record, BadRecord):
            skipped[record.reason] += 1
        elif record.y is None:
            skipped["it has no target"] += 1
        elif (number := number_of(record.y, amount)) is None:
            skipped[NO_NUMBER] += 1
        else:
            yield msgspec.structs.replace(record, y=number)


def standings(result: RegressionEvaluation) -> dict[str, Any]:
    """Return the measures as JSON values, the least error first."""
    ranked = sorted(result, key=lambda name: result[name].rmse)
    return {"models": {name: msgspec.structs.asdict(result[name]) for name in ranked}, "level": result.level}
