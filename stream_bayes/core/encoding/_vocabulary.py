"""Vocabularies: the values of a feature, of the labels or of the tokens, and their codes.

A hash table for one purpose. Most of the time of learning from text goes into lookups of words, and a dict touches four
places in memory for each, one of them an int object. Here a place in the table holds half the hash and the code:

    table   [ mark of "grey" | 1 ]  [ empty: 0 ]  [ mark of "blue" | 2 ] ...      mark: 32 bits of the hash; code + 1
    values  ["grey", "blue"]                                                      by code

A known word costs one read of the table and one comparison, an unknown word the read alone. A mark includes the bits
that choose its place, so growing the table computes no hash again. Hashes are never saved.
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.values.values import OTHER, name_order

if not cython.compiled:
    from stream_bayes.core.encoding._prefetch import equals_item, hash_of, prefetch, prefetch_item

UNSEEN = cython.declare(cython.int, -2)
# Fibonacci hashing: the hashes of ints differ in the low bits only; this spreads them over the high ones.
GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
LOW_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFF)


@cython.cfunc
def mark_of(value) -> cython.ulonglong:
    """Return the 32 bits of a value's hash that are kept; equal values have equal marks."""
    mixed: cython.ulonglong = (cython.cast(cython.ulonglong, hash_of(value)) * GOLDEN) & ALL_BITS
    return mixed >> 32


@cython.cclass
class Vocabulary:
    """Values and their codes 0, 1, 2, ... in order of arrival; values are equal if they are the same key of a dict.

    With a `limit`, values past it share the last code, that of `OTHER`. The first `declared` codes were declared: they
    count as values although no sample holds them. A `closed` vocabulary has no others.
    """

    def __init__(self, values=(), limit=None, closed: cython.bint = False):
        self.values = []
        self.limit = limit
        self.closed = closed
        self.slot = -1  # that of the feature
        self.other = UNSEEN
        self.by_name = None
        self.bits = 3
        self.table = np.zeros(8, np.uint64)
        self.restore(list(values))
        self.declared = len(self.values)

    def __len__(self):
        return len(self.values)

    def __contains__(self, value):
        return self.find(value) >= 0

    @cython.cfunc
    def seek(self, value, mark: cython.ulonglong) -> cython.Py_ssize_t:
        """Return the bucket of a value in the table, or the empty bucket for it."""
        last: cython.Py_ssize_t = self.table.shape[0] - 1
        bucket: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, mark >> (32 - self.bits))
        entry: cython.ulonglong = self.table[bucket]
        while entry != 0:
            if (entry >> 32) == mark:
                code = cython.cast(cython.Py_ssize_t, entry & LOW_BITS) - 1
                same = equals_item(self.values, code, value)
                if same > 0 or (same < 0 and (self.values[code] is value or self.values[code] == value)):
                    return bucket
            bucket = (bucket + 1) & last
            entry = self.table[bucket]
        return bucket

    @cython.cfunc
    def reserve(self, values: cython.Py_ssize_t):
        """Make the table at least twice as large as the number of values."""
        if 2 * values <= self.table.shape[0]:
            return
        old = self.table
        while 2 * values > (cython.cast(cython.Py_ssize_t, 1) << self.bits):
            self.bits += 1
        last: cython.Py_ssize_t = (cython.cast(cython.Py_ssize_t, 1) << self.bits) - 1
        self.table = np.zeros(last + 1, np.uint64)
        for k in range(old.shape[0]):
            if old[k] == 0:
                continue
            bucket = cython.cast(cython.Py_ssize_t, (old[k] >> 32) >> (32 - self.bits))
            while self.table[bucket] != 0:
                bucket = (bucket + 1) & last
            self.table[bucket] = old[k]

    @cython.ccall
    def find(self, value) -> cython.int:
        """Return the value's own code, or `UNSEEN`."""
        entry: cython.ulonglong = self.table[self.seek(value, mark_of(value))]
        return UNSEEN if entry == 0 else cython.cast(cython.int, entry & LOW_BITS) - 1

    @cython.ccall
    def lookup(self, value) -> cython.int:
        """Return the code that a value is counted under, or `UNSEEN`; past the limit that of `OTHER`."""
        entry: cython.ulonglong = self.table[self.seek(value, mark_of(value))]
        return self.other if entry == 0 else cython.cast(cython.int, entry & LOW_BITS) - 1

    @cython.cfunc
    def encode(self, value, created: list) -> cython.int:
        """Return the code of a value, a new one if need be. `created` records it for a rollback."""
        code: cython.int = self.find(value)
        return code if code >= 0 else self.encode_absent(value, created)

    @cython.cfunc
    def encode_absent(self, value, created: list) -> cython.int:
        """Return the code of a value that has none, as `encode` does."""
        if self.limit is not None and len(self.values) >= self.limit:
            if self.other >= 0:
                return self.other
            value = OTHER
        created.append(self)
        return self.insert(value)

    @cython.ccall
    def insert(self, value) -> cython.int:
        """Give a new value, or `OTHER`, the next code, whatever the limit, as merging and restoring do."""
        code: cython.int = len(self.values)
        self.reserve(code + 1)
        mark: cython.ulonglong = mark_of(value)
        self.table[self.seek(value, mark)] = (mark << 32) | (code + 1)
        self.values.append(value)
        self.by_name = None
        if value is OTHER:
            self.other = code
        return code

    def codes_by_name(self) -> list:
        """Return the codes in the order of their values' names; the code that values past a limit share comes last."""
        if self.by_name is None:
            named = [code for code in range(len(self.values)) if code != self.other]
            if set(map(type, self.values)) <= {str}:
                named.sort(key=self.values.__getitem__)
            else:
                named.sort(key=lambda code: name_order(self.values[code]))
            self.by_name = named + ([self.other] if self.other >= 0 else [])
        return self.by_name

    def name(self, value):
        """Return the code of a value, a new one if need be; past the limit the one of `OTHER`."""
        return self.encode(value, [])

    def restore(self, values: list):
        """Replace the contents by these values; return False if two of them are equal."""
        self.values = []
        self.by_name = None
        self.bits = 3
        self.table = np.zeros(8, np.uint64)
        self.reserve(len(values))
        code: cython.ulonglong = 0
        for value in values:
            mark = mark_of(value)
            bucket = self.seek(value, mark)
            if self.table[bucket] != 0:
                return False
            code += 1
            self.table[bucket] = (mark << 32) | code
            self.values.append(value)
        return True

    def remove_newest(self):
        """Remove the newest value."""
        value = self.values.pop()
        self.release(value, len(self.values))

    def remove(self, code: cython.Py_ssize_t):
        """Remove a value. Its code stays unused: None stands in its place until `restore` closes the gap."""
        value = self.values[code]
        self.values[code] = None
        self.release(value, code)

    @cython.cfunc
    def release(self, value, code: cython.Py_ssize_t):
        """Remove the entry of a value from the table."""
        last: cython.Py_ssize_t = self.table.shape[0] - 1
        self.by_name = None
        mark: cython.ulonglong = mark_of(value)
        bucket: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, mark >> (32 - self.bits))
        while cython.cast(cython.Py_ssize_t, self.table[bucket] & LOW_BITS) != code + 1:
            bucket = (bucket + 1) & last
        self.table[bucket] = 0
        # Entries after that bucket may have been displaced by it: insert them again.
        bucket = (bucket + 1) & last
        while self.table[bucket] != 0:
            entry = self.table[bucket]
            self.table[bucket] = 0
            free = cython.cast(cython.Py_ssize_t, (entry >> 32) >> (32 - self.bits))
            while self.table[free] != 0:
                free = (free + 1) & last
            self.table[free] = entry
            bucket = (bucket + 1) & last
        if value is OTHER:
            self.other = UNSEEN


@cython.cclass
class PrefetchedCodes:
    """The codes of all words of a message, looked up together.

    The memory of all lookups is prefetched at once. Sequential lookups wait for memory two or three times per word,
    which was three quarters of the time of learning from text.
    """

    def __init__(self):
        self.marks = np.zeros(64, np.uint64)

    @cython.cfunc
    def fetch(self, vocabulary: Vocabulary, words: dict):
        """Look up each key of a dict by its mark; `code` confirms the value."""
        if not cython.compiled:
            return
        if self.marks.shape[0] < len(words):
            self.marks = np.zeros(2 * len(words), np.uint64)
        marks: cython.ulonglong[::1] = self.marks
        table: cython.ulonglong[::1] = vocabulary.table
        last: cython.Py_ssize_t = table.shape[0] - 1
        shift: cython.int = 32 - vocabulary.bits
        n: cython.Py_ssize_t = 0
        for word in words:
            marks[n] = mark_of(word)
            prefetch(cython.address(table[cython.cast(cython.Py_ssize_t, marks[n] >> shift)]))
            n += 1
        for k in range(n):
            bucket = cython.cast(cython.Py_ssize_t, marks[k] >> shift)
            entry = table[bucket]
            while entry != 0 and (entry >> 32) != marks[k]:
                bucket = (bucket + 1) & last
                entry = table[bucket]
            marks[k] = entry & LOW_BITS
            if entry != 0:
                prefetch_item(vocabulary.values, cython.cast(cython.Py_ssize_t, marks[k]) - 1)

    @cython.cfunc
    def code(self, vocabulary: Vocabulary, k: cython.Py_ssize_t, word) -> cython.int:
        """Return the result of `lookup` for key number `k` of those fetched."""
        if not cython.compiled:
            return vocabulary.lookup(word)
        code: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.marks[k]) - 1
        if code < 0:  # no other key of the same dict was inserted as this one since
            return vocabulary.other
        return code if equals_item(vocabulary.values, code, word) > 0 else vocabulary.lookup(word)
