"""Codes back to names: the weights of tables, and the part of a sample that was not found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import Any

import numpy as np

from stream_bayes.core.counts._tables import Missing, Tables
from stream_bayes.core.counts.state import grid
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._targets import TargetEncoder, is_column

__all__ = ["name_of_failed", "weights_by_name"]


def weights_by_name(encoder: Encoder, tables: Tables) -> dict[tuple[Any, ...], Any]:
    """Return each weight above 0 under its names, in fresh samples, as `CountStore.by_name` does."""
    labels = encoder.labels.values
    unit = tables.unit
    named: dict[tuple[Any, ...], Any] = {}
    for code, label in enumerate(labels):
        if tables.class_samples[code] > 0:
            named[(label,)] = tables.class_weight[code] / unit
    layout = tables.values.layout
    weight = grid(tables.values.weight, layout.classes)
    entries = []
    for run, feature in enumerate(encoder.nominal):
        for code, value in enumerate(feature.vocabulary.values):
            position = layout.start[run] + code
            entries.append((feature.name, value))
            for y in np.flatnonzero(weight[position]):
                named[(*entries[-1], labels[y])] = float(weight[position, y]) / unit
    used = [len(feature.vocabulary) for feature in encoder.nominal]
    if tables.pairs is not None:
        cells = zip(layout.pairs_of(used), _together(used, 2), strict=True)
        _name_cells(grid(tables.pairs.weight, layout.classes), cells, unit, named, entries, labels)
    if tables.triples is not None:
        cells = zip(layout.triples_of(used), _together(used, 3), strict=True)
        _name_cells(grid(tables.triples.weight, layout.classes), cells, unit, named, entries, labels)
    numbers = tables.gaussians
    numbers.settle_all()
    for feature in encoder.numeric:
        for code, label in enumerate(labels):
            cell = feature.slot * layout.classes + code
            if numbers.weight[cell] > 0:
                moments = (numbers.weight[cell] / unit, numbers.mean[cell], numbers.m2[cell] / unit)
                named[feature.name, label] = moments
    if tables.co_moments is not None:
        _name_co_moments(encoder, tables, named)
    return named


def _name_co_moments(encoder: Encoder, tables: Tables, named: dict[tuple[Any, ...], Any]) -> None:
    """Add the co-moments of two features under (first, second, label), with the mean of the first."""
    table, unit = tables.co_moments, tables.unit
    for high, low in ((i, j) for i in range(len(encoder.numeric)) for j in range(i)):
        names = encoder.numeric[high].name, encoder.numeric[low].name
        for code, label in enumerate(encoder.labels.values):
            weight, mean, other_mean, product = table.moments(high, low, code, tables.gaussians)
            if weight > 0:
                named[*names, label] = (weight / unit, mean, product / unit)
                named[*names[::-1], label] = (weight / unit, other_mean, product / unit)


def _together(used: list[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield the values of each pair or triple, by their numbers through all features."""
    ends = list(accumulate(used))
    owner = [run for run, codes in enumerate(used) for _ in range(codes)]

    def under(number: int, more: int) -> Iterator[tuple[int, ...]]:
        if more == 0:
            yield (number,)
            return
        for earlier in range(ends[owner[number]] - used[owner[number]]):
            yield from ((number, *rest) for rest in under(earlier, more - 1))

    for number in range(len(owner)):
        yield from under(number, size - 1)


def _name_cells(
    weight: Any,
    cells: Iterable[Any],
    unit: float,
    named: dict[tuple[Any, ...], Any],
    entries: Any,
    labels: Any,
) -> None:
    """Add the weights of pairs or triples under their names, in the order of names."""
    for cell, numbers in cells:
        for y in np.flatnonzero(weight[cell]):
            parts = sorted((entries[number] for number in numbers), key=repr)
            named[(*chain.from_iterable(parts), labels[y])] = float(weight[cell, y]) / unit


def name_of_failed(encoder: Encoder, row: Any, failed: int) -> str:
    """Return a text for the part of a row that `Tables.forget` did not find."""
    if isinstance(encoder, TargetEncoder):
        return _name_of_failed_number(encoder, row, failed)
    label = encoder.labels.values[row.label]
    if failed == Missing.COMBINATION:
        return f"these values together with weight {row.weight} in class {label!r}"
    if failed == Missing.SAMPLE:
        return f"a sample of class {label!r} with weight {row.weight}"
    if failed >= row.entries:
        feature = encoder.numeric[row.numeric_feature[failed - row.entries]]
        return f"{feature.name!r} = {row.number[failed - row.entries]} in class {label!r}"
    feature = encoder.nominal[row.feature[failed]]
    value = feature.vocabulary.values[row.code[failed]]
    return f"{feature.name!r} = {value!r} with weight {row.amount[failed] * row.weight} in class {label!r}"


def _name_of_failed_number(encoder: TargetEncoder, row: Any, failed: int) -> str:
    """Return a text for the part of a row with a target that `Tables.forget` did not find."""
    if failed == Missing.COMBINATION:
        return f"these values together with weight {row.weight}"
    if failed == Missing.SAMPLE:
        return f"a sample with weight {row.weight}"
    if failed >= row.entries:
        at = failed - row.entries
        name = encoder.numeric[row.numeric_feature[at]].name
        if not is_column(name):
            return f"{name!r} = {row.number[at]}"
        if len(name) == 1:
            return f"the target {row.number[at]}"
        return f"{name[1]!r}" if len(name) == 2 else f"{name[1]!r} = {name[2]!r}"
    feature = encoder.nominal[row.feature[failed]]
    return f"{feature.name!r} = {feature.vocabulary.values[row.code[failed]]!r} with weight {row.weight}"
