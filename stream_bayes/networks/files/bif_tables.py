"""Tables from the probability blocks of a BIF file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stream_bayes.core.networks.discrete_network import Floats, first_bad_row
from stream_bayes.core.values.values import shown
from stream_bayes.networks.files.bif_tokens import Scanner, Token

__all__ = ["BifRow", "Distribution", "table_of"]

# A short text with a `default` row can request any number of cells; this many doubles are 1 GiB.
MOST_CELLS = 2**27


class BifRow(NamedTuple):
    """The numbers of an entry, the labels of the parents that they are for, and the position where the entry begins."""

    start: int
    labels: list[Token]
    values: list[float]


@dataclass
class Distribution:
    """A probability block as read, before its variables are resolved."""

    child: Token
    parents: list[Token]
    rows: list[BifRow] = field(default_factory=list)
    default: BifRow | None = None  # for combinations of labels without a row
    table: BifRow | None = None  # all numbers at once
    properties: list[str] = field(default_factory=list)


def table_of(
    block: Distribution, states: Mapping[str, Sequence[str]], scanner: Scanner, tolerance: float
) -> Floats:
    """Return the probabilities of a block, with an axis for each parent in the order of the file and the child's last.

    Every row is a distribution.

    Raises
    ------
    BadFormat
        If a row is missing, given twice, of the wrong length, or not a distribution.
    """
    child = block.child.text
    labels = [states[parent.text] for parent in block.parents]
    shape = [len(several) for several in labels]
    rows, width = math.prod(shape), len(states[child])
    if rows * width > MOST_CELLS:
        scanner.fail(
            f"the table of {shown(child)} has {rows * width:,} cells; at most {MOST_CELLS:,} are read",
            block.child.start,
        )
    if block.table is not None:
        table, starts = _whole(block, block.table, rows, width, scanner)
    else:
        table, starts = _by_row(block, labels, rows, width, scanner)
    if bad_row := first_bad_row(table, tolerance):
        row, complaint = bad_row
        scanner.fail(f"the table of {shown(child)}{_at(labels, row)}: {complaint}", int(starts[row]))
    return table.reshape(*shape, width)


def _whole(
    block: Distribution, numbers: BifRow, rows: int, width: int, scanner: Scanner
) -> tuple[Floats, npt.NDArray[np.int64]]:
    if len(numbers.values) != rows * width:
        scanner.fail(
            f"the table of {shown(block.child.text)}: expected {rows * width} numbers, {width} for each of {rows} "
            f"combinations of its parents' labels; got {len(numbers.values)}",
            numbers.start,
        )
    # In the format the labels of the first variable, the child, vary slowest.
    table = np.ascontiguousarray(np.array(numbers.values).reshape(width, rows).T)
    return table, np.full(rows, numbers.start)


def _by_row(
    block: Distribution, labels: list[Sequence[str]], rows: int, width: int, scanner: Scanner
) -> tuple[Floats, npt.NDArray[np.int64]]:
    child = block.child.text
    codes = [{label: code for code, label in enumerate(several)} for several in labels]
    by_index: dict[int, BifRow] = {}
    for row in block.rows:
        index = _row_index(block, row, codes, scanner)
        if index in by_index:
            scanner.fail(f"the table of {shown(child)}{_at(labels, index)} is given twice", row.start)
        by_index[index] = row
    for row in (*block.rows, *([] if block.default is None else [block.default])):
        if len(row.values) != width:
            scanner.fail(
                f"the table of {shown(child)}: expected {width} numbers, one for each of its labels, "
                f"got {len(row.values)}",
                row.start,
            )
    table = np.empty((rows, width))
    starts = np.full(rows, -1)
    if block.default is not None:
        table[:] = block.default.values
        starts[:] = block.default.start
    elif len(by_index) < rows:
        absent = next(row for row in range(rows) if row not in by_index)
        scanner.fail(
            f"the table of {shown(child)}{_at(labels, absent)} is missing; give it, or a 'default' entry",
            block.child.start,
        )
    indices = list(by_index)
    table[indices] = [row.values for row in by_index.values()] if by_index else np.empty((0, width))
    starts[indices] = [row.start for row in by_index.values()]
    return table, starts


def _row_index(block: Distribution, row: BifRow, codes: list[dict[str, int]], scanner: Scanner) -> int:
    """Return the number of a row among all combinations of the parents' labels; the last parent varies fastest."""
    if len(row.labels) != len(codes):
        scanner.fail(
            f"the table of {shown(block.child.text)}: expected a label for each of its {len(codes)} parents, "
            f"got {len(row.labels)}",
            row.start,
        )
    index = 0
    for parent, label, by_label in zip(block.parents, row.labels, codes, strict=True):
        code = by_label.get(label.text)
        if code is None:
            scanner.fail(
                f"{shown(parent.text)} has no label {label}; it has {shown(list(by_label))}", label.start
            )
        index = index * len(by_label) + code
    return index


def _at(labels: list[Sequence[str]], row: int) -> str:
    """Return the labels of the parents in a row, for a message."""
    if not labels:
        return ""
    codes = map(int, np.unravel_index(row, [len(several) for several in labels]))
    return f", row {shown(tuple([several[code] for several, code in zip(labels, codes, strict=True)]))}"
