"""A linear model over 4-grams of the characters of a message's text, hashed into a table of whole numbers.

    steps     [slot]         the sum of the steps of messages with a 4-gram of the slot, in units of 2^-32
    squares   [slot]         the sum of their squares, in units of 2^-40
    marks     [slot / 64]    a bit for each slot of the message that is being read

The weight of a slot is its sum over a root of its squares: dual averaging with AdaGrad's rates (Duchi et al. 2011).
So slots of many messages move slowly, and rare ones fast. Both are sums, whatever the order of messages, and additions
can be taken back exactly. A message has each slot once.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import sqrt

SLOTS = 1 << 16
SHIFT = cython.declare(cython.int, 64 - 16)
ODD = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # of a hash, where whole numbers have no end
ONE = cython.declare(cython.ulonglong, 1)
PER_STEP = cython.declare(cython.double, 1.0 / 4294967296.0)
LESS = cython.declare(cython.int, 12)  # bits of a step that its square has not
SLOWING = cython.declare(cython.double, 1000.0 / 1099511627776.0)  # by the squares


@cython.cfunc
@cython.inline
def square_of(step: cython.longlong) -> cython.longlong:
    """Return the square of a step, in units of squares."""
    size: cython.longlong = (-step if step < 0 else step) >> LESS
    return size * size


@cython.cclass
class GramTable:
    """The margins of 4-grams, and those of the message that was read last. The margin of a message of which fewer
    than `enough` 4-grams are known is less, in proportion.
    """

    def __init__(self, enough: cython.double):
        self.enough = enough
        self.steps = np.zeros(SLOTS, np.int64)
        self.squares = np.zeros(SLOTS, np.int64)
        self.marks = np.zeros(SLOTS // 64, np.uint64)
        self.buffer = np.zeros(1024, np.uint16)
        # The slots of the message's 4-grams, each once: the first `slot_count`.
        self.read = self.buffer
        self.slot_count = 0

    def read_text(self, text: str):
        """Read a message."""
        slot_count: cython.Py_ssize_t = 0
        key: cython.ulonglong = 0
        letters: cython.Py_ssize_t = 0
        read: cython.ushort[::1] = self.buffer
        marks: cython.ulonglong[::1] = self.marks
        if len(text) > read.shape[0]:
            self.buffer = read = np.zeros(2 * len(text), np.uint16)
        for letter in text:
            letters += 1
            key = ((key << 16) ^ ord(letter)) & BITS
            if letters > 3:
                slot: cython.Py_ssize_t = ((key * ODD) & BITS) >> SHIFT
                seen = marks[slot >> 6]
                marks[slot >> 6] = seen | (ONE << (slot & 63))
                # Overwritten by the next one, if it was seen.
                read[slot_count] = slot
                slot_count += 0 if (seen >> (slot & 63)) & ONE else 1
        for k in range(slot_count):
            marks[read[k] >> 6] = 0
        self.read, self.slot_count = read, slot_count

    def slots(self):
        """Return the slots of the message's 4-grams."""
        return np.array(self.read[: self.slot_count])

    def read_again(self, slots: cython.ushort[::1]):
        """Read a message whose slots were returned before."""
        self.read, self.slot_count = slots, slots.shape[0]

    @property
    def grams(self):
        """The number of different slots of the message."""
        return self.slot_count

    def margin(self, less: cython.longlong = 0):
        """Return the margin of the message for the second class; without a step of its own, if it is given."""
        total: cython.double = 0.0
        square: cython.longlong = square_of(less)
        learned: cython.Py_ssize_t = 0
        for k in range(self.slot_count):
            slot: cython.Py_ssize_t = self.read[k]
            squares = self.squares[slot] - square
            learned += squares > 0
            total += (self.steps[slot] - less) / sqrt(1.0 + SLOWING * squares)
        return total * PER_STEP / sqrt(max(self.slot_count, 1)) * min(learned / self.enough, 1.0)

    def add(self, step: cython.longlong, times: cython.longlong = 1):
        """Add a step to each 4-gram of the message; take it back if `times` is -1."""
        square: cython.longlong = times * square_of(step)
        step = times * step
        for k in range(self.slot_count):
            slot: cython.Py_ssize_t = self.read[k]
            self.steps[slot] += step
            self.squares[slot] += square
