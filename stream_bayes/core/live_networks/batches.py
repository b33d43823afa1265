"""Many events at once for a store without classes: rows, or whole columns of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._family_batches import add_columns
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._rows import Batch
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values._weights import MOST_WEIGHT
from stream_bayes.core.values.inputs import check_named, feature_name, may_be_name
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadValue, BadWeight, KindChanged, UnknownFeature

__all__ = ["learn_columns", "learn_rows"]

Codes = NDArray[np.int32]
FIRST_ROWS = 256  # of a column that are searched for new values first


def learn_rows(store: CountStore, batch: Batch) -> None:
    """Learn encoded rows in their order."""
    weight = np.asarray(batch.weight)[: batch.rows]
    store.make_room_for(batch.rows, bool((weight == np.floor(weight)).all()))
    Reading(store.tables, store.encoder.labels).learn_batch(batch)


def learn_columns(
    store: CountStore,
    names: Sequence[Any],
    codes: Codes,
    vocabularies: Sequence[Sequence[Value]],
    weights: NDArray[np.float64] | None,
) -> None:
    """Learn events that are columns of codes: all of them, or none if anything is refused."""
    rows = len(codes)
    weights = np.ones(rows) if weights is None else np.ascontiguousarray(weights, np.float64)
    if len(weights) != rows or not bool(((weights >= 0.0) & (weights <= MOST_WEIGHT)).all()):
        raise BadWeight(f"a weight between 0 and 2**53 is needed for each of {rows} events")
    whole = bool((weights == np.floor(weights)).all())
    try:
        columns = _coded(store, names, codes, vocabularies, weights > 0.0)
        store.make_room_for(rows, whole)
    except BaseException:
        store.encoder.rollback()
        raise
    tables = store.tables
    if tables.families is None or not tables.exact or not whole or store.window is not None:
        _learn_sequentially(store, columns, codes, weights)
        return
    _learn_together(store, columns, codes, weights)


class _Column:
    """A column of a batch: its position, the slot of its feature, and its codes in the store."""

    def __init__(self, position: int, slot: int, store_codes: Codes | None) -> None:
        self.position = position
        self.slot = slot
        self.store_codes = store_codes  # by code, with the entry for -1 last; None if the codes are the same


def _coded(
    store: CountStore,
    names: Sequence[Any],
    codes: Codes,
    vocabularies: Sequence[Sequence[Value]],
    naming: NDArray[np.bool_],
) -> list[_Column]:
    """Return the columns that the store counts. New values get codes in the order in which they occur."""
    encoder = store.encoder
    columns = []
    named = codes if bool(naming.all()) else codes[naming]
    for position, (name, values) in enumerate(zip(names, vocabularies, strict=True)):
        feature = encoder.features.get(name)
        if feature is None and encoder.declared:
            if encoder.refuse:
                raise UnknownFeature(f"feature {shown(name)} is not declared in the schema")
            continue
        if feature is None:
            if not bool((named[:, position] >= 0).any()):
                continue
            feature = encoder.name_feature(feature_name(name), False)
        _check_values(store, feature, values, named[:, position])
        store_codes = _store_codes(feature.vocabulary, values, named[:, position], encoder.created)
        columns.append(_Column(position, int(feature.slot), store_codes))
    return columns


def _check_values(store: CountStore, feature: Any, values: Sequence[Value], column: Codes) -> None:
    """Raise the error that learning the same events one by one would raise."""
    name, vocabulary = feature.name, feature.vocabulary
    if feature.measured:
        message = f"feature {shown(name)} is numeric, the column nominal"
        raise BadValue(message) if store.encoder.declared else KindChanged(message)
    for code, value in enumerate(values):
        foreign = vocabulary.closed and value not in vocabulary
        number = not may_be_name(value, store.encoder.numbers_named)
        if not (foreign or number) or not bool((column == code).any()):
            continue
        if foreign:
            raise BadValue(
                f"feature {shown(name)}: {shown(value)} is not among the declared values {vocabulary.values!r}"
            )
        check_named("column", name, value, store.encoder.numbers_named)


def _store_codes(
    vocabulary: Vocabulary, values: Sequence[Value], column: Codes, created: list[Any]
) -> Codes | None:
    store_codes = [vocabulary.lookup(value) for value in values]
    new = [code for code, store_code in enumerate(store_codes) if store_code < 0]
    for code in _by_arrival(column, new):
        before = len(vocabulary)
        store_codes[code] = vocabulary.name(values[code])
        if len(vocabulary) > before:
            created.append(vocabulary)
    if store_codes == list(range(len(store_codes))):
        return None
    table = np.array([*store_codes, -1], np.int32)
    table[table < 0] = -1
    return table


def _by_arrival(column: Codes, new: list[int]) -> list[int]:
    """Return those of the new codes that occur in a column, in order of occurrence."""
    arrived: list[int] = []
    sought, start, size = set(new), 0, FIRST_ROWS
    while sought and start < len(column):
        # Most values occur early. Once all were found, the rest of the column need not be searched.
        occurring, first = np.unique(column[start : start + size], return_index=True)
        arriving = [code for code in occurring[np.argsort(first)].tolist() if code in sought]
        arrived += arriving
        sought.difference_update(arriving)
        start, size = start + size, 4 * size
    return arrived


def _learn_together(
    store: CountStore, columns: list[_Column], codes: Codes, weights: NDArray[np.float64]
) -> None:
    """Count whole weights in tables that do not fade: sums that do not depend on the order."""
    tables, rows = store.tables, len(codes)
    layout = tables.values.layout
    firsts, store_codes, at = [], [], 0
    for column in columns:
        firsts.append(-1 if column.store_codes is None else at + 1)
        if column.store_codes is not None:
            store_codes.append(np.concatenate([column.store_codes[-1:], column.store_codes[:-1]]))
            at += len(column.store_codes)
    slots = np.array([column.slot for column in columns], np.longlong)
    positions = [column.position for column in columns]
    if positions != list(range(codes.shape[1])):
        codes = np.ascontiguousarray(codes[:, positions])
    values = np.zeros(layout.positions)
    add_columns(
        tables.families,
        np.ascontiguousarray(codes),
        slots,
        np.array(firsts, np.longlong),
        np.concatenate([np.zeros(0, np.int32), *store_codes]),
        weights,
        values,
        layout,
    )
    tables.tick(rows)
    tables.class_weight[0] += weights.sum()
    stride = layout.classes
    np.asarray(tables.values.weight)[::stride] += values
    present = np.add.reduceat(np.append(values, 0.0), np.asarray(layout.start)) if layout.features else values
    present[np.asarray(layout.room) == 0] = 0.0
    np.asarray(tables.values.present)[::stride] += present
    tables.raise_peaks()
    tables.values.recount()


def _learn_sequentially(
    store: CountStore, columns: list[_Column], codes: Codes, weights: NDArray[np.float64]
) -> None:
    rows = len(codes)
    columns = sorted(columns, key=lambda column: column.slot)
    matrix = np.empty((rows, len(columns)), np.int32)
    for k, column in enumerate(columns):
        column_codes = codes[:, column.position]
        matrix[:, k] = column_codes if column.store_codes is None else column.store_codes[column_codes]
    present = matrix >= 0
    batch = Batch()
    batch.rows = rows
    batch.entry_end = np.cumsum(present.sum(axis=1), dtype=np.longlong)
    batch.number_end = np.zeros(rows, np.longlong)
    batch.feature = np.tile(np.array([column.slot for column in columns], np.int32), (rows, 1))[present]
    batch.code = matrix[present]
    batch.entries = len(batch.code)
    batch.amount = np.ones(batch.entries)
    batch.label, batch.weight = np.zeros(rows, np.int32), weights
    Reading(store.tables, store.encoder.labels).learn_batch(batch)
