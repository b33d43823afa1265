"""Weights of a family that is too large for a table of all cells: a row for each configuration of parents seen.

    codes   [ code of each parent | code of each parent | ... ]     a row per configuration, in order of arrival
    weight  [ value, class        | value, class        | ... ]     the same rows
    table   [ row + 1 | 0 | row + 1 | ... ]                         open addressing by a hash of the codes; 0: empty

The hash is computed from the codes alone, so it is the same everywhere; it is never written anywhere.
"""

from __future__ import annotations

import cython
import numpy as np

GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
FIRST_ROOM = cython.declare(cython.Py_ssize_t, 8)


@cython.cclass
class Configurations:
    """Weights by configuration of `parents` parents: `width` cells each."""

    def __init__(self, parents: cython.Py_ssize_t, width: cython.Py_ssize_t, exact: cython.bint):
        self.parents = parents
        self.width = width
        self.exact = exact
        self.rows = 0
        self.room = FIRST_ROOM
        self.bits = 4
        self.codes = np.zeros(FIRST_ROOM * parents, np.int32)
        self.weight = np.zeros(FIRST_ROOM * width)
        self.samples = self.weight if exact else np.zeros(FIRST_ROOM * width)
        self.table = np.zeros(2 * FIRST_ROOM, np.longlong)

    @cython.cfunc
    @cython.exceptval(check=False)
    def home(self, wanted: cython.int[::1], first: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the preferred bucket of the hash table of the configuration that begins at `first`."""
        mixed: cython.ulonglong = 0
        for k in range(self.parents):
            mixed = ((mixed ^ cython.cast(cython.ulonglong, wanted[first + k] + 1)) * GOLDEN) & ALL_BITS
            mixed ^= mixed >> 29
        return cython.cast(cython.Py_ssize_t, ((mixed * GOLDEN) & ALL_BITS) >> (64 - self.bits))

    @cython.cfunc
    def seek(self, wanted: cython.int[::1], first: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the bucket of the configuration that begins at `first`, or the empty bucket for
        it.
        """
        last: cython.Py_ssize_t = self.table.shape[0] - 1
        bucket: cython.Py_ssize_t = self.home(wanted, first)
        while self.table[bucket] != 0:
            row = self.table[bucket] - 1
            for k in range(self.parents):
                if self.codes[row * self.parents + k] != wanted[first + k]:
                    break
            else:
                return bucket
            bucket = (bucket + 1) & last
        return bucket

    @cython.cfunc
    def find(self, wanted: cython.int[::1]) -> cython.longlong:
        """Return the row of a configuration, -1 for none."""
        return self.table[self.seek(wanted, 0)] - 1

    @cython.ccall
    def insert(self, wanted: cython.int[::1]) -> cython.longlong:
        """Return the row of a configuration, a new one if need be."""
        bucket: cython.Py_ssize_t = self.seek(wanted, 0)
        if self.table[bucket] != 0:
            return self.table[bucket] - 1
        if self.rows == self.room:
            self.reserve(room_of(self.rows + 1))
            bucket = self.seek(wanted, 0)
        for k in range(self.parents):
            self.codes[self.rows * self.parents + k] = wanted[k]
        self.rows += 1
        self.table[bucket] = self.rows
        return self.rows - 1

    @cython.ccall
    def drop_empty(self, row: cython.Py_ssize_t):
        """Remove a configuration without samples; the last one moves into its row."""
        for k in range(row * self.width, (row + 1) * self.width):
            if self.samples[k] != 0.0:
                return
        mask: cython.Py_ssize_t = self.table.shape[0] - 1
        bucket: cython.Py_ssize_t = self.seek(self.codes, row * self.parents)
        self.table[bucket] = 0
        # Entries after that bucket may have been displaced by it: insert them again.
        bucket = (bucket + 1) & mask
        while self.table[bucket] != 0:
            moved = self.table[bucket]
            self.table[bucket] = 0
            free = self.home(self.codes, (moved - 1) * self.parents)
            while self.table[free] != 0:
                free = (free + 1) & mask
            self.table[free] = moved
            bucket = (bucket + 1) & mask
        last: cython.Py_ssize_t = self.rows - 1
        if row != last:
            self.table[self.seek(self.codes, last * self.parents)] = row + 1
            for k in range(self.parents):
                self.codes[row * self.parents + k] = self.codes[last * self.parents + k]
            for k in range(self.width):
                self.weight[row * self.width + k] = self.weight[last * self.width + k]
                if not self.exact:
                    self.samples[row * self.width + k] = self.samples[last * self.width + k]
        for k in range(last * self.width, (last + 1) * self.width):
            self.weight[k] = 0.0
            self.samples[k] = 0.0
        self.rows = last

    @property
    def memory_bytes(self):
        """The bytes of the tables."""
        return bytes_of(self.room, self.width, self.parents, 1 if self.exact else 2)

    def reserve(self, room: cython.Py_ssize_t):
        """Make room for a number of rows."""
        rows: cython.Py_ssize_t = self.rows
        self.codes = grown(self.codes, rows * self.parents, room * self.parents)
        weight = grown(self.weight, rows * self.width, room * self.width)
        self.samples = weight if self.exact else grown(self.samples, rows * self.width, room * self.width)
        self.weight = weight
        self.room = room
        self.bits = bits_for(room)
        self.table = np.zeros(1 << self.bits, np.longlong)
        for r in range(rows):
            self.table[self.seek(self.codes, r * self.parents)] = r + 1

    def leave_exact(self):
        """Count samples beside the weights."""
        self.exact = False
        self.samples = np.array(self.weight)


@cython.ccall
@cython.exceptval(check=False)
def room_of(rows: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the room for a number of rows, which depends on the number alone."""
    room: cython.Py_ssize_t = FIRST_ROOM
    while room < rows:
        room += room // 2
    return room


def bytes_of(room: cython.Py_ssize_t, width: cython.Py_ssize_t, parents: cython.Py_ssize_t, columns):
    """Return the bytes of room for a number of rows; `columns` is 2 with samples beside the weights."""
    return 8 * room * width * columns + 4 * room * parents + 8 * (1 << bits_for(room))


@cython.cfunc
@cython.exceptval(check=False)
def bits_for(room: cython.Py_ssize_t) -> cython.int:
    """Return the size of the hash table, as a power of two: at least twice the room."""
    bits: cython.int = 4
    while (cython.cast(cython.Py_ssize_t, 1) << bits) < 2 * room:
        bits += 1
    return bits


def grown(array, length, size):
    """Return a larger array that begins with what is held."""
    array = np.asarray(array)
    larger = np.zeros(size, array.dtype)
    larger[:length] = array[:length]
    return larger
