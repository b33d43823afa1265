"""Batches: frames, coded columns and lists of dicts, encoded for a learner's store.

Every kind of input becomes one `Batch` in the codes of the store. The kernels loop over it, which equals learning and
predicting the rows one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder, RowEncoder
from stream_bayes.core.encoding._rows import Batch
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.inputs import check_class, check_declared, check_named, feature_name
from stream_bayes.core.values.values import Value, canonical, canonical_label, shown
from stream_bayes.data.columns import CodedColumns, SparseCounts
from stream_bayes.data.frame_columns import factorise, numbers, python_values, value_types
from stream_bayes.data.frames import Native, is_frame, labels_of, read_table
from stream_bayes.errors import BadLabel, BadValue, KindChanged, SchemaError, UnknownFeature

__all__ = ["check_batch", "encode_batch", "encode_blocks", "row_count", "row_weights"]

Codes = NDArray[np.int32]
NominalColumn = tuple[Any, Codes, Sequence[Value]]
NumericColumn = tuple[Any, NDArray[np.float64]]

BLOCK_ROWS = 8192  # learned at once


def row_count(xs: Native) -> int:
    """Return the number of rows."""
    if is_frame(xs):
        return int(xs.shape[0])
    if isinstance(xs, (CodedColumns, SparseCounts)) or (
        isinstance(xs, Sequence) and not isinstance(xs, (str, bytes))
    ):
        return len(xs)
    return read_table(xs).rows


def encode_batch(
    store: CountStore,
    xs: Native,
    ys: Native = None,
    ws: Native = None,
    ats: Native = None,
    *,
    learning: bool,
) -> Batch:
    """Encode rows of any kind in the codes of the store.

    Learning creates codes and makes room for them. If a row is refused, nothing has changed, and the error names the
    row.
    """
    with _all_or_nothing(store):
        times = _times(store, ats, row_count(xs)) if learning else None
        batch = _encoded(store, xs, ys, ws, learning)
        if times is not None:
            batch.at = times
        if learning:
            store.make_room_for(
                batch.rows, _is_whole(batch, has_amounts=not isinstance(store.encoder, RowEncoder))
            )
        return batch


def encode_blocks(
    store: CountStore, xs: Native, ys: Native = None, ws: Native = None, ats: Native = None
) -> Iterator[Batch]:
    """Yield the rows of any kind to be learned, in blocks that fit a processor's cache; together they are one batch.

    If a row is refused, that is before the first block, and nothing has changed.
    """
    rows = 0 if isinstance(xs, (list, tuple)) else row_count(xs)
    if rows <= BLOCK_ROWS or not isinstance(store.encoder, RowEncoder):
        yield encode_batch(store, xs, ys, ws, ats, learning=True)
        return
    with _all_or_nothing(store):
        weights = row_weights(ws, rows)
        times = _times(store, ats, rows)
        naming = weights > 0
        labels = _labels(store, xs, ys, naming)
        translated = _translated_columns(store.encoder, *_columns(store.encoder, xs), naming, True)
        store.make_room_for(rows, bool((weights == np.floor(weights)).all()))
    for start in range(0, rows, BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, rows))
        batch = _row_batch(block.stop - start, *translated, block)
        batch.label, batch.weight = labels[block], weights[block]
        if times is not None:
            batch.at = times[block]
        yield batch


def check_batch(
    store: CountStore, xs: Native, ys: Native = None, ws: Native = None, ats: Native = None
) -> None:
    """Raise the errors that `encode_batch` would for learning, and change nothing."""
    try:
        _times(store, ats, row_count(xs))
        _encoded(store, xs, ys, ws, True)
    finally:
        store.encoder.rollback()


def _encoded(store: CountStore, xs: Native, ys: Native, ws: Native, learning: bool) -> Batch:
    if isinstance(xs, (list, tuple)):
        return _from_dicts(store, xs, ys, ws, learning)
    rows = row_count(xs)
    weights = row_weights(ws, rows)
    naming = weights > 0 if learning else np.zeros(rows, bool)  # a sample without weight names nothing
    labels = _labels(store, xs, ys, naming) if learning else None
    if isinstance(store.encoder, RowEncoder):
        batch = _rows(store.encoder, *_columns(store.encoder, xs), naming, learning)
    else:
        batch = _bags(store.encoder, xs, naming, learning)
    if labels is not None:
        batch.label, batch.weight = labels, weights
    return batch


@contextmanager
def _all_or_nothing(store: CountStore) -> Iterator[None]:
    try:
        yield
    except BaseException:
        store.encoder.rollback()
        raise


def _is_whole(batch: Batch, *, has_amounts: bool) -> bool:
    """Return True if all weights, and all counts of words, are whole."""
    weight = np.asarray(batch.weight)[: batch.rows]
    if (weight != np.floor(weight)).any():
        return False
    if not has_amounts:  # those of named features are 1
        return True
    amount = np.asarray(batch.amount)[: batch.entries]
    return bool((amount == np.floor(amount)).all())


def row_weights(ws: Native, rows: int) -> NDArray[np.float64]:
    """Return a weight for each row: 1, the given one, or one each."""
    if ws is None or isinstance(ws, (int, float, str, bytes, np.number)):
        return np.full(rows, read_weight(1.0 if ws is None else ws))
    if isinstance(ws, np.ndarray) and ws.dtype == np.float64 and (np.isfinite(ws) & (ws >= 0)).all():
        weights = ws
    else:
        weights = np.fromiter((read_weight(w) for w in labels_of(ws, "weights")), np.float64)
    if len(weights) != rows:
        raise SchemaError(f"{rows} rows, but {len(weights)} weights")
    return weights


def _times(store: CountStore, ats: Native, rows: int) -> NDArray[np.longlong] | None:
    """Return the time of each row in microseconds; None where samples do not fade by their time."""
    if not store.tables.timed:
        if ats is not None:
            store.moment(0.0)
        return None
    if ats is None:
        store.moment(None)
    times = np.array([store.moment(cast("float", at)) for at in labels_of(ats, "times")], np.longlong)
    if len(times) != rows:
        raise SchemaError(f"{rows} rows, but {len(times)} times")
    return times


def _from_dicts(store: CountStore, xs: Sequence[Any], ys: Native, ws: Native, learning: bool) -> Batch:
    likely = len(xs) * len(xs[0]) if xs and isinstance(xs[0], Mapping) else 0
    batch, encoder = Batch(len(xs), likely, likely), store.encoder
    if learning and ys is None:
        raise BadLabel("a label is needed for each row")
    try:
        if learning:
            labels, weights = labels_of(ys), row_weights(ws, len(xs)).tolist()
            if len(labels) != len(xs):
                raise SchemaError(f"{len(xs)} rows, but {len(labels)} labels")
            encoder.encode_all(xs, labels, weights, batch)
        else:
            encoder.lookup_all(xs, batch)
    except (BadValue, BadLabel, KindChanged) as error:
        raise type(error)(f"row {encoder.failed}: {error}") from None
    return batch


def _labels(store: CountStore, xs: Native, ys: Native, naming: NDArray[np.bool_]) -> Codes:
    """Return the code of each row's label."""
    if ys is None:
        if not isinstance(xs, (CodedColumns, SparseCounts)) or xs.labels is None:
            raise BadLabel("a label is needed for each row; pass y, or columns that were coded with a target")
        codes, classes = xs.labels, xs.classes
    else:
        codes, classes = factorise(labels_of(ys), (), canonical_label, BadLabel)
    if len(codes) != len(naming):
        raise SchemaError(f"{len(naming)} rows, but {len(codes)} labels")
    if (codes < 0).any():
        raise BadLabel(f"row {int(np.argmax(codes < 0))}: a label is needed; leave out rows without one")
    encoder = store.encoder
    if encoder.labels.closed:
        _refuse_undeclared("label", codes, classes, encoder.labels, BadLabel)
    elif naming.any():
        _refuse_numbers(codes, classes, encoder)
    return _translated(codes, classes, encoder.labels, encoder.name_label, naming)


def _refuse_numbers(codes: Codes, classes: Sequence[Value], encoder: Encoder) -> None:
    """Raise `BadLabel` at the first row with a float that shows that labels are numbers rather than classes."""
    learned = encoder.undeclared_labels()
    for code, label in enumerate(classes):
        if isinstance(label, float) and encoder.labels.find(label) < 0:
            try:
                check_class(label, learned)
            except BadLabel as error:
                raise BadLabel(f"row {int(np.argmax(codes == code))}: {error}") from None
            learned.append(label)


def _translated(
    codes: Codes, values: Sequence[Value], vocabulary: Vocabulary, name: Any, naming: NDArray[np.bool_]
) -> Codes:
    """Translate a column's codes to the store's; new values get codes in the order of the rows."""
    translated = [vocabulary.find(value) for value in values]
    new = [code for code, existing in enumerate(translated) if existing < 0]
    if new and naming.any():
        named = codes if naming.all() else codes[naming]
        first = np.full(len(values) + 1, -1)  # the row of each code; the last is what -1, missing, picks
        first[named[::-1]] = np.arange(len(named) - 1, -1, -1)  # of equal indices the last one stays
        for code in sorted((code for code in new if first[code] >= 0), key=first.__getitem__):
            translated[code] = name(values[code])
    if new and vocabulary.other >= 0:
        translated = [vocabulary.lookup(value) for value in values]
    translation = np.array([*translated, -1], np.int32)  # the last is what -1, missing, picks
    translation[translation < 0] = -1
    return translation[codes]


def _columns(encoder: RowEncoder, xs: Native) -> tuple[list[NominalColumn], list[NumericColumn]]:
    """Return the nominal and the numeric columns of coded columns or of a frame."""
    if isinstance(xs, CodedColumns):
        # Contiguous columns: each is read several times.
        columns = np.ascontiguousarray(xs.codes.T)
        nominal: list[NominalColumn] = list(zip(xs.names, columns, xs.vocabularies, strict=True))
        return nominal, list(zip(xs.numeric_names, xs.numeric.T, strict=True))
    nominal, numeric = [], []
    for name, cells in read_table(xs).columns.items():
        feature = encoder.features.get(name)
        if feature is None and encoder.declared:
            check_declared(name)
            if encoder.refuse:
                raise UnknownFeature(f"feature {shown(name)} is not declared in the schema")
            continue
        if feature is None and not encoder.is_accepted(name):
            continue
        measured = encoder.only == "numeric"
        if feature is not None:
            measured = feature.measured
        elif not measured:
            kinds = value_types(cells, name)
            if not kinds:
                continue  # all missing
            measured = kinds <= {int, float}
            if not measured and kinds & {int, float}:
                raise KindChanged(
                    f"column {shown(name)} holds both numbers and nominal values; declare it in a schema"
                )
        if measured:
            numeric.append((name, numbers(cells, name)))
        else:
            codes, vocabulary = factorise(cells, (), partial(canonical, feature=name))
            nominal.append((name, codes, vocabulary))
    return nominal, numeric


def _feature(encoder: RowEncoder, name: Any, numeric: bool, naming: bool) -> Any:
    """Return the feature of a column; None if it is unknown and not to be added."""
    feature = encoder.features.get(name)
    if feature is not None:
        if bool(feature.measured) != numeric:
            kinds = ("nominal", "numeric")
            message = f"feature {shown(name)} is {kinds[bool(feature.measured)]}, the column {kinds[numeric]}"
            raise BadValue(message) if encoder.declared else KindChanged(message)
        return feature
    if encoder.declared:
        if encoder.refuse:
            raise UnknownFeature(f"feature {shown(name)} is not declared in the schema")
        return None
    if not encoder.is_accepted(name):
        return None
    if encoder.only == "numeric" and not numeric:
        raise BadValue(f"feature {shown(name)} is numeric, the column nominal")
    return encoder.name_feature(feature_name(name), numeric) if naming else None


def _rows(
    encoder: RowEncoder,
    nominal: list[NominalColumn],
    numeric: list[NumericColumn],
    naming: NDArray[np.bool_],
    learning: bool,
) -> Batch:
    rows = len(naming)
    return _row_batch(rows, *_translated_columns(encoder, nominal, numeric, naming, learning), slice(rows))


def _translated_columns(
    encoder: RowEncoder,
    nominal: list[NominalColumn],
    numeric: list[NumericColumn],
    naming: NDArray[np.bool_],
    learning: bool,
) -> tuple[list[int], list[Codes], list[int], list[NDArray[np.float64]]]:
    """Return the slots of the nominal features and their codes in the store, and those of the numeric with numbers."""
    slots, codes = [], []
    for name, column, values in nominal:
        named = name not in encoder.features and bool((column[naming] >= 0).any())
        feature = _feature(encoder, name, False, named)
        if feature is None:
            continue
        for value in values:
            check_named("column", name, value, encoder.numbers_named)
        if learning and feature.vocabulary.closed:
            _refuse_undeclared(f"feature {shown(name)}:", column, values, feature.vocabulary, BadValue)
        create = partial(_create, feature.vocabulary, encoder.created)
        slots.append(feature.slot)
        codes.append(_translated(column, values, feature.vocabulary, create, naming))
    measured = [
        (_feature(encoder, name, True, not np.isnan(column[naming]).all()), column)
        for name, column in numeric
    ]
    columns = [(feature.slot, column) for feature, column in measured if feature is not None]
    return slots, codes, [slot for slot, _ in columns], [column for _, column in columns]


def _row_batch(
    rows: int,
    slots: list[int],
    codes: list[Codes],
    numeric_slots: list[int],
    numeric: list[NDArray[np.float64]],
    block: slice,
) -> Batch:
    """Return a block of translated columns as a batch."""
    batch = Batch()
    batch.rows = rows
    batch.entry_end, batch.feature, batch.code = _arranged(
        rows, slots, [column[block] for column in codes], np.int32, lambda m: m >= 0
    )
    batch.number_end, batch.numeric_feature, batch.number = _arranged(
        rows, numeric_slots, [column[block] for column in numeric], np.float64, lambda m: ~np.isnan(m)
    )
    batch.entries, batch.numbers = len(batch.feature), len(batch.number)
    batch.amount = np.ones(batch.entries)
    batch.label, batch.weight = np.full(rows, -2, np.int32), np.ones(rows)
    return batch


def _create(vocabulary: Vocabulary, created: list[Any], value: Value) -> int:
    before = len(vocabulary)
    code: int = vocabulary.name(value)
    if len(vocabulary) > before:
        created.append(vocabulary)
    return code


def _refuse_undeclared(
    what: str, codes: Codes, values: Sequence[Value], vocabulary: Vocabulary, error: type[BadValue | BadLabel]
) -> None:
    is_foreign = [value not in vocabulary for value in values]
    if any(is_foreign) and (foreign := np.array([*is_foreign, False])[codes]).any():
        row = int(np.argmax(foreign))
        raise error(
            f"row {row}: {what} {shown(values[codes[row]])} is not among the declared {vocabulary.values!r}"
        )


def _arranged(
    rows: int, slots: list[int], columns: list[Any], dtype: Any, present: Any
) -> tuple[NDArray[np.longlong], Codes, NDArray[Any]]:
    """Arrange columns as rows end to end, without missing cells, slots ascending within a row."""
    order = np.argsort(np.array(slots, np.int32), kind="stable")
    matrix = np.empty((len(slots), rows), dtype)
    for row, column in enumerate(order):
        matrix[row] = columns[column]
    matrix = np.ascontiguousarray(matrix.T)
    is_present = present(matrix)
    feature = np.tile(np.array(slots, np.int32)[order], (rows, 1))
    if is_present.all():
        ends = np.arange(1, rows + 1, dtype=np.longlong) * len(slots)
        return ends, feature.reshape(-1), matrix.reshape(-1)
    ends = np.cumsum(np.count_nonzero(is_present, axis=1), dtype=np.longlong)
    return ends, feature[is_present], matrix[is_present]


def _bags(encoder: Any, xs: Native, naming: NDArray[np.bool_], learning: bool) -> Batch:
    """Encode a frame with a column per token as bags; a count of 0 or a missing one is absent."""
    rows = len(naming)
    zero_too = encoder.binary and encoder.threshold < 0  # then a word whose count is 0 is there
    sparse = _is_sparse(xs) and not zero_too
    names, row_of, column_of, counts = _sparse(xs) if sparse else _dense(xs, rows, zero_too)
    if encoder.binary:
        is_present = counts > encoder.threshold
    else:
        is_present = (counts != 0) & ~np.isnan(counts)
        bad = is_present & ~((counts > 0) & (counts <= 2.0**53))
        if bad.any():
            first = int(np.argmax(bad))
            raise BadValue(
                f"row {int(row_of[first])}: token {shown(names[column_of[first]])}: a count must be finite and at "
                f"least 0, and at most 2**53, not {counts[first]}"
            )
    codes = np.full(len(names), -2, np.int32)
    row_of, column_of, counts = row_of[is_present], column_of[is_present], counts[is_present]
    named = set(column_of[naming[row_of]].tolist())
    for column in dict.fromkeys(column_of.tolist()):
        code = encoder.tokens.lookup(names[column])
        codes[column] = (
            encoder.encode_new_token(names[column], learning and column in named) if code < 0 else code
        )
    has_code = codes[column_of] >= 0
    row_of, code, counts = row_of[has_code], codes[column_of][has_code], counts[has_code]
    if encoder.tokens.other >= 0:
        row_of, code, counts = _joined(row_of, code, counts, code == encoder.tokens.other)
    batch = Batch()
    batch.rows = rows
    batch.entry_end = np.cumsum(np.bincount(row_of, minlength=rows), dtype=np.longlong)
    batch.number_end = np.zeros(rows, np.longlong)
    batch.code = code
    batch.entries = len(batch.code)
    batch.feature = np.zeros(batch.entries, np.int32)
    batch.amount = np.ones(batch.entries) if encoder.binary else counts
    batch.label, batch.weight = np.full(rows, -2, np.int32), np.ones(rows)
    return batch


def _joined(row_of: Any, code: Any, counts: Any, shared: Any) -> tuple[Any, Any, Any]:
    """Join the words of a row that share a code into one entry, the first, and add up their counts."""
    totals = np.bincount(row_of[shared], weights=counts[shared])
    _, at = np.unique(row_of[shared], return_index=True)
    first = np.flatnonzero(shared)[at]
    counts = counts.copy()
    counts[first] = totals[row_of[first]]
    is_first = ~shared
    is_first[first] = True
    return row_of[is_first], code[is_first], counts[is_first]


def _is_sparse(xs: Native) -> bool:
    """Return True for a sparse matrix, and for a pandas frame of sparse columns, as River's vectorisers make."""
    return isinstance(xs, SparseCounts) or hasattr(xs, "sparse")


def _sparse(xs: Native) -> tuple[list[Any], Any, Any, Any]:
    matrix = xs.matrix if isinstance(xs, SparseCounts) else xs.sparse.to_coo().tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()  # which sorts, too
    row_of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    names = xs.names if isinstance(xs, SparseCounts) else xs.columns
    return list(names), row_of, matrix.indices, matrix.data.astype(np.float64)


def _dense(xs: Native, rows: int, zero_too: bool) -> tuple[list[Any], Any, Any, Any]:
    if isinstance(xs, CodedColumns):
        if xs.names:
            raise BadValue(f"a bag of words has counts, but column {shown(xs.names[0])} is nominal")
        names: list[Any] = list(xs.numeric_names)
        matrix = xs.numeric
    else:
        columns = read_table(xs).columns
        names = [*columns]
        matrix = np.empty((rows, len(names)))
        for column, (name, cells) in enumerate(columns.items()):
            matrix[:, column] = _counts(cells, name)
    row_of, column_of = np.nonzero(~np.isnan(matrix) if zero_too else matrix)
    return names, row_of, column_of, matrix[row_of, column_of]


def _counts(cells: Native, name: Any) -> NDArray[np.float64]:
    """Return a column of counts; True counts as 1."""
    if value_types(cells, name) == {bool}:
        return np.array([np.nan if value is None else float(bool(value)) for value in python_values(cells)])
    return numbers(cells, name)
