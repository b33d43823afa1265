"""Regressors side by side, by their errors and intervals, on rows whose target is a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from stream_bayes.checked_names import check_known
from stream_bayes.cli.comparison.models import arguments_by_model, kinds_of
from stream_bayes.cli.comparison.request import ComparisonRequest
from stream_bayes.cli.data_file import label_amount
from stream_bayes.cli.output import console, left_out_lines, note, print_json
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.data.amounts import Amount
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.evaluation.regression import BASELINES, RegressionEvaluation, evaluate_regression
from stream_bayes.learners.catalogue import REGRESSION, REGRESSORS, TARGET_MODELS, declaration_of
from stream_bayes.learners.factory import arguments_of, make_regressor, make_target_model
from stream_bayes.saving.model_files import save
from stream_bayes.streams.files.telling_columns import number_of

__all__ = ["compare_and_print_regressors"]

NO_NUMBER = "its target is not a number"


def compare_and_print_regressors(request: ComparisonRequest) -> None:
    """Compare models of numbers by their errors and intervals, and print the result."""
    file, skipped = request.files[0], Counter[str]()
    if request.target is None or request.is_dataset:
        raise BadValue(f"--task {REGRESSION}: needs a data file and its --target; got {file}")
    with request.opened(with_warnings=True, for_numbers=True) as rows:
        assert rows.table is not None
        table = rows.table
        regressors = compared_regressors(request.models, request.arguments, table.schema, table.targets)
        amounts = {name: label_amount(table, name) for name in table.all_targets}
        with request.progress(rows.source) as show:
            result = evaluate_regression(
                numeric_rows(rows.records, amounts, skipped, has_several=bool(table.targets)),
                regressors,
                delay=request.delay,
                limit=request.limit,
                progress=show,
                keep_answers=False,
            )
    if not result[_measured("mean", result)].events:
        names = " and ".join(map(repr, table.all_targets))
        raise BadValue(f"{file}: fewer than two rows have a number in the column {names}")
    if request.save is not None:
        if table.targets and len(regressors) > 1:
            raise BadValue(
                "--save: of several targets, each model may be the best at one; name a single --model"
            )
        save(regressors[min(regressors, key=lambda name: result[_measured(name, result)].rmse)], request.save)
    if request.json:
        print_json(standings(result) | {"skipped": skipped})
        return
    console().print(result)
    note([f"{count:,} row{'s' * (count != 1)} skipped: {reason}" for reason, count in skipped.items()])
    for name, regressor in regressors.items():
        note(f"{name}: {line}" for line in left_out_lines(regressor))
    for target in table.targets or [""]:
        of_target = f" of {target}" * bool(target)
        best = min(result[name + of_target].rmse for name in regressors)
        for name in BASELINES:
            if result[name + of_target].rmse <= best:
                note([f"warning: no model has a smaller error{of_target} than the baseline {name!r}"])


def compared_regressors(
    models: Sequence[str], arguments: Sequence[str], schema: Schema | None, targets: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the regressors by name: each as its name, or as `other=name`; where none is named, all but those around
    another one. `targets` are the names of several targets; empty for one.

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
    if targets:
        kinds = kinds_of(models or [*TARGET_MODELS])
        by_target_model = arguments_by_model(arguments, kinds, lambda kind: arguments_of(TARGET_MODELS[kind]))
        return {
            name: make_target_model(kind, by_target_model[name], targets, schema)
            for name, kind in kinds.items()
        }
    kinds = kinds_of(models or [name for name in REGRESSORS if not declaration_of(name).example])
    for kind in kinds.values():
        REGRESSORS.refuse(kind)
        check_known("model for numbers", kind, REGRESSORS)
    by_model = arguments_by_model(arguments, kinds, lambda kind: arguments_of(REGRESSORS[kind]))
    return {
        name: make_regressor(kind, {**declaration_of(kind).example, **by_model[name]}, schema)
        for name, kind in kinds.items()
    }


def numeric_rows(
    records: Iterable[Event | BadRecord],
    amounts: Mapping[str, Amount],
    skipped: Counter[str],
    *,
    has_several: bool = False,
) -> Iterator[Event]:
    """Yield the rows whose target is a number, or each of several, and count the others by reason. `amounts` says how
    each target is written.
    """
    for record in records:
        if isinstance(record, BadRecord):
            skipped[record.reason] += 1
            continue
        if record.y is None:
            skipped["it has no target"] += 1
            continue
        values = record.y if has_several else dict.fromkeys(amounts, record.y)
        numbers = {name: number_of(values[name], amount) for name, amount in amounts.items()}
        if (bad := next((name for name, number in numbers.items() if number is None), None)) is not None:
            skipped[NO_NUMBER.replace("target", f"target {bad}") if has_several else NO_NUMBER] += 1
            continue
        yield msgspec.structs.replace(record, y=numbers if has_several else next(iter(numbers.values())))


def _measured(name: str, result: RegressionEvaluation) -> str:
    """Return the name of the measures of a model: its own, or of several targets those of the first."""
    return name if name in result else next(each for each in result if each.startswith(f"{name} of "))


def standings(result: RegressionEvaluation) -> dict[str, Any]:
    """Return the measures as JSON values, the least error first."""
    ranked = sorted(result, key=lambda name: result[name].rmse)
    return {"models": {name: msgspec.structs.asdict(result[name]) for name in ranked}, "level": result.level}
