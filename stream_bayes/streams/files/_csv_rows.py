r"""Lines of plain cells, in one pass over their bytes; and columns of values as a dict for each row.

    b"grey,3.5,yes\nblue,,no\n"  ->  grey | 3.5 | yes | blue | | no        lengths 13, 9

Most cells repeat: in a stream of nominal values nearly all of them. So a small table, by the bytes of a short cell,
holds the string made for them before, and the same object is returned again. That saves making a string, and a later
lookup by this string is faster, since its hash is cached and it is identical to the key.
"""

from __future__ import annotations

import cython
import numpy as np

SLOTS = cython.declare(cython.Py_ssize_t, 2048)  # a power of 2
SHORT = cython.declare(cython.Py_ssize_t, 24)  # bytes of a cell, at most, that is kept in the table

NEWLINE = cython.declare(cython.uchar, 10)
RETURN = cython.declare(cython.uchar, 13)
QUOTE = cython.declare(cython.uchar, 34)

# FNV-1a, of 32 bits
BASIS = cython.declare(cython.ulonglong, 2166136261)
PRIME = cython.declare(cython.ulonglong, 16777619)
BITS = cython.declare(cython.ulonglong, 0xFFFFFFFF)


@cython.cclass
class PlainCells:
    r"""Splits lines into cells. `delimiter` is the byte between two cells, `width` their number. `limit` is the most
    bytes of a line, its end included.

    Examples
    --------
    >>> PlainCells(ord(","), 2, 100).split(b"grey,yes\nblue,no\n")
    (['grey', 'yes', 'blue', 'no'], [9, 8])
    """

    def __init__(self, delimiter: cython.Py_ssize_t, width: cython.Py_ssize_t, limit: cython.Py_ssize_t):
        self.delimiter = delimiter
        self.width = width
        self.limit = limit
        self.texts = [""] * SLOTS  # the newest string of each slot
        self.sizes = np.zeros(SLOTS, np.int32)
        self.written = np.zeros((SLOTS, SHORT), np.uint8)

    @cython.ccall
    def split(self, data: bytes):
        """Return the cells of whole lines in order, and the bytes of each line; None unless all are plain.

        A plain line ends with a newline (or a return and a newline), has no other return and no quote, is neither empty
        nor too long, and has the right number of cells.

        Raises
        ------
        UnicodeDecodeError
            If a cell is not UTF-8.
        """
        view: cython.const[cython.uchar][::1] = data
        n: cython.Py_ssize_t = len(data)
        cells: list = []
        lengths: list = []
        i: cython.Py_ssize_t = 0
        begin: cython.Py_ssize_t = 0  # of the cell
        first: cython.Py_ssize_t = 0  # byte of the line
        column: cython.Py_ssize_t = 0  # cells of the line
        hashed: cython.ulonglong = BASIS
        if n == 0 or view[n - 1] != NEWLINE:
            return None
        while i < n:
            c = view[i]
            if c == self.delimiter:
                cells.append(self.text(data, view, begin, i, hashed))
                column += 1
            elif c == NEWLINE or c == RETURN:
                end = i
                if c == RETURN:
                    i += 1
                    if i == n or view[i] != NEWLINE:
                        return None
                if end == first or column + 1 != self.width or i + 1 - first > self.limit:
                    return None
                cells.append(self.text(data, view, begin, end, hashed))
                lengths.append(i + 1 - first)
                column = 0
                first = i + 1
            elif c == QUOTE:
                return None
            else:
                hashed = ((hashed ^ c) * PRIME) & BITS
                i += 1
                continue
            i += 1
            begin = i
            hashed = BASIS
        return cells, lengths

    @cython.cfunc
    @cython.inline
    def text(
        self,
        data: bytes,
        view: cython.const[cython.uchar][::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        hashed: cython.ulonglong,
    ) -> str:
        """Return the text of a cell."""
        size: cython.Py_ssize_t = end - begin
        k: cython.Py_ssize_t = 0
        if size > SHORT:
            return data[begin:end].decode("utf-8")
        slot: cython.Py_ssize_t = (hashed ^ (hashed >> 16)) & (SLOTS - 1)
        if self.sizes[slot] == size:
            while k < size and self.written[slot, k] == view[begin + k]:
                k += 1
            if k == size:
                return self.texts[slot]
        made = data[begin:end].decode("utf-8")
        for k in range(size):
            self.written[slot, k] = view[begin + k]
        self.sizes[slot] = size
        self.texts[slot] = made
        return made


@cython.ccall
def rows_of_columns(names: list, columns: list, count: cython.Py_ssize_t) -> list:
    """Return `{name: value}` for each row. Each column has a name, none of them twice, and a list of `count` values."""
    blank: dict = dict.fromkeys(names)  # a copy has room for all names at once
    rows: list = []
    width: cython.Py_ssize_t = len(names)
    for r in range(count):
        row = blank.copy()
        for j in range(width):
            column = columns[j]
            row[names[j]] = column[r]
        rows.append(row)
    return rows
